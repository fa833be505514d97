/* SPDX-License-Identifier: Apache-2.0 */
/* fields: the codec between plain structs and protobuf messages, driven by tables. A kind of
 * message is a list of fields; a line of the list says where a field is in the struct, where in the
 * protobuf message, and what its limit is. peer_table.c and client_table.c have the lists. The
 * tests draw, compare and read messages by the same tables. */
#ifndef TD_WIRE_FIELDS_H
#define TD_WIRE_FIELDS_H

#include <protobuf-c/protobuf-c.h>

#include "wire.h"

enum td_wire_type {
    TD_WIRE_U32,
    TD_WIRE_U64,
    TD_WIRE_I32,
    TD_WIRE_I64,
    TD_WIRE_BOOL,
    TD_WIRE_CHOICE,  /* a number of 1 or 4 bytes; limit: the greatest */
    TD_WIRE_LETTER,  /* as CHOICE: an ASCII character, or 0 */
    TD_WIRE_STRING,  /* limit: bytes without the terminator */
    TD_WIRE_FAILURE, /* an error */
    TD_WIRE_ENDING,  /* an error or TD_OK */
    TD_WIRE_BITMAP,  /* limit: bytes */
    TD_WIRE_PAYLOAD, /* limit: bytes */
    TD_WIRE_NUMBERS, /* a pointer to numbers of 8 bytes, and their count */
    TD_WIRE_ARRAY,   /* numbers in the struct, and their count */
    TD_WIRE_MESSAGE, /* a struct of the kind `of` */
    TD_WIRE_LIST,    /* a pointer to structs of the kind `of`, and their count */
    TD_WIRE_SPECIAL, /* a type with functions of its own */
    TD_WIRE_INSIDE,  /* not on the wire */
};

enum {
    TD_WIRE_REQUIRED = 1,  /* MESSAGE: a message without it is refused; others are zero then */
    TD_WIRE_SAME_COUNT = 1 /* ARRAY: has the count of the array before it */
};

/* struct td_wire_field: a field of a kind. A field beyond its limit is refused. */
struct td_wire_field {
    const char *name; /* as in the struct and in proto */
    enum td_wire_type type;
    size_t offset, bytes, alignment; /* in the struct of the kind */
    size_t wire;                  /* its offset in the protobuf message; of a repeated field, that
                                     of its count, behind which the pointer is */
    size_t limit;                 /* of a repeated field: elements */
    size_t count;                 /* offset of the uint32_t with the count; TD_WIRE_FIXED: none,
                                     the count is the limit */
    size_t element, wire_element; /* ARRAY: bytes of an element */
    unsigned flags;
    const struct td_wire_kind *of;
    const struct td_wire_special *special;
    const char *const *words; /* CHOICE: for people, by number */
};
#define TD_WIRE_FIXED SIZE_MAX

/* struct td_wire_kind: a kind of message. */
struct td_wire_kind {
    unsigned number; /* in the enum of the kinds, if there is one */
    const char *name;
    size_t bytes; /* of its struct */
    const struct td_wire_field *field;
    unsigned fields;
    const ProtobufCMessageDescriptor *descriptor;
    /* is_sound returns false if fields contradict each other. NULL: they cannot. */
    bool (*is_sound)(const void *message);
};

/* struct td_wire_scratch: memory for the protobuf messages of an encoder. */
struct td_wire_scratch {
    uint8_t *bytes;
    size_t size, used;
};

/* struct td_wire_special: a type of field. put returns false if the field cannot be encoded, or
 * scratch has no room; get returns false if it is malformed, or memory has no room. */
struct td_wire_special {
    bool (*put)(const void *from, void *to, struct td_wire_scratch *scratch);
    bool (*get)(const void *from, void *to, struct td_wire_memory *memory);
};

/* td_wire_scratch returns `size` bytes, aligned to 16, or NULL if there is no room. */
void *td_wire_scratch(struct td_wire_scratch *scratch, size_t size);
/* td_wire_new returns an initialized protobuf message of a kind, or NULL if there is no room. */
ProtobufCMessage *td_wire_new(const struct td_wire_kind *kind, struct td_wire_scratch *scratch);
/* td_wire_put_fields copies the fields of a struct to a protobuf message that is initialized; which
 * borrows from the struct and from scratch. It returns false if the message cannot be encoded. */
bool td_wire_put_fields(const struct td_wire_kind *kind, const void *from, void *to,
                        struct td_wire_scratch *scratch);
/* td_wire_get_fields copies the fields of a protobuf message to a struct, which borrows from the
 * message and from memory. It returns false if a field is beyond a limit. */
bool td_wire_get_fields(const struct td_wire_kind *kind, const void *from, void *to,
                        struct td_wire_memory *memory);

#endif
