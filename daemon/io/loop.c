/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* Wakes in a row, and their time, before the loop polls its descriptors again. */
enum { WAKES_MAX = 64, WAKES_NS = 1000000 };

td_time td_loop_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (td_time)t.tv_sec * 1000000000u + (td_time)t.tv_nsec;
}

uint64_t td_loop_random(void)
{
    uint64_t x = 0;
    while (getrandom(&x, sizeof x, 0) != sizeof x || x == 0)
        continue;
    return x;
}

/* ---- steps of the core ---- */

/* log_pause logs that this daemon did not run: as a warning if others may have called it silent,
 * which they do after four heartbeats. A daemon counts from when it was due, up to a heartbeat
 * later. Others may give it up after half a progress_timeout (td_epoch_resumed). */
static void log_pause(struct td_loop *loop, td_time now)
{
    td_time late = td_core_late(loop->core, now);
    const struct td_settings *s = &loop->config->settings;
    bool noticed = late >= 2 * (td_time)s->heartbeat_ns;
    bool lost = late > (td_time)s->progress_timeout_ns / 2;
    if (late)
        td_log_rated(&loop->pause_log, now, noticed || lost ? TD_LOG_WARNING : TD_LOG_DEBUG,
                     "this daemon did not run for %.1f s: it was stopped, or had no processor or "
                     "memory%s",
                     (double)late / 1e9, lost ? "; others may have given this node up" : "");
}

static void step(struct td_loop *loop, const struct td_event *event)
{
    td_time now = loop->stepped_at = td_loop_now();
    struct td_note note;
    uint64_t lost = 0;
    log_pause(loop, now);
    td_core_step(loop->core, now, event, loop->actions);
    while (td_core_take_note(loop->core, &note, &lost))
        loop->upcalls->note(loop->driver, &note, lost);
    for (uint32_t i = 0; i < loop->actions->count; i++)
        loop->upcalls->execute(loop->driver, &loop->actions->action[i]);
    loop->upcalls->executed(loop->driver);
}

static void on_more(uv_idle_t *idle)
{
    td_loop_wake(idle->data);
}

static void on_deadline(void *data)
{
    struct td_loop *loop = data;
    td_busy_begin(&loop->busy, "timers and work left");
    td_busy_may_last(&loop->busy, NULL);
    td_loop_wake(loop);
    td_busy_end(&loop->busy);
}

static void arm(struct td_loop *loop)
{
    td_time at = td_core_deadline(loop->core);
    if (at <= loop->stepped_at) {
        uv_idle_start(&loop->more, on_more);
        return;
    }
    uv_idle_stop(&loop->more);
    td_alarm_set(&loop->deadline, at);
}

static bool pop(struct td_loop *loop, struct td_event *event)
{
    if (loop->queue_count == 0)
        return false;
    *event = loop->queue[loop->queue_head];
    loop->queue_head = (loop->queue_head + 1) % loop->queue_capacity;
    loop->queue_count--;
    return true;
}

static void push(struct td_loop *loop, const struct td_event *event)
{
    if (loop->queue_count == loop->queue_capacity) {
        uint32_t capacity = loop->queue_capacity ? 2 * loop->queue_capacity : 256;
        struct td_event *grown = malloc(capacity * sizeof *grown);
        if (!grown) { /* a lost event would lose an operation: restart the daemon instead */
            td_log(TD_LOG_ERROR, "no memory for events: the daemon aborts");
            abort();
        }
        uint32_t count = 0;
        while (pop(loop, &grown[count]))
            count++;
        free(loop->queue);
        loop->queue = grown;
        loop->queue_head = 0;
        loop->queue_count = count;
        loop->queue_capacity = capacity;
    }
    loop->queue[(loop->queue_head + loop->queue_count++) % loop->queue_capacity] = *event;
}

/* wakes_again returns true if the core has work and may go on with it. `begun`: when the first of
 * these wakes was due, 0 before. */
static bool wakes_again(struct td_loop *loop, int *wakes, td_time *begun)
{
    td_time now = loop->stepped_at;
    if (*wakes >= WAKES_MAX || td_core_deadline(loop->core) > now)
        return false;
    if (*begun == 0)
        *begun = now;
    (*wakes)++;
    return now - *begun < WAKES_NS;
}

/* name_of returns the name of an event, for people. */
static const char *name_of(const struct td_event *event)
{
    static const char *const names[] = {
        [TD_EVENT_WAKE] = "timers and work left",
        [TD_EVENT_PACKET] = "packet",
        [TD_EVENT_ARRIVING] = "packet",
        [TD_EVENT_TREE_MESSAGE] = "message",
        [TD_EVENT_LINK_UP] = "link up",
        [TD_EVENT_LINK_DOWN] = "link down",
        [TD_EVENT_SENT] = "packet sent",
        [TD_EVENT_CLIENT_OPENED] = "new client",
        [TD_EVENT_CLIENT_REQUEST] = "request",
        [TD_EVENT_CLIENT_INVALID] = "malformed request",
        [TD_EVENT_CLIENT_CLOSED] = "end of a client",
        [TD_EVENT_COMPUTED] = "end of a computation",
        [TD_EVENT_REGION_FAILED] = "lost region",
        [TD_EVENT_STOP] = "stop",
    };
    return names[event->kind];
}

/* may_last returns false for the events of short calls, which are many. */
static bool may_last(enum td_event_kind kind)
{
    return kind == TD_EVENT_CLIENT_CLOSED || kind == TD_EVENT_LINK_UP ||
           kind == TD_EVENT_LINK_DOWN || kind == TD_EVENT_REGION_FAILED;
}

void td_loop_feed(struct td_loop *loop, const struct td_event *event)
{
    struct td_event next, wake = {.kind = TD_EVENT_WAKE};
    if (loop->stepping) {
        push(loop, event);
        return;
    }
    loop->stepping = true;
    loop->woken_at = 0;
    td_busy_begin(&loop->busy, name_of(event));
    if (may_last(event->kind))
        td_busy_may_last(&loop->busy, NULL);
    step(loop, event);
    int wakes = 0;
    td_time begun = 0;
    while (!loop->stopped) {
        uint32_t lost = td_regions_any_lost() ? td_regions_lost(loop->regions) : 0;
        if (lost) {
            loop->upcalls->region_lost(loop->driver);
            step(loop, &(struct td_event){.kind = TD_EVENT_REGION_FAILED, .u.region.handle = lost});
        } else if (pop(loop, &next)) {
            step(loop, &next);
        } else if (wakes_again(loop, &wakes, &begun)) {
            step(loop, &wake);
            loop->woken_at = loop->woken_at ? loop->woken_at : loop->stepped_at;
        } else {
            break;
        }
    }
    loop->stepping = false;
    if (!loop->stopped) {
        arm(loop);
        loop->upcalls->handled(loop->driver, event);
    }
    td_busy_end(&loop->busy);
}

void td_loop_post(struct td_loop *loop, const struct td_event *event)
{
    push(loop, event);
    if (!loop->stepping) /* the running td_loop_feed takes it otherwise */
        uv_idle_start(&loop->more, on_more);
}

void td_loop_wake(struct td_loop *loop)
{
    td_loop_feed(loop, &(struct td_event){.kind = TD_EVENT_WAKE});
}

/* ---- life ---- */

bool td_loop_init(struct td_loop *loop, const struct td_config *config,
                  const struct td_loop_upcalls *upcalls, void *driver)
{
    *loop = (struct td_loop){.config = config,
                             .began = td_loop_now(),
                             .upcalls = upcalls,
                             .driver = driver,
                             .incarnation = td_loop_random()};
    uv_loop_init(&loop->uv);
    uv_idle_init(&loop->uv, &loop->more);
    loop->more.data = loop;
    loop->actions = malloc(sizeof *loop->actions);
    if (!loop->actions) {
        td_log(TD_LOG_ERROR, "no memory for the event loop");
        return false;
    }
    if (td_alarm_init(&loop->deadline, &loop->uv, on_deadline, loop))
        return true;
    td_log(TD_LOG_ERROR, "cannot create a timer: %s", strerror(errno));
    return false;
}

void td_loop_stop(struct td_loop *loop)
{
    loop->stopped = true;
    uv_stop(&loop->uv);
}

void td_loop_fini(struct td_loop *loop)
{
    uv_loop_close(&loop->uv);
    td_core_destroy(loop->core);
    td_alarm_fini(&loop->deadline);
    free(loop->actions);
    free(loop->queue);
}
