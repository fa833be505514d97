/* SPDX-License-Identifier: Apache-2.0 */
#include "planner.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum {
    PATIENCE_S = 1, /* with a task that is being done when the planner stops */
    USERS = 64,     /* whose time is known; of more the one with the least is forgotten */
};

/* struct share: how long the tasks of a user have taken lately. */
struct share {
    uint64_t user, ns;
};

struct queue {
    struct td_planner_task *first, **last;
};

struct td_planner {
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows; never held while a task is being done */
    pthread_cond_t posted, ended_one;
    struct queue waiting, idle, ended; /* `idle` is served when `waiting` is empty */
    struct share share[USERS];
    uint64_t halved_at; /* time */
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

/* remove_from takes the task at *at off a queue, and returns it. It returns NULL at the end of the
 * queue. */
static struct td_planner_task *remove_from(struct queue *q, struct td_planner_task **at)
{
    struct td_planner_task *task = *at;
    if (task && !(*at = task->next))
        q->last = at;
    return task;
}

/* ---- shares of users ---- */

static uint64_t now_ns(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* share_of returns the share of a user, or the least one of another user. */
static struct share *share_of(struct td_planner *p, uint64_t user)
{
    struct share *least = p->share;
    for (struct share *s = p->share; s < p->share + USERS; s++) {
        if (s->user == user)
            return s;
        least = s->ns < least->ns ? s : least;
    }
    return least;
}

static void charge(struct td_planner *p, uint64_t user, uint64_t ns)
{
    struct share *s = share_of(p, user);
    *s = (struct share){user, (s->user == user ? s->ns : 0) + ns};
}

/* forget halves the shares as often as is due. */
static void forget(struct td_planner *p)
{
    uint64_t now = now_ns(), half = TD_PLANNER_HALF_S * UINT64_C(1000000000);
    uint64_t times = (now - p->halved_at) / half;
    p->halved_at += times * half;
    for (unsigned i = 0; i < USERS && times > 0; i++)
        p->share[i].ns = times < 64 ? p->share[i].ns >> times : 0;
}

/* take takes the first task of the user with the least share off a queue; NULL: it is empty. */
static struct td_planner_task *take(struct td_planner *p, struct queue *q)
{
    struct td_planner_task **next = &q->first;
    uint64_t least = UINT64_MAX;
    forget(p);
    for (struct td_planner_task **at = &q->first; *at; at = &(*at)->next) {
        const struct share *s = share_of(p, (*at)->user);
        uint64_t ns = s->user == (*at)->user ? s->ns : 0;
        if (ns < least) {
            least = ns;
            next = at;
        }
    }
    return remove_from(q, next);
}

/* ---- the thread ---- */

static void *run(void *planner)
{
    struct td_planner *p = planner;
    pthread_mutex_lock(&p->lock);
    while (!p->stopped) {
        struct td_planner_task *task = take(p, p->waiting.first ? &p->waiting : &p->idle);
        if (!task) {
            pthread_cond_wait(&p->posted, &p->lock);
            continue;
        }
        p->busy = true;
        pthread_mutex_unlock(&p->lock);
        uint64_t began = now_ns();
        task->work(task->owner);
        uint64_t took = now_ns() - began;
        pthread_mutex_lock(&p->lock);
        p->busy = false;
        charge(p, task->user, took);
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
        struct td_planner_task *task = p->stopped ? NULL : remove_from(&p->ended, &p->ended.first);
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
    p->halved_at = now_ns();
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
    if (remove_from(&p->idle, at)) /* otherwise it is under way, or waits there already */
        append(&p->waiting, task);
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
