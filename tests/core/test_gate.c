/* SPDX-License-Identifier: Apache-2.0 */
/* The gate, driven message by message: core/operation/gate.h. */
#include "node.h"

#include "core/membership/client.h"
#include "core/membership/waits.h"
#include "core/operation/arrival.h"
#include "core/operation/gate.h"
#include "model/plan.h"

enum { GROUP = 4, SECOND = 1000000000 };

static struct td_communicator *c;

static void begin(uint32_t at)
{
    node_begin("4", at, NULL);
    c = node_group(GROUP);
}

static struct td_message about(enum td_message_kind kind)
{
    return (struct td_message){.kind = kind, .instance = c->instance, .group = c->index};
}

static void announce(uint32_t child, struct td_witness witness, bool no_room)
{
    struct td_message m = about(TD_MESSAGE_ARRIVE);
    m.u.arrive.least = m.u.arrive.greatest = witness;
    m.u.arrive.no_room = no_room;
    node_message(child, &m);
}

static struct td_operation *operation(void)
{
    return c->operation[0];
}

static void root_releases_when_the_last_child_announces(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    announce(1, node_barrier(1), false);
    announce(2, node_barrier(2), false);
    assert_int_equal(node_count(TD_MESSAGE_RELEASE), 0);
    assert_int_equal(operation()->state, TD_OPERATION_GATHERING);
    announce(3, node_barrier(3), false);
    assert_int_equal(node_count(TD_MESSAGE_RELEASE), 3);
    assert_int_equal(node.reply.kind, TD_REPLY_DONE);
    assert_null(operation());
    assert_int_equal(c->first_sequence, 1);
    node_end();
}

static void leaf_announces_and_waits_for_the_release(void **state)
{
    (void)state;
    begin(2);
    node_call(c, -1);
    const struct td_message *m = node_sent_to(0, TD_MESSAGE_ARRIVE);
    assert_non_null(m);
    assert_int_equal(m->u.arrive.least.rank, 2);
    assert_int_equal(operation()->state, TD_OPERATION_ANNOUNCED);
    assert_int_equal(node.replies, 0);
    struct td_message release = about(TD_MESSAGE_RELEASE);
    node_message(0, &release);
    assert_int_equal(node.reply.kind, TD_REPLY_DONE);
    node_end();
}

static void release_before_the_announcement_is_ignored(void **state)
{
    (void)state;
    begin(2);
    struct td_message release = about(TD_MESSAGE_RELEASE);
    node_message(0, &release);
    assert_int_equal(operation()->state, TD_OPERATION_GATHERING);
    assert_int_equal(node.replies, 0);
    node_end();
}

static void different_calls_end_with_both_ranks_named(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    struct td_witness other = {.call = {.kind = TD_KIND_BROADCAST, .count = 8}, .rank = 2};
    announce(2, other, false);
    assert_int_equal(node_count(TD_MESSAGE_VERDICT), 3);
    assert_int_equal(node.reply.error, TD_ERR_MISMATCH);
    assert_non_null(strstr(node.text, "rank 0 called"));
    assert_non_null(strstr(node.text, "rank 2 called"));
    node_end();
}

/* The record keeps who called what, also of a rank that calls when the operation has failed. */
static void the_record_keeps_the_calls_that_differed(void **state)
{
    const struct td_witness other = {.call = {.kind = TD_KIND_BROADCAST, .count = 8}, .rank = 2};
    (void)state;
    for (unsigned late = 0; late < 3; late++) {
        begin(late ? 1 : 0);
        if (!late) {
            node_call(c, -1);
            announce(2, other, false);
        } else {
            struct td_message m = about(TD_MESSAGE_VERDICT);
            m.u.verdict = (struct td_message_verdict){.error = TD_ERR_MISMATCH, .text = "differ"};
            node_message(0, &m);
            m = about(TD_MESSAGE_RANK_LOST);
            m.u.rank_lost = (struct td_message_rank_lost){
                .rank = 2, .error = TD_ERR_RANK_FAILED, .text = "rank 2 ended upon that"};
            if (late == 2)
                node_message(0, &m);
            node_call(c, -1);
        }
        assert_int_equal(node.reply.error, TD_ERR_MISMATCH);
        const struct td_waits_side *side = c->waits->side;
        assert_int_equal(side[0].call.kind, TD_KIND_BARRIER);
        assert_int_equal(side[0].ranks, 1);
        assert_int_equal(side[0].rank[0], late ? 1 : 0);
        assert_int_equal(side[1].call.kind, 0); /* the node of rank 2 keeps its call */
        node_call(c, -1);                       /* the next operation is another one */
        assert_int_equal(side[0].ranks, 1);
        node_end();
    }
}

/* An announcement carries two calls of the ranks below: both are compared. */
static void calls_that_differ_below_one_child_are_both_named(void **state)
{
    (void)state;
    const struct td_witness other = {.call = {.kind = TD_KIND_BROADCAST, .count = 8}, .rank = 3};
    for (int greatest = 0; greatest < 2; greatest++) {
        begin(0);
        node_call(c, -1);
        struct td_message m = about(TD_MESSAGE_ARRIVE);
        m.u.arrive.least = greatest ? node_barrier(2) : other;
        m.u.arrive.greatest = greatest ? other : node_barrier(2);
        node_message(2, &m);
        assert_int_equal(node_count(TD_MESSAGE_VERDICT), 3);
        assert_int_equal(node.reply.error, TD_ERR_MISMATCH);
        assert_non_null(strstr(node.text, "called barrier"));
        assert_non_null(strstr(node.text, "rank 3 called broadcast"));
        node_end();
    }
}

/* Sentences name ranks of the job. A daemon that reports a rank that the group lacks is not
 * believed, and nothing is read behind the members. */
static void a_rank_that_the_group_lacks_is_named_as_it_was_sent(void **state)
{
    (void)state;
    begin(0);
    c->member = td_arena_alloc(node.core->arena, GROUP * sizeof *c->member);
    for (uint32_t i = 0; i < GROUP; i++)
        c->member[i] = 10 + i;
    node_call(c, -1);
    struct td_witness other = {.call = {.kind = TD_KIND_BROADCAST, .count = 8}, .rank = 1u << 30};
    announce(2, other, false);
    assert_non_null(strstr(node.text, "rank 10 called"));
    assert_non_null(strstr(node.text, "rank 1073741824 called"));
    node_end();
}

/* A rank without data agrees with any type; two types among the others are still a difference. */
static void a_call_without_data_is_in_no_ones_way(void **state)
{
    (void)state;
    struct td_witness none = {.call = {.kind = TD_KIND_ALLGATHERV}, .rank = 1}, typed = none;
    typed.call.type = TD_TYPE_INT32;
    typed.rank = 2;
    for (int first = 0; first < 2; first++) {
        begin(0);
        announce(1, first ? typed : none, false);
        announce(2, first ? none : typed, false);
        assert_int_equal(node_count(TD_MESSAGE_VERDICT), 0);
        assert_int_equal(operation()->least.call.type, TD_TYPE_INT32);
        assert_int_equal(operation()->least.rank, 2);
        struct td_witness other = typed;
        other.call.type = TD_TYPE_DOUBLE;
        other.rank = 3;
        announce(3, other, false);
        assert_int_equal(node_count(TD_MESSAGE_VERDICT), 3);
        const struct td_message *m = node_sent_to(1, TD_MESSAGE_VERDICT);
        assert_non_null(strstr(m->u.verdict.text, "rank 2 called allgatherv(int32)"));
        assert_non_null(strstr(m->u.verdict.text, "rank 3 called allgatherv(double)"));
        node_end();
    }
}

static void an_expired_operation_asks_before_it_names_the_missing_ranks(void **state)
{
    (void)state;
    begin(0);
    node_call(c, SECOND);
    announce(1, node_barrier(1), false);
    node_pass(c, SECOND);
    const struct td_message *m = node_sent_to(3, TD_MESSAGE_WAITING);
    assert_non_null(m);
    assert_true(m->u.waiting.reply_requested);
    assert_int_equal(node.replies, 0);
    node_pass(c, SECOND);
    assert_int_equal(node.reply.error, TD_ERR_TIMEOUT);
    assert_non_null(strstr(node.text, "2 of 4 ranks had not arrived in time: ranks 2-3"));
    node_end();
}

static void an_appeal_of_a_child_becomes_a_verdict_for_all(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    struct td_message m = about(TD_MESSAGE_APPEAL);
    m.u.appeal = (struct td_message_appeal){.error = TD_ERR_CANCELLED, .text = "rank 3 cancelled"};
    node_message(3, &m);
    assert_int_equal(node_count(TD_MESSAGE_VERDICT), 3);
    assert_int_equal(node.reply.error, TD_ERR_CANCELLED);
    assert_string_equal(node.text, "rank 3 cancelled");
    node_end();
}

static void a_child_without_scratch_makes_all_announce_again(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    for (uint32_t child = 1; child < GROUP; child++)
        announce(child, node_barrier(child), child == 2);
    assert_int_equal(node_count(TD_MESSAGE_RELEASE), 0);
    assert_int_equal(node_count(TD_MESSAGE_ANNOUNCE_AGAIN), 3);
    assert_int_equal(operation()->state, TD_OPERATION_GATHERING);
    assert_int_equal(operation()->children_arrived, 0);
    for (uint32_t child = 1; child < GROUP; child++)
        announce(child, node_barrier(child), false);
    node_pass(c, SECOND);
    assert_int_equal(node_count(TD_MESSAGE_RELEASE), 3);
    node_end();
}

static void the_survey_begins_anew_when_all_announce_again(void **state)
{
    (void)state;
    const struct td_survey survey = {.most = 7, .total = 9};
    begin(0);
    node_call(c, -1);
    operation()->survey = survey; /* of the ranks that have announced */
    announce(1, node_barrier(1), true);
    announce(2, node_barrier(2), false);
    announce(3, node_barrier(3), false);
    assert_int_equal(node_count(TD_MESSAGE_ANNOUNCE_AGAIN), 3);
    assert_int_equal(operation()->survey.total, 0);
    node_end();
}

static void an_announcement_of_a_node_that_is_no_child_is_ignored(void **state)
{
    (void)state;
    begin(2);
    announce(3, node_barrier(3), false);
    assert_int_equal(operation()->children_arrived, 0);
    assert_int_equal(operation()->witnesses, 0);
    node_end();
}

/* The last rank does not call for a long time. */
static void children_give_their_scratch_back_while_a_rank_is_missing(void **state)
{
    (void)state;
    begin(0);
    announce(1, node_barrier(1), false);
    node_pass(c, 20ull * SECOND);
    assert_null(node_sent_to(1, TD_MESSAGE_ANNOUNCE_AGAIN));
    node_pass(c, 11ull * SECOND);
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_ANNOUNCE_AGAIN);
    assert_non_null(m);
    assert_true(m->u.announce_again.without_scratch);
    assert_null(node_sent_to(2, TD_MESSAGE_ANNOUNCE_AGAIN)); /* it has not announced */
    assert_int_equal(operation()->children_arrived, 0);
    node_forget();

    for (uint32_t child = 1; child < GROUP; child++) /* without scratch, as asked */
        announce(child, node_barrier(child), true);
    node_pass(c, 100ull * SECOND);
    assert_int_equal(node_count(TD_MESSAGE_ANNOUNCE_AGAIN), 0);
    node_call(c, -1);
    assert_int_equal(node_count(TD_MESSAGE_RELEASE), 0);
    assert_int_equal(node_count(TD_MESSAGE_ANNOUNCE_AGAIN), 3);
    assert_false(node_sent_to(2, TD_MESSAGE_ANNOUNCE_AGAIN)->u.announce_again.without_scratch);
    for (uint32_t child = 1; child < GROUP; child++)
        announce(child, node_barrier(child), false);
    node_pass(c, SECOND);
    assert_int_equal(node_count(TD_MESSAGE_RELEASE), 3);
    node_end();
}

static void no_operations(struct td_settings *s)
{
    s->operations_max = 0;
}

static void an_announcement_that_finds_no_record_is_sent_back(void **state)
{
    (void)state;
    node_begin("4", 0, no_operations);
    c = node_group(GROUP);
    struct td_message m = about(TD_MESSAGE_ARRIVE);
    m.u.arrive.least = m.u.arrive.greatest = node_barrier(1);
    m.sequence = 1;
    node_message(1, &m);
    assert_non_null(node_sent_to(1, TD_MESSAGE_ANNOUNCE_AGAIN));
    assert_null(c->operation[1]);
    node_end();
}

static void the_oldest_operation_of_a_group_always_has_a_record(void **state)
{
    (void)state;
    node_begin("4", 0, no_operations);
    c = node_group(GROUP);
    announce(1, node_barrier(1), false);
    assert_non_null(operation());
    node_call(c, -1);
    assert_int_equal(node.replies, 0);
    /* there is no room for the next one, until the first one is over */
    node_call(c, -1);
    assert_int_equal(node.reply.kind, TD_REPLY_NO_ROOM);
    assert_int_equal(node.reply.error, TD_ERR_BUSY);
    assert_true(node.reply.refused);
    assert_non_null(strstr(node.text, "[limits] operations"));
    announce(2, node_barrier(2), false);
    node_forget();
    announce(3, node_barrier(3), false);
    assert_int_equal(node.reply.kind, TD_REPLY_ROOM);
    assert_int_equal(node.replies, 2);
    node_call(c, -1);
    assert_non_null(c->operation[1]);
    node_end();
}

static void an_announcement_beyond_the_window_is_sent_back(void **state)
{
    (void)state;
    begin(0);
    struct td_message m = about(TD_MESSAGE_ARRIVE);
    m.u.arrive.least = m.u.arrive.greatest = node_barrier(1);
    m.sequence = TD_GROUP_OPERATIONS_MAX;
    node_message(1, &m);
    assert_non_null(node_sent_to(1, TD_MESSAGE_ANNOUNCE_AGAIN));
    assert_false(td_communicator_broken(c));
    node_end();
}

/* report_now lets the time of the next report come. It returns the number of REPORTs. */
static uint32_t report_now(void)
{
    struct td_operation *o = operation();
    node_forget();
    if (o->report_at == TD_TIME_NEVER)
        o->report_at = node.core->now;
    node.core->now = o->report_at;
    td_gate_timers(node.core, o);
    node_run();
    return node_count(TD_MESSAGE_REPORT);
}

static void ranks_that_have_arrived_are_reported_once(void **state)
{
    (void)state;
    begin(2);
    node_call(c, -1);
    struct td_operation *o = operation();
    o->state = TD_OPERATION_GATHERING; /* as if another rank here were missing */
    assert_int_equal(report_now(), 1);
    assert_int_equal(report_now(), 0);
    o->known_sent = 0;
    node_forget();
    o->report_at = node.core->now;
    node.core->pad_used = TD_PAD_BYTES; /* there is no memory in this step */
    td_gate_timers(node.core, o);
    assert_int_equal(node.actions.count, 0);
    assert_int_equal(report_now(), 1);
    node_end();
}

/* call_counts makes the local rank send and receive so many elements of no type, from and to each.
 */
static void call_counts(const uint64_t *sends, const uint64_t *receives)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 10};
    q.u.operation.group = c->number;
    q.u.operation.call.kind = TD_KIND_ALLTOALLV;
    q.u.operation.call.type = TD_TYPE_NONE;
    q.u.operation.timeout_ns = -1;
    q.u.operation.from = (struct td_rank_counts){.count = sends, .counts = GROUP};
    q.u.operation.to = (struct td_rank_counts){.count = receives, .counts = GROUP};
    td_arrival_request(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
}

static void elements_on_either_side_need_a_type(void **state)
{
    (void)state;
    const uint64_t none[GROUP] = {0}, some[GROUP] = {0, 1};
    for (int side = 0; side < 2; side++) {
        begin(0);
        call_counts(side ? none : some, side ? some : none);
        assert_int_equal(node.reply.error, TD_ERR_INVALID);
        assert_string_equal(node.text, "the element type is unknown");
        node_end();
    }
    begin(0);
    call_counts(none, none);
    assert_int_equal(node.replies, 0);
    node_end();
}

static void buffers_that_are_not_aligned_are_refused(void **state)
{
    (void)state;
    begin(0);
    struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 10};
    q.u.operation.group = c->number;
    q.u.operation.call = (struct td_call){
        .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_DOUBLE, .op = TD_OP_SUM, .count = 1};
    q.u.operation.timeout_ns = -1;
    q.u.operation.source.offset = 4;
    td_arrival_request(node.core, td_client_find(node.core, NODE_CLIENT), &q);
    node_run();
    assert_int_equal(node.reply.error, TD_ERR_INVALID);
    assert_string_equal(node.text, "the buffers must be aligned to 8 bytes");
    node_end();
}

static void an_appeal_after_the_release_is_ignored(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    operation()->state = TD_OPERATION_RELEASED; /* the next turn of the task runs it */
    struct td_message m = about(TD_MESSAGE_APPEAL);
    m.u.appeal = (struct td_message_appeal){.error = TD_ERR_TIMEOUT, .text = "in time"};
    td_gate_message(node.core, c, 3, &m);
    assert_true(operation()->verdict_at == TD_TIME_NEVER);
    assert_int_equal(node.actions.count, 0); /* no node is asked who waits */
    operation()->state = TD_OPERATION_GATHERING;
    node_end();
}

static void an_announcement_is_reported_soon_and_names_the_last_rank(void **state)
{
    (void)state;
    begin(0);
    announce(1, node_barrier(1), false);
    assert_true(operation()->report_at == node.core->now + TD_REPORT_NS);
    assert_true(node.core->alarm <= operation()->report_at);
    for (uint32_t child = 2; child < GROUP; child++) { /* the others hear of each */
        node_forget();
        node_pass(c, TD_REPORT_NS);
        assert_int_equal(node_count(TD_MESSAGE_WAITING), 3);
        node_forget();
        node_pass(c, TD_REPORT_NS);
        assert_int_equal(node_count(TD_MESSAGE_WAITING), 0);
        announce(child, node_barrier(child), false);
    }
    node_end();
    begin(2);
    node_call(c, -1);
    assert_int_equal(node_sent_to(0, TD_MESSAGE_ARRIVE)->u.arrive.last, 3); /* one more */
    node_end();
}

/* Two of eight doubles belong to each rank, before and after. */
static void buffers_hold_the_parts_of_a_plan(void **state)
{
    (void)state;
    const struct td_description d = {
        .redist = {.dimensions = 1, .element = 8, .size = {8}}, .from = "", .to = ""};
    char text[400];
    td_err error = TD_OK;
    begin(0);
    c->plans =
        td_plan_make(node.core->arena, TD_KIND_PLAN_REDIST, &d, GROUP, &error, text, sizeof text);
    assert_non_null(c->plans);
    struct td_client *client = td_client_find(node.core, NODE_CLIENT);
    struct td_request q = {.kind = TD_REQUEST_HELLO, .id = 1};
    td_client_request(node.core, NODE_CLIENT, &q);
    q = (struct td_request){.kind = TD_REQUEST_REGION, .id = 2};
    q.u.region.region = q.u.region.handle = 1;
    q.u.region.bytes = 4096;
    td_client_request(node.core, NODE_CLIENT, &q);
    q = (struct td_request){.kind = TD_REQUEST_OPERATION, .id = 10};
    q.u.operation.group = c->number;
    q.u.operation.call.kind = TD_KIND_REDIST;
    q.u.operation.timeout_ns = -1;
    for (int small = 0; small < 2; small++) {
        struct td_place place[2] = {{.region = 1, .bytes = 16}, {.region = 1, .bytes = 16}};
        place[small].bytes = 15;
        q.u.operation.source = place[0];
        q.u.operation.destination = place[1];
        td_arrival_request(node.core, client, &q);
        node_run();
        assert_int_equal(node.reply.error, TD_ERR_INVALID);
        assert_non_null(strstr(node.text, small ? "destination needs 16" : "source needs 16"));
    }
    c->plans = NULL;
    node_end();
}

static void a_verdict_waits_for_memory(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    operation()->verdict_at = node.core->now;
    node.core->pad_used = TD_PAD_BYTES;
    td_gate_timers(node.core, operation());
    assert_int_equal(operation()->error, TD_OK);
    td_core_renew(node.core);
    td_gate_timers(node.core, operation());
    node_run();
    assert_int_equal(node.reply.error, TD_ERR_TIMEOUT);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_waits_for_memory),
        cmocka_unit_test(buffers_hold_the_parts_of_a_plan),
        cmocka_unit_test(an_announcement_is_reported_soon_and_names_the_last_rank),
        cmocka_unit_test(children_give_their_scratch_back_while_a_rank_is_missing),
        cmocka_unit_test(root_releases_when_the_last_child_announces),
        cmocka_unit_test(leaf_announces_and_waits_for_the_release),
        cmocka_unit_test(release_before_the_announcement_is_ignored),
        cmocka_unit_test(different_calls_end_with_both_ranks_named),
        cmocka_unit_test(the_record_keeps_the_calls_that_differed),
        cmocka_unit_test(calls_that_differ_below_one_child_are_both_named),
        cmocka_unit_test(a_rank_that_the_group_lacks_is_named_as_it_was_sent),
        cmocka_unit_test(a_call_without_data_is_in_no_ones_way),
        cmocka_unit_test(an_expired_operation_asks_before_it_names_the_missing_ranks),
        cmocka_unit_test(an_appeal_of_a_child_becomes_a_verdict_for_all),
        cmocka_unit_test(a_child_without_scratch_makes_all_announce_again),
        cmocka_unit_test(the_survey_begins_anew_when_all_announce_again),
        cmocka_unit_test(an_announcement_of_a_node_that_is_no_child_is_ignored),
        cmocka_unit_test(an_announcement_that_finds_no_record_is_sent_back),
        cmocka_unit_test(the_oldest_operation_of_a_group_always_has_a_record),
        cmocka_unit_test(an_announcement_beyond_the_window_is_sent_back),
        cmocka_unit_test(ranks_that_have_arrived_are_reported_once),
        cmocka_unit_test(buffers_that_are_not_aligned_are_refused),
        cmocka_unit_test(an_appeal_after_the_release_is_ignored),
        cmocka_unit_test(elements_on_either_side_need_a_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
