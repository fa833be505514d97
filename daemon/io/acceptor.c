/* SPDX-License-Identifier: Apache-2.0 */
#include "acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"

enum { PAUSE_MS = 250 };

#define LOG_INTERVAL_NS 60000000000u

/* has_descriptor returns true if the process has a descriptor for another connection; else errno
 * has the error. */
static bool has_descriptor(const struct td_acceptor *a)
{
    struct rlimit limit;
    int lowest = fcntl(a->fd, F_DUPFD_CLOEXEC, 0); /* the number that accept would return */
    if (lowest < 0)
        return false;
    close(lowest);
    errno = EMFILE;
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
           (rlim_t)lowest + (rlim_t)a->spare < limit.rlim_cur;
}

static void on_pause_over(uv_timer_t *timer)
{
    td_acceptor_resume(timer->data);
}

static void pause_accepting(struct td_acceptor *a, int error)
{
    uv_poll_stop(&a->poll);
    uv_timer_start(&a->pause, on_pause_over, PAUSE_MS, 0);
    uint64_t now = uv_hrtime();
    if (!a->logged_at || now - a->logged_at >= LOG_INTERVAL_NS) {
        a->logged_at = now;
        td_log(TD_LOG_ERROR, "cannot accept new %s: %s; raise LimitNOFILE of torusd.service",
               a->what, strerror(error));
    }
}

static void on_connect(uv_poll_t *poll, int error, int events)
{
    struct td_acceptor *a = poll->data;
    (void)events;
    if (error < 0)
        return;
    int fd = has_descriptor(a) ? accept4(a->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (fd >= 0)
        a->accepted(a->user, fd);
    else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        pause_accepting(a, errno);
}

bool td_acceptor_start(struct td_acceptor *a, uv_loop_t *uv, int fd, const char *what, int spare,
                       void (*accepted)(void *user, int fd), void *user)
{
    *a = (struct td_acceptor){
        .fd = fd, .what = what, .spare = spare, .accepted = accepted, .user = user, .handles = 2};
    int error = uv_poll_init(uv, &a->poll, fd);
    if (error) {
        close(fd);
        errno = -error;
        return false;
    }
    uv_timer_init(uv, &a->pause);
    a->poll.data = a->pause.data = a;
    uv_poll_start(&a->poll, UV_READABLE, on_connect);
    return true;
}

void td_acceptor_resume(struct td_acceptor *a)
{
    if (uv_is_closing((uv_handle_t *)&a->poll))
        return;
    uv_timer_stop(&a->pause);
    uv_poll_start(&a->poll, UV_READABLE, on_connect);
}

static void on_closed(uv_handle_t *handle)
{
    struct td_acceptor *a = handle->data;
    if (--a->handles > 0)
        return;
    close(a->fd);
    if (a->stopped)
        a->stopped(a->user);
}

void td_acceptor_stop(struct td_acceptor *a, void (*stopped)(void *user))
{
    a->stopped = stopped;
    uv_poll_stop(&a->poll);
    uv_close((uv_handle_t *)&a->poll, on_closed);
    uv_close((uv_handle_t *)&a->pause, on_closed);
}
