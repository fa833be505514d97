/* SPDX-License-Identifier: Apache-2.0 */
/* redist_links: loads of the links of an 8x8 torus, one rank per node, and the savings by the
 * mirror. */
#include <stdint.h>
#include <stdio.h>

#include "collectives/redist/redist_torus.h"
#include "redist.h"

struct row {
    struct td_schedule_axis axis;
    uint32_t first; /* node of the first receiver */
};

static const struct row rows[] = {
    {{28, 36, 1, 14}, 28}, {{28, 36, 4, 24}, 28}, {{24, 39, 1, 8}, 24},  {{32, 32, 1, 16}, 32},
    {{32, 64, 1, 16}, 0},  {{48, 64, 1, 6}, 0},   {{64, 64, 1, 16}, 0},  {{64, 64, 1, 32}, 0},
    {{64, 64, 1, 63}, 0},  {{64, 64, 1, 64}, 0},  {{36, 28, 28, 2}, 36}, {{64, 64, 64, 1}, 0},
};

static bool load_of(struct td_arena *arena, const struct td_schedule_problem *problem,
                    const struct td_schedule_places *places, enum td_schedule_kind kind,
                    bool settled, struct td_schedule_load *load)
{
    struct td_schedule s;
    bool good = td_schedule_build(&s, arena, kind, problem) &&
                (!settled || td_schedule_settle(&s, places, arena)) &&
                td_schedule_load(&s, problem, places, arena, load);
    td_schedule_free(&s, arena);
    return good;
}

void redist_links(struct td_arena *arena)
{
    static uint32_t from[64], to[64];
    struct td_topology torus = {.dimensions = 2, .nodes = 64, .size = {8, 8}, .wrap = {true, true}};
    struct td_schedule_places places = {&torus, from, to};
    puts("\nBlocks on the heaviest link of every step, added up, on an 8x8 torus; together: of all "
         "steps at once\n");
    printf("%-18s %8s %8s %8s %9s %11s\n", "axis", "straight", "settled", "matching", "caterp.",
           "together");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct td_schedule_axis *a = &rows[i].axis;
        struct td_schedule_problem problem = {.p = a->p, .q = a->q, .dimensions = 1, .axis = a};
        struct td_schedule_load straight, settled, matching, caterpillar;
        char name[40];
        for (uint32_t n = 0; n < 64; n++) {
            from[n] = n;
            to[n] = (rows[i].first + n) % 64;
        }
        if (!load_of(arena, &problem, &places, TD_SCHEDULE_CIRCULANT, false, &straight) ||
            !load_of(arena, &problem, &places, TD_SCHEDULE_CIRCULANT, true, &settled) ||
            !load_of(arena, &problem, &places, TD_SCHEDULE_MATCHING, false, &matching) ||
            !load_of(arena, &problem, &places, TD_SCHEDULE_CATERPILLAR, false, &caterpillar))
            continue;
        snprintf(name, sizeof name, "%u:%llu>%u:%llu", a->p, (unsigned long long)a->from_block,
                 a->q, (unsigned long long)a->to_block);
        printf("%-18s %8g %8g %8g %9g %11g\n", name, (double)straight.steps2 / 2,
               (double)settled.steps2 / 2, (double)matching.steps2 / 2,
               (double)caterpillar.steps2 / 2, (double)settled.together2 / 2);
    }
}
