/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of packets between two ends in this process, and malformed streams from a stranger. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "io/bulk/channel.h"
#include "io/bulk/endpoint.h"
#include "random.h"
#include "until.h"
#include "wire/packet.h"

enum {
    PACKET_BYTES = 262144,
    PACKETS = 300,
    HANDSHAKE_MS = 50,
    HEAD_BYTES = 8 /* of a handshake */
};

static uv_loop_t uv;
static uv_timer_t deadline;
static struct td_payload_pool pool;
static struct td_channels channels;
static struct td_descriptors descriptors;
static struct td_listener *listener;
static char directory[64], endpoint[96];
static uint64_t seed;

/* Counters of the end that accepts. */
static struct {
    struct td_channel *channel;
    uint64_t packets, parts;
    unsigned handshakes, ends;
    bool breach, answer, keep_reading;
    char why[100];
    uint64_t wrong; /* bytes that differ from the sent ones */
} in;
/* Counters of the end that connects. */
static struct {
    unsigned answers, ends;
} out;
static uint64_t lent, returned;
/* Where payloads are placed, if not NULL; the number of reads until the place is withdrawn. */
static uint8_t *ground;
static unsigned places_left;
static uint64_t placed, moved;
/* The terms of sealed streams; `begun`: a stream has taken them. */
static struct td_seal_terms terms;
static bool begun;

static uint64_t draw(uint64_t below)
{
    return random_below(&seed, below);
}

static uint8_t byte_of(uint64_t packet, uint64_t at)
{
    return (uint8_t)(packet * 131 + at * 7 + (at >> 8));
}

/* size_of returns sizes of all kinds: zero, small, about a buffer, and the largest. */
static uint32_t size_of(uint64_t packet)
{
    static const uint32_t sizes[] = {1, 100, 4095, 4096, 16383, 16384, 16385, 65536, PACKET_BYTES};
    return sizes[packet % (sizeof sizes / sizeof sizes[0])] - (uint32_t)(packet % 3 == 2);
}

/* ---- what channels call ---- */

static void on_handshake(void *user, struct td_channel *c, const uint8_t *bytes, size_t size)
{
    (void)user;
    assert_int_equal(size, 5);
    assert_memory_equal(bytes, "hello", 5);
    in.handshakes++;
    in.channel = c;
    begun = true;
    if (in.answer)
        assert_true(td_channel_send_handshake(c, (const uint8_t *)"welcome", 7));
}

/* cut divides memory into pieces of random sizes, the last one first. */
static uint32_t cut(uint8_t *memory, uint32_t bytes, struct iovec piece[TD_PAYLOAD_PIECES])
{
    uint32_t pieces = 0, most = 1 + (uint32_t)draw(TD_PAYLOAD_PIECES);
    while (bytes > 0) {
        uint32_t size = pieces + 1 == most ? bytes : 1 + (uint32_t)draw(2 * bytes / most + 1);
        size = size < bytes ? size : bytes;
        bytes -= size;
        piece[pieces++] = (struct iovec){memory + bytes, size};
    }
    return pieces;
}

static struct td_payload *on_place(void *user, const struct td_packet *packet,
                                   struct td_payload *now)
{
    static struct td_payload payload;
    static struct iovec piece[TD_PAYLOAD_PIECES];
    (void)user;
    if (!ground || (!now && places_left == 0))
        return NULL;
    if (now && places_left == 0) {
        memset(ground, 0xee, PACKET_BYTES); /* the memory has another owner from now on */
        moved++;
        return NULL;
    }
    places_left--;
    if (now)
        return now;
    payload = (struct td_payload){.holders = 2, .bytes = packet->bytes, .data = ground};
    if (draw(2)) {
        payload.data = NULL;
        payload.piece = piece;
        payload.pieces = cut(ground, packet->bytes, piece);
    }
    placed++;
    return &payload;
}

static const struct td_seal_terms *on_terms(void *user, uint64_t session, bool express)
{
    (void)user;
    (void)express;
    return !begun && session == terms.session ? &terms : NULL;
}

static void on_packet(void *user, struct td_channel *c, const struct td_packet *packet,
                      struct td_payload *payload)
{
    (void)user;
    (void)c;
    uint64_t n = packet->link_sequence;
    assert_int_equal(n, in.packets);
    in.packets++;
    assert_int_equal(packet->kind == TD_PACKET_DATA, payload != NULL);
    if (payload) {
        assert_int_equal(payload->bytes, size_of(n));
        static uint8_t bytes[PACKET_BYTES];
        td_payload_load(payload, bytes, payload->bytes);
        for (uint32_t i = 0; i < payload->bytes; i++)
            in.wrong += bytes[i] != byte_of(n, i);
    }
    td_payload_drop(payload);
}

static void on_in_ended(void *user, struct td_channel *c, bool breach, const char *why)
{
    (void)user;
    (void)c;
    in.channel = NULL;
    in.ends++;
    in.breach = breach;
    snprintf(in.why, sizeof in.why, "%s", why);
}

static void on_answer(void *user, struct td_channel *c, const uint8_t *bytes, size_t size)
{
    (void)user;
    (void)c;
    assert_int_equal(size, 7);
    assert_memory_equal(bytes, "welcome", 7);
    out.answers++;
}

static void on_out_ended(void *user, struct td_channel *c, bool breach, const char *why)
{
    (void)user;
    (void)c;
    (void)breach;
    (void)why;
    out.ends++;
}

static void on_arriving(void *user, const struct td_packet *packet)
{
    (void)user;
    in.parts += packet->bytes > 0;
}

static const struct td_channel_calls in_calls = {.handshake = on_handshake,
                                                 .place = on_place,
                                                 .arriving = on_arriving,
                                                 .terms = on_terms,
                                                 .packet = on_packet,
                                                 .ended = on_in_ended};
static const struct td_channel_calls out_calls = {.handshake = on_answer, .ended = on_out_ended};

/* ---- life ---- */

#define UNTIL(condition) UNTIL_IN(&uv, &deadline, condition)

static int setup(void **unused)
{
    (void)unused;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    in.answer = true;
    begun = false;
    memset(&terms, 0, sizeof terms);
    ground = NULL;
    lent = returned = placed = moved = 0;
    seed = 1;
    strcpy(directory, "/tmp/torus-channel.XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(endpoint, sizeof endpoint, "ipc://%s/s", directory);
    uv_loop_init(&uv);
    uv_timer_init(&uv, &deadline);
    td_payload_pool_init(&pool, PACKET_BYTES);
    channels = (struct td_channels){
        .uv = &uv, .pool = &pool, .descriptors = &descriptors, .handshake_ms = HANDSHAKE_MS};
    listener = td_listener_create(&channels, endpoint, &in_calls, NULL);
    return listener ? 0 : -1;
}

/* setup_tcp listens on TCP, for streams with keys. */
static int setup_tcp(void **unused)
{
    if (setup(unused) != 0)
        return -1;
    td_listener_close(listener);
    listener = NULL;
    channels.keyed = true;
    channels.frames_per_key = 7;
    terms = (struct td_seal_terms){.kind = TD_SEAL_ENCRYPT, .session = 99, .random = {{1}, {2}}};
    uint64_t port = (uint64_t)getpid();
    for (int tries = 0; !listener && tries < 100; tries++) {
        snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u",
                 10000 + (unsigned)random_below(&port, 20000));
        listener = td_listener_create(&channels, endpoint, &in_calls, NULL);
    }
    return listener ? 0 : -1;
}

static int teardown(void **unused)
{
    (void)unused;
    td_channels_close(&channels);
    td_listener_close(listener);
    uv_close((uv_handle_t *)&deadline, NULL);
    while (uv_run(&uv, UV_RUN_DEFAULT) != 0)
        continue;
    td_payload_pool_fini(&pool);
    free(ground);
    return uv_loop_close(&uv) || rmdir(directory) ||
           lent != returned; /* every lent payload was returned */
}

static struct td_channel *connected(void)
{
    struct td_channel *c =
        td_channel_open(&channels, endpoint, (const uint8_t *)"hello", 5, &terms, &out_calls, NULL);
    assert_non_null(c);
    UNTIL(out.answers == 1);
    td_channel_belongs(in.channel, &in_calls, NULL, &terms);
    return c;
}

static struct td_packet header(uint64_t packet, bool data)
{
    return (struct td_packet){.kind = data ? TD_PACKET_DATA : TD_PACKET_CREDIT,
                              .link_sequence = packet,
                              .bytes = data ? size_of(packet) : 0};
}

/* struct loan: a payload in memory outside the pool. */
struct loan {
    struct td_payload payload;
    uint8_t *memory;
    struct iovec piece[TD_PAYLOAD_PIECES];
};

static void give_back(struct td_payload *payload)
{
    returned++;
    free(((struct loan *)payload)->memory);
    free(payload);
}

/* lend makes a payload of memory outside the pool, in one or several pieces. */
static struct td_payload *lend(uint32_t bytes)
{
    struct loan *l = malloc(sizeof *l);
    uint8_t *memory = malloc(bytes ? bytes : 1);
    assert_true(l && memory);
    l->memory = memory;
    l->payload =
        (struct td_payload){.holders = 1, .bytes = bytes, .data = memory, .release = give_back};
    if (draw(2)) {
        l->payload.data = NULL;
        l->payload.piece = l->piece;
        l->payload.pieces = cut(memory, bytes, l->piece);
    }
    lent++;
    return &l->payload;
}

static bool send_one(struct td_channel *c, uint64_t packet)
{
    bool data = packet % 4 != 3;
    struct td_packet h = header(packet, data);
    struct td_payload *p = NULL;
    if (data)
        p = packet % 2 ? lend(h.bytes) : td_payload_new(&pool, h.bytes);
    static uint8_t bytes[PACKET_BYTES];
    for (uint32_t i = 0; p && i < p->bytes; i++)
        bytes[i] = byte_of(packet, i);
    if (p) {
        td_payload_store(p, 0, bytes, p->bytes);
        p->lent = packet % 4 == 1 || !p->data;
    }
    return td_channel_send(c, &h, p);
}

/* ---- */

static void packets_come_in_order_as_they_were_sent(void **unused)
{
    (void)unused;
    struct td_channel *c = connected();
    uint64_t sent = 0;
    while (sent < PACKETS) {
        for (uint64_t burst = 1 + draw(40); burst > 0 && sent < PACKETS; burst--)
            assert_true(send_one(c, sent++)); /* more than a socket takes at once */
        if (draw(2))
            uv_run(&uv, UV_RUN_NOWAIT);
    }
    UNTIL(in.packets == PACKETS && returned == lent);
    assert_int_equal(in.wrong, 0);
    assert_int_equal(in.ends + out.ends, 0);
}

static void what_waits_is_given_back_when_a_channel_is_closed(void **unused)
{
    (void)unused;
    struct td_channel *c = connected();
    for (uint64_t i = 0; i < 10 * (uint64_t)PACKETS; i++) /* more than a socket takes */
        assert_true(send_one(c, i));
    assert_true(returned < lent);
    td_channel_close(c);
    UNTIL(returned == lent && in.ends == 1);
    assert_false(in.breach);
    assert_int_equal(in.wrong, 0);
}

static void the_other_end_hears_that_a_channel_is_closed(void **unused)
{
    (void)unused;
    connected();
    td_channel_close(in.channel);
    UNTIL(out.ends == 1);
    assert_int_equal(in.ends, 0); /* the end that closes gets no call */
}

static void a_channel_to_nobody_ends(void **unused)
{
    (void)unused;
    char nowhere[120];
    snprintf(nowhere, sizeof nowhere, "%s.not", endpoint);
    assert_non_null(
        td_channel_open(&channels, nowhere, (const uint8_t *)"hello", 5, NULL, &out_calls, NULL));
    UNTIL(out.ends == 1);
    assert_null(td_channel_open(&channels, "tcp://no.number:1", (const uint8_t *)"hello", 5, NULL,
                                &out_calls, NULL));
    assert_int_equal(errno, EINVAL);
}

/* ---- placed payloads ---- */

static void payloads_come_in_where_they_are_placed(void **unused)
{
    (void)unused;
    struct td_channel *c = connected();
    ground = malloc(PACKET_BYTES);
    places_left = UINT32_MAX;
    for (uint64_t i = 0; i < PACKETS; i++)
        assert_true(send_one(c, i));
    UNTIL(in.packets == PACKETS);
    assert_int_equal(in.wrong, 0);
    assert_int_equal(placed, PACKETS - PACKETS / 4);
    assert_int_equal(moved, 0);
}

static void a_payload_whose_place_is_gone_is_whole_and_its_place_untouched(void **unused)
{
    (void)unused;
    struct td_channel *c = connected();
    ground = malloc(PACKET_BYTES);
    for (uint64_t i = 0; i < PACKETS; i++) {
        places_left = 1 + (unsigned)draw(3); /* the first read of it, or one or two more */
        assert_true(send_one(c, i));
        uint64_t moved_before = moved;
        UNTIL(in.packets == i + 1);
        if (moved == moved_before)
            continue;
        for (uint32_t k = 0; k < PACKET_BYTES; k++)
            assert_int_equal(ground[k], 0xee);
    }
    assert_true(moved > 0);
}

/* ---- strangers ---- */

static int stranger(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", endpoint + strlen("ipc://"));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* handshake writes a handshake and returns its size. */
static size_t handshake(uint8_t *bytes)
{
    memcpy(bytes, "PKGR\5\0\0\0hello", HEAD_BYTES + 5);
    return HEAD_BYTES + 5;
}

static void a_stream_may_come_in_any_pieces(void **unused)
{
    (void)unused;
    enum { ALL = 60 };
    size_t room = (size_t)ALL * (PACKET_BYTES + TD_WIRE_PACKET_BYTES) + 100;
    uint8_t *bytes = malloc(room);
    size_t size = handshake(bytes);
    for (uint64_t i = 0; i < ALL; i++) {
        struct td_packet h = header(i, i % 4 != 3);
        td_wire_encode_packet(&h, bytes + size);
        size += TD_WIRE_PACKET_BYTES;
        for (uint32_t k = 0; k < h.bytes; k++)
            bytes[size++] = byte_of(i, k);
    }
    int fd = stranger();
    for (size_t at = 0; at < size;) {
        size_t piece = 1 + draw(draw(2) ? 200 : 40000);
        piece = piece < size - at ? piece : size - at;
        ssize_t sent = send(fd, bytes + at, piece, MSG_DONTWAIT);
        at += sent > 0 ? (size_t)sent : 0;
        uv_run(&uv, UV_RUN_NOWAIT);
        if (in.handshakes == 1 && in.channel)
            td_channel_belongs(in.channel, &in_calls, NULL, NULL);
    }
    UNTIL(in.packets == ALL);
    assert_true(in.parts > 0); /* the user heard of parts of packets */
    assert_int_equal(in.wrong, 0);
    close(fd);
    UNTIL(in.ends == 1);
    assert_false(in.breach);
    free(bytes);
}

static void a_packet_before_the_end_of_its_stream_arrives(void **unused)
{
    (void)unused;
    enum { TIMES = 20, NUMBER = 7 };
    struct td_packet h = header(NUMBER, true);
    uint8_t *bytes = malloc(TD_WIRE_PACKET_BYTES + h.bytes), hello[HEAD_BYTES + 5];
    ground = malloc(PACKET_BYTES); /* in pieces, or in one */
    places_left = UINT32_MAX;
    assert_true(bytes && ground);
    td_wire_encode_packet(&h, bytes);
    for (uint32_t k = 0; k < h.bytes; k++)
        bytes[TD_WIRE_PACKET_BYTES + k] = byte_of(NUMBER, k);
    for (int i = 0; i < TIMES; i++) {
        memset(&in, 0, sizeof in);
        in.packets = NUMBER;
        int fd = stranger();
        ssize_t size = (ssize_t)handshake(hello);
        assert_int_equal(send(fd, hello, (size_t)size, 0), size);
        UNTIL(in.handshakes == 1);
        td_channel_belongs(in.channel, &in_calls, NULL, NULL);
        size = TD_WIRE_PACKET_BYTES + (ssize_t)h.bytes;
        assert_int_equal(send(fd, bytes, (size_t)size, 0), size);
        close(fd);
        UNTIL(in.ends == 1);
        assert_int_equal(in.packets, NUMBER + 1);
        assert_int_equal(in.wrong, 0);
    }
    free(bytes);
}

static void who_breaks_the_form_is_cut_off(void **unused)
{
    (void)unused;
    uint8_t bytes[4][400] = {"GET / HTTP/1.1\r\n\r\n", "PKGR\377\377\377\377"};
    size_t size[4] = {18, HEAD_BYTES, handshake(bytes[2]), handshake(bytes[3])};
    memset(bytes[2] + size[2], 'x', TD_WIRE_PACKET_BYTES);
    struct td_packet h = {.kind = TD_PACKET_DATA, .bytes = PACKET_BYTES + 1};
    td_wire_encode_packet(&h, bytes[3] + size[3]);
    size[2] += TD_WIRE_PACKET_BYTES;
    size[3] += TD_WIRE_PACKET_BYTES;
    for (unsigned i = 0; i < 4; i++) {
        char byte;
        int fd = stranger();
        assert_int_equal(send(fd, bytes[i], size[i], 0), size[i]);
        UNTIL(in.ends == i + 1);
        assert_true(in.breach);
        while (recv(fd, &byte, 1, 0) > 0) /* the reply to a handshake, if any */
            continue;
        close(fd);
    }
    assert_non_null(strstr(in.why, "too long"));
    assert_int_equal(in.packets, 0);
}

static void who_does_not_greet_is_cut_off_in_time(void **unused)
{
    (void)unused;
    char byte;
    int fd = stranger();
    assert_int_equal(send(fd, "PKG", 3, 0), 3);
    UNTIL(in.ends == 1);
    assert_false(in.breach);
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
    close(fd);
}

/* ---- sealed streams ---- */

static void deliver_all(void)
{
    struct td_channel *c = connected();
    for (uint64_t i = 0; i < PACKETS / 3; i++)
        assert_true(send_one(c, i));
    UNTIL(in.packets == PACKETS / 3 && returned == lent);
    assert_int_equal(in.wrong, 0);
    assert_int_equal(in.ends + out.ends, 0);
    td_channel_close(c);
    UNTIL(in.ends == 1);
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    in.answer = true;
    begun = false;
}

static void sealed_packets_come_in_order_as_they_were_sent(void **unused)
{
    (void)unused;
    ground = malloc(PACKET_BYTES);
    places_left = 1000000; /* nothing is placed while a stream has keys */
    for (int kind = TD_SEAL_AUTHENTICATE; kind <= TD_SEAL_ENCRYPT; kind++)
        for (int cipher = TD_CIPHER_CHACHA; cipher <= TD_CIPHER_AES; cipher++)
            if (td_seal_ciphers() & 1u << cipher) {
                terms.kind = (uint8_t)kind;
                terms.cipher = (uint8_t)cipher;
                deliver_all();
            }
    assert_int_equal(placed, 0);
}

static void summed_packets_come_in_order_and_may_be_placed(void **unused)
{
    (void)unused;
    ground = malloc(PACKET_BYTES);
    places_left = 200;
    terms.kind = TD_SEAL_SUM;
    channels.keyed = false;
    deliver_all();
    assert_true(placed > 0);
}

static int tcp_stranger(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* first_frame writes a sealed handshake, and returns its size and the seal of the next frames. */
static size_t first_frame(uint8_t *bytes, const struct td_seal_terms *t, struct td_seal *seal)
{
    enum { TAG = HEAD_BYTES + 8, TEXT = TAG + TD_SEAL_TAG };
    memset(bytes, 0, TEXT);
    memcpy(bytes, "PKGS\5", 5);
    bytes[HEAD_BYTES] = 99; /* the session */
    memcpy(bytes + TEXT, "hello", 5);
    td_seal_begin(seal, t, 0, 7);
    td_seal_message(seal, bytes + TEXT, 5, bytes + TAG);
    return TEXT + 5;
}

/* turned_away sends bytes as a new connection, which must end with these words. */
static void turned_away(const uint8_t *bytes, size_t size, const char *words)
{
    unsigned ends = in.ends;
    int fd = tcp_stranger();
    assert_int_equal(send(fd, bytes, size, 0), size);
    UNTIL(in.ends == ends + 1);
    assert_true(in.breach);
    if (!strstr(in.why, words))
        fail_msg("%s: not %s", in.why, words);
    close(fd);
}

static void who_does_not_prove_the_key_is_cut_off(void **unused)
{
    (void)unused;
    uint8_t bytes[400], good[400];
    struct td_seal seal;
    struct td_seal_terms other = terms;
    turned_away(bytes, handshake(bytes), "has no key");
    other.random[1][5] ^= 1;
    turned_away(bytes, first_frame(bytes, &other, &seal), "does not prove its key");
    size_t size = first_frame(good, &terms, &seal);
    for (size_t at = HEAD_BYTES + 8; at < size; at++) {
        memcpy(bytes, good, size);
        bytes[at] ^= 4;
        turned_away(bytes, size, "does not prove its key");
    }
    memcpy(bytes, good, size);
    bytes[HEAD_BYTES] ^= 1;
    turned_away(bytes, size, "no session");
    assert_int_equal(in.handshakes, 0);
}

static void the_first_frame_cannot_be_repeated(void **unused)
{
    (void)unused;
    uint8_t bytes[400];
    struct td_seal seal;
    size_t size = first_frame(bytes, &terms, &seal);
    int fd = tcp_stranger();
    assert_int_equal(send(fd, bytes, size, 0), size);
    UNTIL(in.handshakes == 1);
    td_channel_belongs(in.channel, &in_calls, NULL, &terms);
    struct td_channel *first = in.channel;
    turned_away(bytes, size, "no session");
    assert_int_equal(in.handshakes, 1);
    td_channel_close(first);
    close(fd);
}

static void a_changed_packet_ends_the_stream_and_is_not_delivered(void **unused)
{
    (void)unused;
    enum { FRAME = TD_SEAL_HEAD + 1 }; /* packet 0 has one byte */
    for (size_t at = 0; at < FRAME; at++) {
        uint8_t bytes[400 + 2 * FRAME], payload = byte_of(0, 0);
        struct td_seal seal;
        struct td_packet h = header(0, true);
        size_t size = first_frame(bytes, &terms, &seal);
        td_wire_encode_packet(&h, bytes + size);
        td_seal_frame(&seal, bytes + size, &payload, bytes + size + TD_SEAL_HEAD, 1);
        bytes[size + at] ^= 1;
        int fd = tcp_stranger();
        memset(&in, 0, sizeof in);
        begun = false;
        assert_int_equal(send(fd, bytes, size, 0), size);
        UNTIL(in.handshakes == 1);
        td_channel_belongs(in.channel, &in_calls, NULL, &terms);
        assert_int_equal(send(fd, bytes + size, FRAME, 0), FRAME);
        UNTIL(in.ends == 1);
        assert_true(in.breach);
        assert_non_null(strstr(in.why, "changed on the way"));
        assert_int_equal(in.packets, 0);
        close(fd);
    }
}

/* Where reno is the kernel's default, the last two lines show nothing. */
static void a_stream_has_the_congestion_control_that_was_named(void **state)
{
    (void)state;
    static union td_stream stream; /* until the loop has closed it */
    struct sockaddr_storage address;
    char before[16] = "", name[16] = "";
    socklen_t bytes = sizeof before;
    int fd = -1;
    assert_int_equal(td_endpoint_open(&uv, "tcp://127.0.0.1:9", &stream, &address), 0);
    assert_int_equal(uv_fileno(&stream.handle, &fd), 0);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, before, &bytes), 0);
    td_endpoint_adjust(&stream, 1000, NULL);
    td_endpoint_adjust(&stream, 1000, "none-such"); /* no error */
    bytes = sizeof name;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &bytes), 0);
    assert_string_equal(name, before);
    td_endpoint_adjust(&stream, 1000, "reno"); /* each kernel has it */
    bytes = sizeof name;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &bytes), 0);
    assert_string_equal(name, "reno");
    uv_close(&stream.handle, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(packets_come_in_order_as_they_were_sent),
        TEST(what_waits_is_given_back_when_a_channel_is_closed),
        TEST(the_other_end_hears_that_a_channel_is_closed),
        TEST(a_channel_to_nobody_ends),
        TEST(payloads_come_in_where_they_are_placed),
        TEST(a_payload_whose_place_is_gone_is_whole_and_its_place_untouched),
        TEST(a_stream_may_come_in_any_pieces),
        TEST(a_packet_before_the_end_of_its_stream_arrives),
        TEST(who_breaks_the_form_is_cut_off),
        TEST(who_does_not_greet_is_cut_off_in_time),
        TEST(a_stream_has_the_congestion_control_that_was_named),
#define TEST_TCP(name) cmocka_unit_test_setup_teardown(name, setup_tcp, teardown)
        TEST_TCP(sealed_packets_come_in_order_as_they_were_sent),
        TEST_TCP(summed_packets_come_in_order_and_may_be_placed),
        TEST_TCP(who_does_not_prove_the_key_is_cut_off),
        TEST_TCP(the_first_frame_cannot_be_repeated),
        TEST_TCP(a_changed_packet_ends_the_stream_and_is_not_delivered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
