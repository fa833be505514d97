/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl: the form of a subcommand, and the functions that subcommands share. Exit codes: 0
 * success, 1 failure, 2 wrong usage, 3 no daemon. */
#ifndef TORUSCTL_H
#define TORUSCTL_H

#include <stdbool.h>

#include "torus/torus.h"

enum { EXIT_WELL = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_DAEMON = 3 };

/* struct ctl_command: a subcommand. Its file defines ctl_command_NAME; torusctl.c has the table. */
struct ctl_command {
    const char *name;
    const char *arguments;             /* of the usage line */
    const char *what;                  /* one line */
    const char *options;               /* the help's lines about options; may be NULL */
    int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit code */
};
extern const struct ctl_command ctl_command_status, ctl_command_ops, ctl_command_stragglers,
    ctl_command_why, ctl_command_trace, ctl_command_jobs, ctl_command_groups, ctl_command_topology,
    ctl_command_links, ctl_command_ping, ctl_command_doctor, ctl_command_cancel, ctl_command_config,
    ctl_command_queues, ctl_command_plans, ctl_command_emulate, ctl_command_explain,
    ctl_command_fft, ctl_command_redist, ctl_command_bench, ctl_command_compare, ctl_command_filter,
    ctl_command_picture, ctl_command_keygen, ctl_command_reload, ctl_command_run;

/* ctl_usage prints the help of a subcommand and returns the exit code. `wrong`: a usage error; then
 * it prints the usage to stderr, after that sentence. */
int ctl_usage(const char *name, const char *wrong);
/* ctl_no_option returns the sentence for an unknown option; valid until the next call. */
const char *ctl_no_option(const char *name);
/* ctl_take_option removes an option and its value from the arguments, and returns the value; NULL
 * if it is not there, or has no value. It leaves the arguments from -- on alone. */
const char *ctl_take_option(int *argc, char **argv, const char *name);
/* ctl_open returns an open context. On an error it prints the sentence, sets the exit code and
 * returns NULL. `socket` NULL: the default. `patience_s`: for the daemon's answer; 0: the
 * library's.
 */
torus_context *ctl_open(const char *socket, double patience_s, int *code);
/* ctl_error returns the latest error of a context for an operator: where the library tells a
 * program what to call, it says what to look at. */
const char *ctl_error(const torus_context *c);
/* ctl_seconds returns CLOCK_MONOTONIC in seconds. */
double ctl_seconds(void);

#endif
