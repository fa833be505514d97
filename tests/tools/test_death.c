/* SPDX-License-Identifier: Apache-2.0 */
/* What `torusctl why` says of the first rank that died: inspect/death.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "inspect/death.h"
#include "inspect/inspect.h"
#include "printed.h"

#define MS ((json_int_t)1000000)

/* said returns what is printed at 12:00:40 of a day in 2020 of the death of rank 2, whose daemon
 * did not run for `paused_ms`, if a call has failed 1.5 s ago (NULL: none has). */
static const char *said(const char *failure, int age_ms, int paused_ms)
{
    json_t *record =
        json_pack("{s:I s:s s:i s:I s:{s:i s:i s:i s:I s:I}}", "unix_ns", 1589976040000 * MS,
                  "text", failure ? failure : "", "error", failure ? 5 : 0, "failed_ns",
                  failure ? 1500 * MS : 0, "death", "rank", 2, "node", 1, "pid", 77, "age_ns",
                  age_ms * MS, "paused_ns", paused_ms * MS);
    printed_begin();
    ins_death_print(record);
    const char *printed = printed_end();
    json_decref(record);
    return printed;
}

static void a_death_has_its_time(void **state)
{
    (void)state;
    assert_string_equal(said("rank 3 called barrier", 4000, 0),
                        "rank 2 died 4.0s ago, at 2020-05-20 12:00:36.000, 2.5s before that call "
                        "failed: process 77 on node 1\n");
    assert_string_equal(said(NULL, 4000, 0), "rank 2 died 4.0s ago, at 2020-05-20 12:00:36.000: "
                                             "process 77 on node 1\n");
    assert_string_equal(said("rank 2 of job x died", 1500, 0), ""); /* the failure has told it */
}

/* The daemon cannot know when the rank gave it up: only when it noticed that. */
static void a_rank_that_gave_up_its_daemon_has_the_time_when_that_was_noticed(void **state)
{
    (void)state;
    assert_string_equal(
        said("rank 3 called barrier", 1600, 14000),
        "torusd on node 1 did not run for 14.0s, and rank 2, process 77, gave it up "
        "or died meanwhile; torusd noticed that 1.6s ago, at 2020-05-20 "
        "12:00:38.400, 100ms before that call failed\n");
}

static void a_failure_that_a_daemon_noticed_after_a_pause_may_be_older(void **state)
{
    (void)state;
    assert_string_equal(
        said("torusd on node 1 (1) did not run for 14.0 s, and rank 2 of job x gave "
             "it up or died: process 77",
             1501, 14000),
        "torusd on node 1 did not run from 2020-05-20 12:00:24 to 2020-05-20 "
        "12:00:38: ranks there that gave it up had their errors in that time\n");
}

int main(void)
{
    setenv("TZ", "UTC", 1);
    tzset();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_has_its_time),
        cmocka_unit_test(a_rank_that_gave_up_its_daemon_has_the_time_when_that_was_noticed),
        cmocka_unit_test(a_failure_that_a_daemon_noticed_after_a_pause_may_be_older),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
