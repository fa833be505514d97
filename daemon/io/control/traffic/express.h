/* SPDX-License-Identifier: Apache-2.0 */
/* express: the express path of tree messages (docs/architecture.md).
 *
 * If both ends have [network] express, a daemon opens a third connection to a peer when it sends it
 * the first message of an operation: a channel to the peer's listener, which no thread of ZeroMQ
 * serves. Once both handshakes are done, it takes all numbered tree messages; those that ZeroMQ
 * still carries may arrive later (core/net/early.h). If it cannot be opened, ZeroMQ goes on; if it
 * ends later, the link ends. */
#ifndef TD_IO_CONTROL_TRAFFIC_EXPRESS_H
#define TD_IO_CONTROL_TRAFFIC_EXPRESS_H

#include "io/bulk/channel.h"
#include "model/message.h"

struct td_peer;
struct td_peers;

/* td_peer_want_express opens the connection, if a message of this kind needs it and the peer
 * accepts it. The link is up. */
void td_peer_want_express(struct td_peer *p, enum td_message_kind kind);
/* td_peer_send_express sends a numbered message. It returns false if ZeroMQ must carry it. A
 * `loose` message, which its sender keeps, is dropped if too many wait. */
bool td_peer_send_express(struct td_peer *p, const uint8_t *bytes, size_t size, bool loose);
/* td_peer_accept_express makes a channel of the peer its connection, in place of an older one. */
void td_peer_accept_express(struct td_peer *p, struct td_channel *channel);
/* td_peers_flush writes the messages that wait for the end of a step. */
void td_peers_flush(struct td_peers *peers);

#endif
