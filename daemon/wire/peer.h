/* SPDX-License-Identifier: Apache-2.0 */
/* peer: tree messages between daemons (proto/peer.proto). */
#ifndef TD_WIRE_PEER_H
#define TD_WIRE_PEER_H

#include "wire.h"

/* An encoded tree message has at most TD_TREE_MESSAGE_MAX bytes. */
size_t td_wire_encode_message(const struct td_message *message, uint8_t *bytes, size_t size);
td_err td_wire_decode_message(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                              struct td_message *message, const char **why);

#endif
