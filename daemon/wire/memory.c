/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdarg.h>
#include <stdio.h>

void *td_wire_allocate(struct td_wire_memory *memory, size_t size)
{
    size_t need = (size + 15) & ~(size_t)15;
    if (size > sizeof memory->bytes || need > sizeof memory->bytes - memory->used)
        return NULL;
    void *piece = memory->bytes + memory->used;
    memory->used += need;
    return piece;
}

static void *allocate(void *memory, size_t size)
{
    return td_wire_allocate(memory, size);
}

static void ignore_free(void *memory, void *piece)
{
    (void)memory;
    (void)piece;
}

ProtobufCAllocator td_wire_allocator(struct td_wire_memory *memory)
{
    return (ProtobufCAllocator){.alloc = allocate, .free = ignore_free, .allocator_data = memory};
}

td_err td_wire_refuse(struct td_wire_memory *memory, const char **why, td_err error,
                      const char *format, ...)
{
    char *text = td_wire_allocate(memory, TD_TEXT_MAX);
    *why = "not a message of this protocol";
    if (!text)
        return error;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, TD_TEXT_MAX, format, arguments);
    va_end(arguments);
    *why = text;
    return error;
}

size_t td_wire_pack(const ProtobufCMessage *message, uint8_t *bytes, size_t size)
{
    if (protobuf_c_message_get_packed_size(message) > size)
        return 0;
    return protobuf_c_message_pack(message, bytes);
}

char *td_wire_string(const char *text)
{
    return (char *)(uintptr_t)(text && *text ? text : protobuf_c_empty_string);
}
