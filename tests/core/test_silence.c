/* SPDX-License-Identifier: Apache-2.0 */
/* A call that waited because a node could not be heard: the silence is charged, and not the rank
 * that seemed to call last. */
#include "node.h"

#include "core/core.h"
#include "core/membership/waits.h"
#include "core/net/silence.h"
#include "core/net/link.h"
#include "core/recorder.h"

enum { NODES = 3 };
static const uint64_t SECOND = 1000000000;

static struct td_communicator *c;
static uint64_t number; /* of the operation that messages are about */

static void record_events(struct td_settings *s)
{
    s->trace_events = 64;
}

/* begin_with makes node `at`, with a connection to the nodes of a mask. */
static void begin_with(uint32_t at, uint32_t nodes)
{
    node_begin("3", at, record_events);
    number = 0;
    for (uint32_t n = 0; n < NODES; n++)
        if (n != at && (nodes >> n & 1))
            node_step(&(struct td_event){.kind = TD_EVENT_LINK_UP,
                                         .u.link = {.node = n, .incarnation = n + 1}});
    c = node_group(NODES);
    struct td_request q = {.kind = TD_REQUEST_HELLO, .id = 1};
    node_step(&(struct td_event){.kind = TD_EVENT_CLIENT_REQUEST,
                                 .u.request = {.client = NODE_CLIENT, .request = &q}});
    node_hear(nodes & ~(1u << at), 2 * SECOND);
    node_forget();
}

static void begin(uint32_t at)
{
    begin_with(at, 7);
}

static void say(uint32_t from, struct td_message *m)
{
    m->instance = c->instance;
    m->group = c->index;
    m->sequence = number;
    node_step(
        &(struct td_event){.kind = TD_EVENT_TREE_MESSAGE, .u.tree = {.node = from, .message = m}});
}

static void arrive(uint32_t from)
{
    struct td_message m = {.kind = TD_MESSAGE_ARRIVE, .u.arrive.last = from + 1};
    m.u.arrive.least = m.u.arrive.greatest = node_barrier(from);
    say(from, &m);
}

/* row returns what is charged to a rank (silent 0), or to a silent node (plus 1) that kept the rank
 * from being heard; NULL: nothing is. */
static const struct td_wait *row(uint32_t rank, uint32_t silent)
{
    const struct td_waits_job *j = c->waits;
    for (uint32_t i = 0; i < (silent ? TD_WAITS_SILENCES : TD_WAITS_ROWS); i++) {
        const struct td_wait *w = silent ? &j->silence[i].wait : &j->row[i];
        if (w->kind && w->rank == rank && w->silent == silent && w->ns)
            return w;
    }
    return NULL;
}

/* silences returns the silences of a node that ranks of this node waited in. */
static const struct td_wait_silence *silences(uint32_t of)
{
    for (uint32_t i = 0; i < TD_WAITS_SILENCES; i++)
        if (c->waits->silence[i].wait.silent == of + 1)
            return &c->waits->silence[i];
    fail_msg("nobody has waited for node %u", of);
    return NULL;
}

static void expect_about(uint64_t ns, uint64_t expected)
{
    assert_in_range(ns, expected - SECOND / 2, expected + SECOND / 2);
}

static void a_late_rank_of_a_node_that_is_heard_is_charged(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    arrive(1);
    node_hear(6, 5 * SECOND);
    arrive(2);
    expect_about(row(2, 0)->ns, 5 * SECOND);
    assert_null(row(2, 2 + 1));
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_RELEASE);
    assert_int_equal(m->u.release.last, 2 + 1);
    assert_int_equal(m->u.release.silent_node, 0);
    node_end();
}

/* The rank is late by 4 s, and then its node is silent for 3 s. The release tells the others. */
static void the_silence_of_a_node_is_charged_to_the_node(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    arrive(1);
    node_hear(6, 4 * SECOND);
    node_hear(2, 3 * SECOND);
    arrive(2);
    expect_about(row(2, 0)->ns, 4 * SECOND);
    expect_about(row(2, 2 + 1)->ns, 3 * SECOND);
    expect_about(row(2, 2 + 1)->longest_ns, 3 * SECOND);
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_RELEASE);
    assert_int_equal(m->u.release.silent_node, 2 + 1);
    expect_about(m->u.release.silent_ns, 3 * SECOND);
    const struct td_recorder *r = node.core->recorder;
    uint64_t last = r->next - 1;
    while (r->ring[last & r->mask].kind != TD_TRACE_RELEASE)
        last--;
    assert_int_equal(r->ring[last & r->mask].a, 2 + 1);
    expect_about(r->ring[last & r->mask].b, 3 * SECOND);
    node_end();
}

/* A rank that calls 5 s after its node was heard again was late. */
static void a_silence_that_is_over_excuses_nobody(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    arrive(1);
    node_hear(2, 3 * SECOND);
    node_hear(6, 5 * SECOND);
    arrive(2);
    expect_about(row(2, 0)->ns, 8 * SECOND);
    assert_null(row(2, 2 + 1));
    node_end();
}

static void a_link_that_was_down_counts_as_silence(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    arrive(1);
    node_step(&(struct td_event){.kind = TD_EVENT_LINK_DOWN,
                                 .u.link = {.node = 2, .text = "connection reset"}});
    node_hear(2, 3 * SECOND);
    node_step(
        &(struct td_event){.kind = TD_EVENT_LINK_UP, .u.link = {.node = 2, .incarnation = 3}});
    arrive(2);
    expect_about(row(2, 2 + 1)->ns, 3 * SECOND);
    assert_null(row(2, 0));
    node_end();
}

static void lose_link(void)
{
    node_step(&(struct td_event){.kind = TD_EVENT_LINK_DOWN,
                                 .u.link = {.node = 2, .text = "connection reset"}});
}

/* After a cut the node connects first, and is heard while this one still connects: until then it
 * keeps its call back. */
static void a_silence_lasts_until_the_link_is_up_in_both_directions(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    arrive(1);
    node_hear(2, 3 * SECOND);
    lose_link();
    node_hear(2, 3 * SECOND);
    node_hear(6, 2 * SECOND);
    node_step(
        &(struct td_event){.kind = TD_EVENT_LINK_UP, .u.link = {.node = 2, .incarnation = 3}});
    arrive(2);
    expect_about(row(2, 2 + 1)->ns, 8 * SECOND);
    expect_about(silences(2)->longest_ns, 8 * SECOND);
    expect_about(silences(2)->longest_unheard_ns, 6 * SECOND);
    assert_null(row(2, 0));
    node_end();
}

/* A call that failed in a silence has its time; the silence goes on. */
static void a_silence_that_outlasts_its_calls_is_told_when_it_ends(void **state)
{
    (void)state;
    begin(0);
    node_call(c, 3 * (int64_t)SECOND);
    arrive(1);
    node_hear(2, 8 * SECOND);
    expect_about(silences(2)->longest_ns, 3 * SECOND);
    assert_int_equal(silences(2)->longest_heard_ns, 0);
    node_hear(6, SECOND);
    expect_about(silences(2)->longest_ns, 3 * SECOND);
    expect_about(silences(2)->longest_heard_ns, 8 * SECOND);
    node_end();
}

/* ask passes time in which node 2 asks where the session goes on, and has no reply. */
static void ask(uint64_t ns)
{
    struct td_message m = {
        .kind = TD_MESSAGE_RESUME,
        .session = 3,
        .u.resume = {.incarnation = 3, .first = 1, .first_packet = 1, .reply_requested = true}};
    for (td_time until = node.core->now + ns; node.core->now < until;) {
        node_step(&(struct td_event){.kind = TD_EVENT_TREE_MESSAGE,
                                     .u.tree = {.node = 2, .message = &m}});
        node_hear(6, SECOND / 5);
    }
}

/* The replies of this node come late: packets are retransmitted after longer and longer times. */
static void a_silence_lasts_while_the_node_asks_where_to_go_on(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    arrive(1);
    node_hear(2, 3 * SECOND);
    ask(2 * SECOND);
    arrive(2);
    expect_about(row(2, 2 + 1)->ns, 5 * SECOND);
    assert_null(row(2, 0));
    node_end();
}

/* Packets have a connection of their own, which may come back before that of the messages. */
static void a_silence_lasts_until_a_message_comes(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    arrive(1);
    node_hear(2, 3 * SECOND);
    const struct td_packet packet = {.session = 3};
    node_step(&(struct td_event){.kind = TD_EVENT_ARRIVING,
                                 .u.arriving = {.node = 2, .packet = &packet}});
    node_hear(2, SECOND);
    arrive(2);
    expect_about(row(2, 2 + 1)->ns, 4 * SECOND);
    assert_null(row(2, 0));
    node_end();
}

/* A rank that calls long after the link is up again was late. */
static void a_cut_that_is_over_excuses_nobody(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    arrive(1);
    node_hear(2, 3 * SECOND);
    ask(SECOND);
    node_hear(6, 3 * SECOND);
    arrive(2);
    expect_about(row(2, 0)->ns, 7 * SECOND);
    assert_null(row(2, 2 + 1));
    node_end();
}

static void a_connection_that_has_just_ended_is_no_silence(void **state)
{
    (void)state;
    begin(0);
    node_call(c, (int64_t)(4 * SECOND));
    arrive(1);
    node_hear(6, 4 * SECOND - SECOND / 5);
    lose_link();
    node_hear(2, SECOND);
    assert_int_equal(node.reply.error, TD_ERR_TIMEOUT);
    assert_null(row(2, 2 + 1));
    expect_about(row(2, 0)->ns, 4 * SECOND);
    node_end();
}

static void release(uint32_t last, uint32_t silent_node, uint64_t silent_ns)
{
    struct td_message m = {
        .kind = TD_MESSAGE_RELEASE,
        .u.release = {.last = last + 1, .silent_node = silent_node, .silent_ns = silent_ns}};
    say(0, &m);
}

static void a_node_charges_the_silence_that_the_release_tells(void **state)
{
    (void)state;
    begin(1);
    node_call(c, -1);
    node_hear(1, 4 * SECOND);
    release(2, 2 + 1, 3 * SECOND);
    expect_about(row(2, 2 + 1)->ns, 3 * SECOND);
    expect_about(row(2, 0)->ns, SECOND);
    node_end();
}

/* The release was on its way: its sender is silent, and nobody was late. */
static void a_release_that_comes_late_is_charged_to_the_silence_of_its_sender(void **state)
{
    (void)state;
    begin(1);
    node_call(c, -1);
    node_hear(4, 4 * SECOND);
    release(2, 0, 0);
    expect_about(row(2, 0 + 1)->ns, 4 * SECOND);
    assert_null(row(2, 0));
    node_end();
}

static void a_node_that_does_not_exist_is_not_charged(void **state)
{
    (void)state;
    begin(1);
    node_call(c, -1);
    node_hear(5, 4 * SECOND);
    release(2, 1000, 3 * SECOND);
    expect_about(row(2, 0)->ns, 4 * SECOND);
    assert_null(row(2, 1000));
    node_end();
}

/* Nobody waited for longer than the call has lasted, whatever a message tells. */
static void a_silence_without_end_is_charged_for_the_time_of_the_call(void **state)
{
    (void)state;
    begin(1);
    node_call(c, -1);
    node_hear(5, 2 * SECOND);
    node_hear(4, 3 * SECOND);
    release(2, 2 + 1, UINT64_MAX);
    expect_about(row(2, 2 + 1)->ns, 5 * SECOND);
    assert_null(row(2, 0));
    node_end();
}

static void a_daemon_that_did_not_run_charges_itself(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    arrive(1);
    td_core_step(node.core, node.core->now + 5 * SECOND, &(struct td_event){.kind = TD_EVENT_WAKE},
                 &node.actions);
    node_run();
    arrive(2);
    expect_about(row(2, 0 + 1)->ns, 5 * SECOND);
    /* a pause begins when the daemon's next timer is due */
    assert_true(!row(2, 0) || row(2, 0)->ns <= (uint64_t)node.core->settings.heartbeat_ns);
    node_end();
}

/* The operation ends before its release. Rank 1 is late, and rank 2 cannot be heard. */
static void a_failed_call_charges_the_silence_too(void **state)
{
    (void)state;
    begin(0);
    node_call(c, (int64_t)(4 * SECOND));
    node_hear(2, 5 * SECOND);
    assert_int_equal(node.reply.error, TD_ERR_TIMEOUT);
    expect_about(row(1, 0)->ns, 2 * SECOND);
    expect_about(row(2, 2 + 1)->ns, 2 * SECOND);
    assert_null(row(2, 0));
    assert_null(row(1, 1 + 1));
    node_end();
}

/* The root hears node 2 no more, and its verdict tells the others. */
static void the_verdict_tells_of_the_silence(void **state)
{
    (void)state;
    begin(0);
    node_call(c, (int64_t)(4 * SECOND));
    arrive(1);
    node_hear(2, 5 * SECOND);
    const struct td_message *m = node_sent_to(1, TD_MESSAGE_VERDICT);
    assert_non_null(m);
    assert_int_equal(m->u.verdict.silent_node, 2 + 1);
    expect_about(m->u.verdict.silent_ns, 4 * SECOND);
    assert_non_null(strstr(m->u.verdict.text,
                           ": 1 of 3 ranks had not arrived in time: rank 2; node 2 "
                           "(2) has been silent for 4."));
    assert_non_null(strstr(m->u.verdict.text, " s, and its ranks may have called"));
    node_end();
}

/* A rank whose node is heard has not called, whichever other nodes are silent. */
static void the_sentence_does_not_excuse_a_rank_whose_node_is_heard(void **state)
{
    (void)state;
    begin(0);
    node_call(c, (int64_t)(4 * SECOND));
    arrive(1);
    node_hear(4, 5 * SECOND);
    const struct td_message *m = node_sent_to(2, TD_MESSAGE_VERDICT);
    assert_non_null(m);
    assert_non_null(strstr(m->u.verdict.text, ": 1 of 3 ranks had not arrived in time: rank 2"));
    assert_null(strstr(m->u.verdict.text, "silent"));
    node_end();
}

static void verdict(uint32_t silent_node, uint64_t silent_ns)
{
    static const uint8_t others = 3; /* all but rank 2 */
    struct td_message m = {.kind = TD_MESSAGE_WAITING, .u.waiting.arrived = {&others, 1}};
    say(0, &m);
    m = (struct td_message){.kind = TD_MESSAGE_VERDICT,
                            .u.verdict = {.error = TD_ERR_TIMEOUT,
                                          .text = "1 of 3 ranks had not arrived in time",
                                          .silent_node = silent_node,
                                          .silent_ns = silent_ns}};
    say(0, &m);
    assert_int_equal(node.reply.error, TD_ERR_TIMEOUT);
}

/* Node 1 has no connection to node 2: the verdict alone tells whether that one was silent. */
static void a_failed_call_charges_the_silence_that_the_verdict_tells(void **state)
{
    (void)state;
    begin_with(1, 1);
    node_call(c, -1);
    node_hear(1, 4 * SECOND);
    verdict(2 + 1, 3 * SECOND);
    expect_about(row(2, 2 + 1)->ns, 3 * SECOND);
    expect_about(row(2, 0)->ns, SECOND);
    node_end();
}

static void a_failed_call_charges_the_rank_of_a_node_that_was_not_silent(void **state)
{
    (void)state;
    for (uint32_t told = 0; told <= 1000; told += 1000) { /* none, or one that does not exist */
        begin_with(1, 1);
        node_call(c, -1);
        node_hear(1, 4 * SECOND);
        verdict(told, 3 * SECOND);
        expect_about(row(2, 0)->ns, 4 * SECOND);
        assert_null(row(2, 2 + 1));
        node_end();
    }
}

/* The connection to node 2 is made when something needs it, and the first message comes over it. */
static void a_connection_that_was_not_needed_before_ends_no_silence(void **state)
{
    (void)state;
    begin_with(1, 1);
    node_hear(1, 4 * SECOND);
    node_step(
        &(struct td_event){.kind = TD_EVENT_LINK_UP, .u.link = {.node = 2, .incarnation = 3}});
    assert_int_equal(td_silence_delay(node.core, 2), 0);
    node_hear(5, SECOND);
    node_hear(1, 4 * SECOND);
    node_hear(4, SECOND / 5);
    expect_about(td_silence_delay(node.core, 2), 4 * SECOND);
    node_end();
}

/* Only a message from another daemon of the node ends the silence, and the operation with it. */
static void the_silence_of_a_daemon_that_then_died_is_charged_to_its_node(void **state)
{
    (void)state;
    begin(0);
    node_call(c, -1);
    arrive(1);
    node_hear(2, 3 * SECOND);
    node_step(&(struct td_event){.kind = TD_EVENT_LINK_DOWN,
                                 .u.link = {.node = 2, .text = "connection reset"}});
    node_hear(6, SECOND / 5); /* the new daemon connects first, and its link is up a moment later */
    node_step(
        &(struct td_event){.kind = TD_EVENT_LINK_UP, .u.link = {.node = 2, .incarnation = 9}});
    node_hear(6, SECOND);
    assert_int_equal(node.reply.error, TD_ERR_NODE_FAILED);
    expect_about(row(2, 2 + 1)->ns, 3 * SECOND);
    assert_null(row(2, 0));
    expect_about(node_sent_to(1, TD_MESSAGE_NODE_LOST)->u.node_lost.silent_ns, 3 * SECOND);
    node_end();
}

/* Node 1 has no connection to node 2, and learns of the loss from node 0. */
static void the_loss_of_a_node_tells_of_its_silence(void **state)
{
    (void)state;
    static const uint8_t others = 3; /* all but rank 2 */
    begin_with(1, 1);
    node_call(c, -1);
    node_hear(1, 4 * SECOND);
    struct td_message m = {.kind = TD_MESSAGE_WAITING, .u.waiting.arrived = {&others, 1}};
    say(0, &m);
    m = (struct td_message){.kind = TD_MESSAGE_NODE_LOST,
                            .u.node_lost = {.node = 2,
                                            .is_proven = true,
                                            .text = "its daemon was restarted",
                                            .silent_ns = 3 * SECOND}};
    say(0, &m);
    assert_int_equal(node.reply.error, TD_ERR_NODE_FAILED);
    expect_about(row(2, 2 + 1)->ns, 3 * SECOND);
    expect_about(row(2, 0)->ns, SECOND);
    node_end();
}

/* Node 2 is silent for 5 s and then for 3 s. The calls begin 2 s later than the first silence, and
 * with the second. */
static void silences_have_a_length_of_their_own(void **state)
{
    (void)state;
    begin(0);
    node_hear(2, 2 * SECOND);
    node_call(c, -1);
    arrive(1);
    node_hear(2, 3 * SECOND);
    arrive(2);
    const struct td_wait_silence *s = silences(2);
    expect_about(s->wait.ns, 3 * SECOND);
    assert_int_equal(s->count, 1);
    assert_int_equal(s->ranks, 1);
    expect_about(s->ns, 5 * SECOND);
    assert_int_equal(s->longest_ns, s->ns);
    assert_int_equal(s->longest_to, node.core->now);
    node_hear(6, 4 * SECOND);
    number = 1;
    node_call(c, -1);
    arrive(1);
    node_hear(2, 3 * SECOND);
    arrive(2);
    assert_int_equal(s->count, 2);
    expect_about(s->ns, 8 * SECOND);
    expect_about(s->longest_ns, 5 * SECOND);
    expect_about(s->wait.ns, 6 * SECOND);
    assert_int_equal(s->to, node.core->now);
    assert_true(s->longest_to < s->from);
    node_end();
}

/* Two calls are in flight: the silence is one, and both have waited in it. */
static void a_silence_that_holds_up_two_calls_is_one(void **state)
{
    (void)state;
    begin(0);
    for (number = 0; number < 2; number++) {
        node_call(c, -1);
        arrive(1);
    }
    node_hear(2, 3 * SECOND);
    for (number = 0; number < 2; number++)
        arrive(2);
    const struct td_wait_silence *s = silences(2);
    assert_int_equal(s->count, 1);
    expect_about(s->ns, 3 * SECOND);
    expect_about(s->wait.ns, 6 * SECOND);
    node_end();
}

/* Node 2 was silent for 3 s as the first release tells, and for 4 s as the second one does. */
static void a_silence_is_as_long_as_the_nearest_node_tells(void **state)
{
    (void)state;
    begin(1);
    for (number = 0; number < 2; number++)
        node_call(c, -1);
    node_hear(5, 5 * SECOND);
    for (number = 0; number < 2; number++)
        release(2, 2 + 1, (3 + number) * SECOND);
    const struct td_wait_silence *s = silences(2);
    assert_int_equal(s->count, 1);
    assert_int_equal(s->ns, 4 * SECOND);
    assert_int_equal(s->longest_ns, 4 * SECOND);
    node_end();
}

/* A message may tell of any length. */
static void a_silence_is_no_longer_than_the_job(void **state)
{
    (void)state;
    begin(1);
    node_call(c, -1);
    node_hear(5, 4 * SECOND);
    release(2, 2 + 1, UINT64_MAX);
    assert_int_equal(silences(2)->ns, node.core->now - c->waits->formed_at);
    node_end();
}

/* The second call is the one that waited longest for rank 2, and the third one came later. */
static void the_longest_wait_has_a_time_and_a_call(void **state)
{
    (void)state;
    static const uint64_t late[] = {1, 4, 2};
    td_time end = 0;
    begin(0);
    for (number = 0; number < 3; number++) {
        node_call(c, -1);
        arrive(1);
        node_hear(6, late[number] * SECOND);
        arrive(2);
        end = number == 1 ? node.core->now : end;
        node_hear(6, SECOND);
    }
    const struct td_wait *w = row(2, 0);
    expect_about(w->longest_ns, 4 * SECOND);
    assert_int_equal(w->longest_at, end);
    assert_int_equal(w->longest_operation, 1);
    assert_int_equal(w->longest_group, c->index);
    node_end();
}

/* Silences have rows of their own: those of ranks stay, however many nodes are silent. */
static void silences_and_ranks_keep_their_own_rows(void **state)
{
    (void)state;
    begin(0);
    const struct td_charge late = {.ns = 1, .longest_ns = 1};
    td_waits_charge(c, 1, TD_KIND_BARRIER, &late);
    for (uint32_t n = 1; n <= 2 * TD_WAITS_SILENCES; n++) {
        const struct td_charge silence = {
            .silent_ns = n * SECOND, .silent_longest_ns = SECOND, .silent_node = n + 1};
        td_waits_charge(c, 2, TD_KIND_BARRIER, &silence);
    }
    assert_int_equal(row(1, 0)->ns, 1);
    assert_null(row(2, 0));
    assert_null(row(2, 1 + 1)); /* the least of too many */
    assert_int_equal(row(2, 2 * TD_WAITS_SILENCES + 1)->ns, 2 * TD_WAITS_SILENCES * SECOND);
    for (uint32_t kind = 1; kind < TD_KIND_MAX; kind++)
        for (uint32_t rank = 0; rank < NODES; rank++)
            td_waits_charge(c, rank, kind, &(struct td_charge){.ns = UINT64_C(1) << 40});
    assert_non_null(row(2, 2 * TD_WAITS_SILENCES + 1));
    node_end();
}

/* hear_more hears heartbeats of node 2 which tell that it has sent a message that has not come. */
static void hear_more(uint64_t ns)
{
    const struct td_link *link = &node.core->link[2];
    struct td_message m = {.kind = TD_MESSAGE_HEARTBEAT, .session = link->session_in};
    m.u.heartbeat.sent = link->tree_received + 1;
    for (td_time until = node.core->now + ns; node.core->now < until;) {
        node_hear(2, SECOND / 5);
        node_step(&(struct td_event){.kind = TD_EVENT_TREE_MESSAGE,
                                     .u.tree = {.node = 2, .message = &m}});
    }
}

/* Heartbeats have a connection of their own, and may be heard again before earlier messages. */
static void a_silence_lasts_until_the_messages_come_that_a_heartbeat_tells_of(void **state)
{
    (void)state;
    for (int tells = 0; tells < 2; tells++) {
        begin(0);
        node_call(c, -1);
        arrive(1);
        node_hear(2, 5 * SECOND);
        if (tells)
            hear_more(2 * SECOND);
        else /* all has come: the rank itself is late */
            node_hear(6, 2 * SECOND);
        arrive(2);
        if (tells) {
            assert_null(row(2, 0));
            expect_about(row(2, 2 + 1)->ns, 7 * SECOND);
            expect_about(silences(2)->ns, 7 * SECOND);
        } else {
            expect_about(row(2, 0)->ns, 7 * SECOND);
            assert_null(row(2, 2 + 1));
        }
        node_end();
    }
}

/* link_up makes node 0 of three, which depends on no other node, and a connection to one of them.
 */
static void link_up(uint32_t node_up)
{
    node_begin("3", 0, NULL);
    node_step(&(struct td_event){.kind = TD_EVENT_LINK_UP,
                                 .u.link = {.node = node_up, .incarnation = 2}});
}

/* A process asks to join each 9 s, and gives up after 1 s. */
static void users_that_come_and_go_do_not_end_the_silence_of_a_neighbour(void **state)
{
    (void)state;
    link_up(1);
    node_hear(2, 2 * SECOND);
    for (uint64_t s = 1; s <= 3; s++) {
        node_hear(0, 8 * SECOND);
        td_link_watch(node.core, 1);
        expect_about(td_silence_now(node.core, 1), s * 9 * SECOND - SECOND);
        node_hear(0, SECOND);
        td_link_unwatch(node.core, 1);
    }
    assert_int_equal(node.dropped_links, 0);
    node_hear(0, 5 * SECOND);
    assert_true(node.dropped_links > 0); /* after progress_timeout */
    node_end();
}

static void a_node_that_was_never_heard_stays_mute_with_new_users(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < NODES; n++) {
        link_up(n);
        node_hear(0, SECOND);
        td_link_watch(node.core, n);
        assert_true(td_silence_is_mute(node.core, n));
        node_hear(1u << n, SECOND);
        assert_false(td_silence_is_mute(node.core, n));
        td_link_unwatch(node.core, n);
        node_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silences_and_ranks_keep_their_own_rows),
        cmocka_unit_test(silences_have_a_length_of_their_own),
        cmocka_unit_test(a_silence_that_holds_up_two_calls_is_one),
        cmocka_unit_test(a_silence_is_as_long_as_the_nearest_node_tells),
        cmocka_unit_test(a_silence_is_no_longer_than_the_job),
        cmocka_unit_test(the_longest_wait_has_a_time_and_a_call),
        cmocka_unit_test(a_late_rank_of_a_node_that_is_heard_is_charged),
        cmocka_unit_test(the_silence_of_a_node_is_charged_to_the_node),
        cmocka_unit_test(a_silence_that_is_over_excuses_nobody),
        cmocka_unit_test(a_link_that_was_down_counts_as_silence),
        cmocka_unit_test(a_silence_lasts_until_the_link_is_up_in_both_directions),
        cmocka_unit_test(a_silence_lasts_while_the_node_asks_where_to_go_on),
        cmocka_unit_test(a_silence_lasts_until_a_message_comes),
        cmocka_unit_test(a_cut_that_is_over_excuses_nobody),
        cmocka_unit_test(a_connection_that_has_just_ended_is_no_silence),
        cmocka_unit_test(a_node_charges_the_silence_that_the_release_tells),
        cmocka_unit_test(a_release_that_comes_late_is_charged_to_the_silence_of_its_sender),
        cmocka_unit_test(a_node_that_does_not_exist_is_not_charged),
        cmocka_unit_test(a_silence_without_end_is_charged_for_the_time_of_the_call),
        cmocka_unit_test(a_daemon_that_did_not_run_charges_itself),
        cmocka_unit_test(a_failed_call_charges_the_silence_too),
        cmocka_unit_test(the_verdict_tells_of_the_silence),
        cmocka_unit_test(the_sentence_does_not_excuse_a_rank_whose_node_is_heard),
        cmocka_unit_test(a_failed_call_charges_the_silence_that_the_verdict_tells),
        cmocka_unit_test(a_failed_call_charges_the_rank_of_a_node_that_was_not_silent),
        cmocka_unit_test(a_connection_that_was_not_needed_before_ends_no_silence),
        cmocka_unit_test(the_silence_of_a_daemon_that_then_died_is_charged_to_its_node),
        cmocka_unit_test(the_loss_of_a_node_tells_of_its_silence),
        cmocka_unit_test(users_that_come_and_go_do_not_end_the_silence_of_a_neighbour),
        cmocka_unit_test(a_node_that_was_never_heard_stays_mute_with_new_users),
        cmocka_unit_test(a_silence_that_outlasts_its_calls_is_told_when_it_ends),
        cmocka_unit_test(a_silence_lasts_until_the_messages_come_that_a_heartbeat_tells_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
