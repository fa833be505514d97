/* SPDX-License-Identifier: Apache-2.0 */
/* wire: messages <-> bytes. Protobuf lives here and nowhere deeper (proto/client.proto,
 * proto/peer.proto); the packet header is a fixed little-endian form.
 *
 * Encoding writes into the caller's buffer. Decoding copies what it needs into a td_wire_memory,
 * where the decoded structure's pointers point: no malloc, and no more than its size whatever a
 * length field says. Every decoder accepts any bytes at all: what is no message gives
 * TD_ERR_PROTOCOL or TD_ERR_VERSION and a sentence, never a read out of bounds. */
#ifndef TD_WIRE_WIRE_H
#define TD_WIRE_WIRE_H

#include "model/message.h"

/* Version of the protocol between a client and its daemon. Another major is refused. */
enum { TD_WIRE_MAJOR = 3, TD_WIRE_MINOR = 0 };
/* Version of the protocol between daemons. Another major is refused; one minor back is accepted. */
enum { TD_WIRE_PEER_MAJOR = 4, TD_WIRE_PEER_MINOR = 0 };

/* A local datagram starts with these 8 bytes: 'T' 'o' 'r' 'u', major, minor, type (u16 LE: a
 * td_request_kind, or 0x100 + td_reply_kind). */
enum { TD_WIRE_HEADER_BYTES = 8 };

struct td_wire_memory {
    size_t used;
    _Alignas(16) uint8_t bytes[4 * TD_DATAGRAM_MAX];
};

/* ---- local socket ---- */

/* td_wire_encode_request returns the bytes written, 0 when they do not fit in size. */
size_t td_wire_encode_request(const struct td_request *request, uint8_t *bytes, size_t size);
/* td_wire_decode_request: on an error *why is a sentence, in memory or static. Strings are
 * terminated, enums are in range, numbers are as sent: the core checks their meaning. */
td_err td_wire_decode_request(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                              struct td_request *request, const char **why);
size_t td_wire_encode_reply(const struct td_reply *reply, uint8_t *bytes, size_t size);
td_err td_wire_decode_reply(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                            struct td_reply *reply, const char **why);

/* ---- between daemons ---- */

/* struct td_greeting: first on every connection, both ways (proto: Greeting). */
struct td_greeting {
    uint32_t major, minor;
    uint32_t node;
    uint64_t incarnation;      /* of the sender */
    uint64_t peer_incarnation; /* of the receiver, as far as the sender knows; 0: not yet */
    uint64_t session;          /* names this connection; in every later frame of the control one */
    uint64_t digest;           /* td_settings_digest */
    bool bulk;                 /* a link for packets, else for tree messages */
    bool accepted;             /* in the answer */
    const char *shape;
    const char *text; /* in the answer: why not accepted */
};
size_t td_wire_encode_greeting(const struct td_greeting *greeting, uint8_t *bytes, size_t size);
td_err td_wire_decode_greeting(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                               struct td_greeting *greeting, const char **why);

/* A tree message is at most TD_TREE_MESSAGE_MAX bytes. */
size_t td_wire_encode_message(const struct td_message *message, uint8_t *bytes, size_t size);
td_err td_wire_decode_message(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                              struct td_message *message, const char **why);

/* A packet's header; the payload comes behind it. */
enum { TD_WIRE_PACKET_BYTES = 128 };
void td_wire_encode_packet(const struct td_packet *packet, uint8_t bytes[TD_WIRE_PACKET_BYTES]);
td_err td_wire_decode_packet(const uint8_t *bytes, size_t size, struct td_packet *packet,
                             const char **why);

#endif
