/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <assert.h>
#include <stddef.h>

#include "carry.h"
#include "fabric.h"
#include "health.h"
#include "inflight.h"
#include "session.h"
#include "silence.h"

static bool advance(struct td_core *core, struct td_task *task);

static struct td_lane *new_lane(struct td_core *core)
{
    struct td_lane *lane = td_arena_alloc_lines(core->arena, sizeof *lane);
    if (!lane)
        return NULL;
    lane->first_held = TD_HELD_NONE;
    td_shares_init(&lane->queue, &core->queues, core->settings.packet_bytes);
    return lane;
}

/* begin_relayed: without losses there is a route to every node. */
static void begin_relayed(struct td_link *link)
{
    link->relayed = true;
    td_link_transition(link, TD_LINK_COME_UP);
    td_session_transition(link, TD_SESSION_AGREE);
}

bool td_link_init(struct td_core *core)
{
    const struct td_topology *t = &core->options.topology;
    struct td_lane *empty = new_lane(core);
    core->silences = td_arena_alloc(core->arena, t->nodes * sizeof *core->silences);
    core->meant = td_arena_alloc(core->arena, t->nodes * sizeof *core->meant);
    bool good = empty != NULL && core->silences != NULL && core->meant != NULL;
    for (uint32_t n = 0; good && n < t->nodes; n++) {
        struct td_link *link = &core->link[n];
        *link = (struct td_link){.node = (uint16_t)n,
                                 .expires_at = TD_TIME_NEVER,
                                 .lane = empty,
                                 .text = core->link_text + (size_t)n * TD_LINK_TEXT_MAX};
        td_session_init(core, link);
        link->task.advance = advance;
        if (n == core->node)
            continue;
        if (!core->fabric->adjacent(core, n)) {
            begin_relayed(link);
            continue;
        }
        good = (link->lane = new_lane(core)) != NULL;
        if (core->fabric->health_edge(core, n))
            good = td_health_add(core, link) && good;
    }
    return good;
}

const char *td_link_why(const struct td_link *link)
{
    return link->text[0] || td_link_is_up(link) ? link->text : "not connected yet";
}

void td_link_want(struct td_core *core, struct td_link *link)
{
    bool asks = link->state == TD_LINK_DOWN || link->state == TD_LINK_GIVEN_UP;
    if (!asks || link->node == core->node)
        return;
    td_link_transition(link, TD_LINK_WANT);
    struct td_message m = {.kind = TD_MESSAGE_HEARTBEAT};
    td_session_send(core, link->node, &m);
}

/* ---- packets on the link ---- */

void td_link_hold(struct td_core *core, struct td_link *link, uint32_t i)
{
    struct td_lane *lane = link->lane;
    struct td_held *held = &core->held[i];
    held->packet.session = link->session;
    held->packet.link_sequence = ++lane->sent;
    if (lane->held == 0) {
        lane->busy_since = core->now;
        lane->busy_bytes = lane->bytes;
    }
    lane->packets++;
    lane->bytes += held->packet.bytes;
    held->next = TD_HELD_NONE;
    if (lane->first_held == TD_HELD_NONE)
        lane->first_held = i;
    else
        td_held_link(core, lane->last_held, i);
    lane->last_held = i;
    lane->held++;
}

void td_link_let_go(struct td_core *core, struct td_lane *lane, uint32_t before, uint32_t i)
{
    uint32_t next = core->held[i].next;
    if (before == TD_HELD_NONE)
        lane->first_held = next;
    else
        td_held_link(core, before, next);
    if (next == TD_HELD_NONE)
        lane->last_held = before;
    lane->held--;
}

/* is_acknowledged also returns true for a packet of a lost session, which is never acknowledged. */
static bool is_acknowledged(const struct td_link *link, const struct td_held *held)
{
    return held->packet.link_sequence <= link->lane->acknowledged ||
           held->packet.session != link->session;
}

/* settle releases a packet that is acknowledged or lost, and no longer read. */
static void settle(struct td_core *core, uint32_t i, struct td_inflight *f)
{
    uint32_t payload = core->held[i].payload;
    td_held_release(core, i);
    if (!f) {
        td_core_release_buffer(core, payload);
        return;
    }
    struct td_operation *operation = f->operation;
    core->fabric->settled(core, f);
    td_inflight_release(core, f);
    td_core_notices.in_flight_end(core, operation);
}

void td_link_settle(struct td_core *core, struct td_link *link)
{
    struct td_lane *lane = link->lane;
    uint32_t before = TD_HELD_NONE; /* the last one that the driver still reads */
    /* acknowledged packets come before those that are not */
    for (uint32_t i = lane->first_held, next; lane->held > lane->sent - lane->acknowledged;
         i = next) {
        if (i == TD_HELD_NONE || !is_acknowledged(link, &core->held[i]))
            return; /* the others are still read */
        struct td_inflight *f = td_held_inflight(core, &core->held[i]);
        next = core->held[i].next;
        if (f && f->readers) {
            before = i;
            continue;
        }
        if (!td_core_room(core)) {
            td_core_queue(core, &link->task);
            return;
        }
        td_link_let_go(core, lane, before, i);
        settle(core, i, f);
    }
}

void td_link_sent(struct td_core *core, uint64_t handle)
{
    struct td_inflight *f = td_inflight_find(core, handle);
    if (f->kind == TD_INFLIGHT_CARRY) {
        td_carry_sent(core, f);
        return;
    }
    assert(f->readers > 0);
    f->readers--;
    td_link_settle(core, &core->link[f->node]);
}

void td_link_acknowledge(struct td_core *core, struct td_link *link, uint64_t received)
{
    link->lane->acknowledged = received;
    td_link_settle(core, link);
}

/* retransmit continues with the packets that a resumed session repeats; false if the action list
 * has no room. */
static bool retransmit(struct td_core *core, struct td_link *link)
{
    struct td_lane *lane = link->lane;
    if (!td_link_is_open(link) || lane->retransmit == 0)
        return true;
    for (uint32_t i = lane->first_held; i != TD_HELD_NONE; i = core->held[i].next) {
        const struct td_held *held = &core->held[i];
        if (held->packet.link_sequence < lane->retransmit || is_acknowledged(link, held))
            continue;
        if (!td_core_room(core))
            return false;
        core->fabric->emit(core, held, true);
        lane->repeated++;
        lane->retransmit = held->packet.link_sequence + 1;
    }
    lane->retransmit = 0;
    return true;
}

static bool advance(struct td_core *core, struct td_task *task)
{
    struct td_link *link = (void *)((char *)task - offsetof(struct td_link, task));
    if (!td_core_room(core))
        return false;
    td_link_settle(core, link);
    td_session_speak(core, link);
    return retransmit(core, link) && core->fabric->transmit(core, link);
}

/* ---- receiving ---- */

void td_link_drop(struct td_core *core, uint32_t node, const char *text)
{
    if (core->link[node].relayed) {
        td_session_give_up(core, &core->link[node], text);
        return;
    }
    struct td_action *a = td_core_act(core, TD_ACTION_DROP_LINK);
    core->link[node].violated = true;
    a->u.drop.node = node;
    a->u.drop.text = text;
}

static void take_counts(struct td_core *core, struct td_link *link, const struct td_packet *packet)
{
    struct td_lane *lane = link->lane;
    if (packet->counts_session != link->session)
        return;
    if (packet->received > lane->sent || packet->freed > packet->received) {
        td_link_drop(core, link->node,
                     "protocol violation: it acknowledged packets that were never sent");
        return;
    }
    if (packet->freed > lane->freed_there)
        lane->freed_there = packet->freed;
    if (packet->received > lane->acknowledged)
        td_link_acknowledge(core, link, packet->received);
    if (core->fabric->counts_by_link)
        td_core_queue(core, &link->task);
}

void td_link_packet(struct td_core *core, uint32_t node, const struct td_packet *packet,
                    uint32_t buffer)
{
    struct td_link *link = &core->link[node];
    const char *why = NULL;
    td_silence_hear(core, link);
    bool next = td_session_is_next(core, link, packet);
    if (packet->session == link->session_in)
        take_counts(core, link, packet);
    if (next) {
        enum td_accept outcome = core->fabric->accept(core, node, packet, buffer, &why);
        if (outcome == TD_ACCEPT_VIOLATION)
            td_link_drop(core, node, why);
        else if (packet->kind == TD_PACKET_DATA)
            link->lane->received++;
        if (outcome == TD_ACCEPT_KEPT)
            return;
    }
    if (buffer != UINT32_MAX)
        td_core_release_buffer(core, buffer);
}

void td_link_arriving(struct td_core *core, uint32_t node, const struct td_packet *packet)
{
    td_silence_hear(core, &core->link[node]);
    if (core->fabric->origin(core, node, packet) != UINT32_MAX)
        td_core_notices.arriving(core, packet);
}

/* ---- watching ---- */

void td_link_watch(struct td_core *core, uint32_t node)
{
    struct td_link *link = &core->link[node];
    if (node == core->node || link->watches++ > 0)
        return;
    /* A neighbour sends heartbeats without a watch, too: a new watch does not end its silence. */
    if (!link->neighbour || !td_link_is_up(link))
        link->heard_at = core->now;
}

void td_link_unwatch(struct td_core *core, uint32_t node)
{
    if (node == core->node)
        return;
    assert(core->link[node].watches > 0);
    core->link[node].watches--;
}
