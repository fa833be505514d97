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
/* td_communicator_node_lost breaks all groups that have ranks on a node, which is silent. */
void td_communicator_node_lost(struct td_core *core, uint32_t node, const char *why);
/* td_communicator_daemon_is breaks the groups that have ranks of other daemons of a node;
 * `changed`: also those of an unknown daemon. It returns true if a group has ranks of this one. */
bool td_communicator_daemon_is(struct td_core *core, uint32_t node, uint32_t daemon, bool changed,
                               const char *why);
/* td_communicator_epoch breaks the groups from which the latest epoch excludes nodes. */
void td_communicator_epoch(struct td_core *core);
/* td_communicator_route_lost breaks a group since it has ranks on a silent node, or since that node
 * lies on the route of its packets. */
void td_communicator_route_lost(struct td_core *core, struct td_communicator *c, uint32_t node,
                                const char *why);
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
/* td_communicator_stop ends every communicator since this daemon stops. No operation runs then. */
void td_communicator_stop(struct td_core *core);
/* td_communicator_tell_root tells the root of a group that a rank is lost; a task sends the
 * message, because a rank may be lost to hundreds of groups at once. */
void td_communicator_tell_root(struct td_core *core, struct td_communicator *c, uint32_t rank,
                               td_err error, const char *text);
/* td_communicator_send_notices sends the notices that are due. It returns false when the action
 * list is full. */
bool td_communicator_send_notices(struct td_core *core, struct td_communicator *c);

#endif
