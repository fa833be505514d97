/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "internal.h"

/* The layouts of the largest job, twice, and what they are read with. */
enum { DESCRIPTION_BYTES = 16 << 20 };

/* keep notes what is this rank's. */
static void keep(torus_plan *p, const struct td_plan *plan, uint32_t rank)
{
    p->kind = plan->kind;
    p->alignment = td_plan_alignment(plan);
    p->apart = !td_plan_in_place(plan);
    for (unsigned side = 0; side < 2; side++) {
        const struct td_layout *l = side ? &plan->to : &plan->from;
        uint32_t owner = td_layout_owner(l, rank);
        p->bytes[side] = td_plan_bytes(plan, side, rank, &p->box[side]);
        for (uint32_t d = 0; owner != UINT32_MAX && d < l->dimensions; d++) {
            bool turned = side == 1 && plan->kind == TD_KIND_REDIST;
            uint32_t axis = turned ? plan->redist.axes[d] : d;
            p->owned[side][d] = td_layout_owned(l, axis, td_layout_coordinate(l, owner, axis));
        }
    }
}

/* understand reads a description as the daemon will. */
static int understand(torus_group *g, unsigned kind, const struct td_description *d,
                      torus_plan **planned)
{
    td_err error = TD_ERR_NO_MEMORY;
    char text[400] = "there is no memory for the plan";
    struct td_arena *arena = td_arena_create(DESCRIPTION_BYTES);
    struct td_plan *plan =
        arena ? td_plan_make(arena, kind, d, g->size, &error, text, sizeof text) : NULL;
    torus_plan *p = plan ? calloc(1, sizeof *p) : NULL;
    if (p)
        keep(p, plan, g->rank);
    td_arena_destroy(arena);
    *planned = p;
    return p ? TORUS_OK : tl_fail(g->context, (int)error, "%s: %s", td_kind_name(kind), text);
}

/* begin asks for a plan. */
static int begin(torus_group *g, struct td_request *q, torus_plan **plan, torus_request **request)
{
    torus_request *r = NULL;
    int error = tl_request_begin(g, REQUEST_PLAN, request, &r);
    if (error != TORUS_OK)
        return error;
    unsigned kind = q->u.operation.call.kind;
    q->kind = TD_REQUEST_OPERATION;
    q->u.operation.group = g->number;
    q->u.operation.timeout_ns = g->timeout_ns;
    r->plan = plan;
    error = understand(g, kind, &q->u.operation.description, &r->planned);
    if (error == TORUS_OK)
        return tl_request_submit(r, q, request);
    tl_request_free(r);
    return error;
}

static int wrong_size(torus_context *c, const char *name, size_t told, size_t size)
{
    return tl_fail(c, TORUS_ERR_INVALID, "%s.size is %zu, not %zu: set it to sizeof the structure",
                   name, told, size);
}

/* describe writes down what is asked for. */
static int describe(torus_context *c, const struct torus_fft_desc *d, struct td_request *q)
{
    if (!d || d->size != sizeof *d)
        return wrong_size(c, "torus_fft_desc", d ? d->size : 0, sizeof *d);
    *q = (struct td_request){.kind = TD_REQUEST_OPERATION};
    q->u.operation.call.kind = TD_KIND_PLAN_FFT;
    q->u.operation.description.from = d->from;
    q->u.operation.description.to = d->to;
    struct td_fft *f = &q->u.operation.description.fft;
    f->dimensions = d->dimensions > TD_DIMENSIONS_MAX ? 0 : d->dimensions;
    f->type = (uint32_t)d->type;
    f->sign = d->sign;
    f->scale = (uint32_t)d->scale;
    f->method = d->method >= 0 && d->method < UINT8_MAX ? (uint8_t)d->method : UINT8_MAX;
    bool some = false;
    for (uint32_t i = 0; i < f->dimensions; i++) {
        f->size[i] = d->shape[i];
        f->transform[i] = d->transform[i] < 0 || d->transform[i] > UINT8_MAX
                              ? UINT8_MAX
                              : (uint8_t)d->transform[i];
        f->grid[i] = d->grid[i];
        some |= d->transform[i] != TORUS_TRANSFORM_NONE;
    }
    if (!some)
        td_fft_all(f);
    return TORUS_OK;
}

int torus_iplan_fft(torus_group *g, const struct torus_fft_desc *d, torus_plan **plan,
                    torus_request **request)
{
    struct td_request q;
    if (!g || !plan)
        return TORUS_ERR_INVALID;
    *plan = NULL;
    int error = describe(g->context, d, &q);
    return error == TORUS_OK ? begin(g, &q, plan, request) : error;
}

int torus_plan_fft(torus_group *g, const struct torus_fft_desc *d, torus_plan **plan)
{
    torus_request *r = NULL;
    return tl_request_wait(torus_iplan_fft(g, d, plan, &r), &r);
}

int torus_iplan_redist(torus_group *g, const struct torus_redist_desc *d, torus_plan **plan,
                       torus_request **request)
{
    if (!g || !plan)
        return TORUS_ERR_INVALID;
    *plan = NULL;
    if (!d || d->size != sizeof *d)
        return wrong_size(g->context, "torus_redist_desc", d ? d->size : 0, sizeof *d);
    struct td_request q = {0};
    q.u.operation.call.kind = TD_KIND_PLAN_REDIST;
    q.u.operation.description.from = d->from;
    q.u.operation.description.to = d->to;
    struct td_redist *r = &q.u.operation.description.redist;
    r->dimensions = d->dimensions > TD_DIMENSIONS_MAX ? 0 : d->dimensions;
    r->element = d->element_bytes;
    r->schedule = (uint32_t)d->schedule;
    for (uint32_t i = 0; i < r->dimensions; i++) {
        uint32_t axis = d->transposed ? d->axes[i] : i;
        r->size[i] = d->shape[i];
        r->axes[i] = axis < UINT8_MAX ? (uint8_t)axis : UINT8_MAX;
    }
    return begin(g, &q, plan, request);
}

int torus_plan_redist(torus_group *g, const struct torus_redist_desc *d, torus_plan **plan)
{
    torus_request *r = NULL;
    return tl_request_wait(torus_iplan_redist(g, d, plan, &r), &r);
}

int tl_planned(torus_request *r, const struct td_reply *reply)
{
    torus_plan *p = r->planned;
    if (reply->kind != TD_REPLY_PLANNED)
        return TORUS_ERR_PROTOCOL;
    r->planned = NULL;
    p->group = r->group;
    p->number = reply->u.planned.plan;
    p->next = r->group->plans;
    r->group->plans = p;
    *r->plan = p;
    return TORUS_OK;
}

static bool is_side(int side)
{
    return side == TORUS_SIDE_INPUT || side == TORUS_SIDE_OUTPUT;
}

int torus_plan_local(const torus_plan *p, int side, struct torus_box *box)
{
    if (!p || !box || !is_side(side))
        return TORUS_ERR_INVALID;
    const struct td_box *b = &p->box[side];
    *box = (struct torus_box){.dimensions = b->dimensions};
    for (uint32_t d = 0; d < b->dimensions; d++) {
        box->begin[d] = b->begin[d];
        box->count[d] = b->count[d];
    }
    return TORUS_OK;
}

size_t torus_plan_bytes(const torus_plan *p, int side)
{
    return p && is_side(side) ? p->bytes[side] : 0;
}

int64_t torus_plan_index(const torus_plan *p, int side, uint32_t axis, uint64_t i)
{
    if (!p || !is_side(side) || axis >= p->box[side].dimensions || i >= p->box[side].count[axis])
        return TORUS_UNDEFINED;
    return (int64_t)td_owned_at(&p->owned[side][axis], i);
}

static struct tl_side plain(void *pointer, size_t bytes, bool in, bool out)
{
    return (struct tl_side){
        .pointer = pointer, .bytes = bytes, .extent = bytes, .in = in, .out = out};
}

/* place makes the request that executes a plan: all but its group and number. */
static int place(torus_request *r, const torus_plan *p, const void *source, void *destination,
                 struct td_request *q)
{
    *q = (struct td_request){.kind = TD_REQUEST_OPERATION};
    q->u.operation.call.kind = p->kind;
    bool same = source == TORUS_IN_PLACE || source == destination;
    void *read = same ? destination : (void *)(uintptr_t)source;
    const struct tl_side to = plain(destination, p->bytes[1], same && !p->apart, true);
    struct tl_side from = plain(read, p->bytes[0], true, false);
    from.stage = same;
    bool staged = false;
    int error = tl_request_place(r, 1, &to, p->alignment, &q->u.operation.destination, &staged);
    if (error == TORUS_OK && same && !p->apart)
        q->u.operation.source = q->u.operation.destination;
    else if (error == TORUS_OK)
        error = tl_request_place(r, 0, &from, p->alignment, &q->u.operation.source, &staged);
    return error;
}

static void direct(struct td_request *q, const torus_plan *p)
{
    q->u.operation.group = p->group->number;
    q->u.operation.timeout_ns = p->group->timeout_ns;
    q->u.operation.call.plan = p->number;
}

int torus_start(torus_plan *p, const void *source, void *destination, torus_request **request)
{
    torus_request *r = NULL;
    struct td_request q;
    int error = tl_request_begin(p ? p->group : NULL, REQUEST_SIMPLE, request, &r);
    if (error != TORUS_OK)
        return error;
    error = place(r, p, source, destination, &q);
    if (error != TORUS_OK) {
        tl_request_free(r);
        return error;
    }
    direct(&q, p);
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

/* ---- in one call ---- */

/* struct whole: a transform of a complex array, in blocks of axis 0 before and after. */
struct whole {
    uint32_t dimensions;
    const uint64_t *shape;
    int type, sign, scale;
};

static struct torus_fft_desc desc_of(const struct whole *w)
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

/* transform plans, executes and frees. What execution said is what remains said. */
static int transform(torus_group *g, const struct whole *w, const void *source, void *destination)
{
    torus_plan *plan = NULL;
    if (!g || !w->shape)
        return TORUS_ERR_INVALID;
    const struct torus_fft_desc d = desc_of(w);
    int error = torus_plan_fft(g, &d, &plan);
    if (error != TORUS_OK)
        return error;
    error = torus_execute(plan, source, destination);
    int freed = torus_plan_free(plan);
    return error != TORUS_OK ? error : freed;
}

/* prepare looks at everything and takes the memory, so that what is wrong here is told before
 * anything is asked for. */
static int prepare(torus_group *g, const struct whole *w, const void *source, void *destination,
                   torus_request *r)
{
    const struct torus_fft_desc d = desc_of(w);
    struct tl_transform *t = r->transform;
    int error = describe(g->context, &d, &t->describe);
    if (error == TORUS_OK)
        error = understand(g, TD_KIND_PLAN_FFT, &t->describe.u.operation.description, &r->planned);
    return error == TORUS_OK ? place(r, r->planned, source, destination, &t->execute) : error;
}

static int itransform(torus_group *g, const struct whole *w, const void *source, void *destination,
                      torus_request **request)
{
    if (!g || !w->shape)
        return TORUS_ERR_INVALID;
    torus_context *c = g->context;
    int error = tl_ready(c);
    if (error != TORUS_OK)
        return error;
    if (!request)
        return tl_fail(c, TORUS_ERR_INVALID, "request is NULL");
    *request = NULL;
    torus_request *own = tl_request_new(c, NULL, REQUEST_SIMPLE), *r = NULL;
    struct tl_transform *t = own ? calloc(1, sizeof *t) : NULL;
    if (!t) {
        tl_request_free(own);
        return tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory");
    }
    own->transform = t;
    t->parent = g;
    g->in_flight++;
    error = prepare(g, w, source, destination, own);
    if (error == TORUS_OK)
        error = torus_idup(g, &t->group, &r);
    if (error == TORUS_OK) { /* the one that makes the group goes on with all of it */
        memcpy(r->held, own->held, sizeof r->held);
        memset(own->held, 0, sizeof own->held);
        r->planned = own->planned;
        r->transform = t;
        own->planned = NULL;
        own->transform = NULL;
        *request = r;
    }
    tl_request_free(own);
    return error;
}

int tl_transform_next(torus_request *r, bool *again)
{
    struct tl_transform *t = r->transform;
    torus_group *g = t->group;
    struct td_request *q = t->plan ? &t->execute : &t->describe;
    if (t->plan) {
        direct(q, t->plan);
        r->kind = REQUEST_SIMPLE;
    } else {
        q->u.operation.group = g->number;
        q->u.operation.timeout_ns = g->timeout_ns;
        r->plan = &t->plan;
        r->kind = REQUEST_PLAN;
        r->group = g;
        g->in_flight++;
    }
    r->id = q->id = r->context->next_id++;
    r->sequence = q->u.operation.sequence = g->sequence++;
    r->turn = g->turn;
    int error = tl_send(r->context, q, -1);
    *again = error == TORUS_OK;
    return error;
}

void tl_transform_end(torus_request *r)
{
    struct tl_transform *t = r->transform;
    r->transform = NULL;
    t->parent->in_flight--;
    (void)torus_plan_free(t->plan);
    if (t->group)
        (void)torus_group_free(t->group);
    free(t);
}

int torus_fft2(torus_group *g, const void *source, void *destination, const uint64_t shape[2],
               int type, int sign, int scale)
{
    return transform(g, &(struct whole){2, shape, type, sign, scale}, source, destination);
}

int torus_fft3(torus_group *g, const void *source, void *destination, const uint64_t shape[3],
               int type, int sign, int scale)
{
    return transform(g, &(struct whole){3, shape, type, sign, scale}, source, destination);
}

int torus_ifft2(torus_group *g, const void *source, void *destination, const uint64_t shape[2],
                int type, int sign, int scale, torus_request **request)
{
    return itransform(g, &(struct whole){2, shape, type, sign, scale}, source, destination,
                      request);
}

int torus_ifft3(torus_group *g, const void *source, void *destination, const uint64_t shape[3],
                int type, int sign, int scale, torus_request **request)
{
    return itransform(g, &(struct whole){3, shape, type, sign, scale}, source, destination,
                      request);
}
