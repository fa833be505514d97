/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of waiting: nine daemons and nine waiting ranks use no processor. */
#include "daemons.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* cpu_s returns the processor time of all threads of a process, exactly. Ticks are samples: the few
 * ticks of waiting may appear as none or as three times too many. */
static double cpu_s(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    assert_int_equal(clock_gettime(clock, &t), 0);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* used_s returns the processor time of this process and all nine daemons. */
static double used_s(void)
{
    double s = cpu_s(getpid());
    for (uint32_t n = 0; n < 9; n++)
        s += cpu_s(daemon_pid[n]);
    return s;
}

/* Waiting sleeps: nine daemons with nine ranks in a barrier take under 1 % of a core together,
 * including this process with its nine waiting clients. On a machine with other work cold caches
 * cost more, so one window of several is enough. Sanitizers cost more, too: they skip this test. */
static void waiting_sleeps(const char *more)
{
    torus_context *c[9];
    torus_group *g[9];
    torus_request *r[9];
    enum { WINDOW_S = 5, WINDOWS = 4 };
    start(9, more);
    join_all(c, g, 9);
    int32_t there[9][9] = {{0}}, here[9][9] = {{0}};
    for (int i = 0; i < 9; i++) /* packets have been in flight */
        assert_int_equal(torus_ialltoall(g[i], there[i], here[i], 1, TORUS_INT32, &r[i]), TORUS_OK);
    for (int i = 0; i < 9; i++)
        assert_int_equal(torus_wait(r[i], 10 * (int64_t)SECOND), TORUS_OK);
    for (int i = 0; i < 8; i++)
        assert_int_equal(torus_ibarrier(g[i], &r[i]), TORUS_OK);
    assert_int_equal(torus_wait(r[0], SECOND), TORUS_PENDING); /* reports settle */
    double share = 1;
    for (int i = 0; i < WINDOWS && share >= 0.01; i++) {
        double before = used_s();
        const int64_t window_ns = (int64_t)WINDOW_S * SECOND;
        assert_int_equal(torus_wait(r[0], window_ns), TORUS_PENDING);
        share = (used_s() - before) / WINDOW_S;
        printf("nine waiting daemons and clients: %.2f %% of a core\n", 100 * share);
    }
    assert_true(share < 0.01);
    assert_int_equal(torus_ibarrier(g[8], &r[8]), TORUS_OK);
    for (int i = 0; i < 9; i++)
        assert_int_equal(torus_wait(r[i], 10 * (int64_t)SECOND), TORUS_OK);
    close_all(c, 9);
    stop();
}

static void waiting_uses_no_processor(void **state)
{
    (void)state;
    waiting_sleeps("");
}

static void waiting_on_the_routed_fabric_uses_no_processor(void **state)
{
    (void)state;
    columns = 3;
    waiting_sleeps("[torus]\nfabric = routed\n");
}

static void waiting_on_links_with_a_rate_uses_no_processor(void **state)
{
    (void)state;
    columns = 3;
    waiting_sleeps("[torus]\nfabric = routed\nlink_rate = 1MB/s\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(waiting_uses_no_processor, clean_up),
        cmocka_unit_test_teardown(waiting_on_the_routed_fabric_uses_no_processor, clean_up),
        cmocka_unit_test_teardown(waiting_on_links_with_a_rate_uses_no_processor, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
