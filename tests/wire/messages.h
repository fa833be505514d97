/* SPDX-License-Identifier: Apache-2.0 */
/* messages: tree messages of every kind, drawn, compared and read by the table of their fields
 * (wire/peer_table.h). */
#ifndef TD_TESTS_WIRE_MESSAGES_H
#define TD_TESTS_WIRE_MESSAGES_H

#include "wire/peer_table.h"
#include "wire/wire.h"

/* Sizes of the values that some_fields draws. */
enum amount {
    AMOUNT_NONE,  /* zero, empty, or the least error */
    AMOUNT_SMALL, /* strings, bitmaps and payloads of at most 16 bytes, 3 runs */
    AMOUNT_LARGE, /* any value up to its limit */
    AMOUNT_MOST,  /* the greatest value, the longest string, bitmap, payload and runs */
};

/* some_fields returns a message of a kind with fields and an envelope of this amount. Its pointers
 * are valid until the next call but one. */
struct td_message some_fields(const struct td_wire_kind *kind, enum amount amount);
/* fill_field sets one field, with `beyond` bytes or runs more than its amount has. */
void fill_field(struct td_message *m, const struct td_wire_field *field, enum amount amount,
                size_t beyond);
/* same_message asserts that two messages are equal in every field. */
void same_message(const struct td_message *a, const struct td_message *b);
/* read_message reads every byte that a decoded message points to, asserts that nothing is beyond
 * its limit, and returns a sum of the bytes. */
uint64_t read_message(const struct td_message *m);
const struct td_wire_kind *kind_of(const struct td_message *m);

#endif
