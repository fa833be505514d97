/* SPDX-License-Identifier: Apache-2.0 */
/* fabric_routed_links: packets that leave, and the credits that travel with them. */
#ifndef TD_CORE_NET_FABRIC_ROUTED_LINKS_H
#define TD_CORE_NET_FABRIC_ROUTED_LINKS_H

#include "fabric_routed.h"

/* td_routed_move sends a packet that the router releases; td_routed_prefetch_move loads the memory
 * that this needs. */
void td_routed_move(struct td_core *core, const struct td_move *move);
void td_routed_prefetch_move(const struct td_core *core, const struct td_move *move);
/* td_routed_emit sends a held packet; `again`: as a retransmission. */
void td_routed_emit(struct td_core *core, const struct td_held *held, bool again);
/* td_routed_send_credits sends freed counts in the directions in which nothing moved. */
void td_routed_send_credits(struct td_core *core, uint32_t moved);

#endif
