/* SPDX-License-Identifier: Apache-2.0 */
/* torus_internal: what torus.c, where messages come and go and packets arrive, torus_links.c, where
 * packets leave, and torus_news.c, what becomes of them when nodes are lost, share. */
#ifndef TD_CORE_NET_FABRIC_ROUTED_INTERNAL_H
#define TD_CORE_NET_FABRIC_ROUTED_INTERNAL_H

#include "link.h"
#include "fabric_routed.h"

/* A parcel's tag says what it is: a packet of a message of this node (OWN, the ticket's place, the
 * packet's number), or one in transit (its note's place). */
#define OWN ((uint64_t)1 << 63)
enum { PLACE_SHIFT = 32, GENERATION_SHIFT = 16 };

/* struct note: a packet in transit, while it is in an input channel, or one on a link until the
 * neighbour has it. On a link, its session and number there are the packet's. */
struct note {
    struct td_packet packet;
    uint32_t buffer;    /* of a packet of this node, its flight */
    bool own : 1;       /* it is of this node */
    uint32_t next : 31; /* free, lost, or on the same link; NO_NOTE */
};
#define NO_NOTE TD_LANE_NO_NOTE
_Static_assert(sizeof(struct note) == 128 && offsetof(struct td_packet, link_sequence) == 64,
               "two cache lines, of which a packet on a link needs one");

struct port {
    struct td_link *link;
    struct td_lane *lane;
    td_time free_at;            /* the way out */
    uint64_t bytes;             /* for looking: td_torus_look */
    uint32_t neighbour;         /* the node itself where a mesh ends */
    uint32_t told[TD_CHANNELS]; /* freed counts of the input channels that come the other way */
    uint32_t retries;           /* for looking */
    bool untold;                /* something was freed, and not told at the last turn */
    /* Nodes that are to be told that the neighbour is lost, or is back, whichever it is now; of two
     * cables to one neighbour the first has it. */
    bool lost, any_told;
    uint8_t *tell;
};
_Static_assert(sizeof(struct port) == 64, "a cache line");

struct td_torus {
    struct td_router *router;
    struct note *note; /* [notes] */
    struct ticket {
        struct td_transfer *transfer;
        uint16_t generation;
        uint16_t next_free;
    } * ticket;                /* [TD_TICKETS] */
    struct td_transfer *spare; /* to be used again */
    uint32_t transfers;        /* in use */
    uint32_t tickets_free;
    td_time packet_ns; /* of a whole packet on a link */
    td_time wake_at;
    td_time due; /* when the turn under way should have been */
    uint32_t directions;
    uint32_t again; /* a bit for each direction in which what was told may have been lost */
    uint32_t notes_left, notes_free, notes_lost; /* lost: the buffers are to be released */
    int16_t reach[TD_DIMENSIONS_MAX];            /* hops to go, at most */
    bool has_lost;                               /* a neighbour has been lost, at some time */
    bool purge;
    uint32_t missing_count;
    uint16_t *missing;   /* [nodes] a bit for each side on which a neighbour has given it up */
    struct td_task news; /* tells what ports have to tell */
    _Alignas(64) struct port port[]; /* [directions], by that of the way out */
};

/* td_torus_chain says which note comes after one. */
static inline void td_torus_chain(struct td_torus *torus, uint32_t place, uint32_t next)
{
    torus->note[place].next = next & NO_NOTE;
}

static inline void td_torus_wake(struct td_core *core, td_time at)
{
    if (at < core->torus->wake_at)
        core->torus->wake_at = at;
}

/* ---- torus.c ---- */

/* td_torus_finish ends a message that is delivered, or given up, when no packet of it is held any
 * more. */
void td_torus_finish(struct td_core *core, struct td_transfer *transfer);

/* ---- torus_links.c ---- */

uint32_t td_torus_take_note(struct td_torus *torus, uint32_t buffer, bool own);
void td_torus_give_note(struct td_torus *torus, uint32_t place);
/* td_torus_move sends what the router lets go; td_torus_fetch_moved has memory come for that. */
void td_torus_move(struct td_core *core, const struct td_move *move);
void td_torus_fetch_moved(const struct td_torus *torus, const struct td_move *move);
/* td_torus_give_credits tells what was freed in directions of which nothing moved. */
void td_torus_give_credits(struct td_core *core, uint32_t moved);

/* ---- torus_news.c ---- */

/* td_torus_way_is_lost ends an operation that sends where a lost node is on the way. */
bool td_torus_way_is_lost(struct td_core *core, struct td_operation *operation, uint32_t to);
/* td_torus_dead_end returns a lost neighbour when all that a parcel can go to are lost; else
 * UINT32_MAX. td_torus_purge drops the packets in transit of which that is so. */
uint32_t td_torus_dead_end(const struct td_core *core, const struct td_parcel *parcel);
void td_torus_purge(struct td_core *core);
/* td_torus_tell_news is the task that tells other nodes what ports have to tell. */
bool td_torus_tell_news(struct td_core *core, struct td_task *task);

#endif
