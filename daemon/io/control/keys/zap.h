/* SPDX-License-Identifier: Apache-2.0 */
/* zap: which keys may connect to the ROUTER. ZeroMQ asks here (ZAP, RFC 27) when a connection
 * has proved its key, and attaches the key to each of its messages ("User-Id"). */
#ifndef TD_IO_CONTROL_KEYS_ZAP_H
#define TD_IO_CONTROL_KEYS_ZAP_H

#include <stdbool.h>
#include <zmq.h>

#include "wire/key.h"

struct td_peers;

/* struct td_origin: where a message comes from. */
struct td_origin {
    uint32_t node;             /* the place of its key; UINT32_MAX: without keys */
    bool revoked;              /* its key is not in the list any more */
    const uint8_t *public_key; /* NULL: without keys; valid until the next request of ZAP */
};

/* td_peers_start_zap answers ZeroMQ from now on. It must precede the ROUTER's bind: ZeroMQ accepts
 * every key while nobody answers. It returns false with errno. */
bool td_peers_start_zap(struct td_peers *peers);
/* td_peers_origin returns the origin of a message of the ROUTER. td_peers_address returns its
 * address, valid as long as the message. */
struct td_origin td_peers_origin(const struct td_peers *peers, zmq_msg_t *message);
const char *td_peers_address(zmq_msg_t *message);
/* td_origin_key writes the first digits of the key, or "". */
void td_origin_key(const struct td_origin *origin, char text[TD_KEY_PREFIX + 1]);
/* td_peers_renew_holders applies a new list of peers to the keys that have connected. */
void td_peers_renew_holders(struct td_peers *peers);
/* td_peers_set_keys sets this node's keys on a ROUTER, or on a DEALER to the daemon with the key
 * `server`. Without keys it only keeps other users from Unix sockets. It returns false with errno.
 */
bool td_peers_set_keys(const struct td_peers *peers, void *socket, const uint8_t *server);

#endif
