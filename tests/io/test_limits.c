/* SPDX-License-Identifier: Apache-2.0 */
/* Real daemons near the limits of limits.h and of [limits]. The ranks are in this process, each
 * with its own context. */
#include "daemons.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 300, GROUPS = 400 };

static torus_context *context[RANKS];
static torus_group *group[RANKS], *survivors[RANKS];
static torus_request *request[RANKS];

/* wait_all waits for the requests of every `step`-th rank. */
static void wait_all(uint32_t step)
{
    for (uint32_t i = 0; i < RANKS; i += step)
        if (torus_wait(request[i], 60 * (int64_t)SECOND) != TORUS_OK)
            fail_msg("rank %u: %s", i, torus_last_error(context[i]));
}

static void sum_all(torus_group **g, uint32_t step)
{
    double mine[RANKS], sum[RANKS];
    for (uint32_t i = 0; i < RANKS; i += step) {
        mine[i] = i;
        assert_int_equal(
            torus_iallreduce(g[i], &mine[i], &sum[i], 1, TORUS_DOUBLE, TORUS_SUM, &request[i]),
            TORUS_OK);
    }
    wait_all(step);
    double expected = 0;
    for (uint32_t i = 0; i < RANKS; i += step)
        expected += i;
    for (uint32_t i = 0; i < RANKS; i += step)
        assert_true(sum[i] == expected);
}

static void three_hundred_ranks_run_on_one_node(void **state)
{
    (void)state;
    torus_plan *plan[RANKS];
    struct torus_fft_desc desc = {.size = sizeof desc,
                                  .dimensions = 2,
                                  .shape = {RANKS, 4},
                                  .type = TORUS_COMPLEX_DOUBLE,
                                  .sign = TORUS_FORWARD};
    start(1, "");
    for (uint32_t i = 0; i < RANKS; i++) {
        struct torus_join_options o = as(RANKS, (int32_t)i);
        context[i] = open_at(0);
        assert_int_equal(torus_ijoin(context[i], &o, &group[i], &request[i]), TORUS_OK);
    }
    wait_all(1);
    sum_all(group, 1);
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(torus_iplan_fft(group[i], &desc, &plan[i], &request[i]), TORUS_OK);
    wait_all(1);
    for (uint32_t i = 0; i < RANKS; i += 2)
        assert_int_equal(torus_plan_free(plan[i]), TORUS_OK);
    for (uint32_t i = 1; i < RANKS; i += 2)
        torus_close(context[i]);
    for (uint32_t i = 0; i < RANKS; i += 2)
        assert_int_equal(torus_ishrink(group[i], &survivors[i], &request[i]), TORUS_OK);
    wait_all(2);
    assert_int_equal(torus_size(survivors[0]), RANKS / 2);
    sum_all(survivors, 2);
    for (uint32_t i = 0; i < RANKS; i += 2)
        torus_close(context[i]);
    stop();
}

/* Each call has a table of counts of 320 KB, and the daemon has 12 MiB for calls: those that find
 * no room wait for the earlier ones. */
static void calls_wait_for_the_memory_of_earlier_ones(void **state)
{
    (void)state;
    enum { FEW = 100, CALLS = 60 };
    static const size_t zero[FEW];
    static torus_request *call[FEW][CALLS];
    start(1, "[limits]\nmemory = 16MiB\n");
    for (uint32_t i = 0; i < FEW; i++) {
        struct torus_join_options o = as(FEW, (int32_t)i);
        context[i] = open_at(0);
        assert_int_equal(torus_ijoin(context[i], &o, &group[i], &request[i]), TORUS_OK);
    }
    for (uint32_t i = 0; i < FEW; i++)
        assert_int_equal(torus_wait(request[i], -1), TORUS_OK);
    for (uint32_t i = 0; i < FEW; i++)
        for (int k = 0; k < CALLS; k++)
            assert_int_equal(torus_ialltoallv(group[i], NULL, zero, NULL, NULL, zero, NULL,
                                              TORUS_BYTE, &call[i][k]),
                             TORUS_OK);
    for (int k = 0; k < CALLS; k++)
        for (uint32_t i = 0; i < FEW; i++)
            if (torus_wait(call[i][k], 60 * (int64_t)SECOND) != TORUS_OK)
                fail_msg("call %d of rank %u: %s", k, i, torus_last_error(context[i]));
    for (uint32_t i = 0; i < FEW; i++)
        torus_close(context[i]);
    stop();
}

/* live_and_die is a rank that makes many groups. The last rank kills itself. */
static int live_and_die(uint32_t rank, uint32_t ranks)
{
    struct torus_join_options o = as(ranks, (int32_t)rank);
    torus_context *c = open_at(rank);
    torus_group *world = NULL, *made = NULL;
    int error = torus_join(c, &o, &world);
    for (int i = 0; !error && i < GROUPS; i++)
        error = torus_dup(world, &made);
    error = error ? error : torus_barrier(world);
    if (!error && rank == ranks - 1)
        raise(SIGKILL);
    error = error ? error : torus_barrier(world);
    torus_close(c);
    return error == TORUS_ERR_RANK_FAILED ? 0 : 1;
}

static void a_rank_with_many_groups_is_killed(void **state)
{
    (void)state;
    pid_t pid[4];
    int code = 0;
    columns = 2;
    start(4, "");
    for (uint32_t i = 0; i < 4; i++) {
        pid[i] = fork();
        if (pid[i] == 0)
            _exit(live_and_die(i, 4));
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(waitpid(pid[i], &code, 0), pid[i]);
        assert_true(i == 3 ? WIFSIGNALED(code) : WIFEXITED(code) && WEXITSTATUS(code) == 0);
    }
    torus_close(open_at(3)); /* its daemon serves */
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(three_hundred_ranks_run_on_one_node, clean_up),
        cmocka_unit_test_teardown(calls_wait_for_the_memory_of_earlier_ones, clean_up),
        cmocka_unit_test_teardown(a_rank_with_many_groups_is_killed, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
