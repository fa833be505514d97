/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of call by every method, on groups of many forms, checked symbolically (symbolic.h).
 * TORUS_TEST_LONG=1 runs all roots and counts, and all shapes of up to 27 nodes. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "collectives/select.h"
#include "groups.h"
#include "seeds.h"

static bool long_run;

static void check(const struct groups_placed *g, struct symbolic_case c)
{
    c.rank_node = g->rank_node;
    c.size = g->size;
    c.topology = g->topology;
    c.seed = groups_draw(UINT64_MAX);
    if (!c.compile)
        c.compile = td_select_compile;
    const char *wrong = symbolic_check(&c, NULL);
    if (wrong) {
        char shape[64], call[160];
        const struct td_tuning *t = &c.tuning;
        td_topology_print(&g->topology, shape, sizeof shape);
        td_call_print(&c.call, call, sizeof call);
        fail_msg("%s%s on %s, form %d, %u ranks, fabric %d, method %d, burst %u of %u, relay %llu: "
                 "%s",
                 call, c.in_place ? " in place" : "", shape, (int)g->form, g->size, t->fabric,
                 t->alltoall, t->burst, t->packet_bytes, (unsigned long long)t->relay_bytes, wrong);
    }
}

static struct symbolic_case make(enum td_kind kind, enum td_type type, uint64_t count)
{
    struct symbolic_case c = {.orders = 2};
    c.call = (struct td_call){.kind = (uint8_t)kind,
                              .type = (uint8_t)type,
                              .op = td_call_reduces(kind) ? TD_OP_SUM : TD_OP_NONE,
                              .count = count};
    c.tuning = (struct td_tuning){.fabric = (uint8_t)groups_draw(TD_FABRICS),
                                  .burst = (uint32_t)(1 + groups_draw(3)),
                                  .packet_bytes = (uint32_t)(groups_draw(2) ? 1 << 18 : 64),
                                  .relay_bytes = (uint64_t)64 << 20,
                                  .ride_bytes = groups_draw(2) ? TD_LONG_RIDE_BYTES_MAX : 0};
    c.tuning.message_bytes = c.tuning.ride_bytes && groups_draw(2) ? 128 << 10 : 0;
    return c;
}

static const char *const shapes[] = {"1",   "2",    "3m",  "5",      "2x2",    "3x3",
                                     "2x4", "3mx2", "4x4", "2x3mx2", "2x2x2x2"};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void for_all_groups(void (*test)(const struct groups_placed *))
{
    struct groups_placed g;
    uint64_t number = 0;
    for (int s = 0; s < SHAPES; s++)
        for (int form = 0; form < GROUPS_FORMS; form++)
            for (uint32_t per_node = 1; per_node <= 3; per_node++) {
                if (!seeds_pick(number++, 13))
                    continue;
                groups_place(&g, shapes[s], (enum groups_form)form, per_node);
                test(&g);
            }
}

/* ---- without parts ---- */

static const enum td_kind plain[] = {TD_KIND_BROADCAST,      TD_KIND_ALLREDUCE, TD_KIND_REDUCE,
                                     TD_KIND_REDUCE_SCATTER, TD_KIND_SCAN,      TD_KIND_EXSCAN,
                                     TD_KIND_PREFIX,         TD_KIND_GATHER,    TD_KIND_SCATTER,
                                     TD_KIND_ALLGATHER,      TD_KIND_ALLTOALL};
enum { PLAIN = sizeof plain / sizeof plain[0] };

static bool may_be_in_place(enum td_kind kind)
{
    return kind == TD_KIND_ALLREDUCE || kind == TD_KIND_REDUCE || kind == TD_KIND_SCAN ||
           kind == TD_KIND_EXSCAN;
}

/* with_roots checks a case with some roots, or with all. */
static void with_roots(const struct groups_placed *g, struct symbolic_case c, uint32_t few)
{
    uint32_t roots = td_call_rooted(c.call.kind) ? g->size : 1;
    for (uint32_t i = 0; i < roots && (long_run || i < few); i++) {
        c.call.root = long_run || roots <= few ? i : (uint32_t)groups_draw(roots);
        check(g, c);
    }
}

static void plain_kinds(const struct groups_placed *g)
{
    static const uint64_t counts[] = {0, 1, 2, 7, 33, 150, 513};
    for (int k = 0; k < PLAIN; k++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            enum td_type type = groups_draw(3) ? TD_TYPE_INT32 : TD_TYPE_DOUBLE;
            bool cut = plain[k] == TD_KIND_BROADCAST; /* its pieces may be parts of elements */
            bool many = plain[k] == TD_KIND_ALLTOALL &&
                        g->size > 30; /* the number of its steps has a limit */
            uint64_t count = many && counts[i] > 150 ? 150 : counts[i] * (cut ? 9 : 1);
            struct symbolic_case c = make(plain[k], cut ? TD_TYPE_BYTE : type, count);
            if (!long_run && groups_draw(5))
                continue;
            c.call.mode = td_call_reduces(plain[k]) ? (uint8_t)groups_draw(TD_REPRODUCIBLES) : 0;
            c.in_place = may_be_in_place(plain[k]) && groups_draw(2);
            with_roots(g, c, 2);
        }
}

static void every_kind_keeps_its_promise_in_every_group(void **unused)
{
    (void)unused;
    for_all_groups(plain_kinds);
}

/* Vectors that are so long that rows in scratch memory are reused. */
static void rank_order_passes_in_blocks(void **unused)
{
    (void)unused;
    static const enum td_kind kinds[] = {TD_KIND_ALLREDUCE, TD_KIND_REDUCE, TD_KIND_REDUCE_SCATTER,
                                         TD_KIND_SCAN,      TD_KIND_EXSCAN, TD_KIND_PREFIX};
    static const char *const machines[] = {"1", "2", "3", "2x2"};
    for (size_t m = 0; m < 4; m++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            struct groups_placed g;
            uint32_t per_node[] = {40, 31, 20, 14};
            bool one_prefix =
                kinds[k] == TD_KIND_PREFIX; /* its result is as long as all sources together */
            enum groups_form form = (enum groups_form)((m + k) % (GROUPS_UNEVEN + 1));
            if (form == GROUPS_CYCLIC && m == 0)
                form = GROUPS_WHOLE;
            groups_place(&g, machines[m], form, one_prefix ? 3 : per_node[m]);
            uint64_t nodes = (uint64_t)m + 1;
            uint64_t count = kinds[k] == TD_KIND_REDUCE_SCATTER ? 1200
                             : one_prefix                       ? 70000
                                                                : 22000 * nodes;
            struct symbolic_case c = make(kinds[k], TD_TYPE_COMPLEX_DOUBLE, count + 3);
            c.orders = 1;
            c.call.mode = TD_REPRODUCIBLE_ANY;
            c.call.root = td_call_rooted(kinds[k]) ? g.size - 1 : 0;
            check(&g, c);
        }
}

/* ---- with parts ---- */

enum pattern { EQUAL, SPARSE, ONE_HUGE, ANY, ALL_ZERO, ONE_ONLY, PATTERNS };

static struct counts {
    uint64_t from_count[SYMBOLIC_RANKS_MAX * SYMBOLIC_RANKS_MAX],
        from_at[SYMBOLIC_RANKS_MAX * SYMBOLIC_RANKS_MAX],
        to_count[SYMBOLIC_RANKS_MAX * SYMBOLIC_RANKS_MAX],
        to_at[SYMBOLIC_RANKS_MAX * SYMBOLIC_RANKS_MAX];
} counts;

static uint64_t draw_count(enum pattern pattern, uint64_t equal, bool chosen)
{
    switch (pattern) {
    case EQUAL:
        return equal;
    case SPARSE:
        return groups_draw(5) ? 0 : groups_draw(40);
    case ONE_HUGE:
        return chosen ? 2000 : groups_draw(3);
    case ANY:
        return groups_draw(60);
    case ONE_ONLY:
        return chosen ? 77 : 0;
    case ALL_ZERO:
    case PATTERNS:
        break;
    }
    return 0;
}

/* lay_out chooses places for a row of counts, in random order and with gaps. */
static void lay_out(const uint64_t *count, uint64_t *at, uint32_t size)
{
    uint64_t next = groups_draw(4);
    uint32_t begin = (uint32_t)groups_draw(size), step = size > 1 && groups_draw(2) ? size - 1 : 1;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t place = (begin + i * step) % size;
        at[place] = next;
        next += count[place] + groups_draw(3);
    }
}

/* share gives all parts of a row the same place. */
static void share(uint64_t *at, uint32_t size)
{
    uint64_t place = groups_draw(4);
    for (uint32_t i = 0; i < size; i++)
        at[i] = place;
}

static void draw_counts(enum td_kind kind, enum pattern pattern, uint32_t size, uint32_t root)
{
    uint64_t equal = groups_draw(30), *from = counts.from_count, *to = counts.to_count;
    uint64_t chosen = groups_draw((uint64_t)size * size);
    if (kind == TD_KIND_GATHERV || kind == TD_KIND_REDUCE_SCATTERV)
        chosen = kind == TD_KIND_GATHERV ? chosen / size * size + root : chosen % size;
    else if (kind == TD_KIND_SCATTERV)
        chosen = (uint64_t)root * size + chosen % size;
    else if (kind == TD_KIND_ALLGATHERV)
        chosen = chosen / size * size;
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = 0; j < size; j++) {
            uint64_t *count = &from[i * size + j];
            *count = draw_count(pattern, equal, i * size + j == chosen);
            if (kind == TD_KIND_ALLGATHERV && j > 0)
                *count = from[i * size];
            if (kind == TD_KIND_REDUCE_SCATTERV && i > 0)
                *count = from[j];
            if ((kind == TD_KIND_GATHERV && j != root) || (kind == TD_KIND_SCATTERV && i != root))
                *count = 0;
        }
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = 0; j < size; j++)
            to[i * size + j] = from[j * size + i];
    for (uint32_t i = 0; i < size; i++) {
        lay_out(from + i * size, counts.from_at + i * size, size);
        lay_out(to + i * size, counts.to_at + i * size, size);
        if (kind == TD_KIND_ALLGATHERV)
            share(counts.from_at + i * size, size);
        if (kind == TD_KIND_REDUCE_SCATTERV)
            share(counts.to_at + i * size, size);
    }
}

/* longest_unit returns the greatest number of elements between the ranks of two nodes. */
static uint64_t longest_unit(const struct groups_placed *g)
{
    static uint64_t unit[SYMBOLIC_RANKS_MAX][SYMBOLIC_RANKS_MAX];
    uint32_t first[SYMBOLIC_RANKS_MAX] = {0}; /* rank on the same node */
    uint64_t longest = 0;
    memset(unit, 0, sizeof unit);
    for (uint32_t i = 0; i < g->size; i++)
        while (g->rank_node[first[i]] != g->rank_node[i])
            first[i]++;
    for (uint32_t i = 0; i < g->size; i++)
        for (uint32_t j = 0; j < g->size; j++) {
            uint64_t *of = &unit[first[i]][first[j]];
            *of += counts.from_count[i * g->size + j];
            longest = *of > longest && first[i] != first[j] ? *of : longest;
        }
    return longest;
}

static void tune(const struct groups_placed *g, struct symbolic_case *c)
{
    struct td_tuning *t = &c->tuning;
    uint64_t most = 0, nodes = groups_nodes(g, &most);
    t->alltoall = (uint8_t)groups_draw(TD_ALLTOALLS);
    t->parts = (uint8_t)groups_draw(4);
    t->barriers = (uint8_t)groups_draw(3);
    t->barriers_of_all = groups_draw(3) == 0;
    t->in_order = groups_draw(3) == 0;
    if (groups_draw(2)) /* room for a half, a third or a quarter of a unit in each buffer */
        t->relay_bytes =
            nodes * (g->topology.dimensions + 1) *
            (16 + longest_unit(g) * td_type_bytes(c->call.type) / (2 + groups_draw(3)));
}

static void kinds_with_parts(const struct groups_placed *g)
{
    for (unsigned kind = TD_KIND_ALLTOALLV; kind <= TD_KIND_REDUCE_SCATTERV; kind++)
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            bool v = kind == TD_KIND_ALLTOALLV || kind == TD_KIND_REDUCE_SCATTERV;
            if (!long_run && groups_draw(v ? 2 : 6))
                continue;
            enum td_type type = groups_draw(2) ? TD_TYPE_INT16 : TD_TYPE_DOUBLE;
            struct symbolic_case c = make((enum td_kind)kind, type, 0);
            c.from_count = counts.from_count;
            c.from_at = kind != TD_KIND_ALLGATHERV && groups_draw(2) ? NULL : counts.from_at;
            c.to_count = counts.to_count;
            c.to_at = kind != TD_KIND_REDUCE_SCATTERV && groups_draw(2) ? NULL : counts.to_at;
            c.call.root = td_call_rooted(kind) ? (uint32_t)groups_draw(g->size) : 0;
            draw_counts((enum td_kind)kind, (enum pattern)pattern, g->size, c.call.root);
            tune(g, &c);
            if (pattern == ONE_HUGE && c.tuning.packet_bytes < 2000)
                c.tuning.packet_bytes = 2000; /* otherwise there are too many steps to check */
            check(g, c);
        }
}

static void parts_of_any_size_reach_their_ranks(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++)
        for_all_groups(kinds_with_parts);
}

/* ---- every shape ---- */

/* by_every_method checks one size of every kind, or of some. */
static void by_every_method(const struct groups_placed *g)
{
    for (int fabric = 0; fabric < TD_FABRICS; fabric++)
        for (int k = 0; k < PLAIN; k++) {
            bool v = td_call_reduces(plain[k]);
            struct symbolic_case c = make(plain[k], v ? TD_TYPE_DOUBLE : TD_TYPE_BYTE, 270);
            c.orders = 1;
            c.tuning.fabric = (uint8_t)fabric;
            if (!long_run && groups_draw(PLAIN))
                continue;
            with_roots(g, c, 2);
        }
    for (int method = 0; method < TD_ALLTOALLS; method++) {
        struct symbolic_case c = make(TD_KIND_ALLTOALLV, TD_TYPE_BYTE, 0);
        if (!long_run && groups_draw(4))
            continue;
        c.orders = 1;
        c.from_count = counts.from_count;
        c.to_count = counts.to_count;
        draw_counts(TD_KIND_ALLTOALLV, ANY, g->size, 0);
        tune(g, &c);
        c.tuning.fabric = TD_FABRIC_ROUTED;
        c.tuning.alltoall = (uint8_t)method;
        check(g, c);
        c = make(TD_KIND_ALLTOALL, TD_TYPE_BYTE, 1 + groups_draw(60));
        c.orders = 1;
        tune(g, &c);
        c.tuning.fabric = TD_FABRIC_ROUTED;
        c.tuning.alltoall = (uint8_t)method;
        check(g, c);
    }
}

static void whole_machine(const char *shape)
{
    struct groups_placed g;
    groups_place(&g, shape, GROUPS_WHOLE, 1);
    by_every_method(&g);
}

/* for_shapes calls whole_machine with every shape of a number of dimensions that begins with `text`
 * and has at most NODES nodes, with all dimensions rings, or all lines. */
enum { NODES = 27 };
static void for_shapes(uint32_t dimensions, bool mesh)
{
    uint32_t size[4] = {2, 2, 2, 2};
    for (uint64_t number = 0;;) {
        uint32_t nodes = 1;
        for (uint32_t d = 0; d < dimensions; d++)
            nodes *= size[d];
        if (nodes <= NODES && seeds_pick(number++, 7)) {
            char shape[64] = "";
            for (uint32_t d = 0; d < dimensions; d++)
                snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%u%s",
                         d ? "x" : "", size[d], mesh ? "m" : "");
            whole_machine(shape);
        }
        uint32_t d = 0;
        while (d < dimensions && ++size[d] > NODES)
            size[d++] = 2;
        if (d == dimensions)
            return;
    }
}

static void every_shape_of_up_to_27_nodes_is_served(void **unused)
{
    (void)unused;
    whole_machine("1");
    for (uint32_t dimensions = 1; dimensions <= 4; dimensions++)
        for (int mesh = 0; mesh < 2; mesh++)
            for_shapes(dimensions, mesh);
}

static void some_nodes_of_a_large_machine_are_served(void **unused)
{
    (void)unused;
    static const char *const machines[] = {"8x8", "16mx4", "4x4x4", "8x8x8", "3x5x7m", "4x4x4x4"};
    for (uint64_t i = 0, machines_count = seeds_count(60, 12, 600); i < machines_count; i++) {
        struct groups_placed g;
        groups_pick(&g, machines[i % 6], 1 + (uint32_t)groups_draw(40));
        by_every_method(&g);
    }
}

/* ---- dependencies ---- */

static struct {
    unsigned family, dependency; /* the removed dependency */
    bool found;                  /* it exists */
    const char *of, *on;
} surgery;

static void without_a_dependency(const struct td_compile_input *input, struct td_program *p)
{
    td_select_compile(input, p);
    struct td_family *f = &p->family[surgery.family];
    if (surgery.family >= p->families || surgery.dependency >= f->dependencies)
        return;
    surgery.found = true;
    surgery.of = f->label;
    surgery.on = p->family[f->dependency[surgery.dependency].on].label;
    f->dependencies--;
    for (unsigned d = surgery.dependency; d < f->dependencies; d++)
        f->dependency[d] = f->dependency[d + 1];
}

static void expect_needed(const struct groups_placed *g, struct symbolic_case c)
{
    unsigned found = 0;
    c.rank_node = g->rank_node;
    c.size = g->size;
    c.topology = g->topology;
    c.compile = without_a_dependency;
    for (surgery.family = 0; surgery.family < TD_FAMILIES_MAX; surgery.family++)
        for (surgery.dependency = 0; surgery.dependency < TD_DEPENDENCIES_MAX;
             surgery.dependency++) {
            surgery.found = false;
            const char *wrong = symbolic_check(&c, NULL);
            found += surgery.found;
            if (surgery.found && !wrong)
                fail_msg("%s goes well where %s do not wait for %s", td_kind_name(c.call.kind),
                         surgery.of, surgery.on);
            if (!surgery.found && wrong)
                fail_msg("%s: %s", td_kind_name(c.call.kind), wrong);
            if (!surgery.found)
                break;
        }
    assert_true(found > 0);
}

static void rank_order_needs_every_dependency(void **unused)
{
    (void)unused;
    struct groups_placed g;
    /* three blocks of a scan */
    groups_place(&g, "2", GROUPS_CYCLIC, 32);
    struct symbolic_case c = make(TD_KIND_SCAN, TD_TYPE_COMPLEX_DOUBLE, 24600);
    c.orders = 1;
    expect_needed(&g, c);
    groups_place(&g, "3", GROUPS_CYCLIC, 4);
    draw_counts(TD_KIND_REDUCE_SCATTERV, EQUAL, g.size, 0);
    for (uint32_t i = 0; i < g.size * g.size; i++)
        counts.from_count[i] = counts.to_count[i] = 5;
    c = make(TD_KIND_REDUCE_SCATTERV, TD_TYPE_DOUBLE, 0);
    c.from_count = counts.from_count;
    c.to_count = counts.to_count;
    c.to_at = counts.to_at;
    expect_needed(&g, c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_keeps_its_promise_in_every_group),
        cmocka_unit_test(rank_order_passes_in_blocks),
        cmocka_unit_test(rank_order_needs_every_dependency),
        cmocka_unit_test(parts_of_any_size_reach_their_ranks),
        cmocka_unit_test(every_shape_of_up_to_27_nodes_is_served),
        cmocka_unit_test(some_nodes_of_a_large_machine_are_served),
    };
    long_run = seeds_long();
    /* each case allocates and frees megabytes: keep them */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
