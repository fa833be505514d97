/* SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cores.h"
#include "disturbances.h"
#include "faults.h"
#include "links.h"
#include "memory.h"
#include "trace.h"
#include "wire/peer.h"

/* choose_path returns the connection that a tree message takes. */
static int choose_path(struct td_sim *sim, bool numbered)
{
    uint32_t permille = sim->options.express_permille;
    return numbered && permille && td_sim_random(sim, 1000) < permille ? EXPRESS : TREE;
}

/* put_message queues the arrival of a tree message. It arrives at `via`, the next node on its
 * route; while no modelled link was ever cut, it arrives at its destination directly (world.h).
 * put_message returns NULL if the link is down. */
static struct event *put_message(struct td_sim *sim, uint32_t node, uint32_t to, uint32_t via,
                                 bool numbered, size_t size)
{
    uint32_t next = links_whole(sim) ? to : via, last = node;
    td_time at = sim->now;
    if (!links_usable(sim, node, next))
        return NULL;
    if (sim->options.modelled)
        at += sim->options.control_ns * td_topology_path(&sim->topology, node, next, &last);
    else
        at = links_arrival(sim, node, next, choose_path(sim, numbered), at, size);
    struct event *e = queue_put(&sim->queue, at, MESSAGE, next);
    e->from = next == via ? node : last;
    e->epoch = links_epoch(sim, node, next);
    return e;
}

static void set_bytes(struct event *e, const uint8_t *bytes, size_t size)
{
    e->object = malloc(size);
    assert(e->object);
    memcpy(e->object, bytes, size);
    e->size = (uint32_t)size;
}

void messages_put(struct td_sim *sim, uint32_t node, uint32_t to, uint32_t via, bool numbered,
                  const uint8_t *bytes, size_t size)
{
    for (int copies = disturbances_copies(sim, node, via); copies > 0; copies--) {
        struct event *e = put_message(sim, node, to, via, numbered, size);
        if (!e)
            return;
        set_bytes(e, bytes, size);
        e->corrupt = disturbances_corrupt(sim, node, via);
    }
}

/* put_tampered sends a message, which a hostile daemon may change (world.h). Retransmissions are
 * not changed. */
static void put_tampered(struct td_sim *sim, uint32_t node, uint32_t to, uint32_t via,
                         const struct td_message *m, uint8_t *bytes, size_t size)
{
    struct td_message changed = *m;
    if (sim->options.tamper.message) {
        if (!faults_tamper(sim, node, to, &changed))
            return;
        size = td_wire_encode_message(&changed, bytes, TD_TREE_MESSAGE_MAX);
    }
    if (size > 0) /* else it became too long */
        messages_put(sim, node, to, via, m->number != 0, bytes, size);
}

/* head_suffices returns true if the receiver reads only the first bytes of struct td_message. A
 * modelled link carries such a message without encoding it. */
static bool head_suffices(const struct td_sim *sim, enum td_message_kind kind)
{
    return sim->options.modelled && (kind == TD_MESSAGE_DELIVERED || kind == TD_MESSAGE_SYNC);
}

static void send_head(struct td_sim *sim, uint32_t node, uint32_t to, uint32_t via,
                      const struct td_message *m)
{
    trace_line(sim, node, '<', "message of kind %d to %u", (int)m->kind, to);
    struct event *e = put_message(sim, node, to, via, m->number != 0, 0);
    if (e)
        memcpy(e->head, m, sizeof e->head);
}

void messages_send(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    enum td_message_kind kind = a->u.tree.message.kind;
    uint32_t to = a->u.tree.node, via = a->u.tree.via;
    if (sim->instant && kind == TD_MESSAGE_HEARTBEAT && to > node &&
        !a->u.tree.message.relay.is_relayed && !sim->node[node].end)
        return; /* only node 0 reports the nodes that are up; among 4096 nodes the messages of all
                   would be millions */
    if (head_suffices(sim, kind) && !a->u.tree.held) {
        send_head(sim, node, to, via, &a->u.tree.message);
        return;
    }
    uint8_t bytes[TD_TREE_MESSAGE_MAX], payload[TD_LONG_RIDE_BYTES_MAX];
    struct td_message m = a->u.tree.message;
    uint32_t carried = a->u.tree.payload_bytes;
    assert(carried <= TD_LONG_RIDE_BYTES_MAX && to != node);
    if (carried > 0 && sim->options.timing_only)
        memset(payload, 0, carried);
    else if (carried > 0)
        memory_pack(&sim->node[node], &a->u.tree.payload, &a->u.tree.view, a->u.tree.payload_offset,
                    carried, payload);
    if (carried > 0)
        td_message_load(&m, payload, carried);
    if (a->u.tree.handle)
        cores_complete(sim, TD_EVENT_SENT, a->u.tree.handle);
    size_t size = td_wire_encode_message(&m, bytes, sizeof bytes);
    assert(size > 0); /* 0: longer than TD_TREE_MESSAGE_MAX */
    trace_line(sim, node, '<', "message of kind %d to %u, %zu bytes", (int)m.kind, to, size);
    bool root_acts = m.kind == TD_MESSAGE_RELEASE || m.kind == TD_MESSAGE_ANNOUNCE_AGAIN;
    if (root_acts && sim->options.observer.release)
        sim->options.observer.release(sim->options.observer.me, sim->now);
    if (m.number && !sim->options.modelled) { /* modelled links lose nothing */
        bool kept =
            td_unacknowledged_keep(&sim->node[node].end[to].unacknowledged, m.number, bytes, size);
        assert(kept);
    }
    if (!a->u.tree.held || !sim->node[node].end) /* no link_ends: every link is up */
        put_tampered(sim, node, to, via, &m, bytes, size);
    else if (via != UINT32_MAX)
        (void)links_usable(sim, node, via); /* tells the core if the far daemon is dead */
}

void messages_forward(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    const struct td_message *m = a->u.relay.message;
    uint8_t bytes[TD_TREE_MESSAGE_MAX];
    if (faults_lose_forwarded(sim))
        return;
    size_t size = td_wire_encode_message(m, bytes, sizeof bytes);
    assert(size > 0);
    trace_line(sim, node, '<', "message of kind %d from %u, forwarded to %u", (int)m->kind,
               m->relay.origin, a->u.relay.node);
    put_tampered(sim, node, m->relay.destination, a->u.relay.node, m, bytes, size);
}

void messages_repeat(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    uint32_t to = a->u.kept.node;
    trace_line(sim, node, '<', "retransmission of messages from %llu on to %u",
               (unsigned long long)a->u.kept.number, to);
    if (!sim->node[node].end)
        return;
    const struct td_unacknowledged *queue = &sim->node[node].end[to].unacknowledged;
    const struct td_unacknowledged_message *m = td_unacknowledged_from(queue, a->u.kept.number);
    for (; m && a->u.kept.via != UINT32_MAX; m = m->next)
        messages_put(sim, node, to, a->u.kept.via, true, m->bytes, m->size);
}

void messages_forget(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    if (sim->node[node].end)
        td_unacknowledged_acknowledge(&sim->node[node].end[a->u.kept.node].unacknowledged,
                                      a->u.kept.number);
}

void messages_keep_early(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    struct node *n = &sim->node[node];
    uint8_t bytes[TD_TREE_MESSAGE_MAX];
    size_t size = td_wire_encode_message(a->u.early.message, bytes, sizeof bytes);
    if (!n->early)
        n->early = calloc(sim->topology.nodes, sizeof *n->early);
    trace_line(sim, node, '<', "keep message %llu of %u", (unsigned long long)a->u.early.number,
               a->u.early.node);
    bool kept = n->early && size > 0 &&
                td_early_messages_keep(&n->early[a->u.early.node], a->u.early.number, bytes, size);
    assert(kept);
}

void messages_take_early(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    uint32_t from = a->u.early.node;
    struct td_early_message *m =
        td_early_messages_take(&sim->node[node].early[from], a->u.early.number);
    assert(m);
    struct event *e = queue_put(&sim->queue, sim->now, MESSAGE, node);
    e->from = from;
    e->kept = true;
    set_bytes(e, m->bytes, m->size);
    free(m);
}

void messages_forget_early(struct td_sim *sim, uint32_t node, uint32_t from)
{
    if (sim->node[node].early)
        td_early_messages_forget(&sim->node[node].early[from]);
}

void messages_free_early(const struct td_sim *sim, struct node *n)
{
    for (uint32_t i = 0; n->early && i < sim->topology.nodes; i++)
        td_early_messages_forget(&n->early[i]);
    free(n->early);
    n->early = NULL;
}

void messages_receive(struct td_sim *sim, struct event *e)
{
    struct td_message *m = &sim->message[sim->gathered_count];
    const char *why = NULL;
    if (!e->kept &&
        (disturbances_hold(sim, e) || !links_delivers(sim, e) || disturbances_refuse(sim, e)))
        return;
    if (e->size) {
        sim->decoded->used = 0;
        td_err error = td_wire_decode_message(e->object, e->size, sim->decoded, m, &why);
        assert(error == TD_OK || sim->options.tamper.message);
        if (error != TD_OK) {
            trace_line(sim, e->node, '>', "malformed message from %u: %s", e->from, why);
            links_cut(sim, e->node, e->from, why);
            return;
        }
    } else {
        memcpy(m, e->head, sizeof e->head);
    }
    trace_line(sim, e->node, '>', "message of kind %d from %u, operation %llu", (int)m->kind,
               e->from, (unsigned long long)m->sequence);
    trace_mix(sim, (uint64_t)m->kind);
    e->arrival.kind = TD_EVENT_TREE_MESSAGE;
    e->arrival.u.tree.node = e->from;
    e->arrival.u.tree.message = m;
    e->arrival.u.tree.two_paths = sim->options.express_permille > 0;
    if (e->size)
        cores_feed(sim, e->node, &e->arrival); /* sim->decoded has room for one decoded message */
    else
        cores_gather(sim, e->node, &e->arrival);
}
