/* SPDX-License-Identifier: Apache-2.0 */
#include "silence.h"

#include <stdio.h>

#include "core/recorder.h"
#include "core/core_internal.h"

enum {
    NOTED_BEATS = 4, /* a silence of so many heartbeats is logged; */
    MUTE_BEATS = 10, /* that of a node that may still be about to connect, after so many */
};

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

/* ---- a silence that goes on ---- */

td_time td_silence_unheard(const struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    td_time quiet = core->now - link->heard_at;
    bool unused = link->state == TD_LINK_DOWN && !has_been_up(link);
    if (node == core->node || !link->heard_at || unused || (td_link_is_up(link) && !owes(link)))
        return 0;
    return !td_link_is_up(link) || quiet > silent_after(core) ? quiet : 0;
}

td_time td_silence_now(const struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    td_time least = silent_after(core), quiet = core->now - link->heard_at;
    bool told = owes(link);
    if (!link->neighbour)
        least += (td_time)core->settings.progress_timeout_ns / 2;
    return node != core->node && td_link_is_up(link) && told && quiet > least ? quiet : 0;
}

bool td_silence_is_mute(const struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    return td_link_is_up(link) && !link->relayed && core->silences[node].mute;
}

static void print_mute(const struct td_core *core, char *text, size_t bytes)
{
    const char *const *endpoint = core->options.endpoints;
    snprintf(text, bytes,
             "nothing has come from it since node %u connected to it: probably [peers] there names "
             "another address for node %u than %.200s, or a firewall stops it",
             core->node, core->node, endpoint ? endpoint[core->node] : "its own");
}

bool td_silence_print_why(const struct td_core *core, uint32_t node, char *text, size_t bytes)
{
    const struct td_core_options *o = &core->options;
    if (o->own_fault && o->own_fault(o->driver, node, text, bytes))
        return true;
    if (!td_silence_is_mute(core, node))
        return false;
    print_mute(core, text, bytes);
    return true;
}

static void note(struct td_core *core, enum td_note_kind kind, uint32_t node, td_time ns)
{
    struct td_note *note = td_notes_add(core->notes, kind);
    if (!note)
        return;
    note->node = node;
    note->age_ns = ns;
    if (kind == TD_NOTE_NODE_SILENT)
        td_silence_print_why(core, node, note->text, sizeof note->text);
}

void td_silence_tell(struct td_core *core, struct td_link *link)
{
    td_time quiet = td_silence_now(core, link->node);
    struct td_silence *s = &core->silences[link->node];
    if (quiet && !link->silent) {
        link->silent = true;
        s->since = link->heard_at;
        s->noted = false;
        td_recorder_node(core->recorder, TD_TRACE_SILENT, link->node, core->now, s->since, 0);
    }
    bool mute = td_silence_is_mute(core, link->node);
    td_time most = (mute ? MUTE_BEATS : NOTED_BEATS) * (td_time)core->settings.heartbeat_ns;
    if (s->noted || quiet < most)
        return;
    s->noted = true;
    note(core, TD_NOTE_NODE_SILENT, link->node, core->now - s->since);
}

/* ---- its end ---- */

/* tell_heard records the end of a silence that began at `since`, and tells the log if that has its
 * beginning. */
static void tell_heard(struct td_core *core, struct td_link *link, td_time since)
{
    struct td_silence *s = &core->silences[link->node];
    if (link->silent)
        since = s->since;
    td_recorder_node(core->recorder, TD_TRACE_HEARD, link->node, core->now, since, 0);
    if (link->silent && s->noted)
        note(core, TD_NOTE_NODE_HEARD, link->node, core->now - since);
    link->silent = s->noted = false;
}

/* note_silence notes a silence that ends now. One that ended within a heartbeat before is a part of
 * it: a new daemon connects a moment before its link is up. */
static void note_silence(struct td_core *core, const struct td_link *link, td_time from)
{
    struct td_silence *s = &core->silences[link->node];
    bool goes_on = s->to && from <= s->to + (td_time)core->settings.heartbeat_ns;
    s->from = goes_on ? s->from : from;
    if (!goes_on || core->now - from > silent_after(core)) /* else it was heard before */
        s->heard = core->now;
    s->to = core->now;
    s->lasts = owes(link);
    td_core_notices.node_heard(core, link->node, s->from);
}

void td_silence_hear(struct td_core *core, struct td_link *link)
{
    bool missed = core->now - link->heard_at > silent_after(core) && link->heard_at && owes(link) &&
                  has_been_up(link);
    struct td_silence *s = &core->silences[link->node];
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
    s->mute = false;
}

void td_silence_hear_up(struct td_core *core, struct td_link *link)
{
    td_time since = owes(link) ? link->heard_at : link->lane->since;
    if (link->daemon && link->lane->since) /* it was up before */
        note_silence(core, link, since);
    if (link->silent)
        tell_heard(core, link, since);
    link->heard_at = core->now;
    core->silences[link->node].mute = true;
}

/* lacks returns true if a heartbeat has overtaken messages of its node, on another connection. */
static bool lacks(const struct td_link *link, const struct td_message *m)
{
    return m->kind == TD_MESSAGE_HEARTBEAT && m->session == link->session_in &&
           m->u.heartbeat.sent > link->tree_received;
}

void td_silence_deliver(struct td_core *core, struct td_link *link, const struct td_message *m)
{
    if (lacks(link, m))
        return;
    /* Heartbeats have no turn. With the link down here, the node gets no reply and may wait. */
    if (m->number || td_link_is_up(link))
        core->silences[link->node].lasts = false;
}

void td_silence_asked(struct td_core *core, struct td_link *link)
{
    struct td_silence *s = &core->silences[link->node];
    if (!s->to || !owes(link) || core->now - s->to > silent_after(core))
        return;
    s->to = core->now;
    s->lasts = true;
}

td_time td_silence_delay(const struct td_core *core, uint32_t node)
{
    struct td_silence s = core->silences[node];
    if (node == core->node)
        s = (struct td_silence){.from = core->resumed_at - core->paused_ns, .to = core->resumed_at};
    return s.to && core->now - s.to <= (td_time)core->settings.heartbeat_ns ? core->now - s.from
                                                                            : 0;
}

td_time td_silence_lasted(const struct td_core *core, uint32_t node)
{
    const struct td_silence *s = &core->silences[node];
    td_time delay = td_silence_delay(core, node);
    return node == core->node || !delay ? delay : s->heard - s->from;
}
