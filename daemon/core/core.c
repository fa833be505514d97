/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "communicator.h"
#include "engine.h"
#include "flight.h"
#include "job.h"
#include "link.h"
#include "operation.h"
#include "registry.h"
#include "state.h"

/* A handler or one turn of a task emits at most so much; the pump stops before. */
enum { ACTIONS_SPARE = 64, PAD_SPARE = 1 << 18 };

/* ---- settings ---- */

void td_settings_default(struct td_settings *s)
{
    *s = (struct td_settings){
        .arena_bytes = (uint64_t)64 << 20,
        .scratch_bytes = (uint64_t)4 << 30,
        .region_bytes_max = (uint64_t)64 << 30,
        .clients_max = 1024,
        .operations_max = 1024,
        .packet_bytes = TD_PACKET_BYTES_MAX,
        .link_credits = 16,
        .join_timeout_ns = 300 * (int64_t)1000000000,
        .arrival_timeout_ns = -1,
        .progress_timeout_ns = 30 * (int64_t)1000000000,
        .heartbeat_ns = 1000000000,
    };
}

const char *td_settings_check(const struct td_settings *s, const char **key)
{
    *key = "memory";
    if (s->arena_bytes < 1 << 20 || s->arena_bytes > (uint64_t)1 << 40)
        return "memory must be 1 MiB to 1 TiB";
    *key = "scratch";
    if (s->scratch_bytes < 1 << 16 || s->scratch_bytes > (uint64_t)1 << 46)
        return "scratch must be 64 KiB to 64 TiB";
    *key = "region";
    if (s->region_bytes_max < 1 << 12)
        return "region must be at least 4 KiB";
    *key = "clients";
    if (s->clients_max < 1 || s->clients_max > 65536)
        return "clients must be 1 to 65536";
    *key = "operations";
    if (s->operations_max < 1 || s->operations_max > TD_OPERATIONS_MAX)
        return "operations must be 1 to 4096";
    *key = "packet";
    if (s->packet_bytes < 1024 || s->packet_bytes > TD_PACKET_BYTES_MAX)
        return "packet must be 1 KiB to 256 KiB";
    *key = "credits";
    if (s->link_credits < 2 || s->link_credits > TD_LINK_CREDITS_MAX)
        return "credits must be 2 to 64";
    *key = "join_timeout";
    if (s->join_timeout_ns < 1)
        return "join_timeout must be positive";
    *key = "progress_timeout";
    if (s->progress_timeout_ns < 1000000)
        return "progress_timeout must be at least 1 ms";
    *key = "heartbeat";
    if (s->heartbeat_ns < 1000000 || s->heartbeat_ns > s->progress_timeout_ns / 2)
        return "heartbeat must be at least 1 ms and at most half of progress_timeout";
    return NULL;
}

static uint64_t hash(uint64_t h, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        h = (h ^ (value >> (8 * i) & 0xff)) * 0x100000001b3u;
    return h;
}

uint64_t td_settings_digest(const struct td_settings *s, const struct td_topology *t)
{
    uint64_t h = hash(0xcbf29ce484222325u, t->dimensions);
    for (uint32_t d = 0; d < t->dimensions; d++)
        h = hash(hash(h, t->size[d]), t->wrap[d]);
    h = hash(h, s->packet_bytes);
    h = hash(h, s->link_credits);
    h = hash(h, (uint64_t)s->progress_timeout_ns);
    return hash(h, (uint64_t)s->heartbeat_ns);
}

/* ---- emitting ---- */

bool td_core_room(const struct td_core *core)
{
    return core->actions->count + ACTIONS_SPARE <= TD_ACTIONS_MAX &&
           core->pad->used + PAD_SPARE <= sizeof core->pad->bytes;
}

struct td_action *td_core_act(struct td_core *core, enum td_action_kind kind)
{
    assert(core->actions->count < TD_ACTIONS_MAX);
    struct td_action *a = &core->actions->action[core->actions->count++];
    memset(&a->u, 0, sizeof a->u);
    a->kind = kind;
    return a;
}

void *td_core_pad(struct td_core *core, size_t bytes)
{
    size_t at = core->pad->used;
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > sizeof core->pad->bytes - at)
        return NULL;
    core->pad->used += bytes;
    return core->pad->bytes + at;
}

const char *td_core_format(struct td_core *core, const char *format, ...)
{
    char *text = td_core_pad(core, TD_TEXT_MAX);
    if (!text)
        return "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, TD_TEXT_MAX, format, arguments);
    va_end(arguments);
    return text;
}

void td_core_queue(struct td_core *core, struct td_task *task)
{
    if (task->queued)
        return;
    task->queued = true;
    task->next = NULL;
    *core->work_last = task;
    core->work_last = &task->next;
}

void td_core_unqueue(struct td_core *core, struct td_task *task)
{
    if (!task->queued)
        return;
    struct td_task **link = &core->work;
    while (*link != task)
        link = &(*link)->next;
    *link = task->next;
    if (!*link)
        core->work_last = link;
    task->queued = false;
}

void td_core_alarm(struct td_core *core, td_time at)
{
    if (at < core->alarm)
        core->alarm = at;
}

uint64_t td_core_random(struct td_core *core)
{
    /* splitmix64 */
    uint64_t x = core->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

td_time td_core_after(const struct td_core *core, int64_t ns)
{
    if (ns < 0 || (uint64_t)ns >= TD_TIME_NEVER - core->now)
        return TD_TIME_NEVER;
    return core->now + (uint64_t)ns;
}

const char *td_core_node_name(struct td_core *core, uint32_t node)
{
    const struct td_topology *t = &core->options.topology;
    uint32_t c[TD_DIMENSIONS_MAX];
    char place[80];
    int length = 0;
    td_topology_coordinates(t, node, c);
    for (uint32_t d = 0; d < t->dimensions; d++)
        length +=
            snprintf(place + length, sizeof place - (size_t)length, "%s%u", d ? "," : "", c[d]);
    return td_core_format(core, "node %u (%s)", node, place);
}

static void take_message(struct td_core *core, uint32_t from, const struct td_message *m);

void td_core_send(struct td_core *core, uint32_t node, const struct td_message *m)
{
    if (node == core->node) {
        take_message(core, node, m);
        return;
    }
    struct td_action *a = td_core_act(core, TD_ACTION_SEND_TREE);
    a->u.tree.node = node;
    a->u.tree.message = *m;
    core->link[node].spoke_at = core->now;
}

struct td_reply *td_reply_new(struct td_core *core, uint32_t client, uint64_t id,
                              enum td_reply_kind kind)
{
    struct td_reply *r = td_core_pad(core, sizeof *r);
    assert(r);
    *r = (struct td_reply){.kind = kind, .id = id, .text = ""};
    struct td_action *a = td_core_act(core, TD_ACTION_REPLY);
    a->u.reply.client = client;
    a->u.reply.reply = r;
    return r;
}

void td_reply_error(struct td_core *core, uint32_t client, uint64_t id, td_err error,
                    const char *text)
{
    struct td_reply *r = td_reply_new(core, client, id, TD_REPLY_ERROR);
    char *copy = td_core_pad(core, TD_TEXT_MAX);
    r->error = error;
    if (copy) {
        snprintf(copy, TD_TEXT_MAX, "%s", text ? text : "");
        r->text = copy;
    }
}

void td_reply_done(struct td_core *core, uint32_t client, uint64_t id)
{
    if (id)
        td_reply_new(core, client, id, TD_REPLY_DONE);
}

uint32_t td_bits_print(const uint8_t *bits, uint32_t size, bool value, char *text, size_t bytes)
{
    uint32_t count = 0;
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < size; i++) {
        if (td_bit(bits, i) != value)
            continue;
        uint32_t last = i;
        while (last + 1 < size && td_bit(bits, last + 1) == value)
            last++;
        count += last - i + 1;
        const char *comma = length ? ", " : "";
        if (length + 40 > bytes) {
            if (text[length - 1] != '.')
                length += (size_t)snprintf(text + length, bytes - length, ", ...");
        } else if (last > i) {
            length += (size_t)snprintf(text + length, bytes - length, "%s%u-%u", comma, i, last);
        } else {
            length += (size_t)snprintf(text + length, bytes - length, "%s%u", comma, i);
        }
        i = last;
    }
    return count;
}

/* ---- life ---- */

static bool stop_advance(struct td_core *core, struct td_task *task);

td_err td_core_create(struct td_core **out, const struct td_core_options *options)
{
    *out = NULL;
    struct td_core *core = calloc(1, sizeof *core);
    if (!core)
        return TD_ERR_NO_MEMORY;
    core->options = *options;
    core->settings = options->settings;
    core->node = options->node;
    core->random = options->seed;
    core->alarm = TD_TIME_NEVER;
    core->work_last = &core->work;
    core->next_token = 1;
    core->next_communicator = 1;
    core->stop_task.advance = stop_advance;
    core->arena = td_arena_create(options->settings.arena_bytes);
    core->pad = malloc(sizeof *core->pad);
    td_ranges_init(&core->scratch, options->settings.scratch_bytes);
    if (core->arena)
        core->link = td_arena_alloc(core->arena, options->topology.nodes * sizeof *core->link);
    if (!core->arena || !core->pad || !core->link || !td_flight_init(core)) {
        td_core_destroy(core);
        return TD_ERR_NO_MEMORY;
    }
    core->pad->used = 0;
    td_link_init(core);
    *out = core;
    return TD_OK;
}

void td_core_destroy(struct td_core *core)
{
    if (!core)
        return;
    free(core->pad);
    td_arena_destroy(core->arena);
    free(core);
}

void td_core_counts(const struct td_core *core, struct td_counts *counts)
{
    *counts = (struct td_counts){.operations = core->operations,
                                 .computing = core->flights,
                                 .arena_used = td_arena_used(core->arena),
                                 .scratch_used = core->scratch.used};
    for (int i = 0; i < TD_CLIENT_BUCKETS; i++)
        for (const struct td_client *c = core->client[i]; c; c = c->next) {
            counts->clients++;
            for (const struct td_region *r = c->regions; r; r = r->next)
                counts->regions++;
        }
    for (const struct td_job *j = core->jobs; j; j = j->next)
        counts->jobs++;
    for (const struct td_communicator *c = core->communicators; c; c = c->next) {
        counts->groups++;
        for (const struct td_plan *p = c->plans; p; p = p->next)
            counts->plans++;
    }
    for (uint32_t n = 0; n < core->options.topology.nodes; n++)
        for (const struct td_flight *f = core->link[n].packets; f; f = f->next)
            counts->packets_unacknowledged++;
}

/* ---- stopping ---- */

/* stop_advance refuses, drains, and at last says so. */
static bool stop_advance(struct td_core *core, struct td_task *task)
{
    (void)task;
    if (core->stopped)
        return true;
    td_job_stop(core);
    bool drained = td_communicator_stop(core);
    if (drained && core->operations == 0 && core->flights == 0) {
        core->stopped = true;
        td_core_act(core, TD_ACTION_STOPPED);
    }
    return true;
}

/* ---- events ---- */

static void take_message(struct td_core *core, uint32_t from, const struct td_message *m)
{
    struct td_communicator *c = NULL;
    core->link[from].heard_at = core->now;
    switch (m->kind) {
    case TD_MESSAGE_HEARTBEAT:
        td_health_heard(core, from, m);
        return;
    case TD_MESSAGE_JOIN:
    case TD_MESSAGE_UNJOIN:
    case TD_MESSAGE_REFUSE:
    case TD_MESSAGE_MEMBERS:
        td_job_message(core, from, m);
        return;
    case TD_MESSAGE_RANK_LOST:
    case TD_MESSAGE_NODE_LOST:
        td_communicator_notice(core, from, m);
        return;
    case TD_MESSAGE_ARRIVE:
    case TD_MESSAGE_RELEASE:
    case TD_MESSAGE_WAITING:
    case TD_MESSAGE_APPEAL:
        break;
    }
    c = td_communicator_find(core, m->instance, m->group);
    if (c && m->kind == TD_MESSAGE_APPEAL) {
        td_communicator_appeal(core, c, m);
    } else if (c) {
        td_operation_message(core, c, from, m);
    } else if (m->kind == TD_MESSAGE_ARRIVE) {
        struct td_message lost = {.kind = TD_MESSAGE_RANK_LOST,
                                  .instance = m->instance,
                                  .group = m->group,
                                  .error = TD_ERR_RANK_FAILED,
                                  .text = td_core_format(core, "all ranks on %s are gone",
                                                         td_core_node_name(core, core->node))};
        td_core_send(core, from, &lost);
    }
}

static void take_event(struct td_core *core, const struct td_event *e)
{
    switch (e->kind) {
    case TD_EVENT_WAKE:
        return;
    case TD_EVENT_PACKET:
        td_link_packet(core, e->u.packet.node, &e->u.packet.packet, e->u.packet.buffer);
        return;
    case TD_EVENT_TREE_MESSAGE:
        take_message(core, e->u.tree.node, e->u.tree.message);
        return;
    case TD_EVENT_LINK_UP:
        td_link_up(core, e->u.link.node, e->u.link.incarnation);
        return;
    case TD_EVENT_LINK_DOWN:
        td_link_down(core, e->u.link.node, e->u.link.text);
        return;
    case TD_EVENT_SENT:
        td_link_sent(core, e->u.sent.handle);
        return;
    case TD_EVENT_CLIENT_OPENED:
        td_client_open(core, e->u.opened.client, e->u.opened.uid, e->u.opened.pid);
        return;
    case TD_EVENT_CLIENT_REQUEST:
        td_client_request(core, e->u.request.client, e->u.request.request);
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
        core->stopping = true;
        return;
    }
}

/* look_at_timers runs what is due and finds out when to look again. */
static void look_at_timers(struct td_core *core)
{
    if (core->now < core->alarm)
        return;
    core->alarm = TD_TIME_NEVER;
    td_health_tick(core);
    td_job_timers(core);
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        for (int i = 0; i < TD_GROUP_OPERATIONS_MAX; i++) {
            if (!c->operation[i])
                continue;
            if (!td_core_room(core)) {
                td_core_alarm(core, core->now);
                return;
            }
            td_operation_timers(core, c->operation[i]);
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
            td_core_queue(core, task); /* for lack of room: at the next step */
    }
    if (core->stopping && !core->stopped && td_core_room(core))
        stop_advance(core, &core->stop_task);
}

void td_core_step(struct td_core *core, td_time now, const struct td_event *event,
                  struct td_actions *actions)
{
    assert(now >= core->now);
    core->now = now;
    core->actions = actions;
    actions->count = 0;
    core->pad->used = 0;
    if (core->heartbeat_at == 0) {
        core->heartbeat_at = now + (uint64_t)core->settings.heartbeat_ns;
        td_core_alarm(core, core->heartbeat_at);
    }
    take_event(core, event);
    look_at_timers(core);
    pump(core);
}

td_time td_core_deadline(const struct td_core *core)
{
    return core->work ? core->now : core->alarm;
}
