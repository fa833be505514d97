/* SPDX-License-Identifier: Apache-2.0 */
/* settings_table: a row for each setting of struct td_settings: its key in torusd.conf, its unit,
 * default and range, and the list of terms that has it (terms.h). settings.c, terms.c and the
 * reader of torusd.conf (io/config/config_keys.c) are driven by the rows; the texts for people are
 * in conf/torusd.conf and torusd.conf(5).
 *
 * ROW(section, key, field, ...): the rest initializes struct td_setting_row. Rows of a section are
 * one macro, with commas between, since the reader lists them with its own keys of the section. */
#ifndef TD_MODEL_SETTINGS_TABLE_H
#define TD_MODEL_SETTINGS_TABLE_H

#define TD_SETTINGS_TORUS(ROW)                                                                     \
    ROW("torus", "fabric", tuning.fabric, CHOICE("direct|routed"), .link = ALL(0)),                \
        ROW("torus", "alltoall", tuning.alltoall, CHOICE("auto|random|phased|pairwise|two-phase"), \
            .group = ALL(2)),                                                                      \
        ROW("torus", "link_rate", link_rate, RATE(0, 0, 1000000000000), .link = ROUTED(4)),        \
        ROW("torus", "link_latency", link_latency_ns, DURATION(0, 0, SECONDS), .link = ROUTED(5)), \
        ROW("torus", "slots", router.slots, NUMBER(4, 2, 64), .link = ROUTED(6)),                  \
        ROW("torus", "fifo_slots", router.fifo_slots, NUMBER(4, 1, 256), .link = ROUTED(7)),       \
        ROW("torus", "queues", router.queues, NUMBER(4, 1, 256), .link = ROUTED(8)),               \
        ROW("torus", "queue_slots", router.queue_slots, NUMBER(4, 1, 256), .link = ROUTED(9)),     \
        ROW("torus", "patience", router.patience, NUMBER(64, 1, 1 << 20), .link = ROUTED(10)),     \
        ROW("torus", "straight", router.straight, NUMBER(2, 0, 1 << 20), .link = ROUTED(11)),      \
        ROW("torus", "arbitration", router.arbitration,                                            \
            CHOICE("transit-first|injection-first|none"), .link = ROUTED(12))

#define TD_SETTINGS_ALLTOALL(ROW)                                                                  \
    ROW("alltoall", "burst", tuning.burst, NUMBER(1, 1, 1 << 16), .group = ALL(3)),                \
        ROW("alltoall", "order", tuning.in_order, CHOICE("random|number"), .group = ALL(4)),       \
        ROW("alltoall", "parts", tuning.parts, CHOICE("all|1"), .group = ALL(5)),                  \
        ROW("alltoall", "gap", tuning.no_gap, CHOICE("yes|no"), .group = ALL(6)),                  \
        ROW("alltoall", "barriers", tuning.barriers, CHOICE("hop|phase|none"), .group = ALL(7)),   \
        ROW("alltoall", "barrier_scope", tuning.barriers_of_all, CHOICE("ring|all"),               \
            .group = ALL(8)),                                                                      \
        ROW("alltoall", "relay", tuning.relay_bytes, BYTES(64 * MIB, 64 * KIB, NO_LIMIT),          \
            .group = ALL(9))

#define TD_SETTINGS_NETWORK(ROW)                                                                   \
    ROW("network", "packet", packet_bytes, BYTES(TD_PACKET_BYTES_MAX, KIB, TD_PACKET_BYTES_MAX),   \
        .group = ALL(0), .link = ROUTED(3)),                                                       \
        ROW("network", "message_overhead", tuning.message_bytes, BYTES(8 * KIB, 0, MIB),           \
            .group = DIRECT(17)),                                                                  \
        ROW("network", "credits", link_credits, NUMBER(16, 2, TD_LINK_CREDITS_MAX),                \
            .group = DIRECT(1)),                                                                   \
        ROW("network", "heartbeat", heartbeat_ns, DURATION(SECONDS / 2, SECONDS / 1000, NO_LIMIT), \
            .link = ALL(1))

#define TD_SETTINGS_LIMITS(ROW)                                                                    \
    ROW("limits", "memory", arena_bytes, BYTES(64 * MIB, MIB, TIB)),                               \
        ROW("limits", "scratch", scratch_bytes, BYTES(4 * GIB, 64 * KIB, 64 * TIB)),               \
        ROW("limits", "region", region_bytes_max, BYTES(64 * GIB, 4 * KIB, NO_LIMIT)),             \
        ROW("limits", "clients", clients_max, NUMBER(1024, 1, 65536)),                             \
        ROW("limits", "operations", operations_max, NUMBER(1024, 1, TD_OPERATIONS_MAX)),           \
        ROW("limits", "groups", groups_max, NUMBER(4096, 1, 1 << 20)),                             \
        ROW("limits", "groups_per_process", client_groups_max, NUMBER(1024, 1, 1 << 20)),          \
        ROW("limits", "regions", regions_max, NUMBER(32768, 1, TD_REGIONS_MAX - 1)),               \
        ROW("limits", "unread", unread_bytes_max, BYTES(64 * MIB, 64 * KIB, NO_LIMIT)),            \
        ROW("limits", "plans", plans_bytes_max, BYTES(256 * MIB, MIB, NO_LIMIT)),                  \
        ROW("limits", "share", share_percent, NUMBER(75, 1, 100)),                                 \
        ROW("limits", "join_timeout", join_timeout_ns, DURATION(300 * SECONDS, 1, NO_LIMIT)),      \
        ROW("limits", "arrival_timeout", arrival_timeout_ns, DURATION(NEVER, 0, NO_LIMIT)),        \
        ROW("limits", "progress_timeout", progress_timeout_ns,                                     \
            DURATION(30 * SECONDS, SECONDS / 1000, NO_LIMIT), .link = ALL(2))

#define TD_SETTINGS_TRACE(ROW) ROW("trace", "events", trace_events, NUMBER(8192, 0, 1 << 20))

/* TD_SETTINGS_SHARED: numbers that no key sets, but that daemons must share: the section is empty,
 * and the key says what differs. All but the last one are for simulations. */
#define TD_SETTINGS_SHARED(ROW)                                                                    \
    ROW("", "the choice of prefix methods", tuning.prefix, NUMBER(0, 0, NO_LIMIT),                 \
        .group = ALL(10)),                                                                         \
        ROW("", "the choice of rooted trees", tuning.rooted_tree, NUMBER(0, 0, NO_LIMIT),          \
            .group = ALL(11)),                                                                     \
        ROW("", "the choice of ring methods", tuning.rings, NUMBER(0, 0, NO_LIMIT),                \
            .group = ALL(12)),                                                                     \
        ROW("", "the use of the escape channel only", router.no_adaptive, CHOICE("no|yes"),        \
            .link = ROUTED(13)),                                                                   \
        ROW("", "the bubble of the escape channel", router.no_bubble, CHOICE("yes|no"),            \
            .link = ROUTED(14)),                                                                   \
        ROW("", "[peers] absent", absent_hash, SET, .link = ALL(15))

/* ---- what rows are written with ---- */

#define NO_LIMIT UINT64_MAX
#define NEVER UINT64_MAX /* of a duration that may be "none" */
#define SECONDS UINT64_C(1000000000)
#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

#define RANGE(kind, usual, low, high)                                                              \
    .unit = TD_UNIT_##kind, .normal = (usual), .least = (low), .most = (high)
#define NUMBER(usual, low, high) RANGE(NUMBER, usual, low, high)
#define BYTES(usual, low, high) RANGE(BYTES, usual, low, high)
#define RATE(usual, low, high) RANGE(RATE, usual, low, high)
#define DURATION(usual, low, high) RANGE(DURATION, usual, low, high)
/* the first word is the default */
#define CHOICE(words) .unit = TD_UNIT_CHOICE, .most = NO_LIMIT, .choices = (words)
#define SET .unit = TD_UNIT_SET, .most = NO_LIMIT

/* The place of a term in its list, and the fabric on which it counts. Places never change: a new
 * term takes the next one. */
#define ALL(number)                                                                                \
    {                                                                                              \
        1 + (number), TD_TERM_ALWAYS                                                               \
    }
#define DIRECT(number)                                                                             \
    {                                                                                              \
        1 + (number), TD_TERM_DIRECT                                                               \
    }
#define ROUTED(number)                                                                             \
    {                                                                                              \
        1 + (number), TD_TERM_ROUTED                                                               \
    }

#endif
