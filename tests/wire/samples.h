/* SPDX-License-Identifier: Apache-2.0 */
/* samples: messages of every kind, drawn, compared and read by the tables of their fields
 * (wire/fields.h). A message is the struct of its kind. */
#ifndef TD_TESTS_WIRE_SAMPLES_H
#define TD_TESTS_WIRE_SAMPLES_H

#include "wire/fields.h"
#include "wire/peer_table.h"

/* Sizes of the values that fill_fields draws. */
enum amount {
    AMOUNT_NONE,  /* zero, empty, or the least error */
    AMOUNT_SMALL, /* strings, bitmaps and payloads of at most 16 bytes, 3 elements of a list */
    AMOUNT_LARGE, /* any value up to its limit */
    AMOUNT_MOST,  /* the greatest value, the longest string, bitmap, payload and list */
};

/* fill_fields sets the fields of a kind, and leaves those alone that are not on the wire. The
 * pointers are valid until `fresh_room` has been called twice more. */
void fill_fields(void *message, const struct td_wire_kind *kind, enum amount amount);
void fresh_room(void);
/* fill_field sets one field, with `beyond` bytes or elements more than its amount has. */
void fill_field(void *message, const struct td_wire_field *field, enum amount amount,
                size_t beyond);
/* some_number draws small, medium and huge numbers equally often: varints of every length. */
uint64_t some_number(enum amount amount);
/* same_fields asserts that two messages are equal in every field that is on the wire. */
void same_fields(const void *a, const void *b, const struct td_wire_kind *kind);
/* read_fields reads every byte that a decoded message points to, asserts that nothing is beyond
 * its limit, and returns a sum of the bytes. */
uint64_t read_fields(const void *message, const struct td_wire_kind *kind);

/* Tree messages, with their envelope: */
struct td_message some_message(const struct td_wire_kind *kind, enum amount amount);
void same_message(const struct td_message *a, const struct td_message *b);
uint64_t read_message(const struct td_message *m);
const struct td_wire_kind *kind_of(const struct td_message *m);

#endif
