/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "io/clients/clients.h"
#include "collectives/select.h"
#include "notify.h"
#include "io/control/peers.h"
#include "io/plans/plans.h"
#include "workers.h"

enum {
    WAKES_MAX = 64, /* in a row, before the loop looks at its descriptors again */
    STATUS_MS = 500,
    MEASURE_DELAY_MS = 1000,
};

td_time td_loop_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (td_time)t.tv_sec * 1000000000u + (td_time)t.tv_nsec;
}

static void stop_loop(struct td_loop *loop)
{
    loop->stopped = true;
    uv_stop(&loop->uv);
}

/* ---- actions ---- */

static void execute(struct td_loop *loop, const struct td_action *a)
{
    switch (a->kind) {
    case TD_ACTION_SEND_TREE:
        td_peers_send_tree(loop->peers, a);
        return;
    case TD_ACTION_REPEAT_TREE:
        td_peers_repeat_tree(loop->peers, a->u.kept.node, a->u.kept.number);
        return;
    case TD_ACTION_FORGET_TREE:
        td_peers_forget_tree(loop->peers, a->u.kept.node, a->u.kept.number);
        return;
    case TD_ACTION_FORWARD_PACKET:
        td_peers_forward_packet(loop->peers, a);
        return;
    case TD_ACTION_SEND_PACKET:
        td_peers_send_packet(loop->peers, a);
        return;
    case TD_ACTION_REPLY:
        td_clients_reply(loop->clients, a->u.reply.client, a->u.reply.reply);
        return;
    case TD_ACTION_CLOSE_CLIENT:
        td_clients_close(loop->clients, a->u.close.client);
        return;
    case TD_ACTION_COMPUTE:
        td_workers_compute(loop->workers, &a->u.compute);
        return;
    case TD_ACTION_RELEASE_BUFFER:
        td_peers_release_buffer(loop->peers, a->u.buffer.buffer);
        return;
    case TD_ACTION_RELEASE_REGION:
        td_regions_release(loop->regions, a->u.region.handle);
        td_peers_settle(loop->peers);
        return;
    case TD_ACTION_DROP_LINK:
        td_peers_drop(loop->peers, a->u.drop.node, a->u.drop.text);
        return;
    case TD_ACTION_STOPPED:
        stop_loop(loop);
        return;
    }
}

static void step(struct td_loop *loop, const struct td_event *event)
{
    td_core_step(loop->core, td_loop_now(), event, loop->actions);
    for (uint32_t i = 0; i < loop->actions->count; i++)
        execute(loop, &loop->actions->action[i]);
}

static void on_more(uv_idle_t *idle);

static void arm(struct td_loop *loop)
{
    td_time at = td_core_deadline(loop->core), now = td_loop_now();
    if (at <= now) {
        uv_idle_start(&loop->more, on_more);
        return;
    }
    uv_idle_stop(&loop->more);
    td_alarm_set(&loop->deadline, at);
}

static void tell_status(struct td_loop *loop)
{
    const struct td_topology *t = &loop->config->topology;
    uint32_t place[TD_DIMENSIONS_MAX];
    struct td_usage counts;
    char text[400], shape[128], at[80] = "";
    loop->status_at = td_loop_now();
    if (loop->stopping) /* the line says so already */
        return;
    td_topology_print(t, shape, sizeof shape);
    td_topology_coordinates(t, loop->config->node, place);
    for (uint32_t d = 0, length = 0; d < t->dimensions && length < sizeof at; d++)
        length +=
            (uint32_t)snprintf(at + length, sizeof at - length, "%s%u", d ? "," : "", place[d]);
    td_core_usage(loop->core, &counts);
    uint32_t clients = td_clients_count(loop->clients);
    snprintf(text, sizeof text,
             "node %u (%s) of %s: %u of %u peers up, %u client%s, %llu group%s, %llu operation%s",
             loop->config->node, at, shape, td_peers_up(loop->peers), td_peers_wanted(loop->peers),
             clients, clients == 1 ? "" : "s", (unsigned long long)counts.groups,
             counts.groups == 1 ? "" : "s", (unsigned long long)counts.operations,
             counts.operations == 1 ? "" : "s");
    td_notify_status(text);
}

static void on_status(uv_timer_t *timer)
{
    tell_status(timer->data);
}

/* status tells the line now or soon, for not every operation is worth one. What comes by itself
 * every second wakes nobody for it. */
static void status(struct td_loop *loop, const struct td_event *event)
{
    bool beat = event->kind == TD_EVENT_WAKE || event->kind == TD_EVENT_TREE_MESSAGE;
    if (!td_notify_wanted() || uv_is_active((uv_handle_t *)&loop->status))
        return;
    if (td_loop_now() - loop->status_at >= STATUS_MS * 1000000ull)
        tell_status(loop);
    else if (!beat)
        uv_timer_start(&loop->status, on_status, STATUS_MS, 0);
}

static bool pop(struct td_loop *loop, struct td_event *event)
{
    if (loop->queue_count == 0)
        return false;
    *event = loop->queue[loop->queue_head];
    loop->queue_head = (loop->queue_head + 1) % loop->queue_room;
    loop->queue_count--;
    return true;
}

static void push(struct td_loop *loop, const struct td_event *event)
{
    if (loop->queue_count == loop->queue_room) {
        uint32_t room = loop->queue_room ? 2 * loop->queue_room : 256;
        struct td_event *grown = malloc(room * sizeof *grown);
        if (!grown) { /* a lost event is a lost operation: better to be started anew */
            td_log(TD_LOG_ERROR, "no memory for events");
            abort();
        }
        uint32_t count = 0;
        while (pop(loop, &grown[count]))
            count++;
        free(loop->queue);
        loop->queue = grown;
        loop->queue_head = 0;
        loop->queue_count = count;
        loop->queue_room = room;
    }
    loop->queue[(loop->queue_head + loop->queue_count++) % loop->queue_room] = *event;
}

void td_loop_feed(struct td_loop *loop, const struct td_event *event)
{
    struct td_event next, wake = {.kind = TD_EVENT_WAKE};
    if (loop->stepping) {
        push(loop, event);
        return;
    }
    loop->stepping = true;
    step(loop, event);
    for (int wakes = 0; !loop->stopped;) {
        uint32_t lost = td_regions_any_lost() ? td_regions_lost(loop->regions) : 0;
        if (lost) {
            td_peers_region_lost(loop->peers);
            step(loop, &(struct td_event){.kind = TD_EVENT_REGION_FAILED, .u.region.handle = lost});
        } else if (pop(loop, &next)) {
            step(loop, &next);
        } else if (td_core_deadline(loop->core) <= td_loop_now() && wakes++ < WAKES_MAX) {
            step(loop, &wake);
        } else {
            break;
        }
    }
    loop->stepping = false;
    if (!loop->stopped) {
        arm(loop);
        status(loop, event);
    }
}

void td_loop_post(struct td_loop *loop, const struct td_event *event)
{
    push(loop, event);
    if (!loop->stepping) /* who steps takes it before it stops */
        uv_idle_start(&loop->more, on_more);
}

static void wake(struct td_loop *loop)
{
    td_loop_feed(loop, &(struct td_event){.kind = TD_EVENT_WAKE});
}

static void on_deadline(void *loop)
{
    wake(loop);
}

static void on_more(uv_idle_t *idle)
{
    wake(idle->data);
}

/* ---- signals ---- */

static void on_overdue(uv_timer_t *timer)
{
    td_log(TD_LOG_WARNING, "stopping with operations in flight: progress_timeout has passed");
    stop_loop(timer->data);
}

static void on_term(uv_signal_t *handle, int number)
{
    struct td_loop *loop = handle->data;
    (void)number;
    if (loop->stopping) {
        stop_loop(loop);
        return;
    }
    loop->stopping = true;
    td_log(TD_LOG_INFO, "stopping: new requests are refused, what runs is finished");
    td_notify_stopping();
    int64_t most_ms = loop->config->settings.progress_timeout_ns / 1000000;
    uv_timer_start(&loop->watchdog, on_overdue, (uint64_t)most_ms, 0);
    td_loop_feed(loop, &(struct td_event){.kind = TD_EVENT_STOP});
}

static void on_hangup(uv_signal_t *handle, int number)
{
    (void)handle;
    (void)number;
    td_log(TD_LOG_INFO, "SIGHUP is reserved for reloading, which this release cannot");
}

static void on_watch(uv_poll_t *poll, int error, int events)
{
    char byte[64];
    int fd = -1;
    uv_fileno((uv_handle_t *)poll, &fd);
    (void)events;
    if (error < 0 || read(fd, byte, sizeof byte) == 0)
        stop_loop(poll->data);
}

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    td_notify_feed();
}

/* ---- life ---- */

uint64_t td_loop_random(void)
{
    uint64_t x = 0;
    while (getrandom(&x, sizeof x, 0) != sizeof x || x == 0)
        continue;
    return x;
}

static bool start_deadline(struct td_loop *loop)
{
    if (td_alarm_init(&loop->deadline, &loop->uv, on_deadline, loop))
        return true;
    td_log(TD_LOG_ERROR, "cannot make a timer: %s", strerror(errno));
    return false;
}

static void start_handles(struct td_loop *loop, int watch_fd)
{
    uv_timer_init(&loop->uv, &loop->watchdog);
    uv_timer_init(&loop->uv, &loop->status);
    uv_idle_init(&loop->uv, &loop->more);
    uv_signal_init(&loop->uv, &loop->term);
    uv_signal_init(&loop->uv, &loop->interrupt);
    uv_signal_init(&loop->uv, &loop->hangup);
    loop->watchdog.data = loop->status.data = loop->more.data = loop->term.data =
        loop->interrupt.data = loop;
    uv_signal_start(&loop->term, on_term, SIGTERM);
    uv_signal_start(&loop->interrupt, on_term, SIGINT);
    uv_signal_start(&loop->hangup, on_hangup, SIGHUP);
    uint64_t period_ns = td_notify_watchdog_ns();
    if (period_ns)
        uv_timer_start(&loop->watchdog, on_watchdog, 0, period_ns / 1000000);
    if (watch_fd >= 0 && uv_poll_init(&loop->uv, &loop->watch, watch_fd) == 0) {
        loop->watch.data = loop;
        uv_poll_start(&loop->watch, UV_READABLE | UV_DISCONNECT, on_watch);
    }
}

static bool start_core(struct td_loop *loop)
{
    const struct td_config *c = loop->config;
    struct td_core_options options = {.topology = c->topology,
                                      .node = c->node,
                                      .incarnation = loop->incarnation,
                                      .seed = td_loop_random(),
                                      .settings = c->settings,
                                      .compile = td_select_compile,
                                      .planner = td_select_planner,
                                      .endpoints = (const char *const *)c->endpoints,
                                      .uid = getuid(),
                                      .plan_row = td_plans_row};
    loop->actions = malloc(sizeof *loop->actions);
    loop->regions = td_regions_create(c->settings.scratch_bytes, c->settings.region_bytes_max);
    if (loop->actions && loop->regions && td_core_create(&loop->core, &options) == TD_OK)
        return true;
    td_log(TD_LOG_ERROR, "no memory: lower [limits] memory or scratch");
    return false;
}

static bool start_plans(struct td_loop *loop)
{
    const struct td_config *c = loop->config;
    struct td_plans_options options = {.effort = (enum td_fft_effort)c->effort,
                                       .directory = c->state_directory,
                                       .seconds = (unsigned)(c->measure_ns / 1000000000),
                                       .delay_ms = MEASURE_DELAY_MS,
                                       .program = "/proc/self/exe"};
    loop->plans = td_plans_create(&loop->uv, &options);
    return loop->plans != NULL;
}

static void close_handle(uv_handle_t *handle, void *user)
{
    (void)user;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void finish(struct td_loop *loop)
{
    td_workers_drain(loop->workers);
    td_clients_stop(loop->clients);
    td_peers_close(loop->peers);
    td_plans_stop(loop->plans);
    uv_walk(&loop->uv, close_handle, NULL);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT) != 0)
        continue;
    td_clients_free(loop->clients);
    td_peers_free(loop->peers);
    td_workers_destroy(loop->workers);
    td_plans_free(loop->plans);
    uv_loop_close(&loop->uv);
    td_core_destroy(loop->core);
    td_regions_destroy(loop->regions);
    td_compute_fini();
    td_alarm_fini(&loop->deadline);
    free(loop->actions);
    free(loop->queue);
}

int td_loop_run(const struct td_config *config, int watch_fd)
{
    struct td_loop loop = {.config = config};
    char why[512] = "";
    loop.incarnation = td_loop_random();
    loop.digest = td_settings_digest(&config->settings, &config->topology);
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&loop.uv);
    start_handles(&loop, watch_fd);
    bool good = start_deadline(&loop) && start_core(&loop);
    if (good)
        good = (loop.workers = td_workers_create(&loop)) != NULL &&
               (loop.peers = td_peers_create(&loop)) != NULL &&
               /* its socket says first whether another daemon runs here */
               (loop.clients = td_clients_create(&loop, why, sizeof why)) != NULL &&
               td_peers_bind(loop.peers, why, sizeof why) && start_plans(&loop);
    if (good) {
        td_peers_start(loop.peers);
        wake(&loop);
        bool alone = config->topology.nodes == 1; /* and listens for nobody */
        td_log(TD_LOG_INFO, "serving node %u on %s%s%s", config->node, config->socket,
               alone ? ", the only one" : ", peers on ", alone ? "" : config->listen);
        tell_status(&loop);
        td_notify_ready();
        uv_run(&loop.uv, UV_RUN_DEFAULT);
    } else if (why[0]) {
        td_log(TD_LOG_ERROR, "%s", why);
    }
    loop.stopped = true;
    finish(&loop);
    return good ? 0 : 1;
}
