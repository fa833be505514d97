/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* The public numbers are those on the wire. */
#define SAME(a, b) _Static_assert((int)(a) == (int)(b), "torus.h and the core agree")
SAME(TORUS_ERR_INVALID, TD_ERR_INVALID);
SAME(TORUS_ERR_NO_MEMORY, TD_ERR_NO_MEMORY);
SAME(TORUS_ERR_NO_DAEMON, TD_ERR_NO_DAEMON);
SAME(TORUS_ERR_PROTOCOL, TD_ERR_PROTOCOL);
SAME(TORUS_ERR_VERSION, TD_ERR_VERSION);
SAME(TORUS_ERR_TIMEOUT, TD_ERR_TIMEOUT);
SAME(TORUS_ERR_MISMATCH, TD_ERR_MISMATCH);
SAME(TORUS_ERR_RANK_FAILED, TD_ERR_RANK_FAILED);
SAME(TORUS_ERR_NODE_FAILED, TD_ERR_NODE_FAILED);
SAME(TORUS_ERR_CANCELLED, TD_ERR_CANCELLED);
SAME(TORUS_ERR_BUSY, TD_ERR_BUSY);
SAME(TORUS_ERR_RANK_TAKEN, TD_ERR_RANK_TAKEN);
SAME(TORUS_ERR_FORKED, TD_ERR_FORKED);
SAME(TORUS_ERR_INTERNAL, TD_ERR_INTERNAL);
SAME(TORUS_ERR_SHUTDOWN, TD_ERR_SHUTDOWN);
SAME(TORUS_ERR_SYSTEM, TD_ERR_SYSTEM);
SAME(TORUS_ERR_PARTITIONED, TD_ERR_PARTITIONED);
SAME(TORUS_ERR_PERMISSION, TD_ERR_PERMISSION);
SAME(TORUS_OPAQUE, TD_TYPE_NONE);
SAME(TORUS_BYTE, TD_TYPE_BYTE);
SAME(TORUS_INT32, TD_TYPE_INT32);
SAME(TORUS_INT64, TD_TYPE_INT64);
SAME(TORUS_FLOAT, TD_TYPE_FLOAT);
SAME(TORUS_DOUBLE, TD_TYPE_DOUBLE);
SAME(TORUS_COMPLEX_FLOAT, TD_TYPE_COMPLEX_FLOAT);
SAME(TORUS_COMPLEX_DOUBLE, TD_TYPE_COMPLEX_DOUBLE);
SAME(TORUS_INT8, TD_TYPE_INT8);
SAME(TORUS_INT16, TD_TYPE_INT16);
SAME(TORUS_UINT8, TD_TYPE_UINT8);
SAME(TORUS_UINT16, TD_TYPE_UINT16);
SAME(TORUS_UINT32, TD_TYPE_UINT32);
SAME(TORUS_UINT64, TD_TYPE_UINT64);
SAME(TORUS_LONG_DOUBLE, TD_TYPE_LONG_DOUBLE);
SAME(TORUS_HALF, TD_TYPE_HALF);
SAME(TORUS_BFLOAT16, TD_TYPE_BFLOAT16);
SAME(TORUS_INT32_INT, TD_TYPE_INT32_INT);
SAME(TORUS_INT64_INT, TD_TYPE_INT64_INT);
SAME(TORUS_FLOAT_INT, TD_TYPE_FLOAT_INT);
SAME(TORUS_DOUBLE_INT, TD_TYPE_DOUBLE_INT);
_Static_assert(sizeof(struct torus_int32_int) == 8 && sizeof(struct torus_float_int) == 8 &&
                   sizeof(struct torus_int64_int) == 16 && sizeof(struct torus_double_int) == 16,
               "values with places are as the core's");
SAME(TORUS_SUM, TD_OP_SUM);
SAME(TORUS_MIN, TD_OP_MIN);
SAME(TORUS_MAX, TD_OP_MAX);
SAME(TORUS_PROD, TD_OP_PROD);
SAME(TORUS_BAND, TD_OP_BAND);
SAME(TORUS_BOR, TD_OP_BOR);
SAME(TORUS_BXOR, TD_OP_BXOR);
SAME(TORUS_LAND, TD_OP_LAND);
SAME(TORUS_LOR, TD_OP_LOR);
SAME(TORUS_LXOR, TD_OP_LXOR);
SAME(TORUS_MINLOC, TD_OP_MINLOC);
SAME(TORUS_MAXLOC, TD_OP_MAXLOC);
SAME(TORUS_REPRODUCIBLE_OFF, TD_REPRODUCIBLE_OFF);
SAME(TORUS_REPRODUCIBLE_SAME_PLACEMENT, TD_REPRODUCIBLE_SAME);
SAME(TORUS_REPRODUCIBLE_ANY_PLACEMENT, TD_REPRODUCIBLE_ANY);
SAME(TORUS_SCALE_ORTHO, TD_SCALE_ORTHO);
SAME(TORUS_SCALE_FULL, TD_SCALE_FULL);
SAME(TORUS_DIMENSIONS_MAX, TD_DIMENSIONS_MAX);

int64_t tl_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int tl_fail(torus_context *c, int error, const char *format, ...)
{
    int saved = errno;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->error, sizeof c->error, format, arguments);
    va_end(arguments);
    if (c->log)
        c->log(error, c->error, c->log_user);
    errno = saved;
    return error;
}

int tl_ready(torus_context *c)
{
    if (c->pid != getpid())
        return tl_fail(c, TORUS_ERR_FORKED,
                       "the context belongs to process %d, which forked this one: call torus_open "
                       "here",
                       (int)c->pid);
    if (c->fd < 0 || c->lost)
        return tl_fail(c, c->fd < 0 ? TORUS_ERR_NO_DAEMON : TORUS_ERR_SHUTDOWN,
                       c->fd < 0 ? "the context is not connected"
                                 : "the connection to torusd was lost: the daemon has stopped");
    return TORUS_OK;
}

/* ---- the socket ---- */

static const int64_t GREETING_NS_MAX = 30 * (int64_t)1000000000;
enum { DRAIN_EVERY = 64 }; /* requests, of which the daemon keeps the replies of some hundreds */

static int lose(torus_context *c, int error, const char *text)
{
    if (!c->lost) {
        c->lost = true;
        tl_request_finish_all(c, error, text);
    }
    return tl_fail(c, error, "%s", text);
}

static int poll_fd(int fd, short events, int64_t deadline_ns)
{
    for (;;) {
        struct timespec left = {0}, *wait = NULL;
        if (deadline_ns >= 0) {
            int64_t ns = deadline_ns - tl_now_ns();
            ns = ns < 0 ? 0 : ns;
            left = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
            wait = &left;
        }
        struct pollfd p = {.fd = fd, .events = events};
        int ready = ppoll(&p, 1, wait, NULL);
        if (ready > 0)
            return TORUS_OK;
        if (ready == 0)
            return TORUS_PENDING;
        if (errno != EINTR)
            return TORUS_ERR_SYSTEM;
    }
}

/* drain reads the replies that are there: the daemon does not keep them for ever. */
static void drain(torus_context *c)
{
    if (c->draining)
        return;
    c->draining = true;
    while (!c->lost && tl_receive(c) == TORUS_OK)
        continue;
    c->draining = false;
}

int tl_send(torus_context *c, const struct td_request *q, int fd)
{
    int saved = errno;
    if (q->id % DRAIN_EVERY == DRAIN_EVERY - 1 && tl_ready(c) == TORUS_OK)
        drain(c);
    size_t size =
        tl_ready(c) == TORUS_OK ? td_wire_encode_request(q, c->bytes, sizeof c->bytes) : 0;
    if (size == 0)
        return c->lost || c->fd < 0 || c->pid != getpid()
                   ? tl_ready(c)
                   : tl_fail(
                         c, TORUS_ERR_INVALID,
                         "the lists of this call take more than the %d bytes that a request to the "
                         "daemon may have: leave out the places, or split the group",
                         TD_DATAGRAM_MAX);
    struct iovec part = {.iov_base = c->bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    }
    while (sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        /* the daemon reads all the time: a full socket empties by itself */
        if (errno == EINTR || (errno == EAGAIN && poll_fd(c->fd, POLLOUT, -1) == TORUS_OK))
            continue;
        errno = saved;
        return lose(c, TORUS_ERR_SHUTDOWN,
                    "the connection to torusd was lost: the daemon has stopped");
    }
    errno = saved;
    return TORUS_OK;
}

/* receive reads one reply; TORUS_PENDING when there is none, unless it waits for one. */
static int receive(torus_context *c, struct td_reply *reply, bool waits)
{
    int saved = errno;
    const char *why = NULL;
    ssize_t size = 0;
    do
        size = recv(c->fd, c->bytes, sizeof c->bytes, waits ? 0 : MSG_DONTWAIT);
    while (size < 0 && errno == EINTR);
    int error = errno;
    errno = saved;
    if (size < 0 && error == EAGAIN)
        return TORUS_PENDING;
    if (size <= 0)
        return lose(c, TORUS_ERR_SHUTDOWN,
                    "the connection to torusd was lost: the daemon has stopped");
    int bad = td_wire_decode_reply(c->bytes, (size_t)size, &c->memory, reply, &why);
    if (bad != TORUS_OK)
        return lose(c, bad, why);
    if (reply->kind == TD_REPLY_ERROR && reply->id == 0) { /* we are being shown the door */
        char text[TD_TEXT_MAX];
        snprintf(text, sizeof text, "%s", reply->text);
        return lose(c, reply->error, text);
    }
    return TORUS_OK;
}

static int take(torus_context *c, bool waits)
{
    struct td_reply reply;
    int got = receive(c, &reply, waits);
    if (got == TORUS_OK)
        tl_request_reply(c, &reply);
    return got;
}

int tl_receive(torus_context *c)
{
    return take(c, false);
}

int tl_await(torus_context *c, int64_t deadline_ns)
{
    if (deadline_ns < 0) /* a system call, not three */
        return take(c, true);
    int got = take(c, false);
    return got == TORUS_PENDING ? poll_fd(c->fd, POLLIN, deadline_ns) : got;
}

int tl_call(torus_context *c, struct td_request *q, int fd, int64_t deadline_ns,
            struct td_reply *reply)
{
    q->id = c->next_id++;
    int error = tl_send(c, q, fd);
    while (error == TORUS_OK) {
        error = receive(c, reply, false);
        if (error == TORUS_PENDING) {
            error = poll_fd(c->fd, POLLIN, deadline_ns);
            if (error == TORUS_PENDING)
                return lose(c, TORUS_ERR_TIMEOUT,
                            "torusd took the connection, but does not answer");
        } else if (error == TORUS_OK && reply->id != q->id) {
            tl_request_reply(c, reply);
        } else if (error == TORUS_OK) {
            return reply->kind == TD_REPLY_ERROR ? tl_fail(c, reply->error, "%s", reply->text)
                                                 : TORUS_OK;
        }
    }
    return error;
}

/* ---- opening ---- */

enum { PATHS = 2 };

/* candidates lists where the daemon may be; returns how many there are. */
static int candidates(const struct torus_open_options *o, char path[PATHS][256])
{
    const char *asked = o ? o->socket : NULL, *run = getenv("XDG_RUNTIME_DIR");
    if (!asked)
        asked = getenv("TORUS_SOCKET");
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

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int find_daemon(torus_context *c, const struct torus_open_options *options)
{
    char path[PATHS][256], tried[600] = "";
    int count = candidates(options, path);
    for (int i = 0; i < count && c->fd < 0; i++) {
        c->fd = connect_to(path[i]);
        size_t length = strlen(tried);
        if (c->fd < 0)
            snprintf(tried + length, sizeof tried - length, "%s%s (%s)", i ? ", " : "", path[i],
                     strerror(errno));
    }
    if (c->fd >= 0)
        return TORUS_OK;
    return tl_fail(c, TORUS_ERR_NO_DAEMON,
                   "no torusd answers at %s. Start one with `systemctl start torusd` or `torusd "
                   "--config FILE`, or run the program under `torusctl emulate 3x3 -- COMMAND`",
                   tried);
}

static bool watch_fd(torus_context *c, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    return fd >= 0 && epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

static int greet(torus_context *c)
{
    struct td_reply reply;
    struct td_request q = {.kind = TD_REQUEST_HELLO};
    q.u.hello.program = program_invocation_short_name;
    int error = tl_call(c, &q, -1, tl_now_ns() + GREETING_NS_MAX, &reply);
    if (error != TORUS_OK)
        return error;
    if (reply.kind != TD_REPLY_WELCOME)
        return tl_fail(c, TORUS_ERR_PROTOCOL, "the daemon did not welcome this process");
    c->node = reply.u.welcome.node;
    c->topology = reply.u.welcome.topology;
    c->region_bytes_max = reply.u.welcome.region_bytes_max;
    return TORUS_OK;
}

int torus_open(torus_context **context, const struct torus_open_options *options)
{
    int saved = errno;
    if (!context)
        return TORUS_ERR_INVALID;
    torus_context *c = *context = calloc(1, sizeof *c);
    if (!c)
        return TORUS_ERR_NO_MEMORY;
    c->fd = -1;
    c->pid = getpid();
    c->next_id = c->next_region = 1;
    c->finished_last = &c->finished;
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    c->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error =
        options && options->size != sizeof *options
            ? tl_fail(c, TORUS_ERR_INVALID,
                      "torus_open_options.size is %zu, not %zu: set it to sizeof the structure",
                      options->size, sizeof *options)
            : find_daemon(c, options);
    c->staging_bytes = 1 << 20;
    if (error == TORUS_OK && options && options->staging_bytes)
        c->staging_bytes = options->staging_bytes;
    if (error == TORUS_OK && (!watch_fd(c, c->fd) || !watch_fd(c, c->event)))
        error = tl_fail(c, TORUS_ERR_SYSTEM, "no descriptors left: %s", strerror(errno));
    if (error == TORUS_OK)
        error = greet(c);
    errno = saved;
    return error;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void tl_hold(torus_context *c)
{
    c->calls_out++;
}

void tl_unhold(torus_context *c)
{
    if (--c->calls_out == 0 && c->closing)
        torus_close(c);
}

void torus_close(torus_context *c)
{
    int saved = errno;
    if (!c)
        return;
    if (c->calls_out) { /* the callback's callers still need it */
        c->closing = true;
        return;
    }
    bool ours = c->pid == getpid();
    for (torus_group *g = c->groups; ours && !c->lost && c->fd >= 0 && g; g = g->next) {
        struct td_request q = {.kind = TD_REQUEST_LEAVE};
        q.u.operation.group = g->number;
        tl_send(c, &q, -1);
    }
    close_fd(c->fd);
    close_fd(c->epoll);
    close_fd(c->event);
    c->fd = c->epoll = c->event = -1;
    c->lost = true;
    while (c->requests) {
        torus_request *r = c->requests;
        c->requests = r->next;
        tl_request_free(r);
    }
    while (c->finished) {
        torus_request *r = c->finished;
        c->finished = r->next;
        tl_request_free(r);
    }
    while (c->groups)
        tl_group_free(c->groups);
    tl_memory_fini(c);
    while (c->ops) {
        struct tl_op *op = c->ops;
        c->ops = op->next;
        free(op);
    }
    free(c);
    errno = saved;
}

int torus_iclose(torus_context *c, torus_request **request)
{
    torus_request *r = NULL;
    int error = tl_ready(c);
    if (error != TORUS_OK)
        return error;
    if (request)
        *request = NULL;
    if (!request || !(r = tl_request_new(c, NULL, REQUEST_CLOSE)))
        return tl_fail(c, request ? TORUS_ERR_NO_MEMORY : TORUS_ERR_INVALID,
                       "no request can be made");
    uint32_t groups = 0, in_flight = 0;
    for (torus_group *g = c->groups; g; g = g->next, groups++)
        in_flight += g->in_flight;
    if (in_flight) {
        tl_request_free(r);
        return tl_fail(c, TORUS_ERR_BUSY,
                       "%u operations are in flight: wait for them, or cancel them, first",
                       in_flight);
    }
    if (groups == 0) { /* something must be answered: forgetting a request that never was */
        struct td_request q = {.kind = TD_REQUEST_CANCEL};
        r->replies_due = 1;
        return tl_request_submit(r, &q, request);
    }
    r->replies_due = groups;
    r->id = c->next_id++;
    r->next = c->requests; /* before the first LEAVE: its answer may come before the last is sent */
    c->requests = r;
    for (torus_group *g = c->groups; g && error == TORUS_OK; g = g->next) {
        struct td_request q = {.kind = TD_REQUEST_LEAVE, .id = r->id};
        q.u.operation.group = g->number;
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

/* ---- small things ---- */

int torus_fd(const torus_context *c)
{
    return c->epoll;
}

int torus_dispatch(torus_context *c)
{
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

const char *torus_last_error(const torus_context *c)
{
    return c ? c->error : "no memory for a context";
}

void torus_set_log(torus_context *c, torus_log_function *log, void *user)
{
    c->log = log;
    c->log_user = user;
}

int torus_statistics(const torus_context *c, struct torus_statistics *s)
{
    if (s->size != sizeof *s)
        return TORUS_ERR_INVALID;
    s->operations = c->operations;
    s->staged_bytes = c->staged_bytes;
    s->region_bytes = c->region_bytes;
    return TORUS_OK;
}

int torus_shape(const torus_context *c, uint32_t size[TORUS_DIMENSIONS_MAX],
                int wrap[TORUS_DIMENSIONS_MAX])
{
    for (uint32_t d = 0; d < c->topology.dimensions; d++) {
        if (size)
            size[d] = c->topology.size[d];
        if (wrap)
            wrap[d] = c->topology.wrap[d];
    }
    return (int)c->topology.dimensions;
}

int torus_coords(const torus_context *c, uint32_t coordinates[TORUS_DIMENSIONS_MAX])
{
    td_topology_coordinates(&c->topology, c->node, coordinates);
    return (int)c->topology.dimensions;
}

uint32_t torus_node(const torus_context *c)
{
    return c->node;
}

const char *torus_strerror(int error)
{
    static const char *const texts[] = {
        "success",
        "an argument is out of range",
        "no memory",
        "no daemon",
        "protocol error",
        "another version of the protocol",
        "a time limit passed",
        "ranks called different operations",
        "a rank died or left",
        "a node died or fell silent",
        "cancelled",
        "busy",
        "the rank is taken",
        "the context belongs to the parent process",
        "a bug of the service",
        "the daemon is stopping or was lost",
        "the operating system refused",
        "cut off from the majority",
        "not permitted",
    };
    if (error == TORUS_PENDING)
        return "not complete yet";
    if (error > 0 || -error >= (int)(sizeof texts / sizeof texts[0]))
        return "unknown error";
    return texts[-error];
}
