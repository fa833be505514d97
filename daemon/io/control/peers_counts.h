/* SPDX-License-Identifier: Apache-2.0 */
/* peers_counts: counts of received packets that travel alone.
 *
 * A stream brings many packets in one turn of the loop, and the core counts each. The counts of a
 * turn are sent when it ends: later ones replace them, and a packet of data takes them along. */
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
/* td_peer_counts_ride is told of a packet of data that is sent next, which has later counts. */
void td_peer_counts_ride(struct td_peer *p, const struct td_packet *packet);

#endif
