/* SPDX-License-Identifier: Apache-2.0 */
/* wire: encoding and decoding of all messages. Protobuf is used here and nowhere deeper
 * (proto/client.proto, proto/peer.proto). The header of a packet has a fixed, little-endian form.
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

/* Version of the protocol between a client and its daemon. Another major is refused. */
enum { TD_WIRE_MAJOR = 3, TD_WIRE_MINOR = 0 };
/* Version of the protocol between daemons. Another major is refused; one minor back is accepted. */
enum { TD_WIRE_PEER_MAJOR = 4, TD_WIRE_PEER_MINOR = 0 };

/* A local datagram starts with 8 bytes: 'T' 'o' 'r' 'u', major, minor, and a type of 16 bits,
 * little-endian: a td_request_kind, or 0x100 + a td_reply_kind. */
enum { TD_WIRE_HEADER_BYTES = 8 };

/* struct td_wire_memory: what one decoded message points to, until the next is decoded into it. */
struct td_wire_memory {
    size_t used; /* bytes */
    _Alignas(16) uint8_t bytes[4 * TD_DATAGRAM_MAX];
};

/* ---- local socket ---- */

size_t td_wire_encode_request(const struct td_request *request, uint8_t *bytes, size_t size);
td_err td_wire_decode_request(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                              struct td_request *request, const char **why);
size_t td_wire_encode_reply(const struct td_reply *reply, uint8_t *bytes, size_t size);
td_err td_wire_decode_reply(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                            struct td_reply *reply, const char **why);

/* ---- between daemons ---- */

/* struct td_greeting: the first message on every connection, in both directions. */
struct td_greeting {
    uint32_t major, minor;
    uint32_t node;
    uint64_t incarnation;      /* of the sender */
    uint64_t peer_incarnation; /* of the receiver, as the sender knows it; 0: not known */
    uint64_t session;          /* number of the control connection; its later frames carry it */
    uint64_t digest;           /* td_settings_digest of the sender */
    bool bulk;                 /* the connection carries packets, else tree messages */
    bool accepted;             /* the answer accepts the connection */
    const char *shape;         /* of the sender's torus */
    const char *text;          /* why the answer does not accept; else "" */
};
size_t td_wire_encode_greeting(const struct td_greeting *greeting, uint8_t *bytes, size_t size);
td_err td_wire_decode_greeting(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                               struct td_greeting *greeting, const char **why);

/* An encoded tree message has at most TD_TREE_MESSAGE_MAX bytes. */
size_t td_wire_encode_message(const struct td_message *message, uint8_t *bytes, size_t size);
td_err td_wire_decode_message(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                              struct td_message *message, const char **why);

/* The header of a packet; the payload follows it. */
enum { TD_WIRE_PACKET_BYTES = 128 };
void td_wire_encode_packet(const struct td_packet *packet, uint8_t bytes[TD_WIRE_PACKET_BYTES]);
td_err td_wire_decode_packet(const uint8_t *bytes, size_t size, struct td_packet *packet,
                             const char **why);

#endif
