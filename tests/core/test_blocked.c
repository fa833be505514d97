/* SPDX-License-Identifier: Apache-2.0 */
/* What the status line says this node waits for: core/blocked.h. */
#include "node.h"

#include "core/blocked.h"
#include "core/core.h"
#include "core/net/silence.h"
#include "core/net/link.h"

enum { GROUP = 3 };
static const uint64_t SECOND = 1000000000;

static char text[300];

static bool blocked(void)
{
    text[0] = '\0';
    return td_core_blocked(node.core, node.core->now, text, sizeof text);
}

static void a_node_without_operations_is_not_blocked(void **state)
{
    (void)state;
    node_begin("1", 0, NULL);
    assert_false(blocked());
    assert_string_equal(text, "");
    node_end();
}

static void the_rank_that_has_not_called_is_named_with_its_node_and_user(void **state)
{
    (void)state;
    node_begin("3", 0, NULL);
    struct td_communicator *c = node_group(GROUP);
    node_call(c, -1);
    struct td_message m = {.kind = TD_MESSAGE_ARRIVE, .instance = c->instance, .group = c->index};
    m.u.arrive.least = m.u.arrive.greatest = node_barrier(1);
    node_message(1, &m);
    node.core->now += 4 * SECOND;
    blocked();
    assert_null(strstr(text, "operation")); /* not long enough */
    node.core->now += 8 * SECOND;
    assert_true(blocked());
    assert_string_equal(text, "an operation of user 1000 has waited 10 s for rank 2 on node 2");
    assert_null(strstr(text, c->name)); /* all users of the host can read it */
    node.core->now += 170 * SECOND;
    assert_true(blocked());
    assert_string_equal(text, "an operation of user 1000 has waited 3 min for rank 2 on node 2");
    node_end();
}

static void other_missing_ranks_are_counted(void **state)
{
    (void)state;
    node_begin("3", 2, NULL);
    struct td_communicator *c = node_group(GROUP);
    node_call(c, -1);
    node.core->now += 7 * SECOND;
    assert_true(blocked());
    assert_string_equal(text,
                        "an operation of user 1000 has waited 5 s for rank 0 on node 0, and 1 "
                        "other");
    node_end();
}

static void a_node_that_is_down_is_named_with_the_reason(void **state)
{
    (void)state;
    node_begin("3", 0, NULL);
    assert_true(blocked());
    assert_string_equal(text, "node 1 is down: not connected yet");
    const struct td_event down = {.kind = TD_EVENT_LINK_DOWN,
                                  .u.link = {.node = 1, .text = "connection refused"}};
    td_core_step(node.core, node.core->now + SECOND, &down, &node.actions);
    assert_true(blocked());
    assert_string_equal(text, "node 1 is down: connection refused");
    node_end();
}

/* pass lets time pass in steps that are not late. */
static void pass(uint64_t ns)
{
    const struct td_event wake = {.kind = TD_EVENT_WAKE};
    for (uint64_t i = 0; i < 4 * ns / SECOND; i++)
        td_core_step(node.core, node.core->now + SECOND / 4, &wake, &node.actions);
}

static void beat_each_second(struct td_settings *s)
{
    s->heartbeat_ns = (int64_t)SECOND;
}

/* Nodes 2 and 3 are no neighbours of node 1 in the tree of heartbeats, and owe it no message. */
static void a_node_that_is_silent_is_named(void **state)
{
    (void)state;
    node_begin("4", 1, beat_each_second);
    pass(SECOND);
    for (uint32_t n = 0; n < 4; n += n ? 1 : 2) {
        const struct td_event up = {.kind = TD_EVENT_LINK_UP,
                                    .u.link = {.node = n, .incarnation = 7 + n}};
        td_core_step(node.core, node.core->now, &up, &node.actions);
    }
    pass(2 * SECOND);
    assert_false(blocked());
    assert_int_equal(td_core_silent(node.core), 0);
    pass(SECOND);
    assert_true(blocked());
    assert_string_equal(text, "node 0 is silent");
    assert_int_equal(td_core_silent(node.core), 1);
    pass(4 * SECOND);
    assert_true(blocked());
    assert_string_equal(text, "node 0 has been silent for 5 s");
    node_end();
}

static void on_the_routed_fabric(struct td_settings *s)
{
    s->tuning.fabric = TD_FABRIC_ROUTED;
}

/* A node without a connection of its own is not one of the peers that the line counts. */
static void a_relayed_node_that_is_silent_is_not_counted_as_a_peer(void **state)
{
    (void)state;
    node_begin("4", 0, on_the_routed_fabric);
    pass(SECOND);
    assert_true(node.core->link[2].relayed);
    td_link_watch(node.core, 2);
    pass(25 * SECOND);
    assert_true(td_silence_now(node.core, 2) > 0);
    assert_int_equal(td_core_silent(node.core), 0);
    td_link_unwatch(node.core, 2);
    node_end();
}

/* Node 2 has been silent for longer, and has no rank of the group. */
static void a_silent_node_of_the_group_is_named_and_not_its_rank(void **state)
{
    (void)state;
    node_begin("4", 0, beat_each_second);
    pass(SECOND);
    for (uint32_t n = 1; n < 3; n++) {
        const struct td_event up = {.kind = TD_EVENT_LINK_UP,
                                    .u.link = {.node = n, .incarnation = 7 + n}};
        td_core_step(node.core, node.core->now, &up, &node.actions);
    }
    node_call(node_group(2), -1);
    node.core->now += 2 * SECOND;
    node.core->link[1].heard_at = node.core->now;
    node.core->now += 9 * SECOND;
    assert_true(td_silence_now(node.core, 2) > td_silence_now(node.core, 1));
    assert_true(blocked());
    assert_string_equal(text, "node 1 has been silent for 5 s");
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_without_operations_is_not_blocked),
        cmocka_unit_test(the_rank_that_has_not_called_is_named_with_its_node_and_user),
        cmocka_unit_test(other_missing_ranks_are_counted),
        cmocka_unit_test(a_node_that_is_down_is_named_with_the_reason),
        cmocka_unit_test(a_node_that_is_silent_is_named),
        cmocka_unit_test(a_silent_node_of_the_group_is_named_and_not_its_rank),
        cmocka_unit_test(a_relayed_node_that_is_silent_is_not_counted_as_a_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
