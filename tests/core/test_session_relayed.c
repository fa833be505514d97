/* SPDX-License-Identifier: Apache-2.0 */
/* The session of a relayed link, driven call by call: core/net/session.h. */
#include "far.h"

#include "core/membership/shrink.h"
#include "core/membership/succession.h"
#include "core/net/fabric_routed.h"
#include "core/net/health.h"

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

/* no_route tells the link that there is no route until it is given up. */
static void no_route(void)
{
    td_session_route(node.core, far.link, false, false);
    assert_int_equal(far.link->state, TD_LINK_UP);
    far_pass((uint64_t)node.core->settings.progress_timeout_ns);
}

/* Seed 1846 of test_restarts_sim: a notice that a neighbour was lost came late, after another one
 * that was lost since; together they cut the machine in parts, until the next notice a moment
 * later.
 */
static void a_node_without_a_route_for_a_moment_keeps_its_session(void **state)
{
    (void)state;
    far_begin_relayed();
    assert_true(far_hear(1));
    far_resume(far.link->session, 0, 0, false); /* who it is */
    uint32_t session = far.link->session;
    td_session_route(node.core, far.link, false, false);
    far_say();
    far_pass((uint64_t)node.core->settings.progress_timeout_ns - 1);
    node_forget();
    td_session_route(node.core, far.link, true, false);
    far_pass((uint64_t)node.core->settings.progress_timeout_ns);
    assert_int_equal(far.link->state, TD_LINK_UP);
    assert_int_equal(far.link->session, session);
    assert_true(far_resumes() > 0);
    far_resume(session, 0, 0, false);
    assert_int_equal(node.repeats.number, 1);
    node_end();
}

static void a_node_that_all_its_neighbours_have_lost_is_lost_at_once(void **state)
{
    (void)state;
    far_begin_relayed();
    td_session_route(node.core, far.link, false, true);
    assert_int_equal(far.link->state, TD_LINK_UNREACHABLE);
    node_end();
}

static void an_unreachable_node_loses_its_session_and_is_not_probed(void **state)
{
    (void)state;
    far_begin_relayed();
    td_link_watch(node.core, DISTANT);
    uint32_t session = far.link->session;
    no_route();
    assert_int_equal(far.link->state, TD_LINK_UNREACHABLE);
    assert_int_equal(far.link->session, session + 2);
    assert_non_null(strstr(td_link_why(far.link), "unreachable"));
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
    no_route();
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
    no_route();
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

/* resumed receives the first RESUME of a daemon; counts_session 0: it knows nothing of this node.
 */
static void resumed(uint64_t incarnation, uint32_t counts_session, uint64_t received)
{
    far.incarnation = incarnation;
    far.session = (uint32_t)incarnation;
    far_resume(counts_session, received, 0, false);
}

static void messages_are_not_lost_before_the_daemon_says_so(void **state)
{
    (void)state;
    far_begin_relayed();
    uint32_t session = far.link->session;
    td_session_check(node.core, far.link); /* nothing was sent, so nothing can be lost */
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    far_say();
    td_session_check(node.core, far.link);
    node_run();
    assert_int_equal(far.link->session_state, TD_SESSION_CHECKING);
    assert_int_equal(far_resumes(), 1);
    resumed(DAEMON, session, 1); /* it has received the message */
    assert_int_equal(far.link->session, session);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_int_equal(far.link->tree_acknowledged, 1);
    node_end();
}

/* A node that was started before a daemon may have sent messages to an earlier one, or to the node
 * before a daemon ran there. */
static void messages_that_no_daemon_answered_are_dropped_if_nothing_needs_the_new_one(void **state)
{
    (void)state;
    far_begin_relayed();
    uint32_t session = far.link->session;
    far_say();
    node_forget();
    resumed(ANOTHER, 0, 0);
    assert_int_equal(far.link->tree_acknowledged, 1);
    assert_int_equal(node.forgets.number, UINT64_MAX);
    assert_int_equal(far.link->session, session); /* nobody else has given anything up */
    const struct td_message *m = node_sent_to(DISTANT, TD_MESSAGE_RESUME);
    assert_non_null(m);
    assert_int_equal(m->u.resume.first, 2);
    far_resume(session, 1, 0, false);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_int_equal(node.repeats.count, 0);
    node_end();
}

/* Seed 177 of test_restarts_sim: node 0 was started, and spoke before it was asked. */
static void they_are_dropped_too_if_that_daemon_has_spoken_first(void **state)
{
    (void)state;
    far_begin_relayed();
    far_say();
    assert_true(far_hear(1));
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(far.link->tree_acknowledged, 1);
    assert_int_equal(far.link->tree_received, 1); /* nothing that it has said comes again */
    assert_int_equal(node_sent_to(DISTANT, TD_MESSAGE_RESUME)->u.resume.first, 2);
    far_resume(far.link->session, 1, 0, false);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_int_equal(node.repeats.count, 0);
    node_end();
}

/* Swarm seeds 17044, 24333 and 28407: such a node had dropped its answer to the head of a shrink,
 * which waited for it for ever. What the other end has dropped may have been an answer, so the
 * question goes again. */
static void what_the_far_end_has_dropped_is_asked_for_again(void **state)
{
    (void)state;
    far_begin_relayed();
    struct td_communicator *c = node_group(DISTANT + 1);
    struct td_request q = {.kind = TD_REQUEST_SHRINK, .id = 5};
    q.u.shrink.group = c->number;
    td_shrink_request(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
    node_forget();
    far.first = 2; /* its message 1 was dropped */
    far_resume(far.link->session, far.link->tree_sent, 0, false);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_int_equal(far.link->tree_received, 1);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_ASK), 1);
    far_resume(far.link->session, far.link->tree_sent, 0, false); /* it has not dropped more */
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_ASK), 1);
    node_end();
}

/* Seeds 1729 and 2199 of test_restarts_sim: a notice was on its way to a daemon that had just been
 * started, and a job with it had formed; the first RESUME then counted as that of a restart. */
static void a_group_that_has_formed_with_a_daemon_outlives_its_first_resume(void **state)
{
    (void)state;
    far_begin_relayed();
    uint32_t session = far.link->session;
    far_say();
    struct td_communicator *c = node_group_with(3, ANOTHER);
    node_call(c, -1);
    resumed(ANOTHER, 0, 0);
    assert_int_equal(node.replies, 0);
    assert_int_equal(c->state, TD_COMMUNICATOR_ACTIVE);
    assert_int_equal(far.link->session, session);
    far_resume(session, 0, 0, false);
    assert_int_equal(node.repeats.number, 1); /* this and later ones may be for the group */
    node_end();
}

/* A group may not know the daemons of its nodes. One that has received what was sent is no other
 * daemon than that which it was sent to. */
static void a_group_outlives_the_first_resume_of_a_daemon_that_has_received_all(void **state)
{
    (void)state;
    far_begin_relayed();
    const struct td_communicator *c = node_group(3);
    far_say();
    resumed(DAEMON, far.link->session, far.link->tree_sent);
    assert_int_equal(c->state, TD_COMMUNICATOR_ACTIVE);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    node_end();
}

/* Seed 580 of test_restarts_sim: node 0 gave a node nothing up, but the node gave up node 0; the
 * first RESUME that it ever sent was in its second session. */
static void
a_daemon_that_has_given_this_node_up_is_lost_even_if_it_is_asked_for_the_first_time(void **state)
{
    (void)state;
    far_begin_relayed();
    far.session = (DAEMON * 0x9e3779b1u) | 1; /* its first one */
    assert_true(far_hear(1));
    far_say();
    struct td_communicator *c = node_group_with(3, DAEMON);
    uint32_t session = far.link->session;
    far.session += 2;
    far_resume(0, 0, 0, true);
    assert_true(node_doubts(c, DISTANT));
    assert_int_equal(far.link->session, session + 2);
    node_end();
}

/* Seed 2417 of test_restarts_sim: node 0 was sent the joins of former jobs once more, since it had
 * given up a node that had never heard of it. */
static void what_was_sent_in_a_session_that_was_given_up_there_is_lost(void **state)
{
    (void)state;
    far_begin_relayed();
    uint32_t session = far.link->session;
    far_say();
    struct td_communicator *c = node_group_with(3, DAEMON);
    far.given_up = session;
    far_resume(0, 0, 0, true);
    assert_true(node_doubts(c, DISTANT));
    assert_int_equal(far.link->session, session + 2);
    far_resume(session + 2, 0, 0, true); /* it says so again, but does not mean the new one */
    assert_int_equal(far.link->session, session + 2);
    assert_true(far_hear(1));
    node_forget();
    td_session_give_up(node.core, far.link, "it is silent");
    far_pass(0);
    td_session_reachable(node.core, far.link);
    node_run();
    assert_int_equal(node_sent_to(DISTANT, TD_MESSAGE_RESUME)->u.resume.given_up, far.session);
    node_end();
}

/* Two daemons gave up each other's sessions for ever: each had messages for the other one in every
 * new session, and lost them since the other one had just begun a new session, too. */
static void a_daemon_that_knows_this_session_has_not_given_it_up(void **state)
{
    (void)state;
    far_begin_relayed();
    far_resume(0, 0, 0, true);
    far_say();
    uint32_t session = far.link->session;
    far.session += 2;
    far_resume(session, 0, 0, true);
    assert_int_equal(far.link->session, session);
    assert_int_equal(node.repeats.number, 1);
    node_end();
}

/* Two daemons gave up each other's sessions for ever, each on account of RESUMEs that had been
 * overtaken on other routes. */
static void a_resume_that_was_overtaken_by_a_later_session_is_dropped(void **state)
{
    (void)state;
    far_begin_relayed();
    far_resume(0, 0, 0, true);
    far.session += 2;
    far_resume(0, 0, 0, true);
    uint32_t session = far.link->session;
    node_forget();
    far.session -= 2;
    far_resume(0, 0, 0, true);
    assert_int_equal(far.link->session, session);
    assert_int_equal(far.link->session_in, far.session + 2);
    assert_int_equal(far_resumes(), 0);
    node_end();
}

static void a_group_of_an_earlier_daemon_is_lost_whenever_a_later_one_speaks(void **state)
{
    (void)state;
    far_begin_relayed();
    node_call(node_group_with(3, DAEMON), -1);
    assert_true(far_hear(1)); /* the session is known before its daemon is */
    far.incarnation = ANOTHER;
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(node.replies, 1);
    assert_int_equal(node.reply.error, TD_ERR_NODE_FAILED);
    assert_non_null(strstr(node.text, "was restarted"));
    node_end();
}

/* The registry asks each node that it hears for its ranks, and again after its session has ended.
 */
static void a_registry_asks_a_relayed_node_again_whose_session_has_ended(void **state)
{
    (void)state;
    for (int restarted = 0; restarted < 2; restarted++) {
        far_begin_relayed();
        node.core->succession->state = TD_SUCCESSION_KEEPING;
        assert_true(far_hear(1));
        resumed(DAEMON, far.link->session, 0);
        far_say();
        node_forget();
        far.given_up = restarted ? 0 : far.link->session;
        resumed(restarted ? ANOTHER : DAEMON + 2, restarted ? far.link->session : 0, 0);
        assert_int_equal(far.link->state, TD_LINK_UP);
        assert_int_equal(node_count(TD_MESSAGE_REGISTRY_ASK), 1);
        node_end();
    }
}

static void a_group_that_forms_late_with_an_earlier_daemon_is_lost(void **state)
{
    (void)state;
    far_begin_relayed();
    resumed(ANOTHER, 0, 0);
    far_resume(far.link->session, 0, 0, false);
    node_forget();
    struct td_communicator *c = node_group_with(3, DAEMON);
    assert_int_equal(far.link->session_state, TD_SESSION_CHECKING); /* who is there? */
    node_call(c, -1);
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(node.reply.error, TD_ERR_NODE_FAILED);
    assert_int_equal(c->state, TD_COMMUNICATOR_LOST_NODE);
    node_end();
}

/* Seed 1916 of test_restarts_sim: a daemon was told that a neighbour was lost, but not that it was
 * back, because that notice counted as one to an earlier daemon. */
static void a_daemon_that_was_not_known_is_told_of_lost_neighbours_once_more(void **state)
{
    (void)state;
    far_begin_relayed();
    td_session_up(node.core, FAR, DAEMON);
    td_session_down(node.core, FAR, "it is dead", true);
    far_pass((uint64_t)node.core->settings.heartbeat_ns);
    assert_non_null(node_sent_to(DISTANT, TD_MESSAGE_NEIGHBOUR_LOST));
    node_forget();
    resumed(ANOTHER, 0, 0);
    const struct td_message *m = node_sent_to(DISTANT, TD_MESSAGE_NEIGHBOUR_LOST);
    assert_non_null(m);
    assert_int_equal(m->u.neighbour_lost.node, FAR);
    node_end();
}

/* lose_neighbour gives up a torus neighbour that has a connection or was never up. */
static void lose_neighbour(uint32_t neighbour)
{
    td_session_down(node.core, neighbour, "it is dead", true);
    far_pass((uint64_t)node.core->settings.heartbeat_ns);
}

/* Seed 1192 of test_restarts_sim: a neighbour that was never up was lost while another node was
 * given up. That node was told so when it was back, but not that the neighbour was there at last.
 */
static void who_was_told_of_a_lost_neighbour_is_told_that_it_is_there(void **state)
{
    (void)state;
    enum { OTHER = 3 };
    far_begin_relayed();
    td_session_up(node.core, OTHER, DAEMON);
    lose_neighbour(OTHER);
    td_session_give_up(node.core, far.link, "it is silent");
    far_pass(0);
    lose_neighbour(FAR);
    node_forget();
    td_session_reachable(node.core, far.link);
    resumed(DAEMON, 0, 0);
    far_resume(far.link->session, 0, 0, false);
    const struct td_message *m = node_sent_to(DISTANT, TD_MESSAGE_NEIGHBOUR_LOST);
    assert_non_null(m);
    assert_int_equal(m->u.neighbour_lost.node, FAR);
    node_forget();
    td_session_up(node.core, FAR, DAEMON);
    struct td_message resume = {.kind = TD_MESSAGE_RESUME, .session = 4711};
    resume.counts_session = node.core->link[FAR].session;
    resume.u.resume.incarnation = DAEMON;
    td_session_message(node.core, FAR, &resume);
    node_run();
    m = node_sent_to(DISTANT, TD_MESSAGE_NEIGHBOUR_BACK);
    assert_non_null(m);
    assert_int_equal(m->u.neighbour_back.node, FAR);
    node_end();
}

/* Seeds 3618 and 3711 of test_restarts_sim: a daemon that was started did not know of nodes that
 * had been lost before. It sent messages back to where they came from, for ever. */
static void a_node_that_is_back_is_told_of_the_neighbours_that_are_lost(void **state)
{
    (void)state;
    enum { OTHER = 3 };
    far_begin_relayed();
    td_session_up(node.core, OTHER, DAEMON);
    lose_neighbour(OTHER);
    node_forget();
    struct td_message back = {.kind = TD_MESSAGE_NEIGHBOUR_BACK};
    back.u.neighbour_back.node = DISTANT;
    node.core->fabric->neighbour_lost(node.core, FAR, &back);
    node_run();
    const struct td_message *m = node_sent_to(DISTANT, TD_MESSAGE_NEIGHBOUR_LOST);
    assert_non_null(m);
    assert_int_equal(m->u.neighbour_lost.node, OTHER);
    node_end();
}

/* What a node says of its neighbours may be out of date at two others in two ways: each of them
 * then takes the way of the other. A message that goes round shows that. */
static void a_message_that_goes_round_in_a_circle_ends_what_others_have_said(void **state)
{
    (void)state;
    far_begin_relayed();
    struct td_message lost = {.kind = TD_MESSAGE_NEIGHBOUR_LOST};
    lost.u.neighbour_lost.node = 3;
    node.core->fabric->neighbour_lost(node.core, DISTANT, &lost);
    node_run();
    assert_int_equal(node.core->routed->missing_count, 1);
    struct td_message m = {.kind = TD_MESSAGE_HEARTBEAT};
    m.relay.is_relayed = true;
    m.relay.origin = FAR;
    m.relay.destination = DISTANT;
    m.relay.hops = (uint16_t)(node.core->routed->hops_max - 1);
    (void)node.core->fabric->relay(node.core, FAR, &m);
    assert_int_equal(node.core->routed->missing_count, 1);
    m.relay.hops = (uint16_t)node.core->routed->hops_max;
    (void)node.core->fabric->relay(node.core, FAR, &m);
    assert_int_equal(node.core->routed->missing_count, 0);
    node_run();
    node_end();
}

static void a_session_that_goes_on_after_a_restart_of_the_receiver_is_taken_from_there(void **state)
{
    (void)state;
    far_begin_relayed();
    far.first = 58;
    far_resume(0, 0, 0, true);
    assert_int_equal(far.link->tree_received, 57);
    assert_false(far_hear(57));
    assert_true(far_hear(58));
    node_end();
}

static void what_is_sent_on_a_session_in_doubt_is_kept_until_the_reply(void **state)
{
    (void)state;
    far_begin_relayed();
    assert_true(far_hear(1));
    far_resume(far.link->session, 0, 0, false); /* who it is */
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
    no_route();
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

/* Each reply repeats all that follows the missing message, and does not bring it if that waits on
 * another route. */
static void a_gap_on_a_relayed_link_asks_at_intervals(void **state)
{
    (void)state;
    far_begin_relayed();
    assert_true(far_hear(1));
    for (uint32_t asked = 1; asked < 4; asked++) {
        assert_false(far_hear(3));
        assert_int_equal(far_resumes(), asked);
        far_resume(far.link->session, 0, 0, false);
        assert_false(far_hear(3));
        node.core->now += TD_LINK_PATIENCE_NS - 1;
        assert_false(far_hear(3));
        assert_int_equal(far_resumes(), asked);
        node.core->now++;
    }
    assert_false(far_hear(3));
    far_resume(far.link->session, 0, 0, false);
    node_forget();
    assert_true(far_hear(2)); /* message 3 is still missing */
    assert_false(far_hear(4));
    assert_int_equal(far_resumes(), 1); /* the node asks for it without a delay */
    node_end();
}

static void routed(struct td_settings *s)
{
    s->tuning.fabric = TD_FABRIC_ROUTED;
}

/* Seeds 9804, 13245, 21599 and 30865 of the swarm: the word that a link works again did not
 * reach a node that had no route to its end. */
static void
losses_that_others_have_reported_are_forgotten_when_a_node_beyond_them_is_heard(void **state)
{
    enum { LAST = 3 };
    (void)state;
    node_begin("4m", 0, routed);
    td_session_up(node.core, FAR, DAEMON);
    struct td_message lost = {.kind = TD_MESSAGE_NEIGHBOUR_LOST};
    lost.u.neighbour_lost.node = LAST;
    node.core->fabric->neighbour_lost(node.core, DISTANT, &lost);
    node_run();
    assert_int_equal(node.core->fabric->next_hop(node.core, LAST), UINT32_MAX);
    assert_int_equal(node.core->fabric->next_hop(node.core, DISTANT), FAR);
    struct td_message m = {.kind = TD_MESSAGE_RANK_LEFT, .session = 77, .number = 1};
    m.relay.is_relayed = true;
    m.relay.destination = 0;
    m.relay.origin = DISTANT; /* there is a route to it: the word stands */
    assert_int_equal(node.core->fabric->relay(node.core, FAR, &m), DISTANT);
    node_run();
    assert_int_equal(node.core->fabric->next_hop(node.core, LAST), UINT32_MAX);
    m.relay.origin = LAST;
    assert_int_equal(node.core->fabric->relay(node.core, FAR, &m), LAST);
    node_run();
    assert_int_equal(node.core->fabric->next_hop(node.core, LAST), FAR);
    node_end();
}

static void gaps_on_two_relayed_links_are_asked_about_at_the_same_time(void **state)
{
    (void)state;
    node_begin("8", 0, routed);
    for (uint32_t n = 3; n < 5; n++) {
        struct td_message m = {.kind = TD_MESSAGE_RANK_LEFT, .session = 77, .number = 1};
        assert_true(td_session_message(node.core, n, &m));
        m.number = 3;
        assert_false(td_session_message(node.core, n, &m));
        node_run();
        assert_non_null(node_sent_to(n, TD_MESSAGE_RESUME));
    }
    node_end();
}

/* give_each_other_up makes both ends begin a new session of which the other one does not know, and
 * receives the RESUME of the far end, which counts the session that was given up here. It returns
 * true if the reply counts the new session of the far end. */
static bool give_each_other_up(void)
{
    uint32_t given_up = far.link->session;
    far_resume(given_up, 0, 0, false);
    td_session_give_up(node.core, far.link, "it has been silent");
    far_pass(0);
    assert_int_not_equal(far.link->session, given_up);
    td_session_reachable(node.core, far.link); /* it is heard again */
    far_resume(0, 0, 0, false);                /* it knows of no session yet */
    assert_int_equal(far.link->session_in, far.session);
    far.session += 2;
    node_forget();
    far_resume(given_up, 0, 0, true);
    const struct td_message *m = node_sent_to(far.node, TD_MESSAGE_RESUME);
    assert_true(m && m->u.resume.reply_requested);
    return m->counts_session == far.session;
}

/* Seed 8005940 of the swarm: each end answered that the other has to forget, for ever. */
static void of_two_that_have_given_each_other_up_the_lower_one_gives_in(void **state)
{
    (void)state;
    far_begin_relayed();
    assert_true(give_each_other_up());
    uint32_t session = far.link->session;
    far_resume(session, 0, 0, false);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    assert_int_equal(far.link->session, session);
    node_end();
    far_begin_relayed_back();
    assert_false(give_each_other_up());
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    node_end();
}

/* Seed 9516458 of the swarm: the membership of a job got lost, and nothing here needed the node
 * when its daemon spoke for the first time, since the rank of this node had left the job. */
static void what_was_sent_for_a_daemon_is_kept_although_nothing_here_needs_it(void **state)
{
    (void)state;
    for (int another = 0; another < 3; another++) { /* 2: groups with several daemons */
        far_begin_relayed();
        td_session_expect(node.core, DISTANT, DAEMON);
        if (another == 2)
            td_session_expect(node.core, DISTANT, ANOTHER);
        far_say();
        far.incarnation = another == 1 ? ANOTHER : DAEMON;
        far_resume(0, 0, 0, true);
        assert_int_equal(far.link->tree_acknowledged, another ? 1 : 0);
        if (!another) {
            far_resume(far.link->session, 0, 0, false);
            assert_int_equal(node.repeats.number, 1);
        }
        node_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_on_a_relayed_link_asks_at_intervals),
        cmocka_unit_test(gaps_on_two_relayed_links_are_asked_about_at_the_same_time),
        cmocka_unit_test(a_message_that_goes_round_in_a_circle_ends_what_others_have_said),
        cmocka_unit_test(a_relayed_link_that_is_silent_is_given_up_and_probed),
        cmocka_unit_test(a_node_without_a_route_for_a_moment_keeps_its_session),
        cmocka_unit_test(a_node_that_all_its_neighbours_have_lost_is_lost_at_once),
        cmocka_unit_test(an_unreachable_node_loses_its_session_and_is_not_probed),
        cmocka_unit_test(a_node_that_is_reachable_again_is_asked_to_resume),
        cmocka_unit_test(a_node_that_is_silent_is_reachable_when_a_message_of_it_comes),
        cmocka_unit_test(a_relayed_link_is_retried_after_each_loss),
        cmocka_unit_test(messages_are_not_lost_before_the_daemon_says_so),
        cmocka_unit_test(messages_that_no_daemon_answered_are_dropped_if_nothing_needs_the_new_one),
        cmocka_unit_test(a_group_that_has_formed_with_a_daemon_outlives_its_first_resume),
        cmocka_unit_test(a_group_outlives_the_first_resume_of_a_daemon_that_has_received_all),
        cmocka_unit_test(a_group_of_an_earlier_daemon_is_lost_whenever_a_later_one_speaks),
        cmocka_unit_test(a_registry_asks_a_relayed_node_again_whose_session_has_ended),
        cmocka_unit_test(a_group_that_forms_late_with_an_earlier_daemon_is_lost),
        cmocka_unit_test(
            a_session_that_goes_on_after_a_restart_of_the_receiver_is_taken_from_there),
        cmocka_unit_test(a_daemon_that_was_not_known_is_told_of_lost_neighbours_once_more),
        cmocka_unit_test(
            a_daemon_that_has_given_this_node_up_is_lost_even_if_it_is_asked_for_the_first_time),
        cmocka_unit_test(who_was_told_of_a_lost_neighbour_is_told_that_it_is_there),
        cmocka_unit_test(what_was_sent_in_a_session_that_was_given_up_there_is_lost),
        cmocka_unit_test(a_node_that_is_back_is_told_of_the_neighbours_that_are_lost),
        cmocka_unit_test(they_are_dropped_too_if_that_daemon_has_spoken_first),
        cmocka_unit_test(what_the_far_end_has_dropped_is_asked_for_again),
        cmocka_unit_test(a_resume_that_was_overtaken_by_a_later_session_is_dropped),
        cmocka_unit_test(a_daemon_that_knows_this_session_has_not_given_it_up),
        cmocka_unit_test(what_is_sent_on_a_session_in_doubt_is_kept_until_the_reply),
        cmocka_unit_test(a_message_begins_no_session_after_a_loss),
        cmocka_unit_test(a_message_to_an_earlier_incarnation_is_asked_about),
        cmocka_unit_test(
            losses_that_others_have_reported_are_forgotten_when_a_node_beyond_them_is_heard),
        cmocka_unit_test(of_two_that_have_given_each_other_up_the_lower_one_gives_in),
        cmocka_unit_test(what_was_sent_for_a_daemon_is_kept_although_nothing_here_needs_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
