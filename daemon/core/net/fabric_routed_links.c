/* SPDX-License-Identifier: Apache-2.0 */
/* Packets on links: what is sent to a neighbour, first or again, until it says that it has it. */
#include <assert.h>
#include <string.h>

#include "inflight.h"
#include "fabric_routed_internal.h"

_Static_assert(TD_CHANNELS == sizeof((struct td_packet *)0)->channel_freed / sizeof(uint32_t),
               "a packet tells of all channels");

/* ---- notes ---- */

uint32_t td_torus_take_note(struct td_torus *torus, uint32_t buffer, bool own)
{
    uint32_t place = torus->notes_free;
    assert(torus->notes_left > 0); /* looked at before */
    torus->notes_left--;
    torus->notes_free = torus->note[place].next;
    torus->note[place].buffer = buffer;
    torus->note[place].own = own;
    return place;
}

void td_torus_give_note(struct td_torus *torus, uint32_t place)
{
    td_torus_chain(torus, place, torus->notes_free);
    torus->notes_free = place;
    torus->notes_left++;
}

/* put_on_link gives a packet that is being sent its place in the link's session. It is on the link
 * until the far end has acknowledged it and the driver reads no more. */
static void put_on_link(struct td_torus *torus, const struct port *port, uint32_t place)
{
    struct td_lane *lane = port->lane;
    struct note *note = &torus->note[place];
    note->packet.session = port->link->session;
    note->packet.link_sequence = ++lane->sent;
    note->next = NO_NOTE;
    if (lane->first_note == NO_NOTE)
        lane->first_note = place;
    else
        td_torus_chain(torus, lane->last_note, place);
    lane->last_note = place;
    lane->notes++;
}

/* flight_of returns the flight of a packet of this node, else NULL. */
static struct td_inflight *flight_of(const struct td_core *core, const struct note *note)
{
    return note->own ? &core->flight[note->buffer] : NULL;
}

/* settle ends a packet that is acknowledged by the neighbour, or lost, and no longer read. */
static void settle(struct td_core *core, uint32_t place, struct td_inflight *f)
{
    if (!f) {
        td_core_release_buffer(core, core->torus->note[place].buffer);
        td_torus_give_note(core->torus, place);
        return;
    }
    struct td_operation *operation = f->operation;
    td_torus_give_note(core->torus, place);
    f->transfer->unsettled--;
    td_torus_finish(core, f->transfer);
    td_inflight_give(core, f);
    td_core_notices.in_flight_end(core, operation);
}

/* is_acknowledged: also of what was lost with its session, which nobody will acknowledge. */
static bool is_acknowledged(const struct td_link *link, const struct note *note)
{
    return note->packet.link_sequence <= link->lane->acknowledged ||
           note->packet.session != link->session;
}

void td_torus_settle(struct td_core *core, struct td_link *link)
{
    struct td_lane *lane = link->lane;
    struct note *notes = core->torus->note;
    uint32_t before = NO_NOTE; /* the driver still reads it */
    /* those that are acknowledged come before those that are not */
    for (uint32_t place = lane->first_note, next; lane->notes > lane->sent - lane->acknowledged;
         place = next) {
        if (place == NO_NOTE || !is_acknowledged(link, &notes[place]))
            return; /* the others are still read */
        struct td_inflight *f = flight_of(core, &notes[place]);
        next = notes[place].next;
        if (f && f->readers) {
            before = place;
            continue;
        }
        if (!td_core_room(core)) {
            td_core_queue(core, &link->task);
            return;
        }
        if (before == NO_NOTE)
            lane->first_note = next;
        else
            td_torus_chain(core->torus, before, next);
        if (next == NO_NOTE)
            lane->last_note = before;
        lane->notes--;
        settle(core, place, f);
    }
}

void td_torus_fetch_packet(const struct td_core *core, uint32_t node)
{
    uint32_t place = core->link[node].lane->first_note;
    if (place != NO_NOTE)
        __builtin_prefetch(&core->torus->note[place].packet.link_sequence, 1);
}

/* ---- sending ---- */

/* tell writes what was received from a port's neighbour, and freed in the channels that it fills.
 */
static void tell(struct td_core *core, unsigned direction, struct td_packet *packet)
{
    struct td_torus *torus = core->torus;
    struct port *port = &torus->port[direction];
    packet->direction = (uint8_t)direction;
    td_router_tell(torus->router, direction ^ 1u, port->told);
    memcpy(packet->channel_freed, port->told, sizeof port->told);
    port->untold = false;
    torus->again &= ~(1u << direction);
    packet->session = port->link->session;
    packet->counts_session = port->link->session_in;
    packet->received = port->lane->received;
    packet->freed = 0; /* it is told by channel */
}

static td_time duration(const struct td_core *core, uint32_t bytes)
{
    if (bytes == core->settings.packet_bytes)
        return core->torus->packet_ns; /* a division saved at nearly every packet */
    return td_settings_link_time(&core->settings, bytes);
}

/* occupy keeps the way out busy for as long as the packet takes. When the turn comes late, by what
 * it takes a driver to wake, the packet counts as sent when it was due: a link that has work
 * carries its rate. */
static void occupy(struct td_core *core, struct port *port, uint32_t bytes)
{
    td_time due = core->torus->due;
    port->bytes += bytes;
    port->free_at = (port->free_at > due ? port->free_at : due) + duration(core, bytes);
}

/* emit_own sends a packet of this node, for the first time or again. */
static void emit_own(struct td_core *core, struct td_inflight *f, const struct td_packet *packet)
{
    struct port *port = &core->torus->port[packet->direction];
    struct td_action *a = td_core_act_bare(core, TD_ACTION_SEND_PACKET);
    f->readers++;
    a->u.packet.node = port->neighbour;
    a->u.packet.handle = td_inflight_handle(core, f);
    td_slice_copy(&a->u.packet.slice, &f->transfer->from);
    td_core_notices.packet_view(f->operation, &a->u.packet.view);
    a->u.packet.packet = *packet;
    tell(core, packet->direction, &a->u.packet.packet);
    occupy(core, port, packet->bytes);
}

static void emit_forward(struct td_core *core, const struct note *note)
{
    struct port *port = &core->torus->port[note->packet.direction];
    struct td_action *a = td_core_act_bare(core, TD_ACTION_FORWARD_PACKET);
    a->u.forward.node = port->neighbour;
    a->u.forward.buffer = note->buffer;
    a->u.forward.packet = note->packet;
    tell(core, note->packet.direction, &a->u.forward.packet);
    occupy(core, port, note->packet.bytes);
}

bool td_torus_send_again(struct td_core *core, struct td_link *link)
{
    struct td_torus *torus = core->torus;
    struct td_lane *lane = link->lane;
    torus->due = core->now;
    td_torus_wake(core, core->now);
    for (uint32_t i = lane->first_note; i != NO_NOTE; i = torus->note[i].next) {
        const struct note *note = &torus->note[i];
        if (note->packet.link_sequence < lane->again || is_acknowledged(link, note))
            continue;
        if (!td_core_room(core))
            return false;
        torus->port[note->packet.direction].retries++;
        struct td_inflight *f = flight_of(core, note);
        if (f)
            emit_own(core, f, &note->packet);
        else
            emit_forward(core, note);
        lane->again = note->packet.link_sequence + 1;
    }
    lane->again = 0;
    return true;
}

static void send_own(struct td_core *core, struct port *port, const struct td_move *move)
{
    struct td_torus *torus = core->torus;
    struct td_transfer *t = torus->ticket[(move->parcel.tag & ~OWN) >> PLACE_SHIFT].transfer;
    uint64_t offset = (move->parcel.tag & UINT32_MAX) * core->settings.packet_bytes;
    uint64_t left = t->bytes - offset;
    struct td_inflight *f = td_inflight_take(core, TD_INFLIGHT_PACKET, t->operation);
    f->transfer = t;
    f->node = port->neighbour;
    t->unsettled++;
    td_core_notices.in_flight_begin(t->operation);
    uint32_t place = td_torus_take_note(torus, td_inflight_place(core, f), true);
    struct td_packet *packet = &torus->note[place].packet;
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
    td_core_notices.packet_name(t->operation, packet);
    put_on_link(torus, port, place);
    emit_own(core, f, packet);
    t->offset += packet->bytes;
}

static void send_on(struct td_core *core, struct port *port, const struct td_move *move)
{
    uint32_t place = (uint32_t)move->parcel.tag;
    struct note *note = &core->torus->note[place];
    note->packet.direction = move->direction;
    note->packet.channel = move->channel;
    memcpy(note->packet.left, move->parcel.left, sizeof note->packet.left);
    put_on_link(core->torus, port, place);
    emit_forward(core, note);
}

void td_torus_fetch_moved(const struct td_torus *torus, const struct td_move *move)
{
    uint64_t tag = move->parcel.tag;
    if (!(tag & OWN)) {
        __builtin_prefetch(&torus->note[tag], 1);
        __builtin_prefetch(&torus->note[tag].packet.link_sequence, 1);
        return;
    }
    const struct td_transfer *t = torus->ticket[(tag & ~OWN) >> PLACE_SHIFT].transfer;
    __builtin_prefetch(t, 1);
    __builtin_prefetch(&t->from, 1);
    __builtin_prefetch(&t->from.run, 1);
}

void td_torus_move(struct td_core *core, const struct td_move *move)
{
    struct port *port = &core->torus->port[move->direction];
    if (move->parcel.tag & OWN)
        send_own(core, port, move);
    else
        send_on(core, port, move);
}

/* ---- credits ---- */

/* give_credit sends the freed counts on their own when no packet has taken them along: at once when
 * half of a channel's slots are concerned, else a turn later. */
static void give_credit(struct td_core *core, unsigned direction)
{
    struct td_torus *torus = core->torus;
    struct port *port = &torus->port[direction];
    bool again = torus->again >> direction & 1;
    uint32_t most = 0;
    for (unsigned c = 0; c < TD_CHANNELS; c++) {
        uint32_t untold = td_router_freed_count(torus->router, direction ^ 1u, c) - port->told[c];
        most = untold > most ? untold : most;
    }
    if (most == 0 && !again)
        return;
    if (core->settings.link_rate && !port->untold && !again &&
        2 * most < core->settings.router.slots) {
        port->untold = true;
        td_torus_wake(core, core->now + torus->packet_ns);
        return;
    }
    struct td_action *a = td_core_act_bare(core, TD_ACTION_SEND_PACKET);
    a->u.packet.node = port->neighbour;
    a->u.packet.packet = (struct td_packet){.kind = TD_PACKET_CREDIT};
    tell(core, direction, &a->u.packet.packet);
}

void td_torus_give_credits(struct td_core *core, uint32_t moved)
{
    struct td_torus *torus = core->torus;
    uint32_t news = td_router_news(torus->router); /* about packets that come the other way */
    news = (news & 0x55555555u) << 1 | (news >> 1 & 0x55555555u);
    for (uint32_t left = (news | torus->again) & ~moved; left; left &= left - 1) {
        unsigned direction = (unsigned)__builtin_ctz(left);
        if (torus->port[direction].link->open)
            give_credit(core, direction);
    }
}
