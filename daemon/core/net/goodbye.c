/* SPDX-License-Identifier: Apache-2.0 */
#include "goodbye.h"

#include "health.h"
#include "session.h"
#include "silence.h"

/* ---- this daemon stops ---- */

/* is_told returns true if a node with a link is told, once both ends continue from the same place:
 * a message that is sent before may be of a session that ends. */
static bool is_told(const struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    return node != core->node && !link->relayed && td_link_is_up(link);
}

bool td_goodbye_say(struct td_core *core)
{
    struct td_goodbyes *g = core->goodbyes;
    const struct td_message m = {.kind = TD_MESSAGE_GOODBYE,
                                 .u.goodbye.incarnation = core->options.incarnation};
    bool waits = false;
    if (!g->until)
        g->until = core->now + TD_GOODBYE_NS;
    td_core_alarm(core, g->until);
    for (uint32_t node = 0; node < core->options.topology.nodes; node++) {
        if (td_bit(g->owes, node) || !is_told(core, node))
            continue;
        waits = true;
        if (!td_link_is_open(&core->link[node]))
            continue;
        if (!td_core_room(core)) {
            td_core_alarm(core, core->now); /* goes on here */
            break;
        }
        td_session_send(core, node, &m);
        td_bit_set(g->owes, node);
        g->owing++;
    }
    return (!waits && g->owing == 0) || core->now >= g->until;
}

/* ---- another one stops ---- */

/* end_link ends the link to a daemon that has said goodbye. */
static void end_link(struct td_core *core, struct td_link *link)
{
    bool up = td_link_is_up(link);
    link->violated = link->violated || up; /* its session ends with the connection */
    struct td_action *a = td_core_act(core, TD_ACTION_DROP_LINK);
    a->u.drop.node = link->node;
    a->u.drop.text = TD_GOODBYE_TEXT;
    a->u.drop.goodbye = true;
    if (up)
        return;
    if (!td_link_is_given_up(link))
        td_session_give_up(core, link, TD_GOODBYE_TEXT);
    td_health_changed(core, UINT32_MAX);
}

void td_goodbye_hear(struct td_core *core, uint32_t from, const struct td_message_goodbye *m)
{
    struct td_link *link = &core->link[from];
    uint32_t daemon = (uint32_t)m->incarnation;
    if (link->relayed || !daemon || (link->daemon && link->daemon != daemon))
        return; /* another daemon is known there: this one's ranks are lost already */
    core->goodbyes->of[from].daemon = daemon;
    td_core_notices.daemon_ended(core, from, daemon, TD_GOODBYE_TEXT);
    end_link(core, link);
}

/* ---- links ---- */

/* is_heard returns true if a daemon that says goodbye now is heard here. */
static bool is_heard(const struct td_core *core, uint32_t node)
{
    const struct td_link *link = &core->link[node];
    return td_link_is_open(link) && !link->relayed && !td_silence_is_mute(core, node) &&
           td_silence_now(core, node) == 0;
}

void td_goodbye_link_down(struct td_core *core, uint32_t node, bool rejected)
{
    struct td_goodbyes *g = core->goodbyes;
    if (td_link_is_up(&core->link[node])) {
        g->of[node].heard = is_heard(core, node);
        g->of[node].heard_at = core->link[node].heard_at;
    }
    if (rejected)
        g->of[node].daemon = 0;
    if (!td_bit(g->owes, node))
        return;
    td_bit_clear(g->owes, node);
    g->owing--;
}

void td_goodbye_restarted(struct td_core *core, uint32_t node)
{
    struct td_goodbye *g = &core->goodbyes->of[node];
    if (td_link_is_up(&core->link[node]))
        g->heard = is_heard(core, node);
    g->died = td_goodbye_is_missing(core, node);
    g->silent_ns = td_goodbye_silence(core, node);
    g->restarted_at = core->now;
}

bool td_goodbye_is_missing(const struct td_core *core, uint32_t node)
{
    return core->goodbyes->of[node].heard && !td_goodbye_was_said(core, node);
}

td_time td_goodbye_silence(const struct td_core *core, uint32_t node)
{
    const struct td_goodbye *g = &core->goodbyes->of[node];
    td_time unheard = td_silence_unheard(core, node), ended = td_silence_delay(core, node),
            silent = unheard > ended ? unheard : ended;
    if (g->heard || td_goodbye_was_said(core, node))
        return 0;
    if (!td_link_is_up(&core->link[node]) && g->heard_at) /* the new daemon may have been heard */
        silent = core->now - g->heard_at;
    return silent < (td_time)core->settings.heartbeat_ns ? 0 : silent; /* too short to be told */
}

bool td_goodbye_was_said(const struct td_core *core, uint32_t node)
{
    uint32_t daemon = core->goodbyes->of[node].daemon, known = core->link[node].daemon;
    return daemon && (!known || known == daemon);
}
