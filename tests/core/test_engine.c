/* SPDX-License-Identifier: Apache-2.0 */
/* The engine, with a program of four steps: core/operation/engine.h.
 *
 *   RECV (two messages of 100 bytes from node 1) -> COPY (one for each) -> SEND (one, to node 2)
 *   SYNC among nodes 0 and 1, after the SEND */
#include "node.h"

#include "core/net/inflight.h"
#include "core/operation/engine.h"
#include "core/operation/operation.h"
#include "core/operation/sync.h"

enum { RECV, COPY, SEND, SYNC, BYTES = 100 };

static struct td_communicator *c;
static struct td_operation *o;
static int64_t copy_bytes;

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    int64_t bytes = family == COPY ? copy_bytes : BYTES;
    struct td_slice slice = td_slice_at(TD_SPACE_SCRATCH, 0, (int64_t)index * BYTES, bytes);
    *step = (struct td_step){.kind = p->family[family].kind, .to = slice, .from = slice};
    step->to_lanes = step->from_lanes = (struct td_lanes){1, 0, 0};
    step->peer = family == RECV ? 1 : 2;
    step->among = (struct td_among){0, 2, 1};
}

static void begin_on(int receives, void (*change)(struct td_settings *))
{
    node_begin("4", 0, change);
    c = node_group(4);
    copy_bytes = BYTES;
    o = td_operation_obtain(node.core, c, 0);
    assert_non_null(o);
    o->program = (struct td_program){.step_at = step_at, .group = &c->group};
    td_program_add(&o->program, TD_RECV, (uint64_t)receives, "from node 1");
    td_program_add(&o->program, TD_COPY, (uint64_t)receives, "what came");
    td_program_add(&o->program, TD_SEND, 1, "to node 2");
    td_program_add(&o->program, TD_SYNC, 1, "with node 1");
    td_program_need(&o->program, COPY, RECV, 1, 1, 1);
    td_program_need_all(&o->program, SEND, COPY);
    td_program_need_all(&o->program, SYNC, SEND);
    o->scratch_bytes = 4096;
    assert_true(td_operation_take_scratch(node.core, o));
    assert_true(td_engine_init(node.core, o));
    td_operation_transition(o, TD_OPERATION_COMPLETE);
    td_operation_transition(o, TD_OPERATION_ANNOUNCE);
}

static void begin(int receives)
{
    begin_on(receives, NULL);
}

static void routed(struct td_settings *s)
{
    s->tuning.fabric = TD_FABRIC_ROUTED;
}

static void release(void)
{
    td_operation_transition(o, TD_OPERATION_RELEASE);
    td_operation_transition(o, TD_OPERATION_RUN);
    assert_true(td_engine_advance(node.core, o));
    node_forget();
}

static struct td_packet packet(uint64_t index, uint64_t offset, uint32_t bytes)
{
    return (struct td_packet){.kind = TD_PACKET_DATA,
                              .instance = c->instance,
                              .sequence = 0,
                              .family = RECV,
                              .index = index,
                              .offset = offset,
                              .bytes = bytes};
}

/* unpack passes a packet of node 1 to the engine, and ends the computation that unpacks it. */
static void unpack(uint64_t index, uint64_t offset, uint32_t bytes)
{
    struct td_packet p = packet(index, offset, bytes);
    assert_true(td_engine_packet(node.core, 1, &p, 5));
    node.computes = 0;
    for (uint32_t i = 0; i < node.actions.count; i++)
        if (node.actions.action[i].kind == TD_ACTION_COMPUTE)
            node.handle = node.actions.action[i].u.compute.handle;
    node.actions.count = 0;
    td_engine_computed(node.core, node.handle, TD_OK);
}

static void a_message_is_received_when_all_its_packets_are_unpacked(void **state)
{
    (void)state;
    begin(2);
    unpack(0, 0, 60);
    assert_int_equal(o->engine.family[RECV].done, 0);
    unpack(0, 60, 40);
    assert_int_equal(o->engine.family[RECV].done, 1);
    assert_int_equal(o->engine.family[RECV].prefix, 1);
    node_end();
}

static void packets_are_accepted_before_the_release_but_no_step_starts(void **state)
{
    (void)state;
    begin(1);
    unpack(0, 0, BYTES);
    assert_true(td_engine_advance(node.core, o));
    assert_int_equal(o->engine.family[RECV].done, 1);
    assert_int_equal(o->engine.family[COPY].next, 0);
    node_end();
}

static void a_step_starts_when_its_dependency_is_done(void **state)
{
    (void)state;
    begin(2);
    release();
    unpack(1, 0, BYTES); /* the second message first: COPY needs the first */
    assert_true(td_engine_advance(node.core, o));
    assert_int_equal(o->engine.family[COPY].next, 0);
    unpack(0, 0, BYTES);
    assert_true(td_engine_advance(node.core, o));
    assert_int_equal(o->engine.family[COPY].next, 2);
    assert_int_equal(o->engine.family[SEND].next, 0);
    node_end();
}

static void steps_that_find_no_room_start_in_later_turns(void **state)
{
    (void)state;
    begin(3);
    release();
    for (uint64_t i = 0; i < 3; i++)
        unpack(i, 0, BYTES);
    node_forget();
    node_run(); /* a turn has room for one action */
    assert_int_equal(node.computes, 3);
    node_end();
}

static void a_step_without_bytes_is_done_at_once(void **state)
{
    (void)state;
    begin(1);
    copy_bytes = 0;
    release();
    unpack(0, 0, BYTES);
    assert_true(td_engine_advance(node.core, o));
    assert_int_equal(o->engine.family[COPY].done, 1);
    assert_int_equal(o->engine.family[SEND].next, 1);
    node_end();
}

/* Steps of another operation have all records that steps may have; packets still find one. */
static void a_step_without_a_record_starts_when_one_is_free(void **state)
{
    enum { STEPS = TD_INFLIGHTS_MAX / 2 };
    static struct td_inflight *flight[STEPS];
    (void)state;
    begin(2);
    release();
    struct td_operation *other = td_operation_obtain(node.core, c, 1);
    for (uint32_t i = 0; i < STEPS; i++) {
        flight[i] = td_inflight_acquire(node.core, TD_INFLIGHT_STEP, other);
        assert_non_null(flight[i]);
        td_operation_in_flight_begin(other);
    }
    assert_null(td_inflight_acquire(node.core, TD_INFLIGHT_STEP, other));
    unpack(0, 0, BYTES);
    unpack(1, 0, BYTES);
    node_forget();
    node_run();
    assert_int_equal(node.computes, 0);
    assert_int_equal(o->engine.family[COPY].next, 0);
    assert_true(o->engine.starved);
    for (uint32_t i = 0; i < STEPS; i++) {
        td_inflight_release(node.core, flight[i]);
        td_operation_in_flight_end(node.core, other);
        if (i > 1)
            continue;
        node_run();
        assert_int_equal(node.computes, i + 1);
    }
    assert_false(o->engine.starved);
    assert_null(node.core->operations->starved);
    node_end();
}

static void an_operation_that_ends_waits_for_no_record(void **state)
{
    enum { STEPS = TD_INFLIGHTS_MAX / 2 };
    (void)state;
    begin(1);
    release();
    struct td_inflight *first = NULL;
    struct td_operation *other = td_operation_obtain(node.core, c, 1);
    for (uint32_t i = 0; i < STEPS; i++) {
        struct td_inflight *f = td_inflight_acquire(node.core, TD_INFLIGHT_STEP, other);
        f->next = first;
        first = f;
        td_operation_in_flight_begin(other);
    }
    unpack(0, 0, BYTES);
    assert_true(td_engine_advance(node.core, o));
    assert_ptr_equal(node.core->operations->starved, o);
    td_engine_fini(node.core, o);
    assert_null(node.core->operations->starved);
    while (first) {
        struct td_inflight *f = first;
        first = f->next;
        td_inflight_release(node.core, f);
        td_operation_in_flight_end(node.core, other);
    }
    node_end();
}

static void a_packet_that_fits_no_step_drops_the_link(void **state)
{
    (void)state;
    begin(1);
    struct td_packet wrong[] = {packet(1, 0, BYTES), packet(0, 60, 60), packet(0, 0, BYTES)};
    wrong[2].family = SEND;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        node_forget();
        assert_false(td_engine_packet(node.core, 1, &wrong[i], 5));
        node_forget();
    }
    struct td_packet right = packet(0, 0, BYTES);
    assert_false(td_engine_packet(node.core, 3, &right, 5)); /* from another node than the step's */
    node_run();
    assert_int_equal(node.dropped_links, 1);
    node_end();
}

static void an_operation_that_has_ended_accepts_no_packet(void **state)
{
    (void)state;
    begin(1);
    td_operation_fail(node.core, o, TD_ERR_CANCELLED, "ended by the test");
    assert_null(td_engine_find(c, 0));
    struct td_packet p = packet(0, 0, BYTES);
    assert_false(td_engine_packet(node.core, 1, &p, 5));
    node_forget();
    assert_int_equal(node.dropped_links, 0);
    node_end();
}

static void a_computation_that_fails_ends_the_operation(void **state)
{
    (void)state;
    begin(1);
    release();
    struct td_packet p = packet(0, 0, BYTES);
    assert_true(td_engine_packet(node.core, 1, &p, 5));
    node_run();
    td_engine_computed(node.core, node.handle, TD_ERR_SYSTEM);
    assert_int_equal(o->error, TD_ERR_SYSTEM);
    assert_int_equal(o->state, TD_OPERATION_ENDED);
    assert_int_equal(o->engine.family[RECV].done, 0);
    node_end();
}

static void the_node_whose_message_is_missing_is_named(void **state)
{
    (void)state;
    begin(1);
    release();
    assert_int_equal(td_engine_owed_by(o), 1);
    unpack(0, 0, BYTES);
    assert_int_equal(td_engine_owed_by(o), UINT32_MAX);
    node_end();
}

/* blamed_after returns how long node 1 can send nothing until the operation ends and names it, in
 * progress timeouts, if that is less than ten. */
static int blamed_after(void)
{
    int64_t timeout = node.core->settings.progress_timeout_ns;
    int64_t beat = node.core->settings.heartbeat_ns;
    release();
    for (int passed = 0; passed < 10; passed++) {
        node_pass(c, (uint64_t)(passed == 0 ? 3 * beat : timeout));
        if (o->pending_error == TD_ERR_TIMEOUT) {
            assert_non_null(strstr(o->pending_text, "for node 1 "));
            return passed;
        }
    }
    return 10;
}

/* Seed 1108 of test_restarts_sim: two nodes on the way fell silent one after the other, and the
 * node beyond them was blamed. */
static void a_node_is_blamed_later_than_one_on_the_way_to_it(void **state)
{
    (void)state;
    begin(1);
    assert_int_equal(blamed_after(), 1);
    node_end();
    begin_on(1, routed);
    assert_int_equal(blamed_after(), 3); /* relayed links are given up as late */
    node_end();
}

static void a_sync_ends_when_the_other_node_has_signalled(void **state)
{
    (void)state;
    begin(1);
    copy_bytes = 0;
    release();
    unpack(0, 0, BYTES);
    assert_true(td_engine_advance(node.core, o));
    td_engine_delivered(node.core, o, SEND, 0);
    assert_true(td_engine_advance(node.core, o));
    assert_false(td_engine_finished(o));
    struct td_message m = {.kind = TD_MESSAGE_SYNC, .instance = c->instance};
    m.u.sync.family = SYNC;
    td_sync_message(node.core, c, 2, &m); /* from a node outside the step: ignored */
    assert_false(td_engine_finished(o));
    td_sync_message(node.core, c, 1, &m);
    assert_true(td_engine_finished(o));
    uint64_t done = 0, steps = 0;
    td_engine_progress(o, &done, &steps);
    assert_int_equal(done, 4);
    assert_int_equal(steps, 4);
    node_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_received_when_all_its_packets_are_unpacked),
        cmocka_unit_test(packets_are_accepted_before_the_release_but_no_step_starts),
        cmocka_unit_test(a_step_starts_when_its_dependency_is_done),
        cmocka_unit_test(steps_that_find_no_room_start_in_later_turns),
        cmocka_unit_test(a_step_without_bytes_is_done_at_once),
        cmocka_unit_test(a_step_without_a_record_starts_when_one_is_free),
        cmocka_unit_test(an_operation_that_ends_waits_for_no_record),
        cmocka_unit_test(a_packet_that_fits_no_step_drops_the_link),
        cmocka_unit_test(an_operation_that_has_ended_accepts_no_packet),
        cmocka_unit_test(a_computation_that_fails_ends_the_operation),
        cmocka_unit_test(the_node_whose_message_is_missing_is_named),
        cmocka_unit_test(a_node_is_blamed_later_than_one_on_the_way_to_it),
        cmocka_unit_test(a_sync_ends_when_the_other_node_has_signalled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
