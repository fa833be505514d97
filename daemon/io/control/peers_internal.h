/* SPDX-License-Identifier: Apache-2.0 */
/* peers_internal: the structs that the files of peers share. Each file has a header of its own.
 *
 *   peers.c            creation and shutdown
 *   peers_listen.c     the ROUTER, the listener
 *   peers_zap.c        which keys may connect to the ROUTER
 *   peers_door.c       watches the connections that the ROUTER accepts
 *   rejections.c       the log of rejected connections
 *   peers_handshake.c  checks incoming handshakes and replies to them
 *   peers_reload.c     exchange of keys
 *   peers_terms.c      the terms of sealed streams
 *   peers_link.c       the link to one peer: DEALER and channel, replies, end, reconnection
 *   peers_receive.c    turns incoming messages and packets into events
 *   peers_express.c    the express path of tree messages
 *   peers_early.c      tree messages that arrived before their turn
 *   peers_send.c       sends and retransmits tree messages; sends packets, with lent bytes
 *   peers_counts.c     counts of received packets that travel alone
 *   peers_delay.c      emulates the rate and latency of links
 *   peers_buffers.c    received payloads, until the core releases them */
#ifndef TD_IO_CONTROL_PEERS_INTERNAL_H
#define TD_IO_CONTROL_PEERS_INTERNAL_H

#include <net/if.h>
#include <zmq.h>

#include "io/alarm.h"
#include "io/bulk/channel.h"
#include "io/unix.h"
#include "peers.h"
#include "probe.h"
#include "rejections.h"
#include "wire/handshake.h"
#include "wire/early_messages.h"
#include "wire/unacknowledged.h"
#include "zsocket.h"

enum {
    SESSION_BYTES = 8,   /* the connection's number, before every frame; 0: a handshake */
    IDENTITY_BYTES = 13, /* 'T', node, connection */
    HANDSHAKE_BYTES_MAX = 1024,
    RETRY_MS = 50,
    ANSWER_MS = 5000, /* time limit of a handshake */
    STREAM_MS = 1000, /* a new session keeps its place for so long without a stream */
};

/* struct td_peer: the link to a peer, and its connections to this daemon. The link is up when the
 * peer has accepted both handshakes, first the DEALER's.
 * Invariant: `retry` runs while the link is wanted and not up, until the next attempt or the time
 * limit of the handshake. */
struct td_peer {
    struct td_peers *peers;
    uint32_t node;
    bool wanted, up, told_down, told_refused;
    bool told_own;   /* that a fault of this host is the reason */
    bool told_name;  /* that its name cannot be resolved */
    bool told_still; /* that it has not come up for long */
    bool absent;     /* the last attempt was refused */
    bool goodbye;    /* the daemon of the last link has said goodbye */
    bool steady;     /* always needed: it reconnects within RETRY_MS_MAX */
    struct td_zsocket *dealer, *monitor;
    struct td_probe *probe;   /* why the DEALER has no connection */
    struct td_probe *look_up; /* of the name of its host, by an attempt that takes long */
    struct td_channel *channel;
    struct td_channel *express; /* carries numbered tree messages, if `express_open` */
    bool express_agreed;        /* the peer accepts an express path */
    bool express_open;
    char interface[IF_NAMESIZE]; /* of this host, that the last link used; empty: not known */
    char address[80];     /* of the peer's host, from its reply; empty: that of the endpoint */
    uint64_t session;     /* number of this daemon's connection to the peer */
    uint64_t incarnation; /* of the peer, from its replies; 0: unknown */
    uint64_t incarnation_before;   /* of the peer when the link was up last; 0: it never was */
    uint64_t session_in;           /* number of the peer's connection to this daemon; 0: none */
    uint64_t incarnation_in;       /* of the daemon that has it */
    td_time session_in_at;         /* when it was accepted */
    struct td_channel *in;         /* the peer's packets arrive on it */
    struct td_channel *express_in; /* its tree messages arrive on it, too */
    uv_timer_t retry;
    unsigned retry_ms;
    td_time wanted_at, attempt_at;              /* the latter: when the last attempt began */
    td_time up_at;                              /* when the link came up last; 0: it never was */
    struct td_unacknowledged unacknowledged;    /* encoded tree messages */
    struct td_early_messages early;             /* from the peer */
    struct td_delayed *delayed, **delayed_last; /* delayed packets, in order */
    td_time delayed_until;                      /* when the last of them arrives */
    struct td_peer *next_slow;                  /* in the list of peers with delayed packets */
    bool is_slow;                               /* on that list; it stays there */
    struct td_packet counts;                    /* sent at the end of the turn, if */
    bool owes_counts;                           /* this (peers_counts.h) */
    struct td_peer *next_owing;                 /* in the list of those whose counts may be due */
    bool is_owing;                              /* on that list */
    char text[200];                             /* why the link is down */
    struct td_log_rate log;                     /* of lines about the link */
    /* the last reasons that were logged: for the peer's rejection of this daemon, and for this
     * daemon's rejection of the peer */
    char refusal[200], refused[200];
    /* The terms of the stream to the peer, and of that from it. `expected`: the latter belongs to
     * session_in and has not begun; a stream's keys are used once. `express_expected`: the same for
     * the peer's express path. */
    struct td_seal_terms terms, terms_in;
    bool expected, express_expected;
    unsigned key_turn; /* which of the peer's keys the next attempt expects */
    /* the first digits of an unknown key that was refused from its host since the link was up last
     */
    char stranger[TD_KEY_PREFIX + 1];
};

/* struct td_holder: a key that has connected, and the node that it belongs to now, or UINT32_MAX.
 */
struct td_holder {
    uint8_t key[TD_KEY_BYTES];
    uint32_t node;
};

struct td_peers {
    struct td_loop *loop;
    void *context;
    struct td_zloop zloop;
    const struct td_security *security; /* of the configuration, or `reloaded` */
    struct td_security reloaded;
    struct td_holder *holder; /* [holders]; ZeroMQ's User-Id is an index */
    uint32_t holders;
    char bound[600];          /* the ROUTER's endpoint */
    struct td_unix_file file; /* of the ROUTER, if that is a Unix socket */
    bool replacing;           /* the ROUTER is being replaced */
    struct td_zsocket *router, *zap;
    struct td_door *door;
    struct td_rejections rejections;
    struct td_channels channels;
    struct td_payload_pool pool;
    struct td_listener *listener;
    struct td_peer *peer; /* [nodes] */
    char shape[128];
    uint64_t term[TD_TERMS_MAX]; /* settings that the links need (TD_TERMS_LINK) */
    uint32_t terms;
    uint32_t up, wanted;
    struct td_log_rate first_log; /* of lines about links that are up for the first time */
    struct buffer *buffer;
    uint32_t buffers, buffer_free; /* UINT32_MAX: none */
    struct td_wire_memory memory;
    struct taken *taken;   /* early messages that the core gets next */
    struct td_peer *owing; /* the first one whose counts may be due */
    uv_check_t counts_check;
    uv_prepare_t counts_prepare;
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

#endif
