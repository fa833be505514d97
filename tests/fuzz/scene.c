/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "sim/checker.h"
#include "sim/clock.h"

enum { EVENTS_MAX = 200000, SETTLES = 12 };

/* ---- memory that is refused ---- */

/* struct refusals: `pass` allocations succeed, then `refuse` are refused. */
static struct {
    uint64_t pass, refuse;
} refusals;

void scene_refuse(struct decide *d)
{
    refusals.pass = decide_below(d, 4) ? decide_below(d, 16) : decide_below(d, 256);
    refusals.refuse = decide_below(d, 8) ? 1 + decide_below(d, 3) : UINT64_MAX;
}

void scene_refuse_none(void)
{
    refusals.refuse = 0;
}

static bool is_refused(void)
{
    if (refusals.refuse == 0)
        return false;
    if (refusals.pass > 0) {
        refusals.pass--;
        return false;
    }
    refusals.refuse--;
    return true;
}

/* The linker (--wrap) passes each call of these two functions here. It fixes the names.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
void *__real_td_arena_alloc(struct td_arena *arena, size_t bytes);
void *__wrap_td_arena_alloc(struct td_arena *arena, size_t bytes);
uint64_t __real_td_ranges_acquire(struct td_ranges *ranges, uint64_t bytes);
uint64_t __wrap_td_ranges_acquire(struct td_ranges *ranges, uint64_t bytes);

void *__wrap_td_arena_alloc(struct td_arena *arena, size_t bytes)
{
    return is_refused() ? NULL : __real_td_arena_alloc(arena, bytes);
}

uint64_t __wrap_td_ranges_acquire(struct td_ranges *ranges, uint64_t bytes)
{
    return is_refused() ? UINT64_MAX : __real_td_ranges_acquire(ranges, bytes);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* ---- the world ---- */

void scene_options(struct td_sim_options *o, struct decide *d, const char *const *shape,
                   uint32_t shapes, uint64_t arena_least)
{
    const uint64_t arenas[] = {arena_least, 1 << 20, 4 << 20};
    const char *chosen = shape[decide_below(d, shapes)];
    td_sim_options_default(o, chosen, decide_below(d, 256));
    uint32_t fabric = decide_below(d, 4);
    o->settings.tuning.fabric = fabric & 1 ? TD_FABRIC_ROUTED : TD_FABRIC_DIRECT;
    o->settings.arena_bytes = arenas[decide_below(d, 3)];
    o->settings.scratch_bytes = 1 << 20;
    o->settings.packet_bytes = 1024;
    o->settings.arrival_timeout_ns = (int64_t)SCENE_SECOND;
    o->settings.progress_timeout_ns = 2 * (int64_t)SCENE_SECOND;
    o->settings.heartbeat_ns = (int64_t)SCENE_SECOND / 2;
    o->trace = getenv("TORUS_TEST_TRACE") ? stderr : NULL;
}

struct td_sim *scene_create(const struct td_sim_options *options)
{
    scene_refuse_none();
    struct td_sim *sim = td_sim_create(options);
    if (!sim)
        abort();
    return sim;
}

/* ---- time ---- */

bool scene_run(struct td_sim *sim, td_time duration)
{
    td_time end = td_sim_now(sim) + duration;
    bool calm = td_sim_events(sim) <= EVENTS_MAX;
    while (calm && td_sim_now(sim) < end) {
        td_time slice = duration < SCENE_MILLISECOND ? duration : SCENE_MILLISECOND;
        td_time next = td_sim_next(sim);
        if (next > td_sim_now(sim) + slice)
            slice = (next < end ? next : end) - td_sim_now(sim);
        td_sim_run(sim, slice);
        calm = td_sim_events(sim) <= EVENTS_MAX;
    }
    return calm;
}

const char *scene_leftovers(struct td_sim *sim)
{
    const char *left = "";
    scene_refuse_none();
    for (int i = 0; left && i < SETTLES; i++) {
        if (!scene_run(sim, 5 * SCENE_SECOND))
            return NULL;
        left = td_sim_leftovers(sim);
    }
    return left;
}
