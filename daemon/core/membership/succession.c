/* SPDX-License-Identifier: Apache-2.0 */
#include "succession.h"

#include <string.h>

#include "core/net/health.h"
#include "core/net/link.h"
#include "core/net/session.h"
#include "epoch.h"

static bool advance(struct td_core *core, struct td_task *task);

void td_succession_init(struct td_core *core)
{
    core->succession->task.advance = advance;
    core->succession->until = TD_TIME_NEVER;
}

uint32_t td_succession_registry(const struct td_core *core)
{
    return core->succession->registry;
}

bool td_succession_keeps(const struct td_core *core)
{
    return core->succession->registry == core->node;
}

/* ---- finding the registry ---- */

static bool may_keep(const struct td_core *core, uint32_t node)
{
    if (!td_epoch_votes(core, node))
        return false; /* it is out of use for long */
    if (node == core->node)
        return !core->stopping;
    return !td_bit(core->succession->drains, node) && !td_link_is_given_up(&core->link[node]);
}

/* find returns the lowest node that may keep the list, or this node if no node may. */
static uint32_t find(const struct td_core *core)
{
    uint32_t node = 0, nodes = core->options.topology.nodes;
    while (node < nodes && !may_keep(core, node))
        node++;
    return node < nodes ? node : core->node;
}

void td_succession_begin(struct td_core *core)
{
    core->succession->registry = find(core);
}

static void find_again(struct td_core *core)
{
    struct td_succession *s = core->succession;
    uint32_t registry = find(core);
    if (registry == s->registry)
        return;
    s->registry = registry;
    bool keeps = s->state == TD_SUCCESSION_ASKING || s->state == TD_SUCCESSION_KEEPING;
    if (registry != core->node && keeps) {
        td_succession_transition(s, TD_SUCCESSION_RESIGN);
        s->until = TD_TIME_NEVER;
    }
    td_core_notices.registry_moved(core);
}

/* try_again makes the driver connect to lower nodes: one that comes back is the registry. */
static void try_again(struct td_core *core)
{
    struct td_succession *s = core->succession;
    for (uint32_t n = 0; n < s->registry && td_core_room(core); n++)
        if (n != core->node && !td_bit(s->drains, n))
            td_link_want(core, &core->link[n]);
}

/* ---- asking ---- */

static void send_answer(struct td_core *core, uint32_t node, uint64_t round, bool is_draining)
{
    struct td_message m = {.kind = TD_MESSAGE_REGISTRY_ANSWER,
                           .u.registry_answer = {.round = round, .is_draining = is_draining}};
    td_session_send(core, node, &m);
}

static void send_question(struct td_core *core, uint32_t node)
{
    struct td_message m = {.kind = TD_MESSAGE_REGISTRY_ASK,
                           .u.registry_ask.round = core->succession->round};
    td_session_send(core, node, &m);
}

/* sweep_ns returns how long the registry waits for nodes that have a link and do not answer: a
 * message that is lost on its way is asked for after a second (net/early.h). */
static td_time sweep_ns(const struct td_core *core)
{
    enum { LOST_NS = 1500000000 };
    return LOST_NS + (td_time)core->settings.heartbeat_ns;
}

static void ask_all(struct td_core *core)
{
    struct td_succession *s = core->succession;
    td_succession_transition(s, TD_SUCCESSION_ASK);
    s->round++;
    s->next = s->owing = 0;
    memset(s->owes, 0, sizeof s->owes);
    for (uint32_t n = 0; n < core->options.topology.nodes; n++)
        if (td_health_state(core, n) == TD_PEER_UP) {
            td_bit_set(s->owes, n);
            s->owing++;
        }
    s->until = core->now + sweep_ns(core);
    td_core_alarm(core, s->until);
    td_core_queue(core, &s->task);
}

bool td_succession_knows(struct td_core *core)
{
    struct td_succession *s = core->succession;
    if (s->registry == core->node && s->state == TD_SUCCESSION_FOLLOWING)
        ask_all(core);
    return s->state == TD_SUCCESSION_KEEPING;
}

static void end_asking(struct td_core *core)
{
    struct td_succession *s = core->succession;
    s->until = TD_TIME_NEVER;
    td_succession_transition(s, TD_SUCCESSION_KNOW);
    td_core_notices.registry_knows(core);
}

/* advance asks the nodes, and goes on when all have answered. */
static bool advance(struct td_core *core, struct td_task *task)
{
    struct td_succession *s = core->succession;
    uint32_t nodes = core->options.topology.nodes;
    (void)task;
    while (s->state == TD_SUCCESSION_ASKING && s->next < nodes) {
        if (!td_core_room(core))
            return false;
        uint32_t node = s->next++;
        if (td_bit(s->owes, node))
            send_question(core, node); /* this node has answered when it returns */
    }
    if (s->state == TD_SUCCESSION_ASKING && s->owing == 0)
        end_asking(core);
    return true;
}

/* settle: a node has answered, or will not. */
static void settle(struct td_core *core, uint32_t node)
{
    struct td_succession *s = core->succession;
    if (s->state != TD_SUCCESSION_ASKING || !td_bit(s->owes, node))
        return;
    td_bit_clear(s->owes, node);
    if (--s->owing == 0)
        td_core_queue(core, &s->task);
}

void td_succession_answer(struct td_core *core, uint32_t from,
                          const struct td_message_registry_answer *m)
{
    struct td_succession *s = core->succession;
    if (m->round == s->round)
        settle(core, from);
    if (m->is_draining && from != core->node) {
        td_bit_set(s->drains, from);
        find_again(core);
    }
}

/* ---- telling ---- */

bool td_succession_is_told(const struct td_core *core, uint32_t node)
{
    const struct td_succession *s = core->succession;
    uint32_t count = s->tolds < TD_REGISTRIES_TOLD ? s->tolds : TD_REGISTRIES_TOLD;
    for (uint32_t i = 0; i < count; i++)
        if (s->told[i] == node)
            return true;
    return false;
}

void td_succession_note_told(struct td_core *core, uint32_t node)
{
    struct td_succession *s = core->succession;
    if (!td_succession_is_told(core, node))
        s->told[s->tolds++ % TD_REGISTRIES_TOLD] = node;
}

void td_succession_rank_left(struct td_core *core, uint64_t instance, uint32_t rank)
{
    struct td_succession *s = core->succession;
    struct td_message m = {
        .kind = TD_MESSAGE_RANK_LEFT, .instance = instance, .u.rank_left.rank = rank};
    uint32_t count = s->tolds < TD_REGISTRIES_TOLD ? s->tolds : TD_REGISTRIES_TOLD;
    for (uint32_t i = 0; i < count; i++)
        if (s->told[i] != s->registry &&
            (s->told[i] == core->node || !td_link_is_given_up(&core->link[s->told[i]])))
            td_session_send(core, s->told[i], &m);
    td_session_send(core, s->registry, &m);
}

void td_succession_decline(struct td_core *core, uint32_t node)
{
    if (node != core->node)
        send_answer(core, node, 0, true);
}

bool td_succession_stop(struct td_core *core)
{
    struct td_succession *s = core->succession;
    if (s->state == TD_SUCCESSION_STOPPED)
        return true;
    if (s->state != TD_SUCCESSION_STOPPING) {
        td_succession_transition(s, TD_SUCCESSION_STOP);
        s->until = TD_TIME_NEVER;
        s->next = td_succession_keeps(core) ? 0 : core->options.topology.nodes;
    }
    for (; s->next < core->options.topology.nodes; s->next++) {
        if (!td_core_room(core))
            return false;
        if (s->next != core->node && td_link_is_up(&core->link[s->next]))
            send_answer(core, s->next, 0, true);
    }
    td_succession_transition(s, TD_SUCCESSION_STOP);
    find_again(core);
    return true;
}

/* ---- events ---- */

void td_succession_node_lost(struct td_core *core, uint32_t node)
{
    settle(core, node);
    find_again(core);
}

void td_succession_node_back(struct td_core *core, uint32_t node)
{
    struct td_succession *s = core->succession;
    td_bit_clear(s->drains, node);
    find_again(core);
    bool asked = s->state == TD_SUCCESSION_ASKING && node < s->next && td_bit(s->owes, node);
    if (s->state == TD_SUCCESSION_KEEPING || asked)
        send_question(core, node);
}

void td_succession_timers(struct td_core *core, bool needed)
{
    struct td_succession *s = core->succession;
    if (s->state == TD_SUCCESSION_ASKING && core->now >= s->until)
        end_asking(core);
    td_core_alarm(core, s->until);
    if (!needed || s->registry == 0)
        return;
    if (core->now >= s->again_at) {
        s->again_at = td_core_after(core, core->settings.progress_timeout_ns);
        try_again(core);
    }
    td_core_alarm(core, s->again_at);
}
