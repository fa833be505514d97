/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence about nodes whose clock is not synchronised: inspect/clocks.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inspect/clocks.h"

static void expect(json_t *nodes, const char *expected)
{
    char text[200];
    ins_clocks_text(text, sizeof text, nodes);
    assert_string_equal(text, expected);
    json_decref(nodes);
}

static void few_nodes_are_named_one_by_one(void **state)
{
    (void)state;
    expect(json_pack("[i]", 1), "the kernel's clock of node 1 is not synchronised");
    expect(json_pack("[i,i]", 0, 1),
           "the kernel's clocks of node 0 and node 1 are not synchronised");
    expect(json_pack("[i,i,i,i]", 0, 2, 4, 65535),
           "the kernel's clocks of node 0, node 2, node 4 and node 65535 are not synchronised");
}

static void many_nodes_are_one_list(void **state)
{
    (void)state;
    expect(json_pack("[i,i,i,i,i]", 0, 1, 2, 3, 7),
           "the kernel's clocks of nodes 0-3,7 are not synchronised");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_nodes_are_named_one_by_one),
        cmocka_unit_test(many_nodes_are_one_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
