/* SPDX-License-Identifier: Apache-2.0 */
#include "feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "messages.h"
#include "wire/client.h"
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
    if (!form)
        return;
    assert_true(form->loops <= TD_FORM_LOOPS_MAX);
    for (uint64_t count = 1; count <= 1 << 20; count <<= 10) {
        uint64_t span = 0;
        seen += td_form_check(form, count, &span) == NULL;
    }
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
    if (q.kind == TD_REQUEST_HELLO) {
        look(q.u.hello.program);
        look(q.u.hello.strays);
    }
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
        look_at_bytes(row->u.job.gone_nodes.bits, row->u.job.gone_nodes.bytes);
        return;
    case TD_ROW_OPERATION:
        look(row->u.operation.job);
        look(row->u.operation.call);
        assert_true(row->u.operation.absents <= TD_ROW_ABSENTS_MAX);
        look_at_bytes(row->u.operation.arrived.bits, row->u.operation.arrived.bytes);
        return;
    case TD_ROW_ROUTER:
        assert_true(row->u.router.numbers <= TD_QUEUES_NUMBERS);
        return;
    case TD_ROW_PLAN:
        look(row->u.plan.kind);
        look(row->u.plan.precision);
        return;
    case TD_ROW_RECORD:
        look(row->u.record.job);
        look(row->u.record.text);
        look_at_bytes(row->u.record.nodes.bits, row->u.record.nodes.bytes);
        return;
    case TD_ROW_LINK:
        assert_true(row->u.link.health <= TD_PEER_UNKNOWN);
        look(row->u.link.error);
        return;
    case TD_ROW_GROUP:
        assert_true(row->u.group.condition <= TD_GROUP_BROKEN);
        look(row->u.group.job);
        look(row->u.group.text);
        look_at_bytes(row->u.group.job_ranks.bits, row->u.group.job_ranks.bytes);
        look_at_bytes(row->u.group.nodes.bits, row->u.group.nodes.bytes);
        return;
    case TD_ROW_FACT:
        look(row->u.fact.name);
        look(row->u.fact.value);
        look(row->u.fact.unit);
        return;
    case TD_ROW_TRACE:
        look(row->u.trace.text);
        assert_true(row->u.trace.events <= TD_TRACE_EVENTS_MAX);
        look_at_bytes((const uint8_t *)row->u.trace.number,
                      row->u.trace.events * TD_TRACE_NUMBERS * (uint32_t)sizeof(uint64_t));
        return;
    case TD_ROW_SIDE:
        look(row->u.side.call);
        assert_true(row->u.side.ranks <= TD_SIDE_RANKS_MAX);
        return;
    case TD_ROW_OUTAGE:
        look(row->u.outage.text);
        return;
    case TD_ROW_WAIT:
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
