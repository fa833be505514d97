/* SPDX-License-Identifier: Apache-2.0 */
/* What torusctl trace makes of the events of two nodes: inspect/trace_timeline.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "inspect/inspect.h"
#include "inspect/trace_timeline.h"
#include "model/call.h"
#include "model/request.h"

enum { JOB = 7, NODES = 3, EVENTS = 16 };
static const int64_t SECOND = 1000000000;

/* The rings: the present is at 100 s, and the clocks agree. */
static struct ins_clock_of clocks[NODES];
static struct ins_event events[EVENTS];
static struct ins_rings rings = {.nodes = NODES, .clock = clocks, .event = events};
static struct ins_selection selection;
static json_t *timeline;

static void begin(void)
{
    rings.count = 0;
    for (int n = 0; n < NODES; n++)
        clocks[n] = (struct ins_clock_of){
            .known = true, .read_at = 100 * SECOND, .recorded = EVENTS, .size = 64};
    selection = (struct ins_selection){.job = "heat",
                                       .world = JOB,
                                       .size = 4,
                                       .late = json_array(),
                                       .peers = json_array(),
                                       .silent = json_array(),
                                       .late_at = 100 * SECOND};
}

/* add adds an event, in s on the axis. Nodes come in order. */
static struct td_trace_event *add(uint32_t node, enum td_trace_kind kind, uint32_t subject,
                                  double since, double at)
{
    struct ins_event *e = &events[rings.count++];
    bool of_job = kind < TD_TRACE_LINK_UP || kind >= TD_TRACE_STOPPED;
    *e = (struct ins_event){.node = node,
                            .since = (int64_t)(since * (double)SECOND),
                            .at = (int64_t)(at * (double)SECOND),
                            .text = "",
                            .e = {.number = rings.count,
                                  .world = of_job ? JOB : 0,
                                  .call = of_job ? TD_KIND_BARRIER : 0,
                                  .kind = (uint8_t)kind,
                                  .subject = subject}};
    return &e->e;
}

static void make(void)
{
    int64_t zero = 0;
    timeline = ins_timeline(&rings, &selection, &zero);
    assert_non_null(timeline);
}

static void end(void)
{
    json_decref(timeline);
    json_decref((json_t *)(uintptr_t)selection.late);
    json_decref((json_t *)(uintptr_t)selection.peers);
    json_decref((json_t *)(uintptr_t)selection.silent);
}

/* find returns the only event of a name, or NULL. */
static const json_t *find(const char *name)
{
    const json_t *found = NULL;
    for (size_t i = 0; i < json_array_size(timeline); i++) {
        const json_t *e = json_array_get(timeline, i);
        if (strcmp(ins_string(e, "name"), name) != 0)
            continue;
        assert_null(found);
        found = e;
    }
    return found;
}

static json_int_t argument(const char *name, const char *key)
{
    const json_t *e = find(name);
    assert_non_null(e);
    return ins_number(json_object_get(e, "args"), key);
}

/* expect checks begin and end of an event, in s after the first one, which was at 10 s. */
static void expect(const char *name, double begin_s, double end_s)
{
    const json_t *e = find(name);
    assert_non_null(e);
    double ts = json_number_value(json_object_get(e, "ts")),
           dur = json_number_value(json_object_get(e, "dur"));
    assert_int_equal((int64_t)(ts + 0.5), (int64_t)((begin_s - 10) * 1e6));
    assert_int_equal((int64_t)(ts + dur + 0.5), (int64_t)((end_s - 10) * 1e6));
}

/* A rank that called while its daemon did not run, and gave it up: the daemon read the call later,
 * and its reply reached nobody. */
static void a_call_of_a_rank_that_gave_up_is_abandoned(void **state)
{
    (void)state;
    begin();
    add(0, TD_TRACE_CALL, 1, 10, 10);
    add(0, TD_TRACE_RETURN, 1, 10, 10.5);
    add(0, TD_TRACE_PAUSED, 0, 11, 30);
    add(0, TD_TRACE_CALL, 1, 30.001, 30.001)->sequence = 1;
    add(0, TD_TRACE_RETURN, 1, 30.001, 30.002)->sequence = 1;
    add(0, TD_TRACE_CALL, 2, 30.001, 30.001)->sequence = 1;
    add(0, TD_TRACE_RETURN, 2, 30.001, 30.002)->sequence = 1;
    add(0, TD_TRACE_DIED, 1, 30.003, 30.003)->a = 19;
    add(0, TD_TRACE_CALL, 2, 30.003, 30.003)->sequence = 2;
    add(0, TD_TRACE_RETURN, 2, 30.003, 30.004)->sequence = 2;
    make();
    const json_t *call = find("barrier 1: abandoned, the rank gave torusd up");
    assert_non_null(call);
    assert_true(json_is_true(json_object_get(json_object_get(call, "args"), "gave_up")));
    assert_int_equal(argument("barrier 1: abandoned, the rank gave torusd up", "rank"), 1);
    assert_int_equal(argument("barrier 1", "rank"), 2); /* of a rank that lives */
    assert_null(json_object_get(json_object_get(find("barrier 0"), "args"), "gave_up"));
    /* when that one has called is not known either */
    assert_true(
        json_is_true(json_object_get(json_object_get(find("barrier 1"), "args"), "after_pause")));
    assert_null(json_object_get(json_object_get(find("barrier 2"), "args"), "after_pause"));
    expect("torusd did not run for 19.0s", 11, 30);
    end();
}

static void a_wait_for_a_silent_node_does_not_name_a_rank(void **state)
{
    (void)state;
    begin();
    json_array_append_new((json_t *)(uintptr_t)selection.peers,
                          json_pack("{s:i s:s}", "node", 2, "endpoint", "tcp://beta:7117"));
    add(0, TD_TRACE_CALL, 1, 10, 10);
    struct td_trace_event *release = add(0, TD_TRACE_RELEASE, 3, 10, 20);
    release->a = 2 + 1;
    release->b = (uint64_t)(6 * SECOND);
    add(0, TD_TRACE_RETURN, 1, 10, 20);
    make();
    expect("wait for rank 3", 10, 14);
    expect("wait for node 2 (host beta), which was silent", 14, 20);
    assert_int_equal(argument("barrier 0", "silent_node"), 2);
    assert_int_equal(argument("barrier 0", "silent_ns"), 6 * SECOND);
    end();
    begin(); /* the rank called in the silence: it waited for nothing else */
    add(0, TD_TRACE_CALL, 1, 10, 10);
    add(0, TD_TRACE_PAUSED, 0, 4, 19.9);
    release = add(0, TD_TRACE_RELEASE, 3, 10, 20);
    release->a = 0 + 1;
    release->b = (uint64_t)(16 * SECOND);
    add(0, TD_TRACE_RETURN, 1, 10, 20);
    make();
    assert_null(find("wait for rank 3"));
    expect("wait for torusd here, which did not run", 10, 20);
    assert_int_equal(argument("barrier 0", "silent_ns"), 10 * SECOND);
    end();
}

/* The other node tells this one that it did not hear it. This daemon ran all the time, but for two
 * pauses that were over before or came after, and the pause of another daemon. */
static void a_cut_of_the_network_is_no_pause_of_the_daemon(void **state)
{
    (void)state;
    begin();
    add(0, TD_TRACE_CALL, 1, 10, 10);
    add(0, TD_TRACE_PAUSED, 0, 11, 13);
    struct td_trace_event *release = add(0, TD_TRACE_RELEASE, 3, 10, 20);
    release->a = 0 + 1;
    release->b = (uint64_t)(6 * SECOND);
    add(0, TD_TRACE_RETURN, 1, 10, 20);
    add(0, TD_TRACE_PAUSED, 0, 21, 23);
    add(1, TD_TRACE_PAUSED, 1, 15, 17);
    make();
    expect("wait for rank 3", 10, 14);
    expect("wait for messages of this node, which did not reach other nodes", 14, 20);
    assert_int_equal(argument("barrier 0", "silent_node"), 0);
    end();
}

/* late adds an operation in flight for 5 s, with rank 2 missing. */
static void late(const char *node_state, int pid)
{
    json_array_append_new((json_t *)(uintptr_t)selection.late,
                          json_pack("{s:s s:i s:i s:i s:I s:[{s:i s:i s:s s:i s:s s:i}]}", "job",
                                    "heat", "group", 0, "job_instance", JOB, "sequence", 9,
                                    "age_ns", 5 * SECOND, "absent", "job_rank", 2, "node", 1,
                                    "node_state", node_state, "pid", pid, "process_state", "",
                                    "silent_ns", 0));
}

static void silent(int stopped)
{
    json_array_append_new(
        (json_t *)(uintptr_t)selection.silent,
        json_pack("{s:i s:I s:b}", "node", 1, "silent_ns", 12 * SECOND, "stopped", stopped));
}

static void a_rank_of_a_silent_node_is_not_late(void **state)
{
    (void)state;
    begin();
    add(0, TD_TRACE_CALL, 1, 10, 10);
    add(0, TD_TRACE_CALL, 1, 97, 97)->sequence = 9; /* not the first rank to call */
    late("up", 0);
    silent(0);
    make();
    expect("wait for node 1, which is silent", 97, 100);
    assert_int_equal(argument("barrier 9", "silent_ns"), 3 * SECOND);
    expect("SILENT: node 1 has been silent for 12.0s, and whether rank 2 has called operation 9 "
           "is not known",
           95, 100);
    end();
    begin();
    add(0, TD_TRACE_CALL, 1, 10, 10);
    late("down", 0);
    make();
    assert_non_null(find("SILENT: node 1 does not answer, and whether rank 2 has called operation "
                         "9 is not known"));
    end();
    begin();
    add(0, TD_TRACE_CALL, 1, 10, 10);
    late("down", 0);
    silent(1);
    make();
    assert_non_null(find("SILENT: node 1 was stopped by its operator, and whether rank 2 has "
                         "called operation 9 is not known"));
    end();
    begin();
    add(0, TD_TRACE_CALL, 1, 10, 10);
    add(0, TD_TRACE_CALL, 1, 95, 95)->sequence = 9;
    late("up", 4711); /* its node says so */
    make();
    assert_null(json_object_get(json_object_get(find("barrier 9"), "args"), "waited_for"));
    assert_non_null(find("LATE: rank 2 has not called operation 9"));
    end();
}

/* Of two nodes with the job, and one without. */
static void what_happened_to_nodes_is_shown(void **state)
{
    (void)state;
    begin();
    add(0, TD_TRACE_LINK_UP, 1, 2, 2); /* before the job */
    add(0, TD_TRACE_CALL, 1, 10, 10);
    add(0, TD_TRACE_LINK_UP, 2, 11, 11);
    add(0, TD_TRACE_SILENT, 1, 12, 14);
    add(0, TD_TRACE_HEARD, 1, 12, 32);
    add(0, TD_TRACE_LINK_DOWN, 1, 33, 33);
    add(0, TD_TRACE_NODE_LOST, 1, 32, 63);
    add(0, TD_TRACE_NODE_LOST, 2, 65, 65); /* another node said so: no silence is known */
    add(0, TD_TRACE_RESTARTED, 1, 70, 70)->a = 1;
    add(0, TD_TRACE_RESTARTED, 2, 66, 71);
    add(0, TD_TRACE_LINK_UP, 1, 33, 70);
    add(0, TD_TRACE_SILENT, 1, 90, 92);
    add(1, TD_TRACE_SILENT, 0, 8, 12);
    add(2, TD_TRACE_SILENT, 1, 80, 82); /* about a node of the job? node 1 has no event of it */
    make();
    assert_null(find("link to node 1 is up"));
    assert_null(
        json_object_get(json_object_get(find("link to node 2 is up"), "args"), "about_node"));
    expect("node 1 was silent for 20.0s", 12, 32);
    expect("node 1 is heard again after 20.0s", 32, 32);
    assert_int_equal(argument("node 1 is heard again after 20.0s", "about_node"), 1);
    assert_int_equal(argument("link to node 1 is down", "about_node"), 1);
    expect("node 1 is given up, not heard for 31.0s", 63, 63);
    expect("node 2 is given up", 65, 65);
    assert_non_null(
        find("the daemon of node 1 was restarted; the earlier one crashed or was killed"));
    expect("the daemon of node 2 was restarted; the earlier one had been silent for 5.0s", 71, 71);
    assert_int_equal(
        argument("the daemon of node 2 was restarted; the earlier one had been silent for 5.0s",
                 "about_node"),
        2);
    expect("link to node 1 is up again after 37.0s", 70, 70);
    expect("node 1 is silent, for 10.0s so far", 90, 100);
    expect("node 0 is silent, for 1.5m so far", 10, 100); /* since before the job */
    assert_null(find("node 1 is silent, for 20.0s so far"));
    end();
}

static void one_operation_has_what_happened_in_its_time(void **state)
{
    (void)state;
    begin();
    selection.one = true;
    add(0, TD_TRACE_CALL, 1, 10, 10);
    add(0, TD_TRACE_SILENT, 1, 12, 14);
    add(0, TD_TRACE_HEARD, 1, 12, 32);
    add(0, TD_TRACE_RETURN, 1, 10, 33);
    add(0, TD_TRACE_LINK_DOWN, 1, 34, 34);
    make();
    assert_non_null(find("node 1 was silent for 20.0s"));
    assert_null(find("link to node 1 is down"));
    end();
}

static json_t *ranks_of(const char *name, const char *key)
{
    const json_t *e = find(name);
    assert_non_null(e);
    return json_object_get(json_object_get(e, "args"), key);
}

/* The daemon of node 1 did not run while a call failed on node 0. Rank 1 had given it up, and the
 * call of rank 2 was read later. Rank 3 had not called, and its daemon ran. */
static void a_failure_does_not_accuse_ranks_of_a_daemon_that_did_not_run(void **state)
{
    (void)state;
    begin();
    selection.is_whole = true;
    add(0, TD_TRACE_CALL, 0, 10, 10);
    add(0, TD_TRACE_CALL, 0, 12, 12)->sequence = 1;
    struct td_trace_event *failed = add(0, TD_TRACE_FAILED, TD_TRACE_NOBODY, 12, 20);
    failed->sequence = 1;
    failed->error = (uint16_t)-TORUS_ERR_PARTITIONED;
    add(1, TD_TRACE_CALL, 1, 10, 10);
    add(1, TD_TRACE_RETURN, 1, 10, 11);
    add(1, TD_TRACE_PAUSED, 0, 11, 30);
    add(1, TD_TRACE_CALL, 1, 30.001, 30.001)->sequence = 1;
    add(1, TD_TRACE_CALL, 2, 30.001, 30.001)->sequence = 1;
    add(1, TD_TRACE_DIED, 1, 30.003, 30.003)->a = 19 * (uint64_t)SECOND;
    add(2, TD_TRACE_CALL, 3, 10, 10);
    make();
    static const char *const name =
        "ERROR: barrier 1 failed: nodes of the group do not hear each other";
    static const char *const keys[] = {"missing_gave_up", "missing_unknown", "missing"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *list = ranks_of(name, keys[i]);
        assert_int_equal(json_array_size(list), 1);
        assert_int_equal(json_integer_value(json_array_get(list, 0)), i + 1);
    }
    end();
}

/* The node of the rank knows that its process was stopped, and the call that waited for it. */
static void a_stopped_process_has_its_begin_and_its_end(void **state)
{
    (void)state;
    begin();
    add(0, TD_TRACE_CALL, 0, 10, 10);
    add(0, TD_TRACE_STOPPED, 1, 11, 11)->a = TD_OUTAGE_STOPPED;
    add(0, TD_TRACE_GOES_ON, 1, 11, 18)->a = TD_OUTAGE_STOPPED;
    add(0, TD_TRACE_CALL, 1, 18, 18);
    add(1, TD_TRACE_STOPPED, 2, 20, 20)->a = TD_OUTAGE_TRACED;
    for (size_t i = 0; i < rings.count; i++)
        events[i].e.b = 183;
    make();
    expect("process 183 is stopped (SIGSTOP), and barrier 0 waits for it", 11, 11);
    expect("process 183 runs again, stopped for about 7.0s", 18, 18);
    expect("process 183 is stopped by a debugger, and barrier 0 waits for it", 20, 20);
    assert_int_equal(argument("process 183 runs again, stopped for about 7.0s", "rank"), 1);
    assert_int_equal(argument("process 183 runs again, stopped for about 7.0s", "stopped_ns"),
                     7 * SECOND);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_of_a_rank_that_gave_up_is_abandoned),
        cmocka_unit_test(a_failure_does_not_accuse_ranks_of_a_daemon_that_did_not_run),
        cmocka_unit_test(a_wait_for_a_silent_node_does_not_name_a_rank),
        cmocka_unit_test(a_cut_of_the_network_is_no_pause_of_the_daemon),
        cmocka_unit_test(a_rank_of_a_silent_node_is_not_late),
        cmocka_unit_test(what_happened_to_nodes_is_shown),
        cmocka_unit_test(one_operation_has_what_happened_in_its_time),
        cmocka_unit_test(a_stopped_process_has_its_begin_and_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
