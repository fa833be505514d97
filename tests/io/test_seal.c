/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed frames: each changed bit, and each frame that is lost, repeated, exchanged, cut, sent back
 * or of another connection is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "io/bulk/seal.h"

enum { BYTES = 100 };

/* struct frame: as it travels. */
struct frame {
    uint8_t head[TD_SEAL_HEAD], payload[BYTES];
    uint32_t bytes;
    bool has_payload;
};

static const struct {
    uint8_t kind, cipher;
} ways[] = {{TD_SEAL_SUM, 0},
            {TD_SEAL_AUTHENTICATE, TD_CIPHER_CHACHA},
            {TD_SEAL_ENCRYPT, TD_CIPHER_CHACHA},
            {TD_SEAL_AUTHENTICATE, TD_CIPHER_AES},
            {TD_SEAL_ENCRYPT, TD_CIPHER_AES}};
enum { WAYS = sizeof ways / sizeof ways[0] };

static struct td_seal out, in;
static struct td_seal_terms terms;

static struct td_seal_terms terms_of(int way)
{
    struct td_seal_terms t = {.kind = ways[way].kind,
                              .cipher = ways[way].cipher,
                              .node = {3, 7},
                              .incarnation = {11, 13},
                              .session = 17};
    for (int i = 0; i < TD_SEAL_RANDOM; i++) {
        t.random[0][i] = (uint8_t)i;
        t.random[1][i] = (uint8_t)(3 * i + 1);
        t.public_key[0][i] = (uint8_t)(5 * i + 2);
        t.public_key[1][i] = (uint8_t)(7 * i + 3);
    }
    return t;
}

/* has begins both ends in a way, or returns false if this processor does not have the cipher. */
static bool has(int way, uint64_t frames_per_key)
{
    if (!(td_seal_ciphers() & 1u << ways[way].cipher))
        return false;
    terms = terms_of(way);
    td_seal_begin(&out, &terms, 0, frames_per_key);
    td_seal_begin(&in, &terms, 0, frames_per_key);
    return true;
}

static void fill(uint8_t *bytes, size_t size, unsigned salt)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 31 + salt);
}

static struct frame seal(unsigned salt, bool has_payload)
{
    struct frame f = {.bytes = has_payload ? BYTES : 0, .has_payload = has_payload};
    uint8_t plain[BYTES];
    fill(f.head, TD_WIRE_PACKET_BYTES, salt);
    fill(plain, BYTES, salt + 1);
    memcpy(f.payload, plain, BYTES);
    td_seal_frame(&out, f.head, has_payload ? plain : NULL, f.payload, f.bytes);
    return f;
}

/* opens returns true if the frame is accepted; then it is the one that was sealed with `salt`. */
static bool opens(struct td_seal *s, struct frame f, unsigned salt)
{
    uint8_t wanted[TD_WIRE_PACKET_BYTES];
    if (!td_seal_open_head(s, f.head) ||
        (f.has_payload && !td_seal_open_payload(s, f.head, f.payload, f.bytes)))
        return false;
    fill(wanted, TD_WIRE_PACKET_BYTES, salt);
    assert_memory_equal(f.head, wanted, TD_WIRE_PACKET_BYTES);
    fill(wanted, BYTES, salt + 1);
    if (f.has_payload)
        assert_memory_equal(f.payload, wanted, BYTES);
    return true;
}

static void frames_are_opened_in_order(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        if (!has(way, 1000))
            continue;
        for (unsigned i = 0; i < 20; i++)
            assert_true(opens(&in, seal(i, i % 3 != 0), i));
    }
}

static void every_changed_bit_is_found(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        if (!has(way, 1000))
            continue;
        struct frame good = seal(1, true);
        for (size_t bit = 0; bit < 8 * (TD_SEAL_HEAD + BYTES); bit++) {
            struct frame f = good;
            struct td_seal fresh = in;
            uint8_t *at =
                bit / 8 < TD_SEAL_HEAD ? &f.head[bit / 8] : &f.payload[bit / 8 - TD_SEAL_HEAD];
            *at ^= (uint8_t)(1 << bit % 8);
            if (opens(&fresh, f, 1))
                fail_msg("way %d: bit %zu can be changed", way, bit);
        }
        assert_true(opens(&in, good, 1));
    }
}

static void lost_repeated_and_exchanged_frames_are_found(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        if (!has(way, 1000))
            continue;
        struct frame f[3] = {seal(0, true), seal(1, true), seal(2, false)};
        struct td_seal s = in;
        assert_false(opens(&s, f[1], 1)); /* the first is lost, or exchanged */
        s = in;
        assert_true(opens(&s, f[0], 0));
        struct td_seal again = s;
        assert_false(opens(&again, f[0], 0));
        again = s;
        assert_false(opens(&again, f[2], 2));
        /* the payload of one frame under the head of another */
        struct frame mixed = f[1];
        memcpy(mixed.payload, f[0].payload, BYTES);
        again = s;
        assert_false(opens(&again, mixed, 1));
        memcpy(mixed.head + TD_WIRE_PACKET_BYTES, f[0].head + TD_WIRE_PACKET_BYTES, TD_SEAL_TAG);
        again = s;
        assert_false(opens(&again, mixed, 1));
    }
}

static void truncated_payloads_are_found(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        if (!has(way, 1000))
            continue;
        struct frame f = seal(0, true);
        for (uint32_t bytes = 0; bytes < BYTES; bytes++) {
            struct td_seal s = in;
            struct frame cut = f;
            cut.bytes = bytes;
            assert_false(opens(&s, cut, 0));
        }
    }
}

/* Each term changes the keys: a frame of another direction or connection is refused. */
static void frames_of_other_directions_and_connections_are_found(void **state)
{
    (void)state;
    for (int way = 1; way < WAYS; way++) {
        if (!has(way, 1000))
            continue;
        struct frame f = seal(0, true);
        struct td_seal s;
        td_seal_begin(&s, &terms, 1, 1000);
        assert_false(opens(&s, f, 0));
        for (int which = 0; which < 10; which++) {
            struct td_seal_terms t = terms;
            uint8_t *const byte[] = {t.random[0] + 31, t.random[1], t.public_key[0],
                                     t.public_key[1] + 31};
            switch (which) {
            case 4:
                t.kind = t.kind == TD_SEAL_ENCRYPT ? TD_SEAL_AUTHENTICATE : TD_SEAL_ENCRYPT;
                break;
            case 5:
                t.node[0]++;
                break;
            case 6:
                t.node[1]++;
                break;
            case 7:
                t.incarnation[0]++;
                break;
            case 8:
                t.incarnation[1]++;
                break;
            case 9:
                t.session++;
                break;
            default:
                *byte[which] ^= 0x80;
            }
            td_seal_begin(&s, &t, 0, 1000);
            if (opens(&s, f, 0))
                fail_msg("term %d does not change the key", which);
        }
        struct td_seal_terms swapped = terms;
        memcpy(swapped.random[0], terms.random[1], TD_SEAL_RANDOM);
        memcpy(swapped.random[1], terms.random[0], TD_SEAL_RANDOM);
        td_seal_begin(&s, &swapped, 0, 1000);
        assert_false(opens(&s, f, 0));
    }
}

static void keys_change_after_their_frames(void **state)
{
    (void)state;
    for (int way = 1; way < WAYS; way++) {
        if (!has(way, 4))
            continue;
        uint8_t first[TD_SEAL_KEY];
        memcpy(first, out.key, sizeof first);
        struct td_seal late = in; /* keeps its first key for longer */
        late.frames_per_key = 1000;
        for (unsigned i = 0; i < 4; i++) {
            struct frame f = seal(i, true);
            assert_memory_equal(out.key, first, sizeof first);
            assert_true(opens(&late, f, i));
            assert_true(opens(&in, f, i));
        }
        struct frame f = seal(4, true);
        assert_memory_not_equal(out.key, first, sizeof first);
        assert_false(opens(&late, f, 4));
        assert_true(opens(&in, f, 4));
        for (unsigned i = 5; i < 50; i++)
            assert_true(opens(&in, seal(i, i % 2), i));
    }
}

static void the_first_frame_is_a_message(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        if (!has(way, 1000))
            continue;
        uint8_t text[40], tag[TD_SEAL_TAG], sealed[40];
        fill(text, sizeof text, 9);
        memcpy(sealed, text, sizeof text);
        td_seal_message(&out, sealed, sizeof sealed, tag);
        bool same = memcmp(sealed, text, sizeof text) == 0;
        assert_int_equal(same, ways[way].kind == TD_SEAL_SUM);
        for (size_t bit = 0; bit < 8 * (sizeof sealed + sizeof tag); bit++) {
            uint8_t changed[40], other[TD_SEAL_TAG];
            struct td_seal s = in;
            memcpy(changed, sealed, sizeof changed);
            memcpy(other, tag, sizeof other);
            *(bit / 8 < sizeof changed ? &changed[bit / 8] : &other[bit / 8 - sizeof changed]) ^=
                (uint8_t)(1 << bit % 8);
            assert_false(td_seal_open_message(&s, changed, sizeof changed, other));
        }
        struct td_seal s = in;
        assert_false(td_seal_open_message(&s, sealed, sizeof sealed - 1, tag));
        fill(sealed, sizeof sealed, 9);
        td_seal_begin(&out, &terms, 0, 1000);
        td_seal_message(&out, sealed, sizeof sealed, tag);
        assert_true(td_seal_open_message(&in, sealed, sizeof sealed, tag));
        assert_memory_equal(sealed, text, sizeof text);
        assert_true(opens(&in, seal(1, true), 1)); /* the next frame */
    }
}

static void encryption_hides_and_authentication_shows_the_payload(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        if (!has(way, 1000))
            continue;
        uint8_t head[TD_WIRE_PACKET_BYTES], plain[BYTES];
        fill(head, sizeof head, 0);
        fill(plain, sizeof plain, 1);
        struct frame f = seal(0, true);
        bool same = memcmp(f.payload, plain, BYTES) == 0;
        assert_int_equal(same, ways[way].kind != TD_SEAL_ENCRYPT);
        same = memcmp(f.head, head, sizeof head) == 0;
        assert_int_equal(same, ways[way].kind == TD_SEAL_SUM);
    }
}

static void a_payload_in_foreign_memory_has_no_sum(void **state)
{
    (void)state;
    assert_true(has(0, 1000));
    struct frame f = {.bytes = BYTES, .has_payload = true};
    td_seal_frame(&out, f.head, NULL, NULL, BYTES);
    f.payload[5] = 77; /* its owner may change it */
    assert_true(td_seal_open_head(&in, f.head));
    assert_true(td_seal_open_payload(&in, f.head, f.payload, BYTES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_opened_in_order),
        cmocka_unit_test(every_changed_bit_is_found),
        cmocka_unit_test(lost_repeated_and_exchanged_frames_are_found),
        cmocka_unit_test(truncated_payloads_are_found),
        cmocka_unit_test(frames_of_other_directions_and_connections_are_found),
        cmocka_unit_test(keys_change_after_their_frames),
        cmocka_unit_test(the_first_frame_is_a_message),
        cmocka_unit_test(encryption_hides_and_authentication_shows_the_payload),
        cmocka_unit_test(a_payload_in_foreign_memory_has_no_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
