/* SPDX-License-Identifier: Apache-2.0 */
/* router: a node's part of a torus network that routes packet by packet, as the machines of our
 * sources do. A packet is injected at its origin with its hops per dimension, signs fixed, and goes
 * by minimal ways only:
 *
 *   output queues (L)  shipments: a few packets for one destination each; jobs take turns of a
 *                      packet, and those of one job leave a queue in order
 *   injection FIFOs    one a direction; a packet goes to the least full one of its directions
 *   input channels     per direction of travel: two adaptive ones and the escape
 *
 * A packet moves on when the channel it goes to has a free slot, counted at the sender (credits).
 * The escape is taken along the first unresolved dimension alone, and entering its ring needs two
 * free slots, so every ring keeps a bubble and no cycle of full queues can close
 * (docs/network.md). Packets in transit go before packets being injected, unless those have waited
 * too long: as soon as a packet of another group has passed them.
 *
 * The router knows no bytes and nobody it works for: parcels carry an opaque tag.
 * Owns: queues. Invariant, per channel: sent - freed <= slots, seen from either end. */
#ifndef TD_CORE_NET_ROUTER_H
#define TD_CORE_NET_ROUTER_H

#include "base/time.h"
#include "model/settings.h"
#include "model/topology.h"

struct td_arena;

/* struct td_parcel: a packet in the network. */
struct td_parcel {
    uint64_t tag;                    /* its owner's */
    int16_t left[TD_DIMENSIONS_MAX]; /* hops to go, signed */
    uint16_t group;                  /* td_router_group: packets in transit do not tell their job */
    uint16_t ways;                   /* the router's: mask of profitable directions */
};

/* struct td_shipment: packets for one destination, to be injected one after the other. */
struct td_shipment {
    uint64_t tag; /* packet i has tag + i */
    uint64_t job;
    uint32_t packets;
    uint32_t gap; /* slots that a direction takes no other packet from here after each of them */
    uint8_t ties; /* dimensions whose sign changes from packet to packet */
    int16_t left[TD_DIMENSIONS_MAX];
    uint16_t group; /* of its packets */
    uint16_t ways;  /* the router's: of the next packet */
};

/* struct td_move: a parcel leaves for the neighbour in `direction`. */
struct td_move {
    uint8_t direction, channel; /* of travel; the neighbour's input channel */
    struct td_parcel parcel;    /* hops counted from there */
};

struct td_router;

/* td_router_create returns NULL when the arena is full; what it took goes with the arena. */
struct td_router *td_router_create(struct td_arena *arena, const struct td_topology *topology,
                                   uint32_t node, const struct td_router_rules *rules,
                                   uint64_t seed);

/* td_router_group returns the hash of a group's instance that stands for the group in packets. */
static inline uint16_t td_router_group(uint64_t instance)
{
    return (uint16_t)(instance ^ instance >> 16 ^ instance >> 32 ^ instance >> 48);
}
/* td_router_route fills in hops and ties of the way to another node. Where both ways are equally
 * far, `sign` (+1, -1) says which; with sign 0 packets take turns, and `turn` (any number) says how
 * the first one begins, together with where this node is, so that the nodes of a ring do not all
 * begin with the same. */
void td_router_route(const struct td_router *r, uint32_t destination, uint32_t turn, int sign,
                     struct td_shipment *shipment);
/* td_router_queue returns an output queue's number modulo L, which spares the others a division.
 * td_router_has_room: whether output queue `queue` (modulo L) takes another shipment of a job. Each
 * job has queue_slots there, while the router has spare ones, and one beyond those of other jobs
 * for longer. td_router_ship puts one there; false: it is full. */
uint32_t td_router_queue(const struct td_router *r, uint32_t queue);
bool td_router_has_room(const struct td_router *r, uint32_t queue, uint64_t job);
bool td_router_ship(struct td_router *r, uint32_t queue, const struct td_shipment *shipment);
/* td_router_arrive takes a packet from a neighbour. True: it has arrived where it was to go, and
 * holds its slot until td_router_freed. The slot must have been free: td_router_has_slot. */
bool td_router_arrive(struct td_router *r, unsigned direction, unsigned channel,
                      const struct td_parcel *parcel);
bool td_router_has_slot(const struct td_router *r, unsigned direction, unsigned channel);
void td_router_freed(struct td_router *r, unsigned direction, unsigned channel);

/* td_router_moves lets packets go: at most one for each direction in `idle` (a mask). `slot` is how
 * long a packet takes, for gaps. Fills moves[TD_DIRECTIONS_MAX] and returns their number. Slots
 * that became free are counted: td_router_freed_count. */
unsigned td_router_moves(struct td_router *r, td_time now, td_time slot, uint32_t idle,
                         struct td_move *moves);
/* td_router_busy: whether a packet waits anywhere here. td_router_pause_ends returns when the first
 * of the gaps under way is over, TD_TIME_NEVER when there is none. */
bool td_router_busy(const struct td_router *r);
td_time td_router_pause_ends(const struct td_router *r);
/* td_router_discard drops what has not left its origin yet and is dead. */
void td_router_discard(struct td_router *r, bool (*dead)(void *owner, uint64_t tag), void *owner);

/* ---- credits ---- */

/* td_router_freed_count returns how many packets have left an input channel, ever (it wraps
 * around): what the neighbour upstream is told. td_router_tell writes that of all channels of a
 * direction; td_router_news returns the directions (a mask) of which there is more to tell since.
 * td_router_credit takes what the one downstream tells of all channels of a direction: false when
 * it says of one that more is free than was sent, and nothing is taken. td_router_reset forgets
 * what was sent and freed in a direction, on both sides, and drops what waits in its input
 * channels: after a link was lost for good. What has arrived for good from there is not counted any
 * more, and must not be freed. td_router_purge drops what waits in any input channel and is dead.
 * Of each packet dropped, the owner is told the tag.
 */
uint32_t td_router_freed_count(const struct td_router *r, unsigned direction, unsigned channel);
void td_router_tell(struct td_router *r, unsigned direction, uint32_t freed[TD_CHANNELS]);
uint32_t td_router_news(const struct td_router *r);
bool td_router_credit(struct td_router *r, unsigned direction, const uint32_t freed[TD_CHANNELS]);
void td_router_reset(struct td_router *r, unsigned direction,
                     void (*drop)(void *owner, uint64_t tag), void *owner);
void td_router_purge(struct td_router *r, bool (*dead)(void *owner, const struct td_parcel *parcel),
                     void *owner);
uint32_t td_router_credits(const struct td_router *r, unsigned direction, unsigned channel);

/* ---- looking ---- */

/* td_router_spans fills in spans of memory that nearly every turn reads (core.h). */
struct td_span;
enum { TD_ROUTER_SPANS = 3 };
unsigned td_router_spans(const struct td_router *r, struct td_span *spans);

/* struct td_router_counts: what is queued now, and the most there ever was. */
struct td_router_counts {
    uint32_t queued, queued_max;                /* shipments, in the fullest queue */
    uint32_t fifo[TD_DIRECTIONS_MAX], fifo_max; /* packets */
    uint32_t held[TD_DIRECTIONS_MAX][TD_CHANNELS], held_max[TD_CHANNELS];
    uint64_t sent[TD_DIRECTIONS_MAX]; /* packets, by direction */
};
void td_router_look(const struct td_router *r, struct td_router_counts *counts);

#endif
