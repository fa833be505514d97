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

/* struct looking: a thread that waits. Without MPI_THREAD_MULTIPLE one thread waits at a time, and
 * all share one: memory of a thread is slow to find from a library that was loaded later. */
struct looking {
    struct tm_rest rest;
    bool sleeps_itself; /* in a wait of this component */
};

static struct looking process_looks;
static _Thread_local struct looking thread_looks;

static struct looking *own_looks(void)
{
    return tm_threads ? &thread_looks : &process_looks;
}

static int64_t time_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* rest gives the processor away as rest.h says. It returns 0 if Open MPI is to yield itself. */
static int rest(void)
{
    struct looking *own = own_looks();
    struct tm_rest *r = &own->rest;
    if (tm_parameters.rest_us == 0 || own->sleeps_itself)
        return 0;
    enum tm_rest_act act = tm_rest_next(r);
    if (act == TM_REST_CLOCK)
        tm_rest_clock(r, time_of(CLOCK_MONOTONIC_COARSE));
    if (act == TM_REST_CLOCK || act == TM_REST_LEAVE)
        return 0;
    if (act == TM_REST_LOOK)
        return 1;
    int64_t before = time_of(CLOCK_MONOTONIC);
    if (act == TM_REST_YIELD) {
        sched_yield();
        int64_t now = time_of(CLOCK_MONOTONIC);
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

/* handle handles replies and runs the events that were posted. It returns their number. */
static int handle(void)
{
    int count = 0;
    if (expected == 0)
        return 0;
    if (expected > posted)
        torus_dispatch(tm_context); /* an error ends the calls, which then have it */
    for (struct tm_event *event = next_event(); event; event = next_event()) {
        event->run(event->user);
        count++;
    }
    return count;
}

int tm_progress(void)
{
    int count = handle();
    return count > 0 ? count : rest();
}

static void idle(void *user)
{
    (void)user;
    struct looking *own = own_looks();
    bool outer = own->sleeps_itself; /* what a reply starts may wait, too */
    own->sleeps_itself = true;
    opal_progress();
    own->sleeps_itself = outer;
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
        if (handle() > 0)
            continue;
        idle(NULL);
        int saved = errno;
        if (!done(user))
            ppoll(&fd, 1, &most, NULL);
        errno = saved;
    }
}
