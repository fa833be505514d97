/* SPDX-License-Identifier: Apache-2.0 */
/* silence: which nodes are silent, and for how long they were. A node is silent if no message of it
 * has come although heartbeats were due, or if its link is down. The time is charged to the node
 * (operation/arrival.h), and the flight recorder and the log are told.
 * Owns: the silences of a core, in its arena. Borrows: links. Pure: no I/O, clock, or globals. */
#ifndef TD_CORE_NET_SILENCE_H
#define TD_CORE_NET_SILENCE_H

#include "link.h"

/* struct td_silence: the silences of a node. In a silence no message of the node came, although
 * heartbeats were due, or its link was down. */
struct td_silence {
    td_time from, to; /* the latest one that has ended; 0: there was none */
    td_time heard;    /* when the node was heard again after it */
    bool lasts;    /* messages that it sent in the silence are still on their way: `to` moves on */
    bool mute;     /* nothing has come from the node since its link came up */
    td_time since; /* the begin of a silence that goes on and is recorded (`silent` of the link) */
    bool noted;    /* and is in the log */
};

/* td_silence_now returns how long a node with a link has been silent, or 0 if no message of it
 * is missing: heartbeats come to parent and children in the node tree. Others are asked after half
 * of progress_timeout if something here depends on them. */
td_time td_silence_now(const struct td_core *core, uint32_t node);
/* td_silence_is_mute returns true if there is a connection to a node, and nothing has come from the
 * node since it was made. */
bool td_silence_is_mute(const struct td_core *core, uint32_t node);
/* td_silence_print_why writes what is known of the reason of a silence: a fault of this host, or
 * that nothing has come since the connection was made. It returns false if nothing is. */
bool td_silence_print_why(const struct td_core *core, uint32_t node, char *text, size_t bytes);
/* td_silence_hear notes that a message has come from a node: a silence of it ends.
 * td_silence_hear_up notes that the link to it is up. */
void td_silence_hear(struct td_core *core, struct td_link *link);
void td_silence_hear_up(struct td_core *core, struct td_link *link);
/* td_silence_deliver notes that a tree message of a node is taken whose turn it is: what the node
 * sent before, in a silence, has come, unless a heartbeat tells of more. td_silence_asked notes
 * that a node asks where its session goes on: it keeps back what it has to send until it knows. */
void td_silence_deliver(struct td_core *core, struct td_link *link, const struct td_message *m);
void td_silence_asked(struct td_core *core, struct td_link *link);
/* td_silence_delay returns for how long, until now, a silence of a node that has just ended has
 * kept its messages from coming, or 0. For this node it is the time in which its daemon did not
 * run. */
td_time td_silence_delay(const struct td_core *core, uint32_t node);
/* td_silence_lasted returns how much of td_silence_delay the node was not heard, without the time
 * in which its messages were still on their way. */
td_time td_silence_lasted(const struct td_core *core, uint32_t node);
/* td_silence_unheard returns for how long a node has not been heard that is silent or not connected
 * now; 0: it is heard, or nothing here has needed a connection to it. */
td_time td_silence_unheard(const struct td_core *core, uint32_t node);
/* td_silence_tell records that a node is silent, once, and tells the log when that has lasted for
 * long. */
void td_silence_tell(struct td_core *core, struct td_link *link);

#endif
