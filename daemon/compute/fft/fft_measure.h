/* SPDX-License-Identifier: Apache-2.0 */
/* fft_measure: the process that measures plans, one shape in its life.
 *
 * FFTW's planner is one uninterruptible lock of the process it runs in, overwrites memory, and
 * aborts when there is none: the daemon has a process of its own for it, which may be killed.
 * Standard input: a line "EFFORT SECONDS SHAPE" (numbers; fft_text.h), then wisdom there already
 * is. Standard output: a line "ESTIMATE MEASURED PLANNING" in nanoseconds, then all the wisdom. */
#ifndef TD_COMPUTE_FFT_FFT_MEASURE_H
#define TD_COMPUTE_FFT_FFT_MEASURE_H

/* td_fft_measure_main does what standard input asks for, and returns the exit code. */
int td_fft_measure_main(void);

#endif
