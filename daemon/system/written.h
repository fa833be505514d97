/* SPDX-License-Identifier: Apache-2.0 */
/* written: whether the output of a program was written completely, such as on a full disk.
 * Owns: nothing. */
#ifndef TD_SYSTEM_WRITTEN_H
#define TD_SYSTEM_WRITTEN_H

#include <stdbool.h>
#include <stdio.h>

/* td_written_close closes a file that was opened to be written; NULL: fopen has just failed. If a
 * part of it is missing, td_written_close prints "PROGRAM: cannot write PATH: reason" to standard
 * error and returns false. */
bool td_written_close(FILE *file, const char *program, const char *path);

/* td_written_end closes standard output at the end of a program. It returns `code`, or 1 with a
 * sentence if `code` is 0 and a part of the output is missing. */
int td_written_end(const char *program, int code);

#endif
