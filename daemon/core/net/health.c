/* SPDX-License-Identifier: Apache-2.0 */
/* health: heartbeats, and what they say of the nodes one has no link to. Each node tells its parent
 * in the node tree which nodes below are up, and each child which ones are up elsewhere. The sets
 * replace each other, so a lost or late one does no harm. */
#include <stdio.h>
#include <string.h>

#include "core/recorder.h"
#include "fabric.h"
#include "goodbye.h"
#include "health.h"
#include "session.h"

enum {
    RELAYED_SILENCES = 3,
    NOTED_BEATS = 4, /* a silence of so many heartbeats is logged; */
    MUTE_BEATS = 10, /* that of a node that may still be about to connect, after so many */
};

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
    struct td_message m = {.kind = TD_MESSAGE_HEARTBEAT};
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

/* ---- silence ---- */

static void note(struct td_core *core, enum td_note_kind kind, uint32_t node, td_time ns, bool mute)
{
    struct td_note *note = td_notes_add(core->notes, kind);
    if (!note)
        return;
    note->node = node;
    note->age_ns = ns;
    if (mute)
        td_health_print_mute(core, note->text, sizeof note->text);
}

/* tell_silence records that a node is silent, once, and tells the log when that has lasted for
 * long. */
static void tell_silence(struct td_core *core, struct td_link *link)
{
    td_time quiet = td_health_silence(core, link->node);
    struct td_silence *s = &core->health->silence[link->node];
    if (quiet && !link->silent) {
        link->silent = true;
        s->since = link->heard_at;
        s->noted = false;
        td_recorder_node(core->recorder, TD_TRACE_SILENT, link->node, core->now, s->since, 0);
    }
    bool mute = td_health_is_mute(core, link->node);
    td_time most = (mute ? MUTE_BEATS : NOTED_BEATS) * (td_time)core->settings.heartbeat_ns;
    if (s->noted || quiet < most)
        return;
    s->noted = true;
    note(core, TD_NOTE_NODE_SILENT, link->node, core->now - s->since, mute);
}

/* tell_heard records the end of a silence that began at `since`, and tells the log if that has its
 * beginning. */
static void tell_heard(struct td_core *core, struct td_link *link, td_time since)
{
    struct td_silence *s = &core->health->silence[link->node];
    if (link->silent)
        since = s->since;
    td_recorder_node(core->recorder, TD_TRACE_HEARD, link->node, core->now, since, 0);
    if (link->silent && s->noted)
        note(core, TD_NOTE_NODE_HEARD, link->node, core->now - since, false);
    link->silent = s->noted = false;
}

/* ---- heartbeats ---- */

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
        tell_silence(core, link);
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

/* silent_after returns after what time without a message a node is silent that owes heartbeats. The
 * end of a message may be just before a tick, which then sends no heartbeat. */
static td_time silent_after(const struct td_core *core)
{
    return 5 * (td_time)core->settings.heartbeat_ns / 2;
}

/* owes returns true if heartbeats of a node are due: the members of a group depend on each other.
 */
static bool owes(const struct td_link *link)
{
    return link->neighbour || link->watches > 0;
}

/* has_been_up returns false if a link has never been up: whether its node is silent is not known
 * here then, and heard_at is the time since when something here depends on it. */
static bool has_been_up(const struct td_link *link)
{
    return link->relayed || td_link_is_up(link) || link->lane->since;
}

/* note_silence notes a silence that ends now. One that ended within a heartbeat before is a part of
 * it: a new daemon connects a moment before its link is up. */
static void note_silence(struct td_core *core, const struct td_link *link, td_time from)
{
    struct td_silence *s = &core->health->silence[link->node];
    bool goes_on = s->to && from <= s->to + (td_time)core->settings.heartbeat_ns;
    s->from = goes_on ? s->from : from;
    s->to = core->now;
    s->lasts = owes(link);
}

void td_health_hear(struct td_core *core, struct td_link *link)
{
    bool missed = core->now - link->heard_at > silent_after(core) && link->heard_at && owes(link) &&
                  has_been_up(link);
    struct td_silence *s = &core->health->silence[link->node];
    if (missed)
        note_silence(core, link, link->heard_at);
    else if (s->lasts && core->now - link->heard_at <= silent_after(core))
        s->to = core->now;
    else
        s->lasts = false;
    /* A node that is not a neighbour may not know yet, or any more, that something here needs it. A
     * link that was down has events of its own. */
    if (link->silent || (missed && link->neighbour && td_link_is_up(link)))
        tell_heard(core, link, link->heard_at);
    link->heard_at = core->now;
}

void td_health_hear_up(struct td_core *core, struct td_link *link)
{
    td_time since = owes(link) ? link->heard_at : link->lane->since;
    if (link->daemon && link->lane->since) /* it was up before */
        note_silence(core, link, since);
    if (link->silent)
        tell_heard(core, link, since);
    link->heard_at = core->now;
}

void td_health_deliver(struct td_core *core, struct td_link *link, const struct td_message *m)
{
    /* Heartbeats have no turn. With the link down here, the node gets no reply and may wait. */
    if (m->number || td_link_is_up(link))
        core->health->silence[link->node].lasts = false;
}

void td_health_asked(struct td_core *core, struct td_link *link)
{
    struct td_silence *s = &core->health->silence[link->node];
    if (!s->to || !owes(link) || core->now - s->to > silent_after(core))
        return;
    s->to = core->now;
    s->lasts = true;
}

td_time td_health_delay(const struct td_core *core, uint32_t node)
{
    struct td_silence s = core->health->silence[node];
    if (node == core->node)
        s = (struct td_silence){.from = core->resumed_at - core->paused_ns, .to = core->resumed_at};
    return s.to && core->now - s.to <= (td_time)core->settings.heartbeat_ns ? core->now - s.from
                                                                            : 0;
}

td_time td_health_unheard(const struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    td_time quiet = core->now - link->heard_at;
    bool unused = link->state == TD_LINK_DOWN && !has_been_up(link);
    if (node == core->node || !link->heard_at || unused || (td_link_is_up(link) && !owes(link)))
        return 0;
    return !td_link_is_up(link) || quiet > silent_after(core) ? quiet : 0;
}

td_time td_health_silence(const struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    td_time least = silent_after(core), quiet = core->now - link->heard_at;
    bool told = owes(link);
    if (!link->neighbour)
        least += (td_time)core->settings.progress_timeout_ns / 2;
    return node != core->node && td_link_is_up(link) && told && quiet > least ? quiet : 0;
}

bool td_health_is_mute(const struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    return td_link_is_up(link) && !link->relayed && link->heard_at <= link->lane->since;
}

void td_health_print_mute(const struct td_core *core, char *text, size_t bytes)
{
    const char *const *endpoint = core->options.endpoints;
    snprintf(text, bytes,
             "nothing has come from it since node %u connected to it: probably [peers] there names "
             "another address for node %u than %.200s, or a firewall stops it",
             core->node, core->node, endpoint ? endpoint[core->node] : "its own");
}
