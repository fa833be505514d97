/* SPDX-License-Identifier: Apache-2.0 */
/* Promises of torus.h beside results: refused calls, accepted memory, allowed
 * actions of callbacks, and wrong calls, which are errors without side effects. */
#include "daemons.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

static void sum_with(torus_group *g, double *value, int k)
{
    *value = k;
    assert_int_equal(torus_allreduce(g, TORUS_IN_PLACE, value, 1, TORUS_DOUBLE, TORUS_SUM),
                     TORUS_OK);
    assert_true(*value == 2 * k);
}

/* The daemon has records for 16 operations. One rank starts 40 at a time: the library keeps those
 * that find no room, and no call is refused. The blocking calls of the other rank wait, too. */
static void calls_without_room_shift_no_results(void **state)
{
    (void)state;
    enum { CALLS = 200, AT_A_TIME = 40 };
    static double value[CALLS], other;
    static torus_request *r[CALLS];
    torus_context *c[2];
    torus_group *g[2];
    start(1, "[limits]\noperations = 16\n");
    join_all(c, g, 2);
    for (int done = 0; done < CALLS; done += AT_A_TIME) {
        for (int k = done; k < done + AT_A_TIME; k++) {
            value[k] = k;
            assert_int_equal(torus_iallreduce(g[0], TORUS_IN_PLACE, &value[k], 1, TORUS_DOUBLE,
                                              TORUS_SUM, &r[k]),
                             TORUS_OK);
        }
        for (int k = done; k < done + AT_A_TIME; k++) {
            sum_with(g[1], &other, k); /* while rank 0 sends what it has kept */
            assert_int_equal(torus_wait(r[k], 20 * (int64_t)SECOND), TORUS_OK);
            assert_true(value[k] == 2 * k);
            assert_int_equal(torus_dispatch(c[0]), TORUS_OK);
        }
    }
    close_all(c, 2);
    stop();
}

static void memory_of_a_cancelled_call_can_be_freed(void **state)
{
    (void)state;
    enum { COUNT = 1 << 20 };
    torus_context *c[2];
    torus_group *g[2];
    torus_request *r = NULL;
    start(1, "");
    join_all(c, g, 2);
    double *here = torus_alloc(c[0], COUNT * sizeof *here);
    double *there = torus_alloc(c[1], COUNT * sizeof *there);
    assert_int_equal(
        torus_iallreduce(g[0], TORUS_IN_PLACE, here, COUNT, TORUS_DOUBLE, TORUS_SUM, &r), TORUS_OK);
    assert_int_equal(torus_free(c[0], here), TORUS_ERR_BUSY);
    assert_int_equal(torus_cancel(r), TORUS_OK);
    assert_int_equal(torus_wait(r, 20 * (int64_t)SECOND), TORUS_ERR_CANCELLED);
    assert_int_equal(torus_free(c[0], here), TORUS_OK);
    assert_int_equal(torus_allreduce(g[1], TORUS_IN_PLACE, there, COUNT, TORUS_DOUBLE, TORUS_SUM),
                     TORUS_ERR_CANCELLED);
    barrier_all(g, 2);
    close_all(c, 2);
    stop();
}

static void buffers_that_run_out_of_their_memory_are_refused(void **state)
{
    (void)state;
    torus_context *c = NULL;
    torus_group *g = NULL;
    start(1, "[limits]\nregion = 64M\n");
    join_all(&c, &g, 1);
    double *a = torus_alloc(c, 64), *b = torus_alloc(c, 64);
    b[0] = 42;
    assert_int_equal(torus_allreduce(g, TORUS_IN_PLACE, a, 100, TORUS_DOUBLE, TORUS_SUM),
                     TORUS_ERR_INVALID);
    assert_says(c, "needs 800 bytes");
    assert_int_equal(torus_allreduce(g, TORUS_IN_PLACE, a + 1, 8, TORUS_DOUBLE, TORUS_SUM),
                     TORUS_ERR_INVALID);
    assert_true(b[0] == 42);
    assert_int_equal(torus_free(c, a), TORUS_OK);
    assert_int_equal(torus_broadcast(g, a, 1, TORUS_DOUBLE, 0), TORUS_ERR_INVALID);
    assert_says(c, "has been freed");
    assert_null(torus_alloc(c, (size_t)1 << 40));
    assert_says(c, "[limits] region");
    torus_close(c);
    stop();
}

/* ---- callbacks and shutdown ---- */

static torus_context *closed_by_callback;

static void close_within(torus_request *request, int error, void *user)
{
    (void)request;
    int *calls = user;
    assert_int_equal(error, TORUS_OK);
    (*calls)++;
    torus_close(closed_by_callback);
}

static void a_callback_may_close_the_context(void **state)
{
    (void)state;
    torus_context *c = NULL;
    torus_group *g = NULL;
    torus_request *first = NULL, *second = NULL;
    int calls = 0;
    start(1, "");
    for (int round = 0; round < 3; round++) {
        join_all(&c, &g, 1);
        closed_by_callback = c;
        assert_int_equal(torus_ibarrier(g, &first), TORUS_OK);
        assert_int_equal(torus_ibarrier(g, &second), TORUS_OK);
        assert_int_equal(torus_set_callback(first, close_within, &calls), TORUS_OK);
        if (round == 0) {
            assert_int_equal(torus_wait(first, 20 * (int64_t)SECOND), TORUS_OK);
        } else if (round == 1) {
            while (torus_test(first) == TORUS_PENDING)
                poll(NULL, 0, 1);
        } else {
            assert_int_equal(torus_set_callback(second, close_within, &calls), TORUS_OK);
            while (calls == 2) {
                struct pollfd p = {.fd = torus_fd(c), .events = POLLIN};
                assert_int_equal(poll(&p, 1, 20000), 1);
                torus_dispatch(c);
            }
        }
        assert_int_equal(calls, round + 1);
    }
    stop();
}

static void iclose_waits_for_nothing_and_takes_nothing_away(void **state)
{
    (void)state;
    torus_context *c[2];
    torus_group *g[2];
    torus_request *barrier = NULL, *end = NULL;
    start(1, "");
    join_all(c, g, 2);
    assert_int_equal(torus_ibarrier(g[0], &barrier), TORUS_OK);
    assert_int_equal(torus_iclose(c[0], &end), TORUS_ERR_BUSY);
    assert_null(end);
    assert_int_equal(torus_leave(g[0]), TORUS_ERR_BUSY);
    assert_int_equal(torus_barrier(g[1]), TORUS_OK);
    assert_int_equal(torus_wait(barrier, INT64_MAX), TORUS_OK);
    assert_int_equal(torus_iclose(c[0], &end), TORUS_OK);
    assert_int_equal(torus_wait(end, 20 * (int64_t)SECOND), TORUS_OK);
    assert_int_equal(torus_barrier(g[1]), TORUS_ERR_RANK_FAILED);
    assert_says(c[1], "left");
    close_all(c, 2);
    stop();
}

/* Memory outlives the connection; requests in flight end, and other ranks learn of it. */
static void disconnect_leaves_at_once_and_keeps_memory(void **state)
{
    (void)state;
    torus_context *c[2];
    torus_group *g[2];
    torus_request *sum = NULL;
    start(1, "");
    join_all(c, g, 2);
    double values[100] = {0};
    double *memory = torus_alloc(c[0], 100 * sizeof *memory), *other = torus_alloc(c[0], 1 << 22);
    memory[99] = other[0] = 7;
    assert_int_equal(
        torus_iallreduce(g[0], TORUS_IN_PLACE, memory, 100, TORUS_DOUBLE, TORUS_SUM, &sum),
        TORUS_OK);
    assert_int_equal(torus_disconnect(c[0]), TORUS_OK);
    assert_int_equal(torus_allreduce(g[1], TORUS_IN_PLACE, values, 100, TORUS_DOUBLE, TORUS_SUM),
                     TORUS_ERR_RANK_FAILED);
    assert_says(c[1], "left");
    assert_int_equal(torus_wait(sum, -1), TORUS_ERR_SHUTDOWN);
    assert_says(c[0], "torus_disconnect");
    assert_int_equal(torus_barrier(g[0]), TORUS_ERR_SHUTDOWN);
    assert_null(torus_alloc(c[0], 8));
    assert_int_equal(torus_disconnect(c[0]), TORUS_OK);
    assert_true(memory[99] == 7 && other[0] == 7);
    assert_int_equal(torus_free(c[0], other), TORUS_OK);
    memory[0] = 1;
    assert_int_equal(torus_free(c[0], memory), TORUS_OK);
    assert_int_equal(torus_disconnect(NULL), TORUS_ERR_INVALID);
    close_all(c, 2);
    stop();
}

/* Peers are known by their keys, on Unix sockets, or if there are none. */
static void peers_are_known_or_not(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        bool alone = round == 0;
        keyless = round >= 2;
        wants_tcp = round == 1 || round == 3;
        start(alone ? 1 : 2, round == 3 ? "[security]\ninsecure = yes\n" : "");
        torus_context *c = open_at(0);
        assert_int_equal(torus_authenticated(c), nodes == 1 || round < 3);
        torus_context *other = open_at(nodes - 1), *same = open_at(0);
        assert_true(torus_incarnation(c) == torus_incarnation(same));
        assert_int_equal(torus_incarnation(c) == torus_incarnation(other), nodes == 1);
        torus_close(same);
        torus_close(other);
        torus_close(c);
        stop();
    }
}

/* The library reads replies at every 64th request number; this test shifts the number of the close.
 */
static void iclose_leaves_many_groups(void **state)
{
    (void)state;
    enum { GROUPS = 5, NUMBERS = 64 };
    start(1, "");
    for (int calls = 0; calls < NUMBERS; calls++) {
        torus_context *c = open_at(0);
        torus_group *g[GROUPS];
        torus_request *end = NULL;
        for (int i = 0; i < GROUPS; i++) {
            char name[16];
            snprintf(name, sizeof name, "job %d", i);
            struct torus_join_options o = as(1, 0);
            o.name = name;
            assert_int_equal(torus_join(c, &o, &g[i]), TORUS_OK);
        }
        for (int i = 0; i < calls; i++)
            assert_int_equal(torus_barrier(g[0]), TORUS_OK);
        assert_int_equal(torus_iclose(c, &end), TORUS_OK);
        assert_int_equal(torus_wait(end, 20 * (int64_t)SECOND), TORUS_OK);
        torus_close(c);
    }
    stop();
}

static void wrong_arguments_are_errors(void **state)
{
    (void)state;
    torus_context *c = NULL;
    torus_group *g = NULL;
    torus_request *r = NULL;
    torus_plan *plan = NULL;
    struct torus_box box;
    start(1, "");
    join_all(&c, &g, 1);
    assert_int_equal(torus_ibarrier(g, NULL), TORUS_ERR_INVALID);
    assert_int_equal(torus_barrier(NULL), TORUS_ERR_INVALID);
    assert_int_equal(torus_broadcast(NULL, &box, 1, TORUS_BYTE, 0), TORUS_ERR_INVALID);
    assert_int_equal(torus_alltoall(NULL, &box, &r, 1, TORUS_BYTE), TORUS_ERR_INVALID);
    assert_int_equal(torus_wait(NULL, 0), TORUS_ERR_INVALID);
    assert_int_equal(torus_leave(NULL), TORUS_ERR_INVALID);
    assert_int_equal(torus_join(c, NULL, NULL), TORUS_ERR_INVALID);
    struct torus_fft_desc d = {.size = sizeof d,
                               .dimensions = 2,
                               .shape = {4, 4},
                               .type = TORUS_COMPLEX_DOUBLE,
                               .sign = TORUS_FORWARD};
    assert_int_equal(torus_plan_fft(g, &d, NULL), TORUS_ERR_INVALID);
    assert_int_equal(torus_plan_fft(g, &d, &plan), TORUS_OK);
    assert_int_equal(torus_plan_local(plan, 77, &box), TORUS_ERR_INVALID);
    assert_int_equal(torus_plan_local(NULL, TORUS_SIDE_INPUT, &box), TORUS_ERR_INVALID);
    assert_int_equal(torus_plan_free(plan), TORUS_OK);
    barrier_all(&g, 1);
    torus_close(c);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(calls_without_room_shift_no_results, clean_up),
        cmocka_unit_test_teardown(memory_of_a_cancelled_call_can_be_freed, clean_up),
        cmocka_unit_test_teardown(buffers_that_run_out_of_their_memory_are_refused, clean_up),
        cmocka_unit_test_teardown(a_callback_may_close_the_context, clean_up),
        cmocka_unit_test_teardown(iclose_waits_for_nothing_and_takes_nothing_away, clean_up),
        cmocka_unit_test_teardown(iclose_leaves_many_groups, clean_up),
        cmocka_unit_test_teardown(disconnect_leaves_at_once_and_keeps_memory, clean_up),
        cmocka_unit_test_teardown(peers_are_known_or_not, clean_up),
        cmocka_unit_test_teardown(wrong_arguments_are_errors, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
