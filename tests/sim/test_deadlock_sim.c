/* SPDX-License-Identifier: Apache-2.0 */
/* Tiny buffers and all kinds of traffic of the all-to-all methods: with the bubble rule no deadlock
 * occurs, and without it one is found. TORUS_TEST_LONG=1 runs 10,000 seeds, TORUS_TEST_CASE=SEED
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "torus-sim/measure.h"
#include "seeds.h"

static char why[512]; /* the error of the last run */

static bool finishes(const char *shape, uint64_t seed, bool bubble, bool adaptive)
{
    struct td_measure_options o;
    struct td_measurement m;
    td_measure_options_default(&o, shape, seed);
    o.quiet = true;
    o.bytes = 1024 * (1 + seed % 5);
    o.world.settings.router.slots = 2;
    o.world.settings.router.fifo_slots = 1 + (uint32_t)(seed / 5 % 2);
    o.world.settings.router.straight = (uint32_t)(seed / 10 % 3);
    o.world.settings.router.arbitration = (enum td_arbitration)(seed / 30 % TD_ARBITRATIONS);
    o.world.settings.router.no_bubble = !bubble;
    o.world.settings.router.no_adaptive = !adaptive;
    o.world.settings.tuning.alltoall = (uint8_t)(TD_ALLTOALL_RANDOM + seed / 90 % 4);
    o.world.settings.tuning.in_order = seed / 360 % 2;
    bool done = td_measure(&o, &m);
    snprintf(why, sizeof why, "%s", m.wrong);
    td_measure_fini(&m);
    return done;
}

static void expect_to_finish(uint64_t seed)
{
    static const char *const shapes[] = {"4x4", "5", "3x5", "2x3x4m", "4x4x2", "6m", "2x2x2x2"};
    if (!finishes(shapes[seed % 7], seed, true, seed % 3))
        fail_msg("%s: %s; repeat it with TORUS_TEST_CASE=%llu test_deadlock_sim", shapes[seed % 7],
                 why, (unsigned long long)seed);
}

static void the_bubble_keeps_every_ring_moving(void **unused)
{
    (void)unused;
    seeds_run(expect_to_finish, 500, 20, 10000);
}

static void without_it_a_ring_fills_up(void **unused)
{
    (void)unused;
    static const char *const shapes[] = {"8x8", "4x4x4"};
    for (int s = 0; s < (SEEDS_SANITIZED ? 1 : 2); s++) {
        assert_false(finishes(shapes[s], 9, false, false)); /* 5 packets per pair */
        assert_non_null(strstr(why, "no packet can move"));
        assert_true(finishes(shapes[s], 9, true, false));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bubble_keeps_every_ring_moving),
        cmocka_unit_test(without_it_a_ring_fills_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
