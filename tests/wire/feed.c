/* SPDX-License-Identifier: Apache-2.0 */
#include "feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "samples.h"
#include "wire/client.h"
#include "wire/client_table.h"
#include "wire/handshake.h"
#include "wire/packet.h"
#include "wire/peer.h"

static struct td_wire_memory memory;
static const char *why;

/* A decoder's contract: after TD_OK every byte of the structure can be read; after an error there
 * is a sentence. `at` is a heap block of exactly `size` bytes, so that a sanitizer finds a read
 * beyond it. */
static uint64_t seen;
static uint8_t bytes[TD_DATAGRAM_MAX];

static void look(const char *t)
{
    seen += strlen(t);
}

static void refused(td_err error)
{
    assert_true(error == TD_ERR_PROTOCOL || error == TD_ERR_VERSION);
    assert_non_null(why);
    assert_true(strlen(why) > 0);
}

static void feed_request(const uint8_t *at, size_t size)
{
    struct td_request q;
    td_err error = td_wire_decode_request(at, size, &memory, &q, &why);
    if (error != TD_OK) {
        refused(error);
        return;
    }
    assert_true(q.kind >= TD_REQUEST_HELLO && q.kind <= TD_REQUEST_RELOAD);
    seen += read_fields(&q.u, td_wire_request(q.kind));
    if (q.kind != TD_REQUEST_OPERATION)
        return;
    struct td_message back, m = {.kind = TD_MESSAGE_ARRIVE};
    m.u.arrive.least.call = m.u.arrive.greatest.call = q.u.operation.call;
    size_t sent = td_wire_encode_message(&m, bytes, sizeof bytes);
    assert_int_equal(td_wire_decode_message(bytes, sent, &memory, &back, &why), TD_OK);
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
    seen += read_fields(&r.u, td_wire_reply(r.kind));
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
_Static_assert(sizeof feeders / sizeof *feeders == FEED_FORMS, "each form has a feeder");

void feed(unsigned form, const uint8_t *from, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    if (size)
        memcpy(exact, from, size);
    why = NULL;
    feeders[form](exact, size);
    free(exact);
}
