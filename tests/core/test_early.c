/* SPDX-License-Identifier: Apache-2.0 */
/* Tree messages that arrive before their turn: core/net/early.h. */
#include "far.h"

static void begin(void)
{
    far_begin(NULL);
    node.core->two_paths = true;
    far_meet();
}

/* take plays the driver: it feeds the message that was taken last. */
static void take(uint64_t number)
{
    assert_int_equal(node.early_taken.count, 1);
    assert_int_equal(node.early_taken.node, far.node);
    assert_int_equal(node.early_taken.number, number);
    node_forget();
    assert_true(far_hear(number));
}

static void early_messages_follow_the_missing_one_in_order(void **state)
{
    (void)state;
    begin();
    assert_false(far_hear(4));
    assert_false(far_hear(2));
    assert_false(far_hear(3));
    assert_int_equal(node.early_kept.count, 3);
    assert_int_equal(node.early_taken.count, 0);
    assert_true(far_hear(1));
    take(2);
    take(3);
    take(4);
    assert_int_equal(node.early_taken.count, 0);
    assert_int_equal(far.link->tree_received, 4);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    far_pass(2 * TD_EARLY_PATIENCE_NS);
    assert_int_equal(far_resumes(), 0); /* nothing was missing for long */
    assert_true(far_hear(5));
    node_end();
}

static void a_copy_of_an_early_message_is_dropped(void **state)
{
    (void)state;
    begin();
    assert_false(far_hear(3));
    assert_false(far_hear(3));
    assert_int_equal(node.early_kept.count, 1);
    assert_true(far_hear(1));
    assert_true(far_hear(2));
    take(3);
    assert_false(far_hear(3));
    assert_int_equal(node.early_kept.count, 0);
    node_end();
}

static void a_message_that_is_taken_may_come_by_itself_first(void **state)
{
    (void)state;
    begin();
    assert_false(far_hear(2));
    assert_true(far_hear(1));
    assert_int_equal(node.early_taken.number, 2);
    assert_true(far_hear(2)); /* a retransmission, before the driver feeds the early one */
    assert_false(far_hear(2));
    assert_true(far_hear(3));
    node_end();
}

static void at_most_64_messages_are_early_and_the_next_one_asks_at_once(void **state)
{
    (void)state;
    begin();
    for (uint64_t n = 2; n <= 1 + TD_EARLY_MAX; n++)
        assert_false(far_hear(n));
    assert_int_equal(node.early_kept.count, TD_EARLY_MAX);
    assert_int_equal(far_resumes(), 0);
    assert_false(far_hear(2 + TD_EARLY_MAX));
    assert_int_equal(node.early_kept.count, TD_EARLY_MAX);
    assert_int_equal(far_resumes(), 1);
    assert_true(far_hear(1));
    for (uint64_t n = 2; n <= 1 + TD_EARLY_MAX; n++)
        take(n);
    assert_int_equal(node.early_taken.count, 0);
    assert_true(far_hear(2 + TD_EARLY_MAX)); /* retransmitted */
    node_end();
}

static void a_message_that_overtakes_the_reply_to_a_resume_is_asked_for_again(void **state)
{
    (void)state;
    begin();
    far.session += 2; /* the far end has begun another session, as this node learns later */
    assert_false(far_hear(1));
    assert_int_equal(far_resumes(), 1);
    assert_false(far_hear(2)); /* sent after the RESUME that is still on its way */
    assert_int_equal(far_resumes(), 1);
    node_forget();
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(far_resumes(), 1);
    assert_true(node_sent_to(FAR, TD_MESSAGE_RESUME)->u.resume.reply_requested);
    node_forget();
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(far_resumes(), 0);
    assert_true(far_hear(1));
    assert_true(far_hear(2));
    node_end();
}

static void a_message_that_stays_missing_is_asked_for_after_a_second(void **state)
{
    (void)state;
    begin();
    assert_false(far_hear(3));
    far_pass(TD_EARLY_PATIENCE_NS - 1);
    assert_int_equal(far_resumes(), 0);
    assert_true(far_hear(1)); /* the other path is slow, but it is not stuck */
    far_pass(TD_EARLY_PATIENCE_NS - 1);
    assert_int_equal(far_resumes(), 0);
    far_pass(1);
    assert_int_equal(far_resumes(), 1);
    assert_true(node_sent_to(FAR, TD_MESSAGE_RESUME)->u.resume.reply_requested);
    assert_int_equal(node_sent_to(FAR, TD_MESSAGE_RESUME)->received, 1);
    node_end();
}

static void early_messages_outlive_a_connection(void **state)
{
    (void)state;
    begin();
    far_say(); /* so that the far end's RESUME knows this session */
    assert_false(far_hear(2));
    far_down(false);
    far_up(DAEMON);
    assert_int_equal(far_resumes(), 1); /* a reconnect asks at once */
    assert_int_equal(node.early_forgotten, 0);
    far_resume(far.link->session, 0, 0, false);
    assert_true(far_hear(1));
    take(2);
    node_end();
}

static void early_messages_of_a_session_that_ends_are_dropped(void **state)
{
    (void)state;
    begin();
    assert_false(far_hear(2));
    far.session += 2; /* the far end has given the session up */
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(node.early_forgotten, 1);
    node_forget();
    assert_true(far_hear(1));
    assert_int_equal(node.early_taken.count, 0);
    assert_true(far_hear(2));
    node_end();
}

static void a_resume_that_goes_on_later_passes_over_early_messages(void **state)
{
    (void)state;
    begin();
    assert_false(far_hear(3));
    assert_false(far_hear(6));
    far.first = 6; /* messages up to 5 were for an earlier daemon of this node */
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(far.link->tree_received, 5);
    take(6);
    assert_int_equal(node.early_taken.count, 0);
    assert_true(far_hear(7));
    node_end();
}

static void a_gap_on_a_relayed_link_asks_at_once(void **state)
{
    (void)state;
    far_begin_relayed();
    node.core->two_paths = true;
    assert_true(far_hear(1));
    assert_false(far_hear(3)); /* a node on the route may have dropped 2 */
    assert_int_equal(far_resumes(), 1);
    assert_true(far_hear(2));
    assert_int_equal(node.early_taken.number, 3);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(early_messages_follow_the_missing_one_in_order),
        cmocka_unit_test(a_copy_of_an_early_message_is_dropped),
        cmocka_unit_test(a_message_that_is_taken_may_come_by_itself_first),
        cmocka_unit_test(at_most_64_messages_are_early_and_the_next_one_asks_at_once),
        cmocka_unit_test(a_message_that_overtakes_the_reply_to_a_resume_is_asked_for_again),
        cmocka_unit_test(a_message_that_stays_missing_is_asked_for_after_a_second),
        cmocka_unit_test(early_messages_outlive_a_connection),
        cmocka_unit_test(early_messages_of_a_session_that_ends_are_dropped),
        cmocka_unit_test(a_resume_that_goes_on_later_passes_over_early_messages),
        cmocka_unit_test(a_gap_on_a_relayed_link_asks_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
