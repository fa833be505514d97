/* SPDX-License-Identifier: Apache-2.0 */
#include "recording.h"

/* group_name returns the name of a group in its job: 0 for the world. */
static uint32_t group_name(const struct td_communicator *c)
{
    return c->index ? (uint32_t)(c->instance ^ c->instance >> 32) | 1 : 0;
}

/* name fills in which operation an event is of. */
static inline void name(const struct td_operation *o, struct td_trace_event *e)
{
    const struct td_communicator *c = o->communicator;
    e->world = c->world;
    e->group = group_name(c);
    e->sequence = td_operation_number(o);
}

static inline uint8_t call_of(const struct td_operation *o)
{
    return o->witnesses ? (uint8_t)o->least.call.kind : 0;
}

/* record adds an event of an operation, whose other fields are given. It is inline and writes each
 * field once: each call and return of a rank is an event. */
static inline void record(struct td_core *core, const struct td_operation *o,
                          enum td_trace_kind kind, struct td_trace_event e)
{
    struct td_recorder *r = core->recorder;
    e.number = r->next;
    e.at = core->now;
    e.kind = (uint8_t)kind;
    name(o, &e);
    *td_recorder_next(r) = e;
}

struct td_trace_event *td_recording_add(struct td_core *core, const struct td_operation *o,
                                        enum td_trace_kind kind)
{
    if (!core->recorder)
        return NULL;
    struct td_trace_event *e = td_recorder_add(core->recorder, kind, core->now);
    name(o, e);
    e->call = call_of(o);
    e->error = 0;
    e->subject = TD_TRACE_NOBODY;
    e->a = e->b = 0;
    return e;
}

void td_recording_call(struct td_core *core, const struct td_operation *o, uint32_t local,
                       uint8_t call)
{
    const struct td_communicator *c = o->communicator;
    if (!core->recorder)
        return;
    record(core, o, TD_TRACE_CALL,
           (struct td_trace_event){.call = call,
                                   .subject = td_communicator_job_rank(c, c->seat[local].rank),
                                   .since = o->arrival[local].at,
                                   .a = o->by_segment,
                                   .b = c->seat[local].pid});
}

void td_recording_return(struct td_core *core, const struct td_operation *o, uint32_t local,
                         bool gone)
{
    const struct td_communicator *c = o->communicator;
    if (!core->recorder)
        return;
    record(
        core, o, TD_TRACE_RETURN,
        (struct td_trace_event){.call = call_of(o),
                                .subject = td_communicator_job_rank(c, c->seat[local].rank),
                                .since = o->arrival[local].at,
                                .a = gone,
                                .error = (uint16_t) - (int)(gone ? TD_ERR_RANK_FAILED : o->error)});
}

void td_recording_stop(struct td_core *core, const struct td_communicator *c,
                       const struct td_seat *seat, uint64_t number, enum td_trace_kind kind)
{
    const struct td_client_stop *stop = &seat->client->stop;
    struct td_recorder *r = core->recorder;
    if (!r)
        return;
    struct td_trace_event *e = td_recorder_next(r);
    *e = (struct td_trace_event){.number = r->next - 1,
                                 .at = core->now,
                                 .since = stop->from,
                                 .world = c->world,
                                 .group = group_name(c),
                                 .sequence = number,
                                 .kind = (uint8_t)kind,
                                 .subject = td_communicator_job_rank(c, seat->rank),
                                 .a = stop->kind,
                                 .b = seat->client->pid};
    td_recorder_rare(r, e);
}

void td_recording_release(struct td_core *core, const struct td_operation *o)
{
    if (!core->recorder)
        return;
    uint32_t last = TD_TRACE_NOBODY;
    if (o->last)
        last = td_communicator_job_rank(o->communicator, o->last - 1);
    record(core, o, TD_TRACE_RELEASE,
           (struct td_trace_event){.call = call_of(o),
                                   .subject = last,
                                   .since = o->started_at,
                                   .a = o->silent_node,
                                   .b = o->silent_ns});
}

void td_recording_steps(struct td_core *core, const struct td_operation *o, enum td_trace_kind kind,
                        unsigned family)
{
    if (!core->recorder)
        return;
    record(core, o, kind,
           (struct td_trace_event){.call = call_of(o),
                                   .subject = family,
                                   .since = core->now,
                                   .a = kind == TD_TRACE_STEPS_LEFT
                                            ? o->engine.family[family].done
                                            : o->program.family[family].count,
                                   .b = o->program.family[family].kind});
}

void td_recording_packet(struct td_core *core, const struct td_operation *o, uint32_t node,
                         bool out, uint32_t bytes)
{
    struct td_trace_event e = {.a = 0};
    if (!core->recorder)
        return;
    name(o, &e);
    e.call = call_of(o);
    struct td_flow *f = td_recorder_flow(core->recorder, o, node, out, core->now, &e);
    f->event.at = core->now;
    f->event.a += bytes;
    f->event.b++;
}

void td_recording_sent(struct td_core *core, struct td_operation *o, uint32_t node, uint32_t bytes)
{
    td_recording_packet(core, o, node, true, bytes);
}

void td_recording_done(struct td_core *core, const struct td_operation *o)
{
    if (core->recorder && core->recorder->flows)
        td_recorder_flush(core->recorder, o);
}

void td_recording_failed(struct td_core *core, const struct td_operation *o, int64_t rank,
                         int64_t node, const char *text)
{
    if (!core->recorder)
        return;
    td_recorder_flush(core->recorder, o);
    for (unsigned f = 0; td_operation_compiled(o) && f < o->program.families; f++)
        if (o->engine.family[f].done < o->program.family[f].count)
            td_recording_steps(core, o, TD_TRACE_STEPS_LEFT, f);
    struct td_trace_event *e = td_recording_add(core, o, TD_TRACE_FAILED);
    e->since = o->started_at;
    e->error = (uint16_t) - (int)o->error;
    if (rank >= 0)
        e->subject = (uint32_t)rank;
    e->a = (uint64_t)(node + 1);
    td_recorder_fail(core->recorder, e, text);
}

void td_recording_late(struct td_core *core, const struct td_communicator *c,
                       const struct td_seat *seat, const struct td_request *q,
                       const struct td_recording_late *late)
{
    struct td_recorder *r = core->recorder;
    uint64_t waited = q->u.operation.waited_ns;
    struct td_trace_event e = {.world = c->world,
                               .group = group_name(c),
                               .sequence = q->u.operation.sequence + q->u.operation.by_segment,
                               .call = (uint8_t)q->u.operation.call.kind,
                               .at = core->now,
                               .since = core->now - (waited < core->now ? waited : core->now),
                               .kind = TD_TRACE_CALL,
                               .subject = td_communicator_job_rank(c, seat->rank),
                               .a = q->u.operation.by_segment,
                               .b = seat->pid};
    if (!r)
        return;
    e.number = r->next;
    *td_recorder_next(r) = e;
    e.kind = TD_TRACE_RETURN;
    e.error = (uint16_t) - (int)late->error;
    e.a = e.b = 0;
    e.number = r->next;
    *td_recorder_next(r) = e;
    if (!late->text)
        return;
    e.kind = TD_TRACE_FAILED;
    e.subject = late->rank >= 0 ? (uint32_t)late->rank : TD_TRACE_NOBODY;
    e.a = (uint64_t)(late->node + 1);
    e.number = r->next;
    *td_recorder_next(r) = e;
    td_recorder_fail(r, &e, late->text);
}
