/* SPDX-License-Identifier: Apache-2.0 */
/* queue: the event queue, ordered by time, FIFO among equal times. Nodes wake after all other
 * events of their time.
 *
 * On modelled links most events share their time with many others. Therefore the queue keeps a list
 * for each moment and orders only the moments (a heap); a hash of the time finds a moment. If no
 * event at a node affects another node at the same time, a moment proceeds node by node
 * (`by_node`): the core's memory is then fetched once per moment, and a wake is one bit.
 * Owns: the events, not the objects they point to. Invariant: an event stays in place until it is
 * released. */
#ifndef TD_SIM_QUEUE_H
#define TD_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

enum event_kind {
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
    LANDING, /* some bytes of a packet are stored at their destination */
    REGION_LOST,
};

/* The bytes of a message that a DELIVERED or a SYNC uses. */
#define QUEUE_MESSAGE_HEAD (offsetof(struct td_message, u) + sizeof(struct td_message_sync))
_Static_assert(sizeof(struct td_message_delivered) <= sizeof(struct td_message_sync),
               "a DELIVERED fits where a SYNC does");

struct event {
    struct event *next; /* link of the queue; of popped events, the next one */
    uint64_t time;
    enum event_kind kind;
    uint32_t node;  /* the node of the event */
    uint32_t from;  /* the source node or the client */
    uint32_t epoch; /* MESSAGE, PACKET, LANDING: epoch of the link at the time of sending; SENT,
                       COMPUTED: the node's `starts` */
    uint32_t size;  /* in bytes; MESSAGE: 0 if the message is only a head */
    bool refused;   /* LINK_DOWN: the other daemon is dead */
    bool remote;    /* LINK_DOWN: the far end closed the link; a link that holds hides it */
    bool corrupt;   /* MESSAGE, PACKET: its checksum is wrong */
    bool kept;      /* MESSAGE: the node itself has kept it: it comes by no link */
    union {
        uint64_t handle;
        const char *text; /* LINK_DOWN, static */
    };
    void *object; /* bytes, struct parcel or struct computation; its handler frees it */
    union {
        struct td_event arrival; /* PACKET: with the packet, on modelled links */
        uint8_t head[QUEUE_MESSAGE_HEAD];
    };
};

struct queue {
    bool by_node;
    uint32_t lists; /* per moment: one per node (by_node), else events and wakes */
    struct event **block;
    uint32_t blocks;
    struct event *free;
    struct moment {
        uint64_t time;
        struct list {
            struct event *first, *last; /* last: undefined if first is NULL */
        } * list;                       /* [lists] */
        uint64_t *nonempty;             /* bit per list: it has events, or its node wakes */
        uint64_t *wakes;                /* by node: bit per node */
        uint32_t at;                    /* the next list */
        uint32_t next_same_hash;
    } * moment;
    uint32_t moments, moment_free;
    uint32_t latest;        /* the moment of the last put, */
    uint64_t latest_time;   /* and its time; UINT64_MAX if it is over */
    uint32_t *heap, heaped; /* moments, ordered by time */
    uint32_t *bucket, buckets;
};

void queue_init(struct queue *q, uint32_t nodes, bool by_node);
/* queue_put returns a new event for the caller to fill in; all but `arrival` and `head` is zero.
 * queue_wake makes a node wake; by node, two wakes at one time are one. */
struct event *queue_put(struct queue *q, uint64_t time, enum event_kind kind, uint32_t node);
void queue_wake(struct queue *q, uint64_t time, uint32_t node);
/* queue_time returns the time of the first event, or UINT64_MAX. */
uint64_t queue_time(const struct queue *q);
/* struct turn: the next event of a node, or its wake. By node: all events of the moment, then
 * whether the node wakes. The caller releases each event. */
struct turn {
    uint32_t node;
    bool wakes;
    struct event *events;
};
/* queue_pop removes the first turn. It returns false if the queue is empty. */
bool queue_pop(struct queue *q, struct turn *turn);
void queue_release(struct queue *q, struct event *e);
/* queue_next_node returns the node after the popped one, by node, if it is known; else QUEUE_NONE.
 */
#define QUEUE_NONE UINT32_MAX
uint32_t queue_next_node(const struct queue *q);
/* queue_first returns the first event of a node at the current moment, by node, or NULL. */
const struct event *queue_first(const struct queue *q, uint32_t node);
void queue_fini(struct queue *q);

#endif
