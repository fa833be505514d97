/* SPDX-License-Identifier: Apache-2.0 */
#include "stall.h"

#include <stdio.h>

#include "core/net/health.h"
#include "core/net/inflight.h"
#include "core/net/session.h"
#include "core/net/silence.h"
#include "engine.h"

static struct td_operation *find(const struct td_communicator *c, uint64_t sequence)
{
    bool inside =
        sequence >= c->first_sequence && sequence < c->first_sequence + TD_GROUP_OPERATIONS_MAX;
    return inside ? c->operation[sequence % TD_GROUP_OPERATIONS_MAX] : NULL;
}

/* runs returns true from the release until the operation has ended here. */
static bool runs(const struct td_operation *o)
{
    return o->state >= TD_OPERATION_RELEASED && o->state < TD_OPERATION_ENDING;
}

/* has_partners returns true if other nodes wait for the steps of this one. */
static bool has_partners(const struct td_operation *o)
{
    return o->communicator->group.slots > 1 && o->program.families > 0;
}

/* note_first returns true if nobody has appealed for the operation at this node before. A node that
 * has retired an operation knows that all nodes had announced it, so those that run anywhere are
 * within a window of this node's. */
static bool note_first(struct td_communicator *c, uint64_t sequence)
{
    uint32_t place = (uint32_t)(sequence % TD_STALLS_MAX);
    bool first = !td_bit(c->stalled, place);
    td_bit_set(c->stalled, place);
    return first;
}

/* ---- the ending ---- */

/* end_here ends the operation on this node, if it still runs. */
static void end_here(struct td_core *core, struct td_operation *o, td_err error, const char *text)
{
    if (o && o->state < TD_OPERATION_RELEASED)
        td_operation_verdict(core, o, error, text); /* the parent had no time to pass it on */
    else if (o)
        td_operation_fail(core, o, error, text);
}

static void pass_down(struct td_core *core, const struct td_communicator *c, uint64_t sequence,
                      td_err error, const char *text)
{
    const struct td_message m = {.kind = TD_MESSAGE_VERDICT,
                                 .instance = c->instance,
                                 .group = c->index,
                                 .sequence = sequence,
                                 .u.verdict = {.error = error, .text = text, .is_running = true}};
    for (uint32_t s = 0; s < c->group.slots; s++) {
        bool room = c->tree.parent[s] == c->slot || td_core_room(core); /* else it ends by itself */
        if (td_communicator_tells(c, s) && room)
            td_session_send(core, c->group.node[s], &m);
    }
}

void td_stall_verdict(struct td_core *core, struct td_communicator *c, const struct td_message *m)
{
    (void)note_first(c, m->sequence);
    pass_down(core, c, m->sequence, m->u.verdict.error, m->u.verdict.text);
    end_here(core, find(c, m->sequence), m->u.verdict.error, m->u.verdict.text);
}

/* give ends the operation on all nodes, at the root. */
static void give(struct td_core *core, struct td_communicator *c, uint64_t sequence, td_err error,
                 const char *text)
{
    if (!note_first(c, sequence))
        return;
    pass_down(core, c, sequence, error, text);
    end_here(core, find(c, sequence), error, text);
}

static void give_pending(struct td_core *core, struct td_operation *o)
{
    td_err error = o->pending_error;
    o->pending_error = TD_OK;
    o->verdict_at = TD_TIME_NEVER;
    give(core, o->communicator, o->sequence, error, td_core_format(core, "%s", o->pending_text));
}

void td_stall_completed(struct td_core *core, struct td_operation *o)
{
    if (o->pending_error != TD_OK)
        give_pending(core, o);
}

/* ---- appeals ---- */

/* follows returns true if an appeal says more than those before: it is the first, or that of the
 * node that the last one waits for, or of a node that cannot go on. */
static bool follows(const struct td_operation *o, const struct td_message_appeal *appeal)
{
    return o->stalled_on == UINT32_MAX || o->stalled_on == appeal->node ||
           appeal->node == appeal->waits_for;
}

/* decide takes an appeal at the root. */
static void decide(struct td_core *core, struct td_communicator *c, struct td_operation *o,
                   const struct td_message *m)
{
    const struct td_message_appeal *appeal = &m->u.appeal;
    bool over = m->sequence < c->first_sequence ||
                (!o && c->retired[m->sequence % TD_GROUP_OPERATIONS_MAX]) ||
                (o && o->state == TD_OPERATION_ENDED && o->error == TD_OK);
    if (over || (o && runs(o) && appeal->node == appeal->waits_for)) {
        give(core, c, m->sequence, appeal->error, appeal->text);
        return;
    }
    if (!o || !runs(o) || !follows(o, appeal))
        return;
    o->stalled_on = appeal->waits_for;
    o->pending_error = appeal->error;
    td_operation_keep(o, &o->pending_text, appeal->text);
    if (o->verdict_at == TD_TIME_NEVER)
        o->verdict_at = td_core_after(core, core->settings.heartbeat_ns);
    td_core_alarm(core, o->verdict_at);
}

void td_stall_appeal(struct td_core *core, struct td_communicator *c, const struct td_message *m)
{
    const struct td_message_appeal *appeal = &m->u.appeal;
    struct td_operation *o = find(c, m->sequence);
    bool near = m->sequence + TD_GROUP_OPERATIONS_MAX >= c->first_sequence &&
                m->sequence < c->first_sequence + TD_GROUP_OPERATIONS_MAX;
    if (!near || c->state == TD_COMMUNICATOR_LOST_NODE || c->state == TD_COMMUNICATOR_PARTED ||
        c->state == TD_COMMUNICATOR_HELD) /* nothing runs */
        return;
    if (!c->has_parent) {
        decide(core, c, o, m);
        return;
    }
    bool news = note_first(c, m->sequence) || appeal->node == appeal->waits_for;
    if (o && follows(o, appeal)) {
        o->stalled_on = appeal->waits_for;
        news = true;
    }
    if (news)
        td_session_send(core, c->group.node[td_communicator_hearer(c, c->slot)], m);
}

static void appeal(struct td_core *core, struct td_operation *o, td_err error, const char *text,
                   uint32_t waits_for)
{
    struct td_message m;
    td_operation_start_message(o, TD_MESSAGE_APPEAL, &m);
    m.u.appeal = (struct td_message_appeal){.error = error,
                                            .text = text,
                                            .is_running = true,
                                            .node = core->node,
                                            .waits_for = waits_for};
    o->appeal_error = error;
    td_operation_keep(o, &o->appeal_text, text);
    td_stall_appeal(core, o->communicator, &m);
}

/* ---- errors of this node ---- */

static void refuse(struct td_core *core, struct td_operation *o, td_err error, const char *text)
{
    if (o->state <= TD_OPERATION_COMBINING)
        td_operation_transition(o, TD_OPERATION_REFUSE);
    td_operation_appeal(core, o, error, text);
}

void td_stall_break(struct td_core *core, struct td_operation *o, td_err error, const char *text)
{
    if (o->state < TD_OPERATION_RELEASED) {
        refuse(core, o, error, text);
        return;
    }
    if (o->state == TD_OPERATION_RUNNING && has_partners(o)) {
        td_operation_transition(o, TD_OPERATION_BREAK);
        core->fabric->abandon(core, &o->sender);
        o->appeal_at = core->now + td_health_patience(core);
        td_core_alarm(core, o->appeal_at);
    } else if (o->state <= TD_OPERATION_RUNNING) {
        td_operation_fail(core, o, error, text);
    } else {
        return;
    }
    if (has_partners(o))
        appeal(core, o, error, text, core->node);
}

void td_stall_packets_lost(struct td_core *core, struct td_operation *o, uint32_t a, uint32_t b)
{
    const struct td_group *g = &o->communicator->group;
    if (td_group_slot(g, a) != UINT32_MAX && td_group_slot(g, b) != UINT32_MAX)
        return;
    td_stall_break(core, o, TD_ERR_PARTITIONED,
                   td_core_format(core,
                                  "%s: packets between %s and %s were lost, because one of the two "
                                  "did not hear the other for progress_timeout, or was restarted. "
                                  "Only this operation ends: call again",
                                  td_operation_describe(core, o), td_core_node_name(core, a),
                                  td_core_node_name(core, b)));
}

bool td_stall_may_cancel(const struct td_operation *o)
{
    return runs(o) && o->state != TD_OPERATION_BROKEN;
}

void td_stall_cancel(struct td_core *core, struct td_operation *o, const char *text)
{
    if (!td_stall_may_cancel(o))
        return;
    td_operation_keep(o, &o->cancel_text, text);
    o->cancelled = true;
    td_core_alarm(core, core->now);
}

/* ---- time ---- */

/* cancel_late ends an operation that a rank has cancelled, if it makes no progress. */
static void cancel_late(struct td_core *core, struct td_operation *o)
{
    td_time at = o->progress_at + (td_time)core->settings.heartbeat_ns;
    if (!o->cancelled || core->now < at) {
        td_core_alarm(core, o->cancelled ? at : TD_TIME_NEVER);
        return;
    }
    o->cancelled = false;
    o->appeal_at = core->now + td_health_patience(core);
    appeal(core, o, TD_ERR_CANCELLED, td_core_format(core, "%s", o->cancel_text), core->node);
}

void td_stall_begin(struct td_operation *o)
{
    o->appeal_at = o->verdict_at = TD_TIME_NEVER;
    o->pending_error = TD_OK;
    o->stalled_on = UINT32_MAX;
}

uint32_t td_stall_waits_for(const struct td_core *core, const struct td_operation *o)
{
    uint32_t node = td_engine_owed_by(o);
    return node != UINT32_MAX && o->flights > o->packets ? core->node : node;
}

/* hears returns false if this node cannot go on, whatever the node that it waits for waits for. */
static bool hears(const struct td_core *core, uint32_t node)
{
    return !core->link[node].torn && td_silence_now(core, node) == 0;
}

static const char *explain(struct td_core *core, const struct td_operation *o, uint32_t node)
{
    unsigned long long tenths = (core->now - o->progress_at) / 100000000;
    const char *what = td_operation_describe(core, o), *me = td_core_node_name(core, core->node);
    if (node == core->node)
        return td_core_format(core,
                              "%s has stalled: a computation on %s has not ended for %llu.%llu s. "
                              "Only this operation ends: raise [limits] progress_timeout if its "
                              "computations take so long, or [compute] workers",
                              what, me, tenths / 10, tenths % 10);
    const struct td_link *link = &core->link[node];
    if (!hears(core, node))
        return td_core_format(core,
                              "%s has stalled: %s has waited %llu.%llu s for %s, and the link "
                              "between them %s. Only this operation ends: call again when the "
                              "network works",
                              what, me, tenths / 10, tenths % 10, td_core_node_name(core, node),
                              !td_link_is_up(link) ? "is down"
                              : link->torn         ? "has not resumed"
                                                   : "is silent");
    return td_core_format(core,
                          "%s has stalled: %s has waited %llu.%llu s for %s, which is alive. Only "
                          "this operation ends: see the log of that node, or raise [limits] "
                          "progress_timeout",
                          what, me, tenths / 10, tenths % 10, td_core_node_name(core, node));
}

void td_stall_resumed(struct td_communicator *c, td_time ns)
{
    for (uint32_t i = 0; c->recorded && i < TD_GROUP_OPERATIONS_MAX; i++) {
        struct td_operation *o = c->operation[i];
        if (!o)
            continue;
        o->progress_at += ns;
        td_core_put_off(&o->appeal_at, ns);
        td_core_put_off(&o->verdict_at, ns);
    }
}

void td_stall_timers(struct td_core *core, struct td_operation *o)
{
    /* a silent node is detected first, before the nodes that wait for it are blamed */
    td_time limit = td_health_patience(core) + 3 * (td_time)core->settings.heartbeat_ns;
    bool doubt = o->communicator->parting.doubt_at != TD_TIME_NEVER; /* its verdict ends them all */
    bool stands = core->now - o->progress_at >= limit, late = stands && !doubt;
    if (!runs(o))
        return;
    if (core->now >= o->verdict_at && !doubt)
        give_pending(core, o);
    if (core->now >= o->appeal_at && !late && o->state != TD_OPERATION_BROKEN)
        o->appeal_at = TD_TIME_NEVER; /* it goes on after all */
    if (runs(o) && core->now >= o->appeal_at)
        td_operation_fail(core, o, o->appeal_error, td_core_format(core, "%s", o->appeal_text));
    if (runs(o) && o->state != TD_OPERATION_BROKEN)
        cancel_late(core, o);
    if (!runs(o))
        return;
    uint32_t node = o->state == TD_OPERATION_BROKEN ? UINT32_MAX : td_stall_waits_for(core, o);
    if (late && node != UINT32_MAX && o->appeal_at == TD_TIME_NEVER) {
        o->appeal_at = core->now + limit;
        appeal(core, o, TD_ERR_TIMEOUT, explain(core, o, node),
               hears(core, node) ? node : core->node);
    }
    td_core_alarm(core, stands ? core->now + limit : o->progress_at + limit);
    if (!doubt)
        td_core_alarm(core, o->verdict_at);
    td_core_alarm(core, o->appeal_at);
}
