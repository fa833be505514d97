/* SPDX-License-Identifier: Apache-2.0 */
/* redist_model: the tables of Park, Prasanna and Raghavendra (1999) by their model, beside their
 * measurements on an SP2. As theirs, arrays have 4-byte elements and whole superblocks. */
#include "redist.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collectives/redist/redist_schedule.h"

/* A start-up time and a rate of the order of the SP2's. */
static const double STARTUP_US = 40, BYTES_PER_US = 35;
enum { ELEMENT_BYTES = 4 };

struct row {
    const char *source; /* value in the source; "": none for these P and Q */
    uint32_t p, q, k;
    uint64_t x, elements; /* approximate */
};

static const struct row rows[] = {
    {"0.5; measured 0.492 to 0.537", 28, 36, 14, 2, 564480},
    {"0.5; measured 0.492 to 0.537", 28, 36, 14, 2, 14112000},
    {"", 24, 39, 8, 2, 564480},
    {"", 24, 39, 8, 2, 14112000},
    {"", 24, 39, 16, 2, 564480},
    {"", 24, 39, 16, 2, 14112000},
    {"26 steps of 78: 0.33", 27, 78, 3, 2, 564480},
    {"26 steps of 78: 0.33", 27, 78, 3, 2, 14112000},
    {"39 steps of 78: 0.50", 28, 78, 14, 2, 564480},
    {"39 steps of 78: 0.50", 28, 78, 14, 2, 14112000},
    {"52 steps of 78: 0.67", 27, 78, 6, 2, 564480},
    {"52 steps of 78: 0.67", 27, 78, 6, 2, 14112000},
    {"0.75; measured 0.82 to 0.85", 28, 36, 6, 4, 677376},
    {"0.75; measured 0.82 to 0.85", 28, 36, 6, 4, 16934400},
};

struct result {
    uint32_t steps;
    double us;
};

static bool run(struct td_arena *arena, const struct td_schedule_problem *problem,
                enum td_schedule_kind kind, double block_us, struct result *result)
{
    struct td_schedule s;
    struct td_schedule_cost cost;
    if (!td_schedule_build(&s, arena, kind, problem))
        return false;
    td_schedule_cost(&s, problem, &cost);
    result->steps = cost.steps;
    result->us = cost.steps * STARTUP_US + (double)cost.volume * block_us;
    td_schedule_free(&s, arena);
    return true;
}

static json_t *model_row(struct td_arena *arena, const struct row *r)
{
    struct td_schedule_axis axis = {r->p, r->q, r->x, r->x * r->k};
    struct td_schedule_problem problem = {.p = r->p, .q = r->q, .dimensions = 1, .axis = &axis};
    struct result ours, matching, other;
    uint64_t superblock = 0;
    for (uint32_t p = 0; p < r->p; p++)
        for (uint32_t q = 0; q < r->q; q++)
            superblock += td_schedule_volume(&problem, p, q) * r->x;
    assert(superblock > 0);
    uint64_t superblocks = (r->elements + superblock / 2) / superblock;
    double block_us = (double)(superblocks * r->x * ELEMENT_BYTES) / BYTES_PER_US;
    if (!run(arena, &problem, TD_SCHEDULE_AUTO, block_us, &ours) ||
        !run(arena, &problem, TD_SCHEDULE_MATCHING, block_us, &matching) ||
        !run(arena, &problem, TD_SCHEDULE_CATERPILLAR, block_us, &other))
        return json_null();
    double megabytes = (double)(superblocks * superblock * ELEMENT_BYTES) / 1e6;
    printf("%4u %4u %4u %3llu %8.2f %6u %6u %10.2f %10.2f %10.2f %7.3f   %s\n", r->p, r->q, r->k,
           (unsigned long long)r->x, megabytes, ours.steps, other.steps, ours.us / 1000,
           matching.us / 1000, other.us / 1000, ours.us / other.us, r->source);
    return json_pack(
        "{s:i s:i s:i s:i s:I s:i s:i s:f s:f s:f s:f s:s}", "p", (int)r->p, "q", (int)r->q, "k",
        (int)r->k, "x", (int)r->x, "elements", (json_int_t)(superblocks * superblock), "steps",
        (int)ours.steps, "caterpillar_steps", (int)other.steps, "us", ours.us, "matching_us",
        matching.us, "caterpillar_us", other.us, "ratio", ours.us / other.us, "source", r->source);
}

json_t *redist_model(struct td_arena *arena)
{
    json_t *list = json_array();
    printf("\ncyclic(x) on P to cyclic(Kx) on Q, by the model: every step takes %g us and its "
           "longest message at %g MB/s\n\n",
           STARTUP_US, BYTES_PER_US);
    printf("%4s %4s %4s %3s %8s %6s %6s %10s %10s %10s %7s   %s\n", "P", "Q", "K", "x", "MB",
           "steps", "cater.", "ours ms", "match. ms", "cater. ms", "ratio", "the source's ratio");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        json_array_append_new(list, model_row(arena, &rows[i]));
    return list;
}
