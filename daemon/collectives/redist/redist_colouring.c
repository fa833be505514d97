/* SPDX-License-Identifier: Apache-2.0 */
/* Edge colouring: a colour is a step. Pairs are taken in order of decreasing volume; each gets the
 * first step in which both owners are idle. If no such step exists, the sender is idle in some step
 * a and the receiver in some step b. Then the path of pairs that starts at the receiver and
 * alternates between steps a and b exchanges its two steps. It cannot end at the sender, because it
 * reaches senders by a. Therefore the number of steps is the greatest number of pairs of an owner
 * (Koenig 1916). The time of a step is that of its longest message, so long messages should share
 * steps: at any time only as many steps exist as the pairs so far need, and paths change the last
 * ones. */
#include "redist_colouring.h"

#include <assert.h>
#include <string.h>

struct colouring {
    const struct td_schedule *s;
    uint32_t first;  /* step of colour 0 */
    uint32_t used;   /* colours used so far */
    uint32_t words;  /* words of the bitmap of an owner's idle colours */
    uint64_t *idle;  /* bitmaps of senders, then of receivers; 1: idle */
    uint16_t *count; /* pairs of each owner so far */
    uint16_t *path;  /* receiver, sender, receiver ... */
};

static uint16_t *sends(const struct colouring *c, uint32_t colour, uint32_t p)
{
    return td_pairs_row_send(c->s, c->first + colour) + p;
}

static uint16_t *receives(const struct colouring *c, uint32_t colour, uint32_t q)
{
    return td_pairs_row_receive(c->s, c->first + colour) + q;
}

static uint64_t *idle_of(const struct colouring *c, bool receiver, uint32_t owner)
{
    return c->idle + (size_t)(receiver ? c->s->p + owner : owner) * c->words;
}

static void put(struct colouring *c, uint32_t colour, uint32_t p, uint32_t q)
{
    *sends(c, colour, p) = (uint16_t)q;
    *receives(c, colour, q) = (uint16_t)p;
    idle_of(c, false, p)[colour / 64] &= ~((uint64_t)1 << colour % 64);
    idle_of(c, true, q)[colour / 64] &= ~((uint64_t)1 << colour % 64);
}

static void take(struct colouring *c, uint32_t colour, uint32_t p, uint32_t q)
{
    *sends(c, colour, p) = TD_SCHEDULE_IDLE;
    *receives(c, colour, q) = TD_SCHEDULE_IDLE;
    idle_of(c, false, p)[colour / 64] |= (uint64_t)1 << colour % 64;
    idle_of(c, true, q)[colour / 64] |= (uint64_t)1 << colour % 64;
}

/* first_of returns the first colour in both sets, last_of the last colour of one set. Both return
 * UINT32_MAX if none exists. */
static uint32_t first_of(const uint64_t *a, const uint64_t *b, uint32_t words)
{
    for (uint32_t w = 0; w < words; w++)
        if (a[w] & b[w])
            return w * 64 + (uint32_t)__builtin_ctzll(a[w] & b[w]);
    return UINT32_MAX;
}

static uint32_t last_of(const uint64_t *set, uint32_t words)
{
    for (uint32_t w = words; w-- > 0;)
        if (set[w])
            return w * 64 + 63 - (uint32_t)__builtin_clzll(set[w]);
    return UINT32_MAX;
}

/* change_over makes the receiver idle in `busy`, and no longer in `idle`. */
static void change_over(struct colouring *c, uint32_t q, uint32_t busy, uint32_t idle)
{
    uint32_t length = 0;
    for (uint16_t next = (uint16_t)q; next != TD_SCHEDULE_IDLE; length++) {
        c->path[length] = next;
        next = length % 2 ? *sends(c, idle, next) : *receives(c, busy, next);
    }
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i + 1 < length; i++) {
            uint32_t from = c->path[i + 1 - i % 2], to = c->path[i + i % 2];
            if (pass == 0)
                take(c, i % 2 ? idle : busy, from, to);
            else
                put(c, i % 2 ? busy : idle, from, to);
        }
}

/* grow adds a step if an owner now has more pairs than there are steps. */
static void grow(struct colouring *c, bool receiver, uint32_t owner)
{
    uint16_t *count = &c->count[receiver ? c->s->p + owner : owner];
    if (++*count <= c->used)
        return;
    uint32_t owners = c->s->p + c->s->q, word = c->used / 64;
    for (uint32_t o = 0; o < owners; o++)
        c->idle[(size_t)o * c->words + word] |= (uint64_t)1 << c->used % 64;
    c->used++;
}

/* colour assigns steps from c->first on to the pairs: as many steps as the greatest number of pairs
 * of an owner. */
static void colour(struct colouring *c, const struct td_pair *pair, uint32_t count)
{
    size_t owners = c->s->p + c->s->q;
    c->used = 0;
    memset(c->idle, 0, owners * c->words * sizeof *c->idle);
    memset(c->count, 0, owners * sizeof *c->count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t p = pair[i].p, q = pair[i].q;
        grow(c, false, p);
        grow(c, true, q);
        const uint64_t *sender = idle_of(c, false, p), *receiver = idle_of(c, true, q);
        uint32_t step = first_of(sender, receiver, c->words);
        if (step == UINT32_MAX) {
            uint32_t other = last_of(receiver, c->words);
            step = last_of(sender, c->words);
            assert(step < c->used && other < c->used);
            change_over(c, q, step, other);
        }
        put(c, step, p, q);
    }
}

static bool colouring_init(struct colouring *c, struct td_arena *arena, const struct td_schedule *s,
                           uint32_t colours)
{
    size_t owners = s->p + s->q;
    *c = (struct colouring){.s = s, .words = (colours + 63) / 64};
    c->idle = td_arena_alloc(arena, owners * c->words * sizeof *c->idle);
    c->path = td_arena_alloc(arena, (owners + 1) * sizeof *c->path);
    c->count = td_arena_alloc(arena, owners * sizeof *c->count);
    return c->idle && c->path && c->count;
}

static void colouring_fini(struct colouring *c, struct td_arena *arena)
{
    td_arena_free(arena, c->idle);
    td_arena_free(arena, c->path);
    td_arena_free(arena, c->count);
}

bool td_pairs_colour(const struct td_pairs *pairs, struct td_arena *arena, struct td_schedule *s)
{
    struct colouring c = {0};
    bool good =
        td_pairs_table(s, arena, pairs->degree) && colouring_init(&c, arena, s, pairs->degree);
    s->kind = TD_SCHEDULE_COLOURING;
    if (good)
        colour(&c, pairs->pair, pairs->count);
    else
        td_schedule_free(s, arena);
    colouring_fini(&c, arena);
    return good;
}

/* ---- each size by itself ---- */

/* class_of returns the number of pairs from `at` on with equal volume, and the greatest number of
 * them that one owner has. `counts` is zero for every owner, before and after. */
static uint32_t class_of(const struct td_pairs *pairs, uint32_t at, uint32_t *counts,
                         uint32_t *degree)
{
    uint32_t end = at;
    *degree = 0;
    for (; end < pairs->count && pairs->pair[end].volume == pairs->pair[at].volume; end++) {
        uint32_t out = ++counts[pairs->pair[end].p], in = ++counts[pairs->p + pairs->pair[end].q];
        *degree = out > *degree ? out : *degree;
        *degree = in > *degree ? in : *degree;
    }
    for (uint32_t i = at; i < end; i++)
        counts[pairs->pair[i].p] = counts[pairs->p + pairs->pair[i].q] = 0;
    return end - at;
}

bool td_pairs_classes_cost(const struct td_pairs *pairs, struct td_arena *arena,
                           struct td_schedule_cost *cost)
{
    uint32_t *counts = td_arena_alloc(arena, (pairs->p + pairs->q) * sizeof *counts), degree;
    *cost = (struct td_schedule_cost){0};
    for (uint32_t at = 0; counts && at < pairs->count;) {
        uint64_t volume = pairs->pair[at].volume;
        at += class_of(pairs, at, counts, &degree);
        cost->steps += degree;
        cost->volume += degree * volume;
    }
    td_arena_free(arena, counts);
    return counts != NULL;
}

bool td_pairs_classes(const struct td_pairs *pairs, struct td_arena *arena, struct td_schedule *s)
{
    struct td_schedule_cost cost;
    struct colouring c = {0};
    uint32_t *counts = td_arena_alloc(arena, (pairs->p + pairs->q) * sizeof *counts), degree;
    bool good = counts && td_pairs_classes_cost(pairs, arena, &cost) &&
                td_pairs_table(s, arena, cost.steps) && colouring_init(&c, arena, s, pairs->degree);
    s->kind = TD_SCHEDULE_CLASSES;
    for (uint32_t at = 0; good && at < pairs->count;) {
        uint32_t count = class_of(pairs, at, counts, &degree);
        colour(&c, pairs->pair + at, count);
        at += count;
        c.first += degree;
    }
    if (!good)
        td_schedule_free(s, arena);
    colouring_fini(&c, arena);
    td_arena_free(arena, counts);
    return good;
}
