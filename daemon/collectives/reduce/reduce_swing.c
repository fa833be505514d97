/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_swing: allreduce on a torus by halving, with near partners (swing.h): for vectors that are
 * so short that the cost per step of a bucket algorithm counts.
 *
 * HALVES: two partners have the same part of the vector, and each gives away the other's half. When
 * every node has its own combined part, the same exchanges in the opposite order put the parts
 * together. About as many bytes pass a link as in the bucket algorithm. WHOLE: partners exchange
 * all of their data, so half of the steps are enough, but each step carries all bytes. These steps
 * run in the opposite order, too. Then nodes that have exchanged have bit for bit the same sums: an
 * exchange in the order of the labels joins two sets of nodes that all have one value each, and the
 * operand from the side with bit 0 comes first.
 *
 * The exchanges of a piece wait for each other. Received data has room of its own in each exchange,
 * because a partner may be some exchanges ahead. */
#include "collectives/method.h"
#include "rings_cost.h"
#include "swing.h"

/* Families of each piece, role by role; WHOLE has the first four. */
enum { RECV, FOLD, COMBINE, SEND, AG_RECV, AG_SEND, ROLES };
enum { DIMENSIONS_MAX = TD_FAMILIES_MAX / ROLES / 2 };
struct TD_STORED parameters {
    struct td_grid grid;
    int64_t steps;
    int64_t area; /* bytes of scratch memory for one vector */
    bool whole;   /* partners exchange all of their data */
};
TD_PARAMETERS(struct parameters)

static uint64_t element_of(const struct td_program *p)
{
    return td_type_bytes(p->call.type);
}

static struct td_range piece_of(const struct td_program *p, const struct td_grid *grid,
                                uint32_t piece)
{
    return td_share(p->call.count, 2 * grid->shape.dimensions, piece);
}

/* struct part: the elements of a node after some halvings of a piece, and the number that it has
 * received so far. */
struct part {
    struct td_range own;
    uint64_t came;
};

static struct td_range half(struct td_range r, uint32_t bit)
{
    struct td_range h = td_share(r.count, 2, bit);
    return (struct td_range){r.begin + h.begin, h.count};
}

static struct part part_after(const struct td_program *p, const struct td_grid *grid,
                              uint32_t piece, uint32_t steps)
{
    struct part part = {.own = piece_of(p, grid, piece)};
    for (uint32_t s = 0; s < steps; s++) {
        part.own = half(part.own, td_swing_exchange(grid, p->slot, piece, s).bit);
        part.came += part.own.count;
    }
    return part;
}

static struct td_slice in(const struct td_program *p, enum td_space space, struct td_range r)
{
    uint64_t element = element_of(p);
    return td_slice_at(space, 0, (int64_t)(r.begin * element), (int64_t)(r.count * element));
}

/* scratch names elements of an area, which has room for a vector and one more element per piece and
 * step. */
static struct td_slice scratch(const struct td_program *p, uint64_t area, uint64_t begin,
                               uint64_t count)
{
    uint64_t element = element_of(p);
    return td_slice_at(TD_SPACE_SCRATCH, 0,
                       (int64_t)(area * (uint64_t)parameters(p)->area + begin * element),
                       (int64_t)(count * element));
}

/* fold_step combines the local ranks' values of a piece. */
static void fold_step(const struct td_program *p, struct td_range r, struct td_step *step)
{
    step->from = in(p, TD_SPACE_SOURCE, r);
    step->from_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
    step->to = scratch(p, 0, r.begin, r.count);
    step->to_lanes = (struct td_lanes){1, 0, 0};
}

/* join makes a step the COMBINE of two operands. The result of the last step goes to every local
 * rank. */
static void join(const struct td_program *p, const struct td_slice *first,
                 const struct td_slice *second, const struct td_slice *to, bool last,
                 struct td_range r, struct td_step *step)
{
    step->from = *first;
    step->with = *second;
    step->from_lanes = step->with_lanes = (struct td_lanes){1, 0, 0};
    step->to = last ? in(p, TD_SPACE_DESTINATION, r) : *to;
    step->to_lanes = (struct td_lanes){last ? td_ranks_here(p) : 1, 0, last};
}

/* whole_step: exchange `index` of whole pieces. Area 2 i has the sums before it, area 2 i + 1 the
 * received data. */
static void whole_step(const struct td_program *p, const struct td_grid *grid, uint32_t piece,
                       uint32_t role, uint64_t index, struct td_step *step)
{
    uint32_t last = (uint32_t)parameters(p)->steps - 1;
    struct td_traffic x = td_swing_exchange(grid, p->slot, piece, last - (uint32_t)index);
    struct td_range r = piece_of(p, grid, piece);
    struct td_slice sums = scratch(p, 2 * index, r.begin, r.count);
    struct td_slice coming = scratch(p, 2 * index + 1, r.begin, r.count);
    step->peer = p->group->node[x.partner];
    if (role == SEND) {
        step->sign = (int8_t)x.sign;
        step->peer_family = RECV * 2 * grid->shape.dimensions + piece;
        step->peer_index = index;
        step->from = sums;
    } else if (role == RECV) {
        step->to = coming;
        step->to_lanes = (struct td_lanes){1, 0, 0};
    } else {
        struct td_slice next = scratch(p, 2 * index + 2, r.begin, r.count);
        join(p, x.bit ? &coming : &sums, x.bit ? &sums : &coming, &next, index == last, r, step);
    }
}

/* sums_step: halving `index`. Area 0 has the sums, area 1 the received data of all halvings. */
static void sums_step(const struct td_program *p, const struct td_grid *grid, uint32_t piece,
                      uint32_t role, uint64_t index, struct td_step *step)
{
    struct td_traffic x = td_swing_exchange(grid, p->slot, piece, (uint32_t)index);
    struct part part = part_after(p, grid, piece, (uint32_t)index);
    struct td_range keep = half(part.own, x.bit), give = half(part.own, !x.bit);
    uint64_t place = piece_of(p, grid, piece).begin + piece * (uint64_t)parameters(p)->steps;
    struct td_slice coming = scratch(p, 1, place + part.came, keep.count);
    step->peer = p->group->node[x.partner];
    if (role == SEND) {
        step->sign = (int8_t)x.sign;
        step->peer_family = RECV * 2 * grid->shape.dimensions + piece;
        step->peer_index = index;
        step->from = scratch(p, 0, give.begin, give.count);
    } else if (role == RECV) {
        step->to = coming;
        step->to_lanes = (struct td_lanes){1, 0, 0};
    } else {
        struct td_slice sums = scratch(p, 0, keep.begin, keep.count);
        bool last = index + 1 == (uint64_t)parameters(p)->steps;
        join(p, &sums, &coming, &sums, last, keep, step);
    }
}

/* results_step: the halvings in the opposite order. */
static void results_step(const struct td_program *p, const struct td_grid *grid, uint32_t piece,
                         uint32_t role, uint64_t index, struct td_step *step)
{
    uint32_t s = (uint32_t)parameters(p)->steps - 1 - (uint32_t)index;
    struct td_traffic x = td_swing_exchange(grid, p->slot, piece, s);
    struct td_range both = part_after(p, grid, piece, s).own;
    step->peer = p->group->node[x.partner];
    if (role == AG_RECV) {
        step->to = in(p, TD_SPACE_DESTINATION, half(both, !x.bit));
        step->to_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
        return;
    }
    step->sign = (int8_t)x.sign;
    step->peer_family = AG_RECV * 2 * grid->shape.dimensions + piece;
    step->peer_index = index;
    step->from = in(p, TD_SPACE_DESTINATION, half(both, x.bit));
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    struct td_grid grid = parameters(p)->grid;
    uint32_t pieces = 2 * grid.shape.dimensions, role = family / pieces, piece = family % pieces;
    *step =
        (struct td_step){.kind = p->family[family].kind, .type = p->call.type, .op = p->call.op};
    if (role == FOLD)
        fold_step(p, piece_of(p, &grid, piece), step);
    else if (role == AG_RECV || role == AG_SEND)
        results_step(p, &grid, piece, role, index, step);
    else if (parameters(p)->whole)
        whole_step(p, &grid, piece, role, index, step);
    else
        sums_step(p, &grid, piece, role, index, step);
}

static bool fits(struct td_query *q, uint64_t areas)
{
    const struct td_program *p = q->program;
    return p->call.count <= p->tuning.relay_bytes / areas / element_of(p) ||
           td_query_refuse(q, "the vector is too long for the scratch memory ([alltoall] relay)");
}

static bool halves_applies(struct td_query *q)
{
    return td_rings_applies(q, DIMENSIONS_MAX) && td_swing_applies(q) && fits(q, 2);
}

static bool whole_applies(struct td_query *q)
{
    return td_rings_applies(q, DIMENSIONS_MAX) && td_swing_applies(q) &&
           fits(q, 2 * td_swing_steps(td_query_grid(q)));
}

/* halves_cost: vectors that are so short that WHOLE is better, but too long for its scratch memory,
 * use the rings. */
static uint64_t halves_cost(struct td_query *q)
{
    struct td_rings_cost cost = td_rings_cost(q);
    if (cost.whole < cost.halves)
        return td_query_last(q, "the vector is so short that exchanges of all of it are faster");
    return cost.halves;
}

/* whole_cost: the method is a candidate only if halving is better than the rings. */
static uint64_t whole_cost(struct td_query *q)
{
    struct td_rings_cost cost = td_rings_cost(q);
    if (cost.bucket < cost.halves)
        return td_query_last(q, "the vector is so long that bytes matter more than steps");
    return cost.whole;
}

static void compile(struct td_program *p, const struct td_grid *on, bool whole)
{
    const struct td_grid grid = *on;
    uint64_t steps = td_swing_steps(&grid), element = element_of(p);
    uint32_t pieces = 2 * grid.shape.dimensions;
    uint64_t areas = whole ? 2 * steps : 2;
    set(p)->whole = whole;
    set(p)->grid = grid;
    set(p)->steps = (int64_t)steps;
    set(p)->area = (int64_t)(((p->call.count + pieces * steps) * element + 63) & ~(uint64_t)63);
    p->scratch_bytes = (int64_t)areas * parameters(p)->area;
    static const struct {
        enum td_step_kind kind;
        const char *label;
    } roles[ROLES] = {{TD_RECV, "sums of a partner"},          {TD_COMBINE, "local ranks"},
                      {TD_COMBINE, "received and own values"}, {TD_SEND, "sums to a partner"},
                      {TD_RECV, "results of a partner"},       {TD_SEND, "results to a partner"}};
    for (unsigned role = 0; role < (whole ? AG_RECV : ROLES); role++)
        td_program_add_each(p, pieces, roles[role].kind, role == FOLD ? 1 : steps,
                            roles[role].label);
    for (uint32_t i = 0; i < pieces; i++) {
        unsigned combine = COMBINE * pieces + i;
        td_swing_chain(p, FOLD * pieces + i, RECV * pieces + i, combine, SEND * pieces + i);
        if (whole)
            continue;
        td_program_need_all(p, AG_SEND * pieces + i, combine);
        td_program_need(p, AG_SEND * pieces + i, AG_RECV * pieces + i, 1, 1, 0);
    }
}

static void compile_halves(struct td_query *q, struct td_program *p)
{
    compile(p, td_query_grid(q), false);
}

static void compile_whole(struct td_query *q, struct td_program *p)
{
    compile(p, td_query_grid(q), true);
}

const struct td_method td_method_reduce_swing = {
    .name = "reduce_swing",
    .why = "halving with near partners takes fewer steps than the rings have nodes",
    .kinds = TD_KIND_BIT(TD_KIND_ALLREDUCE),
    .class = TD_COST_TORUS,
    .setting = TD_SETTING_RINGS,
    .values = TD_VALUE_BIT(TD_RINGS_SWING),
    .applies = halves_applies,
    .cost = halves_cost,
    .compile = compile_halves,
    .step_at = step_at,
};

const struct td_method td_method_reduce_swing_whole = {
    .name = "reduce_swing_whole",
    .why = "the vector is so short that steps matter more than bytes",
    .kinds = TD_KIND_BIT(TD_KIND_ALLREDUCE),
    .class = TD_COST_TORUS,
    .setting = TD_SETTING_RINGS,
    .values = TD_VALUE_BIT(TD_RINGS_WHOLE),
    .applies = whole_applies,
    .cost = whole_cost,
    .compile = compile_whole,
    .step_at = step_at,
};
