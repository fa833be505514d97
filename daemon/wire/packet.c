/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a packet is fixed and little-endian. It is written field by field, so its form does
 * not depend on the compiler's layout of the struct. docs/protocol.md has the table. */
#include "packet.h"

#include <string.h>

enum {
    MAGIC = 0x54444b50, /* "PKDT" */
    CHANNELS = sizeof((struct td_packet *)0)->channel_freed / sizeof(uint32_t),
};

static uint8_t *put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *at++ = (uint8_t)(value >> (8 * i));
    return at;
}

static uint64_t get(const uint8_t **at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t) * (*at)++ << (8 * i);
    return value;
}

void td_wire_encode_packet(const struct td_packet *p, uint8_t bytes[TD_WIRE_PACKET_BYTES])
{
    memset(bytes, 0, TD_WIRE_PACKET_BYTES);
    uint8_t *at = put(bytes, MAGIC, 4);
    at = put(at, p->kind, 4);
    at = put(at, p->session, 4);
    at = put(at, p->counts_session, 4);
    at = put(at, p->link_sequence, 8);
    at = put(at, p->received, 8);
    at = put(at, p->freed, 8);
    at = put(at, p->instance, 8);
    at = put(at, p->sequence, 8);
    at = put(at, p->index, 8);
    at = put(at, p->offset, 8);
    at = put(at, p->group, 4);
    at = put(at, p->family, 4);
    at = put(at, p->bytes, 4);
    at = put(at, p->direction, 1);
    at = put(at, p->channel, 1);
    for (int d = 0; d < TD_DIMENSIONS_MAX; d++)
        at = put(at, (uint16_t)p->left[d], 2);
    at = put(at, p->origin, 4);
    at = put(at, p->destination, 4);
    at = put(at, p->ticket, 4);
    for (int c = 0; c < CHANNELS; c++)
        at = put(at, p->channel_freed[c], 4);
}

td_err td_wire_decode_packet(const uint8_t *bytes, size_t size, struct td_packet *p,
                             const char **why)
{
    const uint8_t *at = bytes;
    if (size != TD_WIRE_PACKET_BYTES || get(&at, 4) != MAGIC) {
        *why = "not a packet header";
        return TD_ERR_PROTOCOL;
    }
    uint64_t kind = get(&at, 4);
    if (kind != TD_PACKET_DATA && kind != TD_PACKET_CREDIT) {
        *why = "packet of unknown kind";
        return TD_ERR_PROTOCOL;
    }
    *p = (struct td_packet){.kind = (enum td_packet_kind)kind};
    p->session = (uint32_t)get(&at, 4);
    p->counts_session = (uint32_t)get(&at, 4);
    p->link_sequence = get(&at, 8);
    p->received = get(&at, 8);
    p->freed = get(&at, 8);
    p->instance = get(&at, 8);
    p->sequence = get(&at, 8);
    p->index = get(&at, 8);
    p->offset = get(&at, 8);
    p->group = (uint32_t)get(&at, 4);
    p->family = (uint32_t)get(&at, 4);
    p->bytes = (uint32_t)get(&at, 4);
    p->direction = (uint8_t)get(&at, 1);
    p->channel = (uint8_t)get(&at, 1);
    for (int d = 0; d < TD_DIMENSIONS_MAX; d++)
        p->left[d] = (int16_t)get(&at, 2);
    p->origin = (uint32_t)get(&at, 4);
    p->destination = (uint32_t)get(&at, 4);
    p->ticket = (uint32_t)get(&at, 4);
    for (int c = 0; c < CHANNELS; c++)
        p->channel_freed[c] = (uint32_t)get(&at, 4);
    return TD_OK;
}
