/* SPDX-License-Identifier: Apache-2.0 */
/* fft: batches of 1-D transforms by FFTW, with a cache of plans.
 *
 * FFTW's planner is one lock for the whole process; plans are made by estimate only, which takes
 * microseconds to a few milliseconds and touches no data. Execution holds no lock.
 * Owns: the cache, process-wide. Thread-safe. */
#ifndef TD_COMPUTE_FFT_H
#define TD_COMPUTE_FFT_H

#include "core/program.h"

/* td_fft_run transforms in -> out (the same address: in place). TD_ERR_NO_MEMORY when FFTW makes no
 * plan. */
td_err td_fft_run(const struct td_transform *t, void *in, void *out);
void td_fft_fini(void);

#endif
