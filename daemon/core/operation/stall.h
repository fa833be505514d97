/* SPDX-License-Identifier: Apache-2.0 */
/* stall: an operation that was released and cannot be completed ends alone, with one ending for
 * all of its nodes that have not completed it.
 *
 * A node without progress for `patience` and three heartbeats (a silent node is detected first)
 * appeals to the root: an APPEAL with is_running, which names the sender and the node that it waits
 * for. So does a node, at once, that cannot go on, or whose rank cancels an operation without
 * progress: its appeal names itself twice. The root waits a
 * heartbeat for the appeals of nodes that wait for each other, and follows them to the last one.
 * Then it ends the operation by a VERDICT with is_running, once. Each node passes the verdict on
 * down the tree, whether the operation still runs there or not; where it runs, it ends with the
 * root's error. The node, its links, its other operations and the group continue. Packets of the
 * operation that are late are dropped and their credits returned (td_engine_find); its memory is
 * released when nothing reads or writes it any more. A node that has completed the operation keeps
 * its success: its ranks have their results.
 *
 * If the root has left, no verdict comes. The node then ends the operation by itself after the same
 * time again.
 * Owns: nothing; its state is in the operation, and a bitmap in the group. Pure: no I/O, clock, or
 * globals. */
#ifndef TD_CORE_OPERATION_STALL_H
#define TD_CORE_OPERATION_STALL_H

#include "operation.h"

/* td_stall_break ends an operation that cannot go on at this node, for all its ranks: before the
 * release by an appeal, and afterwards by an appeal with is_running if other nodes take part. */
void td_stall_break(struct td_core *core, struct td_operation *o, td_err error, const char *text);
/* td_stall_packets_lost ends an operation that has lost packets with the session of two neighbours.
 * If both are nodes of the group, the group is parted instead (parting.h). */
void td_stall_packets_lost(struct td_core *core, struct td_operation *o, uint32_t a, uint32_t b);
/* td_stall_cancel ends an operation that runs, with TD_ERR_CANCELLED, as soon as it has made no
 * progress for a heartbeat. One that makes progress completes. */
void td_stall_cancel(struct td_core *core, struct td_operation *o, const char *text);
/* td_stall_may_cancel returns true if td_stall_cancel would. */
bool td_stall_may_cancel(const struct td_operation *o);
/* td_stall_begin forgets what belonged to the time before the release. */
void td_stall_begin(struct td_operation *o);
/* td_stall_completed ends the operation elsewhere, if this node is the root, has heard that another
 * node waits, and has completed it. */
void td_stall_completed(struct td_core *core, struct td_operation *o);
/* td_stall_appeal handles an APPEAL with is_running: of a node below or of this one. */
void td_stall_appeal(struct td_core *core, struct td_communicator *c, const struct td_message *m);
/* td_stall_verdict handles the parent's VERDICT with is_running. */
void td_stall_verdict(struct td_core *core, struct td_communicator *c, const struct td_message *m);
/* td_stall_resumed puts off the judgement of all operations of a group by a time in which this
 * daemon did not run. */
void td_stall_resumed(struct td_communicator *c, td_time ns);
/* td_stall_waits_for returns the node that an operation with a program waits for: this one while it
 * computes, UINT32_MAX if only its own computations are left. */
uint32_t td_stall_waits_for(const struct td_core *core, const struct td_operation *o);
/* td_stall_timers watches the progress of an operation that was released. */
void td_stall_timers(struct td_core *core, struct td_operation *o);

#endif
