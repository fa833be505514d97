/* SPDX-License-Identifier: Apache-2.0 */
/* fft_reference: a transform of a file beside FFTW's of the whole array, in this one process. */
#ifndef TORUSCTL_FFT_REFERENCE_H
#define TORUSCTL_FFT_REFERENCE_H

#include "fft_options.h"

/* Elements of an array that one process transforms without being noticed. */
enum { FFT_REFERENCE_MAX = 1 << 22 };

/* fft_reference_error writes the relative L2 error of the output's file against the transform of
 * the input's. False: a file cannot be read, or there is no memory; why is in text. */
bool fft_reference_error(const struct fft_options *options, const struct fft_job *job,
                         double *error, char *text, size_t size);

#endif
