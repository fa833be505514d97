/* SPDX-License-Identifier: Apache-2.0 */
#include "twiddle.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "core/call.h"

/* struct roots: exp(2 pi i m / n) as fine[m % step] * coarse[m / step]: two short tables, and one
 * rounding more than a long one. */
struct roots {
    uint64_t n, step;
    double complex *fine, *coarse;
};

static double complex root(uint64_t m, uint64_t n)
{
    double angle = 2 * M_PI * ((double)m / (double)n);
    return cos(angle) + sin(angle) * I;
}

static bool make_roots(struct roots *r, uint64_t n)
{
    *r = (struct roots){.n = n, .step = (uint64_t)ceil(sqrt((double)n))};
    uint64_t coarse = n / r->step + 1;
    r->fine = malloc((r->step + coarse) * sizeof *r->fine);
    if (!r->fine)
        return false;
    r->coarse = r->fine + r->step;
    for (uint64_t m = 0; m < r->step; m++)
        r->fine[m] = root(m, n);
    for (uint64_t m = 0; m < coarse; m++)
        r->coarse[m] = root(m * r->step, n);
    return true;
}

static double complex at(const struct roots *r, uint64_t m, int sign)
{
    double complex x = r->fine[m % r->step] * r->coarse[m / r->step];
    return sign < 0 ? conj(x) : x;
}

static void multiply(const struct td_transform *t, void *out, int64_t place, double complex by)
{
    if (t->type == TD_TYPE_COMPLEX_DOUBLE)
        ((double complex *)out)[place] *= by;
    else
        ((float complex *)out)[place] = (float complex)(((float complex *)out)[place] * by);
}

td_err td_twiddle(const struct td_transform *t, void *out)
{
    struct roots r;
    if (!make_roots(&r, (uint64_t)t->twiddle))
        return TD_ERR_NO_MEMORY;
    for (int64_t k = 0; k < t->length; k++) {
        uint64_t step = (uint64_t)k % r.n, m = step * ((uint64_t)t->twiddle_first % r.n) % r.n;
        for (int64_t j = 0; j < t->batch; j++) {
            multiply(t, out, k * t->to_stride + j * t->to_distance, at(&r, m, t->sign));
            m += step;
            m -= m >= r.n ? r.n : 0;
        }
    }
    free(r.fine);
    return TD_OK;
}
