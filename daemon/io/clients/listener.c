/* SPDX-License-Identifier: Apache-2.0 */
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "io/unix.h"

/* make_parent creates the socket's folder, like RuntimeDirectory= of systemd. */
static void make_parent(const char *path)
{
    char folder[128];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) {
        *slash = '\0';
        mkdir(folder, 0755);
    }
}

static int make(const char *path, char *why, size_t why_bytes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[200];
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (!td_unix_clear(path, SOCK_SEQPACKET, text, sizeof text)) {
        snprintf(why, why_bytes, "cannot listen for clients: %s, or set socket in [node]", text);
        return -1;
    }
    make_parent(path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        chmod(path, 0666) == 0 && listen(fd, 128) == 0)
        return fd;
    snprintf(why, why_bytes, "cannot listen on %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* take returns the socket that the service manager passed. */
static int take(int count, const char *path, char *why, size_t why_bytes)
{
    int fd = SD_LISTEN_FDS_START;
    if (count > 1) {
        snprintf(why, why_bytes, "systemd passed %d sockets: torusd.socket must have one", count);
        return -1;
    }
    if (sd_is_socket_unix(fd, SOCK_SEQPACKET, 1, path, 0) <= 0) {
        snprintf(why, why_bytes,
                 "the socket that systemd passed is not %s: torusd.socket needs "
                 "ListenSequentialPacket= with the path of [node] socket",
                 path);
        return -1;
    }
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0)
        return fd;
    snprintf(why, why_bytes, "cannot use the socket that systemd passed: %s", strerror(errno));
    return -1;
}

int td_listener_open(const char *path, bool *passed, char *why, size_t why_bytes)
{
    int count = sd_listen_fds(0); /* other threads run: the environment stays as it is */
    *passed = count > 0;
    return *passed ? take(count, path, why, why_bytes) : make(path, why, why_bytes);
}
