/* SPDX-License-Identifier: Apache-2.0 */
#include "early.h"

#include "session.h"

static void act(struct td_core *core, enum td_action_kind kind, const struct td_link *link,
                const struct td_message *m, uint64_t number)
{
    struct td_action *a = td_core_act_bare(core, kind);
    a->u.early.node = link->node;
    a->u.early.number = number;
    a->u.early.message = m;
}

/* wait_again sets the time at which the far end of a link with early messages is asked. */
static void wait_again(struct td_core *core, struct td_early *e)
{
    e->since = core->now;
    if (core->early_at == TD_TIME_NEVER)
        core->early_at = core->now + TD_EARLY_PATIENCE_NS;
    td_core_alarm(core, core->early_at);
}

void td_early_drop(struct td_core *core, struct td_link *link)
{
    bool outstanding =
        link->session_state == TD_SESSION_ASKING || link->session_state == TD_SESSION_CHECKING;
    if (core->two_paths && outstanding && !link->resume_due)
        core->early[link->node].dropped = true;
    else
        td_session_ask(core, link);
}

void td_early_replied(struct td_core *core, struct td_link *link)
{
    struct td_early *e = &core->early[link->node];
    if (!e->dropped)
        return;
    e->dropped = false;
    td_session_ask_again(core, link);
}

void td_early_arrive(struct td_core *core, struct td_link *link, const struct td_message *m)
{
    struct td_early *e = &core->early[link->node];
    uint64_t ahead = m->number - link->tree_received - 2; /* 0: the one after the next */
    if (m->number > e->greatest)
        e->greatest = m->number;
    if (!link->early)
        wait_again(core, e);
    link->early = true;
    if (ahead >= TD_EARLY_MAX) {
        td_early_drop(core, link);
        return;
    }
    if (link->relayed) /* a node on the route may have dropped the missing ones for good */
        td_session_ask_missing(core, link);
    if (e->kept >> ahead & 1)
        return;
    e->kept |= (uint64_t)1 << ahead;
    act(core, TD_ACTION_KEEP_EARLY, link, m, m->number);
}

void td_early_advance(struct td_core *core, struct td_link *link, uint64_t count)
{
    struct td_early *e = &core->early[link->node];
    bool next = count > 0 && count <= TD_EARLY_MAX && e->kept >> (count - 1) & 1;
    e->kept = count < TD_EARLY_MAX ? e->kept >> count : 0;
    link->early = e->greatest > link->tree_received;
    if (link->early)
        wait_again(core, e);
    if (next)
        act(core, TD_ACTION_TAKE_EARLY, link, NULL, link->tree_received + 1);
}

void td_early_forget(struct td_core *core, struct td_link *link)
{
    link->early = false;
    core->early[link->node].kept = core->early[link->node].greatest = 0;
    act(core, TD_ACTION_FORGET_EARLY, link, NULL, 0);
}

void td_early_timers(struct td_core *core)
{
    if (core->now >= core->early_at) {
        core->early_at = TD_TIME_NEVER;
        for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
            struct td_link *link = &core->link[n];
            struct td_early *e = &core->early[n];
            if (!link->early)
                continue;
            if (core->now >= e->since + TD_EARLY_PATIENCE_NS) {
                td_session_ask_again(core, link);
                e->since = core->now;
            }
            if (e->since + TD_EARLY_PATIENCE_NS < core->early_at)
                core->early_at = e->since + TD_EARLY_PATIENCE_NS;
        }
    }
    td_core_alarm(core, core->early_at);
}
