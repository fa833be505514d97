/* SPDX-License-Identifier: Apache-2.0 */
/* Shrinks, driven message by message: core/membership/shrink.h. */
#include "node.h"

#include "core/membership/communicator_losses.h"
#include "core/membership/epoch.h"
#include "core/membership/shrink.h"
#include "core/membership/shrink_silence.h"
#include "core/membership/shrink_view.h"
#include "core/membership/subgroup.h"
#include "core/net/link.h"

enum { GROUP = 4, SECOND = 1000000000 };

static struct td_communicator *c;

static void begin(uint32_t at)
{
    node_begin("4", at, NULL);
    c = node_group(GROUP);
}

static void call(void)
{
    struct td_request q = {.kind = TD_REQUEST_SHRINK, .id = 20};
    q.u.shrink.group = c->number;
    q.u.shrink.timeout_ns = SECOND;
    td_shrink_request(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
}

/* lose adds a rank, on a node of its own, to the view of this node. */
static void lose(uint32_t rank)
{
    td_shrink_slot_lost(node.core, c, rank);
    node_run();
}

static struct td_message about(enum td_message_kind kind)
{
    return (struct td_message){.kind = kind, .instance = c->instance, .group = c->index};
}

/* hear_exclusions: node `from` tells that ballot 5 has excluded the first `nodes` nodes. */
static void hear_exclusions(uint32_t from, uint32_t nodes)
{
    enum { BYTES = 14, BALLOT_AT = 6, NODES_MAX = 8 };
    uint8_t bytes[NODES_MAX * BYTES] = {0};
    assert_true(nodes <= NODES_MAX);
    for (uint32_t n = 0; n < nodes; n++) {
        bytes[BYTES * n] = (uint8_t)n;
        bytes[BYTES * n + BALLOT_AT] = 5;
    }
    struct td_message m = {.kind = TD_MESSAGE_EPOCH_KNOWN};
    m.u.epoch_known.ballot = 5;
    m.u.epoch_known.exclusions = (struct td_bitmap){bytes, nodes * BYTES};
    node_message(from, &m);
}

/* view returns the hash of this node's view. */
static uint64_t view(uint32_t asked)
{
    const struct td_message *m = node_sent_to(asked, TD_MESSAGE_SHRINK_ASK);
    assert_non_null(m);
    return m->u.shrink_ask.view;
}

static void silence(uint32_t from)
{
    node.core->link[from].state = TD_LINK_GIVEN_UP;
    td_core_notices.node_lost(node.core, from, "it has been silent");
    node_run();
}

static void vote(uint32_t from, uint64_t hash, const uint8_t *lost, const uint8_t *missing)
{
    struct td_message m = about(TD_MESSAGE_SHRINK_VOTE);
    m.u.shrink_vote.view = hash;
    m.u.shrink_vote.lost = (struct td_bitmap){lost, 1};
    m.u.shrink_vote.missing = (struct td_bitmap){missing, missing ? 1 : 0};
    m.u.shrink_vote.text = "";
    node_message(from, &m);
}

static void accept(uint32_t from, uint64_t hash)
{
    struct td_message m = about(TD_MESSAGE_SHRINK_ACCEPT);
    m.u.shrink_accept.view = hash;
    node_message(from, &m);
}

static void a_node_votes_at_the_first_slot_that_lives(void **state)
{
    (void)state;
    begin(2);
    call();
    assert_non_null(node_sent_to(0, TD_MESSAGE_SHRINK_VOTE));
    node_forget();
    lose(0);
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
        begin(2);
        struct td_message m = about(TD_MESSAGE_RANK_LOST);
        m.u.rank_lost = (struct td_message_rank_lost){
            .rank = 1, .error = TD_ERR_RANK_FAILED, .text = "rank 1 died"};
        node_message(c->parent, &m);
        assert_true(td_communicator_broken(c));
        m.u.rank_lost = (struct td_message_rank_lost){
            .rank = 3, .error = died ? TD_ERR_RANK_FAILED : TD_ERR_CANCELLED, .text = "rank 3"};
        node_message(c->parent, &m);
        assert_true(td_bit(c->lost_rank, 1));
        assert_int_equal(td_bit(c->lost_rank, 3), died);
        node_end();
    }
}

static void the_first_slot_that_lives_asks_all_others(void **state)
{
    (void)state;
    begin(1);
    lose(0);
    call();
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_ASK), 2);
    assert_null(node_sent_to(0, TD_MESSAGE_SHRINK_ASK));
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_VOTE), 0);
    node_end();
}

static void equal_votes_lead_to_a_group_of_the_survivors(void **state)
{
    (void)state;
    const uint8_t lost = 1 << 3;
    begin(0);
    lose(3);
    call();
    uint64_t hash = view(1);
    vote(1, hash, &lost, NULL);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 0);
    vote(2, hash, &lost, NULL);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 2);
    assert_int_equal(c->shrink->state, TD_SHRINK_PROPOSING);
    accept(1, hash);
    assert_int_equal(node.replies, 0);
    accept(2, hash);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_DECIDED), 2);
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    assert_int_equal(node.reply.u.joined.size, 3);
    assert_int_equal(node.reply.u.joined.rank, 0);
    assert_int_equal(c->shrink->number, 1);
    assert_int_equal(c->shrink->state, TD_SHRINK_RESTING);
    assert_false(td_shrink_keeps(c));
    node_end();
}

static void a_vote_with_a_larger_view_begins_a_new_round(void **state)
{
    (void)state;
    const uint8_t less = 1 << 3, more = 1 << 3 | 1 << 2;
    begin(0);
    lose(3);
    call();
    uint64_t hash = view(1);
    vote(2, hash, &less, NULL);
    node_forget();
    vote(1, hash + 1, &more, NULL); /* node 1 knows that rank 2 is lost too */
    assert_true(td_bit(c->lost_rank, 2));
    assert_int_equal(c->shrink->vote[2], TD_VOTE_LOST);
    assert_int_not_equal(view(1), hash);
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
    begin(0);
    lose(3);
    call();
    uint64_t hash = view(1);
    node_forget();
    vote(1, hash + 1, &own, NULL); /* its rank has died; it does not know of rank 3 */
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_SHRINK_ASK);
    assert_non_null(m);
    assert_true(m->u.shrink_ask.gave_up_receiver);
    assert_int_equal(m->u.shrink_ask.lost.bits[0], 1 << 1 | 1 << 3);
    node_end();
}

/* decide gives a node the outcome of a shrink without losses. */
static void decide(uint64_t shrink, uint32_t from)
{
    struct td_message m = about(TD_MESSAGE_SHRINK_DECIDED);
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
    begin(2);
    decide(0, 0);
    decide(1, 0);
    assert_int_equal(c->shrink->number, 2);
    vote(1, 0, (const uint8_t *)"", NULL);
    const struct td_message *told = node_sent_to(1, TD_MESSAGE_SHRINK_DECIDED);
    assert_non_null(told);
    assert_int_equal(told->u.shrink_decided.shrink, 1);
    node_end();

    const uint8_t lost = 1 << 3;
    begin(2);
    lose(3);
    call();
    struct td_message m = about(TD_MESSAGE_SHRINK_PROPOSE);
    m.u.shrink_propose.view = node_sent_to(0, TD_MESSAGE_SHRINK_VOTE)->u.shrink_vote.view;
    m.u.shrink_propose.outcome = (struct td_outcome){.text = "", .lost = {&lost, 1}};
    node_message(0, &m);
    assert_true(td_shrink_keeps(c));
    decide(1, 0);
    assert_false(td_shrink_keeps(c));
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    node_end();
}

static void missing_ranks_are_named_after_a_last_call(void **state)
{
    (void)state;
    const uint8_t lost = 1 << 3, local = 1;
    begin(0);
    lose(3);
    call();
    uint64_t hash = view(1);
    vote(1, hash, &lost, NULL);
    vote(2, hash, &lost, &local); /* its rank has not called */
    node_forget();
    node_pass(c, SECOND);
    const struct td_message *m = node_sent_to(2, TD_MESSAGE_SHRINK_ASK);
    assert_non_null(m);
    assert_true(m->u.shrink_ask.is_last_call);
    assert_int_equal(c->shrink->state, TD_SHRINK_LAST_CALL);
    vote(2, hash, &lost, &local);
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
    begin(2);
    lose(3);
    call();
    const struct td_message *voted = node_sent_to(0, TD_MESSAGE_SHRINK_VOTE);
    assert_non_null(voted);
    struct td_message m = about(TD_MESSAGE_SHRINK_PROPOSE);
    m.u.shrink_propose.view = voted->u.shrink_vote.view;
    m.u.shrink_propose.outcome = (struct td_outcome){.text = "", .lost = {&lost, 1}};
    node_message(0, &m);
    assert_non_null(node_sent_to(0, TD_MESSAGE_SHRINK_ACCEPT));
    node_forget();
    lose(0); /* the coordinator dies before it announces the outcome */
    const struct td_message *before = node_sent_to(1, TD_MESSAGE_SHRINK_ACCEPTED_BEFORE);
    assert_non_null(before);
    assert_int_equal(before->u.shrink_accepted_before.outcome.lost.bits[0], lost);
    node_end();
}

static void the_head_proposes_what_a_node_has_accepted_in_the_latest_round(void **state)
{
    (void)state;
    static const uint8_t lost = 1 << 3;
    begin(0);
    lose(3);
    call();
    struct td_message m = about(TD_MESSAGE_SHRINK_ACCEPTED_BEFORE);
    struct td_message_shrink_accepted_before *before = &m.u.shrink_accepted_before;
    before->outcome.lost = (struct td_bitmap){&lost, 1};
    before->outcome.error = TD_ERR_TIMEOUT;
    before->round = 2;
    before->outcome.text = "rank 2 did not call it";
    node_message(1, &m);
    before->round = 1;
    before->outcome.text = "rank 1 did not call it";
    node_message(2, &m);
    vote(1, view(1), &lost, NULL);
    vote(2, view(1), &lost, NULL);
    const struct td_message *proposed = node_sent_to(1, TD_MESSAGE_SHRINK_PROPOSE);
    assert_non_null(proposed);
    assert_int_equal(proposed->u.shrink_propose.outcome.error, TD_ERR_TIMEOUT);
    assert_string_equal(proposed->u.shrink_propose.outcome.text, "rank 2 did not call it");
    before->round = 9; /* it has proposed already */
    node_message(2, &m);
    assert_string_equal(c->shrink->accepted.text, "rank 2 did not call it");
    node_end();
}

static void a_proposal_of_another_view_is_ignored(void **state)
{
    (void)state;
    const uint8_t lost = 1 << 1;
    begin(2);
    lose(3);
    call();
    struct td_message m = about(TD_MESSAGE_SHRINK_PROPOSE);
    m.u.shrink_propose.view = 12345;
    m.u.shrink_propose.outcome = (struct td_outcome){.text = "", .lost = {&lost, 1}};
    node_message(0, &m);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_ACCEPT), 0);
    assert_int_equal(c->shrink->accepted_round, 0);
    node_end();
}

static void a_cancel_is_an_outcome_that_all_agree_on(void **state)
{
    (void)state;
    const uint8_t lost = 0;
    begin(0);
    call();
    uint64_t hash = view(1);
    const uint8_t local = 1;
    vote(1, hash, &lost, &local);
    vote(2, hash, &lost, NULL);
    vote(3, hash, &lost, NULL);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 0);
    assert_true(td_shrink_cancel(node.core, td_client_find(node.core, NODE_CLIENT), 20));
    node_run();
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_SHRINK_PROPOSE);
    assert_non_null(m);
    assert_int_equal(m->u.shrink_propose.outcome.error, TD_ERR_CANCELLED);
    assert_int_equal(node.replies, 0);
    for (uint32_t n = 1; n < GROUP; n++)
        accept(n, hash);
    assert_int_equal(node.reply.error, TD_ERR_CANCELLED);
    node_end();
}

static void the_first_error_of_a_vote_is_the_outcome(void **state)
{
    (void)state;
    static const uint8_t lost = 0, local = 1;
    begin(0);
    call();
    struct td_message m = about(TD_MESSAGE_SHRINK_VOTE);
    m.u.shrink_vote = (struct td_message_shrink_vote){.view = view(1),
                                                      .lost = {&lost, 1},
                                                      .missing = {&local, 1},
                                                      .error = TD_ERR_CANCELLED,
                                                      .text = "rank 1 cancelled it"};
    node_message(1, &m);
    m.u.shrink_vote.text = "rank 2 cancelled it";
    node_message(2, &m);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 0);
    vote(3, view(1), &lost, NULL);
    const struct td_message *proposed = node_sent_to(1, TD_MESSAGE_SHRINK_PROPOSE);
    assert_non_null(proposed);
    assert_int_equal(proposed->u.shrink_propose.outcome.error, TD_ERR_CANCELLED);
    assert_string_equal(proposed->u.shrink_propose.outcome.text, "rank 1 cancelled it");
    node_end();
}

static void a_vote_counts_though_another_node_does_not_hear_the_voter(void **state)
{
    (void)state;
    begin(0);
    call();
    uint64_t hash = view(1);
    vote(2, hash, (const uint8_t *)"", NULL);
    struct td_message m = about(TD_MESSAGE_NODE_LOST);
    m.u.node_lost = (struct td_message_node_lost){.node = 2, .text = "node 2 is silent"};
    node_message(1, &m);
    vote(1, hash, (const uint8_t *)"", NULL);
    vote(3, hash, (const uint8_t *)"", NULL);
    assert_non_null(node_sent_to(2, TD_MESSAGE_SHRINK_PROPOSE));
    node_end();
}

static void a_node_that_has_lost_the_group_says_that_nobody_is_left(void **state)
{
    (void)state;
    begin(0);
    td_communicator_note_gone(node.core, 4711);
    struct td_message m = {.kind = TD_MESSAGE_SHRINK_ASK, .instance = 4711};
    m.u.shrink_ask.lost = (struct td_bitmap){(const uint8_t *)"", 1};
    node_message(2, &m);
    assert_non_null(node_sent_to(2, TD_MESSAGE_SHRINK_NOBODY));
    node_end();
}

/* ---- after a pause ---- */

/* wake begins with node 0, which has not run for a minute. Meanwhile the daemon of node 3 was
 * restarted, and ranks 0 to 2 call the shrink. */
static void wake(void)
{
    const uint8_t lost = 1 << 3;
    begin(0);
    node.core->epochs->votes_from = 1;
    node.core->now += 100 * (td_time)SECOND;
    c->was_away = td_epoch_resumed(node.core, 60 * (td_time)SECOND);
    assert_true(c->was_away);
    node.core->now += 60 * (td_time)SECOND;
    td_communicator_lose_node(node.core, c, 3, true, "its daemon was restarted");
    call();
    vote(1, view(1), &lost, NULL);
    vote(2, view(2), &lost, NULL);
}

/* epoch_vote votes for the ballot of the poll, as a daemon of this age. `excluded`: NULL, or the
 * packed exclusions that it has accepted with ballot 5. */
static void epoch_vote(uint32_t from, uint64_t age_ns, const struct td_bitmap *excluded)
{
    struct td_message m = {.kind = TD_MESSAGE_EPOCH_VOTE};
    m.u.epoch_vote = (struct td_message_epoch_vote){.ballot = node.core->epochs->ballot,
                                                    .is_vote = true,
                                                    .age_ns = age_ns,
                                                    .accepted = excluded ? 5 : 0};
    if (excluded)
        m.u.epoch_vote.exclusions = *excluded;
    node_message(from, &m);
}

/* times that a daemon has lived, shorter and longer than the pause */
static const td_time young = UINT64_C(59000000000), old = UINT64_C(61000000000);

static void a_proof_counts_after_a_pause_once_a_quorum_has_confirmed_the_node(void **state)
{
    (void)state;
    wake();
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_POLL), 3);
    epoch_vote(1, young, NULL); /* it cannot know */
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 0);
    epoch_vote(2, old, NULL);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 2);
    assert_false(c->was_away);
    node_end();
}

/* Nobody asks for a quorum before a rank has called, or if no node is lost. */
static void a_pause_matters_only_to_calls_that_leave_a_node_out(void **state)
{
    (void)state;
    static const uint8_t lost = 1 << 3, nobody = 0, local = 1;
    begin(0);
    node.core->epochs->votes_from = 1;
    c->was_away = true;
    td_communicator_lose_node(node.core, c, 3, true, "its daemon was restarted");
    vote(1, td_shrink_view_hash(c), &lost, &local);
    assert_non_null(c->shrink);
    vote(2, td_shrink_view_hash(c), &lost, &local);
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_POLL), 0);
    node_end();
    begin(0);
    node.core->epochs->votes_from = 1;
    c->was_away = true;
    call();
    for (uint32_t n = 1; n < GROUP; n++)
        vote(n, td_shrink_view_hash(c), &nobody, NULL);
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_POLL), 0);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 3);
    node_end();
}

static void a_node_that_was_excluded_in_its_pause_does_not_go_on(void **state)
{
    (void)state;
    const uint8_t bytes[14] = {[6] = 5}; /* node 0, by ballot 5 */
    wake();
    epoch_vote(2, old, &(struct td_bitmap){bytes, sizeof bytes});
    struct td_message m = {.kind = TD_MESSAGE_EPOCH_ACCEPT,
                           .u.epoch_accept.ballot = node.core->epochs->ballot};
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_PROPOSE), 3);
    node_message(2, &m);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 0);
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    assert_non_null(strstr(node.reply.text, "go on without"));
    node_end();
}

/* A silent node neither votes nor lets the others leave it out: the excluded node says so itself.
 */
static void an_excluded_node_does_not_wait_for_a_silent_one(void **state)
{
    (void)state;
    begin(0);
    c->minor = TD_MINOR_PARTING;
    lose(3);
    call();
    assert_int_equal(node.replies, 0);
    silence(2);
    hear_exclusions(1, 1);
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    node_end();
}

/* All nodes of the group were excluded together: it goes on, but none of them may exclude another.
 */
static void an_excluded_group_asks_for_no_epoch_when_a_node_of_it_is_silent(void **state)
{
    (void)state;
    node_begin("5", 0, NULL);
    c = node_group(GROUP);
    c->minor = TD_MINOR_PARTING;
    hear_exclusions(4, GROUP);
    assert_false(td_communicator_broken(c));
    lose(3);
    call();
    silence(2);
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_POLL), 0);
    node_end();
}

static void a_shrink_that_awaits_a_silent_node_wakes_this_one_in_time(void **state)
{
    (void)state;
    begin(0);
    c->minor = TD_MINOR_PARTING;
    lose(3);
    call();
    silence(2);
    node.core->alarm = TD_TIME_NEVER;
    td_shrink_hurry(node.core, c->shrink);
    assert_true(c->shrink->hurry_at ==
                node.core->now + (td_time)node.core->settings.progress_timeout_ns);
    assert_true(node.core->alarm == c->shrink->hurry_at);
    node.core->alarm = TD_TIME_NEVER;
    td_shrink_hurry(node.core, c->shrink);
    assert_true(node.core->alarm == c->shrink->hurry_at);
    node_end();
}

static void a_node_that_is_not_the_head_asks_to_exclude_a_silent_head(void **state)
{
    (void)state;
    begin(2);
    node.core->epochs->votes_from = 1;
    c->minor = TD_MINOR_PARTING;
    lose(3);
    call();
    uint8_t bits[1];
    td_shrink_arrived(c->shrink, bits);
    assert_int_equal(bits[0], 1 << 3 | 1 << 2); /* it knows of its own rank alone */
    node_forget();
    silence(0);
    assert_non_null(node_sent_to(1, TD_MESSAGE_SHRINK_VOTE));
    node.core->now = c->shrink->hurry_at;
    td_shrink_timers(node.core, c);
    node_run();
    assert_non_null(node_sent_to(1, TD_MESSAGE_EPOCH_POLL));
    node_end();
}

/* The head knows the ranks that have called, or cannot. */
/* What it has sent may be lost with the session, and the one or the other may have been deaf. */
static void a_node_votes_again_when_another_one_is_back(void **state)
{
    (void)state;
    static const uint32_t back[] = {0, 1, 3};
    for (size_t i = 0; i < sizeof back / sizeof back[0]; i++) {
        begin(2);
        call();
        node_forget();
        td_core_notices.node_back(node.core, back[i]);
        node_run();
        assert_int_equal(node_count(TD_MESSAGE_SHRINK_VOTE), 1);
        assert_non_null(node_sent_to(0, TD_MESSAGE_SHRINK_VOTE));
        node_end();
    }
}

static void the_head_says_which_ranks_are_missing(void **state)
{
    (void)state;
    const uint8_t lost = 1 << 3, missing = 1; /* of the one rank there */
    uint8_t bits[1];
    begin(0);
    lose(3);
    call();
    td_shrink_arrived(c->shrink, bits);
    assert_int_equal(bits[0], 1 << 3 | 1);
    vote(1, view(1), &lost, NULL);
    vote(2, view(1), &lost, &missing);
    td_shrink_arrived(c->shrink, bits);
    assert_int_equal(bits[0], 1 << 3 | 1 << 1 | 1);
    node_end();
}

/* If all other daemons were restarted, nobody knows whether the earlier ones went on. */
static void without_daemons_that_know_a_shrink_after_a_pause_is_partitioned(void **state)
{
    (void)state;
    wake();
    for (uint32_t n = 1; n < GROUP; n++)
        epoch_vote(n, young, NULL);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 0);
    td_epoch_timers(node.core);
    node_run();
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PARTITIONED), 2);
    assert_true(c->was_away);
    node_end();
}

/* A rank calls and dies. The head keeps no operation in flight that nobody waits for. */
static void the_head_withdraws_a_shrink_when_all_that_called_are_lost(void **state)
{
    (void)state;
    static const uint8_t none = 0, local = 1, lost = 1 << 1;
    begin(0);
    vote(1, td_shrink_view_hash(c), &none, NULL);
    vote(2, td_shrink_view_hash(c), &none, &local);
    vote(3, td_shrink_view_hash(c), &none, &local);
    assert_int_equal(c->shrink->state, TD_SHRINK_VOTING);
    lose(1);
    vote(2, td_shrink_view_hash(c), &lost, &local);
    assert_int_equal(c->shrink->state, TD_SHRINK_VOTING); /* rank 3 may have called meanwhile */
    vote(3, td_shrink_view_hash(c), &lost, &local);
    assert_int_equal(c->shrink->state, TD_SHRINK_RESTING);
    assert_int_equal(c->shrink->number, 0); /* it was not decided: the others may make it */
    assert_int_equal(node_count(TD_MESSAGE_SHRINK_PROPOSE), 0);
    call();
    assert_int_equal(c->shrink->state, TD_SHRINK_VOTING);
    vote(2, td_shrink_view_hash(c), &lost, NULL);
    vote(3, td_shrink_view_hash(c), &lost, NULL);
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
    begin(0);
    call();
    td_shrink_seat_died(c, 0); /* rank 0 stands for another one of this node, which lives */
    for (uint32_t rank = 1; rank < GROUP; rank++)
        lose(rank);
    assert_int_equal(c->lost_rank[0], lost);
    assert_int_equal(c->shrink->state, TD_SHRINK_RESTING);
    node_pass(c, 2 * (uint64_t)SECOND);
    assert_int_equal(c->shrink->appeal_error, TD_OK);
    assert_int_equal(c->shrink->number, 0);
    node_end();
}

/* Its vote says that its ranks are lost. The node is not asked again, and would wait for ever. */
static void a_node_whose_ranks_are_lost_withdraws_after_its_vote(void **state)
{
    (void)state;
    begin(1);
    c->recorded = 1; /* the record of the group is still needed */
    call();
    assert_int_equal(c->shrink->state, TD_SHRINK_VOTING);
    node_forget();
    td_client_close(node.core, NODE_CLIENT);
    node_run();
    const struct td_message *m = node_sent_to(0, TD_MESSAGE_SHRINK_VOTE);
    assert_non_null(m);
    assert_int_equal(m->u.shrink_vote.lost.bits[0], 1 << 1);
    assert_int_equal(c->shrink->state, TD_SHRINK_RESTING);
    m = NULL;
    node_forget();
    struct td_message asks =
        about(TD_MESSAGE_SHRINK_ASK); /* of the next head, which does not know */
    asks.u.shrink_ask.lost = (struct td_bitmap){(const uint8_t *)"\1", 1};
    node_message(2, &asks);
    m = node_sent_to(2, TD_MESSAGE_SHRINK_VOTE);
    assert_non_null(m);
    assert_int_equal(m->u.shrink_vote.lost.bits[0], 1 << 0 | 1 << 1);
    assert_int_equal(c->shrink->state, TD_SHRINK_RESTING);
    c->recorded = 0;
    node_end();
}

/* Another node may have been told of an outcome that this one has accepted. */
static void an_accepted_outcome_is_not_withdrawn(void **state)
{
    (void)state;
    static const uint8_t none = 0, local = 1, lost = 1 << 1;
    begin(0);
    vote(1, td_shrink_view_hash(c), &none, NULL);
    struct td_message m = about(TD_MESSAGE_SHRINK_ACCEPTED_BEFORE);
    m.u.shrink_accepted_before.round = 1;
    m.u.shrink_accepted_before.outcome =
        (struct td_outcome){.error = TD_ERR_TIMEOUT, .text = "", .lost = {&none, 1}};
    node_message(2, &m);
    lose(1);
    vote(2, td_shrink_view_hash(c), &lost, &local);
    vote(3, td_shrink_view_hash(c), &lost, &local);
    assert_non_null(node_sent_to(2, TD_MESSAGE_SHRINK_PROPOSE));
    assert_int_equal(c->shrink->state, TD_SHRINK_PROPOSING);
    node_end();
}

/* Swarm seed 2316: a node was excluded while it heard all nodes of the group. Then one of them was
 * restarted, and it shrank without asking: the others had done so without it. */
static void an_earlier_exclusion_concerns_a_group_that_loses_a_node(void **state)
{
    (void)state;
    begin(0);
    c->minor = TD_MINOR_PARTING;
    hear_exclusions(1, 1);
    assert_false(td_communicator_broken(c));
    td_communicator_lose_node(node.core, c, 3, true, "its daemon was restarted");
    call();
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    assert_non_null(strstr(node.text, "go on without"));
    node_end();
}

static void a_short_pause_needs_no_confirmation(void **state)
{
    (void)state;
    begin(0);
    assert_false(td_epoch_resumed(node.core, (td_time)node.core->settings.progress_timeout_ns / 2));
    node_end();
}

static void a_node_that_is_asked_says_that_its_rank_has_not_called(void **state)
{
    (void)state;
    static const uint8_t lost = 1 << 3;
    begin(2);
    lose(3);
    struct td_message m = about(TD_MESSAGE_SHRINK_ASK);
    m.u.shrink_ask.view = td_shrink_view_hash(c);
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
    begin(0);
    struct td_request q = {.kind = TD_REQUEST_SHRINK, .id = 20};
    q.u.shrink.group = c->number;
    td_shrink_request(node.core, node_client(99), &q);
    node_run();
    assert_int_equal(node.reply.error, TD_ERR_INVALID);
    assert_null(c->shrink);
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
        cmocka_unit_test(a_proof_counts_after_a_pause_once_a_quorum_has_confirmed_the_node),
        cmocka_unit_test(a_pause_matters_only_to_calls_that_leave_a_node_out),
        cmocka_unit_test(a_node_that_was_excluded_in_its_pause_does_not_go_on),
        cmocka_unit_test(a_shrink_that_awaits_a_silent_node_wakes_this_one_in_time),
        cmocka_unit_test(a_node_that_is_not_the_head_asks_to_exclude_a_silent_head),
        cmocka_unit_test(a_node_votes_again_when_another_one_is_back),
        cmocka_unit_test(the_head_says_which_ranks_are_missing),
        cmocka_unit_test(an_excluded_node_does_not_wait_for_a_silent_one),
        cmocka_unit_test(an_excluded_group_asks_for_no_epoch_when_a_node_of_it_is_silent),
        cmocka_unit_test(without_daemons_that_know_a_shrink_after_a_pause_is_partitioned),
        cmocka_unit_test(an_earlier_exclusion_concerns_a_group_that_loses_a_node),
        cmocka_unit_test(a_short_pause_needs_no_confirmation),
        cmocka_unit_test(the_head_withdraws_a_shrink_when_all_that_called_are_lost),
        cmocka_unit_test(a_withdrawn_shrink_has_no_time_limit),
        cmocka_unit_test(a_node_whose_ranks_are_lost_withdraws_after_its_vote),
        cmocka_unit_test(an_accepted_outcome_is_not_withdrawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
