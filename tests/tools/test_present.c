/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a job in flight beside those that are over: inspect/present.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inspect/inspect.h"
#include "inspect/present.h"
#include "inspect/verdict.h"

enum { JOB = 7, OTHER = 8 };
#define SECOND 1000000000LL

/* The verdicts ask daemons, and are tested with them. Here each operation gets one. */
void ins_verdicts(struct ins_machine *m, json_t *all)
{
    json_t *o = NULL;
    size_t i = 0;
    (void)m;
    json_array_foreach(json_object_get(all, "operations"), i, o)
        json_object_set_new(o, "causes", json_pack("[{s:s}]", "cause", "late_rank"));
}

void ins_verdicts_print(const json_t *operation, bool of_job)
{
    (void)operation;
    (void)of_job;
}

/* first returns true if a call in flight for `age` ns comes before those that are over, for whose
 * last rank the others have waited `waited` ns in all. */
static bool first(json_int_t age, json_int_t waited)
{
    json_t *present = age ? json_pack("[{s:I}]", "age_ns", age) : json_array();
    json_t *over = waited ? json_pack("[{s:I}]", "waited_ns", waited) : json_array();
    bool is = ins_present_comes_first(present, over);
    json_decref(present);
    json_decref(over);
    return is;
}

static void a_long_wait_in_flight_comes_before_the_calls_that_are_over(void **state)
{
    (void)state;
    assert_true(first(SECOND, 3600 * SECOND)); /* whatever was before */
    assert_true(first(3000, 2000));            /* longer than all waiting before */
    assert_true(first(3000, 0));
    assert_false(first(SECOND - 1, SECOND)); /* as calls do */
    assert_false(first(0, SECOND));
    assert_false(first(0, 0));
}

static json_t *operation(int instance, int sequence, json_int_t age)
{
    return json_pack("{s:s s:i s:i s:i s:i s:I s:s s:s s:[i] s:[i] s:[]}", "job", "heat", "group",
                     0, "instance", instance, "job_instance", instance, "sequence", sequence,
                     "age_ns", age, "kind", "barrier", "phase", "waiting", "arrived", 1, "missing",
                     0, "absent");
}

static void the_calls_of_the_job_alone_are_listed_with_the_oldest_first(void **state)
{
    (void)state;
    json_t *all = json_pack("{s:[o,o,o] s:[] s:[]}", "operations", operation(JOB, 5, 10),
                            operation(OTHER, 6, 99), operation(JOB, 4, 20), "clients", "peers");
    json_t *present = ins_present(NULL, all, "heat", JOB);
    assert_int_equal(json_array_size(present), 2);
    assert_int_equal(ins_number(json_array_get(present, 0), "sequence"), 4);
    assert_int_equal(ins_number(json_array_get(present, 1), "sequence"), 5);
    json_t *causes = json_object_get(json_array_get(present, 0), "causes");
    assert_string_equal(ins_string(json_array_get(causes, 0), "cause"), "late_rank");
    json_decref(present);
    json_decref(all);
}

static void the_processes_of_an_operation_are_those_of_its_ranks(void **state)
{
    (void)state;
    json_t *operations = json_pack("[o]", operation(JOB, 4, 20));
    json_t *clients = json_pack("[{s:s s:i s:i s:b s:i s:s s:i}, {s:s s:i s:i s:b s:i s:s s:i}]",
                                "job", "heat", "seat", 0, "rank", 1, "joining", 0, "pid", 100,
                                "program", "a.out", "node", 2, "job", "cold", "seat", 0, "rank", 0,
                                "joining", 0, "pid", 101, "program", "a.out", "node", 2);
    ins_add_processes(operations, clients);
    const json_t *processes = json_object_get(json_array_get(operations, 0), "processes");
    assert_int_equal(json_array_size(processes), 1);
    const json_t *p = json_array_get(processes, 0);
    assert_int_equal(ins_number(p, "pid"), 100);
    assert_int_equal(ins_number(p, "node"), 2);
    assert_true(json_is_true(json_object_get(p, "arrived")));
    json_decref(clients);
    json_decref(operations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_wait_in_flight_comes_before_the_calls_that_are_over),
        cmocka_unit_test(the_calls_of_the_job_alone_are_listed_with_the_oldest_first),
        cmocka_unit_test(the_processes_of_an_operation_are_those_of_its_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
