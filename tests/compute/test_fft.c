/* SPDX-License-Identifier: Apache-2.0 */
/* 1-D transforms of every kind compared with the sums that define them, in random layouts, over
 * whole buffers, so that a value outside the result that was written is found, too. */
#include <fcntl.h>
#include <fftw3.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "compute/fft/fft.h"
#include "compute/fft/fft_plan.h"
#include "random.h"

enum { ELEMENTS = 1 << 16, ROUNDS = 60, LENGTH_MAX = 67 };
static const int64_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 15, 16, 31, 32, 60, LENGTH_MAX};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    return random_below(&state, below);
}

/* All numbers as real ones; memory: in and out, or both in one. */
static double memory[2][ELEMENTS], before[2][ELEMENTS];

static bool is_double(const struct td_transform *t)
{
    return t->type == TD_TYPE_DOUBLE || t->type == TD_TYPE_COMPLEX_DOUBLE;
}

static double value(const struct td_transform *t, const double *at, int64_t i)
{
    return is_double(t) ? at[i] : (double)((const float *)at)[i];
}

static void fill(const struct td_transform *t)
{
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < ELEMENTS; i++) {
            double x = (double)draw(1 << 20) / (1 << 19) - 1;
            if (is_double(t))
                memory[side][i] = x;
            else
                ((float *)memory[side])[i] = (float)x;
        }
    memcpy(before, memory, sizeof before);
}

/* ---- the definitions, of one row: x has pairs of real and imaginary part, or real numbers ---- */

static long double angle(long double turns)
{
    return 2 * 3.14159265358979323846264338327950288L * (turns - floorl(turns));
}

static void sum_complex(const struct td_transform *t, const double *x, long double *y)
{
    int64_t n = t->length, points = t->kind == TD_TRANSFORM_R2C ? n / 2 + 1 : n;
    int sign = t->kind == TD_TRANSFORM_R2C ? -1 : t->sign;
    int64_t part = t->kind == TD_TRANSFORM_R2C ? 1 : 2;
    for (int64_t k = 0; k < points; k++) {
        y[2 * k] = y[2 * k + 1] = 0;
        for (int64_t j = 0; j < n; j++) {
            long double a = sign * angle((long double)(j * k % n) / (long double)n);
            long double re = x[part * j], im = part == 2 ? x[2 * j + 1] : 0;
            y[2 * k] += re * cosl(a) - im * sinl(a);
            y[2 * k + 1] += re * sinl(a) + im * cosl(a);
        }
    }
}

/* The other half of the spectrum is the conjugate; imaginary parts that must be zero are ignored.
 */
static void sum_half(const struct td_transform *t, const double *x, long double *y)
{
    int64_t n = t->length;
    for (int64_t j = 0; j < n; j++) {
        y[j] = x[0];
        for (int64_t k = 1; k < n; k++) {
            int64_t half = k <= n / 2 ? k : n - k;
            long double im = 2 * half == n ? 0 : k == half ? x[2 * half + 1] : -x[2 * half + 1];
            long double a = angle((long double)(j * k % n) / (long double)n);
            y[j] += x[2 * half] * cosl(a) - im * sinl(a);
        }
    }
}

/* weight of point j in result k: as FFTW's manual defines them. */
static long double weight(unsigned kind, int64_t n, int64_t j, int64_t k)
{
    long double h = 0.5L, J = (long double)j, K = (long double)k, N = 2 * (long double)n;
    long double odd = k % 2 ? -1 : 1;
    switch (kind) {
    case TD_TRANSFORM_REDFT00:
        return j == 0 ? 1 : j == n - 1 ? odd : 2 * cosl(angle(J * K / (N - 2)));
    case TD_TRANSFORM_REDFT10:
        return 2 * cosl(angle((J + h) * K / N));
    case TD_TRANSFORM_REDFT01:
        return j == 0 ? 1 : 2 * cosl(angle(J * (K + h) / N));
    case TD_TRANSFORM_REDFT11:
        return 2 * cosl(angle((J + h) * (K + h) / N));
    case TD_TRANSFORM_RODFT00:
        return 2 * sinl(angle((J + 1) * (K + 1) / (N + 2)));
    case TD_TRANSFORM_RODFT10:
        return 2 * sinl(angle((J + h) * (K + 1) / N));
    case TD_TRANSFORM_RODFT01:
        return j == n - 1 ? odd : 2 * sinl(angle((J + 1) * (K + h) / N));
    default:
        return 2 * sinl(angle((J + h) * (K + h) / N));
    }
}

static void sum_real(const struct td_transform *t, const double *x, long double *y)
{
    for (int64_t k = 0; k < t->length; k++) {
        y[k] = 0;
        for (int64_t j = 0; j < t->length; j++)
            y[k] += x[j] * weight(t->kind, t->length, j, k);
    }
}

static void define(const struct td_transform *t, const double *x, long double *y)
{
    if (t->kind == TD_TRANSFORM_C2C || t->kind == TD_TRANSFORM_R2C)
        sum_complex(t, x, y);
    else if (t->kind == TD_TRANSFORM_C2R)
        sum_half(t, x, y);
    else
        sum_real(t, x, y);
}

/* ---- layouts ---- */

/* parts_of returns the real numbers of an element of a side, points_of the elements of a row. */
static int64_t parts_of(const struct td_transform *t, int side)
{
    bool real =
        t->kind == (side ? TD_TRANSFORM_C2R : TD_TRANSFORM_R2C) || t->kind >= TD_TRANSFORM_REDFT00;
    return real ? 1 : 2;
}

static int64_t points_of(const struct td_transform *t, int side)
{
    bool half = t->kind == (side ? TD_TRANSFORM_R2C : TD_TRANSFORM_C2R);
    return half ? t->length / 2 + 1 : t->length;
}

/* draw_loops nests the three loops of a side in a random order, with gaps. */
static void draw_loops(const struct td_transform *t, int side, int64_t *stride, int64_t *distance,
                       int64_t *distance2)
{
    int64_t count[3] = {points_of(t, side), t->batch, t->batch2 ? t->batch2 : 1}, extent = 1;
    int64_t *loop[3] = {stride, distance, distance2};
    for (int left = 3; left > 0; left--) {
        int i = (int)draw((uint64_t)left);
        *loop[i] = extent + (draw(3) == 0 ? (int64_t)draw(4) : 0);
        extent = *loop[i] * count[i];
        loop[i] = loop[left - 1];
        count[i] = count[left - 1];
    }
}

/* draw_padded lays out rows in which both the real and the complex side fit. */
static void draw_padded(struct td_transform *t)
{
    int64_t row = t->length / 2 + 1 + (int64_t)draw(3);
    int64_t real = t->kind == TD_TRANSFORM_R2C;
    t->stride = t->to_stride = 1;
    t->distance = row * (real ? 2 : 1);
    t->to_distance = row * (real ? 1 : 2);
    t->distance2 = t->distance * t->batch;
    t->to_distance2 = t->to_distance * t->batch;
}

static struct td_transform draw_transform(unsigned kind, bool in_place)
{
    bool real = kind >= TD_TRANSFORM_REDFT00, precise = draw(2);
    struct td_transform t = {.kind = (uint8_t)kind, .sign = draw(2) ? 1 : -1};
    t.type = precise ? (real ? TD_TYPE_DOUBLE : TD_TYPE_COMPLEX_DOUBLE)
                     : (real ? TD_TYPE_FLOAT : TD_TYPE_COMPLEX_FLOAT);
    do
        t.length = lengths[draw(LENGTHS)];
    while (kind == TD_TRANSFORM_REDFT00 && t.length < 2);
    t.batch = (int64_t)draw(7) + 1;
    t.batch2 = (int64_t)draw(4);
    t.factor = draw(2) ? 1 : 0.3;
    draw_loops(&t, 0, &t.stride, &t.distance, &t.distance2);
    draw_loops(&t, 1, &t.to_stride, &t.to_distance, &t.to_distance2);
    if (in_place && (kind == TD_TRANSFORM_R2C || kind == TD_TRANSFORM_C2R)) {
        draw_padded(&t);
    } else if (in_place) {
        t.to_stride = t.stride;
        t.to_distance = t.distance;
        t.to_distance2 = t.distance2;
    }
    return t;
}

/* ---- the check ---- */

static bool touched[2 * ELEMENTS]; /* real numbers of the result */

/* check_row compares row (i, j) with the definition, and marks the numbers that may have changed.
 */
static void check_row(const struct td_transform *t, int64_t i, int64_t j, const double *out)
{
    double x[2 * LENGTH_MAX + 2], norm = 0;
    long double y[2 * LENGTH_MAX + 2];
    int64_t parts = parts_of(t, 0), from = (i * t->distance + j * t->distance2) * parts;
    for (int64_t k = 0; k < points_of(t, 0) * parts; k++) {
        x[k] = value(t, before[0], from + k / parts * t->stride * parts + k % parts);
        norm += x[k] * x[k];
    }
    define(t, x, y);
    double eps = is_double(t) ? 2.3e-16 : 1.2e-7;
    double bound = 8 * eps * log2(4 * (double)t->length) * sqrt(norm) * t->factor;
    int64_t to_parts = parts_of(t, 1), to = (i * t->to_distance + j * t->to_distance2) * to_parts;
    for (int64_t k = 0; k < points_of(t, 1) * to_parts; k++) {
        int64_t at = to + k / to_parts * t->to_stride * to_parts + k % to_parts;
        assert_true(at < ELEMENTS);
        assert_false(touched[at]);
        touched[at] = true;
        double difference = fabs(value(t, out, at) - (double)(y[k] * t->factor));
        if (!(difference <= bound))
            fail_msg("%s of %lld points, result %lld: %g is %g off",
                     td_transform_kind_name(t->kind), (long long)t->length, (long long)k,
                     value(t, out, at), difference);
    }
}

static void check(const struct td_transform *t, bool in_place)
{
    fill(t);
    double *out = memory[!in_place];
    assert_int_equal(td_fft_run(t, memory[0], out), TD_OK);
    memset(touched, 0, sizeof touched);
    for (int64_t j = 0; j < (t->batch2 ? t->batch2 : 1); j++)
        for (int64_t i = 0; i < t->batch; i++) {
            check_row(t, i, j, out);
            /* in place a row's real side ends before its complex side: the rest is not a result */
            if (in_place && t->kind == TD_TRANSFORM_C2R)
                for (int64_t k = t->length; k < 2 * points_of(t, 0); k++)
                    touched[i * t->to_distance + j * t->to_distance2 + k] = true;
        }
    if (!in_place)
        assert_memory_equal(memory[0], before[0], sizeof memory[0]);
    int64_t numbers = is_double(t) ? ELEMENTS : 2 * ELEMENTS;
    for (int64_t i = 0; i < numbers; i++)
        if (!touched[i] && value(t, out, i) != value(t, before[!in_place], i))
            fail_msg("%s of %lld points wrote %lld, where no result is",
                     td_transform_kind_name(t->kind), (long long)t->length, (long long)i);
}

static void check_kind(unsigned kind)
{
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        state = seed;
        struct td_transform t = draw_transform(kind, seed % 2);
        check(&t, seed % 2);
    }
}

static void complex_transforms_are_the_discrete_fourier_transform(void **unused)
{
    (void)unused;
    check_kind(TD_TRANSFORM_C2C);
}

static void real_to_complex_gives_half_the_spectrum(void **unused)
{
    (void)unused;
    check_kind(TD_TRANSFORM_R2C);
}

static void complex_to_real_takes_half_a_spectrum(void **unused)
{
    (void)unused;
    check_kind(TD_TRANSFORM_C2R);
}

static void cosine_and_sine_transforms_are_as_defined(void **unused)
{
    (void)unused;
    for (unsigned kind = TD_TRANSFORM_REDFT00; kind < TD_TRANSFORM_KINDS; kind++)
        check_kind(kind);
}

static void what_is_not_defined_is_an_error(void **unused)
{
    (void)unused;
    struct td_transform t = {
        .kind = TD_TRANSFORM_REDFT00, .type = TD_TYPE_DOUBLE, .length = 1, .batch = 1, .factor = 1};
    assert_int_equal(td_fft_run(&t, memory[0], memory[1]), TD_ERR_NO_MEMORY);
}

static void equal_work_has_one_shape(void **unused)
{
    (void)unused;
    struct td_transform a = {.type = TD_TYPE_COMPLEX_DOUBLE,
                             .sign = -1,
                             .length = 8,
                             .batch = 12,
                             .stride = 1,
                             .to_stride = 1,
                             .distance = 8,
                             .to_distance = 8};
    struct td_transform b = a, c = a;
    b.batch = 3;
    b.batch2 = 4;
    b.distance2 = b.to_distance2 = 24;
    c.batch = 1;
    c.batch2 = 12;
    c.distance = 77;
    c.distance2 = c.to_distance2 = 8;
    struct td_shape shape = td_shape_of(&a, memory[0], memory[1]), other;
    other = td_shape_of(&b, memory[0], memory[1]);
    assert_memory_equal(&shape, &other, sizeof shape);
    other = td_shape_of(&c, memory[0], memory[1]);
    assert_memory_equal(&shape, &other, sizeof shape);
    b.to_distance2 = 25;
    other = td_shape_of(&b, memory[0], memory[1]);
    assert_memory_not_equal(&shape, &other, sizeof shape);
}

/* A better plan replaces one in use only for those who acquire it later. */
static void plan_in_use_stays_until_its_last_use_ends(void **unused)
{
    (void)unused;
    bool improvable = false;
    struct td_transform t = draw_transform(TD_TRANSFORM_C2C, true);
    struct td_shape shape = td_shape_of(&t, memory[0], memory[0]);
    td_fft_fini();
    assert_null(td_fft_acquire(&shape, 0, &improvable));
    assert_int_equal(td_fft_make_plan(&shape, 0), TD_OK);
    struct td_fft_plan *old = td_fft_acquire(&shape, 0, &improvable);
    assert_non_null(old);
    assert_false(improvable);
    td_fft_update(&(struct td_fft_record){.shape = shape, .state = TD_FFT_MEASURED});
    assert_ptr_equal(td_fft_acquire(&shape, 0, &improvable), old);
    assert_true(improvable);
    assert_int_equal(td_fft_make_plan(&shape, 0), TD_OK);
    struct td_fft_plan *new = td_fft_acquire(&shape, 0, &improvable);
    assert_ptr_not_equal(new, old);
    assert_false(improvable);
    fill(&t);
    td_fft_execute(old, &t, memory[0], memory[0]);
    td_fft_release(old);
    td_fft_release(old);
    fill(&t);
    td_fft_execute(new, &t, memory[0], memory[0]);
    td_fft_release(new);
}

/* line returns the shape of a transform of one line in place. */
static struct td_shape line(int64_t points)
{
    struct td_transform t = {.type = TD_TYPE_COMPLEX_DOUBLE,
                             .kind = TD_TRANSFORM_C2C,
                             .sign = -1,
                             .length = points,
                             .batch = 1,
                             .stride = 1,
                             .to_stride = 1,
                             .factor = 1};
    return td_shape_of(&t, memory[0], memory[0]);
}

static td_err plan_line(int64_t points, uint64_t uid)
{
    struct td_shape shape = line(points);
    return td_fft_make_plan(&shape, uid);
}

static bool is_planned(int64_t points)
{
    struct td_shape shape = line(points);
    return td_fft_is_planned(&shape);
}

static void plans_have_about_the_bytes_that_malloc_says(void **unused)
{
    (void)unused;
    td_fft_fini();
    assert_int_equal(plan_line(10007, 5), TD_OK); /* a prime number: 10 to 70 bytes a point */
    assert_in_range(td_fft_bytes(5), 10 * 10007, 90 * 10007);
    assert_int_equal(td_fft_bytes(6), 0);
    assert_int_equal(td_fft_bytes(UINT64_MAX), td_fft_bytes(5));
    td_fft_fini();
    assert_int_equal(td_fft_bytes(UINT64_MAX), 0);
}

/* Powers, products, primes, and lengths beside them, around a million points: 1,000,003 is prime.
 * An execution of a large factor takes another 64 bytes, or 32, for each of its points. */
static void a_plan_has_at_most_the_bytes_expected(void **unused)
{
    static const int64_t points[] = {
        1 << 20, 1000000,    1000002,           1000003,
        1000004, 17 * 61681, 19 * 19 * 19 * 19, 11 * 11 * 11 * 11 * 11 * 11};
    static const enum td_transform_kind kinds[] = {
        TD_TRANSFORM_C2C,     TD_TRANSFORM_R2C,     TD_TRANSFORM_C2R,     TD_TRANSFORM_REDFT00,
        TD_TRANSFORM_RODFT00, TD_TRANSFORM_REDFT10, TD_TRANSFORM_RODFT11,
    };
    (void)unused;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            bool complex = kinds[k] == TD_TRANSFORM_C2C;
            struct td_shape s = line(points[i]);
            s.kind = kinds[k];
            s.type = complex ? TD_TYPE_COMPLEX_DOUBLE : TD_TYPE_DOUBLE;
            s.sign = complex ? s.sign : 0;
            td_fft_fini();
            assert_int_equal(td_fft_make_plan(&s, 5), TD_OK);
            uint64_t expected = td_fft_expected_bytes(&s), each = 20 * (uint64_t)points[i];
            uint64_t buffer = (expected - each) / (complex ? 120 : 64) * (complex ? 64 : 32);
            assert_in_range(td_fft_bytes(5), 1, expected - buffer);
        }
    td_fft_fini();
}

static void a_plan_that_may_take_more_than_there_is_is_refused(void **unused)
{
    (void)unused;
    struct td_shape prime = line(10007), smooth = line(10000);
    uint64_t bytes = td_fft_expected_bytes(&smooth);
    td_fft_fini();
    assert_true(td_fft_expected_bytes(&prime) > 6 * bytes);
    assert_int_equal(td_fft_make_plan_within(&prime, 5, bytes), TD_ERR_NO_MEMORY);
    assert_int_equal(td_fft_make_plan_within(&smooth, 5, bytes - 1), TD_ERR_NO_MEMORY);
    assert_int_equal(td_fft_bytes(UINT64_MAX), 0);
    assert_int_equal(td_fft_make_plan_within(&smooth, 5, bytes), TD_OK);
    assert_int_equal(td_fft_make_plan_within(&smooth, 5, 0), TD_OK); /* it is there */
    td_fft_fini();
}

static void the_user_with_the_most_bytes_loses_the_plan_used_longest_ago(void **unused)
{
    enum { LIMIT = 8 << 20, FIRST = 10007 };
    (void)unused;
    td_fft_fini();
    td_fft_set_limit(LIMIT);
    assert_int_equal(plan_line(64, 1), TD_OK);
    assert_int_equal(plan_line(96, 1), TD_OK);
    bool improvable = false;
    struct td_shape first = line(FIRST);
    for (int64_t i = 0; i < 60; i++) {
        assert_int_equal(plan_line(FIRST + i, 2), TD_OK);
        struct td_fft_plan *plan = td_fft_acquire(&first, 2, &improvable); /* used all the time */
        assert_non_null(plan);
        td_fft_release(plan);
        assert_true(td_fft_bytes(UINT64_MAX) <= LIMIT);
    }
    assert_true(is_planned(64) && is_planned(96) && is_planned(FIRST) && is_planned(FIRST + 59));
    assert_false(is_planned(FIRST + 1));
    struct td_fft_record r;
    unsigned records = 0;
    while (td_fft_record(records, &r))
        records++;
    assert_int_equal(records, 62); /* what was learned of the shapes stays */
    td_fft_set_limit(TD_FFT_BYTES_DEFAULT);
}

static void a_plan_in_use_is_kept_and_a_user_without_one_gets_any(void **unused)
{
    (void)unused;
    bool improvable = false;
    td_fft_fini();
    td_fft_set_limit(100 << 10);
    assert_int_equal(plan_line(10007, 1), TD_OK); /* it has more bytes than the limit */
    struct td_shape shape = line(10007);
    struct td_fft_plan *plan = td_fft_acquire(&shape, 1, &improvable);
    assert_non_null(plan);
    assert_int_equal(plan_line(10009, 1), TD_ERR_NO_MEMORY); /* until that use has ended */
    assert_int_equal(plan_line(10037, 2), TD_OK);            /* another user's first one */
    assert_true(is_planned(10007));
    td_fft_release(plan);
    assert_true(td_fft_bytes(UINT64_MAX) <= 100 << 10);
    assert_int_equal(plan_line(10009, 1), TD_OK);
    td_fft_set_limit(TD_FFT_BYTES_DEFAULT);
}

static bool is_there(void *uid, uint64_t user)
{
    return *(uint64_t *)uid == user;
}

static void plans_of_a_user_that_is_gone_go_with_the_second_look(void **unused)
{
    (void)unused;
    uint64_t here = 1;
    bool improvable = false;
    td_fft_fini();
    assert_int_equal(plan_line(64, 1), TD_OK);
    assert_int_equal(plan_line(96, 2), TD_OK);
    assert_int_equal(plan_line(128, 2), TD_OK);
    assert_false(td_fft_drop(is_there, &here));
    struct td_shape shape = line(128);
    struct td_fft_plan *plan = td_fft_acquire(&shape, 1, &improvable); /* now it is user 1's */
    td_fft_release(plan);
    assert_true(td_fft_drop(is_there, &here));
    td_fft_sweep();
    assert_false(td_fft_drop(is_there, &here));
    assert_true(is_planned(64) && is_planned(128) && !is_planned(96));
}

static void measured_wisdom_outlives_the_last_plan(void **unused)
{
    (void)unused;
    uint64_t nobody = 0;
    td_fft_fini();
    struct td_shape shape = line(60);
    void *plan = td_fft_plan_make(&shape, memory[0], memory[1], FFTW_MEASURE);
    char *wisdom = fftw_export_wisdom_to_string();
    td_fft_plan_destroy(&shape, plan);
    assert_true(td_fft_import(wisdom, true));
    char *measured = td_fft_export(true);
    assert_int_equal(plan_line(64, 1), TD_OK);
    assert_false(td_fft_drop(is_there, &nobody));
    assert_true(td_fft_drop(is_there, &nobody));
    td_fft_sweep(); /* FFTW forgets all */
    char *none = fftw_export_wisdom_to_string();
    assert_string_not_equal(none, measured);
    assert_int_equal(plan_line(64, 1), TD_OK);
    char *again = td_fft_export(true);
    assert_string_equal(again, measured);
    free(wisdom);
    free(measured);
    free(none);
    free(again);
}

static void estimates_leave_no_wisdom(void **unused)
{
    (void)unused;
    td_fft_fini();
    char *empty = td_fft_export(true);
    for (int64_t points = 100; points < 400; points++)
        assert_int_equal(plan_line(points, 1), TD_OK);
    char *after = td_fft_export(true);
    assert_string_equal(empty, after);
    free(empty);
    free(after);
}

static void *execute_often(void *transform)
{
    for (int i = 0; i < 20; i++)
        assert_int_equal(td_fft_run(transform, memory[0], memory[0]), TD_OK);
    return NULL;
}

/* A long prime length is transformed in a buffer that FFTW allocates in each execution. */
static void each_execution_of_a_thread_has_the_same_buffer(void **unused)
{
    (void)unused;
    enum { PRIME = 16411, BUFFER = PRIME * 2 * sizeof(double), THREAD = 256 << 10 };
    struct td_transform t = {.type = TD_TYPE_COMPLEX_DOUBLE,
                             .kind = TD_TRANSFORM_C2C,
                             .sign = -1,
                             .length = PRIME,
                             .batch = 1,
                             .stride = 1,
                             .to_stride = 1,
                             .factor = 1};
    pthread_t thread;
    mallopt(M_MMAP_THRESHOLD, 1 << 20); /* as in torusd */
    mallopt(M_TRIM_THRESHOLD, 128 << 20);
    memset(memory, 0, sizeof memory);
    assert_int_equal(td_fft_run(&t, memory[0], memory[0]), TD_OK);
    size_t all = mallinfo2().arena;
    assert_int_equal(pthread_create(&thread, NULL, execute_often, &t), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_in_range(mallinfo2().arena - all, 0, 2 * BUFFER + THREAD);
}

static void the_planner_aborts_on_a_thread_that_must_not_wait_for_it(void **unused)
{
    (void)unused;
    struct td_transform t = draw_transform(TD_TRANSFORM_C2C, true);
    struct td_shape shape = td_shape_of(&t, memory[0], memory[0]);
    int code = 0;
    td_fft_fini();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        assert_int_equal(dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2), 2);
        td_fft_plan_elsewhere(true);
        (void)td_fft_make_plan(&shape, 0);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFSIGNALED(code) && WTERMSIG(code) == SIGABRT);
    td_fft_plan_elsewhere(true);
    bool improvable = false;
    assert_null(td_fft_acquire(&shape, 0, &improvable)); /* this it may */
    td_fft_plan_elsewhere(false);
    assert_int_equal(td_fft_make_plan(&shape, 0), TD_OK);
}

static void a_user_has_half_of_the_records_in_use(void **unused)
{
    enum { HALF = TD_FFT_RECORDS_MAX / 2 };
    static struct td_fft_plan *plan[HALF];
    (void)unused;
    bool improvable = false;
    td_fft_fini();
    for (int64_t i = 0; i < HALF; i++) {
        struct td_shape s = line(i + 1);
        assert_int_equal(td_fft_make_plan(&s, 5), TD_OK);
        plan[i] = td_fft_acquire(&s, 5, &improvable);
        assert_non_null(plan[i]);
    }
    assert_int_equal(plan_line(1000, 5), TD_ERR_NO_MEMORY);
    assert_int_equal(plan_line(1000, 6), TD_OK);
    td_fft_release(plan[0]);
    assert_int_equal(plan_line(1001, 5), TD_OK);
    for (int64_t i = 1; i < HALF; i++)
        td_fft_release(plan[i]);
    td_fft_fini();
}

static int teardown(void **unused)
{
    (void)unused;
    td_fft_fini();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complex_transforms_are_the_discrete_fourier_transform),
        cmocka_unit_test(real_to_complex_gives_half_the_spectrum),
        cmocka_unit_test(complex_to_real_takes_half_a_spectrum),
        cmocka_unit_test(cosine_and_sine_transforms_are_as_defined),
        cmocka_unit_test(what_is_not_defined_is_an_error),
        cmocka_unit_test(equal_work_has_one_shape),
        cmocka_unit_test(plan_in_use_stays_until_its_last_use_ends),
        cmocka_unit_test(plans_have_about_the_bytes_that_malloc_says),
        cmocka_unit_test(a_plan_has_at_most_the_bytes_expected),
        cmocka_unit_test(a_plan_that_may_take_more_than_there_is_is_refused),
        cmocka_unit_test(the_user_with_the_most_bytes_loses_the_plan_used_longest_ago),
        cmocka_unit_test(a_plan_in_use_is_kept_and_a_user_without_one_gets_any),
        cmocka_unit_test(plans_of_a_user_that_is_gone_go_with_the_second_look),
        cmocka_unit_test(measured_wisdom_outlives_the_last_plan),
        cmocka_unit_test(estimates_leave_no_wisdom),
        cmocka_unit_test(each_execution_of_a_thread_has_the_same_buffer),
        cmocka_unit_test(the_planner_aborts_on_a_thread_that_must_not_wait_for_it),
        cmocka_unit_test(a_user_has_half_of_the_records_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
