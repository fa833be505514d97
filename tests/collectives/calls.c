/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash.h"
#include "model/planes_call.h"

enum { RANKS_MAX = 192, COUNTED_RANKS_MAX = 24 };

/* ---- numbers ---- */

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state += 0x9e3779b97f4a7c15u;
    return td_hash_mix(state) % below;
}

/* often returns true with a chance of `percent`. */
static bool often(uint64_t percent)
{
    return draw(100) < percent;
}

/* pick returns one of `count` values of an enumeration, most often the first. */
static uint8_t pick(uint64_t count)
{
    return (uint8_t)(often(60) ? 0 : draw(count));
}

/* ---- the machine and the group ---- */

static void draw_group(struct drawn_call *c, uint32_t most)
{
    static const char *const shapes[] = {
        "1",    "2",    "4",       "5",     "8",     "3m",    "16",          "2x2",
        "3x3",  "4x4",  "4x4m",    "8x2",   "2x2x2", "2x3x4", "4x4x4",       "4x4x8",
        "8mx4", "4x16", "2x2x2x2", "3x3x9", "8x8",   "2x2x8", "2x2x2x2x2x2", "4x2x2x2x2"};
    uint32_t rank_node[RANKS_MAX], node[RANKS_MAX], nodes = 0, size = 0;
    do
        assert_int_equal(td_topology_parse(&c->topology,
                                           shapes[draw(sizeof shapes / sizeof *shapes)],
                                           &(size_t){0}, &(const char *){0}),
                         TD_OK);
    while (c->topology.nodes > most);
    uint64_t form = draw(4);
    for (uint32_t n = 0; n < c->topology.nodes; n++) {
        uint32_t last = c->topology.dimensions - 1, at[TD_DIMENSIONS_MAX];
        td_topology_coordinates(&c->topology, n, at);
        bool belongs = form == 3   ? n == 0 || often(60)
                       : form == 2 ? at[last] == 0 || at[last] + 1 < c->topology.size[last]
                                   : true;
        if (belongs)
            node[nodes++] = n;
    }
    uint64_t each = 1 + draw(3), placement = draw(4);
    each = each * nodes > most ? 1 : each;
    for (uint32_t i = 0; i < nodes; i++)
        for (uint64_t k = placement == 3 ? 1 + draw(each) : each; k > 0; k--)
            rank_node[size++] = node[i];
    for (uint32_t r = 0; placement == 1 && r < size; r++)
        rank_node[r] = node[r % nodes];
    for (uint32_t r = size; placement >= 2 && r > 1; r--) {
        uint32_t other = (uint32_t)draw(r), swap = rank_node[other];
        rank_node[other] = rank_node[r - 1];
        rank_node[r - 1] = swap;
    }
    assert_int_equal(td_group_build(&c->group, c->arena, rank_node, size), TD_OK);
}

/* ---- the call ---- */

static void draw_tuning(struct td_tuning *t)
{
    static const uint32_t packets[] = {256, 1024, 4096, 65536};
    static const uint64_t relays[] = {1 << 16, 1 << 20, 1 << 26};
    static const uint32_t rides[] = {0, 4096, TD_LONG_RIDE_BYTES_MAX};
    *t = (struct td_tuning){.fabric = (uint8_t)draw(TD_FABRICS),
                            .alltoall = pick(TD_ALLTOALLS),
                            .prefix = pick(TD_PREFIXES),
                            .rings = pick(TD_RINGS),
                            .parts = (uint8_t)draw(3),
                            .barriers = (uint8_t)draw(TD_BARRIERS_NONE + 1),
                            .barriers_of_all = often(20),
                            .no_gap = often(20),
                            .in_order = often(20),
                            .burst = (uint32_t)draw(4),
                            .packet_bytes = packets[draw(4)],
                            .relay_bytes = relays[draw(3)]};
    t->rooted_tree = pick(TD_ROOTED_TREES);
    t->message_bytes = (uint64_t)t->burst << 13;
    t->ride_bytes = rides[draw(3)];
}

static uint64_t draw_count(void)
{
    switch (draw(4)) {
    case 0:
        return draw(4);
    case 1:
        return 1 + draw(64);
    case 2:
        return 1 + draw(4096);
    default:
        return 1 + draw((uint64_t)1 << (8 + draw(12)));
    }
}

static bool takes(const struct td_call *call)
{
    return !td_call_reduces(call->kind) || td_op_accepts(call->op, call->type);
}

static void draw_call(struct drawn_call *c)
{
    struct td_call *call = &c->call;
    bool plain = call->kind == TD_KIND_BARRIER || td_call_plans(call->kind);
    do {
        /* of the types that existed when the choices were recorded */
        call->type = plain ? TD_TYPE_NONE : (uint8_t)(1 + draw(TD_TYPE_DOUBLE_INT));
        call->op = td_call_reduces(call->kind) ? (uint8_t)(1 + draw(TD_OP_END - 1)) : TD_OP_NONE;
    } while (!takes(call));
    call->mode = td_call_reduces(call->kind) ? (uint8_t)draw(TD_REPRODUCIBLES) : 0;
    call->root = td_call_rooted(call->kind) ? (uint32_t)draw(c->group.size) : 0;
    call->count = plain || td_call_has_counts(call->kind) ? 0 : draw_count();
}

/* count_of returns the data from rank i to rank j: none, a little, or very different amounts. */
static uint64_t count_of(uint64_t seed, uint64_t spread, uint64_t i, uint64_t j)
{
    uint64_t x = td_hash_mix(seed + (i << 32 | j));
    return spread == 0 || x % 4 == 0 ? 0 : x / 4 % spread;
}

static void draw_counts(struct drawn_call *c)
{
    uint64_t seed = draw(UINT64_MAX), spread = often(15) ? 0 : (uint64_t)1 << draw(14);
    uint64_t element = td_type_bytes(c->call.type), need = 0;
    for (uint32_t slot = 0; slot < c->group.slots; slot++) {
        struct td_counts counts;
        assert_true(td_counts_build(&counts, c->arena, &c->group, slot));
        for (uint32_t local = 0; local < counts.ranks; local++)
            for (unsigned side = 0; side < 2; side++) {
                uint64_t count[RANKS_MAX], rank = td_group_rank(&c->group, slot, local);
                for (uint32_t other = 0; other < c->group.size; other++)
                    count[other] = c->call.kind == TD_KIND_REDUCE_SCATTERV
                                       ? count_of(seed, spread, 0, side ? rank : other)
                                   : side ? count_of(seed, spread, other, rank)
                                          : count_of(seed, spread, rank, other);
                const struct td_rank_counts own = {.count = count, .counts = c->group.size};
                assert_null(td_counts_set(&counts, local, side, &own, element, &need));
            }
        struct td_survey survey = {0};
        td_survey_collect(&survey, &counts);
        td_survey_merge(&c->survey, &survey);
        if (slot == c->in.slot)
            c->counts = counts;
        else
            td_counts_free(&counts, c->arena);
    }
}

static const char *draw_layout(uint32_t dimensions)
{
    static const char *const one[] = {"", "block", "cyclic(2)", "cyclic(3)", "cyclic(1)"};
    static const char *const two[] = {"", "(block, *)", "(*, block)", "(cyclic(2), *)",
                                      "(*, cyclic(3))"};
    static const char *const three[] = {"", "(block, *, *)", "(*, block, *)", "(*, *, block)",
                                        "(*, cyclic(2), *)"};
    return (dimensions == 1 ? one : dimensions == 2 ? two : three)[draw(5)];
}

static void draw_plan(struct drawn_call *c, const struct td_planner *planner)
{
    struct td_description d = {.from = "", .to = ""};
    bool fft = c->call.kind == TD_KIND_FFT;
    uint32_t dimensions = 1 + (uint32_t)draw(3);
    uint64_t size[3] = {0};
    for (uint32_t i = 0; i < dimensions; i++)
        size[i] = dimensions == 1 ? (uint64_t)1 << (6 + draw(8)) : 4 + 4 * draw(16);
    if (often(50)) {
        d.from = draw_layout(dimensions);
        d.to = draw_layout(dimensions);
    }
    if (fft) {
        d.fft = (struct td_fft){.dimensions = dimensions,
                                .type = TD_TYPE_COMPLEX_DOUBLE,
                                .sign = often(50) ? TD_FFT_FORWARD : TD_FFT_BACKWARD,
                                .method = pick(TD_ALLTOALLS)};
        memcpy(d.fft.size, size, sizeof size);
        td_fft_all(&d.fft);
    } else {
        d.redist = (struct td_redist){.dimensions = dimensions,
                                      .schedule = (uint32_t)draw(TD_REDIST_SCHEDULES),
                                      .element = 8};
        memcpy(d.redist.size, size, sizeof size);
        for (uint32_t i = 0; i < dimensions; i++)
            d.redist.axes[i] = (uint8_t)i;
    }
    td_err error = TD_OK;
    char why[400] = "";
    c->plan = td_plan_make(c->arena, fft ? TD_KIND_PLAN_FFT : TD_KIND_PLAN_REDIST, &d,
                           c->group.size, &error, why, sizeof why);
    if (!c->plan)
        fail_msg("%s", why);
    const struct td_plan_input in = {.plan = c->plan,
                                     .group = &c->group,
                                     .slot = c->in.slot,
                                     .topology = &c->topology,
                                     .tuning = &c->tuning};
    assert_true(planner->make(&in, c->arena));
}

/* The memory of one call at a time: to make an arena takes longer than all else under the address
 * sanitizer. */
static _Alignas(64) unsigned char memory[48 << 20];
static const struct drawn_call *holder;

void calls_draw(struct drawn_call *c, uint64_t number, const struct td_planner *planner)
{
    *c = (struct drawn_call){0};
    state = number * 0xd1342543de82ef95u + 1;
    c->call.kind = (uint8_t)(1 + draw(TD_KIND_MAX - 1));
    bool counted = td_call_has_counts(c->call.kind), planned = td_call_executes(c->call.kind);
    assert_null(holder);
    holder = c;
    c->arena = td_arena_within(memory, planned ? sizeof memory : 4 << 20);
    draw_group(c, counted || planned ? COUNTED_RANKS_MAX : RANKS_MAX);
    draw_tuning(&c->tuning);
    draw_call(c);
    c->in = (struct td_compile_input){.call = &c->call,
                                      .seed = draw(UINT64_MAX),
                                      .group = &c->group,
                                      .slot = (uint32_t)draw(c->group.slots),
                                      .topology = &c->topology,
                                      .tuning = &c->tuning};
    bool routed = c->tuning.fabric == TD_FABRIC_ROUTED;
    assert_int_equal(routed
                         ? td_planes_of_call(&c->tree, c->arena, &c->topology, &c->group, &c->call)
                         : td_tree_heap(&c->tree, c->arena, c->group.slots),
                     TD_OK);
    if (often(95))
        c->in.tree = &c->tree;
    if (counted) {
        draw_counts(c);
        c->in.counts = &c->counts;
        if (often(70))
            c->in.survey = &c->survey;
    }
    if (planned) {
        draw_plan(c, planner);
        c->in.plan = c->plan;
    }
}

void calls_free(const struct drawn_call *c)
{
    assert_ptr_equal(holder, c);
    holder = NULL;
}

const char *calls_print(const struct drawn_call *c, char *text, size_t size)
{
    char call[200], shape[64];
    const struct td_tuning *t = &c->tuning;
    td_call_print(&c->call, call, sizeof call);
    td_topology_print(&c->topology, shape, sizeof shape);
    snprintf(text, size,
             "%s mode %u on %s %s, %u ranks on %u nodes, alltoall %u prefix %u rooted %u rings %u "
             "packet %u relay %llu%s%s",
             call, c->call.mode, shape, t->fabric == TD_FABRIC_ROUTED ? "routed" : "direct",
             c->group.size, c->group.slots, t->alltoall, t->prefix, t->rooted_tree, t->rings,
             t->packet_bytes, (unsigned long long)t->relay_bytes, c->in.survey ? ", surveyed" : "",
             c->in.tree ? "" : ", no tree");
    return text;
}

/* ---- the hash of a program ---- */

static void mix(uint64_t *hash, uint64_t value)
{
    *hash = td_hash_mix(*hash ^ (value + 0x9e3779b97f4a7c15u));
}

static void mix_slice(uint64_t *hash, const struct td_slice *s)
{
    mix(hash, s->space);
    mix(hash, s->rank);
    mix(hash, (uint64_t)s->offset);
    mix(hash, (uint64_t)s->run);
    mix(hash, s->levels);
    for (unsigned i = 0; i < s->levels; i++) {
        mix(hash, (uint64_t)s->level[i].count);
        mix(hash, (uint64_t)s->level[i].stride);
        mix(hash, (uint64_t)s->level[i].rank_stride);
    }
    if (s->counts)
        mix(hash, s->slot);
    if (s->overlap) {
        mix(hash, s->pair[0]);
        mix(hash, s->pair[1]);
        mix(hash, s->side);
        mix(hash, (uint64_t)s->base);
    }
}

static void mix_lanes(uint64_t *hash, const struct td_lanes *l)
{
    mix(hash, l->count);
    mix(hash, (uint64_t)l->stride);
    mix(hash, (uint64_t)l->rank_stride);
}

static void mix_step(uint64_t *hash, const struct td_step *s)
{
    mix(hash, s->kind);
    mix(hash, s->peer);
    mix(hash, s->peer_family);
    mix(hash, s->peer_index);
    mix_slice(hash, &s->to);
    mix_slice(hash, &s->from);
    mix_slice(hash, &s->with);
    mix_lanes(hash, &s->to_lanes);
    mix_lanes(hash, &s->from_lanes);
    mix_lanes(hash, &s->with_lanes);
    mix(hash, s->type);
    mix(hash, s->op);
    mix(hash, s->running.kind);
    mix(hash, s->running.first);
    mix(hash, s->running.step);
    mix(hash, (uint64_t)s->transform.length);
    mix(hash, (uint64_t)s->transform.batch);
    mix(hash, (uint64_t)s->transform.batch2);
    mix(hash, (uint64_t)s->transform.stride);
    mix(hash, (uint64_t)s->transform.to_stride);
    mix(hash, (uint64_t)s->transform.twiddle);
    mix(hash, s->among.first);
    mix(hash, s->among.count);
    mix(hash, s->among.stride);
    mix(hash, (uint64_t)s->sign);
    mix(hash, s->gap);
}

static void mix_family(uint64_t *hash, const struct td_program *p, unsigned f)
{
    const struct td_family *family = &p->family[f];
    uint64_t n = family->count;
    const uint64_t some[] = {0, 1, 2, n / 3, n / 2, n - 1};
    mix(hash, family->kind);
    mix(hash, n);
    for (unsigned d = 0; d < family->dependencies; d++) {
        mix(hash, family->dependency[d].on);
        mix(hash, (uint64_t)family->dependency[d].lead);
        mix(hash, family->dependency[d].div);
        mix(hash, family->dependency[d].mul);
    }
    for (unsigned i = 0; i < sizeof some / sizeof *some; i++) {
        static const struct td_step empty;
        struct td_step step = empty;
        if (some[i] >= n)
            continue;
        p->step_at(p, f, some[i], &step);
        mix_step(hash, &step);
    }
}

uint64_t calls_hash(const struct td_program *p)
{
    uint64_t hash = 0;
    mix(&hash, p->ride);
    mix(&hash, (uint64_t)p->ride_bytes);
    mix(&hash, p->ride_stays);
    mix(&hash, p->survey_pending);
    mix(&hash, (uint64_t)p->scratch_bytes);
    mix(&hash, p->whole);
    mix(&hash, p->families);
    for (unsigned f = 0; f < p->families; f++)
        mix_family(&hash, p, f);
    return hash;
}
