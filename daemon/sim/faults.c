/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <assert.h>

#include "clients.h"
#include "clock.h"
#include "cores.h"
#include "disturbances.h"
#include "links.h"
#include "memory.h"
#include "messages.h"
#include "packets.h"
#include "wire/peer.h"

enum { RESTART_NS = 10000000 };

void td_sim_break_link(struct td_sim *sim, uint32_t a, uint32_t b)
{
    links_reset(sim, a, b, "the connection was reset");
}

void td_sim_freeze_node(struct td_sim *sim, uint32_t node)
{
    assert(!sim->options.modelled); /* its core would be missing on the routes of tree messages */
    sim->node[node].frozen = true;
    disturbances_forget(&sim->node[node].kept);
    disturbances_end_unread(sim, node);
    for (uint32_t i = 0; i < sim->clients; i++)
        if (sim->client[i].node == node)
            clients_cut_off(sim, i + 1);
}

void td_sim_kill_node(struct td_sim *sim, uint32_t node)
{
    td_sim_freeze_node(sim, node);
    sim->node[node].alive = false;
    for (uint32_t i = 0; i < sim->topology.nodes; i++)
        if (i != node)
            links_cut(sim, node, i, "the connection was closed");
}

void td_sim_stop_node(struct td_sim *sim, uint32_t node)
{
    if (!node_lives(&sim->node[node]) || sim->node[node].paused)
        return; /* a paused process takes no signal */
    cores_feed(sim, node, &(struct td_event){.kind = TD_EVENT_STOP});
    if (sim->node[node].alive)
        clock_queue_wake(sim, node);
}

void td_sim_start_node(struct td_sim *sim, uint32_t node)
{
    struct node *n = &sim->node[node];
    struct link_end *ends = n->end;
    assert(!n->alive && !sim->options.modelled);
    td_core_destroy(n->core);
    memory_fini(sim, n);
    messages_free_early(sim, n);
    *n = (struct node){.end = ends, .starts = n->starts + 1};
    bool made = world_start_node(sim, node);
    assert(made);
    for (uint32_t i = 0; i < sim->topology.nodes; i++) {
        td_unacknowledged_acknowledge(&ends[i].unacknowledged, UINT64_MAX);
        disturbances_forget(&ends[i].kept);
        ends[i].up = ends[i].refused = false;
        ends[i].epoch = ++sim->epoch;
        if (!td_sim_connected(sim, i, node))
            continue;
        td_time at = clock_delay(sim, RESTART_NS);
        if (node_lives(&sim->node[i])) {
            links_put_up(sim, at, node, i, sim->epoch);
            links_put_up(sim, at, i, node, sim->epoch);
            continue;
        }
        struct event *e = queue_put(&sim->queue, at, LINK_DOWN, node); /* unreachable node */
        e->from = i;
        e->epoch = sim->epoch;
        e->refused = !sim->node[i].alive;
        e->text = e->refused ? "connection refused" : "no answer";
    }
}

uint64_t td_sim_incarnation(const struct td_sim *sim, uint32_t node)
{
    return sim->node[node].incarnation;
}

void td_sim_claim(struct td_sim *sim, uint32_t node, uint64_t incarnation)
{
    sim->node[node].incarnation = incarnation;
}

void td_sim_forge(struct td_sim *sim, uint32_t from, uint32_t to, const struct td_message *message)
{
    uint8_t bytes[TD_TREE_MESSAGE_MAX];
    size_t size = td_wire_encode_message(message, bytes, sizeof bytes);
    if (size > 0)
        messages_put(sim, from, to, to, message->number != 0, bytes, size);
}

void td_sim_forge_packet(struct td_sim *sim, uint32_t from, uint32_t to,
                         const struct td_packet *packet, const uint8_t *payload)
{
    packets_forge(sim, from, to, packet, payload);
}

bool faults_tamper(const struct td_sim *sim, uint32_t from, uint32_t to, struct td_message *message)
{
    const struct td_tamper *t = &sim->options.tamper;
    return !t->message || t->message(t->me, from, to, message);
}

void faults_tamper_packet(const struct td_sim *sim, uint32_t from, uint32_t to,
                          struct td_packet *header)
{
    const struct td_tamper *t = &sim->options.tamper;
    if (t->packet)
        t->packet(t->me, from, to, header);
}

td_err faults_slow_worker(const struct td_sim *sim, uint32_t node, const struct td_compute *c,
                          td_time *later)
{
    const struct td_sim_workers *w = &sim->options.workers;
    return w->compute ? w->compute(w->me, node, c, later) : TD_OK;
}

bool faults_lose_forwarded(struct td_sim *sim)
{
    uint32_t permille = sim->options.relay_loss_permille;
    return permille && td_sim_random(sim, 1000) < permille;
}
