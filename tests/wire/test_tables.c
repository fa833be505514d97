/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fields have every field of every struct and of every message in proto. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "client.pb-c.h"
#include "peer.pb-c.h"
#include "wire/client_table.h"
#include "wire/peer_table.h"

/* fits returns true if a field of a type can be read from a coded one. */
static bool fits(const struct td_wire_field *f, const ProtobufCFieldDescriptor *d)
{
    bool repeated = d->label == PROTOBUF_C_LABEL_REPEATED;
    bool u32 = d->type == PROTOBUF_C_TYPE_UINT32 || d->type == PROTOBUF_C_TYPE_FIXED32;
    bool u64 = d->type == PROTOBUF_C_TYPE_UINT64 || d->type == PROTOBUF_C_TYPE_FIXED64;
    switch (f->type) {
    case TD_WIRE_U32:
    case TD_WIRE_CHOICE:
    case TD_WIRE_LETTER:
        return u32 && !repeated;
    case TD_WIRE_U64:
        return u64 && !repeated;
    case TD_WIRE_NUMBERS:
        return u64 && repeated;
    case TD_WIRE_ARRAY:
        return repeated && (f->wire_element == sizeof(uint32_t) ? u32 : u64);
    case TD_WIRE_I64:
        return d->type == PROTOBUF_C_TYPE_SINT64 && !repeated;
    case TD_WIRE_BOOL:
        return d->type == PROTOBUF_C_TYPE_BOOL && !repeated;
    case TD_WIRE_STRING:
        return d->type == PROTOBUF_C_TYPE_STRING && !repeated;
    case TD_WIRE_I32:
    case TD_WIRE_FAILURE:
    case TD_WIRE_ENDING:
        return d->type == PROTOBUF_C_TYPE_SINT32 && !repeated;
    case TD_WIRE_BITMAP:
    case TD_WIRE_PAYLOAD:
        return d->type == PROTOBUF_C_TYPE_BYTES && !repeated;
    case TD_WIRE_MESSAGE:
        return d->type == PROTOBUF_C_TYPE_MESSAGE && !repeated &&
               f->of->descriptor == d->descriptor;
    case TD_WIRE_LIST:
        return d->type == PROTOBUF_C_TYPE_MESSAGE && repeated && f->of->descriptor == d->descriptor;
    case TD_WIRE_SPECIAL:
        return true;
    case TD_WIRE_INSIDE:
        break;
    }
    return false;
}

/* struct piece: bytes of a struct. */
struct piece {
    size_t begin, end, alignment;
};

static int by_begin(const void *a, const void *b)
{
    const struct piece *left = a, *right = b;
    return (left->begin > right->begin) - (left->begin < right->begin);
}

/* covers_struct asserts that the fields and their counts fill the struct but for padding. */
static void covers_struct(const struct td_wire_kind *kind)
{
    enum { PIECES_MAX = 64 };
    struct piece piece[PIECES_MAX] = {{0}};
    size_t pieces = 0, end = 0, alignment = 1;
    for (unsigned i = 0; i < kind->fields; i++) {
        const struct td_wire_field *f = &kind->field[i];
        bool counted = f->type == TD_WIRE_NUMBERS || f->type == TD_WIRE_LIST ||
                       (f->type == TD_WIRE_ARRAY && f->count != TD_WIRE_FIXED &&
                        !(f->flags & TD_WIRE_SAME_COUNT));
        assert_true(pieces + 2 <= PIECES_MAX);
        piece[pieces++] = (struct piece){f->offset, f->offset + f->bytes, f->alignment};
        if (counted)
            piece[pieces++] =
                (struct piece){f->count, f->count + sizeof(uint32_t), _Alignof(uint32_t)};
    }
    qsort(piece, pieces, sizeof piece[0], by_begin);
    for (size_t i = 0; i < pieces; i++) {
        size_t begin = (end + piece[i].alignment - 1) / piece[i].alignment * piece[i].alignment;
        size_t of_struct = (end + 7) / 8 * 8; /* a struct in it begins */
        if (piece[i].begin != begin && piece[i].begin != of_struct)
            fail_msg("%s has no line for its byte %zu", kind->name, end);
        end = piece[i].end;
        alignment = piece[i].alignment > alignment ? piece[i].alignment : alignment;
    }
    assert_int_equal(kind->bytes, (end + alignment - 1) / alignment * alignment);
}

/* check asserts that each field of a kind is in its message, and returns how many there are. */
static unsigned check(const struct td_wire_kind *kind) /* NOLINT(misc-no-recursion): as deep as
                                                            the tables */
{
    unsigned coded = 0;
    for (unsigned i = 0; i < kind->fields; i++) {
        const struct td_wire_field *f = &kind->field[i];
        if (f->type == TD_WIRE_INSIDE)
            continue;
        const ProtobufCFieldDescriptor *d =
            protobuf_c_message_descriptor_get_field_by_name(kind->descriptor, f->name);
        assert_non_null(d);
        if (!fits(f, d))
            fail_msg("field %s of %s", f->name, kind->name);
        assert_int_equal(f->wire,
                         d->label == PROTOBUF_C_LABEL_REPEATED ? d->quantifier_offset : d->offset);
        const struct td_wire_kind *of = f->of;
        if (of && check(of) != of->descriptor->n_fields)
            fail_msg("%s of %s lacks a field", of->name, kind->name);
        coded++;
    }
    if (kind->fields)
        covers_struct(kind);
    return coded;
}

static void tree_messages_are_complete(void **unused)
{
    (void)unused;
    enum { ENVELOPE_FIELDS = 8 };
    assert_int_equal(torus__peer__tree__descriptor.n_fields, ENVELOPE_FIELDS + td_wire_kinds_count);
    for (unsigned k = 0; k < td_wire_kinds_count; k++) {
        const ProtobufCFieldDescriptor *d = protobuf_c_message_descriptor_get_field_by_name(
            &torus__peer__tree__descriptor, td_wire_kinds[k].name);
        assert_non_null(d);
        assert_ptr_equal(d->descriptor, td_wire_kinds[k].descriptor);
        assert_int_equal(check(&td_wire_kinds[k]), td_wire_kinds[k].descriptor->n_fields);
    }
}

static void rows_are_complete(void **unused)
{
    (void)unused;
    const ProtobufCMessageDescriptor *row = &torus__client__row__descriptor;
    for (unsigned i = 0; i < row->n_fields; i++) {
        const struct td_wire_kind *kind = td_wire_row(row->fields[i].id);
        assert_non_null(kind);
        assert_ptr_equal(kind->descriptor, row->fields[i].descriptor);
        assert_int_equal(check(kind), kind->descriptor->n_fields);
    }
    for (unsigned number = 0; number <= TD_ROW_OUTAGE + 1; number++)
        assert_true(!td_wire_row(number) ||
                    protobuf_c_message_descriptor_get_field(row, number) != NULL);
}

/* is_of returns true if a kind has a field. */
static bool is_of(const struct td_wire_kind *kind, const char *name)
{
    for (unsigned i = 0; kind && i < kind->fields; i++)
        if (kind->field[i].type != TD_WIRE_INSIDE && strcmp(kind->field[i].name, name) == 0)
            return true;
    return false;
}

/* A request has the fields of all kinds; so has a reply. */
static void every_field_is_of_some_kind(const ProtobufCMessageDescriptor *message,
                                        const struct td_wire_kind *(*find)(unsigned),
                                        unsigned kinds, unsigned envelope)
{
    unsigned alone = 0;
    for (unsigned number = 1; number <= kinds; number++) {
        assert_non_null(find(number));
        check(find(number));
    }
    assert_null(find(0));
    assert_null(find(kinds + 1));
    for (unsigned i = 0; i < message->n_fields; i++) {
        bool found = false;
        for (unsigned number = 1; number <= kinds; number++)
            found = found || is_of(find(number), message->fields[i].name);
        alone += !found;
    }
    assert_int_equal(alone, envelope);
}

static void requests_and_replies_are_complete(void **unused)
{
    (void)unused;
    every_field_is_of_some_kind(&torus__client__request__descriptor, td_wire_request,
                                TD_REQUEST_RELOAD, 1 /* id */);
    every_field_is_of_some_kind(&torus__client__reply__descriptor, td_wire_reply,
                                TD_REPLY_PEER_REGION, 4 /* id, error, text, refused */);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree_messages_are_complete),
        cmocka_unit_test(rows_are_complete),
        cmocka_unit_test(requests_and_replies_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
