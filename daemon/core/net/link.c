/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "inflight.h"
#include "fabric_routed.h"

static bool advance(struct td_core *core, struct td_task *task);

static struct td_lane *new_lane(struct td_core *core)
{
    struct td_lane *lane = td_arena_alloc_lines(core->arena, sizeof *lane);
    if (!lane)
        return NULL;
    lane->first_note = TD_LANE_NO_NOTE;
    lane->queue_last = &lane->queue;
    lane->packets_last = &lane->packets;
    return lane;
}

/* give_lanes gives a lane of its own to each node that packets are exchanged with. */
static bool give_lanes(struct td_core *core)
{
    const struct td_topology *t = &core->options.topology;
    bool routed = core->settings.tuning.fabric == TD_FABRIC_ROUTED;
    struct td_lane *none = new_lane(core);
    bool good = none != NULL;
    for (uint32_t n = 0; n < t->nodes; n++)
        core->link[n].lane = none;
    for (uint32_t i = 0; good && i < (routed ? 2 * t->dimensions : t->nodes); i++) {
        uint32_t n = routed ? td_topology_neighbour(t, core->node, i / 2, i % 2 ? -1 : 1) : i;
        if (n != core->node && core->link[n].lane == none)
            good = (core->link[n].lane = new_lane(core)) != NULL;
    }
    return good;
}

bool td_link_init(struct td_core *core)
{
    for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
        struct td_link *link = &core->link[n];
        *link = (struct td_link){.node = (uint16_t)n,
                                 .expires_at = TD_TIME_NEVER,
                                 .text = core->link_text + (size_t)n * TD_LINK_TEXT_MAX};
        td_link_start(core, link);
        link->task.advance = advance;
        if (n == core->node)
            continue;
        link->neighbour = td_topology_tree(core->node, n);
        if (link->neighbour)
            link->news = td_arena_alloc(core->arena, td_bit_bytes(core->options.topology.nodes));
    }
    return give_lanes(core);
}

const char *td_link_why(const struct td_link *link)
{
    return link->text[0] || link->up ? link->text : "not connected yet";
}

bool td_link_neighbour(const struct td_core *core, uint32_t *place, uint32_t *node)
{
    if (*place == 0) {
        ++*place;
        if (core->node > 0) {
            *node = (core->node - 1) / TD_TREE_ARITY;
            return true;
        }
    }
    uint64_t child = (uint64_t)core->node * TD_TREE_ARITY + *place;
    if (*place > TD_TREE_ARITY || child >= core->options.topology.nodes)
        return false;
    ++*place;
    *node = (uint32_t)child;
    return true;
}

/* td_link_want: the driver connects at the first message. */
void td_link_want(struct td_core *core, struct td_link *link)
{
    if (link->up || link->wanted || link->node == core->node)
        return;
    link->wanted = true;
    struct td_message m = {.kind = TD_MESSAGE_HEARTBEAT};
    td_core_send(core, link->node, &m);
}

/* ---- sending ---- */

bool td_link_send(struct td_core *core, struct td_operation *operation, unsigned family,
                  uint64_t index, const struct td_step *step)
{
    struct td_transfer *t = td_arena_alloc(core->arena, sizeof *t);
    if (!t)
        return false;
    struct td_link *link = &core->link[step->peer];
    struct td_lane *lane = link->lane;
    *t = (struct td_transfer){.operation = operation,
                              .family = family,
                              .index = index,
                              .from = step->from,
                              .peer = step->peer,
                              .peer_family = step->peer_family,
                              .peer_index = step->peer_index,
                              .bytes = (uint64_t)td_step_bytes(step)};
    *lane->queue_last = t;
    lane->queue_last = &t->next;
    td_core_queue(core, &link->task);
    return true;
}

static void finish_transfer(struct td_core *core, struct td_transfer *t)
{
    if (!t->abandoned)
        td_core_notices.delivered(core, t->operation, t->family, t->index);
    td_arena_free(core->arena, t);
}

void td_link_abandon(struct td_core *core, struct td_operation *operation)
{
    if (core->torus) {
        td_torus_abandon(core, operation);
        return;
    }
    for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
        struct td_lane *lane = core->link[n].lane;
        for (struct td_inflight *f = lane->packets; f; f = f->next)
            if (f->operation == operation)
                f->transfer->abandoned = true;
        struct td_transfer **at = &lane->queue;
        while (*at) {
            struct td_transfer *t = *at;
            if (t->operation != operation) {
                at = &t->next;
                continue;
            }
            *at = t->next;
            t->abandoned = true;
            if (t->unsettled == 0)
                td_arena_free(core->arena, t);
        }
        lane->queue_last = at;
    }
}

/* is_acknowledged: also of what was lost with its session, which nobody will acknowledge. */
static bool is_acknowledged(const struct td_link *link, const struct td_inflight *f)
{
    return f->session != link->session || f->sequence <= link->lane->acknowledged;
}

/* settle ends a packet that is acknowledged and no longer read. */
static void settle(struct td_core *core, struct td_inflight *f)
{
    struct td_transfer *t = f->transfer;
    struct td_operation *operation = f->operation;
    bool queued = t->offset < t->bytes && !t->abandoned;
    td_core_queue(core, &core->link[f->node].task); /* it may have lacked a flight */
    td_inflight_give(core, f);
    if (--t->unsettled == 0 && !queued)
        finish_transfer(core, t);
    td_core_notices.in_flight_end(core, operation);
}

void td_link_settle(struct td_core *core, struct td_link *link)
{
    struct td_lane *lane = link->lane;
    struct td_inflight **at = &lane->packets;
    if (core->torus) {
        td_torus_settle(core, link);
        return;
    }
    while (*at && is_acknowledged(link, *at)) { /* they are, in order */
        struct td_inflight *f = *at;
        if (f->readers) {
            at = &f->next;
            continue;
        }
        if (!td_core_room(core)) {
            td_core_queue(core, &link->task);
            return;
        }
        *at = f->next;
        if (!*at)
            lane->packets_last = at;
        settle(core, f);
    }
}

uint32_t td_link_kept(const struct td_link *link)
{
    uint32_t count = link->lane->notes;
    for (const struct td_inflight *f = link->lane->packets; f; f = f->next)
        count++;
    return count;
}

void td_link_sent(struct td_core *core, uint64_t handle)
{
    struct td_inflight *f = td_inflight_find(core, handle);
    assert(f->readers > 0);
    f->readers--;
    td_link_settle(core, &core->link[f->node]);
}

/* stamp gives a packet that is being sent its place in the session. The flight is on the link until
 * the far end has acknowledged it and the driver reads no more. */
static void stamp(struct td_link *link, struct td_inflight *f)
{
    struct td_lane *lane = link->lane;
    f->node = link->node;
    f->session = link->session;
    f->sequence = ++lane->sent;
    f->next = NULL;
    *lane->packets_last = f;
    lane->packets_last = &f->next;
}

/* fill writes what was received from there into a packet that goes there. */
static void fill(const struct td_link *link, struct td_packet *packet)
{
    struct td_lane *lane = link->lane;
    packet->session = link->session;
    packet->counts_session = link->session_in;
    packet->received = lane->received_told = lane->received;
    packet->freed = lane->freed_told = lane->freed;
}

/* send_flight sends a packet of the direct fabric, for the first time or again. */
static void send_flight(struct td_core *core, struct td_inflight *f)
{
    struct td_transfer *t = f->transfer;
    struct td_action *a = td_core_act(core, TD_ACTION_SEND_PACKET);
    f->readers++;
    a->u.packet.node = f->node;
    a->u.packet.handle = td_inflight_handle(core, f);
    a->u.packet.slice = t->from;
    td_core_notices.packet_view(f->operation, &a->u.packet.view);
    a->u.packet.packet = (struct td_packet){.kind = TD_PACKET_DATA,
                                            .link_sequence = f->sequence,
                                            .family = t->peer_family,
                                            .index = t->peer_index,
                                            .offset = f->index,
                                            .bytes = (uint32_t)f->bytes};
    td_core_notices.packet_name(f->operation, &a->u.packet.packet);
    fill(&core->link[f->node], &a->u.packet.packet);
}

static bool emit_packet(struct td_core *core, struct td_link *link)
{
    struct td_lane *lane = link->lane;
    struct td_transfer *t = lane->queue;
    struct td_inflight *f = td_inflight_take(core, TD_INFLIGHT_PACKET, t->operation);
    if (!f)
        return false;
    uint64_t left = t->bytes - t->offset;
    f->transfer = t;
    f->index = t->offset;
    f->bytes = left < core->settings.packet_bytes ? left : core->settings.packet_bytes;
    t->unsettled++;
    td_core_notices.in_flight_begin(t->operation);
    stamp(link, f);
    send_flight(core, f);
    t->offset += f->bytes;
    if (t->offset == t->bytes) {
        lane->queue = t->next;
        if (!lane->queue)
            lane->queue_last = &lane->queue;
    }
    return true;
}

/* credit_due: what was freed is told when a quarter of the credits is out, or when all that came is
 * dealt with, since the far end may wait for just that. */
static bool credit_due(const struct td_core *core, const struct td_link *link)
{
    const struct td_lane *lane = link->lane;
    uint64_t untold = lane->freed - lane->freed_told;
    if (lane->received == lane->received_told && untold == 0)
        return false;
    return lane->received == lane->freed || untold * 4 >= core->settings.link_credits;
}

/* send_again goes on with what a resume has to repeat; false when there is no room. */
static bool send_again(struct td_core *core, struct td_link *link)
{
    struct td_lane *lane = link->lane;
    if (!link->open || lane->again == 0)
        return true;
    if (core->torus)
        return td_torus_send_again(core, link);
    for (struct td_inflight *f = lane->packets; f; f = f->next) {
        if (f->sequence < lane->again || is_acknowledged(link, f))
            continue;
        if (!td_core_room(core))
            return false;
        send_flight(core, f);
        lane->again = f->sequence + 1;
    }
    lane->again = 0;
    return true;
}

static bool advance(struct td_core *core, struct td_task *task)
{
    struct td_link *link = (void *)((char *)task - offsetof(struct td_link, task));
    struct td_lane *lane = link->lane;
    if (!td_core_room(core))
        return false;
    td_link_settle(core, link);
    td_link_speak(core, link);
    if (!send_again(core, link))
        return false;
    if (core->torus)
        return true; /* packets go when the torus says so */
    bool credit = link->tell || credit_due(core, link);
    if ((lane->queue || credit) && !link->open) {
        td_link_want(core, link);
        return true; /* goes on when it opens */
    }
    while (lane->queue && lane->sent - lane->freed_there < core->settings.link_credits) {
        if (!td_core_room(core))
            return false;
        if (!emit_packet(core, link))
            return true; /* no flight: td_link_freed and settle come by again */
    }
    if (link->tell || credit_due(core, link)) {
        if (!td_core_room(core))
            return false;
        struct td_action *a = td_core_act(core, TD_ACTION_SEND_PACKET);
        a->u.packet.node = link->node;
        a->u.packet.packet = (struct td_packet){.kind = TD_PACKET_CREDIT};
        fill(link, &a->u.packet.packet);
        link->tell = false;
    }
    return true;
}

/* ---- receiving ---- */

void td_link_drop(struct td_core *core, uint32_t node, const char *text)
{
    struct td_action *a = td_core_act(core, TD_ACTION_DROP_LINK);
    core->link[node].guilty = true;
    a->u.drop.node = node;
    a->u.drop.text = text;
}

void td_link_freed(struct td_core *core, uint32_t node, uint32_t session)
{
    struct td_link *link = &core->link[node];
    if (link->session_in != session)
        return;
    link->lane->freed++;
    td_core_queue(core, &link->task);
}

void td_link_acknowledge(struct td_core *core, struct td_link *link, uint64_t received)
{
    link->lane->acknowledged = received;
    td_link_settle(core, link);
}

static void take_counts(struct td_core *core, struct td_link *link, const struct td_packet *packet)
{
    struct td_lane *lane = link->lane;
    if (packet->counts_session != link->session)
        return;
    if (packet->received > lane->sent || packet->freed > packet->received) {
        td_link_drop(core, link->node, "it acknowledged packets that were never sent");
        return;
    }
    if (packet->freed > lane->freed_there)
        lane->freed_there = packet->freed;
    if (packet->received > lane->acknowledged)
        td_link_acknowledge(core, link, packet->received);
    if (!core->torus) /* where packets go when the torus says so */
        td_core_queue(core, &link->task);
}

/* take_next takes the packet that was to come next; false: the buffer is still the caller's. */
static bool take_next(struct td_core *core, struct td_link *link, const struct td_packet *packet,
                      uint32_t buffer)
{
    struct td_lane *lane = link->lane;
    const char *why = NULL;
    if (core->torus) {
        bool good = td_torus_packet(core, link->node, packet, buffer, &why);
        lane->received += good;
        if (!good)
            td_link_drop(core, link->node, why);
        return good;
    }
    if (packet->bytes > core->settings.packet_bytes ||
        lane->received - lane->freed >= core->settings.link_credits) {
        td_link_drop(core, link->node, "it sent more than its credits");
        return false;
    }
    lane->received++;
    bool taken = td_core_notices.packet(core, link->node, packet, buffer);
    if (!taken)
        lane->freed++; /* of an operation that has ended here */
    return taken;
}

void td_link_packet(struct td_core *core, uint32_t node, const struct td_packet *packet,
                    uint32_t buffer)
{
    struct td_link *link = &core->link[node];
    const char *why = NULL;
    link->heard_at = core->now;
    bool next = td_link_knows(core, link, packet);
    if (packet->session == link->session_in)
        take_counts(core, link, packet);
    if (next && packet->kind == TD_PACKET_DATA) {
        if (!core->torus)
            td_core_queue(core, &link->task);
        if (take_next(core, link, packet, buffer))
            return;
    } else if (next && core->torus && !td_torus_packet(core, node, packet, buffer, &why)) {
        td_link_drop(core, node, why);
    }
    if (buffer != UINT32_MAX)
        td_core_release_buffer(core, buffer);
}

void td_link_watch(struct td_core *core, uint32_t node)
{
    if (node != core->node && core->link[node].watches++ == 0)
        core->link[node].heard_at = core->now;
}

void td_link_unwatch(struct td_core *core, uint32_t node)
{
    if (node == core->node)
        return;
    assert(core->link[node].watches > 0);
    core->link[node].watches--;
}
