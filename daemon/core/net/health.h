/* SPDX-License-Identifier: Apache-2.0 */
/* health: heartbeats, and what they tell of nodes without a link of their own. Each node tells its
 * parent in the node tree which nodes below are up and which have said goodbye, and each child the
 * same of the nodes elsewhere. The bitmaps replace each other, so a lost or late one does no harm.
 */
#ifndef TD_CORE_NET_HEALTH_H
#define TD_CORE_NET_HEALTH_H

#include "link.h"

struct td_health {
    td_time beat_at;                              /* the next tick */
    uint32_t beaten;                              /* nodes that a tick under way has come past */
    uint32_t neighbours;                          /* in the node tree */
    uint16_t neighbour[TD_TREE_CHILDREN_MAX + 1]; /* parent and children there */
};

/* td_health_add makes the far end of a link a neighbour in the node tree. It returns false if there
 * is no memory. */
bool td_health_add(struct td_core *core, struct td_link *link);
/* td_health_begin sets the time of the first tick. */
void td_health_begin(struct td_core *core);
/* td_health_heard takes the bitmap of a neighbour's heartbeat. */
void td_health_heard(struct td_core *core, uint32_t node, const struct td_message *heartbeat);
/* td_health_tick sends heartbeats that are due and drops links that are silent. */
void td_health_tick(struct td_core *core);
/* td_health_changed tells the neighbours, except one, which nodes are up, now. */
void td_health_changed(struct td_core *core, uint32_t except);
/* td_health_patience returns how long a node, or one on the way to it, can be silent without being
 * given up. */
td_time td_health_patience(const struct td_core *core);
enum td_peer_state td_health_state(struct td_core *core, uint32_t node);
/* td_health_is_stopped returns true if a node is not up, and its daemon has said goodbye to this
 * node or to another one. td_health_why returns why a node is not up. */
bool td_health_is_stopped(struct td_core *core, uint32_t node);
const char *td_health_why(struct td_core *core, uint32_t node);

#endif
