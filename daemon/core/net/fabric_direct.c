/* SPDX-License-Identifier: Apache-2.0 */
/* The direct fabric: each message waits in the queue of the link to its destination. The jobs take
 * turns of a packet there, before a packet gets its number; the messages of one job follow each
 * other. At most `link_credits` packets of a link are not freed by the far end. A message is
 * delivered when all of its packets are settled. A short one is carried (carry.h), and delivered
 * when it is sent: its packets would not be, before a packet of its own had acknowledged them. */
#include <assert.h>

#include "carry.h"
#include "fabric.h"

static bool init(struct td_core *core)
{
    return td_inflight_init_held(core, TD_INFLIGHTS_MAX); /* a packet has an inflight record, too */
}

static bool adjacent(const struct td_core *core, uint32_t node)
{
    return node != core->node;
}

static bool health_edge(const struct td_core *core, uint32_t node)
{
    return td_topology_tree(core->node, node);
}

/* ---- control messages ---- */

static uint32_t next_hop(struct td_core *core, uint32_t node)
{
    (void)core;
    return node;
}

static uint32_t route(struct td_core *core, struct td_message *m)
{
    (void)core;
    return m->relay.destination;
}

static uint32_t relay(struct td_core *core, uint32_t hop, struct td_message *m)
{
    (void)core;
    return m->relay.is_relayed ? UINT32_MAX : hop;
}

/* ---- messages ---- */

/* approach sends the packet counts: they make the driver open its stream, too. */
static void approach(struct td_core *core, uint32_t node)
{
    struct td_link *link = &core->link[node];
    if (link->lane->sent > 0 && td_link_is_open(link))
        return;
    link->counts_due = true;
    td_core_queue(core, &link->task);
}

static bool send(struct td_core *core, struct td_sender *sender, unsigned family, uint64_t index,
                 const struct td_step *step)
{
    struct td_transfer *t = td_arena_alloc(sender->arena, sizeof *t);
    if (!t)
        return false;
    struct td_link *link = &core->link[step->peer];
    *t = (struct td_transfer){.operation = sender->operation,
                              .sender = sender,
                              .family = family,
                              .index = index,
                              .from = step->from,
                              .peer = step->peer,
                              .peer_family = step->peer_family,
                              .peer_index = step->peer_index,
                              .bytes = (uint64_t)td_step_bytes(step)};
    t->carried = t->bytes > 0 && t->bytes <= core->settings.carry_bytes;
    td_shares_add(&link->lane->queue, &t->turn, sender->job);
    sender->queued++;
    td_core_queue(core, &link->task);
    return true;
}

static void finish(struct td_core *core, struct td_transfer *t)
{
    if (!t->abandoned)
        td_core_notices.delivered(core, t->operation, t->family, t->index);
    td_core_free(core, t);
}

struct dropping {
    struct td_core *core;
    const struct td_operation *operation;
};

/* drop ends a message that waits, if it is one of an operation that has ended. */
static bool drop(void *me, struct td_turn *turn)
{
    const struct dropping *d = me;
    struct td_transfer *t = (struct td_transfer *)turn;
    if (t->operation != d->operation)
        return false;
    t->abandoned = true;
    t->sender->queued--;
    if (t->unsettled == 0)
        td_core_free(d->core, t);
    return true;
}

static void abandon_on_link(struct td_core *core, struct td_lane *lane,
                            const struct td_sender *sender)
{
    for (uint32_t i = lane->first_held; i != TD_HELD_NONE; i = core->held[i].next) {
        struct td_inflight *f = td_held_inflight(core, &core->held[i]);
        if (f->operation == sender->operation)
            f->transfer->abandoned = true;
    }
    if (sender->queued > 0) /* else it has none among what may be thousands of its job */
        td_shares_remove(&lane->queue, sender->job, drop,
                         &(struct dropping){core, sender->operation});
}

static void abandon(struct td_core *core, struct td_sender *sender)
{
    for (uint32_t n = 0; n < core->options.topology.nodes; n++)
        abandon_on_link(core, core->link[n].lane, sender);
}

static void forget(struct td_core *core, struct td_sender *sender)
{
    (void)core;
    (void)sender;
}

static void settled(struct td_core *core, struct td_inflight *f)
{
    struct td_transfer *t = f->transfer;
    bool queued = t->offset < t->bytes && !t->abandoned;
    td_core_queue(core, &core->link[f->node].task); /* it may have lacked an inflight record */
    if (--t->unsettled == 0 && !queued)
        finish(core, t);
}

/* ---- packets ---- */

/* fill_counts writes the cumulative counts of a link into a packet that goes there. */
static void fill_counts(const struct td_link *link, struct td_packet *packet)
{
    struct td_lane *lane = link->lane;
    packet->session = link->session;
    packet->counts_session = link->session_in;
    packet->received = lane->received_told = lane->received;
    packet->freed = lane->freed_told = lane->freed;
}

static void emit(struct td_core *core, const struct td_held *held, bool again)
{
    (void)again;
    struct td_inflight *f = td_held_inflight(core, held);
    struct td_action *a = td_core_act(core, TD_ACTION_SEND_PACKET);
    f->readers++;
    a->u.packet.node = f->node;
    a->u.packet.handle = td_inflight_handle(core, f);
    a->u.packet.slice = f->transfer->from;
    td_core_notices.packet_view(f->operation, &a->u.packet.view);
    a->u.packet.packet = held->packet;
    fill_counts(&core->link[f->node], &a->u.packet.packet);
}

/* next_message returns the message whose turn it is; NULL: none waits. */
static struct td_transfer *next_message(const struct td_lane *lane)
{
    return (struct td_transfer *)lane->queue.first;
}

/* send_packet sends the next packet of the job whose turn it is; false if there is no inflight
 * record. */
static bool send_packet(struct td_core *core, struct td_link *link)
{
    struct td_lane *lane = link->lane;
    struct td_transfer *t = next_message(lane);
    struct td_inflight *f = td_inflight_acquire(core, TD_INFLIGHT_PACKET, t->operation);
    if (!f)
        return false;
    uint64_t left = t->bytes - t->offset, most = core->settings.packet_bytes;
    f->transfer = t;
    f->node = link->node;
    t->unsettled++;
    td_core_notices.in_flight_begin(t->operation);
    uint32_t i = td_held_acquire(core, td_inflight_index(core, f), true);
    struct td_packet *packet = &core->held[i].packet;
    *packet = (struct td_packet){.kind = TD_PACKET_DATA,
                                 .family = t->peer_family,
                                 .index = t->peer_index,
                                 .offset = t->offset,
                                 .bytes = (uint32_t)(left < most ? left : most)};
    td_core_notices.packet_name(t->operation, packet);
    td_core_notices.sent(core, t->operation, link->node, packet->bytes);
    td_link_hold(core, link, i);
    emit(core, &core->held[i], false);
    t->offset += packet->bytes;
    t->sender->queued -= t->offset == t->bytes;
    td_shares_served(&lane->queue, packet->bytes, t->offset == t->bytes);
    return true;
}

/* carry sends the message whose turn it is in a CARRY; false if there is no inflight record. */
static bool carry(struct td_core *core, struct td_link *link)
{
    struct td_transfer *t = next_message(link->lane);
    if (!td_carry_part(core, t, TD_LONG_RIDE_BYTES_MAX))
        return false;
    link->lane->bytes += t->bytes;
    t->sender->queued--;
    td_shares_served(&link->lane->queue, t->bytes, true);
    finish(core, t);
    return true;
}

/* may_send returns true if the next message, or a packet of it, may be sent. */
static bool may_send(const struct td_core *core, const struct td_link *link)
{
    const struct td_lane *lane = link->lane;
    return next_message(lane)->carried
               ? td_carry_has_room(link)
               : lane->sent - lane->freed_there < core->settings.link_credits;
}

/* counts_due returns true if freed counts should travel now: when a quarter of the credits is not
 * reported, or when all that was received is freed, because the far end may wait for just that. */
static bool counts_due(const struct td_core *core, const struct td_link *link)
{
    const struct td_lane *lane = link->lane;
    uint64_t unreported = lane->freed - lane->freed_told;
    if (link->counts_due)
        return true;
    if (lane->received == lane->received_told && unreported == 0)
        return false;
    return lane->received == lane->freed || unreported * 4 >= core->settings.link_credits;
}

static bool transmit(struct td_core *core, struct td_link *link)
{
    struct td_lane *lane = link->lane;
    if ((lane->queue.first || counts_due(core, link)) && !td_link_is_open(link)) {
        td_link_want(core, link);
        return true; /* continues when the link opens */
    }
    while (lane->queue.first && may_send(core, link)) {
        if (!td_core_room(core))
            return false;
        if (!(next_message(lane)->carried ? carry(core, link) : send_packet(core, link)))
            return true; /* no inflight record: the next one that settles queues the link again */
    }
    link->owed = lane->queue.first && next_message(lane)->carried;
    if (counts_due(core, link)) {
        if (!td_core_room(core))
            return false;
        struct td_action *a = td_core_act(core, TD_ACTION_SEND_PACKET);
        a->u.packet.node = link->node;
        a->u.packet.packet = (struct td_packet){.kind = TD_PACKET_CREDIT};
        a->u.packet.may_wait = !link->counts_due;
        fill_counts(link, &a->u.packet.packet);
        link->counts_due = false;
    }
    return true;
}

static enum td_accept accept(struct td_core *core, uint32_t node, const struct td_packet *packet,
                             uint32_t buffer, const char **why)
{
    struct td_link *link = &core->link[node];
    struct td_lane *lane = link->lane;
    if (packet->kind != TD_PACKET_DATA)
        return TD_ACCEPT_RELEASED;
    td_core_queue(core, &link->task);
    bool fits = packet->bytes <= core->settings.packet_bytes;
    if (!fits || lane->received - lane->freed >= core->settings.link_credits) {
        *why = fits ? "protocol violation: it sent a packet without a credit"
                    : "protocol violation: it sent a packet that is too long";
        return TD_ACCEPT_VIOLATION;
    }
    if (td_core_notices.packet(core, node, packet, buffer))
        return TD_ACCEPT_KEPT;
    lane->freed++; /* its operation has ended here */
    return TD_ACCEPT_RELEASED;
}

static uint32_t origin(const struct td_core *core, uint32_t node, const struct td_packet *packet)
{
    (void)core;
    (void)packet;
    return node;
}

static void unpacked(struct td_core *core, const struct td_inflight *f)
{
    struct td_link *link = &core->link[f->node];
    if (link->session_in != f->session || f->channel == TD_CHANNELS)
        return; /* of another session, or carried */
    link->lane->freed++;
    td_core_queue(core, &link->task);
}

/* received does nothing: the packets' acknowledgements tell the origin. */
static void received(struct td_core *core, uint64_t instance, uint32_t node, uint32_t ticket)
{
    (void)core;
    (void)instance;
    (void)node;
    (void)ticket;
}

static void delivered(struct td_core *core, uint32_t from, const struct td_message_delivered *fate)
{
    (void)core;
    (void)from;
    (void)fate;
}

/* neighbour_message drops what only nodes of the routed fabric send. */
static void neighbour_message(struct td_core *core, uint32_t from, const struct td_message *m)
{
    (void)core;
    (void)from;
    (void)m;
}

/* ---- nothing moves by itself ---- */

static void no_link_event(struct td_core *core, uint32_t node)
{
    (void)core;
    (void)node;
}

static void nothing(struct td_core *core)
{
    (void)core;
}

static td_time wake_at(const struct td_core *core)
{
    (void)core;
    return TD_TIME_NEVER;
}

static void prefetch(const struct td_core *core, uint32_t node, const struct td_packet *packet)
{
    (void)core;
    (void)node;
    (void)packet;
}

static void prefetch_ticket(const struct td_core *core, uint64_t ticket)
{
    (void)core;
    (void)ticket;
}

static unsigned spans(const struct td_core *core, struct td_span *span, unsigned count)
{
    (void)core;
    (void)span;
    return count;
}

static const struct td_router *router(const struct td_core *core)
{
    (void)core;
    return NULL;
}

static void inspect(const struct td_core *core, unsigned direction, struct td_fabric_port *port)
{
    (void)core;
    (void)direction;
    *port = (struct td_fabric_port){.neighbour = UINT32_MAX};
}

const struct td_fabric td_fabric_direct = {
    .ordered = true,
    .counts_by_link = true,
    .keeps_packets = true,
    .init = init,
    .adjacent = adjacent,
    .health_edge = health_edge,
    .next_hop = next_hop,
    .route = route,
    .relay = relay,
    .expect_acknowledgement = nothing,
    .timers = nothing,
    .approach = approach,
    .send = send,
    .abandon = abandon,
    .forget = forget,
    .transmit = transmit,
    .emit = emit,
    .settled = settled,
    .accept = accept,
    .origin = origin,
    .unpacked = unpacked,
    .received = received,
    .delivered = delivered,
    .carried = td_carry_take,
    .neighbour_lost = neighbour_message,
    .link_open = no_link_event,
    .link_ends = no_link_event,
    .link_lost = no_link_event,
    .dropped = no_link_event,
    .exclude = no_link_event,
    .turn = nothing,
    .wake_at = wake_at,
    .prefetch = prefetch,
    .prefetch_ticket = prefetch_ticket,
    .spans = spans,
    .router = router,
    .inspect = inspect,
};
