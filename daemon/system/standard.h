/* SPDX-License-Identifier: Apache-2.0 */
/* standard: descriptors 0 to 2, which belong to standard input, output and error.
 *
 * A process may be started with some of them closed. The next descriptor that it opens then gets
 * such a number, and a message to standard error goes into that file or connection. A program fills
 * the numbers at its start. A library cannot: it moves each of its descriptors above them.
 * Owns: nothing. */
#ifndef TD_SYSTEM_STANDARD_H
#define TD_SYSTEM_STANDARD_H

/* td_standard_start prepares a program, before it opens anything. It opens /dev/null for those of
 * the descriptors 0 to 2 that are closed, in the wrong direction: reads and writes still fail with
 * EBADF. It ignores SIGXFSZ: a write beyond the limit of file sizes then fails with EFBIG. */
void td_standard_start(void);

/* td_standard_restore undoes the signal handling of td_standard_start, in a child that runs another
 * program. */
void td_standard_restore(void);

/* td_standard_avoid returns a copy of `fd` above 2 and closes `fd`, or returns `fd` if it is above
 * 2 or -1. On an error it closes `fd` and returns -1 with errno. The copy is closed on exec. It
 * keeps errno if it succeeds. */
int td_standard_avoid(int fd);

#endif
