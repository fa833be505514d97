/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks have not called, and of which nobody knows: inspect/absence.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "inspect/absence.h"

#define SECOND 1000000000LL

/* ---- a machine of two nodes: ranks 0 and 1 on node 0, ranks 2 to 5 on node 1 (host beta) ---- */

/* expect compares what is told of an operation that misses ranks 1 to 5, with `silent` nodes. The
 * daemons describe ranks 1 to 4 only. Node 0 lists its processes; node 1 lists its own if `beta`
 * answers. */
static void expect(json_t *silent, bool beta, const char *told)
{
    json_t *o = json_pack("{s:[i,i,i,i,i] s:[{s:i s:i s:s s:i}] s:[{s:i}, {s:i}]}", "missing", 1, 2,
                          3, 4, 5, "absent", "rank", 1, "node", 0, "node_state", "up", "pid", 11,
                          "processes", "rank", 0, "rank", 1);
    json_t *peers =
        json_pack("[{s:i s:s}]", "node", 1, "endpoint", "tcp://beta:7117"); /* of node 0 */
    for (int rank = 2; rank < 6; rank++) {
        if (rank < 5)
            json_array_append_new(json_object_get(o, "absent"),
                                  json_pack("{s:i s:i s:s s:i s:I}", "rank", rank, "node", 1,
                                            "node_state", "up", "pid", beta ? rank + 10 : 0,
                                            "silent_ns", 2 * SECOND));
        if (beta)
            json_array_append_new(json_object_get(o, "processes"),
                                  json_pack("{s:i}", "rank", rank));
    }
    char text[400];
    ins_absence_text(text, sizeof text, o, silent, peers);
    assert_string_equal(text, told);
    json_t *unknown = ins_unknown_ranks(o, silent);
    assert_int_equal(json_array_size(unknown), beta ? 0 : 4);
    json_decref(unknown);
    json_decref(peers);
    json_decref(o);
    json_decref(silent);
}

static void ranks_of_nodes_that_answer_have_not_called(void **state)
{
    (void)state;
    expect(json_array(), true, "ranks 1-5 have not called");
}

static void nobody_knows_whether_ranks_of_a_silent_node_have_called(void **state)
{
    (void)state;
    expect(json_pack("[{s:i s:I}]", "node", 1, "silent_ns", 12 * SECOND), false,
           "rank 1 has not called, and whether ranks 2-5 have called is not known: node 1 (host "
           "beta) has been silent for 12.0s");
}

static void a_node_that_was_stopped_or_heard_by_another_is_not_called_silent(void **state)
{
    (void)state;
    expect(
        json_pack("[{s:i s:I s:b}]", "node", 1, "silent_ns", 12 * SECOND, "stopped", true), false,
        "rank 1 has not called, and whether ranks 2-5 have called is not known: node 1 (host beta) "
        "was stopped by its operator");
    expect(json_pack("[{s:i s:I}]", "node", 1, "silent_ns", SECOND / 5), false,
           "rank 1 has not called, and whether ranks 2-5 have called is not known: node 1 (host "
           "beta) does not answer");
}

/* Rank 5 is not described, and may be on either node. */
static void several_silent_nodes_are_named(void **state)
{
    (void)state;
    expect(
        json_pack("[{s:i}, {s:i}]", "node", 1, "node", 2), false,
        "rank 1 has not called, and whether ranks 2-5 have called is not known: nodes 1-2 do not "
        "answer");
}

/* Node 2 has no ranks of the operation, and has been silent for long. */
static void a_silent_node_without_ranks_explains_nothing(void **state)
{
    json_t *o = json_pack("{s:[i] s:[] s:[{s:i}] s:[i,i]}", "missing", 1, "absent", "processes",
                          "rank", 0, "member_nodes", 0, 1),
           *silent = json_pack("[{s:i s:I}]", "node", 2, "silent_ns", 99 * SECOND);
    char text[400];
    (void)state;
    ins_absence_text(text, sizeof text, o, silent, NULL);
    assert_string_equal(text, "rank 1 has not called");
    json_array_append_new(silent, json_pack("{s:i s:I}", "node", 1, "silent_ns", 5 * SECOND));
    ins_absence_text(text, sizeof text, o, silent, NULL);
    assert_string_equal(text,
                        "whether rank 1 has called is not known: node 1 has been silent for 5.0s");
    json_decref(silent);
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_node_without_ranks_explains_nothing),
        cmocka_unit_test(ranks_of_nodes_that_answer_have_not_called),
        cmocka_unit_test(nobody_knows_whether_ranks_of_a_silent_node_have_called),
        cmocka_unit_test(a_node_that_was_stopped_or_heard_by_another_is_not_called_silent),
        cmocka_unit_test(several_silent_nodes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
