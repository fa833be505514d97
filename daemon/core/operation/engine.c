/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include <assert.h>

#include "core/net/inflight.h"
#include "core/net/link.h"
#include "admission.h"
#include "operation.h"
#include "recording.h"
#include "stall.h"
#include "sync.h"
#include "core/net/fabric.h"

bool td_engine_init(struct td_core *core, struct td_operation *o)
{
    const struct td_program *p = &o->program;
    for (unsigned f = 0; f < p->families; f++) {
        struct td_engine_family *e = &o->engine.family[f];
        uint64_t count = p->family[f].count;
        *e = (struct td_engine_family){0};
        if (count == 0)
            continue;
        if (count > core->settings.arena_bytes ||
            !(e->bits = td_arena_alloc(o->communicator->account->calls, (size_t)(count + 7) / 8)))
            return false;
        if (p->family[f].kind != TD_RECV && p->family[f].kind != TD_SYNC)
            continue;
        if (p->family[f].kind == TD_RECV)
            e->next = count;
        if (!(e->received = td_arena_alloc(o->communicator->account->calls,
                                           (size_t)count * sizeof *e->received)))
            return false;
    }
    return true;
}

/* ---- operations that wait for an in-flight record ---- */

static void starve(struct td_core *core, struct td_operation *o)
{
    struct td_operations *all = core->operations;
    if (o->engine.starved)
        return;
    o->engine.starved = true;
    o->engine.next_starved = NULL;
    if (all->starved)
        all->last_starved->engine.next_starved = o;
    else
        all->starved = o;
    all->last_starved = o;
}

static void forget_starved(struct td_core *core, struct td_operation *o)
{
    struct td_operation **at = &core->operations->starved, *before = NULL;
    if (!o->engine.starved)
        return;
    for (; *at != o; at = &before->engine.next_starved)
        before = *at;
    *at = o->engine.next_starved;
    if (core->operations->last_starved == o)
        core->operations->last_starved = before;
    o->engine.starved = false;
}

void td_engine_record_free(struct td_core *core)
{
    struct td_operation *first = core->operations->starved;
    if (!first)
        return;
    forget_starved(core, first);
    td_core_queue(core, &first->task);
}

/* ---- life ---- */

void td_engine_fini(struct td_core *core, struct td_operation *o)
{
    forget_starved(core, o);
    for (unsigned f = 0; f < TD_FAMILIES_MAX; f++) {
        if (!o->engine.family[f].bits && !o->engine.family[f].received)
            continue;
        td_core_free(core, o->engine.family[f].bits);
        td_core_free(core, o->engine.family[f].received);
        o->engine.family[f] = (struct td_engine_family){0};
    }
}

static void done(struct td_core *core, struct td_operation *o, unsigned family, uint64_t index)
{
    struct td_engine_family *e = &o->engine.family[family];
    assert(!(e->bits[index / 8] >> index % 8 & 1));
    e->bits[index / 8] = (uint8_t)(e->bits[index / 8] | 1u << index % 8);
    e->done++;
    while (e->prefix < o->program.family[family].count &&
           (e->bits[e->prefix / 8] >> e->prefix % 8 & 1))
        e->prefix++;
    if (e->done == o->program.family[family].count)
        td_recording_steps(core, o, TD_TRACE_STEPS_END, family);
    o->progress_at = core->now;
    td_core_queue(core, &o->task);
}

bool td_engine_finished(const struct td_operation *o)
{
    for (unsigned f = 0; f < o->program.families; f++)
        if (o->engine.family[f].done < o->program.family[f].count)
            return false;
    return true;
}

static bool may_start(const struct td_operation *o, unsigned family, uint64_t index)
{
    const struct td_family *f = &o->program.family[family];
    for (unsigned d = 0; d < f->dependencies; d++) {
        const struct td_dependency *need = &f->dependency[d];
        if (o->engine.family[need->on].prefix < td_dependency_count(&o->program, need, index))
            return false;
    }
    return true;
}

/* touched returns the approximate number of bytes that a computation reads and writes. */
static uint64_t touched(const struct td_step *step)
{
    uint64_t to = (uint64_t)td_slice_bytes(&step->to), from = (uint64_t)td_slice_bytes(&step->from);
    if (step->kind == TD_TRANSFORM) /* log2 n passes in cache, at some cost */
        return (td_step_passes(step) ? step->inner.length > 0 ? 18 : 12 : 8) * from;
    return to * step->to_lanes.count + from * (step->from_lanes.count + step->with_lanes.count + 1);
}

/* start starts a step. It returns false if there is no room for it now. A step without bytes is
 * done at once. */
static bool start(struct td_core *core, struct td_operation *o, unsigned family, uint64_t index)
{
    struct td_expanded *expanded = &o->engine.expanded;
    const struct td_step *step = &expanded->step;
    if (!expanded->kept || expanded->family != family || expanded->index != index)
        o->program.step_at(&o->program, family, index, &expanded->step);
    expanded->kept = false;
    if (o->engine.family[family].next == 0)
        td_recording_steps(core, o, TD_TRACE_STEPS_BEGIN, family);
    if (step->kind == TD_SYNC) {
        o->engine.family[family].next++;
        td_sync_start(core, o, family, index, step);
        return true;
    }
    int64_t bytes = td_step_bytes(step);
    if (bytes == 0) {
        o->engine.family[family].next++;
        done(core, o, family, index);
        return true;
    }
    if (step->kind == TD_SEND) {
        if (!core->fabric->send(core, &o->sender, family, index, step)) {
            if (!o->sender.backlogged && !o->sender.families_blocked)
                starve(core, o); /* no memory: what ends gives some */
            expanded->kept = true;
            expanded->family = family;
            expanded->index = index;
            return false;
        }
        o->engine.family[family].next++;
        return true;
    }
    struct td_inflight *flight = td_inflight_acquire(core, TD_INFLIGHT_STEP, o);
    if (!flight) {
        starve(core, o);
        return false;
    }
    o->engine.family[family].next++;
    flight->family = family;
    flight->index = index;
    struct td_compute *compute = &td_core_act(core, TD_ACTION_COMPUTE)->u.compute;
    compute->kind = TD_COMPUTE_STEP;
    compute->handle = td_inflight_handle(core, flight);
    compute->step = *step;
    compute->cost_bytes = touched(step);
    td_operation_view(o, &compute->view);
    td_operation_in_flight_begin(o);
    return true;
}

/* settle_empty_receives ends RECV steps without bytes, for which no packet comes. */
static void settle_empty_receives(struct td_core *core, struct td_operation *o)
{
    if (o->program.whole)
        return;
    for (unsigned f = 0; f < o->program.families; f++) {
        struct td_engine_family *e = &o->engine.family[f];
        if (o->program.family[f].kind != TD_RECV)
            continue;
        while (e->prefix < o->program.family[f].count && e->settled <= e->prefix) {
            struct td_step step;
            e->settled = e->prefix + 1;
            o->program.step_at(&o->program, f, e->prefix, &step);
            if (td_slice_bytes(&step.to) != 0)
                break;
            done(core, o, f, e->prefix);
        }
    }
}

_Static_assert(TD_FAMILIES_MAX <= 64, "a bit each");

bool td_engine_advance(struct td_core *core, struct td_operation *o)
{
    settle_empty_receives(core, o);
    bool moved = true;
    uint64_t full = 0; /* a bit for each family that found no room in this call */
    while (moved) {
        moved = false;
        for (unsigned f = 0; f < o->program.families; f++) {
            struct td_engine_family *e = &o->engine.family[f];
            if (e->next == o->program.family[f].count)
                continue; /* all have started; RECV steps need no start */
            bool queued = core->fabric->queues_sends && o->program.family[f].kind == TD_SEND;
            while (o->state == TD_OPERATION_RUNNING &&
                   !((full | o->sender.families_blocked) >> f & 1) &&
                   e->next < o->program.family[f].count &&
                   (queued || e->next - e->done < TD_STEPS_AHEAD) && may_start(o, f, e->next)) {
                if (!td_core_room(core))
                    return false;
                if (start(core, o, f, e->next))
                    moved = true;
                else
                    full |= (uint64_t)1 << f;
            }
        }
    }
    return true;
}

void td_engine_delivered(struct td_core *core, struct td_operation *o, unsigned family,
                         uint64_t index)
{
    done(core, o, family, index);
}

struct td_operation *td_engine_find(struct td_communicator *c, uint64_t sequence)
{
    if (!c || sequence < c->first_sequence ||
        sequence >= c->first_sequence + TD_GROUP_OPERATIONS_MAX)
        return NULL;
    struct td_operation *o = c->operation[sequence % TD_GROUP_OPERATIONS_MAX];
    return o && o->scratch_held && o->state <= TD_OPERATION_RUNNING ? o : NULL;
}

/* find_receive fills in the RECV step that a packet is for, and returns the bytes of its message.
 * It returns 0 if no step of the operation expects the packet. */
static uint64_t find_receive(const struct td_core *core, const struct td_operation *o,
                             uint32_t node, const struct td_packet *packet, struct td_step *step)
{
    if (packet->family >= o->program.families ||
        o->program.family[packet->family].kind != TD_RECV ||
        packet->index >= o->program.family[packet->family].count)
        return 0;
    o->program.step_at(&o->program, packet->family, packet->index, step);
    uint64_t message_bytes = (uint64_t)td_slice_bytes(&step->to);
    const struct td_engine_family *e = &o->engine.family[packet->family];
    /* on a direct link the packets of a message arrive in order, so each begins where the last one
     * ended; on the routed fabric they use different routes */
    bool fits = step->peer == node && packet->bytes > 0 && packet->offset <= message_bytes &&
                packet->bytes <= message_bytes - packet->offset &&
                (!core->fabric->ordered || e->received[packet->index] <= packet->offset);
    return fits ? message_bytes : 0;
}

bool td_engine_landing(struct td_core *core, uint32_t node, const struct td_packet *packet,
                       struct td_compute *landing)
{
    const struct td_link *link = &core->link[node];
    uint32_t origin = core->fabric->origin(core, node, packet);
    if (packet->session != link->session_in || packet->link_sequence != link->lane->received + 1 ||
        origin == UINT32_MAX)
        return false;
    const struct td_operation *o = td_engine_find(
        td_communicator_find(core, packet->instance, packet->group), packet->sequence);
    if (!o || find_receive(core, o, origin, packet, &landing->step) == 0)
        return false;
    landing->offset = packet->offset;
    landing->bytes = packet->bytes;
    td_operation_view(o, &landing->view);
    return true;
}

/* unpack starts to unpack a packet whose origin is `node`. It returns NULL if no live operation
 * expects the packet. */
static struct td_compute *unpack(struct td_core *core, uint32_t node,
                                 const struct td_packet *packet, uint32_t buffer)
{
    struct td_operation *o = td_engine_find(
        td_communicator_find(core, packet->instance, packet->group), packet->sequence);
    if (!o)
        return NULL;
    struct td_step step;
    uint64_t message_bytes = find_receive(core, o, node, packet, &step);
    if (message_bytes == 0) {
        td_link_drop(core, node,
                     "protocol violation: it sent a packet that the operation does not expect");
        return NULL;
    }
    struct td_inflight *flight = td_inflight_acquire(core, TD_INFLIGHT_UNPACK, o);
    if (!flight) {
        /* the limit of this node: the link and the other operations continue */
        td_operation_fail_busy(core, o);
        return NULL;
    }
    td_recording_packet(core, o, node, false, packet->bytes);
    flight->family = packet->family;
    flight->index = packet->index;
    flight->bytes = packet->bytes;
    flight->message_bytes = message_bytes;
    flight->buffer = buffer;
    flight->node = node;
    flight->session = packet->session;
    flight->direction = packet->direction;
    flight->channel = packet->channel;
    flight->ticket = packet->ticket;
    struct td_compute *compute = &td_core_act_bare(core, TD_ACTION_COMPUTE)->u.compute;
    compute->kind = TD_COMPUTE_UNPACK;
    compute->handle = td_inflight_handle(core, flight);
    td_slice_copy(&compute->step.to, &step.to);
    compute->step.to_lanes = step.to_lanes;
    compute->offset = packet->offset;
    compute->bytes = packet->bytes;
    compute->buffer = buffer;
    compute->cost_bytes = (uint64_t)packet->bytes * (1 + step.to_lanes.count);
    td_operation_view(o, &compute->view);
    td_operation_in_flight_begin(o);
    const struct td_engine_family *e = &o->engine.family[packet->family];
    __builtin_prefetch(&e->received[packet->index], 1);
    __builtin_prefetch(&e->bits[packet->index / 8], 1);
    return compute;
}

bool td_engine_packet(struct td_core *core, uint32_t node, const struct td_packet *packet,
                      uint32_t buffer)
{
    return unpack(core, node, packet, buffer) != NULL;
}

void td_engine_carried(struct td_core *core, uint32_t node, const struct td_packet *packet,
                       const uint8_t *data)
{
    struct td_compute *compute = unpack(core, node, packet, UINT32_MAX);
    if (!compute)
        return;
    compute->kind = TD_COMPUTE_LOAD;
    compute->data = data;
}

void td_engine_arriving(struct td_core *core, const struct td_packet *packet)
{
    struct td_operation *o = td_engine_find(
        td_communicator_find(core, packet->instance, packet->group), packet->sequence);
    if (o)
        o->progress_at = core->now;
}

void td_engine_computed(struct td_core *core, uint64_t handle, td_err error)
{
    struct td_inflight flight = *td_inflight_find(core, handle);
    struct td_operation *o = flight.operation;
    td_inflight_release(core, td_inflight_find(core, handle));
    if (flight.kind == TD_INFLIGHT_PLAN) {
        td_admission_planned(core, o, error);
        td_operation_in_flight_end(core, o);
        return;
    }
    if (flight.kind == TD_INFLIGHT_UNPACK) {
        if (flight.buffer != UINT32_MAX)
            td_core_release_buffer(core, flight.buffer);
        core->fabric->unpacked(core, &flight);
    }
    if (error != TD_OK)
        td_stall_break(
            core, o, error,
            td_core_format(core,
                           error == TD_ERR_SYSTEM
                               ? "node %u cannot access the shared memory of a rank (SIGBUS)"
                               : "node %u has no memory for the computation or its FFT plan, or "
                                 "the FFT plans in use have all of [limits] plans",
                           core->node));
    if (flight.kind == TD_INFLIGHT_RIDE) {
        td_core_queue(core, &o->task);
    } else if (o->state <= TD_OPERATION_RUNNING && flight.kind == TD_INFLIGHT_STEP) {
        done(core, o, flight.family, flight.index);
    } else if (o->state <= TD_OPERATION_RUNNING) {
        uint64_t *received = &o->engine.family[flight.family].received[flight.index];
        *received += flight.bytes;
        o->progress_at = core->now;
        if (*received == flight.message_bytes) {
            done(core, o, flight.family, flight.index);
            core->fabric->received(core, o->communicator->instance, flight.node, flight.ticket);
        }
    }
    td_operation_in_flight_end(core, o);
}

bool td_engine_needs(const struct td_core *core, uint64_t handle)
{
    return td_inflight_find(core, handle)->operation->state <= TD_OPERATION_RUNNING;
}

uint32_t td_engine_owed_by(const struct td_operation *o)
{
    for (unsigned f = 0; f < o->program.families; f++) {
        const struct td_engine_family *e = &o->engine.family[f];
        enum td_step_kind kind = o->program.family[f].kind;
        if (e->prefix == e->next || (kind != TD_RECV && kind != TD_SEND && kind != TD_SYNC))
            continue;
        struct td_step step;
        o->program.step_at(&o->program, f, e->prefix, &step);
        return kind == TD_SYNC ? td_sync_owed_by(o, f, e->prefix, &step.among) : step.peer;
    }
    return UINT32_MAX;
}

void td_engine_progress(const struct td_operation *o, uint64_t *steps_done, uint64_t *steps)
{
    *steps_done = *steps = 0;
    for (unsigned f = 0; f < o->program.families; f++) {
        *steps_done += o->engine.family[f].done;
        *steps += o->program.family[f].count;
    }
}
