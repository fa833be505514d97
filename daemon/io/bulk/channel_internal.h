/* SPDX-License-Identifier: Apache-2.0 */
/* channel_internal: the structs that the files of channels share. Each file has a header of its
 * own.
 *
 *   channel.c         connections, handshakes, packets
 *   channel_output.c  writes, and the end of a channel
 *   express.c         tree messages */
#ifndef TD_IO_BULK_CHANNEL_INTERNAL_H
#define TD_IO_BULK_CHANNEL_INTERNAL_H

#include "channel.h"
#include "endpoint.h"

enum {
    STAGING_BYTES = 32768, /* headers, short payloads and tree messages are read together */
};
_Static_assert((int)TD_TREE_MESSAGE_MAX + 4 + (int)TD_SEAL_TAG <= (int)STAGING_BYTES,
               "a tree message is read whole");

/* struct td_pending: tree messages that are not written yet. */
struct td_pending {
    uint8_t *bytes;
    size_t used, room;
};

struct td_channel {
    struct td_channels *channels;
    struct td_channel *next, **link;
    union td_stream socket;
    uv_timer_t handshake_timer;      /* runs from the connection to the handshake; later: while the
                                        channel waits for its next turn */
    unsigned handles;                /* handles not closed yet */
    bool closed, handshake_received; /* handshake_received: the other end's handshake has arrived */
    bool stranger;                   /* accepted, without a user of its own */
    bool express;                    /* it carries tree messages */
    bool sealed;                     /* frames are sealed by `out` and `in` */
    uint64_t session;
    struct td_seal out, in;
    uint8_t head[TD_SEAL_HEAD]; /* of the packet that is arriving, if it is sealed */
    const struct td_channel_calls *calls;
    void *user;
    uv_connect_t connect;
    unsigned waiting; /* writes in progress */
    struct td_pending pending;
    struct td_channel *next_pending; /* in the list of channels with pending messages */
    bool is_pending;
    /* the packet that is arriving */
    struct td_packet packet;
    bool is_long;               /* the last payload did not fit the staging buffer */
    struct td_payload *payload; /* with `filled` bytes received; NULL: a header is next */
    bool placed;                /* not in memory of the channel */
    bool was_placed;            /* placed at some time: its bytes may have changed since */
    uint32_t filled;
    int scattered; /* why on_alloc, which reads to pieces of memory, leaves nothing to libuv; or 0
                    */
    uint32_t turn; /* bytes read in a row */
    uint64_t told; /* time of the last call of `arriving`, in ms of the loop */
    size_t staged;
    uint8_t staging[STAGING_BYTES];
};

static inline void td_channel_put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t td_channel_get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

#endif
