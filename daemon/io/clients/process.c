/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* pidfd_of returns a pidfd of the process that connected a socket, or -1 with errno. */
static int pidfd_of(int socket, int pid)
{
    int fd = -1;
    socklen_t length = sizeof fd;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &length) == 0)
        return fd;
    if (errno == EMFILE || errno == ENFILE || pid <= 0)
        return -1;
    return (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec, as all pidfds */
}

char td_process_state(uint64_t pid)
{
    char path[64], text[256];
    if (pid == 0)
        return 0;
    /* of its first thread: that of the process has sums over all threads, which take long */
    snprintf(path, sizeof path, "/proc/%llu/task/%llu/stat", (unsigned long long)pid,
             (unsigned long long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) /* /proc may hide other users' processes */
        return kill((pid_t)pid, 0) < 0 && errno == ESRCH ? 'X' : 0;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0)
        return got < 0 && errno == ESRCH ? 'X' : 0;
    text[got] = '\0';
    const char *end = strrchr(text, ')'); /* of the program's name, which may have any letters */
    return end && end[1] == ' ' && end[2] > ' ' && end[2] < 127 ? end[2] : 0;
}

static void on_poll(uv_poll_t *poll, int error, int events)
{
    struct td_process *p = poll->data;
    (void)error;
    (void)events;
    uv_poll_stop(poll);
    p->ended(p->user);
}

bool td_process_watch(struct td_process *p, uv_loop_t *uv, int socket, int pid,
                      void (*ended)(void *user), void *user)
{
    *p = (struct td_process){.fd = pidfd_of(socket, pid), .ended = ended, .user = user};
    if (p->fd >= 0 && uv_poll_init(uv, &p->poll, p->fd) == 0) {
        p->poll.data = p;
        uv_poll_start(&p->poll, UV_READABLE, on_poll);
        return true;
    }
    if (p->fd >= 0)
        close(p->fd);
    else if (errno == ESRCH)
        ended(user); /* it has ended already */
    bool known = p->fd < 0 && errno == ESRCH;
    p->fd = -1;
    return known;
}

static void on_closed(uv_handle_t *handle)
{
    struct td_process *p = handle->data;
    close(p->fd);
    p->closed(p->user);
}

void td_process_unwatch(struct td_process *p, void (*closed)(void *user))
{
    p->closed = closed;
    if (p->fd < 0) {
        closed(p->user);
        return;
    }
    uv_poll_stop(&p->poll);
    uv_close((uv_handle_t *)&p->poll, on_closed);
}
