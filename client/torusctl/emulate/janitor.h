/* SPDX-License-Identifier: Apache-2.0 */
/* janitor: two processes that clean up after each other, so that nothing is left however one of
 * them ends, kill -9 included. The janitor is the process that was called; its child, the keeper,
 * starts all the others. Both are subreapers: processes whose parents have died become their
 * children, whatever sessions, groups or environments they have made for themselves. The janitor
 * passes signals on, and ends what is left when the keeper was killed; the keeper ends all when the
 * janitor was. Borrows: the folder's name, and the daemons' list, which is in memory that both
 * share. */
#ifndef TORUSCTL_JANITOR_H
#define TORUSCTL_JANITOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* JANITOR_LOST is the signal that the keeper gets when the janitor has died. */
enum { JANITOR_LOST = SIGUSR1 };

struct janitor {
    const char *folder; /* of files, without folders in it */
    pid_t *daemons;     /* [count], 0 for one that has ended; shared by both processes */
    uint32_t count;
};

bool janitor_init(struct janitor *janitor, const char *folder, uint32_t daemons);
/* janitor_fork returns in the keeper. The caller stays behind as the janitor and exits with the
 * keeper's code. False, with errno, when there can be no keeper. */
bool janitor_fork(const struct janitor *janitor);
/* janitor_clean_up ends all children of this process, and theirs, and removes the folder. Daemons
 * end by themselves when nobody holds their pipe, and have some time for that. */
void janitor_clean_up(const struct janitor *janitor);

#endif
