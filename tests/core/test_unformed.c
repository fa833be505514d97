/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that do not form: core/membership/unformed.h. */
#include "joins.h"

#include "core/core.h"
#include "core/inspect.h"
#include "core/membership/registry.h"

/* expect_unformed takes the note that the job did not form, and checks that its record, which
 * torusctl why reads, has the same sentence with these words. */
static void expect_unformed(td_err error, const char *words)
{
    static struct td_reply page;
    struct td_note note;
    uint64_t lost = 0;
    assert_true(td_core_take_note(node.core, &note, &lost));
    assert_int_equal(note.kind, TD_NOTE_JOB_UNFORMED);
    assert_int_equal(note.error, error);
    assert_string_equal(note.job, "job");
    assert_non_null(strstr(note.text, words));
    assert_false(td_core_take_note(node.core, &note, &lost)); /* one for all ranks */
    assert_true(td_inspect_page(node.core, 1000, true, TD_STATUS_WAITS, 0, &page));
    assert_int_equal(page.u.status.rows, 1);
    const struct td_row_record *r = &page.u.status.row[0].u.record;
    assert_true(r->unformed && r->ended_ns > 0 && r->formed_ns > r->ended_ns);
    assert_int_equal(r->error, error);
    assert_non_null(strstr(r->text, words));
}

static void a_job_that_times_out_before_it_forms_leaves_a_record(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_from(2, 20, 3, 0);
    joins_from(3, 30, 3, 2);
    node_pass(NULL, 10LL * SECOND);
    assert_null(node.core->registry->jobs);
    node_pass(NULL, SECOND);
    expect_unformed(TD_ERR_TIMEOUT, "1 of 3 ranks did not join in time: rank 1");
    node_end();
}

static void a_job_whose_processes_end_before_it_forms_leaves_a_record(void **state)
{
    (void)state;
    struct td_message m = {.kind = TD_MESSAGE_UNJOIN};
    node_begin("4", 0, NULL);
    joins_from(2, 20, 3, 0);
    joins_from(3, 30, 3, 2);
    node_pass(NULL, SECOND);
    m.u.unjoin.token = 20;
    node_message(2, &m);
    m.u.unjoin.token = 30;
    node_message(3, &m);
    assert_null(node.core->registry->jobs);
    node_pass(NULL, SECOND);
    expect_unformed(TD_ERR_CANCELLED, "1 of 3 ranks had never joined: rank 1");
    node_end();
}

static void a_job_whose_nodes_are_lost_before_it_forms_leaves_a_record(void **state)
{
    (void)state;
    node_begin("4", 0, NULL);
    joins_from(2, 20, 3, ANY);
    joins_from(2, 21, 3, ANY);
    node_pass(NULL, SECOND);
    td_registry_node_lost(node.core, 2);
    assert_null(node.core->registry->jobs);
    node_pass(NULL, SECOND);
    expect_unformed(TD_ERR_NODE_FAILED,
                    "lost with their nodes, and at most 2 of 3 ranks had joined at a time");
    node_end();
}

/* Each rank has joined once, but never all at a time. */
static void a_job_whose_ranks_come_and_go_leaves_a_record(void **state)
{
    (void)state;
    struct td_message m = {.kind = TD_MESSAGE_UNJOIN};
    node_begin("4", 0, NULL);
    joins_from(2, 20, 3, 0);
    joins_from(2, 21, 3, 1);
    m.u.unjoin.token = 20;
    node_message(2, &m);
    joins_from(3, 30, 3, 2);
    node_pass(NULL, SECOND);
    m.u.unjoin.token = 21;
    node_message(2, &m);
    m.u.unjoin.token = 30;
    node_message(3, &m);
    node_pass(NULL, SECOND);
    expect_unformed(TD_ERR_CANCELLED, "at most 2 of 3 ranks had joined at a time");
    node_end();
}

/* cancel lets a user of node 5 cancel all calls of the job. */
static void cancel(uint64_t user)
{
    struct td_message m = joins_message(0, 3, 0);
    struct td_message_end_calls end = {.ticket = 77,
                                       .user = user,
                                       .job = "job",
                                       .owner = m.u.join.uid,
                                       .all = true,
                                       .why = "the input is wrong"};
    m = (struct td_message){.kind = TD_MESSAGE_END_CALLS};
    m.u.end_calls = end;
    node_message(5, &m);
}

static void unjoin(uint32_t from, uint64_t token)
{
    struct td_message m = {.kind = TD_MESSAGE_UNJOIN};
    m.u.unjoin.token = token;
    node_message(from, &m);
}

/* The registry is asked to end the calls, too: then the other nodes withdraw their joins. */
static void a_job_whose_joins_are_cancelled_names_the_user(void **state)
{
    (void)state;
    node_begin("6", 0, NULL);
    joins_from(2, 20, 3, 0);
    joins_from(3, 30, 3, 2);
    node_pass(NULL, SECOND);
    cancel(0);
    unjoin(2, 20);
    unjoin(3, 30);
    assert_null(node.core->registry->jobs);
    node_pass(NULL, SECOND);
    expect_unformed(TD_ERR_CANCELLED,
                    "job job: its joins were cancelled by user 0 on node 5 (5): the input is "
                    "wrong; 1 of 3 ranks had never joined: rank 1");
    node_end();
}

static void a_user_who_may_not_cancel_is_not_named(void **state)
{
    (void)state;
    node_begin("6", 0, NULL);
    joins_from(2, 20, 3, 0);
    node_pass(NULL, SECOND);
    cancel(4242);
    unjoin(2, 20);
    node_pass(NULL, SECOND);
    expect_unformed(TD_ERR_CANCELLED, "job job: its processes ended or were cancelled, and 2 of 3");
    node_end();
}

/* A join that comes after a cancellation is not cancelled by it. */
static void a_join_after_a_cancellation_has_a_reason_of_its_own(void **state)
{
    (void)state;
    node_begin("6", 0, NULL);
    joins_from(2, 20, 3, 0);
    node_pass(NULL, SECOND);
    cancel(0);
    joins_from(3, 30, 3, 2);
    unjoin(2, 20);
    unjoin(3, 30);
    node_pass(NULL, SECOND);
    expect_unformed(TD_ERR_CANCELLED, "job job: its processes ended or were cancelled, and 1 of 3");
    node_end();
}

/* The refusals of a job with more ranks than a step has room for. */
static void all_ranks_of_a_job_hear_the_same_reason(void **state)
{
    (void)state;
    enum { JOINED = 300 };
    uint32_t refused = 0, steps = 0;
    node_begin("4", 0, NULL);
    for (uint32_t i = 0; i < JOINED; i++)
        joins_from(2 + i % 2, 20 + i, JOINED + 1, i);
    for (uint64_t ns = 10LL * SECOND; node.core->registry->jobs; ns = 1, steps++) {
        node_forget();
        node_pass(NULL, ns);
        for (uint32_t i = 0; i < node.sents; i++) {
            const struct td_message *q = &node.sent[i].message;
            assert_int_equal(q->kind, TD_MESSAGE_REFUSE);
            assert_int_equal(q->u.refuse.error, TD_ERR_TIMEOUT);
            if (node.core->registry->jobs) /* else the sentence is freed */
                assert_string_equal(q->u.refuse.text,
                                    "job job: 1 of 301 ranks did not join in time: rank 300");
            refused++;
        }
    }
    assert_int_equal(refused, JOINED);
    assert_true(steps > 1);
    node_end();
}

/* A job that forms after all has a note and a record of its own kind only. */
static void a_job_that_forms_late_leaves_no_record_of_its_failure(void **state)
{
    (void)state;
    struct td_message m = {.kind = TD_MESSAGE_UNJOIN};
    struct td_note note;
    uint64_t lost = 0;
    node_begin("4", 0, NULL);
    joins_from(2, 20, 2, 0);
    joins_from(3, 30, 2, 1); /* both are asked, and one leaves */
    m.u.unjoin.token = 20;
    node_message(2, &m);
    joins_from(2, 21, 2, 0);
    joins_answer();
    assert_int_equal(node.core->registry->jobs->state, TD_JOB_FORMED);
    assert_false(td_core_take_note(node.core, &note, &lost));
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_times_out_before_it_forms_leaves_a_record),
        cmocka_unit_test(a_job_whose_processes_end_before_it_forms_leaves_a_record),
        cmocka_unit_test(a_job_whose_nodes_are_lost_before_it_forms_leaves_a_record),
        cmocka_unit_test(a_job_whose_ranks_come_and_go_leaves_a_record),
        cmocka_unit_test(a_job_whose_joins_are_cancelled_names_the_user),
        cmocka_unit_test(a_user_who_may_not_cancel_is_not_named),
        cmocka_unit_test(a_join_after_a_cancellation_has_a_reason_of_its_own),
        cmocka_unit_test(all_ranks_of_a_job_hear_the_same_reason),
        cmocka_unit_test(a_job_that_forms_late_leaves_no_record_of_its_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
