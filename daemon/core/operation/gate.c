/* SPDX-License-Identifier: Apache-2.0 */
#include "gate.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "arrival.h"
#include "core/membership/communicator_losses.h"
#include "core/membership/later_losses.h"
#include "core/membership/parting.h"
#include "core/net/session.h"
#include "core/net/silence.h"
#include "recording.h"
#include "stall.h"
#include "stopped.h"

enum { VERDICT_NS = 200000000, RETRY_NS = 1000000 };

static int child_index(const struct td_communicator *c, uint32_t node)
{
    for (uint32_t i = 0; i < c->children; i++)
        if (c->child[i] == node)
            return (int)i;
    return -1;
}

static void learn(struct td_operation *o, const struct td_bitmap *arrived)
{
    uint32_t bytes = td_bit_bytes(o->communicator->group.size);
    if (arrived->bytes != bytes)
        return;
    if (!o->known && !(o->known = td_arena_alloc(o->communicator->account->calls, bytes)))
        return;
    for (uint32_t i = 0; i < bytes; i++)
        o->known[i] |= arrived->bits[i];
}

/* keep_ride keeps the payload of a child's announcement in the place of its earlier one. It returns
 * false if memory runs out. */
static bool keep_ride(struct td_core *core, struct td_arena *arena, struct td_child_payload *ride,
                      const struct td_message_payload *payload)
{
    if (ride->bytes != payload->bytes) {
        td_core_free(core, ride->data);
        *ride = (struct td_child_payload){0};
        if (payload->bytes && !(ride->data = td_arena_alloc(arena, payload->bytes)))
            return false;
        ride->bytes = payload->bytes;
    }
    if (ride->bytes)
        memcpy(ride->data, payload->data, ride->bytes);
    return true;
}

/* handle_arrive handles ARRIVE and REPORT. */
static void handle_arrive(struct td_core *core, struct td_operation *o, uint32_t from,
                          const struct td_message *m)
{
    int child = child_index(o->communicator, from);
    const struct td_message_arrive *arrive = &m->u.arrive;
    const struct td_message_payload *payload = &arrive->payload;
    if (child < 0 || o->state >= TD_OPERATION_ANNOUNCED)
        return;
    if (o->report_at == TD_TIME_NEVER) {
        o->report_at = core->now + TD_REPORT_NS;
        td_core_alarm(core, o->report_at);
    }
    if (m->kind == TD_MESSAGE_REPORT) {
        learn(o, &m->u.report.arrived);
        return;
    }
    o->children_arrived |= 1u << child;
    o->last = arrive->last;
    td_arrival_delayed(core, o, from, arrive->silent_node, arrive->silent_ns);
    o->scratch_lacking = o->scratch_lacking || arrive->no_room;
    if (!arrive->no_room && o->spare_at == TD_TIME_NEVER) {
        uint64_t doublings = o->spares < 7 ? o->spares : 7;
        o->spare_at = core->now + ((uint64_t)core->settings.progress_timeout_ns << doublings);
        td_core_alarm(core, o->spare_at);
    }
    if (!keep_ride(core, o->communicator->account->calls, &o->ride[child], payload)) {
        td_operation_appeal(
            core, o, TD_ERR_NO_MEMORY,
            td_account_no_memory(core, o->communicator->account, td_operation_describe(core, o)));
        return;
    }
    if (!o->survey_complete)
        td_survey_merge(&o->survey, &arrive->survey);
    td_arrival_witness(core, o, &arrive->least);
    td_arrival_witness(core, o, &arrive->greatest);
    td_core_queue(core, &o->task);
}

/* begin_again makes all nodes below announce once more, and releases scratch memory. */
static void begin_again(struct td_core *core, struct td_operation *o,
                        const struct td_message_announce_again *why)
{
    struct td_message m;
    td_operation_start_message(o, TD_MESSAGE_ANNOUNCE_AGAIN, &m);
    m.u.announce_again = *why;
    for (uint32_t i = 0; i < o->communicator->children; i++)
        td_session_send(core, o->communicator->child[i], &m);
    td_operation_give_scratch(core, o);
    o->scratch_lacking = false;
    o->spare_at = TD_TIME_NEVER;
    if (!o->survey_complete)
        o->survey = (struct td_survey){0};
    o->children_arrived = 0;
    td_recording_add(core, o, TD_TRACE_AGAIN);
    td_operation_transition(o, TD_OPERATION_REPEAT);
}

/* spare makes the nodes that have announced announce again, without scratch: the last rank may call
 * in hours or never, and others need the scratch meanwhile. When all ranks have called, the
 * operation lacks scratch, and all nodes announce once more. */
static void spare(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    struct td_message m;
    o->spare_at = TD_TIME_NEVER;
    o->spares++;
    td_operation_start_message(o, TD_MESSAGE_ANNOUNCE_AGAIN, &m);
    m.u.announce_again = (struct td_message_announce_again){.without_scratch = true};
    for (uint32_t i = 0; i < c->children; i++)
        if (o->children_arrived >> i & 1)
            td_session_send(core, c->child[i], &m);
    o->children_arrived = 0;
    o->scratch_lacking = false;
    if (!o->survey_complete)
        o->survey = (struct td_survey){0};
}

/* again_without_scratch obeys the parent's request to give scratch back. */
static void again_without_scratch(struct td_core *core, struct td_operation *o,
                                  const struct td_message_announce_again *why)
{
    begin_again(core, o, why);
    o->scratch_spared = true;
    td_core_queue(core, &o->task);
}

void td_gate_again(struct td_core *core, struct td_operation *o)
{
    o->scratch_spared = false;
    begin_again(core, o, &(struct td_message_announce_again){0});
    uint32_t doublings = o->retries < 7 ? o->retries : 7;
    o->retries++;
    o->retry_at = core->now + 1 + td_core_random(core) % ((uint64_t)RETRY_NS << doublings);
    td_core_alarm(core, o->retry_at);
}

void td_gate_survey(struct td_core *core, struct td_operation *o, const struct td_survey *survey)
{
    struct td_message_announce_again why = {.is_surveyed = true, .survey = *survey};
    begin_again(core, o, &why);
    td_engine_fini(core, o);
    o->survey = *survey;
    o->survey_complete = true;
    o->program.method = NULL; /* it is compiled anew */
    td_core_queue(core, &o->task);
}

/* handle_release handles RELEASE, VERDICT and ANNOUNCE_AGAIN. */
static void handle_release(struct td_core *core, struct td_operation *o, uint32_t from,
                           const struct td_message *m)
{
    const struct td_message_payload *payload = &m->u.release.payload;
    if (m->kind == TD_MESSAGE_VERDICT) {
        td_arrival_told(core, o, &m->u.verdict);
        td_operation_verdict(core, o, m->u.verdict.error, m->u.verdict.text);
        return;
    }
    if (o->state != TD_OPERATION_ANNOUNCED)
        return;
    if (m->kind == TD_MESSAGE_ANNOUNCE_AGAIN) {
        if (m->u.announce_again.without_scratch)
            again_without_scratch(core, o, &m->u.announce_again);
        else if (m->u.announce_again.is_surveyed)
            td_gate_survey(core, o, &m->u.announce_again.survey);
        else
            td_gate_again(core, o);
        return;
    }
    td_operation_transition(o, TD_OPERATION_RELEASE);
    o->last = m->u.release.last;
    td_arrival_delayed(core, o, from, m->u.release.silent_node, m->u.release.silent_ns);
    if (payload->bytes) {
        o->release = td_arena_alloc(o->communicator->account->calls, payload->bytes);
        o->release_bytes = payload->bytes;
        if (o->release)
            memcpy(o->release, payload->data, payload->bytes);
        else
            td_stall_break(core, o, TD_ERR_NO_MEMORY,
                           td_account_no_memory(core, o->communicator->account,
                                                td_operation_describe(core, o)));
    }
    o->progress_at = core->now;
    td_core_queue(core, &o->task);
}

static void send_waiting(struct td_core *core, struct td_operation *o, bool reply_requested)
{
    uint32_t bytes = td_bit_bytes(o->communicator->group.size);
    uint8_t *bits = td_core_pad(core, bytes);
    if (!bits)
        return;
    td_gate_arrived(o, bits);
    struct td_message m;
    td_operation_start_message(o, TD_MESSAGE_WAITING, &m);
    m.u.waiting.arrived = (struct td_bitmap){bits, bytes};
    m.u.waiting.reply_requested = reply_requested;
    for (uint32_t i = 0; i < o->communicator->children; i++)
        td_session_send(core, o->communicator->child[i], &m);
}

/* report sends the set of arrived ranks to the parent (at the root: to the children) if it has
 * grown since the last report, or if it was asked for. */
static void report(struct td_core *core, struct td_operation *o, bool asked)
{
    uint32_t size = o->communicator->group.size, bytes = td_bit_bytes(size);
    uint8_t *bits = td_core_pad(core, bytes);
    o->report_at = TD_TIME_NEVER;
    if (!bits)
        return;
    td_gate_arrived(o, bits);
    uint32_t count = td_bits_count(bits, size);
    if (count == o->known_sent && !asked)
        return;
    o->known_sent = count;
    if (td_operation_at_root(o)) {
        send_waiting(core, o, false);
        return;
    }
    struct td_message m;
    td_operation_start_message(o, TD_MESSAGE_REPORT, &m);
    m.u.report.arrived = (struct td_bitmap){bits, bytes};
    td_session_send(core, o->communicator->parent, &m);
}

static void handle_waiting(struct td_core *core, struct td_operation *o, const struct td_message *m)
{
    bool reply_requested = m->u.waiting.reply_requested;
    learn(o, &m->u.waiting.arrived);
    send_waiting(core, o, reply_requested);
    if (reply_requested && o->state < TD_OPERATION_ANNOUNCED)
        report(core, o, true);
}

static void handle_appeal(struct td_core *core, struct td_operation *o,
                          const struct td_message_appeal *m)
{
    if (o->state >= TD_OPERATION_RELEASED)
        return;
    if (m->error != TD_ERR_TIMEOUT) {
        td_operation_verdict(core, o, m->error, m->text);
    } else if (o->verdict_at == TD_TIME_NEVER) {
        /* ask all nodes once more which ranks have arrived, so that the verdict names none falsely
         */
        o->verdict_at = core->now + VERDICT_NS;
        td_core_alarm(core, o->verdict_at);
        send_waiting(core, o, true);
    }
}

/* no_record handles a message of an operation that is over, or that there is no memory for. The
 * senders repeat appeals and reports by themselves. */
static void no_record(struct td_core *core, struct td_communicator *c, uint32_t from,
                      const struct td_message *m)
{
    uint32_t place = (uint32_t)(m->sequence % TD_GROUP_OPERATIONS_MAX);
    struct td_message told = {.kind = TD_MESSAGE_ANNOUNCE_AGAIN,
                              .instance = c->instance,
                              .group = c->index,
                              .sequence = m->sequence,
                              .u.announce_again = {.is_surveyed = false}};
    if (m->sequence < c->first_sequence || c->retired[place])
        return;
    if (m->kind == TD_MESSAGE_ARRIVE) {
        td_session_send(core, from, &told);
    } else if (m->kind == TD_MESSAGE_VERDICT) {
        c->ended_unrecorded[place] = (uint8_t)-m->u.verdict.error;
        told.kind = TD_MESSAGE_VERDICT;
        told.u.verdict = m->u.verdict;
        for (uint32_t i = 0; i < c->children; i++)
            td_session_send(core, c->child[i], &told);
    }
}

/* is_early handles a message of an operation that is beyond this node's window: the sender has
 * ended operations that still run here. It returns false for a message that is not repeated. */
static bool is_early(struct td_core *core, uint32_t from, const struct td_message *m)
{
    const struct td_message again = {.kind = TD_MESSAGE_ANNOUNCE_AGAIN,
                                     .instance = m->instance,
                                     .group = m->group,
                                     .sequence = m->sequence};
    if (m->kind == TD_MESSAGE_ARRIVE)
        td_session_send(core, from, &again);
    return m->kind != TD_MESSAGE_VERDICT;
}

/* may_send returns true if a node may send a message of this kind about an operation: only the
 * parent sends those that go down the tree. */
static bool may_send(const struct td_communicator *c, uint32_t from, enum td_message_kind kind)
{
    bool down = kind == TD_MESSAGE_RELEASE || kind == TD_MESSAGE_VERDICT ||
                kind == TD_MESSAGE_WAITING || kind == TD_MESSAGE_ANNOUNCE_AGAIN;
    return !down || (c->has_parent && from == c->parent);
}

void td_gate_message(struct td_core *core, struct td_communicator *c, uint32_t from,
                     const struct td_message *m)
{
    uint32_t place = (uint32_t)(m->sequence % TD_GROUP_OPERATIONS_MAX);
    td_later_losses_made(c, from, m);
    if (m->kind == TD_MESSAGE_VERDICT && m->u.verdict.is_running) {
        if (td_communicator_is_below(c, from))
            td_stall_verdict(core, c, m);
        return;
    }
    if (td_communicator_rests(c) && (m->sequence < c->first_sequence || !c->operation[place])) {
        if (c->state == TD_COMMUNICATOR_PARTED && m->kind == TD_MESSAGE_ARRIVE)
            td_parting_tell_end(core, c, from); /* it may have made the group after END came */
        else if (td_communicator_broken(c) && m->sequence == 0 && c->index == TD_GROUP_MADE &&
                 (m->kind == TD_MESSAGE_ARRIVE || m->kind == TD_MESSAGE_REPORT))
            td_communicator_tell_loss(core, c, from);
        return;
    }
    if (m->sequence >= c->first_sequence + TD_GROUP_OPERATIONS_MAX) {
        if (is_early(core, from, m))
            return;
        td_communicator_rank_lost(core, c, c->seat[0].rank, TD_ERR_BUSY,
                                  td_core_format(core,
                                                 "a rank on node %u is more than %d operations "
                                                 "behind the other ranks: the group has failed",
                                                 core->node, TD_GROUP_OPERATIONS_MAX));
        return;
    }
    if (!may_send(c, from, m->kind))
        return;
    if (m->kind == TD_MESSAGE_ANNOUNCE_AGAIN) {
        if (!td_later_losses_parent_made(c))
            td_communicator_not_made(core, c, from);
        if (!c->operation[place])
            return;
    }
    struct td_operation *o = td_operation_obtain(core, c, m->sequence);
    if (!o) {
        no_record(core, c, from, m);
        return;
    }
    if (m->kind == TD_MESSAGE_ARRIVE || m->kind == TD_MESSAGE_REPORT) {
        handle_arrive(core, o, from, m);
    } else if (m->kind == TD_MESSAGE_RELEASE || m->kind == TD_MESSAGE_VERDICT ||
               m->kind == TD_MESSAGE_ANNOUNCE_AGAIN) {
        handle_release(core, o, from, m);
    } else if (m->kind == TD_MESSAGE_WAITING) {
        handle_waiting(core, o, m);
    } else {
        assert(m->kind == TD_MESSAGE_APPEAL);
        handle_appeal(core, o, &m->u.appeal);
    }
}

void td_gate_arrived(const struct td_operation *o, uint8_t *bits)
{
    const struct td_communicator *c = o->communicator;
    const struct td_group *g = &c->group;
    if (o->known)
        memcpy(bits, o->known, td_bit_bytes(g->size));
    else
        memset(bits, 0, td_bit_bytes(g->size));
    if (o->state >= TD_OPERATION_RELEASED && o->error == TD_OK) {
        memset(bits, 0xff, td_bit_bytes(g->size));
        return;
    }
    for (uint32_t i = 0; i < c->ranks; i++)
        if (o->arrival[i].state == TD_ARRIVAL_WAITING || o->arrival[i].state == TD_ARRIVAL_ANSWERED)
            td_bit_set(bits, c->seat[i].rank);
    if (o->children_arrived == 0)
        return;
    const struct td_tree *t = &c->tree;
    uint32_t begin = t->place[c->slot] + 1, end = t->place[c->slot] + t->below[c->slot];
    for (uint32_t at = begin; at < end; at += t->below[t->order[at]]) {
        if (!(o->children_arrived >> child_index(c, g->node[t->order[at]]) & 1))
            continue;
        for (uint32_t i = at; i < at + t->below[t->order[at]]; i++)
            for (uint32_t local = 0; local < td_group_slot_ranks(g, t->order[i]); local++)
                td_bit_set(bits, td_group_rank(g, t->order[i], local));
    }
}

/* ---- time ---- */

/* name_silent writes which node of missing ranks is silent, and for how long: its ranks may have
 * called. It writes nothing if all those nodes are heard. */
static void name_silent(struct td_core *core, const struct td_communicator *c, const uint8_t *bits,
                        char *text, size_t bytes)
{
    uint32_t node = core->node;
    td_time most = 0;
    char name[TD_NODE_NAME_MAX];
    for (uint32_t r = 0; r < c->group.size; r++) {
        uint32_t slot = 0, local = 0;
        td_group_locate(&c->group, r, &slot, &local);
        td_time ns = td_bit(bits, r) ? 0 : td_silence_unheard(core, c->group.node[slot]);
        node = ns > most ? c->group.node[slot] : node;
        most = ns > most ? ns : most;
    }
    text[0] = '\0';
    if (most < (td_time)core->settings.heartbeat_ns)
        return;
    td_core_node_print(core, node, name, sizeof name);
    snprintf(text, bytes, "; %s has been silent for %llu.%llu s, and its ranks may have called",
             name, (unsigned long long)most / 1000000000,
             (unsigned long long)most / 100000000 % 10);
}

static void expire(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    uint8_t *bits = td_core_pad(core, td_bit_bytes(c->group.size));
    char missing[200], silent[TD_NODE_NAME_MAX + 80];
    if (!bits)
        return;
    td_gate_arrived(o, bits);
    uint32_t count = td_communicator_print_ranks(core, c, bits, false, missing, sizeof missing);
    if (count == 0) {
        td_operation_verdict(core, o, TD_ERR_TIMEOUT,
                             td_core_format(core, "%s: some ranks had not arrived in time",
                                            td_operation_describe(core, o)));
        return;
    }
    name_silent(core, c, bits, silent, sizeof silent);
    td_operation_verdict(core, o, TD_ERR_TIMEOUT,
                         td_core_format(core,
                                        "%s: %u of %u ranks had not arrived in time: rank%s %s%s",
                                        td_operation_describe(core, o), count, c->group.size,
                                        count == 1 ? "" : "s", missing, silent));
}

void td_gate_timers(struct td_core *core, struct td_operation *o)
{
    if (o->state < TD_OPERATION_RELEASED) {
        if (core->now >= o->expires_at) {
            o->expires_at = TD_TIME_NEVER;
            td_operation_appeal(core, o, TD_ERR_TIMEOUT, "the arrival timeout has passed");
        }
        if (core->now >= o->verdict_at)
            expire(core, o);
        if (core->now >= o->appeal_at)
            td_operation_appeal_again(core, o);
        if (core->now >= o->report_at)
            report(core, o, false);
        if (core->now >= o->look_at)
            td_stopped_look(core, o);
        if (core->now >= o->spare_at && o->state == TD_OPERATION_GATHERING)
            spare(core, o);
        if (core->now >= o->retry_at && o->state == TD_OPERATION_GATHERING)
            td_core_queue(core, &o->task);
    }
    if (o->state < TD_OPERATION_RELEASED) {
        td_core_alarm(core, o->expires_at);
        td_core_alarm(core, o->verdict_at);
        td_core_alarm(core, o->report_at);
        td_core_alarm(core, o->look_at);
        if (core->now < o->spare_at)
            td_core_alarm(core, o->spare_at);
        td_core_alarm(core, o->appeal_at);
        if (o->state == TD_OPERATION_GATHERING && core->now < o->retry_at)
            td_core_alarm(core, o->retry_at);
        return;
    }
    td_stall_timers(core, o);
}
