/* SPDX-License-Identifier: Apache-2.0 */
#include "packets.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cores.h"
#include "disturbances.h"
#include "faults.h"
#include "links.h"
#include "memory.h"
#include "trace.h"
#include "wire/packet.h"

/* struct parcel: a packet in flight, unless the world is modelled and timing-only. SENT and PACKET
 * share it. */
struct parcel {
    uint32_t bytes, holders;
    bool packed;
    uint8_t *payload;
    uint8_t header[TD_WIRE_PACKET_BYTES];
    struct td_slice slice;
    struct td_view view;
    uint64_t offset;
};

static struct parcel *new_parcel(struct td_sim *sim, uint32_t node, uint32_t to,
                                 const struct td_packet *p)
{
    struct parcel *parcel = calloc(1, sizeof *parcel);
    assert(parcel);
    parcel->bytes = p->kind == TD_PACKET_DATA ? p->bytes : 0;
    if (!sim->options.modelled) {
        struct td_packet header = *p;
        faults_tamper_packet(sim, node, to, &header);
        td_wire_encode_packet(&header, parcel->header);
    }
    if (parcel->bytes && !sim->options.timing_only) {
        parcel->payload = malloc(parcel->bytes);
        assert(parcel->payload);
    }
    return parcel;
}

void packets_release(struct parcel *p)
{
    if (p->holders > 0 && --p->holders > 0)
        return;
    free(p->payload);
    free(p);
}

/* ---- sending ---- */

/* put_landing stores the first bytes of a payload at their destination some time before the packet
 * arrives, like a driver that reads them to their place. */
static void put_landing(struct td_sim *sim, const struct event *packet, td_time sent)
{
    struct parcel *parcel = packet->object;
    if (!parcel || !parcel->payload || sim->options.modelled || td_sim_random(sim, 2))
        return;
    td_time at = sent + td_sim_random(sim, packet->time - sent + 1);
    struct event *e = queue_put(&sim->queue, at, LANDING, packet->node);
    e->from = packet->from;
    e->epoch = packet->epoch;
    e->handle = 1 + td_sim_random(sim, packet->size); /* bytes that have arrived */
    e->object = parcel;
    parcel->holders++;
}

/* put_one queues one arrival of a packet. */
static void put_one(struct td_sim *sim, uint32_t node, uint32_t to, const struct td_packet *p,
                    struct parcel *parcel, td_time sent)
{
    td_time at = sim->options.modelled ? sent : links_arrival(sim, node, to, BULK, sent, p->bytes);
    if (sim->in_order) {
        td_time *last = &sim->node[node].last_bulk[sim->session[p->direction]];
        at = *last = at > *last ? at : *last;
    }
    struct event *e = queue_put(&sim->queue, at, PACKET, to);
    e->from = node;
    e->epoch = links_epoch(sim, node, to);
    e->size = p->kind == TD_PACKET_DATA ? p->bytes : 0;
    if (sim->options.modelled)
        e->arrival.u.packet.packet = *p;
    e->object = parcel;
    if (parcel)
        parcel->holders++;
    put_landing(sim, e, sent);
    e->corrupt = disturbances_corrupt(sim, node, to);
}

/* put_packet queues the arrival of a packet that leaves at `sent`. A packet that is only a header
 * has no parcel. */
static void put_packet(struct td_sim *sim, uint32_t node, uint32_t to, const struct td_packet *p,
                       struct parcel *parcel, td_time sent)
{
    if (!links_usable(sim, node, to))
        return;
    for (int copies = disturbances_copies(sim, node, to); copies > 0; copies--)
        put_one(sim, node, to, p, parcel, sent);
}

/* time_on_link returns the time of a packet on the link. A packet without payload takes as long as
 * a full one, because the next packet carries its counts. */
static td_time time_on_link(const struct td_sim *sim, const struct td_packet *p)
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

/* read_bytes queues the reading of a packet's bytes and returns the time when it is done. */
static td_time read_bytes(struct td_sim *sim, uint32_t node, const struct td_action *a,
                          struct parcel *parcel)
{
    td_time at = sim->now;
    if (!parcel) {
        cores_complete(sim, TD_EVENT_SENT, a->u.packet.handle);
        return at;
    }
    parcel->slice = a->u.packet.slice;
    parcel->view = a->u.packet.view;
    parcel->offset = a->u.packet.packet.offset;
    if (!sim->options.modelled)
        at = clock_delay(sim, sim->options.compute_ns_max);
    parcel->holders++;
    sim->node[node].under_way++;
    struct event *e = queue_put(&sim->queue, at, SENT, node);
    e->epoch = sim->node[node].starts;
    e->handle = a->u.packet.handle;
    e->object = parcel;
    return at;
}

void packets_send(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    const struct td_packet *p = &a->u.packet.packet;
    uint32_t to = a->u.packet.node;
    bool data = p->kind == TD_PACKET_DATA;
    struct parcel *parcel = sim->instant ? NULL : new_parcel(sim, node, to, p);
    assert(to != node && (!data || p->bytes > 0));
    trace_line(sim, node, '<', "packet of kind %d to %u, %u bytes", (int)p->kind, to, p->bytes);
    td_time sent = data ? read_bytes(sim, node, a, parcel) : sim->now;
    if (sim->options.modelled) {
        sent += time_on_link(sim, p);
        if (data)
            observe(sim, node, p, 0);
    }
    put_packet(sim, node, to, p, parcel, sent);
    if (parcel && parcel->holders == 0)
        packets_release(parcel);
}

void packets_forward(struct td_sim *sim, uint32_t node, const struct td_action *a)
{
    const struct td_packet *p = &a->u.forward.packet;
    struct parcel *parcel = sim->instant ? NULL : new_parcel(sim, node, a->u.forward.node, p);
    td_time sent = sim->now;
    trace_line(sim, node, '<', "packet from %u to %u, on to %u", p->origin, p->destination,
               a->u.forward.node);
    if (parcel)
        parcel->packed = true;
    if (parcel && parcel->payload)
        memcpy(parcel->payload, sim->node[node].buffer[a->u.forward.buffer], p->bytes);
    if (sim->options.modelled) {
        sent += time_on_link(sim, p);
        observe(sim, node, p, sim->options.timing_only ? buffer_age(sim, a->u.forward.buffer) : 0);
    }
    put_packet(sim, node, a->u.forward.node, p, parcel, sent);
    if (parcel && parcel->holders == 0)
        packets_release(parcel);
}

void packets_forge(struct td_sim *sim, uint32_t from, uint32_t to, const struct td_packet *packet,
                   const uint8_t *payload)
{
    struct parcel *parcel = new_parcel(sim, from, to, packet);
    parcel->packed = true;
    if (parcel->payload && payload)
        memcpy(parcel->payload, payload, parcel->bytes);
    else if (parcel->payload)
        memset(parcel->payload, 0, parcel->bytes);
    put_packet(sim, from, to, packet, parcel, sim->now);
    if (parcel->holders == 0)
        packets_release(parcel);
}

void packets_read(struct td_sim *sim, const struct event *e)
{
    struct parcel *parcel = e->object;
    if (e->epoch != sim->node[e->node].starts || parcel->packed)
        return; /* an earlier daemon sent it */
    if (!sim->options.timing_only)
        memory_pack(&sim->node[e->node], &parcel->slice, &parcel->view, parcel->offset,
                    parcel->bytes, parcel->payload);
    parcel->packed = true;
}

void packets_sent(struct td_sim *sim, const struct event *e)
{
    if (e->epoch != sim->node[e->node].starts)
        return;
    packets_read(sim, e);
    sim->node[e->node].under_way--;
    cores_feed(sim, e->node, &(struct td_event){.kind = TD_EVENT_SENT, .u.sent.handle = e->handle});
}

/* ---- receiving ---- */

/* unwrap reads a packet's header and stores its bytes at the node. It returns false if its bytes
 * were not read in time. */
static bool unwrap(struct td_sim *sim, struct event *e)
{
    const struct parcel *parcel = e->object;
    struct td_event *event = &e->arrival;
    const char *why = NULL;
    if (e->size && !parcel->packed)
        return false;
    td_err error = TD_OK;
    if (!sim->options.modelled)
        error = td_wire_decode_packet(parcel->header, sizeof parcel->header,
                                      &event->u.packet.packet, &why);
    assert(error == TD_OK);
    if (e->size && !sim->options.timing_only) {
        uint8_t *payload = malloc(e->size);
        assert(payload);
        memcpy(payload, parcel->payload, e->size);
        event->u.packet.buffer = memory_store_buffer(&sim->node[e->node], payload);
    }
    return true;
}

void packets_receive(struct td_sim *sim, struct event *e)
{
    struct td_event *event = &e->arrival;
    if (disturbances_hold(sim, e) || !links_delivers(sim, e) || disturbances_refuse(sim, e))
        return;
    event->kind = TD_EVENT_PACKET;
    event->u.packet.node = e->from;
    event->u.packet.buffer = e->size ? (uint32_t)sim->now & SIM_AGE_MASK : UINT32_MAX;
    const struct parcel *parcel = e->object;
    if (e->size && parcel && !parcel->packed && disturbances_await(sim, e))
        return;
    if (e->object && !unwrap(sim, e))
        return;
    trace_line(sim, e->node, '>', "packet of kind %d from %u, %u bytes",
               (int)event->u.packet.packet.kind, e->from, e->size);
    trace_mix(sim, event->u.packet.packet.link_sequence);
    cores_gather(sim, e->node, event);
}

void packets_land(struct td_sim *sim, const struct event *e)
{
    const struct link_end *end = sim->node[e->node].end;
    const struct parcel *parcel = e->object;
    struct td_packet packet;
    struct td_compute to;
    const char *why = NULL;
    td_err error = td_wire_decode_packet(parcel->header, sizeof parcel->header, &packet, &why);
    assert(error == TD_OK);
    if ((end && (end[e->from].holds || end[e->from].unread)) || !links_delivers(sim, e) ||
        !parcel->packed || !td_core_landing(sim->node[e->node].core, e->from, &packet, &to))
        return;
    trace_line(sim, e->node, '>', "%llu bytes of a packet from %u", (unsigned long long)e->handle,
               e->from);
    to.bytes = e->handle;
    memory_land(&sim->node[e->node], &to, parcel->payload);
    sim->landings++;
}
