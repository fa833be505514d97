/* SPDX-License-Identifier: Apache-2.0 */
/* fft_names: what people call the transforms of an axis, and the ways to transpose. */
#ifndef TORUSCTL_FFT_NAMES_H
#define TORUSCTL_FFT_NAMES_H

#include <stdbool.h>

/* fft_kind_name returns e.g. "dct2" of TORUS_TRANSFORM_REDFT10. */
const char *fft_kind_name(int kind);
/* fft_pass_name: of a pass of the array (enum td_transform_kind). */
const char *fft_pass_name(unsigned kind);
/* fft_kinds_read reads kinds with commas between, at most TORUS_DIMENSIONS_MAX. Returns how many;
 * 0: these are none. */
int fft_kinds_read(const char *text, int *kind);
/* fft_kind_is_real: a DCT or DST. */
bool fft_kind_is_real(int kind);
/* fft_kind_back returns the kind that leads back. */
int fft_kind_back(int kind);

/* fft_method_read reads a way to transpose that plans can have, TORUS_TRANSPOSE_*. Returns NULL, or
 * the sentence that names them. */
const char *fft_method_read(const char *text, int *method);

#endif
