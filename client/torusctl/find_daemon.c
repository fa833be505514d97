/* SPDX-License-Identifier: Apache-2.0 */
#include "find_daemon.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool ctl_find_daemon(char *daemon, size_t bytes)
{
    char self[PATH_MAX], places[3 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/'), *rest = NULL;
    if (slash)
        *slash = '\0';
    const char *path = getenv("PATH");
    snprintf(places, sizeof places, "%s:%s/../sbin:%.*s:/usr/sbin", self, self, PATH_MAX / 2,
             path ? path : "");
    for (char *at = strtok_r(places, ":", &rest); at; at = strtok_r(NULL, ":", &rest)) {
        int size = snprintf(daemon, bytes, "%s/torusd", at);
        if (size < (int)bytes && access(daemon, X_OK) == 0)
            return true;
    }
    daemon[0] = '\0';
    return false;
}
