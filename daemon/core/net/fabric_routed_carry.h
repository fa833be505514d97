/* SPDX-License-Identifier: Apache-2.0 */
/* fabric_routed_carry: messages that control messages carry round lost nodes.
 *
 * Packets take shortest ways only, and any of them. If a lost node is on one of them, a message is
 * *carried* (carry.h): cut into CARRY messages, which take the routes of control messages
 * (fabric_routed_control.h). These need no memory of the nodes on the route, so the router's
 * argument against deadlock holds as it is. The destination says DELIVERED, as for packets. */
#ifndef TD_CORE_NET_FABRIC_ROUTED_CARRY_H
#define TD_CORE_NET_FABRIC_ROUTED_CARRY_H

#include "fabric_routed.h"

/* td_routed_carry_has_room returns true if one more message can be carried now. */
bool td_routed_carry_has_room(const struct td_core *core);
/* td_routed_carry carries a message of this node. td_routed_carry_end forgets it, before its record
 * is released. */
void td_routed_carry(struct td_core *core, struct td_transfer *transfer);
void td_routed_carry_end(struct td_core *core, struct td_transfer *transfer);
/* td_routed_carry_on sends what the window of a link allows, in the link's task; *left: something
 * waits for acknowledgements. It returns false if the action list has no room. */
bool td_routed_carry_on(struct td_core *core, struct td_link *link, bool *left);

#endif
