/* SPDX-License-Identifier: Apache-2.0 */
/* goodbye: the last word of a daemon that stops.
 *
 * A stopping daemon sends GOODBYE on each connection, after all other messages of the session, and
 * once both ends know where that continues. The
 * receiver knows then that the ranks of that daemon are dead, without a timeout or a quorum, and
 * ends the link. That is the acknowledgement: the stopping daemon is done when all these links have
 * ended, or after TD_GOODBYE_NS. Heartbeats tell it to nodes without a link, for people alone
 * (health.h): their groups end as the groups' other nodes say.
 * Owns: for each other node the daemon that has said goodbye last, and the version of the daemon at
 * the far end of its link, and when its daemon was restarted; which nodes still have to acknowledge
 * this daemon's goodbye.
 * Invariant: `owing` is the number of bits of `owes`. */
#ifndef TD_CORE_NET_GOODBYE_H
#define TD_CORE_NET_GOODBYE_H

#include "base/bits.h"
#include "base/limits.h"
#include "link.h"

#define TD_GOODBYE_NS ((td_time)250000000)
/* The sentence for people, after the name of the node. */
#define TD_GOODBYE_TEXT "its daemon was stopped by its operator"

struct td_goodbyes {
    uint8_t owes[TD_NODES_MAX / 8]; /* the nodes that were told and still have a link */
    uint32_t owing;
    td_time until; /* this daemon waits for them no longer; 0: it has not begun */
    struct td_goodbye {
        uint32_t daemon; /* that has said goodbye: the low half of its incarnation; 0: none has */
        td_time restarted_at; /* another daemon was heard there; 0: none has been */
        td_time silent_ns;    /* how long the earlier one had been silent then; 0: it was heard
                                 until its end */
        td_time heard_at;     /* when it was heard last before its link went down */
        bool heard;           /* its link was open both ways until it went down last */
        bool died; /* the one before it said no goodbye, though it was heard until its end */
    } * of;        /* [nodes] */
};

/* td_goodbye_say tells all nodes that have a link, and returns true when the daemon may go.
 * It is called in each step of a daemon that has drained. */
bool td_goodbye_say(struct td_core *core);
/* td_goodbye_hear takes the goodbye of a node's daemon. */
void td_goodbye_hear(struct td_core *core, uint32_t from, const struct td_message_goodbye *m);
/* td_goodbye_link_down follows the links. `rejected`: a daemon runs there now, and rejects this
 * one. */
void td_goodbye_link_down(struct td_core *core, uint32_t node, bool rejected);
/* td_goodbye_restarted notes that another daemon than the last one runs on a node now. */
void td_goodbye_restarted(struct td_core *core, uint32_t node);
/* td_goodbye_is_missing returns true if the daemon that was on a node last has said no goodbye,
 * though it was heard until its link went down. */
bool td_goodbye_is_missing(const struct td_core *core, uint32_t node);
/* td_goodbye_silence returns for how long the daemon of a node has not been heard that another one
 * replaces now, or 0 if it was heard until its end or has said goodbye. */
td_time td_goodbye_silence(const struct td_core *core, uint32_t node);
/* td_goodbye_was_said returns true if the daemon that was on a node last has said goodbye. */
bool td_goodbye_was_said(const struct td_core *core, uint32_t node);

#endif
