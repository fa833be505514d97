/* SPDX-License-Identifier: Apache-2.0 */
/* The ages of jobs that form, and which of them is the latest: inspect/forming.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inspect/forming.h"
#include "inspect/groups.h"
#include "inspect/inspect.h"
#include "no_options.h"

#define MS ((json_int_t)1000000)

/* The module asks which jobs form, too; the program's tests do. */
bool ins_is_forming(const json_t *jobs, const json_t *groups, const json_t *job)
{
    (void)jobs;
    (void)groups;
    (void)job;
    fail();
    return false;
}

static void ages_are_those_of_an_earlier_moment(void **state)
{
    (void)state;
    const struct ins_wanted any = {.uid = -1};
    /* the last one is from an older daemon, which tells no age */
    json_t *forming =
        json_pack("[{s:s s:i s:I}, {s:s s:i s:I}, {s:s s:i s:I}]", "name", "old", "uid", 0,
                  "forming_ns", 900 * MS, "name", "new", "uid", 0, "forming_ns", 20 * MS, "name",
                  "unknown", "uid", 1, "forming_ns", (json_int_t)0);
    ins_forming_earlier(forming, 15 * MS);
    assert_int_equal(ins_number(json_array_get(forming, 0), "forming_ns"), 885 * MS);
    assert_int_equal(ins_number(json_array_get(forming, 1), "forming_ns"), 5 * MS);
    assert_int_equal(ins_number(json_array_get(forming, 2), "forming_ns"), 0);
    ins_forming_earlier(forming,
                        6 * MS); /* it began after that moment, and has an age all the same */
    assert_int_equal(ins_number(json_array_get(forming, 1), "forming_ns"), 1);
    json_array_remove(forming, 2);
    assert_string_equal(ins_string(ins_forming_latest(forming, &any), "name"), "new");
    json_decref(forming);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ages_are_those_of_an_earlier_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
