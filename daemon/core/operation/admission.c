/* SPDX-License-Identifier: Apache-2.0 */
#include "admission.h"

#include <string.h>

#include "arrival.h"
#include "core/net/inflight.h"
#include "gate.h"
#include "core/net/link.h"
#include "core/net/session.h"
#include "stall.h"

/* The memory that a transform plan is made in at first, and its growth when it is too small. */
enum { TABLES_BYTES = 1 << 16, TABLES_GROWTH = 4 };

static uint64_t ride_slot_bytes(const struct td_operation *o)
{
    return ((uint64_t)o->program.ride_bytes + 63) & ~(uint64_t)63;
}

bool td_admission_rides(const struct td_operation *o)
{
    return o->program.ride != TD_RIDE_NONE && o->program.ride_bytes > 0;
}

/* compute_plan has the driver make the transform plan of a plan, in so many bytes. It returns false
 * if there is no memory, or no free in-flight record. */
static bool compute_plan(struct td_core *core, struct td_operation *o, size_t bytes)
{
    const struct td_communicator *c = o->communicator;
    td_arena_free(core->arena, o->plan->tables);
    o->plan->tables = td_arena_take(c->account->lasting, bytes);
    struct td_inflight *flight =
        o->plan->tables ? td_inflight_acquire(core, TD_INFLIGHT_PLAN, o) : NULL;
    if (!flight)
        return false;
    struct td_compute *compute = &td_core_act(core, TD_ACTION_COMPUTE)->u.compute;
    compute->kind = TD_COMPUTE_PLAN;
    compute->handle = td_inflight_handle(core, flight);
    compute->view = (struct td_view){.job = c->world};
    compute->plan = (struct td_plan_input){.plan = o->plan,
                                           .group = &c->group,
                                           .slot = c->slot,
                                           .topology = &core->options.topology,
                                           .tuning = &core->settings.tuning};
    compute->cost_bytes = core->options.planner.cost_bytes(&compute->plan);
    compute->tables = td_arena_within(o->plan->tables, bytes);
    o->tables_bytes = bytes;
    td_operation_in_flight_begin(o);
    return true;
}

/* refuse_memory refuses an operation for which this node has no memory. */
static void refuse_memory(struct td_core *core, struct td_operation *o)
{
    td_operation_transition(o, TD_OPERATION_REFUSE);
    td_operation_appeal(
        core, o, TD_ERR_NO_MEMORY,
        td_account_no_memory(core, o->communicator->account, td_operation_describe(core, o)));
}

void td_admission_planned(struct td_core *core, struct td_operation *o, td_err error)
{
    if (o->state > TD_OPERATION_PREPARING)
        return; /* it has ended meanwhile */
    if (error == TD_OK) {
        struct td_arena *tables = o->plan->tables;
        td_arena_trim(tables, td_arena_fit(tables));
    } else if (error != TD_ERR_NO_MEMORY ||
               !compute_plan(core, o, TABLES_GROWTH * o->tables_bytes)) {
        refuse_memory(core, o);
    }
    td_core_queue(core, &o->task);
}

/* compile makes the program and its counters. It returns false after an appeal. */
static bool compile(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    const struct td_call *call = &o->least.call;
    uint64_t seed = c->instance ^ (uint64_t)c->index << 32 ^ o->sequence * 0x9e3779b97f4a7c15u;
    bool grown = td_communicator_tree(core, o->communicator, call, &o->tree);
    const struct td_compile_input input = {.call = call,
                                           .plan = td_call_executes(call->kind) ? o->plan : NULL,
                                           .seed = seed,
                                           .group = &c->group,
                                           .tree = o->tree ? &o->tree->tree : &c->tree,
                                           .slot = c->slot,
                                           .topology = &core->options.topology,
                                           .counts =
                                               td_call_has_counts(call->kind) ? &o->counts : NULL,
                                           .survey = o->survey_complete ? &o->survey : NULL,
                                           .tuning = &core->settings.tuning};
    core->options.compile(&input, &o->program);
    o->scratch_bytes = (uint64_t)o->program.scratch_bytes;
    if (td_admission_rides(o)) /* the result, then each child's payload that is combined with it */
        o->scratch_bytes =
            (uint64_t)td_program_ride(&o->program) +
            ((o->program.ride == TD_RIDE_COMBINE ? c->children : 0) + 1) * ride_slot_bytes(o);
    uint64_t most = td_account_most(core, c->account, TD_HOLD_SCRATCH);
    bool fits = o->scratch_bytes <= most;
    if (fits && grown && td_engine_init(core, o) &&
        (!td_call_plans(call->kind) || compute_plan(core, o, TABLES_BYTES)))
        return true;
    if (fits) {
        refuse_memory(core, o);
        return false;
    }
    td_operation_transition(o, TD_OPERATION_REFUSE);
    td_operation_appeal(core, o, TD_ERR_NO_MEMORY,
                        td_core_format(core,
                                       "%s needs %llu bytes of scratch on node %u, which has %llu "
                                       "for one user: raise [limits] scratch",
                                       td_operation_describe(core, o),
                                       (unsigned long long)o->scratch_bytes, core->node,
                                       (unsigned long long)most));
    return false;
}

static struct td_slice ride_slice(const struct td_operation *o, uint64_t place)
{
    return td_slice_at(TD_SPACE_SCRATCH, 0,
                       td_program_ride(&o->program) + (int64_t)(place * ride_slot_bytes(o)),
                       o->program.ride_bytes);
}

/* ride_compute emits a computation on the payload; its end queues the operation. It returns NULL if
 * there is no free in-flight record. */
static struct td_compute *ride_compute(struct td_core *core, struct td_operation *o,
                                       enum td_compute_kind kind, enum td_step_kind step)
{
    struct td_inflight *flight = td_inflight_acquire(core, TD_INFLIGHT_RIDE, o);
    if (!flight)
        return NULL;
    struct td_compute *compute = &td_core_act(core, TD_ACTION_COMPUTE)->u.compute;
    compute->kind = kind;
    compute->handle = td_inflight_handle(core, flight);
    compute->step.kind = step;
    compute->step.type = o->program.call.type;
    compute->step.op = o->program.call.op;
    compute->step.to_lanes = (struct td_lanes){1, 0, 0};
    compute->bytes = compute->cost_bytes = (uint64_t)o->program.ride_bytes;
    td_operation_view(o, &compute->view);
    td_operation_in_flight_begin(o);
    return compute;
}

/* ride_load copies the payload at `data` to its place, which says its length. */
static bool ride_load(struct td_core *core, struct td_operation *o, const uint8_t *data,
                      struct td_slice to, uint32_t lanes)
{
    struct td_compute *load = ride_compute(core, o, TD_COMPUTE_LOAD, TD_COPY);
    if (!load)
        return false;
    load->bytes = load->cost_bytes = (uint64_t)td_slice_bytes(&to);
    load->step.to = to;
    load->step.to_lanes = (struct td_lanes){lanes, 0, 1};
    load->data = data;
    return true;
}

/* gather_run copies the shares of the ranks of a run to their places in the result. */
static bool gather_run(struct td_core *core, struct td_operation *o, const struct td_run *run)
{
    int64_t share = o->program.ride_bytes / o->communicator->group.size;
    struct td_compute *copy = ride_compute(core, o, TD_COMPUTE_STEP, TD_COPY);
    if (!copy)
        return false;
    copy->step.from = td_slice_at(TD_SPACE_SOURCE, run->local, 0, share);
    td_slice_loop(&copy->step.from, run->count, 0, 1);
    copy->step.to = ride_slice(o, 0);
    copy->step.to.offset += run->first * share;
    copy->step.to.run = share;
    td_slice_loop(&copy->step.to, run->count, run->step * share, 0);
    return true;
}

/* gather_runs goes on with the shares of the local ranks, which may be in many runs. It returns
 * false if there is no free in-flight record. */
static bool gather_runs(struct td_core *core, struct td_operation *o)
{
    const struct td_group *g = &o->communicator->group;
    for (; o->gather_next < o->gather_end; o->gather_next++) {
        if (!td_core_room(core)) {
            td_core_queue(core, &o->task);
            return true;
        }
        if (!gather_run(core, o, &g->run[o->gather_next]))
            return false;
    }
    return true;
}

/* place puts the shares of a child's ranks in their places. */
static void place(const struct td_operation *o, uint32_t child, uint8_t *all)
{
    const struct td_group *g = &o->communicator->group;
    uint32_t slot = td_group_slot(g, o->communicator->child[child]);
    size_t share = (size_t)o->program.ride_bytes / g->size;
    const uint8_t *data = o->ride[child].data;
    for (uint32_t i = g->slot_run[slot]; i < g->slot_run[slot + 1]; i++)
        for (uint32_t k = 0; k < g->run[i].count; k++, data += share)
            memcpy(all + (g->run[i].first + k * g->run[i].step) * share, data, share);
}

/* merge merges the payload of a child, which has zeros for the ranks that are not below it. */
static void merge(const struct td_operation *o, uint32_t child, uint8_t *all)
{
    for (uint32_t b = 0; b < o->ride[child].bytes; b++)
        all[b] |= o->ride[child].data[b];
}

/* gather makes the payload of all ranks below: each rank's share in rank order, and zeros for the
 * other ranks. The driver loads data at once. */
static bool gather(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    const struct td_group *g = &c->group;
    size_t bytes = (size_t)o->program.ride_bytes;
    uint8_t *merged = td_core_pad(core, bytes);
    if (!merged)
        return false;
    memset(merged, 0, bytes);
    for (uint32_t i = 0; i < c->children; i++) {
        if (td_ride_is_own(o->program.ride))
            place(o, i, merged);
        else
            merge(o, i, merged);
    }
    if (!ride_load(core, o, merged, ride_slice(o, 0), 1))
        return false;
    o->gather_next = g->slot_run[c->slot];
    o->gather_end = g->slot_run[c->slot + 1];
    return gather_runs(core, o);
}

/* gather_own makes the payload of the shares of the local ranks. */
static bool gather_own(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    struct td_compute *copy = ride_compute(core, o, TD_COMPUTE_STEP, TD_COPY);
    if (!copy)
        return false;
    copy->step.from = td_slice_at(TD_SPACE_SOURCE, 0, 0, o->program.ride_bytes / c->group.size);
    td_slice_loop(&copy->step.from, c->ranks, 0, 1);
    copy->step.to = ride_slice(o, 0);
    copy->step.to.run = td_ride_up(&o->program, c->slot);
    copy->bytes = copy->cost_bytes = (uint64_t)copy->step.to.run;
    return true;
}

/* fold combines the payload of all ranks below in the result's place: of the local ranks in rank
 * order, then of the children in slot order. */
static bool fold(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    struct td_compute *compute = NULL;
    if (td_ride_is_own(o->program.ride) && !td_operation_at_root(o))
        return gather_own(core, o);
    if (td_ride_gathers(o->program.ride))
        return gather(core, o);
    if (o->program.ride == TD_RIDE_ROOT) {
        for (uint32_t i = 0; i < c->children; i++)
            if (o->ride[i].bytes == (uint32_t)o->program.ride_bytes)
                return ride_load(core, o, o->ride[i].data, ride_slice(o, 0), 1);
        for (uint32_t i = 0; i < c->ranks; i++) {
            if (c->seat[i].rank != o->program.call.root)
                continue;
            if (!(compute = ride_compute(core, o, TD_COMPUTE_STEP, TD_COPY)))
                return false;
            compute->step.from = td_slice_at(TD_SPACE_SOURCE, i, 0, o->program.ride_bytes);
            compute->step.to = ride_slice(o, 0);
        }
        return true;
    }
    for (uint32_t i = 0; i < c->children; i++)
        if (!ride_load(core, o, o->ride[i].data, ride_slice(o, i + 1), 1))
            return false;
    if (!(compute = ride_compute(core, o, TD_COMPUTE_STEP, TD_COMBINE)))
        return false;
    compute->step.from = td_slice_at(TD_SPACE_SOURCE, 0, 0, o->program.ride_bytes);
    compute->step.from_lanes = (struct td_lanes){c->ranks, 0, 1};
    compute->step.with = ride_slice(o, 1);
    compute->step.with_lanes = (struct td_lanes){c->children, (int64_t)ride_slot_bytes(o), 0};
    compute->step.to = ride_slice(o, 0);
    return true;
}

/* wrong_payload returns a child whose announcement has a payload that does not fit the call, or
 * UINT32_MAX. Under TD_RIDE_ROOT only the branch of the root has one. */
static uint32_t wrong_payload(const struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    for (uint32_t i = 0; i < c->children; i++) {
        int64_t bytes = td_ride_up(&o->program, td_group_slot(&c->group, c->child[i]));
        if (o->ride[i].bytes != bytes && (o->ride[i].bytes || o->program.ride != TD_RIDE_ROOT))
            return c->child[i];
    }
    return UINT32_MAX;
}

/* carries_up returns true if the announcement has a payload. */
static bool carries_up(const struct td_operation *o)
{
    if (o->program.ride == TD_RIDE_COMBINE || td_ride_gathers(o->program.ride))
        return true;
    if (o->program.ride != TD_RIDE_ROOT)
        return false;
    const struct td_communicator *c = o->communicator;
    for (uint32_t i = 0; i < c->children; i++)
        if (o->ride[i].bytes)
            return true;
    for (uint32_t i = 0; i < c->ranks; i++)
        if (c->seat[i].rank == o->program.call.root)
            return true;
    return false;
}

/* has_counts returns true if the ranks' counts belong to the call. The record may also have counts
 * of a call that was refused, and that another call has replaced. */
static bool has_counts(const struct td_operation *o)
{
    return o->counts.part && td_call_has_counts(o->least.call.kind);
}

/* refuse_counts ends a call whose senders and receivers disagree on sizes. */
static bool refuse_counts(struct td_core *core, struct td_operation *o,
                          const struct td_survey *survey)
{
    bool single = false;
    uint32_t sender = 0, receiver = 0;
    int64_t more = 0;
    if (!has_counts(o) || td_survey_agrees(survey, &single, &sender, &receiver, &more))
        return false;
    const char *what = td_operation_describe(core, o);
    if (single) {
        sender = td_communicator_job_rank(o->communicator, sender);
        receiver = td_communicator_job_rank(o->communicator, receiver);
    }
    td_operation_verdict(
        core, o, TD_ERR_MISMATCH,
        single ? td_core_format(core,
                                "%s: rank %u sends %lld bytes %s to rank %u than rank %u expects",
                                what, sender, (long long)(more < 0 ? -more : more),
                                more < 0 ? "fewer" : "more", receiver, receiver)
               : td_core_format(core,
                                "%s: several pairs of ranks disagree on the bytes between them: "
                                "compare the counts of senders and receivers",
                                what));
    return true;
}

/* load makes `bytes` of a slice of scratch memory the payload of a message. */
static void load(const struct td_operation *o, struct td_action *a, struct td_slice from,
                 int64_t bytes)
{
    a->u.tree.payload = from;
    a->u.tree.payload_bytes = (uint32_t)bytes;
    td_operation_view(o, &a->u.tree.view);
    a->u.tree.view.ranks = 0; /* it is in scratch memory */
}

static void announce(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    struct td_survey survey = o->survey; /* of the ranks below and here */
    if (has_counts(o) && !o->survey_complete)
        td_survey_collect(&survey, &o->counts);
    if (td_operation_at_root(o)) {
        if (refuse_counts(core, o, &survey))
            return;
        if (o->program.survey_pending) {
            td_gate_survey(core, o, &survey);
        } else if (!o->scratch_lacking) {
            td_operation_transition(o, TD_OPERATION_RELEASE);
            o->progress_at = core->now;
        } else if (o->retries && core->now - o->scratch_lacking_since >
                                     (uint64_t)core->settings.progress_timeout_ns) {
            td_operation_verdict(core, o, TD_ERR_NO_MEMORY,
                                 td_core_format(core,
                                                "%s waited for scratch memory of a node for longer "
                                                "than progress_timeout: raise [limits] scratch",
                                                td_operation_describe(core, o)));
        } else {
            if (o->retries == 0)
                o->scratch_lacking_since = core->now;
            td_gate_again(core, o);
        }
        return;
    }
    struct td_action *a = td_core_act(core, TD_ACTION_SEND_TREE);
    a->u.tree.node = c->parent;
    td_operation_start_message(o, TD_MESSAGE_ARRIVE, &a->u.tree.message);
    a->u.tree.message.u.arrive = (struct td_message_arrive){.least = o->least,
                                                            .greatest = o->greatest,
                                                            .no_room = o->scratch_lacking,
                                                            .last = o->last,
                                                            .silent_node = o->silent_node,
                                                            .silent_ns = o->silent_ns,
                                                            .survey = survey};
    if (carries_up(o) && !o->scratch_lacking)
        load(o, a, ride_slice(o, 0), td_ride_up(&o->program, c->slot));
    td_session_seal(core, a);
    td_operation_transition(o, TD_OPERATION_ANNOUNCE);
}

static uint32_t all_children(const struct td_communicator *c)
{
    return (1u << c->children) - 1;
}

bool td_admission_complete(const struct td_core *core, const struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    if (td_arrival_mismatched(o) || !o->witnesses || o->arrived < c->ranks)
        return false;
    for (uint32_t i = 0; i < c->ranks; i++)
        if (o->arrival[i].state == TD_ARRIVAL_GONE)
            return false; /* the root ends the operation */
    if (o->children_arrived != all_children(c))
        return false;
    return o->retry_at == TD_TIME_NEVER || core->now >= o->retry_at;
}

/* spares_scratch returns true if the operation is announced without its scratch for now: it has
 * waited long for ranks. A little scratch is kept, and saves a round trip at the end. */
static bool spares_scratch(const struct td_operation *o)
{
    enum { LITTLE_BYTES = 1 << 16 };
    return o->scratch_spared && o->scratch_bytes > LITTLE_BYTES;
}

void td_admission_advance(struct td_core *core, struct td_operation *o)
{
    if (!td_operation_compiled(o) && !compile(core, o))
        return;
    if (!o->scratch_held && !o->scratch_lacking && !o->program.survey_pending)
        o->scratch_lacking = spares_scratch(o) || !td_operation_take_scratch(core, o);
    if (td_admission_rides(o) && o->state == TD_OPERATION_PREPARING && !o->scratch_lacking) {
        uint32_t wrong = wrong_payload(o);
        if (wrong != UINT32_MAX) {
            td_operation_transition(o, TD_OPERATION_REFUSE);
            td_operation_appeal(core, o, TD_ERR_PROTOCOL,
                                td_core_format(core, "%s announced %s with data of the wrong size",
                                               td_core_node_name(core, wrong),
                                               td_operation_describe(core, o)));
            return;
        }
        if (!fold(core, o)) {
            td_operation_fail_busy(core, o);
            return;
        }
        td_operation_transition(o, TD_OPERATION_COMBINE);
    } else if (!gather_runs(core, o)) {
        td_operation_fail_busy(core, o);
        return;
    }
    if (o->flights == 0 && o->gather_next == o->gather_end)
        announce(core, o);
}

void td_admission_load_release(const struct td_operation *o, uint32_t child, struct td_action *a)
{
    const struct td_group *g = &o->communicator->group;
    uint32_t slot = td_group_slot(g, o->communicator->child[child]);
    struct td_slice from = ride_slice(o, 0);
    if (o->program.ride == TD_RIDE_BLOCKS) {
        const struct td_run *run = &g->run[g->slot_run[slot]]; /* the slot's only one */
        int64_t share = o->program.ride_bytes / g->size, block = share / g->size;
        from.offset += run->first * block;
        from.run = block;
        td_slice_loop(&from, run->count, run->step * block, 0);
        td_slice_loop(&from, g->size, share, 0);
    }
    load(o, a, from, td_ride_down(&o->program, slot));
}

bool td_admission_deliver(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    int64_t bytes = td_ride_down(&o->program, c->slot);
    struct td_slice to = td_slice_at(TD_SPACE_DESTINATION, 0, 0, bytes), here = ride_slice(o, 0);
    bool stays = o->program.ride_stays;
    if (!td_operation_at_root(o)) {
        if (o->release_bytes != bytes) {
            td_stall_break(core, o, TD_ERR_PROTOCOL,
                           td_core_format(core,
                                          "node %u received a release with a result of the wrong "
                                          "size",
                                          core->node));
            return true;
        }
        here.run = bytes;
        return ride_load(core, o, o->release, here, 1) &&
               (stays || ride_load(core, o, o->release, to, c->ranks));
    }
    if (stays)
        return true;
    struct td_compute *copy = ride_compute(core, o, TD_COMPUTE_STEP, TD_COPY);
    if (!copy)
        return false;
    copy->step.from = ride_slice(o, 0);
    copy->step.to = to;
    copy->step.to_lanes = (struct td_lanes){c->ranks, 0, 1};
    return true;
}
