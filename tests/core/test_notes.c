/* SPDX-License-Identifier: Apache-2.0 */
/* What the core notes for the log: core/notes.h. */
#include "node.h"

#include "core/core.h"
#include "core/membership/communicator_losses.h"
#include "core/membership/waits.h"
#include "core/net/goodbye.h"

enum { GROUP = 3 };
static const int64_t SECOND = 1000000000;

static struct td_note note;
static uint64_t lost;

/* take takes the next note, which is to be of this kind. */
static void take(enum td_note_kind kind)
{
    assert_true(td_core_take_note(node.core, &note, &lost));
    assert_int_equal(note.kind, kind);
    assert_int_equal(lost, 0);
}

static struct td_communicator *begin(uint32_t at)
{
    node_begin("3", at, NULL);
    struct td_communicator *c = node_group(GROUP);
    take(TD_NOTE_JOB_FORMED);
    assert_int_equal(note.size, GROUP);
    assert_string_equal(note.job, c->name);
    return c;
}

static void end(void)
{
    assert_false(td_core_take_note(node.core, &note, &lost));
    node_end();
}

static struct td_message about(const struct td_communicator *c, enum td_message_kind kind)
{
    return (struct td_message){.kind = kind, .instance = c->instance, .group = c->index};
}

/* The root knows that rank 1 has called, and notes that only rank 2 has not. */
static void a_timeout_names_the_rank_that_has_not_called(void **state)
{
    (void)state;
    struct td_communicator *c = begin(0);
    node_call(c, SECOND);
    struct td_message m = about(c, TD_MESSAGE_ARRIVE);
    m.u.arrive.least = m.u.arrive.greatest = node_barrier(1);
    node_message(1, &m);
    node_pass(c, 1001000000);
    node_pass(c, 500000000); /* the root asks once more before it ends the operation */
    take(TD_NOTE_FAILED);
    assert_int_equal(note.error, TD_ERR_TIMEOUT);
    assert_int_equal(note.rank, 2);
    assert_int_equal(note.node, 2);
    assert_int_equal(note.operation, 0);
    assert_true(note.age_ns >= (uint64_t)SECOND);
    assert_string_equal(note.text, node.text); /* the sentence that the rank reads */
    end();
}

/* time_out makes a call that the other ranks do not make, and takes the note of its failure. */
static void time_out(struct td_communicator *c)
{
    node_call(c, SECOND);
    node_pass(c, 1001000000);
    node_pass(c, 500000000); /* the root asks once more before it ends the operation */
    take(TD_NOTE_FAILED);
}

static void two_missing_ranks_have_no_single_culprit(void **state)
{
    (void)state;
    struct td_communicator *c = begin(0);
    time_out(c);
    assert_int_equal(note.rank, TD_NOTE_NONE);
    assert_int_equal(note.node, TD_NOTE_NONE);
    assert_non_null(strstr(note.text, "ranks 1-2"));
    end();
}

/* Another node has found that calls differ. This one knows of calls that agree only: it blames no
 * rank, but says where its own rank runs, which the sentence may name. */
static void calls_that_differ_elsewhere_blame_nobody_here(void **state)
{
    (void)state;
    struct td_communicator *c = begin(1);
    c->seat[0].pid = 4711;
    node_call(c, -1);
    struct td_message m = about(c, TD_MESSAGE_VERDICT);
    m.u.verdict = (struct td_message_verdict){.error = TD_ERR_MISMATCH,
                                              .text = "rank 1 called barrier, but rank 2"};
    node_message(0, &m);
    take(TD_NOTE_FAILED);
    assert_int_equal(note.error, TD_ERR_MISMATCH);
    assert_int_equal(note.rank, TD_NOTE_NONE);
    unsigned rows = 0; /* no rank was late: one row only */
    for (unsigned i = 0; i < TD_WAITS_ROWS; i++) {
        const struct td_wait *row = &c->waits->row[i];
        if (!row->kind)
            continue;
        rows++;
        assert_int_equal(row->rank, 1);
        assert_int_equal(row->node, 1);
        assert_int_equal(row->pid, 4711);
        assert_int_equal(row->ns + row->last, 0);
    }
    assert_int_equal(rows, 1);
    end();
}

/* Only two of the calls are kept: the one that differs may be that of either rank. */
static void two_calls_that_differ_have_no_single_culprit(void **state)
{
    (void)state;
    struct td_communicator *c = begin(0);
    node_call(c, -1);
    struct td_message m = about(c, TD_MESSAGE_ARRIVE);
    m.u.arrive.least = m.u.arrive.greatest =
        (struct td_witness){.call = {.kind = TD_KIND_BROADCAST, .count = 8}, .rank = 2};
    node_message(2, &m);
    take(TD_NOTE_FAILED);
    assert_int_equal(note.error, TD_ERR_MISMATCH);
    assert_int_equal(note.rank, TD_NOTE_NONE);
    assert_int_equal(note.node, TD_NOTE_NONE);
    assert_non_null(strstr(note.text, "rank 0 called barrier"));
    assert_non_null(strstr(note.text, "rank 2 called broadcast"));
    end();
}

static void a_lost_node_is_noted_without_a_rank(void **state)
{
    (void)state;
    struct td_communicator *c = begin(0);
    node_call(c, -1);
    td_communicator_lose_node(node.core, c, 2, true, "its daemon was restarted");
    node_run();
    take(TD_NOTE_FAILED);
    assert_int_equal(note.error, TD_ERR_NODE_FAILED);
    assert_int_equal(note.node, 2);
    assert_int_equal(note.rank, TD_NOTE_NONE);
    end();
}

static void a_lost_rank_is_noted_with_its_node(void **state)
{
    (void)state;
    struct td_communicator *c = begin(1);
    node_call(c, -1);
    struct td_message m = about(c, TD_MESSAGE_RANK_LOST);
    m.u.rank_lost = (struct td_message_rank_lost){
        .rank = 2, .error = TD_ERR_RANK_FAILED, .text = "rank 2 of job x died"};
    node_message(0, &m);
    take(TD_NOTE_FAILED);
    assert_int_equal(note.error, TD_ERR_RANK_FAILED);
    assert_int_equal(note.rank, 2);
    assert_int_equal(note.node, 2);
    assert_string_equal(note.text, "rank 2 of job x died");
    end();
}

static void a_death_is_noted_at_the_node_of_the_rank(void **state)
{
    (void)state;
    begin(1);
    td_client_close(node.core, NODE_CLIENT);
    node_run();
    take(TD_NOTE_RANK_DIED);
    assert_int_equal(note.rank, 1);
    assert_int_equal(note.node, 1);
    assert_non_null(strstr(note.text, "rank 1 of job "));
    end();
}

/* stop stops the daemon; no other node answers its goodbye. */
static void stop(void)
{
    node_step(&(struct td_event){.kind = TD_EVENT_STOP});
    node.core->now += TD_GOODBYE_NS;
    node_step(&(struct td_event){.kind = TD_EVENT_WAKE});
}

/* Whoever looks for a job in the journal of a daemon that was stopped finds how it ended there. */
static void a_daemon_that_stops_notes_the_end_of_its_jobs(void **state)
{
    (void)state;
    begin(1);
    stop();
    take(TD_NOTE_JOB_ENDED);
    assert_int_equal(note.error, TD_OK);
    assert_string_equal(note.text, "it stopped while 1 of them was connected");
    end();
    struct td_communicator *c = begin(1);
    node_call(c, -1);
    stop();
    take(TD_NOTE_FAILED);
    take(TD_NOTE_JOB_ENDED);
    assert_int_equal(note.error, TD_ERR_NODE_FAILED);
    assert_non_null(strstr(note.text, "was stopped by its operator"));
    end();
}

/* A process that ends after it was told of the loss of another rank is not called dead. */
static void a_process_that_ends_after_its_call_failed_is_noted_so(void **state)
{
    (void)state;
    struct td_communicator *c = begin(1);
    node_call(c, -1);
    struct td_message m = about(c, TD_MESSAGE_RANK_LOST);
    m.u.rank_lost = (struct td_message_rank_lost){
        .rank = 2, .error = TD_ERR_RANK_FAILED, .text = "rank 2 of job x died"};
    node_message(0, &m);
    take(TD_NOTE_FAILED);
    td_client_close(node.core, NODE_CLIENT);
    node_run();
    take(TD_NOTE_RANK_DIED);
    assert_int_equal(note.rank, 1);
    assert_non_null(strstr(note.text, " ended after its call had failed: process "));
    take(TD_NOTE_JOB_ENDED);
    assert_int_equal(note.error, TD_ERR_RANK_FAILED);
    assert_int_equal(note.rank, 2); /* that of the first failure */
    assert_int_equal(note.node, 2);
    end();
}

/* A rank that calls after a failure, and ends while it waits, has died. */
static void a_process_that_has_called_again_since_its_failure_dies(void **state)
{
    (void)state;
    struct td_communicator *c = begin(0);
    time_out(c);
    node_call(c, -1);
    td_client_close(node.core, NODE_CLIENT);
    node_run();
    take(TD_NOTE_RANK_DIED);
    assert_non_null(strstr(note.text, " died: process "));
    take(TD_NOTE_FAILED);
    take(TD_NOTE_JOB_ENDED);
    end();
}

/* A failure long ago acquits nobody: calls in the segment may have succeeded since. */
static void a_process_that_ends_long_after_its_call_failed_dies(void **state)
{
    (void)state;
    struct td_communicator *c = begin(0);
    time_out(c);
    node_pass(c, 5 * (uint64_t)SECOND);
    td_client_close(node.core, NODE_CLIENT);
    node_run();
    take(TD_NOTE_RANK_DIED);
    assert_non_null(strstr(note.text, " died: process "));
    take(TD_NOTE_JOB_ENDED);
    end();
}

static void the_end_of_a_job_is_noted(void **state)
{
    (void)state;
    char job[TD_NAME_MAX];
    node_begin("1", 0, NULL);
    memcpy(job, node_group(1)->name, sizeof job);
    take(TD_NOTE_JOB_FORMED);
    td_client_close(node.core, NODE_CLIENT);
    node_run();
    take(TD_NOTE_RANK_DIED);
    take(TD_NOTE_JOB_ENDED);
    assert_string_equal(note.job, job);
    assert_int_equal(note.error, TD_OK);
    assert_int_equal(note.rank, 0); /* no call failed here, but a rank died */
    assert_int_equal(note.node, 0);
    assert_non_null(strstr(note.text, "rank 0 died 0.000 s before: process "));
    end();
    node_begin("1", 0, NULL); /* the daemon did not run, and the rank may have given it up */
    node_group(1);
    node.core->now += 20 * (uint64_t)SECOND;
    node.core->given_up_ns = 12 * (uint64_t)SECOND;
    node.core->given_up_until = node.core->now + 1;
    td_client_close(node.core, NODE_CLIENT);
    node_run();
    take(TD_NOTE_JOB_FORMED);
    take(TD_NOTE_RANK_DIED);
    take(TD_NOTE_JOB_ENDED);
    assert_non_null(strstr(note.text,
                           "torusd did not run for 12.0 s, and rank 0 gave it up or died "
                           "meanwhile, noticed 0.000 s before: process "));
    end();
}

/* No call was in flight when the rank died: the next one fails, and is noted once. */
static void the_first_call_after_a_death_is_noted_as_failed(void **state)
{
    (void)state;
    struct td_communicator *c = begin(1);
    struct td_message m = about(c, TD_MESSAGE_RANK_LOST);
    m.u.rank_lost = (struct td_message_rank_lost){
        .rank = 2, .error = TD_ERR_RANK_FAILED, .text = "rank 2 of job x died"};
    node_message(0, &m);
    node_call(c, -1);
    take(TD_NOTE_FAILED);
    assert_int_equal(note.error, TD_ERR_RANK_FAILED);
    assert_int_equal(note.operation, 0);
    assert_int_equal(note.rank, 2);
    assert_int_equal(note.node, 2);
    assert_string_equal(note.text, "rank 2 of job x died");
    node_call(c, -1); /* it has no note, and its reply says what the log names */
    assert_string_equal(node.reply.failed->job, c->name);
    assert_int_equal(node.reply.failed->group, 0);
    assert_int_equal(node.reply.failed->operation, 1);
    end();
}

static void a_job_whose_ranks_leave_ends_without_a_death(void **state)
{
    (void)state;
    node_begin("1", 0, NULL);
    node_leave(node_group(1));
    take(TD_NOTE_JOB_FORMED);
    take(TD_NOTE_JOB_ENDED);
    assert_int_equal(note.rank, TD_NOTE_NONE);
    assert_string_equal(note.text, "");
    end();
}

static void notes_without_room_are_counted(void **state)
{
    (void)state;
    static struct td_notes notes;
    for (int i = 0; i < TD_NOTES_MAX; i++)
        td_notes_add(&notes, TD_NOTE_FAILED)->operation = (uint64_t)i;
    assert_null(td_notes_add(&notes, TD_NOTE_FAILED));
    assert_null(td_notes_add(&notes, TD_NOTE_FAILED));
    for (int i = 0; i < TD_NOTES_MAX; i++) {
        assert_true(td_notes_take(&notes, &note, &lost));
        assert_int_equal(note.operation, i);
        assert_int_equal(lost, i ? 0 : 2);
    }
    assert_false(td_notes_take(&notes, &note, &lost));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timeout_names_the_rank_that_has_not_called),
        cmocka_unit_test(two_missing_ranks_have_no_single_culprit),
        cmocka_unit_test(calls_that_differ_elsewhere_blame_nobody_here),
        cmocka_unit_test(two_calls_that_differ_have_no_single_culprit),
        cmocka_unit_test(a_lost_node_is_noted_without_a_rank),
        cmocka_unit_test(a_lost_rank_is_noted_with_its_node),
        cmocka_unit_test(a_death_is_noted_at_the_node_of_the_rank),
        cmocka_unit_test(a_daemon_that_stops_notes_the_end_of_its_jobs),
        cmocka_unit_test(a_process_that_ends_after_its_call_failed_is_noted_so),
        cmocka_unit_test(a_process_that_has_called_again_since_its_failure_dies),
        cmocka_unit_test(a_process_that_ends_long_after_its_call_failed_dies),
        cmocka_unit_test(the_end_of_a_job_is_noted),
        cmocka_unit_test(a_job_whose_ranks_leave_ends_without_a_death),
        cmocka_unit_test(the_first_call_after_a_death_is_noted_as_failed),
        cmocka_unit_test(notes_without_room_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
