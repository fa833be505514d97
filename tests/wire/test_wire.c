/* SPDX-License-Identifier: Apache-2.0 */
/* A written message is read back unchanged; one that does not fit or exceeds a limit is refused.
 * `test_wire SEED` repeats a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "samples.h"
#include "forms.h"
#include "wire/client.h"
#include "wire/client_table.h"
#include "wire/packet.h"

enum { ROUNDS = 200 };

static uint64_t seed = 1;
static struct td_wire_memory memory;
static const char *why;
static uint8_t bytes[TD_DATAGRAM_MAX];

/* ---- comparing ---- */

#define SAME(field) assert_int_equal(a->field, b->field)
#define SAME_TEXT(field) assert_string_equal(a->field, b->field)

static void same_request(const struct td_request *a, const struct td_request *b)
{
    SAME(kind);
    SAME(id);
    same_fields(&a->u, &b->u, td_wire_request(a->kind));
}

static void same_reply(const struct td_reply *a, const struct td_reply *b)
{
    SAME(kind);
    SAME(id);
    SAME(error);
    SAME(refused);
    SAME_TEXT(text);
    same_fields(&a->u, &b->u, td_wire_reply(a->kind));
}

/* ---- round trips ---- */

static void every_request_comes_back_as_it_was(void **unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++)
        for (unsigned kind = TD_REQUEST_HELLO; kind <= TD_REQUEST_RELOAD; kind++) {
            struct td_request q = some_request((enum td_request_kind)kind), back;
            size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
            assert_true(size >= TD_WIRE_HEADER_BYTES);
            assert_int_equal(td_wire_decode_request(bytes, size, &memory, &back, &why), TD_OK);
            same_request(&q, &back);
        }
}

static void every_reply_comes_back_as_it_was(void **unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++)
        for (unsigned kind = TD_REPLY_ERROR; kind <= TD_REPLY_PEER_REGION; kind++) {
            struct td_reply r = some_reply((enum td_reply_kind)kind), back;
            size_t size = td_wire_encode_reply(&r, bytes, sizeof bytes);
            assert_true(size >= TD_WIRE_HEADER_BYTES);
            assert_int_equal(td_wire_decode_reply(bytes, size, &memory, &back, &why), TD_OK);
            same_reply(&r, &back);
        }
}

static void handshakes_and_packets_come_back_as_they_were(void **unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        struct td_handshake one = some_handshake(), two, *a = &one, *b = &two;
        size_t size = td_wire_encode_handshake(a, bytes, sizeof bytes);
        assert_int_equal(td_wire_decode_handshake(bytes, size, &memory, b, &why), TD_OK);
        SAME(major);
        SAME(minor);
        SAME(node);
        SAME(incarnation);
        SAME(peer_incarnation);
        SAME(session);
        SAME(bulk);
        SAME(accepted);
        SAME(busy);
        SAME(seals);
        SAME(ciphers);
        SAME(has_random);
        assert_memory_equal(a->random, b->random, sizeof a->random);
        SAME_TEXT(shape);
        SAME_TEXT(text);
        SAME(terms.count);
        if (a->terms.count)
            assert_memory_equal(a->terms.value, b->terms.value,
                                a->terms.count * sizeof *a->terms.value);
    }
    for (int i = 0; i < ROUNDS; i++) {
        struct td_packet one = some_packet(), two, *a = &one, *b = &two;
        td_wire_encode_packet(a, bytes);
        assert_int_equal(td_wire_decode_packet(bytes, TD_WIRE_PACKET_BYTES, b, &why), TD_OK);
        SAME(kind);
        SAME(session);
        SAME(counts_session);
        SAME(link_sequence);
        SAME(received);
        SAME(freed);
        SAME(instance);
        SAME(group);
        SAME(sequence);
        SAME(family);
        SAME(index);
        SAME(offset);
        SAME(bytes);
        SAME(direction);
        SAME(channel);
        SAME(origin);
        SAME(destination);
        SAME(ticket);
        for (int d = 0; d < TD_DIMENSIONS_MAX; d++)
            SAME(left[d]);
        for (int c = 0; c < 3; c++)
            SAME(channel_freed[c]);
    }
}

static void largest_forms_fit(void **unused)
{
    (void)unused;
    char name[TD_NAME_MAX], sentence[TD_TEXT_MAX];
    static uint8_t arrived[TD_BITMAP_BYTES_MAX];
    struct td_reply r = {.kind = TD_REPLY_STATUS, .text = ""}, r_back;
    memset(name, 'n', sizeof name - 1);
    memset(sentence, 's', sizeof sentence - 1);
    name[sizeof name - 1] = sentence[sizeof sentence - 1] = '\0';
    r.u.status.rows = TD_STATUS_ROWS_MAX;
    for (uint32_t i = 0; i < TD_STATUS_ROWS_MAX; i++)
        r.u.status.row[i] =
            (struct td_status_row){.kind = TD_ROW_OPERATION,
                                   .u.operation = {.job = name,
                                                   .kind = sentence,
                                                   .size = TD_JOB_RANKS_MAX,
                                                   .arrived = {arrived, sizeof arrived}}};
    size_t size = td_wire_encode_reply(&r, bytes, sizeof bytes);
    assert_true(size > 0);
    assert_int_equal(td_wire_decode_reply(bytes, size, &memory, &r_back, &why), TD_OK);
    assert_int_equal(r_back.u.status.rows, TD_STATUS_ROWS_MAX);
}

/* ---- what does not fit ---- */

static void encoding_stops_at_the_end_of_the_buffer(void **unused)
{
    (void)unused;
    static uint8_t small[TD_DATAGRAM_MAX];
    for (unsigned kind = TD_REQUEST_HELLO; kind <= TD_REQUEST_RELOAD; kind++) {
        struct td_request q = some_request((enum td_request_kind)kind);
        size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
        for (size_t room = 0; room < size; room++) {
            small[room] = 0xa5;
            assert_int_equal(td_wire_encode_request(&q, small, room), 0);
            assert_int_equal(small[room], 0xa5);
        }
        assert_int_equal(td_wire_encode_request(&q, small, size), size);
    }
}

static void what_is_beyond_a_limit_is_refused(void **unused)
{
    (void)unused;
    struct td_reply r = {.kind = TD_REPLY_ERROR, .id = 1}, r_back;
    size_t size = td_wire_encode_reply(&r, bytes, sizeof bytes); /* an error code that is none */
    assert_int_equal(td_wire_decode_reply(bytes, size, &memory, &r_back, &why), TD_ERR_PROTOCOL);
    r = (struct td_reply){.kind = TD_REPLY_STATUS, .id = 1};
    r.u.status.rows = 1;
    r.u.status.row[0].kind = TD_ROW_PEER;
    r.u.status.row[0].u.peer.state = (enum td_peer_state)(TD_PEER_UNKNOWN + 1);
    size = td_wire_encode_reply(&r, bytes, sizeof bytes);
    assert_int_equal(td_wire_decode_reply(bytes, size, &memory, &r_back, &why), TD_ERR_PROTOCOL);
}

/* One client's call travels between daemons as a witness, where a number out of range costs the
 * link: it must be refused at the local socket. */
static void call_of_unknown_numbers_is_refused_at_the_local_socket(void **unused)
{
    (void)unused;
    static const struct td_call wrong[] = {
        {.kind = 0},
        {.kind = TD_KIND_MAX},
        {.kind = TD_KIND_BARRIER, .type = TD_TYPE_MAX},
        {.kind = TD_KIND_BROADCAST, .type = TD_TYPE_BYTE, .op = TD_OP_END},
        {.kind = TD_KIND_FFT, .type = 255},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct td_request q = {.kind = TD_REQUEST_OPERATION, .id = 7}, back;
        q.u.operation.call = wrong[i];
        size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
        assert_int_equal(td_wire_decode_request(bytes, size, &memory, &back, &why),
                         TD_ERR_PROTOCOL);
    }
}

static void other_major_version_is_refused_with_both_numbers(void **unused)
{
    (void)unused;
    struct td_request q = some_request(TD_REQUEST_HELLO), back;
    struct td_reply r;
    size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
    bytes[4] = 9;
    bytes[5] = 3;
    char ours[16];
    snprintf(ours, sizeof ours, "%d.%d", TD_WIRE_MAJOR, TD_WIRE_MINOR);
    assert_int_equal(td_wire_decode_request(bytes, size, &memory, &back, &why), TD_ERR_VERSION);
    assert_non_null(strstr(why, "9.3"));
    assert_non_null(strstr(why, ours));
    assert_int_equal(td_wire_decode_reply(bytes, size, &memory, &r, &why), TD_ERR_VERSION);
    assert_non_null(strstr(why, "9.3"));
    assert_non_null(strstr(why, ours));
    bytes[4] = TD_WIRE_MAJOR; /* a later minor version is understood */
    assert_int_equal(td_wire_decode_request(bytes, size, &memory, &back, &why), TD_OK);
}

static void wrong_magic_and_wrong_type_are_refused(void **unused)
{
    (void)unused;
    struct td_request q = some_request(TD_REQUEST_STATUS), back;
    struct td_reply r;
    struct td_packet p = some_packet(), p_back;
    size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
    assert_int_equal(td_wire_decode_reply(bytes, size, &memory, &r, &why), TD_ERR_PROTOCOL);
    for (unsigned i = 0; i < 4; i++) {
        bytes[i] ^= 1;
        assert_int_equal(td_wire_decode_request(bytes, size, &memory, &back, &why),
                         TD_ERR_PROTOCOL);
        bytes[i] ^= 1;
    }
    bytes[6] = TD_REQUEST_RELOAD + 1;
    assert_int_equal(td_wire_decode_request(bytes, size, &memory, &back, &why), TD_ERR_PROTOCOL);
    td_wire_encode_packet(&p, bytes);
    for (unsigned i = 0; i < 8; i++) { /* magic, then kind */
        bytes[i] ^= 0x80;
        assert_int_equal(td_wire_decode_packet(bytes, TD_WIRE_PACKET_BYTES, &p_back, &why),
                         TD_ERR_PROTOCOL);
        bytes[i] ^= 0x80;
    }
    assert_int_equal(td_wire_decode_packet(bytes, TD_WIRE_PACKET_BYTES - 1, &p_back, &why),
                     TD_ERR_PROTOCOL);
}

static int reseed(void **unused)
{
    (void)unused;
    forms_seed(seed);
    return 0;
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : seed;
    printf("seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_request_comes_back_as_it_was, reseed),
        cmocka_unit_test_setup(every_reply_comes_back_as_it_was, reseed),
        cmocka_unit_test_setup(handshakes_and_packets_come_back_as_they_were, reseed),
        cmocka_unit_test_setup(largest_forms_fit, reseed),
        cmocka_unit_test_setup(encoding_stops_at_the_end_of_the_buffer, reseed),
        cmocka_unit_test_setup(what_is_beyond_a_limit_is_refused, reseed),
        cmocka_unit_test_setup(call_of_unknown_numbers_is_refused_at_the_local_socket, reseed),
        cmocka_unit_test_setup(other_major_version_is_refused_with_both_numbers, reseed),
        cmocka_unit_test_setup(wrong_magic_and_wrong_type_are_refused, reseed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
