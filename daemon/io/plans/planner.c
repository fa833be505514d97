/* SPDX-License-Identifier: Apache-2.0 */
#include "planner.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { PATIENCE_S = 1 /* with a task that is being done when the planner stops */ };

struct queue {
    struct td_planner_task *first, **last;
};

struct td_planner {
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows; never held while a task is being done */
    pthread_cond_t posted, ended_one;
    struct queue waiting, idle, ended; /* `idle` is served when `waiting` is empty */
    bool busy, stopped;
    bool left;       /* the thread was busy when the planner stopped: it still uses this record */
    uv_async_t news; /* `ended` has tasks */
};

static void append(struct queue *q, struct td_planner_task *task)
{
    task->next = NULL;
    *q->last = task;
    q->last = &task->next;
}

/* take takes the first task of another user than `user`, or else the first one, off a queue. */
static struct td_planner_task *take(struct queue *q, uint64_t user)
{
    struct td_planner_task **at = &q->first;
    while (*at && (*at)->user == user)
        at = &(*at)->next;
    if (!*at)
        at = &q->first;
    struct td_planner_task *task = *at;
    if (task && !(*at = task->next))
        q->last = at;
    return task;
}

static void *run(void *planner)
{
    struct td_planner *p = planner;
    uint64_t user = 0; /* of the task that was done last */
    pthread_mutex_lock(&p->lock);
    while (!p->stopped) {
        struct td_planner_task *task = take(p->waiting.first ? &p->waiting : &p->idle, user);
        if (!task) {
            pthread_cond_wait(&p->posted, &p->lock);
            continue;
        }
        p->busy = true;
        user = task->user;
        pthread_mutex_unlock(&p->lock);
        task->work(task->owner);
        pthread_mutex_lock(&p->lock);
        p->busy = false;
        pthread_cond_signal(&p->ended_one);
        if (p->stopped) /* the loop closes its handles */
            break;
        append(&p->ended, task);
        uv_async_send(&p->news);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void on_news(uv_async_t *news)
{
    struct td_planner *p = news->data;
    for (;;) {
        pthread_mutex_lock(&p->lock);
        struct td_planner_task *task = p->stopped ? NULL : take(&p->ended, UINT64_MAX);
        pthread_mutex_unlock(&p->lock);
        if (!task)
            return;
        task->done(task->owner);
    }
}

struct td_planner *td_planner_create(uv_loop_t *uv)
{
    struct td_planner *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->waiting.last = &p->waiting.first;
    p->idle.last = &p->idle.first;
    p->ended.last = &p->ended.first;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->posted, NULL);
    pthread_cond_init(&p->ended_one, NULL);
    p->news.data = p;
    if (pthread_create(&p->thread, NULL, run, p) != 0) {
        free(p);
        return NULL;
    }
    if (uv_async_init(uv, &p->news, on_news) == 0) /* nothing is posted before */
        return p;
    (void)td_planner_stop(p);
    td_planner_free(p);
    return NULL;
}

static void post(struct td_planner *p, struct queue *q, struct td_planner_task *task)
{
    pthread_mutex_lock(&p->lock);
    append(q, task);
    pthread_cond_signal(&p->posted);
    pthread_mutex_unlock(&p->lock);
}

void td_planner_post(struct td_planner *p, struct td_planner_task *task)
{
    post(p, &p->waiting, task);
}

void td_planner_post_idle(struct td_planner *p, struct td_planner_task *task)
{
    post(p, &p->idle, task);
}

void td_planner_hurry(struct td_planner *p, struct td_planner_task *task)
{
    pthread_mutex_lock(&p->lock);
    struct td_planner_task **at = &p->idle.first;
    while (*at && *at != task)
        at = &(*at)->next;
    if (*at) { /* otherwise it is under way */
        *at = task->next;
        if (!*at)
            p->idle.last = at;
        append(&p->waiting, task);
    }
    pthread_mutex_unlock(&p->lock);
}

bool td_planner_stop(struct td_planner *p)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&p->lock);
    assert(!p->stopped);
    p->stopped = true;
    pthread_cond_signal(&p->posted);
    for (int error = 0; p->busy && error == 0;)
        error = pthread_cond_timedwait(&p->ended_one, &p->lock, &until);
    p->left = p->busy;
    pthread_mutex_unlock(&p->lock);
    if (p->left)
        pthread_detach(p->thread);
    else
        pthread_join(p->thread, NULL);
    return !p->left;
}

void td_planner_free(struct td_planner *p)
{
    if (!p || p->left)
        return;
    pthread_cond_destroy(&p->posted);
    pthread_cond_destroy(&p->ended_one);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
