/* SPDX-License-Identifier: Apache-2.0 */
#include "disturbances.h"

#include <assert.h>
#include <stdlib.h>

#include "clock.h"
#include "links.h"
#include "packets.h"
#include "state.h"
#include "trace.h"

enum { RETRY_NS = 10000000 };

/* ---- kept events ---- */

static void keep(struct kept_list *list, struct event *e)
{
    struct kept *k = malloc(sizeof *k);
    assert(k);
    *k = (struct kept){.event = *e};
    e->object = NULL; /* the copy has it */
    if (list->first)
        list->last->next = k;
    else
        list->first = k;
    list->last = k;
}

/* resume queues kept events, for now. */
static void resume(struct td_sim *sim, struct kept_list *list)
{
    struct kept_list kept = *list;
    *list = (struct kept_list){0};
    for (struct kept *k = kept.first, *next; k; k = next) {
        next = k->next;
        struct event *e = queue_put(&sim->queue, sim->now, k->event.kind, k->event.node);
        struct event *link = e->next;
        *e = k->event;
        e->next = link;
        e->time = sim->now;
        free(k);
    }
}

void disturbances_forget(struct kept_list *list)
{
    for (struct kept *k = list->first, *next; k; k = next) {
        next = k->next;
        clock_free_object(&k->event);
        free(k);
    }
    *list = (struct kept_list){0};
}

/* ---- paused nodes ---- */

void td_sim_pause_node(struct td_sim *sim, uint32_t node)
{
    assert(!sim->options.modelled);
    sim->node[node].paused = node_lives(&sim->node[node]);
}

void disturbances_end_unread(struct td_sim *sim, uint32_t from)
{
    for (uint32_t to = 0; to < sim->topology.nodes; to++) {
        struct link_end *end = sim->node[to].end ? &sim->node[to].end[from] : NULL;
        if (!end || !end->unread)
            continue;
        end->unread = false;
        if (!end->holds)
            resume(sim, &end->kept);
    }
}

void td_sim_thaw_node(struct td_sim *sim, uint32_t node)
{
    struct node *n = &sim->node[node];
    if (!n->paused || !node_lives(n))
        return;
    n->paused = false;
    trace_line(sim, node, '>', "runs again");
    for (const struct kept *k = n->kept.first; k; k = k->next)
        if (k->event.kind == SENT) /* other nodes may receive the packet at this moment */
            packets_read(sim, &k->event);
    resume(sim, &n->kept);
    disturbances_end_unread(sim, node);
    if (n->wakes)
        clock_wake(sim, node);
    n->wakes = false;
    clock_queue_wake(sim, node);
}

bool disturbances_keep(struct td_sim *sim, struct event *e)
{
    struct node *n = &sim->node[e->node];
    if (!n->paused || e->kind == LINK_UP) /* disturbances_delay_up */
        return false;
    keep(&n->kept, e);
    return true;
}

/* ---- links ---- */

static struct link_end *end_of(const struct td_sim *sim, uint32_t from, uint32_t to)
{
    assert(!sim->options.modelled && from != to);
    return &sim->node[to].end[from];
}

void td_sim_hold_link(struct td_sim *sim, uint32_t from, uint32_t to)
{
    end_of(sim, from, to)->holds = true;
}

void td_sim_release_link(struct td_sim *sim, uint32_t from, uint32_t to)
{
    struct link_end *end = end_of(sim, from, to);
    end->holds = false;
    if (!end->unread)
        resume(sim, &end->kept);
}

void td_sim_slow_link(struct td_sim *sim, uint32_t from, uint32_t to, td_time byte_ns)
{
    end_of(sim, from, to)->byte_ns = byte_ns;
}

void td_sim_disturb_link(struct td_sim *sim, uint32_t from, uint32_t to, uint32_t corrupt_permille,
                         uint32_t duplicate_permille)
{
    struct link_end *end = end_of(sim, from, to);
    end->corrupt_permille = corrupt_permille;
    end->duplicate_permille = duplicate_permille;
}

uint64_t td_sim_damaged(const struct td_sim *sim)
{
    return sim->damaged;
}

uint64_t td_sim_duplicated(const struct td_sim *sim)
{
    return sim->duplicated;
}

void td_sim_partition(struct td_sim *sim, const bool *set, bool resets)
{
    for (uint32_t a = 0; a < sim->topology.nodes; a++)
        for (uint32_t b = 0; b < sim->topology.nodes; b++) {
            if (set[a] == set[b])
                continue;
            if (a < b && resets)
                links_reset(sim, a, b, "the connection timed out");
            td_sim_hold_link(sim, a, b);
        }
}

void td_sim_heal(struct td_sim *sim)
{
    for (uint32_t a = 0; a < sim->topology.nodes; a++)
        for (uint32_t b = 0; b < sim->topology.nodes; b++) {
            if (a == b)
                continue;
            td_sim_release_link(sim, a, b);
            td_sim_slow_link(sim, a, b, 0);
            td_sim_disturb_link(sim, a, b, 0, 0);
        }
}

bool disturbances_hold(struct td_sim *sim, struct event *e)
{
    struct link_end *end = sim->node[e->node].end;
    if (!end || !(end[e->from].holds || end[e->from].unread))
        return false;
    keep(&end[e->from].kept, e);
    return true;
}

bool disturbances_await(struct td_sim *sim, struct event *e)
{
    if (!sim->node[e->from].paused)
        return false;
    struct link_end *end = end_of(sim, e->from, e->node);
    end->unread = true;
    keep(&end->kept, e);
    return true;
}

bool disturbances_delay_up(struct td_sim *sim, const struct event *e)
{
    const struct node *n = &sim->node[e->node], *far = &sim->node[e->from];
    if (!n->end || !far->end ||
        (!n->paused && !far->paused && !n->end[e->from].holds && !far->end[e->node].holds))
        return false;
    links_put_up(sim, sim->now + RETRY_NS, e->node, e->from, e->epoch);
    return true;
}

int disturbances_copies(struct td_sim *sim, uint32_t from, uint32_t to)
{
    const struct link_end *end = sim->node[to].end;
    uint32_t permille = end ? end[from].duplicate_permille : 0;
    if (!permille || td_sim_random(sim, 1000) >= permille)
        return 1;
    sim->duplicated++;
    return 2;
}

bool disturbances_corrupt(struct td_sim *sim, uint32_t from, uint32_t to)
{
    const struct link_end *end = sim->node[to].end;
    uint32_t permille = end ? end[from].corrupt_permille : 0;
    return permille && td_sim_random(sim, 1000) < permille;
}

bool disturbances_refuse(struct td_sim *sim, const struct event *e)
{
    if (!e->corrupt)
        return false;
    sim->damaged++;
    trace_line(sim, e->node, '>', "a damaged frame from %u", e->from);
    links_cut(sim, e->node, e->from, "a frame has a wrong checksum");
    sim->node[e->node].end[e->from].up = false; /* what follows is not read */
    return true;
}

/* ---- memory ---- */

void td_sim_refuse_memory(struct td_sim *sim, uint32_t node, struct td_refusals refusals)
{
    if (node_lives(&sim->node[node]))
        td_core_refuse_memory(sim->node[node].core, refusals);
}
