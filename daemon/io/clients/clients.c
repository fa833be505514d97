/* SPDX-License-Identifier: Apache-2.0 */
#include "clients.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/variables.h"
#include "closer.h"
#include "denials.h"
#include "entrance.h"
#include "events.h"
#include "io/control/peers.h"
#include "io/descriptors.h"
#include "letterbox.h"
#include "observers.h"
#include "outbox.h"
#include "process.h"
#include "segments.h"
#include "sharing.h"
#include "turns.h"
#include "wire/client.h"

enum {
    CLOSING_MS = 5000, /* time for the last replies of a client that is expelled */
    RETRY_MS = 20,     /* until replies with descriptors may have been read */
    PASSED_PART = 4,   /* of RLIMIT_NOFILE: unread descriptors, then one for a client */
    BUCKETS = 256,
    PASSED_MAX = 253, /* descriptors in one message (SCM_MAX_FD). The kernel closes those that there
                         is no space for, and may sleep meanwhile */
};

struct connection {
    struct td_turns_entry turn; /* the first member */
    struct connection *next;
    uv_poll_t poll;
    struct td_process process;
    unsigned handles; /* `poll` and `process` until they are closed, and `turn` while it waits */
    struct td_clients *clients;
    int fd;
    uint32_t id;
    uint64_t uid;
    int pid;
    struct td_letterbox box;
    struct connection *next_boxed, **boxed; /* the list of those with letters */
    struct td_outbox out;
    uint64_t close_at; /* closing: when its last replies are dropped, in ms of the loop */
    bool cut_off;      /* it is being disconnected: nothing more is sent */
    bool closing;      /* close it once the waiting replies are sent */
    bool paused;       /* its requests are not read */
    bool shares;       /* its REGION is under way */
    bool removed;      /* it has ended, and waits for what has a handle of it */
};

struct td_clients {
    struct td_loop *loop;
    struct td_closer *closer;
    struct td_entrance entrance;
    struct td_denials denials;
    struct td_observers observers;
    uv_timer_t sweep; /* runs while a connection is closing */
    uv_timer_t retry; /* runs while a connection needs it (needs_retry) */
    struct td_outbox_all out;
    struct td_log_rate unread_log, accept_log, expelled_log, unwatched_log, strays_log,
        unpassed_log;
    struct td_events events;
    struct connection *first_boxed;
    bool listens;     /* the loop does not sleep: it looks for letters */
    uv_idle_t unread; /* runs once after a client with a letter may be read again */
    struct td_turns turns;
    uv_check_t polled;  /* runs after the loop has looked at its sockets: reads in turn */
    uv_idle_t unserved; /* active while connections wait for their turn: the loop does not sleep */
    uint32_t next_id, count;
    struct connection *connection[BUCKETS];
    struct td_wire_memory memory;
    uint8_t bytes[TD_DATAGRAM_MAX], letter[TD_LETTER_BYTES];
};

static struct connection *find(struct td_clients *c, uint32_t id)
{
    struct connection *x = c->connection[id % BUCKETS];
    while (x && x->id != id)
        x = x->next;
    return x;
}

static void free_closed(void *connection)
{
    struct connection *x = connection;
    if (--x->handles == 0)
        free(x);
}

static void on_closed(uv_handle_t *handle)
{
    struct connection *x = handle->data;
    td_closer_close(x->clients->closer, x->uid, x->fd);
    free_closed(x);
}

static void remove_connection(struct connection *x)
{
    struct td_clients *c = x->clients;
    struct connection **link = &c->connection[x->id % BUCKETS];
    while (*link != x)
        link = &(*link)->next;
    *link = x->next;
    x->removed = true;
    c->count--;
    td_outbox_fini(&x->out);
    td_letterbox_free(&x->box, c->loop->regions);
    if (x->boxed && (*x->boxed = x->next_boxed))
        x->next_boxed->boxed = x->boxed;
    uv_poll_stop(&x->poll);
    uv_close((uv_handle_t *)&x->poll, on_closed);
    td_process_unwatch(&x->process, free_closed);
}

/* lose ends a connection that the client closed, and notifies the core. */
static void lose(struct connection *x)
{
    struct td_loop *loop = x->clients->loop;
    uint32_t id = x->id;
    bool known = !x->closing;
    td_busy_may_last(&loop->busy, "end of a client");
    remove_connection(x);
    if (known)
        td_loop_feed(loop,
                     &(struct td_event){.kind = TD_EVENT_CLIENT_CLOSED, .u.closed.client = id});
}

/* ---- receiving ---- */

/* received_fd returns the first descriptor of the message, and closes any others. */
static int received_fd(struct connection *x, struct msghdr *message)
{
    int fd = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int one = -1;
            memcpy(&one, CMSG_DATA(c) + i * sizeof one, sizeof one);
            if (fd < 0)
                fd = one;
            else
                td_closer_close(x->clients->closer, x->uid, one);
        }
    }
    return fd;
}

/* has_descriptors returns true if there are `count` descriptors for clients. They leave a reserve,
 * of half of all descriptors at most: those of one message, and those of each peer that is not
 * connected. */
static bool has_descriptors(const struct td_clients *c, uint64_t count)
{
    const struct td_peers *peers = c->loop->peers;
    uint64_t most = td_descriptors_limit() / 2;
    uint64_t reserve =
        PASSED_MAX + TD_DESCRIPTORS_LEAST +
        (uint64_t)TD_DESCRIPTORS_OF_PEER * (td_peers_most(peers) - td_peers_up(peers));
    return td_descriptors_has(&c->loop->descriptors, count, reserve < most ? reserve : most,
                              uv_now(&c->loop->uv));
}

static void on_shared(void *clients, uint32_t client);

/* share_region has the file of a REGION mapped on a thread, takes its descriptor and returns true;
 * or it writes into the request why not. */
static bool share_region(struct connection *x, struct td_request *q, int *fd, bool cut)
{
    struct td_clients *c = x->clients;
    bool may_keep = *fd >= 0 && has_descriptors(c, 1);
    const struct td_sharing sharing = {.loop = c->loop,
                                       .closer = c->closer,
                                       .client = x->id,
                                       .uid = x->uid,
                                       .may_keep = may_keep,
                                       .ended = on_shared,
                                       .user = c};
    q->u.region.error = cut ? TD_ERR_SYSTEM : TD_ERR_INVALID;
    q->u.region.text = cut ? "the daemon has no file descriptor left for this memory: raise "
                             "LimitNOFILE of torusd.service"
                           : "the request carries no file descriptor";
    if (*fd < 0)
        return false;
    td_descriptors_take(&c->loop->descriptors, 1);
    if (td_sharing_begin(&sharing, q, *fd)) {
        *fd = -1;
        return true;
    }
    q->u.region.error = TD_ERR_NO_MEMORY;
    q->u.region.text = "the daemon has no memory for the records of a region";
    return false;
}

/* note_kind says with what request the loop is busy. Calls that execute something are short. */
static void note_kind(struct td_loop *loop, const struct td_request *q)
{
    static const char *const names[] = {
        [TD_REQUEST_HELLO] = "request: hello",
        [TD_REQUEST_REGION] = "request: region",
        [TD_REQUEST_UNREGION] = "request: end of a region",
        [TD_REQUEST_JOIN] = "request: join",
        [TD_REQUEST_LEAVE] = "request: leave",
        [TD_REQUEST_OPERATION] = "request: plan",
        [TD_REQUEST_UNPLAN] = "request: end of a plan",
        [TD_REQUEST_CANCEL] = "request: cancel",
        [TD_REQUEST_STATUS] = "request: status",
        [TD_REQUEST_GROUP] = "request: group",
        [TD_REQUEST_SHRINK] = "request: shrink",
        [TD_REQUEST_PEER_REGION] = "request: region of a peer",
        [TD_REQUEST_END_CALLS] = "request: end of calls",
        [TD_REQUEST_RELOAD] = "request: reload",
    };
    if (q->kind != TD_REQUEST_OPERATION || td_call_plans(q->u.operation.call.kind))
        td_busy_may_last(&loop->busy, names[q->kind]);
}

/* note_strays logs variables of a process that its library does not know. */
static void note_strays(struct connection *x, const struct td_request *hello)
{
    char text[TD_STRAY_TEXT_MAX];
    for (const char *at = hello->u.hello.strays; at && td_variables_warning(&at, text);)
        td_log_rated(&x->clients->strays_log, td_loop_now(), TD_LOG_WARNING,
                     "process %d (%s) of user %llu: %s", x->pid, hello->u.hello.program,
                     (unsigned long long)x->uid, text);
}

static void rearm(struct connection *x);

/* handle_datagram handles a request. *fd is its descriptor, or -1; -1 afterwards: it was taken. */
static void handle_datagram(struct connection *x, const uint8_t *bytes, size_t size, int *fd,
                            bool cut)
{
    struct td_clients *c = x->clients;
    struct td_request q;
    const char *why = NULL;
    struct td_event e = {.kind = TD_EVENT_CLIENT_REQUEST,
                         .u.request = {.client = x->id, .request = &q}};
    td_err error = td_wire_decode_request(bytes, size, &c->memory, &q, &why);
    if (error != TD_OK) {
        e.kind = TD_EVENT_CLIENT_INVALID;
        e.u.invalid.client = x->id;
        e.u.invalid.error = error;
        e.u.invalid.text = why;
    } else {
        note_kind(c->loop, &q);
    }
    if (error == TD_OK && q.kind == TD_REQUEST_REGION && share_region(x, &q, fd, cut)) {
        x->shares = true;
        rearm(x);
        return;
    }
    if (error == TD_OK && q.kind == TD_REQUEST_HELLO)
        note_strays(x, &q);
    td_loop_feed(c->loop, &e);
}

/* take_letter handles the letter of a client, if one is due. It returns false if none is. */
static bool take_letter(struct connection *x)
{
    struct td_clients *c = x->clients;
    if (!x->box.letters || x->closing || x->paused)
        return false;
    int none = -1;
    size_t size = td_letterbox_take(&x->box, c->listens, c->letter);
    if (size)
        handle_datagram(x, c->letter, size, &none, false);
    return size > 0;
}

/* receive reads one datagram, if one exists. */
static void receive(struct connection *x)
{
    struct td_clients *c = x->clients;
    struct iovec part = {.iov_base = c->bytes, .iov_len = sizeof c->bytes};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(PASSED_MAX * sizeof(int))];
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t size = recvmsg(x->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    int fd = size > 0 ? received_fd(x, &message) : -1;
    take_letter(x); /* that the client has sent before this datagram */
    bool ended = x->removed || x->closing;
    if (message.msg_flags & MSG_TRUNC)
        size = 1;              /* too long: decoding will refuse it */
    if (!ended && size <= 0) { /* a datagram is never empty: end of file */
        lose(x);
    } else if (!ended) {
        x->box.received++;
        handle_datagram(x, c->bytes, (size_t)size, &fd, message.msg_flags & MSG_CTRUNC);
    }
    if (fd >= 0)
        td_closer_close(c->closer, x->uid, fd);
}

/* is_gone returns true if a reply could not be sent because the client has closed its connection.
 * on_poll will see the end of file. */
static bool is_gone(int error)
{
    return error == EPIPE || error == ECONNRESET || error == ENOTCONN;
}

/* cut_off ends a connection that misses a reply, for an error of td_outbox_put or td_outbox_flush.
 */
static void cut_off(struct connection *x, int error)
{
    if (is_gone(error))
        return;
    td_log_rated(&x->clients->unread_log, td_loop_now(), TD_LOG_WARNING,
                 "closing the connection of process %d of user %llu: %s (%u replies queued)",
                 x->pid, (unsigned long long)x->uid,
                 error == ENOSPC ? "it does not read its replies" : strerror(error), x->out.count);
    x->cut_off = true;
    shutdown(x->fd, SHUT_RDWR); /* on_poll will see the end of file */
}

/* flush sends what waits. It returns false if the connection is to end. */
static bool flush(struct connection *x)
{
    int error = td_outbox_flush(&x->out);
    if (error)
        cut_off(x, error);
    return !error && (td_outbox_waits(&x->out) || !x->closing);
}

static void on_poll(uv_poll_t *poll, int error, int events);

/* may_read returns true while the last request has been answered if it was REGION, few replies
 * wait, and few descriptors of the user are still to be closed. A client that computes and reads
 * its replies later keeps its connection; its next requests wait in the socket. */
static bool may_read(struct connection *x)
{
    const struct td_settings *s = &x->clients->loop->config->settings;
    return !x->shares && td_outbox_has_room(&x->out, s->unread_bytes_max, s->share_percent) &&
           td_passing_may(&x->out.passing, x->fd) &&
           td_closer_pending(x->clients->closer, x->uid) < TD_CLOSER_PENDING_MAX;
}

static void on_unread(uv_idle_t *idle);
static void on_retry(uv_timer_t *timer);

/* needs_retry returns true if nothing tells when the client can go on: the system does not say when
 * replies with descriptors have been read. */
static bool needs_retry(struct connection *x)
{
    struct td_passing *p = &x->out.passing;
    bool unread = x->paused && p->waiting == 0 && !td_passing_may(p, x->fd);
    return x->out.held || (unread && !x->closing);
}

static void rearm(struct connection *x)
{
    int events = UV_DISCONNECT;
    bool paused = x->paused;
    x->paused = x->closing || !may_read(x);
    if (paused && !x->paused && x->box.letters) /* its letter was left where it is */
        uv_idle_start(&x->clients->unread, on_unread);
    if (!x->paused)
        events |= UV_READABLE;
    if (td_outbox_waits(&x->out) && !x->out.held)
        events |= UV_WRITABLE;
    if (needs_retry(x) && !uv_is_active((uv_handle_t *)&x->clients->retry))
        uv_timer_start(&x->clients->retry, on_retry, RETRY_MS, 0);
    uv_poll_start(&x->poll, events, on_poll);
}

/* on_shared goes on with a client whose REGION has ended. */
static void on_shared(void *clients, uint32_t client)
{
    struct connection *x = find(clients, client);
    if (!x)
        return;
    x->shares = false;
    rearm(x);
}

/* ---- turns ---- */

/* has_letter returns true if a letter of the client is due and may be taken. */
static bool has_letter(const struct connection *x)
{
    return x->box.letters && !x->closing && !x->paused && !x->removed &&
           td_letterbox_is_due(&x->box);
}

/* queue has a connection read in its turn. */
static void queue(struct connection *x)
{
    x->handles += !x->turn.waits;
    td_turns_add(&x->clients->turns, &x->turn, x->uid);
}

/* read_one reads one request of a connection, or finds its end. It returns true if another one is
 * due that nobody else looks for. */
static bool read_one(struct connection *x)
{
    if (x->removed || x->closing)
        return false;
    if (!may_read(x))
        rearm(x);
    else if (!take_letter(x))
        receive(x);
    return has_letter(x);
}

static void on_unserved(uv_idle_t *idle)
{
    (void)idle; /* while it is active, the loop does not sleep */
}

/* serve reads requests in turn by user, until the loop should look at its sockets again. It returns
 * true if it has read any. */
static bool serve(struct td_clients *c)
{
    struct td_loop *loop = c->loop;
    struct connection *x = NULL;
    bool any = false;
    for (uint64_t spent = 0; spent < TD_TURNS_NS && !loop->stopped;) {
        if (!(x = (struct connection *)td_turns_next(&c->turns)))
            break;
        td_time began = td_busy_begin(&loop->busy, "request: call");
        bool more = read_one(x);
        uint64_t ns = td_busy_end(&loop->busy);
        /* work left of others was done after that */
        uint64_t own = loop->woken_at > began ? loop->woken_at - began : ns;
        if (td_turns_served(&c->turns, own, more))
            free_closed(x);
        spent += ns;
        any = true;
    }
    if (td_turns_next(&c->turns))
        uv_idle_start(&c->unserved, on_unserved);
    else
        uv_idle_stop(&c->unserved);
    return any;
}

static void on_polled(uv_check_t *polled)
{
    serve(polled->data);
}

bool td_clients_look(struct td_clients *c)
{
    for (struct connection *x = c->first_boxed; x; x = x->next_boxed)
        if (has_letter(x))
            queue(x);
    return td_turns_next(&c->turns) && serve(c);
}

bool td_clients_listen(struct td_clients *c, bool listens)
{
    bool none = true;
    c->listens = listens;
    for (struct connection *x = c->first_boxed; x; x = x->next_boxed) {
        bool reads = !x->paused && !x->closing;
        if (listens && !reads)
            continue;
        none = (td_letterbox_listens(&x->box, listens) || !reads) && none;
    }
    return none;
}

static void on_unread(uv_idle_t *idle)
{
    uv_idle_stop(idle);
    td_clients_look(idle->data);
}

static void on_poll(uv_poll_t *poll, int error, int events)
{
    struct connection *x = poll->data;
    if (error < 0) {
        lose(x);
        return;
    }
    if (events & UV_WRITABLE) {
        if (!flush(x)) {
            lose(x);
            return;
        }
        rearm(x);
    }
    if (!(events & (UV_READABLE | UV_DISCONNECT)))
        return;
    if (!x->closing && may_read(x))
        queue(x); /* it is read after the loop has looked at the other sockets */
    else if (events & UV_DISCONNECT)
        lose(x);
    else
        rearm(x);
}

/* on_retry sends what the system did not accept, and looks what has been read. */
static void on_retry(uv_timer_t *timer)
{
    struct td_clients *c = timer->data;
    for (int i = 0; i < BUCKETS; i++)
        for (struct connection *x = c->connection[i]; x; x = x->next)
            if (x->out.held && !flush(x))
                shutdown(x->fd, SHUT_RDWR); /* on_poll will see the end of file */
            else if (td_outbox_waits(&x->out) || x->paused)
                rearm(x);
}

/* on_descriptors_closed goes on with what waited for descriptors. */
static void on_descriptors_closed(void *user)
{
    struct td_clients *c = user;
    for (int i = 0; i < BUCKETS; i++)
        for (struct connection *x = c->connection[i]; x; x = x->next)
            if (x->paused)
                rearm(x);
    td_acceptor_resume(&c->entrance.acceptor);
}

/* ---- accepting ---- */

/* on_ended ends the connection of a process that has ended, though another one may have its socket.
 * The requests that it sent are read first, as at the end of any connection. */
static void on_ended(void *connection)
{
    const struct connection *x = connection;
    shutdown(x->fd, SHUT_RDWR); /* on_poll will see the end of file */
}

/* watch_process has the end of a client's process noticed. */
static void watch_process(struct connection *x)
{
    struct td_clients *c = x->clients;
    if (!td_process_watch(&x->process, &c->loop->uv, x->fd, x->pid, on_ended, x))
        td_log_rated(&c->unwatched_log, td_loop_now(), TD_LOG_WARNING,
                     "cannot watch process %d of user %llu (%s): its ranks end when all processes "
                     "that it forked have ended, too",
                     x->pid, (unsigned long long)x->uid, strerror(errno));
}

static void accept_client(struct td_clients *c, int fd)
{
    struct ucred peer = {0};
    socklen_t length = sizeof peer;
    struct connection *x = calloc(1, sizeof *x);
    td_descriptors_take(&c->loop->descriptors, TD_DESCRIPTORS_OF_CLIENT);
    if (!x || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        !td_outbox_init(&x->out, &c->out, peer.uid, fd) ||
        uv_poll_init(&c->loop->uv, &x->poll, fd) != 0) {
        td_log_rated(&c->accept_log, td_loop_now(), TD_LOG_WARNING, "cannot accept a client: %s",
                     strerror(errno));
        if (x)
            td_outbox_fini(&x->out);
        free(x);
        td_closer_close(c->closer, peer.uid, fd);
        return;
    }
    x->clients = c;
    x->handles = 2;
    x->fd = fd;
    x->id = c->next_id++;
    x->uid = peer.uid;
    x->pid = (int)peer.pid;
    x->poll.data = x;
    x->next = c->connection[x->id % BUCKETS];
    c->connection[x->id % BUCKETS] = x;
    c->count++;
    watch_process(x);
    rearm(x);
    td_loop_feed(c->loop, &(struct td_event){.kind = TD_EVENT_CLIENT_OPENED,
                                             .u.opened = {.client = x->id,
                                                          .uid = peer.uid,
                                                          .pid = (uint64_t)peer.pid,
                                                          .observes = td_observers_has(
                                                              &c->observers, fd, peer.gid)}});
}

static void on_connect(void *user, int fd)
{
    struct td_clients *c = user;
    td_busy_begin(&c->loop->busy, "new client");
    td_busy_may_last(&c->loop->busy, NULL);
    accept_client(c, fd);
    td_busy_end(&c->loop->busy);
}

/* ---- sending ---- */

/* note_expelled logs why the core ends a connection: only an ERROR of no request says that. */
static void note_expelled(struct connection *x, const struct td_reply *r)
{
    if (r->kind == TD_REPLY_ERROR && r->id == 0 && r->error != TD_ERR_SHUTDOWN)
        td_log_rated(&x->clients->expelled_log, td_loop_now(), TD_LOG_WARNING,
                     "turned away process %d of user %llu: %s", x->pid, (unsigned long long)x->uid,
                     r->text ? r->text : "");
}

/* reply sends a reply, or keeps it waiting. It returns false if it has done neither, because there
 * is no room for the descriptor. */
static bool reply(struct connection *x, const struct td_reply *r, int fd)
{
    uint8_t bytes[TD_DATAGRAM_MAX];
    size_t size = x->closing || x->cut_off ? 0 : td_wire_encode_reply(r, bytes, sizeof bytes);
    if (size == 0)
        return true;
    note_expelled(x, r);
    if (fd < 0 && !td_outbox_waits(&x->out) && td_letterbox_put(&x->box, bytes, size))
        return true;
    bool may_copy = fd >= 0 && has_descriptors(x->clients, 1);
    int error = td_outbox_put(&x->out, bytes, size, fd, may_copy);
    if (error == EMFILE)
        return false;
    x->box.sent++;
    if (error == EAGAIN) {
        td_descriptors_take(&x->clients->loop->descriptors, fd >= 0);
        rearm(x);
    } else if (error) {
        cut_off(x, error);
    }
    return true;
}

/* pass sends a reply with a descriptor, or without it if the descriptor has no room: then the
 * client works by requests. It returns true if the descriptor goes. fd -1: there is none. */
static bool pass(struct connection *x, const struct td_reply *r, int fd)
{
    /* no request for a descriptor is read while there is no room, but JOINED may come any time */
    bool may = fd >= 0 && (r->kind != TD_REPLY_JOINED || td_passing_may(&x->out.passing, x->fd));
    if (may && reply(x, r, fd))
        return true;
    if (fd >= 0)
        td_log_rated(&x->clients->unpassed_log, td_loop_now(), TD_LOG_WARNING,
                     "process %d of user %llu makes its calls by requests: %s", x->pid,
                     (unsigned long long)x->uid,
                     may ? "the system has no room for a descriptor in its reply"
                         : "it has not read earlier replies with descriptors");
    struct td_reply without = *r;
    if (r->kind == TD_REPLY_JOINED)
        without.u.joined.has_letters = without.u.joined.has_segment = false;
    (void)reply(x, &without, -1);
    return false;
}

void td_clients_note(struct td_clients *c, const struct td_note *note, uint64_t lost)
{
    td_events_note(&c->events, td_loop_now(), note, lost);
}

void td_clients_observe(struct td_clients *c)
{
    c->observers = td_observers_find(c->loop->config->observers);
}

void td_clients_tick(struct td_clients *c)
{
    td_events_tick(&c->events, td_loop_now());
}

/* share_letters sends a client that its group spans nodes, and once the memory for its letters. */
static void share_letters(struct connection *x, const struct td_reply *r)
{
    struct td_clients *c = x->clients;
    struct td_reply joined = *r;
    int fd = c->loop->config->segments ? td_letterbox_make(&x->box, c->loop->regions, x->uid) : -1;
    joined.u.joined.has_letters = fd >= 0;
    bool passed = pass(x, &joined, fd);
    if (fd < 0)
        return;
    close(fd);
    if (!passed) {
        td_letterbox_free(&x->box, c->loop->regions);
        return;
    }
    x->boxed = &c->first_boxed;
    if ((x->next_boxed = c->first_boxed))
        x->next_boxed->boxed = &x->next_boxed;
    c->first_boxed = x;
    if (c->listens)
        td_letterbox_listens(&x->box, true);
}

/* share_segment sends a client that its group is on this node, and the segment of the group. */
static void share_segment(struct connection *x, const struct td_reply *r)
{
    struct td_reply joined = *r;
    struct td_segments *segments = x->clients->loop->segments;
    uint32_t group = r->u.joined.group;
    int fd = td_segments_share(segments, group, r->u.joined.size, x->uid, td_loop_now());
    joined.u.joined.has_segment = fd >= 0;
    (void)pass(x, &joined, fd);
    td_segments_shared(segments, group);
}

void td_clients_reply(struct td_clients *c, uint32_t client, const struct td_reply *r)
{
    struct connection *x = find(c, client);
    if (!x)
        return;
    td_events_reply(&c->events, td_loop_now(), (uint64_t)x->pid, x->uid, r);
    if (r->kind == TD_REPLY_PEER_REGION && r->u.peer_region.handle)
        (void)pass(x, r, td_regions_descriptor(c->loop->regions, r->u.peer_region.handle, x->uid));
    else if (r->kind == TD_REPLY_JOINED && r->u.joined.is_local)
        share_segment(x, r);
    else if (r->kind == TD_REPLY_JOINED)
        share_letters(x, r);
    else
        (void)reply(x, r, -1);
}

/* on_sweep ends connections whose clients do not read the replies that said why. */
static void on_sweep(uv_timer_t *timer)
{
    struct td_clients *c = timer->data;
    uint64_t now = uv_now(&c->loop->uv), next = UINT64_MAX;
    for (int i = 0; i < BUCKETS; i++)
        for (struct connection *x = c->connection[i], *after = NULL; x; x = after) {
            after = x->next;
            if (x->closing && x->close_at <= now)
                remove_connection(x);
            else if (x->closing && x->close_at < next)
                next = x->close_at;
        }
    if (next < UINT64_MAX)
        uv_timer_start(timer, on_sweep, next - now, 0);
}

void td_clients_close(struct td_clients *c, uint32_t client)
{
    struct connection *x = find(c, client);
    if (!x)
        return;
    x->closing = true;
    if (!td_outbox_waits(&x->out)) {
        remove_connection(x);
        return;
    }
    rearm(x);
    uv_update_time(&c->loop->uv);
    x->close_at = uv_now(&c->loop->uv) + CLOSING_MS;
    if (!uv_is_active((uv_handle_t *)&c->sweep))
        uv_timer_start(&c->sweep, on_sweep, CLOSING_MS, 0);
}

uint32_t td_clients_count(const struct td_clients *c)
{
    return c->count;
}

/* ---- life ---- */

static bool has_place(void *user)
{
    return has_descriptors(user, TD_DESCRIPTORS_OF_CLIENT);
}

/* on_lacking refuses the clients that wait while descriptors lack. */
static void on_lacking(void *user, int listener)
{
    struct td_clients *c = user;
    char why[200], text[220];
    td_descriptors_text(why, sizeof why);
    snprintf(text, sizeof text, "refused: %s", why);
    if (listener < 0)
        td_denials_close(&c->denials, c->closer);
    else
        td_denials_tell(&c->denials, c->closer, listener, text);
}

static void close_handles(struct td_clients *c)
{
    uv_close((uv_handle_t *)&c->sweep, NULL);
    uv_close((uv_handle_t *)&c->retry, NULL);
    uv_close((uv_handle_t *)&c->unread, NULL);
    uv_close((uv_handle_t *)&c->unserved, NULL);
    uv_close((uv_handle_t *)&c->polled, NULL);
}

struct td_clients *td_clients_create(struct td_loop *loop, char *why, size_t why_bytes)
{
    struct td_clients *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->loop = loop;
    c->next_id = 1;
    c->observers = td_observers_find(loop->config->observers);
    c->closer = td_closer_create(&loop->uv, on_descriptors_closed, c);
    if (!c->closer) {
        snprintf(why, why_bytes, "cannot start a thread: %s", strerror(errno));
        free(c);
        return NULL;
    }
    td_regions_work_on(loop->regions, c->closer);
    uv_timer_init(&loop->uv, &c->sweep);
    c->sweep.data = c;
    uv_timer_init(&loop->uv, &c->retry);
    c->retry.data = c;
    c->out.passing.most = td_descriptors_limit() / PASSED_PART;
    uv_idle_init(&loop->uv, &c->unread);
    c->unread.data = c;
    td_turns_init(&c->turns);
    uv_idle_init(&loop->uv, &c->unserved);
    uv_check_init(&loop->uv, &c->polled);
    c->polled.data = c;
    uv_check_start(&c->polled, on_polled);
    static const struct td_acceptor_calls calls = {has_place, on_connect, on_lacking};
    if (td_entrance_open(&c->entrance, &loop->uv, loop->config->socket, &calls, c, why, why_bytes))
        return c;
    td_regions_work_on(loop->regions, NULL);
    td_closer_stop(c->closer);
    close_handles(c);
    uv_run(&loop->uv, UV_RUN_NOWAIT); /* the loop lets go of the handles */
    td_closer_destroy(c->closer);
    free(c);
    return NULL;
}

void td_clients_stop(struct td_clients *c)
{
    if (!c)
        return;
    for (int i = 0; i < BUCKETS; i++)
        while (c->connection[i]) {
            flush(c->connection[i]);
            remove_connection(c->connection[i]);
        }
    for (struct td_turns_entry *next; (next = td_turns_next(&c->turns));)
        if (td_turns_served(&c->turns, 0, false))
            free_closed(next);
    td_denials_close(&c->denials, c->closer);
    td_events_end(&c->events);
    td_log_rate_end(&c->expelled_log, TD_LOG_WARNING, "turned away processes");
    td_entrance_close(&c->entrance);
    td_closer_stop(c->closer);
    close_handles(c);
}

void td_clients_free(struct td_clients *c)
{
    if (!c)
        return;
    td_regions_work_on(c->loop->regions, NULL);
    td_closer_destroy(c->closer);
    free(c);
}
