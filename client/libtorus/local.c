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

int torus_reduce_local(torus_context *c, const void *in, void *inout, size_t count, int type,
                       int op)
{
    TL_GUARD(c);
    if (!c)
        return tl_null(NULL, "torus_reduce_local", "context");
    const struct tl_op *own = tl_op_find(c, op);
    struct td_call call = {.kind = TD_KIND_ALLREDUCE, .op = tl_narrow(op), .count = count};
    size_t element = 0, bytes = 0;
    ptrdiff_t first = 0;
    const char *wrong = tl_op_types(c, own, type, &call, &element, &first);
    if (!wrong && (__builtin_mul_overflow(count, element, &bytes) || bytes > INT64_MAX))
        wrong = "the count overflows 63 bits of bytes";
    if (!wrong && bytes > 0 && (!in || !inout))
        wrong = in ? "inout is NULL" : "in is NULL";
    if (!wrong && (in == TORUS_IN_PLACE || inout == TORUS_IN_PLACE))
        wrong = "this call does not accept TORUS_IN_PLACE";
    uint8_t *left = (uint8_t *)(uintptr_t)in, *right = inout;
    if (!wrong && bytes > 0) {
        left += first;
        right += first;
        const struct tl_buffer from = {.pointer = left, .bytes = bytes, .end = (ptrdiff_t)bytes};
        const struct tl_buffer to = {.pointer = right, .bytes = bytes, .end = (ptrdiff_t)bytes};
        wrong = tl_overlap_check(c, &from, &to);
    }
    if (wrong)
        return tl_fail(c, TORUS_ERR_INVALID, "reduce_local: %s", wrong);
    if (own && count > 0)
        own->function(in, inout, count, own->user);
    else if (!own)
        combine(&call, left, right);
    return TORUS_OK;
}
