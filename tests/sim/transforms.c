/* SPDX-License-Identifier: Apache-2.0 */
#include "transforms.h"

#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "model/layout_text.h"
#include "model/program.h"

/* ---- the reference ---- */

/* along transforms one axis of an array; the inner and the outer axes have a number of elements
 * together. The result may have another length or type: it goes into *data. */
static bool along(double **data, unsigned kind, int sign, int64_t n, int64_t outer, int64_t inner)
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
    if (plan)
        fftw_execute(plan);
    fftw_destroy_plan(plan);
    fftw_free(*data);
    *data = out;
    return plan != NULL;
}

/* refer makes data[1] from data[0]. It returns false if FFTW cannot. */
static bool refer(struct transform *t)
{
    const struct td_fft *fft = &t->fft;
    uint64_t size[TD_DIMENSIONS_MAX];
    size_t bytes = t->elements[0] * (t->is_complex[0] ? 2 : 1) * sizeof(double);
    double *data = fftw_malloc(bytes + 16);
    memcpy(data, t->data[0], bytes);
    bool good = true;
    memcpy(size, t->size[0], sizeof size);
    for (unsigned turn = 0; turn < 3; turn++) /* real to complex first, complex to real last */
        for (uint32_t d = 0; d < fft->dimensions; d++) {
            unsigned kind = fft->transform[d] - 1u;
            unsigned when = kind == TD_TRANSFORM_R2C ? 0 : kind == TD_TRANSFORM_C2R ? 2 : 1;
            int64_t outer = 1, inner = 1;
            if (!fft->transform[d] || when != turn)
                continue;
            for (uint32_t e = 0; e < fft->dimensions; e++)
                *(e < d ? &outer : &inner) *= e == d ? 1 : (int64_t)size[e];
            good = good && along(&data, kind, fft->sign, (int64_t)fft->size[d], outer, inner);
            size[d] = t->size[1][d];
        }
    double factor = td_fft_factor(fft);
    for (uint64_t i = 0; i < t->elements[1] * (t->is_complex[1] ? 2 : 1); i++)
        data[i] *= factor;
    t->data[1] = data;
    return good;
}

/* ---- made up ---- */

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
    fft->method = layouts_draw(3) ? (uint8_t)layouts_draw(TD_ALLTOALLS) : TD_ALLTOALL_AUTO;
}

void transforms_random(struct transform *t)
{
    static const uint64_t most[] = {0, 600, 48, 17, 9};
    *t = (struct transform){.fft = {.dimensions = 1 + (uint32_t)layouts_draw(4)}};
    for (uint32_t d = 0; d < t->fft.dimensions; d++)
        t->fft.size[d] = 1 + layouts_draw(most[t->fft.dimensions]);
    some_kinds(&t->fft);
    t->returns = layouts_draw(3) == 0;
}

static double some_value(void)
{
    return (double)layouts_draw(2001) / 1000 - 1;
}

/* read_side reads or draws a side's layout. */
static bool read_side(struct transform *t, struct td_arena *arena, unsigned side, uint32_t ranks,
                      char *why)
{
    const struct td_fft *fft = &t->fft;
    struct td_layout_wrong wrong;
    t->is_complex[side] = td_fft_element(fft, side) == (t->is_float ? 8 : 16);
    t->elements[side] = 1;
    for (uint32_t d = 0; d < fft->dimensions; d++) {
        t->size[side][d] = td_fft_size(fft, side, d);
        t->elements[side] *= t->size[side][d];
    }
    bool same = memcmp(t->size[0], t->size[1], sizeof t->size[0]) == 0;
    if (side == 1 && t->returns && same && !t->text[1][0])
        memcpy(t->text[1], t->text[0], sizeof t->text[1]);
    if (!t->text[side][0])
        layouts_some(t->text[side], fft->dimensions, t->size[side], ranks);
    if (td_layout_parse(&t->layout[side], arena, t->text[side], fft->dimensions, t->size[side],
                        ranks, &wrong))
        return true;
    snprintf(why, TRANSFORM_TEXT, "%.200s: %s", t->text[side], wrong.text);
    return false;
}

bool transforms_read(struct transform *t, struct td_arena *arena, uint32_t ranks, bool refers,
                     char *why)
{
    const char *wrong = td_fft_check(&t->fft);
    snprintf(why, TRANSFORM_TEXT, "%s", wrong ? wrong : "FFTW has no plan");
    t->is_float = t->fft.type == TD_TYPE_FLOAT || t->fft.type == TD_TYPE_COMPLEX_FLOAT;
    if (wrong || !read_side(t, arena, 0, ranks, why) || !read_side(t, arena, 1, ranks, why))
        return false;
    uint64_t numbers = t->elements[0] * (t->is_complex[0] ? 2 : 1);
    t->data[0] = fftw_malloc(numbers * sizeof(double) + 16);
    for (uint64_t i = 0; i < numbers; i++)
        t->data[0][i] = some_value();
    return !refers || refer(t);
}

void transforms_free(struct transform *t)
{
    for (unsigned side = 0; side < 2; side++) {
        fftw_free(t->data[side]);
        t->data[side] = NULL;
    }
}

uint64_t transforms_most_bytes(const struct transform *t)
{
    uint64_t most = 0;
    for (unsigned side = 0; side < 2; side++) {
        uint64_t bytes = layouts_most(&t->layout[side]) * td_fft_element(&t->fft, side);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* ---- parts ---- */

/* number_of returns the place of an element in the whole array. */
static uint64_t number_of(const struct transform *t, unsigned side, const uint64_t *index)
{
    uint64_t number = 0;
    for (uint32_t d = 0; d < t->fft.dimensions; d++)
        number = number * t->size[side][d] + index[d];
    return number;
}

static void put(const struct transform *t, unsigned side, uint64_t number, uint8_t *at)
{
    unsigned n = t->is_complex[side] ? 2 : 1;
    for (unsigned i = 0; i < n; i++) {
        double value = t->data[side][number * n + i];
        float single = (float)value;
        if (t->is_float)
            memcpy(at + i * sizeof single, &single, sizeof single);
        else
            memcpy(at + i * sizeof value, &value, sizeof value);
    }
}

static double value_at(const struct transform *t, const uint8_t *at, unsigned i)
{
    double value = 0;
    float single = 0;
    if (!t->is_float) {
        memcpy(&value, at + i * sizeof value, sizeof value);
        return value;
    }
    memcpy(&single, at + i * sizeof single, sizeof single);
    return single;
}

uint64_t transforms_fill(const struct transform *t, uint32_t rank, uint8_t *to)
{
    uint64_t element = td_fft_element(&t->fft, 0), bytes = 0;
    struct layouts_element e;
    for (layouts_first(&e, &t->layout[0], rank); e.valid; layouts_next(&e), bytes += element)
        put(t, 0, number_of(t, 0, e.index), to + e.place * element);
    return bytes;
}

uint64_t transforms_compare(const struct transform *t, uint32_t rank, const uint8_t *has,
                            struct transform_error *error)
{
    uint64_t element = td_fft_element(&t->fft, 1), bytes = 0;
    unsigned n = t->is_complex[1] ? 2 : 1;
    struct layouts_element e;
    for (layouts_first(&e, &t->layout[1], rank); e.valid; layouts_next(&e), bytes += element)
        for (unsigned i = 0; i < n; i++) {
            double want = t->data[1][number_of(t, 1, e.index) * n + i];
            double off = fabs(value_at(t, has + e.place * element, i) - want);
            error->difference += off * off;
            error->length += want * want;
            error->worst = off > error->worst || isnan(off) ? off : error->worst;
            error->most = fabs(want) > error->most ? fabs(want) : error->most;
        }
    return bytes;
}

/* points_of returns the logical size of an axis's transform. */
static double points_of(const struct td_fft *fft, uint32_t axis)
{
    double n = (double)fft->size[axis];
    if (!fft->transform[axis])
        return 1;
    return fft->transform[axis] > TD_TRANSFORM_REDFT00 ? 2 * n + 2 : n;
}

bool transforms_within(const struct transform *t, const struct transform_error *error, char *why)
{
    double points = 1, off = sqrt(error->difference), length = sqrt(error->length);
    for (uint32_t d = 0; d < t->fft.dimensions; d++)
        points *= points_of(&t->fft, d);
    double eps = t->is_float ? 0x1p-23 : 0x1p-52, log2n = log2(points) < 2 ? 2 : log2(points);
    if (off <= 4 * eps * sqrt(log2n) * length && error->worst <= 5 * eps * log2n * error->most)
        return true;
    snprintf(why, TRANSFORM_TEXT, "%.300s -> %.300s: off by %g of %g, at most %g of %g", t->text[0],
             t->text[1], off, length, error->worst, error->most);
    return false;
}
