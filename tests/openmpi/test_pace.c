/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which short calls stay with Open MPI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "pace.h"

#define US 1000

/* struct run: calls that follow each other after `gap` each. */
struct run {
    struct tm_pace pace;
    int64_t now, gap;
    uint32_t left, taken, agreed; /* calls */
};

static void call(struct run *r)
{
    r->now += r->gap;
    if (tm_pace_ends(&r->pace, r->now)) {
        tm_pace_next(&r->pace, tm_pace_is_slow(&r->pace, r->now), r->now);
        r->agreed++;
    }
    r->left += r->pace.leaves;
    r->taken += !r->pace.leaves;
}

static struct run run(int64_t gap, int calls)
{
    struct run r = {.now = 7000000000, .gap = gap};
    for (int i = 0; i < calls; i++)
        call(&r);
    return r;
}

static void quick_calls_stay_and_ranks_agree_seldom(void **state)
{
    (void)state;
    struct run r = run(10 * US, 10000);
    assert_int_equal(r.left, 10000);
    assert_in_range(r.agreed, 10000 / 256, 10000 / 256 + 4);
}

static void no_rank_agrees_before_the_first_row_ends(void **state)
{
    (void)state;
    struct run r = run(10 * US, 16);
    assert_int_equal(r.agreed, 0);
    call(&r);
    assert_int_equal(r.agreed, 1);
}

static void slow_calls_go_through_torusd_but_for_a_few(void **state)
{
    (void)state;
    struct run r = run(3000 * US, 10000);
    assert_int_equal(r.taken + r.left, 10000);
    assert_in_range(r.left, 16, 10000 / 50);
}

static void calls_stay_again_when_they_are_quick_again(void **state)
{
    (void)state;
    struct run r = run(3000 * US, 17);
    assert_false(r.pace.leaves);
    r.gap = 10 * US;
    for (int i = 0; i < 256; i++)
        call(&r);
    assert_true(r.pace.leaves);
    r.taken = 0;
    for (int i = 0; i < 10000; i++)
        call(&r);
    assert_int_equal(r.taken, 0);
}

/* The decision may differ from what this rank measured: another rank was slow. */
static void a_rank_that_was_quick_follows_a_slow_one(void **state)
{
    (void)state;
    struct run r = run(10 * US, 16);
    assert_true(tm_pace_ends(&r.pace, r.now));
    assert_false(tm_pace_is_slow(&r.pace, r.now));
    tm_pace_next(&r.pace, true, r.now);
    assert_false(r.pace.leaves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick_calls_stay_and_ranks_agree_seldom),
        cmocka_unit_test(no_rank_agrees_before_the_first_row_ends),
        cmocka_unit_test(slow_calls_go_through_torusd_but_for_a_few),
        cmocka_unit_test(calls_stay_again_when_they_are_quick_again),
        cmocka_unit_test(a_rank_that_was_quick_follows_a_slow_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
