/* SPDX-License-Identifier: Apache-2.0 */
/* key: the key pairs of daemons. A key is 32 bytes of Curve25519, and 64 hexadecimal digits in
 * files and messages. The file of a secret key is a line "secret KEY"; # begins a comment. */
#ifndef TD_WIRE_KEY_H
#define TD_WIRE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TD_KEY_BYTES = 32,
    TD_KEY_TEXT = 2 * TD_KEY_BYTES + 1,
    TD_KEY_PREFIX = 8, /* digits that identify a key in a log */
};

/* td_key_print writes the digits of a key. td_key_read reads `length` digits, and returns false if
 * they are not a key. */
void td_key_print(const uint8_t key[TD_KEY_BYTES], char text[TD_KEY_TEXT]);
bool td_key_read(const char *text, size_t length, uint8_t key[TD_KEY_BYTES]);
/* td_key_random draws random bytes from the system. td_key_public computes the public key of a
 * secret key. td_key_wipe clears memory that held a secret. */
void td_key_random(uint8_t *bytes, size_t size);
void td_key_public(const uint8_t secret[TD_KEY_BYTES], uint8_t public_key[TD_KEY_BYTES]);
void td_key_wipe(void *memory, size_t size);
/* td_key_write writes a secret key to a new file that only its owner may read. `replaces`: the file
 * may exist, and is replaced at once. It returns false with errno. */
bool td_key_write(const char *path, const uint8_t secret[TD_KEY_BYTES], bool replaces);

#endif
