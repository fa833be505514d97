/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as threads of one process: contexts are independent, so several threads may each use their
 * own context at the same time. */
#include "daemons.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 20, COUNT = 3000 };

struct player {
    uint32_t rank;
    pthread_t thread;
    torus_context *context;
    torus_group *world;
    const char *wrong; /* failed condition, or NULL */
    char sentence[400];
};

/* HOLDS returns from the thread's function if a condition fails, because cmocka's assertions work
 * in the main thread only. */
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            p->wrong = #condition;                                                                 \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define WELL(call) HOLDS((call) == TORUS_OK)

static void compose(const void *in, void *inout, size_t count, void *user)
{
    const int32_t *a = in;
    int32_t *b = inout;
    uint32_t *calls = user;
    for (size_t i = 0; i < count; i++)
        b[i] += a[i];
    ++*calls;
}

static void open_and_join(struct player *p)
{
    char path[128];
    snprintf(path, sizeof path, "%s/s%u", folder, p->rank % nodes);
    const struct torus_open_options o = {.size = sizeof o, .socket = path};
    const struct torus_join_options j = as(THREADS, (int32_t)p->rank);
    WELL(torus_open(&p->context, &o));
    WELL(torus_join(p->context, &j, &p->world));
}

/* reduce_some reduces plain memory, shared memory, and with a user-defined operator. */
static void reduce_some(struct player *p, int round)
{
    static const int32_t ranks = THREADS * (THREADS - 1) / 2;
    int32_t plain[COUNT], *shared = torus_alloc(p->context, sizeof plain);
    uint32_t calls = 0;
    int op = 0;
    HOLDS(shared);
    for (int i = 0; i < COUNT; i++)
        plain[i] = shared[i] = (int32_t)p->rank + i + round;
    WELL(torus_allreduce(p->world, TORUS_IN_PLACE, plain, COUNT, TORUS_INT32, TORUS_SUM));
    WELL(torus_op_create(p->context, "compose", compose, &calls, sizeof(int32_t), 1, &op));
    WELL(torus_allreduce(p->world, TORUS_IN_PLACE, shared, COUNT, TORUS_INT32, op));
    WELL(torus_op_free(p->context, op));
    HOLDS(calls > 0);
    for (int i = 0; i < COUNT; i++)
        HOLDS(plain[i] == ranks + THREADS * (i + round) && shared[i] == plain[i]);
    WELL(torus_free(p->context, shared));
}

/* regroup creates a half, its duplicate, and the survivors of that without losses. */
static void regroup(struct player *p, int round)
{
    torus_group *half = NULL, *same = NULL, *left = NULL;
    int32_t all[THREADS] = {0}, own = (int32_t)p->rank;
    uint32_t count = p->rank % 2 ? THREADS / 2 : (THREADS + 1) / 2;
    WELL(torus_split(p->world, (int32_t)(p->rank % 2), round, &half));
    WELL(torus_dup(half, &same));
    WELL(torus_shrink(same, &left));
    HOLDS(torus_size(left) == count);
    WELL(torus_allgather(left, &own, all, 1, TORUS_INT32));
    for (uint32_t i = 0; i < count; i++)
        HOLDS(all[i] == (int32_t)(2 * i + p->rank % 2));
    WELL(torus_barrier(p->world)); /* no rank may leave the group while others use it */
    WELL(torus_group_free(left));
    WELL(torus_group_free(same));
    WELL(torus_group_free(half));
}

/* overlap has several operations in flight and completes them by waiting and by dispatching. */
static void overlap(struct player *p)
{
    torus_request *request[8];
    int64_t value[8];
    for (uint32_t k = 0; k < 8; k++) {
        value[k] = p->rank + k;
        WELL(torus_iscan(p->world, TORUS_IN_PLACE, &value[k], 1, TORUS_INT64, TORUS_MAX,
                         &request[k]));
    }
    for (uint32_t k = 8; k-- > 0;) {
        WELL(torus_wait(request[k], 20 * (int64_t)SECOND));
        HOLDS(value[k] == p->rank + k);
    }
}

static void *play(void *argument)
{
    struct player *p = argument;
    open_and_join(p);
    for (int round = 0; round < ROUNDS && !p->wrong; round++) {
        reduce_some(p, round);
        if (!p->wrong)
            overlap(p);
        if (!p->wrong)
            regroup(p, round);
    }
    if (p->wrong && p->context)
        snprintf(p->sentence, sizeof p->sentence, "%s", torus_last_error(p->context));
    torus_close(p->context); /* other ranks must not wait for a failed one */
    return NULL;
}

static void play_all(uint32_t daemons, const char *more)
{
    static struct player player[THREADS];
    start(daemons, more);
    for (uint32_t i = 0; i < THREADS; i++) {
        player[i] = (struct player){.rank = i};
        assert_int_equal(pthread_create(&player[i].thread, NULL, play, &player[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(player[i].thread, NULL);
    for (uint32_t i = 0; i < THREADS; i++)
        if (player[i].wrong)
            print_error("rank %u: %s: %s\n", i, player[i].wrong, player[i].sentence);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_null(player[i].wrong);
    stop();
}

static void threads_of_one_node_use_their_contexts_at_the_same_time(void **state)
{
    (void)state;
    play_all(1, "");
}

static void threads_of_several_nodes_do(void **state)
{
    (void)state;
    play_all(3, "");
}

static void threads_on_the_routed_fabric_do(void **state)
{
    (void)state;
    play_all(3, "[torus]\nfabric = routed\n");
}

/* struct waiter: a thread that waits inside a context. */
struct waiter {
    torus_request *request;
    _Atomic pid_t thread; /* 0: not started yet */
    int error;
};

static void *wait_inside(void *argument)
{
    struct waiter *w = argument;
    w->thread = gettid();
    w->error = torus_wait(w->request, -1);
    return NULL;
}

/* sleeps returns true if a thread of this process sleeps. */
static bool sleeps(pid_t thread)
{
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
    fclose(f);
    return state == 'S';
}

/* A context without threads refuses the calls of other threads while one is inside. */
static void a_second_thread_in_a_context_is_refused(void **state)
{
    (void)state;
    static const char said[] =
        "two threads use this context at once: set torus_open_options.threads";
    torus_context *c[2];
    torus_group *g[2];
    torus_request *r = NULL;
    pthread_t thread;
    start(1, "");
    join_all(c, g, 2);
    struct waiter w = {.error = TORUS_PENDING};
    assert_int_equal(torus_ibarrier(g[0], &w.request), TORUS_OK);
    assert_int_equal(pthread_create(&thread, NULL, wait_inside, &w), 0);
    while (w.thread == 0 || !sleeps(w.thread)) /* until the other thread waits inside */
        sched_yield();
    assert_int_equal(torus_dispatch(c[0]), TORUS_ERR_INVALID);
    assert_string_equal(torus_last_error(c[0]), said);
    assert_int_equal(torus_ibarrier(g[0], &r), TORUS_ERR_INVALID);
    assert_null(torus_alloc(c[0], 64));
    assert_int_equal(torus_fd(c[0]), -1);
    assert_string_equal(torus_last_error(c[0]), said);
    assert_int_equal(torus_barrier(g[1]), TORUS_OK);
    pthread_join(thread, NULL);
    assert_int_equal(w.error, TORUS_OK);
    barrier_all(g, 2); /* the context is free again */
    close_all(c, 2);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(threads_of_one_node_use_their_contexts_at_the_same_time,
                                  clean_up),
        cmocka_unit_test_teardown(threads_of_several_nodes_do, clean_up),
        cmocka_unit_test_teardown(threads_on_the_routed_fabric_do, clean_up),
        cmocka_unit_test_teardown(a_second_thread_in_a_context_is_refused, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
