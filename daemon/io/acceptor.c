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

#define TELL_AGAIN_NS 60000000000u

/* room_for_one tells whether the process has descriptors for another one; if not, errno. */
static bool room_for_one(const struct td_acceptor *a)
{
    struct rlimit limit;
    int lowest = fcntl(a->fd, F_DUPFD_CLOEXEC, 0); /* the one that accept would return */
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

static void wait_for_room(struct td_acceptor *a, int error)
{
    uv_poll_stop(&a->poll);
    uv_timer_start(&a->pause, on_pause_over, PAUSE_MS, 0);
    uint64_t now = uv_hrtime();
    if (!a->told_at || now - a->told_at >= TELL_AGAIN_NS) {
        a->told_at = now;
        td_log(TD_LOG_ERROR, "new %s have to wait: %s; raise LimitNOFILE of torusd.service",
               a->whom, strerror(error));
    }
}

static void on_connect(uv_poll_t *poll, int error, int events)
{
    struct td_acceptor *a = poll->data;
    (void)events;
    if (error < 0)
        return;
    int fd = room_for_one(a) ? accept4(a->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (fd >= 0)
        a->take(a->user, fd);
    else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        wait_for_room(a, errno);
}

bool td_acceptor_start(struct td_acceptor *a, uv_loop_t *uv, int fd, const char *whom, int spare,
                       void (*take)(void *user, int fd), void *user)
{
    *a = (struct td_acceptor){
        .fd = fd, .whom = whom, .spare = spare, .take = take, .user = user, .handles = 2};
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
    if (a->gone)
        a->gone(a->user);
}

void td_acceptor_stop(struct td_acceptor *a, void (*gone)(void *user))
{
    a->gone = gone;
    uv_poll_stop(&a->poll);
    uv_close((uv_handle_t *)&a->poll, on_closed);
    uv_close((uv_handle_t *)&a->pause, on_closed);
}
