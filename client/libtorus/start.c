/* SPDX-License-Identifier: Apache-2.0 */
#include "start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "segment.h"
#include "wait.h"
#include "lock.h"

/* place_inner writes the place of a buffer that is one piece of the other, already bound buffer. */
static void place_inner(const struct tl_work *w, torus_request *r, struct td_place place[2],
                        bool staged)
{
    int outer = 1 - w->inner_buffer;
    const struct tl_buffer *s = &w->buffer[outer];
    /* the place of a buffer begins at its first byte, which may lie before its address */
    size_t at = staged ? w->inner_in_copy : (size_t)(w->inner.at - s->begin);
    size_t bytes = w->inner.bytes;
    if (bytes == 0)
        return;
    if (place[outer].form) { /* both places begin at a first byte of data */
        ptrdiff_t begin = 0, end = 0;
        (void)tl_type_span(w->type[outer], bytes / w->element[outer], &begin, &end); /* inside */
        at += (size_t)begin;
        bytes = (size_t)(end - begin);
    }
    place[w->inner_buffer] =
        (struct td_place){place[outer].region, place[outer].offset + at, bytes, place[outer].form};
    uint8_t *copy = r->binding[outer].copy;
    if (staged && w->inner_buffer == 0 && w->gaps[outer])
        tl_type_pack(w->type[outer], w->inner.bytes / w->element[outer], s->pointer + w->inner.at,
                     copy + at);
    else if (staged && w->inner_buffer == 0)
        memcpy(copy + at, s->pointer + w->inner.at, w->inner.bytes);
}

/* role_of names a buffer of a call. */
static struct tl_role role_of(const struct tl_work *w, int which)
{
    return (struct tl_role){w->what.name, tl_work_buffer(w, which)};
}

/* pin_result hands the fold to the request and pins the memory that the fold writes. */
static int pin_result(struct tl_work *w, torus_request *r, bool staged)
{
    struct tl_fold *f = &w->fold;
    if (!f->op)
        return TORUS_OK;
    struct td_place place;
    const struct tl_role role = role_of(w, 1);
    ptrdiff_t begin = 0, end = (ptrdiff_t)f->block;
    if (f->type && !tl_type_span(f->type, f->block / f->element, &begin, &end))
        return tl_fail(r->context, TORUS_ERR_INVALID, "the counts overflow");
    int error = TORUS_OK;
    if (f->out)
        error = tl_memory_find(r->context, &role, (uint8_t *)f->out + begin, (size_t)(end - begin),
                               &place, &f->block_out);
    if (error != TORUS_OK)
        return error;
    if (!tl_fold_use(f))
        return tl_fail(r->context, TORUS_ERR_NO_MEMORY, "no memory for the reduction");
    if (f->block_out)
        tl_memory_pin(f->block_out);
    f->memory = staged ? r->binding[1].copy : w->buffer[1].pointer;
    r->fold = *f;
    return TORUS_OK;
}

/* bind_buffers writes the places of both buffers. staged[i]: buffer i has a staging copy. */
static int bind_buffers(struct tl_work *w, torus_request *r, struct td_place place[2],
                        bool staged[2])
{
    size_t alignment = td_call_alignment(w->call.kind, w->call.type);
    int first = w->inner_buffer == 1 ? 0 : 1, second = 1 - first;
    const struct tl_role role[2] = {role_of(w, 0), role_of(w, 1)};
    int error = tl_buffer_bind(r->context, &role[first], &w->buffer[first], alignment,
                               &r->binding[first], &place[first], &staged[first]);
    if (error != TORUS_OK)
        return error;
    if (w->same)
        place[second] = place[first];
    else if (w->inner_buffer == second)
        place_inner(w, r, place, staged[first]);
    else
        error = tl_buffer_bind(r->context, &role[second], &w->buffer[second], alignment,
                               &r->binding[second], &place[second], &staged[second]);
    return error == TORUS_OK ? pin_result(w, r, staged[1]) : error;
}

/* place_in_data returns the bytes of data from the first byte of a buffer to a piece. With gaps,
 * these are the elements between them. */
static uint64_t place_in_data(const struct tl_work *w, int which, const struct tl_piece *p)
{
    ptrdiff_t from_first = p->at - w->buffer[which].begin;
    if (!w->gaps[which])
        return (uint64_t)from_first;
    ptrdiff_t extent = tl_type_extent(w->type[which]);
    if (extent == 0)
        return 0; /* all elements are at the same place */
    return (uint64_t)((from_first + w->type[which]->first) / extent) * w->element[which];
}

/* write_counts writes the pieces of a buffer as counts and places by rank, in elements; without
 * places if the pieces are contiguous. `packed`: they are contiguous in the memory that the daemon
 * uses. */
static void write_counts(const struct tl_work *w, int which, bool packed, uint64_t *count,
                         uint64_t *at, struct td_rank_counts *c)
{
    const struct tl_buffer *s = &w->buffer[which];
    uint32_t size = w->what.group->size;
    uint64_t element = td_type_bytes(w->call.type), next = 0;
    bool whole = w->whole_buffer == which && s->pieces, places = whole;
    for (uint32_t i = 0; whole && i < (w->user ? w->users : size); i++)
        count[w->user ? w->user[i] : i] = s->piece[0].bytes / element; /* at 0 */
    for (uint32_t i = 0; !whole && i < s->pieces; i++) {
        const struct tl_piece *p = &s->piece[i];
        count[p->rank] += p->bytes / element;
        uint64_t from_first = place_in_data(w, which, p);
        at[p->rank] = packed ? 0 : from_first / element;
        places = places || (!packed && from_first != next);
        next += p->bytes;
    }
    *c = (struct td_rank_counts){count, at, size, places ? size : 0};
}

/* submit sends the call. On an error it frees r. */
static int submit(const struct tl_work *w, torus_request *r, const struct td_place place[2],
                  const bool staged[2], torus_request **request)
{
    const torus_group *g = w->what.group;
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.group = g->number;
    q.u.operation.call = w->call;
    q.u.operation.timeout_ns = g->timeout_ns;
    q.u.operation.waited_ns = (uint64_t)w->waited_ns;
    if (g->timeout_ns >= 0)
        q.u.operation.timeout_ns -= w->waited_ns < g->timeout_ns ? w->waited_ns : g->timeout_ns;
    q.u.operation.source = place[0];
    q.u.operation.destination = place[1];
    if (!td_call_has_counts(w->call.kind))
        return tl_request_submit(r, &q, request);
    uint64_t *number = calloc(4 * (size_t)g->size, sizeof *number);
    if (!number) {
        tl_request_free(r);
        return tl_fail(g->context, TORUS_ERR_NO_MEMORY, "no memory for the counts");
    }
    /* the place of an inner buffer is already the place of its piece */
    bool packed[2] = {staged[0] || w->inner_buffer == 0, staged[1] || w->inner_buffer == 1};
    write_counts(w, 0, packed[0], number, number + g->size, &q.u.operation.from);
    write_counts(w, 1, packed[1], number + 2 * (size_t)g->size, number + 3 * (size_t)g->size,
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
    int error = tl_request_begin(w->what.group, request, &r);
    if (error != TORUS_OK)
        return error;
    error = bind_buffers(w, r, place, staged);
    if (error == TORUS_OK)
        return submit(w, r, place, staged, request);
    tl_request_free(r);
    return error;
}

static int no_group(const struct tl_collective *what)
{
    char function[64];
    snprintf(function, sizeof function, "torus_%s", what->name);
    return tl_no_group(function);
}

int tl_start_check(struct tl_work *w, const struct tl_collective *what)
{
    if (!what->group)
        return no_group(what);
    *w = (struct tl_work){.what = *what};
    const char *wrong = tl_buffers_make(w);
    if (!wrong)
        return TORUS_OK;
    tl_buffers_free(w);
    return tl_fail(what->group->context, TORUS_ERR_INVALID, "%s: %s", what->name, wrong);
}

int tl_start_check_memory(const struct tl_work *w)
{
    int error = TORUS_OK;
    for (int i = 0; i < 2 && error == TORUS_OK; i++) {
        const struct tl_role role = role_of(w, i);
        if (i == w->inner_buffer || (i == 0 && w->same))
            continue; /* it has memory of the other buffer */
        error = tl_buffer_check(w->what.group->context, &role, &w->buffer[i]);
    }
    return error;
}

int tl_start(const struct tl_collective *what, torus_request **request)
{
    TL_GUARD(what->group ? what->group->context : NULL);
    struct tl_work w;
    int error = tl_start_check(&w, what);
    if (error != TORUS_OK)
        return error;
    if (tl_segment_has(what->group, &w.call) && tl_ready(what->group->context) == TORUS_OK)
        tl_segment_withdraw(what->group);
    error = begin(&w, request);
    tl_buffers_free(&w);
    return error;
}

/* run starts the collective, in the group's segment if it belongs there, else by request. It
 * returns TORUS_OK with *r NULL if the call is over. `waited_ns`: in the segment, before. */
static int run(const struct tl_collective *what, bool by_request, int64_t waited_ns,
               torus_request **r)
{
    struct tl_work w;
    int error = tl_start_check(&w, what);
    if (error != TORUS_OK)
        return error;
    w.waited_ns = waited_ns;
    error = TORUS_PENDING;
    if (!by_request && tl_segment_has(what->group, &w.call))
        error = tl_segment_run(&w);
    if (error == TORUS_PENDING)
        error = begin(&w, r);
    tl_buffers_free(&w);
    return error;
}

int tl_run(const struct tl_collective *what)
{
    TL_GUARD(what->group ? what->group->context : NULL);
    torus_request *r = NULL;
    int64_t waited_ns = 0;
    int error = TORUS_PENDING;
    tl_request_room(what->group);
    bool quick = what->group && what->group->segment && what->kind == TD_KIND_BARRIER;
    if (quick)
        error = tl_segment_barrier(what->group, &waited_ns);
    if (error == TORUS_PENDING)
        error = run(what, quick, waited_ns, &r);
    return error == TORUS_OK && r ? tl_request_wait(error, &r) : error;
}
