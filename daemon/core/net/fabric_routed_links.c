/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that leave on links to neighbours, and the credits that travel with them. */
#include <assert.h>
#include <string.h>

#include "fabric_routed_links.h"
#include "inflight.h"

_Static_assert(TD_CHANNELS == sizeof((struct td_packet *)0)->channel_freed / sizeof(uint32_t),
               "a packet has the counts of all channels");

/* fill_counts writes a link's counts, and the freed counts of the channels that the neighbour
 * fills, into a packet that goes there. */
static void fill_counts(struct td_core *core, unsigned direction, struct td_packet *packet)
{
    struct td_routed *routed = core->routed;
    struct port *port = &routed->port[direction];
    packet->direction = (uint8_t)direction;
    td_router_tell(routed->router, direction ^ 1u, port->freed_sent);
    memcpy(packet->channel_freed, port->freed_sent, sizeof port->freed_sent);
    port->credit_late = false;
    routed->resend_counts &= ~(1u << direction);
    packet->session = port->link->session;
    packet->counts_session = port->link->session_in;
    packet->received = port->lane->received;
    packet->freed = 0; /* freed counts are by channel */
}

static td_time duration(const struct td_core *core, uint32_t bytes)
{
    if (bytes == core->settings.packet_bytes)
        return core->routed->packet_ns; /* saves a division for nearly every packet */
    return td_settings_link_time(&core->settings, bytes);
}

/* occupy marks a direction as busy for as long as a packet takes. A turn that comes late, because
 * the driver wakes late, counts the packet from when the turn was due: a link that has work carries
 * its rate. */
static void occupy(struct td_core *core, struct port *port, uint32_t bytes)
{
    td_time due = core->routed->due;
    port->bytes += bytes;
    port->free_at = (port->free_at > due ? port->free_at : due) + duration(core, bytes);
}

static void emit_own(struct td_core *core, const struct td_held *held, struct td_inflight *f)
{
    struct port *port = &core->routed->port[held->packet.direction];
    struct td_action *a = td_core_act_bare(core, TD_ACTION_SEND_PACKET);
    f->readers++;
    a->u.packet.node = port->neighbour;
    a->u.packet.handle = td_inflight_handle(core, f);
    td_slice_copy(&a->u.packet.slice, &f->transfer->from);
    td_core_notices.packet_view(f->operation, &a->u.packet.view);
    a->u.packet.packet = held->packet;
    fill_counts(core, held->packet.direction, &a->u.packet.packet);
    occupy(core, port, held->packet.bytes);
}

static void emit_forward(struct td_core *core, const struct td_held *held)
{
    struct port *port = &core->routed->port[held->packet.direction];
    struct td_action *a = td_core_act_bare(core, TD_ACTION_FORWARD_PACKET);
    a->u.forward.node = port->neighbour;
    a->u.forward.buffer = held->payload;
    a->u.forward.packet = held->packet;
    fill_counts(core, held->packet.direction, &a->u.forward.packet);
    occupy(core, port, held->packet.bytes);
}

void td_routed_emit(struct td_core *core, const struct td_held *held, bool again)
{
    struct td_inflight *f = td_held_inflight(core, held);
    if (again) {
        core->routed->due = core->now;
        core->routed->port[held->packet.direction].retries++;
        td_routed_wake(core, core->now);
    }
    if (f)
        emit_own(core, held, f);
    else
        emit_forward(core, held);
}

static void send_own(struct td_core *core, struct port *port, const struct td_move *move)
{
    struct td_routed *routed = core->routed;
    struct td_transfer *t = routed->ticket[(move->parcel.tag & ~OWN) >> TICKET_SHIFT].transfer;
    uint64_t offset = (move->parcel.tag & UINT32_MAX) * core->settings.packet_bytes;
    uint64_t left = t->bytes - offset;
    struct td_inflight *f = td_inflight_acquire(core, TD_INFLIGHT_PACKET, t->operation);
    f->transfer = t;
    f->node = port->neighbour;
    t->unsettled++;
    td_core_notices.in_flight_begin(t->operation);
    uint32_t i = td_held_acquire(core, td_inflight_index(core, f), true);
    struct td_packet *packet = &core->held[i].packet;
    *packet = (struct td_packet){
        .kind = TD_PACKET_DATA,
        .family = t->peer_family,
        .index = t->peer_index,
        .offset = offset,
        .bytes =
            (uint32_t)(left < core->settings.packet_bytes ? left : core->settings.packet_bytes),
        .channel = move->channel,
        .origin = core->node,
        .destination = t->peer,
        .direction = move->direction,
        .ticket = t->ticket};
    memcpy(packet->left, move->parcel.left, sizeof packet->left);
    td_core_notices.sent(core, t->operation, t->peer, packet->bytes);
    td_core_notices.packet_name(t->operation, packet);
    td_link_hold(core, port->link, i);
    emit_own(core, &core->held[i], f);
    t->offset += packet->bytes;
}

static void send_on(struct td_core *core, struct port *port, const struct td_move *move)
{
    uint32_t i = (uint32_t)move->parcel.tag;
    struct td_held *held = &core->held[i];
    held->packet.direction = move->direction;
    held->packet.channel = move->channel;
    memcpy(held->packet.left, move->parcel.left, sizeof held->packet.left);
    td_link_hold(core, port->link, i);
    emit_forward(core, held);
}

void td_routed_prefetch_move(const struct td_core *core, const struct td_move *move)
{
    uint64_t tag = move->parcel.tag;
    if (!(tag & OWN)) {
        __builtin_prefetch(&core->held[tag], 1);
        __builtin_prefetch(&core->held[tag].packet.link_sequence, 1);
        return;
    }
    const struct td_transfer *t = core->routed->ticket[(tag & ~OWN) >> TICKET_SHIFT].transfer;
    __builtin_prefetch(t, 1);
    __builtin_prefetch(&t->from, 1);
    __builtin_prefetch(&t->from.run, 1);
}

void td_routed_move(struct td_core *core, const struct td_move *move)
{
    struct port *port = &core->routed->port[move->direction];
    if (move->parcel.tag & OWN)
        send_own(core, port, move);
    else
        send_on(core, port, move);
}

/* ---- credits ---- */

/* send_credit sends freed counts alone when no packet has taken them along: at once when they
 * concern half of a channel's slots, else one turn later. */
static void send_credit(struct td_core *core, unsigned direction)
{
    struct td_routed *routed = core->routed;
    struct port *port = &routed->port[direction];
    bool resend = routed->resend_counts >> direction & 1;
    uint32_t most = 0;
    for (unsigned c = 0; c < TD_CHANNELS; c++) {
        uint32_t unsent =
            td_router_freed_count(routed->router, direction ^ 1u, c) - port->freed_sent[c];
        most = unsent > most ? unsent : most;
    }
    if (most == 0 && !resend)
        return;
    if (core->settings.link_rate && !port->credit_late && !resend &&
        2 * most < core->settings.router.slots) {
        port->credit_late = true;
        td_routed_wake(core, core->now + routed->packet_ns);
        return;
    }
    struct td_action *a = td_core_act_bare(core, TD_ACTION_SEND_PACKET);
    a->u.packet.node = port->neighbour;
    a->u.packet.packet = (struct td_packet){.kind = TD_PACKET_CREDIT};
    a->u.packet.may_wait = false; /* the counts of a direction do not replace those of another */
    fill_counts(core, direction, &a->u.packet.packet);
}

void td_routed_send_credits(struct td_core *core, uint32_t moved)
{
    struct td_routed *routed = core->routed;
    uint32_t news = td_router_news(routed->router); /* of packets that come the other way */
    news = (news & 0x55555555u) << 1 | (news >> 1 & 0x55555555u);
    for (uint32_t left = (news | routed->resend_counts) & ~moved; left; left &= left - 1) {
        unsigned direction = (unsigned)__builtin_ctz(left);
        if (td_link_is_open(routed->port[direction].link))
            send_credit(core, direction);
    }
}
