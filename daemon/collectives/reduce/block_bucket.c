/* SPDX-License-Identifier: Apache-2.0 */
/* block_bucket: reduce_scatter and allgather over all links of a torus, along the rings of one
 * dimension after the other (bucket): the two halves of reduce_bucket, with one block per rank.
 *
 * Every block is cut into 2 D pieces. Piece (p, s) begins in dimension p and travels in direction s
 * along every ring, so all dimensions are busy in both directions. A ring of k nodes carries k
 * buckets: the blocks of all slots with a certain coordinate. Sums pass all nodes of the ring and
 * end at their destination, so the next ring has 1 / k of them. Gathered blocks travel through the
 * dimensions in the opposite order and grow from ring to ring. Nearly all of the traffic is in the
 * ring with the most data. If the sizes of dimensions differ, the sizes of pieces differ, so that
 * those rings end together. In total (P - 1) n / (2 D) bytes pass a link, which is the bound.
 *
 * In scratch memory the sums of a piece are in the order of its dimensions, the first outermost: a
 * bucket is contiguous. Long blocks are cut into segments, and scratch memory holds two of them.
 * After a barrier all nodes may begin the segment after the next. */
#include "collectives/method.h"
#include "rings_cost.h"

#include <assert.h>

enum { AHEAD = 2, CHUNKS = 2, CHUNK_MIN = 4096, WHOLE = 1 << 16 };
/* Families of each piece, role by role: of sums, and of blocks. */
enum { RECV, FOLD, COMBINE, SEND, ROLES };
/* For sums, additionally: one step without bytes per dimension at the end of a segment; the
 * barrier. */
enum { AG_RECV, AG_SEND, AG_ROLES };
enum { DIMENSIONS_MAX = TD_LEVELS_MAX - 1 };
_Static_assert((ROLES + 1) * 2 * DIMENSIONS_MAX <= (int)TD_FAMILIES_MAX, "all have one");
struct TD_STORED parameters {
    struct td_grid grid;
    int64_t segment, segments;         /* bytes of a block; number of segments */
    int64_t chunks;                    /* of a piece */
    int64_t steps;                     /* of a phase: k - 1 of the longest dimension */
    int64_t area;                      /* bytes of scratch memory of each of a segment's AREAS */
    int64_t by_slot, by_local;         /* rank = by_slot * slot + by_local * local rank */
    int64_t shares[TD_DIMENSIONS_MAX]; /* shares of the pieces that begin in dimension d, in 1 /
                                          WHOLE */
};
TD_PARAMETERS(struct parameters)
/* Areas of a segment: the sums; the data that arrives in the pieces' first rings, and in later
 * rings. */
enum { SUMS, FIRST, LATER, AREAS };

/* struct turn: index i of a piece's families. All rings have as many steps as the longest needs, so
 * that a phase has the same steps in every piece. */
struct turn {
    uint64_t segment, chunk;
    uint32_t ring; /* index of the ring's dimension in the piece's order */
    uint32_t dimension, step, k, at;
    int sign;
    bool idle; /* the ring is complete */
};

static struct turn turn_at(const struct td_program *p, const struct td_grid *grid, uint32_t piece,
                           uint64_t i, bool gathers)
{
    uint64_t chunks = (uint64_t)parameters(p)->chunks, steps = (uint64_t)parameters(p)->steps;
    uint32_t dimensions = grid->shape.dimensions;
    uint64_t g = i / chunks % (steps * dimensions);
    struct turn t = {.segment = i / chunks / (steps * dimensions),
                     .chunk = i % chunks,
                     .ring = (uint32_t)(g / steps),
                     .step = (uint32_t)(g % steps),
                     .sign = piece % 2 ? -1 : 1};
    if (gathers)
        t.ring = dimensions - 1 - t.ring;
    t.dimension = (piece / 2 + t.ring) % dimensions;
    t.k = grid->shape.size[t.dimension];
    t.at = td_grid_coordinate(grid, p->slot, t.dimension);
    t.idle = t.step + 1 >= t.k;
    return t;
}

/* bucket returns the bucket that leaves in a step, or arrives. For sums, the bucket that ends at
 * this node arrives last; for blocks, the node's own bucket leaves first. */
static uint32_t bucket(const struct turn *t, bool gathers, bool comes)
{
    uint32_t back = t->step + (comes ? 1 : 0) + (gathers ? 0 : 1);
    return (t->sign > 0 ? t->at + 2 * t->k - back : t->at + back) % t->k;
}

static uint32_t neighbour(const struct td_program *p, const struct td_grid *grid,
                          const struct turn *t, bool comes)
{
    uint32_t slot = p->slot;
    (void)td_grid_step(grid, p->slot, t->dimension, 1, comes ? -t->sign : t->sign, &slot);
    return p->group->node[slot];
}

/* range returns the bytes of a block that are a chunk of a piece of a segment. */
static struct td_range range(const struct td_program *p, uint32_t pieces, uint64_t segment,
                             uint32_t piece, uint64_t chunk)
{
    uint64_t element = td_type_bytes(p->call.type), bytes = p->call.count * element;
    uint64_t size = (uint64_t)parameters(p)->segment, begin = segment * size, before = 0;
    uint64_t n = (bytes - begin < size ? bytes - begin : size) / element;
    for (uint32_t i = 0; i < piece; i++)
        before += (uint64_t)parameters(p)->shares[i / 2];
    uint64_t to = before + (uint64_t)parameters(p)->shares[piece / 2];
    uint64_t first = n * before / WHOLE, end = piece + 1 == pieces ? n : n * to / WHOLE;
    struct td_range c = td_share(end - first, (uint64_t)parameters(p)->chunks, chunk);
    return (struct td_range){begin + (first + c.begin) * element, c.count * element};
}

/* struct region: the slots with this node's coordinates in the first `fixed` dimensions of a
 * piece's order, and with coordinate `bucket` in the next one, if any. */
struct region {
    uint32_t piece, fixed, bucket;
};

/* volume returns the number of slots that differ in no dimension before `fixed`. */
static uint64_t volume(const struct td_grid *grid, uint32_t piece, uint32_t fixed)
{
    uint64_t slots = 1;
    for (uint32_t f = fixed; f < grid->shape.dimensions; f++)
        slots *= grid->shape.size[(piece / 2 + f) % grid->shape.dimensions];
    return slots;
}

/* blocks names a region's part of the ranks' blocks in a buffer in rank order, in the order of
 * scratch memory. */
static struct td_slice blocks(const struct td_program *p, const struct td_grid *grid,
                              enum td_space space, const struct region *g, struct td_range r)
{
    uint32_t dimensions = grid->shape.dimensions, slot = p->slot, ranks = td_ranks_here(p);
    int64_t block = (int64_t)(p->call.count * td_type_bytes(p->call.type));
    for (uint32_t f = g->fixed; f < dimensions; f++)
        slot = td_grid_moved(grid, slot, (g->piece / 2 + f) % dimensions,
                             f == g->fixed ? g->bucket : 0);
    struct td_slice s = td_slice_at(
        space, 0, (int64_t)r.begin + slot * parameters(p)->by_slot * block, (int64_t)r.count);
    for (uint32_t f = g->fixed + 1; f < dimensions; f++) {
        uint32_t d = (g->piece / 2 + f) % dimensions;
        td_slice_loop(&s, grid->shape.size[d],
                      td_grid_line(grid, 0, d).stride * parameters(p)->by_slot * block, 0);
    }
    if (ranks > 1)
        td_slice_loop(&s, ranks, parameters(p)->by_local * block, 0);
    td_slice_simplify(&s);
    return s;
}

/* scratch names a region's part in an area of a segment. In LATER every ring has room of its own,
 * because a neighbour may be one ring ahead; together they need less than the first. */
static struct td_slice scratch(const struct td_program *p, const struct td_grid *grid,
                               uint64_t segment, int area, const struct region *g,
                               struct td_range r)
{
    uint64_t slots = volume(grid, g->piece, g->fixed + 1), place = g->bucket * slots;
    for (uint32_t f = 0; area != LATER && f < g->fixed; f++) {
        uint32_t d = (g->piece / 2 + f) % grid->shape.dimensions;
        place += td_grid_coordinate(grid, p->slot, d) * volume(grid, g->piece, f + 1);
    }
    for (uint32_t f = 1; area == LATER && f < g->fixed; f++)
        place += volume(grid, g->piece, f);
    uint64_t ranks = td_ranks_here(p), size = (uint64_t)parameters(p)->segment;
    uint64_t at = (segment % AHEAD * AREAS + (uint64_t)area) * (uint64_t)parameters(p)->area;
    uint64_t chunk = (r.begin - segment * size) * ranks * p->group->slots;
    return td_slice_at(TD_SPACE_SCRATCH, 0, (int64_t)(at + chunk + place * ranks * r.count),
                       (int64_t)(slots * ranks * r.count));
}

/* own names a part of the sources or destinations of the local ranks, which is contiguous in each.
 */
static struct td_slice own(const struct td_program *p, enum td_space space, struct td_range r)
{
    struct td_slice s = td_slice_at(space, 0, (int64_t)r.begin, (int64_t)r.count);
    td_slice_loop(&s, td_ranks_here(p), 0, 1);
    return s;
}

/* ---- sums ---- */

/* fold_step combines the local ranks' values of a chunk, for one bucket of the first ring. */
static void fold_step(const struct td_program *p, const struct td_grid *grid, uint32_t piece,
                      uint64_t index, struct td_step *step)
{
    uint64_t k = grid->shape.size[piece / 2], chunks = (uint64_t)parameters(p)->chunks;
    uint64_t segment = index / (k * chunks), chunk = index / k % chunks;
    struct td_range r = range(p, 2 * grid->shape.dimensions, segment, piece, chunk);
    const struct region g = {piece, 0, (uint32_t)(index % k)};
    step->from = blocks(p, grid, TD_SPACE_SOURCE, &g, r);
    step->from_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
    step->to = scratch(p, grid, segment, SUMS, &g, r);
}

static void sums_step(const struct td_program *p, unsigned family, uint64_t index,
                      struct td_step *step)
{
    struct td_grid grid = parameters(p)->grid;
    uint32_t pieces = 2 * grid.shape.dimensions, role = family / pieces, piece = family % pieces;
    *step = (struct td_step){.kind = p->family[family].kind,
                             .type = p->call.type,
                             .op = p->call.op,
                             .to_lanes = {1, 0, 0}};
    if (role == ROLES) {
        step->among = (struct td_among){0, p->group->slots, 1};
        return;
    }
    if (role == FOLD) {
        fold_step(p, &grid, piece, index, step);
        return;
    }
    struct turn t = turn_at(p, &grid, piece, index, false);
    bool comes = role != SEND, last = t.ring + 1 == grid.shape.dimensions && t.step + 2 == t.k;
    step->peer = neighbour(p, &grid, &t, comes);
    if (t.idle)
        return;
    struct td_range r = range(p, pieces, t.segment, piece, t.chunk);
    const struct region g = {piece, t.ring, bucket(&t, false, comes)};
    struct td_slice sums = scratch(p, &grid, t.segment, SUMS, &g, r);
    if (role == SEND) {
        step->sign = (int8_t)t.sign;
        step->peer_family = RECV * pieces + piece;
        step->peer_index = index;
        step->from = sums;
        return;
    }
    struct td_slice coming = scratch(p, &grid, t.segment, t.ring ? LATER : FIRST, &g, r);
    if (role == RECV) {
        step->to = coming;
        return;
    }
    step->from = sums;
    step->with = coming;
    step->from_lanes = step->with_lanes = (struct td_lanes){1, 0, 0};
    step->to = last ? own(p, TD_SPACE_DESTINATION, r) : sums;
}

/* ---- blocks ---- */

static void blocks_step(const struct td_program *p, unsigned family, uint64_t index,
                        struct td_step *step)
{
    struct td_grid grid = parameters(p)->grid;
    uint32_t pieces = 2 * grid.shape.dimensions, role = family / pieces, piece = family % pieces;
    *step = (struct td_step){.kind = p->family[family].kind, .to_lanes = {td_ranks_here(p), 0, 1}};
    if (role == AG_ROLES) {
        const struct region here = {0, grid.shape.dimensions, 0};
        const struct td_range all = {0, p->call.count * td_type_bytes(p->call.type)};
        step->from = own(p, TD_SPACE_SOURCE, all);
        step->to = blocks(p, &grid, TD_SPACE_DESTINATION, &here, all);
        return;
    }
    struct turn t = turn_at(p, &grid, piece, index, true);
    bool comes = role == AG_RECV;
    step->peer = neighbour(p, &grid, &t, comes);
    if (t.idle)
        return;
    struct td_range r = range(p, pieces, 0, piece, t.chunk);
    const struct region g = {piece, t.ring, bucket(&t, true, comes)};
    struct td_slice s = blocks(p, &grid, TD_SPACE_DESTINATION, &g, r);
    if (comes) {
        step->to = s;
        return;
    }
    step->sign = (int8_t)t.sign;
    step->peer_family = AG_RECV * pieces + piece;
    step->peer_index = index;
    step->from = s;
}

/* ---- compiling ---- */

/* by_slot and by_local return the distance between ranks on adjacent slots, and on one slot. */
static int64_t by_slot(const struct td_group *g)
{
    return g->slots > 1 ? (int64_t)td_group_rank(g, 1, 0) - td_group_rank(g, 0, 0) : 0;
}

static int64_t by_local(const struct td_group *g)
{
    return td_group_slot_ranks(g, 0) > 1 ? (int64_t)td_group_rank(g, 0, 1) - td_group_rank(g, 0, 0)
                                         : 0;
}

/* is_regular returns true if every node has the same number of ranks, and slot and local rank
 * determine their numbers linearly. */
static bool is_regular(const struct td_group *g, uint32_t ranks)
{
    int64_t slot_stride = by_slot(g), local_stride = by_local(g);
    for (uint32_t slot = 0; slot < g->slots; slot++) {
        if (td_group_rank(g, 0, 0) != 0 || td_group_slot_ranks(g, slot) != ranks)
            return false;
        for (uint32_t local = 0; local < ranks; local++)
            if ((int64_t)td_group_rank(g, slot, local) != slot * slot_stride + local * local_stride)
                return false;
    }
    return true;
}

static bool applies(struct td_query *q)
{
    const struct td_program *p = q->program;
    if (!td_rings_applies(q, DIMENSIONS_MAX))
        return false;
    return is_regular(p->group, td_ranks_here(p)) ||
           td_query_refuse(q, "ranks are not spread over the nodes regularly");
}

static uint64_t cost(struct td_query *q)
{
    return td_rings_cost(q).bucket;
}

/* plan computes the parameters of all steps. */
static void plan(struct td_program *p, const struct td_grid *grid)
{
    uint32_t dimensions = grid->shape.dimensions;
    uint64_t steps = 0, weight[TD_DIMENSIONS_MAX], total = 0;
    for (uint32_t d = 0; d < dimensions; d++) {
        uint32_t k = grid->shape.size[d];
        assert(k > 1);
        steps = k - 1 > steps ? k - 1 : steps;
        total += weight[d] = (uint64_t)WHOLE * k / (k - 1);
    }
    assert(total > 0);
    for (uint32_t d = 0; d < dimensions; d++) /* the last piece has the rest */
        set(p)->shares[d] = (int64_t)(weight[d] * WHOLE / 2 / total);
    uint64_t block = td_program_bytes(p), bytes = block * p->group->size;
    assert(dimensions > 0);
    uint64_t chunks = bytes / (2 * dimensions) / CHUNK_MIN;
    set(p)->grid = *grid;
    set(p)->by_slot = by_slot(p->group);
    set(p)->by_local = by_local(p->group);
    set(p)->chunks = (int64_t)(chunks < 1 ? 1 : chunks > CHUNKS ? CHUNKS : chunks);
    set(p)->steps = (int64_t)steps;
    set(p)->segment = (int64_t)block;
    set(p)->segments = 1;
}

static void compile_sums(struct td_query *q, struct td_program *p)
{
    const struct td_grid grid = *td_query_grid(q);
    plan(p, &grid);
    uint32_t pieces = 2 * grid.shape.dimensions;
    uint64_t element = td_type_bytes(p->call.type), bytes = p->call.count * element;
    uint64_t most = p->tuning.relay_bytes / (AREAS * AHEAD) / p->group->size;
    uint64_t segment = most < bytes ? most / element * element : bytes;
    segment = segment ? segment : element;
    uint64_t segments = (bytes + segment - 1) / segment;
    uint64_t areas = segments < AHEAD ? segments : AHEAD;
    set(p)->segment = (int64_t)segment;
    set(p)->segments = (int64_t)segments;
    set(p)->area = (int64_t)(segment * p->group->size + 63) & ~(int64_t)63;
    p->scratch_bytes = (int64_t)areas * AREAS * parameters(p)->area;
    uint64_t chunks = (uint64_t)parameters(p)->chunks;
    uint64_t phase = (uint64_t)parameters(p)->steps * chunks;
    uint64_t each = phase * grid.shape.dimensions;
    td_program_add_each(p, pieces, TD_RECV, segments * each, "sums along a ring");
    for (uint32_t i = 0; i < pieces; i++)
        td_program_add(p, TD_COMBINE, segments * chunks * grid.shape.size[i / 2], "local ranks");
    td_program_add_each(p, pieces, TD_COMBINE, segments * each, "received and own values");
    td_program_add_each(p, pieces, TD_SEND, segments * each, "sums to the next");
    unsigned done = ROLES * pieces;
    for (uint32_t d = 0; d < grid.shape.dimensions; d++)
        td_program_add(p, TD_COPY, segments - areas, "end of a segment");
    unsigned again =
        td_program_add(p, TD_SYNC, segments - areas, "barrier before scratch is reused");
    for (uint32_t i = 0; i < pieces; i++) {
        unsigned recv = RECV * pieces + i, fold = FOLD * pieces + i;
        unsigned combine = COMBINE * pieces + i, send = SEND * pieces + i;
        uint64_t folds = chunks * grid.shape.size[i / 2];
        td_program_need(p, combine, recv, 1, 1, 1);
        td_program_need(p, combine, fold, each, folds, 1);
        td_program_need(p, combine, combine, 1, 1, 1 - (int)chunks);
        td_program_need(p, send, fold, each, folds, 1);
        td_program_need(p, send, combine, 1, 1, 1 - (int)chunks);
        /* a link is free for the next piece when the piece before has completed its ring: pieces
         * that drift apart would share links and wait longer and longer for each other */
        td_program_need(p, send, SEND * pieces + (i + 2) % pieces, phase, phase, 0);
        td_program_need(p, fold, again, folds, 1, 1 - AHEAD);
        td_program_need(p, done + i / 2, combine, 1, each, 1);
        td_program_need(p, done + i / 2, send, 1, each, 1);
    }
    for (uint32_t d = 1; d < grid.shape.dimensions; d++)
        td_program_need(p, done + d, done + d - 1, 1, 1, 1);
    td_program_need(p, again, again - 1, 1, 1, 1);
}

static void compile_blocks(struct td_query *q, struct td_program *p)
{
    const struct td_grid grid = *td_query_grid(q);
    plan(p, &grid);
    uint32_t pieces = 2 * grid.shape.dimensions;
    uint64_t chunks = (uint64_t)parameters(p)->chunks;
    uint64_t phase = (uint64_t)parameters(p)->steps * chunks;
    uint64_t each = phase * grid.shape.dimensions;
    td_program_add_each(p, pieces, TD_RECV, each, "blocks along a ring");
    td_program_add_each(p, pieces, TD_SEND, each, "blocks to the next");
    unsigned copy = td_program_add(p, TD_COPY, 1, "blocks of local ranks");
    for (uint32_t i = 0; i < pieces; i++) {
        unsigned send = AG_SEND * pieces + i;
        td_program_need_all(p, send, copy);
        /* data that continues arrived in the step before; data that leaves first in the next ring
         * arrived during all of this one */
        td_program_need(p, send, AG_RECV * pieces + i, 1, 1, 1 - (int)chunks);
        td_program_need(p, send, AG_SEND * pieces + (i + pieces - 2) % pieces, phase, phase, 0);
    }
}

const struct td_method td_method_reduce_scatter_bucket = {
    .name = "reduce_scatter_bucket",
    .why = "the group is a torus, and every link carries a part of the data",
    .kinds = TD_KIND_BIT(TD_KIND_REDUCE_SCATTER),
    .class = TD_COST_TORUS,
    .setting = TD_SETTING_RINGS,
    .values = TD_VALUE_BIT(TD_RINGS_BUCKET),
    .fallback = true,
    .applies = applies,
    .cost = cost,
    .compile = compile_sums,
    .step_at = sums_step,
};

const struct td_method td_method_allgather_bucket = {
    .name = "allgather_bucket",
    .why = "the group is a torus, and every link carries a part of the data",
    .kinds = TD_KIND_BIT(TD_KIND_ALLGATHER),
    .class = TD_COST_TORUS,
    .setting = TD_SETTING_RINGS,
    .values = TD_VALUE_BIT(TD_RINGS_BUCKET),
    .fallback = true,
    .applies = applies,
    .cost = cost,
    .compile = compile_blocks,
    .step_at = blocks_step,
};
