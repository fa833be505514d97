/* SPDX-License-Identifier: Apache-2.0 */
#include "seal.h"

#include <assert.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    PAYLOAD_TAG = TD_WIRE_PACKET_BYTES,
    HEAD_TAG = PAYLOAD_TAG + TD_SEAL_TAG,
    NONCE = 12,
    SUMMED = 8, /* in the payload's tag of TD_SEAL_SUM: 1 after a sum */
};

/* enum part: the parts of a frame have nonces of their own. */
enum part { HEAD, PAYLOAD };

_Static_assert((int)NONCE == crypto_aead_chacha20poly1305_IETF_NPUBBYTES, "nonce");
_Static_assert((int)NONCE == crypto_aead_aes256gcm_NPUBBYTES, "nonce");
_Static_assert((int)TD_SEAL_TAG == crypto_aead_aes256gcm_ABYTES, "tag");
_Static_assert((int)TD_SEAL_KEY == crypto_aead_aes256gcm_KEYBYTES, "key");

uint32_t td_seal_ciphers(void)
{
    bool ready = sodium_init() >= 0;
    return 1u << TD_CIPHER_CHACHA |
           (ready && crypto_aead_aes256gcm_is_available() ? 1u << TD_CIPHER_AES : 0);
}

static void put(uint8_t **at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *(*at)++ = (uint8_t)(value >> (8 * i));
}

static void put_bytes(uint8_t **at, const void *bytes, size_t size)
{
    memcpy(*at, bytes, size);
    *at += size;
}

static void use_key(struct td_seal *s)
{
    if (s->cipher == TD_CIPHER_AES && td_seal_is_keyed(s))
        crypto_aead_aes256gcm_beforenm(&s->aes, s->key);
}

void td_seal_begin(struct td_seal *s, const struct td_seal_terms *t, unsigned direction,
                   uint64_t frames_per_key)
{
    static const char packets[] = "torusd stream", messages[] = "torusd express";
    uint8_t text[256], random[2 * TD_SEAL_RANDOM], *at = text;
    put_bytes(&at, t->express ? messages : packets, t->express ? sizeof messages : sizeof packets);
    put(&at, direction, 1);
    put(&at, t->kind, 1);
    put(&at, t->cipher, 1);
    for (int end = 0; end < 2; end++) {
        put(&at, t->node[end], 4);
        put(&at, t->incarnation[end], 8);
        put_bytes(&at, t->public_key[end], TD_SEAL_KEY);
        memcpy(random + end * TD_SEAL_RANDOM, t->random[end], TD_SEAL_RANDOM);
    }
    put(&at, t->session, 8);
    *s = (struct td_seal){.kind = t->kind, .cipher = t->cipher, .frames_per_key = frames_per_key};
    crypto_generichash(s->key, sizeof s->key, text, (size_t)(at - text), random, sizeof random);
    sodium_memzero(random, sizeof random);
    use_key(s);
}

bool td_seal_is_keyed(const struct td_seal *s)
{
    return s->kind >= TD_SEAL_AUTHENTICATE;
}

/* begin_frame takes the next number, and the next key if it is time. */
static void begin_frame(struct td_seal *s)
{
    static const uint8_t next[] = "next";
    if (s->next && s->next % s->frames_per_key == 0 && td_seal_is_keyed(s)) {
        uint8_t key[TD_SEAL_KEY];
        crypto_generichash(key, sizeof key, next, sizeof next - 1, s->key, sizeof s->key);
        memcpy(s->key, key, sizeof key);
        sodium_memzero(key, sizeof key);
        use_key(s);
    }
    s->frame = s->next++;
}

/* ---- tags ---- */

static void make_nonce(const struct td_seal *s, enum part part, uint8_t nonce[NONCE])
{
    uint8_t *at = nonce;
    put(&at, s->frame, 8);
    put(&at, part, 4);
}

/* seal encrypts `from` to `to` and writes the tag of it and of the associated bytes. */
static void seal(const struct td_seal *s, enum part part, const uint8_t *from, uint8_t *to,
                 size_t size, const uint8_t *with, size_t with_size, uint8_t tag[TD_SEAL_TAG])
{
    uint8_t nonce[NONCE];
    make_nonce(s, part, nonce);
    if (s->cipher == TD_CIPHER_AES)
        crypto_aead_aes256gcm_encrypt_detached_afternm(to, tag, NULL, from, size, with, with_size,
                                                       NULL, nonce, &s->aes);
    else
        crypto_aead_chacha20poly1305_ietf_encrypt_detached(to, tag, NULL, from, size, with,
                                                           with_size, NULL, nonce, s->key);
}

/* unseal decrypts in place. It returns false, with the bytes undefined, if the tag is wrong. */
static bool unseal(const struct td_seal *s, enum part part, uint8_t *bytes, size_t size,
                   const uint8_t *with, size_t with_size, const uint8_t tag[TD_SEAL_TAG])
{
    uint8_t nonce[NONCE];
    make_nonce(s, part, nonce);
    if (s->cipher == TD_CIPHER_AES)
        return crypto_aead_aes256gcm_decrypt_detached_afternm(bytes, NULL, bytes, size, tag, with,
                                                              with_size, nonce, &s->aes) == 0;
    return crypto_aead_chacha20poly1305_ietf_decrypt_detached(bytes, NULL, bytes, size, tag, with,
                                                              with_size, nonce, s->key) == 0;
}

/* ---- checksums ---- */

/* sum returns the checksum of a part. The seed makes it that of one place in one stream. */
static uint64_t sum(const struct td_seal *s, enum part part, const uint8_t *bytes, size_t size)
{
    uint64_t stream = 0;
    memcpy(&stream, s->key, sizeof stream);
    return XXH3_64bits_withSeed(bytes, size, stream ^ (2 * s->frame + part));
}

static void put_sum(uint8_t *at, uint64_t value)
{
    put(&at, value, 8);
}

static bool has_sum(const uint8_t *at, uint64_t value)
{
    uint8_t wanted[8];
    put_sum(wanted, value);
    return memcmp(at, wanted, sizeof wanted) == 0;
}

/* is_sum returns true if a tag is the checksum and nothing else. */
static bool is_sum(const uint8_t tag[TD_SEAL_TAG], uint64_t value)
{
    static const uint8_t zeros[TD_SEAL_TAG - 8];
    return has_sum(tag, value) && memcmp(tag + 8, zeros, sizeof zeros) == 0;
}

/* ---- messages ---- */

void td_seal_message(struct td_seal *s, uint8_t *bytes, size_t size, uint8_t tag[TD_SEAL_TAG])
{
    begin_frame(s);
    if (td_seal_is_keyed(s)) {
        seal(s, HEAD, bytes, bytes, size, NULL, 0, tag);
        return;
    }
    memset(tag, 0, TD_SEAL_TAG);
    put_sum(tag, sum(s, HEAD, bytes, size));
}

bool td_seal_open_message(struct td_seal *s, uint8_t *bytes, size_t size,
                          const uint8_t tag[TD_SEAL_TAG])
{
    begin_frame(s);
    return td_seal_is_keyed(s) ? unseal(s, HEAD, bytes, size, NULL, 0, tag)
                               : is_sum(tag, sum(s, HEAD, bytes, size));
}

/* ---- frames ---- */

void td_seal_frame(struct td_seal *s, uint8_t head[TD_SEAL_HEAD], const uint8_t *from, uint8_t *to,
                   uint32_t bytes)
{
    uint8_t *tag = head + PAYLOAD_TAG;
    begin_frame(s);
    memset(tag, 0, 2 * TD_SEAL_TAG);
    if (from && s->kind == TD_SEAL_ENCRYPT) {
        seal(s, PAYLOAD, from, to, bytes, NULL, 0, tag);
    } else if (from && s->kind == TD_SEAL_AUTHENTICATE) {
        seal(s, PAYLOAD, tag, tag, 0, from, bytes, tag); /* nothing is encrypted */
    } else if (from) {
        put_sum(tag, sum(s, PAYLOAD, from, bytes));
        tag[SUMMED] = 1;
    }
    if (td_seal_is_keyed(s))
        seal(s, HEAD, head, head, TD_WIRE_PACKET_BYTES, tag, TD_SEAL_TAG, head + HEAD_TAG);
    else
        put_sum(head + HEAD_TAG, sum(s, HEAD, head, HEAD_TAG));
}

bool td_seal_open_head(struct td_seal *s, uint8_t head[TD_SEAL_HEAD])
{
    begin_frame(s);
    if (td_seal_is_keyed(s))
        return unseal(s, HEAD, head, TD_WIRE_PACKET_BYTES, head + PAYLOAD_TAG, TD_SEAL_TAG,
                      head + HEAD_TAG);
    return is_sum(head + HEAD_TAG, sum(s, HEAD, head, HEAD_TAG));
}

bool td_seal_open_payload(struct td_seal *s, const uint8_t head[TD_SEAL_HEAD], uint8_t *payload,
                          uint32_t bytes)
{
    const uint8_t *tag = head + PAYLOAD_TAG;
    uint8_t none = 0;
    if (s->kind == TD_SEAL_ENCRYPT)
        return unseal(s, PAYLOAD, payload, bytes, NULL, 0, tag);
    if (s->kind == TD_SEAL_AUTHENTICATE)
        return unseal(s, PAYLOAD, &none, 0, payload, bytes, tag);
    return !tag[SUMMED] || has_sum(tag, sum(s, PAYLOAD, payload, bytes));
}
