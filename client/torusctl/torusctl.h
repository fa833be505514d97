/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl: the subcommands and their common functions. ctl_NAME is the main function of subcommand
 * NAME, in NAME.c. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 no daemon. */
#ifndef TORUSCTL_H
#define TORUSCTL_H

#include "torus/torus.h"

enum { EXIT_WELL = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_DAEMON = 3 };

int ctl_emulate(int argc, char **argv);
int ctl_fft(int argc, char **argv);
int ctl_redist(int argc, char **argv);
int ctl_status(int argc, char **argv);
int ctl_ops(int argc, char **argv);
int ctl_queues(int argc, char **argv);
int ctl_plans(int argc, char **argv);
int ctl_explain(int argc, char **argv);
int ctl_bench(int argc, char **argv);
int ctl_compare(int argc, char **argv);
int ctl_filter(int argc, char **argv);
int ctl_picture(int argc, char **argv);

/* ctl_usage prints the help of a subcommand and returns the exit code. `wrong`: a usage error; then
 * it prints the usage to stderr, after that sentence. */
int ctl_usage(const char *name, const char *wrong);
/* ctl_no_option returns the sentence for an unknown option; valid until the next call. */
const char *ctl_no_option(const char *name);
/* ctl_open returns an open context. On an error it prints the sentence, sets the exit code and
 * returns NULL. `socket` NULL: the default. */
torus_context *ctl_open(const char *socket, int *code);
/* ctl_seconds returns CLOCK_MONOTONIC in seconds. */
double ctl_seconds(void);

#endif
