/* SPDX-License-Identifier: Apache-2.0 */
/* fft_text: shapes and records as a line of numbers, for files and other processes. Pure. */
#ifndef TD_COMPUTE_FFT_FFT_TEXT_H
#define TD_COMPUTE_FFT_FFT_TEXT_H

#include "fft.h"

enum { TD_FFT_LINE_MAX = 512 };

/* td_shape_print writes a shape without a newline. td_shape_parse reads one and points *rest (may
 * be NULL) behind it; it returns false if the text is malformed or the shape impossible. */
void td_shape_print(const struct td_shape *shape, char *text, size_t size);
bool td_shape_parse(struct td_shape *shape, const char *text, const char **rest);
void td_fft_record_print(const struct td_fft_record *record, char *text, size_t size);
bool td_fft_record_parse(struct td_fft_record *record, const char *text);

#endif
