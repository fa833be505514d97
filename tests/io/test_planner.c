/* SPDX-License-Identifier: Apache-2.0 */
/* The planning thread: in which order it does tasks. The first task waits at a gate until all
 * others are posted, so that no order depends on speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <semaphore.h>
#include <time.h>

#include "io/plans/planner.h"

enum { TASKS = 9 };

static uv_loop_t uv;
static struct td_planner *planner;
static struct td_planner_task task[TASKS];
static sem_t gate;
static char done[TASKS + 1]; /* names of tasks, in the order in which they were done */
static size_t ended, made;

static void pass_gate(void *owner)
{
    (void)owner;
    sem_wait(&gate);
}

static void work(void *owner)
{
    done[strlen(done)] = *(const char *)owner;
}

/* work_long takes longer than any number of the other tasks. */
static void work_long(void *owner)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    work(owner);
}

static void count(void *owner)
{
    (void)owner;
    ended++;
}

static struct td_planner_task *named(const char *name)
{
    struct td_planner_task *t = &task[++made];
    *t = (struct td_planner_task){.owner = (void *)name, .work = work, .done = count};
    return t;
}

static void begin(void)
{
    memset(done, 0, sizeof done);
    ended = made = 0;
    assert_int_equal(uv_loop_init(&uv) + sem_init(&gate, 0, 0), 0);
    planner = td_planner_create(&uv);
    assert_non_null(planner);
    task[0] = (struct td_planner_task){.work = pass_gate, .done = count};
    td_planner_post(planner, &task[0]);
}

static void on_walk(uv_handle_t *handle, void *unused)
{
    (void)unused;
    uv_close(handle, NULL);
}

/* end opens the gate, and returns when the loop has heard of all tasks. */
static void end(size_t tasks)
{
    sem_post(&gate);
    while (ended < tasks + 1)
        uv_run(&uv, UV_RUN_ONCE);
    assert_true(td_planner_stop(planner));
    uv_walk(&uv, on_walk, NULL);
    while (uv_run(&uv, UV_RUN_DEFAULT) != 0)
        continue;
    td_planner_free(planner);
    assert_int_equal(uv_loop_close(&uv) + sem_destroy(&gate), 0);
}

static void tasks_for_which_nobody_waits_come_after_all_others(void **state)
{
    (void)state;
    begin();
    td_planner_post_idle(planner, named("x"));
    td_planner_post(planner, named("a"));
    td_planner_post_idle(planner, named("y"));
    td_planner_post(planner, named("b"));
    end(4);
    assert_string_equal(done, "abxy");
}

static void a_task_for_which_somebody_waits_now_goes_before_the_idle_ones(void **state)
{
    (void)state;
    begin();
    struct td_planner_task *y = named("y"), *z = named("z");
    td_planner_post_idle(planner, named("x"));
    td_planner_post_idle(planner, y);
    td_planner_post_idle(planner, z);
    td_planner_post(planner, named("a"));
    td_planner_hurry(planner, z); /* the last one of the idle */
    td_planner_hurry(planner, y);
    td_planner_hurry(planner, y); /* it hurries already */
    td_planner_post_idle(planner, named("w"));
    end(5);
    assert_string_equal(done, "azyxw");
}

static void a_user_whose_tasks_took_long_waits_for_the_others(void **state)
{
    (void)state;
    begin();
    for (const char *name = "abc"; *name; name++) {
        struct td_planner_task *t = named(name);
        t->user = 1;
        t->work = work_long;
        td_planner_post(planner, t);
    }
    struct td_planner_task *x = named("x"), *y = named("y");
    x->user = y->user = 2;
    td_planner_post(planner, x);
    td_planner_post(planner, y);
    end(5);
    assert_string_equal(done, "axybc");
}

/* A user who posts the next long task when the last one has ended. */
static void so_does_one_with_a_task_at_a_time(void **state)
{
    static const char names[] = "uvwxyz";
    (void)state;
    begin();
    struct td_planner_task *a = named("a"), *b = named("b");
    a->user = b->user = 1;
    a->work = b->work = work_long;
    td_planner_post(planner, a);
    sem_post(&gate);
    while (ended < 2)
        uv_run(&uv, UV_RUN_ONCE);
    struct td_planner_task *again = &task[0];
    *again = (struct td_planner_task){.work = pass_gate, .done = count, .user = 3};
    td_planner_post(planner, again);
    td_planner_post(planner, b);
    for (unsigned i = 0; names[i]; i++) {
        struct td_planner_task *t = named(names + i);
        t->user = 2;
        td_planner_post(planner, t);
    }
    end(9);
    assert_string_equal(done, "auvwxyzb");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_for_which_nobody_waits_come_after_all_others),
        cmocka_unit_test(a_task_for_which_somebody_waits_now_goes_before_the_idle_ones),
        cmocka_unit_test(a_user_whose_tasks_took_long_waits_for_the_others),
        cmocka_unit_test(so_does_one_with_a_task_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
