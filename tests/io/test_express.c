/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of tree messages between two ends in this process, and changed ones from a stranger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/limits.h"
#include "io/bulk/channel.h"
#include "io/bulk/express.h"
#include "random.h"
#include "until.h"

enum { MESSAGES = 3000, HANDSHAKE_MS = 5000, SESSION = 99 };

static uv_loop_t uv;
static uv_timer_t deadline;
static struct td_payload_pool pool;
static struct td_channels channels;
static struct td_descriptors descriptors;
static struct td_listener *listener;
static char endpoint[96];
static uint64_t seed;
static struct td_seal_terms terms;

/* Counters of the end that accepts. */
static struct {
    struct td_channel *channel;
    uint64_t messages, wrong, together; /* together: another one was waiting */
    unsigned handshakes, ends;
    bool breach, asked_express;
    char why[120];
} in;
static struct {
    unsigned answers, ends;
} out;

static size_t size_of(uint64_t number)
{
    static const size_t sizes[] = {1, 30, 55, 100, 1000, TD_TREE_MESSAGE_MAX};
    return sizes[number % (sizeof sizes / sizeof sizes[0])];
}

static uint8_t byte_of(uint64_t number, size_t at)
{
    return (uint8_t)(number * 131 + at * 7);
}

/* ---- what channels call ---- */

static void on_message(void *user, struct td_channel *c, const uint8_t *bytes, size_t size)
{
    (void)user;
    (void)c;
    uint64_t number = in.messages++;
    in.wrong += size != size_of(number);
    for (size_t i = 0; i < size && size == size_of(number); i++)
        in.wrong += bytes[i] != byte_of(number, i);
    in.together += channels.more;
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

static const struct td_channel_calls of_peer = {
    .carries_messages = true, .message = on_message, .ended = on_in_ended};

static void on_handshake(void *user, struct td_channel *c, const uint8_t *bytes, size_t size)
{
    (void)user;
    assert_int_equal(size, 5);
    assert_memory_equal(bytes, "hello", 5);
    in.handshakes++;
    in.channel = c;
    assert_true(td_channel_send_handshake(c, (const uint8_t *)"welcome", 7));
    td_channel_belongs(c, &of_peer, NULL, &terms);
}

static const struct td_seal_terms *on_terms(void *user, uint64_t session, bool express)
{
    (void)user;
    in.asked_express = express;
    return session == terms.session ? &terms : NULL;
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

static const struct td_channel_calls of_strangers = {
    .handshake = on_handshake, .terms = on_terms, .ended = on_in_ended};
static const struct td_channel_calls out_calls = {
    .carries_messages = true, .handshake = on_answer, .ended = on_out_ended};

/* ---- life ---- */

#define UNTIL(condition) UNTIL_IN(&uv, &deadline, condition)

static int setup(void **unused)
{
    (void)unused;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    seed = 1;
    uv_loop_init(&uv);
    uv_timer_init(&uv, &deadline);
    td_payload_pool_init(&pool, 4096);
    channels = (struct td_channels){.uv = &uv,
                                    .pool = &pool,
                                    .descriptors = &descriptors,
                                    .handshake_ms = HANDSHAKE_MS,
                                    .frames_per_key = 7};
    terms = (struct td_seal_terms){.session = SESSION, .random = {{1}, {2}}};
    uint64_t port = (uint64_t)getpid() + 77;
    listener = NULL;
    for (int tries = 0; !listener && tries < 100; tries++) {
        snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u",
                 10000 + (unsigned)random_below(&port, 20000));
        listener = td_listener_create(&channels, endpoint, &of_strangers, NULL);
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
    return uv_loop_close(&uv);
}

static struct td_channel *connected(void)
{
    unsigned answers = out.answers;
    struct td_channel *c =
        td_channel_open(&channels, endpoint, (const uint8_t *)"hello", 5, &terms, &out_calls, NULL);
    assert_non_null(c);
    UNTIL(out.answers == answers + 1);
    assert_true(td_channel_is_express(in.channel));
    return c;
}

static void send_one(struct td_channel *c, uint64_t number)
{
    uint8_t bytes[TD_TREE_MESSAGE_MAX];
    size_t size = size_of(number);
    for (size_t i = 0; i < size; i++)
        bytes[i] = byte_of(number, i);
    assert_true(td_express_send(c, bytes, size));
}

/* deliver_all sends bursts of messages, more than a socket takes at once among them. */
static void deliver_all(void)
{
    memset(&in, 0, sizeof in);
    struct td_channel *c = connected();
    for (uint64_t sent = 0; sent < MESSAGES;) {
        for (uint64_t burst = 1 + random_below(&seed, 400); burst > 0 && sent < MESSAGES; burst--)
            send_one(c, sent++);
        td_express_flush(&channels);
        if (random_below(&seed, 2))
            uv_run(&uv, UV_RUN_NOWAIT);
    }
    UNTIL(in.messages == MESSAGES);
    assert_int_equal(in.wrong, 0);
    assert_int_equal(in.ends + out.ends, 0);
    assert_true(in.together > 0);
    td_channel_close(c);
    UNTIL(in.ends == 1);
    assert_false(in.breach);
}

/* ---- */

static void messages_arrive_in_order_with_every_protection(void **unused)
{
    static const uint8_t kinds[] = {TD_SEAL_NONE, TD_SEAL_SUM, TD_SEAL_AUTHENTICATE,
                                    TD_SEAL_ENCRYPT};
    (void)unused;
    for (unsigned k = 0; k < sizeof kinds; k++)
        for (int cipher = TD_CIPHER_CHACHA; cipher <= TD_CIPHER_AES; cipher++)
            if (td_seal_ciphers() & 1u << cipher) {
                terms.kind = kinds[k];
                terms.cipher = (uint8_t)cipher;
                channels.keyed = kinds[k] >= TD_SEAL_AUTHENTICATE;
                deliver_all();
                assert_int_equal(in.asked_express, channels.keyed);
            }
}

static void messages_of_one_event_are_read_together(void **unused)
{
    (void)unused;
    struct td_channel *c = connected();
    for (uint64_t i = 0; i < 5; i++)
        send_one(c, i);
    uv_run(&uv, UV_RUN_NOWAIT);
    assert_int_equal(in.messages, 0); /* nothing is written before the flush */
    td_express_flush(&channels);
    UNTIL(in.messages == 5);
    assert_int_equal(in.together, 4);
}

static void a_stream_that_waits_is_full(void **unused)
{
    (void)unused;
    uint8_t bytes[TD_TREE_MESSAGE_MAX] = {0};
    struct td_channel *c = connected();
    assert_false(td_express_is_full(c));
    while (!td_express_is_full(c)) {
        assert_true(td_express_send(c, bytes, sizeof bytes));
        td_express_flush(&channels);
    }
    while (td_express_send(c, bytes, sizeof bytes))
        continue;
    assert_int_equal(out.ends, 0);
    td_channel_close(c); /* drops the messages that wait */
}

static void messages_go_one_way(void **unused)
{
    (void)unused;
    connected();
    send_one(in.channel, 0);
    td_express_flush(&channels);
    UNTIL(out.ends == 1);
}

/* ---- strangers ---- */

static int stranger(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* first_frame writes a sealed handshake, and returns its size and the seal of the next frames. */
static size_t first_frame(uint8_t *bytes, bool express, struct td_seal *seal)
{
    enum { SESSION_AT = 8, TAG = SESSION_AT + 8, TEXT = TAG + TD_SEAL_TAG };
    struct td_seal_terms own = terms;
    own.express = express;
    memset(bytes, 0, TEXT);
    memcpy(bytes, "EXPS\5", 5);
    bytes[SESSION_AT] = SESSION;
    memcpy(bytes + TEXT, "hello", 5);
    td_seal_begin(seal, &own, 0, 7);
    td_seal_message(seal, bytes + TEXT, 5, bytes + TAG);
    return TEXT + 5;
}

static void use_keys(uint8_t kind)
{
    terms.kind = kind;
    channels.keyed = kind >= TD_SEAL_AUTHENTICATE;
}

static void the_key_of_the_packets_does_not_open_the_express_path(void **unused)
{
    (void)unused;
    uint8_t bytes[100];
    struct td_seal seal;
    use_keys(TD_SEAL_ENCRYPT);
    size_t size = first_frame(bytes, false, &seal);
    int fd = stranger();
    assert_int_equal(send(fd, bytes, size, 0), size);
    UNTIL(in.ends == 1);
    assert_true(in.breach);
    assert_non_null(strstr(in.why, "does not prove its key"));
    assert_int_equal(in.handshakes, 0);
    close(fd);
}

/* receive_changed sends a frame of one message with the bit of a byte changed. */
static void receive_changed(uint8_t kind, size_t at)
{
    enum { LENGTH = 4, BODY = 20, FRAME = LENGTH + TD_SEAL_TAG + BODY };
    uint8_t bytes[100], frame[FRAME] = {BODY};
    struct td_seal seal;
    use_keys(kind);
    memset(&in, 0, sizeof in);
    size_t size = first_frame(bytes, true, &seal);
    if (kind == TD_SEAL_SUM) {
        memcpy(bytes, "EXPR\5\0\0\0hello", 13);
        size = 13;
        seal.next = 0; /* without keys the handshake is no frame */
    }
    td_seal_message(&seal, frame + LENGTH + TD_SEAL_TAG, BODY, frame + LENGTH);
    frame[at] ^= 1;
    int fd = stranger();
    assert_int_equal(send(fd, bytes, size, 0), size);
    UNTIL(in.handshakes == 1);
    for (int i = 0; i < 10; i++) /* a changed length takes bytes of the next frames, too */
        assert_int_equal(send(fd, frame, FRAME, MSG_NOSIGNAL), FRAME);
    UNTIL(in.ends == 1);
    assert_true(in.breach);
    assert_int_equal(in.messages, 0);
    close(fd);
}

static void a_changed_message_ends_the_stream_and_is_not_delivered(void **unused)
{
    (void)unused;
    for (size_t at = 0; at < 40; at++) {
        bool padding = at >= 12 && at < 20; /* of a checksum */
        receive_changed(TD_SEAL_ENCRYPT, at);
        if (!padding)
            receive_changed(TD_SEAL_SUM, at);
    }
}

static void a_length_beyond_the_limit_ends_the_stream_at_once(void **unused)
{
    static const uint8_t lengths[][4] = {
        {0},
        {(TD_TREE_MESSAGE_MAX + 1) & 255, (TD_TREE_MESSAGE_MAX + 1) >> 8},
        {0, 0, 0, 0x80},
        {255, 255, 255, 255}};
    (void)unused;
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        memset(&in, 0, sizeof in);
        int fd = stranger();
        assert_int_equal(send(fd, "EXPR\5\0\0\0hello", 13, 0), 13);
        UNTIL(in.handshakes == 1);
        assert_int_equal(send(fd, lengths[i], 4, 0), 4);
        UNTIL(in.ends == 1);
        assert_true(in.breach);
        assert_non_null(strstr(in.why, "length"));
        close(fd);
    }
}

static void a_message_may_arrive_in_any_pieces(void **unused)
{
    (void)unused;
    uint8_t frame[4 + TD_TREE_MESSAGE_MAX] = {0};
    int fd = stranger(), one = 1;
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &one, sizeof one), 0);
    assert_int_equal(send(fd, "EXPR\5\0\0\0hello", 13, 0), 13);
    for (uint64_t number = 0; number < 12; number++) {
        size_t size = size_of(number), sent = 0;
        frame[0] = (uint8_t)size;
        frame[1] = (uint8_t)(size >> 8);
        for (size_t i = 0; i < size; i++)
            frame[4 + i] = byte_of(number, i);
        while (sent < 4 + size) {
            size_t piece = 1 + random_below(&seed, 4 + size - sent);
            assert_int_equal(send(fd, frame + sent, piece, 0), piece);
            sent += piece;
            uv_run(&uv, UV_RUN_NOWAIT);
        }
    }
    UNTIL(in.messages == 12);
    assert_int_equal(in.wrong, 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(messages_arrive_in_order_with_every_protection),
        TEST(messages_of_one_event_are_read_together),
        TEST(a_stream_that_waits_is_full),
        TEST(messages_go_one_way),
        TEST(the_key_of_the_packets_does_not_open_the_express_path),
        TEST(a_changed_message_ends_the_stream_and_is_not_delivered),
        TEST(a_length_beyond_the_limit_ends_the_stream_at_once),
        TEST(a_message_may_arrive_in_any_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
