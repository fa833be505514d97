/* SPDX-License-Identifier: Apache-2.0 */
#include "redist_pairs.h"

#include <string.h>

static bool before(const struct td_pair *a, const struct td_pair *b)
{
    if (a->volume != b->volume)
        return a->volume > b->volume;
    return a->p != b->p ? a->p < b->p : a->q < b->q;
}

/* sink restores the heap below `at`. */
static void sink(struct td_pair *pair, uint32_t at, uint32_t count)
{
    struct td_pair moved = pair[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(&pair[child], &pair[child + 1]))
            child++;
        if (!before(&moved, &pair[child]))
            break;
        pair[at] = pair[child];
    }
    pair[at] = moved;
}

static void sort(struct td_pair *pair, uint32_t count)
{
    for (uint32_t at = count / 2; at-- > 0;)
        sink(pair, at, count);
    for (uint32_t left = count; left > 1; left--) {
        struct td_pair last = pair[0];
        pair[0] = pair[left - 1];
        pair[left - 1] = last;
        sink(pair, 0, left - 1);
    }
}

static uint64_t volume_of(const void *me, uint32_t p, uint32_t q)
{
    const struct td_pairs *pairs = me;
    return pairs->volume[(size_t)p * pairs->q + q];
}

struct td_schedule_problem td_pairs_problem(const struct td_pairs *pairs)
{
    return (struct td_schedule_problem){
        .p = pairs->p, .q = pairs->q, .volume = volume_of, .me = pairs};
}

static void ask(struct td_pairs *pairs, const struct td_schedule_problem *problem)
{
    for (uint32_t p = 0; p < problem->p; p++)
        for (uint32_t q = 0; q < problem->q; q++) {
            uint64_t volume = td_schedule_volume(problem, p, q);
            pairs->volume[(size_t)p * pairs->q + q] = volume;
            pairs->count += volume > 0;
        }
}

static void list(struct td_pairs *pairs)
{
    struct td_pair *next = pairs->pair;
    for (uint32_t p = 0; p < pairs->p; p++)
        for (uint32_t q = 0; q < pairs->q; q++) {
            uint64_t volume = volume_of(pairs, p, q);
            if (volume)
                *next++ = (struct td_pair){volume, (uint16_t)p, (uint16_t)q};
        }
    sort(pairs->pair, pairs->count);
}

bool td_pairs_init(struct td_pairs *pairs, struct td_arena *arena,
                   const struct td_schedule_problem *problem)
{
    uint64_t most = (uint64_t)problem->p * problem->q;
    *pairs = (struct td_pairs){.p = problem->p, .q = problem->q};
    if (most > UINT32_MAX ||
        !(pairs->volume = td_arena_alloc(arena, (size_t)most * sizeof *pairs->volume)))
        return false;
    ask(pairs, problem);
    pairs->pair = td_arena_alloc(arena, pairs->count * sizeof *pairs->pair);
    if (!pairs->pair) {
        td_pairs_free(pairs, arena);
        return false;
    }
    struct td_schedule_problem known = td_pairs_problem(pairs);
    struct td_schedule_bound bound;
    td_schedule_bound(&known, &bound);
    pairs->degree = bound.steps;
    list(pairs);
    return true;
}

void td_pairs_free(struct td_pairs *pairs, struct td_arena *arena)
{
    td_arena_free(arena, pairs->volume);
    td_arena_free(arena, pairs->pair);
    *pairs = (struct td_pairs){0};
}

bool td_pairs_table(struct td_schedule *s, struct td_arena *arena, uint32_t steps)
{
    size_t bytes = (size_t)steps * (s->p + s->q) * sizeof *s->table;
    s->steps = steps;
    s->table = td_arena_alloc(arena, bytes);
    _Static_assert(TD_SCHEDULE_IDLE == 0xffff, "bytes of ones are idle owners");
    if (s->table)
        memset(s->table, 0xff, bytes);
    return s->table != NULL;
}
