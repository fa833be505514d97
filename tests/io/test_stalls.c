/* SPDX-License-Identifier: Apache-2.0 */
/* Real daemons, one of which has an FFTW that blocks (slow_fftw.c). Everything else goes on. The
 * tests wait for events, not for times. */
#include "daemons.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 3, CULPRIT = 1, WIDTH = 256, LOOPS = 200 };

/* A transform that is blocked ends with TORUS_ERR_TIMEOUT soon, or, where a test awaits something
 * else, not for as long as any machine needs. */
static const char quick[] = "[network]\nheartbeat = 100ms\n[limits]\nprogress_timeout = 1s\n"
                            "[fft]\neffort = estimate\n";
static const char patient[] = "[network]\nheartbeat = 100ms\n[limits]\nprogress_timeout = 60s\n"
                              "[fft]\neffort = estimate\n";

static torus_context *context[RANKS], *other_context[RANKS];
static torus_group *group[RANKS], *other[RANKS];
static double *memory[RANKS];
static torus_plan *plan[RANKS];

/* path_of writes the name of a file that blocks a daemon, or tells that it waits. */
static void path_of(char *path, size_t size, const char *what, uint32_t node)
{
    snprintf(path, size, "%s/block.%s.%ld", folder, what, (long)daemon_pid[node]);
}

static void block(const char *what, uint32_t node)
{
    char path[200];
    path_of(path, sizeof path, what, node);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void unblock(const char *what, uint32_t node)
{
    char path[200];
    path_of(path, sizeof path, what, node);
    assert_int_equal(unlink(path), 0);
    path_of(path, sizeof path, "waits", node);
    unlink(path);
}

/* wait_blocked waits until a call of FFTW is blocked. */
static void wait_blocked(uint32_t node)
{
    char path[200];
    path_of(path, sizeof path, "waits", node);
    for (double end = seconds() + 30; access(path, F_OK) != 0; poll(NULL, 0, 1))
        assert_true(seconds() < end);
}

/* join_as makes the ranks of a job, one on each node. */
static void join_as(const char *name, torus_context **c, torus_group **g)
{
    torus_request *r[RANKS];
    for (uint32_t i = 0; i < RANKS; i++) {
        struct torus_join_options o = as(RANKS, (int32_t)i);
        o.name = name;
        c[i] = open_at(i);
        assert_int_equal(torus_ijoin(c[i], &o, &g[i], &r[i]), TORUS_OK);
    }
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(torus_wait(r[i], -1), TORUS_OK);
}

/* plan_transform makes the plan of a square of `width` numbers for the first job. */
static void plan_transform(uint64_t width)
{
    torus_request *r[RANKS];
    const struct torus_fft_desc d = {.size = sizeof d,
                                     .dimensions = 2,
                                     .shape = {width, width},
                                     .type = TORUS_COMPLEX_DOUBLE,
                                     .sign = TORUS_FORWARD};
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(torus_iplan_fft(group[i], &d, &plan[i], &r[i]), TORUS_OK);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(torus_wait(r[i], -1), TORUS_OK);
        size_t in = torus_plan_bytes(plan[i], TORUS_SIDE_INPUT);
        size_t out = torus_plan_bytes(plan[i], TORUS_SIDE_OUTPUT);
        memory[i] = torus_alloc(context[i], in > out ? in : out);
        assert_non_null(memory[i]);
        memset(memory[i], 0, in);
    }
}

static void transform(torus_request **r)
{
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(torus_start(plan[i], TORUS_IN_PLACE, memory[i], &r[i]), TORUS_OK);
}

static void start_slow(const char *settings)
{
    char base[128];
    prepare(RANKS);
    snprintf(base, sizeof base, "%s/block", folder);
    setenv("TORUS_TEST_BLOCK", base, 1);
    setenv("LD_PRELOAD", SLOW_FFTW, 1);
    start_all(settings);
    unsetenv("LD_PRELOAD");
    join_as("job", context, group);
    join_as("other", other_context, other);
    plan_transform(WIDTH);
}

static void stop_slow(void)
{
    close_all(context, RANKS);
    close_all(other_context, RANKS);
    stop();
}

/* others_work runs operations of the other job on all nodes. */
static void others_work(void)
{
    for (int i = 0; i < LOOPS; i++) {
        torus_request *r[RANKS];
        int32_t sum[RANKS] = {1, 2, 3};
        for (uint32_t k = 0; k < RANKS; k++)
            assert_int_equal(torus_iallreduce(other[k], TORUS_IN_PLACE, &sum[k], 1, TORUS_INT32,
                                              TORUS_SUM, &r[k]),
                             TORUS_OK);
        for (uint32_t k = 0; k < RANKS; k++) {
            assert_int_equal(torus_wait(r[k], -1), TORUS_OK);
            assert_int_equal(sum[k], 6);
        }
        barrier_all(other, RANKS);
    }
}

static void transform_that_a_worker_does_not_end_fails_alone(void **state)
{
    (void)state;
    torus_request *r[RANKS];
    char told[RANKS][512];
    start_slow(quick);
    block("execute", CULPRIT);
    transform(r);
    wait_blocked(CULPRIT);
    others_work();
    for (uint32_t i = 0; i < RANKS; i++)
        if (i != CULPRIT) {
            assert_int_equal(torus_wait(r[i], 30 * (int64_t)SECOND), TORUS_ERR_TIMEOUT);
            snprintf(told[i], sizeof told[i], "%s", torus_last_error(context[i]));
            assert_non_null(strstr(told[i], "has stalled"));
            assert_non_null(strstr(told[i], "node 1 (1)"));
        }
    others_work();                                              /* no node is lost */
    assert_int_equal(torus_wait(r[CULPRIT], 0), TORUS_PENDING); /* a worker has its memory */
    unblock("execute", CULPRIT);
    assert_int_equal(torus_wait(r[CULPRIT], 30 * (int64_t)SECOND), TORUS_ERR_TIMEOUT);
    assert_string_equal(torus_last_error(context[CULPRIT]), told[0]);
    assert_string_equal(told[0], told[2]);
    transform(r); /* the group goes on */
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(torus_wait(r[i], -1), TORUS_OK);
    stop_slow();
}

/* daemons_answer waits for a reply of each daemon to a request for its state. */
static void daemons_answer(void)
{
    for (uint32_t i = 0; i < RANKS; i++)
        torus_close(open_at(i));
}

/* The planner has its lock for as long as the file exists. The shape is new to the daemon. */
static void loop_and_workers_do_not_wait_for_the_planner(void **state)
{
    (void)state;
    torus_request *r[RANKS];
    start_slow(quick);
    transform(r); /* the daemon has its plans */
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(torus_wait(r[i], -1), TORUS_OK);
    block("plan", CULPRIT);
    torus_plan *known[RANKS];
    double *known_memory[RANKS];
    for (uint32_t i = 0; i < RANKS; i++) {
        known[i] = plan[i];
        known_memory[i] = memory[i];
    }
    plan_transform(WIDTH - 1);
    transform(r);
    wait_blocked(CULPRIT);
    others_work();
    for (int round = 0; round < 3; round++) { /* shapes that are known are transformed meanwhile */
        torus_request *k[RANKS];
        for (uint32_t i = 0; i < RANKS; i++)
            assert_int_equal(torus_start(known[i], TORUS_IN_PLACE, known_memory[i], &k[i]),
                             TORUS_OK);
        for (uint32_t i = 0; i < RANKS; i++)
            assert_int_equal(torus_wait(k[i], -1), TORUS_OK);
    }
    daemons_answer();
    /* the rank beside the planner reads the common ending, although FFTW still plans */
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(torus_wait(r[i], 30 * (int64_t)SECOND), TORUS_ERR_TIMEOUT);
    assert_string_equal(torus_last_error(context[0]), torus_last_error(context[CULPRIT]));
    others_work();
    unblock("plan", CULPRIT);
    transform(r);
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(torus_wait(r[i], -1), TORUS_OK);
    stop_slow();
}

/* No rank executes the plan: its agreement alone makes the daemon plan its transforms. */
static void the_agreement_on_a_plan_calls_the_planner(void **state)
{
    (void)state;
    start_slow(patient);
    block("plan", CULPRIT);
    plan_transform(WIDTH - 1);
    wait_blocked(CULPRIT);
    daemons_answer();
    unblock("plan", CULPRIT);
    stop_slow();
}

static void transform_is_cancelled_while_its_plan_is_made(void **state)
{
    (void)state;
    torus_request *r[RANKS];
    start_slow(patient);
    block("plan", CULPRIT);
    transform(r);
    wait_blocked(CULPRIT);
    assert_int_equal(torus_cancel(r[CULPRIT]), TORUS_OK);
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(torus_wait(r[i], 30 * (int64_t)SECOND), TORUS_ERR_CANCELLED);
    assert_non_null(strstr(torus_last_error(context[0]), "rank 1 cancelled"));
    unblock("plan", CULPRIT);
    stop_slow();
}

static void daemon_stops_while_fftw_plans(void **state)
{
    (void)state;
    torus_request *r[RANKS];
    start_slow(quick); /* a daemon that stops waits for what runs for up to progress_timeout */
    block("plan", CULPRIT);
    transform(r);
    wait_blocked(CULPRIT);
    for (uint32_t i = 0; i < RANKS; i++)
        torus_close(context[i]);
    close_all(other_context, RANKS);
    stop(); /* it ends cleanly, although its FFTW is blocked */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(transform_that_a_worker_does_not_end_fails_alone, clean_up),
        cmocka_unit_test_teardown(loop_and_workers_do_not_wait_for_the_planner, clean_up),
        cmocka_unit_test_teardown(the_agreement_on_a_plan_calls_the_planner, clean_up),
        cmocka_unit_test_teardown(transform_is_cancelled_while_its_plan_is_made, clean_up),
        cmocka_unit_test_teardown(daemon_stops_while_fftw_plans, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
