/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks made which call, as the nodes say: inspect/sides.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inspect/inspect.h"
#include "inspect/sides.h"

/* No test asks a daemon. */
json_t *ins_machine_rows(struct ins_machine *m, uint32_t section,
                         json_t *(*row_json)(const struct td_status_row *row))
{
    (void)m;
    (void)section;
    (void)row_json;
    return NULL;
}

static json_t *row(const char *call, int first, int second, int instance)
{
    return json_pack("{s:s s:[i,i] s:i s:i}", "call", call, "rank", first, second, "count", 2,
                     "instance", instance);
}

static void the_ranks_of_all_nodes_are_on_their_sides_with_the_minority_first(void **state)
{
    (void)state;
    json_t *rows = json_pack("[o,o,o,o]", row("barrier", 4, 5, 7), row("bcast", 2, 3, 7),
                             row("barrier", 0, 1, 7), row("gather", 6, 7, 8));
    json_t *sides = ins_sides_of(rows, 7);
    assert_int_equal(json_array_size(sides), 2);
    assert_string_equal(ins_string(json_array_get(sides, 0), "call"), "bcast");
    const json_t *most = json_array_get(sides, 1), *ranks = json_object_get(most, "ranks");
    assert_string_equal(ins_string(most, "call"), "barrier");
    assert_int_equal(ins_number(most, "count"), 4);
    static const json_int_t expected[] = {0, 1, 4, 5};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(json_integer_value(json_array_get(ranks, i)), expected[i]);
    json_decref(sides);
    json_decref(rows);
}

static void of_two_halves_that_with_the_lowest_rank_is_first(void **state)
{
    (void)state;
    json_t *rows = json_pack("[o,o]", row("barrier", 2, 3, 7), row("bcast", 0, 1, 7));
    json_t *sides = ins_sides_of(rows, 7);
    assert_string_equal(ins_string(json_array_get(sides, 0), "call"), "bcast");
    assert_string_equal(ins_string(json_array_get(sides, 1), "call"), "barrier");
    json_decref(sides);
    json_decref(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ranks_of_all_nodes_are_on_their_sides_with_the_minority_first),
        cmocka_unit_test(of_two_halves_that_with_the_lowest_rank_is_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
