/* SPDX-License-Identifier: Apache-2.0 */
/* transform: Fourier transforms in one call, with a plan that is used once.
 *
 * The non-blocking form creates a group of its own. Later calls of the caller's group therefore do
 * not wait for the plan. */
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "socket.h"
#include "lock.h"

/* struct transform: state of a non-blocking transform. */
struct transform {
    torus_group *parent; /* of the call; counts it as in flight */
    torus_group *group;  /* NULL: not created yet */
    torus_plan *plan;    /* NULL: not agreed on yet */
    struct td_request describe, execute;
    int (*stage_reply)(torus_request *r, const struct td_reply *reply, bool *again);
};

/* struct shape: a transform of a complex array, in blocks of axis 0 before and after. */
struct shape {
    uint32_t dimensions;
    const uint64_t *shape;
    int type, sign, scale;
};

static struct torus_fft_desc desc_of(const struct shape *w)
{
    struct torus_fft_desc d = {.size = sizeof d,
                               .dimensions = w->dimensions,
                               .type = w->type,
                               .sign = w->sign,
                               .scale = w->scale};
    for (uint32_t i = 0; i < w->dimensions; i++)
        d.shape[i] = w->shape[i];
    return d;
}

/* refuse refuses a call without a group, or without a shape. */
static int refuse(const torus_group *g, const struct shape *w)
{
    const char *function = w->dimensions == 2 ? "torus_fft2" : "torus_fft3";
    return g ? tl_null(g->context, function, "shape") : tl_no_group(function);
}

/* transform plans, executes and frees. The error of the execution prevails. */
static int transform(torus_group *g, const struct shape *w, const void *source, void *destination)
{
    torus_plan *plan = NULL;
    if (!g || !w->shape)
        return refuse(g, w);
    const struct torus_fft_desc d = desc_of(w);
    int error = torus_plan_fft(g, &d, &plan);
    if (error != TORUS_OK)
        return error;
    error = torus_execute(plan, source, destination);
    int freed = torus_plan_free(plan);
    return error != TORUS_OK ? error : freed;
}

/* prepare checks all arguments and binds the buffers, so that a local error is returned before any
 * request is sent. */
static int prepare(torus_group *g, const struct shape *w, const void *source, void *destination,
                   torus_request *r)
{
    const struct torus_fft_desc d = desc_of(w);
    struct transform *t = r->state;
    int error = tl_plan_describe_fft(g->context, &d, &t->describe);
    if (error == TORUS_OK)
        error =
            tl_plan_parse(g, TD_KIND_PLAN_FFT, &t->describe.u.operation.description, &r->new_plan);
    return error == TORUS_OK ? tl_plan_bind(r, r->new_plan, source, destination, &t->execute)
                             : error;
}

/* plan_stage sends the description to the new group. */
static void plan_stage(torus_request *r, struct transform *t)
{
    torus_group *g = t->group;
    t->describe.u.operation.group = g->number;
    t->describe.u.operation.timeout_ns = g->timeout_ns;
    t->stage_reply = tl_plan_reply;
    r->new_plan_out = &t->plan;
    r->group = g;
    g->in_flight++;
}

/* execute_stage executes the plan: the last stage. */
static void execute_stage(torus_request *r, struct transform *t)
{
    tl_plan_address(t->plan, &t->execute);
    r->on_reply = NULL;
}

/* transform_reply ends one stage and sends the request of the next: new group, plan, execution. */
static int transform_reply(torus_request *r, const struct td_reply *reply, bool *again)
{
    struct transform *t = r->state;
    int error = t->stage_reply(r, reply, again);
    if (error != TORUS_OK)
        return error;
    struct td_request *q = t->plan ? &t->execute : &t->describe;
    if (t->plan)
        execute_stage(r, t);
    else
        plan_stage(r, t);
    r->id = q->id = r->context->next_id++;
    r->expected = tl_reply_to(q);
    r->sequence = q->u.operation.sequence = t->group->sequence++;
    r->turn = t->group->turn;
    error = tl_send(r->context, q, -1);
    *again = error == TORUS_OK;
    return error;
}

/* dispose frees the transform. After completion it also frees the plan and leaves the group. */
static void dispose(torus_request *r, bool concluded)
{
    struct transform *t = r->state;
    r->dispose = NULL;
    t->parent->in_flight--;
    tl_group_release(t->parent);
    if (concluded) {
        (void)torus_plan_free(t->plan);
        if (t->group)
            (void)torus_group_free(t->group);
    }
    free(t);
}

static int itransform(torus_group *g, const struct shape *w, const void *source, void *destination,
                      torus_request **request)
{
    if (!g || !w->shape)
        return refuse(g, w);
    torus_context *c = g->context;
    int error = tl_ready(c);
    if (error != TORUS_OK)
        return error;
    if (!request)
        return tl_fail(c, TORUS_ERR_INVALID, "request is NULL");
    *request = NULL;
    torus_request *own = tl_request_new(c, NULL), *r = NULL;
    struct transform *t = own ? calloc(1, sizeof *t) : NULL;
    if (!t) {
        tl_request_free(own);
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the transform");
    }
    own->state = t;
    own->dispose = dispose;
    t->parent = g;
    g->in_flight++;
    error = prepare(g, w, source, destination, own);
    if (error == TORUS_OK)
        error = torus_idup(g, &t->group, &r);
    if (error == TORUS_OK) { /* the request that creates the group continues with the transform */
        memcpy(r->binding, own->binding, sizeof r->binding);
        memset(own->binding, 0, sizeof own->binding);
        r->new_plan = own->new_plan;
        t->stage_reply = r->on_reply;
        r->on_reply = transform_reply;
        r->state = t;
        r->dispose = dispose;
        own->new_plan = NULL;
        own->dispose = NULL;
        *request = r;
    }
    tl_request_free(own);
    return error;
}

int torus_fft2(torus_group *g, const void *source, void *destination, const uint64_t shape[2],
               int type, int sign, int scale)
{
    TL_GUARD(g ? g->context : NULL);
    return transform(g, &(struct shape){2, shape, type, sign, scale}, source, destination);
}

int torus_fft3(torus_group *g, const void *source, void *destination, const uint64_t shape[3],
               int type, int sign, int scale)
{
    TL_GUARD(g ? g->context : NULL);
    return transform(g, &(struct shape){3, shape, type, sign, scale}, source, destination);
}

int torus_ifft2(torus_group *g, const void *source, void *destination, const uint64_t shape[2],
                int type, int sign, int scale, torus_request **request)
{
    TL_GUARD(g ? g->context : NULL);
    return itransform(g, &(struct shape){2, shape, type, sign, scale}, source, destination,
                      request);
}

int torus_ifft3(torus_group *g, const void *source, void *destination, const uint64_t shape[3],
                int type, int sign, int scale, torus_request **request)
{
    TL_GUARD(g ? g->context : NULL);
    return itransform(g, &(struct shape){3, shape, type, sign, scale}, source, destination,
                      request);
}
