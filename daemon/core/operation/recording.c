/* SPDX-License-Identifier: Apache-2.0 */
#include "recording.h"

/* group_name returns the name of a group in its job: 0 for the world. */
static uint32_t group_name(const struct td_communicator *c)
{
    return c->index ? (uint32_t)(c->instance ^ c->instance >> 32) | 1 : 0;
}

/* name fills in which operation an event is of. */
static void name(const struct td_operation *o, struct td_trace_event *e)
{
    const struct td_communicator *c = o->communicator;
    e->world = c->world;
    e->group = group_name(c);
    e->sequence = td_operation_number(o);
    e->call = o->witnesses ? (uint8_t)o->least.call.kind : 0;
    e->error = 0;
}

/* add is td_recording_add, inline: each call and return of a rank is an event. */
static inline struct td_trace_event *add(struct td_core *core, const struct td_operation *o,
                                         enum td_trace_kind kind)
{
    if (!core->recorder)
        return NULL;
    struct td_trace_event *e = td_recorder_add(core->recorder, kind, core->now);
    name(o, e);
    e->subject = TD_TRACE_NOBODY;
    e->a = e->b = 0;
    return e;
}

struct td_trace_event *td_recording_add(struct td_core *core, const struct td_operation *o,
                                        enum td_trace_kind kind)
{
    return add(core, o, kind);
}

void td_recording_call(struct td_core *core, const struct td_operation *o, uint32_t local,
                       uint8_t call)
{
    const struct td_communicator *c = o->communicator;
    struct td_trace_event *e = add(core, o, TD_TRACE_CALL);
    if (!e)
        return;
    e->call = call;
    e->subject = td_communicator_job_rank(c, c->seat[local].rank);
    e->since = o->arrival[local].at;
    e->a = o->by_segment;
    e->b = c->seat[local].pid;
}

void td_recording_return(struct td_core *core, const struct td_operation *o, uint32_t local)
{
    const struct td_communicator *c = o->communicator;
    struct td_trace_event *e = add(core, o, TD_TRACE_RETURN);
    if (!e)
        return;
    e->subject = td_communicator_job_rank(c, c->seat[local].rank);
    e->since = o->arrival[local].at;
    e->error = (uint16_t) - (int)o->error;
}

void td_recording_release(struct td_core *core, const struct td_operation *o)
{
    struct td_trace_event *e = add(core, o, TD_TRACE_RELEASE);
    if (!e)
        return;
    e->since = o->started_at;
    if (o->last)
        e->subject = td_communicator_job_rank(o->communicator, o->last - 1);
}

void td_recording_steps(struct td_core *core, const struct td_operation *o, enum td_trace_kind kind,
                        unsigned family)
{
    struct td_trace_event *e = td_recording_add(core, o, kind);
    if (!e)
        return;
    e->subject = family;
    e->a = kind == TD_TRACE_STEPS_LEFT ? o->engine.family[family].done
                                       : o->program.family[family].count;
    e->b = o->program.family[family].kind;
}

void td_recording_packet(struct td_core *core, const struct td_operation *o, uint32_t node,
                         bool out, uint32_t bytes)
{
    struct td_trace_event e = {.a = 0};
    if (!core->recorder)
        return;
    name(o, &e);
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
    if (!core->recorder)
        return;
    td_recorder_flush(core->recorder, o);
    add(core, o, TD_TRACE_DONE)->since = o->started_at;
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
