/* SPDX-License-Identifier: Apache-2.0 */
/* peers_send: sends and retransmits tree messages; sends packets, with lent bytes. */
#ifndef TD_IO_CONTROL_PEERS_SEND_H
#define TD_IO_CONTROL_PEERS_SEND_H

#include "io/bulk/channel.h"
#include "peers.h"

struct td_peer;

void td_peers_send_tree(struct td_peers *peers, const struct td_action *action);
/* td_peers_forward_tree sends a received message on to a neighbour, or drops it when the connection
 * is down or its queue is full. */
void td_peers_forward_tree(struct td_peers *peers, const struct td_action *action);
/* td_peers_repeat_tree retransmits the kept messages from a number on. td_peers_forget_tree drops
 * the kept messages up to a number. */
void td_peers_repeat_tree(struct td_peers *peers, uint32_t node, uint32_t via, uint64_t number);
void td_peers_forget_tree(struct td_peers *peers, uint32_t node, uint64_t number);
void td_peers_send_packet(struct td_peers *peers, const struct td_action *action);
void td_peers_forward_packet(struct td_peers *peers, const struct td_action *action);
/* td_peer_transmit sends a packet. It owns the payload, if any. */
void td_peer_transmit(struct td_peer *p, const struct td_packet *packet,
                      struct td_payload *payload);

#endif
