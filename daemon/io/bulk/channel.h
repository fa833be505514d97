/* SPDX-License-Identifier: Apache-2.0 */
/* channel: a stream of packets, or of tree messages (express.h), from one daemon to another, over
 * TCP or a Unix socket.
 *
 * First each end sends a handshake. Streams over TCP are sealed (seal.h): with keys, the handshake
 * is the first sealed frame, and nothing of the other end is parsed or kept before it has proved
 * its key; then payloads are neither lent nor placed, because tags are computed over memory that no
 * client can change. Then packets or messages travel one way, from the end that connected. A packet
 * is a header of fixed size, then the payload. The payload is written from its place and read into
 * its place. No thread is between a packet and its socket, and bytes that fit the socket's buffer
 * are not copied. The rest waits here, in order; the user bounds it by credits. Owns: the stream,
 * and the packets that wait for it. All functions run on the loop's thread. */
#ifndef TD_IO_BULK_CHANNEL_H
#define TD_IO_BULK_CHANNEL_H

#include <stdbool.h>
#include <uv.h>

#include "io/descriptors.h"
#include "payload.h"
#include "seal.h"
#include "model/message.h"

struct td_channel;

/* struct td_channel_calls: the functions that a channel calls in its user. Each may close the
 * channel. */
struct td_channel_calls {
    bool carries_messages; /* a channel that is opened with these calls carries tree messages */
    void (*handshake)(void *user, struct td_channel *channel, const uint8_t *bytes, size_t size);
    /* place may be NULL. If `now` is NULL it returns a payload that receives the packet's bytes, or
     * NULL: the channel allocates one. Before each further read into that payload the channel calls
     * it again with the payload as `now`; it returns the payload, or NULL if the memory must not be
     * written any more. */
    struct td_payload *(*place)(void *user, const struct td_packet *packet, struct td_payload *now);
    /* packet owns the payload from now on. The payload is NULL if the packet has none. */
    void (*packet)(void *user, struct td_channel *channel, const struct td_packet *packet,
                   struct td_payload *payload);
    /* arriving may be NULL. It hears that a part of a packet has arrived, at most once in
     * `arriving_ms`. */
    void (*arriving)(void *user, const struct td_packet *packet);
    /* message reads a tree message. The bytes are valid until it returns. */
    void (*message)(void *user, struct td_channel *channel, const uint8_t *bytes, size_t size);
    /* terms returns the terms of the stream (of packets, or `express`) that belongs to a session
     * and has not begun, or NULL. Only a listener's channels with keys call it. */
    const struct td_seal_terms *(*terms)(void *user, uint64_t session, bool express);
    /* ended: the stream has ended and closes. `violation`: the far end violated the protocol. */
    void (*ended)(void *user, struct td_channel *channel, bool violation, const char *why);
};

/* struct td_channels: the shared state of all channels of a daemon. */
struct td_channels {
    uv_loop_t *uv;
    struct td_payload_pool *pool;
    struct td_descriptors *descriptors; /* of listeners */
    unsigned handshake_ms;              /* time limit for the handshake of a new connection */
    unsigned silence_ms;                /* ends a TCP stream without acknowledgements */
    const char *congestion;             /* of TCP streams; borrowed; NULL: the kernel's default */
    unsigned arriving_ms;               /* between two calls of `arriving` */
    bool keyed;                         /* TCP streams must prove keys */
    uint64_t frames_per_key;            /* of sealed streams; 0: TD_SEAL_FRAMES_PER_KEY */
    /* The system could not read or write lent or placed memory: some of its pages are lost. From
     * then on no memory is lent or placed, so that the copying code meets the lost page and can
     * name its region. */
    bool faulted;
    uint64_t bulk_reads; /* of streams of packets */
    bool more; /* tree messages that have arrived together wait for the one being handled */
    struct td_channel *first, *pending; /* pending: with tree messages that are not written yet */
};

/* td_channel_open connects to tcp://ADDRESS:PORT (a numeric address) or ipc://PATH and sends the
 * handshake. The stream is sealed by the terms, if not NULL. It returns NULL with errno on an
 * error. */
struct td_channel *td_channel_open(struct td_channels *channels, const char *endpoint,
                                   const uint8_t *handshake, size_t size,
                                   const struct td_seal_terms *terms,
                                   const struct td_channel_calls *calls, void *user);
/* td_channel_send_handshake answers the handshake of the end that connected. td_channel_belongs
 * sets the user of the channel from now on, and the terms of a stream that has checksums only. */
bool td_channel_send_handshake(struct td_channel *channel, const uint8_t *handshake, size_t size);
void td_channel_belongs(struct td_channel *channel, const struct td_channel_calls *calls,
                        void *user, const struct td_seal_terms *terms);
/* td_channel_send sends a packet and owns its payload, if any. It returns false if the stream has
 * ended. */
bool td_channel_send(struct td_channel *channel, const struct td_packet *packet,
                     struct td_payload *payload);
/* td_channel_is_express returns true if the channel carries tree messages. A stranger's first bytes
 * say so. */
bool td_channel_is_express(const struct td_channel *channel);
/* td_channel_address writes the address of the other end; false: a Unix socket. */
bool td_channel_address(const struct td_channel *channel, char *text, size_t bytes);
/* td_channel_own returns the address of this end of the stream; false: a Unix socket. */
bool td_channel_own(const struct td_channel *channel, struct sockaddr_storage *address);
/* td_channel_mtu returns the MTU of the path to the other end, in bytes; 0: not known, or a Unix
 * socket. */
uint32_t td_channel_mtu(const struct td_channel *channel);
/* td_channel_probe asks the system to find out within some seconds whether the other end still
 * exists. If not, the channel ends. */
void td_channel_probe(struct td_channel *channel);
/* td_channel_close accepts NULL. It discards waiting packets and calls its user no more.
 * td_channels_close closes all open channels. */
void td_channel_close(struct td_channel *channel);
void td_channels_close(struct td_channels *channels);
/* td_channels_settle calls `place` for all payloads that are arriving, and copies those that lost
 * their place. */
void td_channels_settle(struct td_channels *channels);

struct td_listener;

/* td_listener_create accepts channels at an endpoint as above; the path of a Unix socket must not
 * exist. The channels belong to `user` at first. It returns NULL with errno on an error. */
struct td_listener *td_listener_create(struct td_channels *channels, const char *endpoint,
                                       const struct td_channel_calls *calls, void *user);
/* td_listener_close accepts NULL. Channels stay open. */
void td_listener_close(struct td_listener *listener);

#endif
