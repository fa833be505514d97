/* SPDX-License-Identifier: Apache-2.0 */
/* flight: what the driver is doing for the core, a computation or a packet it is sending, and a
 * packet until its neighbour has acknowledged it. The handle in an action names the flight, and so
 * does the driver's answer; a packet sent on (FORWARD) has none. Owns: a pool of TD_FLIGHTS_MAX.
 * Invariant: an operation is not freed while a flight names it. */
#ifndef TD_CORE_FLIGHT_H
#define TD_CORE_FLIGHT_H

#include "state.h"

enum td_flight_kind {
    TD_FLIGHT_STEP,    /* a step of a program */
    TD_FLIGHT_UNPACK,  /* part of a RECV step, from a packet */
    TD_FLIGHT_RIDE,    /* payload of the gate */
    TD_FLIGHT_PACKET,  /* being sent, or not acknowledged */
    TD_FLIGHT_FORWARD, /* of another node, sent on */
};

struct td_flight {
    struct td_flight *next; /* free list, or the link's packets in order */
    uint64_t sequence;
    uint32_t session; /* UNPACK: of the way in; PACKET: of the way out */
    uint32_t buffer, node;
    uint32_t ticket, note; /* routed; note: of a packet on a link, the torus's */
    uint32_t readers;      /* PACKET: how often the driver has it: once, and again after a resume */
    uint32_t generation;
    uint8_t kind; /* enum td_flight_kind */
    bool live, acknowledged;
    uint8_t direction, channel; /* routed: UNPACK, the channel the packet holds, and whose it is */
    /* From here on nothing is of a packet of another node (FORWARD): all of that is in a cache line
     * of 64 bytes, and the whole in two. */
    _Alignas(64) struct td_operation *operation;
    struct td_transfer *transfer; /* PACKET */
    unsigned family;
    uint64_t index; /* PACKET: its offset in the message, in the direct fabric */
    uint64_t bytes,
        message_bytes; /* UNPACK, PACKET: of the packet; UNPACK: of all of the message */
};
_Static_assert(sizeof(struct td_flight) == 128, "two cache lines");

bool td_flight_init(struct td_core *core);
void td_flight_fini(struct td_core *core);
/* td_flight_take returns NULL when the pool is empty. */
struct td_flight *td_flight_take(struct td_core *core, enum td_flight_kind kind,
                                 struct td_operation *operation);
uint64_t td_flight_handle(const struct td_core *core, const struct td_flight *flight);
struct td_flight *td_flight_find(struct td_core *core, uint64_t handle);
/* td_flight_left: whether `count` more can be taken. */
bool td_flight_left(const struct td_core *core, uint32_t count);
void td_flight_give(struct td_core *core, struct td_flight *flight);

#endif
