/* SPDX-License-Identifier: Apache-2.0 */
/* The other jobs that somebody may mean, and whose jobs a list has: inspect/wanted.h, inspect.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "inspect/inspect.h"
#include "inspect/wanted.h"
#include "no_options.h"
#include "printed.h"

#define MS ((json_int_t)1000000)

/* others returns the jobs beside job c of user 0, which was found: a and b of user 0 run, and b of
 * user 7 does. The oldest call of b of user 0 has been in flight for `b_ms`. */
static json_t *others(int b_ms)
{
    const struct ins_wanted any = {.uid = -1};
    json_t *record = json_pack("{s:s s:i}", "job", "c", "uid", 0),
           *all = json_pack("{s:[{s:s s:i}, {s:s s:i}, {s:s s:i}, {s:s s:i}] s:[{s:s s:i s:I}, "
                            "{s:s s:i s:I}, {s:s s:i s:I}]}",
                            "jobs", "name", "a", "uid", 0, "name", "b", "uid", 7, "name", "b",
                            "uid", 0, "name", "c", "uid", 0, "operations", "job", "b",
                            "job_instance", 20, "age_ns", b_ms * MS, "job", "b", "job_instance", 27,
                            "age_ns", 3 * MS, "job", "c", "job_instance", 30, "age_ns", 9000 * MS),
           *records = json_pack("[{s:s s:i s:i}, {s:s s:i s:i}]", "job", "b", "uid", 7, "instance",
                                27, "job", "b", "uid", 0, "instance", 20),
           *found = ins_other_jobs(&any, record, all, records);
    json_decref(record);
    json_decref(all);
    json_decref(records);
    return found;
}

static const char *said(json_t *jobs)
{
    printed_begin();
    ins_other_jobs_print(jobs, "why");
    const char *printed = printed_end();
    json_decref(jobs);
    return printed;
}

static void a_job_in_which_a_call_waits_comes_first(void **state)
{
    (void)state;
    json_t *jobs = others(4000);
    assert_int_equal(json_array_size(jobs), 3);
    assert_int_equal(ins_number(json_array_get(jobs, 0), "waits_ns"), 4000 * MS);
    assert_int_equal(ins_number(json_array_get(jobs, 0), "uid"), 0);
    assert_int_equal(ins_number(json_array_get(jobs, 1), "waits_ns"), 0);
    assert_int_equal(ins_number(json_array_get(jobs, 2), "waits_ns"), 3 * MS);
    assert_string_equal(said(jobs),
                        "3 other jobs: b of user 0 (a call has been in flight for 4.0s), a of user "
                        "0, b of user 7; torusctl why JOB [--user UID] shows another\n");
}

static void short_calls_are_not_told(void **state)
{
    (void)state;
    assert_string_equal(said(others(999)), "3 other jobs: a of user 0, b of user 7, b of user 0; "
                                           "torusctl why JOB [--user UID] shows another\n");
}

static void a_list_for_a_user_says_that_it_is_one(void **state)
{
    (void)state;
    char text[64];
    assert_string_equal(ins_scope(text, sizeof text, 0), "");
    assert_string_equal(ins_scope(text, sizeof text, 1000), " that user 1000 may see");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_in_which_a_call_waits_comes_first),
        cmocka_unit_test(short_calls_are_not_told),
        cmocka_unit_test(a_list_for_a_user_says_that_it_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
