/* SPDX-License-Identifier: Apache-2.0 */
/* fabric: how the packets of SEND steps travel between nodes, as one table of functions.
 *
 *   direct   a physical torus or a switched network: each packet goes straight to its destination
 *   routed   an emulated torus: packets and control messages hop from neighbour to neighbour
 *
 * `link` numbers packets, acknowledges, settles and retransmits them for both; a fabric decides
 * which packet goes on which link and when. td_core_create chooses the table; no other code asks
 * which fabric it is. Owns: messages (struct td_transfer) until they are delivered. Borrows:
 * operations. */
#ifndef TD_CORE_NET_FABRIC_H
#define TD_CORE_NET_FABRIC_H

#include "core/core_internal.h"
#include "base/shares.h"
#include "base/span.h"
#include "router.h"
#include "inflight.h"
#include "link.h"

/* struct td_sender: an operation as a fabric sees it, a part of its record. */
struct td_sender {
    struct td_operation *operation;
    struct td_arena *arena;    /* of its user, for messages that wait */
    uint64_t job;              /* instance of the job's world: its groups have one share */
    uint64_t instance;         /* of the operation's group */
    struct td_task *task;      /* queued when there is room again */
    struct td_sender *next;    /* of the senders that wait for room */
    bool backlogged;           /* on that list */
    uint64_t families_blocked; /* bitmap of the families that wait for packets to move */
    uint32_t queue_blocked;    /* the full queue, if one family waits */
    uint32_t queued;           /* direct: messages in the queues of links */
};

/* struct td_transfer: a message on its way: one SEND step of an operation. */
struct td_transfer {
    struct td_turn turn;      /* direct: in the link's queue; the first member */
    struct td_transfer *next; /* routed: of the carried ones, or of the records to use again */
    struct td_operation *operation;
    struct td_sender *sender; /* direct: while it is queued */
    uint64_t bytes, offset;   /* offset: bytes handed to the link so far */
    uint64_t index;           /* of the SEND step */
    unsigned family;          /* of the SEND step, at this node */
    uint32_t peer;            /* destination node */
    uint32_t unsettled;       /* packets that are not settled (link.h) */
    uint32_t ticket;          /* routed: this node's name of the message */
    bool abandoned;           /* its operation has ended and does not wait for it */
    bool delivered;           /* routed: the destination has acknowledged all of it */
    bool carried;             /* no packets, but messages carry it (carry.h) */
    bool lost;                /* routed: a packet of it was in flight on a session that has ended */
    uint32_t peer_family;     /* of the RECV step, at the destination */
    uint64_t peer_index;
    struct td_slice from;
};

/* enum td_accept: the outcome of a packet that arrived in sequence. */
enum td_accept {
    TD_ACCEPT_KEPT,     /* the fabric owns the buffer now */
    TD_ACCEPT_RELEASED, /* the caller releases the buffer, if there is one */
    TD_ACCEPT_VIOLATION /* the neighbour broke the protocol; *why says how */
};

/* struct td_fabric_port: a direction of travel, for people. */
struct td_fabric_port {
    uint32_t neighbour; /* the node itself where a mesh ends */
    uint64_t bytes;     /* payload sent in this direction */
    uint64_t retries;   /* packets retransmitted after the link was lost */
    uint32_t resumes;   /* sessions of the link that resumed */
};

struct td_fabric {
    bool routed;         /* groups use trees of torus neighbours (model/planes_best.h) */
    bool ordered;        /* the packets of one message arrive in the order of their offsets */
    bool keeps_packets;  /* packets that were for a daemon that has ended may go to the next one */
    bool queues_sends;   /* takes SEND steps ahead of TD_STEPS_AHEAD */
    bool counts_by_link; /* freed counts of a link are its credits */

    /* init makes the fabric's state; false if memory runs out. Links exist already. */
    bool (*init)(struct td_core *core);
    /* adjacent returns true if this node has a connection of its own to a node. */
    bool (*adjacent)(const struct td_core *core, uint32_t node);
    /* health_edge returns true if an adjacent node is the parent or a child in the tree of
     * heartbeats. */
    bool (*health_edge)(const struct td_core *core, uint32_t node);

    /* next_hop returns the node whose connection takes messages to a node; UINT32_MAX if no route
     * is left. */
    uint32_t (*next_hop)(struct td_core *core, uint32_t node);
    /* route does so for one message, whose envelope is filled in. */
    uint32_t (*route)(struct td_core *core, struct td_message *message);
    /* relay takes a tree message from a connection. It returns the node that sent the message, or
     * UINT32_MAX if the message was forwarded or dropped. */
    uint32_t (*relay)(struct td_core *core, uint32_t hop, struct td_message *message);
    /* expect_acknowledgement: a relayed link has sent or received a message that is not
     * acknowledged. */
    void (*expect_acknowledgement)(struct td_core *core);
    void (*timers)(struct td_core *core);

    /* approach opens the connections over which packets to a node will go. */
    void (*approach)(struct td_core *core, uint32_t node);
    /* send takes a SEND step; the notice `delivered` tells when it is done. It returns false if it
     * cannot take the step now: the operation is queued again when it can. */
    bool (*send)(struct td_core *core, struct td_sender *sender, unsigned family, uint64_t index,
                 const struct td_step *step);
    /* abandon drops the queued messages of an operation that has ended. Packets that are on links
     * settle by themselves. */
    void (*abandon)(struct td_core *core, struct td_sender *sender);
    /* forget drops the reference to a sender, before its record is released. */
    void (*forget)(struct td_core *core, struct td_sender *sender);

    /* transmit sends what a link's credits allow, in the link's task; false if the action list has
     * no room. */
    bool (*transmit)(struct td_core *core, struct td_link *link);
    /* emit sends a held packet; `again`: as a retransmission. */
    void (*emit)(struct td_core *core, const struct td_held *held, bool again);
    /* settled ends a packet of this node whose record is released next. */
    void (*settled)(struct td_core *core, struct td_inflight *inflight);

    /* accept takes a packet that is the next of its session, or counts that travel alone. */
    enum td_accept (*accept)(struct td_core *core, uint32_t node, const struct td_packet *packet,
                             uint32_t buffer, const char **why);
    /* origin returns the node whose program sent a packet that comes from a neighbour, UINT32_MAX
     * if the packet is not for this node. */
    uint32_t (*origin)(const struct td_core *core, uint32_t node, const struct td_packet *packet);
    /* unpacked frees the place of a packet whose payload has been dealt with. */
    void (*unpacked)(struct td_core *core, const struct td_inflight *inflight);
    /* received acknowledges a whole message of a job to its origin. */
    void (*received)(struct td_core *core, uint64_t instance, uint32_t origin, uint32_t ticket);
    /* delivered takes a destination's acknowledgement of a whole message, or a node's notice that
     * it has lost a packet on its way. */
    void (*delivered)(struct td_core *core, uint32_t from, const struct td_message_delivered *fate);

    /* carried takes data that a CARRY message from its origin brings. */
    void (*carried)(struct td_core *core, uint32_t origin, const struct td_message *message);

    /* link_open, link_ends and link_lost follow the session of a link: it is open; its packets that
     * are not acknowledged are lost now; it has ended. */
    void (*link_open)(struct td_core *core, uint32_t node);
    void (*link_ends)(struct td_core *core, uint32_t node);
    void (*link_lost)(struct td_core *core, uint32_t node);
    /* dropped reports that the fabric has dropped data in flight to a node whose session goes on.
     */
    void (*dropped)(struct td_core *core, uint32_t node);

    /* exclude: the machine goes on without a node that is silent. */
    void (*exclude)(struct td_core *core, uint32_t node);

    /* neighbour_lost takes a node's notice that a torus neighbour of it is lost, or is back. */
    void (*neighbour_lost)(struct td_core *core, uint32_t from, const struct td_message *notice);

    /* turn moves packets, when the driver wakes the core; wake_at returns when that is due. */
    void (*turn)(struct td_core *core);
    td_time (*wake_at)(const struct td_core *core);

    /* prefetch loads memory that a packet from a node will need. */
    void (*prefetch)(const struct td_core *core, uint32_t node, const struct td_packet *packet);
    void (*prefetch_ticket)(const struct td_core *core, uint64_t ticket);
    void (*prefetch_route)(const struct td_core *core, uint32_t node);
    /* spans adds memory that nearly every step reads (core.h); returns the new count. */
    unsigned (*spans)(const struct td_core *core, struct td_span *spans, unsigned count);
    /* router returns the node's router, for people; NULL if there is none. */
    const struct td_router *(*router)(const struct td_core *core);
    void (*inspect)(const struct td_core *core, unsigned direction, struct td_fabric_port *port);
};

extern const struct td_fabric td_fabric_direct, td_fabric_routed;

#endif
