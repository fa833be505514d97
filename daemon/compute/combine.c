/* SPDX-License-Identifier: Apache-2.0 */
#include "combine.h"

#include <assert.h>

#include "model/call.h"
#include "half.h"

/* The loops use wide registers if the processor has them, with the same results: no operation is
 * fused. The dispatch runs before the sanitizers are initialised, so sanitized builds do without
 * it. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* One loop for each operator and type, simple enough for the compiler to vectorise. */
#define LOOP(name, element, expression)                                                            \
    WIDE static void name(void *restrict left, const void *restrict right, size_t n)               \
    {                                                                                              \
        element *restrict a = left;                                                                \
        const element *restrict b = right;                                                         \
        for (size_t i = 0; i < n; i++)                                                             \
            a[i] = (expression);                                                                   \
    }

/* ---- integers: wrap-around is the same for signed and unsigned ones ---- */

/* 1u: without it small integers become int, whose product may overflow */
#define LOOPS_OF_BITS(name, element)                                                               \
    LOOP(sum_##name, element, (element)(a[i] + b[i]))                                              \
    LOOP(prod_##name, element, (element)(1u * a[i] * b[i]))                                        \
    LOOP(band_##name, element, (element)(a[i] & b[i]))                                             \
    LOOP(bor_##name, element, (element)(a[i] | b[i]))                                              \
    LOOP(bxor_##name, element, (element)(a[i] ^ b[i]))                                             \
    LOOP(land_##name, element, (element)((a[i] != 0) & (b[i] != 0)))                               \
    LOOP(lor_##name, element, (element)((a[i] | b[i]) != 0))                                       \
    LOOP(lxor_##name, element, (element)((a[i] != 0) ^ (b[i] != 0)))

#define LOOPS_OF_ORDER(name, element)                                                              \
    LOOP(min_##name, element, b[i] < a[i] ? b[i] : a[i])                                           \
    LOOP(max_##name, element, b[i] > a[i] ? b[i] : a[i])

LOOPS_OF_BITS(uint8, uint8_t)
LOOPS_OF_BITS(uint16, uint16_t)
LOOPS_OF_BITS(uint32, uint32_t)
LOOPS_OF_BITS(uint64, uint64_t)
LOOPS_OF_ORDER(int8, int8_t)
LOOPS_OF_ORDER(int16, int16_t)
LOOPS_OF_ORDER(int32, int32_t)
LOOPS_OF_ORDER(int64, int64_t)
LOOPS_OF_ORDER(uint8, uint8_t)
LOOPS_OF_ORDER(uint16, uint16_t)
LOOPS_OF_ORDER(uint32, uint32_t)
LOOPS_OF_ORDER(uint64, uint64_t)

/* ---- floating point ---- */

/* every comparison with a NaN is false, so a NaN on the left stays; a NaN on the right replaces */
#define LESS(a, b) ((b) < (a) || (b) != (b))
#define MORE(a, b) ((b) > (a) || (b) != (b))

#define LOOPS_OF_REAL(name, element)                                                               \
    LOOP(sum_##name, element, a[i] + b[i])                                                         \
    LOOP(prod_##name, element, a[i] * b[i])                                                        \
    LOOP(min_##name, element, LESS(a[i], b[i]) ? b[i] : a[i])                                      \
    LOOP(max_##name, element, MORE(a[i], b[i]) ? b[i] : a[i])

#define LOOPS_OF_SMALL(name, wide, narrow)                                                         \
    LOOP(sum_##name, uint16_t, narrow(wide(a[i]) + wide(b[i])))                                    \
    LOOP(prod_##name, uint16_t, narrow(wide(a[i]) * wide(b[i])))                                   \
    LOOP(min_##name, uint16_t, LESS(wide(a[i]), wide(b[i])) ? b[i] : a[i])                         \
    LOOP(max_##name, uint16_t, MORE(wide(a[i]), wide(b[i])) ? b[i] : a[i])

#define LOOPS_OF_COMPLEX(name, part)                                                               \
    struct name {                                                                                  \
        part re, im;                                                                               \
    };                                                                                             \
    LOOP(sum_##name, struct name, ((struct name){a[i].re + b[i].re, a[i].im + b[i].im}))           \
    LOOP(prod_##name, struct name,                                                                 \
         ((struct name){a[i].re * b[i].re - a[i].im * b[i].im,                                     \
                        a[i].re * b[i].im + a[i].im * b[i].re}))

LOOPS_OF_REAL(float, float)
LOOPS_OF_REAL(double, double)
LOOPS_OF_REAL(long_double, long double)
LOOPS_OF_SMALL(half, td_half_to_float, td_half_from_float)
LOOPS_OF_SMALL(bfloat16, td_bfloat16_to_float, td_bfloat16_from_float)
LOOPS_OF_COMPLEX(complex_float, float)
LOOPS_OF_COMPLEX(complex_double, double)

/* ---- values with their indices ---- */

/* The padding is a member, so assignment copies it. */
struct int32_int {
    int32_t value, place;
};
struct int64_int {
    int64_t value;
    int32_t place, padding;
};
struct float_int {
    float value;
    int32_t place;
};
struct double_int {
    double value;
    int32_t place, padding;
};
struct int16_int {
    int16_t value, padding;
    int32_t place;
};
struct long_double_int {
    union {
        long double value;
        uint64_t all[2]; /* the value with its padding */
    };
    int32_t place, padding[3];
};

#define NAN_OF(x) ((x).value != (x).value)
/* the values are equal, or both are NaN */
#define TIE(a, b) ((a).value == (b).value || (NAN_OF(a) && NAN_OF(b)))
#define REPLACES(a, b, compares)                                                                   \
    ((b).value compares(a).value || (NAN_OF(b) && !NAN_OF(a)) ||                                   \
     (TIE(a, b) && (b).place < (a).place))

#define LOOPS_OF_PAIR(name)                                                                        \
    LOOP(minloc_##name, struct name, REPLACES(a[i], b[i], <) ? b[i] : a[i])                        \
    LOOP(maxloc_##name, struct name, REPLACES(a[i], b[i], >) ? b[i] : a[i])

LOOPS_OF_PAIR(int32_int)
LOOPS_OF_PAIR(int64_int)
LOOPS_OF_PAIR(float_int)
LOOPS_OF_PAIR(double_int)
LOOPS_OF_PAIR(int16_int)
LOOPS_OF_PAIR(long_double_int)

/* ---- the table of loops ---- */

typedef void loop(void *, const void *, size_t);

/* Rows of the table of loops. */
#define BITS(op)                                                                                   \
    [TD_TYPE_INT8] = op##_uint8, [TD_TYPE_UINT8] = op##_uint8, [TD_TYPE_INT16] = op##_uint16,      \
    [TD_TYPE_UINT16] = op##_uint16, [TD_TYPE_INT32] = op##_uint32, [TD_TYPE_UINT32] = op##_uint32, \
    [TD_TYPE_INT64] = op##_uint64, [TD_TYPE_UINT64] = op##_uint64
#define ORDERED(op)                                                                                \
    [TD_TYPE_INT8] = op##_int8, [TD_TYPE_UINT8] = op##_uint8, [TD_TYPE_INT16] = op##_int16,        \
    [TD_TYPE_UINT16] = op##_uint16, [TD_TYPE_INT32] = op##_int32, [TD_TYPE_UINT32] = op##_uint32,  \
    [TD_TYPE_INT64] = op##_int64, [TD_TYPE_UINT64] = op##_uint64
#define REAL(op)                                                                                   \
    [TD_TYPE_HALF] = op##_half, [TD_TYPE_BFLOAT16] = op##_bfloat16, [TD_TYPE_FLOAT] = op##_float,  \
    [TD_TYPE_DOUBLE] = op##_double, [TD_TYPE_LONG_DOUBLE] = op##_long_double
#define COMPLEX(op)                                                                                \
    [TD_TYPE_COMPLEX_FLOAT] = op##_complex_float, [TD_TYPE_COMPLEX_DOUBLE] = op##_complex_double
#define BYTE(op) [TD_TYPE_BYTE] = op##_uint8, [TD_TYPE_BOOL] = op##_uint8
#define PAIRS(op)                                                                                  \
    [TD_TYPE_INT32_INT] = op##_int32_int, [TD_TYPE_INT64_INT] = op##_int64_int,                    \
    [TD_TYPE_FLOAT_INT] = op##_float_int, [TD_TYPE_DOUBLE_INT] = op##_double_int,                  \
    [TD_TYPE_INT16_INT] = op##_int16_int, [TD_TYPE_LONG_DOUBLE_INT] = op##_long_double_int

static loop *const loops[TD_OP_END][TD_TYPE_MAX] = {
    [TD_OP_SUM] = {BITS(sum), REAL(sum), COMPLEX(sum)},
    [TD_OP_PROD] = {BITS(prod), REAL(prod), COMPLEX(prod)},
    [TD_OP_MIN] = {ORDERED(min), REAL(min)},
    [TD_OP_MAX] = {ORDERED(max), REAL(max)},
    [TD_OP_BAND] = {BITS(band), BYTE(band)},
    [TD_OP_BOR] = {BITS(bor), BYTE(bor)},
    [TD_OP_BXOR] = {BITS(bxor), BYTE(bxor)},
    [TD_OP_LAND] = {BITS(land), BYTE(land)},
    [TD_OP_LOR] = {BITS(lor), BYTE(lor)},
    [TD_OP_LXOR] = {BITS(lxor), BYTE(lxor)},
    [TD_OP_MINLOC] = {PAIRS(minloc)},
    [TD_OP_MAXLOC] = {PAIRS(maxloc)},
};

void td_combine_array(unsigned type, unsigned op, void *a, const void *b, size_t n)
{
    assert(op < TD_OP_END && type < TD_TYPE_MAX && loops[op][type]);
    loops[op][type](a, b, n);
}
