/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall_phased: all-to-all by relays (us20140201475). In each of D phases data moves in one
 * dimension only, one hop count after the other, in both directions together. A node sends all data
 * whose destination is h hops away in that dimension as one block to the node h hops away.
 * Therefore all packets on a ring travel equally far, and with a gap of h - 1 slots after each
 * packet they never meet.
 *
 * The data is cut into parts. Part p moves in dimension (p - f) mod D in phase f, so all dimensions
 * are busy in all phases. In phase f, dimension e moves part (e + f) mod D, which dimension e + 1
 * moved in the phase before and dimension e - 1 moves in the next. Each dimension has families of
 * its own, and each ring a chain of barriers of its own.
 *
 * A part has one buffer before each phase and one after the last. Buffer f has a place for every
 * coordinate vector: the origin's coordinates in the dimensions that are done, the destination's
 * coordinates in the others ([0062] of the source). The dimension of phase f is slowest, and those
 * of later phases are next. Therefore a block is sent from contiguous memory and received with a
 * stride of k units.
 *
 * Segments reuse the buffers. FREE is a barrier along a ring; after it the nodes of the ring may
 * send the next segment to each other. */
#include "alltoall_phased.h"

#include "collectives/cost/constants.h"
#include "relay.h"

enum role { RECV, SYNC, FREE, LOCAL, PACK, UNPACK, SEND, ROLES };
struct TD_STORED parameters {
    struct td_relay relay; /* first member: td_relay_of */
    struct td_grid grid;
};
TD_PARAMETERS(struct parameters)
_Static_assert(ROLES <= TD_FAMILIES_MAX / TD_DIMENSIONS_MAX, "a family of each for a dimension");

/* struct move: the move of one dimension in one phase of one segment. */
struct move {
    uint32_t dimension, phase, part;
    bool idle;      /* fewer parts than dimensions: this dimension moves no part in this phase */
    int64_t unit;   /* bytes */
    int64_t others; /* units of a block: the number of nodes with one coordinate fixed */
};

static struct move move_at(const struct td_program *p, const struct td_grid *grid,
                           uint32_t dimension, uint64_t turn)
{
    uint32_t dimensions = grid->shape.dimensions;
    struct move m = {.dimension = dimension, .phase = (uint32_t)(turn % dimensions)};
    m.part = (dimension + m.phase) % dimensions;
    m.idle = m.part >= parameters(p)->relay.parts;
    if (m.idle)
        return m;
    m.unit = td_relay_unit(p, td_relay_piece(p, turn / dimensions, m.part));
    m.others = grid->shape.nodes / grid->shape.size[dimension];
    return m;
}

/* lockstep returns true if all nodes and dimensions share one chain of barriers. */
static bool lockstep(const struct td_program *p)
{
    return p->tuning.barriers_of_all && p->tuning.barriers != TD_BARRIERS_NONE;
}

/* hops returns the number of hop counts of a phase; in lockstep it is the same in every dimension.
 */
static uint32_t hops(const struct td_program *p, const struct td_grid *grid, uint32_t dimension)
{
    uint32_t most = 0;
    for (uint32_t d = 0; lockstep(p) && d < grid->shape.dimensions; d++)
        most = td_grid_hops(grid, d) > most ? td_grid_hops(grid, d) : most;
    return lockstep(p) ? most : td_grid_hops(grid, dimension);
}

/* gap returns the pause after each packet that keeps packets of one hop count from meeting. On a
 * torus the packets of h nodes take turns on a link; on a line at most as many as there are nodes
 * on its shorter side. */
static uint32_t gap(const struct td_program *p, const struct td_grid *grid, uint32_t dimension,
                    uint32_t h)
{
    uint32_t k = grid->shape.size[dimension];
    if (p->tuning.no_gap || p->tuning.fabric != TD_FABRIC_ROUTED || !grid->box)
        return 0;
    return grid->shape.wrap[dimension] || h < k - h ? h - 1 : k - h - 1;
}

/* half returns the bytes of every unit that go in this direction: all, or half of them if both
 * directions are equally long. */
static struct td_range half(const struct td_grid *grid, const struct move *m, uint32_t h, int sign)
{
    uint64_t unit = (uint64_t)m->unit, plus = unit / 2;
    if (!td_grid_tie(grid, m->dimension, h))
        return (struct td_range){0, unit};
    return sign > 0 ? (struct td_range){0, plus} : (struct td_range){plus, unit - plus};
}

static void block_step(const struct td_program *p, const struct td_grid *grid, uint32_t dimension,
                       uint64_t index, struct td_step *step)
{
    uint32_t per_turn = hops(p, grid, dimension), h = (uint32_t)(index / 2 % per_turn) + 1;
    int sign = index % 2 ? -1 : 1; /* direction of the block */
    bool sends = step->kind == TD_SEND;
    struct move m = move_at(p, grid, dimension, index / 2 / per_turn);
    uint32_t other = p->slot;
    bool exists = td_grid_step(grid, p->slot, dimension, h, sends ? sign : -sign, &other);
    step->peer = p->group->node[other];
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (!exists || m.idle)
        return;
    struct td_range bytes = half(grid, &m, h, sign);
    int64_t there = td_grid_coordinate(grid, other, dimension), begin = (int64_t)bytes.begin;
    if (sends) {
        step->peer_family = RECV * grid->shape.dimensions + dimension;
        step->peer_index = index;
        step->sign = (int8_t)sign;
        step->gap = gap(p, grid, dimension, h);
        int64_t at = td_relay_buffer(p, m.phase, m.part) + there * m.others * m.unit;
        step->from = td_slice_at(TD_SPACE_SCRATCH, 0, at + begin, (int64_t)bytes.count);
        td_slice_loop(&step->from, m.others, m.unit, 0);
        td_slice_simplify(&step->from);
    } else {
        int64_t at = td_relay_buffer(p, m.phase + 1, m.part) + there * m.unit;
        step->to = td_slice_at(TD_SPACE_SCRATCH, 0, at + begin, (int64_t)bytes.count);
        td_slice_loop(&step->to, m.others, grid->shape.size[dimension] * m.unit, 0);
        td_slice_simplify(&step->to);
    }
}

/* local_step: data for the node's own coordinate stays on the node and moves to its place for the
 * next phase. */
static void local_step(const struct td_program *p, const struct td_grid *grid, uint32_t dimension,
                       uint64_t turn, struct td_step *step)
{
    struct move m = move_at(p, grid, dimension, turn);
    int64_t own = td_grid_coordinate(grid, p->slot, dimension);
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (m.idle)
        return;
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0,
                             td_relay_buffer(p, m.phase, m.part) + own * m.others * m.unit,
                             m.others * m.unit);
    step->to = td_slice_at(TD_SPACE_SCRATCH, 0,
                           td_relay_buffer(p, m.phase + 1, m.part) + own * m.unit, m.unit);
    td_slice_loop(&step->to, m.others, grid->shape.size[dimension] * m.unit, 0);
    td_slice_simplify(&step->to);
}

/* place returns the place of a slot's unit in the first or the last buffer of a part. */
static int64_t place(const struct td_grid *grid, uint32_t part, uint32_t slot)
{
    uint32_t dimensions = grid->shape.dimensions;
    int64_t at = 0;
    for (uint32_t f = 0; f < dimensions; f++) {
        uint32_t d = (part + dimensions - f) % dimensions;
        at = at * grid->shape.size[d] + td_grid_coordinate(grid, slot, d);
    }
    return at;
}

static void sync_step(const struct td_program *p, const struct td_grid *grid, uint32_t dimension,
                      uint64_t index, struct td_step *step)
{
    uint64_t per_turn = p->tuning.barriers == TD_BARRIERS_PHASE ? 1 : td_grid_hops(grid, dimension);
    if (lockstep(p))
        step->among = (struct td_among){0, grid->shape.nodes, 1};
    else if (move_at(p, grid, dimension, index / per_turn).idle)
        step->among = (struct td_among){p->slot, 1, 1};
    else
        step->among = td_grid_line(grid, p->slot, dimension);
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    struct td_grid grid = parameters(p)->grid;
    uint32_t of = family % grid.shape.dimensions; /* a dimension, or a part */
    uint64_t packs = (uint64_t)parameters(p)->relay.packs;
    uint64_t unpacks = (uint64_t)parameters(p)->relay.unpacks;
    struct td_range piece;
    uint32_t slot = 0;
    *step = (struct td_step){.kind = p->family[family].kind};
    switch ((enum role)(family / grid.shape.dimensions)) {
    case RECV:
    case SEND:
        block_step(p, &grid, of, index, step);
        return;
    case SYNC:
        sync_step(p, &grid, of, index, step);
        return;
    case FREE:
        step->among = td_grid_line(&grid, p->slot, of);
        return;
    case LOCAL:
        local_step(p, &grid, of, index, step);
        return;
    case PACK:
        piece = td_relay_piece(p, index / packs, of);
        step->to.offset += td_relay_buffer(p, 0, of) +
                           td_relay_unit(p, piece) *
                               place(&grid, of, td_relay_pack(p, index % packs, piece, step));
        return;
    case UNPACK:
        piece = td_relay_piece(p, index / unpacks, of);
        slot = td_relay_unpack(p, index % unpacks, piece, step);
        if (td_relay_has(&step->from))
            step->from.offset += td_relay_buffer(p, grid.shape.dimensions, of) +
                                 td_relay_unit(p, piece) * place(&grid, of, slot);
        return;
    case ROLES:
        return;
    }
}

static void add_families(struct td_program *p, const struct td_grid *grid)
{
    uint64_t segments = (uint64_t)parameters(p)->relay.segments;
    uint64_t packs = (uint64_t)parameters(p)->relay.packs;
    uint64_t unpacks = (uint64_t)parameters(p)->relay.unpacks;
    uint32_t dimensions = grid->shape.dimensions, parts = (uint32_t)parameters(p)->relay.parts;
    uint64_t turns = segments * dimensions;
    for (uint32_t e = 0; e < dimensions; e++)
        td_program_add(p, TD_RECV, turns * 2 * hops(p, grid, e), "blocks along a ring");
    for (uint32_t e = 0; e < dimensions; e++) {
        uint64_t per_turn = p->tuning.barriers == TD_BARRIERS_HOP     ? hops(p, grid, e)
                            : p->tuning.barriers == TD_BARRIERS_PHASE ? 1
                                                                      : 0;
        td_program_add(p, TD_SYNC, e > 0 && lockstep(p) ? 0 : turns * per_turn,
                       "barrier after a hop count");
    }
    for (uint32_t e = 0; e < dimensions; e++)
        td_program_add(p, TD_SYNC, segments - 1, "barrier before the next segment");
    for (uint32_t e = 0; e < dimensions; e++)
        td_program_add(p, TD_COPY, turns, "blocks for the same coordinate");
    for (uint32_t e = 0; e < dimensions; e++)
        td_program_add(p, TD_COPY, e < parts ? segments * packs : 0, "pack");
    for (uint32_t e = 0; e < dimensions; e++)
        td_program_add(p, TD_COPY, e < parts ? segments * unpacks : 0, "unpack");
    for (uint32_t e = 0; e < dimensions; e++)
        td_program_add(p, TD_SEND, turns * 2 * hops(p, grid, e), "blocks for one hop count");
}

/* add_barriers: a node reaches a barrier when it has the data of the hop count, or of the phase. */
static void add_barriers(struct td_program *p, const struct td_grid *grid, uint32_t e)
{
    uint32_t dimensions = grid->shape.dimensions;
    bool by_hop = p->tuning.barriers == TD_BARRIERS_HOP;
    uint32_t sync = SYNC * dimensions + (lockstep(p) ? 0 : e), per_turn = 2 * hops(p, grid, e);
    if (p->tuning.barriers == TD_BARRIERS_NONE)
        return;
    td_program_need(p, sync, RECV * dimensions + e, 1, by_hop ? 2 : per_turn, 1);
    td_program_need(p, SEND * dimensions + e, sync, by_hop ? 2 : per_turn, 1, 0);
}

/* barrier_messages returns the messages of a barrier along a ring, one after the other: in round r
 * a message travels 2^r nodes. */
static uint64_t barrier_messages(uint32_t k)
{
    uint64_t messages = 0;
    for (uint64_t places = 1; places < k; places *= 2)
        messages += 1 + (places < k - places ? places : k - places);
    return messages;
}

/* pauses returns the bytes of a link that a ring's chain of barriers takes the time of, and the
 * last packets before each barrier, of `packet` bytes. */
static uint64_t pauses(const struct td_grid *grid, uint32_t d, uint64_t packet)
{
    uint64_t most = td_grid_hops(grid, d);
    return grid->shape.dimensions *
           (most * barrier_messages(grid->shape.size[d]) * TD_COST_CONTROL_BYTES +
            most * (most + 1) / 2 * packet);
}

/* td_alltoall_phased_bytes: barriers occur once per segment. The number of segments is an upper
 * estimate. */
uint64_t td_alltoall_phased_bytes(struct td_query *q, const struct td_alltoall_model *m)
{
    const struct td_program *p = q->program;
    uint64_t most = 0, packet = td_program_hop(p, m->unit);
    uint64_t segment = p->tuning.relay_bytes / (p->group->slots * 7u) + 1;
    for (uint32_t d = 0; d < q->grid.shape.dimensions; d++) {
        uint64_t all = pauses(&q->grid, d, packet);
        most = all > most ? all : most;
    }
    return m->longest_bound + most * (1 + m->unit / segment);
}

static uint64_t cost(struct td_query *q)
{
    struct td_alltoall_model m = td_alltoall_model_of(q);
    return td_cost_bytes(q->program, td_alltoall_phased_bytes(q, &m));
}

static void compile(struct td_query *q, struct td_program *p)
{
    const struct td_grid grid = *td_query_grid(q);
    uint32_t dimensions = grid.shape.dimensions, parts = p->tuning.parts;
    parts = parts && parts < dimensions ? parts : dimensions;
    set(p)->grid = grid;
    td_relay_plan(p, &set(p)->relay, parts, dimensions + 1);
    set(p)->relay.packers = PACK * dimensions;
    set(p)->relay.unpackers = UNPACK * dimensions;
    add_families(p, &grid);
    uint64_t packs = (uint64_t)parameters(p)->relay.packs;
    uint64_t unpacks = (uint64_t)parameters(p)->relay.unpacks;
    bool reuses = parameters(p)->relay.segments > 1;
    for (uint32_t e = 0; e < dimensions; e++) {
        uint32_t next = (e + 1) % dimensions;
        uint32_t recv = RECV * dimensions, send = SEND * dimensions, local = LOCAL * dimensions;
        uint32_t pack = PACK * dimensions, unpack = UNPACK * dimensions, free = FREE * dimensions;
        uint64_t moves = 2 * (uint64_t)hops(p, &grid, e), others = 2 * hops(p, &grid, next);
        /* the data of dimension e + 1 in the phase before */
        if (dimensions > 1) {
            td_program_need(p, send + e, recv + next, moves, others, 0);
            td_program_need(p, send + e, local + next, moves, 1, 0);
            td_program_need(p, local + e, recv + next, 1, others, 0);
            td_program_need(p, local + e, local + next, 1, 1, 0);
        }
        if (e < parts) {
            td_program_need(p, send + e, pack + e, moves * dimensions, packs, 1);
            td_program_need(p, local + e, pack + e, dimensions, packs, 1);
            td_program_need(p, unpack + e, recv + next, unpacks, others * dimensions, 1);
            td_program_need(p, unpack + e, local + next, unpacks, dimensions, 1);
        }
        if (reuses) { /* e reads, or unpacks, the data of dimension `next` */
            td_program_need(p, send + e, free + e, moves * dimensions, 1, 0);
            td_program_need(p, local + e, free + e, dimensions, 1, 0);
            td_program_need(p, pack + e, free + next, packs, 1, 0);
            td_program_need(p, free + next, send + e, 1, moves * dimensions, 1);
            td_program_need(p, free + next, local + e, 1, dimensions, 1);
            td_program_need(p, free + next, unpack + e, 1, unpacks, 1);
        }
        add_barriers(p, &grid, e);
    }
}

const struct td_method td_method_alltoall_phased = {
    .name = "alltoall_phased",
    .why = "packets of one hop count never meet; barriers keep hop counts apart",
    .kinds = TD_KIND_BIT(TD_KIND_ALLTOALL) | TD_KINDS_WITH_COUNTS,
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_ALLTOALL,
    .values = TD_VALUE_BIT(TD_ALLTOALL_PHASED),
    .on_request = true, /* in measurements, cheaper methods came equally close to the bound */
    .applies = td_relay_applies,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
