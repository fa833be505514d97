/* SPDX-License-Identifier: Apache-2.0 */
#include "socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire/client.h"

enum { DRAIN_EVERY = 64 }; /* requests; the daemon queues replies to a few hundred */

static const char CONNECTION_LOST[] =
    "lost the connection to torusd: the daemon has stopped; start it, then call torus_open again";

/* poll_fd waits until `fd` is ready, and returns TORUS_OK, TORUS_PENDING at the deadline, or
 * TORUS_ERR_SYSTEM. */
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

/* drain reads all replies that have arrived, so that the queue in the daemon stays short. */
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
        tl_ready(c) == TORUS_OK ? td_wire_encode_request(q, c->datagram, sizeof c->datagram) : 0;
    if (size == 0)
        return c->lost || c->fd < 0 || c->pid != getpid()
                   ? tl_ready(c)
                   : tl_fail(c, TORUS_ERR_INVALID,
                             "the count lists of this call exceed the largest request to torusd "
                             "(%d bytes): pass NULL for the places, or split the group",
                             TD_DATAGRAM_MAX);
    struct iovec part = {.iov_base = c->datagram, .iov_len = size};
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
        /* the daemon never stops reading: wait until the socket has room */
        if (errno == EINTR || (errno == EAGAIN && poll_fd(c->fd, POLLOUT, -1) == TORUS_OK))
            continue;
        errno = saved;
        return tl_lost(c, TORUS_ERR_SHUTDOWN, CONNECTION_LOST);
    }
    errno = saved;
    return TORUS_OK;
}

/* receive reads one reply. It returns TORUS_PENDING if none has arrived and `waits` is false. */
static int receive(torus_context *c, struct td_reply *reply, bool waits)
{
    int saved = errno;
    const char *why = NULL;
    ssize_t size = 0;
    do
        size = recv(c->fd, c->datagram, sizeof c->datagram, waits ? 0 : MSG_DONTWAIT);
    while (size < 0 && errno == EINTR);
    int error = errno;
    errno = saved;
    if (size < 0 && error == EAGAIN)
        return TORUS_PENDING;
    if (size <= 0)
        return tl_lost(c, TORUS_ERR_SHUTDOWN, CONNECTION_LOST);
    int bad = td_wire_decode_reply(c->datagram, (size_t)size, &c->decoded, reply, &why);
    if (bad != TORUS_OK)
        return tl_lost(c, bad, why);
    if (reply->kind == TD_REPLY_ERROR && reply->id == 0) { /* the daemon closes the connection */
        char text[TD_TEXT_MAX];
        snprintf(text, sizeof text, "%s", reply->text);
        return tl_lost(c, reply->error, text);
    }
    return TORUS_OK;
}

/* receive_and_handle reads one reply and passes it to its request. */
static int receive_and_handle(torus_context *c, bool waits)
{
    struct td_reply reply;
    int got = receive(c, &reply, waits);
    if (got == TORUS_OK)
        c->upcalls->reply(c, &reply);
    return got;
}

int tl_receive(torus_context *c)
{
    return receive_and_handle(c, false);
}

int tl_await(torus_context *c, int64_t deadline_ns)
{
    if (deadline_ns < 0) /* one system call instead of three */
        return receive_and_handle(c, true);
    int got = receive_and_handle(c, false);
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
                return tl_lost(c, TORUS_ERR_TIMEOUT,
                               "torusd accepted the connection but did not reply in time");
        } else if (error == TORUS_OK && reply->id != q->id) {
            c->upcalls->reply(c, reply);
        } else if (error == TORUS_OK) {
            return reply->kind == TD_REPLY_ERROR ? tl_fail(c, reply->error, "%s", reply->text)
                                                 : TORUS_OK;
        }
    }
    return error;
}
