/* SPDX-License-Identifier: Apache-2.0 */
/* open: the life of a context, from torus_open to torus_close. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/variables.h"
#include "group.h"
#include "letters.h"
#include "memory.h"
#include "operator.h"
#include "patience.h"
#include "request.h"
#include "socket.h"
#include "lock.h"
#include "system/limits.h"
#include "system/standard.h"
#include "type.h"

/* ---- opening ---- */

enum { PATHS = 2 };

/* timeout_of returns how long the daemon may take to answer. */
static int64_t timeout_of(const struct torus_open_options *o)
{
    return o && o->timeout_ms > 0 ? o->timeout_ms * INT64_C(1000000)
                                  : TL_HANDSHAKE_S * INT64_C(1000000000);
}

/* candidates lists the socket paths to try, and returns their number. */
static int candidates(const struct torus_open_options *o, char path[PATHS][256])
{
    const char *asked = o ? o->socket : NULL, *run = secure_getenv("XDG_RUNTIME_DIR");
    if (!asked)
        asked = secure_getenv("TORUS_SOCKET");
    if (asked && asked[0]) {
        snprintf(path[0], 256, "%s", asked);
        return 1;
    }
    int count = 0;
    if (run && run[0])
        snprintf(path[count++], 256, "%s/torusd/torusd.sock", run);
    snprintf(path[count++], 256, "/run/torusd/torusd.sock");
    return count;
}

static int connect_to(const char *path, int64_t timeout_ns)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = td_standard_avoid(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    /* the kernel's queue of a daemon that accepts no connections may be full */
    struct timeval most = {.tv_sec = timeout_ns / 1000000000,
                           .tv_usec = timeout_ns % 1000000000 / 1000};
    struct timeval patience = {.tv_sec = TL_PATIENCE_S};
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* unreachable records why no connection came about: the sentence names all paths, the error is that
 * of the cause that this process or its user can remove. */
static int unreachable(torus_context *c, const char *tried, int cause)
{
    switch (cause) {
    case EACCES:
        return tl_fail(c, TORUS_ERR_PERMISSION,
                       "this user may not connect to torusd at %s. Have the user added to the "
                       "group of the socket and its directory (ls -l), and log in again",
                       tried);
    case ENAMETOOLONG:
        return tl_fail(c, TORUS_ERR_INVALID,
                       "the path of a socket has at most %zu characters: cannot connect to torusd "
                       "at %s. Set TORUS_SOCKET or the option `socket` to a shorter path, such as "
                       "that of a symbolic link",
                       sizeof((struct sockaddr_un *)NULL)->sun_path - 1, tried);
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
        return tl_fail(c, TORUS_ERR_SYSTEM, "cannot open a connection to torusd at %s", tried);
    default:
        return tl_fail(
            c, TORUS_ERR_NO_DAEMON,
            "cannot connect to torusd at %s. Start one with `torusd --user`, `systemctl start "
            "torusd` or `torusd --config FILE`, or run the program under `torusctl emulate 3x3 -- "
            "COMMAND`",
            tried);
    }
}

static int find_daemon(torus_context *c, const struct torus_open_options *options)
{
    char path[PATHS][256], tried[TD_TEXT_MAX] = "", why[TD_LIMIT_TEXT];
    int count = candidates(options, path), cause = 0;
    for (int i = 0; i < count && c->fd < 0; i++) {
        c->fd = connect_to(path[i], timeout_of(options));
        size_t length = strlen(tried);
        if (c->fd >= 0)
            continue;
        if (cause != EACCES)
            cause = errno;
        snprintf(tried + length, sizeof tried - length, "%s%s (%s)", i ? ", " : "", path[i],
                 td_limit_why(errno, why, sizeof why));
    }
    return c->fd >= 0 ? TORUS_OK : unreachable(c, tried, cause);
}

static bool watch_fd(torus_context *c, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    return fd >= 0 && epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

/* handshake introduces this process to the daemon. */
static int handshake(torus_context *c, int64_t timeout_ns)
{
    struct td_reply reply;
    struct td_request q = {.kind = TD_REQUEST_HELLO};
    char strays[TD_STRAYS_MAX];
    q.u.hello.program = program_invocation_short_name;
    q.u.hello.strays = td_variables_strays(environ, strays);
    int error = tl_call(c, &q, -1, tl_now_ns() + timeout_ns, &reply);
    if (error == TORUS_ERR_TIMEOUT)
        return tl_fail(c, error,
                       "torusd accepted the connection and has not replied for %.1f s: it hangs or "
                       "is stopped, or its machine is overloaded",
                       1e-9 * (double)timeout_ns);
    if (error != TORUS_OK)
        return error;
    c->node = reply.u.welcome.node;
    c->incarnation = reply.u.welcome.incarnation;
    c->topology = reply.u.welcome.topology;
    c->region_bytes_max = reply.u.welcome.region_bytes_max;
    c->form_loops_max = reply.u.welcome.form_loops_max < TD_FORM_LOOPS_MAX
                            ? reply.u.welcome.form_loops_max
                            : TD_FORM_LOOPS_MAX; /* that a request has room for */
    c->peer_regions = reply.u.welcome.peer_regions;
    c->peers_known = reply.u.welcome.peers_known;
    return TORUS_OK;
}

static const struct tl_upcalls upcalls = {
    .reply = tl_request_reply,
    .lost = tl_request_finish_all,
    .close = torus_close,
};

int torus_open(torus_context **context, const struct torus_open_options *options)
{
    char why[TD_LIMIT_TEXT];
    int saved = errno;
    if (!context)
        return tl_null(NULL, "torus_open", "context");
    torus_context *c = *context = calloc(1, sizeof *c);
    if (!c)
        return tl_fail(NULL, TORUS_ERR_NO_MEMORY, "no memory for a context");
    c->upcalls = &upcalls;
    c->fd = c->passed = -1;
    c->pid = getpid();
    tl_context_watch_fork(c);
    c->next_id = c->next_region = 1;
    c->requests_last = &c->requests;
    c->finished_last = &c->finished;
    c->kept_last = &c->kept;
    c->epoll = td_standard_avoid(epoll_create1(EPOLL_CLOEXEC));
    c->event = td_standard_avoid(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    int error = options && options->size != sizeof *options
                    ? tl_wrong_size(c, "torus_open_options", options->size, sizeof *options)
                    : find_daemon(c, options);
    if (error == TORUS_OK && options && options->threads && !(c->use.lock = tl_lock_new()))
        error = tl_fail(c, TORUS_ERR_SYSTEM, "cannot make the lock of the context: %s",
                        td_limit_why(errno, why, sizeof why));
    c->staging_bytes = 1 << 20;
    if (error == TORUS_OK && options && options->staging_bytes)
        c->staging_bytes = options->staging_bytes;
    if (error == TORUS_OK && (!watch_fd(c, c->fd) || !watch_fd(c, c->event)))
        error = tl_fail(c, TORUS_ERR_SYSTEM, "cannot watch the connection: %s",
                        td_limit_why(errno, why, sizeof why));
    if (error == TORUS_OK)
        error = handshake(c, timeout_of(options));
    errno = saved;
    return error;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* leave_all leaves all groups, unless the connection has ended or belongs to another process. */
static void leave_all(torus_context *c)
{
    bool ours = c->pid == getpid();
    for (torus_group *g = c->groups; ours && !c->lost && c->fd >= 0 && g; g = g->next) {
        struct td_request q = {.kind = TD_REQUEST_LEAVE};
        q.u.leave.group = g->number;
        tl_send(c, &q, -1);
    }
}

int torus_disconnect(torus_context *c)
{
    TL_GUARD(c);
    if (!c)
        return tl_null(NULL, "torus_disconnect", "context");
    if (c->pid != getpid())
        return tl_ready(c);
    int saved = errno;
    leave_all(c);
    if (c->fd >= 0)
        shutdown(c->fd, SHUT_RDWR); /* other threads may wait for it: torus_close closes it */
    tl_lost(c, TORUS_ERR_SHUTDOWN, "this process has called torus_disconnect");
    errno = saved;
    return TORUS_OK;
}

void torus_close(torus_context *c)
{
    int saved = errno;
    if (!c)
        return;
    if (c->holds) { /* a callback runs: its callers still use the context */
        c->closing = true;
        return;
    }
    leave_all(c);
    close_fd(c->fd);
    close_fd(c->passed);
    close_fd(c->epoll);
    close_fd(c->event);
    c->fd = c->epoll = c->event = -1;
    c->lost = true;
    tl_forget_kept(c);
    while (c->requests)
        tl_request_withdraw(c->requests);
    while (c->finished) {
        torus_request *r = c->finished;
        c->finished = r->next;
        tl_request_free(r);
    }
    while (c->groups)
        tl_group_free(c->groups);
    tl_memory_fini(c);
    tl_letters_free(c);
    while (c->ops) {
        struct tl_op *op = c->ops;
        c->ops = op->next;
        free(op);
    }
    tl_type_fini(c);
    tl_context_unwatch_fork(c);
    tl_use_free(&c->use, c);
    errno = saved;
}

int torus_iclose(torus_context *c, torus_request **request)
{
    TL_GUARD(c);
    torus_request *r = NULL;
    if (!c)
        return tl_null(NULL, "torus_iclose", "context");
    int error = tl_ready(c);
    if (error != TORUS_OK)
        return error;
    if (request)
        *request = NULL;
    if (!request || !(r = tl_request_new(c, NULL)))
        return request ? tl_fail(c, TORUS_ERR_NO_MEMORY, "no memory for the request")
                       : tl_fail(c, TORUS_ERR_INVALID, "request is NULL");
    uint32_t groups = 0, in_flight = 0;
    for (torus_group *g = c->groups; g; g = g->next, groups++)
        in_flight += g->in_flight;
    if (in_flight) {
        tl_request_free(r);
        return tl_fail(
            c, TORUS_ERR_BUSY,
            "cannot close: operations are in flight (%u); wait for them, or cancel them, first",
            in_flight);
    }
    if (groups == 0) { /* the cancellation of no request: its reply completes the close */
        struct td_request q = {.kind = TD_REQUEST_CANCEL};
        return tl_request_submit(r, &q, request);
    }
    r->replies_due = groups;
    r->id = c->next_id++;
    tl_request_list(r); /* before the first LEAVE: replies may arrive before the last one is sent */
    for (torus_group *g = c->groups; g && error == TORUS_OK; g = g->next) {
        struct td_request q = {.kind = TD_REQUEST_LEAVE, .id = r->id};
        q.u.leave.group = g->number;
        error = tl_send(c, &q, -1);
    }
    if (error != TORUS_OK) {
        tl_request_withdraw(r);
        return error;
    }
    while (c->groups)
        tl_group_free(c->groups);
    *request = r;
    return TORUS_OK;
}

/* ---- event loops ---- */

int torus_fd(const torus_context *c)
{
    TL_GUARD_ELSE(c, -1);
    if (!c) {
        (void)tl_null(NULL, "torus_fd", "context");
        return -1;
    }
    tl_event_watch((torus_context *)(uintptr_t)c); /* the caller's view of it does not change */
    return c->epoll;
}

int torus_dispatch(torus_context *c)
{
    TL_GUARD(c);
    if (!c)
        return tl_null(NULL, "torus_dispatch", "context");
    if (c->pid != getpid())
        return tl_ready(c);
    int got = c->lost ? TORUS_ERR_SHUTDOWN : TORUS_OK;
    while (got == TORUS_OK)
        got = tl_receive(c);
    tl_hold(c);
    tl_request_callbacks(c);
    tl_unhold(c);
    return got == TORUS_PENDING ? TORUS_OK : got;
}
