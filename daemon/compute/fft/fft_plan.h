/* SPDX-License-Identifier: Apache-2.0 */
/* fft_plan: one plan of FFTW, of any kind, in float or double.
 *
 * A shape is all that decides which plan serves a transform, and is what FFTW's wisdom is about:
 * kind and loops, in place or not, and how addresses are aligned (FFTW may use vector loads).
 * FFTW's planner is not thread-safe: making and destroying are the caller's to serialise, of both
 * precisions. Execution is thread-safe. Owns: nothing. */
#ifndef TD_COMPUTE_FFT_FFT_PLAN_H
#define TD_COMPUTE_FFT_FFT_PLAN_H

#include "model/program.h"

/* struct td_shape: compared as bytes (td_shape_of clears its padding). */
struct td_shape {
    int64_t length, batch, batch2;
    int64_t stride, distance, distance2, to_stride, to_distance, to_distance2;
    int32_t kind, type, sign;
    int32_t in_place;
    int32_t alignment, to_alignment; /* bytes, as FFTW sees them */
};

/* td_shape_of returns the shape of a transform at these addresses (in = out: in place). Loops of
 * one turn are forgotten, so that equal work has equal shapes. */
struct td_shape td_shape_of(const struct td_transform *t, const void *in, const void *out);
/* td_shape_side returns how far the elements of one side (0: in, 1: out) reach: all are within
 * [0, count) elements of *bytes each. */
int64_t td_shape_side(const struct td_shape *shape, unsigned side, size_t *bytes);
bool td_shape_is_double(const struct td_shape *shape);

/* FFTW's flags FFTW_ESTIMATE, FFTW_MEASURE, ..., perhaps with FFTW_WISDOM_ONLY. With anything but
 * ESTIMATE and WISDOM_ONLY what is at `in` and `out` is overwritten.
 * td_fft_plan_make returns NULL when there is no such plan; the plan is of the shape's precision.
 */
void *td_fft_plan_make(const struct td_shape *shape, void *in, void *out, unsigned flags);
void td_fft_plan_run(const struct td_shape *shape, void *plan, void *in, void *out);
/* td_fft_plan_destroy accepts NULL. */
void td_fft_plan_destroy(const struct td_shape *shape, void *plan);
/* td_transform_kind_name returns e.g. "redft10". */
const char *td_transform_kind_name(unsigned kind);

#endif
