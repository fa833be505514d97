/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { REFUSED_NS = 1000000 };

/* arrival returns the arrival time of a message sent at `sent`: after those sent before it. */
static td_time arrival(struct td_sim *sim, uint32_t from, uint32_t to, int way, td_time sent)
{
    if (sim->options.modelled)
        return way == TREE
                   ? sent + sim->options.control_ns * td_topology_distance(&sim->topology, from, to)
                   : sent;
    td_time at = sent + 1 + td_sim_random(sim, sim->options.latency_ns_max);
    td_time *last = &sim->node[to].end[from].last[way];
    if (at <= *last)
        at = *last + 1;
    *last = at;
    return at;
}

/* is_up returns true if the link is up at this end. If the far daemon is dead, the core is notified
 * once. */
static bool is_up(struct td_sim *sim, uint32_t from, uint32_t to)
{
    struct end *e = &sim->node[from].end[to];
    if (e->up)
        return true;
    if (!sim->node[to].alive && !e->refused) {
        e->refused = true;
        struct event *down = queue_put(&sim->queue, sim->now + REFUSED_NS, LINK_DOWN, from);
        down->from = to;
        down->epoch = e->epoch;
        down->text = "connection refused";
        down->refused = true;
    }
    return false;
}

static inline bool reachable(struct td_sim *sim, uint32_t from, uint32_t to)
{
    return !sim->node[from].end || is_up(sim, from, to);
}

/* ---- tree messages ---- */

static uint32_t epoch(const struct td_sim *sim, uint32_t node, uint32_t to)
{
    const struct end *end = sim->node[node].end;
    return end ? end[to].epoch : 0;
}

/* put_message queues the arrival of a tree message. It returns NULL if the link is down. */
static struct event *put_message(struct td_sim *sim, uint32_t node, uint32_t to)
{
    if (!reachable(sim, node, to))
        return NULL;
    td_time at = arrival(sim, node, to, TREE, sim->now);
    struct event *e = queue_put(&sim->queue, at, MESSAGE, to);
    e->from = node;
    e->epoch = epoch(sim, node, to);
    return e;
}

static void put_encoded(struct td_sim *sim, uint32_t node, uint32_t to, const uint8_t *bytes,
                        size_t size)
{
    struct event *e = put_message(sim, node, to);
    if (!e)
        return;
    e->thing = malloc(size);
    assert(e->thing);
    memcpy(e->thing, bytes, size);
    e->size = (uint32_t)size;
}

/* head_is_enough returns true for kinds of which a modelled link carries the structure's first
 * bytes alone. */
static bool head_is_enough(const struct td_sim *sim, enum td_message_kind kind)
{
    return sim->options.modelled && (kind == TD_MESSAGE_DELIVERED || kind == TD_MESSAGE_SYNC);
}

static void send_head(struct td_sim *sim, uint32_t node, uint32_t to, const struct td_message *m)
{
    sim_trace(sim, node, '<', "message of kind %d to %u", (int)m->kind, to);
    struct event *e = put_message(sim, node, to);
    if (e)
        memcpy(e->head, m, sizeof e->head);
}

static void send_tree(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    enum td_message_kind kind = a->u.tree.message.kind;
    uint32_t to = a->u.tree.node, via = a->u.tree.via;
    if (sim->instant && kind == TD_MESSAGE_HEARTBEAT && to > node &&
        !a->u.tree.message.relay.is_relayed && !sim->node[node].end)
        return; /* node 0 alone is asked who is up, and 4096 that come up at once are millions */
    if (head_is_enough(sim, kind) && !a->u.tree.held) {
        send_head(sim, node, via, &a->u.tree.message);
        return;
    }
    uint8_t bytes[TD_TREE_MESSAGE_MAX], payload[TD_RIDE_BYTES_MAX];
    struct td_message m = a->u.tree.message;
    int64_t ride = td_slice_bytes(&a->u.tree.payload);
    assert(ride <= TD_RIDE_BYTES_MAX && to != node);
    if (ride > 0 && sim->options.hollow)
        memset(payload, 0, (size_t)ride);
    else if (ride > 0)
        memory_pack(&sim->node[node], &a->u.tree.payload, &a->u.tree.view, 0, (uint64_t)ride,
                    payload);
    if (ride > 0)
        td_message_load(&m, payload, (uint32_t)ride);
    size_t size = td_wire_encode_message(&m, bytes, sizeof bytes);
    assert(size > 0); /* it is at most TD_TREE_MESSAGE_MAX */
    sim_trace(sim, node, '<', "message of kind %d to %u, %zu bytes", (int)m.kind, to, size);
    bool answers = m.kind == TD_MESSAGE_RELEASE || m.kind == TD_MESSAGE_ANNOUNCE_AGAIN;
    if (answers && sim->options.observer.release)
        sim->options.observer.release(sim->options.observer.me, sim->now);
    if (m.number && !sim->options.modelled) { /* no modelled link loses anything */
        bool kept =
            td_retransmit_keep(&sim->node[node].end[to].unacknowledged, m.number, bytes, size);
        assert(kept);
    }
    if (!a->u.tree.held || !sim->node[node].end) /* without ends, links need not be up */
        put_encoded(sim, node, via, bytes, size);
    else if (via != UINT32_MAX)
        reachable(sim, node, via);
}

/* forward_tree sends a received message on; the simulated network may lose it. */
static void forward_tree(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    const struct td_message *m = a->u.relay.message;
    uint8_t bytes[TD_TREE_MESSAGE_MAX];
    if (sim->options.relay_loss_permille &&
        td_sim_random(sim, 1000) < sim->options.relay_loss_permille)
        return;
    if (head_is_enough(sim, m->kind)) {
        send_head(sim, node, a->u.relay.node, m);
        return;
    }
    size_t size = td_wire_encode_message(m, bytes, sizeof bytes);
    assert(size > 0);
    sim_trace(sim, node, '<', "message of kind %d from %u on to %u", (int)m->kind, m->relay.origin,
              a->u.relay.node);
    put_encoded(sim, node, a->u.relay.node, bytes, size);
}

static void repeat_tree(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    uint32_t to = a->u.kept.node;
    sim_trace(sim, node, '<', "messages from %llu on again to %u",
              (unsigned long long)a->u.kept.number, to);
    if (!sim->node[node].end)
        return;
    const struct td_retransmit *queue = &sim->node[node].end[to].unacknowledged;
    const struct td_retransmit_message *m = td_retransmit_from(queue, a->u.kept.number);
    for (; m && a->u.kept.via != UINT32_MAX; m = m->next)
        put_encoded(sim, node, a->u.kept.via, m->bytes, m->size);
}

/* put_landing stores the first bytes of a payload at their destination some time before the packet
 * arrives, like a driver that reads them to their place. */
static void put_landing(struct td_sim *sim, const struct event *packet, td_time sent)
{
    struct parcel *parcel = packet->thing;
    if (!parcel || !parcel->payload || sim->options.modelled || td_sim_random(sim, 2))
        return;
    td_time at = sent + td_sim_random(sim, packet->time - sent + 1);
    struct event *e = queue_put(&sim->queue, at, LANDING, packet->node);
    e->from = packet->from;
    e->epoch = packet->epoch;
    e->handle = 1 + td_sim_random(sim, packet->size); /* bytes that have arrived */
    e->thing = parcel;
    parcel->holders++;
}

/* put_packet queues the arrival of a packet that leaves at `sent`. A packet that is only a header
 * has no parcel. */
static void put_packet(struct td_sim *sim, uint32_t node, uint32_t to, const struct td_packet *p,
                       struct parcel *parcel, td_time sent)
{
    if (!reachable(sim, node, to))
        return;
    td_time at = sim->options.modelled ? sent : arrival(sim, node, to, BULK, sent);
    if (sim->in_order) {
        td_time *last = &sim->node[node].last_bulk[sim->cable[p->direction]];
        at = *last = at > *last ? at : *last;
    }
    struct event *e = queue_put(&sim->queue, at, PACKET, to);
    e->from = node;
    e->epoch = epoch(sim, node, to);
    e->size = p->kind == TD_PACKET_DATA ? p->bytes : 0;
    if (sim->options.modelled)
        e->arrival.u.packet.packet = *p;
    e->thing = parcel;
    if (parcel)
        parcel->holders++;
    put_landing(sim, e, sent);
}

/* on_link returns the time of a packet on the link. A packet without payload takes as long as a
 * full one, because the next packet carries its counts. */
static td_time on_link(const struct td_sim *sim, const struct td_packet *p)
{
    const struct td_settings *s = &sim->options.settings;
    td_time latency = (td_time)s->link_latency_ns;
    if (p->bytes == 0 || p->bytes == s->packet_bytes)
        return sim->packet_ns + latency; /* saves a division for nearly every packet */
    return td_settings_link_time(s, p->bytes) + latency;
}

static void observe(struct td_sim *sim, uint32_t node, const struct td_packet *p, td_time waited)
{
    const struct td_observer *o = &sim->options.observer;
    if (o->hop)
        o->hop(o->me, sim->now, node, p->direction, p->bytes, waited);
}

static struct parcel *new_parcel(const struct td_sim *sim, const struct td_packet *p)
{
    struct parcel *parcel = calloc(1, sizeof *parcel);
    assert(parcel);
    parcel->bytes = p->kind == TD_PACKET_DATA ? p->bytes : 0;
    if (!sim->options.modelled)
        td_wire_encode_packet(p, parcel->header);
    if (parcel->bytes && !sim->options.hollow) {
        parcel->payload = malloc(parcel->bytes);
        assert(parcel->payload);
    }
    return parcel;
}

/* read_bytes queues the reading of a packet's bytes and returns the time when it is done. */
static td_time read_bytes(struct td_sim *sim, uint32_t node, const struct td_action *a,
                          struct parcel *parcel)
{
    td_time at = sim->now;
    if (!parcel) {
        sim_answer(sim, TD_EVENT_SENT, a->u.packet.handle);
        return at;
    }
    parcel->slice = a->u.packet.slice;
    parcel->view = a->u.packet.view;
    parcel->offset = a->u.packet.packet.offset;
    if (!sim->options.modelled)
        at = sim_delay(sim, sim->options.compute_ns_max);
    parcel->holders++;
    sim->node[node].under_way++;
    struct event *e = queue_put(&sim->queue, at, SENT, node);
    e->handle = a->u.packet.handle;
    e->thing = parcel;
    return at;
}

static void send_packet(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    const struct td_packet *p = &a->u.packet.packet;
    uint32_t to = a->u.packet.node;
    bool data = p->kind == TD_PACKET_DATA;
    struct parcel *parcel = sim->instant ? NULL : new_parcel(sim, p);
    assert(to != node && (!data || p->bytes > 0));
    sim_trace(sim, node, '<', "packet of kind %d to %u, %u bytes", (int)p->kind, to, p->bytes);
    td_time sent = data ? read_bytes(sim, node, a, parcel) : sim->now;
    if (sim->options.modelled) {
        sent += on_link(sim, p);
        if (data)
            observe(sim, node, p, 0);
    }
    put_packet(sim, node, to, p, parcel, sent);
    if (parcel && parcel->holders == 0)
        sim_drop_parcel(parcel);
}

static void forward_packet(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    const struct td_packet *p = &a->u.forward.packet;
    struct parcel *parcel = sim->instant ? NULL : new_parcel(sim, p);
    td_time sent = sim->now;
    sim_trace(sim, node, '<', "packet from %u to %u, on to %u", p->origin, p->destination,
              a->u.forward.node);
    if (parcel)
        parcel->packed = true;
    if (parcel && parcel->payload)
        memcpy(parcel->payload, sim->node[node].buffer[a->u.forward.buffer], p->bytes);
    if (sim->options.modelled) {
        sent += on_link(sim, p);
        observe(sim, node, p, sim->options.hollow ? sim_age(sim, a->u.forward.buffer) : 0);
    }
    put_packet(sim, node, a->u.forward.node, p, parcel, sent);
    if (parcel && parcel->holders == 0)
        sim_drop_parcel(parcel);
}

static const char *compute_name(const struct td_compute *c)
{
    return c->kind == TD_COMPUTE_STEP ? td_step_kind_name(c->step.kind) : "unpack, load or store";
}

/* compute starts a computation, which reads and writes at once or when it ends. */
static void compute(struct td_sim *sim, uint32_t node, const struct td_compute *c)
{
    if (sim->instant) {
        sim_trace(sim, node, '<', "compute %s", compute_name(c));
        sim_answer(sim, TD_EVENT_COMPUTED, c->handle);
        return;
    }
    struct computation *k = calloc(1, sizeof *k);
    assert(k);
    k->compute = *c;
    bool modelled = sim->options.modelled;
    if (sim->options.hollow) {
        k->done = true;
    } else if (modelled || c->kind == TD_COMPUTE_LOAD || c->kind == TD_COMPUTE_STORE ||
               td_sim_random(sim, 2)) {
        k->error = memory_compute(sim, node, c);
        k->done = true;
    }
    sim->node[node].under_way++;
    sim_trace(sim, node, '<', "compute %s", compute_name(c));
    td_time end = modelled ? sim->now : sim_delay(sim, sim->options.compute_ns_max);
    struct event *e = queue_put(&sim->queue, end, COMPUTED, node);
    e->handle = c->handle;
    e->thing = k;
}

static void reply(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    const struct td_reply *r = a->u.reply.reply;
    sim_trace(sim, node, '<', "reply to client %u, request %llu: %d %s", a->u.reply.client,
              (unsigned long long)r->id, (int)r->error, r->text);
    sim_mix(sim, r->id);
    sim_mix(sim, (uint64_t)(int64_t)r->error);
    sim->replied = true;
    client_take_reply(sim, a->u.reply.client, r);
}

static void act(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    switch (a->kind) {
    case TD_ACTION_SEND_TREE:
        send_tree(sim, node, a);
        return;
    case TD_ACTION_SEND_PACKET:
        send_packet(sim, node, a);
        return;
    case TD_ACTION_FORWARD_TREE:
        forward_tree(sim, node, a);
        return;
    case TD_ACTION_REPEAT_TREE:
        repeat_tree(sim, node, a);
        return;
    case TD_ACTION_FORGET_TREE:
        if (sim->node[node].end)
            td_retransmit_acknowledge(&sim->node[node].end[a->u.kept.node].unacknowledged,
                                      a->u.kept.number);
        return;
    case TD_ACTION_FORWARD_PACKET:
        forward_packet(sim, node, a);
        return;
    case TD_ACTION_REPLY:
        reply(sim, node, a);
        return;
    case TD_ACTION_CLOSE_CLIENT:
        sim_trace(sim, node, '<', "close client %u", a->u.close.client);
        client_cut_off(sim, a->u.close.client);
        return;
    case TD_ACTION_COMPUTE:
        compute(sim, node, &a->u.compute);
        return;
    case TD_ACTION_RELEASE_BUFFER:
        if (!sim->options.hollow)
            memory_release_buffer(&sim->node[node], a->u.buffer.buffer);
        return;
    case TD_ACTION_RELEASE_REGION:
        memory_unmap(&sim->node[node], a->u.region.handle);
        return;
    case TD_ACTION_DROP_LINK:
        sim_trace(sim, node, '<', "drop the link to %u: %s", a->u.drop.node, a->u.drop.text);
        sim->drops++;
        sim_tear(sim, node, a->u.drop.node, "the link was dropped");
        return;
    case TD_ACTION_STOPPED:
        sim_trace(sim, node, '<', "stopped");
        return;
    }
}

void sim_act(struct td_sim *sim, uint32_t node)
{
    const struct td_action *action = sim->actions->action, *end = action + sim->actions->count;
    sim->replied = false;
    for (; action < end; action++)
        act(sim, node, action);
    if (sim->replied)
        memory_poison(sim, &sim->node[node]);
}
