/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes have lost events of a job: inspect/trace_lost.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "inspect/facts.h"
#include "inspect/inspect.h"
#include "inspect/trace_lost.h"

#define S ((int64_t)1000000000)

enum { NODES = 3 };

static const char *age[NODES]; /* of the daemons, in ns; NULL: not told */

/* the real one is in a file that asks daemons */
const char *ins_fact(const json_t *facts, uint32_t node, const char *name)
{
    (void)facts;
    assert_string_equal(name, "age");
    return age[node] ? age[node] : "";
}

/* lost_of returns what is lost of a job that formed 10 s ago, 100 s after the axis began, on the
 * nodes of a list. Each daemon is 60 s old and its ring, of 8 events, has all of them. */
static json_t *lost_of(json_t *nodes, void (*change)(struct ins_clock_of *clock))
{
    struct ins_clock_of clock[NODES];
    for (int n = 0; n < NODES; n++) {
        clock[n] =
            (struct ins_clock_of){.known = true, .recorded = 5, .size = 8, .first_at = 50 * S};
        age[n] = "60000000000";
    }
    if (change)
        change(clock);
    struct ins_rings rings = {.nodes = NODES, .clock = clock};
    struct ins_trace_job job = {nodes, 110 * S, 10 * S};
    json_t *lost = ins_trace_lost(&rings, &job, NULL);
    json_decref(nodes);
    return lost;
}

static void expect(json_t *lost, int node, const char *reason, int64_t age_ns)
{
    assert_int_equal(json_array_size(lost), 1);
    const json_t *l = json_array_get(lost, 0);
    assert_int_equal(ins_number(l, "node"), node);
    assert_string_equal(ins_string(l, "reason"), reason);
    assert_int_equal(ins_number(l, "age_ns"), age_ns);
    json_decref(lost);
}

static void whole_rings_have_lost_nothing(void **state)
{
    (void)state;
    json_t *lost = lost_of(json_array(), NULL);
    assert_int_equal(json_array_size(lost), 0);
    json_decref(lost);
}

static void wrap_before_the_job(struct ins_clock_of *clock)
{
    clock[1].recorded = 9;
    clock[1].first_at = 99 * S;
}

static void wrap(struct ins_clock_of *clock)
{
    clock[1].recorded = 9;
    clock[1].first_at = 101 * S;
}

static void a_ring_that_reaches_back_to_the_job_has_lost_nothing_of_it(void **state)
{
    (void)state;
    json_t *lost = lost_of(json_array(), wrap_before_the_job);
    assert_int_equal(json_array_size(lost), 0);
    json_decref(lost);
}

static void a_ring_that_begins_after_the_job_is_named(void **state)
{
    (void)state;
    expect(lost_of(json_array(), wrap), 1, "overwritten", 9 * S);
    expect(lost_of(json_pack("[i, i]", 0, 1), wrap), 1, "overwritten", 9 * S);
}

static void a_node_without_ranks_of_the_job_is_not_named(void **state)
{
    (void)state;
    json_t *lost = lost_of(json_pack("[i, i]", 0, 2), wrap);
    assert_int_equal(json_array_size(lost), 0);
    json_decref(lost);
}

static void restart(struct ins_clock_of *clock)
{
    wrap(clock); /* and it has a full ring already */
    age[1] = "9500000000";
}

static void a_daemon_that_started_after_the_job_is_named(void **state)
{
    (void)state;
    expect(lost_of(json_array(), restart), 1, "restarted", 95 * S / 10);
}

static void switch_off(struct ins_clock_of *clock)
{
    clock[2].size = clock[2].recorded = 0;
    clock[2].first_at = 0;
}

static void a_node_without_a_ring_is_named(void **state)
{
    (void)state;
    expect(lost_of(json_array(), switch_off), 2, "not_recorded", 0);
}

static void silence(struct ins_clock_of *clock)
{
    clock[1] = (struct ins_clock_of){.known = false};
    age[1] = NULL;
}

/* That it did not answer is told elsewhere. */
static void a_node_that_did_not_answer_is_not_named(void **state)
{
    (void)state;
    json_t *lost = lost_of(json_array(), silence);
    assert_int_equal(json_array_size(lost), 0);
    json_decref(lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_rings_have_lost_nothing),
        cmocka_unit_test(a_ring_that_reaches_back_to_the_job_has_lost_nothing_of_it),
        cmocka_unit_test(a_ring_that_begins_after_the_job_is_named),
        cmocka_unit_test(a_node_without_ranks_of_the_job_is_not_named),
        cmocka_unit_test(a_daemon_that_started_after_the_job_is_named),
        cmocka_unit_test(a_node_without_a_ring_is_named),
        cmocka_unit_test(a_node_that_did_not_answer_is_not_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
