/* SPDX-License-Identifier: Apache-2.0 */
/* Groups that nodes make late or never, and losses that the tree of their job does not tell,
 * message by message: core/membership/later_losses.h. */
#include "node.h"

#include "base/hash.h"
#include "core/membership/communicator_losses.h"
#include "core/membership/departure.h"
#include "core/membership/endings.h"
#include "core/membership/later_losses.h"
#include "core/membership/subgroup.h"

enum { GROUP = 4, NUMBER = 3 };

static const uint64_t pair_of[] = {0, 2}, with_lost[] = {0, 1, 2};
static struct td_communicator *world;

static void request(uint64_t number, const uint64_t *members, uint32_t size)
{
    struct td_request q = {.kind = TD_REQUEST_GROUP, .id = 5};
    q.u.make.group = world->number;
    q.u.make.number = number;
    q.u.make.member = members;
    q.u.make.members = size;
    td_subgroup_make(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
}

/* make makes the group of ranks 0 and 2 with a creation number; its root is node 0. */
static struct td_communicator *make(uint64_t number)
{
    request(number, pair_of, 2);
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    node_forget();
    return node.core->communicators;
}

static struct td_message about(const struct td_communicator *c, enum td_message_kind kind)
{
    return (struct td_message){.kind = kind, .instance = c->instance, .group = c->index};
}

/* before_creation returns a message about a call of the group that a request makes later. */
static struct td_message before_creation(enum td_message_kind kind, uint64_t number,
                                         const uint64_t *members, uint32_t size)
{
    struct td_message m = {.kind = kind, .group = TD_GROUP_MADE};
    m.instance = td_hash_add(td_hash_add(TD_HASH_START, world->instance), number);
    for (uint32_t i = 0; i < size; i++)
        m.instance = td_hash_add(m.instance, members[i]);
    return m;
}

static struct td_message lost(const struct td_communicator *c, uint32_t rank, const char *text)
{
    struct td_message m = about(c, TD_MESSAGE_RANK_LOST);
    m.u.rank_lost =
        (struct td_message_rank_lost){.rank = rank, .error = TD_ERR_RANK_FAILED, .text = text};
    return m;
}

static struct td_message question(uint32_t rank)
{
    struct td_message m = about(world, TD_MESSAGE_RANK_GONE);
    m.u.rank_gone = (struct td_message_rank_gone){
        .rank = rank, .error = TD_ERR_RANK_FAILED, .of_job = true, .text = ""};
    return m;
}

static void begin_with(uint32_t at, void (*change)(struct td_settings *))
{
    node_begin("5", at, change);
    world = node_group(GROUP);
}

/* begin_broken begins at a node whose job is broken by the loss of rank 1. */
static void begin_broken(uint32_t at)
{
    begin_with(at, NULL);
    struct td_message m = lost(world, 1, "rank 1 died");
    if (world->has_parent) {
        node_message(0, &m);
    } else {
        m = question(1); /* at the root, of a child: its word */
        m.u.rank_gone.text = "rank 1 died";
        node_message(1, &m);
    }
    assert_int_equal(world->state, TD_COMMUNICATOR_LOST_RANK);
    node_forget();
}

static void wait(struct td_communicator *c, uint64_t ns)
{
    node.core->now += ns;
    td_later_losses_timers(node.core, c);
    node_run();
}

/* Swarm seed 610383: the appeal of a child came before this node made the group. The call ended
 * here and below, and the root and all others waited for it. */
static void an_appeal_that_came_before_the_group_was_made_goes_to_the_root(void **state)
{
    (void)state;
    begin_with(2, NULL);
    struct td_message m = before_creation(TD_MESSAGE_APPEAL, NUMBER, pair_of, 2);
    m.u.appeal =
        (struct td_message_appeal){.error = TD_ERR_CANCELLED, .text = "rank 1 cancelled a call"};
    node_message(3, &m);
    struct td_communicator *late = make(NUMBER);
    assert_true(late->instance == m.instance);
    node_call(late, -1);
    assert_int_equal(node.replies, 0);
    const struct td_message *appeal = node_sent_to(0, TD_MESSAGE_APPEAL);
    assert_non_null(appeal);
    assert_int_equal(appeal->u.appeal.error, TD_ERR_CANCELLED);
    assert_string_equal(appeal->u.appeal.text, "rank 1 cancelled a call");
    m = about(late, TD_MESSAGE_VERDICT);
    m.u.verdict = (struct td_message_verdict){.error = TD_ERR_CANCELLED, .text = "the root"};
    node_message(0, &m);
    assert_string_equal(node.text, "the root");
    node_end();
}

static void the_word_of_the_root_takes_the_place_of_an_appeal(void **state)
{
    (void)state;
    enum { AT = 7 };
    begin_with(2, NULL);
    td_endings_appeal(node.core, AT, 0, TD_ERR_CANCELLED, "rank 1 cancelled a call");
    assert_null(td_endings_find(node.core, AT, 0));
    td_endings_note(node.core, AT, 0, TD_ERR_TIMEOUT, "too late");
    assert_null(td_endings_appealed(node.core, AT, 0));
    td_endings_appeal(node.core, AT, 0, TD_ERR_CANCELLED, "rank 1 cancelled a call");
    assert_string_equal(td_endings_find(node.core, AT, 0)->text, "too late");
    assert_null(td_endings_appealed(node.core, AT, 0));
    node_end();
}

static void a_group_with_a_lost_rank_is_made_and_its_calls_fail(void **state)
{
    (void)state;
    begin_broken(2);
    request(NUMBER, with_lost, 3);
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    const struct td_message *gone = node_sent_to(0, TD_MESSAGE_RANK_GONE);
    assert_non_null(gone); /* the root of the group says so to all nodes */
    assert_true(gone->instance == node.core->communicators->instance);
    assert_int_equal(gone->u.rank_gone.rank, 1);
    assert_true(gone->u.rank_gone.of_job);
    assert_string_equal(gone->u.rank_gone.text, "rank 1 died");
    node_end();

    begin_broken(0);
    request(NUMBER, with_lost, 3);
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    node_call(node.core->communicators, -1);
    assert_int_equal(node.reply.error, TD_ERR_RANK_FAILED);
    assert_string_equal(node.text, "rank 1 died");
    node_end();
}

/* has_left is the word of a node that all its ranks have left the group. */
static struct td_message has_left(uint64_t instance)
{
    struct td_message m = {.kind = TD_MESSAGE_RANK_LOST,
                           .instance = instance,
                           .group = TD_GROUP_MADE,
                           .u.rank_lost = {.rank = UINT32_MAX,
                                           .error = TD_ERR_RANK_FAILED,
                                           .text = "rank 0 has left a group of job job"}};
    return m;
}

/* asks returns this node's answer to a node that waits in a call of a group, or NULL. */
static const struct td_message *asks(uint64_t instance, enum td_message_kind kind)
{
    struct td_message m = {.kind = kind, .instance = instance, .group = TD_GROUP_MADE};
    node_forget();
    node_message(0, &m);
    return node_sent_to(0, TD_MESSAGE_RANK_LOST);
}

static void a_group_that_its_ranks_have_left_is_known_until_the_neighbours_have_left(void **state)
{
    (void)state;
    begin_with(2, NULL);
    uint64_t instance = make(NUMBER)->instance;
    node_leave(node.core->communicators);
    assert_null(td_communicator_find(node.core, instance, TD_GROUP_MADE));
    const struct td_message *word = node_sent_to(0, TD_MESSAGE_RANK_LOST);
    assert_non_null(word);
    assert_int_equal(word->u.rank_lost.rank, UINT32_MAX);
    assert_string_equal(word->u.rank_lost.text,
                        "rank 2 has left a group of job job: process 107 on node 2 (2)");
    static const enum td_message_kind kinds[] = {TD_MESSAGE_ARRIVE, TD_MESSAGE_REPORT,
                                                 TD_MESSAGE_WAITING, TD_MESSAGE_APPEAL,
                                                 TD_MESSAGE_RANK_GONE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct td_message *answer = asks(instance, kinds[i]);
        assert_non_null(answer);
        assert_int_equal(answer->u.rank_lost.error, TD_ERR_RANK_FAILED);
        assert_non_null(strstr(answer->u.rank_lost.text, "has left a group of job job"));
    }
    node_forget();
    struct td_message m = has_left(instance);
    node_message(0, &m); /* it may have made the group after the word came */
    assert_int_equal(node_count(TD_MESSAGE_RANK_LOST), 1);
    assert_null(td_departure_find(node.core, instance));
    node_forget();
    node_message(0, &m);
    assert_int_equal(node.sents, 0);
    node_end();
}

static void a_neighbour_that_has_left_before_needs_no_answer(void **state)
{
    (void)state;
    begin_with(2, NULL);
    struct td_communicator *pair = make(NUMBER);
    uint64_t instance = pair->instance;
    struct td_message m = has_left(instance);
    node_message(0, &m);
    assert_true(td_communicator_broken(pair));
    node_call(pair, -1);
    assert_int_equal(node.reply.error, TD_ERR_RANK_FAILED);
    assert_string_equal(node.text, "rank 0 has left a group of job job");
    node_forget();
    node_leave(pair);
    assert_non_null(node_sent_to(0, TD_MESSAGE_RANK_LOST));
    assert_null(td_departure_find(node.core, instance));
    node_end();
}

static void a_rank_may_be_hundreds_of_groups_ahead(void **state)
{
    (void)state;
    enum { AHEAD = 320 }; /* nothing acknowledges the words: the link keeps no more */
    static uint64_t instance[AHEAD];
    begin_with(2, NULL);
    uint64_t used = td_arena_used(node.core->arena);
    for (uint64_t i = 0; i < AHEAD; i++) {
        instance[i] = make(NUMBER + i)->instance;
        node_leave(node.core->communicators);
        node_forget();
    }
    for (uint64_t i = 0; i < AHEAD; i++)
        assert_non_null(asks(instance[i], TD_MESSAGE_ARRIVE));
    for (uint64_t i = 0; i < AHEAD; i += 2) {
        struct td_message m = has_left(instance[i]);
        node_message(0, &m);
        node_forget();
    }
    assert_null(td_departure_find(node.core, instance[0]));
    assert_non_null(td_departure_find(node.core, instance[1]));
    for (uint64_t i = 1; i < AHEAD; i += 2) {
        struct td_message m = has_left(instance[i]);
        node_message(0, &m);
        node_forget();
    }
    assert_int_equal(td_arena_used(node.core->arena), used);
    node_end();
}

static void departures_end_with_the_record_of_the_job(void **state)
{
    (void)state;
    begin_with(2, NULL);
    uint64_t instance = make(NUMBER)->instance;
    node_leave(node.core->communicators);
    assert_non_null(td_departure_find(node.core, instance));
    node_leave(world);
    struct td_message m = lost(world, 2, "rank 2 has left");
    node_message(0, &m);
    assert_null(node.core->communicators);
    assert_null(td_departure_find(node.core, instance));
    node_end();
}

static uint32_t ending(void)
{
    uint32_t count = 0;
    struct td_departure *const last = node.core->groups->ending;
    for (const struct td_departure *d = last; d; d = d->older == last ? NULL : d->older)
        count++;
    return count;
}

static void many_departures_of_a_job_end_in_several_steps(void **state)
{
    (void)state;
    enum { GROUPS = 300 };
    uint64_t instance[GROUPS];
    begin_with(2, NULL);
    uint64_t used = td_arena_used(node.core->arena);
    for (uint64_t i = 0; i < GROUPS; i++) {
        instance[i] = make(NUMBER + i)->instance;
        node_leave(node.core->communicators);
        node_forget();
    }
    struct td_message m = has_left(instance[7]);
    node_message(0, &m); /* one ends before */
    node_forget();
    struct td_communicator *job = node.core->communicators;
    td_departure_end_job(node.core, job); /* as when the record of the job goes: */
    job->instance++;                      /* nobody finds it */
    struct td_task *task = node.core->work;
    assert_non_null(task);
    uint32_t left = GROUPS - 1;
    while (!task->advance(node.core, task)) {
        assert_in_range(left - ending(), 1, 256);
        left = ending();
        for (uint64_t i = 0; i < GROUPS; i++)
            assert_null(td_departure_find(node.core, instance[i])); /* the job is over here */
        node.core->ends = TD_ENDS_MAX - 2;
    }
    assert_int_equal(ending(), 0);
    td_core_unqueue(node.core, task);
    job->instance--;
    assert_int_equal(td_arena_used(node.core->arena), used);
    node_end();
}

/* All ranks of the root have died, and it never made the group. */
static void a_group_whose_root_never_makes_it_breaks(void **state)
{
    (void)state;
    begin_with(2, NULL);
    struct td_communicator *pair = make(NUMBER);
    node_call(pair, -1);
    struct td_message again = about(pair, TD_MESSAGE_ANNOUNCE_AGAIN);
    node_message(0, &again); /* not yet */
    assert_int_equal(node.replies, 0);
    struct td_message m = lost(world, 0, "rank 0 died");
    node_message(0, &m);
    assert_int_equal(node.replies, 0); /* the root may have released the call before */
    node_message(3, &again);
    assert_int_equal(node.replies, 0);
    node_message(0, &again);
    assert_int_equal(node.reply.error, TD_ERR_RANK_FAILED);
    assert_string_equal(node.text, "all ranks on node 0 (0) have left or died");
    node_end();
}

/* This node knows from the shrink of others that the ranks of the root are left out, but the root
 * has the group, and asks for scratch memory back. */
static void a_root_that_has_the_group_may_ask_for_another_announcement(void **state)
{
    (void)state;
    begin_with(2, NULL);
    struct td_communicator *pair = make(NUMBER);
    node_call(pair, -1);
    td_bit_set(pair->lost_rank, 0);
    struct td_message again = about(pair, TD_MESSAGE_ANNOUNCE_AGAIN);
    again.u.announce_again.without_scratch = true;
    node_message(0, &again);
    again.u.announce_again.without_scratch = false;
    node_message(0, &again);
    assert_int_equal(node.replies, 0);
    assert_false(td_communicator_broken(pair));
    node_end();
}

/* pair_that_waits begins with a broken job, and a call of the rank here in a group made of it. */
static struct td_communicator *pair_that_waits(uint32_t at)
{
    begin_broken(at);
    struct td_communicator *pair = make(NUMBER);
    node_call(pair, -1);
    return pair;
}

/* Swarm seed 65377: a rank died before it made a group, after its job had lost another one. */
static void a_node_that_waits_asks_a_neighbour_that_may_not_have_made_the_group(void **state)
{
    (void)state;
    struct td_communicator *pair = pair_that_waits(0);
    node_forget();
    wait(pair, TD_LOSS_AGAIN_NS - 1);
    assert_int_equal(node_count(TD_MESSAGE_RANK_GONE), 0);
    for (int i = 0; i < 2; i++) {
        wait(pair, i ? TD_LOSS_AGAIN_NS : 1);
        const struct td_message *asked = node_sent_to(2, TD_MESSAGE_RANK_GONE);
        assert_non_null(asked);
        assert_true(asked->instance == world->instance);
        assert_int_equal(asked->group, 0);
        assert_int_equal(asked->u.rank_gone.rank, 2);
        assert_int_equal(node_count(TD_MESSAGE_RANK_GONE), 1);
        node_forget();
    }
    struct td_message m = lost(world, 2, "rank 2 died");
    node_message(3, &m); /* not its daemon */
    assert_int_equal(node.replies, 0);
    node_message(2, &m);
    assert_int_equal(node.reply.error, TD_ERR_RANK_FAILED);
    assert_string_equal(node.text, "rank 2 died");
    assert_true(td_bit(world->lost_rank, 2)); /* groups that are made later inherit it */
    wait(pair, 2 * TD_LOSS_AGAIN_NS);
    assert_int_equal(node_count(TD_MESSAGE_RANK_GONE), 0);
    node_end();
}

/* Swarm seed 56846: no rank of the job is left on the node that is asked. */
static void all_ranks_of_a_node_may_be_gone(void **state)
{
    (void)state;
    struct td_communicator *pair = pair_that_waits(2);
    wait(pair, TD_LOSS_AGAIN_NS);
    assert_non_null(node_sent_to(0, TD_MESSAGE_RANK_GONE));
    node_forget();
    struct td_message m = lost(world, UINT32_MAX, "all ranks on node 0 have left or died");
    node_message(0, &m);
    const struct td_message *told = node_sent_to(0, TD_MESSAGE_RANK_GONE);
    assert_non_null(told); /* the root of the pair hears of it, and says so */
    assert_true(told->instance == pair->instance);
    assert_int_equal(told->u.rank_gone.rank, 0);
    node_end();
}

static void a_neighbour_that_has_made_the_group_is_not_asked(void **state)
{
    (void)state;
    struct td_communicator *pair = pair_that_waits(2);
    struct td_message m = about(pair, TD_MESSAGE_WAITING);
    m.u.waiting = (struct td_message_waiting){.reply_requested = false};
    node_message(0, &m);
    wait(pair, TD_LOSS_AGAIN_NS);
    assert_int_equal(node_count(TD_MESSAGE_RANK_GONE), 0);
    node_end();

    begin_with(2, NULL); /* the tree of a job that is not broken tells of each loss */
    pair = make(NUMBER);
    node_call(pair, -1);
    wait(pair, TD_LOSS_AGAIN_NS);
    assert_int_equal(node_count(TD_MESSAGE_RANK_GONE), 0);
    node_end();
}

static void a_daemon_answers_whether_a_rank_of_its_own_is_gone(void **state)
{
    (void)state;
    begin_with(2, NULL);
    struct td_message m = question(2);
    node_message(1, &m);
    assert_int_equal(node.sents, 0); /* it lives */
    node_leave(world);
    node_forget();
    node_message(GROUP, &m); /* not a node of the job */
    assert_int_equal(node.sents, 0);
    node_message(1, &m);
    const struct td_message *answer = node_sent_to(1, TD_MESSAGE_RANK_LOST);
    assert_non_null(answer);
    assert_true(answer->instance == world->instance);
    assert_int_equal(answer->u.rank_lost.rank, 2);
    assert_int_equal(answer->u.rank_lost.error, TD_ERR_RANK_FAILED);
    node_end();
}

/* A client chooses the number of its group, and could find one that gives the identity of a group
 * of another job. */
static void a_group_of_another_job_is_not_taken_for_the_new_one(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    world = node_group(4);
    struct td_communicator *made = make(NUMBER);
    made->uid = world->uid + 1;
    node_forget();
    request(NUMBER, pair_of, 2);
    assert_int_equal(node.reply.kind, TD_REPLY_ERROR);
    assert_int_equal(node.reply.error, TD_ERR_INVALID);
    assert_non_null(strstr(node.reply.text, "another group has the identity"));
    made->uid = world->uid;
    made->world++;
    node_forget();
    request(NUMBER, pair_of, 2);
    assert_int_equal(node.reply.error, TD_ERR_INVALID);
    made->world--;
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_appeal_that_came_before_the_group_was_made_goes_to_the_root),
        cmocka_unit_test(the_word_of_the_root_takes_the_place_of_an_appeal),
        cmocka_unit_test(a_group_with_a_lost_rank_is_made_and_its_calls_fail),
        cmocka_unit_test(a_group_that_its_ranks_have_left_is_known_until_the_neighbours_have_left),
        cmocka_unit_test(a_neighbour_that_has_left_before_needs_no_answer),
        cmocka_unit_test(a_rank_may_be_hundreds_of_groups_ahead),
        cmocka_unit_test(departures_end_with_the_record_of_the_job),
        cmocka_unit_test(many_departures_of_a_job_end_in_several_steps),
        cmocka_unit_test(a_group_whose_root_never_makes_it_breaks),
        cmocka_unit_test(a_root_that_has_the_group_may_ask_for_another_announcement),
        cmocka_unit_test(a_node_that_waits_asks_a_neighbour_that_may_not_have_made_the_group),
        cmocka_unit_test(all_ranks_of_a_node_may_be_gone),
        cmocka_unit_test(a_neighbour_that_has_made_the_group_is_not_asked),
        cmocka_unit_test(a_daemon_answers_whether_a_rank_of_its_own_is_gone),
        cmocka_unit_test(a_group_of_another_job_is_not_taken_for_the_new_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
