/* SPDX-License-Identifier: Apache-2.0 */
/* peers: the connections to other daemons.
 *
 * Each daemon listens with a ROUTER for tree messages and for channels, streams of packets, and
 * opens a DEALER and a channel to each daemon that it talks to: a link is one-way, what comes back
 * on it is the answer to the greetings alone. Tree messages are few, and ZeroMQ's thread takes them
 * off the loop; packets go straight to the socket, for a thread in between costs them more than the
 * way (docs/architecture.md). A connection is a session: ZeroMQ does not reconnect, we do, with a
 * new number. When either connection to a peer ends, the link does. Owns: sockets, received
 * payloads until RELEASE_BUFFER, tree messages until the core forgets them. */
#ifndef TD_IO_CONTROL_PEERS_H
#define TD_IO_CONTROL_PEERS_H

#include "io/loop.h"

struct td_peers *td_peers_create(struct td_loop *loop);
/* td_peers_bind listens; false with a sentence in why. */
bool td_peers_bind(struct td_peers *peers, char *why, size_t why_bytes);
/* td_peers_start connects to the neighbours in the node tree, and on the routed fabric to those in
 * the torus. */
void td_peers_start(struct td_peers *peers);
/* td_peers_close ends all connections; td_peers_free follows once the loop has closed its handles.
 */
void td_peers_close(struct td_peers *peers);
void td_peers_free(struct td_peers *peers);
void td_peers_send_tree(struct td_peers *peers, const struct td_action *action);
/* td_peers_forward_tree sends a received message on to a neighbour, or drops it when the connection
 * is down or its queue is full. */
void td_peers_forward_tree(struct td_peers *peers, const struct td_action *action);
/* td_peers_repeat_tree sends what is kept again, from that number on; td_peers_forget_tree keeps
 * what is up to it no longer. */
void td_peers_repeat_tree(struct td_peers *peers, uint32_t node, uint32_t via, uint64_t number);
void td_peers_forget_tree(struct td_peers *peers, uint32_t node, uint64_t number);
void td_peers_send_packet(struct td_peers *peers, const struct td_action *action);
void td_peers_forward_packet(struct td_peers *peers, const struct td_action *action);
void td_peers_drop(struct td_peers *peers, uint32_t node, const char *text);
const uint8_t *td_peers_buffer(struct td_peers *peers, uint32_t buffer);
/* td_peers_settle: a region is not referred to any more; what is half arrived there goes on
 * elsewhere. */
void td_peers_settle(struct td_peers *peers);
/* td_peers_region_lost: whose pages were lost is known, and zeroes are in their place. */
void td_peers_region_lost(struct td_peers *peers);
void td_peers_release_buffer(struct td_peers *peers, uint32_t buffer);
uint32_t td_peers_up(const struct td_peers *peers);
uint32_t td_peers_wanted(const struct td_peers *peers);

#endif
