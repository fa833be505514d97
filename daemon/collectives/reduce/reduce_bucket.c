/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_bucket: allreduce of long vectors over all links of a torus. Along the rings of one
 * dimension after the other, blocks travel round and are combined on the way (reduce_scatter). The
 * results travel round in the opposite order (allgather).
 *
 * The vector is cut into 2 D pieces. Piece (p, s) begins in dimension p and travels in direction s
 * along every ring, so all dimensions are busy in both directions. After the first ring of k nodes
 * a node continues with 1 / k of its piece, so nearly all of the traffic is in each piece's first
 * dimension. If the sizes of dimensions differ, the sizes of pieces differ, so that the first rings
 * end together. In total n (N - 1) / (N D) bytes pass a link, which is the bound.
 *
 * A piece is cut into chunks that do not wait for each other; step g of all chunks comes before
 * step g + 1 of any chunk. Long vectors are cut into segments, and scratch memory holds two of
 * them. A node that has all results of a segment knows that the other nodes no longer need its
 * sums, because the results are made of them. */
#include "collectives/method.h"
#include "rings_cost.h"

#include <assert.h>

enum { AHEAD = 2, CHUNKS = 2, CHUNK_MIN = 4096, LONG_PACKETS = 24 };
/* Families of each piece, role by role. */
enum { RECV, AG_RECV, FOLD, COMBINE, SEND, AG_SEND, ROLES };
enum { DIMENSIONS_MAX = TD_FAMILIES_MAX / ROLES / 2 };
struct TD_STORED parameters {
    struct td_grid grid;
    int64_t element;                   /* bytes */
    int64_t packet;                    /* in elements */
    int64_t segment, segments;         /* elements of a segment; number of segments */
    int64_t chunks;                    /* of a piece */
    int64_t steps;                     /* of a phase: k - 1 of the longest dimension */
    int64_t area;                      /* bytes of scratch memory of each of a segment's AREAS */
    int64_t shares[TD_DIMENSIONS_MAX]; /* shares of the pieces that begin in dimension d, in 1 /
                                          WHOLE */
};
TD_PARAMETERS(struct parameters)
enum { WHOLE = 1 << 16 };
/* Areas of a segment: the sums; the data that arrives in the pieces' first rings, and in later
 * rings. */
enum { SUMS, FIRST, LATER, AREAS };

/* struct stage: step g of a piece: step `step` of its ring number `phase`. All rings have as many
 * steps as the longest needs, so that a phase has the same steps in every piece. */
struct stage {
    uint32_t phase, dimension, step, k;
    int sign;
    bool idle; /* the ring is complete */
};

static struct stage stage_at(const struct td_program *p, const struct td_grid *grid, uint32_t piece,
                             uint64_t g, bool results)
{
    uint32_t dimensions = grid->shape.dimensions, steps = (uint32_t)parameters(p)->steps;
    struct stage s = {.phase = (uint32_t)(g / steps), .sign = piece % 2 ? -1 : 1};
    if (results) /* rings in the opposite order */
        s.phase = dimensions - 1 - s.phase;
    s.step = (uint32_t)(g % steps);
    s.dimension = (piece / 2 + s.phase) % dimensions;
    s.k = grid->shape.size[s.dimension];
    s.idle = s.step + 1 >= s.k;
    return s;
}

/* cut returns part `part` of a range. Long parts are whole packets, because a link takes as long
 * for a part of one. Short parts are equal, so that nodes do not drift apart in later rings. */
static struct td_range cut(const struct td_program *p, struct td_range r, uint64_t parts,
                           uint64_t part)
{
    uint64_t packet = (uint64_t)parameters(p)->packet;
    uint64_t unit = r.count / parts >= LONG_PACKETS * packet ? packet : 1;
    struct td_range c = td_share(r.count / unit + (r.count % unit != 0), parts, part);
    uint64_t begin = c.begin * unit, most = begin < r.count ? r.count - begin : 0;
    return (struct td_range){r.begin + begin, c.count * unit < most ? c.count * unit : most};
}

/* share returns the elements of a segment that are a piece. */
static struct td_range share(const struct td_program *p, uint32_t pieces, uint64_t segment,
                             uint32_t piece)
{
    uint64_t size = (uint64_t)parameters(p)->segment, begin = segment * size;
    uint64_t left = p->call.count - begin, n = left < size ? left : size;
    uint64_t before = 0;
    for (uint32_t i = 0; i < piece; i++)
        before += (uint64_t)parameters(p)->shares[i / 2];
    uint64_t to = before + (uint64_t)parameters(p)->shares[piece / 2];
    bool last = piece + 1 == pieces;
    /* products stay below 2^63: a segment has at most 2^46 elements (plan) */
    uint64_t packet = (uint64_t)parameters(p)->packet;
    uint64_t first = n * before / WHOLE / packet * packet;
    uint64_t end = last ? n : n * to / WHOLE / packet * packet;
    return (struct td_range){begin + first, end - first};
}

/* struct narrowed: a chunk's range, narrowed by the rings of a node. */
struct narrowed {
    uint64_t place; /* of element 0 of the vector, in the scratch memory of its segment */
    struct td_range chunk, own; /* own: the range of the node in a phase */
    uint64_t before; /* sum of the elements of the ranges of the phases 1 to the one before */
};

static struct narrowed narrow(const struct td_program *p, const struct td_grid *grid,
                              uint64_t segment, uint32_t piece, uint64_t chunk, uint32_t phase)
{
    uint32_t dimensions = grid->shape.dimensions;
    struct td_range all = share(p, 2 * dimensions, segment, piece);
    struct narrowed n = {.chunk = cut(p, all, (uint64_t)parameters(p)->chunks, chunk)};
    n.own = n.chunk;
    /* a piece has the same place in all segments, although the last is shorter: earlier data at
     * that place is the piece's own */
    n.place = share(p, 2 * dimensions, 0, piece).begin - all.begin;
    for (uint32_t f = 0; f < phase; f++) {
        uint32_t d = (piece / 2 + f) % dimensions, k = grid->shape.size[d];
        uint32_t at = td_grid_coordinate(grid, p->slot, d);
        /* a node sends its own block first, and ends with the block of the next node */
        n.before += f > 0 ? n.own.count : 0;
        n.own = cut(p, n.own, k, (piece % 2 ? at + k - 1 : at + 1) % k);
    }
    return n;
}

/* number_of returns the block that leaves in a step of a ring, or arrives. For sums a node sends
 * first its own block, then the received ones; for results first the block that it ended with. */
static uint32_t number_of(const struct td_program *p, const struct td_grid *grid,
                          const struct stage *s, bool results, bool comes)
{
    uint32_t at = td_grid_coordinate(grid, p->slot, s->dimension), k = s->k;
    uint32_t back = s->step + (comes ? 1 : 0);
    if (results)
        return (s->sign > 0 ? at + 1 + 2 * k - back : at + 2 * k - 1 + back) % k;
    return (s->sign > 0 ? at + 2 * k - back : at + back) % k;
}

/* neighbour returns the next node of a ring, or the one before it. */
static uint32_t neighbour(const struct td_program *p, const struct td_grid *grid,
                          const struct stage *s, bool comes)
{
    uint32_t slot = p->slot;
    (void)td_grid_step(grid, p->slot, s->dimension, 1, comes ? -s->sign : s->sign, &slot);
    return p->group->node[slot];
}

static struct td_slice in(const struct td_program *p, enum td_space space, struct td_range r)
{
    int64_t element = parameters(p)->element;
    return td_slice_at(space, 0, (int64_t)r.begin * element, (int64_t)r.count * element);
}

/* scratch names elements of an area of a segment. */
static struct td_slice scratch(const struct td_program *p, uint64_t segment, int area,
                               uint64_t begin, uint64_t count)
{
    int64_t element = parameters(p)->element;
    int64_t at = ((int64_t)(segment % AHEAD) * AREAS + area) * parameters(p)->area;
    return td_slice_at(TD_SPACE_SCRATCH, 0, at + (int64_t)begin * element,
                       (int64_t)count * element);
}

static struct td_slice sums(const struct td_program *p, uint64_t segment, const struct narrowed *n,
                            struct td_range r)
{
    return scratch(p, segment, SUMS, n->place + r.begin, r.count);
}

/* coming names the place of an arriving block. Every phase has room of its own, because a neighbour
 * may be one phase ahead. In the later phases that is less than the chunk and one packet per phase.
 */
static struct td_slice coming(const struct td_program *p, const struct td_grid *grid,
                              uint64_t segment, uint64_t number, uint32_t phase,
                              const struct narrowed *n, struct td_range r)
{
    if (phase == 0)
        return scratch(p, segment, FIRST, n->place + r.begin, r.count);
    uint64_t at = n->place + n->chunk.begin +
                  number * grid->shape.dimensions * (uint64_t)parameters(p)->packet + n->before;
    return scratch(p, segment, LATER, at + r.begin - n->own.begin, r.count);
}

/* struct turn: index i of a piece's families. */
struct turn {
    uint64_t segment, g, chunk;
};

static struct turn turn_at(const struct td_program *p, const struct td_grid *grid, uint64_t i)
{
    uint64_t chunks = (uint64_t)parameters(p)->chunks;
    uint64_t steps = (uint64_t)parameters(p)->steps * grid->shape.dimensions;
    return (struct turn){i / chunks / steps, i / chunks % steps, i % chunks};
}

static void sums_step(const struct td_program *p, const struct td_grid *grid, uint32_t piece,
                      uint32_t role, uint64_t index, struct td_step *step)
{
    struct turn t = turn_at(p, grid, index);
    struct stage s = stage_at(p, grid, piece, t.g, false);
    bool comes = role != SEND, last = s.phase + 1 == grid->shape.dimensions && s.step + 2 == s.k;
    step->peer = neighbour(p, grid, &s, comes);
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (s.idle)
        return;
    struct narrowed n = narrow(p, grid, t.segment, piece, t.chunk, s.phase);
    struct td_range r = cut(p, n.own, s.k, number_of(p, grid, &s, false, comes));
    uint64_t number = piece * (uint64_t)parameters(p)->chunks + t.chunk;
    if (role == SEND) {
        step->sign = (int8_t)s.sign;
        step->peer_family = RECV * 2 * grid->shape.dimensions + piece;
        step->peer_index = index;
        step->from = sums(p, t.segment, &n, r);
    } else if (role == RECV) {
        step->to = coming(p, grid, t.segment, number, s.phase, &n, r);
    } else {
        step->from = sums(p, t.segment, &n, r);
        step->from_lanes = (struct td_lanes){1, 0, 0};
        step->with = coming(p, grid, t.segment, number, s.phase, &n, r);
        step->with_lanes = (struct td_lanes){1, 0, 0};
        step->to = last ? in(p, TD_SPACE_DESTINATION, r) : step->from;
        step->to_lanes = (struct td_lanes){last ? td_ranks_here(p) : 1, 0, last};
    }
}

static void results_step(const struct td_program *p, const struct td_grid *grid, uint32_t piece,
                         uint32_t role, uint64_t index, struct td_step *step)
{
    struct turn t = turn_at(p, grid, index);
    struct stage s = stage_at(p, grid, piece, t.g, true);
    bool comes = role == AG_RECV;
    step->peer = neighbour(p, grid, &s, comes);
    step->to_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
    if (s.idle)
        return;
    struct narrowed n = narrow(p, grid, t.segment, piece, t.chunk, s.phase);
    struct td_range r = cut(p, n.own, s.k, number_of(p, grid, &s, true, comes));
    if (comes) {
        step->to = in(p, TD_SPACE_DESTINATION, r);
        return;
    }
    step->sign = (int8_t)s.sign;
    step->peer_family = AG_RECV * 2 * grid->shape.dimensions + piece;
    step->peer_index = index;
    step->from = in(p, TD_SPACE_DESTINATION, r);
}

/* fold_step combines the local ranks' values of a chunk. */
static void fold_step(const struct td_program *p, const struct td_grid *grid, uint32_t piece,
                      uint64_t index, struct td_step *step)
{
    uint64_t chunks = (uint64_t)parameters(p)->chunks, segment = index / chunks;
    struct narrowed n = narrow(p, grid, segment, piece, index % chunks, 0);
    step->from = in(p, TD_SPACE_SOURCE, n.chunk);
    step->from_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
    step->to = sums(p, segment, &n, n.chunk);
    step->to_lanes = (struct td_lanes){1, 0, 0};
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    struct td_grid grid = parameters(p)->grid;
    uint32_t pieces = 2 * grid.shape.dimensions, role = family / pieces, piece = family % pieces;
    *step =
        (struct td_step){.kind = p->family[family].kind, .type = p->call.type, .op = p->call.op};
    if (role == FOLD)
        fold_step(p, &grid, piece, index, step);
    else if (role == AG_RECV || role == AG_SEND)
        results_step(p, &grid, piece, role, index, step);
    else
        sums_step(p, &grid, piece, role, index, step);
}

/* balance chooses the shares of the pieces that begin in each dimension so that their first rings,
 * in which (k - 1) / k of a piece passes every link, end together. */
static void balance(struct td_program *p, const struct td_grid *grid)
{
    uint64_t weight[TD_DIMENSIONS_MAX], total = 0;
    for (uint32_t d = 0; d < grid->shape.dimensions; d++)
        total += weight[d] = (uint64_t)WHOLE * grid->shape.size[d] / (grid->shape.size[d] - 1);
    for (uint32_t d = 0; d < grid->shape.dimensions; d++) /* the last piece has the rest */
        set(p)->shares[d] = (int64_t)(weight[d] * WHOLE / 2 / total);
}

static void plan(struct td_program *p, const struct td_grid *grid)
{
    uint32_t pieces = 2 * grid->shape.dimensions;
    uint64_t element = td_type_bytes(p->call.type), bytes = p->call.count * element, steps = 0;
    uint64_t packet = p->tuning.packet_bytes > element ? p->tuning.packet_bytes / element : 1;
    uint64_t most = p->tuning.relay_bytes / (AREAS * AHEAD);
    uint64_t segment = most < bytes ? most / element : p->call.count;
    segment = segment < (uint64_t)1 << 46 ? segment : (uint64_t)1 << 46;
    segment = segment ? segment : 1;
    for (uint32_t d = 0; d < grid->shape.dimensions; d++)
        steps = grid->shape.size[d] - 1 > steps ? grid->shape.size[d] - 1 : steps;
    assert(pieces > 0);
    uint64_t chunks = segment * element / pieces / CHUNK_MIN;
    chunks = chunks < 1 ? 1 : chunks > CHUNKS ? CHUNKS : chunks;
    set(p)->grid = *grid;
    balance(p, grid);
    set(p)->element = (int64_t)element;
    set(p)->packet = (int64_t)packet;
    set(p)->segment = (int64_t)segment;
    set(p)->segments = (int64_t)((p->call.count + segment - 1) / segment);
    set(p)->chunks = (int64_t)chunks;
    set(p)->steps = (int64_t)steps;
    uint64_t spare = pieces * chunks * grid->shape.dimensions * packet; /* for LATER */
    set(p)->area = ((int64_t)((segment + spare) * element) + 63) & ~(int64_t)63;
    int64_t areas = parameters(p)->segments < AHEAD ? parameters(p)->segments : AHEAD;
    p->scratch_bytes = areas * AREAS * parameters(p)->area;
}

static bool applies(struct td_query *q)
{
    return td_rings_applies(q, DIMENSIONS_MAX);
}

static uint64_t cost(struct td_query *q)
{
    return td_rings_cost(q).bucket;
}

static void compile(struct td_query *q, struct td_program *p)
{
    const struct td_grid grid = *td_query_grid(q);
    plan(p, &grid);
    uint32_t pieces = 2 * grid.shape.dimensions;
    uint64_t segments = (uint64_t)parameters(p)->segments;
    uint64_t chunks = (uint64_t)parameters(p)->chunks, steps = (uint64_t)parameters(p)->steps;
    uint64_t phase = steps * chunks, each = phase * grid.shape.dimensions;
    static const struct {
        enum td_step_kind kind;
        const char *label;
    } roles[ROLES] = {{TD_RECV, "sums along a ring"}, {TD_RECV, "results along a ring"},
                      {TD_COMBINE, "local ranks"},    {TD_COMBINE, "received and own values"},
                      {TD_SEND, "sums to the next"},  {TD_SEND, "results to the next"}};
    for (unsigned role = 0; role < ROLES; role++)
        td_program_add_each(p, pieces, roles[role].kind, segments * (role == FOLD ? chunks : each),
                            roles[role].label);
    for (uint32_t i = 0; i < pieces; i++) {
        unsigned recv = RECV * pieces + i, results = AG_RECV * pieces + i;
        unsigned fold = FOLD * pieces + i, combine = COMBINE * pieces + i;
        unsigned send = SEND * pieces + i, pass = AG_SEND * pieces + i;
        td_program_need(p, fold, results, chunks, each, 1 - AHEAD);
        td_program_need(p, fold, combine, chunks, each, 1 - AHEAD);
        td_program_need(p, combine, fold, each, chunks, 1);
        td_program_need(p, combine, recv, 1, 1, 1);
        td_program_need(p, combine, combine, 1, 1, 1 - (int)chunks);
        td_program_need(p, send, fold, each, chunks, 1);
        td_program_need(p, send, combine, 1, 1, 1 - (int)chunks);
        td_program_need(p, pass, combine, each, each, 1);
        td_program_need(p, pass, results, 1, 1, 1 - (int)chunks);
        /* a link is free for the next piece when the piece before has completed its ring: pieces
         * that drift apart would share links and wait longer and longer for each other */
        unsigned before = (i + 2) % pieces, after = (i + pieces - 2) % pieces;
        td_program_need(p, send, SEND * pieces + before, phase, phase, 0);
        td_program_need(p, pass, AG_SEND * pieces + after, phase, phase, 0);
    }
}

const struct td_method td_method_reduce_bucket = {
    .name = "reduce_bucket",
    .why = "the group is a torus, and every link carries a part of the data",
    .kinds = TD_KIND_BIT(TD_KIND_ALLREDUCE),
    .class = TD_COST_TORUS,
    .setting = TD_SETTING_RINGS,
    .values = TD_VALUE_BIT(TD_RINGS_BUCKET),
    .fallback = true,
    .applies = applies,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
