/* SPDX-License-Identifier: Apache-2.0 */
/* What the flight recorder and the log learn of other nodes: silences, links, losses, restarts. */
#include "node.h"

#include "core/core.h"
#include "core/net/goodbye.h"
#include "core/net/link.h"
#include "core/recorder.h"

enum { NODES = 3 };
static const uint64_t SECOND = 1000000000;

static struct td_note note;

static void link_up(uint32_t n, uint64_t incarnation)
{
    node_step(&(struct td_event){.kind = TD_EVENT_LINK_UP,
                                 .u.link = {.node = n, .incarnation = incarnation}});
}

static void link_down(uint32_t n)
{
    node_step(&(struct td_event){.kind = TD_EVENT_LINK_DOWN,
                                 .u.link = {.node = n, .text = "connection reset"}});
}

static void record_events(struct td_settings *s)
{
    s->trace_events = 64;
    s->progress_timeout_ns = 10 * (int64_t)SECOND;
}

static void begin_with(uint32_t at, void (*change)(struct td_settings *))
{
    node_begin("3", at, change);
    for (uint32_t n = 0; n < NODES; n++)
        if (n != at)
            link_up(n, n + 1);
    node_hear(7u & ~(1u << at), 2 * SECOND);
}

static void begin(uint32_t at)
{
    begin_with(at, record_events);
}

/* events counts the events of a kind about a node; find returns the last of them. */
static const struct td_trace_event *find(enum td_trace_kind kind, uint32_t about)
{
    const struct td_recorder *r = node.core->recorder;
    for (uint64_t i = r->next; i-- > 1;)
        if (r->ring[i & r->mask].kind == kind && r->ring[i & r->mask].subject == about)
            return &r->ring[i & r->mask];
    return NULL;
}

static uint32_t events(enum td_trace_kind kind, uint32_t about)
{
    const struct td_recorder *r = node.core->recorder;
    uint32_t count = 0;
    for (uint64_t i = 1; i < r->next; i++)
        count += r->ring[i & r->mask].kind == kind && r->ring[i & r->mask].subject == about;
    return count;
}

/* take reads notes until one is of a kind. It returns false if none is. */
static bool take(enum td_note_kind kind)
{
    uint64_t lost = 0;
    while (td_core_take_note(node.core, &note, &lost))
        if (note.kind == kind)
            return true;
    return false;
}

static void expect_about(uint64_t ns, uint64_t expected)
{
    assert_in_range(ns, expected - SECOND / 2, expected + SECOND / 2);
}

static void a_silence_has_a_begin_and_an_end(void **state)
{
    (void)state;
    begin(0);
    td_time last = node.core->now;
    node_hear(2, 6 * SECOND);
    assert_int_equal(events(TD_TRACE_SILENT, 2), 1);
    assert_int_equal(find(TD_TRACE_SILENT, 2)->since, last);
    expect_about(find(TD_TRACE_SILENT, 2)->at, last + 3 * SECOND / 2);
    assert_int_equal(find(TD_TRACE_SILENT, 2)->world, 0);
    assert_int_equal(events(TD_TRACE_HEARD, 2), 0);
    assert_true(take(TD_NOTE_NODE_SILENT));
    assert_int_equal(note.node, 2);
    expect_about(note.age_ns, 2 * SECOND);
    assert_false(take(TD_NOTE_NODE_SILENT)); /* one line for each silence */
    node_hear(6, SECOND);
    assert_int_equal(events(TD_TRACE_HEARD, 2), 1);
    assert_int_equal(find(TD_TRACE_HEARD, 2)->since, last);
    expect_about(find(TD_TRACE_HEARD, 2)->at, last + 6 * SECOND);
    assert_true(take(TD_NOTE_NODE_HEARD));
    assert_int_equal(note.node, 2);
    expect_about(note.age_ns, 6 * SECOND);
    assert_int_equal(events(TD_TRACE_SILENT, 1) + events(TD_TRACE_HEARD, 1), 0);
    node_hear(2, 4 * SECOND); /* the next one */
    assert_int_equal(events(TD_TRACE_SILENT, 2), 2);
    assert_true(take(TD_NOTE_NODE_SILENT));
    node_end();
}

static void a_short_silence_is_recorded_and_not_logged(void **state)
{
    (void)state;
    begin(0);
    td_time last = node.core->now;
    node_hear(2, 9 * SECOND / 5);
    node_hear(6, SECOND);
    assert_int_equal(find(TD_TRACE_HEARD, 2)->since, last);
    assert_false(take(TD_NOTE_NODE_SILENT));
    node_hear(2, 4 * SECOND / 5); /* a late heartbeat is no silence */
    node_hear(6, SECOND);
    assert_int_equal(events(TD_TRACE_HEARD, 2), 1);
    assert_false(take(TD_NOTE_NODE_HEARD));
    node_end();
}

/* The last messages of a node that has left a group come before this node knows of the end. */
static void a_node_that_owes_no_heartbeat_for_sure_is_silent_later(void **state)
{
    (void)state;
    begin(1);
    (void)node_group(NODES); /* node 2 is no neighbour in the tree of nodes */
    node_hear(1, 5 * SECOND);
    assert_int_equal(events(TD_TRACE_SILENT, 2), 0);
    node_hear(5, SECOND);
    assert_int_equal(events(TD_TRACE_HEARD, 2), 0);
    node_hear(1, 8 * SECOND); /* it was asked, and has not answered */
    assert_int_equal(events(TD_TRACE_SILENT, 2), 1);
    assert_true(take(TD_NOTE_NODE_SILENT));
    node_hear(5, SECOND);
    assert_int_equal(events(TD_TRACE_HEARD, 2), 1);
    assert_true(take(TD_NOTE_NODE_HEARD));
    node_end();
}

static void a_daemon_that_did_not_run_accuses_nobody(void **state)
{
    (void)state;
    begin(0);
    td_time last = node.core->now;
    td_core_step(node.core, last + 7 * SECOND, &(struct td_event){.kind = TD_EVENT_WAKE},
                 &node.actions);
    node_run();
    node_hear(6, SECOND);
    assert_int_equal(events(TD_TRACE_SILENT, 1) + events(TD_TRACE_SILENT, 2), 0);
    assert_int_equal(events(TD_TRACE_HEARD, 1) + events(TD_TRACE_HEARD, 2), 0);
    assert_false(take(TD_NOTE_NODE_SILENT));
    assert_int_equal(events(TD_TRACE_PAUSED, 0), 1);
    expect_about(find(TD_TRACE_PAUSED, 0)->since, last + SECOND / 4);
    assert_int_equal(find(TD_TRACE_PAUSED, 0)->at, last + 7 * SECOND);
    node_end();
}

static void a_link_that_comes_back_was_down_for_a_time(void **state)
{
    (void)state;
    begin(0);
    assert_int_equal(events(TD_TRACE_LINK_UP, 2), 1);
    assert_int_equal(find(TD_TRACE_LINK_UP, 2)->since, find(TD_TRACE_LINK_UP, 2)->at);
    td_time down = node.core->now;
    link_down(2);
    link_down(2); /* an attempt to connect fails */
    node_hear(2, 3 * SECOND);
    node_hear(6, SECOND / 5); /* its first message comes a moment before the link is up */
    link_up(2, 3);
    assert_int_equal(events(TD_TRACE_LINK_DOWN, 2), 1);
    assert_int_equal(find(TD_TRACE_LINK_UP, 2)->since, down);
    assert_int_equal(events(TD_TRACE_SILENT, 2) + events(TD_TRACE_HEARD, 2), 0);
    assert_int_equal(events(TD_TRACE_NODE_LOST, 2) + events(TD_TRACE_RESTARTED, 2), 0);
    node_end();
}

/* A silence ends with the message of another daemon, too. Nobody knows how the silent one ended. */
static void a_silent_daemon_that_is_restarted_ends_its_silence(void **state)
{
    (void)state;
    begin(0);
    td_time last = node.core->now;
    node_hear(2, 4 * SECOND);
    link_down(2);
    node_hear(2, SECOND);
    link_up(2, 9);
    assert_int_equal(find(TD_TRACE_HEARD, 2)->since, last);
    assert_int_equal(events(TD_TRACE_RESTARTED, 2), 1);
    assert_int_equal(find(TD_TRACE_RESTARTED, 2)->a, 0);
    assert_int_equal(find(TD_TRACE_RESTARTED, 2)->since, last);
    assert_int_equal(node.core->goodbyes->of[2].silent_ns, node.core->now - last);
    assert_true(take(TD_NOTE_NODE_HEARD));
    expect_about(note.age_ns, 5 * SECOND);
    node_end();
}

/* Nothing needs the node any more when its new daemon is heard, a moment before the link is up. */
static void the_silence_of_a_daemon_lasts_until_another_one_comes(void **state)
{
    (void)state;
    begin(1);
    td_link_watch(node.core, 2);
    node_hear(5, SECOND);
    td_time last = node.core->link[2].heard_at;
    node_hear(1, 8 * SECOND);
    link_down(2);
    td_link_unwatch(node.core, 2);
    node_hear(1, 5 * SECOND);
    node_hear(5, SECOND / 5);
    link_up(2, 9);
    assert_int_equal(find(TD_TRACE_RESTARTED, 2)->since, last);
    node_end();
}

static void a_node_that_is_given_up_is_lost_once(void **state)
{
    (void)state;
    begin(0);
    td_time last = node.core->now;
    link_down(2);
    node_hear(2, 12 * SECOND);
    link_down(2);
    node_hear(2, 12 * SECOND);
    assert_int_equal(events(TD_TRACE_NODE_LOST, 2), 1);
    assert_int_equal(find(TD_TRACE_NODE_LOST, 2)->since, last);
    assert_int_equal(find(TD_TRACE_NODE_LOST, 2)->a, 0);
    assert_int_equal(events(TD_TRACE_NODE_LOST, 1), 0);
    node_end();
}

static void a_daemon_that_says_goodbye_is_stopped_by_its_operator(void **state)
{
    struct td_message m = {.kind = TD_MESSAGE_GOODBYE, .u.goodbye.incarnation = 3};
    (void)state;
    begin(0);
    node_step(
        &(struct td_event){.kind = TD_EVENT_TREE_MESSAGE, .u.tree = {.node = 2, .message = &m}});
    link_down(2);
    assert_int_equal(find(TD_TRACE_NODE_LOST, 2)->a, 1);
    link_up(2, 9);
    assert_int_equal(find(TD_TRACE_RESTARTED, 2)->a, 0);
    assert_int_equal(find(TD_TRACE_RESTARTED, 2)->since, node.core->now);
    node_end();
}

static void no_recorder(struct td_settings *s)
{
    s->trace_events = 0;
}

static void without_a_recorder_the_log_is_told(void **state)
{
    (void)state;
    begin_with(0, no_recorder);
    node_hear(2, 3 * SECOND);
    assert_true(take(TD_NOTE_NODE_SILENT));
    node_hear(6, SECOND);
    assert_true(take(TD_NOTE_NODE_HEARD));
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silence_has_a_begin_and_an_end),
        cmocka_unit_test(a_short_silence_is_recorded_and_not_logged),
        cmocka_unit_test(a_node_that_owes_no_heartbeat_for_sure_is_silent_later),
        cmocka_unit_test(a_daemon_that_did_not_run_accuses_nobody),
        cmocka_unit_test(a_link_that_comes_back_was_down_for_a_time),
        cmocka_unit_test(a_silent_daemon_that_is_restarted_ends_its_silence),
        cmocka_unit_test(the_silence_of_a_daemon_lasts_until_another_one_comes),
        cmocka_unit_test(a_node_that_is_given_up_is_lost_once),
        cmocka_unit_test(a_daemon_that_says_goodbye_is_stopped_by_its_operator),
        cmocka_unit_test(without_a_recorder_the_log_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
