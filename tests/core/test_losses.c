/* SPDX-License-Identifier: Apache-2.0 */
/* Groups that lose a rank, driven message by message: core/membership/communicator.h. */
#include "node.h"

#include "base/hash.h"
#include "core/inspect.h"
#include "core/membership/communicator_losses.h"
#include "core/membership/subgroup.h"
#include "core/recorder.h"

enum { GROUP = 4, MANY = 400 };

static struct td_communicator *world, *pair;

/* request creates the subgroup of ranks 0 and 2 with a creation number; its root is node 0. */
static void request(uint64_t number)
{
    static const uint64_t members[] = {0, 2};
    struct td_request q = {.kind = TD_REQUEST_GROUP, .id = 5};
    q.u.make.group = world->number;
    q.u.make.number = number;
    q.u.make.member = members;
    q.u.make.members = 2;
    td_subgroup_make(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
}

static struct td_communicator *make(uint64_t number)
{
    request(number);
    assert_int_equal(node.reply.kind, TD_REPLY_JOINED);
    struct td_communicator *made = node.core->communicators;
    assert_int_equal(made->index, TD_GROUP_MADE);
    node_forget();
    return made;
}

static void begin(uint32_t at)
{
    node_begin("5", at, NULL); /* the last one is not in the group */
    world = node_group(GROUP);
    pair = make(1);
}

static struct td_message about(const struct td_communicator *c, enum td_message_kind kind)
{
    return (struct td_message){.kind = kind, .instance = c->instance, .group = c->index};
}

static struct td_message lost(const struct td_communicator *c)
{
    struct td_message m = about(c, TD_MESSAGE_RANK_LOST);
    m.u.rank_lost =
        (struct td_message_rank_lost){.error = TD_ERR_RANK_FAILED, .text = "rank 0 has left"};
    return m;
}

/* before_creation returns a message about a call of the group that make(number) makes later. */
static struct td_message before_creation(uint64_t number, enum td_message_kind kind,
                                         uint64_t sequence)
{
    struct td_message m = {.kind = kind, .group = TD_GROUP_MADE, .sequence = sequence};
    m.instance = td_hash_add(td_hash_add(TD_HASH_START, world->instance), number);
    m.instance = td_hash_add(td_hash_add(m.instance, 0), 2); /* its ranks */
    return m;
}

/* gone returns the word of a rank's own daemon. */
static struct td_message gone(uint32_t rank)
{
    struct td_message m = about(world, TD_MESSAGE_RANK_GONE);
    m.u.rank_gone = (struct td_message_rank_gone){
        .rank = rank, .error = TD_ERR_RANK_FAILED, .text = "rank 0 has left"};
    return m;
}

static void release_comes_although_the_job_has_lost_the_rank(void **state)
{
    (void)state;
    begin(2);
    node_call(pair, -1);
    assert_non_null(node_sent_to(0, TD_MESSAGE_ARRIVE));
    struct td_message m = lost(world);
    node_message(0, &m);
    assert_int_equal(node.replies, 0); /* the root may have released it */
    const struct td_message *gone = node_sent_to(0, TD_MESSAGE_RANK_GONE);
    assert_non_null(gone);
    assert_true(gone->instance == pair->instance);
    assert_int_equal(gone->u.rank_gone.rank, 0);
    m = about(pair, TD_MESSAGE_RELEASE);
    node_message(0, &m);
    assert_int_equal(node.reply.kind, TD_REPLY_DONE);
    node_call(pair, -1);
    m = lost(pair);
    node_message(0, &m);
    assert_int_equal(node.reply.error, TD_ERR_RANK_FAILED);
    assert_string_equal(node.text, "rank 0 has left");
    node_end();
}

static void root_announces_a_loss_of_the_job_in_its_groups(void **state)
{
    (void)state;
    begin(0);
    node_call(pair, -1);
    struct td_message m = gone(2);
    node_message(2, &m);
    assert_int_equal(node.reply.error, TD_ERR_RANK_FAILED);
    assert_int_equal(node_count(TD_MESSAGE_RANK_LOST), 3 + 1); /* in the job; in the pair */
    node_end();
}

static void a_loss_that_comes_before_the_group_is_made_ends_no_creation(void **state)
{
    (void)state;
    begin(0);
    struct td_message m = before_creation(2, TD_MESSAGE_RANK_GONE, 0);
    m.u.rank_gone = (struct td_message_rank_gone){
        .rank = 1, .error = TD_ERR_RANK_FAILED, .text = "rank 2 has left a group of job x"};
    node_message(2, &m);
    assert_null(node_sent_to(2, TD_MESSAGE_RANK_LOST));
    assert_non_null(node_sent_to(2, TD_MESSAGE_ANNOUNCE_AGAIN)); /* the group is not here */
    m = before_creation(2, TD_MESSAGE_RANK_LOST, 0);             /* and that all have left */
    m.u.rank_lost = (struct td_message_rank_lost){.rank = UINT32_MAX,
                                                  .error = TD_ERR_RANK_FAILED,
                                                  .text = "rank 2 has left a group of job x"};
    node_message(2, &m);
    struct td_communicator *late = make(2);
    assert_true(late->instance == m.instance);
    node_call(late, -1);
    assert_int_equal(node.replies, 0);
    node_message(2, &m); /* node 2 is asked, and says it again */
    assert_int_equal(node.reply.error, TD_ERR_RANK_FAILED);
    assert_string_equal(node.text, "rank 2 has left a group of job x");
    node_end();
}

static void a_broken_group_is_reported_to_a_node_that_made_it_late(void **state)
{
    (void)state;
    begin(0);
    struct td_message m = gone(2);
    node_message(2, &m);
    node_forget();
    m = about(pair, TD_MESSAGE_RANK_GONE);
    m.u.rank_gone.error = TD_ERR_RANK_FAILED;
    m.u.rank_gone.text = "";
    node_message(2, &m);
    const struct td_message *answer = node_sent_to(2, TD_MESSAGE_RANK_LOST);
    assert_non_null(answer);
    assert_string_equal(answer->u.rank_lost.text, "rank 0 has left");
    node_end();
}

/* A rank of the job can leave a group before a rank of another node has made it. That node has
 * ignored the notice, since it knew no such group, and would wait for ever. */
static void a_broken_group_answers_the_first_call_of_a_node_that_made_it_late(void **state)
{
    (void)state;
    begin(0);
    struct td_message m = about(pair, TD_MESSAGE_RANK_GONE);
    m.u.rank_gone = (struct td_message_rank_gone){
        .rank = 0, .error = TD_ERR_RANK_FAILED, .text = "rank 0 has left"};
    node_message(2, &m);
    assert_non_null(node_sent_to(2, TD_MESSAGE_RANK_LOST));
    node_forget();
    m = about(pair, TD_MESSAGE_ARRIVE);
    node_message(1, &m); /* not a node of the group */
    assert_null(node_sent_to(1, TD_MESSAGE_RANK_LOST));
    node_message(2, &m);
    const struct td_message *answer = node_sent_to(2, TD_MESSAGE_RANK_LOST);
    assert_non_null(answer);
    assert_true(answer->instance == pair->instance);
    assert_string_equal(answer->u.rank_lost.text, "rank 0 has left");
    node_forget();
    m.sequence = 1; /* the notice is on its way */
    node_message(2, &m);
    assert_null(node_sent_to(2, TD_MESSAGE_RANK_LOST));
    node_end();
}

/* make_after_verdict makes group NUMBER after a verdict on one of its calls has come. */
static struct td_communicator *make_after_verdict(uint32_t number, uint32_t sequence)
{
    struct td_message m = before_creation(number, TD_MESSAGE_VERDICT, sequence);
    m.u.verdict =
        (struct td_message_verdict){.error = TD_ERR_CANCELLED, .text = "rank 0 cancelled a call"};
    node_message(0, &m);
    struct td_communicator *late = make(number);
    assert_true(late->instance == m.instance);
    return late;
}

/* Swarm seed 24583: a rank cancelled a call of a group that no rank of this node had made yet. */
static void a_call_that_has_ended_before_the_group_was_made_gives_the_same_error(void **state)
{
    (void)state;
    enum { NUMBER = 2, ENDED = 1 };
    begin(2);
    struct td_communicator *late = make_after_verdict(NUMBER, ENDED);
    node_call(late, -1);
    assert_int_equal(node.replies, 0); /* call 0 has not ended */
    assert_non_null(node_sent_to(0, TD_MESSAGE_ARRIVE));
    node_call(late, -1);
    assert_int_equal(node.replies, 1);
    assert_int_equal(node.reply.error, TD_ERR_CANCELLED);
    assert_string_equal(node.text, "rank 0 cancelled a call");
    node_end();
}

/* Swarm seeds 37532, 61134 and 63440: so did the first call, and the rank was told that its
 * creation of the group had been cancelled. */
static void a_group_whose_first_call_has_ended_can_still_be_made(void **state)
{
    (void)state;
    begin(2);
    struct td_communicator *late = make_after_verdict(2, 0);
    node_call(late, -1);
    assert_int_equal(node.reply.error, TD_ERR_CANCELLED);
    assert_string_equal(node.text, "rank 0 cancelled a call");
    node_end();
}

/* leave leaves the pair. Its record goes. */
static void leave(void)
{
    uint64_t instance = pair->instance;
    node_leave(pair);
    assert_null(td_communicator_find(node.core, instance, TD_GROUP_MADE));
    node_forget();
}

/* check_left calls a later operation of the pair, which node 2 has left, and checks its answer. */
static void check_left(uint64_t sequence, const char *text)
{
    struct td_message m = before_creation(1, TD_MESSAGE_ARRIVE, sequence);
    node_message(0, &m);
    const struct td_message *answer = node_sent_to(0, TD_MESSAGE_RANK_LOST);
    assert_non_null(answer);
    assert_true(answer->instance == m.instance);
    assert_int_equal(answer->u.rank_lost.error, TD_ERR_RANK_FAILED);
    assert_string_equal(answer->u.rank_lost.text, text);
    node_forget();
}

/* Swarm seed 10736: the node said that a rank had cancelled the first call, and that ended the
 * later calls of the others. */
static void a_first_call_that_failed_alone_does_not_end_later_calls(void **state)
{
    static const char left[] =
        "rank 2 has left a group of job job: process 107 on node 2 (2); the first call of the job "
        "that failed: rank 0 cancelled a call";
    (void)state;
    begin(2);
    node_call(pair, -1);
    struct td_message m = about(pair, TD_MESSAGE_VERDICT);
    m.u.verdict =
        (struct td_message_verdict){.error = TD_ERR_CANCELLED, .text = "rank 0 cancelled a call"};
    node_message(0, &m);
    assert_int_equal(node.reply.error, TD_ERR_CANCELLED);
    assert_false(td_communicator_broken(pair));
    leave();
    check_left(0, left);
    check_left(1, left);
    request(1); /* the other ranks do not wait for a creation any more */
    assert_int_equal(node.reply.kind, TD_REPLY_ERROR);
    assert_int_equal(node.reply.error, TD_ERR_CANCELLED);
    assert_string_equal(node.text, "rank 0 cancelled a call");
    node_end();

    begin(2);
    node_call(pair, -1);
    m = lost(pair); /* this ends the group with its first call */
    node_message(0, &m);
    assert_string_equal(node.text, "rank 0 has left");
    leave();
    check_left(0, "rank 0 has left");
    node_end();
}

/* Swarm seeds 82206 and 89583: a call of another node has ended before this one made the group. No
 * rank here can make the group any more, and those who call or shrink are told. */
static void a_group_whose_creation_has_ended_is_over_for_all(void **state)
{
    (void)state;
    begin(0);
    struct td_message m = about(pair, TD_MESSAGE_APPEAL);
    m.instance++;
    m.u.appeal = (struct td_message_appeal){.error = TD_ERR_TIMEOUT, .text = ""};
    node_message(2, &m);
    node_forget();
    struct td_message call = about(pair, TD_MESSAGE_ARRIVE);
    call.instance++;
    node_message(1, &call);
    const struct td_message *answer = node_sent_to(1, TD_MESSAGE_RANK_LOST);
    assert_non_null(answer);
    assert_string_equal(answer->u.rank_lost.text,
                        "no rank on node 0 (0) created the group in time");
    struct td_message vote = about(pair, TD_MESSAGE_SHRINK_VOTE);
    vote.instance++;
    vote.u.shrink_vote.text = "";
    node_message(3, &vote);
    assert_non_null(node_sent_to(3, TD_MESSAGE_SHRINK_NOBODY));
    vote.instance++; /* ranks may still come to make this one */
    node_message(1, &vote);
    assert_null(node_sent_to(1, TD_MESSAGE_SHRINK_NOBODY));
    node_end();
}

/* Swarm seed 43507: a cancelled call of a group that the root had not made yet ended the group, as
 * if nobody there had made it in time. */
static void a_call_that_is_cancelled_before_the_root_makes_the_group_ends_alone(void **state)
{
    (void)state;
    begin(0);
    struct td_message m = before_creation(2, TD_MESSAGE_APPEAL, 0);
    m.u.appeal =
        (struct td_message_appeal){.error = TD_ERR_CANCELLED, .text = "rank 1 cancelled a call"};
    node_message(2, &m);
    assert_int_equal(node.sents, 0);
    struct td_communicator *late = make(2);
    assert_true(late->instance == m.instance);
    node_call(late, -1);
    assert_int_equal(node.reply.error, TD_ERR_CANCELLED);
    assert_non_null(node_sent_to(2, TD_MESSAGE_VERDICT));
    assert_false(td_communicator_broken(late));
    node_end();
}

static void a_rank_is_lost_to_many_groups_at_once(void **state)
{
    (void)state;
    begin(2);
    for (uint64_t i = 2; i <= MANY; i++)
        make(i);
    td_communicator_client_gone(node.core, td_client_find(node.core, NODE_CLIENT));
    while (node.core->work) { /* node_run would keep more messages than it has room for */
        node.sents = 0;
        struct td_task *task = node.core->work;
        td_core_unqueue(node.core, task);
        bool done = td_core_room(node.core) && task->advance(node.core, task);
        if (!done)
            td_core_queue(node.core, task);
        node.actions.count = 0;
        td_core_renew(node.core);
    }
    for (const struct td_communicator *c = node.core->communicators; c; c = c->next)
        assert_false(c->gone_due);
    node_end();
}

/* break_job breaks the job by the loss of rank 1, which is not in the pair. */
static void break_job(void)
{
    struct td_message m = lost(world);
    m.u.rank_lost.rank = 1;
    node_message(0, &m);
    assert_int_equal(world->state, TD_COMMUNICATOR_LOST_RANK);
    node_forget();
}

/* A rank can die before it makes a group that others have made. The job is broken by an earlier
 * loss, and hears of no other: the groups that the rank was in tell the others. */
static void another_loss_of_a_broken_job_is_told_to_groups_that_the_rank_never_made(void **state)
{
    (void)state;
    begin(2);
    make(2);
    break_job();
    struct td_message m = lost(pair);
    node_message(0, &m); /* rank 0 has left the pair alone */
    assert_null(node_sent_to(0, TD_MESSAGE_RANK_GONE));
    node_end();

    begin(2);
    const struct td_communicator *other = make(2);
    break_job();
    m = lost(pair);
    m.u.rank_lost.of_job = true;
    node_message(0, &m);
    const struct td_message *told = node_sent_to(0, TD_MESSAGE_RANK_GONE);
    assert_non_null(told);
    assert_true(told->instance == other->instance);
    assert_true(told->u.rank_gone.of_job);
    assert_int_equal(told->u.rank_gone.rank, 0);
    node_end();
}

static void the_root_ends_calls_of_groups_that_a_dead_rank_never_made(void **state)
{
    (void)state;
    begin(0);
    struct td_communicator *other = make(2);
    struct td_message m = gone(1);
    node_message(1, &m); /* breaks the job */
    node_call(other, -1);
    assert_int_equal(node.replies, 0);
    m = about(pair, TD_MESSAGE_RANK_GONE);
    m.u.rank_gone = (struct td_message_rank_gone){
        .rank = 1, .error = TD_ERR_RANK_FAILED, .of_job = true, .text = "rank 2 died"};
    node_message(2, &m);
    assert_int_equal(node.reply.error, TD_ERR_RANK_FAILED);
    assert_string_equal(node.text, "rank 2 died");
    assert_true(td_bit(world->lost_rank, 2)); /* no group is made with it any more */
    node_end();
}

/* A loss is announced by the parent. Other nodes of the group may tell that their own ranks are
 * lost, and the root hears of it; the words of all others are ignored. */
static void a_loss_is_believed_from_the_parent_or_from_the_daemon_of_the_rank(void **state)
{
    (void)state;
    begin(2); /* its parent is node 0 */
    struct td_message m = lost(world);
    m.u.rank_lost.rank = 3;
    node_message(1, &m);
    node_message(GROUP, &m); /* no node of the group */
    m.u.rank_lost.rank = GROUP;
    node_message(1, &m); /* no rank */
    assert_int_equal(world->state, TD_COMMUNICATOR_ACTIVE);
    assert_null(node_sent_to(0, TD_MESSAGE_RANK_GONE));
    m.u.rank_lost.rank = 1;
    node_message(1, &m);
    assert_int_equal(world->state, TD_COMMUNICATOR_ACTIVE); /* the root will say so */
    assert_int_equal(node_sent_to(0, TD_MESSAGE_RANK_GONE)->u.rank_gone.rank, 1);
    node_message(0, &m);
    assert_int_equal(world->state, TD_COMMUNICATOR_LOST_RANK);
    node_end();
}

static void a_loss_is_told_to_the_root_by_the_children_above_the_rank(void **state)
{
    (void)state;
    begin(0);
    struct td_message m = gone(2);
    node_message(1, &m);
    node_message(GROUP, &m);
    m = gone(GROUP);
    node_message(2, &m);
    assert_int_equal(world->state, TD_COMMUNICATOR_ACTIVE);
    m = gone(2);
    node_message(2, &m);
    assert_int_equal(world->state, TD_COMMUNICATOR_LOST_RANK);
    node_end();
}

/* The answer may be lost: a daemon drops what it has for another one that nothing there needs. */
static void a_parent_whose_session_is_new_hears_of_a_loss_again(void **state)
{
    (void)state;
    begin(2);
    node_call(pair, -1); /* the root may have released it, so the record stays */
    node_leave(pair);
    assert_non_null(node_sent_to(0, TD_MESSAGE_RANK_GONE));
    node_forget();
    td_communicator_node_back(node.core, 1); /* no parent */
    node_run();
    assert_int_equal(node.sents, 0);
    td_communicator_node_back(node.core, 0);
    node_run();
    assert_non_null(node_sent_to(0, TD_MESSAGE_RANK_GONE));
    struct td_message m = lost(pair);
    node_message(0, &m);
    node_forget();
    td_communicator_node_back(node.core, 0);
    node_run();
    assert_int_equal(node.sents, 0);
    node_end();
}

/* A node on the way to the root passes the loss on, and its session may end before that arrives. */
static void a_loss_is_told_again_until_the_root_answers(void **state)
{
    (void)state;
    begin(2);
    node_call(pair, -1); /* the root may have released it, so the record stays */
    node_leave(pair);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(node_count(TD_MESSAGE_RANK_GONE), 1);
        node_forget();
        node.core->now += TD_LOSS_AGAIN_NS - 1;
        td_communicator_timers(node.core, pair);
        node_run();
        assert_int_equal(node_count(TD_MESSAGE_RANK_GONE), 0);
        node.core->now += 1;
        td_communicator_timers(node.core, pair);
        node_run();
    }
    struct td_message m = lost(pair);
    node_message(0, &m); /* without ranks here, the record is freed */
    for (const struct td_communicator *c = node.core->communicators; c; c = c->next)
        assert_ptr_not_equal(c, pair);
    node_end();
}

static void a_node_outside_of_a_group_does_not_end_it(void **state)
{
    (void)state;
    begin(2);
    struct td_message m = about(world, TD_MESSAGE_NODE_LOST);
    m.u.node_lost = (struct td_message_node_lost){.node = 1, .is_proven = true, .text = "no"};
    node_message(GROUP, &m);
    assert_int_equal(world->state, TD_COMMUNICATOR_ACTIVE);
    node_message(0, &m);
    assert_int_equal(world->state, TD_COMMUNICATOR_LOST_NODE);
    node_end();
}

/* latest returns the event of the flight recorder that is `before` the latest one. */
static const struct td_trace_event *latest(uint64_t before)
{
    const struct td_recorder *r = node.core->recorder;
    return &r->ring[(r->next - 1 - before) & r->mask];
}

static void record_events(struct td_settings *s)
{
    s->trace_events = 64;
}

static void a_call_that_comes_after_the_loss_is_on_record(void **state)
{
    (void)state;
    node_begin("5", 2, record_events);
    world = node_group(GROUP);
    struct td_message m = lost(world);
    node_message(0, &m);
    node_call(world, -1);
    assert_int_equal(node.reply.error, TD_ERR_RANK_FAILED);
    const struct td_trace_event *failed = latest(0), *returned = latest(1), *called = latest(2);
    assert_int_equal(called->kind, TD_TRACE_CALL);
    assert_int_equal(called->call, TD_KIND_BARRIER);
    assert_int_equal(called->subject, 2);
    assert_true(called->world == world->instance && called->sequence == 0);
    assert_int_equal(returned->kind, TD_TRACE_RETURN);
    assert_int_equal(returned->subject, 2);
    assert_int_equal(returned->error, -TD_ERR_RANK_FAILED);
    assert_int_equal(failed->kind, TD_TRACE_FAILED);
    assert_int_equal(failed->subject, 0);
    assert_int_equal(failed->a, 0 + 1); /* the node of rank 0 */
    assert_string_equal(node.core->recorder->failure[0].text, "rank 0 has left");
    node_call(world, -1); /* the first failure has told it */
    assert_int_equal(latest(0)->kind, TD_TRACE_RETURN);
    assert_int_equal(latest(0)->sequence, 1);
    assert_int_equal(node.core->recorder->failures, 1);
    node_end();
}

/* list returns the first row of the operations in flight. */
static struct td_row_operation list(void)
{
    static struct td_reply page;
    assert_true(td_inspect_page(node.core, 1000, true, TD_STATUS_OPERATIONS, 0, &page));
    assert_int_equal(page.u.status.rows, 1);
    return page.u.status.row[0].u.operation;
}

static void an_operation_of_a_subgroup_is_listed_with_its_job(void **state)
{
    (void)state;
    begin(2);
    node_call(pair, -1);
    struct td_row_operation row = list();
    assert_true(row.instance == pair->instance && row.job_instance == world->instance);
    assert_true(row.instance != row.job_instance);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(release_comes_although_the_job_has_lost_the_rank),
        cmocka_unit_test(root_announces_a_loss_of_the_job_in_its_groups),
        cmocka_unit_test(a_loss_that_comes_before_the_group_is_made_ends_no_creation),
        cmocka_unit_test(a_broken_group_is_reported_to_a_node_that_made_it_late),
        cmocka_unit_test(a_broken_group_answers_the_first_call_of_a_node_that_made_it_late),
        cmocka_unit_test(a_call_that_has_ended_before_the_group_was_made_gives_the_same_error),
        cmocka_unit_test(a_group_whose_first_call_has_ended_can_still_be_made),
        cmocka_unit_test(a_first_call_that_failed_alone_does_not_end_later_calls),
        cmocka_unit_test(a_group_whose_creation_has_ended_is_over_for_all),
        cmocka_unit_test(a_call_that_is_cancelled_before_the_root_makes_the_group_ends_alone),
        cmocka_unit_test(a_rank_is_lost_to_many_groups_at_once),
        cmocka_unit_test(another_loss_of_a_broken_job_is_told_to_groups_that_the_rank_never_made),
        cmocka_unit_test(the_root_ends_calls_of_groups_that_a_dead_rank_never_made),
        cmocka_unit_test(a_loss_is_believed_from_the_parent_or_from_the_daemon_of_the_rank),
        cmocka_unit_test(a_loss_is_told_to_the_root_by_the_children_above_the_rank),
        cmocka_unit_test(a_parent_whose_session_is_new_hears_of_a_loss_again),
        cmocka_unit_test(a_loss_is_told_again_until_the_root_answers),
        cmocka_unit_test(a_node_outside_of_a_group_does_not_end_it),
        cmocka_unit_test(a_call_that_comes_after_the_loss_is_on_record),
        cmocka_unit_test(an_operation_of_a_subgroup_is_listed_with_its_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
