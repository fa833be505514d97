/* SPDX-License-Identifier: Apache-2.0 */
#include "observers.h"

#include <grp.h>
#include <stddef.h>
#include <sys/socket.h>

enum { GROUPS_MAX = 1024 }; /* of a process that are looked at */

struct td_observers td_observers_find(const char *group)
{
    const struct group *found = group[0] ? getgrnam(group) : NULL;
    return (struct td_observers){.any = found != NULL, .group = found ? found->gr_gid : 0};
}

bool td_observers_has(const struct td_observers *o, int fd, gid_t primary)
{
    gid_t group[GROUPS_MAX];
    socklen_t bytes = sizeof group;
    if (!o->any || primary == o->group)
        return o->any;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, group, &bytes) != 0)
        return false; /* it has more groups: root may look */
    for (size_t i = 0; i < bytes / sizeof *group; i++)
        if (group[i] == o->group)
            return true;
    return false;
}
