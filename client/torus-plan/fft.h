/* SPDX-License-Identifier: Apache-2.0 */
/* fft: the data movement of a transform, stage by stage, at one node. */
#ifndef TORUSCTL_EXPLAIN_FFT_H
#define TORUSCTL_EXPLAIN_FFT_H

/* explain_fft is `torus-plan fft`; it returns the exit code. */
int explain_fft(int argc, char **argv);

#endif
