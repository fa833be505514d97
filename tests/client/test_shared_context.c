/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads use one context at once (torus_open_options.threads): calls on groups of their
 * own, waits, tests, dispatch, memory, operators, transforms, and a sentence of each one's errors.
 */
#include "daemons.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 2, EACH = 4, ROUNDS = 30, COUNT = 2000, CALLS = 20 };

static torus_context *context[RANKS];
static torus_group *world[RANKS], *group[RANKS][EACH];

struct worker {
    uint32_t rank, index;
    pthread_t thread;
    const char *wrong; /* failed condition, or NULL */
    char sentence[400];
};

/* HOLDS returns from the thread's function if a condition fails, because cmocka's assertions work
 * in the main thread only. */
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            w->wrong = #condition;                                                                 \
            snprintf(w->sentence, sizeof w->sentence, "%s", torus_last_error(context[w->rank]));   \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define WELL(call) HOLDS((call) == TORUS_OK)

static void add(const void *in, void *inout, size_t count, void *user)
{
    const int32_t *a = in;
    int32_t *b = inout;
    (void)user;
    for (size_t i = 0; i < count; i++)
        b[i] += a[i];
}

static void reduce(struct worker *w, int round)
{
    torus_context *c = context[w->rank];
    torus_group *g = group[w->rank][w->index];
    int32_t plain[COUNT], *shared = torus_alloc(c, sizeof plain);
    int op = 0;
    HOLDS(shared);
    for (int i = 0; i < COUNT; i++)
        plain[i] = shared[i] = (int32_t)(w->rank + 10 * w->index) + i + round;
    WELL(torus_op_create(c, "add", add, NULL, sizeof(int32_t), 1, &op));
    WELL(torus_allreduce(g, TORUS_IN_PLACE, plain, COUNT, TORUS_INT32, TORUS_SUM));
    WELL(torus_allreduce(g, TORUS_IN_PLACE, shared, COUNT, TORUS_INT32, op));
    for (int i = 0; i < COUNT; i++) {
        int32_t sum = 2 * ((int32_t)(10 * w->index) + i + round) + 1;
        HOLDS(plain[i] == sum && shared[i] == sum);
    }
    WELL(torus_op_free(c, op));
    WELL(torus_free(c, shared));
}

/* overlap completes calls by every kind of wait. */
static void overlap(struct worker *w)
{
    torus_group *g = group[w->rank][w->index];
    torus_request *r[CALLS];
    int64_t value[CALLS];
    size_t index = 0;
    for (int k = 0; k < CALLS; k++) {
        value[k] = (int64_t)w->rank + k;
        WELL(torus_iallreduce(g, TORUS_IN_PLACE, &value[k], 1, TORUS_INT64, TORUS_SUM, &r[k]));
    }
    WELL(torus_waitany(r, CALLS, -1, &index));
    while (r[CALLS - 1] && torus_peek(r[CALLS - 1]) == TORUS_PENDING)
        WELL(torus_dispatch(context[w->rank]));
    int last = r[0] ? torus_wait(r[0], SECOND * (int64_t)20) : TORUS_OK;
    r[0] = NULL;
    HOLDS(last == TORUS_OK);
    WELL(torus_waitall(r, CALLS, SECOND * (int64_t)20, NULL));
    for (int k = 0; k < CALLS; k++)
        HOLDS(value[k] == 1 + 2 * k);
}

/* err makes a wrong call. Its sentence is this thread's, whatever the others do. */
static void err(struct worker *w)
{
    torus_group *g = group[w->rank][w->index];
    char words[40];
    HOLDS(torus_set_reproducible(g, 100 + (int)w->index) == TORUS_ERR_INVALID);
    snprintf(words, sizeof words, "mode %u ", 100 + w->index);
    HOLDS(strstr(torus_last_error(context[w->rank]), words));
}

static void transform(struct worker *w)
{
    static float line[RANKS][EACH][2][2 * 16 * 16];
    const uint64_t shape[2] = {16, 16};
    float(*a)[2 * 16 * 16] = line[w->rank][w->index];
    torus_request *r = NULL;
    memset(a[0], 0, sizeof a[0]);
    a[0][0] = w->rank == 0 ? 1 : 0;
    WELL(torus_ifft2(group[w->rank][w->index], a[0], a[1], shape, TORUS_COMPLEX_FLOAT,
                     TORUS_FORWARD, TORUS_SCALE_NONE, &r));
    WELL(torus_wait(r, SECOND * (int64_t)20));
    for (int i = 0; i < 16 * 16 / RANKS; i++) /* of a unit pulse */
        HOLDS(a[1][2 * i] == 1 && a[1][2 * i + 1] == 0);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    for (int round = 0; round < ROUNDS && !w->wrong; round++) {
        reduce(w, round);
        if (!w->wrong)
            overlap(w);
        if (!w->wrong)
            err(w);
        if (!w->wrong && round % 10 == 0)
            transform(w);
    }
    return NULL;
}

/* open_all opens the ranks with threads, and makes a group for each thread. */
static void open_all(void)
{
    torus_request *r[RANKS];
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        char path[128];
        snprintf(path, sizeof path, "%s/s%u", folder, rank % nodes);
        const struct torus_open_options o = {.size = sizeof o, .socket = path, .threads = 1};
        const struct torus_join_options j = as(RANKS, (int32_t)rank);
        assert_int_equal(torus_open(&context[rank], &o), TORUS_OK);
        assert_int_equal(torus_ijoin(context[rank], &j, &world[rank], &r[rank]), TORUS_OK);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_int_equal(torus_wait(r[rank], SECOND * (int64_t)20), TORUS_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < EACH; i++)
            assert_int_equal(torus_dup(world[rank], &group[rank][i]), TORUS_OK);
}

static void work_all(uint32_t daemons, const char *more)
{
    static struct worker worker[RANKS * EACH];
    start(daemons, more);
    open_all();
    for (uint32_t i = 0; i < RANKS * EACH; i++) {
        worker[i] = (struct worker){.rank = i % RANKS, .index = i / RANKS};
        assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
    }
    for (uint32_t i = 0; i < RANKS * EACH; i++)
        pthread_join(worker[i].thread, NULL);
    for (uint32_t i = 0; i < RANKS * EACH; i++)
        if (worker[i].wrong)
            print_error("rank %u, thread %u: %s: %s\n", worker[i].rank, worker[i].index,
                        worker[i].wrong, worker[i].sentence);
    for (uint32_t i = 0; i < RANKS * EACH; i++)
        assert_null(worker[i].wrong);
    close_all(context, RANKS);
    stop();
}

static void threads_share_contexts_on_one_node(void **state)
{
    (void)state;
    work_all(1, "");
}

static void threads_share_contexts_on_two_nodes(void **state)
{
    (void)state;
    work_all(2, "");
}

static void threads_share_contexts_on_the_routed_fabric(void **state)
{
    (void)state;
    work_all(2, "[torus]\nfabric = routed\n");
}

/* struct waiter: a thread that waits for a request, which another thread completes. */
struct waiter {
    torus_request *request;
    int64_t timeout;
    int outcome;
};

/* struct maker: a thread that makes a persistent call of a group of one rank. */
struct maker {
    torus_group *alone;
    int type, error;
    int32_t value[3], copy[3];
    torus_persistent *call;
    _Atomic bool begins;
};

static void *make(void *argument)
{
    struct maker *m = argument;
    m->begins = true;
    m->error = torus_allgather_init(m->alone, m->value, m->copy, 1, m->type, &m->call);
    return NULL;
}

static void *wait_for(void *argument)
{
    struct waiter *w = argument;
    w->outcome = torus_wait(w->request, w->timeout);
    return NULL;
}

/* One thread frees the type of a call that another thread makes: before, meanwhile or after. */
static void a_persistent_call_keeps_what_is_freed_while_it_is_made(void **state)
{
    (void)state;
    torus_group *alone = NULL;
    pthread_t thread;
    torus_request *r = NULL;
    uint32_t self = 0;
    start(1, "");
    open_all();
    assert_int_equal(torus_group_create(world[0], &self, 1, 0, &alone), TORUS_OK);
    for (int round = 0; round < 300; round++) {
        struct maker m = {.alone = alone, .value = {1, 2, 3}, .copy = {-1, -1, -1}};
        assert_int_equal(torus_type_vector(context[0], 2, 1, 2, TORUS_INT32, &m.type), TORUS_OK);
        assert_int_equal(pthread_create(&thread, NULL, make, &m), 0);
        while (!m.begins)
            continue;
        for (volatile int spin = 0; spin < round * 100; spin++)
            continue;
        assert_int_equal(torus_type_free(context[0], m.type), TORUS_OK);
        pthread_join(thread, NULL);
        if (m.error == TORUS_ERR_INVALID) /* the type was freed before */
            continue;
        assert_int_equal(m.error, TORUS_OK);
        assert_int_equal(torus_persistent_start(m.call, &r), TORUS_OK);
        assert_int_equal(torus_wait(r, SECOND * (int64_t)20), TORUS_OK);
        assert_memory_equal(m.copy, ((int32_t[]){1, -1, 3}), sizeof m.copy);
        assert_int_equal(torus_persistent_free(m.call), TORUS_OK);
    }
    close_all(context, RANKS);
    stop();
}

/* One thread is the reader, another waits for it. A third handles the replies of both, or starts
 * the calls that they wait for. */
static void waiting_threads_hold_up_nobody(void **state)
{
    (void)state;
    pthread_t thread[3];
    struct waiter w[3];
    torus_request *theirs[2];
    start(1, "");
    open_all();
    for (int round = 0; round < 50; round++) {
        for (int k = 0; k < 2; k++) {
            w[k] = (struct waiter){.timeout = SECOND * (int64_t)20};
            assert_int_equal(torus_ibarrier(group[0][k], &w[k].request), TORUS_OK);
        }
        w[2] = (struct waiter){.timeout = SECOND / 1000};
        assert_int_equal(torus_ibarrier(group[0][2], &w[2].request), TORUS_OK);
        for (int k = 0; k < 3; k++)
            assert_int_equal(pthread_create(&thread[k], NULL, wait_for, &w[k]), 0);
        void *memory = torus_alloc(context[0], 2 << 20); /* a call, while the others wait */
        assert_non_null(memory);
        pthread_join(thread[2], NULL);
        assert_int_equal(w[2].outcome, TORUS_PENDING);
        for (int k = 0; k < 2; k++)
            assert_int_equal(torus_ibarrier(group[1][k], &theirs[k]), TORUS_OK);
        assert_int_equal(torus_waitall(theirs, 2, SECOND * (int64_t)20, NULL), TORUS_OK);
        for (int k = 0; k < 100; k++)
            assert_int_equal(torus_dispatch(context[0]), TORUS_OK);
        for (int k = 0; k < 2; k++) {
            pthread_join(thread[k], NULL);
            assert_int_equal(w[k].outcome, TORUS_OK);
        }
        assert_int_equal(torus_ibarrier(group[1][2], &theirs[0]), TORUS_OK);
        assert_int_equal(torus_wait(theirs[0], SECOND * (int64_t)20), TORUS_OK);
        assert_int_equal(torus_wait(w[2].request, SECOND * (int64_t)20), TORUS_OK);
        assert_int_equal(torus_free(context[0], memory), TORUS_OK);
    }
    close_all(context, RANKS);
    stop();
}

/* One thread is the reader, the other waits for it; torus_disconnect ends both waits. */
static void disconnect_ends_the_waits_of_other_threads(void **state)
{
    (void)state;
    pthread_t thread[2];
    struct waiter w[2];
    start(1, "");
    open_all();
    for (int k = 0; k < 2; k++) {
        w[k] = (struct waiter){.timeout = SECOND * (int64_t)30};
        assert_int_equal(torus_ibarrier(group[0][k], &w[k].request), TORUS_OK);
        assert_int_equal(pthread_create(&thread[k], NULL, wait_for, &w[k]), 0);
    }
    poll(NULL, 0, 20);
    assert_int_equal(torus_disconnect(context[0]), TORUS_OK);
    for (int k = 0; k < 2; k++) {
        pthread_join(thread[k], NULL);
        assert_int_equal(w[k].outcome, TORUS_ERR_SHUTDOWN);
    }
    close_all(context, RANKS);
    stop();
}

/* A child inherits the lock while threads of the parent wait. */
static void a_forked_child_does_not_wait_for_threads_of_its_parent(void **state)
{
    (void)state;
    pthread_t thread[2];
    struct waiter w[2];
    torus_request *theirs[2];
    start(1, "");
    open_all();
    for (int k = 0; k < 2; k++) { /* a reader, and a thread that waits for it */
        w[k] = (struct waiter){.timeout = SECOND * (int64_t)30};
        assert_int_equal(torus_ibarrier(group[0][k], &w[k].request), TORUS_OK);
        assert_int_equal(pthread_create(&thread[k], NULL, wait_for, &w[k]), 0);
    }
    poll(NULL, 0, 20);
    pid_t child = fork();
    if (child == 0) {
        alarm(20); /* a hang ends the child by SIGALRM */
        int error = torus_barrier(group[0][2]);
        torus_close(context[0]);
        _exit(error == TORUS_ERR_FORKED ? 0 : 1);
    }
    int status = -1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int k = 0; k < 2; k++)
        assert_int_equal(torus_ibarrier(group[1][k], &theirs[k]), TORUS_OK);
    assert_int_equal(torus_waitall(theirs, 2, SECOND * (int64_t)20, NULL), TORUS_OK);
    for (int k = 0; k < 2; k++) {
        pthread_join(thread[k], NULL);
        assert_int_equal(w[k].outcome, TORUS_OK);
    }
    close_all(context, RANKS);
    stop();
}

/* struct partner: what the idle function of rank 0 does while rank 0 waits for rank 1. */
struct partner {
    _Atomic uint32_t calls;
    int error;
    torus_request *theirs, *own, *theirs_too;
};

/* act makes the calls that rank 0 waits for, and a call of another group in both ranks. */
static void act(void *user)
{
    struct partner *p = user;
    if (p->calls++ > 0)
        return;
    p->error = torus_ibarrier(group[0][1], &p->own);
    if (p->error == TORUS_OK)
        p->error = torus_ibarrier(group[1][1], &p->theirs_too);
    if (p->error == TORUS_OK)
        p->error = torus_ibarrier(group[1][0], &p->theirs);
}

static void a_call_that_waits_runs_the_idle_function(void **state)
{
    (void)state;
    start(1, "");
    open_all();
    for (int by_request = 0; by_request < 2; by_request++) {
        struct partner p = {.error = TORUS_PENDING};
        torus_request *r = NULL;
        assert_int_equal(torus_set_idle(context[0], act, &p), TORUS_OK);
        if (by_request) {
            assert_int_equal(torus_ibarrier(group[0][0], &r), TORUS_OK);
            assert_int_equal(torus_wait(r, SECOND * (int64_t)20), TORUS_OK);
        } else {
            assert_int_equal(torus_set_timeout(group[0][0], SECOND * (int64_t)20), TORUS_OK);
            assert_int_equal(torus_barrier(group[0][0]), TORUS_OK);
        }
        assert_true(p.calls > 0);
        assert_int_equal(p.error, TORUS_OK);
        torus_request *rest[] = {p.theirs, p.theirs_too};
        assert_int_equal(torus_waitall(rest, 2, SECOND * (int64_t)20, NULL), TORUS_OK);
        assert_int_equal(torus_set_idle(context[0], NULL, NULL), TORUS_OK);
        assert_int_equal(torus_wait(p.own, SECOND * (int64_t)20), TORUS_OK);
    }
    close_all(context, RANKS);
    stop();
}

/* Rank 1 calls nothing until rank 0 has waited for several sleeps, so each of them is short. */
static void a_call_that_waits_runs_the_idle_function_again_and_again(void **state)
{
    (void)state;
    start(1, "");
    open_all();
    struct partner p = {.calls = 1};
    struct waiter w = {.timeout = SECOND * (int64_t)20};
    pthread_t thread;
    assert_int_equal(torus_set_idle(context[0], act, &p), TORUS_OK);
    assert_int_equal(torus_ibarrier(group[0][0], &w.request), TORUS_OK);
    assert_int_equal(pthread_create(&thread, NULL, wait_for, &w), 0);
    while (p.calls < 100)
        poll(NULL, 0, 1);
    assert_int_equal(torus_ibarrier(group[1][0], &p.theirs), TORUS_OK);
    pthread_join(thread, NULL);
    assert_int_equal(w.outcome, TORUS_OK);
    assert_int_equal(torus_wait(p.theirs, SECOND * (int64_t)20), TORUS_OK);
    close_all(context, RANKS);
    stop();
}

static void the_idle_function_needs_a_context_with_threads(void **state)
{
    (void)state;
    torus_context *c = NULL;
    char path[128];
    start(1, "");
    snprintf(path, sizeof path, "%s/s0", folder);
    const struct torus_open_options o = {.size = sizeof o, .socket = path};
    assert_int_equal(torus_open(&c, &o), TORUS_OK);
    assert_int_equal(torus_set_idle(c, act, NULL), TORUS_ERR_INVALID);
    assert_non_null(strstr(torus_last_error(c), "threads"));
    torus_close(c);
    stop();
}

static void close_in_callback(torus_request *request, int error, void *user)
{
    (void)request;
    assert_int_equal(error, TORUS_OK);
    torus_close(*(torus_context **)user);
}

static void a_callback_closes_a_context_with_threads(void **state)
{
    (void)state;
    torus_request *r[RANKS];
    start(1, "");
    open_all();
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(torus_ibarrier(world[rank], &r[rank]), TORUS_OK);
    assert_int_equal(torus_set_callback(r[0], close_in_callback, &context[0]), TORUS_OK);
    assert_int_equal(torus_wait(r[1], SECOND * (int64_t)20), TORUS_OK);
    assert_int_equal(torus_wait(r[0], SECOND * (int64_t)20), TORUS_OK);
    torus_close(context[1]);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(threads_share_contexts_on_one_node, clean_up),
        cmocka_unit_test_teardown(threads_share_contexts_on_two_nodes, clean_up),
        cmocka_unit_test_teardown(threads_share_contexts_on_the_routed_fabric, clean_up),
        cmocka_unit_test_teardown(waiting_threads_hold_up_nobody, clean_up),
        cmocka_unit_test_teardown(a_persistent_call_keeps_what_is_freed_while_it_is_made, clean_up),
        cmocka_unit_test_teardown(disconnect_ends_the_waits_of_other_threads, clean_up),
        cmocka_unit_test_teardown(a_forked_child_does_not_wait_for_threads_of_its_parent, clean_up),
        cmocka_unit_test_teardown(a_call_that_waits_runs_the_idle_function, clean_up),
        cmocka_unit_test_teardown(a_call_that_waits_runs_the_idle_function_again_and_again,
                                  clean_up),
        cmocka_unit_test_teardown(the_idle_function_needs_a_context_with_threads, clean_up),
        cmocka_unit_test_teardown(a_callback_closes_a_context_with_threads, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
