/* SPDX-License-Identifier: Apache-2.0 */
#include "socket.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "letters.h"
#include "lock.h"
#include "patience.h"
#include "system/standard.h"
#include "wire/client.h"

enum { LOOKS = 16 };      /* for a letter, between two at the socket */
enum { KEEP_EVERY = 64 }; /* requests; the daemon queues replies to a few hundred */

static const int64_t PATIENCE_NS = TL_PATIENCE_S * (int64_t)1000000000;
/* A request that every daemon answers at once has so long, even if the daemon answers others. */
static const int64_t CALL_NS = TL_CALL_S * (int64_t)1000000000;

static const char HUNG[] =
    "torusd has not replied for %d s: it is stopped, hangs, or has no processor or memory; this "
    "process has given up the connection, and its ranks are lost";
static const char UNANSWERED[] =
    "torusd replies, but has not answered a request in time: this process has given up the "
    "connection, and its ranks are lost";

/* ---- receiving ---- */

/* drop_passed closes the descriptor of the last reply. */
static void drop_passed(torus_context *c)
{
    if (c->passed >= 0)
        close(c->passed);
    c->passed = -1;
}

static int handle_kept(torus_context *c);

/* ended reports that the daemon has closed the connection. The reason may be among the replies that
 * are kept. */
static int ended(torus_context *c)
{
    int got = TORUS_OK;
    while (c->kept && got == TORUS_OK)
        got = handle_kept(c);
    return got == TORUS_OK ? tl_lost(c, TORUS_ERR_SHUTDOWN, TL_CONNECTION_LOST) : got;
}

/* take_passed takes the first descriptor of a datagram and closes the others: the padding of the
 * control message has room for one more. */
static void take_passed(torus_context *c, struct msghdr *message)
{
    const struct cmsghdr *rights = CMSG_FIRSTHDR(message);
    if (!rights || rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS)
        return;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= rights->cmsg_len; at += sizeof(int)) {
        int fd = -1;
        memcpy(&fd, (const uint8_t *)rights + at, sizeof fd);
        if (c->passed < 0)
            c->passed = td_standard_avoid(fd);
        else
            close(fd);
    }
}

/* count counts a reply that has arrived. A request has one, and one that tells of room if there was
 * none before. The last words of a daemon belong to no request. */
static int count(torus_context *c)
{
    c->quiet_since_ns = 0;
    c->asked = false;
    return ++c->replies_received > 2 * c->requests_sent + 1
               ? tl_malformed(c, "%llu replies to %llu requests",
                              (unsigned long long)c->replies_received,
                              (unsigned long long)c->requests_sent)
               : TORUS_OK;
}

/* read_datagram reads one datagram from the daemon to c->datagram. It returns TORUS_PENDING if none
 * has arrived and `waits` is false. */
static int read_datagram(torus_context *c, bool waits, size_t *size)
{
    int saved = errno;
    ssize_t got = 0;
    struct iovec part = {.iov_base = c->datagram, .iov_len = sizeof c->datagram};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    do {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        got = recvmsg(c->fd, &message, (waits ? 0 : MSG_DONTWAIT) | MSG_CMSG_CLOEXEC);
        /* ECONNRESET comes once, if the daemon closed the connection without reading all. Datagrams
         * sent before, such as the reason, can still be read. */
    } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    int error = errno;
    drop_passed(c);
    if (got > 0)
        take_passed(c, &message);
    errno = saved;
    if (got < 0 && error == EAGAIN)
        return TORUS_PENDING;
    if (got <= 0)
        return ended(c);
    c->received++;
    *size = (size_t)got;
    return count(c);
}

static int decode(torus_context *c, const uint8_t *bytes, size_t size, struct td_reply *reply)
{
    const char *why = NULL;
    int bad = td_wire_decode_reply(bytes, size, &c->decoded, reply, &why);
    if (bad == TORUS_ERR_PROTOCOL)
        return tl_malformed(c, "%s", why);
    if (bad != TORUS_OK)
        return tl_lost(c, bad, why);
    if (reply->id >= c->next_id)
        return tl_malformed(c, "no request has id %llu", (unsigned long long)reply->id);
    if (reply->error != TD_OK && !reply->text[0])
        reply->text = torus_strerror((int)reply->error);
    if (reply->kind == TD_REPLY_ERROR && reply->id == 0) { /* the daemon closes the connection */
        char text[TD_TEXT_MAX];
        snprintf(text, sizeof text, "%s", reply->text);
        return tl_lost(c, reply->error, text);
    }
    return TORUS_OK;
}

/* ---- a daemon that hangs ---- */

static int give_up(torus_context *c)
{
    char text[sizeof HUNG + 10];
    snprintf(text, sizeof text, HUNG, TL_SILENCE_S);
    shutdown(c->fd, SHUT_RDWR); /* the daemon sees it when it goes on */
    return tl_lost(c, TORUS_ERR_TIMEOUT, text);
}

/* ask sends a request that every daemon answers at once: the cancellation of no request. If the
 * socket is full, the daemon has not read for long, and its reply to an earlier request will do. */
static void ask(torus_context *c)
{
    const struct td_request q = {.kind = TD_REQUEST_CANCEL, .id = c->next_id++};
    size_t size = td_wire_encode_request(&q, c->outgoing, sizeof c->outgoing);
    int saved = errno;
    if (send(c->fd, c->outgoing, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        errno = saved;
    else
        c->sent++, c->requests_sent++;
    c->asked = true;
    c->quiet_since_ns = tl_now_ns();
}

/* suspect asks a daemon that has been silent while this process waits, or gives it up. */
static int suspect(torus_context *c)
{
    if (c->asked)
        return give_up(c);
    ask(c);
    return TORUS_OK;
}

/* wait_until returns when a wait for the daemon is interrupted: at the deadline of the caller (-1:
 * none), or when the daemon has been silent for too long. */
static int64_t wait_until(torus_context *c, int64_t deadline_ns)
{
    if (c->quiet_since_ns == 0)
        c->quiet_since_ns = tl_now_ns();
    int64_t until = c->quiet_since_ns + PATIENCE_NS;
    return deadline_ns >= 0 && deadline_ns < until ? deadline_ns : until;
}

/* waited takes the result of a wait until wait_until. It returns TORUS_PENDING at the deadline. */
static int waited(torus_context *c, int got, int64_t deadline_ns)
{
    if (got != TORUS_PENDING || (deadline_ns >= 0 && tl_now_ns() >= deadline_ns))
        return got;
    return suspect(c);
}

/* keep copies the datagram of c->datagram to the end of the list of replies to be handled. */
static int keep(torus_context *c, size_t size)
{
    struct tl_kept *k = malloc(sizeof *k + size);
    if (!k)
        return tl_lost(c, TORUS_ERR_NO_MEMORY, "no memory for a reply of torusd");
    k->next = NULL;
    k->passed = c->passed;
    c->passed = -1;
    k->size = size;
    memcpy(k->bytes, c->datagram, size);
    *c->kept_last = k;
    c->kept_last = &k->next;
    tl_event_set(c);
    return TORUS_OK;
}

/* keep_all reads all replies that have arrived, so that the daemon need not keep them. They are
 * handled later: a caller that sends expects no other request to make progress meanwhile. */
static int keep_all(torus_context *c)
{
    size_t size = 0;
    int got = TORUS_OK;
    while (got == TORUS_OK) {
        got = read_datagram(c, false, &size);
        if (got == TORUS_OK)
            got = keep(c, size);
    }
    return got == TORUS_PENDING ? TORUS_OK : got;
}

/* handle_kept handles the oldest kept reply. */
static int handle_kept(torus_context *c)
{
    struct tl_kept *k = c->kept;
    struct td_reply reply;
    c->kept = k->next;
    if (!c->kept)
        c->kept_last = &c->kept;
    tl_event_clear(c);
    drop_passed(c);
    c->passed = k->passed;
    int got = decode(c, k->bytes, k->size, &reply);
    if (got == TORUS_OK)
        c->upcalls->reply(c, &reply);
    drop_passed(c);
    free(k);
    return got;
}

/* take_letter handles the reply that has come as a letter before the datagrams after the first
 * `received` ones. It returns TORUS_PENDING without a letter. */
static int take_letter(torus_context *c, uint64_t received)
{
    struct td_reply reply;
    size_t size = tl_letters_take(c, received);
    if (size == 0)
        return TORUS_PENDING;
    int got = count(c);
    if (got == TORUS_OK)
        got = decode(c, c->letter, size, &reply);
    if (got == TORUS_OK)
        c->upcalls->reply(c, &reply);
    return got;
}

/* receive_and_handle takes one reply and passes it to its request. */
static int receive_and_handle(torus_context *c, bool waits)
{
    struct td_reply reply;
    size_t size = 0;
    if (c->kept)
        return handle_kept(c);
    int got = read_datagram(c, waits, &size);
    if (got == TORUS_OK && tl_letters_are_due(c, c->received - 1)) {
        got = keep(c, size); /* the letter was sent before */
        return got == TORUS_OK ? take_letter(c, c->received - 1) : got;
    }
    if (got == TORUS_OK)
        got = decode(c, c->datagram, size, &reply);
    if (got == TORUS_OK)
        c->upcalls->reply(c, &reply);
    drop_passed(c);
    return got;
}

int tl_receive(torus_context *c)
{
    return receive_and_handle(c, false);
}

/* look waits for a reply without a sleep, for a short time. It returns TORUS_PENDING if none came.
 */
static int look(torus_context *c, int64_t deadline_ns)
{
    td_time now = (td_time)tl_now_ns();
    if (c->long_calls > 0 || !td_awake_extend(&c->awake, now))
        return TORUS_PENDING;
    tl_letters_look(c);
    int got = receive_and_handle(c, false); /* from before the daemon saw that */
    for (unsigned looks = 1; got == TORUS_PENDING && td_awake_lasts(&c->awake, now) &&
                             (deadline_ns < 0 || now < (td_time)deadline_ns);
         looks++) {
        td_time before = now;
        sched_yield();
        now = (td_time)tl_now_ns();
        td_awake_yielded(&c->awake, before, now);
        got = take_letter(c, c->received);
        if (got == TORUS_PENDING && (!c->letters || looks % LOOKS == 0))
            got = receive_and_handle(c, false);
    }
    /* outside of this function no letter waits: whoever reads the socket need not ask */
    while (!tl_letters_leave(c) && (got == TORUS_OK || got == TORUS_PENDING)) {
        int more = take_letter(c, c->received);
        got = more == TORUS_PENDING ? receive_and_handle(c, true) : more;
        if (got == TORUS_PENDING) /* the daemon puts a letter when all before it is sent */
            got = tl_malformed(c, "a letter that follows replies which have not come");
    }
    return got;
}

/* await_shared waits as tl_await does, in a context with threads: as the reader, or for the reader.
 */
static int await_shared(torus_context *c, int64_t deadline_ns)
{
    if (!tl_lock_read(c->use.lock, deadline_ns))
        return deadline_ns >= 0 && tl_now_ns() >= deadline_ns ? TORUS_PENDING : TORUS_OK;
    int got = receive_and_handle(c, false);
    if (got == TORUS_PENDING)
        got = waited(c, tl_lock_poll(c->use.lock, c->fd, wait_until(c, deadline_ns)), deadline_ns);
    tl_lock_unread(c->use.lock);
    return got;
}

/* await_idle waits as tl_await does, and runs the idle function of the context whenever nothing has
 * arrived for TL_IDLE_NS. No thread is the reader: each looks for itself. */
static int await_idle(torus_context *c, int64_t deadline_ns)
{
    int got = receive_and_handle(c, false);
    if (got != TORUS_PENDING)
        return got;
    int64_t until = wait_until(c, deadline_ns), most = tl_now_ns() + TL_IDLE_NS;
    got = tl_lock_poll(c->use.lock, c->fd, most < until ? most : until);
    if (got != TORUS_PENDING || tl_now_ns() >= until)
        return waited(c, got, deadline_ns);
    torus_idle_function *idle = c->idle;
    void *user = c->idle_user;
    if (!idle)
        return TORUS_OK;
    uint32_t depth = tl_lock_give(c->use.lock);
    idle(user);
    tl_lock_take(c->use.lock, depth);
    return TORUS_OK;
}

int tl_await(torus_context *c, int64_t deadline_ns)
{
    if (c->idle)
        return await_idle(c, deadline_ns);
    if (c->use.lock)
        return await_shared(c, deadline_ns);
    int seen = look(c, deadline_ns);
    if (seen != TORUS_PENDING)
        return seen;
    if (deadline_ns < 0) { /* one system call instead of three; it ends after PATIENCE_NS */
        int received = receive_and_handle(c, true);
        return received == TORUS_PENDING ? suspect(c) : received;
    }
    int got = receive_and_handle(c, false);
    if (got != TORUS_PENDING)
        return got;
    return waited(c, tl_poll(&c->fd, 1, POLLIN, wait_until(c, deadline_ns)), deadline_ns);
}

void tl_handle_kept(torus_context *c)
{
    while (c->kept)
        handle_kept(c);
}

void tl_forget_kept(torus_context *c)
{
    while (c->kept) {
        struct tl_kept *k = c->kept;
        c->kept = k->next;
        if (k->passed >= 0)
            close(k->passed);
        free(k);
    }
    c->kept_last = &c->kept;
}

/* ---- sending ---- */

/* wait_for_room waits until the socket takes another datagram. The daemon reads no requests of a
 * client whose replies it cannot send, so this reads replies meanwhile. */
static int wait_for_room(torus_context *c)
{
    int ready = tl_poll(&c->fd, 1, POLLIN | POLLOUT, tl_now_ns() + 2 * PATIENCE_NS);
    if (ready == TORUS_PENDING)
        return give_up(c);
    return ready == TORUS_OK ? keep_all(c) : ready;
}

int tl_encode(torus_context *c, const struct td_request *q, const uint8_t **bytes, size_t *size)
{
    if (q->id % KEEP_EVERY == KEEP_EVERY - 1 && tl_ready(c) == TORUS_OK)
        keep_all(c);
    int error = tl_ready(c);
    if (error != TORUS_OK)
        return error;
    *bytes = c->outgoing;
    *size = td_wire_encode_request(q, c->outgoing, sizeof c->outgoing);
    return *size > 0
               ? TORUS_OK
               : tl_fail(c, TORUS_ERR_INVALID,
                         "the count lists of this call exceed the largest request that torusd "
                         "accepts (%d bytes): pass NULL for the places, or split the group",
                         TD_DATAGRAM_MAX);
}

int tl_send(torus_context *c, const struct td_request *q, int fd)
{
    const uint8_t *bytes = NULL;
    size_t size = 0;
    int error = tl_encode(c, q, &bytes, &size);
    return error == TORUS_OK ? tl_send_bytes(c, bytes, size, fd) : error;
}

int tl_send_bytes(torus_context *c, const uint8_t *bytes, size_t size, int fd)
{
    c->requests_sent++;
    if (fd < 0 && tl_letters_put(c, bytes, size))
        return TORUS_OK;
    int saved = errno;
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
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
        bool full = errno == EAGAIN, again = full || errno == EINTR;
        int error = full ? wait_for_room(c) : again ? TORUS_OK : keep_all(c); /* the reason */
        if (error == TORUS_OK && again)
            continue;
        errno = saved;
        return error != TORUS_OK ? error : tl_lost(c, TORUS_ERR_SHUTDOWN, TL_CONNECTION_LOST);
    }
    c->sent++;
    errno = saved;
    return TORUS_OK;
}

/* late gives up a daemon that has not answered a call of tl_call in time. */
static int late(torus_context *c, int64_t deadline_ns)
{
    shutdown(c->fd, SHUT_RDWR);
    return tl_lost(c, TORUS_ERR_TIMEOUT,
                   deadline_ns < 0 ? UNANSWERED
                                   : "torusd accepted the connection but did not reply in time");
}

int tl_give_up(torus_context *c)
{
    return late(c, -1);
}

int tl_next(torus_context *c, int64_t deadline_ns, struct td_reply *reply)
{
    size_t size = 0;
    int got = TORUS_OK;
    struct tl_kept *k = c->kept;
    if (k) {
        c->kept = k->next;
        if (!c->kept)
            c->kept_last = &c->kept;
        size = k->size;
        memcpy(c->datagram, k->bytes, size);
        if (k->passed >= 0)
            close(k->passed);
        free(k);
    } else {
        while ((got = read_datagram(c, false, &size)) == TORUS_PENDING) {
            got = tl_poll(&c->fd, 1, POLLIN, deadline_ns);
            if (got != TORUS_OK)
                return got;
        }
        drop_passed(c);
    }
    return got == TORUS_OK ? decode(c, c->datagram, size, reply) : got;
}

enum td_reply_kind tl_reply_to(const struct td_request *q)
{
    switch (q->kind) {
    case TD_REQUEST_HELLO:
        return TD_REPLY_WELCOME;
    case TD_REQUEST_JOIN:
    case TD_REQUEST_GROUP:
    case TD_REQUEST_SHRINK:
        return TD_REPLY_JOINED;
    case TD_REQUEST_OPERATION:
        return td_call_plans(q->u.operation.call.kind) ? TD_REPLY_PLANNED : TD_REPLY_DONE;
    case TD_REQUEST_STATUS:
    case TD_REQUEST_END_CALLS:
        return TD_REPLY_STATUS;
    case TD_REQUEST_PEER_REGION:
        return TD_REPLY_PEER_REGION;
    case TD_REQUEST_REGION:
    case TD_REQUEST_UNREGION:
    case TD_REQUEST_LEAVE:
    case TD_REQUEST_UNPLAN:
    case TD_REQUEST_CANCEL:
    case TD_REQUEST_RELOAD:
        break;
    }
    return TD_REPLY_DONE;
}

int tl_call(torus_context *c, struct td_request *q, int fd, int64_t deadline_ns,
            struct td_reply *reply)
{
    q->id = c->next_id++;
    int error = tl_send(c, q, fd);
    size_t size = 0;
    int64_t limit_ns = deadline_ns < 0 ? tl_now_ns() + CALL_NS : deadline_ns;
    while (error == TORUS_OK) {
        if (tl_now_ns() >= limit_ns) /* whatever else it sends */
            return late(c, deadline_ns);
        error = read_datagram(c, false, &size);
        if (error == TORUS_PENDING) {
            error =
                tl_poll(&c->fd, 1, POLLIN, deadline_ns < 0 ? wait_until(c, limit_ns) : limit_ns);
            if (error == TORUS_PENDING && deadline_ns < 0 && tl_now_ns() < limit_ns)
                error = suspect(c);
            if (error == TORUS_PENDING)
                return late(c, deadline_ns);
            continue;
        }
        if (error == TORUS_OK)
            error = decode(c, c->datagram, size, reply);
        if (error == TORUS_OK && reply->id == q->id && reply->kind == TD_REPLY_ERROR)
            return tl_fail(c, reply->error, "%s", reply->text);
        if (error == TORUS_OK && reply->id == q->id)
            return reply->kind == tl_reply_to(q)
                       ? TORUS_OK
                       : tl_malformed(c, "kind %d to a request of kind %d", (int)reply->kind,
                                      (int)q->kind);
        if (error == TORUS_OK)
            error = keep(c, size); /* the reply to another request: that one may call this again */
    }
    return error;
}
