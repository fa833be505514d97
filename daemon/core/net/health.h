/* SPDX-License-Identifier: Apache-2.0 */
/* health: heartbeats, and what they tell of nodes without a link of their own. Each node tells its
 * parent in the node tree which nodes below are up and which have said goodbye, and each child the
 * same of the nodes elsewhere. The bitmaps replace each other, so a lost or late one does no harm.
 */
#ifndef TD_CORE_NET_HEALTH_H
#define TD_CORE_NET_HEALTH_H

#include "link.h"

/* struct td_silence: from, to: the latest silence of a node that has ended: no message of it came,
 * although heartbeats were due, or its link was down. Both are 0 if it never was silent. lasts: the
 * node is heard, but messages that it sent in the silence may still be on their way; `to` moves on.
 * since: the begin of the one that is recorded (`silent` of its link) and goes on. */
struct td_silence {
    td_time from, to, since;
    bool lasts;
    bool noted; /* that one is in the log */
};

struct td_health {
    td_time beat_at;                              /* the next tick */
    uint32_t beaten;                              /* nodes that a tick under way has come past */
    uint32_t neighbours;                          /* in the node tree */
    uint16_t neighbour[TD_TREE_CHILDREN_MAX + 1]; /* parent and children there */
    struct td_silence *silence;                   /* [nodes] */
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
/* td_health_silence returns how long a node with a link has been silent, or 0 if no message of it
 * is missing: heartbeats come to parent and children in the node tree. Others are asked after half
 * of td_health_patience if something here depends on them. */
td_time td_health_silence(const struct td_core *core, uint32_t node);
/* td_health_is_mute returns true if there is a connection to a node, and nothing has come from the
 * node since it was made. td_health_print_mute says so, and why that may be. */
bool td_health_is_mute(const struct td_core *core, uint32_t node);
void td_health_print_mute(const struct td_core *core, char *text, size_t bytes);
/* td_health_hear notes that a message has come from a node: a silence of it ends. td_health_hear_up
 * notes that the link to it is up. */
void td_health_hear(struct td_core *core, struct td_link *link);
void td_health_hear_up(struct td_core *core, struct td_link *link);
/* td_health_deliver notes that a tree message of a node is taken whose turn it is: what the node
 * sent before, in a silence, has come. td_health_asked notes that a node asks where its session
 * goes on: it keeps back what it has to send until it knows. */
void td_health_deliver(struct td_core *core, struct td_link *link, const struct td_message *m);
void td_health_asked(struct td_core *core, struct td_link *link);
/* td_health_delay returns for how long, until now, a silence of a node that has just ended has kept
 * its messages from coming, or 0. For this node it is the time in which its daemon did not run. */
td_time td_health_delay(const struct td_core *core, uint32_t node);
/* td_health_unheard returns for how long a node has not been heard that is silent or not connected
 * now; 0: it is heard, or nothing here has needed a connection to it. */
td_time td_health_unheard(const struct td_core *core, uint32_t node);
/* td_health_is_stopped returns true if a node is not up, and its daemon has said goodbye to this
 * node or to another one. td_health_why returns why a node is not up. */
bool td_health_is_stopped(struct td_core *core, uint32_t node);
const char *td_health_why(struct td_core *core, uint32_t node);

#endif
