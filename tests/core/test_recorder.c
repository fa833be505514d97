/* SPDX-License-Identifier: Apache-2.0 */
/* The flight recorder: core/recorder.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/recorder.h"

enum { EVENTS = 100, SIZE = 128, JOB = 7, OTHER = 8 };

static struct td_recorder *recorder(void)
{
    struct td_recorder *r = calloc(1, td_recorder_bytes(EVENTS));
    assert_non_null(r);
    td_recorder_init(r, EVENTS);
    return r;
}

static struct td_trace_event *add(struct td_recorder *r, uint64_t world, td_time at)
{
    struct td_trace_event *e = td_recorder_add(r, TD_TRACE_CALL, at);
    e->world = world;
    return e;
}

static void the_ring_keeps_the_latest_events(void **state)
{
    (void)state;
    struct td_recorder *r = recorder();
    assert_int_equal(td_recorder_size(EVENTS), SIZE);
    for (uint64_t i = 1; i <= 3 * SIZE; i++)
        assert_int_equal(add(r, JOB, i)->number, i);
    for (uint64_t i = 2 * SIZE + 1; i <= 3 * SIZE; i++)
        assert_int_equal(r->ring[i & r->mask].at, i);
    free(r);
}

static void packets_of_a_flow_are_one_event(void **state)
{
    (void)state;
    struct td_recorder *r = recorder();
    const struct td_trace_event named = {.world = JOB, .sequence = 3};
    int operation = 0, other = 0;
    for (td_time t = 10; t < 20; t++) {
        struct td_flow *f = td_recorder_flow(r, &operation, 5, true, t, &named);
        f->event.at = t;
        f->event.a += 1000;
        f->event.b++;
    }
    td_recorder_flow(r, &operation, 5, false, 20, &named);
    td_recorder_flush(r, &other);
    td_recorder_flush(r, &operation);
    assert_int_equal(r->next, 1 + 2);
    assert_int_equal(r->flows, 0);
    uint32_t sent = 0;
    for (uint64_t i = 1; i < r->next; i++) {
        const struct td_trace_event *e = &r->ring[i & r->mask];
        if (e->kind != TD_TRACE_SENT)
            continue;
        sent++;
        assert_int_equal(e->since, 10);
        assert_int_equal(e->at, 19);
        assert_int_equal(e->a, 10000);
        assert_int_equal(e->b, 10);
        assert_int_equal(e->subject, 5);
        assert_int_equal(e->sequence, 3);
    }
    assert_int_equal(sent, 1);
    free(r);
}

/* More flows than places: none is lost. */
static void crowded_flows_add_up(void **state)
{
    (void)state;
    enum { NODES = 90 };
    struct td_recorder *r = recorder();
    const struct td_trace_event named = {.world = JOB};
    int operation = 0;
    uint64_t bytes = 0;
    for (uint32_t n = 0; n < NODES; n++)
        td_recorder_flow(r, &operation, n, true, 1, &named)->event.a += n;
    td_recorder_flush(r, &operation);
    for (uint64_t i = 1; i < r->next; i++)
        bytes += r->ring[i & r->mask].a;
    assert_int_equal(r->next, NODES + 1);
    assert_int_equal(bytes, NODES * (NODES - 1) / 2);
    free(r);
}

static void rare_events_outlive_calls(void **state)
{
    (void)state;
    struct td_recorder *r = recorder();
    td_recorder_node(r, TD_TRACE_SILENT, 3, 50, 20, 9);
    for (uint64_t i = 0; i < 3 * SIZE; i++)
        add(r, JOB, 100 + i);
    assert_int_equal(r->rares, 1);
    const struct td_trace_event *e = &r->rare[0];
    assert_int_equal(e->number, 1);
    assert_int_equal(e->kind, TD_TRACE_SILENT);
    assert_int_equal(e->subject, 3);
    assert_int_equal(e->at, 50);
    assert_int_equal(e->since, 20);
    assert_int_equal(e->a, 9);
    assert_int_equal(e->world, 0);
    free(r);
}

static void a_failure_keeps_the_events_of_its_job(void **state)
{
    (void)state;
    struct td_recorder *r = recorder();
    for (uint64_t i = 1; i <= 20; i++)
        add(r, i % 2 ? JOB : OTHER, i);
    struct td_trace_event *e = td_recorder_add(r, TD_TRACE_FAILED, 21);
    e->world = JOB;
    td_recorder_fail(r, e, "rank 3 died");
    for (uint64_t i = 0; i < 3 * SIZE; i++)
        add(r, OTHER, 100 + i); /* the ring is full of others */
    assert_int_equal(r->kept, 11);
    for (uint64_t i = 0; i < 11; i++) {
        assert_int_equal(r->before[i].world, JOB);
        assert_int_equal(r->before[i].at, 2 * i + 1);
    }
    assert_string_equal(r->failure[0].text, "rank 3 died");
    assert_int_equal(r->failure[0].event.number, 21);
    e = td_recorder_add(r, TD_TRACE_FAILED, 22); /* of the same broken group: one copy is enough */
    e->world = JOB;
    td_recorder_fail(r, e, "rank 3 died");
    assert_int_equal(r->kept, 11);
    assert_int_equal(r->failures, 2);
    free(r);
}

/* A link that went down may be why the operation failed. */
static void a_failure_keeps_the_events_of_nodes(void **state)
{
    (void)state;
    struct td_recorder *r = recorder();
    add(r, OTHER, 1);
    td_recorder_node(r, TD_TRACE_SILENT, 5, 3, 2, 0);
    add(r, JOB, 4);
    struct td_trace_event *e = td_recorder_add(r, TD_TRACE_FAILED, 5);
    e->world = JOB;
    td_recorder_fail(r, e, "node 5 is silent");
    assert_int_equal(r->kept, 3);
    assert_int_equal(r->before[0].kind, TD_TRACE_SILENT);
    assert_int_equal(r->before[0].subject, 5);
    assert_int_equal(r->before[0].since, 2);
    assert_int_equal(r->before[0].at, 3);
    td_recorder_node(NULL, TD_TRACE_SILENT, 5, 3, 2, 0); /* without a recorder: nothing */
    free(r);
}

static void numbers_of_an_event_come_back(void **state)
{
    (void)state;
    const struct td_trace_event e = {.number = 9,
                                     .at = UINT64_MAX - 1,
                                     .since = 5,
                                     .world = UINT64_MAX,
                                     .sequence = 12,
                                     .a = 13,
                                     .b = 14,
                                     .group = UINT32_MAX,
                                     .subject = UINT32_MAX - 2,
                                     .kind = TD_TRACE_FAILED,
                                     .call = 3,
                                     .error = 18};
    struct td_trace_event back;
    uint64_t numbers[TD_TRACE_NUMBERS];
    td_trace_pack(&e, numbers);
    td_trace_unpack(numbers, &back);
    assert_true(back.number == e.number && back.at == e.at && back.since == e.since &&
                back.world == e.world && back.sequence == e.sequence && back.a == e.a &&
                back.b == e.b && back.group == e.group && back.subject == e.subject &&
                back.kind == e.kind && back.call == e.call && back.error == e.error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ring_keeps_the_latest_events),
        cmocka_unit_test(packets_of_a_flow_are_one_event),
        cmocka_unit_test(crowded_flows_add_up),
        cmocka_unit_test(rare_events_outlive_calls),
        cmocka_unit_test(a_failure_keeps_the_events_of_its_job),
        cmocka_unit_test(a_failure_keeps_the_events_of_nodes),
        cmocka_unit_test(numbers_of_an_event_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
