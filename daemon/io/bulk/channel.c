/* SPDX-License-Identifier: Apache-2.0 */
#include "channel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel_internal.h"
#include "channel_output.h"
#include "express.h"
#include "io/acceptor.h"
#include "io/descriptors.h"
#include "io/unix.h"
#include "wire/packet.h"

enum {
    MAGIC_BYTES = 4,
    ZMQ_SIGNATURE = 0xff, /* the first byte of a control connection */
    HANDSHAKE_HEAD = 8,   /* a magic, and the length of the handshake (u32 LE) */
    SEALED_HEAD = HANDSHAKE_HEAD + 8 + TD_SEAL_TAG, /* magic, length, session, tag */
    STRANGERS_MAX = 64, /* connections that have not sent their handshake */
    HANDSHAKE_MAX = 1024,
    DIRECT_BYTES = 4096,  /* a payload with at least this much missing is read to its place */
    BEHIND_HEAD = 64,     /* a line of cache, so that payloads stay aligned */
    TURN_BYTES = 1 << 20, /* read in a row, before the loop looks at its other sockets */
    SPARE = TD_DESCRIPTORS_LEAST / 2, /* descriptors reserved for other uses */
};

/* The first bytes of a stream: [tree messages][sealed with a key]. */
static const char magics[2][2][MAGIC_BYTES + 1] = {{"PKGR", "PKGS"}, {"EXPR", "EXPS"}};
static const char no_memory[] = "no memory here for its packets",
                  changed[] = "a packet was changed on the way: its tag or checksum is wrong";

struct td_listener {
    struct td_channels *channels;
    struct td_acceptor acceptor;
    struct td_unix_file file; /* of a Unix socket */
    const struct td_channel_calls *calls;
    void *user;
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
    td_express_free(c);
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
    struct td_seal_terms own = *terms;
    own.express = c->express;
    c->sealed = true;
    c->session = terms->session;
    td_seal_begin(&c->out, &own, end, frames ? frames : TD_SEAL_FRAMES_PER_KEY);
    td_seal_begin(&c->in, &own, 1 - end, frames ? frames : TD_SEAL_FRAMES_PER_KEY);
}

static bool is_keyed(const struct td_channel *c)
{
    return c->sealed && td_seal_is_keyed(&c->out);
}

bool td_channel_is_express(const struct td_channel *c)
{
    return c->express;
}

bool td_channel_address(const struct td_channel *c, char *text, size_t bytes)
{
    return td_endpoint_address(&c->socket, text, bytes);
}

bool td_channel_own(const struct td_channel *c, struct sockaddr_storage *address)
{
    return td_endpoint_own(&c->socket, address);
}

uint32_t td_channel_mtu(const struct td_channel *c)
{
    return td_endpoint_mtu(&c->socket);
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

static void on_handshake_timeout(uv_timer_t *timer)
{
    td_channel_end(timer->data, false, "handshake timeout");
}

/* ---- output ---- */

/* own_payload returns a payload in memory that nobody else reads or writes: the same one, or a
 * copy. It owns the payload, and returns NULL if memory runs out. */
static struct td_payload *own_payload(struct td_channel *c, struct td_payload *payload)
{
    if (payload->holders == 1 && !payload->lent)
        return payload;
    struct td_payload *own = td_payload_new(c->channels->pool, payload->bytes);
    if (own)
        td_payload_load(payload, own->data, payload->bytes);
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
    return td_channel_write_now(c, head, sizeof head, payload);
}

bool td_channel_send(struct td_channel *c, const struct td_packet *packet,
                     struct td_payload *payload)
{
    uint8_t head[TD_WIRE_PACKET_BYTES];
    if (c->sealed)
        return send_sealed(c, packet, payload);
    td_wire_encode_packet(packet, head);
    return td_channel_write_now(c, head, sizeof head, payload);
}

bool td_channel_send_handshake(struct td_channel *c, const uint8_t *handshake, size_t size)
{
    uint8_t bytes[SEALED_HEAD + HANDSHAKE_MAX];
    bool keyed = is_keyed(c);
    size_t head = keyed ? SEALED_HEAD : HANDSHAKE_HEAD;
    if (size > HANDSHAKE_MAX)
        return false;
    memcpy(bytes, magics[c->express][keyed], MAGIC_BYTES);
    td_channel_put(bytes + MAGIC_BYTES, size, 4);
    memcpy(bytes + head, handshake, size);
    if (keyed) {
        td_channel_put(bytes + HANDSHAKE_HEAD, c->session, 8);
        td_seal_message(&c->out, bytes + head, size, bytes + head - TD_SEAL_TAG);
    }
    return td_channel_write_later(c, bytes, head + size, NULL, 0);
}

/* ---- input ---- */

/* open_handshake opens the first frame, which proves the keys of the other end. It returns false if
 * it does not; then the channel has ended. */
static bool open_handshake(struct td_channel *c, uint8_t *bytes, size_t size)
{
    uint64_t session = td_channel_get(bytes + HANDSHAKE_HEAD, 8);
    if (c->stranger) {
        seal_with(c, c->calls->terms ? c->calls->terms(c->user, session, c->express) : NULL, 1);
        if (!is_keyed(c)) {
            td_channel_end(c, true, "the stream belongs to no session");
            return false;
        }
    }
    if (session == c->session &&
        td_seal_open_message(&c->in, bytes + SEALED_HEAD, size, bytes + SEALED_HEAD - TD_SEAL_TAG))
        return true;
    td_channel_end(c, true, "its first frame does not prove its key");
    return false;
}

/* read_magic reads the first bytes of a stream. A stranger's say what the stream carries. It
 * returns false if they are malformed. */
static bool read_magic(struct td_channel *c, const uint8_t *bytes, bool *keyed)
{
    for (unsigned i = 0; i < 4; i++) {
        bool express = i / 2;
        if (memcmp(bytes, magics[express][i % 2], MAGIC_BYTES) != 0 ||
            (express != c->express && !c->stranger))
            continue;
        c->express = express;
        *keyed = i % 2;
        return true;
    }
    return false;
}

/* read_handshake reads the handshake. It returns false if it is incomplete or malformed. */
static bool read_handshake(struct td_channel *c, size_t *at)
{
    uint8_t *bytes = c->staging + *at;
    size_t left = c->staged - *at;
    if (left < HANDSHAKE_HEAD)
        return false;
    size_t size = td_channel_get(bytes + MAGIC_BYTES, 4);
    bool keyed = false;
    bool known = read_magic(c, bytes, &keyed);
    bool wanted = c->stranger ? c->channels->keyed && c->socket.handle.type == UV_TCP : is_keyed(c);
    if (!known || size > HANDSHAKE_MAX) {
        td_channel_end(c, true,
                       bytes[0] == ZMQ_SIGNATURE
                           ? "it connects to the port for packets: [peers] there has a port that "
                             "is one too high"
                           : "missing handshake");
        return false;
    }
    if (keyed != wanted) {
        td_channel_end(
            c, true, wanted ? "the stream has no key" : "the stream has a key, but none is needed");
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
        td_channel_end(c, !fits, fits ? no_memory : "malformed input: packet too long");
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
    td_payload_load(c->payload, own->data, c->filled);
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
            td_channel_end(c, false, no_memory);
    }
}

/* deliver passes a complete packet to the user. */
static void deliver(struct td_channel *c)
{
    struct td_payload *payload = c->payload;
    if (c->sealed && payload && !c->was_placed &&
        !td_seal_open_payload(&c->in, c->head, payload->data, payload->bytes)) {
        td_channel_end(c, true, changed);
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
        td_channel_end(c, true, "protocol violation: packets in the wrong direction");
        return false;
    }
    if (c->sealed) {
        memcpy(c->head, head, sizeof c->head);
        head = c->head;
        if (!td_seal_open_head(&c->in, head)) {
            td_channel_end(c, true, changed);
            return false;
        }
    }
    if (td_wire_decode_packet(head, TD_WIRE_PACKET_BYTES, &c->packet, &why) != TD_OK) {
        td_channel_end(c, true, why);
        return false;
    }
    *at += size;
    if (c->packet.kind != TD_PACKET_DATA) {
        deliver(c);
        return true;
    }
    c->is_long = c->packet.bytes >= sizeof c->staging;
    return ready_payload(c);
}

/* read_staged_payload copies staged bytes to the payload. */
static bool read_staged_payload(struct td_channel *c, size_t *at)
{
    if (!settle_place(c)) {
        td_channel_end(c, false, no_memory);
        return false;
    }
    size_t left = c->staged - *at, missing = c->payload->bytes - c->filled;
    size_t size = left < missing ? left : missing;
    td_payload_store(c->payload, c->filled, c->staging + *at, (uint32_t)size);
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
    if (c->express)
        return td_express_read(c, at);
    return c->payload ? read_staged_payload(c, at) : read_header(c, at);
}

/* scatter reads bytes of a payload to its pieces, which libuv cannot: it has one buffer for a read.
 * It returns true if libuv is to read on: the payload is complete, or the stream has ended, which
 * libuv then sees, too. */
static bool scatter(struct td_channel *c)
{
    struct iovec part[TD_PAYLOAD_PIECES];
    int fd = -1;
    ssize_t size = -1;
    uv_fileno(&c->socket.handle, &fd);
    while (c->filled < c->payload->bytes) {
        uint32_t left = c->payload->bytes - c->filled;
        unsigned parts = td_payload_parts(c->payload, c->filled, part);
        do
            size = readv(fd, part, (int)parts);
        while (size < 0 && errno == EINTR);
        if (size <= 0)
            break;
        c->filled += (uint32_t)size;
        c->turn += (uint32_t)size;
        c->channels->bulk_reads++;
        if ((size_t)size < left) { /* the socket is empty */
            c->scattered = UV_EAGAIN;
            return false;
        }
    }
    if (size >= 0)
        return true;
    c->scattered = uv_translate_sys_error(errno);
    return false;
}

/* staged_most returns how many bytes to read to the staging buffer. After a long packet that is
 * little more than a header, so that the payload behind it is read to its place: the next packet is
 * often as long. A few bytes more, because libuv reads again when a buffer is full, which counts
 * alone should not cause. */
static size_t staged_most(const struct td_channel *c)
{
    size_t most = (c->sealed ? TD_SEAL_HEAD : TD_WIRE_PACKET_BYTES) + BEHIND_HEAD;
    bool header_is_next =
        (!c->payload || c->filled == c->payload->bytes) && !c->express && c->handshake_received;
    if (header_is_next && c->is_long && c->staged < most)
        return most - c->staged;
    return sizeof c->staging - c->staged;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct td_channel *c = handle->data;
    (void)suggested;
    *buffer = uv_buf_init(NULL, 0);
    c->scattered = 0;
    if (!settle_place(c)) /* libuv then calls on_read with UV_ENOBUFS */
        return;
    bool direct = c->payload && c->payload->bytes - c->filled >= DIRECT_BYTES;
    if (direct && !c->payload->data && !scatter(c))
        return;
    if (direct && c->payload->data)
        *buffer = uv_buf_init((char *)c->payload->data + c->filled, c->payload->bytes - c->filled);
    else
        *buffer = uv_buf_init((char *)c->staging + c->staged, (unsigned)staged_most(c));
}

/* take handles bytes that were read. */
static void take(struct td_channel *c, ssize_t size, const uv_buf_t *buffer)
{
    size_t at = 0;
    if (size > 0 && c->payload && c->payload->data &&
        buffer->base == (char *)c->payload->data + c->filled) {
        c->filled += (uint32_t)size;
        if (c->filled == c->payload->bytes)
            deliver(c);
        return;
    }
    c->staged += (size_t)size;
    while (!c->closed && read_staged(c, &at))
        continue;
    c->channels->more = false;
    td_express_flush(c->channels);
    if (c->closed)
        return;
    c->staged -= at;
    memmove(c->staging, c->staging + at, c->staged);
}

static void on_turn(uv_timer_t *timer);

/* tell_arriving reports that a part of a packet has arrived. */
static void tell_arriving(struct td_channel *c)
{
    uint64_t now = uv_now(c->channels->uv);
    if (!c->payload || !c->calls->arriving || now - c->told < c->channels->arriving_ms)
        return;
    c->told = now;
    c->calls->arriving(c->user, &c->packet);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct td_channel *c = stream->data;
    if (c->closed)
        return;
    if (size == UV_ENOBUFS && c->scattered == UV_EAGAIN) { /* on_alloc has read all there is */
        c->turn = 0;
        tell_arriving(c);
        return;
    }
    if (size == UV_ENOBUFS && c->scattered)
        size = c->scattered;
    if (size < 0 && c->payload && c->filled == c->payload->bytes)
        deliver(c); /* the stream has ended behind its last byte, which on_alloc has read */
    if (c->closed)
        return;
    if (size < 0) {
        c->channels->faulted |= size == UV_EFAULT;
        td_channel_fail(c, (int)size);
        return;
    }
    bool last = (size_t)size < buffer->len; /* libuv then reads no more in this turn of the loop */
    c->turn = last ? 0 : c->turn + (uint32_t)size;
    c->channels->bulk_reads += !c->express;
    take(c, size, buffer);
    if (!c->closed)
        tell_arriving(c);
    if (c->closed || c->turn < TURN_BYTES || !c->handshake_received || c->stranger)
        return;
    uv_read_stop(stream);
    uv_timer_start(&c->handshake_timer, on_turn, 0, 0);
}

static void on_turn(uv_timer_t *timer)
{
    struct td_channel *c = timer->data;
    c->turn = 0;
    int error = uv_read_start(&c->socket.stream, on_alloc, on_read);
    if (error)
        td_channel_fail(c, error);
}

/* ---- connecting ---- */

static void start(struct td_channel *c)
{
    td_endpoint_adjust(&c->socket, c->channels->silence_ms, c->channels->congestion);
    int error = uv_read_start(&c->socket.stream, on_alloc, on_read);
    if (error)
        td_channel_end(c, false, uv_strerror(error));
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct td_channel *c = connect->data;
    size_t size = c->staged;
    c->staged = 0;
    if (status == UV_ECANCELED) /* the channel was closed */
        return;
    if (status != 0)
        td_channel_end(c, false, uv_strerror(status));
    else if (!td_channel_send_handshake(c, c->staging, size))
        td_channel_end(c, false, "no memory here for its handshake");
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
        c->express = calls->carries_messages;
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
        td_channel_end(oldest, false, "too many connections without a handshake");
}

static void on_connection(void *user, int fd)
{
    struct td_listener *l = user;
    td_descriptors_take(l->channels->descriptors, 1);
    struct td_channel *c = !l->file.path[0] || td_endpoint_is_ours(fd)
                               ? new_channel(l->channels, l->calls, l->user)
                               : NULL;
    if (!c) {
        close(fd);
        return;
    }
    int error = l->file.path[0] ? uv_pipe_init(l->channels->uv, &c->socket.pipe, 0)
                                : uv_tcp_init(l->channels->uv, &c->socket.tcp);
    if (!error) {
        has_socket(c);
        error =
            l->file.path[0] ? uv_pipe_open(&c->socket.pipe, fd) : uv_tcp_open(&c->socket.tcp, fd);
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

static bool has_room(void *user)
{
    const struct td_listener *l = user;
    return td_descriptors_has(l->channels->descriptors, 1, SPARE, uv_now(l->channels->uv));
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
    static const struct td_acceptor_calls acceptor_calls = {has_room, on_connection, NULL};
    if (fd >= 0 && td_acceptor_start(&l->acceptor, channels->uv, fd, "peers", &acceptor_calls, l)) {
        if (td_endpoint_path(endpoint))
            td_unix_note(&l->file, td_endpoint_path(endpoint));
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
    td_unix_remove(&l->file);
    td_acceptor_stop(&l->acceptor, free);
}
