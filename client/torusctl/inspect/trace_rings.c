/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_rings.h"

#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "rows.h"

enum { CLOCK_ROUNDS = 8 };
#define READ_TIMEOUT_S 10.0 /* of the rings of all nodes that have said what time it is */

static json_t *row_json(const struct td_status_row *row)
{
    return ins_row(row, TD_ROW_TRACE);
}

/* event_of reads event `at` of a row. */
static void event_of(const json_t *row, size_t at, struct td_trace_event *e)
{
    const json_t *numbers = json_object_get(row, "number");
    uint64_t n[TD_TRACE_NUMBERS];
    for (size_t i = 0; i < TD_TRACE_NUMBERS; i++)
        n[i] = (uint64_t)json_integer_value(json_array_get(numbers, at * TD_TRACE_NUMBERS + i));
    td_trace_unpack(n, e);
}

static size_t events_of(const json_t *row)
{
    return json_array_size(json_object_get(row, "number")) / TD_TRACE_NUMBERS;
}

/* ---- clocks ---- */

/* learn takes a sample of a clock: the node read it between the question and the answer. */
static void learn(struct ins_clock_of *c, const json_t *row)
{
    struct td_trace_event e;
    if (events_of(row) != 1)
        return;
    event_of(row, 0, &e);
    int64_t asked = ins_number(row, "asked_ns"), heard = ins_number(row, "heard_ns");
    if (!c->known || (heard - asked) / 2 < c->uncertainty_ns) {
        c->offset_ns = (int64_t)e.at - (asked + (heard - asked) / 2);
        c->uncertainty_ns = (heard - asked) / 2;
    }
    c->known = true;
    c->recorded = e.a ? e.a - 1 : 0;
    c->size = e.b;
    c->read_at = asked + (heard - asked) / 2;
}

static bool ask_clocks(struct ins_machine *m, struct ins_rings *r, int rounds)
{
    bool good = true;
    m->timed = true;
    for (int i = 0; i < rounds && good; i++) {
        json_t *rows = ins_machine_rows(m, TD_STATUS_CLOCK, row_json), *row = NULL;
        size_t k = 0;
        good = rows != NULL;
        json_array_foreach(rows, k, row) if ((uint64_t)ins_number(row, "at") < r->nodes)
            learn(&r->clock[ins_number(row, "at")], row);
        json_decref(rows);
    }
    m->timed = false;
    return good;
}

/* ---- events ---- */

static int by_number(const void *left, const void *right)
{
    const struct ins_event *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->e.number != b->e.number)
        return a->e.number < b->e.number ? -1 : 1;
    return (b->text[0] != 0) - (a->text[0] != 0); /* the one with a sentence stays */
}

static void note_latest(struct ins_rings *r, const json_t *row)
{
    uint32_t node = (uint32_t)ins_number(row, "at");
    struct td_trace_event e;
    for (size_t i = 0; node < r->nodes && i < events_of(row); i++) {
        event_of(row, i, &e);
        if (e.number > r->clock[node].latest)
            r->clock[node].latest = e.number;
    }
}

/* note_first notes the first event that a ring had when it was read. Copies for failures are older.
 */
static void note_first(struct ins_clock_of *c, const struct td_trace_event *e)
{
    int64_t at = (int64_t)e->at - c->offset_ns;
    if (e->number + c->size > c->latest && (!c->first_at || at < c->first_at))
        c->first_at = at;
}

/* take keeps the events of a row that belong to a job, or to no job. */
static void take(struct ins_rings *r, const json_t *row, uint64_t world)
{
    uint32_t node = (uint32_t)ins_number(row, "at");
    for (size_t i = 0; node < r->nodes && i < events_of(row); i++) {
        struct ins_event *to = &r->event[r->count];
        event_of(row, i, &to->e);
        note_first(&r->clock[node], &to->e);
        if (to->e.world != world && to->e.world != 0)
            continue;
        to->node = node;
        to->text = ins_string(row, "text");
        to->at = (int64_t)to->e.at - r->clock[node].offset_ns;
        to->since = (int64_t)to->e.since - r->clock[node].offset_ns;
        r->count++;
    }
}

/* drop_copies removes events that came twice: from the ring and with a failure. */
static void drop_copies(struct ins_rings *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++)
        if (kept == 0 || r->event[kept - 1].node != r->event[i].node ||
            r->event[kept - 1].e.number != r->event[i].e.number)
            r->event[kept++] = r->event[i];
    r->count = kept;
}

/* settle sets when the events of each node were read: after they were asked for, and not before the
 * newest of them. The ring goes on while its pages are read, without its later events. */
static void settle(struct ins_rings *r, const int64_t *asked_at)
{
    for (uint32_t n = 0; n < r->nodes; n++)
        r->clock[n].read_at = asked_at[n];
    for (const struct ins_event *e = r->event; e < r->event + r->count; e++)
        if (e->at > r->clock[e->node].read_at)
            r->clock[e->node].read_at = e->at;
}

/* moments returns when each node has said last what time it is, or NULL. */
static int64_t *moments(const struct ins_rings *r)
{
    int64_t *at = calloc(r->nodes, sizeof *at);
    for (uint32_t n = 0; at && n < r->nodes; n++)
        at[n] = r->clock[n].read_at;
    return at;
}

bool ins_rings_read(struct ins_machine *m, uint64_t world, struct ins_rings *r)
{
    double timeout_s = m->timeout_s;
    size_t all = 0, i = 0;
    json_t *row = NULL;
    int64_t *asked_at = NULL;
    *r = (struct ins_rings){.nodes = m->nodes, .clock = calloc(m->nodes, sizeof *r->clock)};
    if (!r->clock || !ask_clocks(m, r, CLOCK_ROUNDS))
        return false;
    m->timeout_s = timeout_s > READ_TIMEOUT_S ? timeout_s : READ_TIMEOUT_S;
    r->rows = ins_machine_rows(m, TD_STATUS_TRACE, row_json);
    m->timeout_s = timeout_s;
    if (!r->rows || !(asked_at = moments(r)) || !ask_clocks(m, r, 1)) {
        free(asked_at);
        return false;
    }
    json_array_foreach(r->rows, i, row) all += events_of(row);
    if (!(r->event = calloc(all + 1, sizeof *r->event))) {
        free(asked_at);
        return false;
    }
    json_array_foreach(r->rows, i, row) note_latest(r, row);
    json_array_foreach(r->rows, i, row) take(r, row, world);
    qsort(r->event, r->count, sizeof *r->event, by_number);
    drop_copies(r);
    settle(r, asked_at);
    free(asked_at);
    return true;
}

void ins_rings_free(struct ins_rings *r)
{
    free(r->clock);
    free(r->event);
    json_decref(r->rows);
    *r = (struct ins_rings){.nodes = 0};
}
