/* SPDX-License-Identifier: Apache-2.0 */
/* block_swing: reduce_scatter and allgather of short blocks on a torus, by halving and doubling
 * with near partners (swing.h): the two halves of reduce_swing, with one block per rank.
 *
 * Every block is cut into 2 D pieces. In scratch memory the slots' parts of a piece are in the
 * order of their labels. Therefore the parts that a node and its partner still share are
 * contiguous, and each of the two has one half of them. For that the blocks are reordered first, or
 * last: one step per slot and piece. */
#include "collectives/method.h"
#include "rings_cost.h"
#include "swing.h"

/* Families of each piece, role by role: of sums, and of blocks. */
enum { RECV, FOLD, COMBINE, SEND, ROLES };
enum { AG_RECV, AG_IN, AG_SEND, AG_OUT };
_Static_assert((int)ROLES * 2 * (int)TD_DIMENSIONS_MAX <= (int)TD_FAMILIES_MAX, "all have one");
struct TD_STORED parameters {
    struct td_grid grid;
    int64_t steps;
    int64_t area;  /* bytes of all blocks; for sums, received data needs as many besides */
    int64_t local; /* distance between local ranks' numbers */
};
TD_PARAMETERS(struct parameters)

/* range returns the bytes of a block that are a piece. */
static struct td_range range(const struct td_program *p, uint32_t pieces, uint32_t piece)
{
    uint64_t element = td_type_bytes(p->call.type);
    struct td_range r = td_share(p->call.count, pieces, piece);
    return (struct td_range){r.begin * element, r.count * element};
}

/* blocks names a piece of the data of all ranks for the ranks of a slot, or of the data from those
 * ranks. */
static struct td_slice blocks(const struct td_program *p, enum td_space space, uint32_t slot,
                              struct td_range r)
{
    int64_t block = (int64_t)(p->call.count * td_type_bytes(p->call.type));
    int64_t first = td_group_rank(p->group, slot, 0);
    struct td_slice s = td_slice_at(space, 0, first * block + (int64_t)r.begin, (int64_t)r.count);
    td_slice_loop(&s, td_ranks_here(p), parameters(p)->local * block, 0);
    td_slice_simplify(&s);
    return s;
}

/* scratch names the parts of some slots, in the order of their labels. */
static struct td_slice scratch(const struct td_program *p, int64_t area, struct td_range r,
                               uint64_t place, uint64_t places)
{
    uint64_t ranks = td_ranks_here(p), each = ranks * r.count;
    return td_slice_at(TD_SPACE_SCRATCH, 0,
                       area * parameters(p)->area +
                           (int64_t)(r.begin * ranks * p->group->slots + place * each),
                       (int64_t)(places * each));
}

/* own names a piece of the sources or destinations of the local ranks, which is contiguous in each.
 */
static struct td_slice own(const struct td_program *p, enum td_space space, struct td_range r)
{
    struct td_slice s = td_slice_at(space, 0, (int64_t)r.begin, (int64_t)r.count);
    td_slice_loop(&s, td_ranks_here(p), 0, 1);
    return s;
}

/* struct halves: the slots that remain with a node after the halving of a step, and those that
 * remain with its partner; by label. */
struct halves {
    struct td_traffic x;
    uint64_t mine, other, slots; /* of each */
};

static struct halves halves_of(const struct td_program *p, const struct td_grid *grid,
                               uint32_t piece, uint32_t step)
{
    struct halves h = {.x = td_swing_exchange(grid, p->slot, piece, step),
                       .slots = p->group->slots >> (step + 1)};
    h.mine = td_swing_place(grid, p->slot, piece) / h.slots * h.slots;
    h.other = h.mine ^ h.slots;
    return h;
}

static void address(const struct td_program *p, const struct td_traffic *x, unsigned family,
                    uint64_t index, struct td_step *step)
{
    step->peer = p->group->node[x->partner];
    step->peer_family = family;
    step->peer_index = index;
    step->sign = (int8_t)x->sign;
}

static void sums_step(const struct td_program *p, unsigned family, uint64_t index,
                      struct td_step *step)
{
    struct td_grid grid = parameters(p)->grid;
    uint32_t pieces = 2 * grid.shape.dimensions, role = family / pieces, piece = family % pieces;
    struct td_range r = range(p, pieces, piece);
    *step = (struct td_step){.kind = p->family[family].kind,
                             .type = p->call.type,
                             .op = p->call.op,
                             .to_lanes = {1, 0, 0}};
    if (role == FOLD) {
        step->from = blocks(p, TD_SPACE_SOURCE, td_swing_slot(&grid, (uint32_t)index, piece), r);
        step->from_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
        step->to = scratch(p, 0, r, index, 1);
        return;
    }
    struct halves h = halves_of(p, &grid, piece, (uint32_t)index);
    /* data that arrives in a step is stored after the data that arrived before, which was twice as
     * much */
    struct td_slice coming = scratch(p, 1, r, p->group->slots - 2 * h.slots, h.slots);
    address(p, &h.x, RECV * pieces + piece, index, step);
    if (role == SEND) {
        step->from = scratch(p, 0, r, h.other, h.slots);
    } else if (role == RECV) {
        step->to = coming;
    } else {
        step->from = scratch(p, 0, r, h.mine, h.slots);
        step->with = coming;
        step->from_lanes = step->with_lanes = (struct td_lanes){1, 0, 0};
        step->to = h.slots == 1 ? own(p, TD_SPACE_DESTINATION, r) : step->from;
    }
}

static void blocks_step(const struct td_program *p, unsigned family, uint64_t index,
                        struct td_step *step)
{
    struct td_grid grid = parameters(p)->grid;
    uint32_t pieces = 2 * grid.shape.dimensions, role = family / pieces, piece = family % pieces;
    struct td_range r = range(p, pieces, piece);
    *step = (struct td_step){.kind = p->family[family].kind, .to_lanes = {1, 0, 0}};
    if (role == AG_IN) {
        step->from = own(p, TD_SPACE_SOURCE, r);
        step->to = scratch(p, 0, r, td_swing_place(&grid, p->slot, piece), 1);
        return;
    }
    if (role == AG_OUT) {
        step->from = scratch(p, 0, r, index, 1);
        step->to = blocks(p, TD_SPACE_DESTINATION, td_swing_slot(&grid, (uint32_t)index, piece), r);
        step->to_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
        return;
    }
    struct halves h =
        halves_of(p, &grid, piece, (uint32_t)parameters(p)->steps - 1 - (uint32_t)index);
    address(p, &h.x, AG_RECV * pieces + piece, index, step);
    if (role == AG_RECV)
        step->to = scratch(p, 0, r, h.other, h.slots);
    else
        step->from = scratch(p, 0, r, h.mine, h.slots);
}

/* is_regular returns true if every node has the same number of ranks at the same distance: *local.
 */
static bool is_regular(const struct td_program *p, int64_t *local)
{
    const struct td_group *g = p->group;
    uint32_t ranks = td_ranks_here(p);
    *local = 0;
    for (uint32_t slot = 0; slot < g->slots; slot++) {
        if (td_group_slot_ranks(g, slot) != ranks)
            return false;
        for (uint32_t i = 1; i < ranks; i++) {
            int64_t apart =
                (int64_t)td_group_rank(g, slot, i) - (int64_t)td_group_rank(g, slot, i - 1);
            if (*local && apart != *local)
                return false;
            *local = apart;
        }
    }
    return true;
}

/* areas_of returns the number of areas of scratch memory: the blocks and, for sums, received data.
 */
static uint64_t areas_of(const struct td_program *p)
{
    return p->call.kind == TD_KIND_REDUCE_SCATTER ? 2 : 1;
}

static bool applies(struct td_query *q)
{
    const struct td_program *p = q->program;
    int64_t local = 0;
    if (!td_rings_applies(q, TD_DIMENSIONS_MAX) || !td_swing_applies(q))
        return false;
    if (!is_regular(p, &local))
        return td_query_refuse(q, "ranks are not spread over the nodes regularly");
    return td_program_bytes(p) <= p->tuning.relay_bytes / areas_of(p) / p->group->size ||
           td_query_refuse(q, "the blocks are too long for the scratch memory ([alltoall] relay)");
}

/* cost: blocks for which the rings are faster, but whose ranks are not regular enough for them, go
 * directly. */
static uint64_t cost(struct td_query *q)
{
    struct td_rings_cost cost = td_rings_cost(q);
    if (cost.bucket < cost.halves)
        return td_query_last(q, "the blocks are so long that bytes matter more than steps");
    return cost.halves;
}

/* plan computes the parameters of all steps. */
static void plan(struct td_program *p, const struct td_grid *grid)
{
    set(p)->grid = *grid;
    set(p)->steps = td_swing_steps(grid);
    set(p)->area = (int64_t)((td_program_bytes(p) * p->group->size + 63) & ~(uint64_t)63);
    int64_t local = 0;
    (void)is_regular(p, &local);
    set(p)->local = local;
    p->scratch_bytes = (int64_t)areas_of(p) * parameters(p)->area;
}

static void compile_sums(struct td_query *q, struct td_program *p)
{
    const struct td_grid grid = *td_query_grid(q);
    plan(p, &grid);
    uint32_t pieces = 2 * grid.shape.dimensions;
    uint64_t steps = (uint64_t)parameters(p)->steps;
    td_program_add_each(p, pieces, TD_RECV, steps, "sums of a partner");
    td_program_add_each(p, pieces, TD_COMBINE, p->group->slots, "local ranks");
    td_program_add_each(p, pieces, TD_COMBINE, steps, "received and own values");
    td_program_add_each(p, pieces, TD_SEND, steps, "sums to a partner");
    for (uint32_t i = 0; i < pieces; i++) {
        td_swing_chain(p, FOLD * pieces + i, RECV * pieces + i, COMBINE * pieces + i,
                       SEND * pieces + i);
    }
}

static void compile_blocks(struct td_query *q, struct td_program *p)
{
    const struct td_grid grid = *td_query_grid(q);
    plan(p, &grid);
    uint32_t pieces = 2 * grid.shape.dimensions;
    uint64_t steps = (uint64_t)parameters(p)->steps;
    td_program_add_each(p, pieces, TD_RECV, steps, "blocks of a partner");
    td_program_add_each(p, pieces, TD_COPY, 1, "blocks of local ranks");
    td_program_add_each(p, pieces, TD_SEND, steps, "blocks to a partner");
    td_program_add_each(p, pieces, TD_COPY, p->group->slots, "blocks to their places");
    for (uint32_t i = 0; i < pieces; i++) {
        unsigned send = AG_SEND * pieces + i, out = AG_OUT * pieces + i;
        td_program_need_all(p, send, AG_IN * pieces + i);
        td_program_need(p, send, AG_RECV * pieces + i, 1, 1, 0);
        td_program_need_all(p, out, AG_IN * pieces + i);
        td_program_need_all(p, out, AG_RECV * pieces + i);
    }
}

const struct td_method td_method_reduce_scatter_swing = {
    .name = "reduce_scatter_swing",
    .why = "halving with near partners takes fewer steps than the rings have nodes",
    .kinds = TD_KIND_BIT(TD_KIND_REDUCE_SCATTER),
    .class = TD_COST_TORUS,
    .setting = TD_SETTING_RINGS,
    .values = TD_VALUE_BIT(TD_RINGS_SWING) | TD_VALUE_BIT(TD_RINGS_WHOLE),
    .applies = applies,
    .cost = cost,
    .compile = compile_sums,
    .step_at = sums_step,
};

const struct td_method td_method_allgather_swing = {
    .name = "allgather_swing",
    .why = "doubling with near partners takes fewer steps than the rings have nodes",
    .kinds = TD_KIND_BIT(TD_KIND_ALLGATHER),
    .class = TD_COST_TORUS,
    .setting = TD_SETTING_RINGS,
    .values = TD_VALUE_BIT(TD_RINGS_SWING) | TD_VALUE_BIT(TD_RINGS_WHOLE),
    .applies = applies,
    .cost = cost,
    .compile = compile_blocks,
    .step_at = blocks_step,
};
