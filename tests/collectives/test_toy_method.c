/* SPDX-License-Identifier: Apache-2.0 */
/* The promise of CONTRIBUTING.md: a new method is one file and one line. This test is linked with
 * toy_bcast.c and with a copy of registry.c that has one line more; all other files are unchanged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "collectives/select.h"
#include "groups.h"

static const char *method; /* of the last program */

static void compile(const struct td_compile_input *in, struct td_program *out)
{
    td_select_compile(in, out);
    method = out->method->name;
}

static struct symbolic_case broadcast(const struct groups_placed *g, enum td_fabric_kind fabric,
                                      uint64_t count)
{
    return (struct symbolic_case){.compile = compile,
                                  .call = {.kind = TD_KIND_BROADCAST,
                                           .type = TD_TYPE_INT32,
                                           .count = count,
                                           .root = (uint32_t)groups_draw(g->size)},
                                  .seed = groups_draw(UINT64_MAX),
                                  .topology = g->topology,
                                  .tuning = {.fabric = (uint8_t)fabric,
                                             .burst = 1,
                                             .packet_bytes = 1024,
                                             .relay_bytes = 1 << 20},
                                  .rank_node = g->rank_node,
                                  .size = g->size,
                                  .orders = 2};
}

static void check(const struct symbolic_case *c, const char *expected)
{
    const char *wrong = symbolic_check(c, NULL);
    if (wrong)
        fail_msg("%u ranks: %s", c->size, wrong);
    assert_string_equal(method, expected);
}

static void the_toy_is_taken_and_keeps_the_promise_of_a_broadcast(void **unused)
{
    (void)unused;
    struct groups_placed g;
    for (unsigned form = 0; form < GROUPS_FORMS; form++)
        for (uint32_t each = 1; each <= 3; each++)
            for (unsigned again = 0; again < 5; again++) {
                groups_place(&g, "3x3", (enum groups_form)form, each);
                struct symbolic_case c = broadcast(&g, TD_FABRIC_DIRECT, 1000);
                check(&c, "toy_bcast");
            }
}

static void other_calls_go_by_the_methods_that_they_went_by(void **unused)
{
    (void)unused;
    struct groups_placed g;
    groups_place(&g, "3x3", GROUPS_WHOLE, 1);
    struct symbolic_case c = broadcast(&g, TD_FABRIC_DIRECT, 10);
    check(&c, "tree_combine"); /* it travels with the gate */
    c = broadcast(&g, TD_FABRIC_ROUTED, 1000);
    check(&c, "bcast_trees"); /* the toy does not apply */
    c = broadcast(&g, TD_FABRIC_DIRECT, 1000);
    c.tuning.rooted_tree = TD_ROOTED_TREE_BINARY;
    check(&c, "bcast"); /* it was requested */
}

static void the_candidates_say_why(void **unused)
{
    (void)unused;
    struct groups_placed g;
    groups_place(&g, "3x3", GROUPS_WHOLE, 1);
    struct symbolic_case c = broadcast(&g, TD_FABRIC_DIRECT, 1000);
    struct td_arena *arena = td_arena_create(1 << 18);
    struct td_group group;
    assert_int_equal(td_group_build(&group, arena, g.rank_node, g.size), TD_OK);
    const struct td_compile_input in = {
        .call = &c.call, .group = &group, .topology = &g.topology, .tuning = &c.tuning};
    struct td_candidate candidate[TD_METHODS_MAX];
    assert_true(td_select_candidates(&in, candidate) > 2);
    assert_string_equal(candidate[0].method->name, "toy_bcast");
    assert_string_equal(candidate[0].reason, "the root sends the buffer to each node");
    assert_string_equal(candidate[1].method->name, "bcast");
    assert_string_equal(candidate[1].reason, "it costs more");
    td_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_toy_is_taken_and_keeps_the_promise_of_a_broadcast),
        cmocka_unit_test(other_calls_go_by_the_methods_that_they_went_by),
        cmocka_unit_test(the_candidates_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
