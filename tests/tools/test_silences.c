/* SPDX-License-Identifier: Apache-2.0 */
/* The silences of nodes in the record of a job, of several nodes: inspect/silences.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inspect/inspect.h"
#include "inspect/silences.h"

enum { JOB = 7, OTHER = 8 };

/* row_of returns what a node says of the silences of node 1. */
static json_t *row_of(int job, int ranks, int waited, int silences, int longest, int age)
{
    return json_pack("{s:i s:i s:i s:i s:i s:i s:i s:i s:i s:i}", "instance", job, "silent_node",
                     1 + 1, "silent_ranks", ranks, "silent_ns", waited, "silent_longest_ns",
                     waited / ranks, "silences", silences, "silence_ns", 2 * longest,
                     "silence_longest_ns", longest, "silence_longest_age_ns", age,
                     "silence_unheard_ns", longest - 5);
}

static void waiting_is_added_up_and_silences_are_not(void **state)
{
    (void)state;
    json_t *rows =
        json_pack("[o o o {s:i s:i}]", row_of(JOB, 2, 30, 9, 15, 7), row_of(JOB, 1, 10, 2, 16, 5),
                  row_of(OTHER, 4, 900, 9, 99, 1), "instance", JOB, "silent_node", 0);
    json_t *found = ins_silences(rows, JOB), *s = json_array_get(found, 0);
    assert_int_equal(json_array_size(found), 1);
    assert_int_equal(ins_number(s, "node"), 1);
    assert_int_equal(ins_number(s, "waited_ns"), 40);
    assert_int_equal(ins_number(s, "ranks"), 3);
    assert_int_equal(ins_number(s, "longest_ns"), 15);
    assert_int_equal(ins_number(s, "silences"), 2);
    assert_int_equal(ins_number(s, "silence_ns"), 32);
    assert_int_equal(ins_number(s, "silence_longest_ns"), 16);
    assert_int_equal(ins_number(s, "silence_longest_age_ns"), 5);
    assert_int_equal(ins_number(s, "silence_unheard_ns"), 11);
    json_decref(found);
    json_decref(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_is_added_up_and_silences_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
