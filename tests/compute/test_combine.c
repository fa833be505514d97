/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator on every type that it accepts, compared with a reference that works on one element
 * at a time and on wider numbers; the conversions of half and bfloat16, compared with tables of
 * their values. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compute/combine.h"
#include "compute/half.h"
#include "model/call.h"
#include "random.h"

/* Wide enough that a sum or a product of two doubles, rounded to a double after it was rounded to
 * this, is what one rounding would have given: 113 bits are more than 2 * 53 + 1. */
__extension__ typedef __float128 real;
__extension__ typedef unsigned __int128 natural;
__extension__ typedef __int128 integer;

enum { ELEMENTS_MAX = 300, ROUNDS = 30, PAIRS_OF_OP_AND_TYPE = 128 };

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    return random_below(&state, below);
}

/* ---- the types of 16 bits, by tables of what each magnitude means ---- */

struct small {
    int fraction_bits, bias;
    uint16_t infinity;
    double value[0x7f81]; /* values by magnitude; infinity has the value that would follow */
    uint16_t (*from_float)(float);
    float (*to_float)(uint16_t);
};

static struct small half = {10, 15, 0x7c00, {0}, td_half_from_float, td_half_to_float};
static struct small bfloat16 = {7, 127, 0x7f80, {0}, td_bfloat16_from_float, td_bfloat16_to_float};

static void fill_values(struct small *s)
{
    for (uint32_t m = 0; m <= s->infinity; m++) {
        int exponent = (int)(m >> s->fraction_bits);
        uint32_t one = 1u << s->fraction_bits, fraction = m & (one - 1);
        s->value[m] = ldexp(exponent ? one + fraction : fraction,
                            (exponent ? exponent : 1) - s->bias - s->fraction_bits);
    }
}

static bool small_is_nan(const struct small *s, uint16_t bits)
{
    return (bits & 0x7fff) > s->infinity;
}

static double small_value(const struct small *s, uint16_t bits)
{
    uint32_t magnitude = bits & 0x7fff;
    if (magnitude > s->infinity)
        return (double)NAN;
    double value = magnitude == s->infinity ? (double)INFINITY : s->value[magnitude];
    return bits & 0x8000 ? -value : value;
}

/* small_nearest searches for the nearest magnitude; of two equally near ones, the even one. */
static uint16_t small_nearest(const struct small *s, double x)
{
    uint32_t low = 0, high = s->infinity; /* value[low] <= |x|, and |x| < value[high] or infinite */
    double magnitude = fabs(x);
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (s->value[middle] <= magnitude)
            low = middle;
        else
            high = middle;
    }
    double below = magnitude - s->value[low], above = s->value[high] - magnitude;
    uint32_t nearest = below < above || (below == above && low % 2 == 0) ? low : high;
    return (uint16_t)(nearest | (signbit(x) ? 0x8000 : 0));
}

static void assert_from_float(const struct small *s, float x)
{
    uint16_t got = s->from_float(x), wanted = small_nearest(s, (double)x);
    if (got != wanted)
        fail_msg("%a (%08x) gives %04x, not %04x", (double)x, td_float_bits(x), got, wanted);
}

static void check_small(const struct small *s)
{
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        float x = s->to_float((uint16_t)bits);
        double wanted = small_value(s, (uint16_t)bits);
        if (small_is_nan(s, (uint16_t)bits)) {
            uint32_t quiet = 1u << (s->fraction_bits - 1);
            assert_true(isnan(x));
            assert_int_equal(s->from_float(x), bits | quiet);
            continue;
        }
        if ((double)x != wanted || !signbit(x) != !signbit(wanted))
            fail_msg("%04x is %a, not %a", bits, (double)x, wanted);
        assert_int_equal(s->from_float(x), bits);
    }
    for (uint32_t m = 0; m < s->infinity;
         m++) { /* values at which rounding changes direction, and beside them */
        float middle = (float)((s->value[m] + s->value[m + 1]) / 2);
        for (int sign = -1; sign <= 1; sign += 2) {
            assert_from_float(s, (float)sign * middle);
            assert_from_float(s, (float)sign * nextafterf(middle, 0));
            assert_from_float(s, (float)sign * nextafterf(middle, INFINITY));
        }
    }
    state = 1;
    for (int i = 0; i < 200000; i++) {
        float x = td_float_of_bits((uint32_t)draw((uint64_t)1 << 32));
        if (!isnan(x))
            assert_from_float(s, x);
        x = (float)small_value(s, (uint16_t)draw(1 << 16)); /* near a representable value */
        if (!isnan(x))
            assert_from_float(s, x * (1 + ((float)draw(2001) - 1000) * 1e-6f));
    }
    assert_int_equal(s->from_float(INFINITY), s->infinity);
    assert_int_equal(s->from_float(-INFINITY), 0x8000 | s->infinity);
    /* a NaN whose payload is only in its lower bits does not become infinite */
    assert_true(small_is_nan(s, s->from_float(td_float_of_bits(0x7f800001u))));
    assert_true(small_is_nan(s, s->from_float(td_float_of_bits(0xffffffffu))));
}

static void half_converts_to_the_nearest_even_and_back(void **unused)
{
    (void)unused;
    check_small(&half);
}

static void bfloat16_converts_to_the_nearest_even_and_back(void **unused)
{
    (void)unused;
    check_small(&bfloat16);
}

/* ---- the reference ---- */

static bool is_small(unsigned type)
{
    return type == TD_TYPE_HALF || type == TD_TYPE_BFLOAT16;
}

static bool is_real(unsigned type)
{
    return is_small(type) || type == TD_TYPE_FLOAT || type == TD_TYPE_DOUBLE ||
           type == TD_TYPE_LONG_DOUBLE;
}

static bool is_complex(unsigned type)
{
    return type == TD_TYPE_COMPLEX_FLOAT || type == TD_TYPE_COMPLEX_DOUBLE;
}

/* pair_value returns the type of a pair's value, or TD_TYPE_NONE for other types. */
static unsigned pair_value(unsigned type)
{
    return type == TD_TYPE_INT32_INT         ? TD_TYPE_INT32
           : type == TD_TYPE_INT64_INT       ? TD_TYPE_INT64
           : type == TD_TYPE_FLOAT_INT       ? TD_TYPE_FLOAT
           : type == TD_TYPE_DOUBLE_INT      ? TD_TYPE_DOUBLE
           : type == TD_TYPE_INT16_INT       ? TD_TYPE_INT16
           : type == TD_TYPE_LONG_DOUBLE_INT ? TD_TYPE_LONG_DOUBLE
                                             : TD_TYPE_NONE;
}

/* place_at returns the offset of a pair's place: after the value, aligned to 4 bytes. */
static size_t place_at(unsigned type)
{
    return type == TD_TYPE_INT16_INT ? 4 : td_type_bytes(pair_value(type));
}

static bool is_signed(unsigned type)
{
    return type == TD_TYPE_INT8 || type == TD_TYPE_INT16 || type == TD_TYPE_INT32 ||
           type == TD_TYPE_INT64;
}

static real get_real(unsigned type, const uint8_t *from)
{
    float f = 0;
    double d = 0;
    long double l = 0;
    uint16_t h = 0;
    memcpy(&h, from, sizeof h);
    switch (type) {
    case TD_TYPE_HALF:
        return small_value(&half, h);
    case TD_TYPE_BFLOAT16:
        return small_value(&bfloat16, h);
    case TD_TYPE_FLOAT:
        memcpy(&f, from, sizeof f);
        return f;
    case TD_TYPE_DOUBLE:
        memcpy(&d, from, sizeof d);
        return d;
    default:
        memcpy(&l, from, sizeof l);
        return l;
    }
}

static void put_real(unsigned type, uint8_t *to, real x)
{
    float f = (float)x;
    double d = (double)x;
    long double l = (long double)x;
    uint16_t h = x != x ? 0x7fff : small_nearest(type == TD_TYPE_HALF ? &half : &bfloat16, f);
    const void *value = is_small(type)           ? (const void *)&h
                        : type == TD_TYPE_FLOAT  ? (const void *)&f
                        : type == TD_TYPE_DOUBLE ? (const void *)&d
                                                 : (const void *)&l;
    memcpy(to, value, td_type_bytes(type));
}

static integer get_integer(unsigned type, const uint8_t *from)
{
    uint64_t bits = 0;
    unsigned width = 8 * (unsigned)td_type_bytes(type);
    memcpy(&bits, from, td_type_bytes(type));
    bool negative = is_signed(type) && bits >> (width - 1);
    return (integer)bits - (negative ? (integer)1 << width : 0);
}

/* compare returns the order of two values: < 0, 0 or > 0. `nan` tells which of them is NaN: 1 the
 * first, 2 the second, 3 both. */
static int compare(unsigned type, const uint8_t *a, const uint8_t *b, unsigned *nan)
{
    *nan = 0;
    if (is_real(type)) {
        real x = get_real(type, a), y = get_real(type, b);
        *nan = (x != x) + 2u * (y != y);
        return (x > y) - (x < y);
    }
    integer x = get_integer(type, a), y = get_integer(type, b);
    return (x > y) - (x < y);
}

/* chooses_second returns true if the second value is the minimum, or maximum, of two. */
static bool chooses_second(unsigned type, bool least, const uint8_t *a, const uint8_t *b)
{
    unsigned nan = 0;
    int order = compare(type, a, b, &nan);
    return nan ? nan & 2 : least ? order > 0 : order < 0;
}

static bool chooses_second_pair(unsigned type, bool least, const uint8_t *a, const uint8_t *b)
{
    unsigned value = pair_value(type), nan = 0;
    size_t at = place_at(type);
    if (compare(value, a, b, &nan) == 0 && (nan == 0 || nan == 3))
        return get_integer(TD_TYPE_INT32, b + at) < get_integer(TD_TYPE_INT32, a + at);
    return chooses_second(value, least, a, b);
}

static void reference_integer(unsigned type, unsigned op, uint8_t *a, const uint8_t *b)
{
    natural x = (natural)get_integer(type, a), y = (natural)get_integer(type, b), r = 0;
    if (op == TD_OP_SUM)
        r = x + y;
    else if (op == TD_OP_PROD)
        r = x * y;
    else if (op == TD_OP_LAND)
        r = x ? y != 0 : 0;
    else if (op == TD_OP_LOR)
        r = x ? 1 : y != 0;
    else if (op == TD_OP_LXOR)
        r = x ? y == 0 : y != 0;
    for (unsigned k = 0; k < 64 && op >= TD_OP_BAND && op <= TD_OP_BXOR; k++) {
        unsigned ones = (unsigned)(x >> k & 1) + (unsigned)(y >> k & 1);
        bool one = op == TD_OP_BAND ? ones == 2 : op == TD_OP_BOR ? ones > 0 : ones == 1;
        r |= (natural)one << k;
    }
    memcpy(a, &r, td_type_bytes(type));
}

/* add and multiply round once to the type; half and bfloat16 go through float. A long double is the
 * widest type: its own arithmetic is the reference. */
static real round_to(unsigned type, real x)
{
    return type == TD_TYPE_FLOAT || is_small(type) ? (real)(float)x
           : type == TD_TYPE_DOUBLE                ? (real)(double)x
                                                   : x;
}

static real add(unsigned type, real x, real y)
{
    return type == TD_TYPE_LONG_DOUBLE ? (long double)x + (long double)y : round_to(type, x + y);
}

static real multiply(unsigned type, real x, real y)
{
    return type == TD_TYPE_LONG_DOUBLE ? (long double)x * (long double)y : round_to(type, x * y);
}

static void reference_complex(unsigned type, unsigned op, uint8_t *a, const uint8_t *b)
{
    unsigned part = type == TD_TYPE_COMPLEX_FLOAT ? TD_TYPE_FLOAT : TD_TYPE_DOUBLE;
    size_t half_way = td_type_bytes(part);
    real x = get_real(part, a), y = get_real(part, a + half_way);
    real u = get_real(part, b), v = get_real(part, b + half_way);
    bool sum = op == TD_OP_SUM;
    put_real(part, a,
             sum ? add(part, x, u) : add(part, multiply(part, x, u), -multiply(part, y, v)));
    put_real(part, a + half_way,
             sum ? add(part, y, v) : add(part, multiply(part, x, v), multiply(part, y, u)));
}

/* reference: a = a op b, of one element. */
static void reference(unsigned type, unsigned op, uint8_t *a, const uint8_t *b)
{
    size_t bytes = td_type_bytes(type);
    if (op == TD_OP_MIN || op == TD_OP_MAX)
        memcpy(a, chooses_second(type, op == TD_OP_MIN, a, b) ? b : a, bytes);
    else if (pair_value(type))
        memcpy(a, chooses_second_pair(type, op == TD_OP_MINLOC, a, b) ? b : a, bytes);
    else if (is_complex(type))
        reference_complex(type, op, a, b);
    else if (is_real(type))
        put_real(type, a,
                 op == TD_OP_SUM ? add(type, get_real(type, a), get_real(type, b))
                                 : multiply(type, get_real(type, a), get_real(type, b)));
    else
        reference_integer(type, op, a, b);
}

/* agree: the same bits, except for a long double's padding. A computed NaN may have any bits,
 * because the processor chooses which operand it keeps. */
static bool agree(unsigned type, unsigned op, const uint8_t *got, const uint8_t *wanted)
{
    if (memcmp(got, wanted, type == TD_TYPE_LONG_DOUBLE ? 10 : td_type_bytes(type)) == 0)
        return true;
    if (op != TD_OP_SUM && op != TD_OP_PROD)
        return false;
    unsigned part = type == TD_TYPE_COMPLEX_FLOAT    ? TD_TYPE_FLOAT
                    : type == TD_TYPE_COMPLEX_DOUBLE ? TD_TYPE_DOUBLE
                                                     : type;
    if (!is_real(part))
        return false;
    for (size_t at = 0; at < td_type_bytes(type); at += td_type_bytes(part)) {
        real x = get_real(part, got + at), y = get_real(part, wanted + at);
        bool same = memcmp(got + at, wanted + at, td_type_bytes(part)) == 0;
        if (!same && !(x != x && y != y))
            return false;
    }
    return true;
}

/* ---- values ---- */

static long double random_real(unsigned type)
{
    static const long double some[] = {0, 1, 2, 3, 0.5L, 1e-3L, 1000};
    long double tiny = type == TD_TYPE_FLOAT    ? FLT_TRUE_MIN
                       : type == TD_TYPE_DOUBLE ? (long double)DBL_TRUE_MIN
                                                : LDBL_TRUE_MIN;
    long double huge = type == TD_TYPE_FLOAT    ? FLT_MAX
                       : type == TD_TYPE_DOUBLE ? (long double)DBL_MAX
                                                : LDBL_MAX;
    long double least = type == TD_TYPE_FLOAT    ? FLT_MIN
                        : type == TD_TYPE_DOUBLE ? (long double)DBL_MIN
                                                 : LDBL_MIN;
    const long double extreme[] = {tiny, huge, least, least - tiny, 1 / least, INFINITY, NAN};
    long double x = 0;
    switch (draw(4)) {
    case 0:
        x = some[draw(sizeof some / sizeof some[0])];
        break;
    case 1:
        x = extreme[draw(sizeof extreme / sizeof extreme[0])];
        break;
    default:
        x = ldexpl((long double)draw(UINT64_MAX), (int)draw(100) - 114);
        break;
    }
    return draw(2) ? -x : x;
}

static void random_value(unsigned type, uint8_t *to)
{
    static const uint64_t some[] = {0, 1, 2, 3, 0x7f, 0x80, 0x7fff, 0x8000, INT32_MAX};
    uint64_t bits = draw(UINT64_MAX);
    if (draw(3) == 0)
        bits = some[draw(sizeof some / sizeof some[0])];
    if (draw(4) == 0)
        bits = ~bits;
    if (draw(8) == 0)
        bits = (uint64_t)INT64_MAX + draw(2);
    if (draw(8) == 0)
        bits = draw(2) ? 0x7c00u + draw(2) : 0x7f80u + draw(2); /* infinities and NaNs of 16 bits */
    if (draw(8) == 0)
        bits = 0x80000000u;
    bool wide = is_real(type) && !is_small(type);
    long double l = wide ? random_real(type) : 0;
    if (type == TD_TYPE_LONG_DOUBLE || (wide && draw(2)))
        put_real(type, to, l);
    else
        memcpy(to, &bits, td_type_bytes(type));
}

static void random_element(unsigned type, uint8_t *to)
{
    unsigned value = pair_value(type);
    const uint64_t padding[3] = {draw(UINT64_MAX), draw(UINT64_MAX), draw(UINT64_MAX)};
    if (is_complex(type)) {
        unsigned part = type == TD_TYPE_COMPLEX_FLOAT ? TD_TYPE_FLOAT : TD_TYPE_DOUBLE;
        random_value(part, to);
        random_value(part, to + td_type_bytes(part));
    } else if (value) {
        random_value(value, to);
        if (draw(2) && (value == TD_TYPE_DOUBLE || value == TD_TYPE_LONG_DOUBLE))
            put_real(value, to, (real)draw(3)); /* ties */
        memcpy(to + td_type_bytes(value), padding, td_type_bytes(type) - td_type_bytes(value));
        if (draw(2))
            random_value(TD_TYPE_INT32, to + place_at(type));
    } else {
        random_value(type, to);
    }
}

/* ---- every pair of operator and type ---- */

static _Alignas(64) uint8_t memory[3][(ELEMENTS_MAX + 16) * 32];

/* word returns the first 8 bytes of an element, to be printed. */
static unsigned long long word(const uint8_t *from, size_t bytes)
{
    unsigned long long bits = 0;
    memcpy(&bits, from, bytes < sizeof bits ? bytes : sizeof bits);
    return bits;
}

/* check_array combines n elements at random alignments, and checks all of the memory. */
static void check_array(unsigned type, unsigned op, size_t n)
{
    size_t bytes = td_type_bytes(type), alignment = td_call_alignment(TD_KIND_ALLREDUCE, type);
    uint8_t *a = memory[0] + alignment * draw(8), *b = memory[1] + alignment * draw(8);
    for (size_t i = 0; i < sizeof memory[0]; i++)
        memory[0][i] = memory[1][i] = (uint8_t)draw(256);
    for (size_t i = 0; i < n; i++) {
        random_element(type, a + i * bytes);
        random_element(type, b + i * bytes);
        if (draw(8) == 0)
            memcpy(b + i * bytes, a + i * bytes, bytes);
    }
    memcpy(memory[2], memory[0], sizeof memory[0]);
    uint8_t *wanted = memory[2] + (a - memory[0]), first[32], kept[sizeof memory[1]];
    memcpy(kept, memory[1], sizeof kept);
    td_combine_array(type, op, a, b, n);
    for (size_t i = 0; i < n; i++) {
        memcpy(first, wanted + i * bytes, bytes);
        reference(type, op, wanted + i * bytes, b + i * bytes);
        if (!agree(type, op, a + i * bytes, wanted + i * bytes))
            fail_msg("%s of %s, element %zu of %zu: %016llx and %016llx give %016llx, not %016llx",
                     td_op_name(op), td_type_name(type), i, n, word(first, bytes),
                     word(b + i * bytes, bytes), word(a + i * bytes, bytes),
                     word(wanted + i * bytes, bytes));
        memcpy(wanted + i * bytes, a + i * bytes, bytes);
    }
    assert_memory_equal(memory[0], memory[2], sizeof memory[0]); /* nothing beside changed */
    assert_memory_equal(memory[1], kept, sizeof kept);
}

static void every_operator_combines_every_type_it_takes(void **unused)
{
    (void)unused;
    int pairs = 0;
    state = 1;
    for (unsigned op = 0; op < TD_OP_END; op++)
        for (unsigned type = 0; type < TD_TYPE_MAX; type++) {
            if (!td_op_accepts(op, type))
                continue;
            pairs++;
            for (size_t n = 0; n < 40; n++)
                check_array(type, op, n);
            for (int round = 0; round < ROUNDS; round++)
                check_array(type, op, draw(ELEMENTS_MAX));
        }
    assert_int_equal(pairs, PAIRS_OF_OP_AND_TYPE);
}

static void small_integers_combine_as_all_their_values_do(void **unused)
{
    (void)unused;
    static const unsigned types[] = {TD_TYPE_INT8, TD_TYPE_UINT8, TD_TYPE_BYTE, TD_TYPE_BOOL};
    static uint8_t a[65536], b[65536];
    for (unsigned t = 0; t < 4; t++)
        for (unsigned op = 1; op < TD_OP_END; op++) {
            if (!td_op_accepts(op, types[t]))
                continue;
            for (unsigned i = 0; i < 65536; i++) {
                a[i] = (uint8_t)i;
                b[i] = (uint8_t)(i >> 8);
            }
            td_combine_array(types[t], op, a, b, sizeof a);
            for (unsigned i = 0; i < 65536; i++) {
                uint8_t wanted = (uint8_t)i;
                reference(types[t], op, &wanted, &b[i]);
                assert_int_equal(a[i], wanted);
            }
        }
}

static void check_every_small(unsigned type, unsigned op, uint16_t with)
{
    static uint16_t a[65536], b[65536];
    for (unsigned i = 0; i < 65536; i++) {
        a[i] = (uint16_t)i;
        b[i] = with;
    }
    td_combine_array(type, op, a, b, 65536);
    for (unsigned i = 0; i < 65536; i++) {
        uint8_t wanted[2], got[2];
        memcpy(wanted, &(uint16_t){(uint16_t)i}, 2);
        memcpy(got, &a[i], 2);
        reference(type, op, wanted, (const uint8_t *)&with);
        if (!agree(type, op, got, wanted))
            fail_msg("%s of %s: %04x and %04x give %04x", td_op_name(op), td_type_name(type), i,
                     with, a[i]);
    }
}

static void every_half_and_bfloat16_combines_with_some_others(void **unused)
{
    (void)unused;
    static const uint16_t with[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x3c00, 0x3f80,
                                    0x7bff, 0x7c00, 0x7c01, 0x7f7f, 0x7f80, 0xff81, 0x3555};
    for (unsigned op = TD_OP_SUM; op <= TD_OP_PROD; op++)
        for (unsigned i = 0; i < sizeof with / sizeof with[0]; i++) {
            check_every_small(TD_TYPE_HALF, op, with[i]);
            check_every_small(TD_TYPE_BFLOAT16, op, with[i]);
        }
}

struct double_int {
    double value;
    int32_t place, padding;
};

/* The rules of the header, literally. */
static void a_place_is_that_of_the_value_and_the_lower_of_equals(void **unused)
{
    (void)unused;
    static const struct {
        struct double_int a, b, least, most;
    } cases[] = {
        {{1, 5, 11}, {2, 4, 22}, {1, 5, 11}, {2, 4, 22}},
        {{2, 5, 11}, {2, 4, 22}, {2, 4, 22}, {2, 4, 22}},
        {{2, 4, 11}, {2, 5, 22}, {2, 4, 11}, {2, 4, 11}},
        {{2, 4, 11}, {2, 4, 22}, {2, 4, 11}, {2, 4, 11}},
        {{2, 4, 11}, {2, -4, 22}, {2, -4, 22}, {2, -4, 22}},
        {{0.0, 2, 11}, {-0.0, 1, 22}, {-0.0, 1, 22}, {-0.0, 1, 22}},
        {{NAN, 9, 11}, {1, 0, 22}, {NAN, 9, 11}, {NAN, 9, 11}},
        {{1, 0, 11}, {NAN, 9, 22}, {NAN, 9, 22}, {NAN, 9, 22}},
        {{NAN, 9, 11}, {NAN, 3, 22}, {NAN, 3, 22}, {NAN, 3, 22}},
        {{NAN, 3, 11}, {NAN, 9, 22}, {NAN, 3, 11}, {NAN, 3, 11}},
        {{-INFINITY, 3, 11}, {NAN, 9, 22}, {NAN, 9, 22}, {NAN, 9, 22}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct double_int least = cases[i].a, most = cases[i].a;
        td_combine_array(TD_TYPE_DOUBLE_INT, TD_OP_MINLOC, &least, &cases[i].b, 1);
        td_combine_array(TD_TYPE_DOUBLE_INT, TD_OP_MAXLOC, &most, &cases[i].b, 1);
        assert_memory_equal(&least, &cases[i].least, sizeof least);
        assert_memory_equal(&most, &cases[i].most, sizeof most);
    }
}

static int setup(void **unused)
{
    (void)unused;
    fill_values(&half);
    fill_values(&bfloat16);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_converts_to_the_nearest_even_and_back),
        cmocka_unit_test(bfloat16_converts_to_the_nearest_even_and_back),
        cmocka_unit_test(every_operator_combines_every_type_it_takes),
        cmocka_unit_test(small_integers_combine_as_all_their_values_do),
        cmocka_unit_test(every_half_and_bfloat16_combines_with_some_others),
        cmocka_unit_test(a_place_is_that_of_the_value_and_the_lower_of_equals),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
