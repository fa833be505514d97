/* SPDX-License-Identifier: Apache-2.0 */
/* fft: how the data of a transform travel, stage by stage, as one node has them. */
#ifndef TORUSCTL_EXPLAIN_FFT_H
#define TORUSCTL_EXPLAIN_FFT_H

/* explain_fft is `torusctl explain fft`; it returns the exit code. */
int explain_fft(int argc, char **argv);

#endif
