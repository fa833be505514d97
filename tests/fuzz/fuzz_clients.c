/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile local clients. Requests of any kind, with any values, come from three processes of a
 * simulated torus that share jobs and regions with each other; processes die at any time, memory is
 * short. No daemon may crash or hang, every request has one reply, and when all processes have
 * left, nothing is left of them. */
#include <stdio.h>
#include <stdlib.h>

#include "decide.h"
#include "model/call.h"
#include "sim/checker.h"
#include "sim/clients.h"
#include "sim/clock.h"
#include "sim/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    CLIENTS = 5,
    REGIONS_MAX = 4,
    GROUPS_MAX = 8,
    REGION_BYTES = 16384,
    STEPS_MAX = 80,
    MEMBERS_MAX = 6,
    COUNTS_MAX = 8,
    REPLIES_SEEN = 8,
};
#define MILLISECOND ((td_time)1000000)
#define SECOND (1000 * MILLISECOND)

struct scene {
    struct decide input;
    struct td_sim *sim;
    struct process {
        uint32_t client, regions, groups;
        uint32_t group[GROUPS_MAX];
        uint64_t plan, sequence[GROUPS_MAX], request[REPLIES_SEEN], requests;
    } process[CLIENTS];
};

/* ---- requests ---- */

static uint32_t some_group(struct scene *s, const struct process *p)
{
    struct decide *d = &s->input;
    if (p->groups && decide_below(d, 8))
        return p->group[decide_below(d, p->groups)];
    return (uint32_t)decide_number(d);
}

static struct td_place some_place(struct scene *s, const struct process *p)
{
    struct decide *d = &s->input;
    struct td_place place = {.region = decide_below(d, 8) ? 1 + decide_below(d, REGIONS_MAX)
                                                          : (uint32_t)decide_number(d)};
    bool usual = p->regions && decide_below(d, 8);
    place.offset = usual ? 64 * decide_below(d, 128) : decide_number(d);
    place.bytes = usual ? 8192 : decide_number(d);
    return place;
}

static struct td_rank_counts some_counts(struct decide *d)
{
    static uint64_t count[2][COUNTS_MAX], place[2][COUNTS_MAX];
    static unsigned turn;
    unsigned t = turn++ % 2;
    uint32_t counts = decide_below(d, COUNTS_MAX + 1);
    for (uint32_t i = 0; i < counts; i++) {
        count[t][i] = decide_number(d);
        place[t][i] = decide_number(d);
    }
    return (struct td_rank_counts){count[t], place[t], counts, decide_below(d, 2) ? counts : 0};
}

static struct td_description some_description(struct decide *d)
{
    static const char *const layouts[] = {"block", "(block, *)", "(*, cyclic(2))",
                                          "*",     "x",          "(block, block) on 2x2"};
    struct td_description plan = {.from = layouts[decide_below(d, 6)],
                                  .to = layouts[decide_below(d, 6)]};
    plan.fft.type = (uint8_t)decide_below(d, TD_TYPE_MAX);
    plan.fft.sign = (int8_t)(decide_below(d, 3) - 1);
    plan.fft.dimensions = decide_below(d, TD_DIMENSIONS_MAX + 1);
    plan.redist.element = decide_number(d);
    plan.redist.dimensions = plan.fft.dimensions;
    for (uint32_t i = 0; i < plan.fft.dimensions; i++) {
        plan.fft.size[i] = plan.redist.size[i] =
            decide_below(d, 8) ? 1 + decide_below(d, 16) : decide_number(d);
        plan.redist.axes[i] = (uint8_t)decide_below(d, TD_DIMENSIONS_MAX);
    }
    return plan;
}

static void operation(struct scene *s, struct process *p, struct td_request *q)
{
    struct decide *d = &s->input;
    q->u.operation.group = some_group(s, p);
    for (uint32_t g = 0; g < p->groups; g++)
        if (p->group[g] == q->u.operation.group)
            q->u.operation.sequence = decide_below(d, 8) ? p->sequence[g]++ : decide_number(d);
    struct td_call *call = &q->u.operation.call;
    call->kind =
        (uint8_t)(decide_below(d, 8) ? 1 + decide_below(d, TD_KIND_MAX - 1) : decide_below(d, 256));
    call->type = (uint8_t)decide_below(d, TD_TYPE_MAX + 1);
    call->op = (uint8_t)decide_below(d, TD_OP_END + 1);
    call->mode = (uint8_t)decide_below(d, TD_REPRODUCIBLES + 1);
    call->root = (uint32_t)decide_number(d);
    call->count = decide_number(d);
    call->digest = decide_number(d) & 1;
    call->plan = decide_below(d, 2) ? p->plan : decide_number(d);
    q->u.operation.timeout_ns = decide_below(d, 4) ? (int64_t)SECOND : (int64_t)decide_number(d);
    q->u.operation.source = some_place(s, p);
    q->u.operation.destination = some_place(s, p);
    if (td_call_has_counts(call->kind) || !decide_below(d, 8)) {
        q->u.operation.from = some_counts(d);
        q->u.operation.to = some_counts(d);
    }
    if (!decide_below(d, 4))
        q->u.operation.description = some_description(d);
}

static void send(struct scene *s)
{
    static const char *const names[] = {"a", "b", "", "c"};
    struct decide *d = &s->input;
    struct process *p = &s->process[decide_below(d, CLIENTS)];
    uint64_t member[MEMBERS_MAX];
    struct td_request q = {.kind = (enum td_request_kind)(1 + decide_below(d, TD_REQUEST_SHRINK))};
    if (td_sim_closed(s->sim, p->client) || q.kind == TD_REQUEST_HELLO)
        q.kind = TD_REQUEST_OPERATION;
    switch (q.kind) {
    case TD_REQUEST_HELLO:
        return;
    case TD_REQUEST_REGION:
        if (p->regions < REGIONS_MAX) {
            p->regions = td_sim_region(s->sim, p->client, REGION_BYTES);
            memset(td_sim_memory(s->sim, p->client, p->regions), 1, REGION_BYTES);
        }
        return;
    case TD_REQUEST_UNREGION:
        q.u.unregion.region = 1 + decide_below(d, REGIONS_MAX + 1);
        break;
    case TD_REQUEST_JOIN:
        q.u.join.name = names[decide_below(d, 4)];
        q.u.join.size = decide_below(d, 8) ? 1 + decide_below(d, 3) : (uint32_t)decide_number(d);
        q.u.join.rank = decide_below(d, 2) ? -1 : (int64_t)decide_number(d);
        q.u.join.timeout_ns = decide_below(d, 4) ? (int64_t)SECOND : (int64_t)decide_number(d);
        break;
    case TD_REQUEST_LEAVE:
        q.u.leave.group = some_group(s, p);
        break;
    case TD_REQUEST_OPERATION:
        operation(s, p, &q);
        break;
    case TD_REQUEST_UNPLAN:
        q.u.unplan.group = some_group(s, p);
        q.u.unplan.plan = decide_below(d, 2) ? p->plan : decide_number(d);
        break;
    case TD_REQUEST_CANCEL:
        q.u.cancel.request =
            decide_below(d, 4) ? p->request[decide_below(d, REPLIES_SEEN)] : decide_number(d);
        break;
    case TD_REQUEST_STATUS:
        q.u.status.section = (uint32_t)decide_number(d);
        q.u.status.cursor = decide_number(d);
        break;
    case TD_REQUEST_GROUP:
        q.u.make.group = some_group(s, p);
        q.u.make.number = decide_below(d, 3);
        q.u.make.member = member;
        q.u.make.members = decide_below(d, MEMBERS_MAX + 1);
        for (uint32_t i = 0; i < q.u.make.members; i++)
            member[i] = decide_below(d, 4) ? i : decide_number(d);
        break;
    case TD_REQUEST_SHRINK:
        q.u.shrink.group = some_group(s, p);
        q.u.shrink.timeout_ns = (int64_t)SECOND;
        break;
    }
    p->request[p->requests++ % REPLIES_SEEN] = td_sim_request(s->sim, p->client, &q);
}

static void collect(struct scene *s)
{
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct process *p = &s->process[i];
        for (uint32_t k = 0; k < REPLIES_SEEN; k++) {
            const struct td_reply *r =
                p->request[k] ? td_sim_reply(s->sim, p->client, p->request[k]) : NULL;
            if (!r)
                continue;
            if (r->kind == TD_REPLY_JOINED && p->groups < GROUPS_MAX)
                p->group[p->groups++] = r->u.joined.group;
            else if (r->kind == TD_REPLY_PLANNED)
                p->plan = r->u.planned.plan;
            p->request[k] = 0;
        }
    }
}

/* ---- the scene ---- */

static void open_process(struct scene *s, uint32_t i)
{
    s->process[i] = (struct process){.client = td_sim_open(s->sim, i % td_sim_nodes(s->sim))};
}

static void set_up(struct scene *s)
{
    static const char *const shapes[] = {"1", "2", "2x2"};
    static const uint64_t arenas[] = {300 << 10, 1 << 20, 4 << 20};
    struct decide *d = &s->input;
    struct td_sim_options o;
    td_sim_options_default(&o, shapes[decide_below(d, 3)], decide_below(d, 256));
    uint32_t fabric = decide_below(d, 4);
    o.settings.tuning.fabric = fabric & 1 ? TD_FABRIC_ROUTED : TD_FABRIC_DIRECT;
    o.settings.tuning.flood = fabric & 2;
    o.settings.arena_bytes = arenas[decide_below(d, 3)];
    o.settings.scratch_bytes = 1 << 20;
    o.settings.packet_bytes = 1024;
    o.settings.operations_max = 16;
    o.settings.clients_max = 8;
    o.settings.region_bytes_max = 8 * REGION_BYTES;
    o.settings.arrival_timeout_ns = (int64_t)SECOND;
    o.settings.progress_timeout_ns = 2 * (int64_t)SECOND;
    o.settings.heartbeat_ns = (int64_t)SECOND / 2;
    o.trace = getenv("TORUS_TEST_TRACE") ? stderr : NULL;
    s->sim = td_sim_create(&o);
    if (!s->sim)
        abort();
    td_sim_run(s->sim, MILLISECOND);
    for (uint32_t i = 0; i < CLIENTS; i++)
        open_process(s, i);
}

static void tear_down(struct scene *s)
{
    uint32_t last = td_sim_open(s->sim, 0);
    for (uint32_t c = 1; c <= last; c++)
        td_sim_close(s->sim, c);
    const char *left = "";
    for (int i = 0; left && i < 12; i++) {
        td_sim_run(s->sim, 5 * SECOND);
        left = td_sim_leftovers(s->sim);
    }
    if (left) {
        fprintf(stderr, "in the end %s\n", left);
        abort();
    }
    td_sim_destroy(s->sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const td_time durations[] = {1000, 100000, MILLISECOND, SECOND};
    struct scene s = {.input = {data, size}};
    set_up(&s);
    for (int i = 0; i < STEPS_MAX && s.input.left > 0; i++) {
        uint32_t what = decide_below(&s.input, 16);
        if (what == 0) {
            uint32_t which = decide_below(&s.input, CLIENTS);
            td_sim_close(s.sim, s.process[which].client);
            open_process(&s, which);
        } else if (what < 4) {
            td_sim_run(s.sim, durations[decide_below(&s.input, 4)]);
            collect(&s);
        } else {
            send(&s);
        }
    }
    tear_down(&s);
    return 0;
}
