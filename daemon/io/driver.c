/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collectives/planner.h"
#include "collectives/select.h"
#include "collectives/terms.h"
#include "compute/fft/fft.h"
#include "core/blocked.h"
#include "io/clients/clients.h"
#include "io/clients/process.h"
#include "io/clients/segments.h"
#include "io/config/config_facts.h"
#include "io/control/link/link.h"
#include "io/control/peers.h"
#include "io/control/traffic/express.h"
#include "io/control/traffic/packets.h"
#include "io/control/traffic/payloads.h"
#include "io/control/traffic/receive.h"
#include "io/control/traffic/tree.h"
#include "io/metrics/metrics.h"
#include "io/plans/plans.h"
#include "host.h"
#include "lookout.h"
#include "loop.h"
#include "notify.h"
#include "reload.h"
#include "workers.h"
#include "wire/client.h"

enum {
    STATUS_MS = 500, /* between two status lines */
    MEASURE_DELAY_MS = 1000,
    DRAIN_MS = 1000, /* between two requests for more time to stop in; */
    DRAIN_S = 10,    /* the time that each asks for */
    LAST_MS = 1000,  /* time to tell the other nodes, without the operations in flight */
    STALLS = 4,      /* progress_timeouts without the end of a computation: the workers are stuck */
};

struct driver {
    struct td_loop loop;
    struct td_config *config; /* of the loop; a reload changes it */
    struct td_clients *clients;
    struct td_workers *workers;
    struct td_lookout lookout;
    struct td_metrics *metrics;
    uv_timer_t watchdog, status, overdue, drain;
    bool notifies;       /* a service manager wants to hear of this daemon */
    bool watchdog_due;   /* the service manager is to hear of the next event that is handled */
    td_time status_sent; /* when the last line was sent */
    uv_signal_t term, interrupt, hangup;
    uv_poll_t watch; /* its end of file stops the daemon at once */
    bool stopping, hurried;
    char to_do[TD_RELOAD_TEXT]; /* what the last reload left to do */
};

/* ---- upcalls of the loop ---- */

/* takes_time returns true for an action that should not delay the tree messages before it. */
static bool takes_time(enum td_action_kind kind)
{
    return kind == TD_ACTION_REPLY || kind == TD_ACTION_COMPUTE || kind == TD_ACTION_SEND_PACKET ||
           kind == TD_ACTION_FORWARD_PACKET || kind == TD_ACTION_RETURN_SCRATCH;
}

static void send_status(struct driver *d);

/* reload replies to `client` unless that is 0. */
static void reload(struct driver *d, uint32_t client, uint64_t request)
{
    char text[TD_TEXT_MAX];
    const struct td_reload_parts parts = {d->config, &d->loop, d->clients, d->metrics};
    td_err error = td_reload(&parts, d->to_do, text);
    if (client)
        td_clients_reply(d->clients, client,
                         &(struct td_reply){.kind = error ? TD_REPLY_ERROR : TD_REPLY_DONE,
                                            .id = request,
                                            .error = error,
                                            .text = text});
    send_status(d);
}

/* give_back returns the whole pages of memory to the system. They read as zeros. */
static void give_back(void *memory, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), skipped = -(uintptr_t)memory & (page - 1);
    if (bytes > skipped)
        (void)madvise((uint8_t *)memory + skipped, (bytes - skipped) & ~(page - 1), MADV_DONTNEED);
}

static void execute(void *driver, const struct td_action *a)
{
    struct driver *d = driver;
    struct td_loop *loop = &d->loop;
    if (takes_time(a->kind))
        td_peers_flush(loop->peers);
    switch (a->kind) {
    case TD_ACTION_SEND_TREE:
        td_peers_send_tree(loop->peers, a);
        return;
    case TD_ACTION_FORWARD_TREE:
        td_peers_forward_tree(loop->peers, a);
        return;
    case TD_ACTION_REPEAT_TREE:
        td_peers_repeat_tree(loop->peers, a->u.kept.node, a->u.kept.via, a->u.kept.number);
        return;
    case TD_ACTION_FORGET_TREE:
        td_peers_forget_tree(loop->peers, a->u.kept.node, a->u.kept.number);
        return;
    case TD_ACTION_KEEP_EARLY:
        td_peers_keep_early(loop->peers, a);
        return;
    case TD_ACTION_TAKE_EARLY:
        td_peers_take_early(loop->peers, a->u.early.node, a->u.early.number);
        return;
    case TD_ACTION_FORGET_EARLY:
        td_peers_forget_early(loop->peers, a->u.early.node);
        return;
    case TD_ACTION_FORWARD_PACKET:
        td_peers_forward_packet(loop->peers, a);
        return;
    case TD_ACTION_SEND_PACKET:
        td_lookout_packet(&d->lookout, &a->u.packet.packet);
        td_peers_send_packet(loop->peers, a);
        return;
    case TD_ACTION_REPLY:
        if (!td_metrics_executes(d->metrics, a))
            td_clients_reply(d->clients, a->u.reply.client, a->u.reply.reply);
        return;
    case TD_ACTION_CLOSE_CLIENT:
        if (!td_metrics_executes(d->metrics, a))
            td_clients_close(d->clients, a->u.close.client);
        return;
    case TD_ACTION_COMPUTE:
        td_workers_compute(d->workers, &a->u.compute);
        return;
    case TD_ACTION_PREPARE_TRANSFORM:
        td_workers_prepare(d->workers, &a->u.transform.step, a->u.transform.ranks,
                           a->u.transform.uid);
        return;
    case TD_ACTION_PREPARE_SCRATCH:
        td_regions_prepare_scratch(loop->regions, a->u.scratch.offset, a->u.scratch.bytes);
        return;
    case TD_ACTION_RETURN_SCRATCH:
        if (a->u.scratch.bytes > 0)
            td_regions_return_scratch(loop->regions, a->u.scratch.offset, a->u.scratch.bytes);
        if (a->u.scratch.last && !td_core_unused(loop->core, give_back))
            td_regions_return_heap(loop->regions);
        return;
    case TD_ACTION_RELEASE_BUFFER:
        td_peers_release_buffer(loop->peers, a->u.buffer.buffer);
        return;
    case TD_ACTION_RELEASE_REGION:
        td_regions_release(loop->regions, a->u.region.handle);
        td_peers_settle(loop->peers);
        return;
    case TD_ACTION_CLOSE_SEGMENT:
        td_segments_close(loop->segments, a->u.segment.group);
        return;
    case TD_ACTION_DROP_LINK:
        if (a->u.drop.goodbye)
            td_peers_part(loop->peers, a->u.drop.node, a->u.drop.text);
        else
            td_peers_drop(loop->peers, a->u.drop.node, a->u.drop.text);
        return;
    case TD_ACTION_RELOAD:
        reload(d, a->u.reload.client, a->u.reload.request);
        return;
    case TD_ACTION_STOPPED:
        td_loop_stop(loop);
        return;
    }
}

static void note(void *driver, const struct td_note *note, uint64_t lost)
{
    td_clients_note(((struct driver *)driver)->clients, note, lost);
}

static void executed(void *driver)
{
    struct driver *d = driver;
    td_peers_flush(d->loop.peers);
    td_workers_start(d->workers);
}

static void region_lost(void *driver)
{
    td_peers_region_lost(((struct driver *)driver)->loop.peers);
}

static void send_status(struct driver *d)
{
    const struct td_loop *loop = &d->loop;
    const struct td_topology *t = &loop->config->topology;
    uint32_t place[TD_DIMENSIONS_MAX];
    struct td_usage counts;
    char text[600], blocked[300] = "", shape[128], at[80] = "", silent[24] = "";
    d->status_sent = td_loop_now();
    td_topology_print(t, shape, sizeof shape);
    td_topology_coordinates(t, loop->config->node, place);
    for (uint32_t i = 0, length = 0; i < t->dimensions && length < sizeof at; i++)
        length +=
            (uint32_t)snprintf(at + length, sizeof at - length, "%s%u", i ? "," : "", place[i]);
    td_core_usage(loop->core, &counts);
    uint32_t clients = td_clients_count(d->clients);
    uint32_t quiet = td_core_silent(loop->core);
    if (quiet > td_peers_up(loop->peers)) /* some of them have just been found to be down */
        quiet = td_peers_up(loop->peers);
    if (quiet)
        snprintf(silent, sizeof silent, ", %u silent", quiet);
    bool waits = td_core_blocked(loop->core, d->status_sent, blocked, sizeof blocked);
    snprintf(text, sizeof text,
             "%snode %u (%s) of %s: %u of %u peers up%s, %u client%s, %llu group%s, %llu "
             "operation%s%s%s%s%s",
             d->stopping ? "draining: " : "", loop->config->node, at, shape,
             td_peers_up(loop->peers) - quiet, td_peers_wanted(loop->peers), silent, clients,
             clients == 1 ? "" : "s", (unsigned long long)counts.groups,
             counts.groups == 1 ? "" : "s", (unsigned long long)counts.operations,
             counts.operations == 1 ? "" : "s", waits ? "; " : "", blocked, d->to_do[0] ? "; " : "",
             d->to_do);
    td_notify_status(text);
}

static void on_status(uv_timer_t *timer)
{
    send_status(timer->data);
}

/* works returns true if the core and the workers keep up with what they owe. The core is a watchdog
 * period late only if the loop no longer serves its deadlines. */
static bool works(const struct driver *d)
{
    td_time late = td_core_deadline(d->loop.core);
    return (late == TD_TIME_NEVER || td_loop_now() < late + td_notify_watchdog_ns()) &&
           !td_workers_stalled(d->workers,
                               STALLS * (uint64_t)d->loop.config->settings.progress_timeout_ns);
}

/* handled sends the status line now, or within STATUS_MS: at most one line per STATUS_MS. A
 * periodic event, such as a heartbeat, does not start the timer. */
static void handled(void *driver, const struct td_event *event)
{
    struct driver *d = driver;
    bool periodic = event->kind == TD_EVENT_WAKE || event->kind == TD_EVENT_TREE_MESSAGE;
    td_lookout_note(&d->lookout, event, d->loop.stepped_at);
    if (event->kind == TD_EVENT_WAKE)
        td_clients_tick(d->clients);
    if (d->watchdog_due && works(d)) {
        d->watchdog_due = false;
        td_notify_feed();
    }
    if (!d->notifies || uv_is_active((uv_handle_t *)&d->status))
        return;
    if (td_loop_now() - d->status_sent >= STATUS_MS * 1000000ull)
        send_status(d);
    else if (!periodic)
        uv_timer_start(&d->status, on_status, STATUS_MS, 0);
}

/* ---- signals ---- */

static void on_last(uv_timer_t *timer)
{
    td_loop_stop(&((struct driver *)timer->data)->loop);
}

/* hurry stops without the operations in flight. The other nodes are still told. The next call does
 * not wait for that either. */
static void hurry(struct driver *d)
{
    if (d->hurried) {
        td_loop_stop(&d->loop);
        return;
    }
    d->hurried = true;
    uv_timer_start(&d->overdue, on_last, LAST_MS, 0);
    td_loop_feed(&d->loop, &(struct td_event){.kind = TD_EVENT_STOP});
}

static void on_overdue(uv_timer_t *timer)
{
    td_log(TD_LOG_WARNING, "stopping with operations in flight: progress_timeout has expired");
    hurry(timer->data);
}

static void on_drain(uv_timer_t *timer)
{
    td_notify_draining(DRAIN_S);
    send_status(timer->data);
}

static void on_term(uv_signal_t *handle, int number)
{
    struct driver *d = handle->data;
    (void)number;
    if (d->stopping) {
        hurry(d);
        return;
    }
    d->stopping = d->loop.stopping = true;
    td_log(TD_LOG_INFO, "stopping: new requests are refused, running operations are completed");
    td_notify_stopping();
    int64_t most_ms = d->loop.config->settings.progress_timeout_ns / 1000000;
    uv_timer_start(&d->overdue, on_overdue, (uint64_t)most_ms, 0);
    on_drain(&d->drain);
    uv_timer_start(&d->drain, on_drain, DRAIN_MS, DRAIN_MS);
    td_loop_feed(&d->loop, &(struct td_event){.kind = TD_EVENT_STOP});
}

static void on_hangup(uv_signal_t *handle, int number)
{
    struct driver *d = handle->data;
    (void)number;
    if (d->stopping)
        return;
    reload(d, 0, 0);
}

static void on_watch(uv_poll_t *poll, int error, int events)
{
    char byte[64];
    int fd = -1;
    uv_fileno((uv_handle_t *)poll, &fd);
    (void)events;
    if (error < 0 || read(fd, byte, sizeof byte) == 0)
        td_loop_stop(&((struct driver *)poll->data)->loop);
}

/* on_watchdog sends an event through the core; its end feeds the watchdog (handled). */
static void on_watchdog(uv_timer_t *timer)
{
    struct driver *d = timer->data;
    d->watchdog_due = true;
    td_loop_wake(&d->loop);
}

/* ---- life ---- */

static void start_handles(struct driver *d, int watch_fd)
{
    uv_loop_t *uv = &d->loop.uv;
    uv_timer_init(uv, &d->watchdog);
    uv_timer_init(uv, &d->status);
    uv_timer_init(uv, &d->overdue);
    uv_timer_init(uv, &d->drain);
    uv_signal_init(uv, &d->term);
    uv_signal_init(uv, &d->interrupt);
    uv_signal_init(uv, &d->hangup);
    d->watchdog.data = d->status.data = d->overdue.data = d->drain.data = d;
    d->term.data = d->interrupt.data = d->hangup.data = d;
    uv_signal_start(&d->term, on_term, SIGTERM);
    uv_signal_start(&d->interrupt, on_term, SIGINT);
    if (watch_fd >= 0 && uv_poll_init(uv, &d->watch, watch_fd) == 0) {
        d->watch.data = d;
        uv_poll_start(&d->watch, UV_READABLE | UV_DISCONNECT, on_watch);
    }
}

/* limit_regions lowers the number of regions to what the kernel can map. */
static void limit_regions(struct td_settings *settings)
{
    uint32_t most = td_regions_most();
    if (settings->regions_max <= most)
        return;
    td_log(TD_LOG_WARNING,
           "vm.max_map_count allows %u regions, not the %u of [limits] regions: raise it", most,
           settings->regions_max);
    settings->regions_max = most;
}

static bool segment_waits(void *driver, uint32_t group, uint32_t rank, uint32_t kind,
                          uint64_t *last, uint64_t *ns)
{
    return td_segments_waits(((struct td_loop *)driver)->segments, group, rank, kind, td_loop_now(),
                             last, ns);
}

static bool own_fault(void *driver, uint32_t node, char *text, size_t bytes)
{
    return td_peers_own_fault(((struct td_loop *)driver)->peers, node, text, bytes);
}

/* fact tells torusctl of the settings, and of the host. */
static bool fact(void *driver, uint32_t section, unsigned at, struct td_fact *fact)
{
    struct td_loop *loop = driver;
    if (section == TD_STATUS_SETTINGS)
        return td_config_fact(loop->config, td_peers_security(loop->peers), at, fact);
    return td_host_fact(loop, at, fact);
}

static bool start_core(struct td_loop *loop)
{
    const struct td_config *c = loop->config;
    struct td_core_options options = {.topology = c->topology,
                                      .node = c->node,
                                      .incarnation = loop->incarnation,
                                      .peers_known = !td_config_is_open(loop->config),
                                      .seed = td_loop_random(),
                                      .settings = c->settings,
                                      .compile = td_select_compile,
                                      .planner = td_collectives_planner,
                                      .costs = td_collectives_terms(TD_TERMS_COSTS),
                                      .methods = td_collectives_terms(TD_TERMS_METHODS),
                                      .term_name = td_collectives_term_name,
                                      .endpoints = (const char *const *)c->endpoints,
                                      .uid = getuid(),
                                      .segments = c->segments,
                                      .plan_row = td_plans_row,
                                      .encode_page = td_wire_encode_page,
                                      .process_state = td_process_state,
                                      .driver = loop,
                                      .fact = fact,
                                      .own_fault = own_fault,
                                      .segment_waits = segment_waits};
    loop->regions = td_regions_create(c->settings.scratch_bytes, c->settings.region_bytes_max);
    loop->segments = loop->regions ? td_segments_create(&loop->uv, loop->regions) : NULL;
    limit_regions(&options.settings);
    if (loop->segments && td_core_create(&loop->core, &options) == TD_OK)
        return true;
    td_log(TD_LOG_ERROR, "no memory for the core: lower [limits] memory or scratch");
    return false;
}

static bool start_plans(struct td_loop *loop)
{
    const struct td_config *c = loop->config;
    struct td_plans_options options = {.effort = (enum td_fft_effort)c->effort,
                                       .directory = c->state_directory,
                                       .seconds = (unsigned)(c->measure_ns / 1000000000),
                                       .delay_ms = MEASURE_DELAY_MS,
                                       .service = "/run/torusd-plans.socket",
                                       .program = "/proc/self/exe"};
    td_fft_set_limit(c->settings.plans_bytes_max);
    loop->plans = td_plans_create(&loop->uv, &options);
    return loop->plans != NULL;
}

static void close_handle(uv_handle_t *handle, void *user)
{
    (void)user;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* ignore_signals: the handlers go with the loop, and one more SIGTERM would then kill a daemon that
 * is about to end by itself. */
static void ignore_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void finish(struct driver *d)
{
    struct td_loop *loop = &d->loop;
    ignore_signals();
    td_lookout_stop(&d->lookout);
    td_workers_drain(d->workers);
    td_metrics_stop(d->metrics);
    td_clients_stop(d->clients);
    td_peers_close(loop->peers);
    bool planned = td_plans_stop(loop->plans);
    uv_walk(&loop->uv, close_handle, NULL);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT) != 0)
        continue;
    td_metrics_free(d->metrics);
    td_clients_free(d->clients);
    td_peers_free(loop->peers);
    td_fft_plan_elsewhere(false);
    if (planned)
        td_workers_destroy(d->workers);
    td_plans_free(loop->plans);
    td_loop_fini(loop);
    td_segments_destroy(loop->segments);
    td_regions_destroy(loop->regions);
    if (planned)
        td_fft_fini();
}

/* start_metrics returns false with a sentence in why. */
static bool start_metrics(struct driver *d, char *why, size_t why_bytes)
{
    const struct td_config *c = d->loop.config;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    d->metrics = td_metrics_create(&(struct td_metrics_sources){
        .loop = &d->loop,
        .workers = d->workers,
        .clients = d->clients,
        .started_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec});
    return d->metrics &&
           td_metrics_serve(d->metrics, c->metrics_listen, c->metrics_jobs, why, why_bytes);
}

static bool start_parts(struct driver *d, char *why, size_t why_bytes)
{
    struct td_loop *loop = &d->loop;
    return (d->workers = td_workers_create(loop)) != NULL &&
           (loop->peers = td_peers_create(loop)) != NULL &&
           /* the clients' socket is first: it shows whether another daemon runs here */
           (d->clients = td_clients_create(loop, why, why_bytes)) != NULL &&
           td_peers_bind(loop->peers, why, why_bytes) && start_plans(loop) &&
           start_metrics(d, why, why_bytes);
}

static void serve(struct driver *d)
{
    const struct td_config *config = d->loop.config;
    bool single = config->topology.nodes == 1; /* it has no peers and listens for none */
    if (config->strays[0])
        td_log(TD_LOG_WARNING,
               "files in %s.d that were not read, since their names do not end with .conf:%s",
               config->file, config->strays);
    if (td_config_is_open(config))
        td_log(TD_LOG_WARNING,
               "insecure = yes: every host and user that can reach %s is trusted as a peer; "
               "torusctl keygen makes keys",
               config->listen);
    char note[400];
    if (td_security_note(&config->security, config->peers_file, note, sizeof note)[0])
        td_log(TD_LOG_INFO, "%s", note);
    td_fft_plan_elsewhere(true);
    d->notifies = td_notify_enabled();
    td_lookout_start(&d->lookout, d->clients, d->workers);
    uv_signal_start(&d->hangup, on_hangup, SIGHUP);
    td_peers_start(d->loop.peers);
    td_loop_wake(&d->loop);
    td_log(TD_LOG_INFO, "serving node %u on %s%s%s", config->node, config->socket,
           single ? ", the only node" : ", peers on ", single ? "" : config->listen);
    send_status(d);
    td_notify_ready();
    uint64_t period_ns = td_notify_watchdog_ns();
    if (period_ns)
        uv_timer_start(&d->watchdog, on_watchdog, 0, period_ns / 1000000);
    uv_run(&d->loop.uv, UV_RUN_DEFAULT);
}

int td_driver_run(struct td_config *config, int watch_fd)
{
    static const struct td_loop_upcalls upcalls = {execute, note, executed, region_lost, handled};
    struct driver d = {.config = config};
    char why[512] = "";
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN); /* until the daemon serves */
    bool good = td_loop_init(&d.loop, config, &upcalls, &d);
    start_handles(&d, watch_fd);
    td_lookout_init(&d.lookout, &d.loop);
    good = good && start_core(&d.loop) && start_parts(&d, why, sizeof why);
    if (good)
        serve(&d);
    else if (why[0])
        td_log(TD_LOG_ERROR, "%s", why);
    d.loop.stopped = true;
    finish(&d);
    if (good)
        td_notify_status("stopped"); /* the manager shows the last line of a unit that has ended */
    return good ? 0 : 1;
}
