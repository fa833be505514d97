/* SPDX-License-Identifier: Apache-2.0 */
/* Promises of torus.h beside results: refused calls, accepted memory, allowed
 * actions of callbacks, and wrong calls, which are errors without side effects. */
#include "daemons.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    assert_says(c, "allreduce: the destination needs 800 bytes");
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

#define NULL_IS(context, call, words)                                                              \
    do {                                                                                           \
        assert_int_equal(call, TORUS_ERR_INVALID);                                                 \
        assert_non_null(strstr(torus_last_error(context), words));                                 \
    } while (0)

static const char no_group[] =
    "torus_barrier: the group is NULL (torus_split gives NULL for TORUS_UNDEFINED)";

/* A sentence of the thread comes before older ones of the context. */
static void null_is_refused_with_a_true_sentence(void **state)
{
    (void)state;
    torus_context *c = NULL;
    torus_group *g = NULL, *made = NULL;
    struct torus_open_options options = {.size = 0};
    struct torus_statistics statistics = {.size = 0};
    double a = 0;
    assert_non_null(strstr(torus_last_error(NULL), "no call without a context has failed"));
    start(1, "");
    join_all(&c, &g, 1);
    assert_int_equal(torus_broadcast(g, &a, 1, TORUS_DOUBLE, 7), TORUS_ERR_INVALID);
    NULL_IS(c, torus_barrier(NULL), no_group);
    NULL_IS(NULL, torus_barrier(NULL), no_group);
    NULL_IS(c, torus_allreduce(NULL, &a, &a, 1, TORUS_DOUBLE, TORUS_SUM),
            "torus_allreduce: the group");
    NULL_IS(c, torus_wait(NULL, -1), "torus_wait: request is NULL");
    NULL_IS(c, torus_cancel(NULL), "torus_cancel: request is NULL");
    NULL_IS(c, torus_join(c, NULL, NULL), "torus_join: world is NULL");
    NULL_IS(c, torus_join(NULL, NULL, &made), "torus_join: context is NULL");
    NULL_IS(c, torus_split(g, 0, 0, NULL), "torus_split: made is NULL");
    NULL_IS(c, torus_group_free(NULL), "torus_group_free: the group is NULL");
    NULL_IS(c, torus_leave(NULL), "torus_leave: the group is NULL");
    NULL_IS(c, torus_set_timeout(NULL, 1), "torus_set_timeout: the group is NULL");
    NULL_IS(c, torus_dispatch(NULL), "torus_dispatch: context is NULL");
    NULL_IS(c, torus_statistics(c, NULL), "torus_statistics: statistics is NULL");
    NULL_IS(c, torus_statistics(NULL, &statistics), "torus_statistics: context is NULL");
    NULL_IS(c, torus_statistics(c, &statistics), "torus_statistics.size is 0: set it to sizeof");
    NULL_IS(c, torus_shape(NULL, NULL, NULL), "torus_shape: context is NULL");
    NULL_IS(c, torus_start(NULL, NULL, NULL, NULL), "torus_start: plan is NULL");
    NULL_IS(c, torus_open(NULL, NULL), "torus_open: context is NULL");
    assert_int_equal(torus_broadcast(g, &a, 1, TORUS_DOUBLE, 7), TORUS_ERR_INVALID);
    assert_says(c, "root 7 is not a rank"); /* the context's sentence is the later one again */
    assert_int_equal(torus_rank(NULL) + torus_size(NULL) + torus_node(NULL), 0);
    assert_int_equal(torus_fd(NULL), -1);
    assert_null(torus_alloc(NULL, 8));
    assert_int_equal(torus_free(NULL, NULL), TORUS_OK);
    torus_set_log(NULL, NULL, NULL);
    torus_close(c);
    assert_int_equal(torus_open(&c, &options), TORUS_ERR_INVALID);
    assert_says(c, "torus_open_options.size is 0: set it to sizeof the structure");
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

/* ---- the first call after the daemon's death ---- */

/* struct first: two ranks of a job in one process, with one of everything. Rank 0 calls first. */
struct first {
    torus_context *c[2];
    torus_group *world[2], *dup[2], *made;
    torus_plan *fft[2], *redist[2];
    torus_persistent *sum[2];
    torus_request *r[2], *pending[2]; /* pending: a call that rank 1 does not make */
    int pair, op;                     /* a type with gaps, and an operator of this program */
    double plain[4096], result[4096];
    double *shared;
};

static void add_doubles(const void *in, void *inout, size_t count, void *user)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        ((double *)inout)[i] += ((const double *)in)[i];
}

static const struct torus_fft_desc transform = {.size = sizeof transform,
                                                .dimensions = 2,
                                                .shape = {8, 8},
                                                .type = TORUS_COMPLEX_DOUBLE,
                                                .sign = TORUS_FORWARD};
static const struct torus_redist_desc turn = {.size = sizeof turn,
                                              .dimensions = 2,
                                              .element_bytes = 8,
                                              .shape = {8, 8},
                                              .from = "(block, *)",
                                              .to = "(*, block)"};

static void prepare_first(struct first *f, unsigned number, bool waits)
{
    char name[24];
    snprintf(name, sizeof name, "first.%u", number);
    for (int i = 0; i < 2; i++) {
        struct torus_join_options o = as(2, i);
        o.name = name;
        f->c[i] = open_at(0);
        assert_int_equal(torus_ijoin(f->c[i], &o, &f->world[i], &f->r[i]), TORUS_OK);
    }
#define BOTH(call)                                                                                 \
    do {                                                                                           \
        for (int i = 0; i < 2; i++)                                                                \
            assert_int_equal(call, TORUS_OK);                                                      \
        for (int i = 0; i < 2; i++)                                                                \
            assert_int_equal(torus_wait(f->r[i], 30 * (int64_t)SECOND), TORUS_OK);                 \
    } while (0)
    for (int i = 0; i < 2; i++)
        assert_int_equal(torus_wait(f->r[i], 30 * (int64_t)SECOND), TORUS_OK);
    BOTH(torus_idup(f->world[i], &f->dup[i], &f->r[i]));
    BOTH(torus_iplan_fft(f->world[i], &transform, &f->fft[i], &f->r[i]));
    BOTH(torus_iplan_redist(f->world[i], &turn, &f->redist[i], &f->r[i]));
#undef BOTH
    for (int i = 0; i < 2; i++)
        assert_int_equal(torus_allreduce_init(f->world[i], f->plain, f->result, 8, TORUS_DOUBLE,
                                              TORUS_SUM, &f->sum[i]),
                         TORUS_OK);
    assert_int_equal(torus_type_resized(f->c[0], TORUS_DOUBLE, 0, 16, &f->pair), TORUS_OK);
    assert_int_equal(torus_op_create(f->c[0], "add", add_doubles, NULL, 8, 1, &f->op), TORUS_OK);
    assert_non_null(f->shared = torus_alloc(f->c[0], sizeof f->plain));
    for (int i = 0; waits && i < 2; i++)
        assert_int_equal(torus_ibarrier(f->dup[0], &f->pending[i]), TORUS_OK);
}

/* wait_first waits for the request of a call that was started. */
static int wait_first(struct first *f, int started)
{
    return started == TORUS_OK ? torus_wait(f->r[0], 30 * (int64_t)SECOND) : started;
}

#define FIRST(name, expression)                                                                    \
    static int first_##name(struct first *f)                                                       \
    {                                                                                              \
        return expression;                                                                         \
    }
#define FIRST_STARTED(name, expression) FIRST(name, wait_first(f, expression))
#define W f->world[0]
FIRST(alloc, torus_alloc(f->c[0], 8 << 20) ? TORUS_OK : TORUS_ERR_SHUTDOWN)
FIRST(barrier, torus_barrier(W))
FIRST_STARTED(ibarrier, torus_ibarrier(W, &f->r[0]))
FIRST(broadcast, torus_broadcast(W, f->plain, 8, TORUS_DOUBLE, 0))
FIRST_STARTED(ibroadcast, torus_ibroadcast(W, f->plain, 8, TORUS_DOUBLE, 0, &f->r[0]))
FIRST(allreduce, torus_allreduce(W, f->plain, f->result, 8, TORUS_DOUBLE, TORUS_SUM))
FIRST(allreduce_long, torus_allreduce(W, f->plain, f->result, 4096, TORUS_DOUBLE, TORUS_SUM))
FIRST(allreduce_shared, torus_allreduce(W, TORUS_IN_PLACE, f->shared, 8, TORUS_DOUBLE, TORUS_SUM))
FIRST(allreduce_operator, torus_allreduce(W, f->plain, f->result, 8, TORUS_DOUBLE, f->op))
FIRST(broadcast_gaps, torus_broadcast(W, f->plain, 8, f->pair, 0))
FIRST_STARTED(ibroadcast_gaps, torus_ibroadcast(W, f->plain, 8, f->pair, 0, &f->r[0]))
FIRST_STARTED(iallreduce,
              torus_iallreduce(W, f->plain, f->result, 8, TORUS_DOUBLE, TORUS_SUM, &f->r[0]))
FIRST_STARTED(ireduce,
              torus_ireduce(W, f->plain, f->result, 8, TORUS_DOUBLE, TORUS_MAX, 0, &f->r[0]))
FIRST_STARTED(iscan, torus_iscan(W, f->plain, f->result, 8, TORUS_DOUBLE, TORUS_SUM, &f->r[0]))
FIRST_STARTED(iprefix, torus_iprefix(W, f->plain, f->result, 8, TORUS_DOUBLE, TORUS_SUM, &f->r[0]))
FIRST_STARTED(igather, torus_igather(W, f->plain, f->result, 8, TORUS_DOUBLE, 0, &f->r[0]))
FIRST_STARTED(iscatter, torus_iscatter(W, f->plain, f->result, 8, TORUS_DOUBLE, 0, &f->r[0]))
FIRST_STARTED(iallgather, torus_iallgather(W, f->plain, f->result, 8, TORUS_DOUBLE, &f->r[0]))
FIRST(alltoall, torus_alltoall(W, f->plain, f->result, 8, TORUS_DOUBLE))
FIRST_STARTED(ialltoall, torus_ialltoall(W, f->plain, f->result, 8, TORUS_DOUBLE, &f->r[0]))
FIRST(fft2, torus_fft2(W, f->plain, f->result, transform.shape, TORUS_COMPLEX_DOUBLE, TORUS_FORWARD,
                       TORUS_SCALE_NONE))
FIRST_STARTED(ifft2, torus_ifft2(W, f->plain, f->result, transform.shape, TORUS_COMPLEX_DOUBLE,
                                 TORUS_FORWARD, TORUS_SCALE_NONE, &f->r[0]))
FIRST(plan_fft, torus_plan_fft(W, &transform, &f->fft[0]))
FIRST_STARTED(iplan_redist, torus_iplan_redist(W, &turn, &f->redist[0], &f->r[0]))
FIRST(execute_fft, torus_execute(f->fft[0], f->plain, f->result))
FIRST_STARTED(start_fft, torus_start(f->fft[0], f->plain, f->result, &f->r[0]))
FIRST(execute_redist, torus_execute(f->redist[0], f->plain, f->result))
FIRST_STARTED(start_redist, torus_start(f->redist[0], f->plain, f->result, &f->r[0]))
FIRST_STARTED(persistent_start, torus_persistent_start(f->sum[0], &f->r[0]))
FIRST(dup, torus_dup(W, &f->made))
FIRST_STARTED(idup, torus_idup(W, &f->made, &f->r[0]))
FIRST(split, torus_split(W, 0, 0, &f->made))
FIRST_STARTED(isplit, torus_isplit(W, 0, 0, &f->made, &f->r[0]))
FIRST(create, torus_group_create(W, (const uint32_t[]){0}, 1, 0, &f->made))
FIRST(shrink, torus_shrink(W, &f->made))
FIRST_STARTED(ishrink, torus_ishrink(W, &f->made, &f->r[0]))
FIRST(leave, torus_leave(W))
FIRST_STARTED(iclose, torus_iclose(f->c[0], &f->r[0]))
FIRST(join, torus_join(f->c[0],
                       &(struct torus_join_options){
                           .size = sizeof(struct torus_join_options), .name = "other", .ranks = 2},
                       &f->made))
FIRST(wait, torus_wait(f->pending[0], -1))
FIRST(waitall, torus_waitall(f->pending, 2, -1, NULL))
FIRST(waitany, torus_waitany(f->pending, 2, -1, &(size_t){0}))
FIRST(dispatch, torus_dispatch(f->c[0]))
#undef W
#undef FIRST
#undef FIRST_STARTED

static const struct {
    const char *name;
    int (*call)(struct first *f);
    bool waits; /* for calls under way */
} firsts[] = {
#define CASE(name)                                                                                 \
    {                                                                                              \
#name, first_##name, false                                                                 \
    }
#define WAIT(name)                                                                                 \
    {                                                                                              \
#name, first_##name, true                                                                  \
    }
    CASE(alloc),
    CASE(barrier),
    CASE(ibarrier),
    CASE(broadcast),
    CASE(ibroadcast),
    CASE(allreduce),
    CASE(allreduce_long),
    CASE(allreduce_shared),
    CASE(allreduce_operator),
    CASE(broadcast_gaps),
    CASE(ibroadcast_gaps),
    CASE(iallreduce),
    CASE(ireduce),
    CASE(iscan),
    CASE(iprefix),
    CASE(igather),
    CASE(iscatter),
    CASE(iallgather),
    CASE(alltoall),
    CASE(ialltoall),
    CASE(fft2),
    CASE(ifft2),
    CASE(plan_fft),
    CASE(iplan_redist),
    CASE(execute_fft),
    CASE(start_fft),
    CASE(execute_redist),
    CASE(start_redist),
    CASE(persistent_start),
    CASE(dup),
    CASE(idup),
    CASE(split),
    CASE(isplit),
    CASE(create),
    CASE(shrink),
    CASE(ishrink),
    CASE(leave),
    CASE(iclose),
    CASE(join),
    WAIT(wait),
    WAIT(waitall),
    WAIT(waitany),
    CASE(dispatch),
#undef CASE
#undef WAIT
};

/* first_told makes the call in a process that has not heard of the death, and returns false if it
 * gets another error or sentence than every function gets. */
static bool first_told(unsigned number, int ready, int go)
{
    static struct first f;
    char byte = 0;
    prepare_first(&f, number, firsts[number].waits);
    if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 0)
        return false;
    int error = firsts[number].call(&f);
    const char *text = torus_last_error(f.c[0]);
    bool good =
        error == TORUS_ERR_SHUTDOWN && strncmp(text, "lost the connection to torusd: ", 31) == 0;
    if (!good)
        fprintf(stderr, "%s: %d, %s\n", firsts[number].name, error, text);
    torus_close(f.c[0]);
    torus_close(f.c[1]);
    return good;
}

/* Each call is the first of a process of its own, which then learns of the death from it. */
static void every_function_may_be_the_first_to_tell_of_the_daemons_death(void **state)
{
    enum { CASES = sizeof firsts / sizeof *firsts };
    (void)state;
    pid_t child[CASES];
    int ready[2] = {-1, -1}, go[2] = {-1, -1}, status = 0;
    start(1, "");
    assert_true(pipe(ready) == 0 && pipe(go) == 0);
    for (unsigned i = 0; i < CASES; i++)
        if ((child[i] = fork()) == 0) {
            close(go[1]);
            _exit(first_told(i, ready[1], go[0]) ? 0 : 1);
        }
    close(ready[1]);
    for (unsigned i = 0; i < CASES; i++)
        assert_int_equal(read(ready[0], &(char){0}, 1), 1);
    kill(daemon_pid[0], SIGKILL);
    assert_int_equal(waitpid(daemon_pid[0], NULL, 0), daemon_pid[0]);
    daemon_pid[0] = 0;
    close(go[1]);
    int failed = 0;
    for (unsigned i = 0; i < CASES; i++)
        failed += waitpid(child[i], &status, 0) != child[i] || status != 0;
    assert_int_equal(failed, 0);
    close(ready[0]);
    close(go[0]);
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
        cmocka_unit_test_teardown(null_is_refused_with_a_true_sentence, clean_up),
        cmocka_unit_test_teardown(a_callback_may_close_the_context, clean_up),
        cmocka_unit_test_teardown(iclose_waits_for_nothing_and_takes_nothing_away, clean_up),
        cmocka_unit_test_teardown(iclose_leaves_many_groups, clean_up),
        cmocka_unit_test_teardown(disconnect_leaves_at_once_and_keeps_memory, clean_up),
        cmocka_unit_test_teardown(every_function_may_be_the_first_to_tell_of_the_daemons_death,
                                  clean_up),
        cmocka_unit_test_teardown(peers_are_known_or_not, clean_up),
        cmocka_unit_test_teardown(wrong_arguments_are_errors, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
