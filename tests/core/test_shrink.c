/* SPDX-License-Identifier: Apache-2.0 */
/* Shrinks, driven message by message: core/membership/shrink.h. */
#include "shrinks.h"

#include "core/inspect.h"
#include "core/membership/shrink.h"
#include "core/membership/shrink_view.h"

static void a_node_votes_at_the_first_slot_that_lives(void **state)
{
    (void)state;
    shrink_begin(2);
    shrink_call();
    assert_non_null(node_sent_to(0, TD_MESSAGE_SHRINK_VOTE));
    node_forget();
    shrink_lose(0);
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_SHRINK_VOTE);
    assert_non_null(m);
    assert_int_equal(m->u.shrink_vote.lost.bits[0], 1);
    assert_int_equal(m->u.shrink_vote.missing.bytes, 0); /* the local rank has called */
    node_end();
}

static void a_rank_that_dies_after_another_one_is_left_out_too(void **state)
{
    (void)state;
    for (int died = 0; died < 2; died++) {
        shrink_begin(2);
        struct td_message m = shrink_about(TD_MESSAGE_RANK_LOST);
        m.u.rank_lost = (struct td_message_rank_lost){
            .rank = 1, .error = TD_ERR_RANK_FAILED, .text = "rank 1 died"};
        node_message(shrink_group->parent, &m);
        assert_true(td_communicator_broken(shrink_group));
        m.u.rank_lost = (struct td_message_rank_lost){
            .rank = 3, .error = died ? TD_ERR_RANK_FAILED : TD_ERR_CANCELLED, .text = "rank 3"};
        node_message(shrink_group->parent, &m);
        assert_true(td_bit(shrink_group->lost_rank, 1));
        assert_int_equal(td_bit(shrink_group->lost_rank, 3), died);
        node_end();
    }
}

static void the_first_slot_that_lives_asks_all_others(void **state)
{
    (void)state;
    shrink_begin(1);
    shrink_lose(0);
    shrink_call();
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_ASK), 2);
    assert_null(node_sent_to(0, TD_MESSAGE_SHRINK_ASK));
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_VOTE), 0);
    node_end();
}

static void equal_votes_lead_to_a_group_of_the_survivors(void **state)
{
    (void)state;
    const uint8_t lost = 1 << 3;
    shrink_begin(0);
    shrink_lose(3);
    shrink_call();
    uint64_t hash = shrink_view(1);
    shrink_vote(1, hash, &lost, NULL);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 0);
    shrink_vote(2, hash, &lost, NULL);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 2);
    assert_int_equal(shrink_group->shrink->state, TD_SHRINK_PROPOSING);
    shrink_accept(1, hash);
    assert_int_equal(node.replies, 0);
    shrink_accept(2, hash);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_DECIDED), 2);
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    assert_int_equal(node.reply.u.joined.size, 3);
    assert_int_equal(node.reply.u.joined.rank, 0);
    assert_int_equal(shrink_group->shrink->number, 1);
    assert_int_equal(shrink_group->shrink->state, TD_SHRINK_RESTING);
    assert_false(td_shrink_keeps(shrink_group));
    node_end();
}

static void a_vote_with_a_larger_view_begins_a_new_round(void **state)
{
    (void)state;
    const uint8_t less = 1 << 3, more = 1 << 3 | 1 << 2;
    shrink_begin(0);
    shrink_lose(3);
    shrink_call();
    uint64_t hash = shrink_view(1);
    shrink_vote(2, hash, &less, NULL);
    node_forget();
    shrink_vote(1, hash + 1, &more, NULL); /* node 1 knows that rank 2 is lost too */
    assert_true(td_bit(shrink_group->lost_rank, 2));
    assert_int_equal(shrink_group->shrink->vote[2], TD_VOTE_LOST);
    assert_int_not_equal(shrink_view(1), hash);
    assert_null(node_sent_to(2, TD_MESSAGE_SHRINK_ASK));
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 0);
    node_end();
}

/* Such a node may keep an outcome that it has accepted. No coordinator asks it any more, so it
 * would wait for one that has died as well. */
static void a_vote_of_a_node_without_live_ranks_is_answered_with_the_view(void **state)
{
    (void)state;
    const uint8_t own = 1 << 1;
    shrink_begin(0);
    shrink_lose(3);
    shrink_call();
    uint64_t hash = shrink_view(1);
    node_forget();
    shrink_vote(1, hash + 1, &own, NULL); /* its rank has died; it does not know of rank 3 */
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_SHRINK_ASK);
    assert_non_null(m);
    assert_true(m->u.shrink_ask.gave_up_receiver);
    assert_int_equal(m->u.shrink_ask.lost.bits[0], 1 << 1 | 1 << 3);
    node_end();
}

/* decide gives a node the outcome of a shrink without losses. */
static void decide(uint64_t shrink, uint32_t from)
{
    struct td_message m = shrink_about(TD_MESSAGE_SHRINK_DECIDED);
    m.u.shrink_decided.shrink = shrink;
    m.u.shrink_decided.outcome =
        (struct td_outcome){.error = TD_ERR_TIMEOUT, .text = "", .lost = {(const uint8_t *)"", 1}};
    node_message(from, &m);
}

/* A node that is two shrinks behind had no part in them: it has been given up. It may keep an
 * outcome that it has accepted, and would wait for ever for a coordinator that takes it. */
static void a_node_two_shrinks_behind_learns_that_it_is_given_up(void **state)
{
    (void)state;
    shrink_begin(2);
    decide(0, 0);
    decide(1, 0);
    assert_int_equal(shrink_group->shrink->number, 2);
    shrink_vote(1, 0, (const uint8_t *)"", NULL);
    const struct td_message *told = node_sent_to(1, TD_MESSAGE_SHRINK_DECIDED);
    assert_non_null(told);
    assert_int_equal(told->u.shrink_decided.shrink, 1);
    node_end();

    const uint8_t lost = 1 << 3;
    shrink_begin(2);
    shrink_lose(3);
    shrink_call();
    struct td_message m = shrink_about(TD_MESSAGE_SHRINK_PROPOSE);
    m.u.shrink_propose.view = node_sent_to(0, TD_MESSAGE_SHRINK_VOTE)->u.shrink_vote.view;
    m.u.shrink_propose.outcome = (struct td_outcome){.text = "", .lost = {&lost, 1}};
    node_message(0, &m);
    assert_true(td_shrink_keeps(shrink_group));
    decide(1, 0);
    assert_false(td_shrink_keeps(shrink_group));
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    node_end();
}

static void missing_ranks_are_named_after_a_last_call(void **state)
{
    (void)state;
    const uint8_t lost = 1 << 3, local = 1;
    shrink_begin(0);
    shrink_lose(3);
    shrink_call();
    uint64_t hash = shrink_view(1);
    shrink_vote(1, hash, &lost, NULL);
    shrink_vote(2, hash, &lost, &local); /* its rank has not called */
    node_forget();
    node_pass(shrink_group, SECOND);
    const struct td_message *m = node_sent_to(2, TD_MESSAGE_SHRINK_ASK);
    assert_non_null(m);
    assert_true(m->u.shrink_ask.is_last_call);
    assert_int_equal(shrink_group->shrink->state, TD_SHRINK_LAST_CALL);
    shrink_vote(2, hash, &lost, &local);
    m = node_sent_to(1, TD_MESSAGE_SHRINK_PROPOSE);
    assert_non_null(m);
    assert_int_equal(m->u.shrink_propose.outcome.error, TD_ERR_TIMEOUT);
    assert_non_null(strstr(m->u.shrink_propose.outcome.text, "rank 2"));
    node_end();
}

static void an_accepted_outcome_is_reported_in_later_votes(void **state)
{
    (void)state;
    const uint8_t lost = 1 << 3;
    shrink_begin(2);
    shrink_lose(3);
    shrink_call();
    const struct td_message *voted = node_sent_to(0, TD_MESSAGE_SHRINK_VOTE);
    assert_non_null(voted);
    struct td_message m = shrink_about(TD_MESSAGE_SHRINK_PROPOSE);
    m.u.shrink_propose.view = voted->u.shrink_vote.view;
    m.u.shrink_propose.outcome = (struct td_outcome){.text = "", .lost = {&lost, 1}};
    node_message(0, &m);
    assert_non_null(node_sent_to(0, TD_MESSAGE_SHRINK_ACCEPT));
    node_forget();
    shrink_lose(0); /* the coordinator dies before it announces the outcome */
    const struct td_message *before = node_sent_to(1, TD_MESSAGE_SHRINK_ACCEPTED_BEFORE);
    assert_non_null(before);
    assert_int_equal(before->u.shrink_accepted_before.outcome.lost.bits[0], lost);
    node_end();
}

static void the_head_proposes_what_a_node_has_accepted_in_the_latest_round(void **state)
{
    (void)state;
    static const uint8_t lost = 1 << 3;
    shrink_begin(0);
    shrink_lose(3);
    shrink_call();
    struct td_message m = shrink_about(TD_MESSAGE_SHRINK_ACCEPTED_BEFORE);
    struct td_message_shrink_accepted_before *before = &m.u.shrink_accepted_before;
    before->outcome.lost = (struct td_bitmap){&lost, 1};
    before->outcome.error = TD_ERR_TIMEOUT;
    before->round = 2;
    before->outcome.text = "rank 2 did not call it";
    node_message(1, &m);
    before->round = 1;
    before->outcome.text = "rank 1 did not call it";
    node_message(2, &m);
    shrink_vote(1, shrink_view(1), &lost, NULL);
    shrink_vote(2, shrink_view(1), &lost, NULL);
    const struct td_message *proposed = node_sent_to(1, TD_MESSAGE_SHRINK_PROPOSE);
    assert_non_null(proposed);
    assert_int_equal(proposed->u.shrink_propose.outcome.error, TD_ERR_TIMEOUT);
    assert_string_equal(proposed->u.shrink_propose.outcome.text, "rank 2 did not call it");
    before->round = 9; /* it has proposed already */
    node_message(2, &m);
    assert_string_equal(shrink_group->shrink->accepted.text, "rank 2 did not call it");
    node_end();
}

static void a_proposal_of_another_view_is_ignored(void **state)
{
    (void)state;
    const uint8_t lost = 1 << 1;
    shrink_begin(2);
    shrink_lose(3);
    shrink_call();
    struct td_message m = shrink_about(TD_MESSAGE_SHRINK_PROPOSE);
    m.u.shrink_propose.view = 12345;
    m.u.shrink_propose.outcome = (struct td_outcome){.text = "", .lost = {&lost, 1}};
    node_message(0, &m);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_ACCEPT), 0);
    assert_int_equal(shrink_group->shrink->accepted_round, 0);
    node_end();
}

static void a_cancel_is_an_outcome_that_all_agree_on(void **state)
{
    (void)state;
    const uint8_t lost = 0;
    shrink_begin(0);
    shrink_call();
    uint64_t hash = shrink_view(1);
    const uint8_t local = 1;
    shrink_vote(1, hash, &lost, &local);
    shrink_vote(2, hash, &lost, NULL);
    shrink_vote(3, hash, &lost, NULL);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 0);
    assert_true(td_shrink_cancel(node.core, td_client_find(node.core, NODE_CLIENT), 20));
    node_run();
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_SHRINK_PROPOSE);
    assert_non_null(m);
    assert_int_equal(m->u.shrink_propose.outcome.error, TD_ERR_CANCELLED);
    assert_int_equal(node.replies, 0);
    for (uint32_t n = 1; n < GROUP; n++)
        shrink_accept(n, hash);
    assert_int_equal(node.reply.error, TD_ERR_CANCELLED);
    node_end();
}

static void the_first_error_of_a_vote_is_the_outcome(void **state)
{
    (void)state;
    static const uint8_t lost = 0, local = 1;
    shrink_begin(0);
    shrink_call();
    struct td_message m = shrink_about(TD_MESSAGE_SHRINK_VOTE);
    m.u.shrink_vote = (struct td_message_shrink_vote){.view = shrink_view(1),
                                                      .lost = {&lost, 1},
                                                      .missing = {&local, 1},
                                                      .error = TD_ERR_CANCELLED,
                                                      .text = "rank 1 cancelled it"};
    node_message(1, &m);
    m.u.shrink_vote.text = "rank 2 cancelled it";
    node_message(2, &m);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 0);
    shrink_vote(3, shrink_view(1), &lost, NULL);
    const struct td_message *proposed = node_sent_to(1, TD_MESSAGE_SHRINK_PROPOSE);
    assert_non_null(proposed);
    assert_int_equal(proposed->u.shrink_propose.outcome.error, TD_ERR_CANCELLED);
    assert_string_equal(proposed->u.shrink_propose.outcome.text, "rank 1 cancelled it");
    node_end();
}

static void a_vote_counts_though_another_node_does_not_hear_the_voter(void **state)
{
    (void)state;
    shrink_begin(0);
    shrink_call();
    uint64_t hash = shrink_view(1);
    shrink_vote(2, hash, (const uint8_t *)"", NULL);
    struct td_message m = shrink_about(TD_MESSAGE_NODE_LOST);
    m.u.node_lost = (struct td_message_node_lost){.node = 2, .text = "node 2 is silent"};
    node_message(1, &m);
    shrink_vote(1, hash, (const uint8_t *)"", NULL);
    shrink_vote(3, hash, (const uint8_t *)"", NULL);
    assert_non_null(node_sent_to(2, TD_MESSAGE_SHRINK_PROPOSE));
    node_end();
}

static void a_node_that_has_lost_the_group_says_that_nobody_is_left(void **state)
{
    (void)state;
    shrink_begin(0);
    td_communicator_note_gone(node.core, 4711);
    struct td_message m = {.kind = TD_MESSAGE_SHRINK_ASK, .instance = 4711};
    m.u.shrink_ask.lost = (struct td_bitmap){(const uint8_t *)"", 1};
    node_message(2, &m);
    assert_non_null(node_sent_to(2, TD_MESSAGE_SHRINK_NOBODY));
    node_end();
}

static void the_head_says_which_ranks_are_missing(void **state)
{
    (void)state;
    const uint8_t lost = 1 << 3, missing = 1; /* of the one rank there */
    uint8_t bits[1];
    shrink_begin(0);
    shrink_lose(3);
    shrink_call();
    td_shrink_arrived(shrink_group->shrink, bits);
    assert_int_equal(bits[0], 1 << 3 | 1);
    shrink_vote(1, shrink_view(1), &lost, NULL);
    shrink_vote(2, shrink_view(1), &lost, &missing);
    td_shrink_arrived(shrink_group->shrink, bits);
    assert_int_equal(bits[0], 1 << 3 | 1 << 1 | 1);
    node_end();
}

/* A rank calls and dies. The head keeps no operation in flight that nobody waits for. */
static void the_head_withdraws_a_shrink_when_all_that_called_are_lost(void **state)
{
    (void)state;
    static const uint8_t none = 0, local = 1, lost = 1 << 1;
    shrink_begin(0);
    shrink_vote(1, td_shrink_view_hash(shrink_group), &none, NULL);
    shrink_vote(2, td_shrink_view_hash(shrink_group), &none, &local);
    shrink_vote(3, td_shrink_view_hash(shrink_group), &none, &local);
    assert_int_equal(shrink_group->shrink->state, TD_SHRINK_VOTING);
    shrink_lose(1);
    shrink_vote(2, td_shrink_view_hash(shrink_group), &lost, &local);
    assert_int_equal(shrink_group->shrink->state,
                     TD_SHRINK_VOTING); /* rank 3 may have called meanwhile */
    shrink_vote(3, td_shrink_view_hash(shrink_group), &lost, &local);
    assert_int_equal(shrink_group->shrink->state, TD_SHRINK_RESTING);
    assert_int_equal(shrink_group->shrink->number,
                     0); /* it was not decided: the others may make it */
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 0);
    shrink_call();
    assert_int_equal(shrink_group->shrink->state, TD_SHRINK_VOTING);
    shrink_vote(2, td_shrink_view_hash(shrink_group), &lost, NULL);
    shrink_vote(3, td_shrink_view_hash(shrink_group), &lost, NULL);
    const struct td_message *m = node_sent_to(2, TD_MESSAGE_SHRINK_PROPOSE);
    assert_non_null(m);
    assert_int_equal(m->u.shrink_propose.outcome.error, TD_OK);
    assert_int_equal(m->u.shrink_propose.outcome.lost.bits[0], lost);
    node_end();
}

/* The time limit of a call that is withdrawn does not end a later one. */
static void a_withdrawn_shrink_has_no_time_limit(void **state)
{
    (void)state;
    static const uint8_t lost = 1 << 1 | 1 << 2 | 1 << 3;
    shrink_begin(0);
    shrink_call();
    td_shrink_seat_died(shrink_group,
                        0); /* rank 0 stands for another one of this node, which lives */
    for (uint32_t rank = 1; rank < GROUP; rank++)
        shrink_lose(rank);
    assert_int_equal(shrink_group->lost_rank[0], lost);
    assert_int_equal(shrink_group->shrink->state, TD_SHRINK_RESTING);
    node_pass(shrink_group, 2 * (uint64_t)SECOND);
    assert_int_equal(shrink_group->shrink->appeal_error, TD_OK);
    assert_int_equal(shrink_group->shrink->number, 0);
    node_end();
}

/* A rank that has died waits no longer. If its node lives on, no other call gets its time limit. */
static void the_time_limit_of_a_dead_rank_does_not_end_a_shrink(void **state)
{
    (void)state;
    shrink_begin(0);
    shrink_call();
    assert_true(shrink_group->shrink->expires_at < TD_TIME_NEVER);
    td_shrink_seat_died(shrink_group, 0); /* rank 0 stands for another one of this node */
    node_pass(shrink_group, 2 * (uint64_t)SECOND);
    assert_int_equal(shrink_group->shrink->state, TD_SHRINK_VOTING); /* no node has answered */
    assert_int_equal(shrink_group->shrink->appeal_error, TD_OK);
    node_end();
}

/* A node that was asked for its vote, and whose rank has not called, does not know whether others
 * wait. It says that nobody waits here. */
static void a_node_tells_whether_it_knows_a_rank_that_waits(void **state)
{
    static struct td_reply page;
    static const uint8_t none = 0;
    (void)state;
    shrink_begin(1);
    struct td_message m = shrink_about(TD_MESSAGE_SHRINK_ASK);
    m.u.shrink_ask.view = td_shrink_view_hash(shrink_group);
    m.u.shrink_ask.lost = (struct td_bitmap){&none, 1};
    node_message(0, &m);
    for (unsigned called = 0; called < 2; called++) {
        if (called)
            shrink_call();
        assert_true(td_inspect_page(node.core, 0, true, TD_STATUS_OPERATIONS, 0, &page));
        assert_int_equal(page.u.status.rows, 1);
        assert_int_equal(page.u.status.row[0].u.operation.nobody_waits, !called);
    }
    node_end();
}

/* Its vote says that its ranks are lost. The node is not asked again, and would wait for ever. */
static void a_node_whose_ranks_are_lost_withdraws_after_its_vote(void **state)
{
    (void)state;
    shrink_begin(1);
    shrink_group->recorded = 1; /* the record of the group is still needed */
    shrink_call();
    assert_int_equal(shrink_group->shrink->state, TD_SHRINK_VOTING);
    node_forget();
    td_client_close(node.core, NODE_CLIENT);
    node_run();
    const struct td_message *m = node_sent_to(0, TD_MESSAGE_SHRINK_VOTE);
    assert_non_null(m);
    assert_int_equal(m->u.shrink_vote.lost.bits[0], 1 << 1);
    assert_int_equal(shrink_group->shrink->state, TD_SHRINK_RESTING);
    m = NULL;
    node_forget();
    struct td_message asks =
        shrink_about(TD_MESSAGE_SHRINK_ASK); /* of the next head, which does not know */
    asks.u.shrink_ask.lost = (struct td_bitmap){(const uint8_t *)"\1", 1};
    node_message(2, &asks);
    m = node_sent_to(2, TD_MESSAGE_SHRINK_VOTE);
    assert_non_null(m);
    assert_int_equal(m->u.shrink_vote.lost.bits[0], 1 << 0 | 1 << 1);
    assert_int_equal(shrink_group->shrink->state, TD_SHRINK_RESTING);
    shrink_group->recorded = 0;
    node_end();
}

/* Another node may have been told of an outcome that this one has accepted. */
static void an_accepted_outcome_is_not_withdrawn(void **state)
{
    (void)state;
    static const uint8_t none = 0, local = 1, lost = 1 << 1;
    shrink_begin(0);
    shrink_vote(1, td_shrink_view_hash(shrink_group), &none, NULL);
    struct td_message m = shrink_about(TD_MESSAGE_SHRINK_ACCEPTED_BEFORE);
    m.u.shrink_accepted_before.round = 1;
    m.u.shrink_accepted_before.outcome =
        (struct td_outcome){.error = TD_ERR_TIMEOUT, .text = "", .lost = {&none, 1}};
    node_message(2, &m);
    shrink_lose(1);
    shrink_vote(2, td_shrink_view_hash(shrink_group), &lost, &local);
    shrink_vote(3, td_shrink_view_hash(shrink_group), &lost, &local);
    assert_non_null(node_sent_to(2, TD_MESSAGE_SHRINK_PROPOSE));
    assert_int_equal(shrink_group->shrink->state, TD_SHRINK_PROPOSING);
    node_end();
}

static void a_node_that_is_asked_says_that_its_rank_has_not_called(void **state)
{
    (void)state;
    static const uint8_t lost = 1 << 3;
    shrink_begin(2);
    shrink_lose(3);
    struct td_message m = shrink_about(TD_MESSAGE_SHRINK_ASK);
    m.u.shrink_ask.view = td_shrink_view_hash(shrink_group);
    m.u.shrink_ask.lost = (struct td_bitmap){&lost, 1};
    node_message(0, &m);
    const struct td_message *vote = node_sent_to(0, TD_MESSAGE_SHRINK_VOTE);
    assert_non_null(vote);
    assert_int_equal(vote->u.shrink_vote.missing.bytes, 1);
    assert_int_equal(vote->u.shrink_vote.missing.bits[0], 1);
    node_end();
}

static void a_process_outside_of_the_group_shrinks_nothing(void **state)
{
    (void)state;
    shrink_begin(0);
    struct td_request q = {.kind = TD_REQUEST_SHRINK, .id = 20};
    q.u.shrink.group = shrink_group->number;
    td_shrink_request(node.core, node_client(99), &q);
    node_run();
    assert_int_equal(node.reply.error, TD_ERR_INVALID);
    assert_null(shrink_group->shrink);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_outside_of_the_group_shrinks_nothing),
        cmocka_unit_test(a_node_that_is_asked_says_that_its_rank_has_not_called),
        cmocka_unit_test(a_node_votes_at_the_first_slot_that_lives),
        cmocka_unit_test(the_first_error_of_a_vote_is_the_outcome),
        cmocka_unit_test(a_vote_counts_though_another_node_does_not_hear_the_voter),
        cmocka_unit_test(a_rank_that_dies_after_another_one_is_left_out_too),
        cmocka_unit_test(the_first_slot_that_lives_asks_all_others),
        cmocka_unit_test(equal_votes_lead_to_a_group_of_the_survivors),
        cmocka_unit_test(a_vote_with_a_larger_view_begins_a_new_round),
        cmocka_unit_test(a_vote_of_a_node_without_live_ranks_is_answered_with_the_view),
        cmocka_unit_test(a_node_two_shrinks_behind_learns_that_it_is_given_up),
        cmocka_unit_test(missing_ranks_are_named_after_a_last_call),
        cmocka_unit_test(an_accepted_outcome_is_reported_in_later_votes),
        cmocka_unit_test(the_head_proposes_what_a_node_has_accepted_in_the_latest_round),
        cmocka_unit_test(a_proposal_of_another_view_is_ignored),
        cmocka_unit_test(a_cancel_is_an_outcome_that_all_agree_on),
        cmocka_unit_test(a_node_that_has_lost_the_group_says_that_nobody_is_left),
        cmocka_unit_test(the_head_says_which_ranks_are_missing),
        cmocka_unit_test(the_head_withdraws_a_shrink_when_all_that_called_are_lost),
        cmocka_unit_test(a_withdrawn_shrink_has_no_time_limit),
        cmocka_unit_test(the_time_limit_of_a_dead_rank_does_not_end_a_shrink),
        cmocka_unit_test(a_node_tells_whether_it_knows_a_rank_that_waits),
        cmocka_unit_test(a_node_whose_ranks_are_lost_withdraws_after_its_vote),
        cmocka_unit_test(an_accepted_outcome_is_not_withdrawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
