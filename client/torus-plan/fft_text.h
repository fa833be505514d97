/* SPDX-License-Identifier: Apache-2.0 */
/* fft_text: grids and layouts as text. */
#ifndef TORUSCTL_EXPLAIN_FFT_TEXT_H
#define TORUSCTL_EXPLAIN_FFT_TEXT_H

#include "fft_moves.h"

/* explain_grid_text writes 16x4. explain_array_text writes the layout of an array, without its
 * owners if these are 0, 1, ...; "by 2,1" after it: axis 2 is outermost in the owners' numbers.
 * "..." replaces text that does not fit. Both return text. explain_array_size returns the room that
 * the text needs. */
const char *explain_grid_text(const struct explain_grid *grid, char *text, size_t size);
const char *explain_array_text(const struct td_array *array, char *text, size_t size);
size_t explain_array_size(const struct td_array *array);
/* explain_seconds_text writes e.g. "2.1 ms" and returns text. */
const char *explain_seconds_text(double s, char *text, size_t size);

#endif
