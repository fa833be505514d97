/* SPDX-License-Identifier: Apache-2.0 */
#include "operation.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "flight.h"
#include "link.h"

enum { REPORT_NS = 100000000, VERDICT_NS = 200000000, RETRY_NS = 1000000 };

static bool advance(struct td_core *core, struct td_task *task);

/* ---- records ---- */

static void release_record(struct td_core *core, struct td_operation *o)
{
    struct td_arena *arena = core->arena;
    for (uint32_t i = 0; o->arrival && i < o->communicator->ranks; i++) {
        td_region_release(core, o->arrival[i].source);
        td_region_release(core, o->arrival[i].destination);
    }
    if (o->reserved)
        td_ranges_give(&core->scratch, o->scratch_offset, o->scratch_bytes);
    td_engine_fini(core, o);
    td_arena_free(arena, o->arrival);
    td_arena_free(arena, o->source);
    td_arena_free(arena, o->destination);
    td_arena_free(arena, o->ride);
    td_arena_free(arena, o->release);
    td_arena_free(arena, o->known);
    td_arena_free(arena, o->text);
    td_arena_free(arena, o->plan);
    td_core_unqueue(core, &o->task);
    td_arena_free(arena, o);
    core->operations--;
}

/* obtain finds the operation on record, or starts a record; NULL when there is no memory, or when
 * the sequence is over or beyond the window. */
static struct td_operation *obtain(struct td_core *core, struct td_communicator *c,
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
    o->communicator = c;
    o->sequence = sequence;
    o->started_at = o->progress_at = core->now;
    o->expires_at = o->verdict_at = o->retry_at = TD_TIME_NEVER;
    o->report_at = core->now + REPORT_NS;
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
        if (c->seat[i].state != TD_SEAT_TAKEN)
            o->arrived++; /* it never will */
    }
    c->operation[place] = o;
    return o;
}

static uint32_t all_children(const struct td_communicator *c)
{
    return (1u << c->children) - 1;
}

static bool at_root(const struct td_operation *o)
{
    return !o->communicator->has_parent;
}

static void start_message(const struct td_operation *o, enum td_message_kind kind,
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

void td_operation_flight_begin(struct td_operation *o)
{
    o->flights++;
}

void td_operation_flight_over(struct td_core *core, struct td_operation *o)
{
    assert(o->flights > 0);
    o->flights--;
    td_core_queue(core, &o->task);
}

/* ---- ending ---- */

void td_operation_fail(struct td_core *core, struct td_operation *o, td_err error, const char *text)
{
    if (o->phase == TD_PHASE_ENDED)
        return;
    o->phase = TD_PHASE_ENDED;
    o->error = error;
    o->text = td_arena_alloc(core->arena, TD_TEXT_MAX);
    if (o->text)
        snprintf(o->text, TD_TEXT_MAX, "%s", text);
    td_link_abandon(core, o);
    td_core_queue(core, &o->task);
}

/* verdict is an ending that the root decided: the children are to hear of it. */
static void verdict(struct td_core *core, struct td_operation *o, td_err error, const char *text)
{
    if (o->phase >= TD_PHASE_RUNNING)
        return;
    td_operation_fail(core, o, error, text);
    o->tell_children = true;
}

/* appeal asks the root for an ending; at the root it is one. */
static void appeal(struct td_core *core, struct td_operation *o, td_err error, const char *text)
{
    if (o->appealed || o->phase >= TD_PHASE_RUNNING)
        return;
    o->appealed = true;
    struct td_message m;
    start_message(o, TD_MESSAGE_APPEAL, &m);
    m.error = error;
    m.text = text;
    td_communicator_appeal(core, o->communicator, &m);
}

static const char *describe(struct td_core *core, const struct td_operation *o)
{
    char call[160] = "operation";
    if (o->has_call)
        td_call_print(&o->least.call, call, sizeof call);
    return td_core_format(core, "%s, operation %llu of job %s", call,
                          (unsigned long long)o->sequence, o->communicator->name);
}

/* ---- arrivals ---- */

static void witness(struct td_core *core, struct td_operation *o, const struct td_witness *w)
{
    if (!o->has_call || td_call_compare(&w->call, &o->least.call) < 0)
        o->least = *w;
    if (!o->has_call || td_call_compare(&w->call, &o->greatest.call) > 0)
        o->greatest = *w;
    o->has_call = true;
    if (o->mismatched || td_call_compare(&o->least.call, &o->greatest.call) == 0)
        return;
    o->mismatched = true;
    char a[160], b[160];
    td_call_print(&o->least.call, a, sizeof a);
    td_call_print(&o->greatest.call, b, sizeof b);
    appeal(core, o, TD_ERR_MISMATCH,
           td_core_format(core,
                          "rank %u called %s, but rank %u called %s, as operation %llu of job %s: "
                          "all ranks of a group make the same calls in the same order",
                          o->least.rank, a, o->greatest.rank, b, (unsigned long long)o->sequence,
                          o->communicator->name));
}

/* need_bytes returns what a rank's buffers must hold. */
static uint64_t need_bytes(const struct td_communicator *c, const struct td_seat *seat,
                           const struct td_call *call, const struct td_plan *plan)
{
    uint64_t bytes = call->count * td_type_bytes(call->type);
    switch ((enum td_kind)call->kind) {
    case TD_KIND_BROADCAST:
    case TD_KIND_ALLREDUCE:
        return bytes;
    case TD_KIND_ALLTOALL:
        return bytes * c->group.size;
    case TD_KIND_FFT:
        return td_block(plan->fft.size[0], c->group.size, seat->rank).count * plan->fft.size[1] *
               td_type_bytes(plan->fft.type);
    case TD_KIND_BARRIER:
    case TD_KIND_PLAN_FFT:
    case TD_KIND_MAX:
        break;
    }
    return 0;
}

/* check_call returns NULL or what is wrong; fills in the digest and finds the plan. */
static const char *check_call(struct td_communicator *c, const struct td_request *q,
                              struct td_call *call, struct td_plan **plan)
{
    const char *wrong = td_call_check(call, c->group.size);
    *plan = NULL;
    call->digest = 0;
    if (!wrong && call->kind == TD_KIND_PLAN_FFT) {
        wrong = td_fft_check(&q->u.operation.fft);
        call->digest = td_fft_digest(&q->u.operation.fft);
    }
    if (!wrong && call->kind == TD_KIND_FFT) {
        *plan = td_communicator_plan(c, call->plan);
        if (!*plan)
            wrong = "the plan is not one of this group, or was freed";
    }
    return wrong;
}

static struct td_memory memory_of(const struct td_region *region, const struct td_place *place)
{
    if (!region)
        return (struct td_memory){.handle = TD_NO_MEMORY};
    return (struct td_memory){region->handle, place->offset, place->bytes};
}

/* answer replies to one local rank with the operation's ending. */
static void answer(struct td_core *core, struct td_operation *o, uint32_t local)
{
    struct td_arrival *a = &o->arrival[local];
    const struct td_communicator *c = o->communicator;
    a->answered = true;
    if (o->error != TD_OK) {
        td_reply_error(core, a->client, a->request, o->error, o->text ? o->text : "");
    } else if (o->least.call.kind == TD_KIND_PLAN_FFT) {
        struct td_reply *r = td_reply_new(core, a->client, a->request, TD_REPLY_PLANNED);
        struct td_range rows = td_block(o->fft.size[0], c->group.size, c->seat[local].rank);
        struct td_box box = {
            .dimensions = 2, .begin = {rows.begin, 0}, .count = {rows.count, o->fft.size[1]}};
        r->u.planned.plan = o->sequence;
        r->u.planned.source = r->u.planned.destination = box;
    } else {
        td_reply_done(core, a->client, a->request);
    }
}

static void arrive(struct td_core *core, struct td_client *client, struct td_communicator *c,
                   struct td_seat *seat, const struct td_request *q)
{
    struct td_call call = q->u.operation.call;
    struct td_plan *plan = NULL;
    const char *text = check_call(c, q, &call, &plan);
    td_err error = text ? TD_ERR_INVALID : TD_OK;
    uint32_t local = (uint32_t)(seat - c->seat);
    struct td_operation *o = NULL;
    struct td_region *source = NULL, *destination = NULL;
    if (error == TD_OK) {
        uint64_t need = need_bytes(c, seat, &call, plan);
        size_t alignment = td_call_alignment(call.kind, plan ? plan->fft.type : call.type);
        if (q->u.operation.source.offset % alignment ||
            q->u.operation.destination.offset % alignment) {
            error = TD_ERR_INVALID;
            text = td_core_format(core, "the buffers must be aligned to %zu bytes", alignment);
        }
        if (error == TD_OK)
            error =
                td_region_use(core, client, &q->u.operation.source, need, "source", &source, &text);
        if (error == TD_OK)
            error = td_region_use(core, client, &q->u.operation.destination, need, "destination",
                                  &destination, &text);
    }
    if (error == TD_OK && seat->next_sequence >= c->first_sequence + TD_GROUP_OPERATIONS_MAX) {
        error = TD_ERR_BUSY;
        text = td_core_format(core, "rank %u is %d operations ahead of the slowest rank of job %s",
                              seat->rank, TD_GROUP_OPERATIONS_MAX, c->name);
    }
    if (error == TD_OK && !(o = obtain(core, c, seat->next_sequence))) {
        error = TD_ERR_NO_MEMORY;
        text = td_core_format(core,
                              "node %u has no room for another operation: it has %u on "
                              "record; raise [limits] operations or memory",
                              core->node, core->operations);
    }
    if (error != TD_OK) {
        td_region_release(core, source);
        td_region_release(core, destination);
        td_reply_error(core, client->id, q->id, error, text);
        return;
    }
    seat->next_sequence++;
    o->arrived++;
    o->arrival[local] = (struct td_arrival){.here = true,
                                            .client = client->id,
                                            .request = q->id,
                                            .source = source,
                                            .destination = destination};
    o->source[local] = memory_of(source, &q->u.operation.source);
    o->destination[local] = memory_of(destination, &q->u.operation.destination);
    if (call.kind == TD_KIND_PLAN_FFT)
        o->fft = q->u.operation.fft;
    else if (plan)
        o->fft = plan->fft;
    int64_t limit = q->u.operation.timeout_ns;
    td_time expires = td_core_after(core, limit < 0 ? core->settings.arrival_timeout_ns : limit);
    if (expires < o->expires_at) {
        o->expires_at = expires;
        td_core_alarm(core, expires);
    }
    if (o->phase < TD_PHASE_RUNNING)
        witness(core, o, &(struct td_witness){call, seat->rank});
    if (o->report_at == TD_TIME_NEVER) {
        o->report_at = core->now + REPORT_NS;
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
    bool known = seat->next_sequence >= c->first_sequence &&
                 seat->next_sequence < c->first_sequence + TD_GROUP_OPERATIONS_MAX &&
                 c->operation[seat->next_sequence % TD_GROUP_OPERATIONS_MAX];
    if (core->stopping || (c->broken && !known)) {
        if (c->broken)
            seat->next_sequence++;
        td_reply_error(core, client->id, q->id, c->broken ? c->error : TD_ERR_SHUTDOWN,
                       c->broken ? c->text : "the daemon is stopping");
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
                if (!a->here || a->answered || a->client != client->id || a->request != request)
                    continue;
                o->appealed = false; /* a person's wish goes before an earlier complaint */
                appeal(core, o, TD_ERR_CANCELLED,
                       td_core_format(core, "rank %u cancelled %s", c->seat[local].rank,
                                      describe(core, o)));
                return;
            }
        }
}

void td_operation_seat_gone(struct td_core *core, struct td_operation *o, uint32_t local)
{
    struct td_arrival *a = &o->arrival[local];
    if (!a->here)
        o->arrived++; /* it never will */
    a->answered = true;
    td_core_queue(core, &o->task);
}

/* ---- messages ---- */

static int child_index(const struct td_communicator *c, uint32_t node)
{
    for (uint32_t i = 0; i < c->children; i++)
        if (c->child[i] == node)
            return (int)i;
    return -1;
}

static void learn(struct td_core *core, struct td_operation *o, const struct td_message *m)
{
    uint32_t bytes = td_bit_bytes(o->communicator->group.size);
    if (m->bitmap_bytes != bytes)
        return;
    if (!o->known && !(o->known = td_arena_alloc(core->arena, bytes)))
        return;
    for (uint32_t i = 0; i < bytes; i++)
        o->known[i] |= m->bitmap[i];
}

static void take_arrive(struct td_core *core, struct td_operation *o, uint32_t from,
                        const struct td_message *m)
{
    int child = child_index(o->communicator, from);
    if (child < 0 || o->phase >= TD_PHASE_ANNOUNCED)
        return;
    if (o->report_at == TD_TIME_NEVER) {
        o->report_at = core->now + REPORT_NS;
        td_core_alarm(core, o->report_at);
    }
    if (m->partial) {
        learn(core, o, m);
        return;
    }
    o->children_arrived |= 1u << child;
    o->no_room = o->no_room || m->no_room;
    if (m->payload_bytes) {
        if (!o->ride)
            o->ride =
                td_arena_alloc(core->arena, (size_t)o->communicator->children * TD_RIDE_BYTES_MAX);
        if (!o->ride || m->payload_bytes > TD_RIDE_BYTES_MAX) {
            appeal(core, o, TD_ERR_NO_MEMORY,
                   td_core_format(core, "node %u has no memory for %s: raise [limits] memory",
                                  core->node, describe(core, o)));
            return;
        }
        memcpy(o->ride + (size_t)child * TD_RIDE_BYTES_MAX, m->payload, m->payload_bytes);
    }
    o->ride_bytes[child] = m->payload_bytes;
    witness(core, o, &m->least);
    witness(core, o, &m->greatest);
    td_core_queue(core, &o->task);
}

/* announce_again: some node had no room. All give back what they hold and try once more, at times
 * drawn apart, so that operations that crowd each other out pass one by one. */
static void announce_again(struct td_core *core, struct td_operation *o)
{
    struct td_message m;
    start_message(o, TD_MESSAGE_RELEASE, &m);
    m.no_room = true;
    for (uint32_t i = 0; i < o->communicator->children; i++)
        td_core_send(core, o->communicator->child[i], &m);
    if (o->reserved)
        td_ranges_give(&core->scratch, o->scratch_offset, o->scratch_bytes);
    o->reserved = o->no_room = o->folded = false;
    o->children_arrived = 0;
    o->phase = TD_PHASE_GATHERING;
    uint32_t doublings = o->retries < 7 ? o->retries : 7;
    o->retries++;
    o->retry_at = core->now + 1 + td_core_random(core) % ((uint64_t)RETRY_NS << doublings);
    td_core_alarm(core, o->retry_at);
}

static void take_release(struct td_core *core, struct td_operation *o, const struct td_message *m)
{
    if (m->error != TD_OK) {
        verdict(core, o, m->error, m->text);
        return;
    }
    if (o->phase != TD_PHASE_ANNOUNCED)
        return;
    if (m->no_room) {
        announce_again(core, o);
        return;
    }
    if (m->payload_bytes) {
        o->release = td_arena_alloc(core->arena, m->payload_bytes);
        o->release_bytes = m->payload_bytes;
        if (o->release)
            memcpy(o->release, m->payload, m->payload_bytes);
        else
            td_operation_fail(core, o, TD_ERR_NO_MEMORY, "this node has no memory for the result");
    }
    if (o->phase == TD_PHASE_ANNOUNCED)
        o->phase = TD_PHASE_RUNNING;
    o->tell_children = true;
    o->progress_at = core->now;
    td_core_queue(core, &o->task);
}

static void tell_waiting(struct td_core *core, struct td_operation *o, bool poll)
{
    uint32_t bytes = td_bit_bytes(o->communicator->group.size);
    uint8_t *bits = td_core_pad(core, bytes);
    if (!bits)
        return;
    td_operation_arrived(o, bits);
    struct td_message m;
    start_message(o, TD_MESSAGE_WAITING, &m);
    m.bitmap = bits;
    m.bitmap_bytes = bytes;
    m.poll = poll;
    for (uint32_t i = 0; i < o->communicator->children; i++)
        td_core_send(core, o->communicator->child[i], &m);
}

static uint32_t count_bits(const uint8_t *bits, uint32_t size)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < size; i++)
        count += td_bit(bits, i);
    return count;
}

/* report tells the parent (or, at the root, the children) who has arrived, if that is news. */
static void report(struct td_core *core, struct td_operation *o, bool asked)
{
    uint32_t size = o->communicator->group.size, bytes = td_bit_bytes(size);
    uint8_t *bits = td_core_pad(core, bytes);
    o->report_at = TD_TIME_NEVER;
    if (!bits)
        return;
    td_operation_arrived(o, bits);
    uint32_t count = count_bits(bits, size);
    if (count == o->known_told && !asked)
        return;
    o->known_told = count;
    if (at_root(o)) {
        tell_waiting(core, o, false);
        return;
    }
    struct td_message m;
    start_message(o, TD_MESSAGE_ARRIVE, &m);
    m.partial = true;
    m.bitmap = bits;
    m.bitmap_bytes = bytes;
    td_core_send(core, o->communicator->parent, &m);
}

static void take_waiting(struct td_core *core, struct td_operation *o, const struct td_message *m)
{
    learn(core, o, m);
    tell_waiting(core, o, m->poll);
    if (m->poll && o->phase < TD_PHASE_ANNOUNCED)
        report(core, o, true);
}

static void take_appeal(struct td_core *core, struct td_operation *o, const struct td_message *m)
{
    if (o->phase >= TD_PHASE_RUNNING)
        return;
    if (m->error != TD_ERR_TIMEOUT) {
        verdict(core, o, m->error, m->text);
    } else if (o->verdict_at == TD_TIME_NEVER) {
        /* ask all who has arrived, so that the verdict accuses nobody falsely */
        o->verdict_at = core->now + VERDICT_NS;
        td_core_alarm(core, o->verdict_at);
        tell_waiting(core, o, true);
    }
}

void td_operation_message(struct td_core *core, struct td_communicator *c, uint32_t from,
                          const struct td_message *m)
{
    if (c->broken &&
        (m->sequence < c->first_sequence || !c->operation[m->sequence % TD_GROUP_OPERATIONS_MAX]))
        return;
    if (m->sequence >= c->first_sequence + TD_GROUP_OPERATIONS_MAX) {
        td_communicator_rank_lost(core, c, c->seat[0].rank, TD_ERR_BUSY,
                                  td_core_format(core,
                                                 "a rank on node %u is more than %d "
                                                 "operations behind: the group cannot go on",
                                                 core->node, TD_GROUP_OPERATIONS_MAX));
        return;
    }
    struct td_operation *o = obtain(core, c, m->sequence);
    if (!o)
        return; /* over, or no room: the next report or the limit will tell */
    switch (m->kind) {
    case TD_MESSAGE_ARRIVE:
        take_arrive(core, o, from, m);
        return;
    case TD_MESSAGE_RELEASE:
        take_release(core, o, m);
        return;
    case TD_MESSAGE_WAITING:
        take_waiting(core, o, m);
        return;
    case TD_MESSAGE_APPEAL:
        take_appeal(core, o, m);
        return;
    case TD_MESSAGE_HEARTBEAT:
    case TD_MESSAGE_JOIN:
    case TD_MESSAGE_UNJOIN:
    case TD_MESSAGE_REFUSE:
    case TD_MESSAGE_MEMBERS:
    case TD_MESSAGE_RANK_LOST:
    case TD_MESSAGE_NODE_LOST:
        break;
    }
    assert(!"a message of an operation");
}

void td_operation_arrived(const struct td_operation *o, uint8_t *bits)
{
    const struct td_communicator *c = o->communicator;
    const struct td_group *g = &c->group;
    if (o->known)
        memcpy(bits, o->known, td_bit_bytes(g->size));
    else
        memset(bits, 0, td_bit_bytes(g->size));
    if (o->phase >= TD_PHASE_RUNNING && o->error == TD_OK) {
        memset(bits, 0xff, td_bit_bytes(g->size));
        return;
    }
    for (uint32_t i = 0; i < c->ranks; i++)
        if (o->arrival[i].here)
            td_bit_set(bits, c->seat[i].rank);
    if (o->children_arrived == 0)
        return;
    for (uint32_t slot = c->slot + 1; slot < g->slots; slot++) {
        uint32_t at = slot; /* climb to the child of this slot, if it is below */
        while (at > 0 && (at - 1) / TD_TREE_ARITY > c->slot)
            at = (at - 1) / TD_TREE_ARITY;
        int child = (at - 1) / TD_TREE_ARITY == c->slot ? child_index(c, g->node[at]) : -1;
        if (child < 0 || !(o->children_arrived >> child & 1))
            continue;
        for (uint32_t local = 0; local < td_group_slot_ranks(g, slot); local++)
            td_bit_set(bits, td_group_rank(g, slot, local));
    }
}

/* ---- getting ready ---- */

static uint64_t ride_slot_bytes(const struct td_operation *o)
{
    return ((uint64_t)o->program.ride_bytes + 63) & ~(uint64_t)63;
}

static bool rides(const struct td_operation *o)
{
    return o->program.ride == TD_RIDE_COMBINE || o->program.ride == TD_RIDE_ROOT;
}

/* compile makes the program and its counters; false after an appeal. */
static bool compile(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    const struct td_call *call = &o->least.call;
    uint64_t seed = c->instance ^ (uint64_t)c->index << 32 ^ o->sequence * 0x9e3779b97f4a7c15u;
    core->options.compile(call, &o->fft, seed, &c->group, c->slot, &o->program);
    o->compiled = true;
    o->scratch_bytes = (uint64_t)o->program.scratch_bytes;
    o->ride_offset = (o->scratch_bytes + 63) & ~(uint64_t)63;
    if (rides(o)) /* the result, then what the children sent */
        o->scratch_bytes = o->ride_offset + (c->children + 1) * ride_slot_bytes(o);
    bool fits = o->scratch_bytes <= core->scratch.bytes;
    if (call->kind == TD_KIND_PLAN_FFT)
        o->plan = td_arena_alloc(core->arena, sizeof *o->plan);
    if (fits && td_engine_init(core, o) && (call->kind != TD_KIND_PLAN_FFT || o->plan))
        return true;
    o->doomed = true;
    appeal(core, o, TD_ERR_NO_MEMORY,
           fits ? td_core_format(core, "node %u has no memory left for %s: raise [limits] memory",
                                 core->node, describe(core, o))
                : td_core_format(core,
                                 "%s needs %llu bytes of scratch on node %u, which has %llu: raise "
                                 "[limits] scratch",
                                 describe(core, o), (unsigned long long)o->scratch_bytes,
                                 core->node, (unsigned long long)core->scratch.bytes));
    return false;
}

static struct td_slice ride_slice(const struct td_operation *o, uint64_t place)
{
    return td_slice_at(TD_SPACE_SCRATCH, 0, (int64_t)(o->ride_offset + place * ride_slot_bytes(o)),
                       o->program.ride_bytes);
}

/* ride_compute emits a computation on the payload; the operation goes on when it is done. */
static struct td_compute *ride_compute(struct td_core *core, struct td_operation *o,
                                       enum td_compute_kind kind, enum td_step_kind step)
{
    struct td_flight *flight = td_flight_take(core, TD_FLIGHT_RIDE, o);
    if (!flight)
        return NULL;
    struct td_compute *compute = &td_core_act(core, TD_ACTION_COMPUTE)->u.compute;
    compute->kind = kind;
    compute->handle = td_flight_handle(core, flight);
    compute->step.kind = step;
    compute->step.type = o->program.call.type;
    compute->step.op = o->program.call.op;
    compute->step.to_lanes = (struct td_lanes){1, 0, 0};
    compute->bytes = compute->cost_bytes = (uint64_t)o->program.ride_bytes;
    td_operation_view(o, &compute->view);
    td_operation_flight_begin(o);
    return compute;
}

static bool ride_load(struct td_core *core, struct td_operation *o, const uint8_t *data,
                      struct td_slice to, uint32_t lanes)
{
    struct td_compute *load = ride_compute(core, o, TD_COMPUTE_LOAD, TD_COPY);
    if (!load)
        return false;
    load->step.to = to;
    load->step.to_lanes = (struct td_lanes){lanes, 0, 1};
    load->data = data;
    return true;
}

/* fold makes the payload of all below in the result's place: the local ranks' in rank order, then
 * the children's in slot order. */
static bool fold(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    struct td_compute *compute = NULL;
    if (o->program.ride == TD_RIDE_ROOT) {
        for (uint32_t i = 0; i < c->children; i++)
            if (o->ride_bytes[i] == (uint32_t)o->program.ride_bytes)
                return ride_load(core, o, o->ride + (size_t)i * TD_RIDE_BYTES_MAX, ride_slice(o, 0),
                                 1);
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
        if (!ride_load(core, o, o->ride + (size_t)i * TD_RIDE_BYTES_MAX, ride_slice(o, i + 1), 1))
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

/* carries_up: whether the announcement has a payload. */
static bool carries_up(const struct td_operation *o)
{
    if (o->program.ride == TD_RIDE_COMBINE)
        return true;
    if (o->program.ride != TD_RIDE_ROOT)
        return false;
    const struct td_communicator *c = o->communicator;
    for (uint32_t i = 0; i < c->children; i++)
        if (o->ride_bytes[i])
            return true;
    for (uint32_t i = 0; i < c->ranks; i++)
        if (c->seat[i].rank == o->program.call.root)
            return true;
    return false;
}

static void announce(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    if (at_root(o)) {
        if (!o->no_room) {
            o->phase = TD_PHASE_RUNNING;
            o->progress_at = core->now;
            o->tell_children = true;
        } else if (o->retries &&
                   core->now - o->no_room_since > (uint64_t)core->settings.progress_timeout_ns) {
            verdict(core, o, TD_ERR_NO_MEMORY,
                    td_core_format(core,
                                   "a node had no scratch memory for %s for too long: raise "
                                   "[limits] scratch",
                                   describe(core, o)));
        } else {
            if (o->retries == 0)
                o->no_room_since = core->now;
            announce_again(core, o);
        }
        return;
    }
    struct td_action *a = td_core_act(core, TD_ACTION_SEND_TREE);
    a->u.tree.node = c->parent;
    start_message(o, TD_MESSAGE_ARRIVE, &a->u.tree.message);
    a->u.tree.message.least = o->least;
    a->u.tree.message.greatest = o->greatest;
    a->u.tree.message.no_room = o->no_room;
    td_operation_view(o, &a->u.tree.view);
    if (carries_up(o) && !o->no_room)
        a->u.tree.payload = ride_slice(o, 0);
    core->link[c->parent].spoke_at = core->now;
    o->phase = TD_PHASE_ANNOUNCED;
}

static bool complete_below(const struct td_core *core, const struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    if (o->mismatched || !o->has_call || o->arrived < c->ranks ||
        o->children_arrived != all_children(c))
        return false;
    for (uint32_t i = 0; i < c->ranks; i++)
        if (!o->arrival[i].here)
            return false; /* gone: the root will end it */
    return o->retry_at == TD_TIME_NEVER || core->now >= o->retry_at;
}

/* prepare goes on from "all below have arrived" to the announcement. */
static void prepare(struct td_core *core, struct td_operation *o)
{
    if (!o->compiled && !compile(core, o))
        return;
    if (o->doomed)
        return;
    if (!o->reserved && !o->no_room) {
        o->scratch_offset = td_ranges_take(&core->scratch, o->scratch_bytes);
        o->reserved = o->scratch_offset != UINT64_MAX;
        o->no_room = !o->reserved;
    }
    if (rides(o) && !o->folded && !o->no_room) {
        if (!fold(core, o)) {
            td_operation_fail(core, o, TD_ERR_NO_MEMORY, "too many computations at a time");
            return;
        }
        o->folded = true;
    }
    if (o->flights == 0)
        announce(core, o);
}

void td_operation_computed(struct td_core *core, struct td_operation *o, td_err error)
{
    (void)error;
    td_core_queue(core, &o->task);
}

/* ---- running and ending ---- */

static void tell_children(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    for (uint32_t i = 0; i < c->children; i++) {
        struct td_action *a = td_core_act(core, TD_ACTION_SEND_TREE);
        a->u.tree.node = c->child[i];
        start_message(o, TD_MESSAGE_RELEASE, &a->u.tree.message);
        a->u.tree.message.error = o->error;
        a->u.tree.message.text = o->text ? o->text : "";
        td_operation_view(o, &a->u.tree.view);
        if (o->error == TD_OK && rides(o))
            a->u.tree.payload = ride_slice(o, 0);
        core->link[c->child[i]].spoke_at = core->now;
    }
    o->tell_children = false;
}

/* deliver writes the payload that rode along into the destinations. */
static bool deliver(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    struct td_slice to = td_slice_at(TD_SPACE_DESTINATION, 0, 0, o->program.ride_bytes);
    o->delivered = true;
    if (!at_root(o)) {
        if (o->release_bytes != (uint32_t)o->program.ride_bytes) {
            td_operation_fail(core, o, TD_ERR_PROTOCOL,
                              "the release came with a result of another size");
            return true;
        }
        return ride_load(core, o, o->release, ride_slice(o, 0), 1) &&
               ride_load(core, o, o->release, to, c->ranks);
    }
    struct td_compute *copy = ride_compute(core, o, TD_COMPUTE_STEP, TD_COPY);
    if (!copy)
        return false;
    copy->step.from = ride_slice(o, 0);
    copy->step.to = to;
    copy->step.to_lanes = (struct td_lanes){c->ranks, 0, 1};
    return true;
}

static void succeed(struct td_core *core, struct td_operation *o)
{
    struct td_communicator *c = o->communicator;
    o->phase = TD_PHASE_ENDED;
    if (o->plan) {
        *o->plan = (struct td_plan){
            .next = c->plans, .number = o->sequence, .fft = o->fft, .holders = c->ranks};
        c->plans = o->plan;
        o->plan = NULL;
    }
    td_core_queue(core, &o->task);
}

static bool run(struct td_core *core, struct td_operation *o)
{
    if (rides(o) && !o->delivered && !deliver(core, o)) {
        td_operation_fail(core, o, TD_ERR_NO_MEMORY, "too many computations at a time");
        return true;
    }
    if (o->phase == TD_PHASE_RUNNING && o->tell_children)
        tell_children(core, o);
    if (o->phase != TD_PHASE_RUNNING)
        return true;
    if (!td_engine_advance(core, o))
        return false;
    if (o->flights == 0 && td_engine_finished(o))
        succeed(core, o);
    else
        td_core_alarm(core, td_core_after(core, core->settings.progress_timeout_ns));
    return true;
}

/* end answers who is here; the record stays for ranks that are late. */
static bool end(struct td_core *core, struct td_operation *o)
{
    struct td_communicator *c = o->communicator;
    if (o->tell_children)
        tell_children(core, o);
    if (o->flights)
        return true; /* the buffers are the service's until nothing reads or writes them */
    for (uint32_t i = 0; i < c->ranks; i++) {
        if (!o->arrival[i].here || o->arrival[i].answered)
            continue;
        if (!td_core_room(core))
            return false;
        answer(core, o, i);
    }
    if (o->arrived == c->ranks || c->broken) {
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
    if (o->phase == TD_PHASE_GATHERING && complete_below(core, o))
        o->phase = TD_PHASE_PREPARING;
    if (o->phase == TD_PHASE_PREPARING)
        prepare(core, o);
    if (o->phase == TD_PHASE_RUNNING && !run(core, o))
        return false;
    return o->phase != TD_PHASE_ENDED || end(core, o);
}

/* ---- time ---- */

static void expire(struct td_core *core, struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    uint8_t *bits = td_core_pad(core, td_bit_bytes(c->group.size));
    char missing[200];
    if (!bits)
        return;
    td_operation_arrived(o, bits);
    uint32_t count = td_bits_print(bits, c->group.size, false, missing, sizeof missing);
    verdict(core, o, TD_ERR_TIMEOUT,
            td_core_format(core, "%s: %u of %u ranks had not arrived in time: rank%s %s",
                           describe(core, o), count, c->group.size, count == 1 ? "" : "s",
                           missing));
}

void td_operation_timers(struct td_core *core, struct td_operation *o)
{
    if (o->phase < TD_PHASE_RUNNING) {
        if (core->now >= o->expires_at) {
            o->expires_at = TD_TIME_NEVER;
            appeal(core, o, TD_ERR_TIMEOUT, "the arrival limit has passed");
        }
        if (core->now >= o->verdict_at)
            expire(core, o);
        if (core->now >= o->report_at)
            report(core, o, false);
        if (core->now >= o->retry_at && o->phase == TD_PHASE_GATHERING)
            td_core_queue(core, &o->task);
    }
    if (o->phase < TD_PHASE_RUNNING) {
        td_core_alarm(core, o->expires_at);
        td_core_alarm(core, o->verdict_at);
        td_core_alarm(core, o->report_at);
        if (o->phase == TD_PHASE_GATHERING && core->now < o->retry_at)
            td_core_alarm(core, o->retry_at);
        return;
    }
    uint64_t limit = (uint64_t)core->settings.progress_timeout_ns;
    if (o->phase != TD_PHASE_RUNNING)
        return;
    uint32_t node = td_engine_owed_by(o);
    if (node == UINT32_MAX || core->now - o->progress_at < limit) {
        td_core_alarm(core, o->progress_at + limit > core->now ? o->progress_at + limit
                                                               : core->now + limit);
        return;
    }
    td_communicator_node_lost(core, node, "no data for longer than progress_timeout");
}
