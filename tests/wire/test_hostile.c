/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile bytes do no harm: each message is read, or refused with a sentence. `test_hostile SEED`
 * repeats a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "feed.h"
#include "samples.h"
#include "forms.h"
#include "wire/client.h"
#include "wire/packet.h"
#include "wire/peer.h"

/* The first bytes of a datagram of our version, so that the rest is read. */
static const uint8_t HEADER[6] = {'T', 'o', 'r', 'u', TD_WIRE_MAJOR, TD_WIRE_MINOR};

enum { HOSTILE_INPUTS = 100000 };

static uint64_t seed = 1;
static struct td_wire_memory memory;
static const char *why;

/* some_form writes a valid message of any kind. */
static size_t some_form(unsigned form, uint8_t *to, size_t room)
{
    struct td_request q;
    struct td_reply r;
    struct td_message m;
    struct td_handshake g;
    struct td_packet p;
    switch (form) {
    case 0:
        q = some_request((enum td_request_kind)(1 + below(TD_REQUEST_RELOAD)));
        return td_wire_encode_request(&q, to, room);
    case 1:
        r = some_reply((enum td_reply_kind)(1 + below(TD_REPLY_PEER_REGION)));
        return td_wire_encode_reply(&r, to, room);
    case 2:
        m = some_message(&td_wire_kinds[below(td_wire_kinds_count)], AMOUNT_LARGE);
        return td_wire_encode_message(&m, to, room);
    case 3:
        g = some_handshake();
        return td_wire_encode_handshake(&g, to, room);
    default:
        p = some_packet();
        td_wire_encode_packet(&p, to);
        return TD_WIRE_PACKET_BYTES;
    }
}

static void every_truncation_is_read_or_refused(void **unused)
{
    (void)unused;
    static uint8_t good[TD_DATAGRAM_MAX];
    for (unsigned form = 0; form < FEED_FORMS; form++)
        for (int i = 0; i < 12; i++) {
            size_t size = some_form(form, good, sizeof good);
            assert_true(size > 0);
            for (size_t length = 0; length <= size; length++)
                feed(form, good, length);
        }
}

static void hostile_bytes_do_no_harm(void **unused)
{
    (void)unused;
    static uint8_t hostile[TD_DATAGRAM_MAX];
    for (int i = 0; i < HOSTILE_INPUTS; i++) {
        unsigned form = (unsigned)below(FEED_FORMS);
        size_t size = 0;
        if (below(4)) { /* a valid one, with some bits or bytes changed */
            size = some_form(form, hostile, sizeof hostile);
            for (uint64_t n = 1 + below(8); n > 0; n--) {
                size_t at = below(size);
                hostile[at] = (uint8_t)(below(2) ? draw() : hostile[at] ^ 1u << below(8));
            }
        } else { /* noise, after a valid header half of the time */
            size = below(600);
            for (size_t k = 0; k < size; k++)
                hostile[k] = (uint8_t)draw();
            if (below(2) && size >= TD_WIRE_HEADER_BYTES) {
                memcpy(hostile, HEADER, 6);
                hostile[6] = (uint8_t)below(12);
                hostile[7] = (uint8_t)(form == 1);
            }
        }
        feed(form, hostile, size);
    }
}

/* Two bytes on the wire make a row of 150 in memory: decoding stops at the end of memory. */
static void amplification_stops_at_the_memory(void **unused)
{
    (void)unused;
    static uint8_t many[TD_DATAGRAM_MAX];
    memcpy(many, HEADER, 6);
    many[6] = 6; /* STATUS, a reply */
    many[7] = 1;
    for (size_t i = TD_WIRE_HEADER_BYTES; i + 2 < sizeof many; i += 3) {
        many[i] = 0x8a; /* field 17, length-delimited: an empty row */
        many[i + 1] = 0x01;
        many[i + 2] = 0x00;
    }
    size_t size = (sizeof many - TD_WIRE_HEADER_BYTES) / 3 * 3 + TD_WIRE_HEADER_BYTES;
    struct td_reply r;
    assert_int_equal(td_wire_decode_reply(many, size, &memory, &r, &why), TD_ERR_PROTOCOL);
    assert_true(memory.used <= sizeof memory.bytes);
    feed(1, many, size);
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
        cmocka_unit_test_setup(every_truncation_is_read_or_refused, reseed),
        cmocka_unit_test_setup(hostile_bytes_do_no_harm, reseed),
        cmocka_unit_test_setup(amplification_stops_at_the_memory, reseed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
