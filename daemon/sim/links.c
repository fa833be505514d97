/* SPDX-License-Identifier: Apache-2.0 */
#include "links.h"

#include <assert.h>
#include <stdlib.h>

#include "clock.h"
#include "cores.h"
#include "disturbances.h"
#include "trace.h"

enum { RECONNECT_NS = 10000000, REFUSED_NS = 1000000 };

/* ---- up and down ---- */

void links_connect(struct td_sim *sim, uint32_t a)
{
    for (uint32_t b = 0; b < sim->topology.nodes; b++)
        if (td_sim_connected(sim, a, b))
            queue_put(&sim->queue, 0, LINK_UP, a)->from = b;
}

/* allocate_ends records the state of each link of the node, because not all of its links are up any
 * more. */
static void allocate_ends(const struct td_sim *sim, struct node *n)
{
    if (n->end)
        return;
    n->end = calloc(sim->topology.nodes, sizeof *n->end);
    assert(n->end);
    for (uint32_t i = 0; i < sim->topology.nodes; i++)
        n->end[i].up = true;
}

void links_put_up(struct td_sim *sim, td_time at, uint32_t node, uint32_t from, uint32_t epoch)
{
    struct event *e = queue_put(&sim->queue, at, LINK_UP, node);
    e->from = from;
    e->epoch = epoch;
}

/* cut cuts a link. The notice to b comes from a (`remote`), or from the network. */
static void cut(struct td_sim *sim, uint32_t a, uint32_t b, const char *text, bool remote)
{
    uint32_t ends[2][2] = {{a, b}, {b, a}};
    if (!td_sim_connected(sim, a, b))
        return;
    uint32_t epoch = ++sim->epoch;
    for (int i = 0; i < 2; i++) {
        allocate_ends(sim, &sim->node[ends[i][0]]);
        /* the notice arrives before or after messages in flight */
        td_time down = clock_delay(sim, sim->options.latency_ns_max);
        struct event *e = queue_put(&sim->queue, down, LINK_DOWN, ends[i][0]);
        e->from = ends[i][1];
        e->epoch = epoch;
        e->text = text;
        e->refused = !sim->node[e->from].alive;
        e->remote = remote && i == 1;
        if (node_lives(&sim->node[a]) && node_lives(&sim->node[b]))
            links_put_up(sim, sim->now + RECONNECT_NS, ends[i][0], ends[i][1], epoch);
    }
}

void links_cut(struct td_sim *sim, uint32_t a, uint32_t b, const char *text)
{
    cut(sim, a, b, text, true);
}

void links_reset(struct td_sim *sim, uint32_t a, uint32_t b, const char *text)
{
    cut(sim, a, b, text, false);
}

void links_come_up(struct td_sim *sim, const struct event *e)
{
    struct link_end *end = sim->node[e->node].end ? &sim->node[e->node].end[e->from] : NULL;
    if ((end && end->epoch > e->epoch) || !node_lives(&sim->node[e->from]))
        return; /* the link was cut again */
    if (disturbances_delay_up(sim, e))
        return;
    if (end) {
        end->up = true;
        end->refused = false;
        end->epoch = e->epoch;
    }
    trace_line(sim, e->node, '>', "link to %u is up", e->from);
    cores_feed(sim, e->node,
               &(struct td_event){
                   .kind = TD_EVENT_LINK_UP,
                   .u.link = {.node = e->from, .incarnation = sim->node[e->from].incarnation}});
}

void links_go_down(struct td_sim *sim, struct event *e)
{
    struct link_end *end = &sim->node[e->node].end[e->from];
    if (e->remote && disturbances_hold(sim, e))
        return;
    if (e->epoch < end->epoch && end->up)
        return; /* refused, but it has come up since */
    end->up = end->refused = false;
    end->epoch = e->epoch > end->epoch ? e->epoch : end->epoch;
    trace_line(sim, e->node, '>', "link to %u is down: %s", e->from, e->text);
    cores_feed(
        sim, e->node,
        &(struct td_event){.kind = TD_EVENT_LINK_DOWN,
                           .u.link = {.node = e->from, .text = e->text, .refused = e->refused}});
}

/* ---- delivery ---- */

td_time links_arrival(struct td_sim *sim, uint32_t from, uint32_t to, int way, td_time sent,
                      uint64_t bytes)
{
    const struct td_sim_options *o = &sim->options;
    bool slow = way == TREE && o->express_permille;
    td_time latency = o->latency_ns_max * (slow ? TD_SIM_CONTROL_LATENCIES : 1);
    td_time at = sent + 1 + td_sim_random(sim, latency);
    struct link_end *end = &sim->node[to].end[from];
    td_time *last = &end->last[way];
    if (at <= *last)
        at = *last + 1;
    at += end->byte_ns * bytes;
    *last = at;
    return at;
}

bool links_check(struct td_sim *sim, uint32_t from, uint32_t to)
{
    struct link_end *e = &sim->node[from].end[to];
    if (e->up)
        return true;
    bool answers = !e->holds && !sim->node[to].end[from].holds;
    if (!sim->node[to].alive && !e->refused && answers) {
        e->refused = true;
        struct event *down = queue_put(&sim->queue, sim->now + REFUSED_NS, LINK_DOWN, from);
        down->from = to;
        down->epoch = e->epoch;
        down->text = "connection refused";
        down->refused = true;
    }
    return false;
}
