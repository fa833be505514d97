/* SPDX-License-Identifier: Apache-2.0 */
/* What `torusctl why` says of the nodes that the failure of a job names: inspect/lost.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "inspect/inspect.h"
#include "inspect/lost.h"
#include "printed.h"

#define S ((json_int_t)1000000000)

static const char restart[] = "job heat lost node 1 (1): its daemon was restarted",
                  cut[] = "job heat lost node 1 (1): nothing has come from it for 30 s";

static int ended_s = 39, /* the job ended so long ago */
    silent_s;            /* the earlier daemon of node 1 was not heard for so long */

/* said returns what is printed of a failure 40 s ago, if the daemon of node 1 was restarted
 * `restarted_s` ago (0: never). */
static const char *said(const char *text, int restarted_s, bool died)
{
    json_t *peers = json_pack("[{s:i s:s s:I s:b s:I}, {s:i s:s s:I s:b}]", "node", 1, "endpoint",
                              "tcp://beta:7600", "restarted_ns", restarted_s * S, "died", died,
                              "restart_silent_ns", silent_s * S, "node", 11, "endpoint",
                              "tcp://kappa:7600", "restarted_ns", 5 * S, "died", 0),
           *record = json_pack("{s:s s:i s:I s:I s:I s:I s:[i]}", "text", text, "error", 5,
                               "failed_ns", 40 * S, "formed_ns", 60 * S, "unix_ns", 1000000 * S,
                               "ended_ns", ended_s * S, "nodes", 1);
    json_object_set_new(record, "named_nodes", ins_lost_nodes(record, peers));
    json_object_set_new(record, "restarted", ins_lost_restarted(record, peers));
    printed_begin();
    ins_lost_print(record);
    const char *printed = printed_end();
    json_decref(record);
    json_decref(peers);
    return printed;
}

static void expect(const char *printed, const char *start, const char *end)
{
    size_t length = strlen(printed), ending = strlen(end);
    assert_memory_equal(printed, start, strlen(start));
    assert_true(length >= ending && strcmp(printed + length - ending, end) == 0);
    assert_ptr_equal(strchr(printed, '\n'), printed + length - 1); /* one line: not of node 11 */
}

static void a_restart_at_the_failure_is_told(void **state)
{
    (void)state;
    expect(said(restart, 41, true),
           "  the daemon of node 1 (host beta) was restarted 41.0s ago, at ",
           "; the earlier one crashed or was killed\n");
    expect(said(restart, 38, false), /* another node heard of it later */
           "  the daemon of node 1 (host beta) was restarted 38.0s ago, at ", "\n");
}

static void a_later_restart_is_not_told_as_the_cause(void **state)
{
    (void)state;
    expect(
        said(restart, 1, false),
        "  the daemon of node 1 (host beta) was restarted again after the failure, 1.0s ago, at ",
        "\n");
    expect(said("job x lost node 1 (1): its daemon was stopped by its operator", 1, false),
           "  the daemon of node 1 (host beta) was started again after the failure, 1.0s ago, at ",
           "\n");
    expect(said(cut, 1, true),
           "  the daemon of node 1 (host beta) was restarted after the failure, 1.0s ago, at ",
           "; the one before it crashed or was killed\n");
}

/* A daemon hung, and was killed and started again: its silence is not all. */
static void the_silence_before_a_restart_is_told(void **state)
{
    (void)state;
    silent_s = 6;
    expect(said(restart, 40, false),
           "  the daemon of node 1 (host beta) was restarted 40.0s ago, at ",
           "; the earlier one had been silent for 6.0s: its journal says how it ended\n");
    silent_s = 0;
}

/* The failure names no node, or none has failed; the ranks of node 1 are lost all the same. */
static void a_restart_during_the_job_is_told(void **state)
{
    (void)state;
    static const char line[] = "  the daemon of node 1 (host beta) was restarted 45.0s ago, at ";
    expect(said("rank 3 called barrier", 45, false), line, "\n");
    assert_string_equal(said("rank 3 called barrier", 38, false), ""); /* when it was over */
    assert_string_equal(said("", 38, false), "");
    ended_s = 0;
    expect(said("", 45, false), line, "\n");
    ended_s = 39;
}

/* The daemon that is asked has no row of itself among its peers: it knows its age. */
static void the_restart_of_the_daemon_that_is_asked_is_told(void **state)
{
    (void)state;
    for (int age_s = 45; age_s <= 70; age_s += 25) {
        json_t *none = json_array(), *peers = ins_lost_with_own(none, 1, age_s * S),
               *record = json_pack("{s:s s:i s:I s:I s:I s:I s:[i]}", "text", "", "error", 0,
                                   "failed_ns", 0 * S, "formed_ns", 60 * S, "unix_ns", 1000000 * S,
                                   "ended_ns", 39 * S, "nodes", 1);
        json_object_set_new(record, "restarted", ins_lost_restarted(record, peers));
        printed_begin();
        ins_lost_print(record);
        const char *printed = printed_end();
        if (age_s > 60)
            assert_string_equal(printed, ""); /* it is older than the job */
        else
            expect(printed, "  the daemon of node 1 was restarted 45.0s ago, at ",
                   "; its journal says how the earlier one ended\n");
        json_decref(record);
        json_decref(peers);
        json_decref(none);
    }
}

static void a_node_without_a_restart_has_its_host(void **state)
{
    (void)state;
    assert_string_equal(said(cut, 0, false), "  node 1 is host beta\n");
    assert_string_equal(said(cut, 70, false), "  node 1 is host beta\n"); /* before the job */
    assert_string_equal(said("rank 3 called barrier", 1, false), "");
}

static void only_a_failure_by_its_daemon_loses_a_record_with_it(void **state)
{
    (void)state;
    json_t *by_restart = json_pack("{s:s}", "text", restart),
           *by_cut = json_pack("{s:s}", "text", cut);
    assert_true(ins_lost_with_daemon(by_restart, 1));
    assert_false(ins_lost_with_daemon(by_restart, 2));
    assert_false(ins_lost_with_daemon(by_cut, 1));
    json_decref(by_restart);
    json_decref(by_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_at_the_failure_is_told),
        cmocka_unit_test(a_later_restart_is_not_told_as_the_cause),
        cmocka_unit_test(the_silence_before_a_restart_is_told),
        cmocka_unit_test(a_restart_during_the_job_is_told),
        cmocka_unit_test(the_restart_of_the_daemon_that_is_asked_is_told),
        cmocka_unit_test(a_node_without_a_restart_has_its_host),
        cmocka_unit_test(only_a_failure_by_its_daemon_loses_a_record_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
