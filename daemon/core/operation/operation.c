/* SPDX-License-Identifier: Apache-2.0 */
#include "operation.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/net/inflight.h"
#include "admission.h"
#include "flood.h"
#include "gate.h"
#include "core/net/link.h"
#include "core/net/session.h"

static bool advance(struct td_core *core, struct td_task *task);

/* ---- records ---- */

static void release_record(struct td_core *core, struct td_operation *o)
{
    struct td_arena *arena = core->arena;
    for (uint32_t i = 0; o->arrival && i < o->communicator->ranks; i++) {
        td_region_release(core, o->arrival[i].source);
        td_region_release(core, o->arrival[i].destination);
    }
    if (o->scratch_held)
        td_ranges_release(&core->scratch, o->scratch_offset, o->scratch_bytes);
    td_engine_fini(core, o);
    core->fabric->forget(core, &o->sender);
    td_arena_free(arena, o->arrival);
    td_arena_free(arena, o->source);
    td_arena_free(arena, o->destination);
    td_arena_free(arena, o->ride);
    td_arena_free(arena, o->release);
    td_arena_free(arena, o->known);
    td_arena_free(arena, o->text);
    td_arena_free(arena, o->appeal_text);
    td_arena_free(arena, o->pending_text);
    td_flood_free(core, o);
    td_plan_free(o->plan, arena, &core->options.planner);
    td_counts_free(&o->counts, arena);
    td_communicator_tree_release(core, o->tree);
    td_core_unqueue(core, &o->task);
    td_arena_free(arena, o);
    core->operations--;
}

/* leave notes that a local rank makes no call any more, and expects no reply. */
static void leave(struct td_operation *o, uint32_t local)
{
    struct td_arrival *a = &o->arrival[local];
    if (a->state == TD_ARRIVAL_ABSENT)
        o->arrived++; /* it never will */
    td_arrival_transition(a, TD_ARRIVAL_LEAVE);
}

struct td_operation *td_operation_obtain(struct td_core *core, struct td_communicator *c,
                                         uint64_t sequence)
{
    if (sequence < c->first_sequence || sequence >= c->first_sequence + TD_GROUP_OPERATIONS_MAX)
        return NULL;
    uint32_t place = (uint32_t)(sequence % TD_GROUP_OPERATIONS_MAX);
    if (c->operation[place] || c->retired[place])
        return c->operation[place];
    if (core->operations >= core->settings.operations_max)
        return NULL;
    struct td_operation *o = td_arena_alloc(core->arena, sizeof *o);
    if (!o)
        return NULL;
    core->operations++;
    o->task.advance = advance;
    o->sender.operation = o;
    o->sender.task = &o->task;
    o->communicator = c;
    o->sequence = sequence;
    o->started_at = o->progress_at = core->now;
    o->expires_at = o->verdict_at = o->retry_at = o->appeal_at = o->ask_at = TD_TIME_NEVER;
    o->report_at = core->now + TD_REPORT_NS;
    td_core_alarm(core, o->report_at);
    o->arrival = td_arena_alloc(core->arena, c->ranks * sizeof *o->arrival);
    o->source = td_arena_alloc(core->arena, c->ranks * sizeof *o->source);
    o->destination = td_arena_alloc(core->arena, c->ranks * sizeof *o->destination);
    if (!o->arrival || !o->source || !o->destination) {
        release_record(core, o);
        return NULL;
    }
    for (uint32_t i = 0; i < c->ranks; i++) {
        o->source[i].handle = o->destination[i].handle = TD_NO_MEMORY;
        if (!td_seat_occupied(&c->seat[i]))
            leave(o, i);
    }
    c->operation[place] = o;
    if (c->ended_unrecorded[place]) {
        td_operation_verdict(
            core, o, (td_err) - (int)c->ended_unrecorded[place],
            td_core_format(core,
                           "it ended while node %u had no memory to record why: raise "
                           "[limits] operations or memory",
                           core->node));
        c->ended_unrecorded[place] = 0;
    }
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
                             .scratch_offset = o->scratch_offset};
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
    bool goes_on = core->fabric->queues_sends && o->state == TD_OPERATION_RUNNING && o->flights &&
                   !o->engine.starved;
    if (!goes_on) /* else a step that is done queues the operation */
        td_core_queue(core, &o->task);
}

/* ---- ending ---- */

/* end_badly drops what is queued of an operation that has failed, and queues its replies. */
static void end_badly(struct td_core *core, struct td_operation *o, td_err error, const char *text)
{
    o->error = error;
    o->text = td_arena_alloc(core->arena, TD_TEXT_MAX);
    if (o->text)
        snprintf(o->text, TD_TEXT_MAX, "%s", text);
    core->fabric->abandon(core, &o->sender);
    td_core_queue(core, &o->task);
}

void td_operation_fail(struct td_core *core, struct td_operation *o, td_err error, const char *text)
{
    if (o->state >= TD_OPERATION_ENDING)
        return;
    td_operation_transition(o, TD_OPERATION_FAIL);
    end_badly(core, o, error, text);
}

void td_operation_verdict(struct td_core *core, struct td_operation *o, td_err error,
                          const char *text)
{
    if (o->state >= TD_OPERATION_RELEASED)
        return;
    td_operation_transition(o, TD_OPERATION_VERDICT);
    end_badly(core, o, error, text);
}

void td_operation_appeal(struct td_core *core, struct td_operation *o, td_err error,
                         const char *text)
{
    if (o->appeal_error != TD_OK || o->state >= TD_OPERATION_RELEASED)
        return;
    o->appeal_error = error;
    if (!o->appeal_text)
        o->appeal_text = td_arena_alloc(core->arena, TD_TEXT_MAX);
    if (o->appeal_text)
        snprintf(o->appeal_text, TD_TEXT_MAX, "%s", text);
    td_operation_appeal_again(core, o);
}

void td_operation_appeal_again(struct td_core *core, struct td_operation *o)
{
    struct td_message m;
    td_operation_start_message(o, TD_MESSAGE_APPEAL, &m);
    if (td_communicator_may_flood(core, o->communicator) && !td_flood_sent(o))
        td_flood_transition(o, TD_FLOOD_VETO);
    m.u.appeal = (struct td_message_appeal){
        .error = o->appeal_error,
        .text = o->appeal_text ? td_core_format(core, "%s", o->appeal_text) : "",
        .is_veto = o->flood_state == TD_FLOOD_VETOED};
    o->appeal_at = td_operation_at_root(o) ? TD_TIME_NEVER : core->now + TD_APPEAL_NS;
    td_core_alarm(core, o->appeal_at);
    td_communicator_appeal(core, o->communicator, &m);
}

const char *td_operation_describe(struct td_core *core, const struct td_operation *o)
{
    char call[160] = "operation";
    if (o->witnesses)
        td_call_print(&o->least.call, call, sizeof call);
    return td_core_format(core, "%s, operation %llu of job %s", call,
                          (unsigned long long)o->sequence, o->communicator->name);
}

/* ---- arrivals ---- */

bool td_operation_mismatched(const struct td_operation *o)
{
    return o->witnesses && td_call_compare(&o->least.call, &o->greatest.call) != 0;
}

void td_operation_witness(struct td_core *core, struct td_operation *o, const struct td_witness *w)
{
    bool before = td_operation_mismatched(o);
    if (!o->witnesses || td_call_compare(&w->call, &o->least.call) < 0)
        o->least = *w;
    if (!o->witnesses || td_call_compare(&w->call, &o->greatest.call) > 0)
        o->greatest = *w;
    o->witnesses++;
    if (before || !td_operation_mismatched(o))
        return;
    char a[160], b[160];
    td_call_print(&o->least.call, a, sizeof a);
    td_call_print(&o->greatest.call, b, sizeof b);
    td_operation_appeal(
        core, o, TD_ERR_MISMATCH,
        td_core_format(core,
                       "rank %u called %s, but rank %u called %s, as operation %llu of job %s: "
                       "all ranks of a group make the same calls in the same order",
                       o->least.rank, a, o->greatest.rank, b, (unsigned long long)o->sequence,
                       o->communicator->name));
}

/* need_bytes returns the bytes that a rank's source and destination must hold. Calls with counts
 * are checked by record_counts. */
static void need_bytes(const struct td_communicator *c, const struct td_seat *seat,
                       const struct td_call *call, const struct td_plan *plan, uint64_t need[2])
{
    td_call_bytes(call, c->group.size, seat->rank, &need[0], &need[1]);
    struct td_box box;
    for (unsigned side = 0; plan && side < 2; side++)
        need[side] = td_plan_bytes(plan, side, seat->rank, &box);
}

/* check_call checks a call. For a call that agrees on a plan it makes *made and fills in the
 * digest. For a call that executes a plan it finds *plan. On an error *text is a sentence. */
static td_err check_call(struct td_core *core, struct td_communicator *c,
                         const struct td_request *q, struct td_call *call, struct td_plan **made,
                         struct td_plan **plan, const char **text)
{
    td_err error = TD_OK;
    char wrong[400];
    *text = td_call_check(call, c->group.size);
    if (!*text && td_call_plans(call->kind)) {
        *made = td_plan_make(core->arena, call->kind, &q->u.operation.description, c->group.size,
                             &error, wrong, sizeof wrong);
        if (*made)
            call->digest = (*made)->digest;
        else
            *text = td_core_format(core, "%s: %s", td_kind_name(call->kind), wrong);
        return error;
    }
    if (!*text && td_call_executes(call->kind)) {
        *plan = td_communicator_plan(c, call->plan);
        if (!*plan || (*plan)->kind != call->kind)
            *text = "the plan is not one of this group, or was freed";
    }
    return *text ? TD_ERR_INVALID : TD_OK;
}

static struct td_memory memory_of(const struct td_region *region, const struct td_place *place)
{
    if (!region)
        return (struct td_memory){.handle = TD_NO_MEMORY};
    return (struct td_memory){region->handle, place->offset, place->bytes};
}

/* answer sends a local rank the result of the operation. */
static void answer(struct td_core *core, struct td_operation *o, uint32_t local)
{
    struct td_arrival *a = &o->arrival[local];
    const struct td_communicator *c = o->communicator;
    td_arrival_transition(a, TD_ARRIVAL_ANSWER);
    if (o->error != TD_OK) {
        td_reply_error(core, a->client, a->request, o->error, o->text ? o->text : "");
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

/* struct buffers: the regions that a rank's request names, checked and in use. */
struct buffers {
    struct td_region *source, *destination;
    uint64_t need[2];
};

/* hold_buffers takes the regions of a request into use. On an error *text is a sentence. */
static td_err hold_buffers(struct td_core *core, struct td_client *client,
                           const struct td_request *q, size_t alignment, struct buffers *b,
                           const char **text)
{
    const struct td_place *from = &q->u.operation.source, *to = &q->u.operation.destination;
    if (from->offset % alignment || to->offset % alignment) {
        *text = td_core_format(core, "the buffers must be aligned to %zu bytes", alignment);
        return TD_ERR_INVALID;
    }
    td_err error = td_region_use(core, client, from, b->need[0], "source", &b->source, text);
    if (error == TD_OK)
        error = td_region_use(core, client, to, b->need[1], "destination", &b->destination, text);
    return error;
}

/* has_one_share returns true if a rank of a reduce-scatter receives the same number of bytes, at
 * the same place, from every rank. The survey of pairs does not detect that. */
static bool has_one_share(const struct td_counts *p, uint32_t local)
{
    const struct td_part *of = p->part + (size_t)(p->ranks + local) * p->group->size;
    for (uint32_t i = 1; i < p->group->size; i++)
        if (of[i].bytes != of[0].bytes || (of[i].bytes && of[i].at != of[0].at))
            return false;
    return true;
}

/* record_counts records the counts of a local rank, and returns the bytes that its buffers need. */
static td_err record_counts(struct td_core *core, struct td_operation *o, uint32_t local,
                            const struct td_request *q, uint64_t need[2], const char **text)
{
    const struct td_communicator *c = o->communicator;
    uint64_t element = td_type_bytes(q->u.operation.call.type);
    if (!o->counts.part && !td_counts_build(&o->counts, core->arena, &c->group, c->slot)) {
        *text = td_core_format(core, "node %u has no memory for the counts: raise [limits] memory",
                               core->node);
        return TD_ERR_NO_MEMORY;
    }
    *text = td_counts_set(&o->counts, local, false, &q->u.operation.from, element, &need[0]);
    if (!*text)
        *text = td_counts_set(&o->counts, local, true, &q->u.operation.to, element, &need[1]);
    if (!*text && q->u.operation.call.kind == TD_KIND_REDUCE_SCATTERV &&
        !has_one_share(&o->counts, local))
        *text = "a rank must receive the same number of elements, at the same place, from every "
                "rank";
    return *text ? TD_ERR_INVALID : TD_OK;
}

/* admit checks a rank's request and finds its operation. On an error nothing has changed, except
 * that the operation may have a new record, as if another rank had arrived first. */
static td_err admit(struct td_core *core, struct td_client *client, struct td_communicator *c,
                    const struct td_seat *seat, const struct td_request *q,
                    const struct td_call *call, const struct td_plan *plan, struct buffers *b,
                    struct td_operation **o, const char **text)
{
    if (seat->next_sequence >= c->first_sequence + TD_GROUP_OPERATIONS_MAX) {
        *text = td_core_format(core, "rank %u is %d operations ahead of the slowest rank of job %s",
                               seat->rank, TD_GROUP_OPERATIONS_MAX, c->name);
        return TD_ERR_BUSY;
    }
    size_t alignment = plan ? td_plan_alignment(plan) : td_call_alignment(call->kind, call->type);
    bool has_counts = td_call_has_counts(call->kind);
    td_err error = TD_OK;
    need_bytes(c, seat, call, plan, b->need);
    if (!has_counts && (error = hold_buffers(core, client, q, alignment, b, text)) != TD_OK)
        return error;
    if (!(*o = td_operation_obtain(core, c, seat->next_sequence))) {
        *text = td_core_format(core,
                               "node %u has no room for another operation: it has %u on "
                               "record; raise [limits] operations or memory",
                               core->node, core->operations);
        return TD_ERR_NO_MEMORY;
    }
    if (has_counts)
        error = record_counts(core, *o, (uint32_t)(seat - c->seat), q, b->need, text);
    if (has_counts && error == TD_OK)
        error = hold_buffers(core, client, q, alignment, b, text);
    return error;
}

static void arrive(struct td_core *core, struct td_client *client, struct td_communicator *c,
                   struct td_seat *seat, const struct td_request *q)
{
    struct td_call call = q->u.operation.call;
    struct td_plan *made = NULL, *plan = NULL;
    const char *text = NULL;
    td_err error = check_call(core, c, q, &call, &made, &plan, &text);
    uint32_t local = (uint32_t)(seat - c->seat);
    struct td_operation *o = NULL;
    struct buffers b = {0};
    if (error == TD_OK)
        error = admit(core, client, c, seat, q, &call, plan, &b, &o, &text);
    if (error != TD_OK) {
        td_region_release(core, b.source);
        td_region_release(core, b.destination);
        td_plan_free(made, core->arena, &core->options.planner);
        td_reply_refused(core, client->id, q->id, error, text);
        return;
    }
    seat->next_sequence++;
    o->arrived++;
    struct td_arrival *a = &o->arrival[local];
    td_arrival_transition(a, TD_ARRIVAL_CALL);
    a->client = client->id;
    a->request = q->id;
    a->source = b.source;
    a->destination = b.destination;
    o->source[local] = memory_of(b.source, &q->u.operation.source);
    o->destination[local] = memory_of(b.destination, &q->u.operation.destination);
    if (o->plan) {
        td_plan_free(made, core->arena, &core->options.planner);
    } else if (plan) {
        o->plan = plan;
        plan->users++;
    } else {
        o->plan = made;
    }
    int64_t limit = q->u.operation.timeout_ns;
    td_time expires = td_core_after(core, limit < 0 ? core->settings.arrival_timeout_ns : limit);
    if (expires < o->expires_at) {
        o->expires_at = expires;
        td_core_alarm(core, expires);
    }
    if (o->state < TD_OPERATION_RELEASED)
        td_operation_witness(core, o, &(struct td_witness){call, seat->rank});
    if (o->report_at == TD_TIME_NEVER) {
        o->report_at = core->now + TD_REPORT_NS;
        td_core_alarm(core, o->report_at);
    }
    td_core_queue(core, &o->task);
}

void td_operation_request(struct td_core *core, struct td_client *client,
                          const struct td_request *q)
{
    struct td_communicator *c = NULL;
    struct td_seat *seat = td_communicator_seat(core, client, q->u.operation.group, &c);
    if (!seat) {
        td_reply_error(core, client->id, q->id, TD_ERR_INVALID,
                       "this process has no such group: it has not joined, or has left");
        return;
    }
    uint64_t sequence = q->u.operation.sequence;
    if (sequence < seat->next_sequence) {
        td_client_expel(core, client->id, TD_ERR_PROTOCOL,
                        "the sequence number of the call was used before");
        return;
    }
    if (sequence > seat->next_sequence && !td_communicator_broken(c)) {
        td_reply_refused(core, client->id, q->id, TD_ERR_BUSY,
                         td_core_format(core,
                                        "an earlier call of rank %u, operation %llu of job %s, was "
                                        "refused: make this one again after it",
                                        seat->rank, (unsigned long long)seat->next_sequence,
                                        c->name));
        return;
    }
    bool known = sequence >= c->first_sequence &&
                 sequence < c->first_sequence + TD_GROUP_OPERATIONS_MAX &&
                 c->operation[sequence % TD_GROUP_OPERATIONS_MAX];
    if (core->stopping || (td_communicator_broken(c) && !known)) {
        if (td_communicator_broken(c))
            seat->next_sequence = sequence + 1;
        td_reply_error(core, client->id, q->id,
                       td_communicator_broken(c) ? c->error : TD_ERR_SHUTDOWN,
                       td_communicator_broken(c) ? c->text : "the daemon is stopping");
        return;
    }
    arrive(core, client, c, seat, q);
}

void td_operation_cancel(struct td_core *core, struct td_client *client, uint64_t request)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        for (int i = 0; i < TD_GROUP_OPERATIONS_MAX; i++) {
            struct td_operation *o = c->operation[i];
            for (uint32_t local = 0; o && local < c->ranks; local++) {
                const struct td_arrival *a = &o->arrival[local];
                if (a->state != TD_ARRIVAL_WAITING || a->client != client->id ||
                    a->request != request)
                    continue;
                o->appeal_error = TD_OK; /* a cancel replaces an earlier appeal */
                td_operation_appeal(core, o, TD_ERR_CANCELLED,
                                    td_core_format(core, "rank %u cancelled %s",
                                                   c->seat[local].rank,
                                                   td_operation_describe(core, o)));
                return;
            }
        }
}

void td_operation_seat_lost(struct td_core *core, struct td_communicator *c, uint32_t local)
{
    for (int i = 0; i < TD_GROUP_OPERATIONS_MAX; i++) {
        struct td_operation *o = c->operation[i];
        if (!o)
            continue;
        leave(o, local);
        td_core_queue(core, &o->task);
    }
}

void td_operation_group_broken(struct td_core *core, struct td_communicator *c, td_err error,
                               const char *text, bool running_too)
{
    for (int i = 0; i < TD_GROUP_OPERATIONS_MAX; i++) {
        struct td_operation *o = c->operation[i];
        bool pending = o && td_flood_sent(o) && o->state < TD_OPERATION_RELEASED && !running_too &&
                       error == TD_ERR_RANK_FAILED;
        bool listed = c->state == TD_COMMUNICATOR_LOST_RANK_SETTLED;
        if (pending && !listed) { /* the root's list is still to come, if the root lives */
            o->appeal_error = error;
            o->appeal_at = core->now;
            td_core_alarm(core, core->now);
        } else if (o && (o->state < TD_OPERATION_RELEASED || running_too) &&
                   !(pending && td_flood_completes(c, o->sequence))) {
            td_operation_fail(core, o, running_too ? error : c->error,
                              running_too ? text : c->text);
        }
        if (o)
            td_core_queue(core, &o->task); /* a broken group answers late ranks by itself */
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

static void notify_children(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    /* a copy: the record may be released before the message is sent */
    const char *text = o->text && c->children ? td_core_format(core, "%s", o->text) : "";
    for (uint32_t i = 0; i < c->children; i++) {
        struct td_action *a = td_core_act(core, TD_ACTION_SEND_TREE);
        a->u.tree.node = c->child[i];
        bool good = o->error == TD_OK;
        td_operation_start_message(o, good ? TD_MESSAGE_RELEASE : TD_MESSAGE_VERDICT,
                                   &a->u.tree.message);
        if (good)
            td_message_load(&a->u.tree.message, NULL, 0);
        else
            a->u.tree.message.u.verdict = (struct td_message_verdict){o->error, text};
        td_operation_view(o, &a->u.tree.view);
        if (good && td_admission_rides(o))
            a->u.tree.payload = td_admission_result(o);
        td_session_seal(core, a);
    }
}

static void succeed(struct td_core *core, struct td_operation *o)
{
    struct td_communicator *c = o->communicator;
    td_operation_transition(o, TD_OPERATION_SUCCEED);
    if (td_call_plans(o->least.call.kind)) {
        o->plan->next = c->plans;
        o->plan->number = o->sequence;
        for (uint32_t i = 0; i < c->ranks; i++)
            td_communicator_hold(o->plan, i);
        o->plan->users++;
        c->plans = o->plan;
    }
    td_core_queue(core, &o->task);
}

/* begin delivers the payload that came with the release, and passes the release on. */
static void begin(struct td_core *core, struct td_operation *o)
{
    if (td_admission_rides(o) && !td_admission_deliver(core, o)) {
        td_operation_fail(core, o, TD_ERR_NO_MEMORY, "too many computations at once on this node");
        return;
    }
    if (o->state != TD_OPERATION_RELEASED)
        return;
    if (o->program.ride != TD_RIDE_FLOOD)
        notify_children(core, o);
    td_operation_transition(o, TD_OPERATION_RUN);
}

/* run starts the steps that can start; it returns false when there is no room for more actions. */
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
    if (o->error != TD_OK && td_gate_veto(core, o) && !td_core_room(core))
        return false;
    if (o->flights)
        return true; /* the driver still reads or writes the buffers */
    for (uint32_t i = 0; i < c->ranks; i++) {
        if (o->arrival[i].state != TD_ARRIVAL_WAITING)
            continue;
        if (!td_core_room(core))
            return false;
        answer(core, o, i);
    }
    if (o->arrived == c->ranks || td_communicator_broken(c)) {
        uint64_t sequence = o->sequence;
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
    if (o->state == TD_OPERATION_GATHERING && td_admission_complete(core, o))
        td_operation_transition(o, TD_OPERATION_COMPLETE);
    if (o->state == TD_OPERATION_PREPARING || o->state == TD_OPERATION_COMBINING)
        td_admission_advance(core, o);
    bool floods = o->state == TD_OPERATION_PREPARING || o->state == TD_OPERATION_ANNOUNCED;
    if (floods && o->program.ride == TD_RIDE_FLOOD && !td_flood_advance(core, o))
        return false;
    if (o->state == TD_OPERATION_RELEASED)
        begin(core, o);
    if (o->state == TD_OPERATION_RUNNING && !run(core, o))
        return false;
    return o->state < TD_OPERATION_ENDING || end(core, o);
}
