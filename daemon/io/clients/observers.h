/* SPDX-License-Identifier: Apache-2.0 */
/* observers: the group of system users who may see the jobs of all users.
 * Owns: nothing. */
#ifndef TD_IO_CLIENTS_OBSERVERS_H
#define TD_IO_CLIENTS_OBSERVERS_H

#include <stdbool.h>
#include <sys/types.h>

struct td_observers {
    bool any; /* the group exists on this machine */
    gid_t group;
};

/* td_observers_find looks a group up, which may ask a directory service: only at the start. */
struct td_observers td_observers_find(const char *group);
/* td_observers_has returns true if the process at the other end of a Unix socket belongs to the
 * group, by its primary group or another one. */
bool td_observers_has(const struct td_observers *observers, int fd, gid_t primary);

#endif
