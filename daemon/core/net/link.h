/* SPDX-License-Identifier: Apache-2.0 */
/* link: the way to one other node: whether it is up, the packets in flight on it, and the messages
 * waiting for credit. Also what was last heard from the node (health).
 *
 * A link is a pair of one-way sessions. On the way out, packets and tree messages are numbered from
 * 1, each for themselves; on the direct fabric at most `link_credits` packets are unfreed at the
 * far end. On the way in, they come in order, what comes twice is dropped, and what was received
 * and freed is told back in whatever goes that way.
 *
 * A session outlives connections: what is not acknowledged is kept (packets as flights, or by the
 * torus, tree messages by the driver), and when the link is up again both ends say in a RESUME what
 * they have, and go on from there. A session ends when the link does not come back in time, or to a
 * daemon that was started anew: then all of it is lost, the next one has another number, and by
 * that number the far end knows that it has to forget too. The first session of a daemon is known
 * from its incarnation, so that two that meet for the first time need no RESUME. Owns: transfers
 * until delivered. Borrows: the operations they are for. Invariant: freed <= received <= sent <=
 * freed + link_credits, seen from either end; session_in is 0 when nothing of the far end's session
 * has come. */
#ifndef TD_CORE_NET_LINK_H
#define TD_CORE_NET_LINK_H

#include "core/core_internal.h"

/* struct td_transfer: a message on its way: a SEND step of an operation. */
struct td_transfer {
    struct td_transfer *next;
    struct td_operation *operation;
    uint64_t bytes, offset; /* offset: handed to the link so far */
    uint64_t index;         /* of the SEND */
    unsigned family;        /* of the SEND, at this node */
    uint32_t peer;          /* of the step, as are those at the end */
    uint32_t unsettled;     /* packets in flight */
    uint32_t ticket;        /* routed */
    bool abandoned;         /* its operation has ended: nobody waits for it */
    bool delivered;         /* routed: the destination has said so */
    uint32_t peer_family;
    uint64_t peer_index;
    struct td_slice from;
};

enum { TD_LINK_TEXT_MAX = 160 };

/* struct td_lane: the packets of a link. On the torus only neighbours exchange packets; links to
 * all others share a lane that stays empty, so that what a node keeps of each other one is little.
 * What the torus needs of one is in a cache line. */
struct td_lane {
    uint64_t sent, acknowledged, received;
    uint64_t again; /* the next packet to be sent again, before anything new; 0: none */
    uint32_t first_note, last_note; /* routed: packets not settled, of the torus, */
    uint32_t notes;                 /* and how many */
    uint32_t resumes; /* times that both sessions went on where they had stopped: for looking */
    uint64_t freed, freed_there;
    struct td_inflight
        *packets; /* direct: not settled, that is acknowledged and read by the driver */
    struct td_inflight **packets_last;
    uint64_t received_told, freed_told;
    struct td_transfer *queue, **queue_last;
};
#define TD_LANE_NO_NOTE (UINT32_MAX >> 1)

/* struct td_link: what nearly every message needs of one is in its first cache line. */
struct td_link {
    bool up : 1, wanted : 1;
    bool neighbour : 1; /* in the node tree */
    bool open : 1;      /* up, and both ends go on from the same place */
    bool dead : 1;      /* given up, and not up since */
    bool guilty : 1;    /* it broke the rules: given up when it goes down */
    bool ask : 1;       /* a RESUME is due */
    bool poll : 1;      /* which asks for an answer */
    bool asked : 1;     /* and no answer has come */
    bool tell : 1;      /* counts are due */
    bool torn : 1;      /* it was up in this session, and has not gone on since it went down */
    uint16_t node;
    uint32_t session;    /* of the way out: new when the link is given up */
    uint32_t session_in; /* of the way in, as the far end numbers it */
    uint32_t watches;    /* communicators and joins that want to know of its death */
    td_time heard_at, spoke_at;
    uint64_t tree_sent, tree_acknowledged, tree_received, tree_received_told;
    struct td_task task;
    struct td_lane *lane;
    uint64_t incarnation;
    td_time expires_at; /* it is down, or not open, and given up then */
    uint8_t *news;      /* neighbours: the nodes that are up on its side */
    char *text; /* TD_LINK_TEXT_MAX bytes: why it went down; "" when it is up, or never was */
};
_Static_assert(sizeof(struct td_link) == 128, "two cache lines");
_Static_assert(TD_NODES_MAX <= UINT16_MAX, "a link has its node's number");

/* td_link_init: false: no memory. */
bool td_link_init(struct td_core *core);
void td_link_up(struct td_core *core, uint32_t node, uint64_t incarnation);
/* td_link_why returns why a link is not up. */
const char *td_link_why(const struct td_link *link);
/* td_link_neighbour finds the neighbours in the node tree, by increasing number: *place is 0 at
 * first. False: there are no more. */
bool td_link_neighbour(const struct td_core *core, uint32_t *place, uint32_t *node);
/* td_link_down: the link is given up after progress_timeout, or a heartbeat after the host there
 * has said that no daemon answers, or when it never was up. */
void td_link_down(struct td_core *core, uint32_t node, const char *text, bool refused);
/* td_link_timers gives up what has been down for too long. */
void td_link_timers(struct td_core *core);
/* td_link_send queues a SEND step; the notice `delivered` follows when it is done. It returns false
 * if there is no memory. */
bool td_link_send(struct td_core *core, struct td_operation *operation, unsigned family,
                  uint64_t index, const struct td_step *step);
/* td_link_abandon drops what is queued of an operation. What is in flight settles by itself. */
void td_link_abandon(struct td_core *core, struct td_operation *operation);
void td_link_packet(struct td_core *core, uint32_t node, const struct td_packet *packet,
                    uint32_t buffer);
void td_link_sent(struct td_core *core, uint64_t handle);
/* td_link_freed: a packet received in that session has been dealt with. */
void td_link_freed(struct td_core *core, uint32_t node, uint32_t session);
/* td_link_drop ends a session whose far end broke the rules. */
void td_link_drop(struct td_core *core, uint32_t node, const char *text) __attribute__((cold));
/* td_link_acknowledge: so many packets have come there. */
void td_link_acknowledge(struct td_core *core, struct td_link *link, uint64_t received);
/* td_link_settle ends packets that are acknowledged and no longer read, as far as there is room for
 * what that takes. */
void td_link_settle(struct td_core *core, struct td_link *link);
/* td_link_kept counts the packets of a link that are not settled. */
uint32_t td_link_kept(const struct td_link *link);
/* td_link_want makes the driver connect. */
void td_link_want(struct td_core *core, struct td_link *link);
/* td_link_watch and unwatch: somebody here depends on the node. */
void td_link_watch(struct td_core *core, uint32_t node);
void td_link_unwatch(struct td_core *core, uint32_t node);

/* ---- sessions: resume.c ---- */

void td_link_start(struct td_core *core, struct td_link *link);
/* td_link_seal gives a tree message that is being sent its place in the session. */
void td_link_seal(struct td_core *core, struct td_action *action);
/* td_link_message takes what a tree message says of the link; false: it is not, or not again, for
 * anybody else. */
bool td_link_message(struct td_core *core, uint32_t node, const struct td_message *m);
/* td_link_knows: whether a packet is of the session and the next one. */
bool td_link_knows(struct td_core *core, struct td_link *link, const struct td_packet *packet);
/* td_link_ask asks the far end to resume; once, until it answers. */
void td_link_ask(struct td_core *core, struct td_link *link) __attribute__((cold));
/* td_link_speak sends the RESUME that is due. */
void td_link_speak(struct td_core *core, struct td_link *link);

/* ---- health ---- */

void td_health_heard(struct td_core *core, uint32_t node, const struct td_message *heartbeat);
/* td_health_tick sends heartbeats that are due and ends links that are silent. */
void td_health_tick(struct td_core *core);
/* td_health_changed tells the neighbours who is up, now. */
void td_health_changed(struct td_core *core, uint32_t except);
enum td_peer_state td_health_state(struct td_core *core, uint32_t node);

#endif
