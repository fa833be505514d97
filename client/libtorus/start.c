/* SPDX-License-Identifier: Apache-2.0 */
/* Starting collectives, at once or again and again. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* place_inner names a side that is a piece of the other one, which has its place already. */
static void place_inner(const struct tl_work *w, torus_request *r, struct td_place place[2],
                        bool staged)
{
    int outer = 1 - w->within;
    const struct tl_side *s = &w->side[outer];
    size_t at = staged ? w->inner_staged : w->inner.at;
    if (w->inner.bytes == 0)
        return;
    place[w->within] =
        (struct td_place){place[outer].region, place[outer].offset + at, w->inner.bytes};
    if (staged && w->within == 0)
        memcpy(r->held[outer].memory + at, s->pointer + w->inner.at, w->inner.bytes);
}

/* hold_result keeps the memory that a fold writes to. */
static int hold_result(struct tl_work *w, torus_request *r, bool staged)
{
    struct tl_fold *f = &w->fold;
    if (!f->op)
        return TORUS_OK;
    struct td_place place;
    int error =
        f->out ? tl_memory_find(r->context, f->out, f->block, &place, &f->block_out) : TORUS_OK;
    if (error != TORUS_OK)
        return error;
    if (f->block_out)
        tl_memory_hold(f->block_out);
    f->op->holders++;
    f->memory = staged ? r->held[1].memory : w->side[1].pointer;
    r->fold = *f;
    return TORUS_OK;
}

/* place_sides: staged[i] when side i has a stand-in. */
static int place_sides(struct tl_work *w, torus_request *r, struct td_place place[2],
                       bool staged[2])
{
    size_t alignment = td_call_alignment(w->call.kind, w->call.type);
    int first = w->within == 1 ? 0 : 1, second = 1 - first;
    int error =
        tl_request_place(r, first, &w->side[first], alignment, &place[first], &staged[first]);
    if (error != TORUS_OK)
        return error;
    if (w->same)
        place[second] = place[first];
    else if (w->within == second)
        place_inner(w, r, place, staged[first]);
    else
        error = tl_request_place(r, second, &w->side[second], alignment, &place[second],
                                 &staged[second]);
    return error == TORUS_OK ? hold_result(w, r, staged[1]) : error;
}

/* count_side says one side's pieces as the daemon wants them: for each rank how much, and where,
 * unless one follows the other. */
static void count_side(const struct tl_work *w, int which, bool packed, uint64_t *count,
                       uint64_t *at, struct td_rank_counts *c)
{
    const struct tl_side *s = &w->side[which];
    uint32_t size = w->what.group->size;
    uint64_t element = td_type_bytes(w->call.type), next = 0;
    bool whole = w->whole == which && s->pieces, places = whole;
    for (uint32_t i = 0; whole && i < size; i++)
        count[i] = s->piece[0].bytes / element; /* at 0 */
    for (uint32_t i = 0; !whole && i < s->pieces; i++) {
        const struct tl_piece *p = &s->piece[i];
        count[p->rank] += p->bytes / element;
        at[p->rank] = p->at / element;
        places = places || (!packed && p->at != next);
        next += p->bytes;
    }
    *c = (struct td_rank_counts){count, at, size, places ? size : 0};
}

/* submit sends the call; r is gone on an error. */
static int submit(const struct tl_work *w, torus_request *r, const struct td_place place[2],
                  const bool staged[2], torus_request **request)
{
    const torus_group *g = w->what.group;
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.group = g->number;
    q.u.operation.call = w->call;
    q.u.operation.timeout_ns = g->timeout_ns;
    q.u.operation.source = place[0];
    q.u.operation.destination = place[1];
    if (!td_call_has_parts(w->call.kind))
        return tl_request_submit(r, &q, request);
    uint64_t *number = calloc(4 * (size_t)g->size, sizeof *number);
    if (!number) {
        tl_request_free(r);
        return tl_fail(g->context, TORUS_ERR_NO_MEMORY, "no memory");
    }
    /* a side within the other begins where that piece does */
    count_side(w, 0, staged[0], number, number + g->size, &q.u.operation.from);
    count_side(w, 1, staged[1], number + 2 * (size_t)g->size, number + 3 * (size_t)g->size,
               &q.u.operation.to);
    int error = tl_request_submit(r, &q, request);
    free(number);
    return error;
}

static int begin(struct tl_work *w, torus_request **request)
{
    torus_request *r = NULL;
    struct td_place place[2] = {{0}, {0}};
    bool staged[2] = {false, false};
    int error = tl_request_begin(w->what.group, REQUEST_SIMPLE, request, &r);
    if (error != TORUS_OK)
        return error;
    error = place_sides(w, r, place, staged);
    if (error == TORUS_OK)
        return submit(w, r, place, staged, request);
    tl_request_free(r);
    return error;
}

static int check(struct tl_work *w, const struct tl_collective *what)
{
    if (!what->group)
        return TORUS_ERR_INVALID;
    *w = (struct tl_work){.what = *what};
    const char *wrong = tl_sides(w);
    if (!wrong)
        return TORUS_OK;
    tl_sides_free(w);
    return tl_fail(what->group->context, TORUS_ERR_INVALID, "%s: %s", td_kind_name(what->kind),
                   wrong);
}

int tl_start(const struct tl_collective *what, torus_request **request)
{
    struct tl_work w;
    int error = check(&w, what);
    if (error != TORUS_OK)
        return error;
    error = begin(&w, request);
    tl_sides_free(&w);
    return error;
}

int tl_run(const struct tl_collective *what)
{
    torus_request *r = NULL;
    return tl_request_wait(tl_start(what, &r), &r);
}

/* ---- persistent calls ---- */

/* keep_counts copies the lists of a call, of n each, to one array; false without memory. */
static bool keep_counts(torus_persistent *p, size_t n)
{
    const size_t **list[] = {&p->what.from.count, &p->what.from.at, &p->what.to.count,
                             &p->what.to.at};
    enum { LISTS = sizeof list / sizeof list[0] };
    p->counts = calloc(LISTS * n, sizeof *p->counts);
    for (size_t i = 0; p->counts && i < LISTS; i++) {
        if (!*list[i])
            continue;
        memcpy(p->counts + i * n, *list[i], n * sizeof *p->counts);
        *list[i] = p->counts + i * n;
    }
    return p->counts != NULL;
}

int tl_keep(const struct tl_collective *what, torus_persistent **persistent)
{
    struct tl_work w;
    if (persistent)
        *persistent = NULL;
    int error = check(&w, what);
    if (error != TORUS_OK)
        return error;
    tl_sides_free(&w);
    torus_group *g = what->group;
    if (!persistent)
        return tl_fail(g->context, TORUS_ERR_INVALID, "persistent is NULL");
    torus_persistent *p = calloc(1, sizeof *p);
    if (p) {
        p->what = w.what; /* with the lists that mean something here */
        if (what->grid) {
            p->grid = *what->grid;
            p->what.grid = &p->grid;
        }
    }
    if (!p || !keep_counts(p, what->grid ? 2 * (size_t)what->grid->dimensions : g->size)) {
        free(p);
        return tl_fail(g->context, TORUS_ERR_NO_MEMORY, "no memory");
    }
    p->next = g->persistents;
    g->persistents = p;
    *persistent = p;
    return TORUS_OK;
}

int torus_persistent_start(torus_persistent *p, torus_request **request)
{
    if (!p)
        return TORUS_ERR_INVALID;
    if (p->in_flight)
        return tl_fail(p->what.group->context, TORUS_ERR_BUSY,
                       "%s: it has been started, and is in flight", td_kind_name(p->what.kind));
    int error = tl_start(&p->what, request);
    if (error == TORUS_OK) {
        p->in_flight = *request;
        p->in_flight->persistent = p;
    }
    return error;
}

void tl_persistent_drop(torus_persistent *p)
{
    torus_persistent **link = &p->what.group->persistents;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    if (p->in_flight)
        p->in_flight->persistent = NULL;
    free(p->counts);
    free(p);
}

int torus_persistent_free(torus_persistent *p)
{
    if (!p)
        return TORUS_OK;
    if (p->in_flight)
        return tl_fail(p->what.group->context, TORUS_ERR_BUSY, "%s: it is in flight",
                       td_kind_name(p->what.kind));
    tl_persistent_drop(p);
    return TORUS_OK;
}
