/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#include <assert.h>
#include <stdlib.h>

#include "clients.h"
#include "cores.h"
#include "disturbances.h"
#include "links.h"
#include "memory.h"
#include "messages.h"
#include "packets.h"
#include "trace.h"

enum { PREFETCH_NODES_MIN = 128 /* fewer fit a second-level cache of 2 MiB */ };

td_time td_sim_now(const struct td_sim *sim)
{
    return sim->now;
}

td_time td_sim_next(const struct td_sim *sim)
{
    return queue_time(&sim->queue);
}

td_time clock_delay(struct td_sim *sim, td_time most)
{
    return sim->now + 1 + td_sim_random(sim, most);
}

void clock_free_object(struct event *e)
{
    if (e->object && (e->kind == PACKET || e->kind == LANDING || e->kind == SENT))
        packets_release(e->object);
    else
        free(e->object);
    e->object = NULL;
}

void clock_free_events(struct td_sim *sim, struct event *e)
{
    for (struct event *next; e; e = next) {
        next = e->next;
        if (e->object)
            clock_free_object(e);
        queue_release(&sim->queue, e);
    }
}

void clock_wake(struct td_sim *sim, uint32_t node)
{
    static const struct td_event event = {.kind = TD_EVENT_WAKE};
    struct node *n = &sim->node[node];
    sim->events++;
    trace_mix(sim, sim->now ^ (uint64_t)WAKE << 56 ^ (uint64_t)node << 40);
    if (!node_lives(n))
        return;
    if (n->wake_queued == sim->now)
        n->wake_queued = TD_TIME_NEVER;
    if (n->paused) {
        n->wakes = true;
        return;
    }
    cores_feed(sim, node, &event);
}

void clock_queue_wake(struct td_sim *sim, uint32_t node)
{
    struct node *n = &sim->node[node];
    td_time at = td_core_deadline(n->core);
    while (at <= sim->now && sim->instant && sim->queue.by_node) {
        clock_wake(sim, node);
        at = td_core_deadline(n->core);
    }
    if (at >= n->wake_queued)
        return;
    n->wake_queued = at > sim->now ? at : sim->now;
    queue_wake(&sim->queue, n->wake_queued, node);
}

static void handle(struct td_sim *sim, struct event *e)
{
    switch (e->kind) {
    case MESSAGE:
        messages_receive(sim, e);
        return;
    case PACKET:
        packets_receive(sim, e);
        return;
    case LANDING:
        packets_land(sim, e);
        return;
    case LINK_UP:
        links_come_up(sim, e);
        return;
    case LINK_DOWN:
        links_go_down(sim, e);
        return;
    case SENT:
        packets_sent(sim, e);
        return;
    case COMPUTED:
        memory_computed(sim, e);
        return;
    case CLIENT_OPENED:
        clients_opened(sim, e->from);
        return;
    case CLIENT_REQUEST:
        clients_request(sim, e->from, e->object, e->size);
        return;
    case CLIENT_CLOSED:
        clients_closed(sim, e->from);
        return;
    case REGION_LOST:
        clients_region_lost(sim, e->from, (uint32_t)e->handle);
        return;
    case WAKE: /* wakes are not events */
        return;
    }
}

/* ---- prefetching ---- */

static void prefetch_lines(const void *memory, size_t bytes)
{
    const char *at = memory;
    for (const char *end = at + bytes; at < end; at += SIM_CACHE_LINE)
        __builtin_prefetch(at, 1);
}

static void prefetch_event(const struct event *e)
{
    if (e)
        prefetch_lines(e, sizeof *e);
}

/* prefetch prefetches the memory of the next core while the present core works: with many cores it
 * is in no cache. */
static void prefetch(const struct td_sim *sim)
{
    uint32_t node = queue_next_node(&sim->queue);
    if (node == QUEUE_NONE || sim->topology.nodes < PREFETCH_NODES_MIN)
        return;
    const struct node *n = &sim->node[node];
    prefetch_event(queue_first(&sim->queue, node));
    unsigned i = 0;
    for (; i < n->long_spans; i++)
        prefetch_lines(n->span[i].at, n->span[i].bytes);
    for (; i < n->spans; i++) { /* without unpredictable branches */
        const char *at = n->span[i].at;
        __builtin_prefetch(at, 1);
        __builtin_prefetch(at + n->span[i].bytes - 1, 1);
    }
}

/* ---- running ---- */

/* step handles the next event and all events of the same node and time. It returns false if the
 * next event is after `until`. */
static bool step(struct td_sim *sim, td_time until)
{
    td_time at = queue_time(&sim->queue);
    struct turn turn;
    if (at > until || !queue_pop(&sim->queue, &turn))
        return false;
    assert(at >= sim->now);
    sim->now = at;
    prefetch(sim);
    for (struct event *e = turn.events; e; e = e->next) {
        prefetch_event(e->next);
        sim->events++;
        trace_mix(sim,
                  at ^ (uint64_t)e->kind << 56 ^ (uint64_t)e->node << 40 ^ (uint64_t)e->from << 24);
        if (node_lives(&sim->node[turn.node]) && !disturbances_keep(sim, e))
            handle(sim, e);
    }
    if (sim->gathered_count)
        cores_feed_gathered(sim, turn.node);
    if (turn.wakes)
        clock_wake(sim, turn.node);
    if (node_lives(&sim->node[turn.node]) && !sim->node[turn.node].paused)
        clock_queue_wake(sim, turn.node);
    clock_free_events(sim, turn.events);
    return true;
}

void td_sim_run(struct td_sim *sim, td_time duration_ns)
{
    td_time until = sim->now + duration_ns;
    while (step(sim, until))
        ;
    sim->now = until;
}

bool td_sim_settle(struct td_sim *sim, td_time limit_ns)
{
    td_time until = sim->now + limit_ns;
    while (sim->waiting)
        if (!step(sim, until)) {
            sim->now = until;
            return false;
        }
    return true;
}
