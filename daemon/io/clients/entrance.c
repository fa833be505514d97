/* SPDX-License-Identifier: Apache-2.0 */
#include "entrance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "io/log.h"
#include "system/limits.h"

enum { WATCH_MS = 500 };

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

/* make returns a new socket that listens at a path, or -1 with a sentence in why. */
static int make(const char *path, char *why, size_t why_bytes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[TD_LIMIT_TEXT];
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
    snprintf(why, why_bytes, "cannot listen on %s: %s", path,
             td_limit_why(errno, text, sizeof text));
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

/* ---- the path ---- */

/* complain logs why no process can connect, once for each reason. */
static void complain(struct td_entrance *e, const char *why)
{
    if (strcmp(why, e->told) == 0)
        return;
    snprintf(e->told, sizeof e->told, "%s", why);
    td_log(TD_LOG_ERROR,
           "the socket %s was removed or replaced, so that no process can connect: %s",
           e->file.path, why);
}

static void on_watch(uv_timer_t *timer)
{
    struct td_entrance *e = timer->data;
    char why[TD_TEXT_MAX], path[sizeof e->file.path];
    int fd = -1;
    if (td_unix_is_there(&e->file)) {
        e->told[0] = '\0';
        return;
    }
    if (e->passed)
        snprintf(why, sizeof why, "systemctl restart torusd.socket makes it again");
    else
        fd = make(e->file.path, why, sizeof why);
    if (fd < 0) {
        complain(e, why);
        return;
    }
    snprintf(path, sizeof path, "%s", e->file.path);
    td_unix_note(&e->file, path);
    td_acceptor_renew(&e->acceptor, fd);
    e->told[0] = '\0';
    td_log(TD_LOG_WARNING, "made the socket %s again, which was removed or replaced", path);
}

bool td_entrance_open(struct td_entrance *e, uv_loop_t *uv, const char *path,
                      const struct td_acceptor_calls *calls, void *user, char *why,
                      size_t why_bytes)
{
    int count = sd_listen_fds(0); /* other threads run: the environment stays as it is */
    *e = (struct td_entrance){.passed = count > 0};
    int fd = e->passed ? take(count, path, why, why_bytes) : make(path, why, why_bytes);
    if (fd < 0 || !td_acceptor_start(&e->acceptor, uv, fd, "clients", calls, user))
        return false;
    td_unix_note(&e->file, path);
    uv_timer_init(uv, &e->watch);
    e->watch.data = e;
    uv_timer_start(&e->watch, on_watch, WATCH_MS, WATCH_MS);
    return true;
}

void td_entrance_close(struct td_entrance *e)
{
    if (!e->passed)
        td_unix_remove(&e->file);
    td_acceptor_stop(&e->acceptor, NULL);
    uv_close((uv_handle_t *)&e->watch, NULL);
}
