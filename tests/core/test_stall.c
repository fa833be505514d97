/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that run and stand still: core/operation/stall.h. The group has ten ranks on ten
 * nodes. Node 0 is the root, with the children 1 to 8; node 1 has the child 9. */
#include "node.h"

#include <stdio.h>

#include "core/membership/communicator_losses.h"
#include "core/operation/engine.h"
#include "core/operation/operation.h"
#include "core/operation/stall.h"

enum { ROOT, INNER, LEAF = 9, RANKS = 10, RECV = 0, BYTES = 100 };

static struct td_communicator *c;
static struct td_operation *o;

/* The program: one message from node 2. */
static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    (void)p;
    (void)family;
    (void)index;
    *step = (struct td_step){
        .kind = TD_RECV, .to = td_slice_at(TD_SPACE_SCRATCH, 0, 0, BYTES), .peer = 2};
    step->to_lanes = (struct td_lanes){1, 0, 0};
}

/* begin makes a node at a place of the tree, on which the operation runs. */
static void begin(uint32_t at)
{
    node_begin("12", at, NULL);
    c = node_group(RANKS);
    node_call(c, -1);
    o = c->operation[0];
    assert_non_null(o);
    o->program = (struct td_program){.step_at = step_at, .group = &c->group};
    td_program_add(&o->program, TD_RECV, 1, "from node 2");
    o->scratch_bytes = 4096;
    assert_true(td_operation_take_scratch(node.core, o));
    assert_true(td_engine_init(node.core, o));
    td_operation_transition(o, TD_OPERATION_COMPLETE);
    td_operation_transition(o, TD_OPERATION_ANNOUNCE);
    td_operation_transition(o, TD_OPERATION_RELEASE);
    td_operation_transition(o, TD_OPERATION_RUN);
    td_stall_begin(o);
    node_forget();
}

static uint64_t beat(void)
{
    return (uint64_t)node.core->settings.heartbeat_ns;
}

/* limit returns the time without progress after which a node appeals. */
static uint64_t limit(void)
{
    return (uint64_t)node.core->settings.progress_timeout_ns + 3 * beat();
}

static void appeal(uint32_t from, uint32_t stalled, uint32_t waits_for, const char *text)
{
    struct td_message m = {.kind = TD_MESSAGE_APPEAL, .instance = c->instance};
    m.u.appeal = (struct td_message_appeal){.error = TD_ERR_TIMEOUT,
                                            .text = text,
                                            .is_running = true,
                                            .node = stalled,
                                            .waits_for = waits_for};
    node_message(from, &m);
}

static void verdict(uint32_t from, const char *text)
{
    struct td_message m = {.kind = TD_MESSAGE_VERDICT, .instance = c->instance};
    m.u.verdict =
        (struct td_message_verdict){.error = TD_ERR_TIMEOUT, .text = text, .is_running = true};
    node_message(from, &m);
}

/* complete ends the operation on this node with success. */
static void complete(void)
{
    struct td_packet p = {
        .kind = TD_PACKET_DATA, .instance = c->instance, .family = RECV, .bytes = BYTES};
    assert_true(td_engine_packet(node.core, 2, &p, 5));
    node_run();
    td_engine_computed(node.core, node.handle, TD_OK);
    node_run();
    assert_int_equal(node.reply.kind, TD_REPLY_DONE);
    assert_null(c->operation[0]);
}

/* expect_verdict checks that the children and the local rank got a sentence. */
static void expect_verdict(uint32_t child, const char *text)
{
    const struct td_message *m = node_sent_to(child, TD_MESSAGE_VERDICT);
    assert_non_null(m);
    assert_true(m->u.verdict.is_running);
    assert_non_null(strstr(m->u.verdict.text, text));
}

static void node_without_progress_appeals_and_names_the_node_that_it_waits_for(void **state)
{
    (void)state;
    begin(INNER);
    node_pass(c, limit() - 1);
    assert_null(node_sent_to(ROOT, TD_MESSAGE_APPEAL));
    node_pass(c, 1);
    const struct td_message *m = node_sent_to(ROOT, TD_MESSAGE_APPEAL);
    assert_non_null(m);
    assert_true(m->u.appeal.is_running);
    assert_int_equal(m->u.appeal.error, TD_ERR_TIMEOUT);
    assert_int_equal(m->u.appeal.node, INNER);
    assert_int_equal(m->u.appeal.waits_for, 2);
    assert_non_null(strstr(m->u.appeal.text, "operation 0 of job job has stalled: node 1 (1) has "
                                             "waited 31.5 s for node 2 (2), which is alive"));
    node_pass(c, beat());
    assert_int_equal(node_count(TD_MESSAGE_APPEAL), 1);
    assert_int_equal(o->state, TD_OPERATION_RUNNING);
    assert_int_equal(c->state, TD_COMMUNICATOR_ACTIVE);
    verdict(ROOT, "the root's sentence");
    expect_verdict(LEAF, "the root's sentence");
    assert_int_equal(node.reply.error, TD_ERR_TIMEOUT);
    assert_string_equal(node.text, "the root's sentence");
    assert_int_equal(c->state, TD_COMMUNICATOR_ACTIVE);
    node_end();
}

static void node_whose_link_is_down_says_that_it_cannot_go_on(void **state)
{
    static const enum td_link_state states[] = {TD_LINK_DOWN, TD_LINK_UP, TD_LINK_UP};
    static const char *const texts[] = {"is down", "has not resumed", "is silent"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        char text[80];
        begin(INNER);
        node.core->link[2].torn = i < 2;
        node.core->link[2].neighbour = i == 2; /* heartbeats of it are due */
        node.core->link[2].state = states[i];
        node_pass(c, limit());
        const struct td_message *m = node_sent_to(ROOT, TD_MESSAGE_APPEAL);
        assert_non_null(m);
        assert_int_equal(m->u.appeal.waits_for, INNER);
        snprintf(text, sizeof text, "for node 2 (2), and the link between them %s", texts[i]);
        assert_non_null(strstr(m->u.appeal.text, text));
        node_end();
    }
}

/* A node whose ranks have all left the group may have forgotten it. */
static void what_such_a_node_would_pass_on_goes_past_it(void **state)
{
    (void)state;
    begin(ROOT);
    td_bit_set(c->lost_rank, INNER);
    appeal(2, 2, 2, "node 2 cannot go on");
    expect_verdict(LEAF, "node 2 cannot go on");
    node_end();
    node_begin("12", LEAF, NULL);
    c = node_group(RANKS);
    assert_int_equal(td_communicator_hearer(c, LEAF), INNER);
    td_bit_set(c->lost_rank, INNER);
    assert_int_equal(td_communicator_hearer(c, LEAF), ROOT);
    assert_true(td_communicator_is_below(c, INNER));
    assert_true(td_communicator_is_below(c, ROOT));
    assert_false(td_communicator_is_below(c, 2));
    node_end();
    begin(INNER);
    td_bit_set(c->lost_rank, ROOT);
    td_communicator_lose_node(node.core, c, 2, false, "it is down");
    node_run();
    assert_non_null(node_sent_to(LEAF, TD_MESSAGE_NODE_LOST));
    assert_non_null(node_sent_to(3, TD_MESSAGE_NODE_LOST)); /* else from the root */
    node_end();
}

static void node_to_which_bytes_of_the_operation_flow_does_not_appeal(void **state)
{
    struct td_packet p = {.kind = TD_PACKET_DATA, .family = RECV, .bytes = BYTES};
    (void)state;
    begin(INNER);
    p.instance = c->instance;
    for (int i = 0; i < 5; i++) { /* of one packet */
        node_pass(c, limit() - 1);
        td_engine_arriving(node.core, &p);
    }
    assert_null(node_sent_to(ROOT, TD_MESSAGE_APPEAL));
    node_pass(c, limit());
    assert_non_null(node_sent_to(ROOT, TD_MESSAGE_APPEAL));
    node_end();
}

static void root_names_the_last_of_the_nodes_that_wait_for_each_other(void **state)
{
    (void)state;
    begin(ROOT);
    appeal(1, 9, 1, "9 waits for 1");
    appeal(3, 3, 9, "3 waits for 9");
    appeal(1, 1, 4, "1 waits for 4");
    assert_int_equal(node_count(TD_MESSAGE_VERDICT), 0);
    node_pass(c, beat());
    assert_int_equal(node_count(TD_MESSAGE_VERDICT), 8);
    for (uint32_t child = 1; child <= 8; child++)
        expect_verdict(child, "1 waits for 4");
    assert_string_equal(node.text, "1 waits for 4");
    appeal(5, 5, 1, "5 waits for 1");
    node_pass(c, beat());
    assert_int_equal(node_count(TD_MESSAGE_VERDICT), 8);
    node_end();
}

static void node_that_cannot_go_on_is_named_at_once(void **state)
{
    (void)state;
    begin(ROOT);
    appeal(1, 9, 1, "9 waits for 1");
    appeal(1, 1, 1, "1 cannot go on");
    expect_verdict(3, "1 cannot go on");
    assert_string_equal(node.text, "1 cannot go on");
    node_end();
}

static void root_that_has_completed_the_operation_ends_it_elsewhere_once(void **state)
{
    (void)state;
    begin(ROOT);
    complete();
    node_forget();
    appeal(1, 9, 1, "9 waits for 1");
    expect_verdict(1, "9 waits for 1");
    node_forget();
    appeal(1, 1, 2, "1 waits for 2");
    assert_int_equal(node_count(TD_MESSAGE_VERDICT), 0);
    node_end();
}

static void root_that_completes_the_operation_after_an_appeal_ends_it_elsewhere(void **state)
{
    (void)state;
    begin(ROOT);
    appeal(1, 9, 1, "9 waits for 1");
    complete();
    expect_verdict(1, "9 waits for 1");
    node_end();
}

static void inner_node_passes_on_the_first_appeal_and_those_that_say_more(void **state)
{
    (void)state;
    begin(INNER);
    appeal(LEAF, LEAF, 4, "9 waits for 4");
    assert_int_equal(node_count(TD_MESSAGE_APPEAL), 1);
    appeal(LEAF, LEAF, 4, "9 waits for 4");
    assert_int_equal(node_count(TD_MESSAGE_APPEAL), 1);
    appeal(LEAF, LEAF, LEAF, "9 cannot go on");
    assert_int_equal(node_count(TD_MESSAGE_APPEAL), 2);
    node_end();
}

static void no_appeal_is_passed_on_in_a_group_that_is_parted_or_of_another_time(void **state)
{
    (void)state;
    begin(INNER);
    c->first_sequence = TD_GROUP_OPERATIONS_MAX + 1;
    appeal(LEAF, LEAF, 4, "9 waits for 4");
    assert_int_equal(node.sents, 0);
    c->first_sequence = 0;
    td_communicator_part(node.core, c, "nodes are silent");
    node_forget();
    appeal(LEAF, LEAF, 4, "9 waits for 4");
    assert_int_equal(node_count(TD_MESSAGE_APPEAL), 0);
    node_end();
}

/* The driver may still read its buffers. */
static void who_waits_is_passed_on_while_an_operation_of_a_parted_group_is_in_flight(void **state)
{
    (void)state;
    begin(INNER);
    o->flights = 1;
    td_communicator_part(node.core, c, "nodes are silent");
    node_run();
    assert_non_null(c->operation[0]);
    node_forget();
    struct td_message m = {.kind = TD_MESSAGE_WAITING, .instance = c->instance};
    m.u.waiting.arrived = (struct td_bitmap){(const uint8_t *)"\1", 2};
    node_message(ROOT, &m);
    assert_non_null(node_sent_to(LEAF, TD_MESSAGE_WAITING));
    o->flights = 0;
    node_end();
}

static void node_that_has_completed_the_operation_passes_appeal_and_verdict_on(void **state)
{
    (void)state;
    begin(INNER);
    complete();
    node_forget();
    appeal(LEAF, LEAF, 4, "9 waits for 4");
    assert_non_null(node_sent_to(ROOT, TD_MESSAGE_APPEAL));
    verdict(LEAF, "not the parent's to give");
    assert_null(node_sent_to(LEAF, TD_MESSAGE_VERDICT));
    verdict(ROOT, "9 waits for 4");
    expect_verdict(LEAF, "9 waits for 4");
    assert_int_equal(node.replies, 0);
    node_end();
}

static void operation_ends_without_the_root_if_no_verdict_comes(void **state)
{
    (void)state;
    begin(INNER);
    node_pass(c, limit());
    node_pass(c, limit() - 1);
    assert_int_equal(o->state, TD_OPERATION_RUNNING);
    node_pass(c, 1);
    assert_int_equal(node.reply.error, TD_ERR_TIMEOUT);
    assert_non_null(strstr(node.text, "for node 2 (2)"));
    node_end();
}

static void operation_that_goes_on_after_an_appeal_may_complete(void **state)
{
    (void)state;
    begin(INNER);
    node_pass(c, limit());
    assert_int_equal(node_count(TD_MESSAGE_APPEAL), 1);
    complete();
    verdict(ROOT, "too late");
    assert_int_equal(node.reply.kind, TD_REPLY_DONE);
    node_end();
}

static void node_with_a_failed_computation_waits_for_the_common_ending(void **state)
{
    (void)state;
    begin(INNER);
    struct td_packet p = {
        .kind = TD_PACKET_DATA, .instance = c->instance, .family = RECV, .bytes = BYTES};
    assert_true(td_engine_packet(node.core, 2, &p, 5));
    node_run();
    td_engine_computed(node.core, node.handle, TD_ERR_SYSTEM);
    node_run();
    const struct td_message *m = node_sent_to(ROOT, TD_MESSAGE_APPEAL);
    assert_non_null(m);
    assert_int_equal(m->u.appeal.error, TD_ERR_SYSTEM);
    assert_int_equal(m->u.appeal.waits_for, INNER);
    assert_int_equal(o->state, TD_OPERATION_BROKEN);
    assert_null(td_engine_find(c, 0)); /* its packets are dropped */
    assert_int_equal(node.replies, 0);
    verdict(ROOT, "another node was first");
    assert_int_equal(node.reply.error, TD_ERR_TIMEOUT);
    assert_string_equal(node.text, "another node was first");
    node_end();
}

static void operation_without_progress_is_cancelled_after_the_release(void **state)
{
    (void)state;
    begin(INNER);
    td_stall_cancel(node.core, o, "rank 1 cancelled it");
    node_pass(c, beat() - 1);
    assert_int_equal(node_count(TD_MESSAGE_APPEAL), 0); /* it may be about to complete */
    node_pass(c, 1);
    const struct td_message *m = node_sent_to(ROOT, TD_MESSAGE_APPEAL);
    assert_non_null(m);
    assert_int_equal(m->u.appeal.error, TD_ERR_CANCELLED);
    assert_int_equal(m->u.appeal.waits_for, INNER);
    node_end();
    begin(ROOT);
    td_stall_cancel(node.core, o, "rank 0 cancelled it");
    node_pass(c, beat());
    expect_verdict(5, "rank 0 cancelled it");
    assert_int_equal(node.reply.error, TD_ERR_CANCELLED);
    node_end();
}

static void computation_that_fails_before_the_release_ends_the_call_for_all(void **state)
{
    (void)state;
    node_begin("12", INNER, NULL);
    c = node_group(RANKS);
    node_call(c, -1);
    o = c->operation[0];
    td_stall_break(node.core, o, TD_ERR_SYSTEM, "the memory is lost");
    node_run();
    const struct td_message *m = node_sent_to(ROOT, TD_MESSAGE_APPEAL);
    assert_non_null(m);
    assert_false(m->u.appeal.is_running);
    assert_int_equal(o->state, TD_OPERATION_REFUSED);
    assert_int_equal(node.replies, 0);
    node_end();
}

static void an_operation_that_begins_has_no_error_of_the_time_before(void **state)
{
    (void)state;
    begin(INNER);
    o->pending_error = TD_ERR_TIMEOUT;
    td_stall_begin(o);
    assert_int_equal(o->pending_error, TD_OK);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_that_begins_has_no_error_of_the_time_before),
        cmocka_unit_test(node_without_progress_appeals_and_names_the_node_that_it_waits_for),
        cmocka_unit_test(node_whose_link_is_down_says_that_it_cannot_go_on),
        cmocka_unit_test(what_such_a_node_would_pass_on_goes_past_it),
        cmocka_unit_test(node_to_which_bytes_of_the_operation_flow_does_not_appeal),
        cmocka_unit_test(root_names_the_last_of_the_nodes_that_wait_for_each_other),
        cmocka_unit_test(node_that_cannot_go_on_is_named_at_once),
        cmocka_unit_test(root_that_has_completed_the_operation_ends_it_elsewhere_once),
        cmocka_unit_test(root_that_completes_the_operation_after_an_appeal_ends_it_elsewhere),
        cmocka_unit_test(inner_node_passes_on_the_first_appeal_and_those_that_say_more),
        cmocka_unit_test(no_appeal_is_passed_on_in_a_group_that_is_parted_or_of_another_time),
        cmocka_unit_test(who_waits_is_passed_on_while_an_operation_of_a_parted_group_is_in_flight),
        cmocka_unit_test(node_that_has_completed_the_operation_passes_appeal_and_verdict_on),
        cmocka_unit_test(operation_ends_without_the_root_if_no_verdict_comes),
        cmocka_unit_test(operation_that_goes_on_after_an_appeal_may_complete),
        cmocka_unit_test(node_with_a_failed_computation_waits_for_the_common_ending),
        cmocka_unit_test(operation_without_progress_is_cancelled_after_the_release),
        cmocka_unit_test(computation_that_fails_before_the_release_ends_the_call_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
