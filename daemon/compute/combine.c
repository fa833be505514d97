/* SPDX-License-Identifier: Apache-2.0 */
#include "combine.h"

#include <assert.h>

#include "core/call.h"

/* One loop an operator and type, simple enough for the compiler to vectorise. */
#define LOOP(name, element, expression)                                                            \
    static void name(void *restrict left, const void *restrict right, size_t n)                    \
    {                                                                                              \
        element *restrict a = left;                                                                \
        const element *restrict b = right;                                                         \
        for (size_t i = 0; i < n; i++)                                                             \
            a[i] = (expression);                                                                   \
    }

LOOP(sum_int32, uint32_t, a[i] + b[i])
LOOP(sum_int64, uint64_t, a[i] + b[i])
LOOP(sum_float, float, a[i] + b[i])
LOOP(sum_double, double, a[i] + b[i])
LOOP(min_int32, int32_t, b[i] < a[i] ? b[i] : a[i])
LOOP(min_int64, int64_t, b[i] < a[i] ? b[i] : a[i])
LOOP(max_int32, int32_t, b[i] > a[i] ? b[i] : a[i])
LOOP(max_int64, int64_t, b[i] > a[i] ? b[i] : a[i])
/* a NaN on the left stays, since every comparison with it is false; one on the right is taken */
LOOP(min_float, float, b[i] < a[i] || b[i] != b[i] ? b[i] : a[i])
LOOP(min_double, double, b[i] < a[i] || b[i] != b[i] ? b[i] : a[i])
LOOP(max_float, float, b[i] > a[i] || b[i] != b[i] ? b[i] : a[i])
LOOP(max_double, double, b[i] > a[i] || b[i] != b[i] ? b[i] : a[i])

typedef void loop(void *, const void *, size_t);

static loop *const loops[TD_OP_END][TD_TYPE_MAX] = {
    [TD_OP_SUM] = {[TD_TYPE_INT32] = sum_int32,
                   [TD_TYPE_INT64] = sum_int64,
                   [TD_TYPE_FLOAT] = sum_float,
                   [TD_TYPE_DOUBLE] = sum_double},
    [TD_OP_MIN] = {[TD_TYPE_INT32] = min_int32,
                   [TD_TYPE_INT64] = min_int64,
                   [TD_TYPE_FLOAT] = min_float,
                   [TD_TYPE_DOUBLE] = min_double},
    [TD_OP_MAX] = {[TD_TYPE_INT32] = max_int32,
                   [TD_TYPE_INT64] = max_int64,
                   [TD_TYPE_FLOAT] = max_float,
                   [TD_TYPE_DOUBLE] = max_double},
};

void td_combine_array(unsigned type, unsigned op, void *a, const void *b, size_t n)
{
    assert(op < TD_OP_END && type < TD_TYPE_MAX && loops[op][type]);
    loops[op][type](a, b, n);
}
