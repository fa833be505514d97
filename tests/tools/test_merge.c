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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_of_a_subgroup_is_of_the_job_that_made_it),
        cmocka_unit_test(the_name_decides_for_an_older_daemon),
        cmocka_unit_test(the_merged_row_has_the_job_that_one_node_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
