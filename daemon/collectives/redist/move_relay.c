/* SPDX-License-Identifier: Apache-2.0 */
#include "move_relay.h"

#include <string.h>

#include "base/arena.h"
#include "collectives/select.h"

/* ---- who exchanges with whom ---- */

/* struct meetings: the exchanges between all slots of the plan's group. */
struct meetings {
    uint32_t slots;
    uint32_t *root;       /* [slots] traffic_matrix.h */
    uint64_t most, total; /* bytes of units between two slots */
};

static uint32_t root_of(struct meetings *x, uint32_t slot)
{
    return td_traffic_root(x->root, slot);
}

static void meet(void *me, uint32_t from, uint32_t to, uint64_t bytes)
{
    struct meetings *x = me;
    if (from == to)
        return;
    td_traffic_join(x->root, from, to);
    x->total += bytes;
    x->most = bytes > x->most ? bytes : x->most;
}

/* tiles returns true if the sets of slots that exchange are boxes of the grid, all of the same
 * shape as this slot's box. *count is their number. */
static bool tiles(struct meetings *x, const struct td_grid *grid, uint32_t own, uint32_t *count)
{
    uint32_t low[TD_DIMENSIONS_MAX], high[TD_DIMENSIONS_MAX] = {0}, size[TD_DIMENSIONS_MAX];
    uint32_t roots = 0;
    memset(low, 0xff, sizeof low);
    *count = 1;
    for (uint32_t slot = 0; slot < x->slots; slot++)
        for (uint32_t d = 0; root_of(x, slot) == root_of(x, own) && d < grid->shape.dimensions;
             d++) {
            uint32_t at = td_grid_coordinate(grid, slot, d);
            low[d] = at < low[d] ? at : low[d];
            high[d] = at > high[d] ? at : high[d];
        }
    for (uint32_t d = 0; d < grid->shape.dimensions; d++) {
        size[d] = high[d] - low[d] + 1;
        if (grid->shape.size[d] % size[d] || low[d] % size[d])
            return false;
        *count *= grid->shape.size[d] / size[d];
    }
    for (uint32_t slot = 0; slot < x->slots; slot++) {
        uint32_t corner = slot; /* of the tile in which the slot would be */
        for (uint32_t d = 0; d < grid->shape.dimensions; d++) {
            uint32_t at = td_grid_coordinate(grid, slot, d);
            corner = td_grid_moved(grid, corner, d, at - at % size[d]);
        }
        if (root_of(x, slot) != root_of(x, corner))
            return false;
        roots += root_of(x, slot) == slot;
    }
    return roots == *count;
}

/* ---- the group of its own ---- */

/* make_group makes the group of the slots that exchange with this node's slot, and writes this
 * node's slot in it. */
static bool make_group(struct td_move_relay *r, struct meetings *x, const struct td_plan_input *in,
                       struct td_arena *arena, uint32_t *slot_in)
{
    uint32_t *node = td_arena_alloc(arena, x->slots * sizeof *node), members = 0;
    r->outer = td_arena_alloc(arena, x->slots * sizeof *r->outer);
    if (!node || !r->outer) {
        td_arena_free(arena, node);
        return false;
    }
    for (uint32_t slot = 0; slot < x->slots; slot++) {
        if (root_of(x, slot) != root_of(x, in->slot))
            continue;
        if (slot == in->slot)
            *slot_in = members;
        node[members] = in->group->node[slot];
        r->outer[members++] = slot;
    }
    td_err error = td_group_build(&r->group, arena, node, members);
    td_arena_free(arena, node);
    return error == TD_OK;
}

/* compile compiles the program. It returns false if the move goes directly, or has no such program.
 */
static bool compile(struct td_move_relay *r, const struct td_plan_input *in, unsigned room)
{
    struct td_program *p = &r->program;
    struct td_query q;
    td_query_begin(&q, p, true);
    const struct td_method *method = td_select_method(&q);
    enum td_alltoall way = td_method_alltoall(method);
    if (way != TD_ALLTOALL_PHASED && way != TD_ALLTOALL_TWO_PHASE)
        return false;
    td_method_compile(method, &q, p);
    /* if all nodes of the group exchange, they need not be a progression of the plan's slots */
    bool meets = way == TD_ALLTOALL_TWO_PHASE
                     ? td_relay_of(p)->segments > 1
                     : p->tuning.barriers_of_all && p->tuning.barriers != TD_BARRIERS_NONE;
    return p->families <= room && (!meets || r->group.slots == in->group->slots);
}

void td_move_relay_free(struct td_move_relay *r, struct td_arena *arena)
{
    if (!r)
        return;
    td_group_free(&r->group, arena);
    td_arena_free(arena, r->outer);
    for (unsigned side = 0; side < 2; side++)
        td_tenants_free(&r->tenants[side], arena);
    td_arena_free(arena, r);
}

/* ---- a part of the plan's program ---- */

unsigned td_move_relay_add(const struct td_move_relay *r, struct td_program *p)
{
    unsigned first = p->families;
    for (unsigned f = 0; f < r->program.families; f++) {
        struct td_family *own = &p->family[td_program_add(p, TD_COPY, 0, "")];
        *own = r->program.family[f];
        for (unsigned i = 0; i < own->dependencies; i++)
            own->dependency[i].on = (uint8_t)(own->dependency[i].on + first);
    }
    return first;
}

unsigned td_move_relay_families(const struct td_move_relay *r)
{
    return r->program.families;
}

bool td_move_relay_packs_in(const struct td_move_relay *r, unsigned family)
{
    const struct td_relay *relay = td_relay_of(&r->program);
    return family >= relay->packers && family < relay->packers + relay->parts;
}

void td_move_relay_needed(const struct td_move_relay *r, struct td_program *p, unsigned first,
                          unsigned f)
{
    const struct td_relay *relay = td_relay_of(&r->program);
    for (int64_t i = 0; i < relay->parts; i++)
        td_program_need_all(p, f, first + (unsigned)(relay->unpackers + i));
}

/* shift moves the buffers of the all-to-all to their place in scratch memory. Those of arrays do
 * not change. */
static void shift(const struct td_move_relay *r, struct td_slice *s)
{
    if (td_relay_has(s))
        s->offset += r->base;
}

void td_move_relay_step(const struct td_move_relay *r, unsigned first, unsigned family,
                        uint64_t index, struct td_step *step)
{
    r->program.step_at(&r->program, family, index, step);
    step->peer_family += first;
    shift(r, &step->from);
    shift(r, &step->to);
    if (step->kind != TD_SYNC)
        return;
    struct td_among *a =
        &step->among; /* a line of a box is a progression in the plan's group, too */
    uint32_t begin = r->outer[a->first];
    a->stride = a->count > 1 ? r->outer[a->first + a->stride] - begin : 1;
    a->first = begin;
}

/* ---- units ---- */

static uint64_t bytes_between(const struct td_move_relay *r, uint32_t from, uint32_t to)
{
    return td_overlap_elements(&r->move->overlap, from, to) * r->move->from->element;
}

/* struct pair: two owners, their overlap, and its place in the unit. In a unit the owners before
 * are outermost. */
struct pair {
    uint32_t from, to;
    uint64_t begin, bytes;
};

/* find_pair finds the pair of tenant i of slot a and tenant j of slot b. It returns false if a slot
 * has fewer tenants. */
static bool find_pair(const struct td_move_relay *r, uint32_t a, uint32_t b, uint64_t i, uint64_t j,
                      struct pair *out)
{
    const struct td_tenants *before = &r->tenants[0], *after = &r->tenants[1];
    const uint32_t *from = before->owner + before->begin[a], *to = after->owner + after->begin[b];
    uint64_t there = td_tenants_on(after, b);
    if (i >= td_tenants_on(before, a) || j >= there)
        return false;
    *out = (struct pair){.from = from[i], .to = to[j], .bytes = bytes_between(r, from[i], to[j])};
    for (uint64_t k = 0; k < i * there + j; k++)
        out->begin += bytes_between(r, from[k / there], to[k % there]);
    return true;
}

/* within returns the range of a pair's bytes in a piece of the unit, relative to the pair's first
 * byte. */
static struct td_range within(const struct pair *x, struct td_range piece)
{
    uint64_t begin = x->begin > piece.begin ? x->begin : piece.begin;
    uint64_t end = piece.begin + piece.count;
    end = end < x->begin + x->bytes ? end : x->begin + x->bytes;
    return begin < end ? (struct td_range){begin - x->begin, end - begin} : (struct td_range){0, 0};
}

static struct td_slice of_array(const struct td_move_relay *r, enum td_overlap_side side,
                                const struct pair *x, struct td_range bytes)
{
    struct td_slice s = td_array_move_slice(r->move, side, x->from, x->to, 0);
    s.offset += (int64_t)bytes.begin;
    s.run = (int64_t)bytes.count;
    return s;
}

/* relay_of returns the relay whose first member is `units`. */
static const struct td_move_relay *relay_of(const struct td_relay_units *units)
{
    return (const struct td_move_relay *)(const void *)units;
}

static uint64_t count_packs(const struct td_relay_units *units)
{
    const struct td_move_relay *r = relay_of(units);
    uint32_t own = r->outer[r->program.slot];
    uint64_t pairs = (uint64_t)td_tenants_on(&r->tenants[0], own) * r->tenants[1].most;
    return r->group.slots * (pairs + 1);
}

static uint64_t count_unpacks(const struct td_relay_units *units)
{
    const struct td_move_relay *r = relay_of(units);
    uint32_t own = r->outer[r->program.slot];
    return (uint64_t)r->group.slots * td_tenants_on(&r->tenants[1], own) * r->tenants[0].most;
}

/* unit returns the bytes of all pairs of two slots. */
static uint64_t unit(const struct td_move_relay *r, uint32_t a, uint32_t b)
{
    uint64_t bytes = 0;
    struct pair x;
    for (uint64_t i = 0; i < td_tenants_on(&r->tenants[0], a); i++)
        for (uint64_t j = 0; j < td_tenants_on(&r->tenants[1], b); j++)
            bytes += find_pair(r, a, b, i, j, &x) ? x.bytes : 0;
    return bytes;
}

/* pack: the last step of a unit pads it with zeros. */
static uint32_t pack(const struct td_relay_units *units, uint64_t i, struct td_range piece,
                     struct td_step *step)
{
    const struct td_move_relay *r = relay_of(units);
    uint32_t own = r->outer[r->program.slot];
    uint64_t there = r->tenants[1].most, pairs = td_tenants_on(&r->tenants[0], own) * there;
    uint32_t slot = (uint32_t)(i / (pairs + 1)), to = r->outer[slot];
    struct pair x;
    i %= pairs + 1;
    if (to == own) /* unpacked in one step */
        return slot;
    if (i == pairs) {
        uint64_t all = unit(r, own, to), begin = all > piece.begin ? all - piece.begin : 0;
        if (begin < piece.count)
            step->to =
                td_slice_at(TD_SPACE_SCRATCH, 0, (int64_t)begin, (int64_t)(piece.count - begin));
    } else if (find_pair(r, own, to, i / there, i % there, &x)) {
        struct td_range bytes = within(&x, piece);
        int64_t at = bytes.count ? (int64_t)(x.begin + bytes.begin - piece.begin) : 0;
        step->from = of_array(r, TD_OVERLAP_FROM, &x, bytes);
        step->to = td_slice_at(TD_SPACE_SCRATCH, 0, at, (int64_t)bytes.count);
    }
    return slot;
}

static uint32_t unpack(const struct td_relay_units *units, uint64_t i, struct td_range piece,
                       struct td_step *step)
{
    const struct td_move_relay *r = relay_of(units);
    uint32_t own = r->outer[r->program.slot], here = td_tenants_on(&r->tenants[1], own);
    uint64_t pairs = (uint64_t)here * r->tenants[0].most;
    uint32_t slot = (uint32_t)(i / pairs), from = r->outer[slot];
    struct pair x;
    i %= pairs;
    if (!find_pair(r, from, own, i / here, i % here, &x))
        return slot;
    if (from == own) { /* in one step, with the first piece */
        struct td_range all = {0, piece.begin == 0 ? x.bytes : 0};
        step->from = of_array(r, TD_OVERLAP_FROM, &x, all);
        step->to = of_array(r, TD_OVERLAP_TO, &x, all);
        return slot;
    }
    struct td_range bytes = within(&x, piece);
    int64_t at = bytes.count ? (int64_t)(x.begin + bytes.begin - piece.begin) : 0;
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0, at, (int64_t)bytes.count);
    step->to = of_array(r, TD_OVERLAP_TO, &x, bytes);
    return slot;
}

/* ---- the relay of a move ---- */

/* begin fills in the inputs of the program of a tile of the machine. It returns false if the arena
 * is full. */
static bool begin(struct td_move_relay *r, struct meetings *x, const struct td_plan_input *in,
                  struct td_arena *arena, uint32_t count)
{
    const struct td_call call = {.kind = TD_KIND_ALLTOALLV};
    const struct td_survey survey = {.most = x->most, .total = x->total / count};
    struct td_tuning tuning = *in->tuning;
    uint32_t slot = 0;
    tuning.alltoall = in->plan->fft.method;
    if (!make_group(r, x, in, arena, &slot))
        return false;
    r->units = (struct td_relay_units){count_packs, count_unpacks, pack, unpack};
    td_program_begin(&(struct td_compile_input){.call = &call,
                                                .seed = in->plan->digest,
                                                .group = &r->group,
                                                .slot = slot,
                                                .topology = in->topology,
                                                .survey = &survey,
                                                .tuning = &tuning},
                     &r->program);
    r->program.units = &r->units;
    return true;
}

/* PAIRS_MAX: pairs of owners that are examined, and of their blocks: a few hundredths of a second.
 * UNIT_PAIRS_MAX: pairs of a unit; each pair sums up those before it. */
enum { PAIRS_MAX = 1 << 20, UNIT_PAIRS_MAX = 64 };

static bool considers(const struct td_array_move *m, const struct td_plan_input *in)
{
    const struct td_layout *from = &m->from->layout, *to = &m->to->layout;
    unsigned method = in->plan->fft.method;
    bool asked = method == TD_ALLTOALL_PHASED || method == TD_ALLTOALL_TWO_PHASE;
    bool open = method == TD_ALLTOALL_AUTO && in->tuning->fabric == TD_FABRIC_ROUTED;
    return in->plan->kind == TD_KIND_FFT && (asked || open) && !from->box && !to->box &&
           in->group->slots > 1 && (uint64_t)from->owners * to->owners <= PAIRS_MAX &&
           td_overlap_work(from, to) <= PAIRS_MAX;
}

bool td_move_relay_make(struct td_array_move *m, const struct td_plan_input *in,
                        struct td_arena *arena, unsigned room, int64_t *scratch)
{
    struct td_grid grid;
    uint32_t count = 0;
    if (!considers(m, in))
        return true;
    td_grid_of(in->group, in->topology, &grid);
    if (!grid.box)
        return true;
    struct td_move_relay *r = td_arena_alloc(arena, sizeof *r);
    struct meetings x = {.slots = in->group->slots};
    if (!r)
        return false;
    r->move = m;
    x.root = td_arena_alloc(arena, x.slots * sizeof *x.root);
    bool good = x.root && td_tenants_find(&r->tenants[0], m->from, x.slots, arena) &&
                td_tenants_find(&r->tenants[1], m->to, x.slots, arena);
    if (good && r->tenants[0].most * r->tenants[1].most <= UNIT_PAIRS_MAX) {
        td_traffic_apart(x.root, x.slots);
        good = td_traffic_each(m, x.slots, arena, meet, &x);
        if (good && x.most && tiles(&x, &grid, in->slot, &count) &&
            (good = begin(r, &x, in, arena, count)) && compile(r, in, room))
            m->relay = r;
    }
    td_arena_free(arena, x.root);
    if (!m->relay)
        td_move_relay_free(r, arena);
    else {
        r->base = (*scratch + 63) & ~(int64_t)63;
        *scratch = r->base + r->program.scratch_bytes;
    }
    return good;
}
