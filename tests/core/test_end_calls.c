/* SPDX-License-Identifier: Apache-2.0 */
/* A user who is no rank ends calls: core/end_calls.h. The group has ten ranks on ten nodes; node 0
 * is the root, with the children 1 to 8; node 1 has the child 9. */
#include "node.h"

#include "core/end_calls.h"
#include "core/operation/operation.h"

enum { ROOT, INNER, LEAF = 9, RANKS = 10, ASKS = 5, TICKET = 77, STRANGER = 4242 };

static struct td_communicator *c;

static void begin(uint32_t at)
{
    node_begin("12", at, NULL);
    c = node_group(RANKS);
    node_call(c, -1);
    assert_non_null(c->operation[0]);
    node_forget();
}

/* end asks the node to end operation `number`, or all calls, as a user on node ASKS. */
static void end(uint64_t user, bool all, uint64_t number)
{
    struct td_message m = {.kind = TD_MESSAGE_END_CALLS};
    m.u.end_calls = (struct td_message_end_calls){.ticket = TICKET,
                                                  .user = user,
                                                  .job = c->name,
                                                  .owner = c->uid,
                                                  .all = all,
                                                  .instance = c->instance,
                                                  .number = number,
                                                  .why = "the input is wrong"};
    node_message(ASKS, &m);
}

static void a_node_appeals_to_the_root_with_a_sentence_that_names_the_user(void **state)
{
    (void)state;
    begin(INNER);
    end(c->uid, false, 0);
    const struct td_message *m = node_sent_to(ROOT, TD_MESSAGE_APPEAL);
    assert_non_null(m);
    assert_int_equal(m->u.appeal.error, TD_ERR_CANCELLED);
    assert_non_null(strstr(m->u.appeal.text, "operation 0 of job job was cancelled by user "));
    assert_non_null(strstr(m->u.appeal.text, " on node 5 (5): the input is wrong"));
    m = node_sent_to(ASKS, TD_MESSAGE_SEEN);
    assert_non_null(m);
    assert_int_equal(m->u.seen.ticket, TICKET);
    node_forget();
    end(c->uid, false, 0); /* it is under way */
    assert_int_equal(node_count(TD_MESSAGE_APPEAL), 0);
    assert_int_equal(node_count(TD_MESSAGE_SEEN), 1);
    node_end();
}

static void the_root_ends_the_operation_for_all_ranks(void **state)
{
    (void)state;
    begin(ROOT);
    end(0, true, 0);
    node_pass(c, (uint64_t)node.core->settings.heartbeat_ns);
    const struct td_message *m = node_sent_to(INNER, TD_MESSAGE_VERDICT);
    assert_non_null(m);
    assert_int_equal(m->u.verdict.error, TD_ERR_CANCELLED);
    assert_non_null(strstr(m->u.verdict.text, "was cancelled by user 0 on node 5 (5)"));
    assert_int_equal(node.reply.error, TD_ERR_CANCELLED);
    assert_int_equal(c->state, TD_COMMUNICATOR_ACTIVE); /* the group goes on */
    node_end();
}

/* Ranks end because their calls were cancelled: the cancellation is why the group is broken. */
static void a_rank_that_ends_upon_a_cancellation_does_not_hide_it(void **state)
{
    (void)state;
    begin(ROOT);
    end(0, true, 0);
    node_pass(c, (uint64_t)node.core->settings.heartbeat_ns);
    assert_int_equal(node.reply.error, TD_ERR_CANCELLED);
    td_client_close(node.core, NODE_CLIENT);
    node_run();
    const struct td_message *m = node_sent_to(INNER, TD_MESSAGE_RANK_LOST);
    assert_non_null(m);
    assert_int_equal(m->u.rank_lost.error, TD_ERR_RANK_FAILED);
    assert_memory_equal(m->u.rank_lost.text,
                        "rank 0 of job job ended after its call had failed: ", 49);
    assert_non_null(strstr(m->u.rank_lost.text, "; the first call of the job that failed: "));
    assert_non_null(strstr(m->u.rank_lost.text, "operation 0 of job job was cancelled by user 0 on "
                                                "node 5 (5): the input is wrong"));
    node_end();
}

/* A rank that goes on and dies much later has not died of the cancellation. */
static void a_rank_that_dies_after_another_call_is_the_cause_itself(void **state)
{
    (void)state;
    begin(ROOT);
    end(0, true, 0);
    node_pass(c, (uint64_t)node.core->settings.heartbeat_ns);
    node_call(c, -1);
    td_client_close(node.core, NODE_CLIENT);
    node_run();
    const struct td_message *m = node_sent_to(INNER, TD_MESSAGE_RANK_LOST);
    assert_non_null(m);
    assert_memory_equal(m->u.rank_lost.text, "rank 0 of job job died: ", 24);
    assert_null(strstr(m->u.rank_lost.text, "cancelled"));
    node_end();
}

static void another_user_and_another_operation_change_nothing(void **state)
{
    (void)state;
    begin(INNER);
    end(STRANGER, true, 0);
    end(STRANGER, false, 0);
    end(c->uid, false, 1);
    node_pass(c, (uint64_t)node.core->settings.heartbeat_ns);
    assert_int_equal(node_count(TD_MESSAGE_APPEAL), 0);
    assert_int_equal(node_count(TD_MESSAGE_SEEN), 3);
    assert_int_equal(node.replies, 0);
    node_end();
}

/* A text for each of thousands of groups or ranks takes the memory of a step, but not that of its
 * replies. */
static void a_reply_has_memory_when_texts_have_taken_the_rest(void **state)
{
    (void)state;
    begin(INNER);
    td_core_renew(node.core);
    for (int i = 0; i < 4096; i++)
        assert_non_null(td_core_format(node.core, "text %d", i));
    assert_null(td_core_pad(node.core, 16));
    for (uint64_t request = 1; request <= 8; request++) {
        td_reply_error(node.core, NODE_CLIENT, request, TD_ERR_INVALID, "wrong");
        const struct td_actions *actions = node.core->actions;
        const struct td_action *last = &actions->action[actions->count - 1];
        assert_int_equal(last->kind, TD_ACTION_REPLY);
        assert_int_equal(last->u.reply.reply->id, request);
        assert_int_equal(last->u.reply.reply->error, TD_ERR_INVALID);
        assert_true(last->u.reply.reply->text[0] != '\0');
    }
    node.core->actions->count = 0;
    td_core_renew(node.core);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_appeals_to_the_root_with_a_sentence_that_names_the_user),
        cmocka_unit_test(the_root_ends_the_operation_for_all_ranks),
        cmocka_unit_test(a_rank_that_ends_upon_a_cancellation_does_not_hide_it),
        cmocka_unit_test(a_rank_that_dies_after_another_call_is_the_cause_itself),
        cmocka_unit_test(another_user_and_another_operation_change_nothing),
        cmocka_unit_test(a_reply_has_memory_when_texts_have_taken_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
