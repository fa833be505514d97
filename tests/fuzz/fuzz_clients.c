/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile local clients. Requests of any kind, with any values, come from processes of a simulated
 * torus that share jobs and regions with each other. Processes and daemons die at any time, memory
 * is short or refused, and the bytes of regions are lost. No daemon may crash or hang, every
 * request has one reply, and when all processes have left, nothing is left of them. The first byte
 * says which of this an input contains (enum feature). */
#include <stdio.h>
#include <stdlib.h>

#include "decide.h"
#include "model/call.h"
#include "scene.h"
#include "sim/clients.h"
#include "sim/clock.h"
#include "sim/faults.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    SCENE_UID = 1000, /* of all simulated processes */
    CLIENTS = 5,
    REGIONS_MAX = 4,
    GROUPS_MAX = 8,
    REGION_BYTES = 16384,
    STEPS_MAX = 80,
    MEMBERS_MAX = 6,
    COUNTS_MAX = 8,
    REPLIES_SEEN = 8,
    FLOCK = 300, /* regions: more than one step of the core can release */
    FLOCK_BYTES = 64,
    FORM_LOOPS_MAX = 6,
};

enum feature {
    REFUSALS = 1, /* allocations are refused */
    LOSSES = 2,   /* regions are lost, and daemons are killed and restarted */
    FORMS = 4,    /* elements with gaps */
    TOGETHER = 8, /* all processes make calls that fit */
    LITTLE = 16,  /* little room for operations */
    FLOCKS = 32,  /* many regions of one process */
};

struct scene {
    struct decide input;
    struct td_sim *sim;
    uint32_t features;
    struct process {
        uint32_t client, node, regions, shared, groups; /* shared: regions, with those of flocks */
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

/* some_form returns NULL, or a form: one run after another, or any numbers. */
static const struct td_form *some_form(struct scene *s)
{
    _Alignas(16) static uint8_t
        forms[2][sizeof(struct td_form) + FORM_LOOPS_MAX * sizeof(struct td_form_loop)];
    static unsigned turn;
    struct decide *d = &s->input;
    if (!(s->features & FORMS) || decide_below(d, 2))
        return NULL;
    struct td_form *f = (void *)forms[turn++ % 2];
    bool usual = decide_below(d, 4);
    uint64_t at = 0;
    f->bytes = 0;
    f->loops = 1 + decide_below(d, usual ? 3 : FORM_LOOPS_MAX);
    for (uint32_t i = 0; i < f->loops; i++) {
        uint64_t count = 1 + decide_below(d, 4), run = (uint64_t)4 << decide_below(d, 4);
        uint64_t gap = decide_below(d, 2) ? 4 * (uint64_t)decide_below(d, 8) : 16 * run;
        f->loop[i] = (struct td_form_loop){
            .at = (int64_t)at, .stride = (int64_t)(run + gap), .count = count, .bytes = run};
        at += count * (run + gap);
        f->bytes += count * run;
    }
    f->extent = at;
    if (usual)
        return f;
    struct td_form_loop *odd = &f->loop[decide_below(d, f->loops)];
    odd->inner = (uint32_t)decide_number(d);
    odd->at = (int64_t)decide_number(d);
    odd->stride = (int64_t)decide_number(d);
    odd->count = decide_number(d);
    odd->bytes = decide_number(d);
    f->extent = decide_number(d);
    return f;
}

static struct td_place some_place(struct scene *s, const struct process *p)
{
    struct decide *d = &s->input;
    struct td_place place = {.region = decide_below(d, 8) ? 1 + decide_below(d, REGIONS_MAX)
                                                          : (uint32_t)decide_number(d)};
    bool usual = p->regions && decide_below(d, 8);
    place.offset = usual ? 64 * decide_below(d, 128) : decide_number(d);
    place.bytes = usual ? 8192 : decide_number(d);
    place.form = some_form(s);
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
    q->u.operation.timeout_ns =
        decide_below(d, 4) ? (int64_t)SCENE_SECOND : (int64_t)decide_number(d);
    q->u.operation.source = some_place(s, p);
    q->u.operation.destination = some_place(s, p);
    if (td_call_has_counts(call->kind) || !decide_below(d, 8)) {
        q->u.operation.from = some_counts(d);
        q->u.operation.to = some_counts(d);
    }
    if (!decide_below(d, 4))
        q->u.operation.description = some_description(d);
}

static void share(struct scene *s, struct process *p)
{
    p->regions = p->shared = td_sim_region(s->sim, p->client, REGION_BYTES);
    memset(td_sim_memory(s->sim, p->client, p->regions), 1, REGION_BYTES);
}

/* ask sends a request and remembers it. */
static void ask(struct scene *s, struct process *p, const struct td_request *q)
{
    p->request[p->requests++ % REPLIES_SEEN] = td_sim_request(s->sim, p->client, q);
}

/* end_calls makes a request to end calls, by the digits of a number. */
static void end_calls(struct td_request *q, uint64_t number, const char *const names[4])
{
    q->kind = TD_REQUEST_END_CALLS;
    q->u.end_calls.node = number % 4;
    q->u.end_calls.end = (struct td_message_end_calls){.job = names[number >> 2 & 3],
                                                       .owner = number >> 4 & 1 ? 0 : SCENE_UID,
                                                       .all = number >> 5 & 1,
                                                       .number = number >> 6 & 3,
                                                       .why = ""};
}

static void send(struct scene *s)
{
    static const char *const names[] = {"a", "b", "", "c"};
    struct decide *d = &s->input;
    struct process *p = &s->process[decide_below(d, CLIENTS)];
    uint64_t member[MEMBERS_MAX];
    struct td_request q = {.kind =
                               (enum td_request_kind)(1 + decide_below(d, TD_REQUEST_PEER_REGION))};
    if (td_sim_closed(s->sim, p->client) || q.kind == TD_REQUEST_HELLO)
        q.kind = TD_REQUEST_OPERATION;
    switch (q.kind) {
    case TD_REQUEST_HELLO:
        return;
    case TD_REQUEST_REGION:
        if (p->regions < REGIONS_MAX && p->shared == p->regions)
            share(s, p);
        return;
    case TD_REQUEST_UNREGION:
        q.u.unregion.region = 1 + decide_below(d, REGIONS_MAX + 1);
        break;
    case TD_REQUEST_JOIN:
        q.u.join.name = names[decide_below(d, 4)];
        q.u.join.size = decide_below(d, 8) ? 1 + decide_below(d, 3) : (uint32_t)decide_number(d);
        q.u.join.rank = decide_below(d, 2) ? -1 : (int64_t)decide_number(d);
        q.u.join.timeout_ns =
            decide_below(d, 4) ? (int64_t)SCENE_SECOND : (int64_t)decide_number(d);
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
        if (q.u.status.section > TD_STATUS_HOST && q.u.status.section % 8 == 7)
            end_calls(&q, q.u.status.cursor, names);
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
        q.u.shrink.timeout_ns = (int64_t)SCENE_SECOND;
        break;
    case TD_REQUEST_PEER_REGION:
        q.u.peer_region.group = some_group(s, p);
        q.u.peer_region.rank = decide_below(d, 4) ? decide_below(d, 4) : (uint32_t)decide_number(d);
        q.u.peer_region.region = 1 + decide_below(d, REGIONS_MAX + 1);
        break;
    case TD_REQUEST_END_CALLS: /* some STATUS become one */
    case TD_REQUEST_RELOAD:
        break;
    }
    ask(s, p, &q);
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

/* ---- calls that fit ---- */

/* muster makes all processes join one job, each with memory. */
static void muster(struct scene *s)
{
    struct td_request q = {.kind = TD_REQUEST_JOIN};
    q.u.join.name = "all";
    q.u.join.size = CLIENTS;
    q.u.join.timeout_ns = (int64_t)SCENE_SECOND;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct process *p = &s->process[i];
        if (td_sim_closed(s->sim, p->client))
            continue;
        if (p->shared == 0)
            share(s, p);
        q.u.join.rank = i;
        ask(s, p, &q);
    }
}

/* call_together makes all processes call one operation of their first or second group. Sometimes
 * one of them is missing. */
static void call_together(struct scene *s)
{
    static const uint8_t kinds[] = {TD_KIND_BARRIER,   TD_KIND_ALLREDUCE, TD_KIND_ALLTOALL,
                                    TD_KIND_BROADCAST, TD_KIND_ALLGATHER, TD_KIND_SCAN};
    struct decide *d = &s->input;
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    struct td_call *call = &q.u.operation.call;
    call->kind = kinds[decide_below(d, sizeof kinds)];
    if (call->kind != TD_KIND_BARRIER) {
        call->type = TD_TYPE_INT32;
        call->op = td_call_reduces(call->kind) ? TD_OP_SUM : 0;
        call->count = 1 + decide_below(d, 256);
    }
    q.u.operation.timeout_ns = (int64_t)SCENE_SECOND;
    uint32_t which = decide_below(d, 2), missing = decide_below(d, 4 * CLIENTS);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct process *p = &s->process[i];
        uint32_t g = p->groups ? which % p->groups : 0;
        if (p->groups == 0 || p->regions == 0 || i == missing || td_sim_closed(s->sim, p->client))
            continue;
        q.u.operation.group = p->group[g];
        q.u.operation.sequence = p->sequence[g]++;
        q.u.operation.source = (struct td_place){1, 0, REGION_BYTES / 2, some_form(s)};
        q.u.operation.destination =
            (struct td_place){1, REGION_BYTES / 2, REGION_BYTES / 2, some_form(s)};
        ask(s, p, &q);
    }
}

/* cancel_latest cancels the latest request of a process, which may be under way. */
static void cancel_latest(struct scene *s)
{
    struct process *p = &s->process[decide_below(&s->input, CLIENTS)];
    struct td_request q = {.kind = TD_REQUEST_CANCEL};
    if (p->requests == 0 || td_sim_closed(s->sim, p->client))
        return;
    q.u.cancel.request = p->request[(p->requests - 1) % REPLIES_SEEN];
    ask(s, p, &q);
}

/* withdraw takes back the region that the calls of call_together use. */
static void withdraw(struct scene *s)
{
    struct process *p = &s->process[decide_below(&s->input, CLIENTS)];
    struct td_request q = {.kind = TD_REQUEST_UNREGION};
    q.u.unregion.region = 1;
    if (!td_sim_closed(s->sim, p->client))
        ask(s, p, &q);
}

/* ---- the scene ---- */

static void open_process(struct scene *s, uint32_t i)
{
    uint32_t node = i % td_sim_nodes(s->sim);
    s->process[i] = (struct process){.client = td_sim_open(s->sim, node), .node = node};
}

static void set_up(struct scene *s)
{
    static const char *const shapes[] = {"1", "2", "2x2"};
    struct decide *d = &s->input;
    struct td_sim_options o;
    s->features = decide_below(d, 256);
    scene_options(&o, d, shapes, 3, 300 << 10);
    o.settings.operations_max = s->features & LITTLE ? 2 : 16;
    o.settings.clients_max = 8;
    o.settings.region_bytes_max = 8 * REGION_BYTES;
    s->sim = scene_create(&o);
    td_sim_run(s->sim, SCENE_MILLISECOND);
    for (uint32_t i = 0; i < CLIENTS; i++)
        open_process(s, i);
    if (s->features & TOGETHER) {
        muster(s);
        scene_run(s->sim, SCENE_MILLISECOND);
        collect(s);
    }
}

static void tear_down(struct scene *s)
{
    uint32_t last = td_sim_open(s->sim, 0);
    for (uint32_t c = 1; c <= last; c++)
        td_sim_close(s->sim, c);
    const char *left = scene_leftovers(s->sim);
    if (left) {
        fprintf(stderr, "in the end %s\n", left);
        abort();
    }
    td_sim_destroy(s->sim);
}

static void lose_region(struct scene *s)
{
    const struct process *p = &s->process[decide_below(&s->input, CLIENTS)];
    if (p->shared)
        td_sim_lose_region(s->sim, p->client, 1 + decide_below(&s->input, p->shared));
}

/* restart_daemon kills a daemon and its processes. Another one takes its place, and a process. */
static void restart_daemon(struct scene *s)
{
    uint32_t node = decide_below(&s->input, td_sim_nodes(s->sim));
    scene_refuse_none();
    td_sim_kill_node(s->sim, node);
    scene_run(s->sim, SCENE_MILLISECOND << decide_below(&s->input, 12));
    td_sim_start_node(s->sim, node);
    for (uint32_t i = 0; i < CLIENTS; i++)
        if (s->process[i].node == node) {
            td_sim_close(s->sim, s->process[i].client);
            open_process(s, i);
        }
}

static void share_flock(struct scene *s)
{
    struct process *p = &s->process[decide_below(&s->input, CLIENTS)];
    for (int i = 0; p->shared < FLOCK && i < FLOCK && !td_sim_closed(s->sim, p->client); i++)
        p->shared = td_sim_region(s->sim, p->client, FLOCK_BYTES);
}

static void act_together(struct scene *s)
{
    switch (decide_below(&s->input, 8)) {
    case 0:
        muster(s);
        return;
    case 1:
        cancel_latest(s);
        return;
    case 2:
        withdraw(s);
        return;
    default:
        call_together(s);
        if (decide_below(&s->input, 2)) /* else more is done before the requests arrive */
            scene_run(s->sim, SCENE_MILLISECOND / 10);
        return;
    }
}

/* special does one of the things that the features of an input add. */
static void special(struct scene *s)
{
    struct decide *d = &s->input;
    uint32_t feature = 1u << decide_below(d, 6);
    if (!(s->features & feature) && s->features & TOGETHER)
        feature = TOGETHER;
    if (!(s->features & feature))
        return;
    if (feature == REFUSALS)
        scene_refuse(d);
    else if (feature == LOSSES && decide_below(d, 4))
        lose_region(s);
    else if (feature == LOSSES)
        restart_daemon(s);
    else if (feature == FLOCKS)
        share_flock(s);
    else if (feature == TOGETHER)
        act_together(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const td_time durations[] = {1000, 100000, SCENE_MILLISECOND, SCENE_SECOND};
    struct scene s = {.input = {data, size}};
    set_up(&s);
    for (int i = 0; i < STEPS_MAX && s.input.left > 0; i++) {
        if (s.features && decide_below(&s.input, 2)) {
            special(&s);
            continue;
        }
        uint32_t what = decide_below(&s.input, 16);
        if (what == 0) {
            uint32_t which = decide_below(&s.input, CLIENTS);
            td_sim_close(s.sim, s.process[which].client);
            open_process(&s, which);
        } else if (what < 4) {
            scene_run(s.sim, durations[decide_below(&s.input, 4)]);
            collect(&s);
        } else {
            send(&s);
        }
    }
    tear_down(&s);
    return 0;
}
