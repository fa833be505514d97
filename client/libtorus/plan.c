/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "moves.h"
#include "overlap.h"
#include "rounds.h"
#include "segment.h"
#include "socket.h"
#include "wait.h"
#include "lock.h"

/* Room for both layouts of the largest job and for the parser. */
enum { DESCRIPTION_BYTES = 16 << 20 };

/* record_parts records the parts of this rank before and after. */
static void record_parts(torus_plan *p, const struct td_plan *plan, uint32_t rank)
{
    p->kind = plan->kind;
    p->alignment = td_plan_alignment(plan);
    p->distinct = !td_plan_in_place(plan);
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

static void destroy(struct tl_attachment *a)
{
    torus_plan *p = (torus_plan *)a;
    tl_move_free(p->move);
    free(p);
}

/* call_of returns the call that executes a plan. */
static struct td_call call_of(const torus_plan *p)
{
    return (struct td_call){.kind = p->kind, .plan = p->number};
}

int tl_plan_parse(torus_group *g, unsigned kind, const struct td_description *d,
                  torus_plan **planned)
{
    td_err error = TD_ERR_NO_MEMORY;
    char text[400] = "no memory for the plan";
    struct td_arena *arena = td_arena_create(DESCRIPTION_BYTES);
    struct td_plan *plan =
        arena ? td_plan_make(arena, kind, d, g->size, &error, text, sizeof text) : NULL;
    torus_plan *p = plan ? calloc(1, sizeof *p) : NULL;
    if (p) {
        p->attachment.destroy = destroy;
        record_parts(p, plan, g->rank);
        const struct td_call call = call_of(p);
        p->move = tl_segment_has(g, &call) ? tl_move_new(plan, arena, g->rank) : NULL;
    }
    td_arena_destroy(arena);
    *planned = p;
    return p ? TORUS_OK : tl_fail(g->context, (int)error, "%s: %s", td_kind_name(kind), text);
}

int tl_plan_reply(torus_request *r, const struct td_reply *reply, bool *again)
{
    torus_plan *p = r->new_plan;
    (void)again;
    r->new_plan = NULL;
    p->number = reply->u.planned.plan;
    tl_group_attach(r->group, &p->attachment);
    *r->new_plan_out = p;
    return TORUS_OK;
}

/* request_plan sends a description to the daemon. */
static int request_plan(torus_group *g, struct td_request *q, torus_plan **plan,
                        torus_request **request)
{
    torus_request *r = NULL;
    int error = tl_request_begin(g, request, &r);
    if (error != TORUS_OK)
        return error;
    unsigned kind = q->u.operation.call.kind;
    q->kind = TD_REQUEST_OPERATION;
    q->u.operation.group = g->number;
    q->u.operation.timeout_ns = g->timeout_ns;
    r->on_reply = tl_plan_reply;
    r->new_plan_out = plan;
    error = tl_plan_parse(g, kind, &q->u.operation.description, &r->new_plan);
    if (error == TORUS_OK)
        return tl_request_submit(r, q, request);
    tl_request_free(r);
    return error;
}

int tl_plan_describe_fft(torus_context *c, const struct torus_fft_desc *d, struct td_request *q)
{
    if (!d)
        return tl_null(c, "torus_plan_fft", "desc");
    if (d->size != sizeof *d)
        return tl_wrong_size(c, "torus_fft_desc", d->size, sizeof *d);
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
    TL_GUARD(g ? g->context : NULL);
    struct td_request q;
    if (!g || !plan)
        return g ? tl_null(g->context, "torus_plan_fft", "plan") : tl_no_group("torus_plan_fft");
    *plan = NULL;
    int error = tl_plan_describe_fft(g->context, d, &q);
    return error == TORUS_OK ? request_plan(g, &q, plan, request) : error;
}

int torus_plan_fft(torus_group *g, const struct torus_fft_desc *d, torus_plan **plan)
{
    TL_GUARD(g ? g->context : NULL);
    torus_request *r = NULL;
    return tl_request_wait(torus_iplan_fft(g, d, plan, &r), &r);
}

int torus_iplan_redist(torus_group *g, const struct torus_redist_desc *d, torus_plan **plan,
                       torus_request **request)
{
    TL_GUARD(g ? g->context : NULL);
    if (!g || !plan)
        return g ? tl_null(g->context, "torus_plan_redist", "plan")
                 : tl_no_group("torus_plan_redist");
    *plan = NULL;
    if (!d)
        return tl_null(g->context, "torus_plan_redist", "desc");
    if (d->size != sizeof *d)
        return tl_wrong_size(g->context, "torus_redist_desc", d->size, sizeof *d);
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
    return request_plan(g, &q, plan, request);
}

int torus_plan_redist(torus_group *g, const struct torus_redist_desc *d, torus_plan **plan)
{
    TL_GUARD(g ? g->context : NULL);
    torus_request *r = NULL;
    return tl_request_wait(torus_iplan_redist(g, d, plan, &r), &r);
}

static bool is_side(int side)
{
    return side == TORUS_SIDE_INPUT || side == TORUS_SIDE_OUTPUT;
}

int torus_plan_local(const torus_plan *p, int side, struct torus_box *box)
{
    if (!p || !box)
        return tl_null(p ? p->attachment.group->context : NULL, "torus_plan_local",
                       p ? "box" : "plan");
    if (!is_side(side))
        return tl_fail(p->attachment.group->context, TORUS_ERR_INVALID,
                       "torus_plan_local: side %d is neither TORUS_SIDE_INPUT nor _OUTPUT", side);
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

static struct tl_buffer contiguous(void *pointer, size_t bytes, bool copy_in, bool copy_out)
{
    return (struct tl_buffer){.pointer = pointer,
                              .bytes = bytes,
                              .end = (ptrdiff_t)bytes,
                              .copy_in = copy_in,
                              .copy_out = copy_out};
}

/* struct sides: the buffers of an execution. */
struct sides {
    struct tl_buffer from, to;
    bool same;
};

/* sides_of makes the buffers. It returns NULL or the sentence of the error. */
static const char *sides_of(torus_context *c, const torus_plan *p, const void *source,
                            void *destination, struct sides *s)
{
    s->same = source == TORUS_IN_PLACE || source == destination;
    void *read = s->same ? destination : (void *)(uintptr_t)source;
    s->to = contiguous(destination, p->bytes[1], s->same && !p->distinct, true);
    s->from = contiguous(read, p->bytes[0], true, false);
    s->from.must_stage = s->same;
    return s->same ? NULL : tl_overlap_check(c, &s->from, &s->to);
}

int tl_plan_bind(torus_request *r, const torus_plan *p, const void *source, void *destination,
                 struct td_request *q)
{
    struct sides s;
    *q = (struct td_request){.kind = TD_REQUEST_OPERATION};
    q->u.operation.call.kind = p->kind;
    bool staged = false;
    const char *wrong = sides_of(r->context, p, source, destination, &s);
    if (wrong)
        return tl_fail(r->context, TORUS_ERR_INVALID, "%s: %s", td_kind_name(p->kind), wrong);
    const struct tl_role source_role = {td_kind_name(p->kind), "source"},
                         destination_role = {td_kind_name(p->kind), "destination"};
    int error = tl_buffer_bind(r->context, &destination_role, &s.to, p->alignment, &r->binding[1],
                               &q->u.operation.destination, &staged);
    if (error == TORUS_OK && s.same && !p->distinct)
        q->u.operation.source = q->u.operation.destination;
    else if (error == TORUS_OK)
        error = tl_buffer_bind(r->context, &source_role, &s.from, p->alignment, &r->binding[0],
                               &q->u.operation.source, &staged);
    return error;
}

void tl_plan_address(const torus_plan *p, struct td_request *q)
{
    assert(p->attachment.group); /* a plan without its group is not started */
    q->u.operation.group = p->attachment.group->number;
    q->u.operation.timeout_ns = p->attachment.group->timeout_ns;
    q->u.operation.call.plan = p->number;
}

/* start executes a plan by a request, after it has waited in the group's segment. */
static int start(torus_plan *p, const void *source, void *destination, int64_t waited_ns,
                 torus_request **request)
{
    torus_request *r = NULL;
    struct td_request q;
    int error = tl_request_begin(p->attachment.group, request, &r);
    if (error != TORUS_OK)
        return error;
    error = tl_plan_bind(r, p, source, destination, &q);
    if (error != TORUS_OK) {
        tl_request_free(r);
        return error;
    }
    tl_plan_address(p, &q);
    q.u.operation.waited_ns = (uint64_t)waited_ns;
    if (q.u.operation.timeout_ns >= 0)
        q.u.operation.timeout_ns -=
            waited_ns < q.u.operation.timeout_ns ? waited_ns : q.u.operation.timeout_ns;
    return tl_request_submit(r, &q, request);
}

int torus_start(torus_plan *p, const void *source, void *destination, torus_request **request)
{
    TL_GUARD(p ? p->attachment.group->context : NULL);
    if (!p)
        return tl_null(NULL, "torus_start", "plan");
    torus_group *g = p->attachment.group;
    const struct td_call call = call_of(p);
    if (tl_segment_has(g, &call) && tl_ready(g->context) == TORUS_OK)
        tl_segment_withdraw(g);
    return start(p, source, destination, 0, request);
}

/* is_reachable returns true if the memory of a buffer is plain, or inside memory of torus_alloc. */
static bool is_reachable(torus_context *c, const struct tl_buffer *b)
{
    return !b->bytes || (b->pointer && !tl_memory_check(c, "buffer", b->pointer, b->bytes));
}

/* meet executes a redistribution in the group's segment. It returns TORUS_PENDING if it goes by
 * request, which also reports what is wrong with the buffers. */
static int meet(torus_plan *p, const void *source, void *destination, int64_t *waited_ns)
{
    torus_group *g = p->attachment.group;
    const struct td_call call = call_of(p);
    struct sides s;
    if (!tl_segment_has(g, &call))
        return TORUS_PENDING;
    bool good = !sides_of(g->context, p, source, destination, &s) &&
                is_reachable(g->context, &s.from) && is_reachable(g->context, &s.to);
    const struct tl_own own = {.source = p->bytes[0] ? s.from.pointer : NULL,
                               .destination = p->bytes[1] ? s.to.pointer : NULL,
                               .bytes = {p->bytes[0], p->bytes[1]}};
    return tl_segment_move(g, &call, p->move, good ? &own : NULL, waited_ns);
}

int torus_execute(torus_plan *p, const void *source, void *destination)
{
    TL_GUARD(p ? p->attachment.group->context : NULL);
    torus_request *r = NULL;
    int64_t waited_ns = 0;
    if (!p)
        return tl_null(NULL, "torus_execute", "plan");
    tl_request_room(p->attachment.group);
    int error = meet(p, source, destination, &waited_ns);
    if (error == TORUS_PENDING)
        error = start(p, source, destination, waited_ns, &r);
    return error == TORUS_OK && r ? tl_request_wait(error, &r) : error;
}

int torus_plan_free(torus_plan *p)
{
    TL_GUARD(p ? p->attachment.group->context : NULL);
    if (!p)
        return TORUS_OK;
    torus_group *g = p->attachment.group;
    struct td_request q = {.kind = TD_REQUEST_UNPLAN};
    q.u.unplan.group = g->number;
    q.u.unplan.plan = p->number;
    int error = tl_send(g->context, &q, -1);
    tl_group_detach(&p->attachment);
    destroy(&p->attachment);
    return error;
}
