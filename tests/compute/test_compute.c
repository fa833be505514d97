/* SPDX-License-Identifier: Apache-2.0 */
/* compute against naive walks: random slices, byte by byte, over whole buffers, so that a byte
 * outside the slice that was written is found, too. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compute/compute.h"
#include "compute/fft/fft.h"
#include "compute/fft/step.h"
#include "model/plan.h"
#include "random.h"

enum { RANKS = 3, BUFFER = 1 << 19, ROUNDS = 160, FACTORS_MAX = 7 };

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    return random_below(&state, below);
}

/* The memory of a view, all in one block: sources, destinations, scratch. */
enum { SPACES = 2 * RANKS + 1 };
static uint8_t *memory, *expected;
static uint8_t *source[RANKS], *destination[RANKS];
static struct td_bases bases;

static void setup_memory(uint8_t *block, struct td_bases *b)
{
    for (int i = 0; i < RANKS; i++) {
        source[i] = block + (size_t)i * BUFFER;
        destination[i] = block + (size_t)(RANKS + i) * BUFFER;
    }
    *b = (struct td_bases){.source = source,
                           .destination = destination,
                           .scratch = block + (size_t)2 * RANKS * BUFFER};
}

/* run executes a step, at times in parts of drawn sizes, as a driver does that lets jobs take
 * turns. */
static void run(const struct td_step *step)
{
    uint64_t element = step->kind == TD_COMBINE ? td_type_bytes(step->type) : 1;
    uint64_t all = td_step_divisible(step), at = 0, bytes = 0;
    if (draw(2) || all == 0) {
        assert_int_equal(td_step_run(step, &bases), TD_OK);
        return;
    }
    for (; at < all; at += bytes) {
        bytes = (1 + draw(draw(2) ? 300 : 20000)) * element;
        bytes = bytes < all - at ? bytes : all - at;
        td_step_run_part(step, &bases, at, bytes);
    }
}

static void fill_memory(void)
{
    for (size_t i = 0; i < (size_t)SPACES * BUFFER; i += 8) {
        uint64_t x = draw(UINT64_MAX);
        memcpy(memory + i, &x, 8);
    }
    memcpy(expected, memory, (size_t)SPACES * BUFFER);
}

static int setup(void **unused)
{
    (void)unused;
    memory = aligned_alloc(64, (size_t)SPACES * BUFFER);
    expected = aligned_alloc(64, (size_t)SPACES * BUFFER);
    if (!memory || !expected)
        return -1;
    setup_memory(memory, &bases);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    free(memory);
    free(expected);
    td_fft_fini();
    return 0;
}

/* place returns the position in the block of byte `at` of a lane of the slice. */
static size_t place(const struct td_slice *s, const struct td_lanes *lanes, uint32_t lane,
                    int64_t at)
{
    int64_t offset = s->offset + at % s->run, rank = s->rank, turn = at / s->run;
    if (lanes) {
        offset += lane * lanes->stride;
        rank += (int64_t)lane * lanes->rank_stride;
    }
    for (int l = s->levels; l-- > 0; turn /= s->level[l].count) {
        offset += turn % s->level[l].count * s->level[l].stride;
        rank += turn % s->level[l].count * s->level[l].rank_stride;
    }
    size_t base = s->space == TD_SPACE_SCRATCH  ? 2 * RANKS
                  : s->space == TD_SPACE_SOURCE ? (size_t)rank
                                                : (size_t)(RANKS + rank);
    assert_true(offset >= 0 && offset < BUFFER && (s->space == TD_SPACE_SCRATCH || rank < RANKS));
    return base * BUFFER + (size_t)offset;
}

/* random_slice names the product of the factors times `unit` bytes, each once, so that `lanes` of
 * it fit side by side. */
static struct td_slice random_slice(const int64_t *factor, int factors, int64_t unit,
                                    uint32_t lanes, struct td_lanes *out)
{
    struct td_slice s = {.run = unit};
    int64_t count[TD_LEVELS_MAX];
    uint8_t levels = 0;
    for (int i = 0; i < factors; i++) {
        if (levels == TD_LEVELS_MAX || draw(3) == 0)
            s.run *= factor[i];
        else
            count[levels++] = factor[i];
    }
    s.space = (uint8_t)draw(3);
    int64_t extent = s.run;
    bool ranks_used = s.space == TD_SPACE_SCRATCH;
    for (uint8_t l = 0; l < levels; l++) {
        if (!ranks_used && count[l] <= RANKS && draw(3) == 0) {
            s.level[l] = (struct td_level){count[l], 0, 1};
            ranks_used = true;
            continue;
        }
        s.level[l].count = count[l];
        s.level[l].stride = extent + (int64_t)draw(3) * unit;
        extent += (count[l] - 1) * s.level[l].stride;
    }
    s.levels = levels;
    for (uint8_t l = levels; l > 1; l--) { /* loops in any order */
        uint64_t other = draw(l);
        struct td_level swap = s.level[l - 1];
        s.level[l - 1] = s.level[other];
        s.level[other] = swap;
    }
    *out = (struct td_lanes){.count = lanes};
    if (!ranks_used && draw(2) && lanes <= RANKS)
        out->rank_stride = 1;
    else
        out->stride = extent + (int64_t)draw(2) * unit;
    s.offset = (int64_t)draw(4) * unit;
    return s;
}

static int random_factors(int64_t *factor)
{
    static const int64_t some[] = {1, 2, 3, 2, 3, 5, 7};
    int factors = (int)draw(FACTORS_MAX);
    for (int i = 0; i < factors; i++)
        factor[i] = some[draw(sizeof some / sizeof some[0])];
    if (factors && draw(4) == 0)
        factor[draw((uint64_t)factors)] = 1500; /* more than a block of combining */
    int64_t product = 1;
    for (int i = 0; i < factors; i++)
        product *= factor[i];
    return product * 8 > BUFFER / 16 ? 2 : factors;
}

static void assert_memory(void)
{
    if (memcmp(memory, expected, (size_t)SPACES * BUFFER) == 0)
        return;
    for (size_t i = 0; i < (size_t)SPACES * BUFFER; i++)
        if (memory[i] != expected[i])
            fail_msg("byte %zu of space %zu differs", i % BUFFER, i / BUFFER);
}

/* fits returns true if all lanes end within the buffer. */
static bool fits(const struct td_slice *s, const struct td_lanes *lanes)
{
    int64_t end =
        s->offset + s->run + (int64_t)(lanes->count ? lanes->count - 1 : 0) * lanes->stride;
    for (int l = 0; l < s->levels; l++)
        end += (s->level[l].count - 1) * s->level[l].stride;
    return end <= BUFFER;
}

static bool same_memory(const struct td_slice *a, const struct td_slice *b)
{
    return a->space == b->space;
}

static void copy_writes_every_lane_of_the_target(void **unused)
{
    (void)unused;
    for (state = 1; state < ROUNDS; state++) {
        uint64_t seed = state;
        int64_t factor[FACTORS_MAX];
        int factors = random_factors(factor);
        struct td_step step = {.kind = TD_COPY};
        struct td_lanes from_lanes;
        step.from = random_slice(factor, factors, 1, 1, &from_lanes);
        do
            step.to = random_slice(factor, factors, 1, 1 + (uint32_t)draw(RANKS), &step.to_lanes);
        while (same_memory(&step.to, &step.from));
        fill_memory();
        for (uint32_t lane = 0; lane < step.to_lanes.count; lane++)
            for (int64_t i = 0; i < td_slice_bytes(&step.to); i++)
                expected[place(&step.to, &step.to_lanes, lane, i)] =
                    memory[place(&step.from, NULL, 0, i)];
        run(&step);
        assert_memory();
        state = seed;
    }
}

static void copy_of_nothing_writes_zeros(void **unused)
{
    (void)unused;
    for (state = 1; state < ROUNDS; state++) {
        uint64_t seed = state;
        int64_t factor[FACTORS_MAX];
        int factors = random_factors(factor);
        struct td_step step = {.kind = TD_COPY};
        step.from = td_slice_at((enum td_space)draw(3), 0, 0, draw(2) ? 0 : 8);
        if (step.from.run)
            td_slice_loop(&step.from, 0, 8, 0);
        step.to = random_slice(factor, factors, 1, 1 + (uint32_t)draw(RANKS), &step.to_lanes);
        fill_memory();
        for (uint32_t lane = 0; lane < step.to_lanes.count; lane++)
            for (int64_t i = 0; i < td_slice_bytes(&step.to); i++)
                expected[place(&step.to, &step.to_lanes, lane, i)] = 0;
        run(&step);
        assert_memory();
        state = seed;
    }
}

static void pack_and_unpack_move_any_part_of_a_slice(void **unused)
{
    (void)unused;
    static uint8_t packed[BUFFER];
    for (state = 1; state < ROUNDS; state++) {
        uint64_t seed = state;
        int64_t factor[FACTORS_MAX];
        int factors = random_factors(factor);
        struct td_lanes lanes;
        struct td_slice s = random_slice(factor, factors, 1, 1 + (uint32_t)draw(RANKS), &lanes);
        uint64_t size = (uint64_t)td_slice_bytes(&s), offset = draw(size),
                 bytes = draw(size - offset + 1);
        fill_memory();
        td_compute_pack(&s, &bases, offset, bytes, packed);
        bool together = true;
        for (uint64_t i = 0; i < bytes; i++) {
            size_t at = place(&s, NULL, 0, (int64_t)(offset + i));
            assert_int_equal(packed[i], memory[at]);
            together = together && at == place(&s, NULL, 0, (int64_t)offset) + i;
        }
        const uint8_t *piece = td_compute_contiguous(&s, &bases, offset, bytes);
        if (piece && bytes)
            assert_true(together && piece == memory + place(&s, NULL, 0, (int64_t)offset));
        if (s.levels == 0)
            assert_non_null(piece);
        assert_int_equal(td_compute_rank(&s, offset),
                         place(&s, NULL, 0, (int64_t)offset) / BUFFER % RANKS);

        for (uint64_t i = 0; i < bytes; i++)
            packed[i] = (uint8_t)draw(256);
        for (uint32_t lane = 0; lane < lanes.count; lane++)
            for (uint64_t i = 0; i < bytes; i++)
                expected[place(&s, &lanes, lane, (int64_t)(offset + i))] = packed[i];
        td_compute_unpack(&s, &lanes, &bases, offset, bytes, packed);
        assert_memory();
        state = seed;
    }
}

/* fold returns a op b, by the rules of the header, one element at a time. */
static void fold(uint8_t type, uint8_t op, uint8_t *a, const uint8_t *b)
{
#define FOLD(element, unsigned_element, is_nan)                                                    \
    do {                                                                                           \
        element x, y;                                                                              \
        memcpy(&x, a, sizeof x);                                                                   \
        memcpy(&y, b, sizeof y);                                                                   \
        if (op == TD_OP_SUM)                                                                       \
            x = (element)((unsigned_element)x + (unsigned_element)y);                              \
        else if (is_nan(y) || (!is_nan(x) && (op == TD_OP_MIN ? y < x : y > x)))                   \
            x = y;                                                                                 \
        memcpy(a, &x, sizeof x);                                                                   \
    } while (0)
#define NEVER(x) ((void)(x), false)
    if (type == TD_TYPE_INT32)
        FOLD(int32_t, uint32_t, NEVER);
    else if (type == TD_TYPE_INT64)
        FOLD(int64_t, uint64_t, NEVER);
    else if (type == TD_TYPE_FLOAT)
        FOLD(float, float, isnan);
    else
        FOLD(double, double, isnan);
}

/* same: equal bits, or both not a number; the processor chooses which NaN a sum of two keeps. */
static bool same(uint8_t type, const uint8_t *a, const uint8_t *b)
{
    if (memcmp(a, b, td_type_bytes(type)) == 0)
        return true;
    float f[2];
    double d[2];
    if (type == TD_TYPE_FLOAT) {
        memcpy(&f[0], a, 4);
        memcpy(&f[1], b, 4);
        return isnan(f[0]) && isnan(f[1]);
    }
    memcpy(&d[0], a, 8);
    memcpy(&d[1], b, 8);
    return type == TD_TYPE_DOUBLE && isnan(d[0]) && isnan(d[1]);
}

/* operand_place returns the position of byte `at` of an operand. */
static size_t operand_place(const struct td_step *step, uint32_t operand, int64_t at)
{
    return operand < step->from_lanes.count
               ? place(&step->from, &step->from_lanes, operand, at)
               : place(&step->with, &step->with_lanes, operand - step->from_lanes.count, at);
}

/* expect_lane folds the operands of one lane of the target. */
static void expect_lane(const struct td_step *step, uint32_t lane)
{
    const struct td_running *r = &step->running;
    int64_t element = (int64_t)td_type_bytes(step->type);
    uint32_t operands = step->from_lanes.count + step->with_lanes.count;
    if (r->kind != TD_RUNNING_NOT)
        operands = r->first + lane * r->step + (r->kind == TD_RUNNING_UP_TO);
    for (int64_t i = 0; operands && i < td_slice_bytes(&step->to); i += element) {
        uint8_t x[16];
        memcpy(x, memory + operand_place(step, 0, i), (size_t)element);
        for (uint32_t k = 1; k < operands; k++)
            fold(step->type, step->op, x, memory + operand_place(step, k, i));
        memcpy(expected + place(&step->to, &step->to_lanes, lane, i), x, (size_t)element);
    }
}

static void expect_combine(const struct td_step *step)
{
    for (uint32_t lane = 0; lane < step->to_lanes.count; lane++)
        expect_lane(step, lane);
}

/* check_combine runs the step. NaNs are compared as such, then everything as bytes. */
static void check_combine(const struct td_step *step)
{
    size_t element = td_type_bytes(step->type);
    expect_combine(step);
    run(step);
    for (uint32_t lane = 0; lane < step->to_lanes.count; lane++)
        for (int64_t i = 0; i < td_slice_bytes(&step->to); i += (int64_t)element) {
            size_t at = place(&step->to, &step->to_lanes, lane, i);
            if (!same(step->type, memory + at, expected + at))
                fail_msg("type %u op %u element %lld", step->type, step->op, (long long)i);
            memcpy(expected + at, memory + at, element);
        }
    assert_memory();
}

static void combine_folds_lanes_in_order(void **unused)
{
    (void)unused;
    static const uint8_t types[] = {TD_TYPE_INT32, TD_TYPE_INT64, TD_TYPE_FLOAT, TD_TYPE_DOUBLE};
    for (state = 1; state < ROUNDS; state++) {
        uint64_t seed = state;
        int64_t factor[FACTORS_MAX];
        int factors = random_factors(factor);
        struct td_step step = {.kind = TD_COMBINE, .type = types[seed % 4]};
        step.op = (uint8_t)(TD_OP_SUM + seed / 4 % 3);
        int64_t unit = (int64_t)td_type_bytes(step.type);
        step.from = random_slice(factor, factors, unit, 1 + (uint32_t)draw(3), &step.from_lanes);
        step.with = random_slice(factor, factors, unit, (uint32_t)draw(3), &step.with_lanes);
        if (draw(3) == 0) { /* in place */
            step.to = step.from;
            step.to_lanes = step.from_lanes;
            step.with_lanes.count = step.with.space == step.to.space ? 0 : step.with_lanes.count;
        } else {
            do
                step.to =
                    random_slice(factor, factors, unit, 1 + (uint32_t)draw(3), &step.to_lanes);
            while (same_memory(&step.to, &step.from) || same_memory(&step.to, &step.with));
        }
        fill_memory();
        check_combine(&step);
        state = seed;
    }
}

/* running_in_place makes the operands the target: lane i is operand first + i * step. */
static void running_in_place(struct td_step *step)
{
    const struct td_running *r = &step->running;
    step->to = step->from;
    step->to.offset += r->first * step->from_lanes.stride;
    step->to.rank += r->first * (uint32_t)step->from_lanes.rank_stride;
    step->to_lanes.stride = r->step * step->from_lanes.stride;
    step->to_lanes.rank_stride = (int32_t)r->step * step->from_lanes.rank_stride;
}

/* random_running makes the step write lanes for some of `operands`: all, or any progression of
 * them. */
static void random_running(struct td_step *step, uint32_t operands)
{
    struct td_running *r = &step->running;
    r->kind = (uint8_t)(TD_RUNNING_UP_TO + draw(2));
    r->first = (uint32_t)draw(operands);
    r->step = 1 + (uint32_t)draw(3);
    step->to_lanes.count = 1 + (uint32_t)draw((operands - 1 - r->first) / r->step + 1);
}

static void combine_writes_what_it_has_at_each_operand(void **unused)
{
    (void)unused;
    static const uint8_t types[] = {TD_TYPE_INT32, TD_TYPE_INT64, TD_TYPE_FLOAT, TD_TYPE_DOUBLE};
    int in_place = 0, nothing_before = 0;
    for (state = 1; state < 3 * ROUNDS; state++) {
        uint64_t seed = state;
        int64_t factor[FACTORS_MAX];
        int factors = random_factors(factor);
        factors -= factors > 3; /* many lanes: room for them */
        struct td_step step = {.kind = TD_COMBINE, .type = types[seed % 4]};
        step.op = (uint8_t)(TD_OP_SUM + seed / 4 % 3);
        int64_t unit = (int64_t)td_type_bytes(step.type);
        do
            step.from =
                random_slice(factor, factors, unit, 1 + (uint32_t)draw(5), &step.from_lanes);
        while (!fits(&step.from, &step.from_lanes));
        do
            step.with = random_slice(factor, factors, unit, (uint32_t)draw(4), &step.with_lanes);
        while (same_memory(&step.with, &step.from) || !fits(&step.with, &step.with_lanes));
        if (draw(2)) {
            random_running(&step, step.from_lanes.count);
            running_in_place(&step);
            in_place++;
        } else {
            uint32_t operands = step.from_lanes.count + step.with_lanes.count;
            random_running(&step, operands);
            struct td_lanes lanes = {0};
            do
                step.to = random_slice(factor, factors, unit, step.to_lanes.count, &lanes);
            while (same_memory(&step.to, &step.from) || same_memory(&step.to, &step.with) ||
                   !fits(&step.to, &lanes));
            step.to_lanes = lanes;
        }
        nothing_before += step.running.kind == TD_RUNNING_BEFORE && step.running.first == 0;
        fill_memory();
        check_combine(&step);
        state = seed;
    }
    assert_true(in_place > ROUNDS && nothing_before > ROUNDS / 4);
}

static void combine_carries_nan_and_wraps_integers(void **unused)
{
    (void)unused;
    fill_memory();
    double a[4] = {NAN, 1, NAN, 3}, b[4] = {1, NAN, NAN, 2};
    for (int op = TD_OP_SUM; op <= TD_OP_MAX; op++) {
        struct td_step step = {.kind = TD_COMBINE, .type = TD_TYPE_DOUBLE, .op = (uint8_t)op};
        step.from = td_slice_at(TD_SPACE_SOURCE, 0, 0, sizeof a);
        step.to = td_slice_at(TD_SPACE_DESTINATION, 0, 0, sizeof a);
        step.from_lanes = (struct td_lanes){2, 0, 1};
        step.to_lanes = (struct td_lanes){1, 0, 0};
        memcpy(source[0], a, sizeof a);
        memcpy(source[1], b, sizeof b);
        td_step_run(&step, &bases);
        double result[4];
        memcpy(result, destination[0], sizeof result);
        for (int i = 0; i < 3; i++)
            assert_true(isnan(result[i]));
        assert_true(result[3] == (op == TD_OP_SUM ? 5 : op == TD_OP_MIN ? 2 : 3));

        int32_t most = INT32_MAX, one = 1, sum = 0;
        step.type = TD_TYPE_INT32;
        step.from.run = step.to.run = 4;
        memcpy(source[0], &most, 4);
        memcpy(source[1], &one, 4);
        td_step_run(&step, &bases);
        memcpy(&sum, destination[0], 4);
        assert_int_equal(sum, op == TD_OP_SUM ? INT32_MIN : op == TD_OP_MIN ? 1 : INT32_MAX);
    }
}

/* ---- transforms ---- */

static double complex get(unsigned type, const uint8_t *block, int64_t i)
{
    double d[2];
    float f[2];
    if (type == TD_TYPE_COMPLEX_DOUBLE) {
        memcpy(d, block + 16 * i, 16);
        return CMPLX(d[0], d[1]);
    }
    memcpy(f, block + 8 * i, 8);
    return CMPLX((double)f[0], (double)f[1]);
}

static void put(unsigned type, uint8_t *block, int64_t i, double complex x)
{
    double d[2] = {creal(x), cimag(x)};
    float f[2] = {(float)creal(x), (float)cimag(x)};
    if (type == TD_TYPE_COMPLEX_DOUBLE)
        memcpy(block + 16 * i, d, 16);
    else
        memcpy(block + 8 * i, f, 8);
}

static void check_transform(const struct td_step *step)
{
    const struct td_transform *t = &step->transform;
    double eps = t->type == TD_TYPE_COMPLEX_DOUBLE ? 2.3e-16 : 1.2e-7;
    uint8_t *in = memory + place(&step->from, NULL, 0, 0), *copy = malloc(BUFFER);
    uint8_t *out = step->to.run ? memory + place(&step->to, NULL, 0, 0) : in;
    assert_non_null(copy);
    size_t left = (size_t)(memory + (size_t)SPACES * BUFFER - in);
    memcpy(copy, in, left < BUFFER ? left : BUFFER);
    assert_int_equal(td_step_run(step, &bases), TD_OK);
    for (int64_t b = 0; b < t->batch; b++)
        for (int64_t k = 0; k < t->length; k++) {
            double complex sum = 0;
            for (int64_t j = 0; j < t->length; j++) {
                double angle = 2 * 3.14159265358979323846 * t->sign * (double)(j * k % t->length) /
                               (double)t->length;
                sum += get(t->type, copy, b * t->distance + j * t->stride) *
                       CMPLX(cos(angle), sin(angle));
            }
            int64_t at = b * t->to_distance + k * t->to_stride;
            double error = cabs(get(t->type, out, at) - t->factor * sum);
            if (!(error <= 40 * eps * t->factor * (double)t->length))
                fail_msg("length %lld: error %g", (long long)t->length, error);
            size_t element = td_type_bytes(t->type);
            memcpy(expected + (out - memory) + (size_t)at * element, out + (size_t)at * element,
                   element);
        }
    free(copy);
    assert_memory();
}

static void transform_is_the_discrete_fourier_transform(void **unused)
{
    (void)unused;
    for (state = 1; state < ROUNDS; state++) {
        uint64_t seed = state;
        struct td_step step = {.kind = TD_TRANSFORM};
        struct td_transform *t = &step.transform;
        t->type = seed % 2 ? TD_TYPE_COMPLEX_DOUBLE : TD_TYPE_COMPLEX_FLOAT;
        t->sign = seed % 4 < 2 ? TD_FFT_FORWARD : TD_FFT_BACKWARD;
        t->length = 1 + (int64_t)draw(40);
        t->batch = 1 + (int64_t)draw(6);
        int64_t gap = (int64_t)draw(3);
        bool rows = draw(2);
        t->stride = rows ? 1 : t->batch + gap;
        t->distance = rows ? t->length + gap : 1;
        t->to_stride = t->stride;
        t->to_distance = t->distance;
        t->factor = draw(2) ? 1 : 0.125;
        fill_memory();
        int64_t element = (int64_t)td_type_bytes(t->type);
        int64_t offset = element / 2 * (int64_t)draw(3); /* any alignment a call may have */
        step.from = td_slice_at((enum td_space)draw(3), 0, offset, t->length * element);
        if (draw(2)) { /* out of place, and perhaps transposed */
            do
                step.to = td_slice_at((enum td_space)draw(3), 0, 0, t->length * element);
            while (same_memory(&step.to, &step.from));
            rows = draw(2);
            t->to_stride = rows ? 1 : t->batch;
            t->to_distance = rows ? t->length : 1;
        }
        uint8_t *in = memory + place(&step.from, NULL, 0, 0);
        for (int64_t i = 0; i < (t->length + 6) * (t->batch + 6); i++)
            put(t->type, in, i,
                CMPLX((double)draw(2001) / 1000 - 1, (double)draw(2001) / 1000 - 1));
        memcpy(expected, memory, (size_t)SPACES * BUFFER);
        check_transform(&step);
        state = seed;
    }
}

static void run_part(enum td_step_kind kind, const struct td_slice *from, const struct td_slice *to,
                     const struct td_transform *t)
{
    struct td_step step = {.kind = kind, .from = *from, .to = *to, .to_lanes = {1, 0, 0}};
    if (t)
        step.transform = *t;
    run(&step);
}

/* A block of lines of a matrix passes through scratch memory: it is the same as three steps. */
static void a_transform_through_scratch_memory_is_that_of_its_parts(void **unused)
{
    (void)unused;
    for (state = 1; state < ROUNDS / 4; state++) {
        uint64_t seed = state;
        int64_t lines = 1 + (int64_t)draw(12), points = 1 + (int64_t)draw(12);
        int64_t width = points + (int64_t)draw(5), pitch = points + (int64_t)draw(3);
        struct td_step step = {.kind = TD_TRANSFORM};
        step.from =
            td_slice_at(draw(2) ? TD_SPACE_SOURCE : TD_SPACE_DESTINATION, 0, 0, points * 16);
        td_slice_loop(&step.from, lines, width * 16, 0);
        step.to = step.from;
        step.to.space = TD_SPACE_DESTINATION;
        step.with = td_slice_at(TD_SPACE_SCRATCH, 0, 16 * (int64_t)draw(4), points * 16);
        td_slice_loop(&step.with, lines, pitch * 16, 0);
        step.transform = (struct td_transform){.type = TD_TYPE_COMPLEX_DOUBLE,
                                               .sign = TD_FFT_FORWARD,
                                               .length = lines,
                                               .batch = points,
                                               .stride = pitch,
                                               .distance = 1,
                                               .to_stride = pitch,
                                               .to_distance = 1,
                                               .factor = 0.5};
        if (draw(2))
            step.inner = (struct td_transform){.type = TD_TYPE_COMPLEX_DOUBLE,
                                               .sign = TD_FFT_FORWARD,
                                               .length = points,
                                               .batch = lines,
                                               .stride = 1,
                                               .distance = width,
                                               .to_stride = 1,
                                               .to_distance = pitch,
                                               .factor = 1};
        memset(memory, 0, (size_t)SPACES * BUFFER);
        for (int64_t i = 0; i < lines * width; i++)
            put(TD_TYPE_COMPLEX_DOUBLE, memory + place(&step.from, NULL, 0, 0), i,
                CMPLX((double)draw(2001) / 1000 - 1, (double)draw(2001) / 1000 - 1));
        uint8_t *before = malloc((size_t)SPACES * BUFFER);
        assert_non_null(before);
        memcpy(before, memory, (size_t)SPACES * BUFFER);
        run_part(step.inner.length ? TD_TRANSFORM : TD_COPY, &step.from, &step.with, &step.inner);
        run_part(TD_TRANSFORM, &step.with, &step.with, &step.transform);
        run_part(TD_COPY, &step.with, &step.to, NULL);
        memcpy(expected, memory, (size_t)SPACES * BUFFER);
        memcpy(memory, before, (size_t)SPACES * BUFFER);
        free(before);
        run(&step);
        assert_memory();
        state = seed;
    }
}

static void plan_cache_outlives_more_plans_than_it_holds(void **unused)
{
    (void)unused;
    state = 7;
    for (int turn = 0; turn < 2; turn++)
        for (int64_t length = 1; length <= 600; length++) {
            struct td_step step = {.kind = TD_TRANSFORM};
            step.transform = (struct td_transform){.type = TD_TYPE_COMPLEX_DOUBLE,
                                                   .sign = TD_FFT_FORWARD,
                                                   .length = length,
                                                   .batch = 1,
                                                   .stride = 1,
                                                   .distance = length,
                                                   .to_stride = 1,
                                                   .to_distance = length,
                                                   .factor = 1};
            step.from = td_slice_at(TD_SPACE_SCRATCH, 0, 0, length * 16);
            for (int64_t i = 0; i < length; i++)
                put(TD_TYPE_COMPLEX_DOUBLE, bases.scratch, i, i == 0);
            assert_int_equal(td_step_run(&step, &bases), TD_OK);
            for (int64_t i = 0; i < length; i++)
                assert_true(cabs(get(TD_TYPE_COMPLEX_DOUBLE, bases.scratch, i) - 1) < 1e-12);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copy_writes_every_lane_of_the_target),
        cmocka_unit_test(copy_of_nothing_writes_zeros),
        cmocka_unit_test(pack_and_unpack_move_any_part_of_a_slice),
        cmocka_unit_test(combine_folds_lanes_in_order),
        cmocka_unit_test(combine_writes_what_it_has_at_each_operand),
        cmocka_unit_test(combine_carries_nan_and_wraps_integers),
        cmocka_unit_test(transform_is_the_discrete_fourier_transform),
        cmocka_unit_test(a_transform_through_scratch_memory_is_that_of_its_parts),
        cmocka_unit_test(plan_cache_outlives_more_plans_than_it_holds),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
