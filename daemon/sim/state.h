/* SPDX-License-Identifier: Apache-2.0 */
/* state: the parts of struct td_sim, which all files of this folder share. docs/simulator.md lists
 * the files. */
#ifndef TD_SIM_STATE_H
#define TD_SIM_STATE_H

#include <stddef.h>

#include "core/action.h"
#include "queue.h"
#include "wire/early_messages.h"
#include "wire/unacknowledged.h"
#include "wire/wire.h"
#include "world.h"

enum { TREE, EXPRESS, BULK, WAYS };
enum { SIM_SCRATCH_PAGE = 4096, SIM_GATHERED_MAX = 16, SIM_CACHE_LINE = 64, SIM_UID = 1000 };
/* In timing-only worlds the handle of a buffer is its time of arrival, cut to these bits. */
#define SIM_AGE_MASK ((uint32_t)0x7fffffff)

/* struct kept: an event that waits until its node runs again, or its link delivers again. */
struct kept {
    struct kept *next;
    struct event event;
};

/* struct kept_list: kept events in order. A zeroed one is empty. */
struct kept_list {
    struct kept *first, *last;
};

/* struct link_end: a node's end of its link to another node. */
struct link_end {
    bool up, refused; /* refused: it is about to learn that the other node cannot be reached */
    uint32_t epoch;
    td_time last[WAYS]; /* arrival of the latest message here, per connection */
    struct td_unacknowledged unacknowledged; /* tree messages to the other node */
    /* disturbances.h, of what arrives here: */
    bool holds;
    bool unread; /* a paused sender has not read the bytes of a packet: what follows waits, too */
    struct kept_list kept;
    td_time byte_ns; /* time that a byte takes; 0: none */
    uint32_t corrupt_permille, duplicate_permille;
};

struct mapping {
    uint8_t *base;
    uint64_t bytes;
    bool mapped;
};

struct node {
    struct td_core *core;
    bool alive, frozen;
    bool stopped;       /* it has said that it is done, and ends after this step */
    bool paused, wakes; /* wakes: its alarm went off meanwhile */
    struct kept_list kept;
    uint32_t starts;     /* of its daemons before this one */
    td_time wake_queued; /* the earliest WAKE queued for it */
    uint64_t incarnation, arena_used;
    struct link_end *end;                 /* [nodes]; modelled: NULL while all links are up */
    td_time last_bulk[TD_DIRECTIONS_MAX]; /* modelled: arrival of the last packet in a direction */
    struct td_early_messages *early;      /* [nodes], from each node; NULL: none was ever early */
    struct mapping *mapping;
    uint32_t mappings;
    uint8_t **buffer; /* received packets, by handle */
    uint32_t buffers, buffers_held;
    uint8_t *touched; /* [pages of scratch] */
    uint32_t pages_touched;
    uint64_t under_way;                /* computations and packets that the core waits for */
    struct td_span span[TD_SPANS_MAX]; /* memory of the core; first those above two lines */
    unsigned spans, long_spans;
};

struct client {
    uint32_t node;
    bool open, closed_by_daemon;
    td_time last; /* arrival of its latest request */
    uint64_t next_id;
    uint64_t waiting; /* requests without reply */
    struct client_region {
        uint8_t *base;
        uint64_t bytes;
        uint32_t handle; /* where the node has mapped it; 0: not yet */
    } * region;
    uint32_t regions;
    struct td_reply *reply;
    uint32_t replies, replies_room;
};

struct td_sim {
    struct td_sim_options options;
    struct td_topology topology;
    uint64_t random, hash, drops, events, landings;
    uint64_t damaged, duplicated; /* frames: disturbances.h */
    uint64_t waiting;             /* requests of all clients without reply */
    uint32_t epoch;
    td_time now, packet_ns; /* packet_ns: time of a full packet on a modelled link */
    bool instant;           /* modelled and timing-only: sends and computations complete at once */
    bool in_order;          /* modelled: a short packet does not overtake earlier packets */
    uint8_t session[TD_DIRECTIONS_MAX]; /* equal for directions that share a session */
    struct queue queue;
    struct node *node; /* [nodes] */
    struct client *client;
    uint32_t clients;
    struct completion { /* modelled and timing-only: SENT and COMPUTED of the current step */
        enum td_event_kind kind;
        uint64_t handle;
    } * completion;
    uint32_t completions, completions_room;
    const struct td_event *gathered[SIM_GATHERED_MAX]; /* for one core, handled together */
    struct td_message message[SIM_GATHERED_MAX];       /* the messages among them */
    uint32_t gathered_count;
    bool replied; /* the current step has replied */
    struct td_wire_memory *decoded;
    struct td_actions *actions;
    char text[512];
};

/* buffer_age returns the time since the arrival of a timing-only buffer. */
static inline td_time buffer_age(const struct td_sim *sim, uint32_t buffer)
{
    return ((uint32_t)sim->now - buffer) & SIM_AGE_MASK;
}
/* node_lives returns true if a node's daemon is alive and not frozen. */
static inline bool node_lives(const struct node *n)
{
    return n->alive && !n->frozen;
}

#endif
