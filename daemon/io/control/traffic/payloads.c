/* SPDX-License-Identifier: Apache-2.0 */
#include "payloads.h"

#include <stdlib.h>
#include <string.h>

#include "io/control/peer.h"

/* ---- at their places ---- */

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

/* ---- received, until the core releases them ---- */

struct buffer {
    struct td_payload *payload; /* NULL: unused entry */
    uint32_t next_free;
};

static bool grow(struct td_peers *peers)
{
    uint32_t more = peers->buffers ? peers->buffers : 64;
    struct buffer *grown = realloc(peers->buffer, (peers->buffers + more) * sizeof *grown);
    if (!grown)
        return false;
    for (uint32_t i = peers->buffers; i < peers->buffers + more; i++) {
        grown[i] = (struct buffer){.next_free = peers->buffer_free};
        peers->buffer_free = i;
    }
    peers->buffer = grown;
    peers->buffers += more;
    return true;
}

uint32_t td_peers_keep_buffer(struct td_peers *peers, struct td_payload *payload)
{
    if (peers->buffer_free == UINT32_MAX && !grow(peers))
        return UINT32_MAX;
    uint32_t handle = peers->buffer_free;
    peers->buffer_free = peers->buffer[handle].next_free;
    peers->buffer[handle].payload = payload;
    return handle;
}

struct td_payload *td_peers_share_buffer(struct td_peers *peers, uint32_t buffer)
{
    return td_payload_hold(peers->buffer[buffer].payload);
}

const uint8_t *td_peers_buffer(struct td_peers *peers, uint32_t buffer)
{
    return peers->buffer[buffer].payload->data;
}

void td_peers_release_buffer(struct td_peers *peers, uint32_t buffer)
{
    if (buffer >= peers->buffers || !peers->buffer[buffer].payload)
        return;
    struct buffer *b = &peers->buffer[buffer];
    td_payload_drop(b->payload);
    *b = (struct buffer){.next_free = peers->buffer_free};
    peers->buffer_free = buffer;
}

void td_peers_free_buffers(struct td_peers *peers)
{
    for (uint32_t i = 0; i < peers->buffers; i++)
        td_payload_drop(peers->buffer[i].payload);
    free(peers->buffer);
    peers->buffer = NULL;
    peers->buffers = 0;
}
