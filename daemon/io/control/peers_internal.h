/* SPDX-License-Identifier: Apache-2.0 */
/* peers_internal: what the files of peers share, and nobody else sees.
 *
 *   peers.c          the ROUTER, the listener, and the life of it all
 *   peers_greet.c    greetings that come in: who is accepted
 *   peers_link.c     the link to one peer: its DEALER and its channel, their answers, its end, the
 *                    next attempt
 *   peers_receive.c  what comes in becomes events
 *   peers_send.c     tree messages and packets go out; messages that may have to go again; lent
 *                    bytes
 *   peers_delay.c    what a link's rate and latency hold back
 *   peers_buffers.c  payloads that came in, until the core releases them */
#ifndef TD_IO_CONTROL_PEERS_INTERNAL_H
#define TD_IO_CONTROL_PEERS_INTERNAL_H

#include <zmq.h>

#include "io/alarm.h"
#include "io/bulk/channel.h"
#include "peers.h"
#include "wire/retransmit.h"
#include "wire/wire.h"
#include "zsocket.h"

enum {
    SESSION_BYTES = 8,   /* in front of every frame; 0: a greeting */
    IDENTITY_BYTES = 13, /* 'T', node, session */
    GREETING_BYTES_MAX = 1024,
    RETRY_MS = 50,
    ANSWER_MS = 5000, /* for greetings to come and to be answered */
};

/* struct td_peer: a link, and who sends to us from there. It is up when both greetings of this
 * session were accepted, the DEALER's first. Invariant: `retry` runs while the link is wanted and
 * not up, to connect again or to give up waiting for answers. */
struct td_peer {
    struct td_peers *peers;
    uint32_t node;
    bool wanted, up, told_down, told_refused;
    bool absent; /* nobody listened there when it was tried last */
    bool steady; /* somebody may always be waiting for it: see RETRY_MS_MAX */
    struct td_zsocket *dealer, *monitor;
    struct td_channel *channel;
    uint64_t session;
    uint64_t incarnation;  /* of the far end, as its answers say */
    uint64_t session_in;   /* of its tree messages */
    struct td_channel *in; /* brings its packets */
    uv_timer_t retry;
    unsigned retry_ms;
    td_time up_at;
    struct td_retransmit unacknowledged;        /* tree messages, as encoded */
    struct td_delayed *delayed, **delayed_last; /* packets on their way, in order */
    td_time delayed_until;                      /* when the last of them is there */
    struct td_peer *next_slow;                  /* of those that had any, ever: */
    bool is_slow;
    char text[200];                  /* why it is down */
    char refusal[200], refused[200]; /* last logged: its refusal of us, ours of it */
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
    char refused[200]; /* as a peer's, of strangers */
    uint32_t up, wanted;
    struct buffer *buffer;
    uint32_t buffers, buffer_free; /* UINT32_MAX: none */
    struct td_wire_memory memory;
    struct td_alarm delays; /* when the first delayed packet is there */
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

/* ---- peers_greet.c ---- */

struct td_greeting td_peers_greeting(struct td_peers *peers);
/* td_peers_encode_greeting writes it behind SESSION_BYTES of zeroes; returns its size with them. */
size_t td_peers_encode_greeting(const struct td_greeting *g, uint8_t *bytes, size_t size);
/* td_peers_take_greeting answers a greeting that came in on the ROUTER;
 * td_peers_take_channel_greeting one on a channel. */
void td_peers_take_greeting(struct td_peers *peers, void *router, zmq_msg_t *identity,
                            const uint8_t *body, size_t size);
void td_peers_take_channel_greeting(void *peers, struct td_channel *channel, const uint8_t *bytes,
                                    size_t size);

/* ---- peers_link.c ---- */

/* td_peers_open_socket returns a ZeroMQ socket for tree messages; NULL with errno. */
void *td_peers_open_socket(struct td_peers *peers, int type);
/* td_peer_want makes the link be kept up from now on. */
void td_peer_want(struct td_peer *p);
void td_peer_connect(struct td_peer *p);
/* td_peer_hurry: a message waits for the link, so the next attempt is not far away. */
void td_peer_hurry(struct td_peer *p);
/* td_peer_end closes what there is of a link, tells the core once, and arranges the next attempt:
 * after_ms from now, 0 for the peer's own rhythm. td_peer_refused: nobody listens there. */
void td_peer_end(struct td_peer *p, const char *text, unsigned after_ms);
void td_peer_refused(struct td_peer *p, const char *text);

/* ---- peers_receive.c ---- */

td_zreceive td_peers_receive_tree;
/* What the channel of a peer calls. */
struct td_payload *td_peer_place(void *peer, const struct td_packet *packet,
                                 struct td_payload *now);
void td_peer_receive_packet(void *peer, struct td_channel *channel, const struct td_packet *packet,
                            struct td_payload *payload);

/* ---- peers_send.c ---- */

/* td_peer_transmit sends a packet and, if there is one, its payload, which it takes. */
void td_peer_transmit(struct td_peer *p, const struct td_packet *packet,
                      struct td_payload *payload);

/* ---- peers_delay.c ---- */

/* td_peers_are_slow: whether packets are to be delayed at all. */
bool td_peers_are_slow(const struct td_peers *peers);
/* td_peer_delay sends a packet when it has passed the link, and takes its payload, if there is one.
 * False, without memory: nothing was done. */
bool td_peer_delay(struct td_peer *p, const struct td_packet *packet, struct td_payload *payload);
/* td_peers_send_due sends what is due. */
void td_peers_send_due(void *peers);
void td_peer_drop_delayed(struct td_peer *p);

/* ---- peers_buffers.c ---- */

/* td_peers_keep_buffer takes over the payload and returns its handle; UINT32_MAX without memory:
 * nothing was done. */
uint32_t td_peers_keep_buffer(struct td_peers *peers, struct td_payload *payload);
/* td_peers_share_buffer returns the payload, held once more. */
struct td_payload *td_peers_share_buffer(struct td_peers *peers, uint32_t buffer);
void td_peers_free_buffers(struct td_peers *peers);

#endif
