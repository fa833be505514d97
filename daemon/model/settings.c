/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <string.h>

#include "base/bits.h"
#include "base/hash.h"

void td_router_rules_default(struct td_router_rules *rules)
{
    *rules = (struct td_router_rules){
        .slots = 4, .fifo_slots = 4, .queues = 4, .queue_slots = 4, .patience = 64, .straight = 2};
}

void td_settings_default(struct td_settings *s)
{
    *s = (struct td_settings){
        .arena_bytes = (uint64_t)64 << 20,
        .scratch_bytes = (uint64_t)4 << 30,
        .region_bytes_max = (uint64_t)64 << 30,
        .clients_max = 1024,
        .operations_max = 1024,
        .groups_max = 4096,
        .client_groups_max = 1024,
        .regions_max = 32768,
        .share_percent = 75,
        .unread_bytes_max = (uint64_t)64 << 20,
        .plans_bytes_max = (uint64_t)256 << 20,
        .packet_bytes = TD_PACKET_BYTES_MAX,
        .link_credits = 16,
        .carry_bytes = TD_LONG_RIDE_BYTES_MAX,
        .join_timeout_ns = 300 * (int64_t)1000000000,
        .arrival_timeout_ns = -1,
        .progress_timeout_ns = 30 * (int64_t)1000000000,
        .heartbeat_ns = 500000000,
        .tuning = {.packet_bytes = TD_PACKET_BYTES_MAX,
                   .message_bytes = 8 << 10,
                   .burst = 1,
                   .relay_bytes = (uint64_t)64 << 20,
                   .ride_bytes = TD_LONG_RIDE_BYTES_MAX},
    };
    td_router_rules_default(&s->router);
}

static const char *check_routed(const struct td_settings *s, const char **key)
{
    const struct td_router_rules *r = &s->router;
    *key = "slots";
    if (r->slots < 2 || r->slots > 64)
        return "slots must be 2 to 64";
    *key = "fifo_slots";
    if (r->fifo_slots < 1 || r->fifo_slots > 256)
        return "fifo_slots must be 1 to 256";
    *key = "queues";
    if (r->queues < 1 || r->queues > 256)
        return "queues must be 1 to 256";
    *key = "queue_slots";
    if (r->queue_slots < 1 || r->queue_slots > 256)
        return "queue_slots must be 1 to 256";
    *key = "patience";
    if (r->patience < 1 || r->patience > 1 << 20)
        return "patience must be 1 to 1048576";
    *key = "straight";
    if (r->straight > 1 << 20)
        return "straight must be 0 to 1048576";
    *key = "link_rate";
    if (s->link_rate && s->tuning.fabric != TD_FABRIC_ROUTED)
        return "link_rate needs fabric = routed";
    if (s->link_rate && s->link_rate < s->packet_bytes)
        return "link_rate must transmit a packet within 1 s: raise link_rate or lower packet";
    if (s->link_rate > (uint64_t)1 << 40)
        return "link_rate must be at most 1 TiB/s; 0 means no limit";
    *key = "link_latency";
    if (s->link_latency_ns && s->tuning.fabric != TD_FABRIC_ROUTED)
        return "link_latency needs fabric = routed";
    if (s->link_latency_ns < 0 || s->link_latency_ns > 1000000000)
        return "link_latency must be at most 1 s";
    return NULL;
}

static const char *check_tuning(const struct td_settings *s, const char **key)
{
    const struct td_tuning *t = &s->tuning;
    *key = "burst";
    if (t->burst < 1 || t->burst > 1 << 16)
        return "burst must be 1 to 65536 packets";
    *key = "relay";
    if (t->relay_bytes < 1 << 16 || t->relay_bytes > s->scratch_bytes)
        return "relay must be at least 64 KiB and at most [limits] scratch";
    return NULL;
}

static const char *check_shares(const struct td_settings *s, const char **key)
{
    *key = "groups";
    if (s->groups_max < 1 || s->groups_max > 1 << 20)
        return "groups must be 1 to 1048576";
    *key = "groups_per_process";
    if (s->client_groups_max < 1 || s->client_groups_max > 1 << 20)
        return "groups_per_process must be 1 to 1048576";
    *key = "regions";
    if (s->regions_max < 1 || s->regions_max >= TD_REGIONS_MAX)
        return "regions must be 1 to 65535";
    *key = "events";
    if (s->trace_events > 1 << 20)
        return "events must be at most 1048576";
    *key = "share";
    if (s->share_percent < 1 || s->share_percent > 100)
        return "share must be 1 to 100 percent";
    *key = "unread";
    if (s->unread_bytes_max < 1 << 16)
        return "unread must be at least 64 KiB";
    *key = "plans";
    if (s->plans_bytes_max < 1 << 20)
        return "plans must be at least 1 MiB";
    return NULL;
}

const char *td_settings_check(const struct td_settings *s, const char **key)
{
    const char *wrong = NULL;
    *key = "memory";
    if (s->arena_bytes < 1 << 20 || s->arena_bytes > (uint64_t)1 << 40)
        return "memory must be 1 MiB to 1 TiB";
    *key = "scratch";
    if (s->scratch_bytes < 1 << 16 || s->scratch_bytes > (uint64_t)1 << 46)
        return "scratch must be 64 KiB to 64 TiB";
    *key = "region";
    if (s->region_bytes_max < 1 << 12)
        return "region must be at least 4 KiB";
    *key = "clients";
    if (s->clients_max < 1 || s->clients_max > 65536)
        return "clients must be 1 to 65536";
    *key = "operations";
    if (s->operations_max < 1 || s->operations_max > TD_OPERATIONS_MAX)
        return "operations must be 1 to 4096";
    if ((wrong = check_shares(s, key)))
        return wrong;
    *key = "packet";
    if (s->packet_bytes < 1024 || s->packet_bytes > TD_PACKET_BYTES_MAX)
        return "packet must be 1 KiB to 256 KiB";
    *key = "message_overhead";
    if (s->tuning.message_bytes > 1 << 20)
        return "message_overhead must be at most 1 MiB";
    *key = "credits";
    if (s->link_credits < 2 || s->link_credits > TD_LINK_CREDITS_MAX)
        return "credits must be 2 to 64";
    if ((wrong = check_routed(s, key)) || (wrong = check_tuning(s, key)))
        return wrong;
    *key = "join_timeout";
    if (s->join_timeout_ns < 1)
        return "join_timeout must be positive";
    *key = "progress_timeout";
    if (s->progress_timeout_ns < 1000000)
        return "progress_timeout must be at least 1 ms";
    *key = "heartbeat";
    if (s->heartbeat_ns < 1000000 || s->heartbeat_ns > s->progress_timeout_ns / 2)
        return "heartbeat must be at least 1 ms and at most half of progress_timeout";
    return NULL;
}

void td_settings_set_absent(struct td_settings *s, uint32_t node)
{
    td_bit_set(s->absent, node);
    s->absent_hash = TD_HASH_START;
    for (uint32_t n = 0; n < TD_NODES_MAX; n++)
        if (td_bit(s->absent, n))
            s->absent_hash = td_hash_add(s->absent_hash, n);
}

td_time td_settings_link_time(const struct td_settings *s, uint32_t bytes)
{
    return s->link_rate ? ((uint64_t)bytes * 1000000000 + s->link_rate - 1) / s->link_rate : 0;
}
