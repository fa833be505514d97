/* SPDX-License-Identifier: Apache-2.0 */
/* All-to-all by every method, on machines of many shapes and groups of many forms. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <string.h>
#include <cmocka.h>

#include "collectives/select.h"
#include "groups.h"
#include "seeds.h"

static const char *const shapes[] = {
    "1x1", "2",    "2m",  "3",     "4",     "5",     "7m",      "8",      "2x2",     "3x3",
    "4x4", "2x3m", "2x5", "4mx4m", "2x2x2", "2x2x4", "3x2mx3m", "3x3x2m", "2x2x2x2", "1x4x2"};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void check(const struct groups_placed *g, struct symbolic_case c,
                  struct symbolic_stats *stats)
{
    c.rank_node = g->rank_node;
    c.size = g->size;
    c.topology = g->topology;
    c.seed = groups_draw(UINT64_MAX);
    if (!c.compile)
        c.compile = td_select_compile;
    const char *wrong = symbolic_check(&c, stats);
    if (wrong) {
        char shape[64];
        const struct td_tuning *t = &c.tuning;
        td_topology_print(&g->topology, shape, sizeof shape);
        fail_msg(
            "%s, form %d, %u ranks, %llu bytes, method %d, fabric %d, parts %d, barriers %d%s, "
            "burst %u of %u, relay %llu: %s",
            shape, (int)g->form, g->size, (unsigned long long)c.call.count, t->alltoall, t->fabric,
            t->parts, t->barriers, t->barriers_of_all ? " of all" : "", t->burst, t->packet_bytes,
            (unsigned long long)t->relay_bytes, wrong);
    }
}

static struct symbolic_case make(enum td_alltoall method, uint64_t count)
{
    struct symbolic_case c = {.orders = 2};
    c.call = (struct td_call){.kind = TD_KIND_ALLTOALL, .type = TD_TYPE_BYTE, .count = count};
    c.tuning = (struct td_tuning){.fabric = TD_FABRIC_ROUTED,
                                  .alltoall = (uint8_t)method,
                                  .burst = 1,
                                  .packet_bytes = 1 << 18};
    return c;
}

/* tune draws all choices of a method. */
static void tune(const struct groups_placed *g, struct symbolic_case *c)
{
    struct td_tuning *t = &c->tuning;
    t->fabric = (uint8_t)groups_draw(TD_FABRICS);
    t->parts = (uint8_t)groups_draw(4);
    t->barriers = (uint8_t)groups_draw(3);
    t->barriers_of_all = groups_draw(3) == 0;
    t->no_gap = groups_draw(2);
    t->in_order = groups_draw(3) == 0;
    t->burst = (uint32_t)(1 + groups_draw(3));
    t->packet_bytes =
        (uint32_t)(groups_draw(3) ? 1 << 18 : g->topology.nodes + g->size + groups_draw(40));
    /* room for all of every message, or for a half, a third or a quarter of it in every buffer */
    t->relay_bytes = (uint64_t)64 << 20;
    if (groups_draw(2)) {
        uint64_t most = 0, slots = groups_nodes(g, &most);
        uint64_t buffers =
            c->tuning.alltoall == TD_ALLTOALL_PHASED ? g->topology.dimensions + 1 : 2;
        t->relay_bytes = most * most * slots * buffers * (1 + c->call.count / (2 + groups_draw(3)));
    }
}

/* for_all calls `test` with every shape and form. */
static void for_all(void (*test)(const struct groups_placed *))
{
    struct groups_placed g;
    uint64_t number = 0;
    for (int s = 0; s < SHAPES; s++)
        for (int form = 0; form < GROUPS_FORMS; form++)
            for (uint32_t per_node = 1; per_node <= 3; per_node++) {
                if (!seeds_pick(number++, 11))
                    continue;
                groups_place(&g, shapes[s], (enum groups_form)form, per_node);
                test(&g);
            }
}

static void by_method(const struct groups_placed *g, enum td_alltoall method)
{
    static const uint64_t counts[] = {0, 1, 2, 3, 7, 40, 111};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct symbolic_case c = make(method, counts[i]);
        tune(g, &c);
        if (groups_draw(2))
            check(g, c, NULL);
    }
}

static void phased(const struct groups_placed *g)
{
    by_method(g, TD_ALLTOALL_PHASED);
}

static void phased_serves_all_groups(void **unused)
{
    (void)unused;
    for_all(phased);
}

static void random_order(const struct groups_placed *g)
{
    by_method(g, TD_ALLTOALL_RANDOM);
}

static void random_order_serves_all_groups(void **unused)
{
    (void)unused;
    for_all(random_order);
}

static void pairwise(const struct groups_placed *g)
{
    by_method(g, TD_ALLTOALL_PAIRWISE);
}

static void pairwise_serves_all_groups(void **unused)
{
    (void)unused;
    for_all(pairwise);
}

static void two_phase(const struct groups_placed *g)
{
    by_method(g, TD_ALLTOALL_TWO_PHASE);
}

static void two_phase_serves_all_groups(void **unused)
{
    (void)unused;
    for_all(two_phase);
}

/* ---- dependencies ---- */

static struct {
    unsigned family, dependency; /* the removed dependency */
    bool found;                  /* it exists */
    const char *of, *on;         /* its labels */
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

/* struct kind: the dependencies between steps of two labels, in all shapes. */
static struct kind {
    const char *of, *on;
    bool needed;
} kinds[64];
static unsigned kinds_count;

static struct kind *kind_of(const char *of, const char *on)
{
    for (unsigned i = 0; i < kinds_count; i++)
        if (strcmp(kinds[i].of, of) == 0 && strcmp(kinds[i].on, on) == 0)
            return &kinds[i];
    assert_true(kinds_count < 64);
    kinds[kinds_count] = (struct kind){of, on, false};
    return &kinds[kinds_count++];
}

/* try_without removes each dependency in turn, in several segments and without barriers, which only
 * pace. */
static void try_without(const char *shape, enum td_alltoall method)
{
    struct groups_placed g;
    groups_place(&g, shape, GROUPS_WHOLE, 1);
    for (unsigned f = 0; f < TD_FAMILIES_MAX; f++)
        for (unsigned d = 0; d < TD_DEPENDENCIES_MAX; d++) {
            struct symbolic_case c = make(method, 60);
            c.tuning.barriers = TD_BARRIERS_NONE;
            c.tuning.relay_bytes = (uint64_t)g.size * 2 * 30;
            c.tuning.packet_bytes = 17;
            c.compile = without_a_dependency;
            c.rank_node = g.rank_node;
            c.size = g.size;
            c.topology = g.topology;
            surgery.family = f;
            surgery.dependency = d;
            surgery.found = false;
            const char *wrong = symbolic_check(&c, NULL);
            if (surgery.found)
                kind_of(surgery.of, surgery.on)->needed |= wrong != NULL;
            else if (wrong)
                fail_msg("%s: %s", shape, wrong);
            else
                break;
        }
}

/* every_dependency_counts: for each there is a shape that fails without it; not all shapes need
 * all. */
static void every_dependency_counts(enum td_alltoall method, const char *const tried[3])
{
    kinds_count = 0;
    for (int s = 0; s < 3; s++)
        try_without(tried[s], method);
    assert_true(kinds_count > 8);
    bool rooms = false;
    for (unsigned i = 0; i < kinds_count; i++) {
        rooms = rooms || strcmp(kinds[i].of, "barrier before the next segment") == 0;
        if (!kinds[i].needed)
            fail_msg("%s goes well where %s does not wait for %s", td_alltoall_name(method),
                     kinds[i].of, kinds[i].on);
    }
    assert_true(rooms); /* some had several segments */
}

static void phased_needs_every_dependency(void **unused)
{
    (void)unused;
    every_dependency_counts(TD_ALLTOALL_PHASED, (const char *const[]){"4", "3x4", "2x3x3"});
}

static void two_phase_needs_every_dependency(void **unused)
{
    (void)unused;
    every_dependency_counts(TD_ALLTOALL_TWO_PHASE, (const char *const[]){"3x4", "2x3x3", "2x5"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phased_serves_all_groups),
        cmocka_unit_test(phased_needs_every_dependency),
        cmocka_unit_test(random_order_serves_all_groups),
        cmocka_unit_test(pairwise_serves_all_groups),
        cmocka_unit_test(two_phase_serves_all_groups),
        cmocka_unit_test(two_phase_needs_every_dependency),
    };
    /* each case allocates and frees megabytes: keep them */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
