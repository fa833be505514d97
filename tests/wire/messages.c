/* SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "forms.h"

const struct td_wire_kind *kind_of(const struct td_message *m)
{
    const struct td_wire_kind *kind = td_wire_kind(m->kind);
    if (!kind)
        fail_msg("a message of kind %d", (int)m->kind);
    return kind;
}

/* ---- drawing ---- */

static uint64_t number(enum amount amount)
{
    if (amount == AMOUNT_NONE)
        return 0;
    return amount == AMOUNT_MOST ? UINT64_MAX : draw() >> below(64);
}

static size_t length(enum amount amount, size_t limit)
{
    if (amount == AMOUNT_NONE)
        return 0;
    if (amount == AMOUNT_SMALL)
        return below((limit < 16 ? limit : 16) + 1);
    return amount == AMOUNT_MOST ? limit : below(limit + 1);
}

/* room returns memory that is valid until some_fields has been called twice more. */
static uint8_t pool[2][65536];
static unsigned pool_turn;
static size_t pool_used;

static void *room(size_t bytes)
{
    size_t at = pool_used;
    pool_used += (bytes + 15) & ~(size_t)15;
    assert_true(pool_used <= sizeof pool[0]);
    return pool[pool_turn] + at;
}

static const char *some_string(size_t bytes)
{
    char *string = room(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        string[i] = (char)(1 + below(255));
    string[bytes] = '\0';
    return string;
}

static const uint8_t *some_bytes(size_t bytes)
{
    uint8_t *data = room(bytes);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)draw();
    return data;
}

static struct td_bitmap some_bitmap(size_t bytes)
{
    return (struct td_bitmap){some_bytes(bytes), (uint32_t)bytes};
}

static td_err some_error(enum amount amount, bool or_ok)
{
    if (amount == AMOUNT_NONE)
        return or_ok ? TD_OK : TD_ERR_INVALID;
    if (amount == AMOUNT_MOST)
        return TD_ERR_PERMISSION;
    return (td_err)(-(int)below((unsigned)-TD_ERR_PERMISSION + or_ok) - !or_ok);
}

static struct td_witness some_witness(enum amount amount)
{
    if (amount == AMOUNT_NONE)
        return (struct td_witness){.call.kind = 1};
    if (amount == AMOUNT_MOST)
        return (struct td_witness){.call = {.kind = TD_KIND_MAX - 1,
                                            .type = TD_TYPE_MAX - 1,
                                            .op = TD_OP_END - 1,
                                            .mode = TD_REPRODUCIBLES - 1,
                                            .root = UINT32_MAX,
                                            .count = UINT64_MAX,
                                            .plan = UINT64_MAX,
                                            .digest = UINT64_MAX},
                                   .rank = UINT32_MAX};
    return (struct td_witness){some_call(), (uint32_t)number(amount)};
}

static struct td_survey some_survey(enum amount amount)
{
    return (struct td_survey){number(amount), number(amount), number(amount), number(amount),
                              number(amount), number(amount), number(amount)};
}

/* some_runs draws runs as large as a job allows: they must fit. */
static const struct td_member_run *some_runs(enum amount amount, size_t runs)
{
    struct td_member_run *run = room(runs * sizeof *run);
    for (size_t i = 0; i < runs; i++)
        run[i] = (struct td_member_run){(uint32_t)number(amount) % TD_JOB_RANKS_MAX,
                                        (uint32_t)number(amount) % (TD_JOB_RANKS_MAX + 1),
                                        (uint32_t)number(amount) % TD_NODES_MAX, number(amount)};
    return run;
}

/* some_terms draws as many terms as a list holds: those of all lists fit a message. */
static struct td_term_list some_terms(enum amount amount, size_t count)
{
    uint64_t *value = room(count * sizeof *value);
    for (size_t i = 0; i < count; i++)
        value[i] = number(amount);
    return (struct td_term_list){(uint32_t)count, value};
}

void fill_field(struct td_message *m, const struct td_wire_field *f, enum amount amount,
                size_t beyond)
{
    void *at = (char *)m + f->offset;
    size_t limit = f->type == TD_WIRE_RUNS && amount == AMOUNT_SMALL ? 3 : f->limit;
    size_t n = length(amount, limit) + beyond;
    switch (f->type) {
    case TD_WIRE_U32:
        *(uint32_t *)at = (uint32_t)number(amount);
        return;
    case TD_WIRE_U64:
        *(uint64_t *)at = number(amount);
        return;
    case TD_WIRE_I64:
        *(int64_t *)at = amount == AMOUNT_MOST ? INT64_MIN : (int64_t)number(amount);
        return;
    case TD_WIRE_BOOL:
        *(bool *)at = amount == AMOUNT_MOST || number(amount) % 2;
        return;
    case TD_WIRE_STRING:
        *(const char **)at = some_string(n);
        return;
    case TD_WIRE_FAILURE:
    case TD_WIRE_ENDING:
        *(td_err *)at = some_error(amount, f->type == TD_WIRE_ENDING);
        return;
    case TD_WIRE_BITMAP:
        *(struct td_bitmap *)at = some_bitmap(n);
        return;
    case TD_WIRE_PAYLOAD:
        *(struct td_message_payload *)at = (struct td_message_payload){some_bytes(n), (uint32_t)n};
        return;
    case TD_WIRE_WITNESS:
        *(struct td_witness *)at = some_witness(amount);
        return;
    case TD_WIRE_SURVEY:
        *(struct td_survey *)at = some_survey(amount);
        return;
    case TD_WIRE_OUTCOME:
        *(struct td_outcome *)at = (struct td_outcome){
            some_error(amount, true), some_string(length(amount, TD_TEXT_MAX - 1)),
            some_bitmap(length(amount, TD_BITMAP_BYTES_MAX))};
        return;
    case TD_WIRE_TERMS:
        *(struct td_term_list *)at = some_terms(amount, n);
        return;
    case TD_WIRE_RUNS:
        m->u.members.runs = (uint32_t)n;
        m->u.members.run = some_runs(amount, n);
        return;
    }
}

/* some_relay fills in the route of a relayed message. */
static struct td_relay some_relay(enum amount amount)
{
    struct td_relay r = {.is_relayed = true,
                         .avoids = (uint8_t)(number(amount) % (TD_RELAY_AVOID_MAX + 1)),
                         .origin = (uint16_t)(number(amount) % TD_NODES_MAX),
                         .destination = (uint16_t)(number(amount) % TD_NODES_MAX),
                         .hops = (uint16_t)number(amount)};
    for (unsigned i = 0; i < r.avoids; i++)
        r.avoid[i] = (uint16_t)(number(amount) % TD_NODES_MAX);
    return r;
}

struct td_message some_fields(const struct td_wire_kind *kind, enum amount amount)
{
    struct td_message m = {.kind = kind->kind,
                           .session = (uint32_t)number(amount),
                           .counts_session = (uint32_t)number(amount),
                           .group = (uint32_t)number(amount),
                           .number = number(amount),
                           .received = number(amount),
                           .instance = number(amount),
                           .sequence = number(amount)};
    if (number(amount) % 2)
        m.relay = some_relay(amount);
    pool_turn = !pool_turn;
    pool_used = 0;
    for (unsigned i = 0; i < kind->fields; i++)
        fill_field(&m, &kind->field[i], amount, 0);
    return m;
}

/* ---- comparing ---- */

static void same_bitmap(const struct td_bitmap *a, const struct td_bitmap *b)
{
    assert_int_equal(a->bytes, b->bytes);
    if (a->bytes)
        assert_memory_equal(a->bits, b->bits, a->bytes);
}

static void same_payload(const struct td_message_payload *a, const struct td_message_payload *b)
{
    assert_int_equal(a->bytes, b->bytes);
    if (a->bytes)
        assert_memory_equal(a->data, b->data, a->bytes);
}

static void same_witness(const struct td_witness *a, const struct td_witness *b)
{
    assert_int_equal(td_call_compare(&a->call, &b->call), 0);
    assert_int_equal(a->rank, b->rank);
}

static void same_outcome(const struct td_outcome *a, const struct td_outcome *b)
{
    assert_int_equal(a->error, b->error);
    assert_string_equal(a->text, b->text);
    same_bitmap(&a->lost, &b->lost);
}

static void same_runs(const struct td_message_members *a, const struct td_message_members *b)
{
    assert_int_equal(a->runs, b->runs);
    for (uint32_t i = 0; i < a->runs; i++) {
        assert_int_equal(a->run[i].first, b->run[i].first);
        assert_int_equal(a->run[i].count, b->run[i].count);
        assert_int_equal(a->run[i].node, b->run[i].node);
        assert_int_equal(a->run[i].token, b->run[i].token);
    }
}

static void same_terms(const struct td_term_list *a, const struct td_term_list *b)
{
    assert_int_equal(a->count, b->count);
    if (a->count)
        assert_memory_equal(a->value, b->value, a->count * sizeof *a->value);
}

static void same_field(const struct td_message *m, const struct td_message *n,
                       const struct td_wire_field *f)
{
    const void *a = (const char *)m + f->offset, *b = (const char *)n + f->offset;
    switch (f->type) {
    case TD_WIRE_U32:
    case TD_WIRE_U64:
    case TD_WIRE_I64:
    case TD_WIRE_BOOL:
    case TD_WIRE_FAILURE:
    case TD_WIRE_ENDING:
    case TD_WIRE_SURVEY:
        assert_memory_equal(a, b, f->bytes);
        return;
    case TD_WIRE_STRING:
        assert_string_equal(*(const char *const *)a, *(const char *const *)b);
        return;
    case TD_WIRE_BITMAP:
        same_bitmap(a, b);
        return;
    case TD_WIRE_PAYLOAD:
        same_payload(a, b);
        return;
    case TD_WIRE_WITNESS:
        same_witness(a, b);
        return;
    case TD_WIRE_OUTCOME:
        same_outcome(a, b);
        return;
    case TD_WIRE_RUNS:
        same_runs(&m->u.members, &n->u.members);
        return;
    case TD_WIRE_TERMS:
        same_terms(a, b);
        return;
    }
}

void same_message(const struct td_message *a, const struct td_message *b)
{
    const struct td_wire_kind *kind = kind_of(a);
    assert_int_equal(a->relay.is_relayed, b->relay.is_relayed);
    assert_int_equal(a->relay.origin, b->relay.origin);
    assert_int_equal(a->relay.destination, b->relay.destination);
    assert_int_equal(a->relay.hops, b->relay.hops);
    assert_int_equal(a->relay.avoids, b->relay.avoids);
    assert_memory_equal(a->relay.avoid, b->relay.avoid, sizeof a->relay.avoid);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->session, b->session);
    assert_int_equal(a->counts_session, b->counts_session);
    assert_int_equal(a->group, b->group);
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->received, b->received);
    assert_int_equal(a->instance, b->instance);
    assert_int_equal(a->sequence, b->sequence);
    for (unsigned i = 0; i < kind->fields; i++)
        same_field(a, b, &kind->field[i]);
}

/* ---- reading ---- */

static uint64_t sum(const void *data, size_t bytes, size_t limit)
{
    uint64_t total = 0;
    assert_true(bytes <= limit);
    for (size_t i = 0; i < bytes; i++)
        total += ((const uint8_t *)data)[i];
    return total;
}

static void check_error(td_err error, bool or_ok)
{
    assert_true(error >= TD_ERR_PERMISSION && error <= (or_ok ? TD_OK : TD_ERR_INVALID));
}

static uint64_t read_string(const char *string, size_t limit)
{
    assert_non_null(string);
    return sum(string, strlen(string), limit);
}

static uint64_t read_call(const struct td_call *call)
{
    assert_true(call->kind > 0 && call->kind < TD_KIND_MAX && call->type < TD_TYPE_MAX &&
                call->op < TD_OP_END && call->mode < TD_REPRODUCIBLES);
    return sum(call, sizeof *call, sizeof *call);
}

static uint64_t read_field(const struct td_message *m, const struct td_wire_field *f)
{
    const void *at = (const char *)m + f->offset;
    const struct td_bitmap *bitmap = at;
    const struct td_message_payload *payload = at;
    const struct td_outcome *outcome = at;
    const struct td_term_list *terms = at;
    switch (f->type) {
    case TD_WIRE_U32:
    case TD_WIRE_U64:
    case TD_WIRE_I64:
    case TD_WIRE_BOOL:
    case TD_WIRE_SURVEY:
        return sum(at, f->bytes, f->bytes);
    case TD_WIRE_FAILURE:
    case TD_WIRE_ENDING:
        check_error(*(const td_err *)at, f->type == TD_WIRE_ENDING);
        return 0;
    case TD_WIRE_STRING:
        return read_string(*(const char *const *)at, f->limit);
    case TD_WIRE_BITMAP:
        return sum(bitmap->bits, bitmap->bytes, f->limit);
    case TD_WIRE_PAYLOAD:
        return sum(payload->data, payload->bytes, f->limit);
    case TD_WIRE_WITNESS:
        return read_call(&((const struct td_witness *)at)->call);
    case TD_WIRE_OUTCOME:
        check_error(outcome->error, true);
        return read_string(outcome->text, TD_TEXT_MAX - 1) +
               sum(outcome->lost.bits, outcome->lost.bytes, TD_BITMAP_BYTES_MAX);
    case TD_WIRE_TERMS:
        return sum(terms->value, terms->count * sizeof *terms->value,
                   f->limit * sizeof *terms->value);
    case TD_WIRE_RUNS:
        assert_true(m->u.members.runs <= f->limit);
        return sum(m->u.members.run, m->u.members.runs * sizeof *m->u.members.run,
                   f->limit * sizeof *m->u.members.run);
    }
    return 0;
}

uint64_t read_message(const struct td_message *m)
{
    const struct td_wire_kind *kind = kind_of(m);
    uint64_t total = 0;
    for (unsigned i = 0; i < kind->fields; i++)
        total += read_field(m, &kind->field[i]);
    return total;
}
