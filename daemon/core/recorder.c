/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder.h"

#include <stdio.h>

uint32_t td_recorder_size(uint32_t events)
{
    uint32_t size = 1;
    while (size < events)
        size *= 2;
    return size;
}

size_t td_recorder_bytes(uint32_t events)
{
    return sizeof(struct td_recorder) + td_recorder_size(events) * sizeof(struct td_trace_event);
}

void td_recorder_init(struct td_recorder *r, uint32_t events)
{
    r->next = 1;
    r->mask = td_recorder_size(events) - 1;
}

void td_recorder_rare(struct td_recorder *r, const struct td_trace_event *event)
{
    r->rare[r->rares++ % TD_RECORDER_RARE] = *event;
}

void td_recorder_node(struct td_recorder *r, enum td_trace_kind kind, uint32_t node, td_time now,
                      td_time since, uint64_t a)
{
    if (!r)
        return;
    struct td_trace_event *e = td_recorder_add(r, kind, now);
    e->since = since;
    e->world = e->sequence = e->b = 0;
    e->group = e->call = 0;
    e->error = 0;
    e->subject = node;
    e->a = a;
    td_recorder_rare(r, e);
}

/* ---- flows ---- */

/* record makes an event of a flow, and frees its place. */
static void record(struct td_recorder *r, struct td_flow *f)
{
    struct td_trace_event *e = &r->ring[r->next & r->mask];
    f->event.number = r->next++;
    *e = f->event;
    f->owner = NULL;
    r->flows--;
}

struct td_flow *td_recorder_flow(struct td_recorder *r, const void *owner, uint32_t node, bool out,
                                 td_time now, const struct td_trace_event *event)
{
    uint64_t key = ((uint64_t)(uintptr_t)owner >> 6) + (uint64_t)node * 2 + out;
    struct td_flow *f = &r->flow[key * 0x9e3779b97f4a7c15u >> 58];
    _Static_assert(TD_RECORDER_FLOWS == 1 << (64 - 58), "the index has 6 bits");
    if (f->owner == owner && f->node == node && f->out == out)
        return f;
    if (f->owner)
        record(r, f);
    r->flows++;
    *f = (struct td_flow){.owner = owner, .node = node, .out = out, .event = *event};
    f->event.kind = out ? TD_TRACE_SENT : TD_TRACE_RECEIVED;
    f->event.subject = node;
    f->event.since = now;
    return f;
}

void td_recorder_flush(struct td_recorder *r, const void *owner)
{
    for (uint32_t i = 0; i < TD_RECORDER_FLOWS && r->flows; i++)
        if (r->flow[i].owner == owner)
            record(r, &r->flow[i]);
}

/* ---- failures ---- */

/* concerns returns true if an event is of a job, or of a link or node, which may explain what
 * happens to the job. */
static bool concerns(const struct td_trace_event *e, uint64_t world)
{
    return e->world == world || e->world == 0;
}

/* copy keeps the latest events that concern a job. */
static void copy(struct td_recorder *r, uint64_t world)
{
    uint64_t size = (uint64_t)r->mask + 1, first = r->next > size ? r->next - size : 1, found = 0;
    uint64_t from = r->next;
    if (first + TD_RECORDER_LOOK < r->next)
        first = r->next - TD_RECORDER_LOOK;
    while (from > first && found < TD_RECORDER_BEFORE)
        found += concerns(&r->ring[--from & r->mask], world);
    for (; from < r->next; from++)
        if (concerns(&r->ring[from & r->mask], world))
            r->before[r->kept++ % TD_RECORDER_KEPT] = r->ring[from & r->mask];
}

void td_recorder_fail(struct td_recorder *r, const struct td_trace_event *event, const char *text)
{
    struct td_failure *f = &r->failure[r->failures++ % TD_RECORDER_FAILURES];
    f->event = *event;
    snprintf(f->text, sizeof f->text, "%s", text);
    if (r->copied_world == event->world && event->at - r->copied_at < TD_RECORDER_AGAIN_NS)
        return; /* the operations of a broken group end together */
    r->copied_world = event->world;
    r->copied_at = event->at;
    copy(r, event->world);
}
