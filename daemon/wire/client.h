/* SPDX-License-Identifier: Apache-2.0 */
/* client: requests and replies on the local socket (proto/client.proto). */
#ifndef TD_WIRE_CLIENT_H
#define TD_WIRE_CLIENT_H

#include "wire.h"

/* A local datagram starts with 8 bytes: 'T' 'o' 'r' 'u', major, minor, and a type of 16 bits,
 * little-endian: a td_request_kind, or 0x100 + a td_reply_kind. */
enum { TD_WIRE_HEADER_BYTES = 8 };

size_t td_wire_encode_request(const struct td_request *request, uint8_t *bytes, size_t size);
td_err td_wire_decode_request(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                              struct td_request *request, const char **why);
size_t td_wire_encode_reply(const struct td_reply *reply, uint8_t *bytes, size_t size);
/* td_wire_encode_page writes what a STATUS reply without an id has behind the header. A reply may
 * have it as its page. */
size_t td_wire_encode_page(const struct td_reply *reply, uint8_t *bytes, size_t size);
td_err td_wire_decode_reply(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                            struct td_reply *reply, const char **why);

#endif
