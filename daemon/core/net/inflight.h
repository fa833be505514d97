/* SPDX-License-Identifier: Apache-2.0 */
/* flight: what the driver is doing for the core, a computation or a packet it is sending, and a
 * packet of this node until its neighbour has acknowledged it. The handle in an action names the
 * flight, and so does the driver's answer. Owns: a pool of TD_INFLIGHTS_MAX.
 * Invariant: an operation is not freed while a flight names it. */
#ifndef TD_CORE_NET_INFLIGHT_H
#define TD_CORE_NET_INFLIGHT_H

#include "core/core_internal.h"

enum td_inflight_kind {
    TD_INFLIGHT_STEP,   /* a step of a program */
    TD_INFLIGHT_UNPACK, /* part of a RECV step, from a packet */
    TD_INFLIGHT_RIDE,   /* payload of the gate */
    TD_INFLIGHT_PACKET, /* being sent, or not acknowledged */
};

struct td_inflight {
    struct td_inflight *next; /* free list, or the link's packets in order */
    struct td_operation *operation;
    struct td_transfer *transfer; /* PACKET */
    uint32_t generation;
    uint32_t node;
    uint32_t session;  /* UNPACK: of the way in; PACKET: of the way out */
    uint32_t readers;  /* PACKET: how often the driver has it: once, and again after a resume */
    uint64_t sequence; /* PACKET: direct */
    uint32_t buffer;   /* UNPACK */
    uint8_t kind;      /* enum td_inflight_kind */
    bool live;
    uint8_t direction, channel; /* routed: UNPACK, the channel the packet holds, and whose it is */
    unsigned family;
    uint32_t ticket; /* routed */
    uint64_t index;  /* PACKET: its offset in the message, in the direct fabric */
    uint64_t bytes,
        message_bytes; /* UNPACK, PACKET: of the packet; UNPACK: of all of the message */
};

bool td_inflight_init(struct td_core *core);
void td_inflight_fini(struct td_core *core);
/* td_inflight_take returns NULL when the pool is empty. */
struct td_inflight *td_inflight_take(struct td_core *core, enum td_inflight_kind kind,
                                     struct td_operation *operation);
uint64_t td_inflight_handle(const struct td_core *core, const struct td_inflight *flight);
/* td_inflight_place returns its number in the pool, core->flight. */
uint32_t td_inflight_place(const struct td_core *core, const struct td_inflight *flight);
struct td_inflight *td_inflight_find(struct td_core *core, uint64_t handle);
/* td_inflight_left: whether `count` more can be taken. */
bool td_inflight_left(const struct td_core *core, uint32_t count);
void td_inflight_give(struct td_core *core, struct td_inflight *flight);

#endif
