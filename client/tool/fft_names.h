/* SPDX-License-Identifier: Apache-2.0 */
/* fft_names: names of transforms and of transpose methods on the command line. */
#ifndef TORUSCTL_FFT_NAMES_H
#define TORUSCTL_FFT_NAMES_H

#include <stdbool.h>

/* fft_kind_name returns e.g. "dct2" of TORUS_TRANSFORM_REDFT10. */
const char *fft_kind_name(int kind);
/* fft_pass_name returns the name of a pass over the array (enum td_transform_kind). */
const char *fft_pass_name(unsigned kind);
/* fft_kinds_read reads kinds separated by commas, at most TORUS_DIMENSIONS_MAX. It returns their
 * number, or 0 if the text is malformed. */
int fft_kinds_read(const char *text, int *kind);
/* fft_kind_is_real returns true for a DCT or DST. */
bool fft_kind_is_real(int kind);
/* fft_kind_back returns the kind of the inverse transform. */
int fft_kind_back(int kind);

/* fft_method_read reads a transpose method of plans, TORUS_TRANSPOSE_*. It returns NULL, or a
 * sentence that lists the methods. */
const char *fft_method_read(const char *text, int *method);

#endif
