/* SPDX-License-Identifier: Apache-2.0 */
/* tree_combine: nothing moves but the arrival and the release, and the payload rides on them: one
 * sweep up the combining tree and one down (us7752421). What needs every rank's values by itself
 * (scans, gathers, and reductions whose bracketing must not depend on where ranks are) gathers them
 * on the way up; every node then has all of them, and finishes alone. */
#include "collectives/collectives.h"
#include "collectives/grid.h"

/* copy_to makes `step` the COPY of what is at `place` of the ride to local ranks. */
static void copy_to(const struct td_program *p, struct td_step *step, uint32_t rank, uint32_t ranks)
{
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0, td_program_ride(p), p->ride_bytes);
    step->to = td_slice_at(TD_SPACE_DESTINATION, rank, 0, p->ride_bytes);
    step->to_lanes = (struct td_lanes){ranks, 0, 1};
}

/* deal makes it the COPY of each local rank's share, for the ranks of a run. */
static void deal(const struct td_program *p, struct td_step *step, const struct td_run *run)
{
    int64_t share = p->ride_bytes / p->group->size;
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0, td_program_ride(p) + run->first * share, share);
    td_slice_loop(&step->from, run->count, run->step * share, 0);
    step->to = td_slice_at(TD_SPACE_DESTINATION, run->local, 0, share);
    td_slice_loop(&step->to, run->count, 0, 1);
    step->to_lanes = (struct td_lanes){1, 0, 0};
}

/* pick makes it the COPY of what all ranks have for a local one. */
static void pick(const struct td_program *p, struct td_step *step, uint32_t local)
{
    int64_t share = p->ride_bytes / p->group->size, block = share / p->group->size;
    int64_t at = td_group_rank(p->group, p->slot, local) * block;
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0, td_program_ride(p) + at, block);
    td_slice_loop(&step->from, p->group->size, share, 0);
    step->to = td_slice_at(TD_SPACE_DESTINATION, local, 0, share);
    step->to_lanes = (struct td_lanes){1, 0, 0};
}

/* fold makes it the COMBINE of everybody's values, `bytes` of each rank's share from `at` on. */
static void fold(const struct td_program *p, struct td_step *step, int64_t at, int64_t bytes)
{
    int64_t share = p->ride_bytes / p->group->size;
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0, td_program_ride(p) + at, bytes);
    step->from_lanes = (struct td_lanes){p->group->size, share, 0};
    step->to = td_slice_at(TD_SPACE_DESTINATION, 0, 0, bytes);
}

/* scan makes it the COMBINE of the results of a run's ranks. */
static void scan(const struct td_program *p, struct td_step *step, const struct td_run *run)
{
    fold(p, step, 0, p->ride_bytes / p->group->size);
    step->from_lanes.count = run->first + (run->count - 1) * run->step + 1;
    step->running = (struct td_running){.kind = p->call.kind == TD_KIND_SCAN ? TD_RUNNING_UP_TO
                                                                             : TD_RUNNING_BEFORE,
                                        .first = run->first,
                                        .step = run->step};
    step->to.rank = run->local;
    step->to_lanes = (struct td_lanes){run->count, 0, 1};
}

static void expand(const struct td_program *p, unsigned family, uint64_t index,
                   struct td_step *step)
{
    const struct td_group *g = p->group;
    uint32_t ranks = td_ranks_here(p), slot = 0, local = 0;
    int64_t share = p->ride_bytes / g->size;
    *step =
        (struct td_step){.kind = p->family[family].kind, .type = p->call.type, .op = p->call.op};
    bool rooted = td_call_rooted(p->call.kind);
    if (rooted)
        td_group_locate(g, p->call.root, &slot, &local);
    switch (p->call.kind) {
    case TD_KIND_GATHER:
    case TD_KIND_ALLGATHER:
        copy_to(p, step, local, rooted ? 1 : ranks);
        return;
    case TD_KIND_SCATTER:
        deal(p, step, &g->run[g->slot_run[p->slot] + index]);
        return;
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
        scan(p, step, &g->run[g->slot_run[p->slot] + index]);
        return;
    case TD_KIND_ALLTOALL:
        pick(p, step, (uint32_t)index);
        return;
    case TD_KIND_PREFIX:
        fold(p, step, 0, share);
        step->running = (struct td_running){TD_RUNNING_UP_TO, 0, 1};
        step->to.rank = (uint32_t)index;
        step->to_lanes = (struct td_lanes){g->size, share, 0};
        return;
    case TD_KIND_REDUCE_SCATTER:
        if (p->ride == TD_RIDE_COMBINE) {
            deal(p, step, &g->run[g->slot_run[p->slot] + index]);
            return;
        }
        fold(p, step, td_group_rank(g, p->slot, (uint32_t)index) * (share / g->size),
             share / g->size);
        step->to.rank = (uint32_t)index;
        step->to_lanes = (struct td_lanes){1, 0, 0};
        return;
    default: /* reduce, allreduce */
        if (p->ride == TD_RIDE_COMBINE) {
            copy_to(p, step, local, 1);
            return;
        }
        fold(p, step, 0, share);
        step->to.rank = local;
        step->to_lanes = (struct td_lanes){rooted ? 1 : ranks, 0, 1};
        return;
    }
}

static const struct td_method method = {"tree_combine", expand};
static const struct td_method flood = {"flood", expand};

/* struct ride: how a call's payload rides, and what is done with it afterwards. */
struct ride {
    enum td_ride ride;
    uint64_t bytes;
    bool stays;
    enum td_step_kind step;
    uint64_t steps; /* at this node */
};

static struct ride ride_of(const struct td_program *p, bool gathers)
{
    const struct td_group *g = p->group;
    uint64_t bytes = p->call.count * td_type_bytes(p->call.type), all = bytes * g->size;
    uint32_t runs = g->slot_run[p->slot + 1] - g->slot_run[p->slot], slot = 0, local = 0;
    bool any = gathers || p->call.mode == TD_REPRODUCIBLE_ANY;
    if (td_call_rooted(p->call.kind))
        td_group_locate(g, p->call.root, &slot, &local);
    uint64_t at_root = slot == p->slot;
    switch (p->call.kind) {
    case TD_KIND_BROADCAST:
        return (struct ride){TD_RIDE_ROOT, bytes, false, TD_COPY, 0};
    case TD_KIND_ALLREDUCE:
        return any ? (struct ride){TD_RIDE_GATHER, all, true, TD_COMBINE, 1}
                   : (struct ride){TD_RIDE_COMBINE, bytes, false, TD_COPY, 0};
    case TD_KIND_REDUCE:
        return any ? (struct ride){TD_RIDE_GATHER, all, true, TD_COMBINE, at_root}
                   : (struct ride){TD_RIDE_COMBINE, bytes, true, TD_COPY, at_root};
    case TD_KIND_REDUCE_SCATTER:
        return any ? (struct ride){TD_RIDE_GATHER, all * g->size, true, TD_COMBINE,
                                   td_ranks_here(p)}
                   : (struct ride){TD_RIDE_COMBINE, all, true, TD_COPY, runs};
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
        return (struct ride){TD_RIDE_GATHER, all, true, TD_COMBINE, runs};
    case TD_KIND_ALLTOALL:
        return (struct ride){TD_RIDE_GATHER, all * g->size, true, TD_COPY, td_ranks_here(p)};
    case TD_KIND_PREFIX:
        return (struct ride){TD_RIDE_GATHER, all, true, TD_COMBINE, td_ranks_here(p)};
    case TD_KIND_GATHER:
        return (struct ride){TD_RIDE_GATHER, all, true, TD_COPY, at_root};
    case TD_KIND_ALLGATHER:
        return (struct ride){TD_RIDE_GATHER, all, true, TD_COPY, 1};
    case TD_KIND_SCATTER:
        return (struct ride){TD_RIDE_ROOT, all, true, TD_COPY, runs};
    default:
        return (struct ride){TD_RIDE_EMPTY, 0, false, TD_COPY, 0};
    }
}

/* scattered: whether some node has its ranks in so many runs that gathering them takes too many
 * computations at a time. */
static bool scattered(const struct td_group *g)
{
    enum { RUNS_MAX = 32 };
    for (uint32_t slot = 0; slot < g->slots; slot++)
        if (g->slot_run[slot + 1] - g->slot_run[slot] > RUNS_MAX)
            return true;
    return false;
}

/* flooded: whether a call goes from neighbour to neighbour without the tree (core/flood.h), as
 * nothing or as everybody's values; the longest ring comes last, so that blocks are short. */
static bool flooded(struct td_program *p, const struct ride *r)
{
    struct td_grid grid;
    td_grid_of(p->group, p->topology, &grid);
    uint32_t dimensions = grid.shape.dimensions, most = 0;
    bool gathers = r->ride == TD_RIDE_GATHER && r->bytes > 0 && r->bytes <= TD_FLOOD_BYTES_MAX;
    if (!p->tuning.flood || p->tuning.fabric != TD_FABRIC_ROUTED || p->group->slots == 1 ||
        !(gathers || p->call.kind == TD_KIND_BARRIER))
        return false;
    for (uint32_t d = 0; d < dimensions; d++) {
        if (!grid.shape.wrap[d] || !grid.box)
            return false;
        struct td_ring ring = {grid.shape.size[d], td_grid_line(&grid, 0, d).stride};
        uint32_t at = d;
        for (; at > 0 && p->ring[at - 1].size > ring.size; at--)
            p->ring[at] = p->ring[at - 1];
        p->ring[at] = ring;
    }
    for (uint32_t slot = 0; slot < p->group->slots; slot++)
        if (td_group_slot_ranks(p->group, slot) > most)
            most = td_group_slot_ranks(p->group, slot);
    uint64_t block = r->bytes / p->group->size * most * p->group->slots;
    if (block / p->ring[dimensions - 1].size > TD_RIDE_BYTES_MAX)
        return false;
    p->rings = dimensions;
    p->method = &flood;
    p->ride = TD_RIDE_FLOOD;
    p->ride_bytes = (int64_t)r->bytes;
    p->ride_stays = r->bytes > 0;
    if (p->ride_stays)
        td_program_add(p, r->step, r->steps, "finish alone");
    return true;
}

bool td_tree_combine_compile(struct td_program *p)
{
    struct ride r = ride_of(p, true);
    if (flooded(p, &r))
        return true;
    r = ride_of(p, false);
    if (r.bytes > TD_RIDE_BYTES_MAX || (r.ride == TD_RIDE_GATHER && scattered(p->group)))
        return false;
    p->method = &method;
    p->ride = r.bytes ? r.ride : TD_RIDE_EMPTY;
    p->ride_bytes = (int64_t)r.bytes;
    p->ride_stays = r.stays && r.bytes;
    if (p->ride_stays)
        td_program_add(p, r.step, r.steps, "finish alone");
    return true;
}
