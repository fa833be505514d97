/* SPDX-License-Identifier: Apache-2.0 */
/* fft_reference: comparison of a transformed file with FFTW on the whole array, in one process. */
#ifndef TORUSCTL_FFT_REFERENCE_H
#define TORUSCTL_FFT_REFERENCE_H

#include "fft_options.h"

/* Elements of the largest array to compare: a fraction of a second in one process. */
enum { FFT_REFERENCE_MAX = 1 << 22 };

/* fft_reference_error writes the relative L2 error of the output file against the transform of the
 * input file. It returns false with the sentence in text if a file cannot be read or there is no
 * memory. */
bool fft_reference_error(const struct fft_options *options, const struct fft_job *job,
                         double *error, char *text, size_t size);

#endif
