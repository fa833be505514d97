/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon that did not run for a time: its timers expire before it has read what the others sent
 * meanwhile. It judges nobody by that time. */
#include "node.h"

#include "core/core.h"
#include "core/inspect.h"
#include "core/membership/communicator_losses.h"
#include "core/membership/waits.h"
#include "core/recorder.h"
#include "core/operation/operation.h"
#include "core/operation/stall.h"

enum { NODES = 4, PEER = 1 };

static uint64_t limit, beat;

static void step(const struct td_event *event)
{
    td_core_step(node.core, node.core->now, event, &node.actions);
    node_run();
}

static void wake_at(td_time at)
{
    td_core_step(node.core, at, &(struct td_event){.kind = TD_EVENT_WAKE}, &node.actions);
    node_run();
}

/* pass lets time pass in which the daemon runs. */
static void pass(uint64_t ns)
{
    td_time until = node.core->now + ns;
    for (td_time at; (at = td_core_deadline(node.core)) <= until;)
        wake_at(at > node.core->now ? at : node.core->now);
    wake_at(until);
}

/* pause lets time pass in which it does not; then the timers come first. */
static void pause_for(uint64_t ns)
{
    wake_at(node.core->now + ns);
}

static void hear(uint32_t from)
{
    struct td_message m = {.kind = TD_MESSAGE_HEARTBEAT};
    step(
        &(struct td_event){.kind = TD_EVENT_TREE_MESSAGE, .u.tree = {.node = from, .message = &m}});
}

static void record_events(struct td_settings *s)
{
    s->trace_events = 64;
}

static void begin(void)
{
    node_begin("4", 0, record_events);
    limit = (uint64_t)node.core->settings.progress_timeout_ns;
    beat = (uint64_t)node.core->settings.heartbeat_ns;
    for (uint32_t n = 1; n < NODES; n++)
        step(&(struct td_event){.kind = TD_EVENT_LINK_UP,
                                .u.link = {.node = n, .incarnation = n + 1}});
    node_forget();
}

/* group makes the group of all nodes. Its client has said HELLO. */
static struct td_communicator *group(void)
{
    struct td_communicator *c = node_group(NODES);
    struct td_request q = {.kind = TD_REQUEST_HELLO, .id = 1};
    step(&(struct td_event){.kind = TD_EVENT_CLIENT_REQUEST,
                            .u.request = {.client = NODE_CLIENT, .request = &q}});
    node_forget();
    return c;
}

static void silent_node_is_given_up_by_a_daemon_that_runs(void **state)
{
    (void)state;
    begin();
    pass(limit - beat);
    assert_int_equal(node.dropped_links, 0);
    pass(3 * beat);
    assert_true(node.dropped_links > 0);
    node_end();
}

/* On a slow link a packet may take longer than progress_timeout. */
static void node_whose_bytes_arrive_is_not_silent(void **state)
{
    const struct td_packet packet = {.kind = TD_PACKET_DATA, .bytes = 1 << 18};
    (void)state;
    begin();
    for (uint64_t passed = 0; passed < 3 * limit; passed += beat) {
        pass(beat);
        for (uint32_t n = 1; n < NODES; n++)
            step(&(struct td_event){.kind = TD_EVENT_ARRIVING,
                                    .u.arriving = {.node = n, .packet = &packet}});
    }
    assert_int_equal(node.dropped_links, 0);
    pass(limit + 2 * beat);
    assert_true(node.dropped_links > 0);
    node_end();
}

static void daemon_that_goes_on_reads_before_it_judges(void **state)
{
    (void)state;
    begin();
    pass(beat);
    pause_for(3 * limit);
    assert_int_equal(node.dropped_links, 0);
    for (uint32_t n = 1; n < NODES; n++)
        hear(n);
    pass(limit - beat);
    assert_int_equal(node.dropped_links, 0);
    node_end();
}

static void silent_node_is_given_up_also_after_a_pause(void **state)
{
    (void)state;
    begin();
    pass(beat);
    pause_for(3 * limit);
    pass(limit + 2 * beat);
    assert_true(node.dropped_links > 0);
    node_end();
}

static void short_delays_are_no_pauses(void **state)
{
    (void)state;
    begin();
    for (uint64_t passed = 0; passed < limit + 2 * beat; passed += beat + beat / 4)
        pause_for(beat + beat / 4);
    assert_true(node.dropped_links > 0);
    node_end();
}

static void link_that_was_down_has_its_time_left_after_a_pause(void **state)
{
    (void)state;
    begin();
    struct td_communicator *c = group();
    step(&(struct td_event){.kind = TD_EVENT_LINK_DOWN, .u.link = {.node = PEER, .text = "cut"}});
    pass(limit / 2);
    pause_for(3 * limit);
    assert_false(node_doubts(c, PEER));
    pass(limit / 2 - 2 * beat);
    assert_false(node_doubts(c, PEER));
    pass(3 * beat);
    assert_true(node_doubts(c, PEER));
    node_end();
}

/* lose_after returns the group of all nodes after a pause of `ns`, a sign of life from every node,
 * and the loss of PEER, which nobody has proven. */
static struct td_communicator *lose_after(uint64_t ns)
{
    struct td_communicator *c = group();
    pause_for(ns);
    for (uint32_t n = 1; n < NODES; n++)
        hear(n);
    td_communicator_lose_node(node.core, c, PEER, false, "refused");
    assert_int_equal(c->state, TD_COMMUNICATOR_LOST_NODE);
    return c;
}

static void loss_that_follows_a_pause_names_the_pause(void **state)
{
    (void)state;
    begin();
    struct td_communicator *c = lose_after(2 * limit);
    assert_non_null(strstr(c->text, "lost node 1 (1): refused; node 0 (0) had not run for "));
    node_end();
}

/* Nobody has given this node up meanwhile, so the sentence would accuse it falsely. */
static void loss_that_follows_a_short_pause_does_not_name_it(void **state)
{
    (void)state;
    begin();
    struct td_communicator *c = lose_after(limit / 4);
    assert_null(strstr(c->text, "had not run"));
    node_end();
}

static void client_without_hello_has_its_time_left_after_a_pause(void **state)
{
    (void)state;
    begin();
    (void)node_client(NODE_CLIENT);
    node.replies = 0;
    pass(beat);
    pause_for(3 * limit);
    assert_int_equal(node.replies, 0);
    pass(3 * limit / 2);
    node.sents = 0; /* questions to the nodes that do not answer */
    pass(3 * limit / 2);
    assert_int_equal(node.replies, 1);
    assert_int_equal(node.reply.error, TD_ERR_TIMEOUT);
    node_end();
}

static void operation_is_not_stalled_by_a_pause(void **state)
{
    (void)state;
    begin();
    struct td_communicator *c = group();
    node_call(c, -1);
    struct td_operation *o = c->operation[0];
    td_time before = o->progress_at, appeal = o->appeal_at;
    o->verdict_at = before + beat;
    pass(beat / 2);
    td_time due = td_core_deadline(node.core);
    pause_for(3 * limit);
    assert_int_equal(o->progress_at - before, node.core->now - due);
    assert_int_equal(o->verdict_at, before + beat + node.core->now - due);
    assert_int_equal(o->appeal_at, appeal); /* never */
    node_end();
}

/* A link with a rate may be behind its time: its next turn was due before the last step, at which
 * the daemon ran. The operations would else have made progress in the future. */
static void a_turn_that_is_overdue_is_no_pause_before_the_last_step(void **state)
{
    (void)state;
    begin();
    struct td_communicator *c = group();
    node_call(c, -1);
    pass(10 * beat);
    node.core->alarm = node.core->now - 5 * beat;
    assert_int_equal(td_core_late(node.core, node.core->now + beat), beat);
    pause_for(beat);
    assert_true(c->operation[0]->progress_at <= node.core->now);
    node_end();
}

/* latest returns the latest event of the flight recorder of a kind, or NULL. */
static const struct td_trace_event *latest(enum td_trace_kind kind)
{
    const struct td_recorder *r = node.core->recorder;
    for (uint64_t n = r->next; n-- > 1;)
        if (r->ring[n & r->mask].kind == kind)
            return &r->ring[n & r->mask];
    return NULL;
}

/* close_after lets the daemon not run for a time. Then it reads that its client, whose call waits,
 * has closed the connection. */
static void close_after(uint64_t ns)
{
    begin();
    struct td_communicator *c = group();
    node_call(c, -1);
    assert_non_null(latest(TD_TRACE_CALL));
    assert_null(latest(TD_TRACE_RETURN));
    pause_for(ns);
    step(&(struct td_event){.kind = TD_EVENT_CLIENT_CLOSED, .u.closed = {.client = NODE_CLIENT}});
}

/* said returns true if a note for the log has a sentence. */
static bool said(const char *part)
{
    struct td_note note;
    uint64_t lost = 0;
    bool found = false;
    while (td_notes_take(node.core->notes, &note, &lost))
        found = found || strstr(note.text, part);
    return found;
}

static void a_rank_that_gave_a_paused_daemon_up_is_recorded_with_the_pause(void **state)
{
    (void)state;
    close_after(12 * beat * 2);
    assert_in_range(latest(TD_TRACE_DIED)->a, 11 * beat * 2, 12 * beat * 2);
    assert_in_range(node.core->waits[0].died_paused_ns, 11 * beat * 2, 12 * beat * 2);
    assert_true(said("s, and rank 0 of job job gave it up or died: process "));
    node_end();
    close_after(4 * beat); /* the library was not impatient yet */
    assert_int_equal(latest(TD_TRACE_DIED)->a, 0);
    assert_int_equal(node.core->waits[0].died_paused_ns, 0);
    node_end();
}

/* outage returns an outage of the only job, or NULL. */
static const struct td_wait_outage *outage(void)
{
    const struct td_wait_outage *o = node.core->waits[0].outage;
    return o->kind ? o : NULL;
}

/* Other nodes tell that this one was silent, and cannot tell why. A job has only what was since it
 * formed. */
static void a_pause_is_on_record_at_the_jobs_of_the_node(void **state)
{
    (void)state;
    begin();
    pass(4 * beat);
    struct td_communicator *c = group();
    pause_for(beat);
    assert_null(outage()); /* too short to be told */
    pass(4 * beat);
    td_time from = node.core->now;
    pause_for(24 * beat);
    assert_int_equal(outage()->kind, TD_OUTAGE_PAUSED);
    assert_int_equal(outage()->count, 1);
    assert_int_equal(outage()->to, node.core->now);
    assert_in_range(outage()->ns, 23 * beat, 24 * beat);
    assert_in_range(outage()->from, from, from + beat);
    pass(beat);
    pause_for(12 * beat);
    assert_int_equal(outage()->count, 2);
    assert_in_range(outage()->longest_ns, 23 * beat, 24 * beat);
    *c->waits->outage = (struct td_wait_outage){.kind = TD_OUTAGE_NONE};
    c->waits->formed_at = node.core->now + 20 * beat;
    pause_for(24 * beat);
    assert_int_equal(outage()->ns, 4 * beat);
    node_end();
}

/* Another node that has not heard of the loss calls for the job, whose ranks here are all gone. */
static void a_job_that_is_over_tells_that_its_daemon_was_given_up(void **state)
{
    static const char *const told[] = {
        "all ranks on node 0 (0) are gone: rank 0 died first: process ",
        "all ranks on node 0 (0) are gone: torusd there did not run "};
    (void)state;
    for (unsigned paused = 0; paused < 2; paused++) {
        close_after(paused ? 24 * beat : 0);
        struct td_message m = {.kind = TD_MESSAGE_REPORT, .instance = node.core->waits[0].world};
        node_forget();
        node_message(PEER, &m);
        const struct td_message *answer = node_sent_to(PEER, TD_MESSAGE_RANK_LOST);
        assert_non_null(answer);
        assert_non_null(strstr(answer->u.rank_lost.text, told[paused]));
        assert_true(!paused ||
                    strstr(answer->u.rank_lost.text, " s, and rank 0 gave it up or died"));
        node_end();
    }
}

/* Beside other load, the daemon is late again before it has read that the rank has closed. */
static void a_short_pause_after_a_long_one_does_not_hide_it(void **state)
{
    (void)state;
    for (unsigned read = 0; read < 2; read++) {
        begin();
        struct td_communicator *c = group();
        node_call(c, -1);
        pause_for(24 * beat);
        if (read)
            pass(4 * beat); /* the sockets have been read */
        pause_for(3 * beat);
        step(&(struct td_event){.kind = TD_EVENT_CLIENT_CLOSED,
                                .u.closed = {.client = NODE_CLIENT}});
        if (read)
            assert_int_equal(node.core->waits[0].died_paused_ns, 0);
        else
            assert_in_range(node.core->waits[0].died_paused_ns, 22 * beat, 24 * beat);
        node_end();
    }
}

static void the_call_of_a_rank_that_is_gone_is_over(void **state)
{
    (void)state;
    close_after(0);
    const struct td_trace_event *call = latest(TD_TRACE_CALL), *end = latest(TD_TRACE_RETURN);
    assert_non_null(end);
    assert_true(end->sequence == call->sequence && end->subject == call->subject);
    assert_int_equal(end->a, 1);
    assert_int_equal(end->error, -TD_ERR_RANK_FAILED);
    node_end();
}

/* torusctl must not say since when a node is silent that this one has never heard. */
static void a_node_that_was_never_heard_stays_so(void **state)
{
    static struct td_reply page;
    (void)state;
    node_begin("4", 0, NULL);
    step(&(struct td_event){.kind = TD_EVENT_LINK_UP, .u.link = {.node = PEER, .incarnation = 2}});
    wake_at((td_time)node.core->settings.heartbeat_ns);
    pause_for(3 * (uint64_t)node.core->settings.heartbeat_ns);
    assert_true(node.core->paused_ns > 0);
    assert_true(td_inspect_page(node.core, 1000, true, TD_STATUS_PEERS, 0, &page));
    assert_int_equal(page.u.status.rows, NODES - 1);
    for (uint32_t i = 0; i < page.u.status.rows; i++) {
        const struct td_row_peer *r = &page.u.status.row[i].u.peer;
        assert_true((r->silent_ns > 0) == (r->node == PEER));
    }
    node_end();
}

static char stopped(uint64_t pid)
{
    (void)pid;
    return 'T';
}

/* A rank that has called may be stopped, too: the next call will wait for it. */
static void the_state_of_each_process_is_told(void **state)
{
    static struct td_reply page;
    (void)state;
    begin();
    struct td_communicator *c = group();
    node_call(c, -1);
    node.core->options.process_state = stopped;
    assert_true(td_inspect_page(node.core, 1000, true, TD_STATUS_CLIENTS, 0, &page));
    assert_int_equal(page.u.status.rows, 1);
    assert_int_equal(page.u.status.row[0].u.client.process_state, 'T');
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_was_never_heard_stays_so),
        cmocka_unit_test(silent_node_is_given_up_by_a_daemon_that_runs),
        cmocka_unit_test(node_whose_bytes_arrive_is_not_silent),
        cmocka_unit_test(daemon_that_goes_on_reads_before_it_judges),
        cmocka_unit_test(silent_node_is_given_up_also_after_a_pause),
        cmocka_unit_test(short_delays_are_no_pauses),
        cmocka_unit_test(link_that_was_down_has_its_time_left_after_a_pause),
        cmocka_unit_test(loss_that_follows_a_pause_names_the_pause),
        cmocka_unit_test(loss_that_follows_a_short_pause_does_not_name_it),
        cmocka_unit_test(client_without_hello_has_its_time_left_after_a_pause),
        cmocka_unit_test(operation_is_not_stalled_by_a_pause),
        cmocka_unit_test(a_rank_that_gave_a_paused_daemon_up_is_recorded_with_the_pause),
        cmocka_unit_test(a_pause_is_on_record_at_the_jobs_of_the_node),
        cmocka_unit_test(a_job_that_is_over_tells_that_its_daemon_was_given_up),
        cmocka_unit_test(a_short_pause_after_a_long_one_does_not_hide_it),
        cmocka_unit_test(the_call_of_a_rank_that_is_gone_is_over),
        cmocka_unit_test(the_state_of_each_process_is_told),
        cmocka_unit_test(a_turn_that_is_overdue_is_no_pause_before_the_last_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
