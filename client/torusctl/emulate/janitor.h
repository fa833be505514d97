/* SPDX-License-Identifier: Apache-2.0 */
/* janitor: two processes that clean up after each other, even if one of them is killed with
 * SIGKILL.
 *
 * The janitor is the process that the user called. Its child, the keeper, starts all others. Both
 * are subreapers: a process whose parent has died becomes their child, whatever session, process
 * group or environment it has. The janitor forwards signals, and ends the remaining processes if
 * the keeper is killed. The keeper ends all processes if the janitor is killed. Borrows: the name
 * of the folder. Owns: the list of daemons, in memory that both processes share. */
#ifndef TORUSCTL_JANITOR_H
#define TORUSCTL_JANITOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* JANITOR_LOST is the signal that the keeper gets when the janitor has died. */
enum { JANITOR_LOST = SIGUSR1 };

struct janitor {
    const char *folder; /* contains files only; NULL: there is none */
    pid_t *daemons;     /* [count], shared by both processes; 0: has ended */
    uint32_t count;
};

/* janitor_init allocates the list of daemons and makes this process a subreaper. */
bool janitor_init(struct janitor *janitor, const char *folder, uint32_t daemons);
/* janitor_fork returns true in the keeper. The calling process becomes the janitor and exits with
 * the keeper's code. It returns false with errno if it cannot start the keeper. */
bool janitor_fork(const struct janitor *janitor);
/* janitor_clean_up ends all descendants of this process and removes the folder. Daemons end by
 * themselves when their pipe closes; it gives them some time for that. */
void janitor_clean_up(const struct janitor *janitor);

#endif
