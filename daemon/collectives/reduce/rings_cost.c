/* SPDX-License-Identifier: Apache-2.0 */
#include "rings_cost.h"

#include "collectives/cost/bound.h"
#include "collectives/cost/constants.h"
#include "swing.h"

enum { WHOLE = TD_COST_SLOT };

/* struct load: of all steps of the pieces in sequence: hops, and the load of a link in 1 / WHOLE of
 * a piece. */
struct load {
    uint64_t hops, carried;
};

/* bucket_load: the k - 1 steps of a ring carry the rest of a piece, except one part in k. Pieces
 * begin in different dimensions; this is the one that begins in the longest. */
static struct load bucket_load(const struct td_grid *grid)
{
    struct load load = {0, 0};
    uint64_t left = WHOLE, first = td_bound_longest(&grid->shape);
    for (uint32_t f = 0; f < grid->shape.dimensions; f++) {
        uint64_t k = grid->shape.size[(first + f) % grid->shape.dimensions];
        load.hops += k - 1;
        load.carried += left * (k - 1) / k;
        left /= k;
    }
    return (struct load){2 * load.hops, 2 * load.carried};
}

/* swing_load: if all nodes of a ring exchange over h hops, as both pieces along the ring do, every
 * link carries h messages. */
static struct load swing_load(const struct td_grid *grid, bool whole)
{
    struct load load = {0, 0};
    uint32_t steps = td_swing_steps(grid);
    for (uint32_t s = 0; s < steps; s++) {
        uint64_t hops = td_swing_exchange(grid, 0, 0, s).hops;
        load.hops += hops;
        load.carried += hops * (uint64_t)(whole ? WHOLE : WHOLE >> (s + 1));
    }
    return whole ? load : (struct load){2 * load.hops, 2 * load.carried};
}

/* time_of returns the cost of pieces of `bytes` bytes. */
static uint64_t time_of(const struct td_program *p, const struct load *load, uint64_t bytes)
{
    uint64_t packet = p->tuning.packet_bytes ? p->tuning.packet_bytes : 1;
    return load->hops * td_cost_bytes(p, td_program_hop(p, bytes)) +
           load->carried * (bytes / packet) + load->carried * (bytes % packet) / packet;
}

/* TD_COST_SWING_SHARE4: measured. Starts are not aligned, so links that several exchanges share are
 * idle at times; with halving for nearly half of the time. With a latency of one slot per hop,
 * swing is faster than buckets up to 16 KiB on 8x8, and up to 32 KiB on 8x8x8. */
struct td_rings_cost td_rings_cost(struct td_query *q)
{
    const struct td_program *p = q->program;
    const struct td_grid *grid = td_query_grid(q);
    /* the other calls are one half of an allreduce, of all blocks */
    bool reduces = p->call.kind == TD_KIND_ALLREDUCE;
    uint64_t bytes = td_program_bytes(p) * (reduces ? 1 : p->group->size);
    uint64_t pieces = 2 * grid->shape.dimensions, piece = (bytes + pieces - 1) / pieces;
    struct load bucket = bucket_load(grid);
    struct td_rings_cost cost = {time_of(p, &bucket, piece), TD_COST_LAST, TD_COST_LAST};
    if (!td_swing_fits(grid))
        return cost;
    struct load halves = swing_load(grid, false), whole = swing_load(grid, true);
    halves.carried = halves.carried * TD_COST_SWING_SHARE4 / 4;
    cost.halves = time_of(p, &halves, piece);
    cost.whole = time_of(p, &whole, piece);
    return cost;
}

bool td_rings_applies(struct td_query *q, uint32_t dimensions_max)
{
    const struct td_program *p = q->program;
    if (!td_program_is_routed(p))
        return td_query_refuse(q, "the data does not travel on links of a torus");
    if (td_call_reduces(p->call.kind) && td_program_brackets_any(p))
        return td_query_refuse(q, "values must be folded in rank order");
    if (!td_grid_is_torus(td_query_grid(q)))
        return td_query_refuse(q, "the group is not a torus");
    return q->grid.shape.dimensions <= dimensions_max ||
           td_query_refuse(q, "the torus has too many dimensions");
}
