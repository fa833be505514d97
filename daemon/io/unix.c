/* SPDX-License-Identifier: Apache-2.0 */
#include "unix.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* name_owner writes a sentence that names the listening process: the peer of the connection. */
static void name_owner(int fd, const char *path, char *why, size_t why_bytes)
{
    struct ucred owner = {0};
    socklen_t length = sizeof owner;
    char file[64], name[32] = "";
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &length) != 0 || owner.pid <= 0) {
        snprintf(why, why_bytes, "another process serves %s: stop it", path);
        return;
    }
    snprintf(file, sizeof file, "/proc/%d/comm", (int)owner.pid);
    FILE *f = fopen(file, "re");
    if (f && fgets(name, sizeof name, f))
        name[strcspn(name, "\n")] = '\0';
    if (f)
        fclose(f);
    snprintf(why, why_bytes, "%s (process %d) serves %s: stop it", name[0] ? name : "a program",
             (int)owner.pid, path);
}

bool td_unix_clear(const char *path, int type, char *why, size_t why_bytes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >=
        (int)sizeof address.sun_path) {
        snprintf(why, why_bytes, "the path %s is longer than 107 characters: shorten it", path);
        return false;
    }
    if (lstat(path, &st) != 0)
        return true; /* bind will report any other error */
    if (!S_ISSOCK(st.st_mode)) {
        snprintf(why, why_bytes, "%s exists and is not a socket: remove it", path);
        return false;
    }
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
    bool stale = fd >= 0 && error == ECONNREFUSED;
    if (stale)
        unlink(path);
    else if (error == EACCES || error == EPERM)
        snprintf(why, why_bytes, "%s belongs to another user: remove it", path);
    else
        name_owner(error == 0 ? fd : -1, path, why, why_bytes); /* EAGAIN: its queue is full */
    if (fd >= 0)
        close(fd);
    return stale;
}

void td_unix_note(struct td_unix_file *file, const char *path)
{
    struct stat st = {0};
    bool there = lstat(path, &st) == 0;
    snprintf(file->path, sizeof file->path, "%s", path);
    file->device = st.st_dev;
    file->inode = there ? st.st_ino : 0;
}

bool td_unix_is_there(const struct td_unix_file *file)
{
    struct stat st;
    return lstat(file->path, &st) == 0 && st.st_dev == file->device && st.st_ino == file->inode;
}

void td_unix_remove(struct td_unix_file *file)
{
    if (file->path[0] && td_unix_is_there(file))
        unlink(file->path);
    file->path[0] = '\0';
}
