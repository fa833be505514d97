/* SPDX-License-Identifier: Apache-2.0 */
/* channel: a stream of packets from one daemon to another, over TCP or a Unix socket.
 *
 * First each end sends a greeting. Then packets go one way, from the end that connected: a header
 * of fixed size and the payload, which is written from where it lies, and read to where it stays.
 * There is no thread between a packet and its socket, and nothing is copied that fits the socket's
 * buffer at once; what does not waits here, in order. How much may wait is its user's to bound, by
 * credits.
 * Owns: the stream, and what waits for it. Everything happens on the loop's thread. */
#ifndef TD_IO_BULK_CHANNEL_H
#define TD_IO_BULK_CHANNEL_H

#include <stdbool.h>
#include <uv.h>

#include "payload.h"
#include "wire/wire.h"

struct td_channel;

/* struct td_channel_calls: what a channel tells. Each of them may close the channel. */
struct td_channel_calls {
    void (*greeting)(void *user, struct td_channel *channel, const uint8_t *bytes, size_t size);
    /* place may be NULL. With `now` NULL it returns a payload into which that of the packet may
     * come in, or NULL: the channel takes memory of its own. It is asked again, with that payload,
     * each time before more is read into it, and returns it, or NULL when it must not be written to
     * any more. */
    struct td_payload *(*place)(void *user, const struct td_packet *packet, struct td_payload *now);
    /* packet takes the payload; NULL where there is none. */
    void (*packet)(void *user, struct td_channel *channel, const struct td_packet *packet,
                   struct td_payload *payload);
    /* ended: the stream is over, and closes. `breach`: what came was not as it has to be. */
    void (*ended)(void *user, struct td_channel *channel, bool breach, const char *why);
};

/* struct td_channels: what all channels of a daemon have in common. */
struct td_channels {
    uv_loop_t *uv;
    struct td_payload_pool *pool;
    unsigned greeting_ms; /* who connects has so long to greet */
    unsigned
        silence_ms; /* a TCP stream ends when the other host acknowledges nothing for so long */
    /* The system could not read or write memory that was lent or placed: pages of it are lost. From
     * then on nothing is, so that who copies meets with it, and can tell whose it was. */
    bool faulted;
    struct td_channel *first;
};

/* td_channel_open connects to tcp://ADDRESS:PORT, the address a number, or ipc://PATH, and sends
 * the greeting. NULL with errno. */
struct td_channel *td_channel_open(struct td_channels *channels, const char *endpoint,
                                   const uint8_t *greeting, size_t size,
                                   const struct td_channel_calls *calls, void *user);
/* td_channel_greet answers the greeting of who connected; td_channel_belongs says who hears of the
 * channel from now on. */
bool td_channel_greet(struct td_channel *channel, const uint8_t *greeting, size_t size);
void td_channel_belongs(struct td_channel *channel, const struct td_channel_calls *calls,
                        void *user);
/* td_channel_send sends a packet, and takes the payload, if there is one. False: the stream is
 * over. */
bool td_channel_send(struct td_channel *channel, const struct td_packet *packet,
                     struct td_payload *payload);
/* td_channel_close accepts NULL. Its user is told nothing more; what waits is dropped.
 * td_channels_close closes all that are open. */
void td_channel_close(struct td_channel *channel);
void td_channels_close(struct td_channels *channels);
/* td_channels_settle asks for all payloads on their way whether they keep their place. */
void td_channels_settle(struct td_channels *channels);

struct td_listener;

/* td_listener_create accepts channels at an endpoint as above; a Unix socket must not be there
 * yet. They belong to `user` at first. NULL with errno. */
struct td_listener *td_listener_create(struct td_channels *channels, const char *endpoint,
                                       const struct td_channel_calls *calls, void *user);
/* td_listener_close accepts NULL; channels stay. */
void td_listener_close(struct td_listener *listener);

#endif
