/* SPDX-License-Identifier: Apache-2.0 */
/* peers_counts: counts of received packets that travel alone.
 *
 * A stream brings many packets in one turn of the loop, and the core counts each. The counts of a
 * turn are sent when the loop has looked at its streams, and before it looks again: ZeroMQ's
 * messages are handled between the two. Later counts replace earlier ones, and a packet of data
 * takes them along. */
#ifndef TD_IO_CONTROL_PEERS_COUNTS_H
#define TD_IO_CONTROL_PEERS_COUNTS_H

#include "model/message.h"

struct td_peer;
struct td_peers;

void td_peers_counts_init(struct td_peers *peers);
/* td_peers_counts_close sends the counts that wait, and closes the handles of the loop. */
void td_peers_counts_close(struct td_peers *peers);
/* td_peer_keep_counts keeps counts for the end of the turn. */
void td_peer_keep_counts(struct td_peer *p, const struct td_packet *packet);
/* td_peer_counts_ride is told of a packet that is sent next: it has later counts of its direction.
 * It returns false if the link has ended meanwhile. */
bool td_peer_counts_ride(struct td_peer *p, const struct td_packet *packet);

#endif
