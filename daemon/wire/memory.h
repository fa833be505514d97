/* SPDX-License-Identifier: Apache-2.0 */
/* memory: protobuf-c's allocator over a td_wire_memory, and helpers of the codecs. */
#ifndef TD_WIRE_MEMORY_H
#define TD_WIRE_MEMORY_H

#include <protobuf-c/protobuf-c.h>

#include "wire.h"

/* td_wire_allocator returns an allocator that allocates from memory and never frees. */
ProtobufCAllocator td_wire_allocator(struct td_wire_memory *memory);
/* td_wire_allocate returns `size` bytes of memory, aligned to 16, or NULL if it has no room. */
void *td_wire_allocate(struct td_wire_memory *memory, size_t size);
/* td_wire_refuse prints a sentence into memory, sets *why to it, and returns the error. */
td_err td_wire_refuse(struct td_wire_memory *memory, const char **why, td_err error,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
/* td_wire_pack writes the message and returns its bytes, or returns 0 if it does not fit. */
size_t td_wire_pack(const ProtobufCMessage *message, uint8_t *bytes, size_t size);
/* td_wire_string returns the text as protobuf-c wants it: its own empty string for "" and NULL. */
char *td_wire_string(const char *text);

#endif
