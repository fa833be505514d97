/* SPDX-License-Identifier: Apache-2.0 */
#include "channel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "endpoint.h"
#include "io/acceptor.h"
#include "wire/packet.h"

enum {
    MAGIC_BYTES = 4,
    HANDSHAKE_HEAD = 8, /* "PKGR", and the length of the handshake (u32 LE) */
    SEALED_HEAD = HANDSHAKE_HEAD + 8 + TD_SEAL_TAG, /* "PKGS", length, session, tag */
    STRANGERS_MAX = 64, /* connections that have not sent their handshake */
    HANDSHAKE_MAX = 1024,
    STAGING_BYTES = 16384, /* headers and short payloads are read together; */
    DIRECT_BYTES = 4096,   /* a payload with at least this much missing is read to its place */
    SPARE = 8,             /* descriptors reserved for other uses */
};

static const char
    magic[MAGIC_BYTES + 1] = "PKGR",
                        sealed_magic[MAGIC_BYTES + 1] = "PKGS",
                        no_memory[] = "no memory here for its packets",
                        changed[] = "a packet was changed on the way: its tag or checksum is wrong";

struct td_channel {
    struct td_channels *channels;
    struct td_channel *next, **link;
    union td_stream socket;
    uv_timer_t handshake_timer;      /* runs from the connection to the handshake */
    unsigned handles;                /* handles not closed yet */
    bool closed, handshake_received; /* handshake_received: the other end's handshake has arrived */
    bool stranger;                   /* accepted, without a user of its own */
    bool sealed;                     /* packets are sealed by `out` and `in` */
    uint64_t session;
    struct td_seal out, in;
    uint8_t head[TD_SEAL_HEAD]; /* of the packet that is arriving, if it is sealed */
    const struct td_channel_calls *calls;
    void *user;
    uv_connect_t connect;
    unsigned waiting; /* writes in progress */
    /* the packet that is arriving */
    struct td_packet packet;
    struct td_payload *payload; /* with `filled` bytes received; NULL: a header is next */
    bool placed;                /* not in memory of the channel */
    bool was_placed;            /* placed at some time: its bytes may have changed since */
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
    if (--c->handles > 0)
        return;
    sodium_memzero(c, sizeof *c);
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
    c->placed = c->stranger = false;
    if (c->handles > 1)
        uv_close(&c->socket.handle, on_closed);
    uv_close((uv_handle_t *)&c->handshake_timer, on_closed);
}

void td_channels_close(struct td_channels *channels)
{
    while (channels->first)
        td_channel_close(channels->first);
}

/* seal_with begins to seal packets, if the terms say so. `end`: 0 for the end that connected. */
static void seal_with(struct td_channel *c, const struct td_seal_terms *terms, unsigned end)
{
    if (!terms || terms->kind == TD_SEAL_NONE)
        return;
    uint64_t frames = c->channels->frames_per_key;
    c->sealed = true;
    c->session = terms->session;
    td_seal_begin(&c->out, terms, end, frames ? frames : TD_SEAL_FRAMES_PER_KEY);
    td_seal_begin(&c->in, terms, 1 - end, frames ? frames : TD_SEAL_FRAMES_PER_KEY);
}

static bool is_keyed(const struct td_channel *c)
{
    return c->sealed && td_seal_is_keyed(&c->out);
}

bool td_channel_address(const struct td_channel *c, char *text, size_t bytes)
{
    return td_endpoint_address(&c->socket, text, bytes);
}

void td_channel_probe(struct td_channel *c)
{
    td_endpoint_probe(&c->socket);
}

void td_channel_belongs(struct td_channel *c, const struct td_channel_calls *calls, void *user,
                        const struct td_seal_terms *terms)
{
    uv_timer_stop(&c->handshake_timer);
    c->stranger = false;
    if (!c->sealed)
        seal_with(c, terms, 1);
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

/* send_now writes a head and a payload, which it owns. What the socket does not accept waits. */
static bool send_now(struct td_channel *c, uint8_t *head, size_t head_size,
                     struct td_payload *payload)
{
    uv_buf_t part[2] = {uv_buf_init((char *)head, (unsigned)head_size)};
    size_t size = head_size + (payload ? payload->bytes : 0);
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
    return write_later(c, head, head_size, payload, (size_t)done);
}

/* own_payload returns a payload in memory that nobody else reads or writes: the same one, or a
 * copy. It owns the payload, and returns NULL if memory runs out. */
static struct td_payload *own_payload(struct td_channel *c, struct td_payload *payload)
{
    if (payload->holders == 1 && !payload->lent)
        return payload;
    struct td_payload *own = td_payload_new(c->channels->pool, payload->bytes);
    if (own)
        memcpy(own->data, payload->data, payload->bytes);
    td_payload_drop(payload);
    return own;
}

static bool send_sealed(struct td_channel *c, const struct td_packet *packet,
                        struct td_payload *payload)
{
    uint8_t head[TD_SEAL_HEAD];
    bool rewrites = c->out.kind == TD_SEAL_ENCRYPT;
    if (payload && (rewrites || (payload->lent && is_keyed(c))) &&
        !(payload = own_payload(c, payload)))
        return false;
    td_wire_encode_packet(packet, head);
    const uint8_t *from = payload && !payload->lent ? payload->data : NULL;
    td_seal_frame(&c->out, head, from, payload ? payload->data : NULL,
                  payload ? payload->bytes : 0);
    return send_now(c, head, sizeof head, payload);
}

bool td_channel_send(struct td_channel *c, const struct td_packet *packet,
                     struct td_payload *payload)
{
    uint8_t head[TD_WIRE_PACKET_BYTES];
    if (c->sealed)
        return send_sealed(c, packet, payload);
    td_wire_encode_packet(packet, head);
    return send_now(c, head, sizeof head, payload);
}

static void put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

bool td_channel_send_handshake(struct td_channel *c, const uint8_t *handshake, size_t size)
{
    uint8_t bytes[SEALED_HEAD + HANDSHAKE_MAX];
    bool keyed = is_keyed(c);
    size_t head = keyed ? SEALED_HEAD : HANDSHAKE_HEAD;
    if (size > HANDSHAKE_MAX)
        return false;
    memcpy(bytes, keyed ? sealed_magic : magic, MAGIC_BYTES);
    put(bytes + MAGIC_BYTES, size, 4);
    memcpy(bytes + head, handshake, size);
    if (keyed) {
        put(bytes + HANDSHAKE_HEAD, c->session, 8);
        td_seal_message(&c->out, bytes + head, size, bytes + head - TD_SEAL_TAG);
    }
    return write_later(c, bytes, head + size, NULL, 0);
}

/* ---- input ---- */

/* open_handshake opens the first frame, which proves the keys of the other end. It returns false if
 * it does not; then the channel has ended. */
static bool open_handshake(struct td_channel *c, uint8_t *bytes, size_t size)
{
    uint64_t session = get(bytes + HANDSHAKE_HEAD, 8);
    if (c->stranger) {
        seal_with(c, c->calls->terms ? c->calls->terms(c->user, session) : NULL, 1);
        if (!is_keyed(c)) {
            end(c, true, "the stream belongs to no session");
            return false;
        }
    }
    if (session == c->session &&
        td_seal_open_message(&c->in, bytes + SEALED_HEAD, size, bytes + SEALED_HEAD - TD_SEAL_TAG))
        return true;
    end(c, true, "its first frame does not prove its key");
    return false;
}

/* read_handshake reads the handshake. It returns false if it is incomplete or malformed. */
static bool read_handshake(struct td_channel *c, size_t *at)
{
    uint8_t *bytes = c->staging + *at;
    size_t left = c->staged - *at;
    if (left < HANDSHAKE_HEAD)
        return false;
    size_t size = get(bytes + MAGIC_BYTES, 4);
    bool keyed = memcmp(bytes, sealed_magic, MAGIC_BYTES) == 0;
    bool wanted = c->stranger ? c->channels->keyed && c->socket.handle.type == UV_TCP : is_keyed(c);
    if ((!keyed && memcmp(bytes, magic, MAGIC_BYTES) != 0) || size > HANDSHAKE_MAX) {
        end(c, true, "missing handshake");
        return false;
    }
    if (keyed != wanted) {
        end(c, true, wanted ? "the stream has no key" : "the stream has a key, but none is needed");
        return false;
    }
    size_t head = keyed ? SEALED_HEAD : HANDSHAKE_HEAD;
    if (left < head + size || (keyed && !open_handshake(c, bytes, size)))
        return false;
    *at += head + size;
    c->handshake_received = true;
    c->calls->handshake(c->user, c, bytes + head, size);
    return true;
}

/* ready_payload provides memory for the payload of the packet whose header was read. */
static bool ready_payload(struct td_channel *c)
{
    bool fits = c->packet.bytes <= c->channels->pool->bytes_max;
    c->filled = 0;
    c->payload = NULL;
    if (fits && c->calls->place && !c->channels->faulted && !is_keyed(c))
        c->payload = c->calls->place(c->user, &c->packet, NULL);
    c->placed = c->was_placed = c->payload != NULL;
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
    if (c->sealed && payload && !c->was_placed &&
        !td_seal_open_payload(&c->in, c->head, payload->data, payload->bytes)) {
        end(c, true, changed);
        return;
    }
    c->payload = NULL;
    c->placed = false;
    c->calls->packet(c->user, c, &c->packet, payload);
}

/* read_header reads a packet's header and provides memory for its payload. */
static bool read_header(struct td_channel *c, size_t *at)
{
    const char *why = NULL;
    uint8_t *head = c->staging + *at;
    size_t size = c->sealed ? TD_SEAL_HEAD : TD_WIRE_PACKET_BYTES;
    if (c->staged - *at < size)
        return false;
    if (!c->calls->packet) {
        end(c, true, "protocol violation: packets in the wrong direction");
        return false;
    }
    if (c->sealed) {
        memcpy(c->head, head, sizeof c->head);
        head = c->head;
        if (!td_seal_open_head(&c->in, head)) {
            end(c, true, changed);
            return false;
        }
    }
    if (td_wire_decode_packet(head, TD_WIRE_PACKET_BYTES, &c->packet, &why) != TD_OK) {
        end(c, true, why);
        return false;
    }
    *at += size;
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
    td_endpoint_adjust(&c->socket, c->channels->silence_ms);
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
                                   const struct td_seal_terms *terms,
                                   const struct td_channel_calls *calls, void *user)
{
    struct sockaddr_storage address;
    struct td_channel *c = size <= HANDSHAKE_MAX ? new_channel(channels, calls, user) : NULL;
    if (!c) {
        errno = size <= HANDSHAKE_MAX ? ENOMEM : EINVAL;
        return NULL;
    }
    int error = td_endpoint_open(channels->uv, endpoint, &c->socket, &address);
    if (!error) {
        has_socket(c);
        c->connect.data = c;
        if (td_endpoint_path(endpoint))
            uv_pipe_connect(&c->connect, &c->socket.pipe, td_endpoint_path(endpoint), on_connected);
        else
            error = uv_tcp_connect(&c->connect, &c->socket.tcp, (struct sockaddr *)&address,
                                   on_connected);
    }
    if (!error) {
        memcpy(c->staging, handshake,
               size); /* until it is connected the staging buffer is unused */
        c->staged = size;
        seal_with(c, terms, 0);
        return c;
    }
    td_channel_close(c);
    errno = -error;
    return NULL;
}

/* end_oldest_stranger makes room if too many connections have not sent their handshake. */
static void end_oldest_stranger(struct td_channels *channels)
{
    unsigned strangers = 0;
    struct td_channel *oldest = NULL; /* the last in the list */
    for (struct td_channel *c = channels->first; c; c = c->next)
        if (c->stranger) {
            strangers++;
            oldest = c;
        }
    if (strangers > STRANGERS_MAX)
        end(oldest, false, "too many connections without a handshake");
}

static void on_connection(void *user, int fd)
{
    struct td_listener *l = user;
    struct td_channel *c =
        !l->path[0] || td_endpoint_is_ours(fd) ? new_channel(l->channels, l->calls, l->user) : NULL;
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
    c->stranger = true;
    end_oldest_stranger(l->channels);
    uv_timer_start(&c->handshake_timer, on_handshake_timeout, l->channels->handshake_ms, 0);
    start(c);
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
    int fd = td_endpoint_listen(endpoint);
    if (fd >= 0 &&
        td_acceptor_start(&l->acceptor, channels->uv, fd, "peers", SPARE, on_connection, l)) {
        if (td_endpoint_path(endpoint))
            snprintf(l->path, sizeof l->path, "%s", td_endpoint_path(endpoint));
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
