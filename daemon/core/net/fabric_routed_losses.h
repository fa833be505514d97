/* SPDX-License-Identifier: Apache-2.0 */
/* fabric_routed_losses: what ends when a node is lost, and how all nodes learn of it. */
#ifndef TD_CORE_NET_FABRIC_ROUTED_LOSSES_H
#define TD_CORE_NET_FABRIC_ROUTED_LOSSES_H

#include "fabric_routed.h"

/* td_routed_lost_on_way returns a lost node that a shortest path to `to` enters by a lost link, or
 * UINT32_MAX. A neighbour that may be starting counts as lost. */
uint32_t td_routed_lost_on_way(const struct td_core *core, uint32_t to);
/* td_routed_fail fails an operation of which a lost node may have packets. */
void td_routed_fail(struct td_core *core, struct td_operation *operation, uint32_t node);
/* td_routed_dead_end returns a lost neighbour if all directions that a parcel can take lead to lost
 * neighbours, else UINT32_MAX. td_routed_purge drops such packets in transit. A neighbour that has
 * never been up is not lost for packets until td_routed_end_start: it may be starting. */
uint32_t td_routed_dead_end(const struct td_core *core, const struct td_parcel *parcel);
void td_routed_purge(struct td_core *core);
/* td_routed_end_start: neighbours that have never been up have had time to start. */
void td_routed_end_start(struct td_core *core);
/* td_routed_announce is the task that sends loss notices. */
bool td_routed_announce(struct td_core *core, struct td_task *task);
void td_routed_link_open(struct td_core *core, uint32_t node);
void td_routed_link_ends(struct td_core *core, uint32_t node);
void td_routed_link_lost(struct td_core *core, uint32_t node);
/* td_routed_exclude: the machine goes on without a node. Groups that form now send nothing through
 * it, although its neighbours give it up one after the other, and tell that later still; until one
 * tells that it is back, or progress_timeout has passed. */
void td_routed_exclude(struct td_core *core, uint32_t node);
/* td_routed_tell_origin tells the origin of a packet that was lost in transit, unless it hears
 * otherwise that the packet's way is lost. */
void td_routed_tell_origin(struct td_core *core, const struct td_packet *lost);
/* td_routed_heard: a message has come from a node to which no route is known. What others have said
 * of lost nodes is out of date, and is forgotten; who still loses messages says it again. */
void td_routed_heard(struct td_core *core);
void td_routed_neighbour_lost(struct td_core *core, uint32_t from, const struct td_message *m);
/* td_routed_tell_again has a node told of all torus neighbours once more. */
void td_routed_tell_again(struct td_core *core, uint32_t node);
/* td_routed_tell has a node told which torus neighbours of this node are lost. */
void td_routed_tell(struct td_core *core, uint32_t node);

#endif
