/* SPDX-License-Identifier: Apache-2.0 */
#include "twiddle.h"

#include <assert.h>
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "model/call.h"

/* struct roots: exp(2 pi i m / n) as fine[m % step] * coarse[m / step]. Two short tables cost one
 * rounding more than one long table. */
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

/* ---- conversion between real and complex spectra ---- */

static double complex read_point(const struct td_transform *t, const void *from, int64_t at)
{
    return t->type == TD_TYPE_COMPLEX_DOUBLE ? ((const double complex *)from)[at]
                                             : ((const float complex *)from)[at];
}

static void write_point(const struct td_transform *t, void *to, int64_t at, double complex value)
{
    if (t->type == TD_TYPE_COMPLEX_DOUBLE)
        ((double complex *)to)[at] = value;
    else
        ((float complex *)to)[at] = (float complex)value;
}

/* real_split computes the spectrum x of a real sequence from the spectrum z of its numbers taken in
 * pairs. z[k] = e + i o, where e and o are the spectra of the even and the odd numbers. x[k] = e +
 * w o and x[m - k] = conj(e - w o), with w = exp(-2 pi i k / n). At k = 0 both partners are the
 * same point. */
static void real_split(double complex w, bool alone, double complex *a, double complex *b)
{
    double complex other = conj(alone ? *a : *b);
    double complex e = (*a + other) / 2, o = (*a - other) / 2 * -I;
    *a = e + w * o;
    *b = conj(e - w * o);
}

/* real_merge is the inverse of real_split times two, because FFTW scales nothing. It ignores the
 * imaginary parts of x[0] and x[m]. */
static void real_merge(double complex w, bool alone, double complex *a, double complex *b)
{
    double complex x = alone ? creal(*a) : *a, y = alone ? creal(*b) : conj(*b);
    double complex e = x + y, o = conj(w) * (x - y);
    *a = e + I * o;
    *b = conj(e) + I * conj(o);
}

td_err td_twiddle_real(const struct td_transform *t, void *low, void *high)
{
    int64_t count = t->batch, step = (int64_t)ceil(sqrt((double)count));
    double complex *fine = malloc(2 * ((size_t)step + 1) * sizeof *fine), *coarse = fine + step + 1;
    uint64_t n = (uint64_t)t->length, first = (uint64_t)t->twiddle_first;
    if (!fine)
        return TD_ERR_NO_MEMORY;
    for (int64_t i = 0; i <= step; i++) {
        fine[i] = conj(root((uint64_t)i, n));
        coarse[i] = conj(root(first + (uint64_t)(i * step), n));
    }
    assert(step > 0 || count == 0);
    for (int64_t i = 0; i < count; i++) {
        double complex a = read_point(t, low, i), b = read_point(t, high, count - 1 - i);
        double complex w = fine[i % step] * coarse[i / step];
        (t->kind == TD_TRANSFORM_REAL_SPLIT ? real_split : real_merge)(w, first + (uint64_t)i == 0,
                                                                       &a, &b);
        write_point(t, high, count - 1 - i, b);
        write_point(t, low, i, a);
    }
    free(fine);
    return TD_OK;
}
