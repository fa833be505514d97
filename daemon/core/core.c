/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/membership/account.h"
#include "core/membership/client.h"
#include "core/membership/communicator.h"
#include "core/membership/communicator_losses.h"
#include "core/membership/endings.h"
#include "core/membership/epoch.h"
#include "core/membership/job.h"
#include "core/membership/later_losses.h"
#include "core/membership/parting.h"
#include "core/membership/rank_report.h"
#include "core/membership/registry.h"
#include "core/membership/shrink.h"
#include "core/membership/shrink_silence.h"
#include "core/membership/subgroup.h"
#include "core/membership/succession.h"
#include "core/membership/waits.h"
#include "core/net/early.h"
#include "core/net/fabric.h"
#include "core/net/goodbye.h"
#include "core/net/health.h"
#include "core/net/inflight.h"
#include "core/net/link.h"
#include "core/net/silence.h"
#include "core/operation/arrival.h"
#include "core/operation/engine.h"
#include "core/operation/gate.h"
#include "core/operation/operation.h"
#include "core/operation/recording.h"
#include "core/operation/stall.h"
#include "core/operation/sync.h"
#include "core_internal.h"
#include "inspect.h"
#include "end_calls.h"
#include "look.h"
#include "outages.h"
#include "core/net/session.h"
#include "sums.h"

/* ---- life ---- */

static bool stop_advance(struct td_core *core, struct td_task *task);

/* struct core_block: a core and the state of its modules, in one allocation. */
struct core_block {
    struct td_core core; /* the first member, because td_core_destroy frees the block by it */
    struct td_health health;
    struct td_goodbyes goodbyes;
    struct td_accounts accounts;
    struct td_epochs epochs;
    struct td_clients clients;
    struct td_joins joins;
    struct td_rank_reports rank_reports;
    struct td_registry registry;
    struct td_succession succession;
    struct td_groups groups;
    struct td_operations operations;
    struct td_endings endings;
    struct td_looks looks;
    struct td_sums sums;
};

/* new_core returns a zeroed core that points to the state of its modules, or NULL. */
static struct td_core *new_core(void)
{
    struct core_block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    struct td_core *core = &block->core;
    core->health = &block->health;
    core->goodbyes = &block->goodbyes;
    core->accounts = &block->accounts;
    core->epochs = &block->epochs;
    core->clients = &block->clients;
    core->joins = &block->joins;
    core->rank_reports = &block->rank_reports;
    core->registry = &block->registry;
    core->succession = &block->succession;
    core->groups = &block->groups;
    core->operations = &block->operations;
    core->endings = &block->endings;
    core->looks = &block->looks;
    core->sums = &block->sums;
    return core;
}

td_err td_core_create(struct td_core **out, const struct td_core_options *options)
{
    *out = NULL;
    struct td_core *core = new_core();
    if (!core)
        return TD_ERR_NO_MEMORY;
    core->options = *options;
    core->settings = options->settings;
    core->settings.tuning.packet_bytes = core->settings.packet_bytes;
    core->node = options->node;
    core->random = options->seed;
    core->alarm = core->links_expire_at = core->early_at = core->unused_at = TD_TIME_NEVER;
    core->work_last = &core->work;
    core->stop_task.advance = stop_advance;
    snprintf(core->last_words, sizeof core->last_words,
             "too much failed at once on node %u: the sentences of earlier errors say why, and so "
             "does its log",
             core->node);
    td_job_init(core);
    td_epoch_init(core);
    td_succession_init(core);
    td_client_init(core);
    core->arena = td_arena_create(options->settings.arena_bytes);
    core->pad = malloc(TD_PAD_BYTES);
    td_scratch_init(&core->operations->scratch, options->settings.scratch_bytes);
    if (core->arena)
        core->link =
            td_arena_alloc_lines(core->arena, options->topology.nodes * sizeof *core->link);
    /* untouched zeroed pages cost nothing: most links never go down, and have no early messages */
    core->link_text = calloc(options->topology.nodes, TD_LINK_TEXT_MAX);
    core->early = calloc(options->topology.nodes, sizeof *core->early);
    core->goodbyes->of = calloc(options->topology.nodes, sizeof *core->goodbyes->of);
    core->waits = calloc(TD_WAITS_JOBS_MAX, sizeof *core->waits);
    core->notes = calloc(1, sizeof *core->notes);
    if (options->settings.trace_events)
        core->recorder = calloc(1, td_recorder_bytes(options->settings.trace_events));
    if (!core->arena || !core->pad || !core->link || !core->link_text || !core->early ||
        !core->goodbyes->of || !core->waits || !core->notes ||
        (options->settings.trace_events && !core->recorder) || !td_inflight_init(core)) {
        td_core_destroy(core);
        return TD_ERR_NO_MEMORY;
    }
    if (core->recorder)
        td_recorder_init(core->recorder, options->settings.trace_events);
    core->fabric =
        options->settings.tuning.fabric == TD_FABRIC_ROUTED ? &td_fabric_routed : &td_fabric_direct;
    if (!td_link_init(core) || !td_account_init(core)) {
        td_core_destroy(core);
        return TD_ERR_NO_MEMORY;
    }
    if (!core->fabric->init(core)) {
        td_core_destroy(core);
        return TD_ERR_NO_MEMORY;
    }
    td_succession_begin(core);
    *out = core;
    return TD_OK;
}

void td_core_destroy(struct td_core *core)
{
    if (!core)
        return;
    free(core->pad);
    free(core->link_text);
    free(core->early);
    free(core->goodbyes->of);
    free(core->waits);
    free(core->notes);
    free(core->recorder);
    td_inflight_fini(core);
    td_arena_destroy(core->arena);
    free(core);
}

bool td_core_take_note(struct td_core *core, struct td_note *note, uint64_t *lost)
{
    return td_notes_take(core->notes, note, lost);
}

void td_core_usage(const struct td_core *core, struct td_usage *counts)
{
    *counts = (struct td_usage){.operations = core->operations->count,
                                .computing = core->inflights,
                                .arena_used = td_arena_used(core->arena),
                                .scratch_used = core->operations->scratch.ranges.used};
    for (int i = 0; i < TD_CLIENT_BUCKETS; i++)
        for (const struct td_client *c = core->clients->bucket[i]; c; c = c->next) {
            counts->clients++;
            for (const struct td_region *r = c->regions; r; r = r->next)
                counts->regions++;
        }
    for (const struct td_job *j = core->registry->jobs; j; j = j->next)
        counts->jobs++;
    for (const struct td_communicator *c = core->communicators; c; c = c->next) {
        counts->groups++;
        for (const struct td_plan *p = c->plans; p; p = p->next)
            counts->plans++;
    }
    for (uint32_t n = 0; n < core->options.topology.nodes; n++)
        counts->packets_unacknowledged += core->link[n].lane->held;
}

void td_core_refuse_memory(struct td_core *core, struct td_refusals refusals)
{
    td_arena_refuse(core->arena, refusals);
    core->operations->scratch.ranges.refusals = refusals;
}

unsigned td_core_spans(const struct td_core *core, struct td_span *spans)
{
    unsigned count = 0;
    spans[count++] = (struct td_span){core, offsetof(struct td_core, options)};
    return core->fabric->spans(core, spans, count);
}

enum td_daemon_end td_core_daemon_end(const struct td_core *core, uint32_t node)
{
    return td_goodbye_was_said(core, node)     ? TD_DAEMON_STOPPED
           : td_goodbye_is_missing(core, node) ? TD_DAEMON_DIED
                                               : TD_DAEMON_UNKNOWN;
}

td_time td_core_daemon_silence(const struct td_core *core, uint32_t node)
{
    return td_goodbye_silence(core, node);
}

const struct td_router *td_core_router(const struct td_core *core)
{
    return core->fabric->router(core);
}

/* ---- stopping ---- */

/* stop_advance refuses new work, drains what runs, says goodbye after all other messages, and emits
 * STOPPED. */
static bool stop_advance(struct td_core *core, struct td_task *task)
{
    (void)task;
    if (core->stopped)
        return true;
    td_job_stop(core);
    bool drained = core->hurried || !td_operation_running(core);
    if (drained)
        td_communicator_stop(core);
    bool over = core->hurried || (core->operations->count == 0 && core->inflights == 0);
    if (drained && over && !core->work && td_goodbye_say(core)) {
        core->stopped = true;
        td_communicator_note_stop(core);
        td_core_act(core, TD_ACTION_STOPPED);
    }
    return true;
}

/* ---- packets ---- */

bool td_core_landing(struct td_core *core, uint32_t node, const struct td_packet *packet,
                     struct td_compute *landing)
{
    return td_engine_landing(core, node, packet, landing);
}

bool td_core_needs(const struct td_core *core, uint64_t handle)
{
    return td_engine_needs(core, handle);
}

bool td_core_unused(struct td_core *core, void (*give)(void *memory, size_t bytes))
{
    enum { LEAST = 1 << 16 };
    core->unused_from =
        td_arena_unused(core->arena, core->unused_from, TD_SCRATCH_STEP_BYTES, LEAST, give);
    if (core->unused_from == 0)
        return false;
    core->unused_at = core->now + TD_SCRATCH_STEP_NS;
    td_core_alarm(core, core->unused_at);
    return true;
}

bool td_core_has_user(const struct td_core *core, uint64_t uid)
{
    return td_account_find(core, uid);
}

/* ---- messages ---- */

static void handle_message(struct td_core *core, uint32_t from, const struct td_message *m)
{
    struct td_communicator *c = NULL;
    if (m->group == TD_GROUP_MADE && !td_communicator_find(core, m->instance, m->group))
        td_shrink_foretold(core, m->instance);
    switch (m->kind) {
    case TD_MESSAGE_HEARTBEAT:
        td_health_heard(core, from, m);
        return;
    case TD_MESSAGE_GOODBYE:
        td_goodbye_hear(core, from, &m->u.goodbye);
        return;
    case TD_MESSAGE_JOIN:
    case TD_MESSAGE_UNJOIN:
    case TD_MESSAGE_REFUSE:
    case TD_MESSAGE_MEMBERS:
    case TD_MESSAGE_RANK_LEFT:
    case TD_MESSAGE_REGISTRY_ASK:
    case TD_MESSAGE_REGISTRY_ANSWER:
    case TD_MESSAGE_GRANT:
    case TD_MESSAGE_GRANTED:
        td_job_message(core, from, m);
        return;
    case TD_MESSAGE_RANK_LOST:
        td_later_losses_hear(core, from, m);
        td_communicator_notice(core, from, m);
        return;
    case TD_MESSAGE_NODE_LOST:
        td_communicator_notice(core, from, m);
        return;
    case TD_MESSAGE_DELIVERED:
        core->fabric->delivered(core, from, &m->u.delivered);
        return;
    case TD_MESSAGE_CARRY:
        core->fabric->carried(core, from, m);
        return;
    case TD_MESSAGE_NEIGHBOUR_LOST:
    case TD_MESSAGE_NEIGHBOUR_BACK:
        core->fabric->neighbour_lost(core, from, m);
        return;
    case TD_MESSAGE_EPOCH_POLL:
    case TD_MESSAGE_EPOCH_VOTE:
    case TD_MESSAGE_EPOCH_PROPOSE:
    case TD_MESSAGE_EPOCH_ACCEPT:
    case TD_MESSAGE_EPOCH_KNOWN:
        td_epoch_message(core, from, m);
        return;
    case TD_MESSAGE_RESUME: /* the session has handled it */
        return;
    case TD_MESSAGE_END_CALLS:
        td_end_calls_message(core, from, m);
        return;
    case TD_MESSAGE_LOOK:
    case TD_MESSAGE_SEEN:
        td_look_message(core, from, m);
        return;
    case TD_MESSAGE_SHRINK_ASK:
    case TD_MESSAGE_SHRINK_VOTE:
    case TD_MESSAGE_SHRINK_ACCEPTED_BEFORE:
    case TD_MESSAGE_SHRINK_PROPOSE:
    case TD_MESSAGE_SHRINK_ACCEPT:
    case TD_MESSAGE_SHRINK_DECIDED:
    case TD_MESSAGE_SHRINK_NOBODY:
    case TD_MESSAGE_SHRINK_PARTITIONED:
        td_shrink_message(core, td_communicator_find(core, m->instance, m->group), from, m);
        return;
    case TD_MESSAGE_SYNC:
    case TD_MESSAGE_ARRIVE:
    case TD_MESSAGE_REPORT:
    case TD_MESSAGE_RELEASE:
    case TD_MESSAGE_VERDICT:
    case TD_MESSAGE_ANNOUNCE_AGAIN:
    case TD_MESSAGE_WAITING:
    case TD_MESSAGE_APPEAL:
    case TD_MESSAGE_RANK_GONE:
    case TD_MESSAGE_PARTING:
        break;
    }
    c = td_communicator_find(core, m->instance, m->group);
    if (c && m->kind == TD_MESSAGE_SYNC) {
        td_sync_message(core, c, from, m);
    } else if (c && m->kind == TD_MESSAGE_RANK_GONE) {
        if (!td_later_losses_answer(core, c, from, m))
            td_communicator_rank_gone(core, c, from, m);
    } else if (c && m->kind == TD_MESSAGE_PARTING) {
        td_parting_message(core, c, from, m);
    } else if (c && m->kind == TD_MESSAGE_APPEAL && m->u.appeal.is_running) {
        td_stall_appeal(core, c, m);
    } else if (c && m->kind == TD_MESSAGE_APPEAL) {
        td_communicator_appeal(core, c, m);
    } else if (c) {
        td_gate_message(core, c, from, m);
    } else {
        td_subgroup_unknown(core, from, m);
    }
}

/* ---- notices ---- */

static void node_lost(struct td_core *core, uint32_t node, const char *why)
{
    td_epoch_node_lost(core, node);
    td_succession_node_lost(core, node);
    td_job_node_lost(core, node);
    td_parting_node_lost(core, node, why);
}

static void node_back(struct td_core *core, uint32_t node)
{
    td_epoch_node_back(core, node);
    td_succession_node_back(core, node);
    td_job_node_back(core, node);
    td_communicator_node_back(core, node);
    td_shrink_node_back(core, node);
}

static bool daemon_is(struct td_core *core, uint32_t node, uint32_t daemon, bool changed,
                      const char *why)
{
    bool joins = td_job_daemon_is(core, node, daemon, changed);
    return td_communicator_daemon_is(core, node, daemon, changed, why) || joins;
}

static void route_lost(struct td_core *core, struct td_operation *o, uint32_t node, const char *why)
{
    td_parting_route_lost(core, o->communicator, node, why);
}

static void epoch(struct td_core *core)
{
    td_communicator_epoch(core);
    td_parting_epoch(core);
}

static void no_quorum(struct td_core *core)
{
    td_shrink_no_quorum(core);
    td_parting_no_quorum(core);
}

static bool client_gone(struct td_core *core, struct td_client *client)
{
    td_job_client_gone(core, client);
    return td_communicator_client_gone(core, client);
}

static void appeal(struct td_core *core, struct td_communicator *c, const struct td_message *m)
{
    td_gate_message(core, c, core->node, m);
}

const struct td_notices td_core_notices = {
    .message = handle_message,
    .node_lost = node_lost,
    .daemon_is = daemon_is,
    .daemon_ended = td_communicator_daemon_ended,
    .node_heard = td_waits_heard,
    .node_back = node_back,
    .registry_moved = td_job_registry_moved,
    .registry_knows = td_registry_knows,
    .epoch = epoch,
    .no_quorum = no_quorum,
    .all_answer = td_parting_all_answer,
    .confirmed = td_shrink_confirmed,
    .packet = td_engine_packet,
    .carried = td_engine_carried,
    .arriving = td_engine_arriving,
    .delivered = td_engine_delivered,
    .sent = td_recording_sent,
    .in_flight_begin = td_operation_packet_begin,
    .in_flight_end = td_operation_packet_end,
    .packet_view = td_operation_view,
    .packet_name = td_operation_name,
    .route_lost = route_lost,
    .packets_lost = td_stall_packets_lost,
    .client_gone = client_gone,
    .seat_lost = td_operation_seat_lost,
    .seat_died = td_shrink_seat_died,
    .rank_lost = td_shrink_rank_lost,
    .slot_lost = td_shrink_slot_lost,
    .slot_silent = td_shrink_slot_silent,
    .group_made = td_shrink_reserve,
    .group_needed = td_shrink_keeps,
    .group_freed = td_shrink_free,
    .group_broken = td_operation_group_broken,
    .appeal = appeal,
};

/* ---- requests ---- */

/* reload lets root and the user of the daemon have the configuration read again. */
static void reload(struct td_core *core, const struct td_client *c, const struct td_request *q)
{
    if (core->stopping) {
        td_reply_error(core, c->id, q->id, TD_ERR_SHUTDOWN, "the daemon is stopping");
    } else if (c->uid != 0 && c->uid != core->options.uid) {
        td_reply_error(
            core, c->id, q->id, TD_ERR_PERMISSION,
            td_core_format(core,
                           "user %llu may not reload torusd: only root and user %llu, as "
                           "which it runs, may",
                           (unsigned long long)c->uid, (unsigned long long)core->options.uid));
    } else {
        struct td_action *a = td_core_act(core, TD_ACTION_RELOAD);
        a->u.reload.client = c->id;
        a->u.reload.request = q->id;
    }
}

static void handle_request(struct td_core *core, uint32_t id, const struct td_request *q)
{
    struct td_client *c = td_client_request(core, id, q);
    if (!c)
        return;
    switch (q->kind) {
    case TD_REQUEST_JOIN:
        td_job_request(core, c, q);
        return;
    case TD_REQUEST_LEAVE:
        td_communicator_leave(core, c, q);
        return;
    case TD_REQUEST_OPERATION:
        td_arrival_request(core, c, q);
        return;
    case TD_REQUEST_UNPLAN:
        td_communicator_unplan(core, c, q);
        return;
    case TD_REQUEST_CANCEL:
        if (q->u.cancel.request && !td_job_cancel(core, c, q->u.cancel.request) &&
            !td_shrink_cancel(core, c, q->u.cancel.request)) /* 0: only the reply is wanted */
            td_arrival_cancel(core, c, q->u.cancel.request);
        td_reply_done(core, c->id, q->id);
        return;
    case TD_REQUEST_STATUS:
        td_look_request(core, c, q);
        return;
    case TD_REQUEST_GROUP:
        td_subgroup_make(core, c, q);
        return;
    case TD_REQUEST_SHRINK:
        td_shrink_request(core, c, q);
        return;
    case TD_REQUEST_PEER_REGION:
        td_communicator_peer_region(core, c, q);
        return;
    case TD_REQUEST_END_CALLS:
        td_end_calls_request(core, c, q);
        return;
    case TD_REQUEST_RELOAD:
        reload(core, c, q);
        return;
    case TD_REQUEST_HELLO:
    case TD_REQUEST_REGION:
    case TD_REQUEST_UNREGION: /* td_client_request has handled them */
        break;
    }
    td_client_expel(core, id, TD_ERR_PROTOCOL, "unknown kind of request");
}

/* ---- events ---- */

/* handle_tree_message forwards a tree message from node `hop`, or handles it if it is for this
 * node. */
static void handle_tree_message(struct td_core *core, uint32_t hop, struct td_message *m)
{
    uint32_t from = core->fabric->relay(core, hop, m);
    if (from == UINT32_MAX || !td_session_message(core, from, m))
        return;
    td_silence_deliver(core, &core->link[from], m);
    handle_message(core, from, m);
}

/* record_link records that a link has come up, and how long it was down, or that it has gone down.
 * Attempts to connect that fail are no news. */
static void record_link(struct td_core *core, enum td_trace_kind kind, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    bool up = td_link_is_up(link), back = kind == TD_TRACE_LINK_UP && link->daemon && !up;
    if (kind == TD_TRACE_LINK_UP || up)
        td_recorder_node(core->recorder, kind, node, core->now,
                         back ? link->lane->since : core->now, 0);
}

static void handle_event(struct td_core *core, const struct td_event *e)
{
    switch (e->kind) {
    case TD_EVENT_WAKE:
        core->fabric->turn(core);
        return;
    case TD_EVENT_PACKET:
        td_link_packet(core, e->u.packet.node, &e->u.packet.packet, e->u.packet.buffer);
        return;
    case TD_EVENT_ARRIVING:
        td_link_arriving(core, e->u.arriving.node, e->u.arriving.packet);
        return;
    case TD_EVENT_TREE_MESSAGE:
        core->two_paths = e->u.tree.two_paths;
        handle_tree_message(core, e->u.tree.node, e->u.tree.message);
        return;
    case TD_EVENT_LINK_UP:
        record_link(core, TD_TRACE_LINK_UP, e->u.link.node);
        td_session_up(core, e->u.link.node, e->u.link.incarnation);
        return;
    case TD_EVENT_LINK_DOWN:
        record_link(core, TD_TRACE_LINK_DOWN, e->u.link.node);
        td_goodbye_link_down(core, e->u.link.node, e->u.link.rejected);
        td_session_down(core, e->u.link.node, e->u.link.text, e->u.link.refused);
        return;
    case TD_EVENT_SENT:
        td_link_sent(core, e->u.sent.handle);
        return;
    case TD_EVENT_CLIENT_OPENED:
        td_client_open(core, e->u.opened.client, e->u.opened.uid, e->u.opened.pid);
        td_client_observes(core, e->u.opened.client, e->u.opened.observes);
        return;
    case TD_EVENT_CLIENT_REQUEST:
        handle_request(core, e->u.request.client, e->u.request.request);
        return;
    case TD_EVENT_CLIENT_INVALID:
        td_client_expel(core, e->u.invalid.client, e->u.invalid.error, e->u.invalid.text);
        return;
    case TD_EVENT_CLIENT_CLOSED:
        td_client_close(core, e->u.closed.client);
        return;
    case TD_EVENT_COMPUTED:
        td_engine_computed(core, e->u.computed.handle, e->u.computed.error);
        return;
    case TD_EVENT_REGION_FAILED:
        td_client_region_failed(core, e->u.region.handle);
        return;
    case TD_EVENT_STOP:
        core->hurried = core->stopping;
        core->stopping = true;
        return;
    }
}

/* fetch prefetches memory that an event will need, while the events before it are handled: the
 * acknowledged packets, and the link to a far node. */
static void fetch(const struct td_core *core, const struct td_event *e)
{
    if (e->kind == TD_EVENT_PACKET) {
        core->fabric->prefetch(core, e->u.packet.node, &e->u.packet.packet);
    } else if (e->kind == TD_EVENT_TREE_MESSAGE) {
        const struct td_message *m = e->u.tree.message;
        uint32_t from = m->relay.is_relayed ? m->relay.origin : e->u.tree.node;
        if (from >= core->options.topology.nodes ||
            m->relay.destination >= core->options.topology.nodes ||
            (m->relay.is_relayed && !core->fabric->routed))
            return; /* `relay` drops it */
        if (m->relay.is_relayed && m->relay.destination != core->node) {
            core->fabric->prefetch_route(core, m->relay.destination);
            return;
        }
        __builtin_prefetch(&core->link[from], 1);
        if (m->kind == TD_MESSAGE_DELIVERED)
            core->fabric->prefetch_ticket(core, m->u.delivered.ticket);
    }
}

/* run_timers runs the timers that are due, and sets the next alarm. */
static void run_timers(struct td_core *core)
{
    core->alarm = TD_TIME_NEVER;
    td_health_tick(core);
    td_outages_timers(core);
    td_session_timers(core);
    td_early_timers(core);
    core->fabric->timers(core);
    td_epoch_timers(core);
    td_job_timers(core);
    td_client_timers(core);
    td_scratch_timers(core);
    for (struct td_communicator *c = core->communicators; c; c = c->next) {
        td_shrink_timers(core, c);
        td_communicator_timers(core, c);
        td_later_losses_timers(core, c);
        td_parting_timers(core, c);
        for (int i = 0; c->recorded && i < TD_GROUP_OPERATIONS_MAX; i++) {
            if (!c->operation[i])
                continue;
            if (!td_core_room(core)) {
                td_core_alarm(core, core->now);
                return;
            }
            td_gate_timers(core, c->operation[i]);
        }
    }
}

static void pump(struct td_core *core)
{
    while (core->work && td_core_room(core)) {
        struct td_task *task = core->work;
        core->work = task->next;
        if (!core->work)
            core->work_last = &core->work;
        task->queued = false;
        if (!task->advance(core, task))
            td_core_queue(core, task); /* no room: it continues in the next step */
    }
    if (core->stopping && !core->stopped && td_core_room(core))
        stop_advance(core, &core->stop_task);
}

td_time td_core_late(const struct td_core *core, td_time now)
{
    td_time due = td_core_deadline(core), least = (td_time)core->settings.heartbeat_ns / 2;
    if (due < core->now)
        due = core->now; /* a link with a rate may be behind its time, but the daemon ran then */
    return core->started && now > due && now - due > least ? now - due : 0;
}

#define LIBRARY_PATIENCE_NS UINT64_C(5000000000) /* TL_PATIENCE_S of client/libtorus/patience.h */
#define GIVEN_UP_NS UINT64_C(1000000000) /* after a pause the sockets have been read by then */

/* note_given_up notes a pause in which clients may have given this daemon up: the library asks
 * after 5 s. The core's own count of a pause begins up to a heartbeat late. */
static void note_given_up(struct td_core *core, td_time now, td_time late)
{
    if (late + (td_time)core->settings.heartbeat_ns >= LIBRARY_PATIENCE_NS)
        core->given_up_ns = late;
    else if (now - late >= core->given_up_until) /* the sockets had been read before it */
        return;
    core->given_up_until = now + GIVEN_UP_NS;
}

/* note_pause puts off all judgements of others by the time in which this daemon did not run. What
 * they sent meanwhile waits in sockets, and timers may expire before the driver has read it. */
static void note_pause(struct td_core *core, td_time now)
{
    td_time late = td_core_late(core, now);
    if (late == 0)
        return;
    core->paused_ns = late;
    core->resumed_at = now;
    note_given_up(core, now, late);
    td_outages_pause(core, now, late);
    td_recorder_node(core->recorder, TD_TRACE_PAUSED, core->node, now, now - late, 0);
    td_session_resumed(core, late);
    td_client_resumed(core, late);
    bool away = td_epoch_resumed(core, late);
    for (struct td_communicator *c = core->communicators; c; c = c->next) {
        td_stall_resumed(c, late);
        c->was_away = c->was_away || away;
    }
}

uint32_t td_core_steps(struct td_core *core, td_time now, const struct td_event *const *event,
                       uint32_t count, struct td_actions *actions)
{
    uint32_t taken = 0;
    assert(now >= core->now);
    note_pause(core, now);
    core->now = now;
    core->actions = actions;
    actions->count = 0;
    td_core_renew(core);
    core->settling = td_arena_settle(core->arena);
    if (!core->started) {
        core->started = true;
        td_health_begin(core);
        td_epoch_timers(core);
    }
    for (uint32_t i = 0; i < count; i++)
        fetch(core, event[i]);
    do
        handle_event(core, event[taken++]);
    while (taken < count && td_core_room(core));
    if (core->now >= core->alarm)
        run_timers(core);
    pump(core);
    return taken;
}

void td_core_step(struct td_core *core, td_time now, const struct td_event *event,
                  struct td_actions *actions)
{
    td_core_steps(core, now, &event, 1, actions);
}

td_time td_core_deadline(const struct td_core *core)
{
    if (core->work || core->settling)
        return core->now;
    td_time turn = core->fabric->wake_at(core);
    return turn < core->alarm ? turn : core->alarm;
}
