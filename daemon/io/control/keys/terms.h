/* SPDX-License-Identifier: Apache-2.0 */
/* terms: the handshakes of this daemon, and the terms of sealed streams, which the handshake
 * of the control connection fixes.
 *
 * The request offers protections and ciphers and has 32 random bytes. The reply has the chosen ones
 * and 32 random bytes of its own. With keys, both travel inside CURVE. A stream over TCP with keys
 * is encrypted if one of its ends wants that, and authenticated otherwise; without keys it has
 * checksums. Unix sockets are not sealed. */
#ifndef TD_IO_CONTROL_KEYS_TERMS_H
#define TD_IO_CONTROL_KEYS_TERMS_H

#include "wire/handshake.h"
#include "zap.h"

struct td_peer;
struct td_peers;

/* td_peers_handshake returns the handshake of this daemon. */
struct td_handshake td_peers_handshake(struct td_peers *peers);
/* td_peers_encode_handshake writes SESSION_BYTES of zeros and the handshake. It returns the size of
 * both, or 0 if they do not fit. */
size_t td_peers_encode_handshake(const struct td_handshake *g, uint8_t *bytes, size_t size);
/* td_peer_offer begins the terms of the stream to a peer, whose key is `server` (NULL without
 * keys), and writes the offer to the handshake. */
void td_peer_offer(struct td_peer *p, struct td_handshake *request, const uint8_t *server);
/* td_peer_agree completes those terms from an accepting reply. It returns false if the reply chose
 * what was not offered. */
bool td_peer_agree(struct td_peer *p, const struct td_handshake *reply);
/* td_peer_choose sets the terms of the stream from a peer by its request, and writes the choice to
 * the reply. */
void td_peer_choose(struct td_peer *p, const struct td_handshake *request,
                    const struct td_origin *origin, struct td_handshake *reply);
/* td_peers_can_choose returns true if a request offers a protection that this daemon wants. */
bool td_peers_can_choose(const struct td_peers *peers, const struct td_handshake *request);
/* td_peers_find_terms is a call of the listener's channels (channel.h). */
const struct td_seal_terms *td_peers_find_terms(void *peers, uint64_t session, bool express);

#endif
