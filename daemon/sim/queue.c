/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include <assert.h>
#include <stdlib.h>

static bool earlier(const struct event *a, const struct event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void queue_put(struct queue *q, struct event e)
{
    if (q->count == q->room) {
        q->room = q->room ? 2 * q->room : 1024;
        q->event = realloc(q->event, q->room * sizeof *q->event);
        assert(q->event);
    }
    e.order = q->order++;
    size_t at = q->count++;
    for (; at > 0 && earlier(&e, &q->event[(at - 1) / 2]); at = (at - 1) / 2)
        q->event[at] = q->event[(at - 1) / 2];
    q->event[at] = e;
}

const struct event *queue_first(const struct queue *q)
{
    return q->count ? &q->event[0] : NULL;
}

struct event queue_take(struct queue *q)
{
    struct event first = q->event[0], last = q->event[--q->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= q->count)
            break;
        if (child + 1 < q->count && earlier(&q->event[child + 1], &q->event[child]))
            child++;
        if (!earlier(&q->event[child], &last))
            break;
        q->event[at] = q->event[child];
        at = child;
    }
    q->event[at] = last;
    return first;
}

void queue_fini(struct queue *q)
{
    free(q->event);
    *q = (struct queue){0};
}
