/* SPDX-License-Identifier: Apache-2.0 */
/* ranks: the processes of the command, each with its node, its environment and its output. */
#ifndef TORUSCTL_RANKS_H
#define TORUSCTL_RANKS_H

#include "emulation.h"

/* ranks_ask returns true if an option is among the arguments of the command. */
bool ranks_ask(const struct emulation *e, const char *option);
/* ranks_start starts all ranks. It returns false if one cannot be started. */
bool ranks_start(struct emulation *e);
/* ranks_end takes note of the end of a process: if it was a rank, it kills the remaining processes
 * of the rank's group, and the first nonzero exit code becomes that of the emulation. */
void ranks_end(struct emulation *e, pid_t pid, int code);
/* ranks_signal sends a signal to the process group of each rank. */
void ranks_signal(const struct emulation *e, int number);

#endif
