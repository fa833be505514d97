/* SPDX-License-Identifier: Apache-2.0 */
#include "closer.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 18, PIECE_BYTES = 1 << 19 };

enum work { WORK_CLOSE, WORK_UNMAP, WORK_POPULATE, WORK_TRIM };

/* struct item: a descriptor to close, memory to unmap or to populate, or malloc's to trim. */
struct item {
    struct item *next;
    enum work work;
    uint64_t uid;
    uint8_t *base;
    size_t bytes;
    int fd;
};

struct td_closer {
    pthread_mutex_t mutex;
    pthread_cond_t more; /* an item was added or a user has a free thread again, or `ending` */
    pthread_cond_t less; /* a thread has ended */
    struct item *first, **last;
    uint32_t queued, threads, idle;
    const struct item *running[TD_CLOSER_THREADS]; /* the item of each thread, or NULL */
    bool ending, stopped;
    uv_async_t async;
    void (*closed)(void *user);
    void *user;
};

struct start {
    struct td_closer *closer;
    uint32_t number;
};

static uint32_t threads_of(const struct td_closer *c, uint64_t uid)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->threads; i++)
        count += c->running[i] && c->running[i]->uid == uid;
    return count;
}

/* is_used returns true if a thread populates the memory that the item unmaps. Something else could
 * be mapped there before that thread is done. */
static bool is_used(const struct td_closer *c, const struct item *item)
{
    for (uint32_t i = 0; i < c->threads && item->work == WORK_UNMAP; i++)
        if (c->running[i] && c->running[i]->base == item->base)
            return true;
    return false;
}

/* take returns the first item whose user has a free thread, off the list, or NULL. */
static struct item *take(struct td_closer *c)
{
    for (struct item **link = &c->first; *link; link = &(*link)->next) {
        struct item *item = *link;
        if (threads_of(c, item->uid) >= TD_CLOSER_USER_THREADS || is_used(c, item))
            continue;
        *link = item->next;
        if (!*link)
            c->last = link;
        c->queued--;
        return item;
    }
    return NULL;
}

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
    case WORK_TRIM:
        malloc_trim(0);
        break;
    }
}

static void *run(void *argument)
{
    struct start start = *(struct start *)argument;
    struct td_closer *c = start.closer;
    free(argument);
    pthread_mutex_lock(&c->mutex);
    while (true) {
        struct item *item = take(c);
        if (!item && c->ending)
            break;
        if (!item) {
            c->idle++;
            pthread_cond_wait(&c->more, &c->mutex);
            c->idle--;
            continue;
        }
        c->running[start.number] = item;
        pthread_mutex_unlock(&c->mutex);
        end_item(item);
        pthread_mutex_lock(&c->mutex);
        c->running[start.number] = NULL;
        free(item);
        if (!c->stopped)
            uv_async_send(&c->async);
    }
    c->threads--;
    pthread_cond_signal(&c->less);
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

/* start_thread starts one more thread, without signals: those are the loop's. */
static bool start_thread(struct td_closer *c)
{
    struct start *start = malloc(sizeof *start);
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (!start)
        return false;
    *start = (struct start){c, c->threads};
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool good = pthread_create(&thread, &attributes, run, start) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (good)
        c->threads++;
    else
        free(start);
    return good;
}

static void on_async(uv_async_t *async)
{
    struct td_closer *c = async->data;
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
    c->last = &c->first;
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

/* pending returns how many items of a user run or wait, `most` at most. */
static uint32_t pending(const struct td_closer *c, uint64_t uid, uint32_t most)
{
    uint32_t count = threads_of(c, uid);
    for (const struct item *item = c->first; item && count < most; item = item->next)
        count += item->uid == uid;
    return count;
}

/* call_thread wakes or starts a thread for an item that was added. If its user has as many threads
 * as it may, or has called them, one of these takes the item after its own. */
static void call_thread(struct td_closer *c, const struct item *item)
{
    if (pending(c, item->uid, TD_CLOSER_USER_THREADS + 1) > TD_CLOSER_USER_THREADS)
        return;
    if (c->queued > c->idle && c->threads < TD_CLOSER_THREADS)
        (void)start_thread(c); /* if that fails, a thread that ends its item takes this one */
    else
        pthread_cond_signal(&c->more);
}

/* add gives the threads an item. Without memory the caller does its work: the process is about to
 * end in any case. */
static void add(struct td_closer *c, const struct item *what)
{
    struct item *item = malloc(sizeof *item);
    if (!item) {
        end_item(what);
        return;
    }
    *item = *what;
    item->next = NULL;
    pthread_mutex_lock(&c->mutex);
    *c->last = item;
    c->last = &item->next;
    c->queued++;
    call_thread(c, item);
    pthread_mutex_unlock(&c->mutex);
}

void td_closer_close(struct td_closer *c, uint64_t uid, int fd)
{
    add(c, &(struct item){.work = WORK_CLOSE, .uid = uid, .fd = fd});
}

void td_closer_unmap(struct td_closer *c, uint64_t uid, void *base, size_t bytes)
{
    add(c, &(struct item){.work = WORK_UNMAP, .uid = uid, .base = base, .bytes = bytes, .fd = -1});
}

void td_closer_populate(struct td_closer *c, uint64_t uid, void *base, size_t bytes)
{
    add(c,
        &(struct item){.work = WORK_POPULATE, .uid = uid, .base = base, .bytes = bytes, .fd = -1});
}

void td_closer_trim(struct td_closer *c)
{
    add(c, &(struct item){.work = WORK_TRIM, .uid = TD_CLOSER_NOBODY, .fd = -1});
}

uint32_t td_closer_pending(struct td_closer *c, uint64_t uid)
{
    pthread_mutex_lock(&c->mutex);
    uint32_t count = pending(c, uid, TD_CLOSER_PENDING_MAX);
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
    pthread_mutex_unlock(&c->mutex);
    if (!ended)
        return; /* its threads still use it */
    pthread_mutex_destroy(&c->mutex);
    pthread_cond_destroy(&c->more);
    pthread_cond_destroy(&c->less);
    free(c);
}
