/* SPDX-License-Identifier: Apache-2.0 */
/* link: this node's session with one other node, and the packets on the connection to it.
 *
 * A link is a pair of one-way sessions. On the way out, packets and tree messages are numbered from
 * 1, each for themselves. On the way in they are accepted in order, and duplicates are dropped; the
 * counts of what was received travel back in whatever goes that way.
 *
 * A session outlives connections: what is not acknowledged is kept (packets as held packets, tree
 * messages by the driver). When the link is up again, both ends tell in a RESUME what they have,
 * and retransmit the rest. A session ends when the link does not come back in time: then all of it
 * is lost, the next session has another number, and the far end recognises by that number that it
 * must forget too. The first session of a daemon follows from its incarnation, so two daemons that
 * meet for the first time need no RESUME (session.c).
 *
 * To a daemon that was restarted the session goes on. What needs the earlier daemon is lost at
 * once; a group that formed with the new one is not, whenever this node learns of the restart. If
 * there is such a group, messages that are not acknowledged go to the new daemon, since they may be
 * for it; otherwise they are dropped. The RESUME says with which number they begin.
 *
 * On the direct fabric every link has a connection of its own. On the routed fabric only the links
 * to torus neighbours do; the messages of all others are *relayed* by neighbours
 * (fabric_routed_control.c), and such a link is up for as long as a route to its node is known.
 *
 * Two state machines describe a link (session_state.h): the way to the node, and the session.
 * Owns: the held packets of its lane. Borrows: the operations that they are for.
 * Invariant: the session is open only while the link is up; a link that is up has an open session
 * or has asked for one; freed <= received <= sent, and on the direct fabric sent <= freed +
 * link_credits, seen from either end; session_in is 0 when nothing of the far end's session has
 * arrived. */
#ifndef TD_CORE_NET_LINK_H
#define TD_CORE_NET_LINK_H

#include "base/shares.h"
#include "core/core_internal.h"
#include "session_state.h"

enum { TD_LINK_TEXT_MAX = 160 };

/* struct td_lane: the packets of a link. On the routed fabric only neighbours exchange packets;
 * links to all other nodes share one lane that stays empty, which keeps their memory small. The
 * fields that the routed fabric needs lie in one cache line. */
struct td_lane {
    uint64_t sent, acknowledged, received;
    uint64_t retransmit;            /* sequence of the next packet to retransmit, before any new
                                       one; 0: none */
    uint32_t first_held, last_held; /* packets that are not settled, in order */
    uint32_t held;                  /* how many */
    uint32_t resumes;               /* sessions that resumed, for people */
    uint64_t freed, freed_there;    /* direct: cumulative freed counts, here and at the far end */
    uint64_t received_told, freed_told; /* direct: the counts as last sent */
    struct td_shares queue;             /* direct: messages that wait for credits, by job */
    uint64_t question; /* that the far end must answer before the session opens; 0: none */
    uint64_t answers;  /* the latest question of the far end; 0: none */
    bool expected;     /* a group has formed with a daemon there that was not up here yet */
    /* for people, of all sessions: packets sent, the payload of these and of carried messages, and
     * packets sent again */
    uint64_t packets, bytes, repeated;
    uint64_t messages;   /* tree messages of the sessions before this one */
    td_time since;       /* it came up, or went down; 0: neither has happened */
    td_time busy_since;  /* some packet has been unsettled since, while `held` is not 0 */
    uint64_t busy_bytes; /* `bytes` at that time */
};

/* struct td_link: the first cache line has what nearly every message needs. */
struct td_link {
    enum td_link_state state : TD_LINK_STATE_BITS;
    enum td_session_state session_state : TD_SESSION_STATE_BITS;
    bool neighbour : 1;    /* parent or child in the node tree of heartbeats */
    bool relayed : 1;      /* without a connection of its own: neighbours forward its messages */
    bool violated : 1;     /* the far end broke the protocol, or has said goodbye: given up when it
                              goes down */
    bool torn : 1;         /* was up in this session, went down and has not resumed since */
    bool resume_due : 1;   /* a RESUME is to be sent */
    bool reply_wanted : 1; /* the RESUME asks for a reply */
    bool counts_due : 1;   /* the packet counts are to be sent */
    bool owed : 1;         /* DELIVERED or CARRY to the node wait for acknowledgements */
    bool early : 1;        /* a message has arrived before its turn (early.h) */
    uint8_t age : 2;       /* relayed: ticks in which nothing was acknowledged */
    uint16_t node;
    uint32_t session;      /* outgoing: a new number when the link is given up */
    uint32_t session_in;   /* incoming, as the far end numbers it */
    uint32_t watches : 31; /* communicators and joins that depend on the node */
    uint32_t silent : 1;   /* the flight recorder has a silence that goes on (silence.h) */
    td_time heard_at, spoke_at;
    uint64_t tree_sent, tree_acknowledged, tree_received, tree_received_told;
    struct td_task task;
    struct td_lane *lane;
    uint32_t daemon; /* the far one: the low half of its incarnation. 0: it was never up, or
                        (relayed) has not said so */
    uint32_t session_given_up; /* the latest incoming session that was given up here */
    td_time expires_at;        /* the link is down or not open, and its session ends then */
    uint8_t *news; /* neighbours in the node tree: bitmaps of the nodes on that side that are up,
                      and of those that have said goodbye */
    char *text;    /* TD_LINK_TEXT_MAX bytes: why it went down; "" while it is up or never was */
};
_Static_assert(sizeof(struct td_link) == 128, "two cache lines");
_Static_assert(TD_NODES_MAX <= UINT16_MAX, "a link has its node's number");

/* td_link_is_up returns true if messages can go to the node now. */
static inline bool td_link_is_up(const struct td_link *link)
{
    return link->state == TD_LINK_UP;
}
/* td_link_is_given_up returns true if the session has ended, and the link was not up since. */
static inline bool td_link_is_given_up(const struct td_link *link)
{
    return link->state >= TD_LINK_GIVEN_UP;
}
/* td_link_is_open returns true if the link is up, and both ends continue from the same place. */
static inline bool td_link_is_open(const struct td_link *link)
{
    return link->session_state >= TD_SESSION_OPEN;
}
/* td_link_init returns false if memory runs out. */
bool td_link_init(struct td_core *core);
/* td_link_why returns why a link is not up. */
const char *td_link_why(const struct td_link *link);
/* td_link_packet takes a packet from the driver. */
void td_link_packet(struct td_core *core, uint32_t node, const struct td_packet *packet,
                    uint32_t buffer);
/* td_link_arriving takes the driver's word that a part of a packet has arrived. On a slow link a
 * packet may take longer than progress_timeout. */
void td_link_arriving(struct td_core *core, uint32_t node, const struct td_packet *packet);
/* td_link_sent ends the driver's read of the payload of a packet or a CARRY. */
void td_link_sent(struct td_core *core, uint64_t handle);
/* td_link_hold gives a packet that is about to be sent its place in the link's session. */
void td_link_hold(struct td_core *core, struct td_link *link, uint32_t held);
/* td_link_let_go takes a packet off the list of those on a link; `before` precedes it there
 * (TD_HELD_NONE: it is the first). */
void td_link_let_go(struct td_core *core, struct td_lane *lane, uint32_t before, uint32_t held);
/* td_link_acknowledge ends the packets up to a cumulative count. */
void td_link_acknowledge(struct td_core *core, struct td_link *link, uint64_t received);
/* td_link_settle releases the packets that are acknowledged (or lost with their session) and no
 * longer read, as far as the action list has room. */
void td_link_settle(struct td_core *core, struct td_link *link);
/* td_link_drop ends the session of a node that broke the protocol. */
void td_link_drop(struct td_core *core, uint32_t node, const char *text) __attribute__((cold));
/* td_link_want makes the driver connect. */
void td_link_want(struct td_core *core, struct td_link *link);
/* td_link_watch counts a user here that depends on the node: it is then noticed when the node falls
 * silent. td_link_unwatch ends that. */
void td_link_watch(struct td_core *core, uint32_t node);
void td_link_unwatch(struct td_core *core, uint32_t node);

#endif
