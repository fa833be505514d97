/* SPDX-License-Identifier: Apache-2.0 */
#include "shares.h"

#include <assert.h>
#include <stddef.h>

#include "hash.h"

void td_shares_init(struct td_shares *s, struct td_shares_table *table, uint32_t quantum)
{
    assert(quantum > 0);
    *s = (struct td_shares){.table = table, .quantum = quantum};
}

/* ---- the queue of a job ---- */

static struct td_turn **bucket(const struct td_shares *s, uint64_t job)
{
    uint64_t hash = td_hash_mix(job ^ (uint64_t)(uintptr_t)s);
    return &s->table->bucket[hash % TD_SHARES_BUCKETS];
}

/* search looks through the round, from the job whose turn it is. */
static struct td_turn *search(const struct td_shares *s, uint64_t job)
{
    struct td_turn *item = s->first;
    while (item->job != job)
        if ((item = item->after) == s->first)
            return NULL;
    return item;
}

struct td_turn *td_shares_of(const struct td_shares *s, uint64_t job)
{
    if (!s->first || s->first->job == job)
        return s->first;
    if (s->jobs == 1 || !s->table)
        return s->jobs == 1 ? NULL : search(s, job);
    struct td_turn *item = *bucket(s, job);
    while (item && (item->job != job || item->shares != s))
        item = item->chain;
    return item;
}

/* enter puts the first item of a job into the table; erase takes it out, or puts `item` into its
 * place. */
static void enter(const struct td_shares *s, struct td_turn *first)
{
    if (!s->table)
        return;
    struct td_turn **link = bucket(s, first->job);
    first->chain = *link;
    *link = first;
}

static void erase(const struct td_shares *s, const struct td_turn *first, struct td_turn *item)
{
    if (!s->table)
        return;
    struct td_turn **link = bucket(s, first->job);
    while (*link != first)
        link = &(*link)->chain;
    *link = item ? item : first->chain;
}

/* begin_turn grants a quantum to the job whose turn it is. Jobs in debt are passed over. A job
 * alone owes nobody anything. */
static void begin_turn(struct td_shares *s)
{
    if (s->jobs == 1)
        s->first->balance = 0;
    for (s->first->balance += s->quantum; s->first->balance <= 0;) {
        s->first = s->first->after;
        s->first->balance += s->quantum;
    }
}

/* join puts the first item of a job at the end of the round. */
static void join(struct td_shares *s, struct td_turn *item, uint64_t job)
{
    *item = (struct td_turn){.job = job, .shares = s, .last = item};
    enter(s, item);
    if (s->jobs++ == 0) {
        item->after = item->before = item;
        item->balance = s->quantum;
        s->first = item;
        return;
    }
    item->after = s->first;
    item->before = s->first->before;
    item->before->after = item;
    item->after->before = item;
}

/* leave takes a job out of the round. */
static void leave(struct td_shares *s, struct td_turn *first)
{
    erase(s, first, NULL);
    if (--s->jobs == 0) {
        s->first = NULL;
        return;
    }
    first->before->after = first->after;
    first->after->before = first->before;
    if (s->first == first) {
        s->first = first->after;
        begin_turn(s);
    }
}

/* stand_for makes `item` the first of its job, in place of `former`. */
static void stand_for(struct td_shares *s, struct td_turn *former, struct td_turn *item)
{
    struct td_turn *next = item->next;
    *item = *former;
    item->next = next;
    erase(s, former, item);
    if (s->first == former)
        s->first = item;
    if (former->after == former) {
        item->after = item->before = item;
        return;
    }
    item->before->after = item;
    item->after->before = item;
}

/* ---- items ---- */

void td_shares_add(struct td_shares *s, struct td_turn *item, uint64_t job)
{
    struct td_turn *first = td_shares_of(s, job);
    if (!first) {
        join(s, item, job);
        return;
    }
    *item = (struct td_turn){.job = job};
    first->last->next = item;
    first->last = item;
}

void td_shares_put_back(struct td_shares *s, struct td_turn *item, uint64_t job)
{
    struct td_turn *first = td_shares_of(s, job);
    if (!first) {
        join(s, item, job);
        return;
    }
    item->next = first;
    stand_for(s, first, item);
}

void td_shares_served(struct td_shares *s, uint64_t service, bool done)
{
    struct td_turn *item = s->first;
    assert(service <= INT64_MAX / 2);
    item->balance -= (int64_t)service;
    if (done && !item->next) {
        leave(s, item);
        return;
    }
    if (done)
        stand_for(s, item, item->next);
    if (s->first->balance > 0)
        return;
    s->first = s->first->after;
    begin_turn(s);
}

void td_shares_remove(struct td_shares *s, uint64_t job,
                      bool (*drop)(void *me, struct td_turn *item), void *me)
{
    struct td_turn *item = td_shares_of(s, job), *next = NULL;
    if (item)
        leave(s, item);
    for (; item; item = next) {
        next = item->next;
        if (!drop(me, item))
            td_shares_add(s, item, job);
    }
}
