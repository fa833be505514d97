/* SPDX-License-Identifier: Apache-2.0 */
/* redist_random: distance of schedules from the bounds in random cases without a closed form. */
#include <stdint.h>
#include <stdio.h>

#include "base/hash.h"
#include "collectives/redist/redist_schedule.h"
#include "redist.h"

enum { CASES = 400, PARTS_MAX = 41 };

static uint64_t state;
static uint64_t volumes[PARTS_MAX][PARTS_MAX];

static uint64_t draw(uint64_t below)
{
    return td_hash_next(&state) % below;
}

static uint64_t look_up(const void *me, uint32_t p, uint32_t q)
{
    (void)me;
    return volumes[p][q];
}

/* Kinds of cases: block lengths that do not divide each other, or random volumes: for every pair,
 * one of many or one of three values; for a quarter of the pairs, one of three. */
enum kind { BLOCKS, MANY, THREE, SPARSE, KINDS };
static const char *const names[KINDS] = {"cyclic(2..31) to cyclic(2..31)", "volumes 1..1000",
                                         "volumes 1..3", "volumes 1..3, a quarter"};

static void draw_volumes(enum kind kind)
{
    for (uint32_t p = 0; p < PARTS_MAX; p++)
        for (uint32_t q = 0; q < PARTS_MAX; q++)
            volumes[p][q] = kind == SPARSE && draw(4) ? 0 : 1 + draw(kind == MANY ? 1000 : 3);
}

struct sums {
    double steps[TD_SCHEDULES], volume[TD_SCHEDULES];
    uint32_t cases;
};

static void add(struct td_arena *arena, const struct td_schedule_problem *problem,
                struct sums *sums)
{
    struct td_schedule_bound bound;
    td_schedule_bound(problem, &bound);
    if (bound.steps == 0)
        return;
    sums->cases++;
    for (enum td_schedule_kind k = TD_SCHEDULE_COLOURING; k < TD_SCHEDULES; k++) {
        struct td_schedule s;
        struct td_schedule_cost cost;
        if (!td_schedule_build(&s, arena, k, problem))
            continue;
        td_schedule_cost(&s, problem, &cost);
        sums->steps[k] += (double)cost.steps / bound.steps;
        sums->volume[k] += (double)cost.volume / (double)bound.volume;
        td_schedule_free(&s, arena);
    }
}

void redist_random(struct td_arena *arena)
{
    puts("\nSteps and volume over their bounds, means of random cases of 2 to 41 owners:\n");
    printf("%-32s %6s", "", "cases");
    for (enum td_schedule_kind k = TD_SCHEDULE_COLOURING; k < TD_SCHEDULES; k++)
        printf(" %13s", td_schedule_name(k));
    puts("");
    for (enum kind kind = BLOCKS; kind < KINDS; kind++) {
        struct sums sums = {0};
        state = 1;
        for (int i = 0; i < CASES; i++) {
            struct td_circulant closed;
            struct td_schedule_axis axis = {2 + (uint32_t)draw(40), 2 + (uint32_t)draw(40),
                                            2 + draw(30), 2 + draw(30)};
            struct td_schedule_problem problem = {.p = axis.p, .q = axis.q, .dimensions = 1};
            draw_volumes(kind);
            problem.axis = kind == BLOCKS ? &axis : NULL;
            problem.volume = kind == BLOCKS ? NULL : look_up;
            if (kind != BLOCKS || !td_circulant_init(&closed, 1, &axis))
                add(arena, &problem, &sums);
        }
        printf("%-32s %6u", names[kind], sums.cases);
        for (enum td_schedule_kind k = TD_SCHEDULE_COLOURING; k < TD_SCHEDULES; k++)
            printf(" %6.2f %6.2f", sums.steps[k] / sums.cases, sums.volume[k] / sums.cases);
        puts("");
    }
}
