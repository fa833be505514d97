/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "inspect.h"
#include "wire/client_table.h"

static json_t *object_of(const void *message, const struct td_wire_kind *kind);

static size_t count_of(const char *message, const struct td_wire_field *f)
{
    return f->count == TD_WIRE_FIXED ? f->limit
                                     : *(const uint32_t *)(const void *)(message + f->count);
}

/* numbers returns the list of a field's numbers of 4 or 8 bytes. */
static json_t *numbers(const char *at, size_t count, size_t bytes)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++, at += bytes)
        json_array_append_new(
            list, json_integer(bytes == sizeof(uint64_t)
                                   ? (json_int_t) * (const uint64_t *)(const void *)at
                                   : (json_int_t) * (const uint32_t *)(const void *)at));
    return list;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the tables, whose lists of messages have no lists */

static json_t *objects(const char *at, size_t count, const struct td_wire_kind *kind)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, object_of(at + i * kind->bytes, kind));
    return list;
}

/* value returns NULL for a type that rows do not have. */
static json_t *value(const char *message, const struct td_wire_field *f)
{
    const void *at = message + f->offset;
    const struct td_bitmap *set = at;
    char letter[2] = "";
    switch (f->type) {
    case TD_WIRE_U32:
        return json_integer(*(const uint32_t *)at);
    case TD_WIRE_U64:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case TD_WIRE_I32:
    case TD_WIRE_FAILURE:
    case TD_WIRE_ENDING:
        return json_integer(*(const int32_t *)at);
    case TD_WIRE_I64:
        return json_integer(*(const int64_t *)at);
    case TD_WIRE_BOOL:
        return json_boolean(*(const bool *)at);
    case TD_WIRE_CHOICE:
        return f->words ? json_string(f->words[*(const uint32_t *)at])
                        : json_integer(*(const uint32_t *)at);
    case TD_WIRE_LETTER:
        letter[0] = (char)*(const uint32_t *)at;
        return json_string(letter);
    case TD_WIRE_STRING:
        return ins_text(*(const char *const *)at);
    case TD_WIRE_BITMAP:
        return ins_ranks(set, set->bytes * 8, true);
    case TD_WIRE_NUMBERS:
        return numbers(*(const char *const *)at, count_of(message, f), sizeof(uint64_t));
    case TD_WIRE_ARRAY:
        return numbers(at, count_of(message, f), f->element);
    case TD_WIRE_LIST:
        return objects(*(const char *const *)at, count_of(message, f), f->of);
    case TD_WIRE_PAYLOAD:
    case TD_WIRE_MESSAGE:
    case TD_WIRE_SPECIAL:
    case TD_WIRE_INSIDE:
        break;
    }
    return NULL;
}

static json_t *object_of(const void *message, const struct td_wire_kind *kind)
{
    json_t *object = json_object();
    for (unsigned i = 0; i < kind->fields; i++)
        json_object_set_new(object, kind->field[i].name, value(message, &kind->field[i]));
    return object;
}

/* NOLINTEND(misc-no-recursion) */

json_t *ins_row(const struct td_status_row *row, enum td_row_kind kind)
{
    return row->kind == kind ? object_of(&row->u, td_wire_row(kind)) : NULL;
}

json_t *ins_row_record(const struct td_status_row *row)
{
    return ins_row(row, TD_ROW_RECORD);
}
