/* SPDX-License-Identifier: Apache-2.0 */
/* Which node keeps the list of jobs, call by call: core/membership/succession.h. */
#include "node.h"

#include "core/inspect.h"
#include "core/membership/succession.h"
#include "core/net/link.h"

/* begin makes node `at` of eight, which hears nodes 2 and 5. */
static void begin(uint32_t at)
{
    node_begin("8", at, NULL);
    node.core->link[2].state = node.core->link[5].state = TD_LINK_UP;
}

static void lose(uint32_t other)
{
    td_link_transition(&node.core->link[other], TD_LINK_LOSE_SESSION);
    td_core_notices.node_lost(node.core, other, "it is silent");
    node_run();
}

static void answer(uint32_t from)
{
    struct td_message m = {.kind = TD_MESSAGE_REGISTRY_ANSWER};
    m.u.registry_answer.round = node.core->succession->round;
    node_message(from, &m);
}

static void back(uint32_t other)
{
    node_forget();
    td_succession_node_back(node.core, other);
    node_run();
}

static void a_registry_asks_the_nodes_that_it_hears_and_waits_for_all(void **state)
{
    (void)state;
    begin(0);
    assert_false(td_succession_knows(node.core));
    node_run();
    assert_int_equal(node_count(TD_MESSAGE_REGISTRY_ASK), 2);
    assert_non_null(node_sent_to(2, TD_MESSAGE_REGISTRY_ASK));
    assert_non_null(node_sent_to(5, TD_MESSAGE_REGISTRY_ASK));
    answer(2);
    answer(2); /* it has answered already */
    answer(3); /* it was not asked */
    assert_int_equal(node.core->succession->state, TD_SUCCESSION_ASKING);
    answer(5);
    assert_true(td_succession_knows(node.core));
    node_end();
}

static void a_node_that_comes_back_is_asked_unless_it_has_answered(void **state)
{
    (void)state;
    begin(0);
    back(2);
    assert_int_equal(node_count(TD_MESSAGE_REGISTRY_ASK), 0); /* the search begins later */
    (void)td_succession_knows(node.core);
    node_run();
    answer(5);
    back(5);
    assert_int_equal(node_count(TD_MESSAGE_REGISTRY_ASK), 0);
    back(2);
    assert_non_null(node_sent_to(2, TD_MESSAGE_REGISTRY_ASK)); /* the first one may be lost */
    answer(2);
    assert_int_equal(node.core->succession->state, TD_SUCCESSION_KEEPING);
    back(7);
    assert_non_null(node_sent_to(7, TD_MESSAGE_REGISTRY_ASK));
    node_end();
}

static void a_registry_that_is_not_answered_goes_on_in_time(void **state)
{
    (void)state;
    begin(0);
    (void)td_succession_knows(node.core);
    node_run();
    td_time until = node.core->succession->until;
    assert_true(node.core->alarm <= until);
    node.core->now = until - 1;
    td_succession_timers(node.core, false);
    assert_int_equal(node.core->succession->state, TD_SUCCESSION_ASKING);
    node.core->now = until;
    td_succession_timers(node.core, false);
    assert_int_equal(node.core->succession->state, TD_SUCCESSION_KEEPING);
    node_end();
}

static void ranks_that_leave_are_told_to_the_latest_nodes_that_asked_for_them(void **state)
{
    (void)state;
    begin(4);
    assert_false(td_succession_is_told(node.core, 2));
    td_succession_note_told(node.core, 2);
    td_succession_note_told(node.core, 2);
    assert_true(td_succession_is_told(node.core, 2));
    assert_false(td_succession_is_told(node.core, 0));
    assert_int_equal(node.core->succession->tolds, 1);
    td_succession_note_told(node.core, 0);
    td_succession_note_told(node.core, 5);
    td_succession_rank_left(node.core, 9, 3);
    node_run();
    assert_int_equal(node_count(TD_MESSAGE_RANK_LEFT), 3); /* once to the registry */
    assert_int_equal(node_sent_to(0, TD_MESSAGE_RANK_LEFT)->u.rank_left.rank, 3);
    assert_int_equal(node_sent_to(2, TD_MESSAGE_RANK_LEFT)->instance, 9);
    td_succession_note_told(node.core, 6);
    td_succession_note_told(node.core, 7); /* in place of the first one */
    assert_false(td_succession_is_told(node.core, 2));
    assert_true(td_succession_is_told(node.core, 0) && td_succession_is_told(node.core, 7));
    node_end();
}

static void
the_lowest_node_that_is_heard_is_the_registry_and_lower_ones_are_tried_again(void **state)
{
    (void)state;
    begin(3);
    assert_int_equal(td_succession_registry(node.core), 0);
    lose(0);
    lose(1);
    assert_int_equal(td_succession_registry(node.core), 2);
    node.core->link[2].state = TD_LINK_DOWN;
    td_succession_timers(node.core, false);
    assert_int_equal(node.core->link[0].state, TD_LINK_GIVEN_UP); /* nobody needs it */
    td_succession_timers(node.core, true);
    assert_int_not_equal(node.core->link[0].state, TD_LINK_GIVEN_UP);
    assert_int_not_equal(node.core->link[1].state, TD_LINK_GIVEN_UP);
    assert_int_equal(node.core->link[2].state, TD_LINK_DOWN);
    node_end();
}

static void a_successor_resigns_when_a_lower_node_is_back(void **state)
{
    (void)state;
    begin(1);
    lose(0);
    (void)td_succession_knows(node.core);
    node_run();
    assert_int_equal(node.core->succession->state, TD_SUCCESSION_ASKING);
    lose(7); /* another node: this one stays the registry */
    assert_int_equal(node.core->succession->state, TD_SUCCESSION_ASKING);
    node.core->link[0].state = TD_LINK_UP;
    back(0);
    assert_int_equal(td_succession_registry(node.core), 0);
    assert_int_equal(node.core->succession->state, TD_SUCCESSION_FOLLOWING);
    assert_true(node.core->succession->until == TD_TIME_NEVER);
    node_end();
}

static void a_registry_that_drains_tells_the_nodes_that_are_connected(void **state)
{
    (void)state;
    begin(0);
    node.core->stopping = true;
    assert_true(td_succession_stop(node.core));
    node_run();
    assert_int_equal(node_count(TD_MESSAGE_REGISTRY_ANSWER), 2);
    assert_true(node_sent_to(2, TD_MESSAGE_REGISTRY_ANSWER)->u.registry_answer.is_draining);
    assert_int_equal(node.core->succession->state, TD_SUCCESSION_STOPPED);
    assert_int_equal(td_succession_registry(node.core), 1);
    assert_true(td_succession_stop(node.core));
    node_end();
}

/* rows returns how many jobs this node lists for torusctl, each of which has a rank here. */
static uint32_t rows(void)
{
    static struct td_reply page;
    assert_true(td_inspect_page(node.core, 1000, true, TD_STATUS_JOBS, 0, &page));
    for (uint32_t i = 0; i < page.u.status.rows; i++)
        assert_int_equal(page.u.status.row[i].u.job.joined, 1);
    return page.u.status.rows;
}

static void a_successor_lists_its_jobs_before_anybody_joins(void **state)
{
    (void)state;
    node_begin("2", 1, NULL);
    node_group(2);
    assert_int_equal(rows(), 1);
    lose(0);
    assert_int_equal(td_succession_registry(node.core), 1);
    assert_int_equal(rows(), 1);
    (void)td_succession_knows(node.core);
    node_run();
    assert_true(td_succession_knows(node.core));
    assert_int_equal(rows(), 1); /* once, also when its list has the job */
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_registry_asks_the_nodes_that_it_hears_and_waits_for_all),
        cmocka_unit_test(a_node_that_comes_back_is_asked_unless_it_has_answered),
        cmocka_unit_test(a_registry_that_is_not_answered_goes_on_in_time),
        cmocka_unit_test(a_successor_lists_its_jobs_before_anybody_joins),
        cmocka_unit_test(a_successor_resigns_when_a_lower_node_is_back),
        cmocka_unit_test(a_registry_that_drains_tells_the_nodes_that_are_connected),
        cmocka_unit_test(ranks_that_leave_are_told_to_the_latest_nodes_that_asked_for_them),
        cmocka_unit_test(
            the_lowest_node_that_is_heard_is_the_registry_and_lower_ones_are_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
