/* SPDX-License-Identifier: Apache-2.0 */
#include "operation.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/membership/communicator_losses.h"
#include "core/membership/endings.h"
#include "core/membership/later_losses.h"
#include "core/net/inflight.h"
#include "core/sums.h"
#include "admission.h"
#include "approach.h"
#include "arrival.h"
#include "core/membership/waits.h"
#include "gate.h"
#include "recording.h"
#include "core/net/link.h"
#include "core/net/session.h"
#include "stall.h"
#include "stopped.h"

static bool advance(struct td_core *core, struct td_task *task);

/* ---- records ---- */

bool td_operation_take_scratch(struct td_core *core, struct td_operation *o)
{
    struct td_account *account = o->communicator->account;
    bool may =
        o->scratch_bytes == 0 || td_account_may(core, account, TD_HOLD_SCRATCH, o->scratch_bytes);
    if (o->scratch_held || !may)
        return o->scratch_held;
    o->scratch_offset = td_scratch_take(core, o->scratch_bytes);
    o->scratch_held = o->scratch_offset != UINT64_MAX;
    if (o->scratch_held)
        td_account_add(core, account, TD_HOLD_SCRATCH, o->scratch_bytes);
    return o->scratch_held;
}

void td_operation_give_scratch(struct td_core *core, struct td_operation *o)
{
    if (!o->scratch_held)
        return;
    td_scratch_give(core, o->scratch_offset, o->scratch_bytes);
    td_account_drop(core, o->communicator->account, TD_HOLD_SCRATCH, o->scratch_bytes);
    o->scratch_held = false;
}

static void drop_text(struct td_core *core, const struct td_operation *o, char *kept)
{
    if (kept != o->text)
        td_core_free(core, kept);
}

static void release_record(struct td_core *core, struct td_operation *o)
{
    for (uint32_t i = 0; o->arrival && i < o->communicator->ranks; i++) {
        td_region_release(core, o->arrival[i].source);
        td_region_release(core, o->arrival[i].destination);
    }
    for (uint32_t i = 0; o->source && o->destination && i < o->communicator->ranks; i++) {
        td_core_free(core, (void *)(uintptr_t)o->source[i].form);
        td_core_free(core, (void *)(uintptr_t)o->destination[i].form);
    }
    td_operation_give_scratch(core, o);
    td_engine_fini(core, o);
    core->fabric->forget(core, &o->sender);
    td_core_free(core, o->arrival);
    td_core_free(core, o->source);
    td_core_free(core, o->destination);
    for (uint32_t i = 0; i < o->communicator->children; i++)
        td_core_free(core, o->ride[i].data);
    td_core_free(core, o->release);
    td_core_free(core, o->known);
    drop_text(core, o, o->appeal_text);
    drop_text(core, o, o->pending_text);
    drop_text(core, o, o->cancel_text);
    td_plan_free(o->plan, core->arena);
    td_counts_free(&o->counts, core->arena);
    td_communicator_tree_release(core, o->tree);
    td_core_unqueue(core, &o->task);
    td_account_drop(core, o->communicator->account, TD_HOLD_OPERATIONS, 1);
    td_core_free(core, o);
    core->operations->count--;
}

/* leave notes that a local rank makes no call any more, and expects no reply. */
static void leave(struct td_operation *o, uint32_t local)
{
    struct td_arrival *a = &o->arrival[local];
    if (a->state == TD_ARRIVAL_ABSENT)
        o->arrived++; /* it never arrives */
    td_arrival_transition(a, TD_ARRIVAL_LEAVE);
}

uint64_t td_operation_record_bytes(const struct td_communicator *c)
{
    return td_arena_piece_bytes(sizeof(struct td_operation)) +
           td_arena_piece_bytes(c->ranks * sizeof(struct td_arrival) + TD_TEXT_MAX) +
           2 * td_arena_piece_bytes(c->ranks * sizeof(struct td_memory));
}

bool td_operation_has_room(const struct td_core *core, const struct td_communicator *c,
                           uint64_t sequence)
{
    return (td_account_may(core, c->account, TD_HOLD_OPERATIONS, 1) &&
            td_account_may(core, c->account, TD_HOLD_CALLS, td_operation_record_bytes(c))) ||
           sequence == c->first_sequence;
}

/* hear_early applies what this node was told of an operation before it made the group. */
static void hear_early(struct td_core *core, struct td_operation *o)
{
    uint64_t instance = o->communicator->instance;
    const struct td_ending *ending = td_endings_find(core, instance, o->sequence);
    const struct td_ending *appeal = td_endings_appealed(core, instance, o->sequence);
    if (ending)
        td_operation_verdict(core, o, ending->error, ending->text);
    if (appeal)
        td_operation_appeal(core, o, appeal->error, appeal->text);
}

struct td_operation *td_operation_obtain(struct td_core *core, struct td_communicator *c,
                                         uint64_t sequence)
{
    if (sequence < c->first_sequence || sequence >= c->first_sequence + TD_GROUP_OPERATIONS_MAX)
        return NULL;
    uint32_t place = (uint32_t)(sequence % TD_GROUP_OPERATIONS_MAX);
    if (c->operation[place] || c->retired[place])
        return c->operation[place];
    if (!td_operation_has_room(core, c, sequence))
        return NULL;
    struct td_arena *arena = c->account->calls;
    struct td_operation *o = td_arena_alloc(arena, sizeof *o);
    if (!o)
        return NULL;
    core->operations->count++;
    td_account_add(core, c->account, TD_HOLD_OPERATIONS, 1);
    o->communicator = c;
    o->task.advance = advance;
    o->sender.operation = o;
    o->sender.arena = arena;
    o->sender.task = &o->task;
    o->sender.job = c->world;
    o->sender.instance = c->instance;
    o->sequence = sequence;
    o->started_at = o->progress_at = core->now;
    o->expires_at = o->verdict_at = o->retry_at = o->appeal_at = o->spare_at = TD_TIME_NEVER;
    o->stalled_on = UINT32_MAX;
    o->report_at = core->now + TD_REPORT_NS;
    td_core_alarm(core, o->report_at);
    td_stopped_begin(core, o);
    /* the place of the sentence of an error is reserved: it must not fail for lack of memory */
    o->arrival = td_arena_alloc(arena, c->ranks * sizeof *o->arrival + TD_TEXT_MAX);
    o->source = td_arena_alloc(arena, c->ranks * sizeof *o->source);
    o->destination = td_arena_alloc(arena, c->ranks * sizeof *o->destination);
    if (!o->arrival || !o->source || !o->destination) {
        release_record(core, o);
        return NULL;
    }
    o->text = (char *)(o->arrival + c->ranks);
    for (uint32_t i = 0; i < c->ranks; i++) {
        o->source[i].handle = o->destination[i].handle = TD_NO_MEMORY;
        if (!td_seat_occupied(&c->seat[i]))
            leave(o, i);
    }
    td_communicator_record(c, sequence, o);
    td_core_alarm(core, c->parting.doubt_at); /* it waits for a silent node */
    td_later_losses_wait(core, c);
    if (c->ended_unrecorded[place]) {
        td_operation_verdict(core, o, (td_err) - (int)c->ended_unrecorded[place],
                             td_core_format(core,
                                            "the operation has ended, but node %u had no memory to "
                                            "record why: raise [limits] operations or memory",
                                            core->node));
        c->ended_unrecorded[place] = 0;
    }
    if (c->made_late)
        hear_early(core, o);
    return o;
}

bool td_operation_at_root(const struct td_operation *o)
{
    return !o->communicator->has_parent;
}

void td_operation_start_message(const struct td_operation *o, enum td_message_kind kind,
                                struct td_message *m)
{
    *m = (struct td_message){.kind = kind,
                             .instance = o->communicator->instance,
                             .group = o->communicator->index,
                             .sequence = o->sequence};
}

void td_operation_view(const struct td_operation *o, struct td_view *view)
{
    *view = (struct td_view){.ranks = o->communicator->ranks,
                             .source = o->source,
                             .destination = o->destination,
                             .scratch_offset = o->scratch_offset,
                             .job = o->communicator->world,
                             .uid = o->communicator->uid};
}

void td_operation_name(const struct td_operation *o, struct td_packet *packet)
{
    packet->instance = o->communicator->instance;
    packet->group = o->communicator->index;
    packet->sequence = o->sequence;
}

void td_operation_in_flight_begin(struct td_operation *o)
{
    o->flights++;
}

void td_operation_in_flight_end(struct td_core *core, struct td_operation *o)
{
    assert(o->flights > 0);
    o->flights--;
    o->progress_at = core->now; /* a packet has left, or a computation has ended */
    bool goes_on = core->fabric->queues_sends && o->state == TD_OPERATION_RUNNING && o->flights &&
                   !o->engine.starved;
    if (!goes_on) /* else a step that is done queues the operation */
        td_core_queue(core, &o->task);
    td_engine_record_free(core);
}

void td_operation_packet_begin(struct td_operation *o)
{
    o->packets++;
    td_operation_in_flight_begin(o);
}

void td_operation_packet_end(struct td_core *core, struct td_operation *o)
{
    assert(o->packets > 0);
    o->packets--;
    td_operation_in_flight_end(core, o);
}

/* ---- ending ---- */

/* note_sides keeps which rank of this node has made which call, if the operation is the first of
 * its job that has failed. */
static void note_sides(struct td_core *core, const struct td_operation *o)
{
    struct td_communicator *c = o->communicator;
    td_waits_differ(core, c, o->sequence);
    for (uint32_t i = 0; i < c->ranks; i++)
        if (o->arrival[i].state == TD_ARRIVAL_WAITING)
            td_waits_side(c, o->sequence, c->seat[i].rank, &o->arrival[i].call);
}

/* note_failure notes for the log, the record of the job and the flight recorder that an operation
 * ends with an error. */
static void note_failure(struct td_core *core, const struct td_operation *o, td_err error,
                         const char *text)
{
    const struct td_communicator *c = o->communicator;
    int64_t rank = TD_NOTE_NONE, node = TD_NOTE_NONE;
    td_arrival_culprit(core, o, error, &rank, &node);
    td_recording_failed(core, o, rank, node, text);
    td_waits_failed(core, o->communicator, &(struct td_waits_failure){error, text, rank, node});
    if (error == TD_ERR_MISMATCH)
        note_sides(core, o);
    struct td_note *note = td_communicator_note(core, c, TD_NOTE_FAILED);
    if (!note)
        return;
    note->operation = td_operation_number(o);
    note->age_ns = core->now - o->started_at;
    note->error = error;
    note->rank = rank;
    note->node = node;
    snprintf(note->text, sizeof note->text, "%s", text);
}

/* place_ranks notes where the ranks of this node run, which the sentence of a mismatch may name:
 * those first whose calls were compared with others'. The node that wrote the sentence does not
 * know. */
static void place_ranks(const struct td_operation *o)
{
    struct td_communicator *c = o->communicator;
    const uint32_t compared[] = {o->least.rank, o->greatest.rank};
    uint32_t kind = o->least.call.kind, slot = 0, local = 0;
    if (!o->witnesses)
        return;
    for (unsigned i = 0; i < 2; i++)
        if (compared[i] < c->group.size) {
            td_group_locate(&c->group, compared[i], &slot, &local);
            if (slot == c->slot)
                td_waits_place(c, compared[i], kind);
        }
    for (uint32_t i = 0; i < c->ranks; i++)
        td_waits_place(c, c->seat[i].rank, kind);
}

/* end_badly drops what is queued of an operation that has failed, and queues its replies. */
static void end_badly(struct td_core *core, struct td_operation *o, bool was_released, td_err error,
                      const char *text)
{
    const struct td_communicator *c = o->communicator;
    if (c->index == TD_GROUP_MADE && o->sequence == 0) /* ranks may still come to create it */
        td_endings_note(core, c->instance, td_communicator_broken(c) ? TD_ENDING_OF_CREATION : 0,
                        error, text);
    if (error == TD_ERR_MISMATCH)
        place_ranks(o);
    if (error < TD_OK && error > -TD_ERRORS)
        core->sums->failed[-(int)error]++;
    o->error = error;
    if (!was_released)
        td_stopped_over(core, o);
    note_failure(core, o, error, text);
    if (!o->silence_told) /* else it is that of the latest arrival */
        o->silent_node = 0;
    if (!was_released)
        td_arrival_failed(core, o);
    if (text != o->text) /* else it is the sentence of its appeal */
        snprintf(o->text, TD_TEXT_MAX, "%s", text);
    core->fabric->abandon(core, &o->sender);
    td_core_queue(core, &o->task);
}

void td_operation_fail(struct td_core *core, struct td_operation *o, td_err error, const char *text)
{
    if (o->state >= TD_OPERATION_ENDING)
        return;
    bool was_released = o->state >= TD_OPERATION_RELEASED;
    td_operation_transition(o, TD_OPERATION_FAIL);
    end_badly(core, o, was_released, error, text);
}

void td_operation_fail_busy(struct td_core *core, struct td_operation *o)
{
    td_stall_break(core, o, TD_ERR_NO_MEMORY,
                   td_core_format(core,
                                  "node %u has all of its %d in-flight records in use: run fewer "
                                  "operations at the same time",
                                  core->node, TD_INFLIGHTS_MAX));
}

void td_operation_verdict(struct td_core *core, struct td_operation *o, td_err error,
                          const char *text)
{
    if (o->state >= TD_OPERATION_RELEASED)
        return;
    td_operation_transition(o, TD_OPERATION_VERDICT);
    end_badly(core, o, false, error, text);
}

void td_operation_keep(struct td_operation *o, char **kept, const char *text)
{
    if (!*kept && !(*kept = td_arena_alloc(o->communicator->account->calls, TD_TEXT_MAX)))
        *kept = o->text;
    snprintf(*kept, TD_TEXT_MAX, "%s", text);
}

void td_operation_appeal(struct td_core *core, struct td_operation *o, td_err error,
                         const char *text)
{
    /* that calls differ says more than an appeal before: the root hears it, too */
    bool more = error == TD_ERR_MISMATCH && o->appeal_error != TD_ERR_MISMATCH;
    if ((o->appeal_error != TD_OK && !more) || o->state >= TD_OPERATION_RELEASED)
        return;
    o->appeal_error = error;
    td_operation_keep(o, &o->appeal_text, text);
    struct td_trace_event *event = td_recording_add(core, o, TD_TRACE_APPEAL);
    if (event)
        event->error = (uint16_t) - (int)error;
    td_operation_appeal_again(core, o);
}

void td_operation_appeal_again(struct td_core *core, struct td_operation *o)
{
    struct td_message m;
    td_operation_start_message(o, TD_MESSAGE_APPEAL, &m);
    m.u.appeal = (struct td_message_appeal){.error = o->appeal_error,
                                            .text = td_core_format(core, "%s", o->appeal_text)};
    o->appeal_at = td_operation_at_root(o) ? TD_TIME_NEVER : core->now + TD_APPEAL_NS;
    td_core_alarm(core, o->appeal_at);
    td_communicator_appeal(core, o->communicator, &m);
}

const char *td_operation_describe(struct td_core *core, const struct td_operation *o)
{
    char call[TD_CALL_TEXT_MAX] = "operation";
    if (o->witnesses)
        td_call_print(&o->least.call, call, sizeof call);
    return td_core_format(core, "%s, operation %llu of job %s", call,
                          (unsigned long long)td_operation_number(o), o->communicator->name);
}

/* ---- notices ---- */

void td_operation_seat_lost(struct td_core *core, struct td_communicator *c, uint32_t local)
{
    for (int i = 0; i < TD_GROUP_OPERATIONS_MAX; i++) {
        struct td_operation *o = c->operation[i];
        if (!o)
            continue;
        if (o->arrival[local].state == TD_ARRIVAL_WAITING)
            td_recording_return(core, o, local, true);
        leave(o, local);
        td_core_queue(core, &o->task);
    }
}

void td_operation_group_broken(struct td_core *core, struct td_communicator *c, td_err error,
                               const char *text, bool running_too)
{
    for (int i = 0; i < TD_GROUP_OPERATIONS_MAX; i++) {
        struct td_operation *o = c->operation[i];
        if (!o)
            continue;
        if (o->state < TD_OPERATION_RELEASED || running_too)
            td_operation_fail(core, o, running_too ? error : c->error,
                              running_too ? text : c->text);
        td_core_queue(core, &o->task); /* no root decides: reply to late ranks */
    }
}

/* runs returns true from the release to the end. */
static bool runs(const struct td_operation *o)
{
    return o->state == TD_OPERATION_RELEASED || o->state == TD_OPERATION_RUNNING;
}

bool td_operation_running(const struct td_core *core)
{
    for (const struct td_communicator *c = core->communicators; c; c = c->next)
        for (int i = 0; i < TD_GROUP_OPERATIONS_MAX; i++)
            if (c->operation[i] && runs(c->operation[i]))
                return true;
    return false;
}

/* ---- running and ending ---- */

/* answer sends a local rank the result of the operation. */
static void answer(struct td_core *core, struct td_operation *o, uint32_t local)
{
    struct td_arrival *a = &o->arrival[local];
    const struct td_communicator *c = o->communicator;
    td_arrival_transition(a, TD_ARRIVAL_ANSWER);
    td_recording_return(core, o, local, false);
    if (c->seat[local].client)
        c->seat[local].client->failed_at = o->error != TD_OK ? core->now : 0;
    if (o->error != TD_OK) {
        const struct td_failed_call failed = {
            .job = c->name, .group = c->index, .operation = (int64_t)td_operation_number(o)};
        td_reply_failed(core, a->client, a->request, o->error, o->text, &failed);
    } else if (td_call_plans(o->least.call.kind)) {
        struct td_reply *r = td_reply_new(core, a->client, a->request, TD_REPLY_PLANNED);
        uint32_t rank = c->seat[local].rank;
        r->u.planned.plan = o->sequence;
        td_plan_bytes(o->plan, 0, rank, &r->u.planned.source);
        td_plan_bytes(o->plan, 1, rank, &r->u.planned.destination);
    } else {
        td_reply_done(core, a->client, a->request);
    }
}

static void notify_children(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    /* a copy: the record may be released before the message is sent */
    const char *text = c->children ? td_core_format(core, "%s", o->text) : o->text;
    for (uint32_t i = 0; i < c->children; i++) {
        struct td_action *a = td_core_act(core, TD_ACTION_SEND_TREE);
        a->u.tree.node = c->child[i];
        bool good = o->error == TD_OK;
        td_operation_start_message(o, good ? TD_MESSAGE_RELEASE : TD_MESSAGE_VERDICT,
                                   &a->u.tree.message);
        if (good)
            a->u.tree.message.u.release = (struct td_message_release){
                .last = o->last, .silent_node = o->silent_node, .silent_ns = o->silent_ns};
        else
            a->u.tree.message.u.verdict =
                (struct td_message_verdict){.error = o->error,
                                            .text = text,
                                            .silent_node = o->silent_node,
                                            .silent_ns = o->silent_node ? o->silent_ns : 0};
        if (good && td_admission_rides(o))
            td_admission_load_release(o, i, a);
        td_session_seal(core, a);
    }
}

/* add_sums counts an operation that has succeeded. */
static void add_sums(struct td_core *core, const struct td_operation *o)
{
    struct td_kind_sums *sums = &core->sums->kind[o->least.call.kind];
    td_histogram_add(&sums->duration, core->now - o->started_at);
    if (o->program.predicted_bytes == 0)
        return;
    sums->predicted_bytes += o->program.predicted_bytes;
    sums->measured_ns += core->now - o->released_at;
}

static void succeed(struct td_core *core, struct td_operation *o)
{
    struct td_communicator *c = o->communicator;
    td_operation_transition(o, TD_OPERATION_SUCCEED);
    td_stall_completed(core, o);
    td_recording_done(core, o);
    add_sums(core, o);
    if (td_call_plans(o->least.call.kind)) {
        o->plan->next = c->plans;
        o->plan->number = o->sequence;
        for (uint32_t i = 0; i < c->ranks; i++)
            td_communicator_hold(o->plan, i);
        o->plan->users++;
        c->plans = o->plan;
        td_approach(core, o);
    }
    td_core_queue(core, &o->task);
}

/* begin delivers the payload that came with the release, and passes the release on. */
static void begin(struct td_core *core, struct td_operation *o)
{
    td_arrival_released(core, o);
    td_recording_release(core, o);
    o->released_at = core->now;
    td_histogram_add(&core->sums->kind[o->least.call.kind].skew, core->now - o->started_at);
    if (td_admission_rides(o) && !td_admission_deliver(core, o)) {
        td_operation_fail_busy(core, o);
        return;
    }
    if (o->state != TD_OPERATION_RELEASED)
        return;
    notify_children(core, o);
    td_operation_transition(o, TD_OPERATION_RUN);
    td_stall_begin(o);
}

/* run starts the steps that can start; it returns false when the action list is full. */
static bool run(struct td_core *core, struct td_operation *o)
{
    if (!td_engine_advance(core, o))
        return false;
    if (o->flights == 0 && td_engine_finished(o))
        succeed(core, o);
    else
        td_core_alarm(core, td_core_after(core, core->settings.progress_timeout_ns));
    return true;
}

/* end answers the ranks that have called. The record stays for ranks that are late. */
static bool end(struct td_core *core, struct td_operation *o)
{
    struct td_communicator *c = o->communicator;
    if (o->state == TD_OPERATION_ENDING) {
        notify_children(core, o);
        td_operation_transition(o, TD_OPERATION_CHILDREN_TOLD);
    }
    if (o->flights)
        return true; /* the driver still reads or writes the buffers */
    for (uint32_t i = 0; i < c->ranks; i++) {
        if (o->arrival[i].state != TD_ARRIVAL_WAITING)
            continue;
        if (!td_core_room(core))
            return false;
        answer(core, o, i);
    }
    if (o->arrived == c->ranks || td_communicator_rests(c)) {
        uint64_t sequence = o->sequence;
        bool own = o->error != TD_OK && strcmp(o->text, c->text) != 0;
        if (own && o->arrived < c->ranks) /* it ended before the group broke */
            td_endings_note(core, c->instance, sequence, o->error, o->text);
        release_record(core, o);
        td_communicator_retire(core, c, sequence);
    }
    return true;
}

static bool advance(struct td_core *core, struct td_task *task)
{
    struct td_operation *o = (struct td_operation *)task;
    if (!td_core_room(core))
        return false;
    if (o->state == TD_OPERATION_GATHERING && td_admission_complete(core, o)) {
        td_recording_add(core, o, TD_TRACE_COMPLETE);
        td_operation_transition(o, TD_OPERATION_COMPLETE);
    }
    if (o->state == TD_OPERATION_PREPARING || o->state == TD_OPERATION_COMBINING)
        td_admission_advance(core, o);
    if (o->state == TD_OPERATION_RELEASED)
        begin(core, o);
    if (o->state == TD_OPERATION_RUNNING && !run(core, o))
        return false;
    return o->state < TD_OPERATION_ENDING || end(core, o);
}
