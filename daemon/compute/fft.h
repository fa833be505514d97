/* SPDX-License-Identifier: Apache-2.0 */
/* fft: batches of 1-D transforms by FFTW, with a cache of plans.
 *
 * A transform never waits for a measurement: its plan comes from wisdom, which is imported when
 * some other process has measured (fft_wisdom.h), or by estimate; both take microseconds to a few
 * milliseconds and touch no data. Execution holds no lock.
 * Owns: the cache, process-wide. Thread-safe. */
#ifndef TD_COMPUTE_FFT_H
#define TD_COMPUTE_FFT_H

#include "core/program.h"

/* td_fft_run transforms in -> out (the same address: in place). Out of place the input stays as it
 * is. TD_ERR_NO_MEMORY when FFTW makes no plan. */
td_err td_fft_run(const struct td_transform *t, void *in, void *out);
void td_fft_fini(void);

#endif
