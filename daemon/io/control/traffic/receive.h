/* SPDX-License-Identifier: Apache-2.0 */
/* receive: turns incoming packets and tree messages into events. Tree messages that arrive before
 * their turn (core/net/early.h) are kept until the core takes them. */
#ifndef TD_IO_CONTROL_TRAFFIC_RECEIVE_H
#define TD_IO_CONTROL_TRAFFIC_RECEIVE_H

#include "core/action.h"
#include "io/bulk/channel.h"

struct td_peers;

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

/* td_peers_keep_early, td_peers_take_early and td_peers_forget_early execute the actions of the
 * core. A message that was taken is fed after the next one of td_peers_receive_message. */
void td_peers_keep_early(struct td_peers *peers, const struct td_action *action);
void td_peers_take_early(struct td_peers *peers, uint32_t node, uint64_t number);
void td_peers_forget_early(struct td_peers *peers, uint32_t node);
/* td_peers_free_early drops all messages. */
void td_peers_free_early(struct td_peers *peers);

#endif
