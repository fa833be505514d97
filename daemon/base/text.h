/* SPDX-License-Identifier: Apache-2.0 */
/* text: names and sentences that clients, daemons and people chose.
 *
 * A text is *plain* if it is UTF-8 (RFC 3629: no surrogate, no overlong form) without characters
 * that a terminal, a log or a page would obey: control characters (C0, DEL, C1), line and paragraph
 * separators, bidirectional controls, characters without width, and noncharacters. Names are plain
 * or refused; sentences are shown as plain text. Pure. */
#ifndef TD_BASE_TEXT_H
#define TD_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { TD_TEXT_FAULT_MAX = 64 };

/* td_text_fault returns NULL if a text is plain. Else it writes the first fault to `fault`, of
 * TD_TEXT_FAULT_MAX bytes, such as "byte 5 is the control character U+001B", and returns it. */
const char *td_text_fault(const char *text, char *fault);
/* td_text_show writes a text as plain text: a character that is not plain becomes \u001b, a byte
 * that is not UTF-8 becomes \377. (libsmartcols, which prints tables, would escape \x again.) A
 * text that does not fit `size` bytes, or ends within a character, is cut before that character. It
 * returns `to`. */
const char *td_text_show(const char *text, char *to, size_t size);
/* td_text_distance returns the edit distance (Levenshtein) of the first 63 bytes of two words. */
size_t td_text_distance(const char *a, const char *b);

#endif
