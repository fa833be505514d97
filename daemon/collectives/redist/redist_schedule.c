/* SPDX-License-Identifier: Apache-2.0 */
#include "redist_schedule.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "model/plan.h"
#include "redist_colouring.h"
#include "redist_matching.h"

_Static_assert((int)TD_SCHEDULES == (int)TD_REDIST_SCHEDULES, "a plan may ask for any of them");

static const char *const names[TD_SCHEDULES] = {
    [TD_SCHEDULE_AUTO] = "auto",           [TD_SCHEDULE_CIRCULANT] = "circulant",
    [TD_SCHEDULE_COLOURING] = "colouring", [TD_SCHEDULE_CLASSES] = "classes",
    [TD_SCHEDULE_MATCHING] = "matching",   [TD_SCHEDULE_CATERPILLAR] = "caterpillar",
};

const char *td_schedule_name(enum td_schedule_kind kind)
{
    return names[kind];
}

bool td_schedule_named(const char *name, enum td_schedule_kind *kind)
{
    for (uint32_t k = 0; k < TD_SCHEDULES; k++)
        if (strcmp(name, names[k]) == 0) {
            *kind = (enum td_schedule_kind)k;
            return true;
        }
    return false;
}

/* ---- volumes ---- */

/* overlap returns the number of values below `period` in both [0, a) and [shift, shift + b), which
 * wraps around. */
static uint64_t overlap(uint64_t a, uint64_t b, uint64_t shift, uint64_t period)
{
    uint64_t end = shift + b, sum = 0;
    uint64_t first = end < a ? end : a;
    if (first > shift)
        sum = first - shift;
    if (end > period)
        sum += end - period < a ? end - period : a;
    return sum;
}

/* shared_blocks counts the units of a superblock that part p has before and part q after. With
 * blocks of x and y units and G = td_gcd(Px, Qy), these are the i < x and k < y with i - k = qy -
 * px mod G (by the Chinese remainder theorem each such pair is one unit). */
static uint64_t shared_blocks(const struct td_schedule_axis *axis, uint64_t p, uint64_t q)
{
    uint64_t x, y;
    td_circulant_ratio(axis, &x, &y);
    uint64_t period = td_gcd(axis->p * x, axis->q * y);
    uint64_t shift = (q * y % period + period - p * x % period) % period;
    uint64_t rest = overlap(x % period, y % period, shift, period);
    return x / period * y + x % period * (y / period) + rest;
}

/* locate writes an owner's part along every axis. */
static void locate(const struct td_schedule_problem *problem, unsigned side, uint32_t owner,
                   uint32_t *part)
{
    const uint8_t *order = problem->order[side];
    for (uint32_t i = problem->dimensions; i-- > 0;) {
        uint32_t d = order ? order[i] : i;
        uint32_t parts = side ? problem->axis[d].q : problem->axis[d].p;
        part[d] = owner % parts;
        owner /= parts;
    }
}

uint64_t td_schedule_volume(const struct td_schedule_problem *problem, uint32_t p, uint32_t q)
{
    if (problem->volume)
        return problem->volume(problem->me, p, q);
    uint32_t from[TD_DIMENSIONS_MAX], to[TD_DIMENSIONS_MAX];
    uint64_t blocks = 1;
    locate(problem, 0, p, from);
    locate(problem, 1, q, to);
    for (uint32_t d = 0; d < problem->dimensions && blocks; d++)
        blocks *= shared_blocks(&problem->axis[d], from[d], to[d]);
    return blocks;
}

void td_schedule_pose(struct td_schedule_problem *problem, struct td_schedule_axis *axis,
                      const struct td_layout *from, const struct td_layout *to)
{
    bool distributed = !from->box && !to->box;
    problem->p = from->owners;
    problem->q = to->owners;
    problem->dimensions = from->dimensions;
    problem->order[0] = from->grid_order;
    problem->order[1] = to->grid_order;
    for (uint32_t d = 0; d < from->dimensions; d++) {
        const struct td_axis *a = &from->axis[d], *b = &to->axis[d];
        axis[d] = (struct td_schedule_axis){a->parts, b->parts, a->block, b->block};
        distributed =
            distributed && (a->parts == 1 || a->offset == 0) && (b->parts == 1 || b->offset == 0);
    }
    problem->axis = distributed ? axis : NULL;
}

/* ---- bounds and costs ---- */

static void bound_row(const struct td_schedule_problem *problem, bool receiver, uint32_t owner,
                      struct td_schedule_bound *bound)
{
    uint32_t others = receiver ? problem->p : problem->q, partners = 0;
    uint64_t sum = 0;
    for (uint32_t other = 0; other < others; other++) {
        uint64_t volume = receiver ? td_schedule_volume(problem, other, owner)
                                   : td_schedule_volume(problem, owner, other);
        partners += volume > 0;
        sum += volume;
    }
    bound->steps = partners > bound->steps ? partners : bound->steps;
    bound->volume = sum > bound->volume ? sum : bound->volume;
}

void td_schedule_bound(const struct td_schedule_problem *problem, struct td_schedule_bound *bound)
{
    *bound = (struct td_schedule_bound){0};
    for (uint32_t p = 0; p < problem->p; p++)
        bound_row(problem, false, p, bound);
    for (uint32_t q = 0; q < problem->q; q++)
        bound_row(problem, true, q, bound);
}

void td_schedule_cost(const struct td_schedule *s, const struct td_schedule_problem *problem,
                      struct td_schedule_cost *cost)
{
    *cost = (struct td_schedule_cost){0};
    for (uint32_t step = 0; step < s->steps; step++) {
        uint64_t longest = 0;
        for (uint32_t p = 0, q; p < s->p; p++) {
            uint64_t volume =
                td_schedule_send(s, p, step, &q) ? td_schedule_volume(problem, p, q) : 0;
            longest = volume > longest ? volume : longest;
        }
        cost->steps += longest > 0;
        cost->volume += longest;
    }
}

/* ---- schedules ---- */

static bool cheaper(const struct td_schedule_cost *a, const struct td_schedule_cost *b,
                    uint64_t startup)
{
    return a->steps * startup + a->volume < b->steps * startup + b->volume;
}

/* build_cheaper uses the colouring, or the classes if they cost less. */
static bool build_cheaper(struct td_schedule *s, struct td_arena *arena, uint64_t startup,
                          const struct td_pairs *pairs)
{
    struct td_schedule_cost colouring, classes;
    struct td_schedule_problem known = td_pairs_problem(pairs);
    if (!td_pairs_classes_cost(pairs, arena, &classes) || !td_pairs_colour(pairs, arena, s))
        return false;
    td_schedule_cost(s, &known, &colouring);
    if (!cheaper(&classes, &colouring, startup))
        return true;
    td_schedule_free(s, arena);
    return td_pairs_classes(pairs, arena, s);
}

static bool build_from_pairs(struct td_schedule *s, struct td_arena *arena,
                             enum td_schedule_kind wanted,
                             const struct td_schedule_problem *problem)
{
    struct td_pairs pairs;
    if (!td_pairs_init(&pairs, arena, problem))
        return false;
    bool good = wanted == TD_SCHEDULE_MATCHING    ? td_pairs_match(&pairs, arena, s)
                : wanted == TD_SCHEDULE_COLOURING ? td_pairs_colour(&pairs, arena, s)
                : wanted == TD_SCHEDULE_CLASSES   ? td_pairs_classes(&pairs, arena, s)
                                                : build_cheaper(s, arena, problem->startup, &pairs);
    td_pairs_free(&pairs, arena);
    return good;
}

static bool build_circulant(struct td_schedule *s, const struct td_schedule_problem *problem)
{
    struct td_circulant *c = &s->circulant;
    if (!problem->axis || !td_circulant_init(c, problem->dimensions, problem->axis))
        return false;
    for (unsigned side = 0; side < 2; side++)
        if (problem->order[side])
            td_circulant_order(c, side, problem->order[side]);
    s->kind = TD_SCHEDULE_CIRCULANT;
    s->steps = c->steps;
    return true;
}

bool td_schedule_build(struct td_schedule *s, struct td_arena *arena, enum td_schedule_kind wanted,
                       const struct td_schedule_problem *problem)
{
    assert(problem->p && problem->q && (problem->axis || problem->volume));
    assert(problem->p <= TD_SCHEDULE_OWNERS_MAX && problem->q <= TD_SCHEDULE_OWNERS_MAX);
    *s = (struct td_schedule){.p = problem->p, .q = problem->q};
    bool any = wanted == TD_SCHEDULE_AUTO || wanted == TD_SCHEDULE_CIRCULANT;
    if (any && build_circulant(s, problem))
        return true;
    if ((uint64_t)s->p * s->q > TD_SCHEDULE_PAIRS_MAX)
        wanted = TD_SCHEDULE_CATERPILLAR;
    if (wanted != TD_SCHEDULE_CATERPILLAR)
        return build_from_pairs(s, arena, wanted, problem);
    s->kind = wanted;
    s->steps = s->p > s->q ? s->p : s->q;
    return true;
}

void td_schedule_free(struct td_schedule *s, struct td_arena *arena)
{
    td_arena_free(arena, s->table);
    s->table = NULL;
}

/* caterpillar: in step t, i and j meet if i + j = t modulo the number of steps, so that owners of
 * both sets exchange (Prylli, Tourancheau 1997). */
static bool caterpillar(uint32_t owner, uint32_t others, uint32_t step, uint32_t steps,
                        uint32_t *other)
{
    *other = (step + steps - owner) % steps;
    return *other < others;
}

bool td_schedule_send(const struct td_schedule *s, uint32_t p, uint32_t step, uint32_t *q)
{
    assert(p < s->p && step < s->steps);
    if (s->kind == TD_SCHEDULE_CIRCULANT)
        return td_circulant_send(&s->circulant, p, step, q);
    if (s->kind == TD_SCHEDULE_CATERPILLAR)
        return caterpillar(p, s->q, step, s->steps, q);
    *q = td_pairs_row_send(s, step)[p];
    return *q != TD_SCHEDULE_IDLE;
}

bool td_schedule_receive(const struct td_schedule *s, uint32_t q, uint32_t step, uint32_t *p)
{
    assert(q < s->q && step < s->steps);
    if (s->kind == TD_SCHEDULE_CIRCULANT)
        return td_circulant_receive(&s->circulant, q, step, p);
    if (s->kind == TD_SCHEDULE_CATERPILLAR)
        return caterpillar(q, s->p, step, s->steps, p);
    *p = td_pairs_row_receive(s, step)[q];
    return *p != TD_SCHEDULE_IDLE;
}
