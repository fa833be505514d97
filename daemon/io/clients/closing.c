/* SPDX-License-Identifier: Apache-2.0 */
#include "closing.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

struct queue {
    struct td_closing_item *first, *last;
    uint32_t count;
};

struct td_closing_user {
    struct td_closing_user *chain;       /* of a bucket */
    struct td_closing_user *next, *prev; /* in the order of turns */
    bool in_turn;
    uint64_t uid;
    uint32_t pending; /* items that have not ended */
    uint32_t running, running_urgent;
    struct queue urgent, other;
    struct td_closing_item *run[TD_CLOSING_THREADS_MAX];
};

static struct td_closing_user *find(const struct td_closing *q, uint64_t uid)
{
    struct td_closing_user *u = q->bucket[uid % TD_CLOSING_BUCKETS];
    while (u && u->uid != uid)
        u = u->chain;
    return u;
}

/* ready_of returns how many items of a user may be taken now. */
static uint32_t ready_of(const struct td_closing *q, const struct td_closing_user *u)
{
    uint32_t places = q->user_threads - u->running;
    uint32_t urgent = u->urgent.count < places ? u->urgent.count : places;
    uint32_t others = u->running - u->running_urgent, most = q->user_threads - 1;
    uint32_t left = places - urgent;
    left = others + left > most ? most - others : left;
    return urgent + (u->other.count < left ? u->other.count : left);
}

static void enter(struct td_closing *q, struct td_closing_user *u)
{
    u->in_turn = true;
    u->next = NULL;
    u->prev = q->last;
    *(q->last ? &q->last->next : &q->turn) = u;
    q->last = u;
}

static void leave(struct td_closing *q, struct td_closing_user *u)
{
    u->in_turn = false;
    *(u->prev ? &u->prev->next : &q->turn) = u->next;
    *(u->next ? &u->next->prev : &q->last) = u->prev;
}

/* settle takes up a change of a user: `before` is what ready_of was. */
static void settle(struct td_closing *q, struct td_closing_user *u, uint32_t before)
{
    uint32_t now = ready_of(q, u);
    q->ready += now - before;
    if (now > 0 && !u->in_turn)
        enter(q, u);
    else if (now == 0 && u->in_turn)
        leave(q, u);
}

static struct td_closing_user *make(struct td_closing *q, uint64_t uid)
{
    struct td_closing_user *u = calloc(1, sizeof *u);
    if (!u)
        return NULL;
    assert(q->user_threads >= 2 && q->user_threads <= TD_CLOSING_THREADS_MAX);
    u->uid = uid;
    u->chain = q->bucket[uid % TD_CLOSING_BUCKETS];
    q->bucket[uid % TD_CLOSING_BUCKETS] = u;
    return u;
}

static void forget(struct td_closing *q, struct td_closing_user *u)
{
    struct td_closing_user **link = &q->bucket[u->uid % TD_CLOSING_BUCKETS];
    while (*link != u)
        link = &(*link)->chain;
    *link = u->chain;
    free(u);
}

static void append(struct queue *queue, struct td_closing_item *item)
{
    item->next = NULL;
    *(queue->last ? &queue->last->next : &queue->first) = item;
    queue->last = item;
    queue->count++;
}

static void prepend(struct queue *queue, struct td_closing_item *item)
{
    item->next = queue->first;
    queue->first = item;
    if (!queue->last)
        queue->last = item;
    queue->count++;
}

static struct td_closing_item *pop(struct queue *queue)
{
    struct td_closing_item *item = queue->first;
    queue->first = item->next;
    if (!queue->first)
        queue->last = NULL;
    queue->count--;
    return item;
}

bool td_closing_add(struct td_closing *q, struct td_closing_item *item, uint64_t uid)
{
    struct td_closing_user *u = find(q, uid);
    if (!u && !(u = make(q, uid)))
        return false;
    uint32_t before = ready_of(q, u);
    item->user = u;
    item->held = NULL;
    append(item->urgent ? &u->urgent : &u->other, item);
    u->pending++;
    settle(q, u, before);
    return true;
}

/* holder_of returns the item that runs and uses the memory that `item` unmaps, or NULL. */
static struct td_closing_item *holder_of(const struct td_closing *q,
                                         const struct td_closing_user *u,
                                         const struct td_closing_item *item)
{
    for (uint32_t i = 0; i < q->user_threads && item->unmaps; i++)
        if (u->run[i] && u->run[i]->memory == item->memory)
            return u->run[i];
    return NULL;
}

/* start takes the next item of a user off its queue. It returns NULL if the item is held. */
static struct td_closing_item *start(const struct td_closing *q, struct td_closing_user *u)
{
    struct td_closing_item *item = pop(u->urgent.count > 0 ? &u->urgent : &u->other);
    struct td_closing_item *holder = holder_of(q, u, item);
    uint32_t place = 0;
    if (holder) {
        item->next = holder->held;
        holder->held = item;
        return NULL;
    }
    while (u->run[place])
        place++;
    u->run[place] = item;
    u->running++;
    u->running_urgent += item->urgent;
    return item;
}

struct td_closing_item *td_closing_take(struct td_closing *q)
{
    struct td_closing_item *item = NULL;
    while (!item && q->turn) {
        struct td_closing_user *u = q->turn;
        uint32_t before = ready_of(q, u);
        item = start(q, u);
        leave(q, u); /* its next turn is after those of all others */
        settle(q, u, before);
    }
    return item;
}

void td_closing_end(struct td_closing *q, struct td_closing_item *item)
{
    struct td_closing_user *u = item->user;
    uint32_t before = ready_of(q, u), place = 0;
    while (u->run[place] != item)
        place++;
    u->run[place] = NULL;
    u->running--;
    u->running_urgent -= item->urgent;
    u->pending--;
    for (struct td_closing_item *held; (held = item->held);) {
        item->held = held->next;
        prepend(held->urgent ? &u->urgent : &u->other, held);
    }
    settle(q, u, before);
    if (u->pending == 0)
        forget(q, u);
}

uint32_t td_closing_pending(const struct td_closing *q, uint64_t uid)
{
    const struct td_closing_user *u = find(q, uid);
    return u ? u->pending : 0;
}

bool td_closing_runs(const struct td_closing *q, uint64_t *uid)
{
    for (int i = 0; i < TD_CLOSING_BUCKETS; i++)
        for (const struct td_closing_user *u = q->bucket[i]; u; u = u->chain)
            if (u->running > 0) {
                *uid = u->uid;
                return true;
            }
    return false;
}
