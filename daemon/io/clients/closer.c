/* SPDX-License-Identifier: Apache-2.0 */
#include "closer.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "closing.h"
#include "io/log.h"

/* The thread sanitizer would report the reads of touch: ranks write to the memory meanwhile. */
#define UNCHECKED __attribute__((no_sanitize("thread")))

enum { STACK_BYTES = 1 << 18, PIECE_BYTES = 1 << 19 };

enum work { WORK_CLOSE, WORK_UNMAP, WORK_POPULATE, WORK_TOUCH, WORK_TRIM, WORK_CALL };

/* struct item: a descriptor to close, memory to unmap, to populate or to touch, malloc's to trim,
 * or a call. */
struct item {
    struct td_closing_item queued; /* the first member */
    enum work work;
    uint8_t *base;
    size_t bytes;
    int fd;
    struct td_closer_call *call;
};

struct td_closer {
    pthread_mutex_t mutex;
    pthread_cond_t more; /* an item was added or a user has a free thread again, or `ending` */
    pthread_cond_t less; /* a thread has ended */
    struct td_closing queues;
    struct td_closer_call *done; /* calls that have ended, the last one first */
    uint32_t threads, idle;
    bool ending, stopped;
    uv_async_t async;
    void (*closed)(void *user);
    void *user;
};

/* The closer of which threads still work when the process ends: it is not lost. */
static struct td_closer *volatile left;

/* advise advises the kernel of the memory of an item, a piece at a time: each takes the lock of the
 * address space, and the loop maps memory meanwhile. */
static void advise(const struct item *item, int advice)
{
    for (size_t at = 0, piece; at < item->bytes; at += piece) {
        piece = item->bytes - at < PIECE_BYTES ? item->bytes - at : PIECE_BYTES;
        if (madvise(item->base + at, piece, advice) != 0)
            return;
    }
}

/* touch reads a byte of each page, so that the page exists and is mapped. madvise costs less for
 * many pages, but holds the lock of the address space: the loop, which maps memory, would wait
 * until this thread has a processor again. */
UNCHECKED static void touch(const struct item *item)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < item->bytes; at += page)
        (void)atomic_load((_Atomic uint8_t *)(item->base + at));
}

/* end_item does the work of an item. */
static void end_item(const struct item *item)
{
    switch (item->work) {
    case WORK_CLOSE:
        close(item->fd);
        break;
    case WORK_UNMAP:
        advise(item, MADV_DONTNEED); /* so that the rest takes no time */
        munmap(item->base, item->bytes);
        break;
    case WORK_POPULATE:
        advise(item, MADV_POPULATE_WRITE);
        break;
    case WORK_TOUCH:
        touch(item);
        break;
    case WORK_TRIM:
        malloc_trim(0);
        break;
    case WORK_CALL:
        item->call->work(item->call);
        break;
    }
}

/* end_call returns a call to the loop's thread, or drops it. The mutex is locked. */
static void end_call(struct td_closer *c, struct td_closer_call *call)
{
    if (!c->stopped) {
        call->next = c->done;
        c->done = call;
        return;
    }
    pthread_mutex_unlock(&c->mutex);
    call->drop(call);
    pthread_mutex_lock(&c->mutex);
}

static void *run(void *closer)
{
    struct td_closer *c = closer;
    pthread_mutex_lock(&c->mutex);
    while (true) {
        struct item *item = (struct item *)td_closing_take(&c->queues);
        if (!item && c->ending)
            break;
        if (!item) {
            c->idle++;
            pthread_cond_wait(&c->more, &c->mutex);
            c->idle--;
            continue;
        }
        /* in the end regions are unmapped, and nobody waits for calls */
        bool due = !c->ending || (item->work != WORK_TOUCH && item->work != WORK_CALL);
        pthread_mutex_unlock(&c->mutex);
        if (due)
            end_item(item);
        pthread_mutex_lock(&c->mutex);
        if (item->work == WORK_CALL)
            end_call(c, item->call);
        td_closing_end(&c->queues, &item->queued);
        free(item);
        if (!c->stopped)
            uv_async_send(&c->async);
    }
    c->threads--;
    pthread_cond_signal(&c->less);
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

/* start_thread starts one more thread, without signals: those are the loop's, except that of a page
 * that is lost (regions). */
static bool start_thread(struct td_closer *c)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool good = pthread_create(&thread, &attributes, run, c) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    c->threads += good;
    return good;
}

static void on_async(uv_async_t *async)
{
    struct td_closer *c = async->data;
    pthread_mutex_lock(&c->mutex);
    struct td_closer_call *call = c->done, *next = NULL;
    c->done = NULL;
    pthread_mutex_unlock(&c->mutex);
    for (; call; call = next) {
        next = call->next;
        call->done(call);
    }
    c->closed(c->user);
}

struct td_closer *td_closer_create(uv_loop_t *uv, void (*closed)(void *user), void *user)
{
    struct td_closer *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->more, NULL);
    pthread_cond_init(&c->less, NULL);
    c->queues.user_threads = TD_CLOSER_USER_THREADS;
    c->closed = closed;
    c->user = user;
    pthread_mutex_lock(&c->mutex);
    bool good = start_thread(c);
    pthread_mutex_unlock(&c->mutex);
    if (!good || uv_async_init(uv, &c->async, on_async) != 0) {
        c->stopped = true;
        td_closer_destroy(c);
        return NULL;
    }
    c->async.data = c;
    return c;
}

/* call_thread wakes or starts a thread for an item that may run. */
static void call_thread(struct td_closer *c)
{
    if (c->queues.ready > c->idle && c->threads < TD_CLOSER_THREADS)
        (void)start_thread(c); /* if that fails, a thread that ends its item takes this one */
    else
        pthread_cond_signal(&c->more);
}

/* give gives the threads an item. It returns false if there is no memory. */
static bool give(struct td_closer *c, uint64_t uid, const struct item *what)
{
    struct item *item = malloc(sizeof *item);
    if (!item)
        return false;
    *item = *what;
    item->queued.memory = what->base;
    item->queued.unmaps = what->work == WORK_UNMAP;
    item->queued.urgent = what->work == WORK_CALL;
    pthread_mutex_lock(&c->mutex);
    uint32_t before = c->queues.ready;
    bool good = td_closing_add(&c->queues, &item->queued, uid);
    if (c->queues.ready > before) /* otherwise a thread of its user takes it after its own */
        call_thread(c);
    pthread_mutex_unlock(&c->mutex);
    if (!good)
        free(item);
    return good;
}

/* add gives the threads an item. Without memory the caller does its work: the process is about to
 * end in any case. */
static void add(struct td_closer *c, uint64_t uid, const struct item *what)
{
    if (!give(c, uid, what))
        end_item(what);
}

bool td_closer_call(struct td_closer *c, uint64_t uid, struct td_closer_call *call)
{
    return give(c, uid, &(struct item){.work = WORK_CALL, .call = call, .fd = -1});
}

void td_closer_close(struct td_closer *c, uint64_t uid, int fd)
{
    add(c, uid, &(struct item){.work = WORK_CLOSE, .fd = fd});
}

void td_closer_unmap(struct td_closer *c, uint64_t uid, void *base, size_t bytes)
{
    add(c, uid, &(struct item){.work = WORK_UNMAP, .base = base, .bytes = bytes, .fd = -1});
}

void td_closer_populate(struct td_closer *c, uint64_t uid, void *base, size_t bytes)
{
    add(c, uid, &(struct item){.work = WORK_POPULATE, .base = base, .bytes = bytes, .fd = -1});
}

void td_closer_touch(struct td_closer *c, uint64_t uid, void *base, size_t bytes)
{
    add(c, uid, &(struct item){.work = WORK_TOUCH, .base = base, .bytes = bytes, .fd = -1});
}

void td_closer_trim(struct td_closer *c)
{
    add(c, TD_CLOSER_NOBODY, &(struct item){.work = WORK_TRIM, .fd = -1});
}

uint32_t td_closer_pending(struct td_closer *c, uint64_t uid)
{
    pthread_mutex_lock(&c->mutex);
    uint32_t count = td_closing_pending(&c->queues, uid);
    pthread_mutex_unlock(&c->mutex);
    return count;
}

void td_closer_stop(struct td_closer *c)
{
    pthread_mutex_lock(&c->mutex);
    c->stopped = true;
    pthread_mutex_unlock(&c->mutex);
    uv_close((uv_handle_t *)&c->async, NULL);
}

void td_closer_destroy(struct td_closer *c)
{
    struct timespec until;
    if (!c)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&c->mutex);
    c->ending = true;
    pthread_cond_broadcast(&c->more);
    while (c->threads > 0 && pthread_cond_timedwait(&c->less, &c->mutex, &until) == 0)
        continue;
    bool ended = c->threads == 0;
    uint64_t uid = TD_CLOSER_NOBODY;
    if (!ended && td_closing_runs(&c->queues, &uid) && uid != TD_CLOSER_NOBODY)
        td_log(TD_LOG_WARNING,
               "the daemon has stopped, but its process may not end before processes of user %llu "
               "give up a descriptor or memory: end these processes",
               (unsigned long long)uid);
    struct td_closer_call *call = c->done, *next = NULL;
    c->done = NULL;
    pthread_mutex_unlock(&c->mutex);
    for (; call; call = next) {
        next = call->next;
        call->drop(call);
    }
    if (!ended) {
        left = c;
        return;
    }
    pthread_mutex_destroy(&c->mutex);
    pthread_cond_destroy(&c->more);
    pthread_cond_destroy(&c->less);
    free(c);
}
