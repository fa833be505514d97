/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect_trace.h"

#include "core/membership/waits.h"
#include "core/recorder.h"

/* The cursor of a page has the part of the list, and in the ring how many events are left. */
enum part { FAILURES, KEPT, RARE, RING };
enum { PART_SHIFT = 62, LEFT_SHIFT = 40, SHORT_ROWS = 3, LOOK_MAX = 4096 };
#define PLACE_MASK (((uint64_t)1 << LEFT_SHIFT) - 1)
#define LEFT_MASK (((uint64_t)1 << (PART_SHIFT - LEFT_SHIFT)) - 1)

/* struct walk: a page that is being filled with events. */
struct walk {
    struct td_page *page;
    struct td_status_row *row; /* that has room for more events, or NULL */
    uint64_t *numbers;
    uint64_t world; /* the job of the event before, and whether the user may see it */
    bool shows;
};

/* shows returns true if the page's user may see an event. Events of a job that the daemon has no
 * record of any more are shown to those who see all jobs. */
static bool shows(struct walk *w, const struct td_trace_event *e)
{
    struct td_core *core = w->page->core;
    if (e->world == 0 || w->page->sees_all)
        return true;
    if (e->world == w->world)
        return w->shows;
    w->world = e->world;
    w->shows = false;
    for (uint32_t i = 0; i < TD_WAITS_JOBS_MAX; i++)
        if (core->waits[i].world == e->world)
            w->shows = td_page_shows(w->page, core->waits[i].uid);
    return w->shows;
}

/* new_row begins a row. It returns false if the page is full. */
static bool new_row(struct walk *w)
{
    struct td_reply *r = w->page->reply;
    w->row = NULL;
    if (r->u.status.rows == (w->page->is_short ? SHORT_ROWS : TD_STATUS_ROWS_MAX))
        return false;
    uint64_t bytes = TD_TRACE_EVENTS_MAX * TD_TRACE_NUMBERS * sizeof(uint64_t);
    if (!(w->numbers = td_core_pad(w->page->core, bytes)))
        return false;
    w->row = &r->u.status.row[r->u.status.rows++];
    *w->row = (struct td_status_row){.kind = TD_ROW_TRACE};
    w->row->u.trace = (struct td_row_trace){.text = "", .number = w->numbers};
    return true;
}

/* put adds an event to the page. It returns false if the page is full. */
static bool put(struct walk *w, const struct td_trace_event *e, const char *text)
{
    bool full =
        !w->row || *text || w->row->u.trace.numbers == TD_TRACE_EVENTS_MAX * TD_TRACE_NUMBERS;
    if (full && !new_row(w))
        return false;
    struct td_row_trace *row = &w->row->u.trace;
    td_trace_pack(e, w->numbers + row->numbers);
    row->numbers += TD_TRACE_NUMBERS;
    if (*text) {
        row->text = text;
        w->row = NULL; /* the next event has a row of its own */
    }
    return true;
}

static uint64_t cursor(enum part part, uint64_t left, uint64_t place)
{
    return (uint64_t)part << PART_SHIFT | left << LEFT_SHIFT | place;
}

/* list_failures lists from a place on; like list_copies it returns false if the page is full. */
static bool list_failures(struct walk *w, const struct td_recorder *r, uint64_t place)
{
    uint64_t most = r->failures < TD_RECORDER_FAILURES ? r->failures : TD_RECORDER_FAILURES;
    for (; place < most; place++) {
        const struct td_failure *f = &r->failure[place];
        if (shows(w, &f->event) && !put(w, &f->event, f->text[0] ? f->text : "?")) {
            w->page->reply->u.status.next = cursor(FAILURES, 0, place);
            return false;
        }
    }
    w->row = NULL;
    return true;
}

/* list_copies lists a ring of copies, of which there were `count` ever, from a place on. */
static bool list_copies(struct walk *w, enum part part, const struct td_trace_event *copy,
                        uint64_t count, uint64_t size, uint64_t place)
{
    uint64_t most = count < size ? count : size;
    for (; place < most; place++)
        if (shows(w, &copy[place]) && !put(w, &copy[place], "")) {
            w->page->reply->u.status.next = cursor(part, 0, place);
            return false;
        }
    return true;
}

/* list_ring lists `left` events from a number on. */
static void list_ring(struct walk *w, const struct td_recorder *r, uint64_t left, uint64_t number)
{
    uint64_t size = (uint64_t)r->mask + 1;
    for (uint32_t looks = 0; left > 0 && number < r->next; left--, number++) {
        const struct td_trace_event *e = &r->ring[number & r->mask];
        bool here = number + size >= r->next; /* else it was overwritten */
        if (looks++ == LOOK_MAX || (here && shows(w, e) && !put(w, e, ""))) {
            w->page->reply->u.status.next = cursor(RING, left, number);
            return;
        }
    }
}

void td_inspect_trace(struct td_page *p)
{
    const struct td_recorder *r = p->core->recorder;
    struct walk w = {.page = p};
    uint64_t part = p->cursor >> PART_SHIFT, place = p->cursor & PLACE_MASK,
             left = p->cursor >> LEFT_SHIFT & LEFT_MASK;
    if (!r)
        return;
    if (part == FAILURES && !list_failures(&w, r, place))
        return;
    if (part <= KEPT &&
        !list_copies(&w, KEPT, r->before, r->kept, TD_RECORDER_KEPT, part == KEPT ? place : 0))
        return;
    if (part <= RARE &&
        !list_copies(&w, RARE, r->rare, r->rares, TD_RECORDER_RARE, part == RARE ? place : 0))
        return;
    if (part <= RARE) {
        uint64_t size = (uint64_t)r->mask + 1;
        place = r->next > size ? r->next - size : 1;
        left = r->next - place;
    }
    list_ring(&w, r, left, place);
}

void td_inspect_clock(struct td_page *p)
{
    const struct td_recorder *r = p->core->recorder;
    struct walk w = {.page = p};
    const struct td_trace_event e = {.kind = TD_TRACE_CLOCK,
                                     .at = p->core->now,
                                     .since = p->core->now,
                                     .subject = p->core->node,
                                     .a = r ? r->next : 0,
                                     .b = r ? (uint64_t)r->mask + 1 : 0};
    put(&w, &e, "");
}
