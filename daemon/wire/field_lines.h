/* SPDX-License-Identifier: Apache-2.0 */
/* field_lines: the lines of a table of fields. The table has for each of its kinds, as types,
 *     struct_<kind>  the kind's struct
 *     form_<kind>    its protobuf message
 *     of_<kind>      an array of lines, one a field
 * A field has one name in both; AS takes two, for a field of a struct in the struct. */
#ifndef TD_WIRE_FIELD_LINES_H
#define TD_WIRE_FIELD_LINES_H

#include <stddef.h>

#include "fields.h"

#define STRUCT(kind) struct_##kind
#define FORM(kind) form_##kind
#define PLACE(kind, field) ((STRUCT(kind) *)0)->field
#define AS(kind, field, coded, TYPE, ...)                                                          \
    {                                                                                              \
        .name = #coded, .type = TD_WIRE_##TYPE, .offset = offsetof(STRUCT(kind), field),           \
        .bytes = sizeof(PLACE(kind, field)), .alignment = __alignof__(PLACE(kind, field)),         \
        .wire = offsetof(FORM(kind), coded), __VA_ARGS__                                           \
    }
#define LINE(kind, field, TYPE, ...) AS(kind, field, field, TYPE, __VA_ARGS__)

/* The C type of a plain field determines its type. */
#define F(kind, field)                                                                             \
    {                                                                                              \
        .name = #field,                                                                            \
        .type = _Generic(PLACE(kind, field), uint32_t                                              \
                         : TD_WIRE_U32, uint64_t                                                   \
                         : TD_WIRE_U64, int32_t                                                    \
                         : TD_WIRE_I32, int64_t                                                    \
                         : TD_WIRE_I64, bool                                                       \
                         : TD_WIRE_BOOL),                                                          \
        .offset = offsetof(STRUCT(kind), field), .bytes = sizeof(PLACE(kind, field)),              \
        .alignment = __alignof__(PLACE(kind, field)), .wire = offsetof(FORM(kind), field)          \
    }
/* A text, and the name of a job. */
#define TEXT(kind, field) LINE(kind, field, STRING, .limit = TD_TEXT_MAX - 1)
#define NAME(kind, field) LINE(kind, field, STRING, .limit = TD_NAME_MAX - 1)
#define FAILURE(kind, field) LINE(kind, field, FAILURE, .limit = 0)
#define ENDING(kind, field) LINE(kind, field, ENDING, .limit = 0)
#define BITMAP(kind, field, most) LINE(kind, field, BITMAP, .limit = (most))
#define PAYLOAD(kind, most) LINE(kind, payload, PAYLOAD, .limit = (most))
#define CHOICE(kind, field, most, names)                                                           \
    LINE(kind, field, CHOICE, .limit = (most), .words = (names))
#define LETTER(kind, field) LINE(kind, field, LETTER, .limit = 127)
#define MESSAGE(kind, field, kind_of) LINE(kind, field, MESSAGE, .of = &(kind_of))
#define REQUIRED(kind, field, kind_of)                                                             \
    LINE(kind, field, MESSAGE, .of = &(kind_of), .flags = TD_WIRE_REQUIRED)
#define SPECIAL(kind, field, functions) LINE(kind, field, SPECIAL, .special = &(functions))

/* Repeated fields: `counter` is the member of the struct with their count. */
#define REPEATED(kind, field, coded, counter, TYPE, ...)                                           \
    {                                                                                              \
        .name = #coded, .type = TD_WIRE_##TYPE, .offset = offsetof(STRUCT(kind), field),           \
        .bytes = sizeof(PLACE(kind, field)), .alignment = __alignof__(PLACE(kind, field)),         \
        .wire = offsetof(FORM(kind), n_##coded), .count = (counter), __VA_ARGS__                   \
    }
#define COUNTER(kind, counter) offsetof(STRUCT(kind), counter)
#define NUMBERS(kind, field, coded, counter, most)                                                 \
    REPEATED(kind, field, coded, COUNTER(kind, counter), NUMBERS, .limit = (most))
#define LIST(kind, field, counter, most, kind_of)                                                  \
    REPEATED(kind, field, field, COUNTER(kind, counter), LIST, .limit = (most), .of = &(kind_of))
#define ARRAY_OF(kind, field, coded, counter, ...)                                                 \
    REPEATED(kind, field, coded, counter, ARRAY,                                                   \
             .limit = sizeof(PLACE(kind, field)) / sizeof(PLACE(kind, field)[0]),                  \
             .element = sizeof(PLACE(kind, field)[0]),                                             \
             .wire_element = sizeof(*((FORM(kind) *)0)->coded), __VA_ARGS__)
#define ARRAY(kind, field, coded, counter)                                                         \
    ARRAY_OF(kind, field, coded, COUNTER(kind, counter), .flags = 0)
/* An array with as many elements as the one before it, and one that is always full. */
#define SECOND(kind, field, coded, counter)                                                        \
    ARRAY_OF(kind, field, coded, COUNTER(kind, counter), .flags = TD_WIRE_SAME_COUNT)
#define FULL(kind, field) ARRAY_OF(kind, field, field, TD_WIRE_FIXED, .flags = 0)

/* A field that the codec leaves alone. */
#define INSIDE(kind, field)                                                                        \
    {                                                                                              \
        .name = #field, .type = TD_WIRE_INSIDE, .offset = offsetof(STRUCT(kind), field),           \
        .bytes = sizeof(PLACE(kind, field)), .alignment = __alignof__(PLACE(kind, field))          \
    }

/* A kind, from the array of_<name> of its fields. */
#define KIND(name_of, number_of, form_of, ...)                                                     \
    {                                                                                              \
        .number = (number_of), .name = #name_of, .bytes = sizeof(STRUCT(name_of)),                 \
        .field = of_##name_of, .fields = sizeof of_##name_of / sizeof of_##name_of[0],             \
        .descriptor = &(form_of), __VA_ARGS__                                                      \
    }

#endif
