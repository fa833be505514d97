/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory that nobody uses: core/operation/scratch.h. */
#include "node.h"

#include "core/operation/operation.h"
#include "core/operation/scratch.h"

enum { MIB = 1 << 20 };

static uint64_t returned_from, returned_bytes, returns;
static bool last;

/* pass advances time, and notes what is returned meanwhile, as one part. */
static void pass(uint64_t ns)
{
    returned_from = returned_bytes = returns = 0;
    node.core->now += ns;
    for (;;) {
        node.actions.count = 0;
        td_scratch_timers(node.core);
        if (node.actions.count == 0)
            return;
        const struct td_action *a = &node.actions.action[0];
        assert_int_equal(node.actions.count, 1);
        assert_int_equal(a->kind, TD_ACTION_RETURN_SCRATCH);
        assert_true(returns == 0 || a->u.scratch.offset + a->u.scratch.bytes == returned_from);
        returned_from = a->u.scratch.offset;
        returned_bytes += a->u.scratch.bytes;
        last = a->u.scratch.last;
        returns++;
        node.core->now += ns / 100;
    }
}

static int begin(void **state)
{
    (void)state;
    node_begin("2", 0, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    node_end();
    return 0;
}

static void what_was_not_used_lately_is_returned(void **state)
{
    (void)state;
    assert_int_equal(td_scratch_take(node.core, MIB), 0);
    assert_int_equal(td_scratch_take(node.core, 3 * MIB), MIB);
    td_scratch_give(node.core, MIB, 3 * MIB);
    assert_true(node.core->alarm <= node.core->now + TD_SCRATCH_KEPT_NS);
    pass(TD_SCRATCH_KEPT_NS - 1);
    assert_int_equal(returns, 0);
    pass(1); /* it was used in this time */
    assert_int_equal(returns, 0);
    pass(TD_SCRATCH_KEPT_NS);
    assert_int_equal(returned_from, MIB); /* the first part is in use */
    assert_int_equal(returned_bytes, 3 * MIB);
    td_scratch_give(node.core, 0, MIB);
    pass(TD_SCRATCH_KEPT_NS); /* it was used until a moment ago */
    assert_int_equal(returns, 0);
    pass(TD_SCRATCH_KEPT_NS);
    assert_int_equal(returned_from, 0);
    assert_int_equal(returned_bytes, MIB);
    assert_int_equal(node.core->operations->scratch.look_at, TD_TIME_NEVER);
}

static void what_is_used_again_and_again_stays(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(td_scratch_take(node.core, MIB), 0);
        td_scratch_give(node.core, 0, MIB);
        pass(TD_SCRATCH_KEPT_NS);
        assert_int_equal(returns, 0);
    }
}

static void what_nobody_used_is_behind_what_is_used(void **state)
{
    (void)state;
    assert_int_equal(td_scratch_take(node.core, 8 * MIB), 0);
    td_scratch_give(node.core, 0, 8 * MIB);
    pass(TD_SCRATCH_KEPT_NS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(td_scratch_take(node.core, 2 * MIB), 0);
        td_scratch_give(node.core, 0, 2 * MIB);
        pass(TD_SCRATCH_KEPT_NS);
        assert_int_equal(returned_bytes, i == 0 ? 6 * MIB : 0);
        assert_true(returns == 0 || returned_from == 2 * MIB);
    }
}

static void much_is_returned_in_parts(void **state)
{
    (void)state;
    uint64_t all = node.core->operations->scratch.ranges.bytes;
    assert_true(all >= 256 * MIB);
    assert_int_equal(td_scratch_take(node.core, all), 0);
    pass(TD_SCRATCH_KEPT_NS);
    pass(TD_SCRATCH_KEPT_NS);
    assert_int_equal(returns, 0);
    td_scratch_give(node.core, 0, all);
    pass(TD_SCRATCH_KEPT_NS);
    pass(TD_SCRATCH_KEPT_NS);
    assert_int_equal(returned_from, 0);
    assert_int_equal(returned_bytes, all);
    assert_true(returns >= 4);
    assert_true(last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_not_used_lately_is_returned, begin, end),
        cmocka_unit_test_setup_teardown(what_is_used_again_and_again_stays, begin, end),
        cmocka_unit_test_setup_teardown(what_nobody_used_is_behind_what_is_used, begin, end),
        cmocka_unit_test_setup_teardown(much_is_returned_in_parts, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
