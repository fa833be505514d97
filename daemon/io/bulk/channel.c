/* SPDX-License-Identifier: Apache-2.0 */
#include "channel.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/acceptor.h"
#include "wire/packet.h"

enum {
    MAGIC_BYTES = 4,
    HANDSHAKE_HEAD = 8, /* "PKGR", and the length of the handshake (u32 LE) */
    HANDSHAKE_MAX = 1024,
    STAGING_BYTES = 16384, /* headers and short payloads are read together; */
    DIRECT_BYTES = 4096,   /* a payload with at least this much missing is read to its place */
    SOCKET_BUFFER = 4 << 20,
    KEEPALIVE_S = 20,
    PROBE_S = 5, /* until a host that does not answer is given up */
    BACKLOG = 128,
    SPARE = 8, /* descriptors reserved for other uses */
};

static const char magic[MAGIC_BYTES + 1] = "PKGR", no_memory[] = "no memory here for its packets";

/* union stream: TCP or a Unix socket. */
union stream {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct td_channel {
    struct td_channels *channels;
    struct td_channel *next, **link;
    union stream socket;
    uv_timer_t handshake_timer;      /* runs from the connection to the handshake */
    unsigned handles;                /* handles not closed yet */
    bool closed, handshake_received; /* handshake_received: the other end's handshake has arrived */
    const struct td_channel_calls *calls;
    void *user;
    uv_connect_t connect;
    unsigned waiting; /* writes in progress */
    /* the packet that is arriving */
    struct td_packet packet;
    struct td_payload *payload; /* with `filled` bytes received; NULL: a header is next */
    bool placed;                /* not in memory of the channel */
    uint32_t filled;
    size_t staged;
    uint8_t staging[STAGING_BYTES];
};

struct td_listener {
    struct td_channels *channels;
    struct td_acceptor acceptor;
    char path[108]; /* path of a Unix socket */
    const struct td_channel_calls *calls;
    void *user;
};

/* struct outgoing: bytes that the socket did not accept at once. */
struct outgoing {
    uv_write_t write;
    struct td_channel *channel;
    struct td_payload *payload;
    uint8_t bytes[];
};

/* ---- endpoints ---- */

/* parse_tcp reads tcp://ADDRESS:PORT. The address is numeric, in brackets if it has colons. */
static bool parse_tcp(const char *endpoint, struct sockaddr_storage *address)
{
    char host[128];
    const char *from = endpoint + strlen("tcp://"), *colon = strrchr(endpoint, ':');
    if (strncmp(endpoint, "tcp://", strlen("tcp://")) != 0 || colon < from)
        return false;
    size_t length = (size_t)(colon - from);
    if (length >= 2 && from[0] == '[' && from[length - 1] == ']') {
        from++;
        length -= 2;
    }
    if (length >= sizeof host)
        return false;
    memcpy(host, from, length);
    host[length] = '\0';
    int port = (int)strtol(colon + 1, NULL, 10);
    return uv_ip4_addr(host, port, (struct sockaddr_in *)address) == 0 ||
           uv_ip6_addr(host, port, (struct sockaddr_in6 *)address) == 0;
}

static const char *path_of(const char *endpoint)
{
    return strncmp(endpoint, "ipc://", strlen("ipc://")) == 0 ? endpoint + strlen("ipc://") : NULL;
}

/* open_socket creates a socket of the endpoint's kind. It returns 0 or libuv's error. */
static int open_socket(uv_loop_t *uv, const char *endpoint, union stream *s,
                       struct sockaddr_storage *address)
{
    if (path_of(endpoint))
        return uv_pipe_init(uv, &s->pipe, 0);
    if (!parse_tcp(endpoint, address))
        return UV_EINVAL;
    return uv_tcp_init_ex(uv, &s->tcp, address->ss_family);
}

/* adjust sets the options of a socket. Small buffers stall a stream while its other end does not
 * run, and keepalive detects a host that lost power. A refused option is not an error. */
static void adjust(const struct td_channels *channels, union stream *s)
{
    int bytes = SOCKET_BUFFER, fd = -1;
    uv_send_buffer_size(&s->handle, &bytes);
    bytes = SOCKET_BUFFER;
    uv_recv_buffer_size(&s->handle, &bytes);
    if (s->handle.type != UV_TCP || uv_fileno(&s->handle, &fd) != 0)
        return;
    uv_tcp_nodelay(&s->tcp, 1);
    uv_tcp_keepalive(&s->tcp, 1, KEEPALIVE_S);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &channels->silence_ms,
               sizeof channels->silence_ms);
}

bool td_channel_address(const struct td_channel *c, char *text, size_t bytes)
{
    struct sockaddr_storage a;
    int size = sizeof a;
    if (c->socket.handle.type != UV_TCP ||
        uv_tcp_getpeername(&c->socket.tcp, (struct sockaddr *)&a, &size) != 0)
        return false;
    return a.ss_family == AF_INET6 ? uv_ip6_name((const struct sockaddr_in6 *)&a, text, bytes) == 0
                                   : uv_ip4_name((const struct sockaddr_in *)&a, text, bytes) == 0;
}

void td_channel_probe(struct td_channel *c)
{
    static const int idle_s = 1, interval_s = 1, probes = PROBE_S;
    static const unsigned limit_ms = PROBE_S * 1000;
    int fd = -1;
    if (c->socket.handle.type != UV_TCP || uv_fileno(&c->socket.handle, &fd) != 0)
        return; /* a Unix socket ends with its process */
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
}

/* ---- life ---- */

static struct td_channel *new_channel(struct td_channels *channels,
                                      const struct td_channel_calls *calls, void *user)
{
    struct td_channel *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->channels = channels;
    c->calls = calls;
    c->user = user;
    c->next = channels->first;
    c->link = &channels->first;
    if (c->next)
        c->next->link = &c->next;
    channels->first = c;
    uv_timer_init(channels->uv, &c->handshake_timer);
    c->handshake_timer.data = c;
    c->handles = 1;
    return c;
}

static void on_closed(uv_handle_t *handle)
{
    struct td_channel *c = handle->data;
    if (--c->handles == 0)
        free(c);
}

/* has_socket records that the channel has a socket that must be closed. */
static void has_socket(struct td_channel *c)
{
    c->socket.handle.data = c;
    c->handles++;
}

void td_channel_close(struct td_channel *c)
{
    if (!c || c->closed)
        return;
    c->closed = true;
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    td_payload_drop(c->payload);
    c->payload = NULL;
    c->placed = false;
    if (c->handles > 1)
        uv_close(&c->socket.handle, on_closed);
    uv_close((uv_handle_t *)&c->handshake_timer, on_closed);
}

void td_channels_close(struct td_channels *channels)
{
    while (channels->first)
        td_channel_close(channels->first);
}

void td_channel_belongs(struct td_channel *c, const struct td_channel_calls *calls, void *user)
{
    uv_timer_stop(&c->handshake_timer);
    c->calls = calls;
    c->user = user;
}

/* end notifies the user and closes the channel, if the user did not. */
static void end(struct td_channel *c, bool violation, const char *why)
{
    if (c->closed)
        return;
    c->calls->ended(c->user, c, violation, why);
    td_channel_close(c);
}

/* fail ends the channel after an error of libuv. Whether the far end's close is seen as end of
 * file, EPIPE or ECONNRESET is chance, so all three get the same text and are logged once. */
static void fail(struct td_channel *c, int error)
{
    bool closed = error == UV_EOF || error == UV_EPIPE || error == UV_ECONNRESET;
    end(c, false,
        closed                ? "the connection was closed"
        : error == UV_ENOBUFS ? no_memory
                              : uv_strerror(error));
}

static void on_handshake_timeout(uv_timer_t *timer)
{
    end(timer->data, false, "handshake timeout");
}

/* ---- output ---- */

static void on_written(uv_write_t *write, int status)
{
    struct outgoing *o = write->data;
    struct td_channel *c = o->channel;
    c->waiting--;
    c->channels->faulted |= status == UV_EFAULT;
    td_payload_drop(o->payload);
    free(o);
    if (status < 0)
        fail(c, status);
}

/* write_later queues the bytes of a head and a payload from byte `done` on. */
static bool write_later(struct td_channel *c, const uint8_t *head, size_t size,
                        struct td_payload *payload, size_t done)
{
    size_t left = done < size ? size - done : 0, skip = done > size ? done - size : 0;
    struct outgoing *o = malloc(sizeof *o + left);
    if (!o) {
        td_payload_drop(payload);
        return false;
    }
    o->write.data = o;
    o->channel = c;
    o->payload = payload;
    if (left)
        memcpy(o->bytes, head + done, left);
    uv_buf_t part[2];
    unsigned parts = 0;
    if (left)
        part[parts++] = uv_buf_init((char *)o->bytes, (unsigned)left);
    if (payload)
        part[parts++] = uv_buf_init((char *)payload->data + skip, payload->bytes - (unsigned)skip);
    if (uv_write(&o->write, &c->socket.stream, part, parts, on_written) == 0) {
        c->waiting++;
        return true;
    }
    td_payload_drop(payload);
    free(o);
    return false;
}

bool td_channel_send(struct td_channel *c, const struct td_packet *packet,
                     struct td_payload *payload)
{
    uint8_t head[TD_WIRE_PACKET_BYTES];
    td_wire_encode_packet(packet, head);
    uv_buf_t part[2] = {uv_buf_init((char *)head, sizeof head)};
    size_t size = sizeof head + (payload ? payload->bytes : 0);
    if (payload)
        part[1] = uv_buf_init((char *)payload->data, payload->bytes);
    int done = c->waiting ? UV_EAGAIN : uv_try_write(&c->socket.stream, part, payload ? 2 : 1);
    if (done == UV_EAGAIN)
        done = 0;
    if (done < 0 || (size_t)done == size) {
        c->channels->faulted |= done == UV_EFAULT;
        td_payload_drop(payload);
        return done >= 0;
    }
    return write_later(c, head, sizeof head, payload, (size_t)done);
}

bool td_channel_send_handshake(struct td_channel *c, const uint8_t *handshake, size_t size)
{
    uint8_t bytes[HANDSHAKE_HEAD + HANDSHAKE_MAX];
    if (size > HANDSHAKE_MAX)
        return false;
    memcpy(bytes, magic, MAGIC_BYTES);
    for (int i = 0; i < 4; i++)
        bytes[MAGIC_BYTES + i] = (uint8_t)(size >> (8 * i));
    memcpy(bytes + HANDSHAKE_HEAD, handshake, size);
    return write_later(c, bytes, HANDSHAKE_HEAD + size, NULL, 0);
}

/* ---- input ---- */

/* read_handshake reads the handshake. It returns false if it is incomplete or malformed. */
static bool read_handshake(struct td_channel *c, size_t *at)
{
    const uint8_t *bytes = c->staging + *at;
    size_t left = c->staged - *at, size = 0;
    if (left < HANDSHAKE_HEAD)
        return false;
    for (int i = 0; i < 4; i++)
        size |= (size_t)bytes[MAGIC_BYTES + i] << (8 * i);
    if (memcmp(bytes, magic, MAGIC_BYTES) != 0 || size > HANDSHAKE_MAX) {
        end(c, true, "missing handshake");
        return false;
    }
    if (left < HANDSHAKE_HEAD + size)
        return false;
    *at += HANDSHAKE_HEAD + size;
    c->handshake_received = true;
    c->calls->handshake(c->user, c, bytes + HANDSHAKE_HEAD, size);
    return true;
}

/* ready_payload provides memory for the payload of the packet whose header was read. */
static bool ready_payload(struct td_channel *c)
{
    bool fits = c->packet.bytes <= c->channels->pool->bytes_max;
    c->filled = 0;
    c->payload = NULL;
    if (fits && c->calls->place && !c->channels->faulted)
        c->payload = c->calls->place(c->user, &c->packet, NULL);
    c->placed = c->payload != NULL;
    if (fits && !c->placed)
        c->payload = td_payload_new(c->channels->pool, c->packet.bytes);
    if (!c->payload)
        end(c, !fits, fits ? no_memory : "malformed input: packet too long");
    return c->payload != NULL;
}

/* settle_place ensures that the payload may be written. A placed payload that lost its place is
 * copied to memory of its own. It returns false if memory runs out; then the payload must not be
 * written. */
static bool settle_place(struct td_channel *c)
{
    if (!c->placed || c->calls->place(c->user, &c->packet, c->payload))
        return true;
    struct td_payload *own = td_payload_new(c->channels->pool, c->packet.bytes);
    if (!own)
        return false;
    memcpy(own->data, c->payload->data, c->filled);
    td_payload_drop(c->payload);
    c->payload = own;
    c->placed = false;
    return true;
}

void td_channels_settle(struct td_channels *channels)
{
    struct td_channel *next = NULL;
    for (struct td_channel *c = channels->first; c; c = next) {
        next = c->next;
        if (!settle_place(c))
            end(c, false, no_memory);
    }
}

/* deliver passes a complete packet to the user. */
static void deliver(struct td_channel *c)
{
    struct td_payload *payload = c->payload;
    c->payload = NULL;
    c->placed = false;
    c->calls->packet(c->user, c, &c->packet, payload);
}

/* read_header reads a packet's header and provides memory for its payload. */
static bool read_header(struct td_channel *c, size_t *at)
{
    const char *why = NULL;
    if (c->staged - *at < TD_WIRE_PACKET_BYTES)
        return false;
    if (!c->calls->packet) {
        end(c, true, "protocol violation: packets in the wrong direction");
        return false;
    }
    if (td_wire_decode_packet(c->staging + *at, TD_WIRE_PACKET_BYTES, &c->packet, &why) != TD_OK) {
        end(c, true, why);
        return false;
    }
    *at += TD_WIRE_PACKET_BYTES;
    if (c->packet.kind != TD_PACKET_DATA) {
        deliver(c);
        return true;
    }
    return ready_payload(c);
}

/* read_staged_payload copies staged bytes to the payload. */
static bool read_staged_payload(struct td_channel *c, size_t *at)
{
    if (!settle_place(c)) {
        end(c, false, no_memory);
        return false;
    }
    size_t left = c->staged - *at, missing = c->payload->bytes - c->filled;
    size_t size = left < missing ? left : missing;
    memcpy(c->payload->data + c->filled, c->staging + *at, size);
    c->filled += (uint32_t)size;
    *at += size;
    if (size < missing)
        return false;
    deliver(c);
    return true;
}

static bool read_staged(struct td_channel *c, size_t *at)
{
    if (!c->handshake_received)
        return read_handshake(c, at);
    return c->payload ? read_staged_payload(c, at) : read_header(c, at);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct td_channel *c = handle->data;
    (void)suggested;
    *buffer = uv_buf_init(NULL, 0);
    if (!settle_place(c)) /* libuv then calls on_read with UV_ENOBUFS */
        return;
    if (c->payload && c->payload->bytes - c->filled >= DIRECT_BYTES)
        *buffer = uv_buf_init((char *)c->payload->data + c->filled, c->payload->bytes - c->filled);
    else
        *buffer =
            uv_buf_init((char *)c->staging + c->staged, (unsigned)(sizeof c->staging - c->staged));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct td_channel *c = stream->data;
    size_t at = 0;
    if (c->closed)
        return;
    if (size < 0) {
        c->channels->faulted |= size == UV_EFAULT;
        fail(c, (int)size);
        return;
    }
    if (size > 0 && c->payload && buffer->base == (char *)c->payload->data + c->filled) {
        c->filled += (uint32_t)size;
        if (c->filled == c->payload->bytes)
            deliver(c);
        return;
    }
    c->staged += (size_t)size;
    while (!c->closed && read_staged(c, &at))
        continue;
    if (c->closed)
        return;
    c->staged -= at;
    memmove(c->staging, c->staging + at, c->staged);
}

/* ---- connecting ---- */

static void start(struct td_channel *c)
{
    adjust(c->channels, &c->socket);
    int error = uv_read_start(&c->socket.stream, on_alloc, on_read);
    if (error)
        end(c, false, uv_strerror(error));
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct td_channel *c = connect->data;
    size_t size = c->staged;
    c->staged = 0;
    if (status == UV_ECANCELED) /* the channel was closed */
        return;
    if (status != 0)
        end(c, false, uv_strerror(status));
    else if (!td_channel_send_handshake(c, c->staging, size))
        end(c, false, "no memory here for its handshake");
    else
        start(c);
}

struct td_channel *td_channel_open(struct td_channels *channels, const char *endpoint,
                                   const uint8_t *handshake, size_t size,
                                   const struct td_channel_calls *calls, void *user)
{
    struct sockaddr_storage address;
    struct td_channel *c = size <= HANDSHAKE_MAX ? new_channel(channels, calls, user) : NULL;
    if (!c) {
        errno = size <= HANDSHAKE_MAX ? ENOMEM : EINVAL;
        return NULL;
    }
    int error = open_socket(channels->uv, endpoint, &c->socket, &address);
    if (!error) {
        has_socket(c);
        c->connect.data = c;
        if (path_of(endpoint))
            uv_pipe_connect(&c->connect, &c->socket.pipe, path_of(endpoint), on_connected);
        else
            error = uv_tcp_connect(&c->connect, &c->socket.tcp, (struct sockaddr *)&address,
                                   on_connected);
    }
    if (!error) {
        memcpy(c->staging, handshake,
               size); /* until it is connected the staging buffer is unused */
        c->staged = size;
        return c;
    }
    td_channel_close(c);
    errno = -error;
    return NULL;
}

static void on_connection(void *user, int fd)
{
    struct td_listener *l = user;
    struct ucred other = {0};
    socklen_t length = sizeof other;
    if (l->path[0] && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &length) != 0 ||
                       (other.uid != geteuid() && other.uid != 0))) {
        close(fd);
        return;
    }
    struct td_channel *c = new_channel(l->channels, l->calls, l->user);
    if (!c) {
        close(fd);
        return;
    }
    int error = l->path[0] ? uv_pipe_init(l->channels->uv, &c->socket.pipe, 0)
                           : uv_tcp_init(l->channels->uv, &c->socket.tcp);
    if (!error) {
        has_socket(c);
        error = l->path[0] ? uv_pipe_open(&c->socket.pipe, fd) : uv_tcp_open(&c->socket.tcp, fd);
    }
    if (error) {
        td_channel_close(c);
        close(fd);
        return;
    }
    uv_timer_start(&c->handshake_timer, on_handshake_timeout, l->channels->handshake_ms, 0);
    start(c);
}

/* listen_at returns a descriptor, or -1 with errno. */
static int listen_at(const char *endpoint)
{
    struct sockaddr_storage tcp = {0};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    const char *path = path_of(endpoint);
    struct sockaddr *address = path ? (struct sockaddr *)&local : (struct sockaddr *)&tcp;
    int one = 1;
    if (path ? strlen(path) >= sizeof local.sun_path : !parse_tcp(endpoint, &tcp)) {
        errno = EINVAL;
        return -1;
    }
    if (path)
        memcpy(local.sun_path, path, strlen(path));
    socklen_t size = path                        ? (socklen_t)sizeof local
                     : tcp.ss_family == AF_INET6 ? (socklen_t)sizeof(struct sockaddr_in6)
                                                 : (socklen_t)sizeof(struct sockaddr_in);
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (!path) /* half-closed connections of an earlier daemon are no obstacle */
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, address, size) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

struct td_listener *td_listener_create(struct td_channels *channels, const char *endpoint,
                                       const struct td_channel_calls *calls, void *user)
{
    struct td_listener *l = calloc(1, sizeof *l);
    if (!l) {
        errno = ENOMEM;
        return NULL;
    }
    l->channels = channels;
    l->calls = calls;
    l->user = user;
    int fd = listen_at(endpoint);
    if (fd >= 0 &&
        td_acceptor_start(&l->acceptor, channels->uv, fd, "peers", SPARE, on_connection, l)) {
        if (path_of(endpoint))
            snprintf(l->path, sizeof l->path, "%s", path_of(endpoint));
        return l;
    }
    int error = errno;
    free(l);
    errno = error;
    return NULL;
}

void td_listener_close(struct td_listener *l)
{
    if (!l)
        return;
    if (l->path[0])
        unlink(l->path);
    td_acceptor_stop(&l->acceptor, free);
}
