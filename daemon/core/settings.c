/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: defaults, bounds, and the digest that all nodes must share. */
#include "core.h"

void td_settings_default(struct td_settings *s)
{
    *s = (struct td_settings){
        .arena_bytes = (uint64_t)64 << 20,
        .scratch_bytes = (uint64_t)4 << 30,
        .region_bytes_max = (uint64_t)64 << 30,
        .clients_max = 1024,
        .operations_max = 1024,
        .packet_bytes = TD_PACKET_BYTES_MAX,
        .link_credits = 16,
        .join_timeout_ns = 300 * (int64_t)1000000000,
        .arrival_timeout_ns = -1,
        .progress_timeout_ns = 30 * (int64_t)1000000000,
        .heartbeat_ns = 1000000000,
        .tuning = {.packet_bytes = TD_PACKET_BYTES_MAX, .burst = 1},
    };
    td_router_rules_default(&s->router);
}

const char *td_settings_check(const struct td_settings *s, const char **key)
{
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
    *key = "packet";
    if (s->packet_bytes < 1024 || s->packet_bytes > TD_PACKET_BYTES_MAX)
        return "packet must be 1 KiB to 256 KiB";
    *key = "credits";
    if (s->link_credits < 2 || s->link_credits > TD_LINK_CREDITS_MAX)
        return "credits must be 2 to 64";
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

static uint64_t hash(uint64_t h, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        h = (h ^ (value >> (8 * i) & 0xff)) * 0x100000001b3u;
    return h;
}

uint64_t td_settings_digest(const struct td_settings *s, const struct td_topology *t)
{
    uint64_t h = hash(0xcbf29ce484222325u, t->dimensions);
    for (uint32_t d = 0; d < t->dimensions; d++)
        h = hash(hash(h, t->size[d]), t->wrap[d]);
    h = hash(h, s->packet_bytes);
    h = hash(h, s->link_credits);
    h = hash(h, (uint64_t)s->progress_timeout_ns);
    h = hash(h, (uint64_t)s->heartbeat_ns);
    const struct td_tuning *c = &s->tuning;
    h = hash(h, c->fabric);
    h = hash(h, c->alltoall);
    h = hash(h, c->parts);
    h = hash(h, c->barriers);
    h = hash(h, c->barriers_of_all | c->no_gap << 1 | c->in_order << 2);
    h = hash(h, c->burst);
    if (c->fabric == TD_FABRIC_DIRECT)
        return h;
    h = hash(h, s->router.slots);
    return hash(h, s->link_rate);
}
