/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NONE QUEUE_NONE

enum { CACHE_LINE = 64, BLOCK_EVENTS = 512 };
_Static_assert(sizeof(struct event) % CACHE_LINE == 0, "events begin at cache lines");

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

static void new_block(struct queue *q)
{
    struct event *block = aligned_alloc(CACHE_LINE, BLOCK_EVENTS * sizeof *block);
    q->block = grow(q->block, q->blocks + 1, sizeof(struct event *));
    assert(block);
    q->block[q->blocks++] = block;
    for (uint32_t i = BLOCK_EVENTS; i-- > 0;)
        queue_release(q, &block[i]);
}

static void new_lists(const struct queue *q, struct moment *m)
{
    size_t words = (q->lists + 63) / 64;
    m->list = calloc(q->lists, sizeof *m->list);
    m->nonempty = calloc(2 * words, sizeof *m->nonempty);
    assert(m->list && m->nonempty);
    m->wakes = m->nonempty + words;
}

/* rehash makes room for twice as many moments. */
static void rehash(struct queue *q)
{
    uint32_t more = q->moments ? q->moments : 256;
    q->moment = grow(q->moment, q->moments + more, sizeof *q->moment);
    q->heap = grow(q->heap, q->moments + more, sizeof *q->heap);
    for (uint32_t i = 0; i < more; i++)
        q->moment[q->moments + i] = (struct moment){.next_same_hash = q->moments + i + 1};
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

/* new_moment puts a moment on the heap and into the hash, and returns its number. */
static uint32_t new_moment(struct queue *q, uint64_t time)
{
    if (q->heaped == q->moments)
        rehash(q);
    uint32_t i = q->moment_free, b = hash(q, time), at = q->heaped++;
    struct moment *m = &q->moment[i];
    q->moment_free = m->next_same_hash;
    if (!m->list)
        new_lists(q, m);
    m->time = time;
    m->at = 0;
    m->next_same_hash = q->bucket[b];
    q->bucket[b] = i;
    for (; at > 0 && earlier(q, i, q->heap[(at - 1) / 2]); at = (at - 1) / 2)
        q->heap[at] = q->heap[(at - 1) / 2];
    q->heap[at] = i;
    return i;
}

static void find_moment(struct queue *q, uint64_t time)
{
    uint32_t i = q->moments ? q->bucket[hash(q, time)] : NONE;
    while (i != NONE && q->moment[i].time != time)
        i = q->moment[i].next_same_hash;
    q->latest = i != NONE ? i : new_moment(q, time);
    q->latest_time = time;
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
    if (gone == q->latest)
        q->latest_time = UINT64_MAX;
    q->moment[gone].next_same_hash = q->moment_free;
    q->moment_free = gone;
}

/* ---- events ---- */

enum { EVENTS, WAKES, LISTS }; /* where a moment does not go by node */

void queue_init(struct queue *q, uint32_t nodes, bool by_node)
{
    *q = (struct queue){
        .by_node = by_node, .lists = by_node ? nodes : LISTS, .latest_time = UINT64_MAX};
}

static struct moment *moment_at(struct queue *q, uint64_t time)
{
    if (time != q->latest_time) /* it seldom is another one, where packets are of one size */
        find_moment(q, time);
    return &q->moment[q->latest];
}

struct event *queue_put(struct queue *q, uint64_t time, enum event_kind kind, uint32_t node)
{
    struct moment *m = moment_at(q, time);
    uint32_t at = q->by_node ? node : kind == WAKE ? WAKES : EVENTS;
    if (!q->free)
        new_block(q);
    struct event *e = q->free;
    q->free = e->next;
    memset(e, 0, offsetof(struct event, arrival));
    e->time = time;
    e->kind = kind;
    e->node = node;
    struct list *list = &m->list[at];
    if (list->first)
        list->last->next = e;
    else
        list->first = e;
    list->last = e;
    m->nonempty[at / 64] |= (uint64_t)1 << at % 64;
    return e;
}

void queue_wake(struct queue *q, uint64_t time, uint32_t node)
{
    if (!q->by_node) {
        queue_put(q, time, WAKE, node);
        return;
    }
    struct moment *m = moment_at(q, time);
    m->wakes[node / 64] |= (uint64_t)1 << node % 64;
    m->nonempty[node / 64] |= (uint64_t)1 << node % 64;
}

void queue_release(struct queue *q, struct event *e)
{
    e->next = q->free;
    q->free = e;
}

/* next_list returns the first list from `at` on, cyclically, that has events; NONE if all are
 * empty. */
static uint32_t next_list(const struct queue *q, const struct moment *m, uint32_t at)
{
    uint32_t words = (q->lists + 63) / 64, word = at / 64;
    uint64_t left = m->nonempty[word] & ~(uint64_t)0 << at % 64;
    for (uint32_t i = 0; !left && i < words; i++) {
        word = word + 1 < words ? word + 1 : 0;
        left = m->nonempty[word];
    }
    return left ? word * 64 + (uint32_t)__builtin_ctzll(left) : NONE;
}

uint64_t queue_time(const struct queue *q)
{
    return q->heaped ? q->moment[q->heap[0]].time : UINT64_MAX;
}

/* pop_one removes the first event of a list; the wake of a node is an event, too. */
static void pop_one(struct queue *q, struct list *list, struct turn *turn)
{
    struct event *e = list->first;
    list->first = e->next;
    e->next = NULL;
    *turn = (struct turn){.node = e->node, .wakes = e->kind == WAKE, .events = e};
    if (!turn->wakes)
        return;
    turn->events = NULL;
    queue_release(q, e);
}

bool queue_pop(struct queue *q, struct turn *turn)
{
    if (!q->heaped)
        return false;
    struct moment *m = &q->moment[q->heap[0]];
    uint32_t at = q->by_node ? m->at : EVENTS;
    if (!(m->nonempty[at / 64] >> at % 64 & 1))
        at = next_list(q, m, at);
    assert(at != NONE);
    struct list *list = &m->list[at];
    uint64_t *wakes = &m->wakes[at / 64], bit = (uint64_t)1 << at % 64;
    if (q->by_node) {
        *turn = (struct turn){.node = at, .wakes = *wakes & bit, .events = list->first};
        list->first = NULL;
        *wakes &= ~bit;
    } else {
        pop_one(q, list, turn);
    }
    if (list->first)
        return true;
    m->nonempty[at / 64] &= ~bit;
    m->at = next_list(q, m, at);
    if (m->at == NONE)
        drop_first_moment(q);
    return true;
}

uint32_t queue_next_node(const struct queue *q)
{
    return q->by_node && q->heaped ? q->moment[q->heap[0]].at : NONE;
}

const struct event *queue_first(const struct queue *q, uint32_t node)
{
    return q->moment[q->heap[0]].list[node].first;
}

void queue_fini(struct queue *q)
{
    for (uint32_t i = 0; i < q->moments; i++) {
        free(q->moment[i].list);
        free(q->moment[i].nonempty); /* and wakes */
    }
    for (uint32_t i = 0; i < q->blocks; i++)
        free(q->block[i]);
    free(q->block);
    free(q->moment);
    free(q->heap);
    free(q->bucket);
    *q = (struct queue){0};
}
