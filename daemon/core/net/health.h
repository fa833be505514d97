/* SPDX-License-Identifier: Apache-2.0 */
/* health: heartbeats, and what they tell of nodes without a link of their own. Each node tells its
 * parent in the node tree which nodes below are up, and each child which ones are up elsewhere. The
 * bitmaps replace each other, so a lost or late one does no harm. */
#ifndef TD_CORE_NET_HEALTH_H
#define TD_CORE_NET_HEALTH_H

#include "link.h"

/* td_health_heard takes the bitmap of a neighbour's heartbeat. */
void td_health_heard(struct td_core *core, uint32_t node, const struct td_message *heartbeat);
/* td_health_tick sends heartbeats that are due and drops links that are silent. */
void td_health_tick(struct td_core *core);
/* td_health_changed tells the neighbours, except one, which nodes are up, now. */
void td_health_changed(struct td_core *core, uint32_t except);
enum td_peer_state td_health_state(struct td_core *core, uint32_t node);

#endif
