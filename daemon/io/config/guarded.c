/* SPDX-License-Identifier: Apache-2.0 */
#include "guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { OTHERS_WRITE = S_IWGRP | S_IWOTH };

FILE *td_guarded_open(const char *path, size_t bytes_max, struct stat *st, char *why,
                      size_t why_bytes)
{
    FILE *f = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO would wait */
    bool there = fd >= 0 && fstat(fd, st) == 0;
    if (there && !S_ISREG(st->st_mode))
        snprintf(why, why_bytes, "it is not a regular file");
    else if (there && (st->st_size < 0 || (uint64_t)st->st_size > bytes_max))
        snprintf(why, why_bytes, "it has %lld bytes: at most %zu are read", (long long)st->st_size,
                 bytes_max);
    else if (!there || !(f = fdopen(fd, "r")))
        snprintf(why, why_bytes, "%s", strerror(errno));
    if (!f && fd >= 0)
        close(fd);
    return f;
}

/* is_guarded checks one file or folder. */
static bool is_guarded(const char *what, const char *path, const struct stat *st, uid_t user,
                       char *why, size_t why_bytes)
{
    bool sticky = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX);
    if ((st->st_mode & OTHERS_WRITE) && !sticky)
        snprintf(why, why_bytes, "other users may write %s (mode %04o): chmod go-w %s", what,
                 (unsigned)st->st_mode & 07777, path);
    else if (st->st_uid != 0 && st->st_uid != user)
        snprintf(why, why_bytes, "uid %lu owns %s: chown it to root or uid %lu: %s",
                 (unsigned long)st->st_uid, what, (unsigned long)user, path);
    else
        return true;
    return false;
}

/* is_guarded_in checks the folder of a file. */
static bool is_guarded_in(const char *path, uid_t user, char *why, size_t why_bytes)
{
    char folder[PATH_MAX];
    struct stat st;
    struct statvfs fs;
    const char *slash = strrchr(path, '/');
    size_t length = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    snprintf(folder, sizeof folder, "%.*s", length ? (int)length : 1, length ? path : ".");
    if (statvfs(folder, &fs) == 0 && (fs.f_flag & ST_RDONLY))
        return true;
    if (stat(folder, &st) == 0)
        return is_guarded("its folder", folder, &st, user, why, why_bytes);
    snprintf(why, why_bytes, "cannot examine its folder %s: %s", folder, strerror(errno));
    return false;
}

bool td_guarded_by(const char *path, const struct stat *st, uid_t user, char *why, size_t why_bytes)
{
    char real[PATH_MAX];
    return is_guarded("the file", path, st, user, why, why_bytes) &&
           is_guarded_in(path, user, why, why_bytes) &&
           (!realpath(path, real) || is_guarded_in(real, user, why, why_bytes));
}
