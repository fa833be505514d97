/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "loop.h"

struct list {
    struct td_pool_task *first, **last;
};

struct td_pool {
    const struct td_pool_calls *calls;
    struct list added; /* the loop's, until td_pool_start */
    uint32_t threads;  /* that work at a time; `made` has one more */
    uint32_t made;
    pthread_t *thread;
    uv_async_t news; /* `ended` has tasks */

    pthread_mutex_t lock; /* of what follows; never held while a task is executed */
    pthread_cond_t woken;
    struct td_shares_table table;
    struct td_shares parts; /* tasks that are divisible or short */
    struct td_shares whole; /* the others */
    struct list ended;
    uint32_t queued, running, running_whole;
    uint32_t idle;     /* threads that sleep and that nobody has woken */
    uint32_t wakes;    /* of threads that have not seen it */
    bool prefer_whole; /* the last one was of the other queue */
    bool stopping;
    td_time ended_at; /* when a part last ended, or the first task began */
};

/* ---- lists ---- */

static void clear(struct list *l)
{
    l->first = NULL;
    l->last = &l->first;
}

static void append(struct list *l, struct td_pool_task *task)
{
    task->next = NULL;
    *l->last = task;
    l->last = &task->next;
}

/* ---- the choice of a task ---- */

static bool is_whole(const struct td_pool_task *task)
{
    return !task->divisible && task->cost_bytes > TD_POOL_LONG_BYTES;
}

static struct td_shares *queue_of(struct td_pool *p, const struct td_pool_task *task)
{
    return is_whole(task) ? &p->whole : &p->parts;
}

/* startable returns how many more threads may begin tasks now. Tasks that cannot be divided may
 * keep all threads for long: one more thread then serves the others. */
static uint32_t startable(const struct td_pool *p)
{
    if (p->running < p->threads)
        return p->queued < p->threads - p->running ? p->queued : p->threads - p->running;
    return p->running == p->threads && p->running_whole == p->threads && p->parts.first ? 1 : 0;
}

/* take returns the next task; NULL: none waits, or no thread may begin one. */
static struct td_pool_task *take(struct td_pool *p)
{
    if (startable(p) == 0)
        return NULL;
    bool spare_only = p->running == p->threads;
    bool whole = p->whole.first && !spare_only && (p->prefer_whole || !p->parts.first);
    struct td_shares *queue = whole ? &p->whole : &p->parts;
    struct td_pool_task *task = (struct td_pool_task *)queue->first;
    bool in_parts = task->divisible && task->cost_bytes > TD_POOL_TURN_BYTES;
    td_shares_served(queue, in_parts ? TD_POOL_TURN_BYTES : task->cost_bytes, true);
    p->prefer_whole = !whole;
    p->queued--;
    p->running++;
    p->running_whole += whole;
    return task;
}

/* other_waits returns true if a job other than `job` waits for a thread. */
static bool other_waits(const struct td_pool *p, uint64_t job)
{
    return p->parts.jobs > 1 || p->whole.jobs > 1 ||
           (p->parts.first && p->parts.first->job != job) ||
           (p->whole.first && p->whole.first->job != job);
}

/* ---- threads ---- */

/* wake returns how many threads unlock_and_wake has to wake: as many as may begin tasks, less those
 * that are awake and will look for one. */
static uint32_t wake(struct td_pool *p)
{
    uint32_t may = startable(p), awake = p->made - p->idle - p->running, n = 0;
    while (p->idle > 0 && awake + n < may) {
        p->idle--;
        n++;
    }
    p->wakes += n;
    return n;
}

/* unlock_and_wake wakes threads after it unlocks, so that they find the lock free. */
static void unlock_and_wake(struct td_pool *p, uint32_t n)
{
    pthread_mutex_unlock(&p->lock);
    while (n-- > 0)
        pthread_cond_signal(&p->woken);
}

static void wait_for_tasks(struct td_pool *p)
{
    p->idle++;
    while (p->wakes == 0 && !p->stopping)
        pthread_cond_wait(&p->woken, &p->lock);
    p->wakes -= p->wakes > 0;
}

/* execute executes a task, or parts of it until another job waits. The caller has locked. */
static void execute(struct td_pool *p, struct td_pool_task *task)
{
    bool more = false;
    unlock_and_wake(p, wake(p));
    while ((more = p->calls->run(task))) {
        pthread_mutex_lock(&p->lock);
        p->ended_at = td_loop_now();
        if (p->stopping || other_waits(p, task->job))
            break;
        pthread_mutex_unlock(&p->lock);
    }
    if (!more) {
        pthread_mutex_lock(&p->lock);
        p->ended_at = td_loop_now();
    }
    p->running--;
    p->running_whole -= is_whole(task);
    if (more) {
        td_shares_put_back(&p->parts, &task->turn, task->job);
        p->queued++;
        return;
    }
    append(&p->ended, task);
    pthread_mutex_unlock(&p->lock);
    uv_async_send(&p->news);
    pthread_mutex_lock(&p->lock);
}

static void *run(void *pool)
{
    struct td_pool *p = pool;
    pthread_mutex_lock(&p->lock);
    while (!p->stopping) {
        struct td_pool_task *task = take(p);
        if (task)
            execute(p, task);
        else
            wait_for_tasks(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* start_threads starts the threads, without signals: those are the loop's. */
static void start_threads(struct td_pool *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_mutex_lock(&p->lock);
    while (p->made <= p->threads && pthread_create(&p->thread[p->made], NULL, run, p) == 0)
        p->made++;
    pthread_mutex_unlock(&p->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the loop ---- */

static struct td_pool_task *take_ended(struct td_pool *p)
{
    pthread_mutex_lock(&p->lock);
    struct td_pool_task *list = p->ended.first;
    clear(&p->ended);
    pthread_mutex_unlock(&p->lock);
    return list;
}

static void on_news(uv_async_t *news)
{
    struct td_pool *p = news->data;
    for (struct td_pool_task *task = take_ended(p), *next; task; task = next) {
        next = task->next;
        p->calls->ended(task);
    }
}

struct td_pool *td_pool_create(uv_loop_t *uv, uint32_t threads, const struct td_pool_calls *calls)
{
    struct td_pool *p = calloc(1, sizeof *p);
    if (!p || !(p->thread = calloc((size_t)threads + 1, sizeof *p->thread)) ||
        uv_async_init(uv, &p->news, on_news) != 0) {
        if (p)
            free(p->thread);
        free(p);
        return NULL;
    }
    p->news.data = p;
    p->calls = calls;
    p->threads = threads;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->woken, NULL);
    td_shares_init(&p->parts, &p->table, TD_POOL_TURN_BYTES);
    td_shares_init(&p->whole, &p->table, TD_POOL_LONG_BYTES);
    clear(&p->added);
    clear(&p->ended);
    return p;
}

void td_pool_add(struct td_pool *p, struct td_pool_task *task)
{
    append(&p->added, task);
}

/* run_here executes the added tasks on the loop's thread. */
static void run_here(struct td_pool *p)
{
    struct td_pool_task *task = p->added.first, *next = NULL;
    clear(&p->added);
    for (; task; task = next) {
        next = task->next;
        while (p->calls->run(task))
            continue;
        p->calls->ended(task);
    }
}

void td_pool_prepare(struct td_pool *p)
{
    if (p->made == 0)
        start_threads(p);
}

void td_pool_start(struct td_pool *p)
{
    if (!p->added.first)
        return;
    td_pool_prepare(p);
    if (p->made == 0) {
        run_here(p);
        return;
    }
    pthread_mutex_lock(&p->lock);
    if (p->queued + p->running == 0)
        p->ended_at = td_loop_now();
    for (struct td_pool_task *task = p->added.first; task; task = task->next) {
        td_shares_add(queue_of(p, task), &task->turn, task->job);
        p->queued++;
    }
    clear(&p->added);
    unlock_and_wake(p, wake(p));
}

bool td_pool_stalled(struct td_pool *p, uint64_t ns)
{
    pthread_mutex_lock(&p->lock);
    bool stalled = p->running > 0 && td_loop_now() - p->ended_at > ns;
    pthread_mutex_unlock(&p->lock);
    return stalled;
}

void td_pool_look(struct td_pool *p, struct td_pool_counts *counts)
{
    pthread_mutex_lock(&p->lock);
    *counts = (struct td_pool_counts){p->threads, p->running, p->queued};
    pthread_mutex_unlock(&p->lock);
}

static void drop(struct list *list, struct td_shares *queue)
{
    while (queue->first) {
        struct td_pool_task *task = (struct td_pool_task *)queue->first;
        td_shares_served(queue, 0, true);
        append(list, task);
    }
}

struct td_pool_task *td_pool_stop(struct td_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->woken);
    pthread_mutex_unlock(&p->lock);
    while (p->made > 0)
        pthread_join(p->thread[--p->made], NULL);
    drop(&p->ended, &p->parts);
    drop(&p->ended, &p->whole);
    *p->ended.last = p->added.first;
    clear(&p->added);
    return take_ended(p);
}

void td_pool_free(struct td_pool *p)
{
    if (!p)
        return;
    pthread_cond_destroy(&p->woken);
    pthread_mutex_destroy(&p->lock);
    free(p->thread);
    free(p);
}
