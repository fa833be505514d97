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

#include "forms.h"
#include "messages.h"
#include "wire/client.h"
#include "wire/packet.h"
#include "wire/peer.h"

/* The first bytes of a datagram of our version, so that the rest is read. */
static const uint8_t HEADER[6] = {'T', 'o', 'r', 'u', TD_WIRE_MAJOR, TD_WIRE_MINOR};

enum { HOSTILE_INPUTS = 100000 };

static uint64_t seed = 1;
static struct td_wire_memory memory;
static const char *why;
static uint8_t bytes[TD_DATAGRAM_MAX];

/* A decoder's contract: after TD_OK every byte of the structure can be read; after an error there
 * is a sentence. `at` is a heap block of exactly `size` bytes, so that a sanitizer finds a read
 * beyond it. */
static uint64_t seen;

static void look(const char *t)
{
    seen += t ? strlen(t) : 0;
}

static void look_at_bytes(const uint8_t *at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        seen += at[i];
}

static void refused(td_err error)
{
    assert_true(error == TD_ERR_PROTOCOL || error == TD_ERR_VERSION);
    assert_non_null(why);
    assert_true(strlen(why) > 0);
}

static void look_at_elements(const struct td_form *form)
{
    uint64_t span = 0;
    if (!form)
        return;
    assert_true(form->loops <= TD_FORM_LOOPS_MAX);
    seen += td_form_check(form, 1 + below(1 << 20), &span) == NULL;
}

static void feed_request(const uint8_t *at, size_t size)
{
    struct td_request q;
    td_err error = td_wire_decode_request(at, size, &memory, &q, &why);
    if (error != TD_OK) {
        refused(error);
        return;
    }
    assert_true(q.kind >= TD_REQUEST_HELLO && q.kind <= TD_REQUEST_SHRINK);
    if (q.kind == TD_REQUEST_HELLO)
        look(q.u.hello.program);
    if (q.kind == TD_REQUEST_JOIN)
        look(q.u.join.name);
    if (q.kind != TD_REQUEST_OPERATION)
        return;
    assert_true(q.u.operation.description.fft.dimensions <= TD_DIMENSIONS_MAX);
    look_at_elements(q.u.operation.source.form);
    look_at_elements(q.u.operation.destination.form);
    struct td_message back, m = {.kind = TD_MESSAGE_ARRIVE};
    m.u.arrive.least.call = m.u.arrive.greatest.call = q.u.operation.call;
    size_t sent = td_wire_encode_message(&m, bytes, sizeof bytes);
    assert_int_equal(td_wire_decode_message(bytes, sent, &memory, &back, &why), TD_OK);
}

static void look_at_row(const struct td_status_row *row)
{
    switch (row->kind) {
    case TD_ROW_NODE:
        look(row->u.node.endpoint);
        return;
    case TD_ROW_PEER:
        assert_true(row->u.peer.health <= TD_PEER_UNKNOWN);
        look(row->u.peer.endpoint);
        look(row->u.peer.error);
        return;
    case TD_ROW_CLIENT:
        look(row->u.client.program);
        look(row->u.client.job);
        return;
    case TD_ROW_JOB:
        look(row->u.job.name);
        look_at_bytes(row->u.job.ranks.bits, row->u.job.ranks.bytes);
        return;
    case TD_ROW_OPERATION:
        look(row->u.operation.job);
        look(row->u.operation.call);
        look_at_bytes(row->u.operation.arrived.bits, row->u.operation.arrived.bytes);
        return;
    case TD_ROW_ROUTER:
        assert_true(row->u.router.numbers <= TD_QUEUES_NUMBERS);
        return;
    case TD_ROW_PLAN:
        look(row->u.plan.kind);
        look(row->u.plan.precision);
        return;
    case TD_ROW_DIRECTION:
        return;
    }
    fail_msg("a row of unknown kind");
}

static void feed_reply(const uint8_t *at, size_t size)
{
    struct td_reply r;
    td_err error = td_wire_decode_reply(at, size, &memory, &r, &why);
    if (error != TD_OK) {
        refused(error);
        return;
    }
    assert_true(r.error <= TD_OK && r.error >= TD_ERR_PERMISSION);
    look(r.text);
    if (r.kind == TD_REPLY_WELCOME)
        assert_true(r.u.welcome.node < r.u.welcome.topology.nodes);
    if (r.kind == TD_REPLY_PLANNED)
        assert_true(r.u.planned.source.dimensions <= TD_DIMENSIONS_MAX &&
                    r.u.planned.destination.dimensions <= TD_DIMENSIONS_MAX);
    if (r.kind != TD_REPLY_STATUS)
        return;
    assert_true(r.u.status.rows <= TD_STATUS_ROWS_MAX);
    for (uint32_t i = 0; i < r.u.status.rows; i++)
        look_at_row(&r.u.status.row[i]);
}

static void feed_message(const uint8_t *at, size_t size)
{
    static struct td_message m;
    td_err error = td_wire_decode_message(at, size, &memory, &m, &why);
    if (error != TD_OK) {
        refused(error);
        return;
    }
    seen += read_message(&m);
}

static void feed_handshake(const uint8_t *at, size_t size)
{
    struct td_handshake g;
    td_err error = td_wire_decode_handshake(at, size, &memory, &g, &why);
    if (error != TD_OK) {
        refused(error);
        return;
    }
    look(g.shape);
    look(g.text);
}

static void feed_packet(const uint8_t *at, size_t size)
{
    struct td_packet p;
    td_err error = td_wire_decode_packet(at, size, &p, &why);
    if (error != TD_OK)
        refused(error);
    else
        assert_true(p.kind == TD_PACKET_DATA || p.kind == TD_PACKET_CREDIT);
}

typedef void feeder(const uint8_t *at, size_t size);
static feeder *const feeders[] = {feed_request, feed_reply, feed_message, feed_handshake,
                                  feed_packet};
enum { FORMS = 5 };

static void feed(unsigned form, const uint8_t *from, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    if (size)
        memcpy(exact, from, size);
    why = NULL;
    feeders[form](exact, size);
    free(exact);
}

/* some_form writes a valid message of any kind. */
static size_t some_form(unsigned form, uint8_t *to, size_t room)
{
    struct td_request q = some_request((enum td_request_kind)(1 + below(TD_REQUEST_SHRINK)));
    struct td_reply r = some_reply((enum td_reply_kind)(1 + below(TD_REPLY_STATUS)));
    struct td_message m = some_fields(&kinds[below(kinds_count)], AMOUNT_LARGE);
    struct td_handshake g = some_handshake();
    struct td_packet p = some_packet();
    switch (form) {
    case 0:
        return td_wire_encode_request(&q, to, room);
    case 1:
        return td_wire_encode_reply(&r, to, room);
    case 2:
        return td_wire_encode_message(&m, to, room);
    case 3:
        return td_wire_encode_handshake(&g, to, room);
    default:
        td_wire_encode_packet(&p, to);
        return TD_WIRE_PACKET_BYTES;
    }
}

static void every_truncation_is_read_or_refused(void **unused)
{
    (void)unused;
    static uint8_t good[TD_DATAGRAM_MAX];
    for (unsigned form = 0; form < FORMS; form++)
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
        unsigned form = (unsigned)below(FORMS);
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
