/* SPDX-License-Identifier: Apache-2.0 */
/* fft_measure: a process that measures the plans of one shape.
 *
 * FFTW's planner holds one lock for the whole process, cannot be interrupted, overwrites memory,
 * and aborts without memory. Therefore the daemon runs it in a process of its own, which it may
 * kill.
 * Standard input: a line "EFFORT SECONDS SHAPE" (numbers; fft_text.h), then the existing wisdom.
 * Standard output: a line "ESTIMATE MEASURED PLANNING" in nanoseconds, then all wisdom. */
#ifndef TD_COMPUTE_FFT_FFT_MEASURE_H
#define TD_COMPUTE_FFT_FFT_MEASURE_H

/* td_fft_measure_main measures the shape on standard input and returns the exit code. */
int td_fft_measure_main(void);

#endif
