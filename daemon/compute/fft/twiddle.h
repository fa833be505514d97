/* SPDX-License-Identifier: Apache-2.0 */
/* twiddle: the factors between the two halves of a long transform (Cooley and Tukey), and between
 * the spectra of a real sequence and of the same numbers taken in pairs as complex numbers.
 * Thread-safe. */
#ifndef TD_COMPUTE_FFT_TWIDDLE_H
#define TD_COMPUTE_FFT_TWIDDLE_H

#include "base/errors.h"
#include "model/program.h"

/* td_twiddle multiplies the results of a transform in `out` by its twiddle factors. It returns
 * TD_OK or TD_ERR_NO_MEMORY. */
td_err td_twiddle(const struct td_transform *t, void *out);
/* td_twiddle_real converts a part of one spectrum to the other, in place: kinds REAL_SPLIT and
 * REAL_MERGE (program.h). It returns TD_OK or TD_ERR_NO_MEMORY. */
td_err td_twiddle_real(const struct td_transform *t, void *low, void *high);

#endif
