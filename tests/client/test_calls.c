/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of collectives. An error names the difference between calls of ranks. Wrong arguments
 * are errors without side effects. Operators and persistent calls have the lifetimes of torus.h. */
#include "daemons.h"
#include "random.h"

#include <stdio.h>
#include <string.h>

static torus_context *context[2];
static torus_group *world[2];

static void open_both(const char *more)
{
    start(2, more);
    join_all(context, world, 2);
}

static void close_both(void)
{
    close_all(context, 2);
    stop();
}

/* assert_mismatch waits for both ranks, whose calls differ, and checks that the error contains
 * `one` and `two`. */
static void assert_mismatch(torus_request *request[2], const char *one, const char *two)
{
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(torus_wait(request[rank], 20 * (int64_t)SECOND), TORUS_ERR_MISMATCH);
        assert_says(context[rank], one);
        assert_says(context[rank], two);
    }
}

static void add(const void *in, void *inout, size_t count, void *user)
{
    const int32_t *x = in;
    int32_t *y = inout;
    (*(int *)user)++;
    for (size_t i = 0; i < count; i++)
        y[i] += x[i];
}

static int added; /* number of its calls */

static int op_of(int rank, const char *name)
{
    int op = 0;
    assert_int_equal(torus_op_create(context[rank], name, add, &added, sizeof(int32_t), 1, &op),
                     TORUS_OK);
    return op;
}

static void what_differs_between_ranks_is_named(void **state)
{
    (void)state;
    torus_request *r[2];
    torus_group *made = NULL;
    int32_t a[2][8] = {{0}}, b[2][8] = {{0}};
    size_t give[2][2] = {{1, 3}, {2, 2}}, take[2][2] = {{1, 2}, {2, 2}};
    open_both("");
    for (int i = 0; i < 2; i++)
        torus_ialltoallv(world[i], a[i], give[i], NULL, b[i], take[i], NULL, TORUS_INT32, &r[i]);
    assert_mismatch(r, "rank 0 sends 4 bytes more to rank 1", "alltoallv");
    for (uint32_t i = 0; i < 2; i++)
        torus_igather(world[i], a[i], b[i], 1, TORUS_INT32, i, &r[i]);
    assert_mismatch(r, "root 0", "root 1");
    for (uint32_t i = 0; i < 2; i++)
        torus_iscan(world[i], a[i], b[i], 1, TORUS_INT32, i ? TORUS_PROD : TORUS_BXOR, &r[i]);
    assert_mismatch(r, "product", "bitwise xor");
    for (int i = 0; i < 2; i++)
        torus_set_reproducible(world[i], i ? TORUS_REPRODUCIBLE_ANY_PLACEMENT
                                           : TORUS_REPRODUCIBLE_SAME_PLACEMENT);
    for (int i = 0; i < 2; i++)
        torus_iallreduce(world[i], a[i], b[i], 1, TORUS_INT32, TORUS_SUM, &r[i]);
    assert_mismatch(r, "same placement", "any placement");
    torus_igatherv(world[0], a[0], 1, b[0], take[1], NULL, TORUS_INT32, 0, &r[0]);
    torus_igatherv(world[1], a[1], 1, NULL, NULL, NULL, TORUS_INT32, 0, &r[1]);
    assert_mismatch(r, "gatherv", "several pairs of ranks");
    torus_isplit(world[0], 0, 0, &made, &r[0]);
    torus_iallgather(world[1], a[1], b[1], 2, TORUS_INT32, &r[1]);
    assert_mismatch(r, "split(", "allgather(");
    assert_null(made);
    barrier_all(world, 2);
    close_both();
}

static void operators_and_grids_that_differ_are_named(void **state)
{
    (void)state;
    torus_request *r[2];
    int32_t a[2][8] = {{0}}, b[2][8] = {{0}};
    open_both("");
    int sum[2] = {op_of(0, "sum"), op_of(1, "sum")}, other = op_of(1, "another");
    torus_iallreduce(world[0], a[0], b[0], 1, TORUS_INT32, sum[0], &r[0]);
    torus_iallreduce(world[1], a[1], b[1], 1, TORUS_INT32, other, &r[1]);
    assert_mismatch(r, "user-defined operator", "commutativity of the operators differs");
    torus_iscan(world[0], a[0], b[0], 1, TORUS_OPAQUE, sum[0], &r[0]);
    torus_iexscan(world[1], a[1], b[1], 1, TORUS_OPAQUE, sum[1], &r[1]);
    assert_mismatch(r, "called scan(", "called exscan(");
    for (int i = 0; i < 2; i++) {
        struct torus_grid g = {.size = sizeof g, .dimensions = 1, .extent = {2}, .periodic = {i}};
        torus_ineighbour_alltoall(world[i], &g, a[i], b[i], 1, TORUS_INT32, &r[i]);
    }
    assert_mismatch(r, "neighbour_alltoallv(", "grid");
    barrier_all(world, 2);
    close_both();
}

#define REFUSED(call, words)                                                                       \
    do {                                                                                           \
        assert_int_equal(call, TORUS_ERR_INVALID);                                                 \
        assert_says(context[0], words);                                                            \
    } while (0)

static void wrong_calls_are_refused_and_not_made(void **state)
{
    (void)state;
    int32_t a[8] = {0}, b[8] = {0};
    const ptrdiff_t far[] = {PTRDIFF_MAX / 2, PTRDIFF_MAX / 2};
    const size_t ones[] = {1, 1}, huge[] = {SIZE_MAX / 2, SIZE_MAX / 2}, wrap[] = {2, SIZE_MAX - 1};
    const int t = TORUS_INT32;
    torus_persistent *p = NULL;
    open_both("");
    torus_group *g = world[0];
    REFUSED(torus_scatter(g, TORUS_IN_PLACE, b, 1, t, 0), "as the destination, not as the source");
    REFUSED(torus_scatter(g, a, TORUS_IN_PLACE, 1, t, 1), "only the root may");
    REFUSED(torus_scatterv(g, a, ones, NULL, TORUS_IN_PLACE, 1, t, 1), "only the root may");
    REFUSED(torus_gather(g, TORUS_IN_PLACE, b, 1, t, 1), "only the root may");
    REFUSED(torus_gatherv(g, TORUS_IN_PLACE, 1, b, ones, NULL, t, 1), "only the root may");
    REFUSED(torus_reduce(g, TORUS_IN_PLACE, b, 1, t, TORUS_SUM, 1), "only the root may");
    REFUSED(torus_gather(g, a, TORUS_IN_PLACE, 1, t, 0), "as the source, not as the destination");
    REFUSED(torus_alltoall(g, a, a, 1, t), "overlap");
    REFUSED(torus_prefix(g, b + 1, b, 1, t, TORUS_SUM), "overlap");
    REFUSED(torus_alltoallv(g, a, NULL, NULL, b, ones, NULL, t), "NULL");
    REFUSED(torus_allgatherv(g, a, 1, b, huge, NULL, t), "overflow");
    REFUSED(torus_allgatherv(g, a, 1, b, ones, far, t), "overflow");
    REFUSED(torus_allgatherv(g, a, 1, b, wrap, NULL, TORUS_BYTE), "overflow");
    REFUSED(torus_allgather(g, a, b, SIZE_MAX / 8, t), "overflow");
    REFUSED(torus_allreduce(g, a, b, SIZE_MAX / 4 + 2, t, TORUS_SUM), "overflow");
    REFUSED(torus_neighbour_alltoall(g, NULL, a, b, 1, t), "the grid or graph is NULL");
    struct torus_grid grid = {.size = sizeof grid, .dimensions = 2, .extent = {2, 2}};
    REFUSED(torus_neighbour_alltoall(g, &grid, a, b, 1, t), "the size of the group");
    grid.extent[0] = 1;
    REFUSED(torus_neighbour_alltoall(g, &grid, TORUS_IN_PLACE, b, 1, t),
            "do not support TORUS_IN_PLACE");
    REFUSED(torus_neighbour_alltoallv(g, &grid, a, NULL, NULL, b, ones, NULL, t), "NULL");
    REFUSED(torus_reduce(g, a, b, 1, TORUS_OPAQUE, TORUS_SUM, 0),
            "TORUS_OPAQUE needs an operator of torus_op_create");
    REFUSED(torus_reduce(g, a, b, 1, t, 4711, 0), "the operator is unknown (was it freed?)");
    REFUSED(torus_reduce(g, a, b, 1, TORUS_OPAQUE, 4711, 0), "the operator is unknown");
    REFUSED(torus_reduce(g, a, b, 1, t, TORUS_SUM, 2), "root 2 is not a rank: they are 0 to 1");
    REFUSED(torus_reduce(g, a, b, 1, TORUS_DOUBLE, TORUS_BAND, 0), "integers");
    REFUSED(torus_gather(g, a, b, 1, 99, 0), "type");
    REFUSED(torus_allgather(g, NULL, b, 1, t), "NULL");
    REFUSED(torus_set_reproducible(g, 3), "mode");
    int op = op_of(0, "sum");
    REFUSED(torus_reduce(g, a, b, 1, TORUS_DOUBLE, op, 0), "torus_op_create was given");
    REFUSED(torus_reduce(g, a, b, 1, t, op, 2), "root");
    REFUSED(torus_allreduce(g, a, NULL, 1, t, op), "NULL");
    REFUSED(torus_allreduce(g, a, b, SIZE_MAX / 2, t, op), "overflow");
    REFUSED(torus_op_free(context[0], 4711), "4711");
    REFUSED(torus_op_create(context[0], "none", NULL, NULL, 4, 1, &op), "function");
    REFUSED(torus_gather_init(g, a, b, 1, 99, 0, &p), "type");
    assert_null(p);
    REFUSED(torus_barrier_init(g, NULL), "NULL");
    assert_int_equal(torus_persistent_start(NULL, NULL), TORUS_ERR_INVALID);
    barrier_all(world, 2); /* refused calls have no sequence number */
    close_both();
}

/* Sentences name the call and its buffer; a count that is too large is not called an overlap. */
static void wrong_buffers_are_named(void **state)
{
    (void)state;
    int32_t a[8] = {0}, b[8] = {0};
    const int t = TORUS_INT32;
    torus_persistent *p = NULL;
    open_both("");
    torus_group *g = world[0];
    int32_t *shared = torus_alloc(context[0], 64), *more = torus_alloc(context[0], 64);
    REFUSED(torus_broadcast(g, a, 1, t, UINT32_MAX),
            "broadcast: root 4294967295 is not a rank: they are 0 to 1");
    REFUSED(torus_broadcast(g, TORUS_IN_PLACE, 1, t, 0),
            "broadcast: there is one buffer, so TORUS_IN_PLACE has no meaning");
    REFUSED(torus_broadcast(g, NULL, 1, t, 0), "broadcast: the buffer is NULL");
    REFUSED(torus_allreduce(g, NULL, b, 2, t, TORUS_SUM),
            "allreduce: the source is NULL, but the call needs 8 bytes there");
    REFUSED(torus_allreduce(g, a, NULL, 2, t, TORUS_SUM), "allreduce: the destination is NULL");
    REFUSED(torus_allreduce_init(g, NULL, b, 2, t, TORUS_SUM, &p), "the source is NULL");
    REFUSED(torus_allreduce_init(g, a, NULL, 2, t, TORUS_SUM, &p), "the destination is NULL");
    REFUSED(torus_allreduce_init(g, shared, b, 20, t, TORUS_SUM, &p), "ends after 64 bytes");
    assert_null(p);
    REFUSED(torus_allreduce(g, shared, b, 20, t, TORUS_SUM), "the source needs 80 bytes at");
    REFUSED(torus_allreduce(g, shared, more, 2000, t, TORUS_SUM), "the source needs 8000 bytes at");
    REFUSED(torus_allreduce(g, a, b, (size_t)1 << 30, t, TORUS_SUM), "overlap (4 GiB at");
    struct torus_grid grid = {.dimensions = 1, .extent = {2}};
    REFUSED(torus_neighbour_alltoall(g, &grid, a, b, 1, t),
            "torus_grid.size is 0: set it to sizeof");
    grid.size = 1;
    REFUSED(torus_neighbour_alltoall(g, &grid, a, b, 1, t), "torus_grid.size is 1, not");
    barrier_all(world, 2);
    close_both();
}

static void operators_run_when_the_request_completes_and_are_kept_until_then(void **state)
{
    (void)state;
    torus_request *r[2], *barrier[2];
    int32_t a[2] = {1, 2}, sum[2] = {0, 0};
    open_both("");
    int op[2] = {op_of(0, "sum"), op_of(1, "sum")};
    int32_t *shared = torus_alloc(context[0], sizeof *shared);
    added = 0;
    for (int i = 0; i < 2; i++)
        torus_iallreduce(world[i], &a[i], i ? &sum[i] : shared, 1, TORUS_INT32, op[i], &r[i]);
    for (int i = 0; i < 2; i++)
        torus_ibarrier(world[i], &barrier[i]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(torus_wait(barrier[i], 20 * (int64_t)SECOND), TORUS_OK);
    assert_int_equal(added, 0); /* complete in the daemon, not yet waited for */
    assert_int_equal(torus_op_free(context[0], op[0]), TORUS_OK); /* it ends with its request */
    assert_int_equal(torus_op_free(context[0], op[0]), TORUS_ERR_INVALID);
    assert_int_equal(torus_free(context[0], shared), TORUS_ERR_BUSY);
    for (int i = 0; i < 2; i++)
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
    assert_int_equal(added, 2);
    assert_int_equal(*shared, 3);
    assert_int_equal(sum[1], 3);
    assert_int_equal(torus_free(context[0], shared), TORUS_OK);
    assert_int_equal(torus_allreduce(world[0], a, sum, 1, TORUS_INT32, op[0]), TORUS_ERR_INVALID);
    op[0] = op_of(0, "sum");
    for (int i = 0; i < 2; i++) /* never waited for */
        torus_iallreduce(world[i], &a[i], &sum[i], 1, TORUS_INT32, op[i], &r[i]);
    barrier_all(world, 2);
    close_both();
    assert_int_equal(added, 2);
}

/* Each rank starts the calls in an order of its own, between other calls. */
static void start_in_any_order(uint32_t daemons, const char *more)
{
    enum { CALLS = 5, ROUNDS = 20 };
    torus_persistent *p[2][CALLS];
    torus_request *r[2][CALLS], *barrier[2];
    int64_t value[2][CALLS], sum[2][CALLS];
    int order[CALLS] = {0, 1, 2, 3, 4};
    uint64_t random = 16;
    start(daemons, more);
    join_all(context, world, 2);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < CALLS; k++)
            assert_int_equal(torus_allreduce_init(world[i], &value[i][k], &sum[i][k], 1,
                                                  TORUS_INT64, TORUS_SUM, &p[i][k]),
                             TORUS_OK);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++) {
            random_shuffle(&random, order, CALLS, sizeof *order);
            assert_int_equal(torus_ibarrier(world[i], &barrier[i]), TORUS_OK);
            for (int n = 0; n < CALLS; n++) {
                int k = order[n];
                value[i][k] = 100 * k + i + round;
                assert_int_equal(torus_persistent_start(p[i][k], &r[i][k]), TORUS_OK);
            }
        }
        for (int i = 0; i < 2; i++) {
            assert_int_equal(torus_waitall(r[i], CALLS, 20 * (int64_t)SECOND, NULL), TORUS_OK);
            assert_int_equal(torus_wait(barrier[i], 20 * (int64_t)SECOND), TORUS_OK);
            for (int k = 0; k < CALLS; k++)
                assert_int_equal(sum[i][k], 200 * k + 1 + 2 * round);
        }
    }
    assert_int_equal(torus_persistent_free(p[0][0]), TORUS_OK);
    close_both();
}

static void persistent_calls_start_in_any_order(void **state)
{
    (void)state;
    start_in_any_order(2, "");
}

static void persistent_calls_start_in_any_order_elsewhere(void **state)
{
    (void)state;
    start_in_any_order(1, "");
    start_in_any_order(2, "[torus]\nfabric = routed\n");
}

/* A persistent call outlives its group and its operator. */
static void a_persistent_call_keeps_what_it_uses(void **state)
{
    (void)state;
    torus_persistent *p[2];
    torus_request *r[2], *dup[2];
    torus_group *g[2];
    int32_t value[2] = {1, 2}, sum[2] = {0, 0};
    open_both("");
    added = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(torus_idup(world[i], &g[i], &dup[i]), TORUS_OK);
    for (int i = 0; i < 2; i++) {
        int op = op_of(i, "sum");
        assert_int_equal(torus_wait(dup[i], -1), TORUS_OK);
        assert_int_equal(torus_allreduce_init(g[i], &value[i], &sum[i], 1, TORUS_INT32, op, &p[i]),
                         TORUS_OK);
        assert_int_equal(torus_op_free(context[i], op), TORUS_OK);
        assert_int_equal(torus_group_free(g[i]), TORUS_OK);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++)
            assert_int_equal(torus_persistent_start(p[i], &r[i]), TORUS_OK);
        for (int i = 0; i < 2; i++)
            assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
    }
    assert_int_equal(added, 6);
    assert_int_equal(sum[0], 3);
    assert_int_equal(sum[1], 3);
    for (int i = 0; i < 2; i++)
        assert_int_equal(torus_persistent_free(p[i]), TORUS_OK);
    close_both();
}

static void add_any(const void *in, void *inout, size_t count, void *user)
{
    const uint8_t *a = in;
    uint8_t *b = inout;
    size_t bytes = *(const size_t *)user;
    for (size_t i = 0; i < count * bytes; i++)
        b[i] = (uint8_t)(b[i] + a[i]);
}

/* An operator without an element size takes it from the type of each call. */
static void an_operator_needs_no_element_size(void **state)
{
    (void)state;
    static const struct {
        int type;
        size_t bytes;
    } types[] = {{TORUS_BYTE, 1}, {TORUS_INT16, 2}, {TORUS_DOUBLE, 8}, {TORUS_COMPLEX_DOUBLE, 16}};
    uint8_t value[2][48], sum[2][48];
    torus_request *r[2];
    size_t bytes = 0;
    int op[2];
    open_both("");
    for (int i = 0; i < 2; i++)
        assert_int_equal(torus_op_create(context[i], "add", add_any, &bytes, 0, 1, &op[i]),
                         TORUS_OK);
    assert_int_equal(torus_allreduce(world[0], value, sum, 1, TORUS_OPAQUE, op[0]),
                     TORUS_ERR_INVALID);
    assert_says(context[0], "without an element size");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        bytes = types[t].bytes;
        for (int i = 0; i < 2; i++) {
            memset(value[i], i + 1, sizeof value[i]);
            memset(sum[i], 0, sizeof sum[i]);
            assert_int_equal(
                torus_iallreduce(world[i], value[i], sum[i], 3, types[t].type, op[i], &r[i]),
                TORUS_OK);
        }
        for (int i = 0; i < 2; i++) {
            assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
            for (size_t b = 0; b < sizeof sum[i]; b++)
                assert_int_equal(sum[i][b], b < 3 * bytes ? 3 : 0);
        }
    }
    close_both();
}

static void a_persistent_call_is_in_flight_once_at_a_time(void **state)
{
    (void)state;
    torus_request *r[2], *more = NULL;
    torus_persistent *p[2];
    int64_t value[2] = {1, 2}, sum[2] = {0, 0};
    open_both("");
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            torus_allreduce_init(world[i], &value[i], &sum[i], 1, TORUS_INT64, TORUS_SUM, &p[i]),
            TORUS_OK);
    for (int64_t round = 0; round < 3; round++, value[0]++) {
        assert_int_equal(torus_persistent_start(p[0], &r[0]), TORUS_OK);
        assert_int_equal(torus_persistent_start(p[0], &more), TORUS_ERR_BUSY);
        assert_int_equal(torus_persistent_free(p[0]), TORUS_ERR_BUSY);
        assert_int_equal(torus_persistent_start(p[1], &r[1]), TORUS_OK);
        for (int i = 0; i < 2; i++)
            assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
        assert_int_equal(sum[0], 3 + round);
        assert_int_equal(sum[1], 3 + round);
    }
    assert_int_equal(torus_persistent_free(p[0]), TORUS_OK);
    assert_int_equal(torus_persistent_free(NULL), TORUS_OK);
    close_both(); /* frees the other persistent call */
}

/* A group of one rank, so that blocking calls can follow each other. */
static void the_forms_that_wait_do_the_same(void **state)
{
    (void)state;
    const size_t three = 3;
    const ptrdiff_t back = -3;
    const struct torus_grid grid = {
        .size = sizeof grid, .dimensions = 1, .extent = {1}, .periodic = {1}};
    int32_t a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {0};
    const int t = TORUS_INT32;
    start(1, "");
    join_all(context, world, 1);
    torus_group *g = world[0];
#define SAME_AS(call, ...)                                                                         \
    do {                                                                                           \
        const int32_t right[] = {__VA_ARGS__};                                                     \
        memset(b, 0, sizeof b);                                                                    \
        assert_int_equal(call, TORUS_OK);                                                          \
        assert_memory_equal(b, right, sizeof right);                                               \
    } while (0)
    SAME_AS(torus_reduce(g, a, b, 3, t, TORUS_SUM, 0), 1, 2, 3, 0);
    SAME_AS(torus_allreduce(g, a, b, 3, t, TORUS_PROD), 1, 2, 3, 0);
    SAME_AS(torus_reduce_scatter(g, a, b, 3, t, TORUS_BOR), 1, 2, 3, 0);
    SAME_AS(torus_reduce_scatterv(g, a, b, &three, t, TORUS_MAX), 1, 2, 3, 0);
    SAME_AS(torus_scan(g, a, b, 3, t, TORUS_SUM), 1, 2, 3, 0);
    SAME_AS(torus_exscan(g, a, b, 3, t, TORUS_SUM), 0, 0, 0, 0);
    SAME_AS(torus_prefix(g, a, b, 3, t, TORUS_SUM), 1, 2, 3, 0);
    SAME_AS(torus_gather(g, a, b, 3, t, 0), 1, 2, 3, 0);
    SAME_AS(torus_gatherv(g, a, 3, b, &three, NULL, t, 0), 1, 2, 3, 0);
    SAME_AS(torus_scatter(g, a, b, 3, t, 0), 1, 2, 3, 0);
    SAME_AS(torus_scatterv(g, a, &three, NULL, b, 3, t, 0), 1, 2, 3, 0);
    SAME_AS(torus_allgather(g, a, b, 3, t), 1, 2, 3, 0);
    SAME_AS(torus_allgatherv(g, a, 3, b, &three, NULL, t), 1, 2, 3, 0);
    SAME_AS(torus_alltoall(g, a, b, 3, t), 1, 2, 3, 0);
    SAME_AS(torus_alltoallv(g, a + 6, &three, &back, b, &three, NULL, t), 4, 5, 6, 0);
    SAME_AS(torus_neighbour_alltoall(g, &grid, a, b, 3, t), 4, 5, 6, 1, 2, 3);
    const size_t give[] = {2, 1}, take[] = {1, 2};
    SAME_AS(torus_neighbour_alltoallv(g, &grid, a, give, NULL, b, take, NULL, t), 3, 1, 2, 0);
    const struct torus_double_int pair = {2.5, 7};
    struct torus_double_int least = {0};
    assert_int_equal(torus_allreduce(g, &pair, &least, 1, TORUS_DOUBLE_INT, TORUS_MINLOC),
                     TORUS_OK);
    assert_true(least.value == 2.5 && least.place == 7);
    torus_close(context[0]);
    stop();
}

static void the_least_value_comes_with_its_place(void **state)
{
    (void)state;
    torus_request *r[2];
    struct torus_int64_int own[2] = {{5, 1}, {5, 0}}, least[2];
    struct torus_float_int mine[2] = {{1.5F, 0}, {2.5F, 1}}, most[2];
    open_both("");
    for (int i = 0; i < 2; i++)
        torus_iallreduce(world[i], &own[i], &least[i], 1, TORUS_INT64_INT, TORUS_MINLOC, &r[i]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
        assert_true(least[i].value == 5 && least[i].place == 0);
    }
    for (int i = 0; i < 2; i++)
        torus_iallreduce(world[i], &mine[i], &most[i], 1, TORUS_FLOAT_INT, TORUS_MAXLOC, &r[i]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
        assert_true(most[i].value == 2.5F && most[i].place == 1);
    }
    struct torus_int16_int small[2] = {{-5, 1}, {-6, 0}};
    struct torus_long_double_int wide[2] = {{1.5L, 3}, {1.5L, 2}};
    for (int i = 0; i < 2; i++)
        torus_iallreduce(world[i], TORUS_IN_PLACE, &small[i], 1, TORUS_INT16_INT, TORUS_MAXLOC,
                         &r[i]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
        assert_true(small[i].value == -5 && small[i].place == 1);
    }
    for (int i = 0; i < 2; i++)
        torus_iallreduce(world[i], TORUS_IN_PLACE, &wide[i], 1, TORUS_LONG_DOUBLE_INT, TORUS_MINLOC,
                         &r[i]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
        assert_true(wide[i].value == 1.5L && wide[i].place == 2);
    }
    close_both();
}

static void truth_values_combine_by_logical_operators(void **state)
{
    (void)state;
    static const struct {
        int op;
        bool wanted[4];
    } cases[] = {{TORUS_LAND, {false, false, false, true}},
                 {TORUS_LOR, {false, true, true, true}},
                 {TORUS_LXOR, {false, true, true, false}},
                 {TORUS_BAND, {false, false, false, true}}};
    const bool own[2][4] = {{false, false, true, true}, {false, true, false, true}};
    torus_request *r[2];
    bool result[2][4];
    open_both("");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        for (int i = 0; i < 2; i++)
            torus_iallreduce(world[i], own[i], result[i], 4, TORUS_BOOL, cases[k].op, &r[i]);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
            assert_memory_equal(result[i], cases[k].wanted, sizeof result[i]);
        }
    }
    assert_int_equal(torus_allreduce(world[0], own[0], result[0], 4, TORUS_BOOL, TORUS_SUM),
                     TORUS_ERR_INVALID);
    assert_says(context[0], "only numbers");
    close_both();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_differs_between_ranks_is_named, clean_up),
        cmocka_unit_test_teardown(operators_and_grids_that_differ_are_named, clean_up),
        cmocka_unit_test_teardown(wrong_calls_are_refused_and_not_made, clean_up),
        cmocka_unit_test_teardown(wrong_buffers_are_named, clean_up),
        cmocka_unit_test_teardown(operators_run_when_the_request_completes_and_are_kept_until_then,
                                  clean_up),
        cmocka_unit_test_teardown(persistent_calls_start_in_any_order, clean_up),
        cmocka_unit_test_teardown(persistent_calls_start_in_any_order_elsewhere, clean_up),
        cmocka_unit_test_teardown(a_persistent_call_keeps_what_it_uses, clean_up),
        cmocka_unit_test_teardown(an_operator_needs_no_element_size, clean_up),
        cmocka_unit_test_teardown(a_persistent_call_is_in_flight_once_at_a_time, clean_up),
        cmocka_unit_test_teardown(the_forms_that_wait_do_the_same, clean_up),
        cmocka_unit_test_teardown(the_least_value_comes_with_its_place, clean_up),
        cmocka_unit_test_teardown(truth_values_combine_by_logical_operators, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
