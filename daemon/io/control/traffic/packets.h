/* SPDX-License-Identifier: Apache-2.0 */
/* packets: sends packets, with lent bytes.
 *
 * Counts. A stream brings many packets in one turn of the loop, and the core counts each. Counts of
 * received packets that travel alone are sent when the loop has looked at its streams, and before
 * it looks again: ZeroMQ's messages are handled between the two. A later packet to the node has
 * later counts, and replaces them.
 *
 * Delays emulate a link's rate and latency. The core spaces packets (link_rate). This file holds
 * each packet until its last byte would reach the other end, and delivers packets in order. A
 * packet without payload carries counts that ride on the next packet, and takes as long as a full
 * one, as in torus-sim. Tree messages are not delayed. Credits bound the held packets. When the
 * link ends they are dropped, and the session retransmits them. */
#ifndef TD_IO_CONTROL_TRAFFIC_PACKETS_H
#define TD_IO_CONTROL_TRAFFIC_PACKETS_H

#include "core/action.h"

struct td_payload;
struct td_peer;
struct td_peers;

void td_peers_send_packet(struct td_peers *peers, const struct td_action *action);
void td_peers_forward_packet(struct td_peers *peers, const struct td_action *action);
/* td_peer_transmit sends a packet at once. It owns the payload, if any. */
void td_peer_transmit(struct td_peer *p, const struct td_packet *packet,
                      struct td_payload *payload);
void td_peers_counts_init(struct td_peers *peers);
/* td_peers_counts_close sends the counts that wait, and closes the handles of the loop. */
void td_peers_counts_close(struct td_peers *peers);
/* td_peer_keep_counts keeps counts for the end of the turn. */
void td_peer_keep_counts(struct td_peer *p, const struct td_packet *packet);
/* td_peers_are_slow returns true if the links have a rate or a latency. */
bool td_peers_are_slow(const struct td_peers *peers);
/* td_peers_send_due sends the delayed packets that are due. */
void td_peers_send_due(void *peers);

#endif
