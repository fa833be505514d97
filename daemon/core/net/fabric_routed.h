/* SPDX-License-Identifier: Apache-2.0 */
/* fabric_routed: the routed fabric as this node takes part in it. SEND steps become shipments of
 * the router; packets that the router moves go out on the links to the neighbours; packets that
 * arrive move on, or belong to a step here. Only the files fabric_routed*.c include this header:
 *
 *   fabric_routed.c         messages, packets that arrive, turns of the router
 *   fabric_routed_links.c   packets that leave, and the credits that travel with them
 *   fabric_routed_control.c control messages: routes, forwarding, acknowledgement in time
 *   fabric_routed_losses.c  what ends when a node is lost, and how all nodes learn of it
 *   fabric_routed_state.c   whether a torus neighbour is lost
 *
 * A message is delivered when its destination says so (DELIVERED): a neighbour's acknowledgement
 * only says that the packet is one hop further. Packets move when the driver wakes the core, after
 * everything that arrived at the same time: packets in transit are then known, and go first.
 *
 * With a link rate, each direction is busy for as long as a packet takes on it; without one, links
 * carry what the credits allow. When a neighbour is given up, the packets on the way to it or from
 * it are lost: they belong to messages with a shortest path through it, which fail at their origin
 * with its name. Other packets are dropped where no path is left.
 * Owns: the router, and the messages that leave. Borrows: operations. Source: algorithms of
 * us8095585, figures 5 to 9; the bubble rule is in router.h. */
#ifndef TD_CORE_NET_FABRIC_ROUTED_H
#define TD_CORE_NET_FABRIC_ROUTED_H

#include "fabric.h"
#include "fabric_routed_state.h"
#include "link.h"
#include "router.h"

enum { TD_TICKETS = 4096 /* messages of a node on their way */ };

/* A parcel's tag names a packet of a message of this node (OWN, the ticket's index, the packet's
 * number), or a held packet in transit (its index). */
#define OWN ((uint64_t)1 << 63)
enum { TICKET_SHIFT = 32, GENERATION_SHIFT = 16 };

struct port {
    struct td_link *link;
    struct td_lane *lane;
    td_time free_at;                  /* when the outgoing direction can take another packet */
    uint64_t bytes;                   /* sent, for people */
    uint32_t neighbour;               /* the node itself where a mesh ends */
    uint32_t freed_sent[TD_CHANNELS]; /* freed counts, as last sent, of the input channels that
                                         the opposite direction fills */
    uint32_t retries;                 /* packets retransmitted, for people */
    bool credit_late; /* counts were not sent at the last turn, although there were some */
    /* The neighbour's state, and loss notices: bitmap of the nodes that must hear that the
     * neighbour is lost, or is back, whichever it is now. With two cables to one neighbour, the
     * first port has both. */
    enum td_neighbour_state state : 8;
    uint8_t *announce_to;
};
_Static_assert(sizeof(struct port) == 64, "a cache line");

struct ticket {
    struct td_transfer *transfer;
    uint16_t generation;
    uint16_t next_free;
};

/* struct td_owed: a DELIVERED that waits until its link's messages are acknowledged. */
struct td_owed {
    struct td_owed *next;
    uint64_t instance;
    uint32_t ticket, node;
};

struct td_routed {
    struct td_router *router;
    struct ticket *ticket;        /* [TD_TICKETS] */
    struct td_sender *backlogged; /* senders that wait for room in the router's queues */
    struct td_transfer *spare;    /* records to use again */
    uint32_t transfers;           /* in use */
    uint32_t tickets_free;
    td_time packet_ns; /* a full packet's time on a link */
    td_time wake_at;
    td_time due; /* when the present turn should have been */
    uint32_t directions;
    uint32_t resend_counts; /* bitmap of the directions whose last counts may have been lost */
    uint32_t lost_packets;  /* held packets whose buffers are to be released */
    int16_t reach[TD_DIMENSIONS_MAX]; /* largest hop count of a packet */
    bool lost_neighbour;              /* a neighbour was lost at some time */
    bool purge;                       /* packets without a path left are to be dropped */
    uint32_t missing_count;           /* nodes with a bit in `missing` */
    uint16_t *missing; /* [nodes] bitmap of the directions whose neighbour has given the node up */
    struct td_task announcements;

    uint16_t *next_hop;       /* [nodes] the neighbour on the route to a node */
    uint32_t hops_max;        /* a message that has hopped more often is dropped */
    bool routes_stale;        /* next_hop is to be computed again */
    bool look_again;          /* rerouting is to begin again */
    struct td_task rerouting; /* gives up or restores links after routes changed */
    uint32_t route_cursor;    /* the next link that it looks at */
    td_time tick_at;          /* when relayed links are looked at next */
    uint32_t tick_cursor;     /* the next one in a tick under way */
    bool tick_again;          /* one of them must be looked at again */
    struct td_owed *owed;
    _Alignas(64) struct port port[]; /* [directions], by outgoing direction */
};

static inline void td_routed_wake(struct td_core *core, td_time at)
{
    if (at < core->routed->wake_at)
        core->routed->wake_at = at;
}

/* ---- fabric_routed.c ---- */

/* td_routed_finish ends a message that is delivered or abandoned, when none of its packets is held
 * any more. */
void td_routed_finish(struct td_core *core, struct td_transfer *transfer);

/* ---- fabric_routed_links.c ---- */

/* td_routed_move sends a packet that the router releases; td_routed_prefetch_move loads the memory
 * that this needs. */
void td_routed_move(struct td_core *core, const struct td_move *move);
void td_routed_prefetch_move(const struct td_core *core, const struct td_move *move);
/* td_routed_emit sends a held packet; `again`: as a retransmission. */
void td_routed_emit(struct td_core *core, const struct td_held *held, bool again);
/* td_routed_send_credits sends freed counts in the directions in which nothing moved. */
void td_routed_send_credits(struct td_core *core, uint32_t moved);

/* ---- fabric_routed_control.c ---- */

/* td_routed_next_hop returns the node whose connection takes messages to a node: a neighbour, or
 * UINT32_MAX if no route is left. */
uint32_t td_routed_next_hop(struct td_core *core, uint32_t node);
/* td_routed_route does so for one message. */
uint32_t td_routed_route(struct td_core *core, struct td_message *message);
/* td_routed_routes_changed computes routes again after a loss or a return. td_routed_reroute is the
 * task that then gives up the links of unreachable nodes and restores others. */
void td_routed_routes_changed(struct td_core *core);
bool td_routed_reroute(struct td_core *core, struct td_task *task);
/* td_routed_relay takes a tree message from a neighbour. It returns the node that sent the message,
 * or UINT32_MAX if the message was forwarded or dropped. */
uint32_t td_routed_relay(struct td_core *core, uint32_t hop, struct td_message *message);
/* td_routed_expect_acknowledgement has relayed links looked at soon: to acknowledge what arrived,
 * and to notice what is not acknowledged. td_routed_timers does that. */
void td_routed_expect_acknowledgement(struct td_core *core);
void td_routed_timers(struct td_core *core);
/* td_routed_received sends DELIVERED, or keeps it while the link to the origin has many messages
 * that are not acknowledged; td_routed_transmit sends what was kept. */
void td_routed_received(struct td_core *core, uint64_t instance, uint32_t node, uint32_t ticket);
bool td_routed_transmit(struct td_core *core, struct td_link *link);

/* ---- fabric_routed_losses.c ---- */

/* td_routed_path_lost fails an operation that sends to a node if a lost node is on a shortest path
 * to it; it returns true then. */
bool td_routed_path_lost(struct td_core *core, struct td_operation *operation, uint32_t to);
/* td_routed_dead_end returns a lost neighbour if all directions that a parcel can take lead to lost
 * neighbours, else UINT32_MAX. td_routed_purge drops such packets in transit. */
uint32_t td_routed_dead_end(const struct td_core *core, const struct td_parcel *parcel);
void td_routed_purge(struct td_core *core);
/* td_routed_announce is the task that sends loss notices. */
bool td_routed_announce(struct td_core *core, struct td_task *task);
void td_routed_link_open(struct td_core *core, uint32_t node);
void td_routed_link_lost(struct td_core *core, uint32_t node);
void td_routed_neighbour_lost(struct td_core *core, uint32_t from, const struct td_message *m);

#endif
