/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_program: torusd as a program that reads a configuration, and says something of it. */
#ifndef TORUSCTL_INSPECT_DAEMON_PROGRAM_H
#define TORUSCTL_INSPECT_DAEMON_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* ins_daemon_run starts torusd with a configuration (NULL: its default) and one more option. It
 * returns what torusd prints, with `errors_too` also its errors, or NULL. ins_daemon_end closes
 * that, waits for torusd, and returns its exit code. */
FILE *ins_daemon_run(const char *daemon, const char *file, const char *option, bool errors_too,
                     pid_t *pid);
int ins_daemon_end(FILE *output, pid_t pid);
/* ins_daemon_check returns true if torusd accepts a configuration, and what it says of it. */
bool ins_daemon_check(const char *daemon, const char *file, char *text, size_t bytes);

#endif
