/* SPDX-License-Identifier: Apache-2.0 */
#include "waiting.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "component.h"
#include "rest.h"

#include "opal/runtime/opal_progress.h"

enum { SLEEP_NS = 100000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct tm_event *first, **last = &first;
static _Atomic unsigned expected, posted;
static bool started;

void tm_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void tm_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

void tm_expect(void)
{
    expected++;
}

void tm_post(struct tm_event *event)
{
    tm_lock();
    event->next = NULL;
    *last = event;
    last = &event->next;
    posted++;
    tm_unlock();
}

/* next_event takes the oldest event; NULL: none. */
static struct tm_event *next_event(void)
{
    tm_lock();
    struct tm_event *event = first;
    if (event) {
        first = event->next;
        if (!first)
            last = &first;
        posted--;
        expected--;
    }
    tm_unlock();
    return event;
}

/* ---- rests ---- */

static _Thread_local struct tm_rest own_rest;
static _Thread_local bool waits_here; /* this component waits, and sleeps itself */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* rest gives the processor away as rest.h says. It returns 0 if Open MPI is to yield itself. */
static int rest(void)
{
    struct tm_rest *r = &own_rest;
    if (tm_parameters.rest_us == 0 || waits_here)
        return 0;
    enum tm_rest_act act = tm_rest_next(r);
    if (act == TM_REST_LEAVE)
        return 0;
    if (act == TM_REST_LOOK)
        return 1;
    int64_t before = now_ns();
    if (act == TM_REST_YIELD) {
        sched_yield();
        int64_t now = now_ns();
        tm_rest_yielded(r, now, now - before, INT64_C(1000) * tm_parameters.rest_after_us);
        return 1;
    }
    const struct timespec time = {.tv_nsec = 1000 * (long)tm_parameters.rest_us};
    int saved = errno;
    nanosleep(&time, NULL);
    errno = saved;
    tm_rest_slept(r, before);
    return 1;
}

int tm_progress(void)
{
    int count = 0;
    if (expected == 0)
        return rest();
    if (expected > posted)
        torus_dispatch(tm_context); /* an error ends the calls, which then have it */
    for (struct tm_event *event = next_event(); event; event = next_event()) {
        event->run(event->user);
        count++;
    }
    return count > 0 ? count : rest();
}

static void idle(void *user)
{
    (void)user;
    bool outer = waits_here; /* what a reply starts may wait, too */
    waits_here = true;
    opal_progress();
    waits_here = outer;
}

bool tm_waiting_start(void)
{
    if (torus_set_idle(tm_context, idle, NULL) != TORUS_OK)
        return false;
    started = opal_progress_register(tm_progress) == OPAL_SUCCESS;
    return started;
}

void tm_waiting_stop(void)
{
    if (started)
        opal_progress_unregister(tm_progress);
    started = false;
}

void tm_wait_until(bool (*done)(void *user), void *user)
{
    struct pollfd fd = {.fd = torus_fd(tm_context), .events = POLLIN};
    const struct timespec most = {.tv_nsec = SLEEP_NS};
    while (!done(user)) {
        if (tm_progress() > 0)
            continue;
        idle(NULL);
        int saved = errno;
        if (!done(user))
            ppoll(&fd, 1, &most, NULL);
        errno = saved;
    }
}
