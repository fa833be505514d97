/* SPDX-License-Identifier: Apache-2.0 */
/* twiddle: the factors between the two halves of a long transform (Cooley and Tukey), and between
 * the spectra of complex numbers and of the real ones that they are in pairs. Thread-safe. */
#ifndef TD_COMPUTE_FFT_TWIDDLE_H
#define TD_COMPUTE_FFT_TWIDDLE_H

#include "base/errors.h"
#include "model/program.h"

/* td_twiddle multiplies the results of a transform, which `out` has, as its twiddle says. Returns
 * TD_OK or TD_ERR_NO_MEMORY. */
td_err td_twiddle(const struct td_transform *t, void *out);
/* td_tangle takes a part of one spectrum to the other, in place: kinds UNTANGLE and TANGLE
 * (program.h). Errors as above. */
td_err td_tangle(const struct td_transform *t, void *low, void *high);

#endif
