/* SPDX-License-Identifier: Apache-2.0 */
/* queue: what is going to happen, by time; of one time, in the order in which it was put, but nodes
 * wake after everything else of that time.
 *
 * On modelled links most events share their time with many others, so events are kept in lists for
 * each moment, and only the moments are ordered (a heap), found by a hash of the time. Where
 * nothing that happens at a node is felt by another one at the same time, a moment goes node by
 * node (`by_node`): what a node's core needs is then fetched from memory once a moment, and that it
 * wakes is a bit.
 * Owns: the events, not what they point to. Invariant: an event stays where it is until it is given
 * back. */
#ifndef TD_SIM_QUEUE_H
#define TD_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

enum happening {
    MESSAGE,
    PACKET,
    LINK_UP,
    LINK_DOWN,
    SENT,
    COMPUTED,
    CLIENT_OPENED,
    CLIENT_REQUEST,
    CLIENT_CLOSED,
    WAKE,
    LANDING, /* some of a packet's payload is there, and lies where it is to be */
};

/* The bytes of a message that a DELIVERED or a SYNC uses. */
#define QUEUE_MESSAGE_HEAD (offsetof(struct td_message, u) + sizeof(struct td_message_sync))
_Static_assert(sizeof(struct td_message_delivered) <= sizeof(struct td_message_sync),
               "a DELIVERED fits where a SYNC does");

struct event {
    struct event *next; /* the queue's; of what was taken, what comes after it */
    uint64_t time;
    enum happening kind;
    uint32_t node;  /* where */
    uint32_t from;  /* node or client */
    uint32_t epoch; /* MESSAGE, PACKET, LANDING: of the link, when it was sent */
    uint32_t size;  /* of bytes; MESSAGE: 0 when all there is of it is its head */
    bool refused;   /* LINK_DOWN: the other daemon is dead */
    union {
        uint64_t handle;
        const char *text; /* LINK_DOWN, static */
    };
    void *thing; /* bytes, struct parcel or struct computation; freed by who handles it */
    union {
        struct td_event arrival; /* PACKET: with the packet, on modelled links */
        uint8_t head[QUEUE_MESSAGE_HEAD];
    };
};

struct queue {
    bool by_node;
    uint32_t lists; /* of a moment: nodes when it goes node by node, else events and wakes */
    struct event **block;
    uint32_t blocks;
    struct event *free;
    struct moment {
        uint64_t time;
        struct list {
            struct event *first, *last; /* last: where there is a first */
        } * list;                       /* [lists] */
        uint64_t *some;                 /* bit of a list: it has events, or its node wakes */
        uint64_t *wakes;                /* by node: bit of a node */
        uint32_t at;                    /* the list whose turn it is */
        uint32_t next_same_hash;
    } * moment;
    uint32_t moments, moment_free;
    uint32_t latest;        /* the moment for which something was put last, */
    uint64_t latest_time;   /* and its time; UINT64_MAX when it is over */
    uint32_t *heap, heaped; /* moments by time */
    uint32_t *bucket, buckets;
};

void queue_init(struct queue *q, uint32_t nodes, bool by_node);
/* queue_put returns a new event, to be filled in; only `arrival` and `head` are not zero.
 * queue_wake lets a node wake; by node, twice at a time is once. */
struct event *queue_put(struct queue *q, uint64_t time, enum happening kind, uint32_t node);
void queue_wake(struct queue *q, uint64_t time, uint32_t node);
/* queue_time returns when the first event happens, UINT64_MAX when there is none. */
uint64_t queue_time(const struct queue *q);
/* struct turn: what happens next at a node: an event, or that it wakes; by node, all events of the
 * moment, and then whether it wakes. Each event is to be given back. */
struct turn {
    uint32_t node;
    bool wakes;
    struct event *events;
};
/* queue_take takes what comes first; false: there is nothing. */
bool queue_take(struct queue *q, struct turn *turn);
void queue_give(struct queue *q, struct event *e);
/* queue_soon returns the node whose turn comes after what was taken, by node, as far as that is
 * known; else QUEUE_NONE. */
#define QUEUE_NONE UINT32_MAX
uint32_t queue_soon(const struct queue *q);
/* queue_first returns the first event of a node at the moment under way, by node, NULL when there
 * is none. */
const struct event *queue_first(const struct queue *q, uint32_t node);
void queue_fini(struct queue *q);

#endif
