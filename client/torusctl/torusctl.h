/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl: one file a subcommand; each is a main() of its own. Exit codes: 0 well, 1 failed, 2
 * usage, 3 no daemon. */
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

/* ctl_usage prints the subcommand's help, on stderr with exit code 2 when `wrong` says why. */
int ctl_usage(const char *name, const char *wrong);
/* ctl_no_option returns the sentence that there is no option of that name; until the next call. */
const char *ctl_no_option(const char *name);
/* ctl_open opens the context, or prints the sentence and sets *code. NULL on an error. */
torus_context *ctl_open(const char *socket, int *code);
double ctl_seconds(void);

#endif
