/* SPDX-License-Identifier: Apache-2.0 */
/* inflight: two pools of records.
 *
 * An *inflight* record stands for work that the driver does for the core: a computation, or a
 * packet or a CARRY of this node that the driver reads from an application's memory. The handle in
 * an action names the record, and so does the driver's answer.
 *
 * A *held packet* is a packet header that this node keeps: of a packet in an input channel of the
 * routed fabric, or of a packet sent on a link until the far end acknowledges it. Its payload is a
 * received buffer, or belongs to an inflight record when the packet originates here.
 *
 * Owns: TD_INFLIGHTS_MAX inflight records and as many held packets as the fabric asks for.
 * Invariant: an operation is not released while an inflight record names it. */
#ifndef TD_CORE_NET_INFLIGHT_H
#define TD_CORE_NET_INFLIGHT_H

#include "core/core_internal.h"

enum td_inflight_kind {
    TD_INFLIGHT_STEP,   /* a step of a program */
    TD_INFLIGHT_UNPACK, /* part of a RECV step, from a packet */
    TD_INFLIGHT_RIDE,   /* payload of the gate */
    TD_INFLIGHT_PLAN,   /* the transform plan of a plan */
    TD_INFLIGHT_PACKET, /* a packet of this node that is being sent or is not acknowledged */
    TD_INFLIGHT_CARRY,  /* a CARRY that the driver has not encoded yet */
};

struct td_inflight {
    struct td_inflight *next; /* free list */
    struct td_operation *operation;
    struct td_transfer *transfer; /* PACKET */
    uint32_t generation;
    uint32_t node;    /* UNPACK: the origin; PACKET, CARRY: the far end of the link */
    uint32_t session; /* UNPACK: incoming session of the link that brought the packet */
    uint32_t readers; /* PACKET: actions that read the payload and are not answered by SENT */
    uint32_t buffer;  /* UNPACK */
    uint8_t kind;     /* enum td_inflight_kind */
    bool live;
    uint8_t direction, channel; /* UNPACK, routed: the input channel that the packet occupies */
    unsigned family;            /* STEP, UNPACK */
    uint32_t ticket;            /* UNPACK, routed: the origin's name of the message */
    uint64_t index;             /* STEP, UNPACK: step of the family */
    uint64_t bytes;             /* UNPACK: of the packet */
    uint64_t message_bytes;     /* UNPACK: of the whole message */
};

#define TD_HELD_NONE (UINT32_MAX >> 1)

/* struct td_held: a held packet. While it is on a link, packet.session and packet.link_sequence are
 * its place in that link's session. */
struct td_held {
    struct td_packet packet;
    uint32_t payload;   /* a received buffer, or the index of an inflight record if `own` */
    bool own : 1;       /* the packet originates at this node */
    uint32_t next : 31; /* of the list that the record is on; TD_HELD_NONE ends it */
};
_Static_assert(sizeof(struct td_held) == 128 && offsetof(struct td_packet, link_sequence) == 64,
               "two cache lines, of which an acknowledgement needs one");

/* td_inflight_init returns false if memory runs out. */
bool td_inflight_init(struct td_core *core);
/* td_inflight_init_held makes the pool of held packets; false if memory runs out. */
bool td_inflight_init_held(struct td_core *core, uint32_t count);
void td_inflight_fini(struct td_core *core);
/* td_inflight_acquire returns NULL when the pool is empty. Steps get half of it: they can wait, and
 * an operation fails without a record for what has arrived. */
struct td_inflight *td_inflight_acquire(struct td_core *core, enum td_inflight_kind kind,
                                        struct td_operation *operation);
void td_inflight_release(struct td_core *core, struct td_inflight *inflight);
uint64_t td_inflight_handle(const struct td_core *core, const struct td_inflight *inflight);
/* td_inflight_index returns the record's index in the pool, core->inflight. */
uint32_t td_inflight_index(const struct td_core *core, const struct td_inflight *inflight);
struct td_inflight *td_inflight_find(const struct td_core *core, uint64_t handle);
/* td_inflight_available returns true if `count` more records can be acquired. */
bool td_inflight_available(const struct td_core *core, uint32_t count);

/* td_held_next returns the index of the record that td_held_acquire returns next. */
static inline uint32_t td_held_next(const struct td_core *core)
{
    return core->held_free == TD_HELD_NONE ? core->held_used : core->held_free;
}
/* td_held_acquire returns the index of a record from a pool that is not empty; its header is to be
 * filled in. */
static inline uint32_t td_held_acquire(struct td_core *core, uint32_t payload, bool own)
{
    uint32_t i = td_held_next(core);
    assert(core->held_left > 0);
    core->held_left--;
    if (core->held_free == TD_HELD_NONE)
        core->held_used++;
    else
        core->held_free = core->held[i].next;
    core->held[i].payload = payload;
    core->held[i].own = own;
    return i;
}
/* td_held_link makes `next` the successor of a record. */
static inline void td_held_link(struct td_core *core, uint32_t record, uint32_t next)
{
    core->held[record].next = next & TD_HELD_NONE;
}
static inline void td_held_release(struct td_core *core, uint32_t record)
{
    td_held_link(core, record, core->held_free);
    core->held_free = record;
    core->held_left++;
}
/* td_held_inflight returns the inflight record of a packet of this node, else NULL. */
static inline struct td_inflight *td_held_inflight(const struct td_core *core,
                                                   const struct td_held *held)
{
    return held->own ? &core->inflight[held->payload] : NULL;
}

#endif
