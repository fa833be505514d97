/* SPDX-License-Identifier: Apache-2.0 */
/* Shrinks of which a node is silent, excluded, or has not run: the epoch decides
 * (core/membership/epoch.h). */
#include "shrinks.h"

#include "core/membership/communicator_losses.h"
#include "core/membership/epoch.h"
#include "core/membership/shrink.h"
#include "core/membership/shrink_silence.h"
#include "core/membership/shrink_view.h"

/* ---- after a pause ---- */

/* wake begins with node 0, which has not run for a minute. Meanwhile the daemon of node 3 was
 * restarted, and ranks 0 to 2 call the shrink. */
static void wake(void)
{
    const uint8_t lost = 1 << 3;
    shrink_begin(0);
    node.core->epochs->votes_from = 1;
    node.core->now += 100 * (td_time)SECOND;
    shrink_group->was_away = td_epoch_resumed(node.core, 60 * (td_time)SECOND);
    assert_true(shrink_group->was_away);
    node.core->now += 60 * (td_time)SECOND;
    td_communicator_lose_node(node.core, shrink_group, 3, true, "its daemon was restarted");
    shrink_call();
    shrink_vote(1, shrink_view(1), &lost, NULL);
    shrink_vote(2, shrink_view(2), &lost, NULL);
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
    assert_false(shrink_group->was_away);
    node_end();
}

/* Nobody asks for a quorum before a rank has called, or if no node is lost. */
static void a_pause_matters_only_to_calls_that_leave_a_node_out(void **state)
{
    (void)state;
    static const uint8_t lost = 1 << 3, nobody = 0, local = 1;
    shrink_begin(0);
    node.core->epochs->votes_from = 1;
    shrink_group->was_away = true;
    td_communicator_lose_node(node.core, shrink_group, 3, true, "its daemon was restarted");
    shrink_vote(1, td_shrink_view_hash(shrink_group), &lost, &local);
    assert_non_null(shrink_group->shrink);
    shrink_vote(2, td_shrink_view_hash(shrink_group), &lost, &local);
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_POLL), 0);
    node_end();
    shrink_begin(0);
    node.core->epochs->votes_from = 1;
    shrink_group->was_away = true;
    shrink_call();
    for (uint32_t n = 1; n < GROUP; n++)
        shrink_vote(n, td_shrink_view_hash(shrink_group), &nobody, NULL);
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
    shrink_begin(0);
    shrink_lose(3);
    shrink_call();
    assert_int_equal(node.replies, 0);
    shrink_silence(2);
    shrink_hear_exclusions(1, 1);
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    node_end();
}

/* All nodes of the group were excluded together: it goes on, but none of them may exclude another.
 */
static void an_excluded_group_asks_for_no_epoch_when_a_node_of_it_is_silent(void **state)
{
    (void)state;
    node_begin("5", 0, NULL);
    shrink_group = node_group(GROUP);
    shrink_hear_exclusions(4, GROUP);
    assert_false(td_communicator_broken(shrink_group));
    shrink_lose(3);
    shrink_call();
    shrink_silence(2);
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    assert_int_equal(node_count(TD_MESSAGE_EPOCH_POLL), 0);
    node_end();
}

static void a_shrink_that_awaits_a_silent_node_wakes_this_one_in_time(void **state)
{
    (void)state;
    shrink_begin(0);
    shrink_lose(3);
    shrink_call();
    shrink_silence(2);
    node.core->alarm = TD_TIME_NEVER;
    td_shrink_hurry(node.core, shrink_group->shrink);
    assert_true(shrink_group->shrink->hurry_at ==
                node.core->now + (td_time)node.core->settings.progress_timeout_ns);
    assert_true(node.core->alarm == shrink_group->shrink->hurry_at);
    node.core->alarm = TD_TIME_NEVER;
    td_shrink_hurry(node.core, shrink_group->shrink);
    assert_true(node.core->alarm == shrink_group->shrink->hurry_at);
    node_end();
}

static void a_node_that_is_not_the_head_asks_to_exclude_a_silent_head(void **state)
{
    (void)state;
    shrink_begin(2);
    node.core->epochs->votes_from = 1;
    shrink_lose(3);
    shrink_call();
    uint8_t bits[1];
    td_shrink_arrived(shrink_group->shrink, bits);
    assert_int_equal(bits[0], 1 << 3 | 1 << 2); /* it knows of its own rank alone */
    node_forget();
    shrink_silence(0);
    assert_non_null(node_sent_to(1, TD_MESSAGE_SHRINK_VOTE));
    node.core->now = shrink_group->shrink->hurry_at;
    td_shrink_timers(node.core, shrink_group);
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
        shrink_begin(2);
        shrink_call();
        node_forget();
        td_core_notices.node_back(node.core, back[i]);
        node_run();
        assert_int_equal(node_count(TD_MESSAGE_SHRINK_VOTE), 1);
        assert_non_null(node_sent_to(0, TD_MESSAGE_SHRINK_VOTE));
        node_end();
    }
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
    assert_true(shrink_group->was_away);
    node_end();
}

/* Swarm seed 2316: a node was excluded while it heard all nodes of the group. Then one of them was
 * restarted, and it shrank without asking: the others had done so without it. */
static void an_earlier_exclusion_concerns_a_group_that_loses_a_node(void **state)
{
    (void)state;
    shrink_begin(0);
    shrink_hear_exclusions(1, 1);
    assert_false(td_communicator_broken(shrink_group));
    td_communicator_lose_node(node.core, shrink_group, 3, true, "its daemon was restarted");
    shrink_call();
    assert_int_equal(node.reply.error, TD_ERR_PARTITIONED);
    assert_non_null(strstr(node.text, "go on without"));
    node_end();
}

static void a_short_pause_needs_no_confirmation(void **state)
{
    (void)state;
    shrink_begin(0);
    assert_false(td_epoch_resumed(node.core, (td_time)node.core->settings.progress_timeout_ns / 2));
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_proof_counts_after_a_pause_once_a_quorum_has_confirmed_the_node),
        cmocka_unit_test(a_pause_matters_only_to_calls_that_leave_a_node_out),
        cmocka_unit_test(a_node_that_was_excluded_in_its_pause_does_not_go_on),
        cmocka_unit_test(a_shrink_that_awaits_a_silent_node_wakes_this_one_in_time),
        cmocka_unit_test(a_node_that_is_not_the_head_asks_to_exclude_a_silent_head),
        cmocka_unit_test(a_node_votes_again_when_another_one_is_back),
        cmocka_unit_test(an_excluded_node_does_not_wait_for_a_silent_one),
        cmocka_unit_test(an_excluded_group_asks_for_no_epoch_when_a_node_of_it_is_silent),
        cmocka_unit_test(without_daemons_that_know_a_shrink_after_a_pause_is_partitioned),
        cmocka_unit_test(an_earlier_exclusion_concerns_a_group_that_loses_a_node),
        cmocka_unit_test(a_short_pause_needs_no_confirmation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
