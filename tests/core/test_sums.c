/* SPDX-License-Identifier: Apache-2.0 */
/* What the core counts for metrics: core/sums.h, core/watch.h. */
#include "node.h"

#include "core/operation/operation.h"
#include "core/sums.h"
#include "core/watch.h"

enum { GROUP = 3 };
static const int64_t SECOND = 1000000000;

static const struct td_kind_sums *barriers(void)
{
    return &td_watch_sums(node.core)->kind[TD_KIND_BARRIER];
}

static struct td_watch_now now(void)
{
    struct td_watch_now n;
    td_watch_now(node.core, &n);
    return n;
}

static struct td_message about(const struct td_communicator *c, enum td_message_kind kind)
{
    return (struct td_message){.kind = kind, .instance = c->instance, .group = c->index};
}

static uint64_t count(const struct td_histogram *h)
{
    uint64_t sum = 0;
    for (int i = 0; i <= TD_HISTOGRAM_BUCKETS; i++)
        sum += h->bucket[i];
    return sum;
}

static void a_bucket_contains_its_upper_limit(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        int bucket;
    } cases[] = {{0, 0},
                 {1, 0},
                 {4096, 0},
                 {4097, 1},
                 {8192, 1},
                 {8193, 2},
                 {UINT64_C(1) << 37, 25},
                 {(UINT64_C(1) << 37) + 1, TD_HISTOGRAM_BUCKETS},
                 {UINT64_MAX, TD_HISTOGRAM_BUCKETS}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct td_histogram h = {.ns = 0};
        td_histogram_add(&h, cases[i].ns);
        assert_int_equal(h.bucket[cases[i].bucket], 1);
        assert_int_equal(count(&h), 1);
        assert_int_equal(h.ns, cases[i].ns);
    }
}

/* A rank of node 1 calls, and node 0 releases the barrier 3 s later. */
static void an_operation_waits_until_its_release(void **state)
{
    (void)state;
    node_begin("3", 1, NULL);
    struct td_communicator *c = node_group(GROUP);
    assert_int_equal(now().waiting, 0);
    assert_int_equal(now().waiting_ns, 0);
    node_call(c, -1);
    node_pass(c, 3 * (uint64_t)SECOND);
    assert_int_equal(now().waiting, 1);
    assert_true(now().waiting_ns > 3 * (uint64_t)SECOND);
    struct td_message m = about(c, TD_MESSAGE_RELEASE);
    node_message(0, &m);
    assert_int_equal(now().waiting, 0);
    assert_int_equal(count(&barriers()->skew), 1);
    assert_int_equal(count(&barriers()->duration), 1);
    assert_int_equal(barriers()->skew.ns, 3 * SECOND);
    assert_int_equal(barriers()->duration.ns, 3 * SECOND);
    assert_int_equal(barriers()->predicted_bytes, 0); /* it travels with its gate */
    for (int e = 0; e < TD_ERRORS; e++)
        assert_int_equal(td_watch_sums(node.core)->failed[e], 0);
    node_end();
}

static void a_prediction_is_counted_beside_the_time_that_it_predicts(void **state)
{
    (void)state;
    node_begin("3", 1, NULL);
    struct td_communicator *c = node_group(GROUP);
    for (uint64_t predicted = 0; predicted <= 1000; predicted += 1000) {
        node_call(c, -1);
        struct td_operation *o = c->operation[c->first_sequence];
        o->program.predicted_bytes = predicted; /* by a method that sends packets */
        o->state = TD_OPERATION_RUNNING;        /* for 2 s */
        o->released_at = node.core->now;
        node.core->now += 2 * (uint64_t)SECOND;
        td_core_queue(node.core, &o->task);
        node_run();
        assert_int_equal(node.reply.kind, TD_REPLY_DONE);
        assert_int_equal(barriers()->predicted_bytes, predicted);
        assert_int_equal(barriers()->measured_ns, predicted ? 2 * SECOND : 0);
    }
    node_end();
}

static void a_failure_is_counted_by_its_error(void **state)
{
    (void)state;
    node_begin("3", 0, NULL);
    struct td_communicator *c = node_group(GROUP);
    node_call(c, SECOND);
    node_pass(c, 1001000000);
    node_pass(c, 500000000); /* the root asks once more before it ends the operation */
    assert_int_equal(td_watch_sums(node.core)->failed[-TD_ERR_TIMEOUT], 1);
    assert_int_equal(count(&barriers()->duration), 0);
    assert_int_equal(now().noted[TD_NOTE_FAILED], 1);
    assert_int_equal(now().noted[TD_NOTE_JOB_FORMED], 1);
    node_end();
}

/* The job waits for a rank: its record says how long, and for whom its ranks waited. */
static void a_job_says_how_long_it_waits(void **state)
{
    (void)state;
    uint32_t at = 0;
    struct td_watch_job job;
    node_begin("3", 1, NULL);
    struct td_communicator *c = node_group(GROUP);
    assert_true(td_watch_job(node.core, &at, &job));
    assert_string_equal(job.name, c->name);
    assert_int_equal(job.size, GROUP);
    assert_int_equal(job.waiting_ns, 0);
    assert_false(td_watch_job(node.core, &at, &job));
    node_call(c, -1);
    node_pass(c, 2 * (uint64_t)SECOND);
    at = 0;
    assert_true(td_watch_job(node.core, &at, &job));
    assert_true(job.waiting_ns > 2 * (uint64_t)SECOND);
    struct td_message m = about(c, TD_MESSAGE_RELEASE);
    m.u.release.last = 2 + 1;
    node_message(0, &m);
    at = 0;
    assert_true(td_watch_job(node.core, &at, &job));
    assert_int_equal(job.waiting_ns, 0);
    assert_int_equal(job.operations, 1);
    assert_int_equal(job.waited_ns, 2 * SECOND);
    assert_int_equal(job.stragglers, 1);
    assert_int_equal(job.straggler[0].rank, 2);
    assert_int_equal(job.straggler[0].node, 2);
    assert_int_equal(job.straggler[0].waited_ns, 2 * SECOND);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_contains_its_upper_limit),
        cmocka_unit_test(an_operation_waits_until_its_release),
        cmocka_unit_test(a_prediction_is_counted_beside_the_time_that_it_predicts),
        cmocka_unit_test(a_failure_is_counted_by_its_error),
        cmocka_unit_test(a_job_says_how_long_it_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
