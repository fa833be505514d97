/* SPDX-License-Identifier: Apache-2.0 */
/* memory: protobuf-c's allocator over a td_wire_memory, and small helpers of the codecs. */
#ifndef TD_WIRE_MEMORY_H
#define TD_WIRE_MEMORY_H

#include <protobuf-c/protobuf-c.h>

#include "wire.h"

/* td_wire_allocator returns an allocator that takes from memory and never gives back. */
ProtobufCAllocator td_wire_allocator(struct td_wire_memory *memory);
/* td_wire_take takes from memory, NULL when there is not so much. */
void *td_wire_take(struct td_wire_memory *memory, size_t size);
/* td_wire_refuse prints a sentence into memory and returns the error. */
td_err td_wire_refuse(struct td_wire_memory *memory, const char **why, td_err error,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
/* td_wire_pack writes the message when it fits; returns the bytes, else 0. */
size_t td_wire_pack(const ProtobufCMessage *message, uint8_t *bytes, size_t size);
/* td_wire_string gives a string for the wire: NULL becomes "". */
char *td_wire_string(const char *text);

#endif
