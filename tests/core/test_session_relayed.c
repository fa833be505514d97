/* SPDX-License-Identifier: Apache-2.0 */
/* The session of a relayed link, driven call by call: core/net/session.h. */
#include "far.h"

#include "core/net/health.h"

enum { MILLISECOND = 1000000 };

static void tick(uint64_t ns)
{
    node.core->now += ns;
    td_health_tick(node.core);
    td_session_timers(node.core);
    node_run();
}

static void a_relayed_link_that_is_silent_is_given_up_and_probed(void **state)
{
    (void)state;
    far_begin_relayed();
    td_link_watch(node.core, DISTANT);
    uint64_t timeout = (uint64_t)node.core->settings.progress_timeout_ns;
    uint32_t session = far.link->session;
    tick(timeout);
    assert_int_equal(far.link->session_state, TD_SESSION_CHECKING); /* is it there? */
    tick(2 * timeout);
    assert_int_equal(far.link->state, TD_LINK_UP);
    tick(timeout);
    assert_true(td_link_is_given_up(far.link));
    assert_int_equal(far.link->session, session + 2);
    assert_non_null(strstr(td_link_why(far.link), "silent"));
    node_forget();
    tick((uint64_t)node.core->settings.heartbeat_ns);
    const struct td_message *m = node_sent_to(DISTANT, TD_MESSAGE_RESUME);
    assert_non_null(m);
    assert_true(m->u.resume.reply_requested);
    assert_true(m->relay.is_relayed);
    assert_true(td_link_is_given_up(far.link)); /* until a message arrives */
    node_end();
}

static void an_unreachable_node_loses_its_session_and_is_not_probed(void **state)
{
    (void)state;
    far_begin_relayed();
    td_link_watch(node.core, DISTANT);
    uint32_t session = far.link->session;
    td_session_unreachable(node.core, far.link, "no route");
    assert_int_equal(far.link->state, TD_LINK_UNREACHABLE);
    assert_int_equal(far.link->session, session + 2);
    assert_string_equal(td_link_why(far.link), "no route");
    node_run();
    node_forget();
    tick((uint64_t)node.core->settings.heartbeat_ns);
    assert_null(node_sent_to(DISTANT, TD_MESSAGE_RESUME));
    td_link_want(node.core, far.link); /* the driver could not connect */
    assert_int_equal(far.link->state, TD_LINK_UNREACHABLE);
    node_end();
}

static void a_node_that_is_reachable_again_is_asked_to_resume(void **state)
{
    (void)state;
    far_begin_relayed();
    td_session_unreachable(node.core, far.link, "no route");
    node_run();
    node_forget();
    td_session_reachable(node.core, far.link);
    node_run();
    assert_int_equal(far.link->state, TD_LINK_UP);
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    assert_string_equal(td_link_why(far.link), "");
    assert_int_equal(far_resumes(), 1);
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    node_end();
}

static void a_node_that_is_silent_is_reachable_when_a_message_of_it_comes(void **state)
{
    (void)state;
    far_begin_relayed();
    struct td_message m = {.kind = TD_MESSAGE_HEARTBEAT, .session = far.session};
    m.relay = (struct td_relay){.is_relayed = true, .origin = DISTANT};
    td_session_unreachable(node.core, far.link, "no route");
    assert_int_equal(node.core->fabric->relay(node.core, FAR, &m), DISTANT);
    assert_int_equal(far.link->state, TD_LINK_UNREACHABLE); /* no reply could travel back */
    td_session_reachable(node.core, far.link);
    td_session_give_up(node.core, far.link, "it is silent");
    assert_int_equal(far.link->state, TD_LINK_DOWN);
    far_pass(0);
    assert_true(td_link_is_given_up(far.link));
    assert_int_equal(node.core->fabric->relay(node.core, FAR, &m), DISTANT);
    assert_int_equal(far.link->state, TD_LINK_UP);
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    node_end();
}

static void a_relayed_link_is_retried_after_each_loss(void **state)
{
    (void)state;
    far_begin_relayed();
    for (int i = 0; i < 2; i++) {
        td_session_give_up(node.core, far.link, "it is silent");
        far_pass(0);
        td_session_ask(node.core, far.link);
        node_run();
        assert_int_equal(far.link->state, TD_LINK_RETRYING);
        assert_non_null(node_sent_to(DISTANT, TD_MESSAGE_HEARTBEAT));
        td_session_reachable(node.core, far.link);
        node_run();
        node_forget();
    }
    node_end();
}

static void messages_that_were_never_answered_are_lost_when_their_node_is_back(void **state)
{
    (void)state;
    far_begin_relayed();
    uint32_t session = far.link->session;
    td_session_check(node.core, far.link); /* nothing was sent, so nothing can be lost */
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    far_say();
    td_session_check(node.core, far.link);
    node_run();
    assert_int_equal(far.link->session, session + 2);
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    node_end();
}

static void messages_that_were_answered_are_not_lost_before_the_daemon_says_so(void **state)
{
    (void)state;
    far_begin_relayed();
    assert_true(far_hear(1));
    far_say();
    uint32_t session = far.link->session;
    node_forget();
    td_session_check(node.core, far.link);
    node_run();
    assert_int_equal(far.link->session, session);
    assert_int_equal(far.link->session_state, TD_SESSION_CHECKING);
    assert_int_equal(far_resumes(), 1);
    node_end();
}

/* restarted receives the first RESUME of a daemon that was started a given time ago. */
static void restarted(uint64_t uptime_ns)
{
    struct td_message m = {.kind = TD_MESSAGE_RESUME, .session = far.session};
    m.u.resume.uptime_ns = uptime_ns;
    td_session_message(node.core, DISTANT, &m);
    node_run();
}

static void messages_sent_before_a_daemon_was_started_are_lost(void **state)
{
    (void)state;
    far_begin_relayed();
    uint32_t session = far.link->session;
    far_say();
    node.core->now += 100 * MILLISECOND;
    restarted(90 *
              MILLISECOND); /* a RESUME may take that long: the daemon may have received them */
    assert_int_equal(far.link->session, session);
    node_end();
    far_begin_relayed();
    far_say();
    node.core->now += 100 * MILLISECOND;
    restarted(10 * MILLISECOND);
    assert_int_equal(far.link->session, session + 2);
    assert_int_equal(far.link->tree_sent, 0);
    node_end();
}

static void what_is_sent_on_a_session_in_doubt_is_kept_until_the_reply(void **state)
{
    (void)state;
    far_begin_relayed();
    assert_true(far_hear(1));
    far_say();
    td_session_doubt(node.core, far.link);
    node_run();
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    node_forget();
    far_say();
    assert_true(node_held(DISTANT, TD_MESSAGE_RANK_LEFT));
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(node.repeats.number, 1);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    node_end();
}

static void a_message_begins_no_session_after_a_loss(void **state)
{
    (void)state;
    far_begin_relayed();
    td_session_unreachable(node.core, far.link, "no route");
    td_session_reachable(node.core, far.link);
    struct td_message m = {.kind = TD_MESSAGE_RANK_LEFT, .session = far.session, .number = 1};
    assert_false(td_session_message(node.core, DISTANT, &m)); /* it may be an old one */
    assert_int_equal(far.link->session_in, 0);
    node_end();
}

static void a_message_to_an_earlier_incarnation_is_asked_about(void **state)
{
    (void)state;
    far_begin_relayed();
    struct td_message m = {.kind = TD_MESSAGE_RANK_LEFT,
                           .session = far.session,
                           .counts_session = far.link->session + 4,
                           .number = 1};
    assert_false(td_session_message(node.core, DISTANT, &m));
    assert_int_equal(far.link->session_in, 0);
    assert_int_equal(far.link->session_state, TD_SESSION_CHECKING);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relayed_link_that_is_silent_is_given_up_and_probed),
        cmocka_unit_test(an_unreachable_node_loses_its_session_and_is_not_probed),
        cmocka_unit_test(a_node_that_is_reachable_again_is_asked_to_resume),
        cmocka_unit_test(a_node_that_is_silent_is_reachable_when_a_message_of_it_comes),
        cmocka_unit_test(a_relayed_link_is_retried_after_each_loss),
        cmocka_unit_test(messages_that_were_never_answered_are_lost_when_their_node_is_back),
        cmocka_unit_test(messages_that_were_answered_are_not_lost_before_the_daemon_says_so),
        cmocka_unit_test(messages_sent_before_a_daemon_was_started_are_lost),
        cmocka_unit_test(what_is_sent_on_a_session_in_doubt_is_kept_until_the_reply),
        cmocka_unit_test(a_message_begins_no_session_after_a_loss),
        cmocka_unit_test(a_message_to_an_earlier_incarnation_is_asked_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
