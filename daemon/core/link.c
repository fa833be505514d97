/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "communicator.h"
#include "engine.h"
#include "flight.h"
#include "job.h"
#include "operation.h"
#include "torus.h"

static bool advance(struct td_core *core, struct td_task *task);

void td_link_init(struct td_core *core)
{
    for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
        struct td_link *link = &core->link[n];
        *link = (struct td_link){.node = n, .session = (uint32_t)td_core_random(core) | 1};
        link->task.advance = advance;
        link->queue_last = &link->queue;
        link->packets_last = &link->packets;
        if (n == core->node)
            continue;
        link->neighbour = (n && (n - 1) / TD_TREE_ARITY == core->node) ||
                          (core->node && (core->node - 1) / TD_TREE_ARITY == n);
        if (link->neighbour)
            link->news = td_arena_alloc(core->arena, td_bit_bytes(core->options.topology.nodes));
    }
}

const char *td_link_why(const struct td_link *link)
{
    return link->text ? link->text : link->up ? "" : "not connected yet";
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

/* want makes the driver connect: it does so at the first message. */
static void want(struct td_core *core, struct td_link *link)
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
    *t = (struct td_transfer){.operation = operation,
                              .family = family,
                              .index = index,
                              .step = *step,
                              .bytes = (uint64_t)td_step_bytes(step)};
    *link->queue_last = t;
    link->queue_last = &t->next;
    td_core_queue(core, &link->task);
    return true;
}

static void finish_transfer(struct td_core *core, struct td_transfer *t)
{
    if (!t->abandoned)
        td_engine_delivered(core, t->operation, t->family, t->index);
    td_arena_free(core->arena, t);
}

void td_link_abandon(struct td_core *core, struct td_operation *operation)
{
    if (core->torus) {
        td_torus_abandon(core, operation);
        return;
    }
    for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
        struct td_link *link = &core->link[n];
        for (struct td_flight *f = link->packets; f; f = f->next)
            if (f->operation == operation)
                f->transfer->abandoned = true;
        struct td_transfer **at = &link->queue;
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
        link->queue_last = at;
    }
}

/* settle ends a packet that is acknowledged (or lost with its session) and no longer read. */
static void settle(struct td_core *core, struct td_flight *f)
{
    struct td_transfer *t = f->transfer;
    struct td_operation *operation = f->operation;
    if (core->torus) {
        bool own = f->kind == TD_FLIGHT_PACKET;
        if (!own)
            td_core_act(core, TD_ACTION_RELEASE_BUFFER)->u.buffer.buffer = f->buffer;
        td_flight_give(core, f);
        if (own) {
            td_torus_settled(core, t);
            td_operation_flight_over(core, operation);
        }
        return;
    }
    bool queued = t->offset < t->bytes && !t->abandoned;
    td_core_queue(core, &core->link[f->node].task); /* it may have lacked a flight */
    td_flight_give(core, f);
    if (--t->unsettled == 0 && !queued)
        finish_transfer(core, t);
    td_operation_flight_over(core, operation);
}

static void unlink_settled(struct td_core *core, struct td_link *link)
{
    struct td_flight **at = &link->packets;
    while (*at && (*at)->acknowledged) { /* they are, in order */
        struct td_flight *f = *at;
        if (!f->read) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        if (!*at)
            link->packets_last = at;
        settle(core, f);
    }
}

void td_link_sent(struct td_core *core, uint64_t handle)
{
    struct td_flight *f = td_flight_find(core, handle);
    f->read = true;
    if (f->acknowledged)
        unlink_settled(core, &core->link[f->node]);
}

void td_link_fill(struct td_core *core, uint32_t node, struct td_packet *packet)
{
    struct td_link *link = &core->link[node];
    packet->session = link->session;
    packet->counts_session = link->session_in;
    packet->received = link->received_told = link->received;
    packet->freed = link->freed_told = link->freed;
}

void td_link_stamp(struct td_core *core, uint32_t node, struct td_flight *f,
                   struct td_packet *packet)
{
    struct td_link *link = &core->link[node];
    f->node = node;
    f->session = link->session;
    f->sequence = ++link->sent;
    f->next = NULL;
    *link->packets_last = f;
    link->packets_last = &f->next;
    packet->link_sequence = f->sequence;
    td_link_fill(core, node, packet);
}

static bool emit_packet(struct td_core *core, struct td_link *link)
{
    struct td_transfer *t = link->queue;
    struct td_flight *f = td_flight_take(core, TD_FLIGHT_PACKET, t->operation);
    if (!f)
        return false;
    uint64_t left = t->bytes - t->offset;
    uint32_t bytes =
        (uint32_t)(left < core->settings.packet_bytes ? left : core->settings.packet_bytes);
    struct td_action *a = td_core_act(core, TD_ACTION_SEND_PACKET);
    f->transfer = t;
    t->unsettled++;
    td_operation_flight_begin(t->operation);
    a->u.packet.node = link->node;
    a->u.packet.handle = td_flight_handle(core, f);
    a->u.packet.slice = t->step.from;
    td_operation_view(t->operation, &a->u.packet.view);
    a->u.packet.packet = (struct td_packet){.kind = TD_PACKET_DATA,
                                            .family = t->step.peer_family,
                                            .index = t->step.peer_index,
                                            .offset = t->offset,
                                            .bytes = bytes};
    td_operation_name(t->operation, &a->u.packet.packet);
    td_link_stamp(core, link->node, f, &a->u.packet.packet);
    t->offset += bytes;
    if (t->offset == t->bytes) {
        link->queue = t->next;
        if (!link->queue)
            link->queue_last = &link->queue;
    }
    return true;
}

/* credit_due: what was freed is told when a quarter of the credits is out, or when all that came is
 * dealt with, since the far end may wait for just that. */
static bool credit_due(const struct td_core *core, const struct td_link *link)
{
    uint64_t untold = link->freed - link->freed_told;
    if (link->received == link->received_told && untold == 0)
        return false;
    return link->received == link->freed || untold * 4 >= core->settings.link_credits;
}

static bool advance(struct td_core *core, struct td_task *task)
{
    struct td_link *link = (struct td_link *)task;
    if (core->torus)
        return true; /* packets go when the torus says so */
    if ((link->queue || credit_due(core, link)) && !link->up) {
        want(core, link);
        return true; /* goes on at link_up */
    }
    while (link->queue && link->sent - link->freed_there < core->settings.link_credits) {
        if (!td_core_room(core))
            return false;
        if (!emit_packet(core, link))
            return true; /* no flight: td_link_freed and settle come by again */
    }
    if (credit_due(core, link)) {
        if (!td_core_room(core))
            return false;
        struct td_action *a = td_core_act(core, TD_ACTION_SEND_PACKET);
        a->u.packet.node = link->node;
        a->u.packet.packet.kind = TD_PACKET_CREDIT;
        td_link_fill(core, link->node, &a->u.packet.packet);
    }
    return true;
}

/* ---- receiving ---- */

void td_link_drop(struct td_core *core, uint32_t node, const char *text)
{
    struct td_action *a = td_core_act(core, TD_ACTION_DROP_LINK);
    a->u.drop.node = node;
    a->u.drop.text = text;
}

void td_link_freed(struct td_core *core, uint32_t node, uint32_t session)
{
    struct td_link *link = &core->link[node];
    if (link->session_in != session)
        return;
    link->freed++;
    td_core_queue(core, &link->task);
}

static void take_counts(struct td_core *core, struct td_link *link, const struct td_packet *packet)
{
    if (packet->counts_session != link->session)
        return;
    if (packet->received > link->sent || packet->freed > packet->received) {
        td_link_drop(core, link->node, "it acknowledged packets that were never sent");
        return;
    }
    if (packet->freed > link->freed_there)
        link->freed_there = packet->freed;
    if (packet->received > link->acknowledged) {
        link->acknowledged = packet->received;
        for (struct td_flight *f = link->packets; f; f = f->next)
            if (f->session != link->session || f->sequence <= packet->received)
                f->acknowledged = true;
            else
                break;
        unlink_settled(core, link);
    }
    td_core_queue(core, &link->task);
}

/* take_from_torus hands a packet to the torus, in the session's order. */
static void take_from_torus(struct td_core *core, struct td_link *link,
                            const struct td_packet *packet, uint32_t buffer, bool in_order)
{
    const char *why = "packets are missing on the link";
    if (in_order && td_torus_packet(core, link->node, packet, buffer, &why)) {
        link->received++;
        return;
    }
    td_link_drop(core, link->node, why);
    td_core_act(core, TD_ACTION_RELEASE_BUFFER)->u.buffer.buffer = buffer;
}

void td_link_packet(struct td_core *core, uint32_t node, const struct td_packet *packet,
                    uint32_t buffer)
{
    struct td_link *link = &core->link[node];
    link->heard_at = core->now;
    take_counts(core, link, packet);
    if (packet->kind != TD_PACKET_DATA) {
        const char *why = NULL;
        if (core->torus && packet->counts_session == link->session &&
            !td_torus_packet(core, node, packet, buffer, &why))
            td_link_drop(core, node, why);
        if (buffer != UINT32_MAX)
            td_core_act(core, TD_ACTION_RELEASE_BUFFER)->u.buffer.buffer = buffer;
        return;
    }
    if (packet->session != link->session_in) {
        link->session_in = packet->session;
        link->received = link->freed = link->received_told = link->freed_told = 0;
    }
    bool in_order = packet->link_sequence == link->received + 1;
    if (core->torus) {
        take_from_torus(core, link, packet, buffer, in_order);
        return;
    }
    bool fits = packet->bytes <= core->settings.packet_bytes &&
                link->received - link->freed < core->settings.link_credits;
    bool taken = false;
    if (in_order && fits) {
        link->received++;
        taken = td_engine_packet(core, node, packet, buffer);
        if (!taken)
            link->freed++; /* of an operation that has ended here */
    } else {
        td_link_drop(core, node,
                     in_order ? "it sent more than its credits"
                              : "packets are missing on the link");
    }
    if (!taken)
        td_core_act(core, TD_ACTION_RELEASE_BUFFER)->u.buffer.buffer = buffer;
    td_core_queue(core, &link->task);
}

/* ---- up and down ---- */

void td_link_up(struct td_core *core, uint32_t node, uint64_t incarnation)
{
    struct td_link *link = &core->link[node];
    if (link->up && link->incarnation != incarnation)
        td_link_down(core, node, "the daemon there was started anew");
    link->up = true;
    link->wanted = false;
    link->incarnation = incarnation;
    link->heard_at = core->now;
    if (link->text)
        link->text[0] = '\0';
    td_core_queue(core, &link->task);
    if (core->torus)
        td_torus_link_changed(core, node);
    td_job_link_up(core, node);
    td_health_changed(core, UINT32_MAX);
}

void td_link_down(struct td_core *core, uint32_t node, const char *text)
{
    struct td_link *link = &core->link[node];
    bool was_up = link->up;
    if (link->text || (link->text = malloc(TD_LINK_TEXT_MAX)))
        snprintf(link->text, TD_LINK_TEXT_MAX, "%s", text ? text : "");
    link->up = link->wanted = false;
    link->session++;
    link->sent = link->acknowledged = link->freed_there = 0;
    for (struct td_flight *f = link->packets; f; f = f->next)
        f->acknowledged = true; /* nobody will: what counts is that the driver reads no more */
    if (link->news)
        memset(link->news, 0, td_bit_bytes(core->options.topology.nodes));
    td_job_link_down(core, node);
    td_communicator_node_lost(core, node, td_link_why(link));
    unlink_settled(core, link);
    if (core->torus)
        td_torus_link_changed(core, node);
    if (was_up)
        td_health_changed(core, UINT32_MAX);
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

void td_link_fini(struct td_core *core)
{
    for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
        td_arena_free(core->arena, core->link[n].news);
        free(core->link[n].text);
    }
}
