/* SPDX-License-Identifier: Apache-2.0 */
#include "fft_reference.h"

#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/plan.h"
#include "tool/fft_names.h"

/* Both arrays are pairs of doubles in the order of the file; a real number occupies a whole pair.
 */
struct whole {
    const struct torus_fft_desc *desc;
    fftw_iodim64 dim[TORUS_DIMENSIONS_MAX], batch[TORUS_DIMENSIONS_MAX];
    fftw_r2r_kind kind[TORUS_DIMENSIONS_MAX];
    int dims, batches;
    int halved; /* TORUS_TRANSFORM_R2C, _C2R, or _NONE */
};

static fftw_r2r_kind kind_of(int transform)
{
    static const fftw_r2r_kind kinds[] = {
        [TORUS_TRANSFORM_REDFT00] = FFTW_REDFT00, [TORUS_TRANSFORM_REDFT10] = FFTW_REDFT10,
        [TORUS_TRANSFORM_REDFT01] = FFTW_REDFT01, [TORUS_TRANSFORM_REDFT11] = FFTW_REDFT11,
        [TORUS_TRANSFORM_RODFT00] = FFTW_RODFT00, [TORUS_TRANSFORM_RODFT10] = FFTW_RODFT10,
        [TORUS_TRANSFORM_RODFT01] = FFTW_RODFT01, [TORUS_TRANSFORM_RODFT11] = FFTW_RODFT11,
    };
    return kinds[transform];
}

/* lay_out lists the axes; the real-to-complex axis is last, as FFTW requires. */
static void lay_out(struct whole *w, const struct npy *in, const struct npy *out)
{
    fftw_iodim64 last = {0};
    ptrdiff_t from = 1, to = 1;
    for (int place = in->axes - 1; place >= 0; place--) {
        int axis = in->fortran ? in->axes - 1 - place : place;
        int transform = w->desc->transform[axis];
        fftw_iodim64 dim = {(ptrdiff_t)w->desc->shape[axis], from, to};
        from *= (ptrdiff_t)in->size[place];
        to *= (ptrdiff_t)out->size[place];
        if (transform == TORUS_TRANSFORM_NONE) {
            w->batch[w->batches++] = dim;
        } else if (transform == TORUS_TRANSFORM_R2C || transform == TORUS_TRANSFORM_C2R) {
            w->halved = transform;
            last = dim;
        } else {
            if (fft_kind_is_real(transform))
                w->kind[w->dims] = kind_of(transform);
            w->dim[w->dims++] = dim;
        }
    }
    if (w->halved)
        w->dim[w->dims++] = last;
}

/* stretch converts strides of real numbers from pairs to doubles. */
static void stretch(struct whole *w, int from, int to)
{
    for (int i = 0; i < w->dims; i++) {
        w->dim[i].is *= from;
        w->dim[i].os *= to;
    }
    for (int i = 0; i < w->batches; i++) {
        w->batch[i].is *= from;
        w->batch[i].os *= to;
    }
}

static fftw_plan plan(struct whole *w, double *in, double *out)
{
    fftw_complex *from = (fftw_complex *)(void *)in, *to = (fftw_complex *)(void *)out;
    bool real = w->desc->type == TORUS_FLOAT || w->desc->type == TORUS_DOUBLE;
    if (w->halved == TORUS_TRANSFORM_R2C) {
        stretch(w, 2, 1);
        return fftw_plan_guru64_dft_r2c(w->dims, w->dim, w->batches, w->batch, in, to,
                                        FFTW_ESTIMATE);
    }
    if (w->halved == TORUS_TRANSFORM_C2R) {
        stretch(w, 1, 2);
        return fftw_plan_guru64_dft_c2r(w->dims, w->dim, w->batches, w->batch, from, out,
                                        FFTW_ESTIMATE);
    }
    if (real)
        stretch(w, 2, 2);
    return real ? fftw_plan_guru64_r2r(w->dims, w->dim, w->batches, w->batch, in, out, w->kind,
                                       FFTW_ESTIMATE)
                : fftw_plan_guru64_dft(w->dims, w->dim, w->batches, w->batch, from, to,
                                       w->desc->sign, FFTW_ESTIMATE);
}

static double factor_of(const struct torus_fft_desc *desc)
{
    struct td_fft fft = {.dimensions = desc->dimensions, .scale = (uint32_t)desc->scale};
    for (uint32_t d = 0; d < desc->dimensions; d++) {
        fft.size[d] = desc->shape[d];
        fft.transform[d] = (uint8_t)desc->transform[d];
    }
    return td_fft_factor(&fft);
}

static double apart(const struct fft_options *o, const struct fft_job *job, const double *want,
                    const double *got, uint64_t elements)
{
    double factor = factor_of(&job->desc), off = 0, norm = 0;
    for (uint64_t i = 0; i < 2 * elements; i++) {
        double reference = i % 2 && o->real_part ? 0 : factor * want[i];
        off += (got[i] - reference) * (got[i] - reference);
        norm += reference * reference;
    }
    return sqrt(norm > 0 ? off / norm : off);
}

bool fft_reference_error(const struct fft_options *o, const struct fft_job *job, double *error,
                         char *text, size_t size)
{
    struct npy in, out;
    struct whole w = {.desc = &job->desc};
    double *from = npy_load(o->in, &in), *got = from ? npy_load(o->out, &out) : NULL;
    double *want = got ? calloc(out.count, 2 * sizeof *want) : NULL;
    if (want)
        lay_out(&w, &in, &out);
    fftw_plan p = want ? plan(&w, from, want) : NULL;
    if (p) {
        fftw_execute(p);
        *error = apart(o, job, want, got, out.count);
    } else {
        snprintf(text, size, "%s",
                 !from  ? in.text
                 : !got ? out.text
                        : "no memory for the comparison");
    }
    fftw_destroy_plan(p);
    free(from);
    free(got);
    free(want);
    return p != NULL;
}
