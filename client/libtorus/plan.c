/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "internal.h"

int torus_iplan_fft(torus_group *g, const struct torus_fft_desc *d, torus_plan **plan,
                    torus_request **request)
{
    if (!g || !plan)
        return TORUS_ERR_INVALID;
    torus_context *c = g->context;
    torus_request *r = NULL;
    *plan = NULL;
    if (!d || d->size != sizeof *d)
        return tl_fail(c, TORUS_ERR_INVALID,
                       "torus_fft_desc.size is %zu, not %zu: set it to sizeof the structure",
                       d ? d->size : 0, sizeof *d);
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.group = g->number;
    q.u.operation.timeout_ns = g->timeout_ns;
    q.u.operation.call.kind = TD_KIND_PLAN_FFT;
    struct td_fft *f = &q.u.operation.description.fft;
    f->dimensions = d->dimensions > TD_DIMENSIONS_MAX ? 0 : d->dimensions;
    f->type = (uint32_t)d->type;
    f->sign = d->sign;
    f->scale = (uint32_t)d->scale;
    for (uint32_t i = 0; i < f->dimensions; i++)
        f->size[i] = d->shape[i];
    td_fft_all(f);
    const char *wrong = td_fft_check(f);
    if (wrong)
        return tl_fail(c, TORUS_ERR_INVALID, "plan_fft: %s", wrong);
    int error = tl_request_begin(g, REQUEST_PLAN, request, &r);
    if (error != TORUS_OK)
        return error;
    r->plan = plan;
    r->fft = *f;
    return tl_request_submit(r, &q, request);
}

int torus_plan_fft(torus_group *g, const struct torus_fft_desc *d, torus_plan **plan)
{
    torus_request *r = NULL;
    return tl_request_wait(torus_iplan_fft(g, d, plan, &r), &r);
}

int tl_planned(torus_request *r, const struct td_reply *reply)
{
    torus_plan *p = reply->kind == TD_REPLY_PLANNED ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return TORUS_ERR_PROTOCOL;
    p->group = r->group;
    p->number = reply->u.planned.plan;
    p->fft = r->fft;
    p->source = reply->u.planned.source;
    p->destination = reply->u.planned.destination;
    p->next = r->group->plans;
    r->group->plans = p;
    *r->plan = p;
    return TORUS_OK;
}

int torus_plan_local(const torus_plan *p, int side, struct torus_box *box)
{
    if (!p || !box || (side != TORUS_SIDE_INPUT && side != TORUS_SIDE_OUTPUT))
        return TORUS_ERR_INVALID;
    const struct td_box *b = side == TORUS_SIDE_OUTPUT ? &p->destination : &p->source;
    *box = (struct torus_box){.dimensions = b->dimensions};
    for (uint32_t d = 0; d < b->dimensions; d++) {
        box->begin[d] = b->begin[d];
        box->count[d] = b->count[d];
    }
    return TORUS_OK;
}

static size_t box_bytes(const torus_plan *p, const struct td_box *b)
{
    size_t bytes = td_type_bytes(p->fft.type);
    for (uint32_t d = 0; d < b->dimensions; d++)
        bytes *= b->count[d];
    return bytes;
}

static struct tl_side plain(void *pointer, size_t bytes, bool in, bool out)
{
    return (struct tl_side){
        .pointer = pointer, .bytes = bytes, .extent = bytes, .in = in, .out = out};
}

int torus_start(torus_plan *p, const void *source, void *destination, torus_request **request)
{
    torus_request *r = NULL;
    torus_group *g = p ? p->group : NULL;
    int error = tl_request_begin(g, REQUEST_SIMPLE, request, &r);
    if (error != TORUS_OK)
        return error;
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.group = g->number;
    q.u.operation.timeout_ns = g->timeout_ns;
    q.u.operation.call.kind = TD_KIND_FFT;
    q.u.operation.call.plan = p->number;
    size_t alignment = td_call_alignment(TD_KIND_FFT, p->fft.type);
    bool same = source == TORUS_IN_PLACE || source == destination;
    const struct tl_side to = plain(destination, box_bytes(p, &p->destination), same, true);
    const struct tl_side from =
        plain((void *)(uintptr_t)source, box_bytes(p, &p->source), true, false);
    bool staged = false;
    error = tl_request_place(r, 1, &to, alignment, &q.u.operation.destination, &staged);
    if (error == TORUS_OK && same)
        q.u.operation.source = q.u.operation.destination;
    else if (error == TORUS_OK)
        error = tl_request_place(r, 0, &from, alignment, &q.u.operation.source, &staged);
    if (error != TORUS_OK) {
        tl_request_free(r);
        return error;
    }
    return tl_request_submit(r, &q, request);
}

int torus_execute(torus_plan *p, const void *source, void *destination)
{
    torus_request *r = NULL;
    return tl_request_wait(torus_start(p, source, destination, &r), &r);
}

int torus_plan_free(torus_plan *p)
{
    if (!p)
        return TORUS_OK;
    torus_group *g = p->group;
    struct td_request q = {.kind = TD_REQUEST_UNPLAN};
    q.u.unplan.group = g->number;
    q.u.unplan.plan = p->number;
    int error = tl_send(g->context, &q, -1);
    torus_plan **link = &g->plans;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    free(p);
    return error;
}
