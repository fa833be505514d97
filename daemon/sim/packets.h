/* SPDX-License-Identifier: Apache-2.0 */
/* packets: packets between nodes. On modelled and timing-only links an event holds the whole
 * packet; else the packet is a parcel, with an encoded header and its bytes. */
#ifndef TD_SIM_PACKETS_H
#define TD_SIM_PACKETS_H

#include "state.h"

struct parcel;

/* packets_send and packets_forward execute an action of a node. */
void packets_send(struct td_sim *sim, uint32_t node, const struct td_action *a);
void packets_forward(struct td_sim *sim, uint32_t node, const struct td_action *a);
/* packets_forge sends a packet that no core sent (faults.h). */
void packets_forge(struct td_sim *sim, uint32_t from, uint32_t to, const struct td_packet *packet,
                   const uint8_t *payload);
/* packets_read reads the bytes of a packet, when its SENT is due. packets_sent tells its source
 * that they may change. */
void packets_read(struct td_sim *sim, const struct event *e);
void packets_sent(struct td_sim *sim, const struct event *e);
/* packets_land stores the first bytes of a packet at their destination, before it has arrived. */
void packets_land(struct td_sim *sim, const struct event *e);
/* packets_receive passes a packet that has arrived to its core. */
void packets_receive(struct td_sim *sim, struct event *e);
/* packets_release removes one holder of a parcel. */
void packets_release(struct parcel *parcel);

#endif
