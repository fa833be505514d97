/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how a rank that waits for messages gives its processor away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rest.h"

#define US INT64_C(1000)
#define SLOW_NS (1000 * US)

/* struct run: a rank that looks for messages without end. */
struct run {
    struct tm_rest rest;
    int64_t now, yield_ns; /* what a yield takes */
    int64_t resting_ns;
    uint32_t acts[TM_REST_SLEEP + 1];
};

/* look makes a look of a microsecond, and what follows. Open MPI yields after the first two acts.
 */
static enum tm_rest_act look(struct run *r)
{
    int64_t began = r->now;
    bool rested = r->rest.rests;
    enum tm_rest_act act = tm_rest_next(&r->rest);
    r->now += US;
    if (act == TM_REST_SLEEP)
        r->now += 70 * US;
    if (act == TM_REST_CLOCK)
        tm_rest_clock(&r->rest, r->now / (4000 * US) * (4000 * US));
    if (act <= TM_REST_YIELD)
        r->now += r->yield_ns;
    if (act == TM_REST_YIELD)
        tm_rest_yielded(&r->rest, r->now, r->yield_ns, SLOW_NS);
    if (act == TM_REST_SLEEP)
        tm_rest_slept(&r->rest, r->now);
    if (rested)
        r->resting_ns += r->now - began;
    r->acts[act]++;
    return act;
}

static struct run run(int64_t yield_ns, int looks)
{
    struct run r = {.now = 7000000000, .yield_ns = yield_ns};
    for (int i = 0; i < looks; i++)
        look(&r);
    return r;
}

static void fast_yields_are_left_to_open_mpi(void **state)
{
    (void)state;
    struct run r = run(5 * US, 17000);
    assert_int_equal(r.acts[TM_REST_CLOCK], 1000);
    assert_int_equal(r.acts[TM_REST_LEAVE], 16000);
}

static void a_program_that_computes_for_long_does_not_rest(void **state)
{
    (void)state;
    struct run r = run(5 * US, 100);
    for (int i = 0; i < 1000; i++) {
        r.now += 10000 * US;
        for (int k = 0; k < 20; k++)
            look(&r);
    }
    assert_in_range(r.acts[TM_REST_YIELD], 1000, 16000);
    assert_int_equal(r.acts[TM_REST_SLEEP], 0);
}

static void a_rank_whose_yields_are_slow_rests_most_of_the_time(void **state)
{
    (void)state;
    struct run r = run(2000 * US, 1000000);
    int64_t all = r.now - 7000000000;
    assert_true(r.resting_ns > all / 100 * 90);
    assert_in_range(r.acts[TM_REST_LOOK], 15 * r.acts[TM_REST_SLEEP], 17 * r.acts[TM_REST_SLEEP]);
}

static void the_first_rest_begins_after_sixteen_slow_yields(void **state)
{
    (void)state;
    struct run r = {.now = 7000000000, .yield_ns = 2000 * US};
    while (r.acts[TM_REST_YIELD] < 16) {
        assert_false(r.rest.rests);
        look(&r);
    }
    assert_true(r.rest.rests);
    assert_true(r.now - 7000000000 < 80000 * US);
}

static void one_slow_yield_is_no_reason(void **state)
{
    (void)state;
    struct run r = run(5 * US, 100);
    for (int i = 0; i < 10000; i++) {
        r.yield_ns = i % 50 == 0 ? 5000 * US : 5 * US;
        look(&r);
    }
    assert_true(r.acts[TM_REST_YIELD] > 100);
    assert_int_equal(r.acts[TM_REST_SLEEP], 0);
}

static void rests_become_longer_up_to_a_limit_and_end(void **state)
{
    (void)state;
    struct run r = {.now = 7000000000, .yield_ns = 2000 * US};
    int64_t length[8] = {0};
    for (int i = 0; i < 8; i++) {
        while (!r.rest.rests)
            look(&r);
        int64_t began = r.now;
        while (r.rest.rests)
            look(&r);
        length[i] = r.now - began;
    }
    for (int i = 1; i < 8; i++)
        assert_in_range(length[i], length[i - 1] - 200 * US, 2 * length[i - 1] + 200 * US);
    assert_in_range(length[0], 100000 * US, 100200 * US);
    assert_in_range(length[7], 1600000 * US, 1600200 * US);
    r.yield_ns = 5 * US; /* the other process has ended */
    for (int i = 0; i < 1000; i++)
        assert_true(look(&r) != TM_REST_SLEEP && !r.rest.rests);
    r.yield_ns = 2000 * US; /* another one: it begins anew */
    while (!r.rest.rests)
        look(&r);
    assert_int_equal(r.rest.length_ns, 100000 * US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_yields_are_left_to_open_mpi),
        cmocka_unit_test(a_program_that_computes_for_long_does_not_rest),
        cmocka_unit_test(a_rank_whose_yields_are_slow_rests_most_of_the_time),
        cmocka_unit_test(the_first_rest_begins_after_sixteen_slow_yields),
        cmocka_unit_test(one_slow_yield_is_no_reason),
        cmocka_unit_test(rests_become_longer_up_to_a_limit_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
