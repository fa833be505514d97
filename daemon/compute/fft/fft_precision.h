/* SPDX-License-Identifier: Apache-2.0 */
/* fft_precision: the FFTW calls of fft_plan.c in one precision. fft_plan.c includes this file once
 * per precision. FFTW(name) and LOCAL(name) give a name in that precision. */

static void *LOCAL(make)(const struct td_shape *s, void *in, void *out, unsigned flags)
{
    FFTW(iodim64) point = {s->length, s->stride, s->to_stride};
    FFTW(iodim64)
    batch[2] = {{s->batch2, s->distance2, s->to_distance2},
                {s->batch, s->distance, s->to_distance}};
    switch (s->kind) {
    case TD_TRANSFORM_C2C:
        return FFTW(plan_guru64_dft)(1, &point, 2, batch, in, out, s->sign, flags);
    case TD_TRANSFORM_R2C:
        return FFTW(plan_guru64_dft_r2c)(1, &point, 2, batch, in, out, flags);
    case TD_TRANSFORM_C2R:
        return FFTW(plan_guru64_dft_c2r)(1, &point, 2, batch, in, out, flags);
    default:
        return FFTW(plan_guru64_r2r)(1, &point, 2, batch, in, out, &real_kind[s->kind], flags);
    }
}

static void LOCAL(run)(const struct td_shape *s, void *plan, void *in, void *out)
{
    switch (s->kind) {
    case TD_TRANSFORM_C2C:
        FFTW(execute_dft)(plan, in, out);
        break;
    case TD_TRANSFORM_R2C:
        FFTW(execute_dft_r2c)(plan, in, out);
        break;
    case TD_TRANSFORM_C2R:
        FFTW(execute_dft_c2r)(plan, in, out);
        break;
    default:
        FFTW(execute_r2r)(plan, in, out);
    }
}
