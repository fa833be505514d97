/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/planner.h"
#include "collectives/select.h"
#include "base/hash.h"
#include "sim.h"

enum { RECONNECT_NS = 10000000 };

void td_sim_options_default(struct td_sim_options *o, const char *shape, uint64_t seed)
{
    *o = (struct td_sim_options){.shape = shape,
                                 .seed = seed,
                                 .latency_ns_max = 20000,
                                 .compute_ns_max = 30000,
                                 .request_ns_max = 5000};
    td_settings_default(&o->settings);
    o->settings.arena_bytes = 16 << 20;
    o->settings.scratch_bytes = 64 << 20;
    o->settings.packet_bytes = 4096;
    o->settings.link_credits = 4;
}

/* ---- queries ---- */

uint64_t td_sim_random(struct td_sim *sim, uint64_t below)
{
    return td_hash_next(&sim->random) % below;
}

td_time sim_delay(struct td_sim *sim, td_time most)
{
    return sim->now + 1 + td_sim_random(sim, most);
}

void sim_print(struct td_sim *sim, uint32_t node, char direction, const char *format, ...)
{
    va_list arguments;
    fprintf(sim->options.trace, "[%10llu] %3u %c ", (unsigned long long)sim->now, node, direction);
    va_start(arguments, format);
    vfprintf(sim->options.trace, format, arguments);
    va_end(arguments);
    fputc('\n', sim->options.trace);
}

uint32_t td_sim_nodes(const struct td_sim *sim)
{
    return sim->topology.nodes;
}

td_time td_sim_now(const struct td_sim *sim)
{
    return sim->now;
}

uint64_t td_sim_hash(const struct td_sim *sim)
{
    return sim->hash;
}

uint64_t td_sim_events(const struct td_sim *sim)
{
    return sim->events;
}

const struct td_router *td_sim_router(const struct td_sim *sim, uint32_t node)
{
    return td_core_router(sim->node[node].core);
}

uint64_t td_sim_drops(const struct td_sim *sim)
{
    return sim->drops;
}

uint64_t td_sim_landings(const struct td_sim *sim)
{
    return sim->landings;
}

/* ---- life ---- */

static int by_address(const void *a, const void *b)
{
    const struct td_span *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static int longest_first(const void *a, const void *b)
{
    const struct td_span *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* find_spans finds the memory that a node's core nearly always needs. Adjacent spans become one. */
static void find_spans(struct node *n)
{
    struct td_span *span = n->span;
    unsigned joined = 0, spans = td_core_spans(n->core, span);
    qsort(span, spans, sizeof *span, by_address);
    for (unsigned i = 1; i < spans; i++) {
        struct td_span *last = &span[joined];
        size_t reach = (size_t)((const char *)span[i].at - (const char *)last->at);
        if (reach < last->bytes + 2 * SIM_CACHE_LINE)
            last->bytes = reach + span[i].bytes;
        else
            span[++joined] = span[i];
    }
    n->spans = joined + 1;
    qsort(span, n->spans, sizeof *span, longest_first);
    while (n->long_spans < n->spans && span[n->long_spans].bytes > 2 * SIM_CACHE_LINE)
        n->long_spans++;
}

static bool start_node(struct td_sim *sim, uint32_t number)
{
    struct node *n = &sim->node[number];
    struct td_usage counts;
    n->alive = true;
    n->wake_put = TD_TIME_NEVER;
    n->incarnation = 1 + td_sim_random(sim, UINT64_MAX - 1);
    if (!sim->options.modelled && !n->end)
        n->end = calloc(sim->topology.nodes, sizeof *n->end);
    struct td_core_options o = {.topology = sim->topology,
                                .node = number,
                                .incarnation = n->incarnation,
                                .seed = td_sim_random(sim, UINT64_MAX),
                                .settings = sim->options.settings,
                                .compile = td_select_compile,
                                .planner = td_collectives_planner};
    if ((!n->end && !sim->options.modelled) || !memory_init(sim, n) ||
        td_core_create(&n->core, &o) != TD_OK)
        return false;
    find_spans(n);
    td_core_usage(n->core, &counts);
    n->arena_used = counts.arena_used;
    return true;
}

bool td_sim_connected(const struct td_sim *sim, uint32_t a, uint32_t b)
{
    if (sim->options.settings.tuning.fabric != TD_FABRIC_ROUTED)
        return a != b;
    return td_topology_distance(&sim->topology, a, b) == 1;
}

/* come_up connects a node at the start. */
static void come_up(struct td_sim *sim, uint32_t a)
{
    for (uint32_t b = 0; b < sim->topology.nodes; b++)
        if (td_sim_connected(sim, a, b))
            queue_put(&sim->queue, 0, LINK_UP, a)->from = b;
}

struct td_sim *td_sim_create(const struct td_sim_options *options)
{
    struct td_sim *sim = calloc(1, sizeof *sim);
    if (!sim)
        return NULL;
    size_t position = 0;
    const char *why = NULL;
    sim->options = *options;
    sim->random = options->seed;
    sim->packet_ns = td_settings_link_time(&options->settings, options->settings.packet_bytes);
    sim->instant = options->modelled && options->hollow;
    sim->in_order = options->modelled && options->settings.tuning.fabric == TD_FABRIC_ROUTED;
    sim->hash = 0xcbf29ce484222325u;
    sim->decoded = malloc(sizeof *sim->decoded);
    sim->actions = malloc(sizeof *sim->actions);
    bool made = sim->decoded && sim->actions &&
                td_topology_parse(&sim->topology, options->shape, &position, &why) == TD_OK;
    if (made)
        made = (sim->node = calloc(sim->topology.nodes, sizeof *sim->node)) != NULL;
    for (unsigned d = 0; d < TD_DIRECTIONS_MAX; d++)
        sim->cable[d] = (uint8_t)(sim->topology.size[d / 2] == 2 ? d / 2 * 2 : d);
    /* by node only if each message between nodes takes time */
    queue_init(&sim->queue, sim->topology.nodes,
               options->modelled && options->control_ns > 0 && sim->packet_ns > 0);
    for (uint32_t i = 0; made && i < sim->topology.nodes; i++)
        made = start_node(sim, i);
    if (!made) {
        td_sim_destroy(sim);
        return NULL;
    }
    for (uint32_t a = 0; a < sim->topology.nodes; a++)
        come_up(sim, a);
    return sim;
}

void sim_drop_parcel(struct parcel *p)
{
    if (p->holders > 0 && --p->holders > 0)
        return;
    free(p->payload);
    free(p);
}

void td_sim_destroy(struct td_sim *sim)
{
    if (!sim)
        return;
    for (struct turn turn; queue_take(&sim->queue, &turn);)
        sim_drop_events(sim, turn.events);
    queue_fini(&sim->queue);
    for (uint32_t i = 0; sim->node && i < sim->topology.nodes; i++) {
        td_core_destroy(sim->node[i].core);
        memory_fini(sim, &sim->node[i]);
        for (uint32_t k = 0; sim->node[i].end && k < sim->topology.nodes; k++)
            td_retransmit_acknowledge(&sim->node[i].end[k].unacknowledged, UINT64_MAX);
        free(sim->node[i].end);
    }
    clients_fini(sim);
    free(sim->node);
    free(sim->decoded);
    free(sim->answer);
    free(sim->actions);
    free(sim);
}

/* ---- links ---- */

/* need_ends records the state of each link of the node, because not all of its links are up any
 * more. */
static void need_ends(const struct td_sim *sim, struct node *n)
{
    if (n->end)
        return;
    n->end = calloc(sim->topology.nodes, sizeof *n->end);
    assert(n->end);
    for (uint32_t i = 0; i < sim->topology.nodes; i++)
        n->end[i].up = true;
}

static void put_link_up(struct td_sim *sim, td_time at, uint32_t node, uint32_t from,
                        uint32_t epoch)
{
    struct event *e = queue_put(&sim->queue, at, LINK_UP, node);
    e->from = from;
    e->epoch = epoch;
}

void sim_tear(struct td_sim *sim, uint32_t a, uint32_t b, const char *text)
{
    uint32_t ends[2][2] = {{a, b}, {b, a}};
    if (!td_sim_connected(sim, a, b))
        return;
    uint32_t epoch = ++sim->epoch;
    for (int i = 0; i < 2; i++) {
        need_ends(sim, &sim->node[ends[i][0]]);
        /* the notice arrives before or after messages in flight */
        td_time down = sim_delay(sim, sim->options.latency_ns_max);
        struct event *e = queue_put(&sim->queue, down, LINK_DOWN, ends[i][0]);
        e->from = ends[i][1];
        e->epoch = epoch;
        e->text = text;
        e->refused = !sim->node[e->from].alive;
        if (sim_lives(&sim->node[a]) && sim_lives(&sim->node[b]))
            put_link_up(sim, sim->now + RECONNECT_NS, ends[i][0], ends[i][1], epoch);
    }
}

void td_sim_break_link(struct td_sim *sim, uint32_t a, uint32_t b)
{
    sim_tear(sim, a, b, "the connection was reset");
}

void td_sim_freeze_node(struct td_sim *sim, uint32_t node)
{
    sim->node[node].frozen = true;
    for (uint32_t i = 0; i < sim->clients; i++)
        if (sim->client[i].node == node)
            client_cut_off(sim, i + 1);
}

void td_sim_kill_node(struct td_sim *sim, uint32_t node)
{
    td_sim_freeze_node(sim, node);
    sim->node[node].alive = false;
    sim->node[node].died_at = sim->now;
    for (uint32_t i = 0; i < sim->topology.nodes; i++)
        if (i != node)
            sim_tear(sim, node, i, "the connection was closed");
}

void td_sim_start_node(struct td_sim *sim, uint32_t node)
{
    struct node *n = &sim->node[node];
    struct end *ends = n->end;
    const struct td_sim_options *o = &sim->options;
    td_time under_way =
        o->compute_ns_max > o->latency_ns_max ? o->compute_ns_max : o->latency_ns_max;
    assert(!n->alive && !o->modelled && sim->now > n->died_at + under_way);
    td_core_destroy(n->core);
    memory_fini(sim, n);
    *n = (struct node){.end = ends};
    bool made = start_node(sim, node);
    assert(made);
    for (uint32_t i = 0; i < sim->topology.nodes; i++) {
        td_retransmit_acknowledge(&ends[i].unacknowledged, UINT64_MAX);
        ends[i].up = ends[i].refused = false;
        ends[i].epoch = ++sim->epoch;
        if (!td_sim_connected(sim, i, node))
            continue;
        td_time at = sim_delay(sim, RECONNECT_NS);
        if (sim_lives(&sim->node[i])) {
            put_link_up(sim, at, node, i, sim->epoch);
            put_link_up(sim, at, i, node, sim->epoch);
            continue;
        }
        struct event *e = queue_put(&sim->queue, at, LINK_DOWN, node); /* unreachable node */
        e->from = i;
        e->epoch = sim->epoch;
        e->refused = !sim->node[i].alive;
        e->text = e->refused ? "connection refused" : "no answer";
    }
}

void sim_link_up(struct td_sim *sim, const struct event *e)
{
    struct end *end = sim->node[e->node].end ? &sim->node[e->node].end[e->from] : NULL;
    if ((end && end->epoch > e->epoch) || !sim_lives(&sim->node[e->from]))
        return; /* the link was cut again */
    if (end) {
        end->up = true;
        end->refused = false;
        end->epoch = e->epoch;
    }
    sim_trace(sim, e->node, '>', "link to %u is up", e->from);
    sim_feed(sim, e->node,
             &(struct td_event){
                 .kind = TD_EVENT_LINK_UP,
                 .u.link = {.node = e->from, .incarnation = sim->node[e->from].incarnation}});
}

void sim_link_down(struct td_sim *sim, const struct event *e)
{
    struct end *end = &sim->node[e->node].end[e->from];
    if (e->epoch < end->epoch && end->up)
        return; /* refused, but it has come up since */
    end->up = end->refused = false;
    end->epoch = e->epoch > end->epoch ? e->epoch : end->epoch;
    sim_trace(sim, e->node, '>', "link to %u is down: %s", e->from, e->text);
    sim_feed(
        sim, e->node,
        &(struct td_event){.kind = TD_EVENT_LINK_DOWN,
                           .u.link = {.node = e->from, .text = e->text, .refused = e->refused}});
}

/* ---- checks ---- */

const char *td_sim_leftovers(struct td_sim *sim)
{
    for (uint32_t i = 0; i < sim->topology.nodes; i++) {
        const struct node *n = &sim->node[i];
        struct td_usage c;
        if (!sim_lives(n))
            continue;
        td_core_usage(n->core, &c);
        uint32_t mapped = 0;
        for (uint32_t k = 1; k < n->mappings; k++)
            mapped += n->mapping[k].mapped;
        uint64_t held = c.clients + c.regions + c.jobs + c.groups + c.operations + c.plans +
                        c.computing + c.packets_unacknowledged + c.scratch_used;
        if (held == 0 && c.arena_used == n->arena_used && mapped == 0 && n->buffers_held == 0 &&
            n->under_way == 0)
            continue;
        snprintf(sim->text, sizeof sim->text,
                 "node %u holds %llu clients, %llu regions (%u mapped), %llu jobs, %llu groups, "
                 "%llu operations, %llu plans, %llu computations, %llu packets, %u buffers, %llu "
                 "bytes of scratch and %lld of the arena",
                 i, (unsigned long long)c.clients, (unsigned long long)c.regions, mapped,
                 (unsigned long long)c.jobs, (unsigned long long)c.groups,
                 (unsigned long long)c.operations, (unsigned long long)c.plans,
                 (unsigned long long)c.computing, (unsigned long long)c.packets_unacknowledged,
                 n->buffers_held, (unsigned long long)c.scratch_used,
                 (long long)(c.arena_used - n->arena_used));
        return sim->text;
    }
    return NULL;
}
