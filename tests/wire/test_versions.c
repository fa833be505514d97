/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of the peer protocol: a daemon of another minor version finds its own fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "wire/handshake.h"
#include "wire/peer.h"

static struct td_wire_memory memory;
static uint8_t bytes[TD_TREE_MESSAGE_MAX];
static const char *why;

static const uint64_t settings[] = {262144, 16}, costs[] = {7}, methods[] = {1, 300};
static const struct td_member_run run = {.first = 0, .count = 2, .node = 1, .token = 9};

/* The head of a JOIN: session, opposite session, number, count; then field 18 without its length.
 */
#define JOIN_HEAD 0x0d, 1, 0, 0, 0, 0x15, 2, 0, 0, 0, 0x18, 3, 0x20, 4, 0x92, 1
static const uint8_t join_bytes[] = {JOIN_HEAD, 33,   8, 5,    0x10, 6,    0x18, 7,    0x20,
                                     1,         0x2a, 3, 'j',  'o',  'b',  0x30, 2,    0x38,
                                     1,         0x40, 1, 0x52, 4,    0x80, 0x80, 0x10, 0x10,
                                     0x5a,      1,    7, 0x62, 3,    1,    0xac, 2};

static struct td_message join(void)
{
    struct td_message m = {
        .kind = TD_MESSAGE_JOIN, .session = 1, .counts_session = 2, .number = 3, .received = 4};
    m.u.join = (struct td_message_join){.token = 5,
                                        .uid = 6,
                                        .pid = 7,
                                        .timeout_ns = -1,
                                        .name = "job",
                                        .size = 2,
                                        .rank = 1,
                                        .is_reminder = true,
                                        .terms = {{{2, settings}, {1, costs}, {2, methods}}}};
    return m;
}

#define MEMBERS_HEAD 0x29, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xaa, 1
static const uint8_t members_bytes[] = {
    MEMBERS_HEAD, 19, 8,    6, 0x12, 3, 'j',  'o', 'b',  0x18, 2,
    0x20,         1,  0x2a, 6, 0x10, 2, 0x18, 1,   0x20, 9};

static struct td_message members(void)
{
    struct td_message m = {.kind = TD_MESSAGE_MEMBERS, .instance = 0x1122334455667788};
    m.u.members = (struct td_message_members){
        .uid = 6, .name = "job", .size = 2, .is_last_piece = true, .runs = 1, .run = &run};
    return m;
}

static const uint8_t handshake_bytes[] = {8, 7,    0x10, 12,   0x18, 1,    0x21, 2,    0,    0,
                                          0, 0,    0,    0,    0,    0x31, 3,    0,    0,    0,
                                          0, 0,    0,    0,    0x52, 3,    '2',  'x',  '2',  0x70,
                                          8, 0x78, 3,    0x82, 1,    4,    0x80, 0x80, 0x10, 0x10};

static void messages_have_these_bytes(void **unused)
{
    (void)unused;
    struct td_message j = join(), m = members();
    assert_int_equal(td_wire_encode_message(&j, bytes, sizeof bytes), sizeof join_bytes);
    assert_memory_equal(bytes, join_bytes, sizeof join_bytes);
    assert_int_equal(td_wire_encode_message(&m, bytes, sizeof bytes), sizeof members_bytes);
    assert_memory_equal(bytes, members_bytes, sizeof members_bytes);

    const struct td_message again = {.kind = TD_MESSAGE_ANNOUNCE_AGAIN,
                                     .sequence = 9,
                                     .u.announce_again = {.without_scratch = true}};
    static const uint8_t again_bytes[] = {0x38, 9, 0xd2, 2, 2, 0x18, 1};
    assert_int_equal(td_wire_encode_message(&again, bytes, sizeof bytes), sizeof again_bytes);
    assert_memory_equal(bytes, again_bytes, sizeof again_bytes);
}

static void a_handshake_has_these_bytes(void **unused)
{
    (void)unused;
    const struct td_handshake g = {.major = 7,
                                   .minor = 12,
                                   .node = 1,
                                   .incarnation = 2,
                                   .session = 3,
                                   .seals = 8,
                                   .ciphers = 3,
                                   .terms = {2, settings},
                                   .shape = "2x2"};
    assert_int_equal(td_wire_encode_handshake(&g, bytes, sizeof bytes), sizeof handshake_bytes);
    assert_memory_equal(bytes, handshake_bytes, sizeof handshake_bytes);
}

static void terms_are_read_back(void **unused)
{
    (void)unused;
    struct td_message m;
    struct td_handshake g;
    assert_int_equal(td_wire_decode_message(join_bytes, sizeof join_bytes, &memory, &m, &why),
                     TD_OK);
    assert_int_equal(td_terms_value(&m.u.join.terms.list[TD_TERMS_SETTINGS], 0), 262144);
    assert_int_equal(td_terms_value(&m.u.join.terms.list[TD_TERMS_METHODS], 1), 300);
    assert_int_equal(td_terms_value(&m.u.join.terms.list[TD_TERMS_METHODS], 2), 0);
    assert_int_equal(
        td_wire_decode_handshake(handshake_bytes, sizeof handshake_bytes, &memory, &g, &why),
        TD_OK);
    assert_int_equal(g.terms.count, 2);
    assert_int_equal(g.terms.value[1], 16);
}

static void too_many_terms_are_refused(void **unused)
{
    (void)unused;
    static uint64_t many[TD_TERMS_MAX + 1];
    struct td_handshake g = {.shape = "", .terms = {TD_TERMS_MAX + 1, many}};
    size_t size = td_wire_encode_handshake(&g, bytes, sizeof bytes);
    assert_int_equal(td_wire_decode_handshake(bytes, size, &memory, &g, &why), TD_ERR_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_have_these_bytes),
        cmocka_unit_test(a_handshake_has_these_bytes),
        cmocka_unit_test(terms_are_read_back),
        cmocka_unit_test(too_many_terms_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
