/* SPDX-License-Identifier: Apache-2.0 */
/* Silence in a group, driven message by message: core/membership/parting.h. */
#include "node.h"

#include "core/membership/communicator_losses.h"
#include "core/membership/epoch.h"
#include "core/membership/parting.h"
#include "core/membership/subgroup.h"
#include "core/net/link.h"
#include "core/net/silence.h"
#include "core/operation/arrival.h"

enum { NODES = 4 };

static struct td_communicator *c;

/* begin makes node `at` of a group of four nodes, which are all up, and old enough to vote. */
static void begin(uint32_t at)
{
    node_begin("4", at, NULL);
    node.core->epochs->votes_from = 1;
    c = node_group(NODES);
    for (uint32_t n = 0; n < NODES; n++)
        node.core->link[n].state = TD_LINK_UP;
}

/* pass lets time pass for the group and for polls. */
static void pass(uint64_t ns)
{
    node.core->now += ns;
    td_parting_timers(node.core, c);
    td_epoch_timers(node.core);
    node_run();
}

static uint64_t heartbeat(void)
{
    return (uint64_t)node.core->settings.heartbeat_ns;
}

static void silence(uint32_t from)
{
    node.core->link[from].state = TD_LINK_GIVEN_UP;
    td_core_notices.node_lost(node.core, from, "it has been silent");
    node_run();
}

static void tell(uint32_t from, enum td_parting_step step, uint64_t round, uint64_t sequence)
{
    struct td_message m = {
        .kind = TD_MESSAGE_PARTING,
        .instance = c->instance,
        .group = c->index,
        .u.parting = {
            .step = step, .round = round, .sequence = sequence, .text = "the others say so"}};
    node_message(from, &m);
}

/* told returns the first step of that kind that was sent to a node, or NULL. */
static const struct td_message_parting *told(uint32_t to, enum td_parting_step step)
{
    for (uint32_t i = 0; i < node.sents; i++)
        if (node.sent[i].to == to && node.sent[i].message.kind == TD_MESSAGE_PARTING &&
            node.sent[i].message.u.parting.step == step)
            return &node.sent[i].message.u.parting;
    return NULL;
}

static void vote(uint32_t from, bool votes)
{
    uint64_t ballot = node.core->epochs->ballot;
    struct td_message m = {.kind = TD_MESSAGE_EPOCH_VOTE,
                           .u.epoch_vote = {.ballot = ballot, .is_vote = votes, .seen = ballot}};
    node_message(from, &m);
}

static void accept(uint32_t from)
{
    struct td_message m = {.kind = TD_MESSAGE_EPOCH_ACCEPT,
                           .u.epoch_accept.ballot = node.core->epochs->ballot};
    node_message(from, &m);
}

/* expect_no_doubt checks that the group asks for no epoch any more. */
static void expect_no_doubt(void)
{
    assert_true(c->parting.doubt_at == TD_TIME_NEVER);
    assert_false(c->parting.asked || c->parting.told || c->parting.urged);
}

static void with_a_quorum_a_call_ends_with_node_failed(void **state)
{
    (void)state;
    begin(0);
    silence(3);
    pass(heartbeat());
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_POLL), 0); /* no call waits */
    node_call(c, -1);
    pass(heartbeat());
    assert_int_equal(node.replies, 0);
    assert_non_null(node_sent_to(1, TD_MESSAGE_EPOCH_POLL));
    vote(1, true);
    accept(1);
    assert_int_equal(node.replies, 1);
    assert_int_equal(node.reply.error, TD_ERR_NODE_FAILED);
    assert_non_null(strstr(node.text, "job job lost node 3 (3): it did not answer in time"));
    assert_int_equal(c->state, TD_COMMUNICATOR_LOST_NODE);
    expect_no_doubt();
    node_end();
}

/* Whoever tells what may follow from an exclusion tells the epoch first. */
static void a_loss_is_told_after_the_epoch_that_it_follows_from(void **state)
{
    (void)state;
    begin(0);
    silence(3);
    node_call(c, -1);
    pass(heartbeat());
    vote(1, true);
    accept(1);
    assert_int_equal(c->state, TD_COMMUNICATOR_LOST_NODE);
    td_bit_clear(node.core->epochs->told, 2); /* there was no room for it yet */
    node_forget();
    td_communicator_tell_break(node.core, c, 2);
    node_run();
    const struct td_message *epoch = node_sent_to(2, TD_MESSAGE_EPOCH_KNOWN),
                            *loss = node_sent_to(2, TD_MESSAGE_NODE_LOST);
    assert_non_null(epoch);
    assert_non_null(loss);
    assert_true(epoch->number < loss->number);
    node_end();
}

static void without_a_quorum_calls_end_with_partitioned_on_all_nodes_that_are_heard(void **state)
{
    (void)state;
    begin(1);
    node_call(c, -1);
    silence(0);
    silence(3);
    pass(heartbeat());
    vote(2, true);
    node_forget();
    pass(10 * heartbeat());
    assert_int_equal(node.replies, 1);
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    assert_non_null(strstr(node.text, "node 0 (0) and 1 other have been silent for "));
    assert_int_equal(c->state, TD_COMMUNICATOR_PARTED);
    assert_string_equal(told(2, TD_PARTING_END)->text, node.text);
    assert_null(told(0, TD_PARTING_END));
    expect_no_doubt();
    node_forget();
    node_call(c, -1); /* later calls end at once */
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    struct td_message m = {.kind = TD_MESSAGE_ARRIVE, .instance = c->instance, .sequence = 5};
    m.u.arrive.least = m.u.arrive.greatest = node_barrier(2);
    node_message(2, &m); /* it may have made the group after END came */
    assert_non_null(told(2, TD_PARTING_END));
    node_end();
}

/* A call was refused, and later ones were on their way; then the group parted. All of them are made
 * again, but not those before. */
static void calls_from_a_refused_one_on_may_be_made_again_in_a_parted_group(void **state)
{
    (void)state;
    begin(1);
    struct td_client *client = td_client_find(node.core, NODE_CLIENT);
    struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 10};
    q.u.operation.group = c->number;
    q.u.operation.call.kind = TD_KIND_BARRIER;
    q.u.operation.timeout_ns = -1;
    node_call(c, -1);
    tell(2, TD_PARTING_END, 0, 0);
    static const uint64_t numbers[] = {3, 1, 2, 3};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        node_forget();
        q.u.operation.sequence = numbers[i];
        td_arrival_request(node.core, client, &q);
        node_run();
        assert_int_equal(node.replies, 1);
        assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    }
    q.u.operation.sequence = 0;
    td_arrival_request(node.core, client, &q);
    node_run();
    assert_int_equal(node.reply.error, TD_ERR_PROTOCOL);
    assert_null(td_client_find(node.core, NODE_CLIENT));
    node_end();
}

static void a_group_in_doubt_is_so_until_it_is_broken_or_parted(void **state)
{
    (void)state;
    begin(1);
    node_call(c, -1);
    silence(3);
    td_time at = c->parting.doubt_at;
    assert_true(at != TD_TIME_NEVER);
    td_parting_epoch(node.core); /* one that did not concern it */
    assert_true(c->parting.doubt_at == at);
    tell(0, TD_PARTING_END, 0, 0);
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    expect_no_doubt();
    node_end();
    begin(1);
    silence(3);
    td_communicator_lose_node(node.core, c, 2, true, "its daemon was restarted");
    node_run();
    assert_int_equal(c->state, TD_COMMUNICATOR_LOST_NODE);
    td_parting_epoch(node.core);
    expect_no_doubt();
    node_end();
    begin(1);
    node_call(c, -1);
    silence(3);
    td_bit_clear(c->parting.silent, 3); /* it answers again */
    pass(heartbeat());
    expect_no_doubt();
    node_end();
}

/* answers ends the session of a node that answers, and is asked for an epoch with all others. */
static const char *answers(uint32_t from)
{
    node_call(c, -1);
    td_core_notices.node_lost(node.core, from, "its daemon has ended the session");
    node.core->link[from].heard_at = node.core->now; /* from then on */
    pass(heartbeat());
    for (uint32_t n = 0; n < NODES; n++)
        if (n != node.core->node)
            vote(n, true);
    pass(0);
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    return node.text;
}

static void a_silence_that_is_over_is_told_with_its_length(void **state)
{
    (void)state;
    begin(0);
    node.core->link[3].heard_at = node.core->now;
    node.core->now += 7 * heartbeat();
    node.core->silences[3] = (struct td_silence){
        .from = node.core->link[3].heard_at, .to = node.core->now, .heard = node.core->now};
    assert_non_null(strstr(answers(3), ": node 3 (3) has been silent for 3.5 s and answers again"));
    node_end();
}

static void a_node_that_was_heard_all_the_time_is_not_called_silent(void **state)
{
    (void)state;
    begin(0);
    assert_non_null(strstr(answers(3), ": node 3 (3) ended the session with node 0 (0) and answers "
                                       "again, but messages were lost: call again"));
    node_end();
}

static void a_node_tells_the_first_one_of_its_call_and_asks_later_itself(void **state)
{
    (void)state;
    begin(2);
    node_call(c, -1);
    silence(3);
    pass(heartbeat());
    assert_non_null(told(0, TD_PARTING_DOUBT));
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_POLL), 0);
    pass(td_epoch_sweep_ns(node.core) + heartbeat());
    assert_non_null(node_sent_to(0, TD_MESSAGE_EPOCH_POLL));
    node_end();
    begin(0);
    silence(3);
    tell(2, TD_PARTING_DOUBT, 0, 0);
    pass(heartbeat());
    assert_non_null(node_sent_to(1, TD_MESSAGE_EPOCH_POLL)); /* without a call here */
    node_end();
}

/* hold brings the node into a round: ASK has come from its parent, node 0. */
static void hold(uint64_t round)
{
    node_forget();
    tell(0, TD_PARTING_ASK, round, 0);
    assert_int_equal(c->state, TD_COMMUNICATOR_HELD);
}

static void calls_wait_in_a_round_and_go_on_with_the_largest_number(void **state)
{
    (void)state;
    begin(1);
    node_call(c, -1);
    tell(2, TD_PARTING_END, 0, 0);
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    assert_string_equal(node.text, "the others say so");
    hold(1);
    assert_int_equal(told(0, TD_PARTING_READY)->sequence, 1);
    node_call(c, -1);
    assert_int_equal(node.reply.kind, TD_REPLY_NO_ROOM);
    assert_int_equal(c->seat[0].next_sequence, 1);
    memset(c->ended_unrecorded, 1, sizeof c->ended_unrecorded); /* of the era before */
    tell(0, TD_PARTING_RESUME, 1, 2);
    for (size_t i = 0; i < sizeof c->ended_unrecorded; i++)
        assert_int_equal(((const uint8_t *)c->ended_unrecorded)[i], 0);
    assert_int_equal(node.reply.kind, TD_REPLY_ROOM);
    assert_int_equal(c->state, TD_COMMUNICATOR_ACTIVE);
    node_call(c, -1); /* operation 1: this rank is behind */
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    node_forget();
    node_call(c, -1);
    assert_int_equal(node.replies, 0);
    assert_int_equal(node_sent_to(0, TD_MESSAGE_ARRIVE)->sequence, 2);
    tell(2, TD_PARTING_END, 0, 0); /* it is late: of the era before */
    assert_int_equal(c->state, TD_COMMUNICATOR_ACTIVE);
    tell(2, TD_PARTING_END, 1, 0);
    assert_int_equal(c->state, TD_COMMUNICATOR_PARTED);
    node_end();
}

static void the_root_asks_again_until_all_are_ready(void **state)
{
    (void)state;
    begin(0);
    tell(1, TD_PARTING_END, 0, 0);
    node.core->link[3].state = TD_LINK_GIVEN_UP;
    pass(heartbeat());
    assert_null(told(1, TD_PARTING_ASK)); /* it does not hear all */
    node.core->link[3].state = TD_LINK_UP;
    pass(heartbeat());
    assert_int_equal(told(1, TD_PARTING_ASK)->round, 1);
    tell(1, TD_PARTING_READY, 1, 5);
    tell(2, TD_PARTING_UNREADY, 1, 0);
    assert_int_equal(c->state, TD_COMMUNICATOR_PARTED);
    assert_non_null(told(1, TD_PARTING_CANCEL));
    tell(3, TD_PARTING_READY, 1, 9); /* of the round that has failed */
    node_forget();
    pass(heartbeat());
    assert_int_equal(told(1, TD_PARTING_ASK)->round, 2);
    tell(1, TD_PARTING_READY, 2, 5);
    tell(2, TD_PARTING_READY, 2, 7);
    assert_null(told(1, TD_PARTING_RESUME));
    tell(3, TD_PARTING_READY, 2, 6);
    assert_int_equal(told(1, TD_PARTING_RESUME)->sequence, 7);
    assert_int_equal(c->first_sequence, 7);
    node_end();
}

static void a_round_that_lasts_too_long_is_cancelled(void **state)
{
    (void)state;
    begin(0);
    tell(1, TD_PARTING_END, 0, 0);
    pass(heartbeat());
    tell(1, TD_PARTING_READY, 1, 0);
    node_forget();
    pass(td_epoch_sweep_ns(node.core));
    assert_non_null(told(1, TD_PARTING_CANCEL));
    assert_int_equal(c->state, TD_COMMUNICATOR_PARTED);
    node_end();
}

static void a_node_that_does_not_hear_all_is_not_ready(void **state)
{
    (void)state;
    begin(1);
    node.core->link[3].state = TD_LINK_GIVEN_UP;
    tell(0, TD_PARTING_ASK, 1, 0);
    assert_int_equal(told(0, TD_PARTING_UNREADY)->round, 1);
    assert_int_equal(c->state, TD_COMMUNICATOR_PARTED);
    node_end();
}

static void a_resume_that_cannot_be_taken_parts_the_group_again(void **state)
{
    (void)state;
    begin(1);
    hold(1);
    silence(3); /* after READY */
    pass(heartbeat());
    assert_int_equal(c->state, TD_COMMUNICATOR_PARTED);
    node_forget();
    tell(0, TD_PARTING_RESUME, 1, 0);
    assert_int_equal(c->state, TD_COMMUNICATOR_PARTED);
    assert_int_equal(told(2, TD_PARTING_END)->round, 1);
    node_end();
}

static void a_rank_that_has_gone_is_told_in_place_of_ready(void **state)
{
    (void)state;
    begin(1);
    tell(2, TD_PARTING_END, 0, 0);
    td_communicator_seat_lost(node.core, c, &c->seat[0], true);
    c->recorded++; /* something keeps the record */
    node_run();
    c->recorded--;
    node_forget();
    tell(0, TD_PARTING_ASK, 1, 0);
    assert_null(told(0, TD_PARTING_READY));
    assert_non_null(node_sent_to(0, TD_MESSAGE_RANK_GONE));
    node_end();
}

static void a_parent_that_knows_of_a_loss_answers_with_it(void **state)
{
    (void)state;
    begin(0);
    td_communicator_rank_lost(node.core, c, 2, TD_ERR_RANK_FAILED, "rank 2 of job job died");
    node_run();
    node_forget();
    tell(1, TD_PARTING_HEARD, 0, 0);
    assert_string_equal(node_sent_to(1, TD_MESSAGE_RANK_LOST)->u.rank_lost.text,
                        "rank 2 of job job died");
    node_end();
}

/* Swarm seed 52538: the task of such a group queued itself without end. */
static void silence_in_a_broken_group_without_ranks_here_comes_to_an_end(void **state)
{
    (void)state;
    begin(0);
    td_communicator_rank_lost(node.core, c, 2, TD_ERR_RANK_FAILED, "rank 2 of job job died");
    td_communicator_seat_lost(node.core, c, &c->seat[0], true);
    c->recorded++; /* something keeps the record */
    node_run();
    silence(3);
    assert_int_equal(c->state, TD_COMMUNICATOR_LOST_RANK);
    assert_true(c->parting.doubt_at == TD_TIME_NEVER);
    c->recorded--;
    node_end();
}

/* Swarm seed 47264: a call of such a group waited without end for a node whose session had ended
 * before the group was made. */
static void a_group_that_is_made_with_a_silent_node_is_in_doubt(void **state)
{
    (void)state;
    static const uint64_t members[] = {0, 3};
    struct td_request q = {.kind = TD_REQUEST_GROUP, .id = 5};
    begin(0);
    silence(3);
    q.u.make.group = c->number;
    q.u.make.number = 1;
    q.u.make.member = members;
    q.u.make.members = 2;
    td_subgroup_make(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
    c = node.core->communicators;
    assert_int_equal(c->index, TD_GROUP_MADE);
    assert_true(c->parting.doubt_at != TD_TIME_NEVER);
    node_forget();
    node_call(c, -1);
    pass(heartbeat());
    assert_int_equal(node.replies, 0);
    assert_non_null(node_sent_to(1, TD_MESSAGE_EPOCH_POLL));
    vote(1, true);
    accept(1);
    assert_int_equal(node.reply.error, TD_ERR_NODE_FAILED);
    node_end();
}

static void a_proven_loss_of_another_node_is_no_word_on_this_one(void **state)
{
    (void)state;
    for (uint32_t lost = 1; lost < 3; lost++) {
        begin(1);
        node_call(c, -1);
        struct td_message m = {.kind = TD_MESSAGE_NODE_LOST, .instance = c->instance};
        m.u.node_lost = (struct td_message_node_lost){
            .node = lost, .is_proven = true, .text = "its daemon was restarted"};
        node_message(0, &m);
        assert_int_equal(node.reply.error, lost == 1 ? TD_ERR_PARTITIONED : TD_ERR_NODE_FAILED);
        node_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_proven_loss_of_another_node_is_no_word_on_this_one),
        cmocka_unit_test(with_a_quorum_a_call_ends_with_node_failed),
        cmocka_unit_test(a_loss_is_told_after_the_epoch_that_it_follows_from),
        cmocka_unit_test(without_a_quorum_calls_end_with_partitioned_on_all_nodes_that_are_heard),
        cmocka_unit_test(calls_from_a_refused_one_on_may_be_made_again_in_a_parted_group),
        cmocka_unit_test(a_group_in_doubt_is_so_until_it_is_broken_or_parted),
        cmocka_unit_test(a_silence_that_is_over_is_told_with_its_length),
        cmocka_unit_test(a_node_that_was_heard_all_the_time_is_not_called_silent),
        cmocka_unit_test(a_node_tells_the_first_one_of_its_call_and_asks_later_itself),
        cmocka_unit_test(calls_wait_in_a_round_and_go_on_with_the_largest_number),
        cmocka_unit_test(the_root_asks_again_until_all_are_ready),
        cmocka_unit_test(a_round_that_lasts_too_long_is_cancelled),
        cmocka_unit_test(a_node_that_does_not_hear_all_is_not_ready),
        cmocka_unit_test(a_resume_that_cannot_be_taken_parts_the_group_again),
        cmocka_unit_test(a_rank_that_has_gone_is_told_in_place_of_ready),
        cmocka_unit_test(a_parent_that_knows_of_a_loss_answers_with_it),
        cmocka_unit_test(silence_in_a_broken_group_without_ranks_here_comes_to_an_end),
        cmocka_unit_test(a_group_that_is_made_with_a_silent_node_is_in_doubt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
