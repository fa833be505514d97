/* SPDX-License-Identifier: Apache-2.0 */
/* handshake: the first message on every connection between daemons, in both directions. */
#ifndef TD_WIRE_HANDSHAKE_H
#define TD_WIRE_HANDSHAKE_H

#include "wire.h"

enum { TD_HANDSHAKE_RANDOM = 32 };

struct td_handshake {
    uint32_t major, minor;
    uint32_t node;
    uint64_t incarnation;      /* of the sender */
    uint64_t peer_incarnation; /* of the receiver, as the sender knows it; 0: not known */
    uint64_t session;          /* number of the control connection; its later frames carry it */
    bool bulk;                 /* the connection carries packets, else tree messages */
    bool express;  /* control connection: the sender accepts an express path; else: the connection
                      is one, and carries tree messages */
    bool accepted; /* the answer accepts the connection */
    bool busy;     /* the refusal may end soon: try again */
    /* for the stream that follows, in the handshake of a control connection and its reply */
    uint32_t seals, ciphers; /* a bit for each kind and cipher; in a reply: for the chosen one */
    bool has_random;
    uint8_t random[TD_HANDSHAKE_RANDOM];
    struct td_term_list terms; /* TD_TERMS_LINK of the sender; empty in a reply */
    const char *shape;         /* of the sender's torus */
    const char *text;          /* why the answer does not accept; else "" */
};
size_t td_wire_encode_handshake(const struct td_handshake *handshake, uint8_t *bytes, size_t size);
td_err td_wire_decode_handshake(const uint8_t *bytes, size_t size, struct td_wire_memory *memory,
                                struct td_handshake *handshake, const char **why);

#endif
