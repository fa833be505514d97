/* SPDX-License-Identifier: Apache-2.0 */
/* local: reduction of two arrays in this process. */
#include <string.h>

#include "compute/combine.h"
#include "lock.h"
#include "operator.h"
#include "overlap.h"

enum { CHUNK_BYTES = 4096 };

/* combine works on copies: the arrays of the caller may have any alignment, and td_combine_array
 * leaves the result in its left operand. */
static void combine(const struct td_call *call, const uint8_t *in, uint8_t *inout)
{
    _Alignas(64) uint8_t left[CHUNK_BYTES], right[CHUNK_BYTES];
    size_t element = td_type_bytes(call->type), most = CHUNK_BYTES / element;
    for (size_t rest = call->count, n = 0; rest > 0; rest -= n) {
        n = rest < most ? rest : most;
        memcpy(left, in, n * element);
        memcpy(right, inout, n * element);
        td_combine_array(call->type, call->op, left, right, n);
        memcpy(inout, left, n * element);
        in += n * element;
        inout += n * element;
    }
}

/* struct elements: the arrays of a call in terms of its operator. */
struct elements {
    struct td_call call; /* for a predefined operator: its type and number of elements */
    size_t bytes;        /* of one element of the caller; 0: unknown */
    ptrdiff_t first;     /* offset of the data */
};

/* translate replaces a derived type by its basic elements. */
static const char *translate(torus_context *c, int type, bool predefined, struct elements *e)
{
    const struct tl_type *t = tl_type_find(c, type, NULL);
    if (!t)
        return "the type is unknown, was freed, or belongs to another context";
    if (!tl_type_dense(t))
        return "this call needs a type without gaps";
    if (predefined && t->signature.basic == TD_TYPE_NONE)
        return "predefined operators need a type with a single basic type";
    e->bytes = t->bytes;
    e->first = t->first;
    e->call.type = t->signature.basic;
    size_t basic = td_type_bytes(e->call.type);
    if (basic && __builtin_mul_overflow(e->call.count, t->bytes / basic, &e->call.count))
        return "the count overflows 63 bits of bytes";
    return NULL;
}

int torus_reduce_local(torus_context *c, const void *in, void *inout, size_t count, int type,
                       int op)
{
    TL_GUARD(c);
    if (!c)
        return TORUS_ERR_INVALID;
    const struct tl_op *own = tl_op_find(c, op);
    struct elements e = {.call = {.kind = TD_KIND_ALLREDUCE,
                                  .type = tl_narrow(type),
                                  .op = tl_narrow(op),
                                  .count = count},
                         .bytes = td_type_bytes(tl_narrow(type))};
    size_t bytes = 0;
    const char *wrong = type >= TL_TYPE_FIRST ? translate(c, type, !own, &e) : NULL;
    if (!wrong)
        wrong = own ? tl_op_element(own, type, &e.bytes) : td_call_check(&e.call, 1);
    if (!wrong && (__builtin_mul_overflow(count, e.bytes, &bytes) || bytes > INT64_MAX))
        wrong = "the count overflows 63 bits of bytes";
    if (!wrong && bytes > 0 && (!in || !inout))
        wrong = "a buffer is NULL";
    if (!wrong && (in == TORUS_IN_PLACE || inout == TORUS_IN_PLACE))
        wrong = "this call does not accept TORUS_IN_PLACE";
    uint8_t *left = (uint8_t *)(uintptr_t)in, *right = inout;
    if (!wrong && bytes > 0) {
        left += e.first;
        right += e.first;
        const struct tl_buffer from = {.pointer = left, .bytes = bytes, .end = (ptrdiff_t)bytes};
        const struct tl_buffer to = {.pointer = right, .bytes = bytes, .end = (ptrdiff_t)bytes};
        wrong = tl_overlap_check(&from, &to);
    }
    if (wrong)
        return tl_fail(c, TORUS_ERR_INVALID, "reduce_local: %s", wrong);
    if (own && count > 0)
        own->function(in, inout, count, own->user);
    else if (!own)
        combine(&e.call, left, right);
    return TORUS_OK;
}
