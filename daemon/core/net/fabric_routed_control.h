/* SPDX-License-Identifier: Apache-2.0 */
/* fabric_routed_control: control messages: routes, forwarding, acknowledgement in time. */
#ifndef TD_CORE_NET_FABRIC_ROUTED_CONTROL_H
#define TD_CORE_NET_FABRIC_ROUTED_CONTROL_H

#include "fabric_routed.h"

/* td_routed_next_hop returns the node whose connection takes messages to a node: a neighbour, or
 * UINT32_MAX if no route is left. */
uint32_t td_routed_next_hop(struct td_core *core, uint32_t node);
/* td_routed_route does so for one message. */
uint32_t td_routed_route(struct td_core *core, struct td_message *message);
/* td_routed_routes_changed computes routes again after a loss or a return. td_routed_reroute is the
 * task that then gives up the links of unreachable nodes and restores others. */
void td_routed_routes_changed(struct td_core *core);
bool td_routed_reroute(struct td_core *core, struct td_task *task);
/* td_routed_relay takes a tree message from a neighbour. It returns the node that sent the message,
 * or UINT32_MAX if the message was forwarded or dropped. */
uint32_t td_routed_relay(struct td_core *core, uint32_t hop, struct td_message *message);
/* td_routed_expect_acknowledgement has relayed links looked at soon: to acknowledge what arrived,
 * and to notice what is not acknowledged. td_routed_timers does that. */
void td_routed_expect_acknowledgement(struct td_core *core);
void td_routed_timers(struct td_core *core);
/* td_routed_received sends DELIVERED, or keeps it while the link to the origin has many messages
 * that are not acknowledged; td_routed_transmit sends what was kept, and data that is carried to
 * the node. */
void td_routed_received(struct td_core *core, uint64_t instance, uint32_t node, uint32_t ticket);
bool td_routed_transmit(struct td_core *core, struct td_link *link);

#endif
