/* SPDX-License-Identifier: Apache-2.0 */
/* peer: the structs of a peer and of all peers, which the files of this folder share. */
#ifndef TD_IO_CONTROL_PEER_H
#define TD_IO_CONTROL_PEER_H

#include <net/if.h>
#include <zmq.h>

#include "door/rejections.h"
#include "io/alarm.h"
#include "io/bulk/channel.h"
#include "io/loop.h"
#include "io/unix.h"
#include "link/state.h"
#include "wire/early_messages.h"
#include "wire/handshake.h"
#include "wire/unacknowledged.h"
#include "zsocket.h"

enum {
    SESSION_BYTES = 8,   /* the connection's number, before every frame; 0: a handshake */
    IDENTITY_BYTES = 13, /* 'T', node, connection */
    HANDSHAKE_BYTES_MAX = 1024,
    RETRY_MS = 50,
    RETRY_MS_MAX = 1000, /* greatest interval between attempts, for links that are needed */
    ANSWER_MS = 5000,    /* time limit of a handshake */
    STREAM_MS = 1000,    /* a new session keeps its place for so long without a stream */
};

/* struct td_outbound: the connections to a peer. All zeros: none is open. */
struct td_outbound {
    td_time began_at;     /* when the attempt began */
    uint64_t session;     /* their number */
    uint64_t incarnation; /* of the peer; from OPENING on */
    struct td_zsocket *dealer, *monitor;
    struct td_probe *probe;     /* why the DEALER has no connection */
    struct td_probe *look_up;   /* of the name of its host, by an attempt that takes long */
    struct td_channel *channel; /* of packets; from OPENING on */
    struct td_channel *express; /* of tree messages; while the express path is OPENING or OPEN */
    struct td_seal_terms terms; /* of the streams */
};

/* struct td_inbound: the connections of a peer to this daemon. */
struct td_inbound {
    uint64_t session;           /* their number; 0: none */
    uint64_t incarnation;       /* of the last daemon that had one */
    td_time at;                 /* when it was accepted */
    struct td_channel *channel; /* the peer's packets arrive on it */
    struct td_channel *express; /* its tree messages arrive on it, too */
    struct td_seal_terms terms; /* of the streams, whose keys are used once: */
    bool expected;              /* that of packets belongs to the session and has not begun */
    bool express_expected;      /* the same for the express path */
};

/* struct td_last: the last link to a peer that was up. All zeros: none was. */
struct td_last {
    uint64_t incarnation; /* of the peer */
    td_time up_at;
    char interface[IF_NAMESIZE]; /* of this host; empty: not known */
    bool goodbye;                /* the daemon has said goodbye */
};

/* struct td_target: where a peer is looked for, and with which key. */
struct td_target {
    char address[80];                 /* from its reply; empty: that of the endpoint */
    unsigned key_turn;                /* which of its keys the next attempt expects */
    char stranger[TD_KEY_PREFIX + 1]; /* the first digits of an unknown key that was refused from
                                         its host since the link was up last */
};

/* enum td_cause: what the end of an attempt or of a link has shown. */
enum td_cause {
    TD_CAUSE_OTHER,
    TD_CAUSE_REFUSED,   /* no daemon is at the peer's endpoint */
    TD_CAUSE_ELSEWHERE, /* the one that is connected to this node is not at that endpoint */
    TD_CAUSE_RUNS,      /* it has connected during the attempt: the next one tells where it is */
    TD_CAUSE_NAMELESS,  /* the name of its host cannot be resolved */
    TD_CAUSE_OWN,       /* an interface of this host does not run */
};

/* struct td_told: the last sentences about a peer in the log. The log gets a sentence once. */
struct td_told {
    char text[200];      /* why the link is down; empty: nothing since it was up last */
    enum td_cause cause; /* of that */
    bool still;          /* that it has not come up for long */
    char refusal[200];   /* why the peer rejects this daemon */
    char refused[200];   /* why this daemon has rejected the peer */
    struct td_log_rate rate;
};

struct td_delayed {
    struct td_delayed *next;
    td_time at;
    struct td_packet packet;
    struct td_payload *payload;
};

/* struct td_delay: the packets to a peer that are delayed, in order. */
struct td_delay {
    struct td_delayed *first, *last;
    td_time until;        /* when the last of them arrives; 0: none was delayed yet */
    struct td_peer *next; /* in the list of peers that had some */
};

/* struct td_owed_counts: counts that are sent at the end of the turn (traffic/packets.h). */
struct td_owed_counts {
    struct td_packet packet;
    bool due;             /* no packet has taken them along */
    bool listed;          /* the peer is in the list of those that have been owed counts */
    struct td_peer *next; /* in that list */
};

/* struct td_peer: the link to a peer, and the peer's to this node.
 * Invariant: `retry` runs in all states but IDLE and UP, until the next attempt or the time limit
 * of the handshake. */
struct td_peer {
    struct td_peers *peers;
    uint32_t node;
    enum td_connection_state state;
    enum td_express_state express_state;
    struct td_outbound out;
    struct td_inbound in;
    struct td_last last;
    struct td_target target;
    struct td_told told;
    uv_timer_t retry;
    unsigned retry_ms;
    bool steady;                             /* always needed: it reconnects within RETRY_MS_MAX */
    td_time wanted_at;                       /* when the first attempt began */
    struct td_unacknowledged unacknowledged; /* encoded tree messages */
    struct td_early_messages early;          /* from the peer */
    struct td_delay delay;
    struct td_owed_counts owed;
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
