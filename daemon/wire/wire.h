/* SPDX-License-Identifier: Apache-2.0 */
/* wire: what the codecs of all messages share: client.h, handshake.h, peer.h and packet.h. Protobuf
 * is used here and nowhere deeper (proto/client.proto, proto/peer.proto). The header of a packet
 * has a fixed, little-endian form.
 *
 * An encoder writes into the caller's buffer. It returns the bytes written, or 0 if the message
 * does not fit. A decoder accepts any bytes. It returns TD_ERR_PROTOCOL or TD_ERR_VERSION for bytes
 * that are not a message, and sets *why to a sentence, in memory or static. It never reads out of
 * bounds. Decoded pointers point into a td_wire_memory, which bounds the memory that a message can
 * use, whatever a length field says. Decoded strings end with a zero byte, counts are within
 * base/limits.h, and enums are in range. The core checks the meaning of numbers. Owns: nothing.
 * Borrows: all buffers. Pure: no I/O, no malloc, no globals. */
#ifndef TD_WIRE_WIRE_H
#define TD_WIRE_WIRE_H

#include "model/message.h"
#include "model/request.h"

/* Version of the protocol between a client and its daemon. Another major is refused. */
enum { TD_WIRE_MAJOR = 4, TD_WIRE_MINOR = 0 };
/* Version of the protocol between daemons. Another major is refused; one minor back is accepted. */
enum { TD_WIRE_PEER_MAJOR = 7, TD_WIRE_PEER_MINOR = 12 };

/* struct td_wire_memory: what one decoded message points to, until the next is decoded into it. */
struct td_wire_memory {
    size_t used; /* bytes */
    _Alignas(16) uint8_t bytes[4 * TD_DATAGRAM_MAX];
};

#endif
