/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of arrays of one to four axes, of every kind, between any layouts, against FFTW on the
 * whole array in one piece. TORUS_TEST_CASE=SEED runs one case. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <fftw3.h>

#include "core/arena.h"
#include "core/layout_text.h"
#include "core/plan.h"
#include "core/program.h"
#include "job.h"
#include "layouts.h"

enum { SHIFT = 64, GUARD = 64, GUARD_BYTE = 0x5a };

static bool long_run;

/* struct job_case: a transform, and the whole arrays, doubles: a pair of them per element where
 * elements are complex. */
struct whole {
    struct td_fft fft;
    char text[2][LAYOUT_TEXT];
    struct td_layout layout[2];
    uint64_t size[2][TD_DIMENSIONS_MAX], elements[2];
    bool is_complex[2], is_float;
    double *data[2];
};

static double some_value(void)
{
    return (double)layouts_draw(2001) / 1000 - 1;
}

static uint64_t elements(const struct td_fft *fft, unsigned side)
{
    uint64_t n = 1;
    for (uint32_t d = 0; d < fft->dimensions; d++)
        n *= td_fft_size(fft, side, d);
    return n;
}

/* ---- the reference ---- */

/* along transforms one axis of an array whose inner and outer axes have so many elements together.
 * What comes out may have another length or type: it goes into *data. */
static void along(double **data, unsigned kind, int sign, int64_t n, int64_t outer, int64_t inner)
{
    static const fftw_r2r_kind real[] = {FFTW_REDFT00, FFTW_REDFT10, FFTW_REDFT01, FFTW_REDFT11,
                                         FFTW_RODFT00, FFTW_RODFT10, FFTW_RODFT01, FFTW_RODFT11};
    int64_t from = kind == TD_TRANSFORM_C2R ? n / 2 + 1 : n;
    int64_t to = kind == TD_TRANSFORM_R2C ? n / 2 + 1 : n;
    double *out = fftw_malloc((size_t)(outer * to * inner + 1) * 2 * sizeof(double));
    fftw_iodim64 dim = {n, inner, inner};
    fftw_iodim64 many[2] = {{outer, from * inner, to * inner}, {inner, 1, 1}};
    fftw_plan plan = NULL;
    fftw_complex *in_complex = (fftw_complex *)*data, *out_complex = (fftw_complex *)out;
    if (kind == TD_TRANSFORM_C2C)
        plan = fftw_plan_guru64_dft(1, &dim, 2, many, in_complex, out_complex, sign, FFTW_ESTIMATE);
    else if (kind == TD_TRANSFORM_R2C)
        plan = fftw_plan_guru64_dft_r2c(1, &dim, 2, many, *data, out_complex, FFTW_ESTIMATE);
    else if (kind == TD_TRANSFORM_C2R)
        plan = fftw_plan_guru64_dft_c2r(1, &dim, 2, many, in_complex, out, FFTW_ESTIMATE);
    else
        plan = fftw_plan_guru64_r2r(1, &dim, 2, many, *data, out,
                                    &real[kind - TD_TRANSFORM_REDFT00], FFTW_ESTIMATE);
    CHECK(plan);
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    fftw_free(*data);
    *data = out;
}

/* refer makes data[1] from data[0]. */
static void refer(struct whole *w)
{
    const struct td_fft *fft = &w->fft;
    uint64_t size[TD_DIMENSIONS_MAX];
    size_t bytes = w->elements[0] * (w->is_complex[0] ? 2 : 1) * sizeof(double);
    double *data = fftw_malloc(bytes + 16);
    memcpy(data, w->data[0], bytes);
    memcpy(size, w->size[0], sizeof size);
    for (unsigned turn = 0; turn < 3; turn++) /* real to complex first, complex to real last */
        for (uint32_t d = 0; d < fft->dimensions; d++) {
            unsigned kind = fft->transform[d] - 1u;
            unsigned when = kind == TD_TRANSFORM_R2C ? 0 : kind == TD_TRANSFORM_C2R ? 2 : 1;
            int64_t outer = 1, inner = 1;
            if (!fft->transform[d] || when != turn)
                continue;
            for (uint32_t e = 0; e < fft->dimensions; e++)
                *(e < d ? &outer : &inner) *= e == d ? 1 : (int64_t)size[e];
            along(&data, kind, fft->sign, (int64_t)fft->size[d], outer, inner);
            size[d] = w->size[1][d];
        }
    double factor = td_fft_factor(fft);
    for (uint64_t i = 0; i < w->elements[1] * (w->is_complex[1] ? 2 : 1); i++)
        data[i] *= factor;
    w->data[1] = data;
}

/* ---- a case ---- */

static void some_kinds(struct td_fft *fft)
{
    uint32_t n = fft->dimensions, one = (uint32_t)layouts_draw(n);
    uint64_t family = layouts_draw(4);
    for (uint32_t d = 0; d < n; d++) {
        bool some = d == one || layouts_draw(4);
        unsigned kind = family == 0 ? TD_TRANSFORM_REDFT00 + (unsigned)layouts_draw(8)
                                    : (unsigned)TD_TRANSFORM_C2C;
        fft->transform[d] = some ? (uint8_t)(1 + kind) : 0;
        if (kind == TD_TRANSFORM_REDFT00 && fft->size[d] < 2)
            fft->size[d] = 2;
    }
    if (family == 1)
        fft->transform[one] = 1 + TD_TRANSFORM_R2C;
    if (family == 2)
        fft->transform[one] = 1 + TD_TRANSFORM_C2R;
    bool single = layouts_draw(2);
    fft->type = family == 0 ? (single ? TD_TYPE_FLOAT : TD_TYPE_DOUBLE)
                            : (single ? TD_TYPE_COMPLEX_FLOAT : TD_TYPE_COMPLEX_DOUBLE);
    fft->sign = family == 1   ? TD_FFT_FORWARD
                : family == 2 ? TD_FFT_BACKWARD
                              : (layouts_draw(2) ? TD_FFT_FORWARD : TD_FFT_BACKWARD);
    fft->scale = (uint32_t)layouts_draw(3);
    for (uint32_t d = 0; d + 1 < n && layouts_draw(3) == 0; d++)
        fft->grid[d] = 1 + (uint32_t)layouts_draw(4);
    fft->method = layouts_draw(4) ? TD_ALLTOALL_AUTO : TD_ALLTOALL_PAIRWISE;
}

static void some_transform(struct whole *w)
{
    static const uint64_t most[] = {0, 600, 48, 17, 9};
    *w = (struct whole){.fft = {.dimensions = 1 + (uint32_t)layouts_draw(4)}};
    for (uint32_t d = 0; d < w->fft.dimensions; d++)
        w->fft.size[d] = 1 + layouts_draw(most[w->fft.dimensions]);
    some_kinds(&w->fft);
}

static void prepare(struct whole *w, struct td_arena *arena, uint32_t ranks)
{
    struct td_fft *fft = &w->fft;
    w->is_float = fft->type == TD_TYPE_FLOAT || fft->type == TD_TYPE_COMPLEX_FLOAT;
    CHECK(!td_fft_check(fft));
    for (unsigned side = 0; side < 2; side++) {
        w->is_complex[side] = td_fft_element(fft, side) == (w->is_float ? 8 : 16);
        w->elements[side] = elements(fft, side);
        for (uint32_t d = 0; d < fft->dimensions; d++)
            w->size[side][d] = td_fft_size(fft, side, d);
        if (!w->text[side][0])
            layouts_some(w->text[side], fft->dimensions, w->size[side], ranks);
        struct td_layout_wrong wrong;
        EXPECT(td_layout_parse(&w->layout[side], arena, w->text[side], fft->dimensions,
                               w->size[side], ranks, &wrong),
               "%s: %s", w->text[side], wrong.text);
    }
    uint64_t numbers = w->elements[0] * (w->is_complex[0] ? 2 : 1);
    w->data[0] = fftw_malloc(numbers * sizeof(double) + 16);
    for (uint64_t i = 0; i < numbers; i++)
        w->data[0][i] = some_value();
    refer(w);
}

static void finish(struct whole *w)
{
    fftw_free(w->data[0]);
    fftw_free(w->data[1]);
}

/* number_of returns where an element is in the whole array. */
static uint64_t number_of(const struct whole *w, unsigned side, const uint64_t *index)
{
    uint64_t number = 0;
    for (uint32_t d = 0; d < w->fft.dimensions; d++)
        number = number * w->size[side][d] + index[d];
    return number;
}

static void put(const struct whole *w, unsigned side, uint64_t number, uint8_t *at)
{
    unsigned n = w->is_complex[side] ? 2 : 1;
    for (unsigned i = 0; i < n; i++) {
        double value = w->data[side][number * n + i];
        float single = (float)value;
        if (w->is_float)
            memcpy(at + i * sizeof single, &single, sizeof single);
        else
            memcpy(at + i * sizeof value, &value, sizeof value);
    }
}

static double take(const struct whole *w, const uint8_t *at, unsigned i)
{
    double value = 0;
    float single = 0;
    if (!w->is_float) {
        memcpy(&value, at + i * sizeof value, sizeof value);
        return value;
    }
    memcpy(&single, at + i * sizeof single, sizeof single);
    return single;
}

static uint64_t plan_of(struct job *job, const struct whole *w)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.call.kind = TD_KIND_PLAN_FFT;
    q.u.operation.timeout_ns = -1;
    q.u.operation.description.fft = w->fft;
    q.u.operation.description.from = w->text[0];
    q.u.operation.description.to = w->text[1];
    for (uint32_t i = 0; i < job->size; i++)
        job_make(job, i, &q);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    return job_reply(job, 0)->u.planned.plan;
}

/* compare checks what all ranks have, and that their guards are whole. */
static void compare(struct job *job, const struct whole *w)
{
    uint64_t element = td_fft_element(&w->fft, 1);
    unsigned n = w->is_complex[1] ? 2 : 1;
    double difference = 0, length = 0, worst = 0, most = 0, points = 1;
    for (uint32_t r = 0; r < job->size; r++) {
        const uint8_t *buffer = job_destination(job, r, 0);
        struct layouts_element e;
        uint64_t bytes = 0;
        for (layouts_first(&e, &w->layout[1], r); e.valid; layouts_next(&e), bytes += element)
            for (unsigned i = 0; i < n; i++) {
                double want = w->data[1][number_of(w, 1, e.index) * n + i];
                double off = fabs(take(w, buffer + SHIFT + e.place * element, i) - want);
                difference += off * off;
                length += want * want;
                worst = off > worst || isnan(off) ? off : worst;
                most = fabs(want) > most ? fabs(want) : most;
            }
        for (uint64_t i = 0; i < job->half_bytes; i++)
            if (i < SHIFT || i >= SHIFT + bytes)
                EXPECT(buffer[i] == GUARD_BYTE, "rank %u: byte %llu beside its part of %llu", r,
                       (unsigned long long)i, (unsigned long long)bytes);
    }
    for (uint32_t d = 0; d < w->fft.dimensions; d++)
        points *= w->fft.transform[d] ? 2 * (double)w->fft.size[d] + 2 : 1;
    double eps = w->is_float ? 0x1p-23 : 0x1p-52, log2n = log2(points) < 2 ? 2 : log2(points);
    EXPECT(sqrt(difference) <= 4 * eps * sqrt(log2n) * sqrt(length) &&
               worst <= 5 * eps * log2n * most,
           "%s -> %s: off by %g of %g, at most %g of %g", w->text[0], w->text[1], sqrt(difference),
           sqrt(length), worst, most);
}

static void transform(struct job *job, const struct whole *w, uint64_t plan)
{
    struct td_call call = {.kind = TD_KIND_FFT, .plan = plan};
    uint64_t element = td_fft_element(&w->fft, 0);
    for (uint32_t r = 0; r < job->size; r++) {
        struct layouts_element e;
        for (layouts_first(&e, &w->layout[0], r); e.valid; layouts_next(&e))
            put(w, 0, number_of(w, 0, e.index),
                (uint8_t *)job_source(job, r, SHIFT) + e.place * element);
        memset(job_destination(job, r, 0), GUARD_BYTE, job->half_bytes);
    }
    job_call_all(job, &call, SHIFT, false);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    compare(job, w);
}

static uint64_t most_bytes(const struct whole *w)
{
    uint64_t before = layouts_most(&w->layout[0]), after = layouts_most(&w->layout[1]);
    return (before > after ? before : after) * 16;
}

static void more_scratch(struct td_sim_options *o)
{
    o->settings.scratch_bytes = 16 << 20;
}

static void run(const char *shape, struct whole *w, uint64_t seed, uint32_t ranks)
{
    struct td_sim *sim = job_world(shape, seed, more_scratch);
    struct td_arena *arena = td_arena_create(4 << 20);
    uint32_t nodes[JOB_RANKS_MAX];
    struct job job;
    prepare(w, arena, ranks);
    if (seed % 3)
        job_spread(sim, ranks, nodes);
    else
        for (uint32_t r = 0; r < ranks; r++)
            nodes[r] = (uint32_t)layouts_draw(td_sim_nodes(sim));
    job_form(&job, sim, "fft", nodes, ranks, SHIFT + most_bytes(w) + GUARD);
    uint64_t plan = plan_of(&job, w);
    transform(&job, w, plan);
    transform(&job, w, plan);
    job_world_end(sim);
    finish(w);
    td_arena_destroy(arena);
}

static void random_case(uint64_t seed)
{
    static const char *const shapes[] = {"1", "2", "3x3", "2x2x2", "4", "4mx2", "3x2"};
    static struct whole w;
    job_case("TORUS_TEST_CASE=%llu test_fft_sim", (unsigned long long)seed);
    layouts_seed(seed * 131);
    some_transform(&w);
    run(shapes[layouts_draw(7)], &w, seed, 1 + (uint32_t)layouts_draw(16));
}

static void any_array_is_transformed_between_any_layouts(void **unused)
{
    (void)unused;
    const char *one = getenv("TORUS_TEST_CASE");
    uint64_t cases = long_run ? 4000 : 400;
    for (uint64_t seed = 1; seed <= cases && !one; seed++)
        random_case(seed);
    if (one)
        random_case(strtoull(one, NULL, 10));
}

int main(void)
{
    long_run = getenv("TORUS_TEST_LONG") != NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_array_is_transformed_between_any_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
