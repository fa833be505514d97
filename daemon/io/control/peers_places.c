/* SPDX-License-Identifier: Apache-2.0 */
#include "peers_places.h"

#include <stdlib.h>
#include <string.h>

#include "io/loop.h"
#include "peers_internal.h"

_Static_assert((int)TD_PIECES_MAX <= (int)TD_PAYLOAD_PIECES, "a payload has room for all pieces");

struct td_places *td_places_new(struct td_peers *peers, const struct td_pieces *pieces,
                                uint32_t bytes, void (*release)(struct td_payload *payload))
{
    size_t several = pieces->count > 1 ? pieces->count * sizeof *pieces->piece : 0;
    struct td_places *p = malloc(sizeof *p + several);
    if (!p)
        return NULL;
    *p = (struct td_places){.payload = {.holders = 1,
                                        .bytes = bytes,
                                        .data = several ? NULL : pieces->piece[0].iov_base,
                                        .piece = p->piece,
                                        .pieces = several ? pieces->count : 0,
                                        .lent = true,
                                        .release = release},
                            .peers = peers,
                            .regions = pieces->regions};
    memcpy(p->piece, pieces->piece, several);
    for (unsigned i = 0; i < pieces->regions; i++) {
        p->region[i] = pieces->region[i];
        td_regions_hold(peers->loop->regions, pieces->region[i]);
    }
    return p;
}

void td_places_free(struct td_places *places)
{
    for (unsigned i = 0; i < places->regions; i++)
        td_regions_drop(places->peers->loop->regions, places->region[i]);
    free(places);
}

const uint8_t *td_places_first(const struct td_places *places)
{
    return places->payload.data ? places->payload.data : places->piece[0].iov_base;
}
