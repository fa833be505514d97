/* SPDX-License-Identifier: Apache-2.0 */
/* target: where a peer is looked for, and with which key. */
#ifndef TD_IO_CONTROL_KEYS_TARGET_H
#define TD_IO_CONTROL_KEYS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct td_peer;
struct td_peers;

/* td_peer_bulk writes the bulk endpoint of a peer. It cannot fail: the configuration is checked. */
void td_peer_bulk(const struct td_peer *p, char *bulk, size_t bytes);
/* td_peer_resolve writes an endpoint of the peer with the numeric address of its host, if that is
 * known. */
void td_peer_resolve(const struct td_peer *p, const char *endpoint, char *text, size_t bytes);
/* td_peer_key returns the key that the peer must prove, or NULL without keys. td_peer_turn_key
 * chooses its other key after a handshake that failed. It returns false if all were tried. */
const uint8_t *td_peer_key(const struct td_peer *p);
bool td_peer_turn_key(struct td_peer *p);
/* td_peers_note_stranger notes that a connection with an unknown key has come from an address. It
 * is a reason why a link to a peer there does not come up. `key`: its first digits. */
void td_peers_note_stranger(struct td_peers *peers, const char *address, const char *key);

#endif
