/* SPDX-License-Identifier: Apache-2.0 */
/* tool: a program of commands, and the functions that the commands of torusctl, torus-plan and
 * torus-array share. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 no daemon. */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "torus/torus.h"

enum { EXIT_WELL = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_DAEMON = 3 };

/* struct tool_command: a command. */
struct tool_command {
    const char *name;                  /* NULL: the program is one command */
    const char *arguments;             /* of the usage line */
    const char *what;                  /* one line */
    const char *options;               /* the help's lines about options; may be NULL */
    int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit code */
};

/* struct tool_moved: a command that another program has now. */
struct tool_moved {
    const char *name, *now;
};

/* struct tool: a program. `package` has the commands that moved. */
struct tool {
    const char *name;
    const struct tool_command *const *command; /* in the order of the help */
    size_t commands;
    const struct tool_moved *moved;
    size_t moves;
    const char *package;
};

/* tool_main runs the program that main begins, and returns its exit code. */
int tool_main(const struct tool *tool, int argc, char **argv);
/* tool_usage prints the help of a command and returns the exit code. `wrong`: a usage error; then
 * it prints the usage to stderr, after that sentence. */
int tool_usage(const char *name, const char *wrong);
/* tool_no_option returns the sentence for an unknown option; valid until the next call. */
const char *tool_no_option(const char *name);
/* tool_no_dashes returns the sentence for a command that has no -- before it; valid until the next
 * call. */
const char *tool_no_dashes(const char *command);
/* tool_take_option removes an option and its value from the arguments, and returns the value; NULL
 * if it is not there, or has no value. It leaves the arguments from -- on alone. */
const char *tool_take_option(int *argc, char **argv, const char *name);
/* tool_open returns an open context. On an error it prints the sentence, sets the exit code and
 * returns NULL. `socket` NULL: the default. `patience_s`: for the daemon's answer; 0: the
 * library's.
 */
torus_context *tool_open(const char *socket, double patience_s, int *code);
/* tool_error returns the latest error of a context for an operator: where the library tells a
 * program what to call, it says what to look at. */
const char *tool_error(const torus_context *c);
/* tool_seconds returns CLOCK_MONOTONIC in seconds. */
double tool_seconds(void);

#endif
