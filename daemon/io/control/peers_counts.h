/* SPDX-License-Identifier: Apache-2.0 */
/* peers_counts: counts of received packets that travel alone, and may wait.
 *
 * A stream brings many packets in one turn of the loop, and the core counts each. Their counts are
 * sent when the loop has looked at its streams, and before it looks again: ZeroMQ's messages are
 * handled between the two. A later packet to the node has later counts, and replaces them. */
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

#endif
