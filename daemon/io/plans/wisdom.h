/* SPDX-License-Identifier: Apache-2.0 */
/* wisdom: the file in which a node stores plans.
 *
 * Lines of text: the format; the version of FFTW, the processor and a hash of its flags, for which
 * alone the file is valid; a hash of the rest; records (fft_text.h); FFTW's wisdom for double and
 * for float. The file is replaced atomically. Owns: nothing. */
#ifndef TD_IO_PLANS_WISDOM_H
#define TD_IO_PLANS_WISDOM_H

#include <stdbool.h>
#include <stddef.h>

/* td_wisdom_load imports the file of the directory. A missing file is no error. If the file is
 * unusable it is removed, *why (of `size`) has a sentence, and the result is false. */
bool td_wisdom_load(const char *directory, char *why, size_t size);
/* td_wisdom_compose returns the file's text, which the caller frees, or NULL if memory runs out. */
char *td_wisdom_compose(void);
/* td_wisdom_write replaces the file and waits for the disk. On false errno has the error. */
bool td_wisdom_write(const char *directory, const char *text);

#endif
