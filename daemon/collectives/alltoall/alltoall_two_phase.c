/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall_two_phase: the longest dimension first, then the others. On a long machine adaptive
 * packets queue up at the places where they may still turn. Here the first phase moves data along
 * the rings of the longest dimension only, where packets have no choice, to relays with the
 * destination's coordinate in that dimension. The relays then forward the data within their planes,
 * with adaptive routes.
 *
 * The phases overlap. The data for a node's plane is cut into *turns*, each for some places of the
 * plane (or, for long messages, a share of one place). A relay forwards a turn as soon as its whole
 * ring has sent it. Therefore all nodes of a ring use the same order of turns for a relay. Every
 * relay has its own order, so that the planes carry random traffic.
 *
 * Three buffers have one unit for every node, where a node is (place in the plane, coordinate). A
 * [coordinate][place] of the destination: the packed data. B [place of the destination][coordinate
 * of the origin]: at the relay. C [place][coordinate] of the origin: at the destination. */
#include "collectives/cost/alltoall_model.h"
#include "collectives/cost/bound.h"
#include "collectives/permutation.h"
#include "relay.h"

/* In the order in which the engine examines them: forwarded data comes before new data. Otherwise
 * relays would wait for queues that their own data fills. */
enum { RECV_RING, RECV_PLANE, LOCAL, PACK, UNPACK, FREE, SEND_PLANE, SEND_RING };
enum { A, B, C, BUFFERS };
struct TD_STORED parameters {
    struct td_relay relay; /* first member: td_relay_of */
    int64_t ring;          /* nodes of a ring */
    int64_t stride;        /* slots between neighbours on the ring */
    int64_t places;        /* places of a plane */
    int64_t group;         /* places of a turn */
    int64_t shares;        /* shares of a unit; 1 unless `group` is 1 */
};
TD_PARAMETERS(struct parameters)
enum { SHARES_MAX = 1 << 16 };

/* struct turn: the data of one step of an iteration. */
struct turn {
    uint64_t segment, share, number; /* number: index of the group of places */
    int64_t unit;                    /* bytes */
    struct td_range bytes;           /* range of every unit */
};

static int64_t k_of(const struct td_program *p)
{
    return parameters(p)->ring;
}

static uint64_t groups_of(const struct td_program *p)
{
    return (uint64_t)((parameters(p)->places + parameters(p)->group - 1) / parameters(p)->group);
}

static int64_t coordinate_of(const struct td_program *p, uint32_t slot)
{
    return slot / parameters(p)->stride % k_of(p);
}

static int64_t place_of(const struct td_program *p, uint32_t slot)
{
    int64_t stride = parameters(p)->stride;
    return slot / (stride * k_of(p)) * stride + slot % stride;
}

static uint32_t slot_at(const struct td_program *p, int64_t place, int64_t coordinate)
{
    int64_t stride = parameters(p)->stride;
    return (uint32_t)(place / stride * stride * k_of(p) + coordinate * stride + place % stride);
}

static struct turn turn_at(const struct td_program *p, uint64_t i)
{
    uint64_t groups = groups_of(p), shares = (uint64_t)parameters(p)->shares;
    struct turn t = {
        .segment = i / groups / shares, .share = i / groups % shares, .number = i % groups};
    t.unit = td_relay_unit(p, td_relay_piece(p, t.segment, 0));
    t.bytes = td_share((uint64_t)t.unit, shares, t.share);
    return t;
}

/* first_place returns the first place of a turn for a relay at (place, coordinate). */
static int64_t first_place(const struct td_program *p, const struct turn *t, int64_t place,
                           int64_t coordinate)
{
    uint64_t relay = (uint64_t)(place * k_of(p) + coordinate) + 1;
    uint64_t seed = p->seed + 0x9e3779b97f4a7c15u * relay;
    return (int64_t)td_permutation_at(seed, groups_of(p), t->number) * parameters(p)->group;
}

static struct td_slice units(const struct td_program *p, const struct turn *t, int buffer,
                             int64_t at, int64_t count, int64_t apart)
{
    struct td_slice s = td_slice_at(TD_SPACE_SCRATCH, 0,
                                    td_relay_buffer(p, (uint32_t)buffer, 0) + at * t->unit +
                                        (int64_t)t->bytes.begin,
                                    (int64_t)t->bytes.count);
    td_slice_loop(&s, count, apart * t->unit, 0);
    td_slice_simplify(&s);
    return s;
}

/* ring_step: step j of a turn sends to, or receives from, one of the other nodes of the ring. */
static void ring_step(const struct td_program *p, uint64_t index, struct td_step *step)
{
    int64_t k = k_of(p), places = parameters(p)->places;
    uint64_t others = (uint64_t)k - 1, j = index % others;
    int64_t own = coordinate_of(p, p->slot), place = place_of(p, p->slot);
    struct turn t = turn_at(p, index / others);
    bool sends = step->kind == TD_SEND;
    if (sends)
        j = td_permutation_at(p->seed ^ (p->slot + (uint64_t)1) << 32, others, j);
    int64_t other = (own + 1 + (int64_t)j) % k, relay = sends ? other : own;
    int64_t first = first_place(p, &t, place, relay);
    int64_t count = places - first < parameters(p)->group ? places - first : parameters(p)->group;
    step->peer = p->group->node[slot_at(p, place, other)];
    if (sends) {
        step->peer_family = RECV_RING;
        step->peer_index = index - index % others + (uint64_t)((own - other - 1 + 2 * k) % k);
        step->from = units(p, &t, A, other * places + first, count, 1);
    } else {
        step->to = units(p, &t, B, first * k + other, count, k);
        step->to_lanes = (struct td_lanes){1, 0, 0};
    }
}

/* send_plane_step: step j of a turn forwards the ring's data to one of the places of the turn. */
static void send_plane_step(const struct td_program *p, uint64_t index, struct td_step *step)
{
    uint64_t group = (uint64_t)parameters(p)->group, places = (uint64_t)parameters(p)->places;
    int64_t own = coordinate_of(p, p->slot), place = place_of(p, p->slot);
    struct turn t = turn_at(p, index / group);
    int64_t to = first_place(p, &t, place, own) + (int64_t)(index % group);
    if (to == place || to >= (int64_t)places) {
        step->peer = p->group->node[p->slot];
        return;
    }
    step->peer = p->group->node[slot_at(p, to, own)];
    step->peer_family = RECV_PLANE;
    step->peer_index =
        (t.segment * (uint64_t)parameters(p)->shares + t.share) * places + (uint64_t)place;
    step->from = units(p, &t, B, to * k_of(p), k_of(p), 1);
}

static void recv_plane_step(const struct td_program *p, uint64_t index, struct td_step *step)
{
    uint64_t places = (uint64_t)parameters(p)->places;
    struct turn t = turn_at(p, index / places * groups_of(p));
    int64_t from = (int64_t)(index % places);
    step->peer = p->group->node[slot_at(p, from, coordinate_of(p, p->slot))];
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (from != place_of(p, p->slot))
        step->to = units(p, &t, C, from * k_of(p), k_of(p), 1);
}

/* local_step: for its own plane this node is the relay. */
static void local_step(const struct td_program *p, uint64_t segment, struct td_step *step)
{
    int64_t own = coordinate_of(p, p->slot), places = parameters(p)->places;
    struct turn t = {.unit = td_relay_unit(p, td_relay_piece(p, segment, 0))};
    t.bytes.count = (uint64_t)t.unit;
    step->from = units(p, &t, A, own * places, places, 1);
    step->to = units(p, &t, B, own, places, k_of(p));
    step->to_lanes = (struct td_lanes){1, 0, 0};
}

static void pack_step(const struct td_program *p, uint64_t index, struct td_step *step)
{
    uint64_t packs = (uint64_t)parameters(p)->relay.packs;
    struct td_range piece = td_relay_piece(p, index / packs, 0);
    uint32_t slot = td_relay_pack(p, index % packs, piece, step);
    int64_t at = coordinate_of(p, slot) * parameters(p)->places + place_of(p, slot);
    step->to.offset += td_relay_buffer(p, A, 0) + at * td_relay_unit(p, piece);
}

/* unpack_step: data that arrived along the node's ring for this node itself is still in B. */
static void unpack_step(const struct td_program *p, uint64_t index, struct td_step *step)
{
    uint64_t unpacks = (uint64_t)parameters(p)->relay.unpacks;
    struct td_range piece = td_relay_piece(p, index / unpacks, 0);
    uint32_t slot = td_relay_unpack(p, index % unpacks, piece, step);
    int64_t at = place_of(p, slot) * k_of(p) + coordinate_of(p, slot);
    bool ring = place_of(p, slot) == place_of(p, p->slot);
    if (td_relay_has(&step->from))
        step->from.offset += td_relay_buffer(p, ring ? B : C, 0) + at * td_relay_unit(p, piece);
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    *step = (struct td_step){.kind = p->family[family].kind};
    switch (family) {
    case RECV_RING:
    case SEND_RING:
        ring_step(p, index, step);
        return;
    case RECV_PLANE:
        recv_plane_step(p, index, step);
        return;
    case SEND_PLANE:
        send_plane_step(p, index, step);
        return;
    case LOCAL:
        local_step(p, index, step);
        return;
    case PACK:
        pack_step(p, index, step);
        return;
    case UNPACK:
        unpack_step(p, index, step);
        return;
    default:
        step->among = (struct td_among){0, p->group->slots, 1};
    }
}

/* plan_turns: a turn is about one burst for every node of a ring. On the direct fabric messages do
 * not share links, and a turn is a whole plane. */
static void plan_turns(struct td_program *p)
{
    uint64_t places = (uint64_t)parameters(p)->places, group = places, shares = 1;
    uint64_t burst = (uint64_t)p->tuning.packet_bytes * (p->tuning.burst ? p->tuning.burst : 1);
    uint64_t unit = (uint64_t)td_relay_unit(p, td_relay_piece(p, 0, 0));
    uint64_t most = SHARES_MAX / p->group->slots;
    if (p->tuning.fabric == TD_FABRIC_ROUTED && burst > 0 && unit > 0) {
        group = burst / unit < places ? burst / unit : places;
        shares = unit / burst + (unit % burst != 0);
        shares = shares < most ? shares : most;
    }
    set(p)->group = group ? (int64_t)group : 1;
    set(p)->shares = shares ? (int64_t)shares : 1;
}

static uint64_t cost(struct td_query *q)
{
    if (!td_program_is_routed(q->program))
        return td_query_last(q, "messages of the direct fabric need no relays");
    if (!td_query_grid(q)->box)
        return td_query_last(q, "the group's nodes do not form a box of the torus, so its rings "
                                "are not minimal routes");
    if (q->grid.shape.dimensions < 2)
        return td_query_last(q, "a group of one dimension needs no relays");
    struct td_alltoall_model m = td_alltoall_model_of(q);
    if (m.packets < 2)
        return td_query_last(q, "one packet per pair is too short for relays");
    return td_alltoall_model_cost(q, m.longest_bound, m.two_phase);
}

static void compile(struct td_query *q, struct td_program *p)
{
    const struct td_grid grid = *td_query_grid(q);
    uint32_t longest = td_bound_longest(&grid.shape);
    td_relay_plan(p, &set(p)->relay, 1, BUFFERS);
    set(p)->relay.packers = PACK;
    set(p)->relay.unpackers = UNPACK;
    set(p)->ring = grid.shape.size[longest];
    set(p)->stride = td_grid_line(&grid, 0, longest).stride;
    set(p)->places = grid.shape.nodes / grid.shape.size[longest];
    plan_turns(p);

    uint64_t segments = (uint64_t)parameters(p)->relay.segments;
    uint64_t shares = (uint64_t)parameters(p)->shares, group = (uint64_t)parameters(p)->group;
    uint64_t turns = shares * groups_of(p), others = (uint64_t)k_of(p) - 1; /* of a segment */
    uint64_t packs = (uint64_t)parameters(p)->relay.packs;
    uint64_t unpacks = (uint64_t)parameters(p)->relay.unpacks;
    uint64_t planes = shares * (uint64_t)parameters(p)->places;
    td_program_add(p, TD_RECV, segments * turns * others, "blocks along the ring");
    td_program_add(p, TD_RECV, segments * planes, "blocks from the plane's relays");
    td_program_add(p, TD_COPY, segments, "blocks for this node's plane");
    td_program_add(p, TD_COPY, segments * packs, "pack");
    td_program_add(p, TD_COPY, segments * unpacks, "unpack");
    td_program_add(p, TD_SYNC, segments - 1, "barrier before the next segment");
    td_program_add(p, TD_SEND, segments * turns * group, "blocks forwarded in the plane");
    td_program_add(p, TD_SEND, segments * turns * others, "blocks to relays of the ring");

    td_program_need(p, SEND_RING, PACK, turns * others, packs, 1);
    td_program_need(p, LOCAL, PACK, 1, packs, 1);
    td_program_need(p, SEND_PLANE, RECV_RING, group, others, 1);
    td_program_need(p, SEND_PLANE, LOCAL, turns * group, 1, 1);
    td_program_need(p, UNPACK, RECV_RING, unpacks, turns * others, 1);
    td_program_need(p, UNPACK, LOCAL, unpacks, 1, 1);
    td_program_need(p, UNPACK, RECV_PLANE, unpacks, planes, 1);
    if (segments > 1) { /* buffers are free when all nodes have received their data from them */
        td_program_need(p, FREE, UNPACK, 1, unpacks, 1);
        td_program_need(p, PACK, FREE, packs, 1, 0);
    }
}

const struct td_method td_method_alltoall_two_phase = {
    .name = "alltoall_two_phase",
    .why = "one dimension is so long that random order would leave many links idle",
    .kinds = TD_KIND_BIT(TD_KIND_ALLTOALL) | TD_KINDS_WITH_COUNTS,
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_ALLTOALL,
    .values = TD_VALUE_BIT(TD_ALLTOALL_TWO_PHASE),
    .applies = td_relay_applies,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
