/* SPDX-License-Identifier: Apache-2.0 */
/* step: execution of a COPY, COMBINE or TRANSFORM step. The drivers call it.
 * Owns: nothing. The cache of FFTW plans is in fft.c. Thread-safe on disjoint targets. */
#ifndef TD_COMPUTE_FFT_STEP_H
#define TD_COMPUTE_FFT_STEP_H

#include "base/errors.h"
#include "compute/bases.h"
#include "fft.h"
#include "model/program.h"

enum { TD_STEP_SHAPES_MAX = 2 };

/* td_step_shapes writes the shapes of the transforms that the step performs by FFTW, and returns
 * their number. */
unsigned td_step_shapes(const struct td_step *step, const struct td_bases *bases,
                        struct td_shape shape[TD_STEP_SHAPES_MAX]);
/* td_step_run_by executes the step with the plans of these shapes. It never calls FFTW's planner.
 */
td_err td_step_run_by(const struct td_step *step, const struct td_bases *bases,
                      struct td_fft_plan *const plan[TD_STEP_SHAPES_MAX]);
/* td_step_run plans the step's shape if the shape has no plan, and executes the step. It returns
 * TD_OK, TD_ERR_NO_MEMORY if FFTW makes no plan, or TD_ERR_INTERNAL for a step of another kind. */
td_err td_step_run(const struct td_step *step, const struct td_bases *bases);
/* td_step_run_part executes the step for bytes [at, at + bytes) of its target alone: a COPY or a
 * COMBINE, the latter for whole elements. */
void td_step_run_part(const struct td_step *step, const struct td_bases *bases, uint64_t at,
                      uint64_t bytes);
/* td_step_divisible returns the bytes of the target of a step that can be executed in parts; 0: a
 * TRANSFORM, which cannot. */
uint64_t td_step_divisible(const struct td_step *step);

#endif
