/* SPDX-License-Identifier: Apache-2.0 */
/* peer_table: the kinds of tree messages and their fields. The codec (fields.h) is driven by it,
 * and so are the tests that draw, compare and read messages of every kind: a new field is a line
 * here, and one in proto/peer.proto. */
#ifndef TD_WIRE_PEER_TABLE_H
#define TD_WIRE_PEER_TABLE_H

#include "fields.h"

extern const struct td_wire_kind td_wire_kinds[];
extern const unsigned td_wire_kinds_count;

/* td_wire_kind returns the kind with a number (enum td_message_kind), or NULL. */
const struct td_wire_kind *td_wire_kind(unsigned number);

#endif
