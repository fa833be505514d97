/* SPDX-License-Identifier: Apache-2.0 */
/* fft_plan: one FFTW plan of any kind, in float or double.
 *
 * A shape determines which plan fits a transform, and FFTW keeps wisdom per shape: kind and loops,
 * in place or not, and the alignment of addresses (FFTW may use vector loads).
 * FFTW's planner is not thread-safe. The caller serialises the making and destroying of plans of
 * both precisions. Execution is thread-safe. Owns: nothing. */
#ifndef TD_COMPUTE_FFT_FFT_PLAN_H
#define TD_COMPUTE_FFT_FFT_PLAN_H

#include "model/program.h"

/* struct td_shape: compared as bytes (td_shape_of clears its padding). */
struct td_shape {
    int64_t length, batch, batch2;
    int64_t stride, distance, distance2, to_stride, to_distance, to_distance2;
    int32_t kind, type, sign;
    int32_t in_place;
    int32_t alignment, to_alignment; /* bytes, as FFTW reports them */
};

/* td_shape_of returns the shape of a transform at these addresses (in = out: in place). It
 * normalises loops of one iteration, so that equal work has equal shapes. */
struct td_shape td_shape_of(const struct td_transform *t, const void *in, const void *out);
/* td_shape_side returns the extent of one side (0: in, 1: out): all elements are in [0, count) of
 * *bytes each. */
int64_t td_shape_side(const struct td_shape *shape, unsigned side, size_t *bytes);
bool td_shape_is_double(const struct td_shape *shape);

/* td_fft_plan_make makes a plan of the shape's precision, or returns NULL if FFTW has none. `flags`
 * are FFTW_ESTIMATE, FFTW_MEASURE, ..., with or without FFTW_WISDOM_ONLY. Unless they are ESTIMATE
 * or WISDOM_ONLY, planning overwrites `in` and `out`. */
void *td_fft_plan_make(const struct td_shape *shape, void *in, void *out, unsigned flags);
void td_fft_plan_run(const struct td_shape *shape, void *plan, void *in, void *out);
/* td_fft_plan_destroy accepts NULL. */
void td_fft_plan_destroy(const struct td_shape *shape, void *plan);

#endif
