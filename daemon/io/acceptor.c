/* SPDX-License-Identifier: Apache-2.0 */
#include "acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "descriptors.h"
#include "log.h"

enum { PAUSE_MS = 250 };

#define LOG_INTERVAL_NS 60000000000u

static void on_pause_over(uv_timer_t *timer)
{
    struct td_acceptor *a = timer->data;
    bool lacking = !a->calls->has_room(a->user);
    if (a->calls->lacking)
        a->calls->lacking(a->user, lacking ? a->fd : -1);
    if (lacking)
        uv_timer_start(&a->pause, on_pause_over, PAUSE_MS, 0);
    else
        td_acceptor_resume(a);
}

static void pause_accepting(struct td_acceptor *a, int error)
{
    char text[200];
    uv_poll_stop(&a->poll);
    if (!uv_is_active((uv_handle_t *)&a->pause))
        uv_timer_start(&a->pause, on_pause_over, PAUSE_MS, 0);
    uint64_t now = uv_hrtime();
    if (a->logged_at && now - a->logged_at < LOG_INTERVAL_NS)
        return;
    a->logged_at = now;
    if (error == EMFILE)
        td_descriptors_text(text, sizeof text);
    else
        snprintf(text, sizeof text, "%s", strerror(error));
    td_log(TD_LOG_ERROR, "cannot accept new %s: %s", a->what, text);
}

/* take accepts a connection. It returns false with errno if none waits or descriptors lack. */
static bool take(struct td_acceptor *a)
{
    int fd = -1;
    errno = EMFILE;
    if (a->calls->has_room(a->user))
        fd = accept4(a->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        a->calls->accepted(a->user, fd);
    return fd >= 0;
}

static void on_connect(uv_poll_t *poll, int error, int events)
{
    struct td_acceptor *a = poll->data;
    (void)events;
    if (error >= 0 && !take(a) && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        pause_accepting(a, errno);
}

bool td_acceptor_start(struct td_acceptor *a, uv_loop_t *uv, int fd, const char *what,
                       const struct td_acceptor_calls *calls, void *user)
{
    *a = (struct td_acceptor){.fd = fd, .what = what, .calls = calls, .user = user, .handles = 2};
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
    if (!uv_is_closing((uv_handle_t *)&a->poll))
        uv_poll_start(&a->poll, UV_READABLE, on_connect);
}

void td_acceptor_renew(struct td_acceptor *a, int fd)
{
    while (take(a))
        continue;
    uv_poll_stop(&a->poll); /* the loop forgets the descriptor, whose number the new one gets */
    dup3(fd, a->fd, O_CLOEXEC);
    close(fd);
    if (!uv_is_active((uv_handle_t *)&a->pause))
        td_acceptor_resume(a);
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
