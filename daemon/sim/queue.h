/* SPDX-License-Identifier: Apache-2.0 */
/* queue: what is going to happen, by time; of one time, in the order in which it was put.
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
};

struct event {
    uint64_t time, order;
    enum happening kind;
    uint32_t node;  /* where */
    uint32_t from;  /* node or client */
    uint64_t epoch; /* MESSAGE, PACKET: of the link, when it was sent */
    uint64_t handle;
    const char *text; /* LINK_DOWN, static */
    void *thing;      /* bytes, struct parcel or struct computation; freed by who handles it */
    size_t size;
};

struct queue {
    struct event *event;
    size_t count, room;
    uint64_t order;
};

void queue_put(struct queue *q, struct event e);
/* queue_first returns NULL when the queue is empty. */
const struct event *queue_first(const struct queue *q);
struct event queue_take(struct queue *q);
void queue_fini(struct queue *q);

#endif
