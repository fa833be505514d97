/* SPDX-License-Identifier: Apache-2.0 */
/* settings: the bounds and time limits that an operator sets, their defaults and their checks.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_SETTINGS_H
#define TD_MODEL_SETTINGS_H

#include "base/time.h"
#include "program.h"
#include "topology.h"

enum {
    TD_CHANNELS = 3,
    TD_CHANNEL_ESCAPE = 2,
};

enum td_arbitration { TD_TRANSIT_FIRST, TD_INJECTION_FIRST, TD_NO_PREFERENCE, TD_ARBITRATIONS };

/* struct td_router_rules: the parameters of the router. They are equal on all nodes of a torus. */
struct td_router_rules {
    uint32_t slots;       /* buffer slots of an input channel, in packets */
    uint32_t fifo_slots;  /* slots of an injection FIFO */
    uint32_t queues;      /* number of output queues, L */
    uint32_t queue_slots; /* shipments that an output queue holds */
    uint32_t
        patience; /* turns that the head of an injection FIFO is passed over before it goes first */
    uint32_t straight; /* every so many turns, packets in transit that keep their direction go
                          before those that turn; 0: never, 1: always */
    enum td_arbitration arbitration;
    bool no_adaptive; /* use the escape channel only */
    bool no_bubble; /* enter the escape channel with one credit: this deadlocks, as a test shows */
};

void td_router_rules_default(struct td_router_rules *rules);

/* struct td_settings: bounds and time limits. terms.h says which of them nodes share. */
struct td_settings {
    uint64_t arena_bytes;      /* the core's own state */
    uint64_t scratch_bytes;    /* relay space and work space of operations, mapped by the driver */
    uint64_t region_bytes_max; /* mapped memory of all clients of one uid */
    uint32_t clients_max;
    uint32_t operations_max;    /* operations on record at this node */
    uint32_t groups_max;        /* groups with ranks on this node, and joins */
    uint32_t client_groups_max; /* groups of one process */
    uint32_t regions_max;       /* regions of shared memory, of all clients */
    uint32_t share_percent;     /* of what other users leave of a limit: one user's part */
    uint64_t unread_bytes_max;  /* of replies that clients have not read */
    uint64_t plans_bytes_max;   /* of FFTW's plans */
    uint32_t packet_bytes;      /* payload of a data packet */
    uint32_t link_credits;      /* direct fabric: packets in flight on a link */
    uint32_t carry_bytes; /* direct fabric: longest message without packets (core/net/carry.h) */
    int64_t join_timeout_ns;
    int64_t arrival_timeout_ns; /* -1: none */
    int64_t progress_timeout_ns;
    int64_t heartbeat_ns;
    uint32_t trace_events; /* of the flight recorder; 0: there is none */
    struct td_tuning tuning;
    struct td_router_rules router; /* routed fabric */
    uint64_t link_rate;      /* routed fabric: bytes per second in each direction; 0: no limit */
    int64_t link_latency_ns; /* routed fabric: time from a packet's last byte to its arrival; the
                                driver applies it */
    uint8_t absent[TD_NODES_MAX / 8]; /* nodes that are not in the electorate of epochs */
    uint64_t absent_hash;             /* of the set; 0: it is empty */
};
void td_settings_default(struct td_settings *settings);
/* td_settings_set_absent adds a node to the set of absent nodes. */
void td_settings_set_absent(struct td_settings *settings, uint32_t node);
/* td_settings_link_time returns the transmission time of a packet on a link with a rate, or 0
 * without one. */
td_time td_settings_link_time(const struct td_settings *settings, uint32_t bytes);
/* td_settings_check returns NULL, or an error such as "packet must be 1 KiB to 256 KiB" and in *key
 * the configuration key of the field. */
const char *td_settings_check(const struct td_settings *settings, const char **key);

#endif
