/* SPDX-License-Identifier: Apache-2.0 */
/* health: heartbeats, and what they say of the nodes one has no link to. Each node tells its parent
 * in the node tree which nodes below are up, and each child which ones are up elsewhere. The sets
 * replace each other, so a lost or late one does no harm. */
#include <string.h>

#include "fabric.h"
#include "goodbye.h"
#include "health.h"
#include "session.h"
#include "silence.h"

enum { RELAYED_SILENCES = 3 };

/* stopped_of returns the second half of a neighbour's news: the nodes that have said goodbye. */
static uint8_t *stopped_of(const struct td_core *core, const struct td_link *neighbour)
{
    return neighbour->news + td_bit_bytes(core->options.topology.nodes);
}

/* collect writes the nodes that are up as far as this node knows, except from what `except` says.
 */
static void collect(struct td_core *core, uint32_t except, uint8_t *bits)
{
    uint32_t nodes = core->options.topology.nodes;
    memset(bits, 0, td_bit_bytes(nodes));
    td_bit_set(bits, core->node);
    for (uint32_t i = 0; i < core->health->neighbours; i++) {
        uint32_t n = core->health->neighbour[i];
        const struct td_link *link = &core->link[n];
        if (!td_link_is_up(link) || n == except)
            continue;
        td_bit_set(bits, n);
        for (uint32_t b = 0; b < td_bit_bytes(nodes); b++)
            bits[b] |= link->news[b];
    }
}

/* collect_stopped writes the nodes that have said goodbye and are not up. False: no node has. */
static bool collect_stopped(struct td_core *core, uint32_t except, const uint8_t *up, uint8_t *bits)
{
    uint32_t nodes = core->options.topology.nodes;
    bool any = false;
    memset(bits, 0, td_bit_bytes(nodes));
    for (uint32_t n = 0; n < nodes; n++)
        if (td_goodbye_was_said(core, n))
            td_bit_set(bits, n);
    for (uint32_t b = 0; b < td_bit_bytes(nodes); b++) {
        for (uint32_t i = 0; i < core->health->neighbours; i++) {
            const struct td_link *link = &core->link[core->health->neighbour[i]];
            if (td_link_is_up(link) && link->node != except)
                bits[b] |= stopped_of(core, link)[b];
        }
        bits[b] &= (uint8_t)~up[b];
        any = any || bits[b];
    }
    return any;
}

static void beat(struct td_core *core, struct td_link *link)
{
    struct td_message m = {.kind = TD_MESSAGE_HEARTBEAT, .u.heartbeat.sent = link->tree_sent};
    uint32_t bytes = td_bit_bytes(core->options.topology.nodes);
    uint8_t *bits = link->neighbour ? td_core_pad(core, 2 * bytes) : NULL;
    if (bits) {
        collect(core, link->node, bits);
        m.u.heartbeat.up = (struct td_bitmap){bits, bytes};
        if (collect_stopped(core, link->node, bits, bits + bytes))
            m.u.heartbeat.stopped = (struct td_bitmap){bits + bytes, bytes};
    }
    td_session_send(core, link->node, &m);
}

void td_health_heard(struct td_core *core, uint32_t node, const struct td_message *m)
{
    struct td_link *link = &core->link[node];
    uint32_t bytes = td_bit_bytes(core->options.topology.nodes);
    const struct td_bitmap *up = &m->u.heartbeat.up, *stopped = &m->u.heartbeat.stopped;
    uint8_t none[TD_NODES_MAX / 8] = {0};
    if (!link->news || up->bytes != bytes || (stopped->bytes && stopped->bytes != bytes))
        return;
    const uint8_t *bits = stopped->bytes ? stopped->bits : none;
    if (memcmp(link->news, up->bits, bytes) == 0 &&
        memcmp(stopped_of(core, link), bits, bytes) == 0)
        return;
    memcpy(link->news, up->bits, bytes);
    memcpy(stopped_of(core, link), bits, bytes);
    td_health_changed(core, node);
}

void td_health_changed(struct td_core *core, uint32_t except)
{
    for (uint32_t i = 0; i < core->health->neighbours; i++) {
        uint32_t n = core->health->neighbour[i];
        struct td_link *link = &core->link[n];
        if (td_link_is_up(link) && n != except)
            beat(core, link);
    }
}

bool td_health_add(struct td_core *core, struct td_link *link)
{
    link->neighbour = true;
    core->health->neighbour[core->health->neighbours++] = link->node;
    link->news = td_arena_alloc(core->arena, 2 * td_bit_bytes(core->options.topology.nodes));
    return link->news != NULL;
}

void td_health_begin(struct td_core *core)
{
    core->health->beat_at = core->now + (uint64_t)core->settings.heartbeat_ns;
    td_core_alarm(core, core->health->beat_at);
}

void td_health_tick(struct td_core *core)
{
    if (core->now < core->health->beat_at) {
        td_core_alarm(core, core->health->beat_at);
        return;
    }
    int64_t interval = core->settings.heartbeat_ns, silence = core->settings.progress_timeout_ns;
    for (; core->health->beaten < core->options.topology.nodes; core->health->beaten++) {
        uint32_t n = core->health->beaten;
        struct td_link *link = &core->link[n];
        bool untold = link->tree_received > link->tree_received_told;
        td_time quiet = core->now - link->heard_at;
        bool up = td_link_is_up(link), agreed = link->session_state == TD_SESSION_OPEN;
        if (link->relayed && !up && link->state != TD_LINK_UNREACHABLE && link->watches &&
            td_core_room(core))
            td_session_probe(core, link);
        if (!up || (!link->neighbour && link->watches == 0 && !untold && agreed))
            continue;
        if (!td_core_room(core)) {
            td_core_alarm(core, core->now); /* goes on here */
            return;
        }
        if (!agreed) /* the question or its reply may be lost, and an idle link sends no other */
            td_session_ask_again(core, link);
        if (untold || core->now - link->spoke_at >= (uint64_t)interval)
            beat(core, link);
        if (!link->neighbour && link->watches == 0)
            continue;
        td_silence_tell(core, link);
        /* The neighbours of a silent node notice it, and routes change. Other nodes may be silent
         * on the next routes, too. */
        if (quiet > (uint64_t)silence * (link->relayed ? RELAYED_SILENCES : 1))
            td_link_drop(core, n, "it has been silent for longer than progress_timeout");
        else if (quiet > (uint64_t)silence / 2)
            td_session_ask(core, link); /* it may not know that somebody here depends on it */
    }
    core->health->beaten = 0;
    core->health->beat_at = core->now + (uint64_t)interval;
    td_core_alarm(core, core->health->beat_at);
}

td_time td_health_patience(const struct td_core *core)
{
    return (td_time)core->settings.progress_timeout_ns *
           (core->fabric->routed ? RELAYED_SILENCES : 1);
}

enum td_peer_state td_health_state(struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    if (node == core->node || td_link_is_up(link))
        return TD_PEER_UP;
    if (link->neighbour)
        return TD_PEER_DOWN;
    for (uint32_t i = 0; i < core->health->neighbours; i++) {
        const struct td_link *neighbour = &core->link[core->health->neighbour[i]];
        if (td_link_is_up(neighbour) && td_bit(neighbour->news, node))
            return TD_PEER_UP;
    }
    /* with all neighbours there, somebody would have told */
    for (uint32_t i = 0; i < core->health->neighbours; i++)
        if (!td_link_is_up(&core->link[core->health->neighbour[i]]))
            return TD_PEER_UNKNOWN;
    return TD_PEER_DOWN;
}

bool td_health_is_stopped(struct td_core *core, uint32_t node)
{
    if (td_health_state(core, node) == TD_PEER_UP)
        return false;
    bool is = td_goodbye_was_said(core, node);
    for (uint32_t i = 0; i < core->health->neighbours && !is; i++) {
        const struct td_link *link = &core->link[core->health->neighbour[i]];
        is = td_link_is_up(link) && td_bit(stopped_of(core, link), node);
    }
    return is;
}

const char *td_health_why(struct td_core *core, uint32_t node)
{
    return td_health_is_stopped(core, node) ? TD_GOODBYE_TEXT : td_link_why(&core->link[node]);
}
