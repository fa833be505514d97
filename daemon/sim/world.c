/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"
#include "clients.h"
#include "clock.h"
#include "collectives/planner.h"
#include "collectives/select.h"
#include "collectives/terms.h"
#include "disturbances.h"
#include "links.h"
#include "memory.h"
#include "messages.h"
#include "state.h"
#include "wire/client.h"

void td_sim_options_default(struct td_sim_options *o, const char *shape, uint64_t seed)
{
    *o = (struct td_sim_options){.shape = shape,
                                 .seed = seed,
                                 .latency_ns_max = 20000,
                                 .compute_ns_max = 30000,
                                 .request_ns_max = 5000};
    td_settings_default(&o->settings);
    o->settings.trace_events = 0;
    o->settings.arena_bytes = 16 << 20;
    o->settings.scratch_bytes = 64 << 20;
    o->settings.packet_bytes = 4096;
    o->settings.link_credits = 4;
}

/* ---- queries ---- */

uint32_t td_sim_nodes(const struct td_sim *sim)
{
    return sim->topology.nodes;
}

uint64_t td_sim_events(const struct td_sim *sim)
{
    return sim->events;
}

uint64_t td_sim_hash(const struct td_sim *sim)
{
    return sim->hash;
}

uint64_t td_sim_random(struct td_sim *sim, uint64_t below)
{
    return td_hash_next(&sim->random) % below;
}

const struct td_router *td_sim_router(const struct td_sim *sim, uint32_t node)
{
    return td_core_router(sim->node[node].core);
}

bool td_sim_connected(const struct td_sim *sim, uint32_t a, uint32_t b)
{
    if (sim->options.settings.tuning.fabric != TD_FABRIC_ROUTED)
        return a != b;
    return td_topology_distance(&sim->topology, a, b) == 1;
}

/* ---- nodes ---- */

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

bool world_start_node(struct td_sim *sim, uint32_t number)
{
    struct node *n = &sim->node[number];
    struct td_usage counts;
    n->alive = true;
    n->wake_queued = TD_TIME_NEVER;
    n->incarnation = 1 + td_sim_random(sim, UINT64_MAX - 1);
    if (!sim->options.modelled && !n->end)
        n->end = calloc(sim->topology.nodes, sizeof *n->end);
    struct td_core_options o = {.topology = sim->topology,
                                .node = number,
                                .incarnation = n->incarnation,
                                .seed = td_sim_random(sim, UINT64_MAX),
                                .settings = sim->options.settings,
                                .compile = td_select_compile,
                                .planner = td_collectives_planner,
                                .costs = td_collectives_terms(TD_TERMS_COSTS),
                                .methods = td_collectives_terms(TD_TERMS_METHODS),
                                .term_name = td_collectives_term_name,
                                .encode_page = td_wire_encode_page,
                                .uid = SIM_UID}; /* the user of all ranks has no share */
    if (sim->options.differ)
        sim->options.differ(number, &o);
    if ((!n->end && !sim->options.modelled) || !memory_init(sim, n) ||
        td_core_create(&n->core, &o) != TD_OK)
        return false;
    find_spans(n);
    td_core_usage(n->core, &counts);
    n->arena_used = counts.arena_used;
    return true;
}

/* ---- life ---- */

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
    sim->instant = options->modelled && options->timing_only;
    sim->in_order = options->modelled && options->settings.tuning.fabric == TD_FABRIC_ROUTED;
    sim->hash = 0xcbf29ce484222325u;
    sim->decoded = malloc(sizeof *sim->decoded);
    sim->actions = malloc(sizeof *sim->actions);
    bool made = sim->decoded && sim->actions &&
                td_topology_parse(&sim->topology, options->shape, &position, &why) == TD_OK;
    if (made)
        made = (sim->node = calloc(sim->topology.nodes, sizeof *sim->node)) != NULL;
    for (unsigned d = 0; d < TD_DIRECTIONS_MAX; d++)
        sim->session[d] = (uint8_t)(sim->topology.size[d / 2] == 2 ? d / 2 * 2 : d);
    /* by node only if each message between nodes takes time */
    queue_init(&sim->queue, sim->topology.nodes,
               options->modelled && options->control_ns > 0 && sim->packet_ns > 0);
    for (uint32_t i = 0; made && i < sim->topology.nodes; i++)
        made = world_start_node(sim, i);
    if (!made) {
        td_sim_destroy(sim);
        return NULL;
    }
    for (uint32_t a = 0; a < sim->topology.nodes; a++)
        links_connect(sim, a);
    return sim;
}

void td_sim_destroy(struct td_sim *sim)
{
    if (!sim)
        return;
    for (struct turn turn; queue_pop(&sim->queue, &turn);)
        clock_free_events(sim, turn.events);
    queue_fini(&sim->queue);
    for (uint32_t i = 0; sim->node && i < sim->topology.nodes; i++) {
        td_core_destroy(sim->node[i].core);
        memory_fini(sim, &sim->node[i]);
        messages_free_early(sim, &sim->node[i]);
        disturbances_forget(&sim->node[i].kept);
        for (uint32_t k = 0; sim->node[i].end && k < sim->topology.nodes; k++) {
            td_unacknowledged_acknowledge(&sim->node[i].end[k].unacknowledged, UINT64_MAX);
            disturbances_forget(&sim->node[i].end[k].kept);
        }
        free(sim->node[i].end);
    }
    clients_fini(sim);
    free(sim->node);
    free(sim->decoded);
    free(sim->completion);
    free(sim->actions);
    free(sim);
}
