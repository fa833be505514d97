/* SPDX-License-Identifier: Apache-2.0 */
/* The begin, numbering and resumption of a session, driven call by call: core/net/session.h. */
#include "far.h"

#include "core/net/goodbye.h"

enum { KEPT_MAX = 2048 /* tree messages that are kept for a node */ };

/* acknowledge receives a heartbeat of the far end. */
static void acknowledge(uint64_t received)
{
    struct td_message m = {.kind = TD_MESSAGE_HEARTBEAT,
                           .session = far.session,
                           .counts_session = far.link->session,
                           .received = received};
    td_session_message(node.core, far.node, &m);
    node_run();
}

/* ---- beginning ---- */

static void two_daemons_that_meet_for_the_first_time_need_no_resume(void **state)
{
    (void)state;
    far_begin(NULL);
    far_up(DAEMON);
    assert_int_equal(far.link->state, TD_LINK_UP);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_int_not_equal(far.link->session_in, 0);
    assert_int_equal(far_resumes(), 0);
    node_end();
}

static void messages_of_a_daemon_that_is_not_known_to_be_up_begin_its_session(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    uint32_t first = far.session;
    node_end();
    far_begin(NULL);
    far.session = first;
    assert_true(far_hear(1));
    assert_int_equal(far.link->session_in, first);
    far_up(DAEMON);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_int_equal(far_resumes(), 0);
    assert_true(far_hear(2));
    node_end();
}

static void a_session_that_another_daemon_began_is_asked_about(void **state)
{
    (void)state;
    far_begin(NULL);
    far.session = 99;
    assert_true(far_hear(1));
    far_up(DAEMON); /* its first session is another one */
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    assert_int_equal(far_resumes(), 1);
    node_end();
}

static void a_second_message_does_not_begin_a_session(void **state)
{
    (void)state;
    far_begin(NULL);
    far.session = 99;
    assert_false(far_hear(2));
    assert_int_equal(far.link->session_in, 0);
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    assert_int_equal(far.link->state, TD_LINK_CONNECTING); /* the RESUME waits for a connection */
    assert_int_equal(far_resumes(), 0);
    far_up(DAEMON); /* the far end has sent the messages that this node missed */
    assert_int_equal(far_resumes(), 1);
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    node_end();
}

/* ---- the end ---- */

/* asks_and_stops connects again, so that each end asks the other one, and stops this daemon. */
static void asks_and_stops(void)
{
    far_begin(NULL);
    far_meet();
    far_down(false);
    far_up(DAEMON);
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    node_forget();
    assert_false(td_goodbye_say(node.core));
    node_run();
    assert_null(node_sent_to(FAR, TD_MESSAGE_GOODBYE));
}

static void a_daemon_that_stops_says_goodbye_when_the_session_is_open(void **state)
{
    (void)state;
    asks_and_stops();
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    node_forget();
    assert_false(td_goodbye_say(node.core));
    node_run();
    assert_non_null(node_sent_to(FAR, TD_MESSAGE_GOODBYE));
    node_forget();
    assert_false(td_goodbye_say(node.core)); /* once */
    node_run();
    assert_null(node_sent_to(FAR, TD_MESSAGE_GOODBYE));
    td_goodbye_link_down(node.core, FAR, false);
    far_down(false);
    assert_true(td_goodbye_say(node.core));
    node_end();
}

static void a_daemon_that_stops_does_not_wait_long_for_a_session(void **state)
{
    (void)state;
    asks_and_stops();
    node.core->now += TD_GOODBYE_NS;
    assert_true(td_goodbye_say(node.core));
    node_end();
}

/* ---- numbers ---- */

static void messages_are_numbered_from_1_except_heartbeats_and_resumes(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    far_say();
    far_say();
    const struct td_message *m = node_sent_to(FAR, TD_MESSAGE_RANK_LEFT);
    assert_int_equal(m->number, 1);
    assert_int_equal(m->session, far.link->session);
    assert_int_equal(m->counts_session, far.session);
    assert_int_equal(node.sent[1].message.number, 2);
    td_session_send(node.core, FAR, &(struct td_message){.kind = TD_MESSAGE_HEARTBEAT});
    td_session_ask(node.core, far.link);
    node_run();
    assert_int_equal(node_sent_to(FAR, TD_MESSAGE_HEARTBEAT)->number, 0);
    assert_int_equal(node_sent_to(FAR, TD_MESSAGE_RESUME)->number, 0);
    assert_int_equal(far.link->tree_sent, 2);
    node_end();
}

static void each_message_tells_how_many_were_received(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    assert_true(far_hear(1));
    assert_true(far_hear(2));
    far_say();
    assert_int_equal(node_sent_to(FAR, TD_MESSAGE_RANK_LEFT)->received, 2);
    assert_int_equal(far.link->tree_received_told, 2);
    node_end();
}

static void many_received_messages_are_told_for_their_own_sake(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    for (uint64_t n = 1; n < 32; n++)
        assert_true(far_hear(n));
    assert_int_equal(far_resumes(), 0);
    assert_true(far_hear(32));
    assert_int_equal(node_sent_to(FAR, TD_MESSAGE_RESUME)->received, 32);
    assert_false(node_sent_to(FAR, TD_MESSAGE_RESUME)->u.resume.reply_requested);
    node_end();
}

static void an_acknowledgement_releases_what_was_kept(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    far_say();
    far_say();
    acknowledge(1);
    assert_int_equal(far.link->tree_acknowledged, 1);
    assert_int_equal(node.forgets.number, 1);
    acknowledge(3); /* more than were sent */
    assert_int_equal(far.link->tree_acknowledged, 1);
    far.session++; /* of another session */
    acknowledge(2);
    assert_int_equal(far.link->tree_acknowledged, 1);
    node_end();
}

static void a_duplicate_is_dropped(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    assert_true(far_hear(1));
    assert_true(far_hear(2));
    assert_false(far_hear(1));
    assert_false(far_hear(2));
    assert_int_equal(far.link->tree_received, 2);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_int_equal(far_resumes(), 0);
    node_end();
}

static void a_gap_asks_for_one_resume_and_the_session_stays_open(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    assert_true(far_hear(1));
    assert_false(far_hear(3));
    assert_false(far_hear(4));
    assert_int_equal(far_resumes(), 1);
    assert_true(node_sent_to(FAR, TD_MESSAGE_RESUME)->u.resume.reply_requested);
    assert_int_equal(far.link->session_state, TD_SESSION_CHECKING);
    node_forget();
    far_say();
    assert_false(node_held(FAR, TD_MESSAGE_RANK_LEFT));
    far_resume(far.link->session, 0, 0, false); /* before the messages that it retransmits */
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_true(far_hear(2));
    assert_true(far_hear(3));
    node_end();
}

static void a_node_that_acknowledges_nothing_is_dropped_once(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    for (uint32_t i = 1; i < KEPT_MAX; i++) {
        far_say();
        assert_int_equal(node.dropped_links, 0);
        node_forget();
    }
    far_say();
    assert_int_equal(node.dropped_links, 1);
    far_say();
    assert_int_equal(node.dropped_links, 1);
    uint32_t session = far.link->session;
    far_down(false); /* it may not return */
    assert_int_equal(far.link->session, session + 2);
    assert_int_equal(far.link->state, TD_LINK_GIVEN_UP);
    node_end();
}

static void no_more_is_kept_for_a_link_that_is_down_than_for_one_that_is_up(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    far_down(false);
    uint32_t session = far.link->session;
    for (uint32_t i = 0; i < KEPT_MAX; i++) {
        far_pass(0);
        assert_int_equal(far.link->session, session);
        far_say();
        node_forget();
    }
    far_pass(0);
    assert_int_equal(far.link->session, session + 2);
    assert_int_equal(node.dropped_links, 0);
    node_end();
}

/* ---- resuming ---- */

static void a_link_that_comes_back_repeats_what_the_far_end_lacks(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    far_say();
    far_say();
    assert_true(far_hear(1));
    far_down(false);
    assert_int_equal(far.link->session_state, TD_SESSION_CLOSED);
    far_say();
    assert_true(node_held(FAR, TD_MESSAGE_RANK_LEFT));
    node_forget();
    far_up(DAEMON);
    const struct td_message *m = node_sent_to(FAR, TD_MESSAGE_RESUME);
    assert_non_null(m);
    assert_true(m->u.resume.reply_requested);
    assert_int_equal(m->received, 1); /* so the far end repeats from 2 on */
    assert_int_equal(m->counts_session, far.session);
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    assert_int_equal(node.repeats.count, 0);
    node_forget();
    far_resume(far.link->session, 1, 0, false);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_int_equal(node.repeats.count, 1);
    assert_int_equal(node.repeats.node, FAR);
    assert_int_equal(node.repeats.number, 2);
    assert_int_equal(far.link->expires_at, TD_TIME_NEVER);
    assert_int_equal(far.link->lane->resumes, 1);
    assert_int_equal(far_resumes(), 0); /* no reply was requested */
    assert_int_equal(node.packets, 1);
    assert_int_equal(node.packet[0].kind, TD_PACKET_CREDIT); /* earlier ones may be lost */
    assert_int_equal(node.waiting, 0);
    assert_true(far_hear(2));
    node_end();
}

static void a_resume_that_asks_for_a_reply_is_answered_and_repeated_to(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    far_say();
    assert_true(far_hear(1));
    node_forget();
    far_resume(far.link->session, 0, 0,
               true); /* the far end lacks a message: its session stays open */
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_int_equal(node.repeats.number, 1);
    const struct td_message *m = node_sent_to(FAR, TD_MESSAGE_RESUME);
    assert_non_null(m);
    assert_false(m->u.resume.reply_requested);
    assert_int_equal(m->received, 1);
    assert_int_equal(far.link->lane->resumes, 0); /* it was never down */
    node_end();
}

static void a_resume_on_a_link_that_is_down_opens_nothing(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    far_down(false);
    far_resume(far.link->session, 0, 0, true);
    assert_int_equal(far.link->session_state, TD_SESSION_CLOSED);
    assert_int_equal(far.link->state, TD_LINK_CONNECTING); /* to reply */
    assert_int_equal(far_resumes(), 0);
    far_up(DAEMON);
    assert_true(far_resumes() > 0);
    node_end();
}

static void a_resume_of_a_session_that_was_given_up_here_is_answered_with_the_new_one(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    far_resume(far.link->session - 2, 0, 0, false);
    const struct td_message *m = node_sent_to(FAR, TD_MESSAGE_RESUME);
    assert_non_null(m);
    assert_int_equal(m->session, far.link->session);
    assert_true(m->u.resume.reply_requested);
    node_end();
}

static void a_new_session_of_the_far_end_ends_one_in_which_something_came(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    assert_true(far_hear(1));
    uint32_t session = far.link->session;
    far.session += 2;
    far_resume(0, 0, 0, true);
    assert_int_equal(far.link->session, session + 2);
    assert_int_equal(far.link->session_in, far.session);
    assert_int_equal(far.link->tree_received, 0);
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    const struct td_message *m = node_sent_to(FAR, TD_MESSAGE_RESUME);
    assert_int_equal(m->session, session + 2);
    assert_int_equal(m->counts_session, far.session);
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    node_end();
}

static void a_new_session_of_the_far_end_keeps_one_in_which_nothing_came(void **state)
{
    (void)state;
    far_begin(NULL);
    far_meet();
    far_say();
    uint32_t session = far.link->session;
    far.session += 2;
    far_resume(0, 0, 0, false);
    assert_int_equal(far.link->session, session);
    assert_int_equal(far.link->session_in, far.session);
    far_resume(session, 0, 0, false);
    assert_int_equal(node.repeats.number, 1);
    node_end();
}

/* ---- a node that must have started by now ---- */

static void a_node_that_is_expected_has_the_whole_patience_once_it_was_tried(void **state)
{
    (void)state;
    far_begin(NULL);
    td_time patience = (td_time)node.core->settings.progress_timeout_ns;
    td_session_expect(node.core, FAR, DAEMON);
    assert_true(far.link->lane->expected);
    assert_true(far.link->expires_at == TD_TIME_NEVER); /* it was never tried */
    far_down(false);
    td_time begun = far.link->expires_at;
    assert_true(begun < TD_TIME_NEVER);
    node.core->now += patience / 2;
    td_session_expect(node.core, FAR, DAEMON);
    assert_true(far.link->expires_at == node.core->now + patience);
    node_end();
    far_begin(NULL);
    far_meet();
    td_session_expect(node.core, FAR, DAEMON); /* it is there */
    node_run();
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_int_equal(far_resumes(), 0);
    node_end();
}

/* ---- pauses ---- */

/* meet makes the far end a daemon that the node has a session with. */
static void meet(void)
{
    far_begin(NULL);
    far_meet();
    assert_true(far_hear(1));
    node_forget();
}

static uint64_t patience(void)
{
    return (uint64_t)node.core->settings.progress_timeout_ns;
}

/* The far end has asked before it gave this node up, and its RESUME was not read then. */
static void after_a_pause_a_resume_that_was_sent_before_opens_nothing(void **state)
{
    (void)state;
    meet();
    far_pause(patience());
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    assert_int_equal(far_resumes(), 1);
    uint64_t question = far_question();
    assert_true(question > 0);
    for (int i = 0; i < 2; i++) {
        far_resume(far.link->session, 0, 0, true);
        assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
        assert_true(far_question() == question);
    }
    far.answers = question;
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    node_forget();
    far.answers = 0;
    far_resume(far.link->session, 0, 0, true);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_true(far_question() == 0);
    node_end();
}

static void each_long_pause_asks_another_question(void **state)
{
    (void)state;
    meet();
    far_pause(patience());
    uint64_t first = far_question();
    far_pause(patience());
    far.answers = first;
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    assert_true(far_question() != first);
    node_end();
}

static void a_pause_in_which_nobody_gives_up_closes_nothing(void **state)
{
    (void)state;
    meet();
    far_pause(patience() / 2);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_int_equal(far_resumes(), 0);
    node_end();
}

/* The question was about the session that has ended: the next one begins at both ends. */
static void a_far_end_that_gave_up_meanwhile_is_asked_no_question(void **state)
{
    (void)state;
    meet();
    uint32_t before = far.link->session;
    far_pause(patience());
    far.session += 2;
    far.given_up = before;
    far_resume(0, 0, 0, true);
    assert_int_not_equal(far.link->session, before);
    assert_true(far_question() == 0);
    far_resume(far.link->session, 0, 0, true);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    node_end();
}

static void the_latest_question_of_the_far_end_is_answered_in_each_resume(void **state)
{
    (void)state;
    meet();
    for (far.question = 5; far.question < 7; far.question++) {
        far_resume(far.link->session, 0, 0, true);
        assert_true(far_answer() == far.question);
    }
    far.question = 0;
    far_resume(far.link->session, 0, 0, true);
    assert_true(far_answer() == 6);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_daemons_that_meet_for_the_first_time_need_no_resume),
        cmocka_unit_test(messages_of_a_daemon_that_is_not_known_to_be_up_begin_its_session),
        cmocka_unit_test(a_session_that_another_daemon_began_is_asked_about),
        cmocka_unit_test(a_daemon_that_stops_says_goodbye_when_the_session_is_open),
        cmocka_unit_test(a_daemon_that_stops_does_not_wait_long_for_a_session),
        cmocka_unit_test(a_second_message_does_not_begin_a_session),
        cmocka_unit_test(messages_are_numbered_from_1_except_heartbeats_and_resumes),
        cmocka_unit_test(each_message_tells_how_many_were_received),
        cmocka_unit_test(many_received_messages_are_told_for_their_own_sake),
        cmocka_unit_test(an_acknowledgement_releases_what_was_kept),
        cmocka_unit_test(a_duplicate_is_dropped),
        cmocka_unit_test(a_gap_asks_for_one_resume_and_the_session_stays_open),
        cmocka_unit_test(a_node_that_acknowledges_nothing_is_dropped_once),
        cmocka_unit_test(no_more_is_kept_for_a_link_that_is_down_than_for_one_that_is_up),
        cmocka_unit_test(a_link_that_comes_back_repeats_what_the_far_end_lacks),
        cmocka_unit_test(a_resume_that_asks_for_a_reply_is_answered_and_repeated_to),
        cmocka_unit_test(a_resume_on_a_link_that_is_down_opens_nothing),
        cmocka_unit_test(a_resume_of_a_session_that_was_given_up_here_is_answered_with_the_new_one),
        cmocka_unit_test(a_new_session_of_the_far_end_ends_one_in_which_something_came),
        cmocka_unit_test(a_new_session_of_the_far_end_keeps_one_in_which_nothing_came),
        cmocka_unit_test(a_node_that_is_expected_has_the_whole_patience_once_it_was_tried),
        cmocka_unit_test(after_a_pause_a_resume_that_was_sent_before_opens_nothing),
        cmocka_unit_test(each_long_pause_asks_another_question),
        cmocka_unit_test(a_pause_in_which_nobody_gives_up_closes_nothing),
        cmocka_unit_test(a_far_end_that_gave_up_meanwhile_is_asked_no_question),
        cmocka_unit_test(the_latest_question_of_the_far_end_is_answered_in_each_resume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
