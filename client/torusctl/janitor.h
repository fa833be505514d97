/* SPDX-License-Identifier: Apache-2.0 */
/* janitor: a child that outlives torusctl just long enough to clean up after it, however it ends.
 * It is told of every process started; at the end of its pipe, which only torusctl holds, it kills
 * what is left of the ranks, waits for the daemons, kills those that stay, and removes the folder.
 * Owns: the child and the pipe. */
#ifndef TORUSCTL_JANITOR_H
#define TORUSCTL_JANITOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct janitor {
    pid_t pid;
    int books; /* the pipe to it */
};

enum janitor_entry { JANITOR_DAEMON, JANITOR_RANK, JANITOR_RANK_ENDED };

/* janitor_start: for a folder of files without folders in it, and at most so many processes. */
bool janitor_start(struct janitor *janitor, const char *folder, uint32_t ranks, uint32_t daemons);
/* janitor_book tells of a process; a rank leads a process group of its own. */
void janitor_book(const struct janitor *janitor, enum janitor_entry kind, pid_t pid);
/* janitor_end has it clean up now, and waits until it has. */
void janitor_end(struct janitor *janitor);

#endif
