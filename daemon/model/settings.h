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
/* ---- rows (settings_table.h) ---- */

/* A choice is stored as the index of its word. */
enum td_unit {
    TD_UNIT_TEXT, /* the driver's: it has a reader of its own */
    TD_UNIT_NUMBER,
    TD_UNIT_BYTES,
    TD_UNIT_RATE,
    TD_UNIT_DURATION,
    TD_UNIT_CHOICE,
    TD_UNIT_SET, /* a hash of a set of nodes */
};

/* struct td_term_place: the place of a term in its list, plus 1; 0: the list does not have it. */
struct td_term_place {
    uint8_t number;
    enum {
        TD_TERM_ALWAYS,
        TD_TERM_DIRECT,
        TD_TERM_ROUTED
    } counts; /* on the other fabric it is 0 */
};

/* struct td_setting_row: a number of 1, 4 or 8 bytes in a struct. */
struct td_setting_row {
    const char *section, *key;
    size_t offset, bytes;
    enum td_unit unit;
    uint64_t normal;      /* the default; UINT64_MAX of a duration: none */
    uint64_t least, most; /* most: UINT64_MAX: no limit */
    const char *choices;  /* "a|b|c" */
    struct td_term_place group, link;
};

enum { TD_SETTING_WRONG_MAX = 160 };

/* td_setting_at returns the row with an index, or NULL behind the last one. */
const struct td_setting_row *td_setting_at(unsigned index);
/* td_setting_value reads a setting of the struct at `base`; td_setting_store writes it. */
uint64_t td_setting_value(const struct td_setting_row *setting, const void *base);
void td_setting_store(const struct td_setting_row *setting, void *base, uint64_t value);
/* td_setting_wrong returns NULL if a value is in the range, or a sentence such as "packet must be
 * 1 KiB to 256 KiB", in text. */
const char *td_setting_wrong(const struct td_setting_row *setting, uint64_t value,
                             char text[TD_SETTING_WRONG_MAX]);
/* td_setting_choice returns the index of a word among the choices, or -1; td_setting_word writes
 * the word of an index, or the index if there is no such word, and returns text. */
int td_setting_choice(const struct td_setting_row *setting, const char *word);
const char *td_setting_word(const struct td_setting_row *setting, uint64_t index, char *text,
                            size_t size);
/* td_settings_check returns NULL, or a sentence in text, and in *setting the row that it is about.
 */
const char *td_settings_check(const struct td_settings *settings,
                              const struct td_setting_row **setting,
                              char text[TD_SETTING_WRONG_MAX]);

#endif
