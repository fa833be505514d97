/* SPDX-License-Identifier: Apache-2.0 */
#include "redist_torus.h"

#include <string.h>

/* SAMPLES: turns of a schedule that are examined for the choice. They are spread by the golden
 * ratio, because turns at equal distances may all use the same dimension of the torus. */
enum { SAMPLES = 8 };
static const uint32_t GOLDEN = 2654435769u; /* of 2^32 */

/* struct links: the loads of one direction of one dimension at every node: of the step, and of all
 * steps. */
struct links {
    const struct td_topology *t;
    uint64_t *step2, *all2;
    size_t count;
};

static bool links_init(struct links *l, struct td_arena *arena, const struct td_topology *t)
{
    *l = (struct links){.t = t, .count = (size_t)t->nodes * t->dimensions * 2};
    l->step2 = td_arena_alloc(arena, l->count * sizeof *l->step2);
    l->all2 = td_arena_alloc(arena, l->count * sizeof *l->all2);
    return l->step2 && l->all2;
}

static void links_fini(struct links *l, struct td_arena *arena)
{
    td_arena_free(arena, l->step2);
    td_arena_free(arena, l->all2);
}

static uint32_t along(struct links *l, uint32_t node, uint32_t dimension, int32_t offset,
                      uint64_t volume2)
{
    int sign = offset > 0 ? 1 : -1;
    for (; offset; offset -= sign) {
        l->step2[((size_t)node * l->t->dimensions + dimension) * 2 + (sign > 0)] += volume2;
        node = td_topology_neighbour(l->t, node, dimension, sign);
    }
    return node;
}

static void send(struct links *l, uint32_t from, uint32_t to, uint64_t volume)
{
    int32_t offset[TD_DIMENSIONS_MAX];
    td_topology_offsets(l->t, from, to, offset);
    for (uint32_t d = 0; d < l->t->dimensions; d++) {
        bool either = l->t->wrap[d] && (uint32_t)offset[d] * 2 == l->t->size[d];
        if (either)
            along(l, from, d, -offset[d], volume);
        from = along(l, from, d, offset[d], either ? volume : 2 * volume);
    }
}

/* finish ends a step. It returns the load of its busiest link, and adds the loads to the totals. */
static uint64_t finish(struct links *l)
{
    uint64_t most = 0;
    for (size_t i = 0; i < l->count; i++) {
        most = l->step2[i] > most ? l->step2[i] : most;
        l->all2[i] += l->step2[i];
    }
    memset(l->step2, 0, l->count * sizeof *l->step2);
    return most;
}

bool td_schedule_load(const struct td_schedule *s, const struct td_schedule_problem *problem,
                      const struct td_schedule_places *places, struct td_arena *arena,
                      struct td_schedule_load *load)
{
    struct links l;
    *load = (struct td_schedule_load){0};
    bool good = links_init(&l, arena, places->topology);
    for (uint32_t step = 0; good && step < s->steps; step++) {
        for (uint32_t p = 0, q; p < s->p; p++)
            if (td_schedule_send(s, p, step, &q))
                send(&l, places->from[p], places->to[q], td_schedule_volume(problem, p, q));
        load->steps2 += finish(&l);
    }
    for (size_t i = 0; good && i < l.count; i++)
        load->together2 = l.all2[i] > load->together2 ? l.all2[i] : load->together2;
    links_fini(&l, arena);
    return good;
}

static uint64_t sample(const struct td_schedule *s, const struct td_schedule_places *places,
                       struct links *l)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint32_t turn = (uint32_t)((uint64_t)(GOLDEN * (i + 1)) * s->circulant.rotations >> 32);
        for (uint32_t p = 0, q; p < s->p; p++)
            if (td_schedule_send(s, p, turn, &q))
                send(l, places->from[p], places->to[q], 1);
        sum += finish(l);
    }
    return sum;
}

bool td_schedule_settle(struct td_schedule *s, const struct td_schedule_places *places,
                        struct td_arena *arena)
{
    struct links l;
    if (s->kind != TD_SCHEDULE_CIRCULANT)
        return true;
    bool good = links_init(&l, arena, places->topology);
    if (good) {
        struct td_schedule mirror = *s;
        mirror.circulant.mirrored = !s->circulant.mirrored;
        if (sample(&mirror, places, &l) < sample(s, places, &l))
            *s = mirror;
    }
    links_fini(&l, arena);
    return good;
}
