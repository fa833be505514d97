/* SPDX-License-Identifier: Apache-2.0 */
/* messages: a table of all kinds of tree messages and of their fields, from which tests draw,
 * compare and read messages of every kind. */
#ifndef TD_TESTS_WIRE_MESSAGES_H
#define TD_TESTS_WIRE_MESSAGES_H

#include "wire/wire.h"

enum field_type {
    FIELD_U32,
    FIELD_U64,
    FIELD_I64,
    FIELD_BOOL,
    FIELD_STRING,  /* limit: bytes without the terminator */
    FIELD_FAILURE, /* an error */
    FIELD_ENDING,  /* an error or TD_OK */
    FIELD_BITMAP,  /* limit: bytes */
    FIELD_PAYLOAD, /* limit: bytes */
    FIELD_WITNESS,
    FIELD_SURVEY,
    FIELD_OUTCOME, /* with a text of TD_TEXT_MAX and a bitmap of TD_BITMAP_BYTES_MAX */
    FIELD_RUNS,    /* limit: runs */
    FIELD_TERMS,   /* limit: terms of a list */
};

/* struct field: a field of a kind's struct, at `offset` of struct td_message. A field with a limit
 * is refused when it is longer. */
struct field {
    const char *name; /* as in message.h and proto/peer.proto */
    enum field_type type;
    size_t offset, bytes, alignment, limit;
};

/* struct kind: a kind's fields, in the order of their declaration. */
struct kind {
    enum td_message_kind kind;
    const char *name;
    size_t bytes; /* of its struct */
    const struct field *field;
    unsigned fields;
};

extern const struct kind kinds[];
extern const unsigned kinds_count;

/* Sizes of the values that some_fields draws. */
enum amount {
    AMOUNT_NONE,  /* zero, empty, or the least error */
    AMOUNT_SMALL, /* strings, bitmaps and payloads of at most 16 bytes, 3 runs */
    AMOUNT_LARGE, /* any value up to its limit */
    AMOUNT_MOST,  /* the greatest value, the longest string, bitmap, payload and runs */
};

/* some_fields returns a message of a kind with fields and an envelope of this amount. Its pointers
 * are valid until the next call but one. */
struct td_message some_fields(const struct kind *kind, enum amount amount);
/* fill_field sets one field, with `beyond` bytes or runs more than its amount has. */
void fill_field(struct td_message *m, const struct field *field, enum amount amount, size_t beyond);
/* same_message asserts that two messages are equal in every field. */
void same_message(const struct td_message *a, const struct td_message *b);
/* read_message reads every byte that a decoded message points to, asserts that nothing is beyond
 * its limit, and returns a sum of the bytes. */
uint64_t read_message(const struct td_message *m);
const struct kind *kind_of(const struct td_message *m);

#endif
