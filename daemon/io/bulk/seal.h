/* SPDX-License-Identifier: Apache-2.0 */
/* seal: protects the frames of a stream: the handshake, then packets or tree messages.
 *
 * Each direction of each connection has a key of its own, which both ends derive from what they
 * know after the handshake of the control connection. The nonce is the frame's number, so a frame
 * that is changed, lost, repeated, out of order or sent back to its sender is found. The head of a
 * frame is always encrypted and has a tag of its own, which also covers the payload's tag; the
 * payload is encrypted or only authenticated. After frames_per_key frames the key changes.
 * Without keys, TD_SEAL_SUM finds accidental changes by checksums.
 * Pure, but for libsodium's choice of instructions. */
#ifndef TD_IO_BULK_SEAL_H
#define TD_IO_BULK_SEAL_H

#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/packet.h"

/* enum td_seal_kind: the protection of a stream. */
enum td_seal_kind {
    TD_SEAL_NONE,
    TD_SEAL_SUM,          /* checksums, without keys */
    TD_SEAL_AUTHENTICATE, /* payloads can be read, not changed */
    TD_SEAL_ENCRYPT,
};

enum td_seal_cipher {
    TD_CIPHER_CHACHA, /* ChaCha20-Poly1305 (IETF) */
    TD_CIPHER_AES,    /* AES-256-GCM, where the processor has it */
};

enum {
    TD_SEAL_RANDOM = 32,
    TD_SEAL_KEY = 32,
    TD_SEAL_TAG = 16,
    /* the head of a sealed frame: the packet's header, the payload's tag, the head's tag */
    TD_SEAL_HEAD = TD_WIRE_PACKET_BYTES + 2 * TD_SEAL_TAG,
};

#define TD_SEAL_FRAMES_PER_KEY ((uint64_t)1 << 32)

/* struct td_seal_terms: what both ends of a stream know. Index 0: the end that connects. */
struct td_seal_terms {
    uint8_t kind, cipher; /* enum td_seal_kind, td_seal_cipher */
    uint8_t random[2][TD_SEAL_RANDOM], public_key[2][TD_SEAL_KEY];
    uint32_t node[2];
    uint64_t incarnation[2], session;
    bool express; /* the stream carries tree messages: its keys are others than those of packets */
};

/* struct td_seal: one direction of a stream. */
struct td_seal {
    crypto_aead_aes256gcm_state aes;
    uint8_t key[TD_SEAL_KEY];
    uint8_t kind, cipher;
    uint64_t next;  /* number of the next frame */
    uint64_t frame; /* number of the frame that was begun last */
    uint64_t frames_per_key;
};

/* td_seal_ciphers returns the ciphers that this machine has: a bit 1 << enum td_seal_cipher each.
 */
uint32_t td_seal_ciphers(void);
/* td_seal_begin derives the key of a direction: 0: from the end that connects, 1: to it. */
void td_seal_begin(struct td_seal *s, const struct td_seal_terms *terms, unsigned direction,
                   uint64_t frames_per_key);
/* td_seal_is_keyed returns true if frames have tags. */
bool td_seal_is_keyed(const struct td_seal *s);

/* td_seal_message encrypts a message in place as the next frame and writes its tag; with
 * TD_SEAL_SUM it writes a checksum. td_seal_open_message decrypts it in place, or returns false. */
void td_seal_message(struct td_seal *s, uint8_t *bytes, size_t size, uint8_t tag[TD_SEAL_TAG]);
bool td_seal_open_message(struct td_seal *s, uint8_t *bytes, size_t size,
                          const uint8_t tag[TD_SEAL_TAG]);

/* td_seal_frame seals a packet as the next frame. `head` begins with the packet's header. The
 * payload `from`, NULL if there is none, is in memory that nobody changes meanwhile;
 * TD_SEAL_ENCRYPT writes it to `to`, which may be `from`. With TD_SEAL_SUM, `from` may be NULL for
 * a payload that somebody could change: it is not checked then. */
void td_seal_frame(struct td_seal *s, uint8_t head[TD_SEAL_HEAD], const uint8_t *from, uint8_t *to,
                   uint32_t bytes);
/* td_seal_open_head opens the head of the next frame in place. td_seal_open_payload opens its
 * payload in place. They return false if the frame is not the one that was sealed: then the
 * connection must end. */
bool td_seal_open_head(struct td_seal *s, uint8_t head[TD_SEAL_HEAD]);
bool td_seal_open_payload(struct td_seal *s, const uint8_t head[TD_SEAL_HEAD], uint8_t *payload,
                          uint32_t bytes);

#endif
