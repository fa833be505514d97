/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs, driven message by message: core/membership/epoch.h. */
#include "node.h"

#include "core/membership/epoch.h"
#include "core/net/link.h"

/* begin makes node `at` of four that is old enough to vote. */
static void begin(uint32_t at)
{
    node_begin("4", at, NULL);
    node.core->epochs->votes_from = 1;
}

static void hear(uint32_t from, struct td_message m)
{
    node_message(from, &m);
}

static void poll(uint32_t from, uint64_t ballot)
{
    hear(from, (struct td_message){.kind = TD_MESSAGE_EPOCH_POLL, .u.epoch_poll.ballot = ballot});
}

static void vote(uint32_t from, uint64_t ballot, bool votes)
{
    hear(from,
         (struct td_message){.kind = TD_MESSAGE_EPOCH_VOTE,
                             .u.epoch_vote = {.ballot = ballot, .is_vote = votes, .seen = ballot}});
}

static void accept(uint32_t from, uint64_t ballot)
{
    hear(from,
         (struct td_message){.kind = TD_MESSAGE_EPOCH_ACCEPT, .u.epoch_accept.ballot = ballot});
}

/* exclusion packs one exclusion. */
static struct td_bitmap exclusion(uint8_t node_out, uint8_t ballot)
{
    static uint8_t bytes[14];
    memset(bytes, 0, sizeof bytes);
    bytes[0] = node_out;
    bytes[6] = ballot;
    return (struct td_bitmap){bytes, sizeof bytes};
}

static const struct td_message_epoch_vote *answer_to(uint32_t to)
{
    const struct td_message *m = node_sent_to(to, TD_MESSAGE_EPOCH_VOTE);
    assert_non_null(m);
    return &m->u.epoch_vote;
}

/* want asks for an epoch without a node, whose session has ended. */
static uint64_t want(uint32_t node_out)
{
    node.core->link[node_out].state = TD_LINK_GIVEN_UP;
    td_epoch_want(node.core, node_out);
    node_run();
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_EPOCH_POLL);
    assert_non_null(m);
    return m->u.epoch_poll.ballot;
}

static void half_with_node_0_and_more_than_half_are_quorums(void **state)
{
    (void)state;
    begin(0);
    uint64_t ballot = want(3);
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_PROPOSE), 0); /* one of four */
    vote(1, ballot, true);
    assert_non_null(node_sent_to(1, TD_MESSAGE_EPOCH_PROPOSE)); /* two, with node 0 */
    assert_false(td_epoch_excluded(node.core, 3, 0));
    accept(1, ballot);
    assert_true(td_epoch_excluded(node.core, 3, 0));
    assert_false(td_epoch_excluded(node.core, 3, ballot));
    assert_false(td_epoch_excluded(node.core, 2, 0));
    assert_int_equal(node.core->epochs->known, ballot);
    node_end();
    begin(3);
    ballot = want(0);
    vote(1, ballot, true);
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_PROPOSE), 0); /* two, without node 0 */
    vote(2, ballot, true);
    assert_non_null(node_sent_to(1, TD_MESSAGE_EPOCH_PROPOSE));
    accept(1, ballot);
    assert_false(td_epoch_excluded(node.core, 0, 0));
    accept(2, ballot);
    assert_true(td_epoch_excluded(node.core, 0, 0));
    node_end();
}

/* leave_out_2_and_3 makes the electorate three of five nodes. */
static void leave_out_2_and_3(struct td_settings *s)
{
    td_settings_set_absent(s, 2);
    td_settings_set_absent(s, 3);
}

static void absent_nodes_are_not_in_the_electorate(void **state)
{
    (void)state;
    node_begin("5", 0, leave_out_2_and_3);
    node.core->epochs->votes_from = 1;
    uint64_t ballot = want(4);
    vote(2, ballot, true);
    vote(3, ballot, true);
    assert_int_equal(node.core->epochs->state, TD_EPOCH_POLLING); /* one of three */
    vote(1, ballot, true);
    assert_int_equal(node.core->epochs->state, TD_EPOCH_PROPOSING);
    accept(1, ballot);
    assert_true(td_epoch_excluded(node.core, 4, 0));
    node_end();
}

static void an_absent_node_that_is_to_be_excluded_is_asked_too(void **state)
{
    (void)state;
    node_begin("5", 0, leave_out_2_and_3);
    node.core->epochs->votes_from = 1;
    td_epoch_want(node.core, 3);
    node_run();
    uint64_t ballot = node.core->epochs->ballot;
    assert_non_null(node_sent_to(3, TD_MESSAGE_EPOCH_POLL));
    assert_null(node_sent_to(2, TD_MESSAGE_EPOCH_POLL));
    vote(3, ballot, true);
    vote(1, ballot, true);
    assert_false(td_epoch_excluded(node.core, 3, 0));
    assert_int_equal(node.core->epochs->state, TD_EPOCH_RESTING);
    node_end();
}

static void a_node_votes_once_for_a_ballot_and_for_no_smaller_one(void **state)
{
    (void)state;
    begin(0);
    poll(1, 4097);
    assert_true(answer_to(1)->is_vote);
    node_forget();
    poll(1, 4097);
    assert_false(answer_to(1)->is_vote);
    poll(2, 4096);
    assert_false(answer_to(2)->is_vote);
    assert_int_equal(answer_to(2)->seen, 4097);
    struct td_message m = {.kind = TD_MESSAGE_EPOCH_PROPOSE};
    m.u.epoch_propose.ballot = 4096;
    m.u.epoch_propose.exclusions = exclusion(3, 1);
    node_forget();
    node_message(2, &m);
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_ACCEPT), 0);
    m.u.epoch_propose.ballot = 4097;
    node_message(1, &m);
    assert_non_null(node_sent_to(1, TD_MESSAGE_EPOCH_ACCEPT));
    poll(3, 9000);
    assert_true(answer_to(3)->is_vote); /* and tells what it has accepted */
    assert_int_equal(answer_to(3)->accepted, 4097);
    assert_int_equal(answer_to(3)->exclusions.bytes, 14);
    node_end();
}

static void a_daemon_that_has_just_started_does_not_vote(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    poll(1, 4097);
    assert_false(answer_to(1)->is_vote);
    node_forget();
    node.core->now += (td_time)node.core->settings.progress_timeout_ns;
    poll(1, 8193);
    assert_true(answer_to(1)->is_vote);
    node_end();
}

static void what_was_accepted_before_is_proposed_again(void **state)
{
    (void)state;
    begin(0);
    uint64_t ballot = want(3);
    struct td_message m = {.kind = TD_MESSAGE_EPOCH_VOTE};
    m.u.epoch_vote = (struct td_message_epoch_vote){
        .ballot = ballot, .is_vote = true, .accepted = 7, .exclusions = exclusion(2, 7)};
    node_message(1, &m);
    const struct td_message *p = node_sent_to(1, TD_MESSAGE_EPOCH_PROPOSE);
    assert_non_null(p);
    assert_int_equal(p->u.epoch_propose.exclusions.bytes, 28);
    node_end();
}

static void a_node_that_answers_is_not_excluded(void **state)
{
    (void)state;
    begin(0);
    uint64_t ballot = want(3);
    vote(3, ballot, false);
    vote(1, ballot, true);
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_PROPOSE), 0);
    assert_int_equal(node.core->epochs->state, TD_EPOCH_RESTING);
    node_end();
}

static void a_node_that_is_back_is_not_excluded(void **state)
{
    (void)state;
    begin(0);
    uint64_t ballot = want(3);
    node.core->link[3].state = TD_LINK_UP; /* and has not answered yet */
    vote(1, ballot, true);
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_PROPOSE), 0);
    assert_int_equal(node.core->epochs->state, TD_EPOCH_POLLING);
    vote(3, ballot, false);
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_PROPOSE), 0);
    assert_int_equal(node.core->epochs->state, TD_EPOCH_RESTING);
    node_end();
}

static void malformed_or_huge_ballots_and_exclusions_change_nothing(void **state)
{
    (void)state;
    begin(0);
    poll(1, UINT64_MAX);
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_VOTE), 0);
    struct td_message m = {.kind = TD_MESSAGE_EPOCH_KNOWN, .u.epoch_known.ballot = 5};
    m.u.epoch_known.exclusions = exclusion(200, 5); /* no such node */
    node_message(1, &m);
    m.u.epoch_known.exclusions = exclusion(2, 5);
    m.u.epoch_known.exclusions.bytes = 13;
    node_message(1, &m);
    assert_int_equal(node.core->epochs->known, 0);
    m.u.epoch_known.exclusions.bytes = 14;
    node_message(1, &m);
    assert_int_equal(node.core->epochs->known, 5);
    assert_true(td_epoch_excluded(node.core, 2, 4));
    assert_null(node_sent_to(0, TD_MESSAGE_EPOCH_KNOWN)); /* it knows */
    node_end();
}

static void without_answers_a_poll_ends(void **state)
{
    (void)state;
    begin(1);
    td_epoch_want(node.core, 0);
    node_run();
    assert_int_equal(node.core->epochs->state, TD_EPOCH_POLLING);
    node.core->now += 10 * (td_time)node.core->settings.heartbeat_ns;
    td_epoch_timers(node.core);
    assert_int_equal(node.core->epochs->state, TD_EPOCH_RESTING);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_with_node_0_and_more_than_half_are_quorums),
        cmocka_unit_test(absent_nodes_are_not_in_the_electorate),
        cmocka_unit_test(an_absent_node_that_is_to_be_excluded_is_asked_too),
        cmocka_unit_test(a_node_votes_once_for_a_ballot_and_for_no_smaller_one),
        cmocka_unit_test(a_daemon_that_has_just_started_does_not_vote),
        cmocka_unit_test(what_was_accepted_before_is_proposed_again),
        cmocka_unit_test(a_node_that_answers_is_not_excluded),
        cmocka_unit_test(a_node_that_is_back_is_not_excluded),
        cmocka_unit_test(malformed_or_huge_ballots_and_exclusions_change_nothing),
        cmocka_unit_test(without_answers_a_poll_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
