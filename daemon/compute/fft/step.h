/* SPDX-License-Identifier: Apache-2.0 */
/* step: execution of a COPY, COMBINE or TRANSFORM step. The drivers call it.
 * Owns: nothing. The cache of FFTW plans is in fft.c. Thread-safe on disjoint targets. */
#ifndef TD_COMPUTE_FFT_STEP_H
#define TD_COMPUTE_FFT_STEP_H

#include "base/errors.h"
#include "compute/bases.h"
#include "model/program.h"

/* td_step_run executes the step. It returns TD_OK, TD_ERR_NO_MEMORY if FFTW makes no plan, or
 * TD_ERR_INTERNAL for a step of another kind. */
td_err td_step_run(const struct td_step *step, const struct td_bases *bases);

#endif
