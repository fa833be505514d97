/* SPDX-License-Identifier: Apache-2.0 */
/* fft_print: a transform's plan as text and as JSON. */
#ifndef TORUSCTL_EXPLAIN_FFT_PRINT_H
#define TORUSCTL_EXPLAIN_FFT_PRINT_H

#include "fft_moves.h"

void explain_fft_print(const struct explain_fft *x);
void explain_fft_json(const struct explain_fft *x);

#endif
