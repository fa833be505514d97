/* SPDX-License-Identifier: Apache-2.0 */
/* packet: the headers of packets between daemons. */
#ifndef TD_WIRE_PACKET_H
#define TD_WIRE_PACKET_H

#include "wire.h"

/* The header of a packet; the payload follows it. */
enum { TD_WIRE_PACKET_BYTES = 128 };
void td_wire_encode_packet(const struct td_packet *packet, uint8_t bytes[TD_WIRE_PACKET_BYTES]);
td_err td_wire_decode_packet(const uint8_t *bytes, size_t size, struct td_packet *packet,
                             const char **why);

#endif
