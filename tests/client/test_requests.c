/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: many in flight, waits for some of several, replies that are read late, and the sentence
 * of a request's error. */
#include "daemons.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum { CALLS = 3000, WINDOW = 256, CALLS_MAX = 65536 };

static torus_context *context[4];
static torus_group *world[4];

/* each_started starts `count` sums of one element on a rank; the sum of call k is 2 * k. */
static void each_started(uint32_t rank, torus_request **r, double *value, int count)
{
    for (int k = 0; k < count; k++) {
        value[k] = k;
        assert_int_equal(torus_iallreduce(world[rank], TORUS_IN_PLACE, &value[k], 1, TORUS_DOUBLE,
                                          TORUS_SUM, &r[k]),
                         TORUS_OK);
    }
}

/* dispatch_until makes the libraries of both ranks handle their replies until a request is
 * complete.
 */
static void dispatch_until(torus_request *r)
{
    double end = seconds() + 30;
    while (torus_peek(r) == TORUS_PENDING && seconds() < end)
        for (int rank = 0; rank < 2; rank++)
            assert_int_equal(torus_dispatch(context[rank]), TORUS_OK);
}

/* One rank starts all its calls before the other starts its first one. */
static void have_thousands_in_flight(uint32_t daemons, const char *more)
{
    static torus_request *r[2][CALLS];
    static double value[2][CALLS];
    start(daemons, more);
    join_all(context, world, 2);
    for (int rank = 0; rank < 2; rank++)
        each_started((uint32_t)rank, r[rank], value[rank], CALLS);
    dispatch_until(r[0][CALLS - 1]);
    for (int k = CALLS; k-- > 0;) /* the other way round */
        for (int rank = 0; rank < 2; rank++) {
            assert_int_equal(torus_wait(r[rank][k], 30 * (int64_t)SECOND), TORUS_OK);
            assert_true(value[rank][k] == 2 * k);
        }
    barrier_all(world, 2);
    close_all(context, 2);
    stop();
}

static void thousands_of_calls_are_in_flight(void **state)
{
    (void)state;
    have_thousands_in_flight(2, "");
}

static void thousands_of_calls_are_in_flight_elsewhere(void **state)
{
    (void)state;
    have_thousands_in_flight(1, "");
    have_thousands_in_flight(4, "[torus]\nfabric = routed\n");
}

/* Rank 0 starts more calls of the world than the daemon takes, and enters a call of another group
 * then. Rank 1 enters that one first. */
static void a_full_group_holds_up_no_other_group(void **state)
{
    (void)state;
    static torus_request *r[WINDOW + 50], *dup[2], *other[2];
    torus_group *g[2];
    start(2, "");
    join_all(context, world, 2);
    for (int rank = 0; rank < 2; rank++)
        assert_int_equal(torus_idup(world[rank], &g[rank], &dup[rank]), TORUS_OK);
    for (int rank = 0; rank < 2; rank++)
        assert_int_equal(torus_wait(dup[rank], -1), TORUS_OK);
    for (int k = 0; k < WINDOW + 50; k++)
        assert_int_equal(torus_ibarrier(world[0], &r[k]), TORUS_OK);
    for (int rank = 0; rank < 2; rank++)
        assert_int_equal(torus_ibarrier(g[rank], &other[rank]), TORUS_OK);
    for (int rank = 0; rank < 2; rank++)
        assert_int_equal(torus_wait(other[rank], 30 * (int64_t)SECOND), TORUS_OK);
    for (int k = 0; k < WINDOW + 50; k++) {
        torus_request *theirs = NULL;
        assert_int_equal(torus_ibarrier(world[1], &theirs), TORUS_OK);
        int left = torus_test(r[k]);
        assert_true(left == TORUS_PENDING || left == TORUS_OK);
        r[k] = left == TORUS_PENDING ? r[k] : NULL;
        assert_int_equal(torus_wait(theirs, 30 * (int64_t)SECOND), TORUS_OK);
    }
    assert_int_equal(torus_waitall(r, WINDOW + 50, 30 * (int64_t)SECOND, NULL), TORUS_OK);
    close_all(context, 2);
    stop();
}

/* The limit refuses one call, and those after it are made. */
static void one_call_too_many_is_busy_alone(void **state)
{
    (void)state;
    static torus_request *r[CALLS_MAX];
    torus_request *more = NULL;
    start(2, "");
    join_all(context, world, 2);
    for (int k = 0; k < CALLS_MAX; k++)
        assert_int_equal(torus_ibarrier(world[0], &r[k]), TORUS_OK);
    assert_int_equal(torus_ibarrier(world[0], &more), TORUS_ERR_BUSY);
    assert_null(more);
    assert_says(context[0], "rank 0 has 65536 calls");
    assert_int_equal(torus_ibarrier(world[1], &more), TORUS_OK);
    assert_int_equal(torus_wait(more, 30 * (int64_t)SECOND), TORUS_OK);
    assert_int_equal(torus_wait(r[0], 30 * (int64_t)SECOND), TORUS_OK);
    assert_int_equal(torus_ibarrier(world[0], &r[0]), TORUS_OK);
    close_all(context, 2);
    stop();
}

/* The daemon dies while calls of a freed group wait to be sent. The reply to the first call is read
 * later, and the library then tries to send the next one. All calls end. */
static void a_freed_group_ends_with_its_connection(void **state)
{
    (void)state;
    static torus_request *r[WINDOW + 50];
    int errors[WINDOW + 50];
    torus_request *dup[2];
    torus_group *g[2];
    start(1, "");
    join_all(context, world, 2);
    for (int rank = 0; rank < 2; rank++)
        assert_int_equal(torus_idup(world[rank], &g[rank], &dup[rank]), TORUS_OK);
    for (int rank = 0; rank < 2; rank++)
        assert_int_equal(torus_wait(dup[rank], -1), TORUS_OK);
    for (int k = 0; k < WINDOW + 50; k++)
        assert_int_equal(torus_ibarrier(g[0], &r[k]), TORUS_OK);
    /* Its reply says that the daemon has read the calls. If it dies with unread ones, the socket
     * fails before the reply to the first call is read. */
    assert_non_null(torus_alloc(context[0], 3 << 20));
    assert_int_equal(torus_group_free(g[0]), TORUS_OK);
    assert_int_equal(torus_ibarrier(g[1], &dup[1]), TORUS_OK);
    assert_int_equal(torus_wait(dup[1], 30 * (int64_t)SECOND), TORUS_OK);
    struct pollfd replied = {.fd = torus_fd(context[0]), .events = POLLIN};
    assert_int_equal(poll(&replied, 1, 20000), 1);
    kill(daemon_pid[0], SIGKILL);
    assert_int_equal(waitpid(daemon_pid[0], NULL, 0), daemon_pid[0]);
    daemon_pid[0] = 0;
    assert_int_equal(torus_waitall(r, WINDOW + 50, 30 * (int64_t)SECOND, errors),
                     TORUS_ERR_SHUTDOWN);
    assert_int_equal(errors[0], TORUS_OK);
    for (int k = 1; k < WINDOW + 50; k++)
        assert_int_equal(errors[k], TORUS_ERR_SHUTDOWN);
    close_all(context, 2);
}

/* A cancellation of a call that the daemon does not have yet follows the call. */
static void a_call_is_cancelled_before_it_is_sent(void **state)
{
    (void)state;
    static torus_request *r[2][WINDOW + 1];
    start(2, "");
    join_all(context, world, 2);
    for (int rank = 0; rank < 2; rank++)
        for (int k = 0; k <= WINDOW; k++) {
            assert_int_equal(torus_ibarrier(world[rank], &r[rank][k]), TORUS_OK);
            if (rank == 0 && k == WINDOW)
                assert_int_equal(torus_cancel(r[0][k]), TORUS_OK);
        }
    for (int rank = 0; rank < 2; rank++)
        assert_int_equal(torus_waitall(r[rank], WINDOW, 30 * (int64_t)SECOND, NULL), TORUS_OK);
    for (int rank = 0; rank < 2; rank++) { /* or it was complete before */
        int error = torus_wait(r[rank][WINDOW], 30 * (int64_t)SECOND);
        assert_true(error == TORUS_OK || error == TORUS_ERR_CANCELLED);
    }
    close_all(context, 2);
    stop();
}

static void waits_take_any_some_or_all(void **state)
{
    (void)state;
    enum { N = 6 };
    static torus_request *r[2][N], *none[2];
    static double value[2][N];
    size_t index = 0, completed = 0, indices[N];
    int errors[N];
    bool seen[N] = {false};
    start(2, "");
    join_all(context, world, 2);
    assert_int_equal(torus_waitany(none, 2, -1, &index), TORUS_OK);
    assert_true(index == TORUS_NO_REQUEST);
    assert_int_equal(torus_waitsome(none, 2, -1, &completed, indices, NULL), TORUS_OK);
    assert_int_equal(completed, 0);
    assert_int_equal(torus_waitall(none, 2, -1, errors), TORUS_OK);
    assert_int_equal(torus_waitall(NULL, 0, -1, NULL), TORUS_OK);

    each_started(0, r[0], value[0], N);
    assert_int_equal(torus_waitany(r[0], N, 0, &index), TORUS_PENDING);
    assert_int_equal(torus_waitsome(r[0], N, 0, &completed, indices, errors), TORUS_PENDING);
    assert_int_equal(torus_waitall(r[0], N, SECOND / 100, errors), TORUS_PENDING);
    for (int k = 0; k < N; k++)
        assert_int_equal(errors[k], TORUS_PENDING);
    each_started(1, r[1], value[1], N);
    assert_int_equal(torus_waitall(r[1], N, -1, errors), TORUS_OK);
    for (int k = 0; k < N; k++) {
        assert_int_equal(errors[k], TORUS_OK);
        assert_null(r[1][k]);
        assert_true(value[1][k] == 2 * k);
    }
    assert_int_equal(torus_waitany(r[0], N, -1, &index), TORUS_OK);
    assert_null(r[0][index]);
    seen[index] = true;
    for (size_t left = N - 1; left > 0; left -= completed) {
        assert_int_equal(torus_waitsome(r[0], N, -1, &completed, indices, errors), TORUS_OK);
        assert_true(completed > 0);
        for (size_t i = 0; i < completed; i++) {
            assert_int_equal(errors[i], TORUS_OK);
            assert_null(r[0][indices[i]]);
            assert_false(seen[indices[i]]);
            seen[indices[i]] = true;
        }
    }
    for (int k = 0; k < N; k++)
        assert_true(value[0][k] == 2 * k);

    assert_int_equal(torus_ibarrier(world[0], &r[0][0]), TORUS_OK);
    assert_int_equal(torus_ibarrier(world[1], &r[0][1]), TORUS_OK);
    assert_int_equal(torus_waitany(r[0], 2, -1, &index), TORUS_ERR_INVALID);
    assert_says(context[0], "another context");
    assert_int_equal(torus_wait(r[0][0], -1), TORUS_OK);
    assert_int_equal(torus_wait(r[0][1], -1), TORUS_OK);
    close_all(context, 2);
    stop();
}

/* Two of four calls fail. Each request has its sentence, and the wait reports the first. */
static void a_request_keeps_the_sentence_of_its_error(void **state)
{
    (void)state;
    enum { N = 4 };
    static torus_request *r[2][N];
    static int32_t value[2][4];
    int errors[N];
    torus_group *g[2][N];
    start(2, "");
    join_all(context, world, 2);
    for (int k = 0; k < N; k++) { /* a mismatch spoils its own group only */
        torus_request *dup[2];
        for (int rank = 0; rank < 2; rank++)
            assert_int_equal(torus_idup(world[rank], &g[rank][k], &dup[rank]), TORUS_OK);
        for (int rank = 0; rank < 2; rank++)
            assert_int_equal(torus_wait(dup[rank], -1), TORUS_OK);
    }
    for (int rank = 0; rank < 2; rank++)
        for (int k = 0; k < N; k++) /* the second and the fourth differ in their counts */
            assert_int_equal(torus_iallreduce(g[rank][k], TORUS_IN_PLACE, value[rank],
                                              k % 2 ? (size_t)(k + rank) : 1, TORUS_INT32,
                                              TORUS_MAX, &r[rank][k]),
                             TORUS_OK);
    while (torus_peek(r[0][3]) == TORUS_PENDING || torus_peek(r[0][1]) == TORUS_PENDING)
        continue;
    assert_int_equal(torus_peek(r[0][3]), TORUS_ERR_MISMATCH);
    assert_non_null(strstr(torus_request_error(r[0][1]), "int32, 1)"));
    assert_non_null(strstr(torus_request_error(r[0][3]), "int32, 3)"));
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(torus_waitall(r[rank], N, -1, errors), TORUS_ERR_MISMATCH);
        assert_says(context[rank], "int32, 1)");
        for (int k = 0; k < N; k++)
            assert_int_equal(errors[k], k % 2 ? TORUS_ERR_MISMATCH : TORUS_OK);
    }
    close_all(context, 2);
    stop();
}

/* Memory is asked of the daemon while a transform makes progress by requests of its own. */
static void calls_within_calls_lose_no_reply(void **state)
{
    (void)state;
    static float line[2][2 * 64 * 64];
    const uint64_t shape[2] = {64, 64};
    start(1, "");
    join_all(context, world, 1);
    for (int round = 0; round < 200; round++) {
        torus_request *r = NULL;
        assert_int_equal(torus_ifft2(world[0], line[0], line[1], shape, TORUS_COMPLEX_FLOAT,
                                     TORUS_FORWARD, TORUS_SCALE_NONE, &r),
                         TORUS_OK);
        int done = TORUS_PENDING;
        while ((done = torus_test(r)) == TORUS_PENDING) {
            void *memory = torus_alloc(context[0], 3 << 20);
            assert_non_null(memory);
            assert_int_equal(torus_free(context[0], memory), TORUS_OK);
        }
        assert_int_equal(done, TORUS_OK);
    }
    close_all(context, 1);
    stop();
}

/* More replies arrive than a socket holds while a rank computes. */
static void a_rank_may_read_its_replies_late(void **state)
{
    (void)state;
    enum { GROUPS = 4, EACH = 250 };
    static torus_request *r[2][GROUPS][EACH];
    torus_group *g[2][GROUPS];
    start(1, "");
    join_all(context, world, 2);
    for (int i = 0; i < GROUPS; i++) {
        torus_request *dup[2];
        for (int rank = 0; rank < 2; rank++)
            assert_int_equal(torus_idup(world[rank], &g[rank][i], &dup[rank]), TORUS_OK);
        for (int rank = 0; rank < 2; rank++)
            assert_int_equal(torus_wait(dup[rank], -1), TORUS_OK);
    }
    for (int rank = 0; rank < 2; rank++)
        for (int i = 0; i < GROUPS; i++)
            for (int k = 0; k < EACH; k++)
                assert_int_equal(torus_ibarrier(g[rank][i], &r[rank][i][k]), TORUS_OK);
    for (int i = 0; i < GROUPS; i++) /* rank 0 reads nothing meanwhile */
        assert_int_equal(torus_waitall(r[1][i], EACH, 30 * (int64_t)SECOND, NULL), TORUS_OK);
    for (int i = 0; i < GROUPS; i++)
        assert_int_equal(torus_waitall(r[0][i], EACH, 30 * (int64_t)SECOND, NULL), TORUS_OK);
    barrier_all(world, 2);
    close_all(context, 2);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(thousands_of_calls_are_in_flight, clean_up),
        cmocka_unit_test_teardown(thousands_of_calls_are_in_flight_elsewhere, clean_up),
        cmocka_unit_test_teardown(a_full_group_holds_up_no_other_group, clean_up),
        cmocka_unit_test_teardown(one_call_too_many_is_busy_alone, clean_up),
        cmocka_unit_test_teardown(a_freed_group_ends_with_its_connection, clean_up),
        cmocka_unit_test_teardown(a_call_is_cancelled_before_it_is_sent, clean_up),
        cmocka_unit_test_teardown(waits_take_any_some_or_all, clean_up),
        cmocka_unit_test_teardown(a_request_keeps_the_sentence_of_its_error, clean_up),
        cmocka_unit_test_teardown(calls_within_calls_lose_no_reply, clean_up),
        cmocka_unit_test_teardown(a_rank_may_read_its_replies_late, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
