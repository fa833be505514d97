/* SPDX-License-Identifier: Apache-2.0 */
/* payloads: those whose bytes are at their places in regions, in one or several pieces, and those
 * that were received, until the core releases them.
 * Owns: the record of each, and a holder of each of its regions until it is freed. */
#ifndef TD_IO_CONTROL_TRAFFIC_PAYLOADS_H
#define TD_IO_CONTROL_TRAFFIC_PAYLOADS_H

#include "io/bulk/payload.h"
#include "io/clients/regions.h"

struct td_peers;

struct td_places {
    struct td_payload payload;
    struct td_peers *peers;
    uint64_t handle; /* of a payload that is sent: what SENT names */
    unsigned regions;
    uint32_t region[TD_PIECES_REGIONS];
    struct iovec piece[]; /* if there are several */
};

/* td_places_new returns a payload with these bytes, or NULL without memory. td_places_free frees
 * it, in `release`. */
struct td_places *td_places_new(struct td_peers *peers, const struct td_pieces *pieces,
                                uint32_t bytes, void (*release)(struct td_payload *payload));
void td_places_free(struct td_places *places);
/* td_places_first returns the address of its first byte. */
const uint8_t *td_places_first(const struct td_places *places);

/* td_peers_keep_buffer owns the payload from now on and returns its handle. Without memory it
 * returns UINT32_MAX and changes nothing. */
uint32_t td_peers_keep_buffer(struct td_peers *peers, struct td_payload *payload);
/* td_peers_share_buffer returns the payload with one more holder. */
struct td_payload *td_peers_share_buffer(struct td_peers *peers, uint32_t buffer);
void td_peers_free_buffers(struct td_peers *peers);
/* td_peers_buffer returns the bytes of a buffer, or NULL if they are at their places already;
 * td_peers_release_buffer ends the core's use of it. */
const uint8_t *td_peers_buffer(struct td_peers *peers, uint32_t buffer);
void td_peers_release_buffer(struct td_peers *peers, uint32_t buffer);

#endif
