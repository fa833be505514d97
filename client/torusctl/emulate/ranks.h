/* SPDX-License-Identifier: Apache-2.0 */
/* ranks: the processes of the command, each with its node, its environment and its output. */
#ifndef TORUSCTL_RANKS_H
#define TORUSCTL_RANKS_H

#include "emulation.h"

/* ranks_ask returns true if an option is among the arguments of the command. */
bool ranks_ask(const struct emulation *e, const char *option);
/* ranks_start starts all ranks. It returns false if one cannot be started. */
bool ranks_start(struct emulation *e);
/* ranks_end takes note of the end of a process, with its status of waitpid. If it was a rank, the
 * function kills the remaining processes of the rank's group, and the first nonzero exit code
 * becomes that of the emulation. It reports a signal that this process did not send. */
void ranks_end(struct emulation *e, pid_t pid, int status);
/* ranks_signal sends a signal to the process group of each rank. */
void ranks_signal(struct emulation *e, int number);

#endif
