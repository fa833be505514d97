/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of a job that is broken: inspect/remains.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "inspect/groups.h"
#include "inspect/inspect.h"
#include "inspect/job_states.h"
#include "inspect/remains.h"
#include "printed.h"

/* These ask daemons, and are tested with them. */
bool ins_is_forming(const json_t *jobs, const json_t *groups, const json_t *job)
{
    (void)jobs;
    (void)groups;
    (void)job;
    return false;
}

const json_t *ins_group_of_job(const json_t *groups, const json_t *job)
{
    (void)job;
    return json_array_get(groups, 0);
}

/* said returns what is printed of job x of user 0, of 3 ranks, of which some `processes` are left,
 * in groups of which the first one is the job's. It checks the state that the record gets. */
static const char *said(const char *group, int joined, json_t *processes, bool over,
                        const char *state)
{
    json_t *record = json_pack("{s:s s:i s:i s:i}", "job", "x", "uid", 0, "instance", 0xabc,
                               "ended_ns", (int)over),
           *jobs = json_pack("[{s:s s:i s:i s:i s:[i i]}, {s:s s:i}]", "name", "x", "uid", 0,
                             "size", 3, "joined", joined, "missing", 1, 2, "name", "x", "uid", 1),
           *groups = json_pack("[{s:s s:b s:s s:s}]", "id", "0000000000000abc", "is_job", 1,
                               "state", group, "text",
                               strcmp(group, "broken") == 0 ? "job x lost node 1 (1)" : ""),
           *silent = json_array();
    ins_remains(record, jobs, groups, processes, silent);
    assert_string_equal(ins_string(record, "state"), state);
    printed_begin();
    ins_remains_print(record);
    const char *printed = printed_end();
    json_decref(record);
    json_decref(jobs);
    json_decref(groups);
    json_decref(silent);
    json_decref(processes);
    return printed;
}

static json_t *process(int uid, int rank, int pid, const char *state)
{
    return json_pack("{s:s s:i s:i s:i s:i s:i s:s s:b s:s}", "job", "x", "uid", uid, "rank", rank,
                     "seat", 0, "node", 1, "pid", pid, "program", "heat", "joining", 0,
                     "process_state", state);
}

static void the_processes_of_a_broken_job_are_named(void **state)
{
    (void)state;
    assert_string_equal(
        said("broken", 2,
             json_pack("[o, o, o]", process(0, 0, 70, "S"), process(1, 0, 80, "S"),
                       process(0, -1, 90, "S")),
             false, "broken"),
        "! job x is broken, and not over: 1 process has not left: rank 0 on node 1, "
        "process 70 (heat)\n  job x lost node 1 (1)\n");
    assert_string_equal(
        said("broken", 2, json_pack("[o, o]", process(0, 0, 70, "S"), process(0, 2, 72, "R")),
             false, "broken"),
        "! job x is broken, and not over: 2 processes have not left: rank 0 on node 1, process 70 "
        "(heat); rank 2 on node 1, process 72 (heat)\n  job x lost node 1 (1)\n");
}

/* A rank may be gone without a call that found out. */
static void a_job_without_a_rank_is_broken_before_its_next_call(void **state)
{
    (void)state;
    assert_string_equal(
        said("active", 1, json_pack("[o]", process(0, 0, 70, "S")), false, "broken"),
        "! job x is broken, and not over: 1 process has not left: rank 0 on node 1, "
        "process 70 (heat)\n  ranks 1-2 left or died\n");
}

static void stopped_processes_have_a_line_of_their_own(void **state)
{
    (void)state;
    assert_string_equal(
        said("broken", 1, json_pack("[o]", process(0, 0, 70, "T")), false, "broken"),
        "! job x is broken\n  job x lost node 1 (1)\n");
}

static void nothing_is_said_of_a_job_that_runs_or_is_over(void **state)
{
    (void)state;
    assert_string_equal(
        said("active", 3, json_pack("[o]", process(0, 0, 70, "S")), false, "running"), "");
    assert_string_equal(said("broken", 1, json_array(), true, "over"), "");
}

/* A node that gives no answer may have lost its ranks, also if the list of jobs has them all. */
static void a_job_with_ranks_on_a_silent_node_is_silent(void **state)
{
    (void)state;
    for (int node = 1; node <= 2; node++) {
        json_t *jobs = json_pack("[{s:s s:i s:i s:i s:[]}]", "name", "x", "uid", 0, "size", 3,
                                 "joined", 3, "missing"),
               *groups = json_pack("[{s:s s:s s:[i i]}]", "state", "active", "text", "",
                                   "member_nodes", 0, 1),
               *silent = json_pack("[{s:i}]", "node", node);
        ins_job_states(jobs, groups, silent);
        const json_t *job = json_array_get(jobs, 0);
        assert_string_equal(ins_string(job, "state"), node == 1 ? "silent" : "running");
        assert_string_equal(ins_string(job, "text"),
                            node == 1 ? "it has ranks on node 1, which gives no answer" : "");
        json_decref(jobs);
        json_decref(groups);
        json_decref(silent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_processes_of_a_broken_job_are_named),
        cmocka_unit_test(a_job_without_a_rank_is_broken_before_its_next_call),
        cmocka_unit_test(stopped_processes_have_a_line_of_their_own),
        cmocka_unit_test(nothing_is_said_of_a_job_that_runs_or_is_over),
        cmocka_unit_test(a_job_with_ranks_on_a_silent_node_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
