/* SPDX-License-Identifier: Apache-2.0 */
#include "waiting.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "component.h"

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

int tm_progress(void)
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

static void idle(void *user)
{
    (void)user;
    opal_progress();
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
        opal_progress();
        int saved = errno;
        if (!done(user))
            ppoll(&fd, 1, &most, NULL);
        errno = saved;
    }
}
