/* SPDX-License-Identifier: Apache-2.0 */
/* fabric_routed: the routed fabric as this node takes part in it. SEND steps become shipments of
 * the router; packets that the router moves go out on the links to the neighbours; packets that
 * arrive move on, or belong to a step here. Only the files fabric_routed*.c include this header and
 * those of the parts:
 *
 *   fabric_routed.c         messages, packets that arrive, turns of the router
 *   fabric_routed_links.c   packets that leave, and the credits that travel with them
 *   fabric_routed_control.c control messages: routes, forwarding, acknowledgement in time
 *   fabric_routed_carry.c   messages that control messages carry round lost nodes
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
 * with its name. Later ones are carried round it. Other packets are dropped where no path is left.
 * Owns: the router, and the messages that leave. Borrows: operations. Source: algorithms of
 * us8095585, figures 5 to 9; the bubble rule is in router.h. */
#ifndef TD_CORE_NET_FABRIC_ROUTED_H
#define TD_CORE_NET_FABRIC_ROUTED_H

#include "fabric.h"
#include "fabric_routed_state.h"
#include "link.h"
#include "router.h"

enum {
    TD_TICKETS = 4096, /* messages of a node on their way */
    TD_DETOURS = 4,    /* kept, until routes change */
};

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

/* struct td_detour: routes round lost nodes that messages name. A burst of messages names the same
 * few nodes, and a search costs a visit of every node. */
struct td_detour {
    uint16_t *hop;                      /* [nodes] the neighbour on the route to a node */
    uint16_t avoid[TD_RELAY_AVOID_MAX]; /* [avoids] the nodes, in the order of the message */
    uint8_t avoids;                     /* 0: no routes are kept here */
};

struct td_routed {
    struct td_router *router;
    struct ticket *ticket;        /* [TD_TICKETS] */
    struct td_sender *backlogged; /* senders that wait for room in the router's queues */
    struct td_transfer *carried;  /* messages that control messages carry, in order */
    struct td_transfer *spare;    /* records to use again */
    uint32_t carrying;            /* how many are carried */
    uint32_t transfers;           /* in use */
    uint32_t tickets_free;
    td_time packet_ns; /* a full packet's time on a link */
    td_time wake_at;
    td_time due; /* when the present turn should have been */
    uint32_t directions;
    uint32_t resend_counts; /* bitmap of the directions whose last counts may have been lost */
    uint32_t lost_packets;  /* held packets whose buffers are to be released (lose_transit) */
    int16_t reach[TD_DIMENSIONS_MAX]; /* largest hop count of a packet */
    bool lost_neighbour;              /* a neighbour was lost at some time */
    bool purge;                       /* packets without a path left are to be dropped */
    uint32_t missing_count;           /* nodes with a bit in `missing` */
    uint16_t *missing; /* [nodes] bitmap of the directions whose neighbour has given the node up */
    uint16_t *unmet;   /* [nodes] those of them whose neighbour has never met the node's daemon */
    td_time *avoided_until; /* [nodes] no packet is to pass the node (td_routed_exclude) */
    td_time avoids_until;   /* the latest of these */
    bool starting;          /* packets wait for neighbours that have never been up, ... */
    td_time starting_until; /* ... as long; 0: every neighbour was up in time so far */
    struct td_task announcements;

    uint16_t *next_hop; /* [nodes] the neighbour on the route to a node */
    uint32_t hops_max;  /* a message that has hopped more often is dropped */
    bool routes_stale;  /* next_hop is to be computed again */
    bool look_again;    /* rerouting is to begin again */
    struct td_detour detour[TD_DETOURS];
    uint32_t next_detour;     /* the oldest one */
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

/* td_routed_finish ends a message that is delivered or abandoned, when none of its packets is held
 * any more. */
void td_routed_finish(struct td_core *core, struct td_transfer *transfer);

#endif
