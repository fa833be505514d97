/* SPDX-License-Identifier: Apache-2.0 */
/* settings: the bounds and time limits that an operator may set, their defaults, their checks, and
 * the hash that all nodes must share.
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

/* struct td_router_rules: what may be chosen. All nodes of a machine have the same. */
struct td_router_rules {
    uint32_t slots;       /* of an input channel, in packets */
    uint32_t fifo_slots;  /* of an injection FIFO */
    uint32_t queues;      /* output queues, L */
    uint32_t queue_slots; /* shipments an output queue holds */
    uint32_t patience;    /* an injection FIFO's head that was passed by so often goes first */
    uint32_t straight;    /* every so many turns, packets in transit that keep their direction go
                             before those that turn; 0: never, 1: always */
    enum td_arbitration arbitration;
    bool no_adaptive; /* the escape alone */
    bool no_bubble;   /* enter the escape with one credit: this deadlocks, which a test shows */
};

void td_router_rules_default(struct td_router_rules *rules);

/* struct td_settings: bounds and time limits an operator may set. Equal on all nodes, but for the
 * memory sizes. */
struct td_settings {
    uint64_t arena_bytes;      /* the core's own state */
    uint64_t scratch_bytes;    /* relay and work space of operations, mapped by the driver */
    uint64_t region_bytes_max; /* mapped memory of one uid's clients */
    uint32_t clients_max;
    uint32_t operations_max; /* on record at this node */
    uint32_t packet_bytes;   /* payload of a bulk packet */
    uint32_t link_credits;   /* direct fabric: packets in flight on a link */
    int64_t join_timeout_ns;
    int64_t arrival_timeout_ns; /* -1: none */
    int64_t progress_timeout_ns;
    int64_t heartbeat_ns;
    struct td_tuning tuning;
    struct td_router_rules router; /* routed fabric */
    uint64_t link_rate;            /* routed: bytes a second in each direction; 0: no limit */
    int64_t link_latency_ns; /* routed: from a packet's last byte until it is there; the driver's */
};
void td_settings_default(struct td_settings *settings);
/* td_settings_link_time returns how long a packet takes on a link with a rate, 0 without one. */
td_time td_settings_link_time(const struct td_settings *settings, uint32_t bytes);
/* td_settings_check returns NULL, or what is wrong: "packet must be 1 KiB to 256 KiB", and the name
 * of the field's configuration key in *key. */
const char *td_settings_check(const struct td_settings *settings, const char **key);
/* td_settings_digest hashes what must be equal on all nodes. */
uint64_t td_settings_digest(const struct td_settings *settings, const struct td_topology *topology);

#endif
