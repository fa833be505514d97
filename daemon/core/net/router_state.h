/* SPDX-License-Identifier: Apache-2.0 */
/* router_state: the state of a router, which router.c and router_queues.c share. */
#ifndef TD_CORE_NET_ROUTER_STATE_H
#define TD_CORE_NET_ROUTER_STATE_H

#include "router.h"

/* struct ring: a queue of fixed size. */
struct ring {
    uint32_t first, count;
};

struct channel {
    struct ring ring;   /* packets in transit; not those of this node */
    uint32_t in, freed; /* packets that came, and whose slot is free again; they wrap around */
    uint32_t held_max;
};

enum { CATCH_UP = 8 }; /* packets that were held up, at most */

struct fifo {
    struct ring ring;
    uint32_t passed; /* how often one in transit went instead of the head */
    uint32_t gap;    /* of the last packet */
    td_time pause_ends;
};

/* struct side: what there is of a direction of travel. */
struct side {
    _Alignas(16) struct channel channel[TD_CHANNELS];      /* that such packets fill here */
    struct way_out {                                       /* to the neighbour's channels */
        uint32_t credits[TD_CHANNELS], freed[TD_CHANNELS]; /* freed: told by it */
    } out;
    struct fifo fifo;
    uint64_t moved;
};
_Static_assert(sizeof(struct side) == 128, "two cache lines");

struct injected {
    struct td_parcel parcel;
    uint32_t gap;
};

/* struct source: a job with shipments in the output queues. Each FIFO takes a packet of the source
 * that it has not served for the longest time. So a job waits for each other job once, however many
 * queues and FIFOs they use. */
struct source {
    struct source *next; /* of all, or of the free ones */
    uint64_t job;
    uint32_t shipments;
    uint32_t seen;                      /* by td_queues_drain */
    uint32_t served[TD_DIRECTIONS_MAX]; /* when a FIFO took the last packet, or the source began */
    uint16_t group;                     /* of the latest shipment */
};

/* struct queued: a shipment in an output queue. */
struct queued {
    struct queued *next; /* in the queue, or of the free ones */
    struct source *source;
    uint32_t served; /* when its last packet went, or when it was queued */
    struct td_shipment shipment;
};

/* Shipments beyond queue_slots of a queue, of all queues. A job that has one in a queue leaves half
 * of them to others. */
enum { SPARE_SHIPMENTS = 128 };

struct output {
    struct queued *first, *last;
    uint32_t count;
};

struct td_router {
    struct td_router_rules rules;
    uint32_t node, dimensions, directions;
    uint64_t random;
    td_time now, slot; /* of the turn under way */
    uint32_t coordinate_sum, turns;
    uint64_t waiting;   /* bit (direction * TD_CHANNELS + channel): something is in transit there */
    uint32_t injecting; /* bit direction: the FIFO has something */
    uint32_t open;      /* bit direction: the FIFO has room */
    uint32_t impatient; /* bit direction: the FIFO's head was passed by too often */
    uint32_t pausing;   /* bit direction: the FIFO's latest packet had a gap */
    uint32_t news;      /* bit direction: slots became free there, and nobody was told */
    bool drained;       /* no head of an output queue finds a FIFO, since nothing has changed */
    uint32_t next_queue, next_channel, next_fifo;
    uint32_t shipments, fifo_max, queued_max;
    uint32_t spares;            /* shipments beyond queue_slots */
    uint32_t injections, looks; /* counts, which wrap around */
    struct side *side;          /* [directions] */
    struct output *queue;       /* [L] */
    struct td_parcel *parcel;   /* [directions][TD_CHANNELS][slots] */
    struct injected *injected;  /* [directions][fifo_slots] */
    struct queued *free;        /* all: [L * queue_slots + SPARE_SHIPMENTS], and as many sources */
    struct source *source, *source_free;
    struct td_topology topology;
};

static inline uint32_t router_draw(struct td_router *r)
{
    /* xorshift*: quick, and good enough to break ties */
    uint64_t x = r->random + 0x9e3779b97f4a7c15u;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    r->random = x;
    return (uint32_t)(x * 0x2545f4914f6cdd1du >> 32);
}

/* router_one_in returns true once in n times; n is nearly always 2. */
static inline bool router_one_in(struct td_router *r, uint32_t n)
{
    uint32_t x = router_draw(r);
    return n == 2 ? x % 2 == 0 : x % n == 0;
}

/* ring_place returns the slot of the i-th entry. */
static inline uint32_t ring_place(const struct ring *ring, uint32_t slots, uint32_t i)
{
    uint32_t at = ring->first + i;
    return at < slots ? at : at - slots;
}

static inline void ring_drop_first(struct ring *ring, uint32_t slots)
{
    ring->first = ring_place(ring, slots, 1);
    ring->count--;
}

/* router_ways returns the mask of profitable directions. */
static inline uint16_t router_ways(const struct td_router *r, const int16_t *left)
{
    uint32_t ways = 0;
    for (uint32_t d = 0; d < r->dimensions; d++)
        ways |= ((uint32_t)(left[d] > 0) | (uint32_t)(left[d] < 0) << 1) << 2 * d;
    return (uint16_t)ways;
}

#endif
