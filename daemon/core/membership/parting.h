/* SPDX-License-Identifier: Apache-2.0 */
/* parting: silence between the nodes of a group, and how the group goes on after it
 * (docs/adr/0015-silence.md).
 *
 * Doubt: a node whose session with a node of the group has ended is in doubt, because messages are
 * lost. If a call waits, the first node of the group that is heard asks for an epoch (epoch.h); the
 * others ask later, since it may hear the silent node. An epoch breaks the group: NODE_FAILED.
 * Without a quorum, or if the node answers again, the group is parted: the node that has asked
 * tells all nodes that it hears to end the operations with PARTITIONED (END).
 *
 * Rejoining: while a group is parted, the root of its tree begins a round as soon as it hears all
 * nodes. ASK goes down the tree: each node that hears all nodes holds later calls. READY comes up
 * when a node and all below it have ended their operations, with the first number that follows all
 * calls of their ranks. RESUME goes down with the largest of these, and calls go on there. Calls
 * with smaller numbers, of ranks that are behind, end with PARTITIONED. So a call meets the calls
 * of the same number of all ranks, or none. If a node does not hear all, or does not answer in
 * time, the round fails (UNREADY, CANCEL), and the root begins another one later.
 *
 * The number of the last round that ended well is the era of a node. END of an earlier era is late
 * and ignored. A node that can no longer take a RESUME answers it with END of its era, so the group
 * is parted once more. A node that is parted tells its parent (HEARD), which may have missed END.
 *
 * Borrows: the group; its `parting` is the state. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_PARTING_H
#define TD_CORE_MEMBERSHIP_PARTING_H

#include "communicator.h"

/* td_parting_node_lost: the session with a node has ended; `why` is a sentence for people. */
void td_parting_node_lost(struct td_core *core, uint32_t node, const char *why);
/* td_parting_route_lost: packets of a group may be lost, because of a node of the group, or of one
 * that forwards them. */
void td_parting_route_lost(struct td_core *core, struct td_communicator *c, uint32_t node,
                           const char *why);
/* td_parting_epoch asks again for the groups whose silent nodes the latest epoch does not exclude.
 * td_parting_no_quorum and td_parting_all_answer part the groups that have asked. */
void td_parting_epoch(struct td_core *core);
void td_parting_no_quorum(struct td_core *core);
void td_parting_all_answer(struct td_core *core);
/* td_parting_message handles the kind PARTING. */
void td_parting_message(struct td_core *core, struct td_communicator *c, uint32_t from,
                        const struct td_message *message);
/* td_parting_tell_end tells a node that a group is parted. */
void td_parting_tell_end(struct td_core *core, const struct td_communicator *c, uint32_t node);
void td_parting_timers(struct td_core *core, struct td_communicator *c);

#endif
