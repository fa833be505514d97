/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include <assert.h>
#include <stdlib.h>

#define NONE UINT32_MAX

static uint32_t hash(const struct queue *q, uint64_t time)
{
    return (uint32_t)(time * 0x9e3779b97f4a7c15u >> 32) & (q->buckets - 1);
}

/* ---- pools ---- */

static void *grow(void *memory, uint32_t count, size_t bytes)
{
    memory = realloc(memory, count * bytes);
    assert(memory);
    return memory;
}

static uint32_t new_event(struct queue *q)
{
    if (q->count == q->events) {
        uint32_t more = q->events ? q->events : 1024;
        q->event = grow(q->event, q->events + more, sizeof *q->event);
        for (uint32_t i = 0; i < more; i++)
            q->event[q->events + i].next = q->events + i + 1;
        q->free = q->events;
        q->events += more;
    }
    uint32_t i = q->free;
    q->free = q->event[i].next;
    q->count++;
    return i;
}

/* rehash makes room for twice as many moments. */
static void rehash(struct queue *q)
{
    uint32_t more = q->moments ? q->moments : 256;
    q->moment = grow(q->moment, q->moments + more, sizeof *q->moment);
    q->heap = grow(q->heap, q->moments + more, sizeof *q->heap);
    for (uint32_t i = 0; i < more; i++)
        q->moment[q->moments + i].next_same_hash = q->moments + i + 1;
    q->moment_free = q->moments;
    q->moments += more;
    q->buckets = q->moments;
    q->bucket = grow(q->bucket, q->buckets, sizeof *q->bucket);
    for (uint32_t i = 0; i < q->buckets; i++)
        q->bucket[i] = NONE;
    for (uint32_t i = 0; i < q->heaped; i++) {
        struct moment *m = &q->moment[q->heap[i]];
        uint32_t b = hash(q, m->time);
        m->next_same_hash = q->bucket[b];
        q->bucket[b] = q->heap[i];
    }
}

/* ---- moments ---- */

static bool earlier(const struct queue *q, uint32_t a, uint32_t b)
{
    return q->moment[a].time < q->moment[b].time;
}

static struct moment *moment_at(struct queue *q, uint64_t time)
{
    uint32_t i = q->moments ? q->bucket[hash(q, time)] : NONE;
    while (i != NONE && q->moment[i].time != time)
        i = q->moment[i].next_same_hash;
    if (i != NONE)
        return &q->moment[i];
    if (q->heaped == q->moments)
        rehash(q);
    i = q->moment_free;
    struct moment *m = &q->moment[i];
    q->moment_free = m->next_same_hash;
    uint32_t b = hash(q, time);
    *m = (struct moment){time, {NONE, NONE}, {NONE, NONE}, q->bucket[b]};
    q->bucket[b] = i;
    uint32_t at = q->heaped++;
    for (; at > 0 && earlier(q, i, q->heap[(at - 1) / 2]); at = (at - 1) / 2)
        q->heap[at] = q->heap[(at - 1) / 2];
    q->heap[at] = i;
    return m;
}

/* drop_first_moment takes the moment at the top off the heap and the hash. */
static void drop_first_moment(struct queue *q)
{
    uint32_t gone = q->heap[0], last = q->heap[--q->heaped], at = 0;
    while (2 * at + 1 < q->heaped) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < q->heaped && earlier(q, q->heap[child + 1], q->heap[child]))
            child++;
        if (!earlier(q, q->heap[child], last))
            break;
        q->heap[at] = q->heap[child];
        at = child;
    }
    q->heap[at] = last;
    uint32_t *link = &q->bucket[hash(q, q->moment[gone].time)];
    while (*link != gone)
        link = &q->moment[*link].next_same_hash;
    *link = q->moment[gone].next_same_hash;
    q->moment[gone].next_same_hash = q->moment_free;
    q->moment_free = gone;
}

/* ---- events ---- */

void queue_put(struct queue *q, struct event e)
{
    uint32_t i = new_event(q);
    struct moment *m = moment_at(q, e.time);
    int list = e.kind == WAKE;
    e.next = NONE;
    q->event[i] = e;
    if (m->first[list] == NONE)
        m->first[list] = i;
    else
        q->event[m->last[list]].next = i;
    m->last[list] = i;
}

static int first_list(const struct moment *m)
{
    return m->first[0] == NONE;
}

const struct event *queue_first(const struct queue *q)
{
    if (q->count == 0)
        return NULL;
    const struct moment *m = &q->moment[q->heap[0]];
    return &q->event[m->first[first_list(m)]];
}

struct event queue_take(struct queue *q)
{
    struct moment *m = &q->moment[q->heap[0]];
    int list = first_list(m);
    uint32_t i = m->first[list];
    struct event e = q->event[i];
    m->first[list] = e.next;
    q->event[i].next = q->free;
    q->free = i;
    q->count--;
    if (m->first[0] == NONE && m->first[1] == NONE)
        drop_first_moment(q);
    return e;
}

void queue_fini(struct queue *q)
{
    free(q->event);
    free(q->moment);
    free(q->heap);
    free(q->bucket);
    *q = (struct queue){0};
}
