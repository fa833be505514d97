/* SPDX-License-Identifier: Apache-2.0 */
/* Tree messages of every kind: a written message is read back unchanged, and no bytes do harm. All
 * kinds come from one table (wire/peer_table.c), which is checked against the list of kinds, their
 * structs and proto/peer.proto. `test_messages SEED` repeats a run. */
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
#include "peer.pb-c.h"
#include "wire/peer.h"

enum {
    ROUNDS = 200,
    FLIPPED = 4, /* messages of each kind, of which every bit is flipped */
    ENVELOPE_FIELDS = 8,
    FIELD_OF_KIND = 16, /* number of a kind's field in proto/peer.proto, less the kind */
    LENGTH_DELIMITED = 2,
};

static uint64_t seed = 1, seen;
static struct td_wire_memory memory;
static const char *why;
static uint8_t bytes[TD_TREE_MESSAGE_MAX];

static size_t encode(const struct td_message *m)
{
    size_t size = td_wire_encode_message(m, bytes, sizeof bytes);
    assert_true(size > 0 && size <= TD_TREE_MESSAGE_MAX);
    return size;
}

/* decode reads a copy of `from` in a heap block of exactly its size, so that a sanitizer finds a
 * read beyond it. It returns false if the bytes are refused, with a sentence. */
static bool decode(const uint8_t *from, size_t size, struct td_message *m)
{
    uint8_t *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    if (size)
        memcpy(exact, from, size);
    why = NULL;
    td_err error = td_wire_decode_message(exact, size, &memory, m, &why);
    free(exact);
    if (error == TD_OK) {
        seen += read_message(m);
        return true;
    }
    assert_int_equal(error, TD_ERR_PROTOCOL);
    assert_true(why && why[0]);
    return false;
}

static void comes_back(const struct td_message *m)
{
    struct td_message back;
    assert_true(decode(bytes, encode(m), &back));
    same_message(m, &back);
}

/* ---- round trips ---- */

static void every_kind_comes_back_as_it_was(void **unused)
{
    (void)unused;
    for (unsigned k = 0; k < td_wire_kinds_count; k++)
        for (int round = 0; round < ROUNDS; round++)
            for (enum amount amount = AMOUNT_NONE; amount <= AMOUNT_MOST; amount++) {
                struct td_message m = some_message(&td_wire_kinds[k], amount);
                comes_back(&m);
            }
}

static void every_field_comes_back_alone(void **unused)
{
    (void)unused;
    for (unsigned k = 0; k < td_wire_kinds_count; k++)
        for (unsigned i = 0; i < td_wire_kinds[k].fields; i++)
            for (enum amount amount = AMOUNT_SMALL; amount <= AMOUNT_MOST; amount++) {
                struct td_message m = some_message(&td_wire_kinds[k], AMOUNT_NONE);
                fill_field(&m.u, &td_wire_kinds[k].field[i], amount, 0);
                comes_back(&m);
            }
}

static void every_size_of_a_buffer_is_respected(void **unused)
{
    (void)unused;
    static uint8_t small[TD_TREE_MESSAGE_MAX + 1];
    for (unsigned k = 0; k < td_wire_kinds_count; k++) {
        struct td_message m = some_message(&td_wire_kinds[k], AMOUNT_SMALL);
        size_t size = encode(&m);
        for (size_t room = 0; room <= size; room++) {
            small[room] = 0xa5;
            assert_int_equal(td_wire_encode_message(&m, small, room), room < size ? 0 : size);
            assert_int_equal(small[room], 0xa5);
        }
    }
}

/* ---- what is refused ---- */

static void what_is_longer_than_its_limit_is_refused(void **unused)
{
    (void)unused;
    unsigned tried = 0;
    struct td_message back;
    for (unsigned k = 0; k < td_wire_kinds_count; k++)
        for (unsigned i = 0; i < td_wire_kinds[k].fields; i++) {
            const struct td_wire_field *f = &td_wire_kinds[k].field[i];
            struct td_message m = some_message(&td_wire_kinds[k], AMOUNT_NONE);
            bool limited = f->type == TD_WIRE_STRING || f->type == TD_WIRE_BITMAP ||
                           f->type == TD_WIRE_PAYLOAD || f->type == TD_WIRE_NUMBERS ||
                           f->type == TD_WIRE_LIST;
            if (!limited)
                continue;
            fill_field(&m.u, f, AMOUNT_MOST, 1);
            tried++;
            size_t size = td_wire_encode_message(&m, bytes, sizeof bytes);
            if (f->type == TD_WIRE_LIST) {
                assert_int_equal(size, 0);
                continue;
            }
            assert_true(size > 0);
            assert_false(decode(bytes, size, &back));
            assert_non_null(strstr(why, "out of range"));
        }
    assert_true(tried > 15);
}

static void errors_and_calls_out_of_range_are_refused(void **unused)
{
    (void)unused;
    struct td_message back;
    for (unsigned k = 0; k < td_wire_kinds_count; k++)
        for (unsigned i = 0; i < td_wire_kinds[k].fields; i++) {
            const struct td_wire_field *f = &td_wire_kinds[k].field[i];
            struct td_message m = some_message(&td_wire_kinds[k], AMOUNT_NONE);
            void *at = (char *)&m.u + f->offset;
            static const int wrong[] = {1, TD_ERR_PERMISSION - 1, INT32_MIN, INT32_MAX, TD_OK};
            static const struct td_call calls[] = {{.kind = 0},
                                                   {.kind = TD_KIND_MAX},
                                                   {.kind = 1, .type = TD_TYPE_MAX},
                                                   {.kind = 1, .op = TD_OP_END},
                                                   {.kind = 1, .mode = TD_REPRODUCIBLES}};
            bool failure = f->type == TD_WIRE_FAILURE;
            for (unsigned w = 0; w < 5; w++) {
                if (failure || (w < 4 && f->type == TD_WIRE_ENDING))
                    *(td_err *)at = (td_err)wrong[w];
                else if (w < 4 && f->type == TD_WIRE_MESSAGE && strcmp(f->of->name, "outcome") == 0)
                    ((struct td_outcome *)at)->error = (td_err)wrong[w];
                else if (f->type == TD_WIRE_MESSAGE && strcmp(f->of->name, "witness") == 0)
                    ((struct td_witness *)at)->call = calls[w];
                else
                    continue;
                assert_false(decode(bytes, encode(&m), &back));
            }
        }
}

static void runs_beyond_their_limit_are_refused(void **unused)
{
    (void)unused;
    struct td_message back;
    Torus__Peer__Run run[TD_MEMBERS_PER_MESSAGE + 1], *runs[TD_MEMBERS_PER_MESSAGE + 1];
    Torus__Peer__Members members = TORUS__PEER__MEMBERS__INIT;
    Torus__Peer__Tree tree = TORUS__PEER__TREE__INIT;
    for (unsigned i = 0; i <= TD_MEMBERS_PER_MESSAGE; i++) {
        torus__peer__run__init(&run[i]);
        runs[i] = &run[i];
    }
    members.run = runs;
    tree.body_case = TORUS__PEER__TREE__BODY_MEMBERS;
    tree.members = &members;
    for (unsigned beyond = 0; beyond < 2; beyond++) {
        members.n_run = TD_MEMBERS_PER_MESSAGE + beyond;
        size_t size = torus__peer__tree__pack(&tree, bytes);
        assert_int_equal(decode(bytes, size, &back), !beyond);
    }
}

/* put_varint writes a number as protobuf does, and returns its bytes. */
static size_t put_varint(uint8_t *at, uint64_t value)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        at[size++] = (uint8_t)(value | 0x80);
    at[size++] = (uint8_t)value;
    return size;
}

static size_t put_body(uint8_t *at, uint64_t field, unsigned wire_type, uint64_t length)
{
    size_t size = put_varint(at, field << 3 | wire_type);
    return size + put_varint(at + size, length);
}

static void message_without_a_known_kind_is_refused(void **unused)
{
    (void)unused;
    struct td_message back;
    Torus__Peer__Tree tree = TORUS__PEER__TREE__INIT;
    assert_false(decode(bytes, 0, &back)); /* an envelope of zeros, and no body */
    assert_non_null(strstr(why, "unknown kind"));
    tree.session = tree.group = 7;
    assert_false(decode(bytes, torus__peer__tree__pack(&tree, bytes), &back));
    assert_non_null(strstr(why, "unknown kind"));
    for (uint64_t field = ENVELOPE_FIELDS + 1; field < 2000; field++) {
        bool known = false; /* numbers may have gaps */
        for (unsigned k = 0; k < td_wire_kinds_count; k++)
            known = known || field == FIELD_OF_KIND + (uint64_t)td_wire_kinds[k].number;
        if (known)
            continue;
        assert_false(decode(bytes, put_body(bytes, field, LENGTH_DELIMITED, 0), &back));
        assert_non_null(strstr(why, "unknown kind"));
    }
}

static void body_of_another_wire_type_or_length_is_refused(void **unused)
{
    (void)unused;
    static const uint64_t lengths[] = {1, 4096, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
    struct td_message back;
    for (unsigned k = 0; k < td_wire_kinds_count; k++) {
        uint64_t field = FIELD_OF_KIND + (uint64_t)td_wire_kinds[k].number;
        for (unsigned type = 0; type < 8; type++)
            if (type != LENGTH_DELIMITED)
                assert_false(decode(bytes, put_body(bytes, field, type, 0), &back));
        for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
            assert_false(
                decode(bytes, put_body(bytes, field, LENGTH_DELIMITED, lengths[i]), &back));
    }
}

/* Of two bodies the second counts, as in protobuf; nothing of the first is left. */
static void second_of_two_bodies_counts(void **unused)
{
    (void)unused;
    for (unsigned first = 0; first < td_wire_kinds_count; first++)
        for (unsigned second = 0; second < td_wire_kinds_count; second++) {
            static uint8_t two[2 * TD_TREE_MESSAGE_MAX];
            struct td_message back, a = some_message(&td_wire_kinds[first], AMOUNT_SMALL);
            a.relay = (struct td_relay){0}; /* otherwise it remains if the second has none */
            size_t size = encode(&a);
            memcpy(two, bytes, size);
            struct td_message b = some_message(&td_wire_kinds[second], AMOUNT_SMALL);
            b.session = b.counts_session = b.group = 1; /* otherwise those of the first remain */
            b.number = b.received = b.instance = b.sequence = 1;
            size_t more = encode(&b);
            memcpy(two + size, bytes, more);
            bool read = decode(two, size + more, &back);
            if (first == second)
                continue; /* one message in two parts */
            assert_true(read);
            same_message(&b, &back);
        }
}

/* ---- hostile bytes ---- */

static void every_truncation_is_read_or_refused(void **unused)
{
    (void)unused;
    static uint8_t good[TD_TREE_MESSAGE_MAX];
    struct td_message back;
    for (unsigned k = 0; k < td_wire_kinds_count; k++)
        for (enum amount amount = AMOUNT_NONE; amount <= AMOUNT_MOST; amount++) {
            struct td_message m = some_message(&td_wire_kinds[k], amount);
            size_t size = encode(&m);
            memcpy(good, bytes, size);
            for (size_t length = 0; length < size; length++)
                assert_false(decode(good, length, &back));
        }
}

/* only_body encodes a message without an envelope, and returns the position of its body in `bytes`.
 */
static size_t only_body(const struct td_wire_kind *kind, struct td_message m, size_t *size)
{
    uint8_t head[2 * sizeof(uint64_t)];
    struct td_message bare = {.kind = m.kind, .u = m.u};
    *size = encode(&bare);
    for (size_t at = 0; at <= sizeof head; at++) {
        uint64_t field = FIELD_OF_KIND + (uint64_t)kind->number;
        if (put_body(head, field, LENGTH_DELIMITED, *size - at) == at)
            return at;
    }
    fail_msg("%s has no body", kind->name);
    return 0;
}

/* The length of a body may be right although its end is cut off. */
static void every_truncation_of_a_body_is_read_or_refused(void **unused)
{
    (void)unused;
    static uint8_t cut[TD_TREE_MESSAGE_MAX];
    struct td_message back;
    for (unsigned k = 0; k < td_wire_kinds_count; k++)
        for (enum amount amount = AMOUNT_NONE; amount <= AMOUNT_MOST; amount++) {
            size_t size = 0, at = only_body(&td_wire_kinds[k],
                                            some_message(&td_wire_kinds[k], amount), &size);
            for (size_t left = 0; left <= size - at; left++) {
                uint64_t field = FIELD_OF_KIND + (uint64_t)td_wire_kinds[k].number;
                size_t head = put_body(cut, field, LENGTH_DELIMITED, left);
                memcpy(cut + head, bytes + at, left);
                bool read = decode(cut, head + left, &back);
                assert_true(read || left < size - at);
                assert_true(!read || back.kind == td_wire_kinds[k].number);
            }
        }
}

/* A later minor version may add fields: they are ignored, in the envelope and in every body. */
static void unknown_fields_are_ignored(void **unused)
{
    (void)unused;
    static uint8_t more[TD_TREE_MESSAGE_MAX + 32];
    for (unsigned k = 0; k < td_wire_kinds_count; k++) {
        struct td_message back, m = some_message(&td_wire_kinds[k], AMOUNT_SMALL);
        m = (struct td_message){.kind = m.kind, .u = m.u};
        uint8_t added[16];
        size_t size = 0, at = only_body(&td_wire_kinds[k], m, &size);
        size_t extra = put_body(added, 1000, 0, UINT32_MAX); /* a varint */
        uint64_t field = FIELD_OF_KIND + (uint64_t)td_wire_kinds[k].number;
        size_t head = put_body(more, field, LENGTH_DELIMITED, size - at + extra);
        memcpy(more + head, bytes + at, size - at);
        memcpy(more + head + size - at, added, extra);
        memcpy(more + head + size - at + extra, added, extra);
        assert_true(decode(more, head + size - at + 2 * extra, &back));
        same_message(&m, &back);
    }
}

/* A message with a flipped bit that can be read is a valid message: written, it is read back
 * unchanged. */
static void every_flipped_bit_is_read_or_refused(void **unused)
{
    (void)unused;
    static uint8_t flipped[TD_TREE_MESSAGE_MAX];
    static struct td_wire_memory kept;
    for (unsigned k = 0; k < td_wire_kinds_count; k++)
        for (int round = 0; round < FLIPPED; round++) {
            struct td_message back, m = some_message(&td_wire_kinds[k], AMOUNT_SMALL);
            size_t size = encode(&m);
            memcpy(flipped, bytes, size);
            for (size_t bit = 0; bit < 8 * size; bit++) {
                flipped[bit / 8] ^= (uint8_t)(1u << bit % 8);
                if (decode(flipped, size, &back)) {
                    assert_int_equal(td_wire_decode_message(flipped, size, &kept, &back, &why),
                                     TD_OK);
                    comes_back(&back);
                }
                flipped[bit / 8] ^= (uint8_t)(1u << bit % 8);
            }
        }
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
        cmocka_unit_test_setup(every_kind_comes_back_as_it_was, reseed),
        cmocka_unit_test_setup(every_field_comes_back_alone, reseed),
        cmocka_unit_test_setup(every_size_of_a_buffer_is_respected, reseed),
        cmocka_unit_test_setup(what_is_longer_than_its_limit_is_refused, reseed),
        cmocka_unit_test_setup(errors_and_calls_out_of_range_are_refused, reseed),
        cmocka_unit_test(runs_beyond_their_limit_are_refused),
        cmocka_unit_test(message_without_a_known_kind_is_refused),
        cmocka_unit_test(body_of_another_wire_type_or_length_is_refused),
        cmocka_unit_test_setup(second_of_two_bodies_counts, reseed),
        cmocka_unit_test_setup(every_truncation_is_read_or_refused, reseed),
        cmocka_unit_test_setup(every_truncation_of_a_body_is_read_or_refused, reseed),
        cmocka_unit_test_setup(unknown_fields_are_ignored, reseed),
        cmocka_unit_test_setup(every_flipped_bit_is_read_or_refused, reseed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
