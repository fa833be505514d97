/* SPDX-License-Identifier: Apache-2.0 */
/* peers_delay: emulates the rate and latency of links. */
#ifndef TD_IO_CONTROL_PEERS_DELAY_H
#define TD_IO_CONTROL_PEERS_DELAY_H

#include "io/bulk/channel.h"
#include "peers.h"

struct td_peer;

/* td_peers_are_slow returns true if the links have a rate or a latency. */
bool td_peers_are_slow(const struct td_peers *peers);
/* td_peer_delay sends a packet after the time that the link takes. It owns the payload, if any.
 * Without memory it returns false and changes nothing. */
bool td_peer_delay(struct td_peer *p, const struct td_packet *packet, struct td_payload *payload);
/* td_peers_send_due sends the delayed packets that are due; td_peer_drop_delayed drops those of a
 * peer. */
void td_peers_send_due(void *peers);
void td_peer_drop_delayed(struct td_peer *p);

#endif
