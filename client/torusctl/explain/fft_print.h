/* SPDX-License-Identifier: Apache-2.0 */
/* fft_print: a transform's plan, for people and for machines. */
#ifndef TORUSCTL_EXPLAIN_FFT_PRINT_H
#define TORUSCTL_EXPLAIN_FFT_PRINT_H

#include "fft_moves.h"

void explain_fft_print(const struct explain_fft *x);
void explain_fft_json(const struct explain_fft *x);

#endif
