/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a pool: which tasks they begin, in which order, and that they need no loop for
 * it. Tasks of the tests wait at a gate, so that no order depends on speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>
#include <pthread.h>
#include <sys/resource.h>

#include "io/pool.h"

enum { MIB = 1 << 20, HOG = 1, OTHER = 2, TASKS_MAX = 32, PARTS_MAX = 256, PATIENCE_S = 60 };

struct task {
    struct td_pool_task pooled; /* the first member */
    uint32_t parts;             /* left */
    bool waits;                 /* at the gate, in each part */
};

static uv_loop_t uv;
static struct td_pool *pool;
static struct task tasks[TASKS_MAX];
static uint32_t made;
static uint64_t ended[TASKS_MAX]; /* jobs, in order */
static uint32_t ends;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool gate_open;
static uint64_t parts_of[PARTS_MAX]; /* jobs of the parts that have begun, in order */
static uint32_t begun, at_work, most_at_work;

static bool on_part(struct td_pool_task *pooled)
{
    struct task *task = (struct task *)pooled;
    pthread_mutex_lock(&lock);
    parts_of[begun % PARTS_MAX] = pooled->job;
    begun++;
    at_work++;
    most_at_work = at_work > most_at_work ? at_work : most_at_work;
    pthread_cond_broadcast(&changed);
    while (task->waits && !gate_open)
        pthread_cond_wait(&changed, &lock);
    at_work--;
    pthread_mutex_unlock(&lock);
    return --task->parts > 0;
}

static void on_ended(struct td_pool_task *pooled)
{
    ended[ends++] = pooled->job;
}

static void begin(uint32_t threads)
{
    static const struct td_pool_calls calls = {on_part, on_ended};
    made = ends = begun = at_work = most_at_work = 0;
    gate_open = false;
    assert_int_equal(uv_loop_init(&uv), 0);
    pool = td_pool_create(&uv, threads, &calls);
    assert_non_null(pool);
}

static void close_handle(uv_handle_t *handle, void *user)
{
    (void)user;
    uv_close(handle, NULL);
}

/* end stops the pool and returns how many tasks it still had. */
static uint32_t end(void)
{
    uint32_t left = 0;
    for (struct td_pool_task *task = td_pool_stop(pool); task; task = task->next)
        left++;
    uv_walk(&uv, close_handle, NULL);
    uv_run(&uv, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&uv), 0);
    td_pool_free(pool);
    return left;
}

static void add(uint64_t job, uint32_t parts, uint64_t cost_bytes, bool divisible, bool waits)
{
    struct task *task = &tasks[made++];
    *task = (struct task){.pooled = {.job = job, .cost_bytes = cost_bytes, .divisible = divisible},
                          .parts = parts,
                          .waits = waits};
    td_pool_add(pool, &task->pooled);
}

/* wait_for_parts waits until `count` parts have begun, without the loop. */
static void wait_for_parts(uint32_t count)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&lock);
    for (int error = 0; begun < count && error == 0;)
        error = pthread_cond_timedwait(&changed, &lock, &until);
    uint32_t parts = begun;
    pthread_mutex_unlock(&lock);
    assert_true(parts >= count);
}

static void open_gate(void)
{
    pthread_mutex_lock(&lock);
    gate_open = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_for_ends(uint32_t count)
{
    while (ends < count)
        uv_run(&uv, UV_RUN_ONCE);
}

static void threads_take_the_next_tasks_without_the_loop(void **state)
{
    (void)state;
    begin(2);
    for (uint32_t i = 0; i < 20; i++)
        add(HOG, 1, 2 * MIB, true, false);
    td_pool_start(pool);
    wait_for_parts(20);
    assert_int_equal(ends, 0);
    wait_for_ends(20);
    assert_in_range(most_at_work, 1, 2);
    assert_int_equal(end(), 0);
}

static void as_many_threads_work_as_configured(void **state)
{
    (void)state;
    begin(3);
    for (uint32_t i = 0; i < 10; i++) {
        add(HOG, 1, 2 * MIB, true, true);
        td_pool_start(pool);
    }
    wait_for_parts(3);
    open_gate();
    wait_for_ends(10);
    assert_int_equal(most_at_work, 3);
    assert_int_equal(end(), 0);
}

static void one_more_thread_serves_others_beside_long_tasks(void **state)
{
    (void)state;
    begin(2);
    for (uint32_t i = 0; i < 4; i++)
        add(HOG, 1, 64 * MIB, false, true);
    td_pool_start(pool);
    wait_for_parts(2);
    for (uint32_t i = 0; i < 5; i++)
        add(OTHER, 1, 2 * MIB, true, false);
    td_pool_start(pool);
    wait_for_ends(5); /* with the gate closed */
    assert_int_equal(begun, 7);
    open_gate();
    wait_for_ends(9);
    assert_int_equal(most_at_work, 3);
    assert_int_equal(end(), 0);
}

static void a_divisible_task_waits_for_another_job_between_parts(void **state)
{
    (void)state;
    begin(1);
    add(HOG, 100, 400u * MIB, true, true);
    add(HOG, 1, 2 * MIB, true, false);
    td_pool_start(pool);
    wait_for_parts(1);
    add(OTHER, 1, 2 * MIB, true, false);
    td_pool_start(pool);
    open_gate();
    wait_for_ends(3);
    assert_int_equal(ended[0], OTHER);
    assert_in_range(begun, 102, 102);
    assert_true(parts_of[1] == OTHER || parts_of[2] == OTHER); /* a turn of HOG at most */
    assert_int_equal(end(), 0);
}

static void a_task_alone_is_executed_to_its_end(void **state)
{
    (void)state;
    begin(1);
    add(HOG, 50, 200 * MIB, true, false);
    add(HOG, 1, 2 * MIB, true, false);
    td_pool_start(pool);
    wait_for_parts(51);
    wait_for_ends(2);
    assert_int_equal(end(), 0);
}

static void a_stopped_pool_returns_its_tasks(void **state)
{
    (void)state;
    begin(1);
    add(HOG, UINT32_MAX, 400u * MIB, true, false); /* it does not end by itself */
    td_pool_start(pool);
    wait_for_parts(1);
    for (uint32_t i = 0; i < 10; i++)
        add(HOG, 1, i % 2 ? 64 * MIB : 2 * MIB, i % 2 == 0, false);
    td_pool_start(pool);
    for (uint32_t i = 0; i < 3; i++)
        add(HOG, 1, 2 * MIB, true, false);
    assert_int_equal(end(), 14);
    assert_int_equal(ends, 0);
}

static void without_threads_the_loop_executes_tasks(void **state)
{
    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); /* sanitizers map memory of their own */
#endif
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    none = before;
    none.rlim_cur = 1;
    begin(2);
    add(HOG, 3, 12 * MIB, true, false);
    add(OTHER, 1, 2 * MIB, true, false);
    setrlimit(RLIMIT_AS, &none); /* no stack for a thread */
    td_pool_start(pool);
    setrlimit(RLIMIT_AS, &before);
    assert_int_equal(ends, 2);
    assert_int_equal(begun, 4);
    assert_int_equal(end(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_threads_the_loop_executes_tasks), /* no stack is kept for reuse */
        cmocka_unit_test(threads_take_the_next_tasks_without_the_loop),
        cmocka_unit_test(as_many_threads_work_as_configured),
        cmocka_unit_test(one_more_thread_serves_others_beside_long_tasks),
        cmocka_unit_test(a_divisible_task_waits_for_another_job_between_parts),
        cmocka_unit_test(a_task_alone_is_executed_to_its_end),
        cmocka_unit_test(a_stopped_pool_returns_its_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
