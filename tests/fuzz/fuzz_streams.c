/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of packets or tree messages: the bytes that come from the other end of a connection,
 * which is plain, has checksums, or is sealed with keys. The input decides the frames, the changes
 * of their bytes and the reads that they arrive in, and where the payloads are placed. A frame that
 * was changed on the way, or is of another session, must end the stream; all others arrive as they
 * were sent. */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/limits.h"
#include "decide.h"
#include "io/bulk/channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PAYLOAD_MAX = 24576,
    FRAMES_MAX = 12,
    STREAM_MAX = FRAMES_MAX * (TD_SEAL_HEAD + 2 * PAYLOAD_MAX) + 4096,
    HANDSHAKE = 5,
    MESSAGE_LENGTH = 4, /* bytes of the length before a tree message */
};
_Static_assert((int)TD_TREE_MESSAGE_MAX < (int)PAYLOAD_MAX, "a message may be too long");

/* struct stream: one input's connection, and what has been sent on it. */
static struct stream {
    struct decide input;
    uv_loop_t uv;
    struct td_payload_pool pool;
    struct td_channels channels;
    struct td_channel *channel;
    struct td_seal_terms terms;
    struct td_seal seal;
    int socket;
    uint8_t bytes[STREAM_MAX]; /* to be written */
    size_t size;
    struct sent {
        struct td_packet packet; /* of a tree message: only its `bytes` */
        uint8_t payload[PAYLOAD_MAX];
    } sent[FRAMES_MAX];
    uint32_t frames, arrived; /* arrived: in order */
    uint32_t
        whole; /* frames before the first that was changed or is too long; so many may arrive */
    bool handshake_changed, handshaken, ended, places;
    uint8_t *ground; /* where payloads are placed; taken back: it must stay as it is in `taken` */
    uint8_t taken[PAYLOAD_MAX];
    size_t taken_bytes;
    struct td_payload placed;
    bool in_use;
} s;

/* ---- what the channel calls ---- */

static void on_handshake(void *user, struct td_channel *c, const uint8_t *bytes, size_t size)
{
    (void)user;
    (void)c;
    s.handshaken = true;
    if (s.terms.kind > TD_SEAL_SUM)
        assert(!s.handshake_changed);
    if (!s.handshake_changed)
        assert(size == HANDSHAKE && memcmp(bytes, "hello", HANDSHAKE) == 0);
}

/* is_lost: the handshake was changed and nothing shows that, so that its length may have swallowed
 * frames. Checksums depend on the number of the frame: they show it. */
static bool is_lost(void)
{
    return s.handshake_changed && s.terms.kind == TD_SEAL_NONE;
}

/* look_at_ground checks that nothing was written to memory that was taken back. */
static void look_at_ground(void)
{
    assert(s.taken_bytes == 0 || memcmp(s.taken, s.ground, s.taken_bytes) == 0);
    s.taken_bytes = 0;
}

static struct td_payload *on_place(void *user, const struct td_packet *packet,
                                   struct td_payload *now)
{
    (void)user;
    bool gives = s.places && decide_below(&s.input, 4);
    if (now) {
        assert(now == &s.placed && s.in_use);
        if (!gives) { /* it has another owner from now on */
            memcpy(s.taken, s.ground, now->bytes);
            s.taken_bytes = now->bytes;
            s.in_use = false;
        }
        return gives ? now : NULL;
    }
    if (!gives || s.in_use || packet->bytes > PAYLOAD_MAX)
        return NULL;
    look_at_ground();
    free(s.ground);
    s.ground = malloc(packet->bytes ? packet->bytes : 1);
    assert(s.ground);
    s.in_use = true;
    s.placed = (struct td_payload){.holders = 2, .bytes = packet->bytes, .data = s.ground};
    if (packet->bytes > 1 && decide_below(&s.input, 2)) {
        static struct iovec piece[2];
        uint32_t first = 1 + (uint32_t)decide_below(&s.input, packet->bytes - 1);
        piece[0] = (struct iovec){s.ground, first};
        piece[1] = (struct iovec){s.ground + first, packet->bytes - first};
        s.placed.data = NULL;
        s.placed.piece = piece;
        s.placed.pieces = 2;
    }
    return &s.placed;
}

static void on_packet(void *user, struct td_channel *c, const struct td_packet *packet,
                      struct td_payload *payload)
{
    (void)user;
    (void)c;
    /* a placed payload has no checksum: its bytes may have changed since */
    bool protects = s.terms.kind > TD_SEAL_SUM || (s.terms.kind == TD_SEAL_SUM && !s.places);
    if (payload == &s.placed)
        s.in_use = false;
    if (protects || s.arrived < s.whole) {
        assert(s.arrived < s.whole); /* else one that was changed has arrived */
        const struct sent *as = &s.sent[s.arrived];
        assert(packet->sequence == as->packet.sequence && packet->bytes == as->packet.bytes);
        const uint8_t *bytes = payload == &s.placed ? s.ground : payload ? payload->data : NULL;
        assert(!payload || memcmp(bytes, as->payload, payload->bytes) == 0);
    }
    assert((packet->kind == TD_PACKET_DATA) == (payload != NULL));
    s.arrived++;
    td_payload_drop(payload);
}

static void on_message(void *user, struct td_channel *c, const uint8_t *bytes, size_t size)
{
    (void)user;
    (void)c;
    assert(size > 0 && size <= TD_TREE_MESSAGE_MAX);
    if (s.terms.kind != TD_SEAL_NONE || s.arrived < s.whole) {
        assert(s.arrived < s.whole); /* else one that was changed has arrived */
        const struct sent *as = &s.sent[s.arrived];
        assert(size == as->packet.bytes && memcmp(bytes, as->payload, size) == 0);
    }
    s.arrived++;
}

static void on_ended(void *user, struct td_channel *c, bool violation, const char *why)
{
    (void)user;
    (void)c;
    assert(why && why[0]);
    s.ended = true;
    assert(!violation || s.handshake_changed || s.whole < s.frames);
}

static const struct td_channel_calls calls = {
    .handshake = on_handshake, .place = on_place, .packet = on_packet, .ended = on_ended};
static const struct td_channel_calls express_calls = {
    .carries_messages = true, .handshake = on_handshake, .message = on_message, .ended = on_ended};

/* ---- the other end ---- */

static void put(const void *bytes, size_t size)
{
    assert(s.size + size <= sizeof s.bytes);
    memcpy(s.bytes + s.size, bytes, size);
    s.size += size;
}

/* change changes some of the last `size` bytes of the stream. It returns true if they differ. */
static bool change(size_t size)
{
    uint8_t before[TD_SEAL_HEAD + PAYLOAD_MAX];
    uint8_t *at = s.bytes + s.size - size;
    if (size == 0 || size > sizeof before || decide_below(&s.input, 8))
        return false;
    memcpy(before, at, size);
    for (uint32_t n = 1 + decide_below(&s.input, 3); n > 0; n--)
        at[decide_below(&s.input, (uint32_t)size)] = (uint8_t)decide_bytes(&s.input, 1);
    return memcmp(before, at, size) != 0;
}

static void put_handshake(void)
{
    bool keyed = td_seal_is_keyed(&s.seal);
    uint8_t head[8 + 8 + TD_SEAL_TAG], text[HANDSHAKE] = "hello";
    size_t size = s.size;
    memset(head, 0, sizeof head);
    memcpy(head, s.terms.express ? "EXPR" : "PKGR", 4);
    head[4] = HANDSHAKE;
    if (!keyed) {
        put(head, 8);
    } else {
        uint64_t session = s.terms.session;
        if (decide_below(&s.input, 16) == 0)
            session += decide_number(&s.input); /* of another session */
        s.handshake_changed = session != s.terms.session;
        head[3] = 'S';
        for (int i = 0; i < 8; i++)
            head[8 + i] = (uint8_t)(session >> (8 * i));
        td_seal_message(&s.seal, text, HANDSHAKE, head + 16);
        put(head, sizeof head);
    }
    put(text, HANDSHAKE);
    s.handshake_changed = change(s.size - size) || s.handshake_changed;
}

static void draw_packet(struct sent *as)
{
    struct decide *d = &s.input;
    static const uint32_t sizes[] = {1, 100, 4095, 4096, 4097, PAYLOAD_MAX};
    struct td_packet *p = &as->packet;
    *p = (struct td_packet){.kind = decide_below(d, 4) ? TD_PACKET_DATA : TD_PACKET_CREDIT,
                            .sequence = decide_number(d),
                            .origin = decide_below(d, 16),
                            .left = {1, -1}};
    if (p->kind == TD_PACKET_DATA)
        p->bytes = decide_below(d, 2) ? 1 + decide_below(d, 200) : sizes[decide_below(d, 6)];
    memset(as->payload, (int)decide_below(d, 256), p->bytes);
}

/* put_packet puts a packet, well formed or too long. It returns true if it is well formed and was
 * not changed. */
static bool put_packet(struct sent *as)
{
    uint8_t head[TD_SEAL_HEAD], payload[PAYLOAD_MAX];
    size_t before = s.size;
    draw_packet(as);
    bool is_long = decide_below(&s.input, 16) == 0;
    struct td_packet packet = as->packet;
    if (is_long && packet.kind == TD_PACKET_DATA)
        packet.bytes = PAYLOAD_MAX + 1 + (uint32_t)(decide_number(&s.input) % UINT32_MAX / 2);
    memcpy(payload, as->payload, as->packet.bytes);
    td_wire_encode_packet(&packet, head);
    bool data = packet.kind == TD_PACKET_DATA;
    if (s.terms.kind != TD_SEAL_NONE)
        td_seal_frame(&s.seal, head, data ? payload : NULL, payload, as->packet.bytes);
    put(head, s.terms.kind != TD_SEAL_NONE ? TD_SEAL_HEAD : TD_WIRE_PACKET_BYTES);
    put(payload, as->packet.bytes);
    bool changed = change(s.size - before);
    return packet.bytes == as->packet.bytes && !changed;
}

/* put_message puts a tree message, well formed, empty or too long, or with the length of another
 * one. It returns true if it is well formed and was not changed. A change may mend a wrong length:
 * the last bytes of the stream are compared with those of the well-formed message. */
static bool put_message(struct sent *as)
{
    struct decide *d = &s.input;
    static const uint32_t sizes[] = {0, 1, TD_TREE_MESSAGE_MAX, TD_TREE_MESSAGE_MAX + 1};
    uint8_t head[MESSAGE_LENGTH + TD_SEAL_TAG], message[PAYLOAD_MAX];
    uint32_t size = decide_below(d, 2) ? 1 + decide_below(d, 200) : sizes[decide_below(d, 4)];
    bool lies = decide_below(d, 16) == 0;
    uint32_t length = lies ? (uint32_t)decide_number(d) : size;
    memset(as->payload, (int)decide_below(d, 256), size);
    as->packet.bytes = size;
    memcpy(message, as->payload, size);
    for (int i = 0; i < MESSAGE_LENGTH; i++)
        head[i] = (uint8_t)(length >> (8 * i));
    if (s.terms.kind != TD_SEAL_NONE)
        td_seal_message(&s.seal, message, size, head + MESSAGE_LENGTH);
    size_t head_size = s.terms.kind != TD_SEAL_NONE ? sizeof head : MESSAGE_LENGTH;
    put(head, head_size);
    put(message, size);
    (void)change(head_size + size);
    for (int i = 0; i < MESSAGE_LENGTH; i++)
        head[i] = (uint8_t)(size >> (8 * i));
    return size > 0 && size <= TD_TREE_MESSAGE_MAX &&
           memcmp(s.bytes + s.size - size - head_size, head, head_size) == 0 &&
           memcmp(s.bytes + s.size - size, message, size) == 0;
}

/* put_frame puts a packet or a tree message, which may be malformed or changed. */
static void put_frame(void)
{
    struct sent *as = &s.sent[s.frames++];
    bool right = s.terms.express ? put_message(as) : put_packet(as);
    if (right && !is_lost() && s.whole == s.frames - 1)
        s.whole = s.frames;
}

/* send writes the stream in pieces, and lets the channel read each. */
static void send_all(void)
{
    for (size_t at = 0; at < s.size && !s.ended;) {
        size_t size = 1 + decide_number(&s.input) % (s.size - at);
        ssize_t written = send(s.socket, s.bytes + at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (written < 0)
            break;
        at += (size_t)written;
        for (int turns = 0; turns < 4; turns++)
            uv_run(&s.uv, UV_RUN_NOWAIT);
        if (decide_below(&s.input, 16) == 0)
            td_channels_settle(&s.channels);
    }
    for (int turns = 0; turns < 8; turns++)
        uv_run(&s.uv, UV_RUN_NOWAIT);
}

/* ---- the scene ---- */

/* listen_at returns a socket that listens at a path of the process's own. */
static int listen_at(char *endpoint, size_t room)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/fuzz-streams.%d", (int)getpid());
    snprintf(endpoint, room, "ipc://%s", address.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(address.sun_path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 4) != 0)
        abort();
    return fd;
}

static void draw_terms(void)
{
    struct decide *d = &s.input;
    uint8_t kind = (uint8_t)decide_below(d, 256); /* [express][kind of seal] */
    s.terms = (struct td_seal_terms){.kind = kind % (TD_SEAL_ENCRYPT + 1),
                                     .express = kind >= 128,
                                     .random = {{1}, {2}},
                                     .session = 99};
    if (td_seal_ciphers() & 1u << TD_CIPHER_AES && decide_below(d, 2))
        s.terms.cipher = TD_CIPHER_AES;
    s.channels.frames_per_key = 1 + decide_below(d, 8);
    s.places = decide_below(d, 2);
    td_seal_begin(&s.seal, &s.terms, 1, s.channels.frames_per_key);
}

static void set_up(void)
{
    char endpoint[120];
    uv_loop_init(&s.uv);
    td_payload_pool_init(&s.pool, PAYLOAD_MAX);
    s.channels = (struct td_channels){.uv = &s.uv, .pool = &s.pool, .handshake_ms = 1000};
    draw_terms();
    int listener = listen_at(endpoint, sizeof endpoint);
    s.channel = td_channel_open(&s.channels, endpoint, (const uint8_t *)"hello", HANDSHAKE,
                                s.terms.kind ? &s.terms : NULL,
                                s.terms.express ? &express_calls : &calls, NULL);
    assert(s.channel);
    uv_run(&s.uv, UV_RUN_NOWAIT);
    s.socket = accept(listener, NULL, NULL);
    assert(s.socket >= 0);
    close(listener);
    unlink(endpoint + 6);
}

static void tear_down(void)
{
    close(s.socket);
    td_channels_close(&s.channels);
    while (uv_run(&s.uv, UV_RUN_DEFAULT) != 0)
        continue;
    int left = uv_loop_close(&s.uv);
    assert(left == 0);
    td_payload_pool_fini(&s.pool);
    look_at_ground();
    free(s.ground);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memset(&s, 0, offsetof(struct stream, bytes));
    s.size = 0;
    s.frames = s.arrived = s.whole = 0;
    s.handshake_changed = s.handshaken = s.ended = s.places = s.in_use = false;
    s.ground = NULL;
    s.taken_bytes = 0;
    s.input = (struct decide){data, size};
    if (sodium_init() < 0)
        abort();
    set_up();
    put_handshake();
    while (s.frames < FRAMES_MAX && s.input.left > 0)
        put_frame();
    send_all();
    assert(s.handshake_changed || s.ended || (s.handshaken && s.arrived >= s.whole));
    tear_down();
    return 0;
}
