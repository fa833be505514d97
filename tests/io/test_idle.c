/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of waiting: nine daemons and nine waiting ranks sleep. */
#include "daemons.h"

#include <dirent.h>
#include <inttypes.h>
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

/* sleeps returns how often the threads of a process have gone to sleep. */
static uint64_t sleeps(pid_t pid)
{
    char path[64], line[128];
    uint64_t sum = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", (int)pid, task->d_name);
        FILE *f = fopen(path, "r"); /* a thread may have ended */
        for (uint64_t n; f && fgets(line, sizeof line, f);)
            if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &n) == 1)
                sum += n;
        if (f)
            fclose(f);
    }
    closedir(tasks);
    return sum;
}

/* Use is what this process and all nine daemons have used so far. */
struct use {
    double cpu_s;
    uint64_t sleeps;
};

static struct use use_so_far(void)
{
    struct use u = {cpu_s(getpid()), sleeps(getpid())};
    for (uint32_t n = 0; n < 9; n++) {
        u.cpu_s += cpu_s(daemon_pid[n]);
        u.sleeps += sleeps(daemon_pid[n]);
    }
    return u;
}

/* Waiting sleeps: nine daemons with nine ranks in a barrier wake for the signs of life alone, one
 * on each link per second here. What a wake-up costs depends on the machine (some 15 us here, ten
 * times as much where others use the caches), so the wake-ups are counted; a thread that polls
 * without sleep shows in processor time.
 */
static void waiting_sleeps(const char *more)
{
    torus_context *c[9];
    torus_group *g[9];
    torus_request *r[9];
    enum { SLEEPS_A_SECOND = 400 };
    static const int64_t window_ns = INT64_C(5000000000);
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
    struct use before = use_so_far();
    double began_s = seconds();
    assert_int_equal(torus_wait(r[0], window_ns), TORUS_PENDING);
    double s = seconds() - began_s;
    struct use after = use_so_far();
    double share = (after.cpu_s - before.cpu_s) / s;
    double rate = (double)(after.sleeps - before.sleeps) / s;
    printf("nine waiting daemons and clients: %.0f wake-ups a second, %.2f %% of a core\n", rate,
           100 * share);
    assert_true(rate < SLEEPS_A_SECOND);
    assert_true(share < 0.5);
    assert_int_equal(torus_ibarrier(g[8], &r[8]), TORUS_OK);
    for (int i = 0; i < 9; i++)
        assert_int_equal(torus_wait(r[i], 10 * (int64_t)SECOND), TORUS_OK);
    close_all(c, 9);
    stop();
}

static void waiting_sleeps_on_the_direct_fabric(void **state)
{
    (void)state;
    waiting_sleeps("[network]\nheartbeat = 1s\n");
}

static void waiting_sleeps_on_the_routed_fabric(void **state)
{
    (void)state;
    columns = 3;
    waiting_sleeps("[torus]\nfabric = routed\n[network]\nheartbeat = 1s\n");
}

static void waiting_sleeps_on_links_with_a_rate(void **state)
{
    (void)state;
    columns = 3;
    waiting_sleeps("[torus]\nfabric = routed\nlink_rate = 1MB/s\n[network]\nheartbeat = 1s\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(waiting_sleeps_on_the_direct_fabric, clean_up),
        cmocka_unit_test_teardown(waiting_sleeps_on_the_routed_fabric, clean_up),
        cmocka_unit_test_teardown(waiting_sleeps_on_links_with_a_rate, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
