/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

/* struct buffers: what an operation reads and writes; bytes of each side. */
struct buffers {
    void *source, *destination;
    size_t bytes;
    bool same;    /* one buffer, read and written */
    bool copy_in; /* of the same buffer */
    bool copy_out;
};

static int start(torus_group *g, const struct td_call *call, const struct buffers *b,
                 torus_request **request)
{
    torus_request *r = NULL;
    const char *wrong = g ? td_call_check(call, g->size) : NULL;
    if (wrong)
        return tl_fail(g->context, TORUS_ERR_INVALID, "%s: %s", td_kind_name(call->kind), wrong);
    int error = tl_request_begin(g, REQUEST_SIMPLE, request, &r);
    if (error != TORUS_OK)
        return error;
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.group = g->number;
    q.u.operation.call = *call;
    q.u.operation.timeout_ns = g->timeout_ns;
    size_t alignment = td_call_alignment(call->kind, call->type);
    struct td_place *to = &q.u.operation.destination, *from = &q.u.operation.source;
    error = tl_request_place(r, 1, b->destination, b->bytes, alignment, b->same && b->copy_in,
                             !b->same || b->copy_out, to);
    if (error == TORUS_OK && b->same)
        *from = *to;
    else if (error == TORUS_OK)
        error = tl_request_place(r, 0, b->source, b->bytes, alignment, true, false, from);
    if (error != TORUS_OK) {
        tl_request_free(r);
        return error;
    }
    return tl_request_submit(r, &q, request);
}

int torus_ibarrier(torus_group *g, torus_request **request)
{
    const struct td_call call = {.kind = TD_KIND_BARRIER};
    const struct buffers none = {0};
    return start(g, &call, &none, request);
}

int torus_barrier(torus_group *g)
{
    torus_request *r = NULL;
    return tl_request_wait(torus_ibarrier(g, &r), &r);
}

/* byte_count returns copies * count * size of type, 0 on overflow: start refuses that call. */
static size_t byte_count(size_t count, int type, size_t copies)
{
    size_t element = type < 0 ? 0 : td_type_bytes((unsigned)type), bytes = 0;
    if (__builtin_mul_overflow(count, element, &bytes) ||
        __builtin_mul_overflow(bytes, copies, &bytes))
        return 0;
    return bytes;
}

static uint8_t narrow(int value)
{
    return value < 0 || value > UINT8_MAX ? UINT8_MAX : (uint8_t)value; /* refused later */
}

int torus_ibroadcast(torus_group *g, void *buffer, size_t count, int type, uint32_t root,
                     torus_request **request)
{
    const struct td_call call = {
        .kind = TD_KIND_BROADCAST, .type = narrow(type), .count = count, .root = root};
    const struct buffers b = {.destination = buffer,
                              .bytes = byte_count(count, type, 1),
                              .same = true,
                              .copy_in = g && g->rank == root,
                              .copy_out = !g || g->rank != root};
    return start(g, &call, &b, request);
}

int torus_broadcast(torus_group *g, void *buffer, size_t count, int type, uint32_t root)
{
    torus_request *r = NULL;
    return tl_request_wait(torus_ibroadcast(g, buffer, count, type, root, &r), &r);
}

int torus_iallreduce(torus_group *g, const void *source, void *destination, size_t count, int type,
                     int op, torus_request **request)
{
    const struct td_call call = {
        .kind = TD_KIND_ALLREDUCE, .type = narrow(type), .op = narrow(op), .count = count};
    bool same = source == TORUS_IN_PLACE || source == destination;
    const struct buffers b = {.source = (void *)(uintptr_t)source,
                              .destination = destination,
                              .bytes = byte_count(count, type, 1),
                              .same = same,
                              .copy_in = true,
                              .copy_out = true};
    return start(g, &call, &b, request);
}

int torus_allreduce(torus_group *g, const void *source, void *destination, size_t count, int type,
                    int op)
{
    torus_request *r = NULL;
    return tl_request_wait(torus_iallreduce(g, source, destination, count, type, op, &r), &r);
}

int torus_ialltoall(torus_group *g, const void *source, void *destination, size_t count, int type,
                    torus_request **request)
{
    const struct td_call call = {.kind = TD_KIND_ALLTOALL, .type = narrow(type), .count = count};
    const struct buffers b = {.source = (void *)(uintptr_t)source,
                              .destination = destination,
                              .bytes = byte_count(count, type, g ? g->size : 1)};
    if (g && (source == TORUS_IN_PLACE || (source == destination && b.bytes)))
        return tl_fail(g->context, TORUS_ERR_INVALID,
                       "alltoall: source and destination must not overlap");
    return start(g, &call, &b, request);
}

int torus_alltoall(torus_group *g, const void *source, void *destination, size_t count, int type)
{
    torus_request *r = NULL;
    return tl_request_wait(torus_ialltoall(g, source, destination, count, type, &r), &r);
}
