/* SPDX-License-Identifier: Apache-2.0 */
/* peers_receive: turns incoming messages and packets into events. */
#ifndef TD_IO_CONTROL_PEERS_RECEIVE_H
#define TD_IO_CONTROL_PEERS_RECEIVE_H

#include "io/bulk/channel.h"
#include "peers.h"
#include "zsocket.h"

td_zreceive td_peers_receive_tree;
/* td_peers_receive_message feeds a tree message of a node, and the early ones whose turn has come
 * by it. */
void td_peers_receive_message(struct td_peers *peers, uint32_t node, const uint8_t *body,
                              size_t size);
/* td_peer_place, td_peer_arriving and td_peer_receive_packet are calls of a peer's channel
 * (channel.h). */
struct td_payload *td_peer_place(void *peer, const struct td_packet *packet,
                                 struct td_payload *now);
void td_peer_arriving(void *peer, const struct td_packet *packet);
void td_peer_receive_packet(void *peer, struct td_channel *channel, const struct td_packet *packet,
                            struct td_payload *payload);

#endif
