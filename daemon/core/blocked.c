/* SPDX-License-Identifier: Apache-2.0 */
#include "blocked.h"

#include <stdio.h>

#include "core/membership/communicator.h"
#include "core/net/health.h"
#include "core/net/silence.h"
#include "core/net/link.h"
#include "core/operation/gate.h"
#include "core/operation/operation.h"

/* waits_since returns when an operation began to wait: for ranks, or for a step to end. */
static td_time waits_since(const struct td_operation *o)
{
    if (o->state >= TD_OPERATION_RELEASED && o->progress_at > o->started_at)
        return o->progress_at;
    return o->started_at;
}

static const struct td_operation *oldest(const struct td_core *core)
{
    const struct td_operation *found = NULL;
    for (const struct td_communicator *c = core->communicators; c; c = c->next)
        for (uint64_t i = 0; i < TD_GROUP_OPERATIONS_MAX; i++) {
            const struct td_operation *o = c->operation[i];
            if (o && !td_operation_is_over(o) && (!found || waits_since(o) < waits_since(found)))
                found = o;
        }
    return found;
}

/* print_age writes a time in steps, so that the line does not change with each event. */
static void print_age(td_time ns, char *text, size_t bytes)
{
    unsigned long long s = ns / 1000000000;
    if (s < 60)
        snprintf(text, bytes, "%llu s", s - s % TD_BLOCKED_S);
    else if (s < 3600)
        snprintf(text, bytes, "%llu min", s / 60);
    else
        snprintf(text, bytes, "%llu h", s / 3600);
}

/* print_missing names the first rank that has not called, and the number of others. */
static void print_missing(const struct td_operation *o, char *text, size_t bytes)
{
    const struct td_communicator *c = o->communicator;
    uint8_t bits[TD_JOB_RANKS_MAX / 8];
    uint32_t first = UINT32_MAX, others = 0, slot = 0, local = 0;
    int length = 0;
    td_gate_arrived(o, bits);
    for (uint32_t r = 0; r < c->group.size; r++)
        if (!td_bit(bits, r) && first == UINT32_MAX)
            first = r;
        else if (!td_bit(bits, r))
            others++;
    if (first == UINT32_MAX) {
        snprintf(text, bytes, "other nodes");
        return;
    }
    td_group_locate(&c->group, first, &slot, &local);
    length = snprintf(text, bytes, "rank %u on node %u", td_communicator_job_rank(c, first),
                      c->group.node[slot]);
    const struct td_client *client = slot == c->slot ? c->seat[local].client : NULL;
    if (client && (size_t)length < bytes)
        length += snprintf(text + length, bytes - (size_t)length, ", process %llu",
                           (unsigned long long)client->pid);
    if (others && (size_t)length < bytes)
        snprintf(text + length, bytes - (size_t)length, ", and %u other%s", others,
                 others == 1 ? "" : "s");
}

/* node_silent names the node that has been silent for longest: of a group, or (NULL) of all. */
static bool node_silent(const struct td_core *core, const struct td_communicator *c, char *text,
                        size_t bytes)
{
    uint32_t node = core->node, count = c ? c->group.slots : core->options.topology.nodes;
    td_time most = 0;
    char age[32];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t n = c ? c->group.node[i] : i;
        if (td_silence_now(core, n) > most) {
            node = n;
            most = td_silence_now(core, n);
        }
    }
    if (most == 0)
        return false;
    print_age(most, age, sizeof age);
    if (most >= TD_BLOCKED_S * (td_time)1000000000)
        snprintf(text, bytes, "node %u has been silent for %s", node, age);
    else
        snprintf(text, bytes, "node %u is silent", node);
    return true;
}

static bool node_down(struct td_core *core, char *text, size_t bytes)
{
    for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
        const char *why = td_health_why(core, n);
        if (n == core->node || td_bit(core->settings.absent, n) || !why[0] ||
            td_health_state(core, n) != TD_PEER_DOWN)
            continue;
        snprintf(text, bytes, "node %u is down: %s", n, why);
        return true;
    }
    return false;
}

bool td_core_blocked(struct td_core *core, td_time now, char *text, size_t bytes)
{
    const struct td_operation *o = oldest(core);
    td_time since = o ? waits_since(o) : 0;
    if (!o || now < since + TD_BLOCKED_S * (td_time)1000000000)
        return node_down(core, text, bytes) || node_silent(core, NULL, text, bytes);
    if (node_silent(core, o->communicator, text, bytes))
        return true; /* the ranks there are not to blame */
    char age[32], missing[128];
    print_age(now - since, age, sizeof age);
    if (o->state >= TD_OPERATION_RELEASED) {
        snprintf(text, bytes, "an operation of user %llu has made no progress for %s",
                 (unsigned long long)o->communicator->uid, age);
        return true;
    }
    print_missing(o, missing, sizeof missing);
    snprintf(text, bytes, "an operation of user %llu has waited %s for %s",
             (unsigned long long)o->communicator->uid, age, missing);
    return true;
}

uint32_t td_core_silent(const struct td_core *core)
{
    uint32_t silent = 0;
    for (uint32_t n = 0; n < core->options.topology.nodes; n++)
        silent += !core->link[n].relayed && td_silence_now(core, n) > 0;
    return silent;
}
