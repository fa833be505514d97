/* SPDX-License-Identifier: Apache-2.0 */
/* wisdom: the file in which a node keeps what is known of plans.
 *
 * Lines of text: what it is; the version of FFTW, the processor and a hash of its flags, for which
 * alone it is true; a hash of all that follows; records (fft_text.h); FFTW's wisdom, of doubles and
 * of floats. It is replaced as a whole or not at all. Owns: nothing. */
#ifndef TD_IO_PLANS_WISDOM_H
#define TD_IO_PLANS_WISDOM_H

#include <stdbool.h>
#include <stddef.h>

/* td_wisdom_load takes in what the directory has. False: the file cannot be used, and *why (of
 * `size`) says so; it is removed. No file is well. */
bool td_wisdom_load(const char *directory, char *why, size_t size);
/* td_wisdom_compose returns the file's text, to be freed; NULL: no memory. */
char *td_wisdom_compose(void);
/* td_wisdom_write replaces the file; it waits for the disk. False: errno says why. */
bool td_wisdom_write(const char *directory, const char *text);

#endif
