/* SPDX-License-Identifier: Apache-2.0 */
/* queue: what is going to happen, by time; of one time, in the order in which it was put, but nodes
 * wake after everything else of that time.
 *
 * On modelled links most events share their time with many others, so events are kept in lists for
 * each moment, and only the moments are ordered (a heap), found by a hash of the time. Where
 * nothing that happens at a node is felt by another one at the same time, a moment goes node by
 * node
 * (`by_node`): what a node's core needs is then fetched from memory once a moment.
 * Owns: the events, not what they point to. */
#ifndef TD_SIM_QUEUE_H
#define TD_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
};

struct event {
    uint64_t time;
    enum happening kind;
    uint32_t node;  /* where */
    uint32_t from;  /* node or client */
    uint32_t next;  /* the queue's */
    uint32_t epoch; /* MESSAGE, PACKET: of the link, when it was sent */
    uint32_t size;  /* of bytes; MESSAGE: 0 when the thing is the head of a td_message */
    union {
        uint64_t handle;
        const char *text; /* LINK_DOWN, static */
    };
    void *thing;  /* bytes, struct parcel or struct computation; freed by who handles it */
    bool refused; /* LINK_DOWN: the other daemon is dead */
};

struct queue {
    uint32_t lists; /* of a moment: nodes when it goes node by node, else 1 */
    struct event *event;
    uint32_t events, free; /* in use or free; first free */
    size_t count;          /* in use */
    struct moment {
        uint64_t time;
        struct list {
            uint32_t first[2], last[2]; /* events, then wakes */
        } * list;                       /* [lists] */
        uint64_t *some;                 /* bit of a list: it has events */
        uint32_t at;                    /* the list whose turn it is */
        uint32_t next_same_hash;
    } * moment;
    uint32_t moments, moment_free;
    uint32_t *heap, heaped; /* moments by time */
    uint32_t *bucket, buckets;
};

void queue_init(struct queue *q, uint32_t nodes, bool by_node);
void queue_put(struct queue *q, struct event e);
/* queue_time returns when the first event happens, UINT64_MAX when there is none. */
uint64_t queue_time(const struct queue *q);
/* queue_take takes the first event, and by node all that happens at its node until that wakes:
 * returns the number of the first, or QUEUE_NONE. Then queue_next takes the event of a number, and
 * returns that of the next one. */
#define QUEUE_NONE UINT32_MAX
uint32_t queue_take(struct queue *q);
uint32_t queue_next(struct queue *q, uint32_t number, struct event *e);
/* queue_soon returns the node whose turn it is after what was taken, by node; else QUEUE_NONE. */
uint32_t queue_soon(const struct queue *q);
void queue_fini(struct queue *q);

#endif
