/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/node_set.h"
#include "collectives/cost/bound.h"
#include "collectives/select.h"
#include "base/arena.h"
#include "core/core.h"
#include "model/group.h"
#include "model/layout_text.h"
#include "model/planes_call.h"
#include "base/hash.h"
#include "measure_plan.h"
#include "sim/clients.h"
#include "sim/clock.h"
#include "system/limits.h"

static const td_time LIMIT_NS = (td_time)3600 * 1000000000;
/* If nothing happens for this time, only heartbeats remain, which have longer intervals. */
static const td_time STILL_NS = (td_time)600 * 1000000000;

void td_measure_options_default(struct td_measure_options *o, const char *shape, uint64_t seed)
{
    *o = (struct td_measure_options){.bytes = 1024};
    o->call = (struct td_call){.kind = TD_KIND_ALLTOALL, .type = TD_TYPE_BYTE};
    td_sim_options_default(&o->world, shape, seed);
    struct td_settings *s = &o->world.settings;
    o->world.modelled = o->world.timing_only = true;
    o->world.control_ns = TD_MEASURE_SLOT_NS;
    o->world.request_ns_max = 1;
    s->packet_bytes = 1024;
    s->arena_bytes = (uint64_t)64 << 20;
    s->scratch_bytes = (uint64_t)1 << 44; /* no limit: the simulation stores no data */
    s->tuning.fabric = TD_FABRIC_ROUTED;
    s->tuning.relay_bytes = (uint64_t)1 << 43;
    s->progress_timeout_ns = (int64_t)LIMIT_NS; /* no timeouts: the simulation has no faults */
    s->heartbeat_ns = s->progress_timeout_ns / 2;
}

/* struct run: counters during the simulation. */
struct run {
    uint64_t hops, waits;
    uint64_t *link; /* of the measurement */
    uint32_t directions, packet_bytes;
    td_time released_at;
    td_time bin_begin; /* begin of the current bin, since the release */
    uint64_t *bin;     /* its counters in `busy` */
    td_time bin_ns;
    uint64_t *busy; /* [TD_MEASURE_BINS][directions] busy ns of links since the release */
};

/* widen doubles the width of the bins, so that the time line never overflows. */
static void widen(struct run *r)
{
    for (uint32_t b = 0; b < TD_MEASURE_BINS / 2; b++)
        for (uint32_t d = 0; d < r->directions; d++)
            r->busy[b * r->directions + d] =
                r->busy[2 * b * r->directions + d] + r->busy[(2 * b + 1) * r->directions + d];
    memset(r->busy + TD_MEASURE_BINS / 2 * r->directions, 0,
           TD_MEASURE_BINS / 2 * r->directions * sizeof *r->busy);
    r->bin_ns *= 2;
}

/* turn_to sets the current bin to that of `at`, a time since the release. */
static void turn_to(struct run *r, td_time at)
{
    while (at / r->bin_ns >= TD_MEASURE_BINS)
        widen(r);
    r->bin = r->busy + at / r->bin_ns * r->directions;
    r->bin_begin = at / r->bin_ns * r->bin_ns;
}

static void on_hop(void *me, td_time now, uint32_t node, unsigned direction, uint32_t bytes,
                   td_time waited)
{
    struct run *r = me;
    td_time at = now - r->released_at;
    r->hops++;
    r->waits += waited > 0;
    r->link[node * r->directions + direction] += bytes;
    if (at - r->bin_begin >= r->bin_ns) /* saves a division on most hops */
        turn_to(r, at);
    r->bin[direction] += bytes == r->packet_bytes
                             ? TD_MEASURE_SLOT_NS
                             : (td_time)bytes * TD_MEASURE_SLOT_NS / r->packet_bytes;
}

static void on_release(void *me, td_time now)
{
    struct run *r = me;
    if (r->released_at == 0)
        r->released_at = now;
}

/* struct party: the participating ranks and their replies. */
struct party {
    uint32_t size;
    struct td_measured_plan plan;
    uint32_t *node, *client, *group;
    uint64_t *request;
    uint64_t *count; /* [size]: counts of one rank, source and destination */
};

static void disband(struct party *p)
{
    td_measured_plan_fini(&p->plan);
    free(p->node);
    free(p->client);
    free(p->group);
    free(p->request);
    free(p->count);
}

static bool assemble(struct party *p, const struct td_measure_options *o,
                     const struct td_topology *t, const char **why)
{
    *p = (struct party){.node = calloc(t->nodes, sizeof *p->node),
                        .client = calloc(t->nodes, sizeof *p->client),
                        .group = calloc(t->nodes, sizeof *p->group),
                        .request = calloc(t->nodes, sizeof *p->request),
                        .count = calloc((size_t)t->nodes * 2, sizeof *p->count)};
    *why = td_limit_no_memory("this machine");
    return p->node && p->client && p->group && p->request && p->count &&
           td_node_set_parse(t, o->group ? o->group : "all", o->world.seed, p->node, &p->size, why);
}

/* all_join opens one client per node and joins all of them. It returns false on an error. */
static bool all_join(struct td_sim *sim, struct party *p)
{
    struct td_request q = {.kind = TD_REQUEST_JOIN};
    q.u.join.name = "simulated";
    q.u.join.size = p->size;
    q.u.join.timeout_ns = -1;
    for (uint32_t r = 0; r < p->size; r++) {
        p->client[r] = td_sim_open(sim, p->node[r]);
        q.u.join.rank = r;
        p->request[r] = td_sim_request(sim, p->client[r], &q);
    }
    if (!td_sim_settle(sim, LIMIT_NS))
        return false;
    for (uint32_t r = 0; r < p->size; r++) {
        const struct td_reply *reply = td_sim_reply(sim, p->client[r], p->request[r]);
        if (reply->kind != TD_REPLY_JOINED)
            return false;
        p->group[r] = reply->u.joined.group;
    }
    return true;
}

/* part_bytes returns the bytes that rank i sends to rank j, the same value on both ranks. */
static uint64_t part_bytes(const struct td_measure_options *o, uint64_t i, uint64_t j)
{
    uint64_t x = (i << 32 | j) + o->world.seed * 0x9e3779b97f4a7c15u;
    double at = (double)(td_hash_mix(x) >> 11) / (double)((uint64_t)1 << 53); /* 0 to 1 */
    return (uint64_t)((double)o->bytes * (1 + o->spread * (2 * at - 1)) + 0.5);
}

static void fill_counts(const struct td_measure_options *o, struct party *p, uint32_t rank,
                        struct td_request *q, uint64_t need[2])
{
    need[0] = need[1] = 0;
    for (uint32_t other = 0; other < p->size; other++) {
        need[0] += p->count[other] = part_bytes(o, rank, other);
        need[1] += p->count[p->size + other] = part_bytes(o, other, rank);
    }
    q->u.operation.from = (struct td_rank_counts){.count = p->count, .counts = p->size};
    q->u.operation.to = (struct td_rank_counts){.count = p->count + p->size, .counts = p->size};
}

static void all_call(struct td_sim *sim, const struct td_measure_options *o, struct party *p)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.call = o->call;
    q.u.operation.call.plan = p->plan.number;
    q.u.operation.sequence = p->plan.plan != NULL; /* the agreement on the plan was call 0 */
    q.u.operation.timeout_ns = -1;
    for (uint32_t r = 0; r < p->size; r++) {
        uint64_t need[2];
        td_call_bytes(&o->call, p->size, r, &need[0], &need[1]);
        if (td_call_has_counts(o->call.kind))
            fill_counts(o, p, r, &q, need);
        struct td_box box;
        for (unsigned side = 0; side < 2 && p->plan.plan; side++)
            need[side] = td_plan_bytes(p->plan.plan, side, r, &box);
        uint32_t region = td_sim_region(sim, p->client[r], need[0] + need[1] + 1);
        q.u.operation.group = p->group[r];
        q.u.operation.source = (struct td_place){region, 0, need[0], NULL};
        q.u.operation.destination = (struct td_place){region, need[0], need[1], NULL};
        p->request[r] = td_sim_request(sim, p->client[r], &q);
    }
}

/* clock_seconds returns the CPU time of this process. */
static double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* watch runs until all ranks have completed, and shows the progress on a terminal. */
static bool watch(struct td_sim *sim, const struct td_measure_options *o,
                  const struct td_measurement *m, const struct run *r)
{
    bool shown = !o->quiet && isatty(STDERR_FILENO), done = false;
    td_time step = (td_time)(m->bound * TD_MEASURE_SLOT_NS / 50) + TD_MEASURE_SLOT_NS;
    td_time begin = td_sim_now(sim);
    while (!(done = td_sim_settle(sim, step)) && td_sim_next(sim) - td_sim_now(sim) < STILL_NS) {
        if (shown)
            fprintf(stderr, "\r%3.0f %% of the bound, %.1f M packet hops",
                    (double)(td_sim_now(sim) - begin) / TD_MEASURE_SLOT_NS / m->bound * 100,
                    (double)r->hops / 1e6);
    }
    if (shown)
        fprintf(stderr, "\r%60s\r", "");
    return done;
}

/* explain selects the method as each node does. */
static bool explain(const struct td_measure_options *o, const struct party *p,
                    struct td_measurement *m)
{
    struct td_arena *arena = td_arena_create((size_t)m->topology.nodes * 256 + (1 << 16));
    struct td_counts counts = {0};
    struct td_group group;
    struct td_survey survey = {0};
    struct td_tree tree = {0};
    bool good = arena && td_group_build(&group, arena, p->node, p->size) == TD_OK &&
                td_planes_of_call(&tree, arena, &m->topology, &group, &o->call) == TD_OK;
    uint64_t pairs = (uint64_t)p->size * (p->size - 1);
    survey.most = (uint64_t)((double)o->bytes * (1 + o->spread));
    survey.total = pairs * o->bytes;
    if (good) {
        struct td_compile_input in = {.call = &o->call,
                                      .seed = o->world.seed,
                                      .group = &group,
                                      .tree = &tree,
                                      .topology = &m->topology,
                                      .tuning = &o->world.settings.tuning};
        bool has_counts = td_call_has_counts(o->call.kind);
        if (has_counts && (good = td_counts_build(&counts, arena, &group, 0))) {
            in.counts = &counts;
            in.survey = &survey;
        }
        struct td_program program = {0};
        if (good)
            td_select_compile(&in, &program);
        m->rides = good && program.ride != TD_RIDE_NONE;
        bool alltoall = o->call.kind == TD_KIND_ALLTOALL || has_counts;
        m->method = alltoall && good ? td_alltoall_name(td_method_alltoall(program.method))
                    : good           ? program.method->name
                                     : "";
        if (good)
            td_select_explain(&in, m->why, sizeof m->why);
    }
    td_arena_destroy(arena);
    return good;
}

/* explain_plan makes the plan as each node does. */
static bool explain_plan(const struct td_measure_options *o, struct party *p,
                         struct td_measurement *m)
{
    const struct td_settings *s = &o->world.settings;
    if (!td_measured_plan_read(&p->plan, o->call.kind, o->plan, &m->topology, &s->tuning, p->node,
                               p->size, m->wrong, sizeof m->wrong))
        return false;
    m->method = p->plan.method;
    m->steps = p->plan.steps;
    m->bound = td_measured_plan_bound(&p->plan, &m->topology, s->packet_bytes, &m->in_turn);
    char from[160], to[160];
    td_layout_print(&p->plan.plan->from, from, sizeof from);
    td_layout_print(&p->plan.plan->to, to, sizeof to);
    snprintf(m->call, sizeof m->call, "%s of %s to %s", td_kind_name(o->call.kind), from, to);
    if (o->call.kind == TD_KIND_FFT)
        snprintf(m->why, sizeof m->why, "%u moves of the array from node to node", m->steps);
    else
        snprintf(m->why, sizeof m->why, "the %s schedule, %u steps", m->method, m->steps);
    return true;
}

static void count_links(struct td_measurement *m, double packet_bytes)
{
    uint32_t directions = 2 * m->topology.dimensions;
    for (uint32_t d = 0; d < m->topology.dimensions; d++) {
        struct td_utilization *u = &m->utilization[d];
        uint64_t links = 0, total = 0, least = UINT64_MAX, most = 0;
        for (uint32_t n = 0; n < m->topology.nodes; n++)
            for (int sign = 1; sign >= -1; sign -= 2) {
                if (td_topology_neighbour(&m->topology, n, d, sign) == n)
                    continue;
                uint64_t bytes = m->link[(size_t)n * directions + 2 * d + (sign < 0)];
                links++;
                total += bytes;
                least = bytes < least ? bytes : least;
                most = bytes > most ? bytes : most;
            }
        if (!links)
            continue;
        double whole = m->slots * packet_bytes;
        *u = (struct td_utilization){.mean = (double)total / (double)links / whole,
                                     .least = (double)least / whole,
                                     .most = (double)most / whole};
    }
}

static void count_queues(const struct td_sim *sim, struct td_measurement *m)
{
    for (uint32_t n = 0; n < m->topology.nodes; n++) {
        struct td_router_counts c;
        td_router_look(td_sim_router(sim, n), &c);
        m->queued_max = c.queued_max > m->queued_max ? c.queued_max : m->queued_max;
        m->fifo_max = c.fifo_max > m->fifo_max ? c.fifo_max : m->fifo_max;
        for (unsigned k = 0; k < TD_CHANNELS; k++)
            if (c.held_max[k] > m->held_max[k])
                m->held_max[k] = c.held_max[k];
    }
}

static uint32_t links_of(const struct td_topology *t, uint32_t direction)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < t->nodes; n++)
        count += td_topology_neighbour(t, n, direction / 2, direction % 2 ? -1 : 1) != n;
    return count;
}

static void draw_line(const struct run *r, struct td_measurement *m)
{
    m->bin_slots = (double)r->bin_ns / TD_MEASURE_SLOT_NS;
    m->bins = (uint32_t)(m->slots / m->bin_slots) + 1;
    for (uint32_t d = 0; d < r->directions; d++) {
        uint32_t links = links_of(&m->topology, d);
        for (uint32_t b = 0; b < m->bins && b < TD_MEASURE_BINS; b++)
            m->line[b * r->directions + d] =
                links ? (double)r->busy[b * r->directions + d] / (double)r->bin_ns / links : 0;
    }
}

static bool fail(struct td_measurement *m, const char *why)
{
    snprintf(m->wrong, sizeof m->wrong, "%s", why);
    return false;
}

/* forget clears the counters of the links. */
static void forget(struct td_measurement *m, struct run *r)
{
    memset(m->link, 0, (size_t)m->topology.nodes * r->directions * sizeof *m->link);
    memset(r->busy, 0, (size_t)TD_MEASURE_BINS * r->directions * sizeof *r->busy);
    r->hops = r->waits = 0;
    r->bin_ns = TD_MEASURE_SLOT_NS;
    r->bin = r->busy;
    r->bin_begin = 0;
}

/* check_root returns false if the root of a rooted call is no rank of the group. */
static bool check_root(const struct td_measure_options *o, const struct party *p,
                       struct td_measurement *m)
{
    if (o->plan || !td_call_rooted(o->call.kind) || o->call.root < p->size)
        return true;
    snprintf(m->wrong, sizeof m->wrong,
             "the root, %u, is no rank of a group of %u ranks: it must "
             "be below %u",
             o->call.root, p->size, p->size);
    return false;
}

static bool simulate(struct td_sim *sim, const struct td_measure_options *o, struct party *p,
                     struct td_measurement *m, struct run *r)
{
    if (!all_join(sim, p))
        return fail(m, "the ranks could not join the job");
    if (o->plan) {
        if (!td_measured_plan_agree(&p->plan, sim, o->plan, p->client, p->group, p->size, m->wrong,
                                    sizeof m->wrong))
            return false;
        forget(m, r);
    }
    double begin = clock_seconds();
    td_time called = td_sim_now(sim);
    uint64_t events = td_sim_events(sim);
    bool good = true;
    r->released_at = 0;
    all_call(sim, o, p);
    if (!watch(sim, o, m, r))
        good = fail(m, "deadlock: no packet can move");
    for (uint32_t i = 0; good && i < p->size; i++) {
        const struct td_reply *reply = td_sim_reply(sim, p->client[i], p->request[i]);
        if (reply->error != TD_OK)
            good = fail(m, reply->text);
    }
    m->seconds = clock_seconds() - begin;
    m->events = td_sim_events(sim) - events;
    m->hops = r->hops;
    m->waits = r->waits;
    m->hash = td_sim_hash(sim);
    r->released_at = r->released_at ? r->released_at : called;
    m->gate = (double)(r->released_at - called) / TD_MEASURE_SLOT_NS;
    m->slots = (double)(td_sim_now(sim) - r->released_at) / TD_MEASURE_SLOT_NS;
    if (m->rides)
        m->slots += m->gate;
    m->efficiency = m->bound > 0 && m->slots > 0 ? m->bound / m->slots : 1;
    return good;
}

bool td_measure(const struct td_measure_options *options, struct td_measurement *m)
{
    struct td_measure_options o = *options;
    struct td_settings *s = &o.world.settings;
    size_t at = 0;
    const char *why = NULL;
    const struct td_setting_row *setting = NULL;
    char text[TD_SETTING_WRONG_MAX];
    *m = (struct td_measurement){0};
    if (td_topology_parse(&m->topology, o.world.shape, &at, &why) != TD_OK)
        return fail(m, why);
    struct run r = {.directions = 2 * m->topology.dimensions, .bin_ns = TD_MEASURE_SLOT_NS};
    s->link_rate = (uint64_t)s->packet_bytes * (1000000000 / TD_MEASURE_SLOT_NS);
    s->tuning.packet_bytes = s->packet_bytes;
    r.packet_bytes = m->packet_bytes = s->packet_bytes;
    o.world.observer = (struct td_observer){.hop = on_hop, .release = on_release, .me = &r};
    if ((why = td_settings_check(s, &setting, text)))
        return fail(m, why);
    struct party party;
    o.call.count = td_call_has_counts(o.call.kind) ? 0 : o.bytes / td_type_bytes(o.call.type);
    if (!assemble(&party, &o, &m->topology, &why)) {
        disband(&party);
        return fail(m, why);
    }
    m->ranks = party.size;
    if (!check_root(&o, &party, m)) {
        disband(&party);
        return false;
    }
    td_call_print(&o.call, m->call, sizeof m->call);
    m->bound =
        o.plan ? 0
               : td_bound_slots(&m->topology, o.call.kind, o.bytes, party.size, s->packet_bytes);
    m->link = calloc((size_t)m->topology.nodes * r.directions + 1, sizeof *m->link);
    m->line = calloc((size_t)TD_MEASURE_BINS * r.directions + 1, sizeof *m->line);
    r.busy = calloc((size_t)TD_MEASURE_BINS * r.directions + 1, sizeof *r.busy);
    r.link = m->link;
    r.bin = r.busy;
    bool made = m->link && m->line && r.busy;
    fail(m, td_limit_no_memory("this machine"));
    made = made && (o.plan ? explain_plan(&o, &party, m) : explain(&o, &party, m));
    struct td_sim *sim = made ? td_sim_create(&o.world) : NULL;
    bool good = sim && simulate(sim, &o, &party, m, &r);
    if (good) {
        count_links(m, s->packet_bytes);
        count_queues(sim, m);
        draw_line(&r, m);
    }
    td_sim_destroy(sim);
    disband(&party);
    free(r.busy);
    return good;
}

void td_measure_fini(struct td_measurement *m)
{
    free(m->link);
    free(m->line);
    m->link = NULL;
    m->line = NULL;
}
