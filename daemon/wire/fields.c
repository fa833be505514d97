/* SPDX-License-Identifier: Apache-2.0 */
#include "fields.h"

#include <string.h>

#include "memory.h"

void *td_wire_scratch(struct td_wire_scratch *scratch, size_t size)
{
    size_t need = (size + 15) & ~(size_t)15;
    if (need > scratch->size - scratch->used)
        return NULL;
    void *piece = scratch->bytes + scratch->used;
    scratch->used += need;
    return memset(piece, 0, need); /* messages are compared with their padding */
}

ProtobufCMessage *td_wire_new(const struct td_wire_kind *kind, struct td_wire_scratch *scratch)
{
    ProtobufCMessage *m = td_wire_scratch(scratch, kind->descriptor->sizeof_message);
    if (m)
        kind->descriptor->message_init(m);
    return m;
}

/* ---- repeated fields ---- */

/* behind returns the place of the pointer behind a count of a protobuf message. */
static void *behind(const void *count)
{
    return (char *)(uintptr_t)count + sizeof(size_t);
}

static size_t count_of(const struct td_wire_field *f, const void *message)
{
    if (f->count == TD_WIRE_FIXED)
        return f->limit;
    return *(const uint32_t *)((const char *)message + f->count);
}

/* set_count returns false if a field has too many elements, or another number than it must have. */
static bool set_count(const struct td_wire_field *f, void *message, size_t count)
{
    if (f->count == TD_WIRE_FIXED)
        return count == f->limit;
    uint32_t *to = (uint32_t *)(void *)((char *)message + f->count);
    if (f->flags & TD_WIRE_SAME_COUNT)
        return count == *to;
    *to = (uint32_t)count;
    return count <= f->limit;
}

static uint64_t load(const char *from, size_t bytes)
{
    if (bytes == sizeof(uint64_t))
        return *(const uint64_t *)(const void *)from;
    return bytes == 1 ? *(const uint8_t *)from : *(const uint32_t *)(const void *)from;
}

/* store returns false if the number needs more bytes. */
static bool store(char *to, size_t bytes, uint64_t number)
{
    if (bytes == sizeof(uint64_t))
        *(uint64_t *)(void *)to = number;
    else if (bytes == 1)
        *(uint8_t *)to = (uint8_t)number;
    else
        *(uint32_t *)(void *)to = (uint32_t)number;
    return bytes == sizeof(uint64_t) || number >> 8 * bytes == 0;
}

static bool put_array(const struct td_wire_field *f, const char *from, size_t count, void *to,
                      struct td_wire_scratch *scratch)
{
    char *numbers = count <= f->limit ? td_wire_scratch(scratch, count * f->wire_element) : NULL;
    if (!numbers)
        return false;
    for (size_t i = 0; i < count; i++)
        store(numbers + i * f->wire_element, f->wire_element,
              load(from + i * f->element, f->element));
    *(size_t *)to = count;
    if (count)
        *(void **)behind(to) = numbers;
    return true;
}

static bool get_array(const struct td_wire_field *f, const void *from, char *to)
{
    size_t count = *(const size_t *)from;
    const char *numbers = *(char *const *)behind(from);
    for (size_t i = 0; i < count; i++)
        if (!store(to + i * f->element, f->element,
                   load(numbers + i * f->wire_element, f->wire_element)))
            return false;
    return true;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the tables, whose lists of messages have no lists */

static bool put_list(const struct td_wire_field *f, const char *from, size_t count, void *to,
                     struct td_wire_scratch *scratch)
{
    ProtobufCMessage **list =
        count <= f->limit ? td_wire_scratch(scratch, count * sizeof *list) : NULL;
    if (!list)
        return false;
    for (size_t i = 0; i < count; i++) {
        list[i] = td_wire_new(f->of, scratch);
        if (!list[i] || !td_wire_put_fields(f->of, from + i * f->of->bytes, list[i], scratch))
            return false;
    }
    *(size_t *)to = count;
    if (count)
        *(void **)behind(to) = list;
    return true;
}

static bool get_list(const struct td_wire_field *f, const void *from, const void **to,
                     struct td_wire_memory *memory)
{
    size_t count = *(const size_t *)from;
    ProtobufCMessage *const *list = *(ProtobufCMessage ***)behind(from);
    char *element = td_wire_allocate(memory, count * f->of->bytes);
    *to = element;
    if (!element)
        return false;
    memset(element, 0, count * f->of->bytes);
    for (size_t i = 0; i < count; i++)
        if (!td_wire_get_fields(f->of, list[i], element + i * f->of->bytes, memory))
            return false;
    return true;
}

/* ---- messages in messages ---- */

/* is_zero returns true if a struct has no bit set; its message would say nothing. */
static bool is_zero(const char *bytes, size_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* put_message leaves a message out that says nothing, unless it is required. */
static bool put_message(const struct td_wire_field *f, const void *from, void *to,
                        struct td_wire_scratch *scratch)
{
    bool required = f->flags & TD_WIRE_REQUIRED;
    if (!required && is_zero(from, f->of->bytes))
        return true; /* most calls have no counts and no plan */
    size_t before = scratch->used, bytes = f->of->descriptor->sizeof_message;
    ProtobufCMessage *m = td_wire_new(f->of, scratch),
                     *empty = required ? m : td_wire_new(f->of, scratch);
    if (!empty || !td_wire_put_fields(f->of, from, m, scratch))
        return false;
    if (required || memcmp(m, empty, bytes) != 0)
        *(ProtobufCMessage **)to = m;
    else
        scratch->used = before;
    return true;
}

static bool get_message(const struct td_wire_field *f, const void *from, void *to,
                        struct td_wire_memory *memory)
{
    const ProtobufCMessage *m = *(ProtobufCMessage *const *)from;
    memset(to, 0, f->of->bytes);
    return m ? td_wire_get_fields(f->of, m, to, memory) : !(f->flags & TD_WIRE_REQUIRED);
}

/* ---- fields ---- */

static bool put_field(const struct td_wire_field *f, const char *message, void *to,
                      struct td_wire_scratch *scratch)
{
    const void *from = message + f->offset;
    const struct td_bitmap *bitmap = from;
    const struct td_message_payload *payload = from;
    switch (f->type) {
    case TD_WIRE_U32:
    case TD_WIRE_U64:
    case TD_WIRE_I32:
    case TD_WIRE_I64:
        memcpy(to, from, f->bytes); /* both have the same form */
        return true;
    case TD_WIRE_BOOL:
        *(protobuf_c_boolean *)to = *(const bool *)from;
        return true;
    case TD_WIRE_CHOICE:
    case TD_WIRE_LETTER:
        *(uint32_t *)to = (uint32_t)load(from, f->bytes);
        return true;
    case TD_WIRE_STRING:
        *(char **)to = td_wire_string(*(const char *const *)from);
        return true;
    case TD_WIRE_FAILURE:
    case TD_WIRE_ENDING:
        *(int32_t *)to = *(const td_err *)from;
        return true;
    case TD_WIRE_BITMAP: /* protobuf-c only reads */
        *(ProtobufCBinaryData *)to =
            (ProtobufCBinaryData){bitmap->bytes, (uint8_t *)(uintptr_t)bitmap->bits};
        return true;
    case TD_WIRE_PAYLOAD:
        *(ProtobufCBinaryData *)to =
            (ProtobufCBinaryData){payload->bytes, (uint8_t *)(uintptr_t)payload->data};
        return true;
    case TD_WIRE_NUMBERS:
        *(size_t *)to = count_of(f, message);
        if (count_of(f, message))
            *(const void **)behind(to) = *(const void *const *)from;
        return true;
    case TD_WIRE_ARRAY:
        return put_array(f, from, count_of(f, message), to, scratch);
    case TD_WIRE_MESSAGE:
        return put_message(f, from, to, scratch);
    case TD_WIRE_LIST:
        return put_list(f, *(const char *const *)from, count_of(f, message), to, scratch);
    case TD_WIRE_SPECIAL:
        return f->special->put(from, to, scratch);
    case TD_WIRE_INSIDE:
        return true;
    }
    return false;
}

/* get_error reads an error; `or_ok`: or TD_OK. */
static bool get_error(int32_t number, bool or_ok, td_err *error)
{
    *error = (td_err)number;
    return number <= (or_ok ? TD_OK : TD_ERR_INVALID) && number >= TD_ERR_PERMISSION;
}

static bool get_field(const struct td_wire_field *f, const void *from, char *message,
                      struct td_wire_memory *memory)
{
    void *to = message + f->offset;
    const ProtobufCBinaryData *bytes = from;
    switch (f->type) {
    case TD_WIRE_U32:
    case TD_WIRE_U64:
    case TD_WIRE_I32:
    case TD_WIRE_I64:
        memcpy(to, from, f->bytes); /* both have the same form */
        return true;
    case TD_WIRE_BOOL:
        *(bool *)to = *(const protobuf_c_boolean *)from;
        return true;
    case TD_WIRE_CHOICE:
    case TD_WIRE_LETTER:
        return store(to, f->bytes, *(const uint32_t *)from) && *(const uint32_t *)from <= f->limit;
    case TD_WIRE_STRING:
        *(const char **)to = *(char *const *)from;
        return strlen(*(char *const *)from) <= f->limit;
    case TD_WIRE_FAILURE:
    case TD_WIRE_ENDING:
        return get_error(*(const int32_t *)from, f->type == TD_WIRE_ENDING, to);
    case TD_WIRE_BITMAP:
        *(struct td_bitmap *)to = (struct td_bitmap){bytes->data, (uint32_t)bytes->len};
        return bytes->len <= f->limit;
    case TD_WIRE_PAYLOAD:
        *(struct td_message_payload *)to =
            (struct td_message_payload){bytes->data, (uint32_t)bytes->len};
        return bytes->len <= f->limit;
    case TD_WIRE_NUMBERS:
        *(const void **)to = *(void **)behind(from);
        return set_count(f, message, *(const size_t *)from);
    case TD_WIRE_ARRAY:
        return set_count(f, message, *(const size_t *)from) && get_array(f, from, to);
    case TD_WIRE_MESSAGE:
        return get_message(f, from, to, memory);
    case TD_WIRE_LIST:
        return set_count(f, message, *(const size_t *)from) && get_list(f, from, to, memory);
    case TD_WIRE_SPECIAL:
        return f->special->get(from, to, memory);
    case TD_WIRE_INSIDE:
        return true;
    }
    return false;
}

bool td_wire_put_fields(const struct td_wire_kind *kind, const void *from, void *to,
                        struct td_wire_scratch *scratch)
{
    for (unsigned i = 0; i < kind->fields; i++)
        if (!put_field(&kind->field[i], from, (char *)to + kind->field[i].wire, scratch))
            return false;
    return true;
}

bool td_wire_get_fields(const struct td_wire_kind *kind, const void *from, void *to,
                        struct td_wire_memory *memory)
{
    for (unsigned i = 0; i < kind->fields; i++)
        if (!get_field(&kind->field[i], (const char *)from + kind->field[i].wire, to, memory))
            return false;
    return !kind->is_sound || kind->is_sound(to);
}

/* NOLINTEND(misc-no-recursion) */
