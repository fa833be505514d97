/* SPDX-License-Identifier: Apache-2.0 */
#include "lock.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "deadline.h"
#include "system/standard.h"

struct tl_lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* the reader has handled something, or has ended */
    _Atomic(const void *) owner;
    uint32_t depth; /* how often the owner has taken the lock */
    bool reading;   /* a thread is the reader; */
    bool polling;   /* it has given up the lock and waits for the socket or `event` */
    bool closed;    /* by tl_use_free: it ends with the last guard */
    int event;      /* eventfd */
    pid_t pid;      /* of the process that made the lock */
};

static void close_event(struct tl_lock *l)
{
    if (l->event >= 0)
        close(l->event);
}

static _Thread_local char last_error[TD_TEXT_MAX];
static _Thread_local bool bare;

/* The address of a thread's variable names the thread. */
static const void *self(void)
{
    return last_error;
}

struct tl_lock *tl_lock_new(void)
{
    struct tl_lock *l = calloc(1, sizeof *l);
    pthread_condattr_t clock;
    if (!l)
        return NULL;
    l->pid = getpid();
    l->event = td_standard_avoid(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (l->event < 0 || pthread_condattr_init(&clock) != 0) {
        close_event(l);
        free(l);
        return NULL;
    }
    bool good = pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(&l->changed, &clock) == 0;
    pthread_condattr_destroy(&clock);
    if (good && pthread_mutex_init(&l->mutex, NULL) == 0)
        return l;
    if (good)
        pthread_cond_destroy(&l->changed);
    close_event(l);
    free(l);
    return NULL;
}

static void destroy(struct tl_lock *l)
{
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->mutex);
    close_event(l);
    free(l);
}

static bool is_held(const struct tl_lock *l)
{
    return atomic_load_explicit(&l->owner, memory_order_relaxed) == self();
}

/* is_inherited returns true in a child process. Threads of the parent may have held or awaited the
 * lock at the fork, and the child does not have these threads. */
static bool is_inherited(const struct tl_lock *l)
{
    return l->pid != getpid();
}

/* is_inside returns true if a guard of the calling thread ends later. */
static bool is_inside(const struct tl_use *use)
{
    if (use->lock)
        return is_held(use->lock) && !is_inherited(use->lock);
    return atomic_load_explicit(&use->owner, memory_order_relaxed) == (uintptr_t)pthread_self();
}

/* free_lock frees a lock that no thread awaits. NULL is accepted. */
static void free_lock(struct tl_lock *l)
{
    if (!l)
        return;
    if (is_inherited(l)) { /* its waiting threads do not exist here: do not wait for them */
        close_event(l);
        free(l);
    } else if (is_held(l)) { /* a callback has closed the context */
        l->closed = true;
    } else {
        destroy(l);
    }
}

void tl_use_free(struct tl_use *use, void *memory)
{
    bool inside = is_inside(use);
    free_lock(use->lock);
    if (inside)
        use->last = memory;
    else
        free(memory);
}

static void take(struct tl_lock *l, uint32_t depth)
{
    pthread_mutex_lock(&l->mutex);
    atomic_store_explicit(&l->owner, self(), memory_order_relaxed);
    l->depth = depth;
}

bool tl_lock_enter(struct tl_lock *l)
{
    if (is_inherited(l)) /* the call returns TORUS_ERR_FORKED */
        return false;
    if (is_held(l))
        l->depth++;
    else
        take(l, 1);
    return true;
}

void tl_lock_leave(struct tl_use *use)
{
    struct tl_lock *l = use->lock;
    if (--l->depth > 0)
        return;
    bool closed = l->closed;
    void *last = use->last;
    atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
    pthread_mutex_unlock(&l->mutex);
    if (closed)
        destroy(l);
    free(last);
}

/* ---- waiting ---- */

uint32_t tl_lock_give(struct tl_lock *l)
{
    uint32_t depth = l->depth;
    l->depth = 0;
    atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
    pthread_mutex_unlock(&l->mutex);
    return depth;
}

void tl_lock_take(struct tl_lock *l, uint32_t depth)
{
    take(l, depth);
}

int tl_lock_poll(struct tl_lock *l, int fd, int64_t deadline_ns)
{
    uint64_t count = 0;
    l->polling = true;
    uint32_t depth = tl_lock_give(l);
    int got = tl_poll((const int[]){fd, l->event}, 2, POLLIN, deadline_ns);
    take(l, depth);
    l->polling = false;
    int saved = errno;
    if (read(l->event, &count, sizeof count) < 0)
        errno = saved; /* the counter is 0: the socket ended the wait, or the deadline */
    return got;
}

void tl_lock_wake(struct tl_lock *l)
{
    uint64_t one = 1;
    int saved = errno;
    pthread_cond_broadcast(&l->changed);
    if (l->polling && write(l->event, &one, sizeof one) < 0)
        errno = saved; /* the counter is full, so it is readable anyway */
}

void tl_lock_await(struct tl_lock *l)
{
    uint32_t depth = l->depth;
    l->depth = 0;
    atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
    pthread_cond_wait(&l->changed, &l->mutex);
    atomic_store_explicit(&l->owner, self(), memory_order_relaxed);
    l->depth = depth;
}

bool tl_lock_read(struct tl_lock *l, int64_t deadline_ns)
{
    if (!l->reading) {
        l->reading = true;
        return true;
    }
    uint32_t depth = l->depth;
    struct timespec end = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    l->depth = 0;
    atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
    if (deadline_ns < 0)
        pthread_cond_wait(&l->changed, &l->mutex);
    else
        pthread_cond_timedwait(&l->changed, &l->mutex, &end);
    atomic_store_explicit(&l->owner, self(), memory_order_relaxed);
    l->depth = depth;
    return false;
}

void tl_lock_unread(struct tl_lock *l)
{
    l->reading = false;
    pthread_cond_broadcast(&l->changed);
}

char *tl_lock_text(void)
{
    return last_error;
}

bool *tl_lock_bare(void)
{
    return &bare;
}
