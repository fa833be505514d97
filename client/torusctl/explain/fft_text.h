/* SPDX-License-Identifier: Apache-2.0 */
/* fft_text: grids and layouts in words. */
#ifndef TORUSCTL_EXPLAIN_FFT_TEXT_H
#define TORUSCTL_EXPLAIN_FFT_TEXT_H

#include "fft_moves.h"

/* explain_grid_text writes 16x4. explain_array_text writes the layout of an array, without its
 * owners where these are 0, 1, ...; "by 2,1" behind it: axis 2 is outermost in their numbers; what
 * there is no room for is left out, with "..." for it. Both return text. explain_array_size returns
 * how much room it takes. */
const char *explain_grid_text(const struct explain_grid *grid, char *text, size_t size);
const char *explain_array_text(const struct td_array *array, char *text, size_t size);
size_t explain_array_size(const struct td_array *array);

#endif
