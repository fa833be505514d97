/* SPDX-License-Identifier: Apache-2.0 */
/* peers_places: payloads whose bytes are at their places in regions, in one or several pieces.
 * Owns: the record of each, and a holder of each of its regions until it is freed. */
#ifndef TD_IO_CONTROL_PEERS_PLACES_H
#define TD_IO_CONTROL_PEERS_PLACES_H

#include "io/bulk/payload.h"
#include "io/clients/regions.h"
#include "peers.h"

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

#endif
