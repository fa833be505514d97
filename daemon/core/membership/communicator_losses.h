/* SPDX-License-Identifier: Apache-2.0 */
/* communicator_losses: how a group loses ranks and nodes, and how its nodes hear of it.
 *
 * When a rank is lost the root announces it (RANK_LOST), after the releases that it gave before. An
 * operation that a node has no release for by then never gets one, and ends. When a node is lost,
 * each of its tree neighbours announces it (NODE_LOST) in its own part of the tree, and the
 * operations that run end too.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_MEMBERSHIP_COMMUNICATOR_LOSSES_H
#define TD_CORE_MEMBERSHIP_COMMUNICATOR_LOSSES_H

#include "communicator.h"

/* td_communicator_rank_lost breaks the group since a rank is lost, and announces it. */
void td_communicator_rank_lost(struct td_core *core, struct td_communicator *c, uint32_t rank,
                               td_err error, const char *text);
/* td_communicator_lose_node breaks the group since a node is lost for good (proven), or a node
 * outside of the group forwards its packets no more. */
void td_communicator_lose_node(struct td_core *core, struct td_communicator *c, uint32_t node,
                               bool proven, const char *why);
/* td_communicator_part ends the operations of a group with PARTITIONED. */
void td_communicator_part(struct td_core *core, struct td_communicator *c, const char *text);
/* td_communicator_note_pause appends to a sentence that this daemon has not run for a while. */
void td_communicator_note_pause(const struct td_core *core, char *text, size_t bytes);
/* td_communicator_daemon_is breaks the groups that have ranks of other daemons of a node;
 * `changed`: also those of an unknown daemon. It returns true if a group has ranks of this one. */
bool td_communicator_daemon_is(struct td_core *core, uint32_t node, uint32_t daemon, bool changed,
                               const char *why);
/* td_communicator_daemon_ended breaks the groups that have ranks of a node's daemon, which has said
 * goodbye, or of an unknown daemon there. */
void td_communicator_daemon_ended(struct td_core *core, uint32_t node, uint32_t daemon,
                                  const char *why);
/* td_communicator_epoch breaks the groups from which the latest epoch excludes nodes;
 * td_communicator_exclude does so for one group. An exclusion does not concern a group whose nodes
 * have heard each other all the time. */
void td_communicator_epoch(struct td_core *core);
void td_communicator_exclude(struct td_core *core, struct td_communicator *c);
/* td_communicator_is_outside returns true if all nodes of a group are excluded: then no epoch can
 * decide between them. */
bool td_communicator_is_outside(const struct td_core *core, const struct td_communicator *c);
/* td_communicator_tell_break sends a node the loss that has broken the group, after the epoch that
 * it may follow from. */
void td_communicator_tell_break(struct td_core *core, struct td_communicator *c, uint32_t node);
/* td_communicator_notice handles RANK_LOST and NODE_LOST. */
void td_communicator_notice(struct td_core *core, uint32_t from, const struct td_message *message);
/* td_communicator_appeal passes an APPEAL or a RANK_GONE on to the root. */
void td_communicator_appeal(struct td_core *core, struct td_communicator *c,
                            const struct td_message *message);
/* td_communicator_rank_gone handles a RANK_GONE from a node: it goes on to the root, or the node
 * hears that the group is broken. */
void td_communicator_rank_gone(struct td_core *core, struct td_communicator *c, uint32_t from,
                               const struct td_message *message);
/* td_communicator_tell_loss tells a child in the tree why the group is broken, again: it may have
 * made the group after the notice came to it. */
void td_communicator_tell_loss(struct td_core *core, struct td_communicator *c, uint32_t child);
/* td_communicator_inherit applies to a new group what its job has lost: ranks, and nodes of the
 * group that it is made of. */
void td_communicator_inherit(struct td_core *core, struct td_communicator *c,
                             const struct td_communicator *parent);
/* td_communicator_not_made: a parent in the tree says that the group is not there. If all its ranks
 * are lost, it never will be, and the group breaks here. */
void td_communicator_not_made(struct td_core *core, struct td_communicator *c, uint32_t from);
/* td_communicator_stop ends every communicator since this daemon stops. No operation runs then. */
void td_communicator_stop(struct td_core *core);
/* td_communicator_tell_root tells the root of a group that a rank is lost (of_job: to the whole
 * job); a task sends the message, because a rank may be lost to hundreds of groups at once. */
void td_communicator_tell_root(struct td_core *core, struct td_communicator *c, uint32_t rank,
                               td_err error, bool of_job, const char *text);
/* a loss that the root has not answered is told again after 1 s */
#define TD_LOSS_AGAIN_NS ((td_time)1000000000)
/* td_communicator_owes_loss returns true if the root of a group has not answered a loss. */
bool td_communicator_owes_loss(const struct td_communicator *c);
/* td_communicator_node_back tells a parent again which loss the root is to be told: the message may
 * be lost, or the answer, if nothing there needs this daemon any more. */
void td_communicator_node_back(struct td_core *core, uint32_t node);
/* td_communicator_send_notices sends the notices that are due. It returns false when the action
 * list is full. */
bool td_communicator_send_notices(struct td_core *core, struct td_communicator *c);

#endif
