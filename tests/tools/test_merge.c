/* SPDX-License-Identifier: Apache-2.0 */
/* How torusctl merges what several nodes say: inspect/merge.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inspect/inspect.h"
#include "inspect/merge.h"

enum { JOB = 7, LATER_JOB = 8, SUBGROUP = 70 };

/* operation returns an operation of job "heat", as a node lists it; job_instance 0: an old daemon.
 */
static json_t *operation(int group, int instance, int job_instance)
{
    return json_pack("{s:s s:i s:i s:i}", "job", "heat", "group", group, "instance", instance,
                     "job_instance", job_instance);
}

static bool is_of(int group, int instance, int job_instance, int job)
{
    json_t *o = operation(group, instance, job_instance);
    bool is = ins_is_operation_of(o, "heat", job);
    json_decref(o);
    return is;
}

static void an_operation_of_a_subgroup_is_of_the_job_that_made_it(void **state)
{
    (void)state;
    assert_true(is_of(0, JOB, JOB, JOB));
    assert_false(is_of(0, JOB, JOB, LATER_JOB));
    assert_true(is_of(1, SUBGROUP, JOB, JOB));
    assert_false(is_of(1, SUBGROUP, JOB, LATER_JOB)); /* of the same name */
}

static void the_name_decides_for_an_older_daemon(void **state)
{
    (void)state;
    json_t *o = operation(1, SUBGROUP, 0);
    assert_true(ins_is_operation_of(o, "heat", JOB));
    assert_false(ins_is_operation_of(o, "cold", JOB));
    json_decref(o);
    assert_true(is_of(0, JOB, 0, JOB));
    assert_false(is_of(0, JOB, 0, LATER_JOB));
}

static void the_merged_row_has_the_job_that_one_node_says(void **state)
{
    (void)state;
    json_t *rows = json_array();
    for (int i = 0; i < 2; i++) {
        json_t *o = operation(1, SUBGROUP, i ? JOB : 0);
        json_object_set_new(o, "kind", json_string("barrier"));
        json_object_set_new(o, "absent", json_array());
        json_object_set_new(o, "at", json_integer(i));
        json_array_append_new(rows, o);
    }
    json_t *merged = ins_merge_operations(rows);
    assert_int_equal(json_array_size(merged), 1);
    assert_int_equal(ins_number(json_array_get(merged, 0), "job_instance"), JOB);
    json_decref(merged);
    json_decref(rows);
}

/* The node of a rank that has not called knows the operation by messages that do not name the call.
 */
static void an_operation_is_the_same_on_a_node_that_does_not_know_the_call(void **state)
{
    (void)state;
    static const char *const kind[] = {"", "broadcast of 8 B from rank 0", "shrink"};
    json_t *o[3];
    for (int i = 0; i < 3; i++) {
        o[i] = operation(1, SUBGROUP, JOB);
        json_object_set_new(o[i], "kind", json_string(kind[i]));
    }
    assert_true(ins_is_same_operation(o[0], o[1]));
    assert_false(ins_is_same_operation(o[1], o[2]));
    json_object_set_new(o[0], "sequence", json_integer(ins_number(o[1], "sequence") + 1));
    assert_false(ins_is_same_operation(o[0], o[1]));
    for (int i = 0; i < 3; i++)
        json_decref(o[i]);
}

/* A node that has become the registry meanwhile knows the first join of its list only. */
static void a_job_has_formed_for_as_long_as_the_first_join_has_waited_on_any_node(void **state)
{
    (void)state;
    json_t *rows = json_array();
    for (int i = 0; i < 3; i++)
        json_array_append_new(rows, json_pack("{s:s s:i s:i s:i s:[i] s:i s:i}", "name", "heat",
                                              "uid", 0, "size", 2, "joined", 1, "missing", 1,
                                              "forming_ns", i == 1 ? 9 : 5, "at", i));
    json_t *merged = ins_merge_jobs(rows);
    assert_int_equal(json_array_size(merged), 1);
    assert_int_equal(ins_number(json_array_get(merged, 0), "forming_ns"), 9);
    json_decref(merged);
    json_decref(rows);
}

/* record returns the record of a job on one node, with its ages. */
static json_t *record(int node, int instance, int formed, int ended, int failed, int died)
{
    return json_pack("{s:s s:i s:i s:i s:i s:i s:i s:i s:s s:i s:i s:i s:i}", "job", "heat", "at",
                     node, "operations", 1000 + node, "instance", instance, "formed_ns", formed,
                     "ended_ns", ended, "failed_ns", failed, "error", failed ? -8 : 0, "text",
                     failed ? "rank 1 died" : "", "died_ns", died, "died_rank", node, "died_pid",
                     100 + node, "died_paused_ns", 10 * node);
}

static void the_record_of_a_job_has_what_came_first_on_any_node(void **state)
{
    (void)state;
    json_t *rows = json_array();
    json_array_append_new(rows, record(0, JOB, 50, 5, 0, 0));
    json_array_append_new(rows, record(1, JOB, 90, 9, 70, 71));
    json_array_append_new(rows, record(2, JOB, 60, 7, 55, 80));
    json_array_append_new(rows, record(3, LATER_JOB, 99, 1, 99, 99));
    json_t *merged = json_array_get(rows, 0);
    ins_merge_record(merged, rows);
    assert_int_equal(ins_number(merged, "formed_ns"), 90); /* before the failure of node 1 */
    assert_int_equal(ins_number(merged, "ended_ns"), 5);
    assert_int_equal(ins_number(merged, "failed_ns"), 70);
    assert_int_equal(ins_number(merged, "error"), -8);
    assert_string_equal(ins_string(merged, "text"), "rank 1 died");
    const json_t *death = json_object_get(merged, "death");
    assert_int_equal(ins_number(death, "age_ns"), 80);
    assert_int_equal(ins_number(death, "rank"), 2);
    assert_int_equal(ins_number(death, "pid"), 102);
    assert_int_equal(ins_number(death, "paused_ns"), 20);
    assert_int_equal(ins_number(merged, "operations"), 1002);
    json_decref(rows);
}

static void a_job_that_is_not_over_on_a_node_is_not_over(void **state)
{
    (void)state;
    json_t *rows = json_array();
    json_array_append_new(rows, record(0, JOB, 50, 5, 0, 0));
    json_array_append_new(rows, record(1, JOB, 50, 0, 0, 0));
    json_t *merged = json_array_get(rows, 0);
    ins_merge_record(merged, rows);
    assert_int_equal(ins_number(merged, "ended_ns"), 0);
    assert_null(json_object_get(merged, "death"));
    json_decref(rows);
}

static void the_record_of_a_job_tells_which_nodes_it_lacks(void **state)
{
    (void)state;
    json_t *rows = json_pack("[o,o,o]", record(0, JOB, 50, 0, 0, 0),
                             record(2, LATER_JOB, 9, 0, 0, 0), record(5, JOB, 48, 0, 0, 0));
    json_t *merged = json_array_get(rows, 0);
    json_t *silent = json_pack("[{s:i}]", "node", 1);
    json_t *daemons = json_pack("[{s:i s:i}, {s:i s:i}, {s:i s:i}]", "at", 0, "age_ns", 500, "at",
                                2, "age_ns", 30, "at", 3, "age_ns", 500);
    static const struct {
        int node, age;
        const char *reason;
    } expected[] = {{1, 0, "silent"}, {2, 30, "restarted"}, {3, 0, "replaced"}};
    json_object_set_new(json_array_get(rows, 2), "nodes", json_pack("[i,i,i,i,i]", 0, 1, 2, 3, 5));
    ins_merge_record(merged, rows);
    json_t *without = ins_merge_without(merged, rows, silent, daemons);
    assert_int_equal(json_array_size(without), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *w = json_array_get(without, i);
        assert_int_equal(ins_number(w, "node"), expected[i].node);
        assert_int_equal(ins_number(w, "age_ns"), expected[i].age);
        assert_string_equal(ins_string(w, "reason"), expected[i].reason);
    }
    json_decref(without);
    json_decref(daemons);
    json_decref(silent);
    json_decref(rows);
}

/* silences returns what the command knows of nodes 3 and 4 after `heard`. */
static json_t *silences(json_t *heard)
{
    json_t *silent = json_pack("[{s:i}, {s:i}]", "node", 3, "node", 4);
    ins_merge_silence(silent, heard);
    json_decref(heard);
    return silent;
}

static void a_node_is_silent_since_any_node_has_heard_it_last(void **state)
{
    (void)state;
    /* node 0 has not needed node 3 for an hour, node 1 has never, and node 2 hears its heartbeats
     */
    json_t *silent =
        silences(json_pack("[{s:i s:i s:i}, {s:i s:i s:i}, {s:i s:i s:i}, {s:i s:i s:i}]", "node",
                           3, "silent_ns", 3600, "at", 0, "node", 3, "silent_ns", 0, "at", 1,
                           "node", 3, "silent_ns", 5, "at", 2, "node", 5, "silent_ns", 1, "at", 2));
    assert_int_equal(ins_number(json_array_get(silent, 0), "silent_ns"), 5);
    assert_int_equal(ins_number(json_array_get(silent, 0), "heard_by"), 2);
    assert_null(json_object_get(json_array_get(silent, 1), "silent_ns"));
    assert_null(json_object_get(json_array_get(silent, 1), "heard_by"));
    json_decref(silent);
}

/* Of a shrink whose callers have died, all nodes say that nobody waits for it. */
static void a_shrink_that_nobody_waits_for_is_dropped(void **state)
{
    (void)state;
    for (int waits = 0; waits < 2; waits++)
        for (int all_answer = 0; all_answer < 2; all_answer++) {
            json_t *rows = json_array();
            for (int i = 0; i < 3; i++) {
                json_t *o = operation(0, JOB, JOB);
                json_object_set_new(o, "kind", json_string("shrink"));
                json_object_set_new(o, "absent", json_array());
                json_object_set_new(o, "at", json_integer(i));
                json_object_set_new(o, "nobody_waits", json_boolean(i != waits));
                if (!waits)
                    json_object_set_new(o, "nobody_waits", json_true());
                json_array_append_new(rows, o);
            }
            json_t *merged = ins_merge_operations(rows);
            assert_int_equal(json_array_size(merged), 1);
            ins_drop_abandoned(merged, all_answer);
            assert_int_equal(json_array_size(merged), waits || !all_answer);
            assert_null(json_object_get(json_array_get(merged, 0), "nobody_waits"));
            json_decref(merged);
            json_decref(rows);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shrink_that_nobody_waits_for_is_dropped),
        cmocka_unit_test(an_operation_of_a_subgroup_is_of_the_job_that_made_it),
        cmocka_unit_test(the_name_decides_for_an_older_daemon),
        cmocka_unit_test(the_merged_row_has_the_job_that_one_node_says),
        cmocka_unit_test(an_operation_is_the_same_on_a_node_that_does_not_know_the_call),
        cmocka_unit_test(a_job_has_formed_for_as_long_as_the_first_join_has_waited_on_any_node),
        cmocka_unit_test(the_record_of_a_job_has_what_came_first_on_any_node),
        cmocka_unit_test(a_job_that_is_not_over_on_a_node_is_not_over),
        cmocka_unit_test(the_record_of_a_job_tells_which_nodes_it_lacks),
        cmocka_unit_test(a_node_is_silent_since_any_node_has_heard_it_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
