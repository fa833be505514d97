/* SPDX-License-Identifier: Apache-2.0 */
#include "fft_plan.h"

#include <assert.h>
#include <fftw3.h>
#include <stdlib.h>
#include <string.h>

static const fftw_r2r_kind real_kind[TD_TRANSFORM_KINDS] = {
    [TD_TRANSFORM_REDFT00] = FFTW_REDFT00, [TD_TRANSFORM_REDFT10] = FFTW_REDFT10,
    [TD_TRANSFORM_REDFT01] = FFTW_REDFT01, [TD_TRANSFORM_REDFT11] = FFTW_REDFT11,
    [TD_TRANSFORM_RODFT00] = FFTW_RODFT00, [TD_TRANSFORM_RODFT10] = FFTW_RODFT10,
    [TD_TRANSFORM_RODFT01] = FFTW_RODFT01, [TD_TRANSFORM_RODFT11] = FFTW_RODFT11,
};

#define FFTW(name) fftw_##name
#define LOCAL(name) name##_double
#include "fft_precision.h"
#undef FFTW
#undef LOCAL
#define FFTW(name) fftwf_##name
#define LOCAL(name) name##_float
#include "fft_precision.h"
#undef FFTW
#undef LOCAL

bool td_shape_is_double(const struct td_shape *s)
{
    return s->type == TD_TYPE_COMPLEX_DOUBLE || s->type == TD_TYPE_DOUBLE;
}

/* simplify removes loops of one iteration and joins two loops that are one. */
static void simplify(struct td_shape *s)
{
    bool joined =
        s->distance2 == s->batch * s->distance && s->to_distance2 == s->batch * s->to_distance;
    if (s->batch == 1 || joined) {
        if (s->batch == 1) {
            s->distance = s->distance2;
            s->to_distance = s->to_distance2;
        }
        s->batch *= s->batch2;
        s->batch2 = 1;
    }
    if (s->batch2 == 1)
        s->distance2 = s->to_distance2 = 0;
    if (s->batch == 1)
        s->distance = s->to_distance = 0;
    if (s->length == 1)
        s->stride = s->to_stride = 1;
}

struct td_shape td_shape_of(const struct td_transform *t, const void *in, const void *out)
{
    struct td_shape s;
    memset(&s, 0, sizeof s);
    s.length = t->length;
    s.batch = t->batch;
    s.batch2 = t->batch2 > 0 ? t->batch2 : 1;
    s.stride = t->stride;
    s.distance = t->distance;
    s.distance2 = t->distance2;
    s.to_stride = t->to_stride;
    s.to_distance = t->to_distance;
    s.to_distance2 = t->to_distance2;
    s.kind = t->kind;
    s.type = t->type;
    s.sign = t->kind == TD_TRANSFORM_C2C ? t->sign : 0;
    s.in_place = in == out;
    simplify(&s);
    /* FFTW only reads the address; its parameter types are not const */
    double *from = (double *)(uintptr_t)in, *to = (double *)(uintptr_t)out;
    s.alignment =
        td_shape_is_double(&s) ? fftw_alignment_of(from) : fftwf_alignment_of((float *)from);
    s.to_alignment =
        td_shape_is_double(&s) ? fftw_alignment_of(to) : fftwf_alignment_of((float *)to);
    return s;
}

int64_t td_shape_side(const struct td_shape *s, unsigned side, size_t *bytes)
{
    bool half = s->kind == (side ? TD_TRANSFORM_R2C : TD_TRANSFORM_C2R);
    bool complex = half || s->kind == TD_TRANSFORM_C2C;
    *bytes = (complex ? 2 : 1) * (td_shape_is_double(s) ? sizeof(double) : sizeof(float));
    int64_t last = half ? s->length / 2 : s->length - 1;
    return 1 + last * (side ? s->to_stride : s->stride) +
           (s->batch - 1) * (side ? s->to_distance : s->distance) +
           (s->batch2 - 1) * (side ? s->to_distance2 : s->distance2);
}

void *td_fft_plan_make(const struct td_shape *s, void *in, void *out, unsigned flags)
{
    assert(s->kind >= 0 && s->kind < TD_TRANSFORM_KINDS);
    if (s->kind == TD_TRANSFORM_REDFT00 && s->length < 2)
        return NULL; /* undefined for one point, which would be both ends */
    /* FFTW may destroy its input in a transform between complex and real */
    flags |= s->in_place ? 0 : FFTW_PRESERVE_INPUT;
    return td_shape_is_double(s) ? make_double(s, in, out, flags) : make_float(s, in, out, flags);
}

/* fill_lists gives the calling thread small free blocks, so that malloc reuses FFTW's buffers.
 *
 * Some plans allocate a buffer of about 512 KiB in each execution. glibc before 2.39 cuts a small
 * block off behind such aligned memory, and when both are free keeps the small one in the thread's
 * own list, which has room for seven blocks of each size. Until that is full the buffer cannot join
 * the free memory behind it, and is too short for the next one: each thread would own eight. */
static void fill_lists(void)
{
    enum { LEAST = 24, STEP = 16, SIZES = 8, ROOM = 7 };
    void *volatile block[SIZES * ROOM];
    for (size_t i = 0; i < SIZES * ROOM; i++)
        block[i] = malloc(LEAST + i / ROOM * STEP);
    for (size_t i = 0; i < SIZES * ROOM; i++)
        free(block[i]);
}

void td_fft_plan_run(const struct td_shape *s, void *plan, void *in, void *out)
{
    static _Thread_local bool filled;
    if (!filled)
        fill_lists();
    filled = true;
    if (td_shape_is_double(s))
        run_double(s, plan, in, out);
    else
        run_float(s, plan, in, out);
}

void td_fft_plan_destroy(const struct td_shape *s, void *plan)
{
    if (plan && td_shape_is_double(s))
        fftw_destroy_plan(plan);
    else if (plan)
        fftwf_destroy_plan(plan);
}
