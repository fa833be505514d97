/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "forms.h"
#include "wire/client_table.h"

enum {
    STRING_MOST = 1500, /* bytes of a string that only the datagram limits */
    NUMBERS_MOST = 50,  /* of a list that only the datagram limits */
};

/* ---- drawing ---- */

uint64_t some_number(enum amount amount)
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

/* room returns memory that is valid until fresh_room has been called twice more. */
static uint8_t pool[2][1 << 18];
static unsigned pool_turn;
static size_t pool_used;

void fresh_room(void)
{
    pool_turn = !pool_turn;
    pool_used = 0;
}

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

static td_err some_error(enum amount amount, bool or_ok)
{
    if (amount == AMOUNT_NONE)
        return or_ok ? TD_OK : TD_ERR_INVALID;
    if (amount == AMOUNT_MOST)
        return TD_ERR_PERMISSION;
    return (td_err)(-(int)below((unsigned)-TD_ERR_PERMISSION + or_ok) - !or_ok);
}

static void set_number(char *at, size_t bytes, uint64_t number)
{
    if (bytes == 1)
        *(uint8_t *)at = (uint8_t)number;
    else if (bytes == sizeof(uint32_t))
        *(uint32_t *)(void *)at = (uint32_t)number;
    else
        *(uint64_t *)(void *)at = number;
}

/* most_of returns how many bytes or elements a field is filled with at most. */
static size_t most_of(const struct td_wire_field *f, enum amount amount)
{
    if (f->type == TD_WIRE_STRING)
        return f->limit < STRING_MOST ? f->limit : STRING_MOST;
    if (f->type == TD_WIRE_LIST && amount == AMOUNT_SMALL)
        return f->limit < 3 ? f->limit : 3;
    return f->limit < UINT32_MAX ? f->limit : NUMBERS_MOST;
}

static uint32_t *count_of(const void *message, const struct td_wire_field *f)
{
    return (uint32_t *)((uintptr_t)message + f->count);
}

static void fill_numbers(void *message, const struct td_wire_field *f, enum amount amount, size_t n)
{
    uint64_t *value = room(n * sizeof *value);
    for (size_t i = 0; i < n; i++)
        value[i] = some_number(amount);
    *(const uint64_t **)(void *)((char *)message + f->offset) = value;
    *count_of(message, f) = (uint32_t)n;
}

static void fill_array(void *message, const struct td_wire_field *f, enum amount amount, size_t n)
{
    if (f->count == TD_WIRE_FIXED)
        n = f->limit;
    else if (f->flags & TD_WIRE_SAME_COUNT)
        n = *count_of(message, f);
    else
        *count_of(message, f) = (uint32_t)n;
    for (size_t i = 0; i < n && i < f->limit; i++)
        set_number((char *)message + f->offset + i * f->element, f->element, some_number(amount));
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the tables, whose lists of messages have no lists */

static void fill_list(void *message, const struct td_wire_field *f, enum amount amount, size_t n)
{
    char *element = room(n * f->of->bytes);
    memset(element, 0, n * f->of->bytes);
    for (size_t i = 0; i < n; i++)
        fill_fields(element + i * f->of->bytes, f->of, amount);
    *(const void **)(void *)((char *)message + f->offset) = element;
    *count_of(message, f) = (uint32_t)n;
}

/* some_elements draws a form of elements, seldom a well formed one. */
static const struct td_form *some_elements(enum amount amount)
{
    uint32_t loops = (uint32_t)length(amount, TD_FORM_LOOPS_MAX);
    struct td_form *f = room(td_form_size(loops));
    f->bytes = some_number(amount);
    f->extent = some_number(amount);
    f->loops = loops;
    for (uint32_t i = 0; i < loops; i++)
        f->loop[i] = (struct td_form_loop){.at = (int64_t)some_number(amount),
                                           .stride = -(int64_t)(some_number(amount) >> 1),
                                           .count = some_number(amount),
                                           .bytes = some_number(amount),
                                           .inner = (uint32_t)some_number(amount)};
    return amount == AMOUNT_NONE ? NULL : f;
}

static void fill_rows(void *message, const struct td_wire_field *f, enum amount amount)
{
    __typeof__(&((struct td_reply *)0)->u.status) page =
        (void *)((char *)message + f->offset - offsetof(__typeof__(*page), rows));
    page->rows = (uint32_t)length(amount, 4);
    for (uint32_t i = 0; i < page->rows; i++) {
        const struct td_wire_kind *kind = NULL;
        while (!kind)
            kind = td_wire_row((unsigned)below(TD_ROW_OUTAGE + 1));
        page->row[i] = (struct td_status_row){.kind = (enum td_row_kind)kind->number};
        fill_fields(&page->row[i].u, kind, amount);
    }
}

static void fill_special(void *message, const struct td_wire_field *f, enum amount amount)
{
    static const char *const shapes[] = {"1", "3x3", "2x2x2", "3x4m", "5m", "2x3x4x5x2m"};
    void *at = (char *)message + f->offset;
    size_t position = 0;
    const char *why = NULL;
    if (f->special == &td_wire_elements)
        *(const struct td_form **)at = some_elements(amount);
    else if (f->special == &td_wire_rows)
        fill_rows(message, f, amount);
    else
        (void)td_topology_parse(at, shapes[below(6)], &position, &why);
}

void fill_field(void *message, const struct td_wire_field *f, enum amount amount, size_t beyond)
{
    void *at = (char *)message + f->offset;
    size_t n = length(amount, most_of(f, amount)) + beyond;
    switch (f->type) {
    case TD_WIRE_U32:
        *(uint32_t *)at = (uint32_t)some_number(amount);
        return;
    case TD_WIRE_U64:
        *(uint64_t *)at = some_number(amount);
        return;
    case TD_WIRE_I32:
        *(int32_t *)at = amount == AMOUNT_MOST ? INT32_MIN : (int32_t)some_number(amount);
        return;
    case TD_WIRE_I64:
        *(int64_t *)at = amount == AMOUNT_MOST ? INT64_MIN : (int64_t)some_number(amount);
        return;
    case TD_WIRE_BOOL:
        *(bool *)at = amount == AMOUNT_MOST || some_number(amount) % 2;
        return;
    case TD_WIRE_CHOICE:
    case TD_WIRE_LETTER:
        set_number(at, f->bytes,
                   amount == AMOUNT_MOST ? f->limit + beyond
                                         : some_number(amount) % (f->limit + 1));
        return;
    case TD_WIRE_STRING:
        *(const char **)at = some_string(n);
        return;
    case TD_WIRE_FAILURE:
    case TD_WIRE_ENDING:
        *(td_err *)at = some_error(amount, f->type == TD_WIRE_ENDING);
        return;
    case TD_WIRE_BITMAP:
        *(struct td_bitmap *)at = (struct td_bitmap){some_bytes(n), (uint32_t)n};
        return;
    case TD_WIRE_PAYLOAD:
        *(struct td_message_payload *)at = (struct td_message_payload){some_bytes(n), (uint32_t)n};
        return;
    case TD_WIRE_NUMBERS:
        fill_numbers(message, f, amount, n);
        return;
    case TD_WIRE_ARRAY:
        fill_array(message, f, amount, n);
        return;
    case TD_WIRE_MESSAGE:
        fill_fields(at, f->of, amount);
        return;
    case TD_WIRE_LIST:
        fill_list(message, f, amount, n);
        return;
    case TD_WIRE_SPECIAL:
        fill_special(message, f, amount);
        return;
    case TD_WIRE_INSIDE:
        return;
    }
}

/* settle changes fields that contradict each other. */
static void settle(void *message, const struct td_wire_kind *kind)
{
    static struct td_status_row row; /* these three only for their types */
    static struct td_reply any_reply;
    static struct td_request any_request;
    __typeof__(&any_reply.u) reply = message;
    __typeof__(&any_request.u) request = message;
    __typeof__(&row.u) r = message;
    if (strcmp(kind->name, "call") == 0 || strcmp(kind->name, "witness") == 0) {
        uint8_t *number = message; /* the first member of both */
        *number = *number ? *number : 1;
    } else if (strcmp(kind->name, "row_job") == 0) {
        r->job.size %= 8 * r->job.ranks.bytes + 1;
    } else if (strcmp(kind->name, "row_operation") == 0) {
        r->operation.size %= 8 * r->operation.arrived.bytes + 1;
    } else if (strcmp(kind->name, "row_router") == 0) {
        r->router.numbers = r->router.numbers == TD_QUEUES_NUMBERS ? TD_QUEUES_NUMBERS : 1;
    } else if (strcmp(kind->name, "row_trace") == 0) {
        r->trace.numbers -= r->trace.numbers % TD_TRACE_NUMBERS;
    } else if (strcmp(kind->name, "row_side") == 0) {
        r->side.count |= TD_SIDE_RANKS_MAX;
    } else if (strcmp(kind->name, "welcome") == 0) {
        reply->welcome.node %= reply->welcome.topology.nodes;
    } else if (strcmp(kind->name, "joined") == 0) {
        reply->joined.size = 1 + reply->joined.size % TD_JOB_RANKS_MAX;
        reply->joined.rank %= reply->joined.size;
        reply->joined.has_letters = reply->joined.has_letters && !reply->joined.has_segment;
    } else if (strcmp(kind->name, "peer_region") == 0 && kind->fields) {
        request->peer_region.rank &= UINT32_MAX;
    } else if (strcmp(kind->name, "run") == 0) { /* as large as a job allows: a membership fits */
        struct td_member_run *run = message;
        run->first %= TD_JOB_RANKS_MAX;
        run->count %= TD_JOB_RANKS_MAX + 1;
        run->node %= TD_NODES_MAX;
    }
}

void fill_fields(void *message, const struct td_wire_kind *kind, enum amount amount)
{
    for (unsigned i = 0; i < kind->fields; i++)
        fill_field(message, &kind->field[i], amount, 0);
    settle(message, kind);
}

/* ---- comparing ---- */

static void same_bytes(const void *a, size_t as, const void *b, size_t bs)
{
    assert_int_equal(as, bs);
    if (as)
        assert_memory_equal(a, b, as);
}

static void same_elements(const struct td_form *a, const struct td_form *b)
{
    if (!a || !b) {
        assert_ptr_equal(a, b);
        return;
    }
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->extent, b->extent);
    assert_int_equal(a->loops, b->loops);
    for (uint32_t i = 0; i < a->loops; i++) {
        assert_int_equal(a->loop[i].at, b->loop[i].at);
        assert_int_equal(a->loop[i].stride, b->loop[i].stride);
        assert_int_equal(a->loop[i].count, b->loop[i].count);
        assert_int_equal(a->loop[i].bytes, b->loop[i].bytes);
        assert_int_equal(a->loop[i].inner, b->loop[i].inner);
    }
}

static void same_topology(const struct td_topology *a, const struct td_topology *b)
{
    assert_int_equal(a->dimensions, b->dimensions);
    assert_int_equal(a->nodes, b->nodes);
    for (uint32_t d = 0; d < a->dimensions; d++) {
        assert_int_equal(a->size[d], b->size[d]);
        assert_int_equal(a->wrap[d], b->wrap[d]);
    }
}

static void same_rows(const uint32_t *a, const uint32_t *b)
{
    typedef __typeof__(((struct td_reply *)0)->u.status) page;
    const page *p = (const void *)((const char *)a - offsetof(page, rows)),
               *q = (const void *)((const char *)b - offsetof(page, rows));
    assert_int_equal(p->rows, q->rows);
    for (uint32_t i = 0; i < p->rows; i++) {
        assert_int_equal(p->row[i].kind, q->row[i].kind);
        same_fields(&p->row[i].u, &q->row[i].u, td_wire_row(p->row[i].kind));
    }
}

static void same_special(const void *a, const void *b, const struct td_wire_field *f)
{
    if (f->special == &td_wire_elements)
        same_elements(*(const struct td_form *const *)a, *(const struct td_form *const *)b);
    else if (f->special == &td_wire_rows)
        same_rows(a, b);
    else
        same_topology(a, b);
}

static void same_text(const char *a, const char *b)
{
    assert_string_equal(a ? a : "", b ? b : "");
}

static void same_field(const void *m, const void *n, const struct td_wire_field *f)
{
    const void *a = (const char *)m + f->offset, *b = (const char *)n + f->offset;
    const struct td_bitmap *set = a, *other = b;
    const struct td_message_payload *payload = a, *back = b;
    bool counted = f->type == TD_WIRE_NUMBERS || f->type == TD_WIRE_LIST ||
                   (f->type == TD_WIRE_ARRAY && f->count != TD_WIRE_FIXED);
    size_t count = counted ? *count_of(m, f) : f->limit;
    if (counted)
        assert_int_equal(count, *count_of(n, f));
    switch (f->type) {
    case TD_WIRE_U32:
    case TD_WIRE_U64:
    case TD_WIRE_I32:
    case TD_WIRE_I64:
    case TD_WIRE_BOOL:
    case TD_WIRE_CHOICE:
    case TD_WIRE_LETTER:
    case TD_WIRE_FAILURE:
    case TD_WIRE_ENDING:
        assert_memory_equal(a, b, f->bytes);
        return;
    case TD_WIRE_STRING:
        same_text(*(const char *const *)a, *(const char *const *)b);
        return;
    case TD_WIRE_BITMAP:
        same_bytes(set->bits, set->bytes, other->bits, other->bytes);
        return;
    case TD_WIRE_PAYLOAD:
        same_bytes(payload->data, payload->bytes, back->data, back->bytes);
        return;
    case TD_WIRE_NUMBERS:
        if (count)
            assert_memory_equal(*(const void *const *)a, *(const void *const *)b,
                                count * sizeof(uint64_t));
        return;
    case TD_WIRE_ARRAY:
        assert_memory_equal(a, b, count * f->element);
        return;
    case TD_WIRE_MESSAGE:
        same_fields(a, b, f->of);
        return;
    case TD_WIRE_LIST:
        for (size_t i = 0; i < count; i++)
            same_fields(*(const char *const *)a + i * f->of->bytes,
                        *(const char *const *)b + i * f->of->bytes, f->of);
        return;
    case TD_WIRE_SPECIAL:
        same_special(a, b, f);
        return;
    case TD_WIRE_INSIDE:
        return;
    }
}

void same_fields(const void *a, const void *b, const struct td_wire_kind *kind)
{
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

static uint64_t read_elements(const struct td_form *form)
{
    uint64_t total = 0;
    if (!form)
        return 0;
    assert_true(form->loops <= TD_FORM_LOOPS_MAX);
    for (uint64_t count = 1; count <= 1 << 20; count <<= 10) {
        uint64_t span = 0;
        total += td_form_check(form, count, &span) == NULL;
    }
    return total;
}

static uint64_t read_special(const void *at, const struct td_wire_field *f)
{
    typedef __typeof__(((struct td_reply *)0)->u.status) page;
    uint64_t total = 0;
    if (f->special == &td_wire_elements)
        return read_elements(*(const struct td_form *const *)at);
    if (f->special != &td_wire_rows)
        return ((const struct td_topology *)at)->nodes;
    const page *p = (const void *)((const char *)at - offsetof(page, rows));
    assert_true(p->rows <= TD_STATUS_ROWS_MAX);
    for (uint32_t i = 0; i < p->rows; i++) {
        assert_non_null(td_wire_row(p->row[i].kind));
        total += read_fields(&p->row[i].u, td_wire_row(p->row[i].kind));
    }
    return total;
}

static uint64_t read_list(const char *list, size_t count, const struct td_wire_field *f)
{
    uint64_t total = 0;
    assert_true(count <= f->limit);
    for (size_t i = 0; i < count; i++)
        total += read_fields(list + i * f->of->bytes, f->of);
    return total;
}

static uint64_t read_number(const void *at, size_t bytes)
{
    if (bytes == 1)
        return *(const uint8_t *)at;
    return *(const uint32_t *)at;
}

static uint64_t read_field(const void *m, const struct td_wire_field *f)
{
    const void *at = (const char *)m + f->offset;
    const struct td_bitmap *bitmap = at;
    const struct td_message_payload *payload = at;
    bool fixed = f->count == TD_WIRE_FIXED;
    switch (f->type) {
    case TD_WIRE_U32:
    case TD_WIRE_U64:
    case TD_WIRE_I32:
    case TD_WIRE_I64:
    case TD_WIRE_BOOL:
        return sum(at, f->bytes, f->bytes);
    case TD_WIRE_CHOICE:
    case TD_WIRE_LETTER:
        assert_true(read_number(at, f->bytes) <= f->limit);
        return read_number(at, f->bytes);
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
    case TD_WIRE_NUMBERS:
        return sum(*(const void *const *)at, *count_of(m, f) * sizeof(uint64_t),
                   f->limit * sizeof(uint64_t));
    case TD_WIRE_ARRAY:
        return sum(at, (fixed ? f->limit : *count_of(m, f)) * f->element, f->bytes);
    case TD_WIRE_MESSAGE:
        return read_fields(at, f->of);
    case TD_WIRE_LIST:
        return read_list(*(const char *const *)at, *count_of(m, f), f);
    case TD_WIRE_SPECIAL:
        return read_special(at, f);
    case TD_WIRE_INSIDE:
        return 0;
    }
    return 0;
}

uint64_t read_fields(const void *message, const struct td_wire_kind *kind)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < kind->fields; i++)
        total += read_field(message, &kind->field[i]);
    return total;
}

/* NOLINTEND(misc-no-recursion) */

/* ---- tree messages ---- */

const struct td_wire_kind *kind_of(const struct td_message *m)
{
    const struct td_wire_kind *kind = td_wire_kind(m->kind);
    if (!kind)
        fail_msg("a message of kind %d", (int)m->kind);
    return kind;
}

/* some_relay fills in the route of a relayed message. */
static struct td_relay some_relay(enum amount amount)
{
    struct td_relay r = {.is_relayed = true,
                         .avoids = (uint8_t)(some_number(amount) % (TD_RELAY_AVOID_MAX + 1)),
                         .origin = (uint16_t)(some_number(amount) % TD_NODES_MAX),
                         .destination = (uint16_t)(some_number(amount) % TD_NODES_MAX),
                         .hops = (uint16_t)some_number(amount)};
    for (unsigned i = 0; i < r.avoids; i++)
        r.avoid[i] = (uint16_t)(some_number(amount) % TD_NODES_MAX);
    return r;
}

struct td_message some_message(const struct td_wire_kind *kind, enum amount amount)
{
    struct td_message m = {.kind = (enum td_message_kind)kind->number,
                           .session = (uint32_t)some_number(amount),
                           .counts_session = (uint32_t)some_number(amount),
                           .group = (uint32_t)some_number(amount),
                           .number = some_number(amount),
                           .received = some_number(amount),
                           .instance = some_number(amount),
                           .sequence = some_number(amount)};
    if (some_number(amount) % 2)
        m.relay = some_relay(amount);
    fresh_room();
    fill_fields(&m.u, kind, amount);
    return m;
}

void same_message(const struct td_message *a, const struct td_message *b)
{
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
    same_fields(&a->u, &b->u, kind_of(a));
}

uint64_t read_message(const struct td_message *m)
{
    return read_fields(&m->u, kind_of(m));
}
