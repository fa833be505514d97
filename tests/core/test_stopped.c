/* SPDX-License-Identifier: Apache-2.0 */
/* A rank that is stopped while a call waits for it: core/operation/stopped.h. */
#include "node.h"

#include "core/inspect.h"
#include "core/membership/waits.h"
#include "core/operation/gate.h"
#include "core/operation/operation.h"
#include "core/operation/stopped.h"
#include "core/recorder.h"

enum { NODES = 2, HERE = 1, RANK = 1 };
static const uint64_t SECOND = 1000000000, FIRST = 100000000;

static struct td_communicator *c;
static char state_now; /* of the process of the rank of this node */
static uint32_t looks;

static char process_state(uint64_t pid)
{
    (void)pid;
    looks++;
    return state_now;
}

static void record_events(struct td_settings *s)
{
    s->trace_events = 64;
}

static void begin(void)
{
    node_begin("2", HERE, record_events);
    node.core->options.process_state = process_state;
    node.core->now = 100 * SECOND;
    c = node_group(NODES);
    c->seat[0].client->pid = 183;
    state_now = 'S';
    looks = 0;
}

/* wait_begins: the root tells that the rank of its node has called. */
static void wait_begins(void)
{
    static const uint8_t bits[] = {1};
    struct td_message m = {.kind = TD_MESSAGE_WAITING,
                           .instance = c->instance,
                           .sequence = c->seat[0].next_sequence,
                           .u.waiting = {.arrived = {bits, sizeof bits}}};
    td_gate_message(node.core, c, 0, &m);
    node_run();
}

static void release(uint64_t sequence)
{
    struct td_message m = {
        .kind = TD_MESSAGE_RELEASE, .instance = c->instance, .sequence = sequence};
    td_gate_message(node.core, c, 0, &m);
    node_run();
}

static void pass(uint64_t seconds)
{
    for (uint64_t i = 0; i < 10 * seconds; i++)
        node_pass(c, SECOND / 10);
}

/* find returns the only event of a kind, or NULL. */
static const struct td_trace_event *find(enum td_trace_kind kind)
{
    const struct td_recorder *r = node.core->recorder;
    const struct td_trace_event *found = NULL;
    for (uint64_t i = 1; i < r->next; i++)
        if (r->ring[i & r->mask].kind == kind) {
            assert_null(found);
            found = &r->ring[i & r->mask];
        }
    return found;
}

/* outage returns the only outage of the job, as the status tells it, or NULL. */
static const struct td_row_outage *outage(void)
{
    static struct td_reply page;
    td_core_renew(node.core);
    assert_true(td_inspect_page(node.core, 1000, true, TD_STATUS_OUTAGES, 0, &page));
    assert_true(page.u.status.rows <= 1);
    return page.u.status.rows ? &page.u.status.row[0].u.outage : NULL;
}

static void a_rank_that_was_stopped_is_on_record(void **state)
{
    (void)state;
    begin();
    wait_begins();
    state_now = 'T';
    pass(8);
    const struct td_trace_event *stopped = find(TD_TRACE_STOPPED);
    assert_non_null(stopped);
    assert_int_equal(stopped->at, 100 * SECOND + FIRST);
    assert_int_equal(stopped->world, c->world);
    assert_int_equal(stopped->subject, RANK);
    assert_int_equal(stopped->a, TD_OUTAGE_STOPPED);
    assert_int_equal(stopped->b, 183);
    assert_null(find(TD_TRACE_GOES_ON));
    state_now = 'R';
    node_call(c, -1);
    const struct td_trace_event *goes_on = find(TD_TRACE_GOES_ON);
    assert_non_null(goes_on);
    assert_int_equal(goes_on->at, 108 * SECOND);
    assert_int_equal(goes_on->since, 100 * SECOND + FIRST);
    assert_int_equal(goes_on->sequence, 0);
    release(0);
    node_pass(c, 5 * SECOND);
    const struct td_row_outage *o = outage();
    assert_non_null(o);
    assert_int_equal(o->instance, c->world);
    assert_int_equal(o->kind, TD_OUTAGE_STOPPED);
    assert_int_equal(o->rank, RANK);
    assert_int_equal(o->pid, 183);
    assert_int_equal(o->count, 1);
    assert_int_equal(o->ns, 8 * SECOND - FIRST);
    assert_int_equal(o->longest_ns, 8 * SECOND - FIRST);
    assert_int_equal(o->longest_age_ns / SECOND, 5);
    assert_string_equal(o->text, "");
    node_end();
}

/* Forty ranks of this node have not called: they are looked at in two turns. */
static void many_ranks_are_looked_at_in_turns(void **state)
{
    enum { LOCAL = 40, RANKS = LOCAL + 1 };
    (void)state;
    node_begin("2", HERE, record_events);
    node.core->options.process_state = process_state;
    node.core->now = 100 * SECOND;
    uint32_t *rank_node = td_arena_alloc(node.core->arena, RANKS * sizeof *rank_node);
    uint64_t *rank_token = td_arena_alloc(node.core->arena, RANKS * sizeof *rank_token);
    for (uint32_t r = 1; r < RANKS; r++)
        rank_node[r] = HERE;
    c = td_communicator_create(node.core, 77, "job", 1000, RANKS, rank_node, rank_token, UINT32_MAX,
                               NULL);
    assert_non_null(c);
    for (uint32_t i = 0; i < LOCAL; i++) {
        c->seat[i].client = node_client(NODE_CLIENT + i);
        c->seat[i].client->groups++;
        td_seat_transition(&c->seat[i], TD_SEAT_ASSIGN);
    }
    node_run();
    looks = 0;
    state_now = 'S';
    wait_begins();
    node_pass(c, FIRST);
    assert_int_equal(looks, TD_STOPPED_RANKS);
    node_pass(c, TD_STOPPED_NEXT_NS - 1);
    assert_int_equal(looks, TD_STOPPED_RANKS);
    node_pass(c, 1);
    assert_int_equal(looks, LOCAL);
    node_pass(c, SECOND / 2);
    assert_int_equal(looks, LOCAL);
    node_pass(c, SECOND / 2);
    assert_int_equal(looks, LOCAL + TD_STOPPED_RANKS);
    node_end();
}

/* Ordinary calls cost nothing: nobody looks at a process in the first tenth of a second, nor at one
 * that has called. */
static void nobody_looks_at_ranks_that_are_not_late(void **state)
{
    (void)state;
    begin();
    wait_begins();
    node_pass(c, FIRST - 1);
    assert_int_equal(looks, 0);
    node_call(c, -1);
    pass(5);
    assert_int_equal(looks, 0);
    assert_null(outage());
    node_end();
}

static void a_process_is_looked_at_once_a_second(void **state)
{
    (void)state;
    begin();
    wait_begins();
    pass(1);
    c->seat[0].next_sequence++; /* the others wait for its next call, too */
    wait_begins();
    c->seat[0].next_sequence--;
    pass(9);
    assert_int_equal(looks, 10);
    assert_null(find(TD_TRACE_STOPPED));
    assert_null(outage());
    node_end();
}

/* It computes when it runs again: the next look notices that. A second stop is another one. */
static void a_rank_that_runs_again_and_does_not_call_is_noticed(void **state)
{
    (void)state;
    begin();
    wait_begins();
    state_now = 't';
    pass(3);
    assert_int_equal(find(TD_TRACE_STOPPED)->a, TD_OUTAGE_TRACED);
    state_now = 'R';
    pass(2);
    assert_int_equal(find(TD_TRACE_GOES_ON)->at, 103 * SECOND + FIRST);
    assert_int_equal(find(TD_TRACE_GOES_ON)->a, TD_OUTAGE_TRACED);
    state_now = 't';
    pass(5);
    const struct td_row_outage *o = outage();
    assert_int_equal(o->kind, TD_OUTAGE_TRACED);
    assert_int_equal(o->count, 2);
    assert_int_equal(o->ns, 7 * SECOND);
    assert_int_equal(o->longest_ns, 4 * SECOND);
    assert_int_equal(o->longest_age_ns / SECOND, 0);
    node_end();
}

/* Nobody knows how long it was stopped when no call waits any more. */
static void the_last_look_counts_if_the_call_ends_before(void **state)
{
    struct td_message m = {.kind = TD_MESSAGE_VERDICT,
                           .u.verdict = {.error = TD_ERR_TIMEOUT, .text = "too late"}};
    (void)state;
    begin();
    wait_begins();
    state_now = 'T';
    pass(4);
    m.instance = c->instance;
    td_gate_message(node.core, c, 0, &m);
    node_run();
    pass(20);
    state_now = 'R';
    node_call(c, -1);
    assert_int_equal(find(TD_TRACE_GOES_ON)->at, 124 * SECOND);
    assert_int_equal(outage()->ns, 4 * SECOND - FIRST); /* the failure has looked */
    node_end();
}

static void a_stopped_process_that_is_killed_does_not_go_on(void **state)
{
    (void)state;
    begin();
    wait_begins();
    state_now = 'T';
    pass(3);
    state_now = 'X';
    pass(2);
    assert_null(find(TD_TRACE_GOES_ON));
    assert_int_equal(outage()->ns, 3 * SECOND);
    node_end();
}

static void a_call_that_fails_looks_a_last_time(void **state)
{
    (void)state;
    begin();
    wait_begins();
    state_now = 'T';
    node_pass(c, FIRST);
    node_pass(c, SECOND - FIRST - 1); /* the next look would be later */
    assert_int_equal(outage()->longest_ns, 0);
    struct td_message m = {.kind = TD_MESSAGE_VERDICT,
                           .instance = c->instance,
                           .u.verdict = {.error = TD_ERR_CANCELLED, .text = "cancelled"}};
    node_message(0, &m);
    assert_int_equal(outage()->longest_ns, SECOND - FIRST - 1);
    node_pass(c, 3 * SECOND / 2);
    assert_int_equal(outage()->longest_ns, SECOND - FIRST - 1); /* nobody looks */
    state_now = 'R';
    node_call(c, -1); /* soon after: it was stopped until now */
    assert_int_equal(outage()->longest_ns, 5 * SECOND / 2 - FIRST - 1);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_fails_looks_a_last_time),
        cmocka_unit_test(a_rank_that_was_stopped_is_on_record),
        cmocka_unit_test(nobody_looks_at_ranks_that_are_not_late),
        cmocka_unit_test(a_process_is_looked_at_once_a_second),
        cmocka_unit_test(a_rank_that_runs_again_and_does_not_call_is_noticed),
        cmocka_unit_test(the_last_look_counts_if_the_call_ends_before),
        cmocka_unit_test(a_stopped_process_that_is_killed_does_not_go_on),
        cmocka_unit_test(many_ranks_are_looked_at_in_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
