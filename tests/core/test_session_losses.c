/* SPDX-License-Identifier: Apache-2.0 */
/* The packets of a session, and its end, driven call by call: core/net/session.h. */
#include "far.h"

#include "core/net/fabric_routed_losses.h"
#include "core/operation/operation.h"

enum { PACKET = 100 };

static void small_packets(struct td_settings *s)
{
    s->packet_bytes = PACKET;
}

static void begin(void)
{
    far_begin(small_packets);
}

/* ---- packets ---- */

static struct td_packet packet_of(uint64_t sequence)
{
    return (struct td_packet){.kind = TD_PACKET_DATA,
                              .session = far.session,
                              .counts_session = far.link->session,
                              .link_sequence = sequence,
                              .bytes = PACKET};
}

/* take passes on a packet for an operation that has ended here. */
static void take(uint64_t sequence)
{
    struct td_packet p = packet_of(sequence);
    td_link_packet(node.core, FAR, &p, 3);
    node_run();
}

/* ship_to sends a message of three packets to a node of a group; ship_in to the far end; ship makes
 * the group. */
static struct td_operation *ship_to(struct td_communicator *c, uint32_t to)
{
    struct td_operation *o = td_operation_obtain(node.core, c, 0);
    static struct td_sender sender;
    struct td_slice from = td_slice_at(TD_SPACE_SCRATCH, 0, 0, 3 * PACKET);
    struct td_step step = {.kind = TD_SEND, .from = from, .peer = to};
    assert_non_null(o);
    sender = (struct td_sender){.operation = o, .arena = node.core->arena};
    assert_true(node.core->fabric->send(node.core, &sender, 0, 0, &step));
    node_run();
    return o;
}

static struct td_operation *ship_in(struct td_communicator *c)
{
    return ship_to(c, FAR);
}

static struct td_operation *ship(void)
{
    return ship_in(node_group(2));
}

static void packets_that_the_far_end_lacks_are_retransmitted_in_order(void **state)
{
    (void)state;
    begin();
    far_meet();
    ship();
    assert_int_equal(node.packets, 3);
    assert_int_equal(node.packet[2].link_sequence, 3);
    far_down(false);
    far_up(DAEMON);
    assert_int_equal(node.packets, 0); /* not before the far end has reported its counts */
    node_forget();
    far_resume(far.link->session, far.link->tree_sent, 1, false);
    assert_int_equal(far.link->lane->acknowledged, 1);
    assert_int_equal(node.packet[0].link_sequence, 2);
    assert_int_equal(node.packet[0].offset, PACKET);
    assert_int_equal(node.packet[1].link_sequence, 3);
    assert_int_equal(far.link->lane->retransmit, 0);
    assert_int_equal(far.link->lane->held, 3); /* the driver still reads all of them */
    node_end();
}

static void a_resume_tells_how_many_packets_came(void **state)
{
    (void)state;
    begin();
    far_meet();
    take(1);
    take(2);
    assert_int_equal(far.link->lane->received, 2);
    far_down(false);
    far_up(DAEMON);
    assert_int_equal(node_sent_to(FAR, TD_MESSAGE_RESUME)->u.resume.packets_received, 2);
    node_end();
}

static void a_packet_that_came_before_is_dropped_and_a_gap_is_asked_about_once(void **state)
{
    (void)state;
    begin();
    far_meet();
    node_run();
    node_forget();
    take(1);
    node_run();
    assert_int_equal(node.packets, 1); /* its counts, */
    assert_int_equal(node.packet[0].freed, 1);
    assert_int_equal(node.waiting, 1); /* which the next packets may replace */
    take(1);
    assert_int_equal(far.link->lane->received, 1);
    assert_int_equal(node.released_buffers, 2);
    assert_int_equal(far_resumes(), 0);
    take(3);
    take(4);
    assert_int_equal(far.link->lane->received, 1);
    assert_int_equal(far_resumes(), 1);
    assert_int_equal(far.link->session_state, TD_SESSION_CHECKING);
    node_end();
}

static void counts_for_another_session_are_not_taken(void **state)
{
    (void)state;
    begin();
    far_meet();
    struct td_packet p = {.kind = TD_PACKET_CREDIT, .session = far.session};
    p.counts_session = far.link->session;
    assert_true(td_session_is_next(node.core, far.link, &p));
    p.counts_session += 2;
    assert_false(td_session_is_next(node.core, far.link, &p));
    assert_int_equal(far.link->session_state, TD_SESSION_OPEN);
    p.session += 2;
    assert_false(td_session_is_next(node.core, far.link, &p));
    assert_int_equal(far.link->session_state, TD_SESSION_CHECKING);
    node_end();
}

/* ---- ending ---- */

static void a_new_incarnation_loses_the_messages_and_the_operations_in_flight(void **state)
{
    (void)state;
    begin();
    far_meet();
    struct td_communicator *c = node_group(2);
    node_call(c, -1);
    assert_int_equal(node.replies, 0);
    uint32_t session = far.link->session;
    uint64_t sent = far.link->tree_sent;
    assert_true(sent > 0);
    far_up(ANOTHER);
    assert_int_equal(node.replies, 1);
    assert_int_equal(node.reply.error, TD_ERR_NODE_FAILED);
    assert_non_null(strstr(node.text, "was restarted"));
    assert_int_equal(far.link->session, session);
    assert_int_equal(far.link->tree_acknowledged, sent);
    assert_int_equal(node.forgets.number, UINT64_MAX);
    assert_int_equal(far.link->daemon, ANOTHER);
    assert_int_equal(far.link->session_state,
                     TD_SESSION_ASKING); /* its first session is not the expected one */
    assert_int_equal(far_resumes(), 1);
    node_end();
}

/* The membership of a job may come before this node learns that the daemon was restarted. */
static void a_group_of_the_new_incarnation_keeps_its_messages_and_packets(void **state)
{
    (void)state;
    begin();
    far_meet();
    struct td_operation *o = ship_in(node_group_with(2, ANOTHER)); /* on the old connection */
    far_say();
    assert_int_equal(node.packets, 3);
    uint64_t sent = far.link->tree_sent;
    far_down(false);
    far_up(ANOTHER);
    assert_int_equal(node.replies, 0);
    assert_int_equal(o->communicator->state, TD_COMMUNICATOR_ACTIVE);
    assert_int_equal(far_resumes(), 1);
    assert_int_equal(node_sent_to(FAR, TD_MESSAGE_RESUME)->u.resume.first_packet, 1);
    far.incarnation = ANOTHER;
    far.session = 4711;
    far_resume(far.link->session, 0, 0, false);
    assert_int_equal(node.repeats.number, 1);
    assert_int_equal(far.link->tree_sent, sent);
    assert_int_equal(node.packet[0].link_sequence, 1);
    assert_int_equal(node.packet[2].link_sequence, 3);
    assert_int_equal(node.packet[2].offset, 2 * PACKET);
    node_end();
}

static void a_group_gives_a_link_that_was_given_up_time_to_come_up(void **state)
{
    (void)state;
    begin();
    far_meet();
    uint64_t timeout = (uint64_t)node.core->settings.progress_timeout_ns;
    far_down(false);
    far_pass(timeout);
    assert_int_equal(far.link->state, TD_LINK_GIVEN_UP);
    struct td_communicator *c = node_group_with(2, ANOTHER);
    node_call(c, -1);
    assert_int_equal(far.link->state, TD_LINK_CONNECTING);
    far_down(false); /* an attempt that began before */
    assert_false(node_doubts(c, FAR));
    far_pass(timeout);
    assert_true(node_doubts(c, FAR));
    assert_int_equal(far.link->state, TD_LINK_GIVEN_UP);
    node_end();
}

static void a_link_that_stays_down_is_given_up_after_progress_timeout(void **state)
{
    (void)state;
    begin();
    far_meet();
    uint64_t timeout = (uint64_t)node.core->settings.progress_timeout_ns;
    uint32_t session = far.link->session;
    far_down(false);
    far_pass(timeout - 1);
    assert_int_equal(far.link->state, TD_LINK_DOWN);
    assert_int_equal(far.link->session, session);
    far_pass(1);
    assert_int_equal(far.link->state, TD_LINK_GIVEN_UP);
    assert_int_equal(far.link->session, session + 2);
    assert_string_equal(td_link_why(far.link), "the cable is cut");
    far_up(DAEMON);
    assert_int_equal(far.link->state, TD_LINK_UP);
    assert_string_equal(td_link_why(far.link), "");
    node_end();
}

static void a_link_whose_host_refuses_is_given_up_after_half_a_heartbeat(void **state)
{
    (void)state;
    begin();
    far_meet();
    uint64_t patience = (uint64_t)node.core->settings.heartbeat_ns / 2;
    far_down(false);
    far_down(true); /* the next attempt */
    far_pass(patience - 1);
    assert_int_equal(far.link->state, TD_LINK_DOWN);
    far_pass(1);
    assert_int_equal(far.link->state, TD_LINK_GIVEN_UP);
    node_end();
}

/* A host that was cut off is unreachable when it has been silent for some time. */
static void the_silence_before_a_link_went_down_counts(void **state)
{
    (void)state;
    begin();
    far_meet();
    uint64_t timeout = (uint64_t)node.core->settings.progress_timeout_ns;
    far.link->watches = 1;
    node.core->now += timeout / 2; /* no message comes */
    far_down(false);
    far_pass(timeout / 2 - 1);
    assert_int_equal(far.link->state, TD_LINK_DOWN);
    far_pass(1);
    assert_int_equal(far.link->state, TD_LINK_GIVEN_UP);
    node_end();
}

static void a_daemon_that_was_never_up_has_one_heartbeat_to_come_up(void **state)
{
    (void)state;
    begin();
    far_say();
    td_link_want(node.core, far.link);
    assert_int_equal(far.link->state, TD_LINK_CONNECTING);
    far_down(false);
    far_pass((uint64_t)node.core->settings.heartbeat_ns);
    assert_int_equal(far.link->state, TD_LINK_GIVEN_UP);
    td_link_want(node.core, far.link);
    assert_int_equal(far.link->state, TD_LINK_RETRYING);
    node_end();
}

static void a_link_that_is_up_but_does_not_resume_in_time_loses_its_session(void **state)
{
    (void)state;
    begin();
    far_meet();
    uint32_t session = far.link->session;
    far_down(false);
    far_up(DAEMON);
    node_forget();
    far_pass((uint64_t)node.core->settings.progress_timeout_ns);
    assert_int_equal(far.link->session, session + 2);
    assert_int_equal(far.link->state, TD_LINK_UP);
    assert_int_equal(far.link->session_state, TD_SESSION_ASKING);
    assert_int_equal(far_resumes(), 1);
    node_end();
}

static void a_link_that_was_given_up_is_lost_again_when_it_goes_down(void **state)
{
    (void)state;
    begin();
    far_meet();
    far_down(true);
    far_pass((uint64_t)node.core->settings.heartbeat_ns);
    uint32_t session = far.link->session;
    far_down(true);
    assert_int_equal(far.link->session, session + 2); /* messages sent meanwhile are lost at once */
    assert_int_equal(far.link->state, TD_LINK_GIVEN_UP);
    node_end();
}

static void node_0_is_given_up_like_the_others(void **state)
{
    (void)state;
    node_begin("4", 1, NULL);
    td_session_down(node.core, 0, "the cable is cut", false);
    td_time expires = node.core->link[0].expires_at;
    node.core->link[0].heard_at = 5;
    td_session_resumed(node.core, 7); /* after a pause */
    assert_true(node.core->link[0].heard_at == 5 + 7);
    assert_true(node.core->link[2].heard_at == 0); /* it was never heard */
    assert_true(node.core->link[0].expires_at == expires + 7);
    far_pass(7 + (uint64_t)node.core->settings.progress_timeout_ns);
    assert_int_equal(node.core->link[0].state, TD_LINK_GIVEN_UP);
    node_end();
}

/* ---- packets on the routed fabric ---- */

static void routed(struct td_settings *s)
{
    small_packets(s);
    s->tuning.fabric = TD_FABRIC_ROUTED;
}

/* The neighbour has no rank of the group, and runs: nobody may say that it is down. Only the
 * operation that has lost packets ends. */
static void a_session_that_a_neighbour_ended_costs_the_operations_that_lost_packets(void **state)
{
    (void)state;
    for (uint64_t received = 1; received <= 2; received++) {
        far_begin(routed);
        far_meet();
        struct td_communicator *c = node_group(3);
        struct td_operation *o = ship_to(c, 2);
        o->state = TD_OPERATION_RUNNING;
        for (int turn = 0; turn < 3; turn++) /* each sends one packet along a link */
            node_step(&(struct td_event){.kind = TD_EVENT_WAKE});
        assert_int_equal(node.packets, 2); /* one goes the other way round */
        far_resume(far.link->session, far.link->tree_sent, received, false);
        c->group.node[1] = 3; /* the group is elsewhere */
        uint32_t before = far.link->session;
        far.session += 2;
        far.given_up = before;
        far_resume(0, 0, 0, true);
        assert_int_equal(td_link_is_given_up(far.link), 0);
        assert_int_not_equal(c->state, TD_COMMUNICATOR_LOST_NODE);
        assert_int_equal(o->error, received < 2 ? TD_ERR_PARTITIONED : TD_OK);
        if (received < 2)
            assert_non_null(strstr(o->text, "packets between node 0 (0) and node 1 (1) were lost"));
        assert_null(node_sent_to(2, TD_MESSAGE_NODE_LOST));
        node_end();
    }
}

/* The machine goes on without the neighbour: groups that form then must not send through it, even
 * if it is not given up yet. A neighbour that is heard stays. */
static void an_excluded_node_is_avoided_until_its_neighbours_have_spoken(void **state)
{
    (void)state;
    for (int silent = 0; silent <= 1; silent++) {
        far_begin(routed);
        far_meet();
        uint64_t timeout = (uint64_t)node.core->settings.progress_timeout_ns;
        node.core->now += silent ? timeout / 2 + 1 : timeout / 2;
        node.core->fabric->exclude(node.core, FAR);
        node_run();
        assert_int_equal(node.dropped_links, silent);
        assert_int_equal(td_routed_lost_on_way(node.core, 2), FAR); /* or round the ring */
        assert_int_equal(td_routed_lost_on_way(node.core, 3), UINT32_MAX);
        node.core->now += timeout;
        assert_int_equal(td_routed_lost_on_way(node.core, 2), UINT32_MAX);
        node_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_that_the_far_end_lacks_are_retransmitted_in_order),
        cmocka_unit_test(a_resume_tells_how_many_packets_came),
        cmocka_unit_test(a_packet_that_came_before_is_dropped_and_a_gap_is_asked_about_once),
        cmocka_unit_test(counts_for_another_session_are_not_taken),
        cmocka_unit_test(a_new_incarnation_loses_the_messages_and_the_operations_in_flight),
        cmocka_unit_test(a_group_of_the_new_incarnation_keeps_its_messages_and_packets),
        cmocka_unit_test(a_group_gives_a_link_that_was_given_up_time_to_come_up),
        cmocka_unit_test(a_link_that_stays_down_is_given_up_after_progress_timeout),
        cmocka_unit_test(a_link_whose_host_refuses_is_given_up_after_half_a_heartbeat),
        cmocka_unit_test(the_silence_before_a_link_went_down_counts),
        cmocka_unit_test(a_daemon_that_was_never_up_has_one_heartbeat_to_come_up),
        cmocka_unit_test(a_link_that_is_up_but_does_not_resume_in_time_loses_its_session),
        cmocka_unit_test(node_0_is_given_up_like_the_others),
        cmocka_unit_test(a_link_that_was_given_up_is_lost_again_when_it_goes_down),
        cmocka_unit_test(a_session_that_a_neighbour_ended_costs_the_operations_that_lost_packets),
        cmocka_unit_test(an_excluded_node_is_avoided_until_its_neighbours_have_spoken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
