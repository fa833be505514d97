/* SPDX-License-Identifier: Apache-2.0 */
/* peer_table: the kinds of tree messages and their fields. The codec (peer.c) is driven by it, and
 * so are the tests that draw, compare and read messages of every kind: a new field is a line here,
 * and one in proto/peer.proto. */
#ifndef TD_WIRE_PEER_TABLE_H
#define TD_WIRE_PEER_TABLE_H

#include <stddef.h>

#include "model/message.h"

enum td_wire_type {
    TD_WIRE_U32,
    TD_WIRE_U64,
    TD_WIRE_I64,
    TD_WIRE_BOOL,
    TD_WIRE_STRING,  /* limit: bytes without the terminator */
    TD_WIRE_FAILURE, /* an error */
    TD_WIRE_ENDING,  /* an error or TD_OK */
    TD_WIRE_BITMAP,  /* limit: bytes */
    TD_WIRE_PAYLOAD, /* limit: bytes */
    TD_WIRE_WITNESS,
    TD_WIRE_SURVEY,
    TD_WIRE_OUTCOME, /* with a text of TD_TEXT_MAX and a bitmap of TD_BITMAP_BYTES_MAX */
    TD_WIRE_RUNS,    /* limit: runs */
    TD_WIRE_TERMS,   /* limit: terms of a list */
};

/* struct td_wire_field: a field of a kind. A field with a limit is refused when it is longer. */
struct td_wire_field {
    const char *name; /* as in message.h and proto/peer.proto */
    enum td_wire_type type;
    size_t offset, bytes, alignment; /* in struct td_message */
    size_t wire;                     /* its offset in the protobuf message of the kind */
    size_t limit;
};

/* struct td_wire_kind: a kind's fields, in the order of their declaration. */
struct td_wire_kind {
    enum td_message_kind kind;
    const char *name;
    size_t bytes; /* of its struct */
    const struct td_wire_field *field;
    unsigned fields;
    const struct ProtobufCMessageDescriptor *descriptor;
};

extern const struct td_wire_kind td_wire_kinds[];
extern const unsigned td_wire_kinds_count;

/* td_wire_kind returns the kind with a number (enum td_message_kind), or NULL. */
const struct td_wire_kind *td_wire_kind(unsigned number);

#endif
