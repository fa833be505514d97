/* SPDX-License-Identifier: Apache-2.0 */
/* link: the link to one peer: DEALER and channel, replies, end, reconnection. */
#ifndef TD_IO_CONTROL_LINK_LINK_H
#define TD_IO_CONTROL_LINK_LINK_H

#include "io/bulk/channel.h"

struct td_peer;
struct td_peers;

/* td_peers_open_socket returns a ZeroMQ socket for tree messages, or NULL with errno. */
void *td_peers_open_socket(struct td_peers *peers, int type);
/* td_peer_want keeps the link open from now on. */
void td_peer_want(struct td_peer *p);
void td_peer_connect(struct td_peer *p);
/* td_peer_open_stream opens a stream to a peer that has accepted the handshake of the control
 * connection: of packets, or of tree messages. It returns NULL with errno on an error. */
struct td_channel *td_peer_open_stream(struct td_peer *p, const struct td_channel_calls *calls);
/* td_peer_accepted checks the reply to a handshake of this daemon. It returns false if the reply is
 * malformed, or if the handshake failed; then the link has ended. */
bool td_peer_accepted(struct td_peer *p, const uint8_t *body, size_t size);
/* td_peer_hurry brings the next attempt to connect forward, because a message waits. */
void td_peer_hurry(struct td_peer *p);
/* td_peer_end closes the connections of a link, reports LINK_DOWN to the core once, and schedules
 * the next attempt: in after_ms, or by the back-off of the peer if after_ms is 0. */
void td_peer_end(struct td_peer *p, const char *text, unsigned after_ms);
/* td_peer_end_in ends the connections from the peer to this daemon: the peer's link. */
void td_peer_end_in(struct td_peer *p);
/* td_peers_drop ends the link to a node, because the core asks for it. */
void td_peers_drop(struct td_peers *peers, uint32_t node, const char *text);
/* td_peers_part ends the connections to and from a node whose daemon has said goodbye. The daemon
 * waits for that. */
void td_peers_part(struct td_peers *peers, uint32_t node, const char *text);

#endif
