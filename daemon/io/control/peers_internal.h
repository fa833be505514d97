/* SPDX-License-Identifier: Apache-2.0 */
/* peers_internal: the structs and functions that the files of peers share.
 *
 *   peers.c            creation, the ROUTER, the listener, shutdown
 *   peers_handshake.c  checks incoming handshakes and replies to them
 *   peers_link.c       the link to one peer: DEALER and channel, replies, end, reconnection
 *   peers_receive.c    turns incoming messages and packets into events
 *   peers_send.c       sends and retransmits tree messages; sends packets, with lent bytes
 *   peers_delay.c      emulates the rate and latency of links
 *   peers_buffers.c    received payloads, until the core releases them */
#ifndef TD_IO_CONTROL_PEERS_INTERNAL_H
#define TD_IO_CONTROL_PEERS_INTERNAL_H

#include <zmq.h>

#include "io/alarm.h"
#include "io/bulk/channel.h"
#include "peers.h"
#include "wire/retransmit.h"
#include "wire/handshake.h"
#include "zsocket.h"

enum {
    SESSION_BYTES = 8,   /* the connection's number, before every frame; 0: a handshake */
    IDENTITY_BYTES = 13, /* 'T', node, connection */
    GREETING_BYTES_MAX = 1024,
    RETRY_MS = 50,
    ANSWER_MS = 5000, /* time limit of a handshake */
};

/* struct td_peer: the link to a peer, and its connections to this daemon. The link is up when the
 * peer has accepted both handshakes, first the DEALER's.
 * Invariant: `retry` runs while the link is wanted and not up, until the next attempt or the time
 * limit of the handshake. */
struct td_peer {
    struct td_peers *peers;
    uint32_t node;
    bool wanted, up, told_down, told_refused;
    bool absent; /* the last attempt was refused */
    bool steady; /* always needed: it reconnects within RETRY_MS_MAX */
    struct td_zsocket *dealer, *monitor;
    struct td_channel *channel;
    uint64_t session;      /* number of this daemon's connection to the peer */
    uint64_t incarnation;  /* of the peer, from its replies; 0: unknown */
    uint64_t session_in;   /* number of the peer's connection to this daemon */
    struct td_channel *in; /* the peer's packets arrive on it */
    uv_timer_t retry;
    unsigned retry_ms;
    td_time up_at;
    struct td_retransmit unacknowledged;        /* encoded tree messages */
    struct td_delayed *delayed, **delayed_last; /* delayed packets, in order */
    td_time delayed_until;                      /* when the last of them arrives */
    struct td_peer *next_slow;                  /* in the list of peers with delayed packets */
    bool is_slow;                               /* on that list; it stays there */
    char text[200];                             /* why the link is down */
    /* the last reasons that were logged: for the peer's rejection of this daemon, and for this
     * daemon's rejection of the peer */
    char refusal[200], refused[200];
};

struct td_peers {
    struct td_loop *loop;
    void *context;
    struct td_zloop zloop;
    struct td_zsocket *router;
    struct td_channels channels;
    struct td_payload_pool pool;
    struct td_listener *listener;
    struct td_peer *peer; /* [nodes] */
    char shape[128];
    char refused[200]; /* the same, for a daemon whose node number is invalid */
    uint32_t up, wanted;
    struct buffer *buffer;
    uint32_t buffers, buffer_free; /* UINT32_MAX: none */
    struct td_wire_memory memory;
    struct td_alarm delays; /* when the first delayed packet arrives */
    struct td_peer *slow;
};

static inline void put_u64(uint8_t *bytes, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t get_u64(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* ---- peers_handshake.c ---- */

/* td_peers_greeting returns the handshake of this daemon. */
struct td_greeting td_peers_greeting(struct td_peers *peers);
/* td_peers_encode_greeting writes SESSION_BYTES of zeros and the handshake. It returns the size of
 * both, or 0 if they do not fit. */
size_t td_peers_encode_greeting(const struct td_greeting *g, uint8_t *bytes, size_t size);
/* td_peers_receive_greeting replies to a handshake from the ROUTER, and
 * td_peers_receive_channel_greeting to one from a channel. */
void td_peers_receive_greeting(struct td_peers *peers, void *router, zmq_msg_t *identity,
                               const uint8_t *body, size_t size);
void td_peers_receive_channel_greeting(void *peers, struct td_channel *channel,
                                       const uint8_t *bytes, size_t size);

/* ---- peers_link.c ---- */

/* td_peers_open_socket returns a ZeroMQ socket for tree messages, or NULL with errno. */
void *td_peers_open_socket(struct td_peers *peers, int type);
/* td_peer_want keeps the link open from now on. */
void td_peer_want(struct td_peer *p);
void td_peer_connect(struct td_peer *p);
/* td_peer_hurry brings the next attempt to connect forward, because a message waits. */
void td_peer_hurry(struct td_peer *p);
/* td_peer_end closes the connections of a link, reports LINK_DOWN to the core once, and schedules
 * the next attempt: in after_ms, or by the back-off of the peer if after_ms is 0. td_peer_refused
 * does the same after a refused connection. */
void td_peer_end(struct td_peer *p, const char *text, unsigned after_ms);
void td_peer_refused(struct td_peer *p, const char *text);

/* ---- peers_receive.c ---- */

td_zreceive td_peers_receive_tree;
/* td_peer_place and td_peer_receive_packet are calls of a peer's channel (channel.h). */
struct td_payload *td_peer_place(void *peer, const struct td_packet *packet,
                                 struct td_payload *now);
void td_peer_receive_packet(void *peer, struct td_channel *channel, const struct td_packet *packet,
                            struct td_payload *payload);

/* ---- peers_send.c ---- */

/* td_peer_transmit sends a packet. It owns the payload, if any. */
void td_peer_transmit(struct td_peer *p, const struct td_packet *packet,
                      struct td_payload *payload);

/* ---- peers_delay.c ---- */

/* td_peers_are_slow returns true if the links have a rate or a latency. */
bool td_peers_are_slow(const struct td_peers *peers);
/* td_peer_delay sends a packet after the time that the link takes. It owns the payload, if any.
 * Without memory it returns false and changes nothing. */
bool td_peer_delay(struct td_peer *p, const struct td_packet *packet, struct td_payload *payload);
/* td_peers_send_due sends the delayed packets that are due; td_peer_drop_delayed drops those of a
 * peer. */
void td_peers_send_due(void *peers);
void td_peer_drop_delayed(struct td_peer *p);

/* ---- peers_buffers.c ---- */

/* td_peers_keep_buffer owns the payload from now on and returns its handle. Without memory it
 * returns UINT32_MAX and changes nothing. */
uint32_t td_peers_keep_buffer(struct td_peers *peers, struct td_payload *payload);
/* td_peers_share_buffer returns the payload with one more holder. */
struct td_payload *td_peers_share_buffer(struct td_peers *peers, uint32_t buffer);
void td_peers_free_buffers(struct td_peers *peers);

#endif
