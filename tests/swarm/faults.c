/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include "groups.h"

enum { HURT_MS = 450 /* a node may be silent so long before somebody may accuse it */ };

/* ---- what is hurt ---- */

static void hurt(struct swarm *s, uint32_t node)
{
    s->hurt[node] = s->any_hurt = true;
}

/* hurt_parts: if the nodes that are hurt cut the routed fabric in parts, each part loses the nodes
 * of the others, and may name them. */
static void hurt_parts(struct swarm *s)
{
    bool reached[SWARM_NODES_MAX] = {false};
    uint32_t whole = 0, count = 0, queue[SWARM_NODES_MAX];
    for (uint32_t n = 0; n < s->nodes; n++) {
        whole += !s->hurt[n];
        if (!s->hurt[n] && count == 0) {
            queue[count++] = n;
            reached[n] = true;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t b = 0; b < s->nodes; b++)
            if (!reached[b] && !s->hurt[b] && td_sim_connected(s->sim, queue[i], b)) {
                reached[b] = true;
                queue[count++] = b;
            }
    for (uint32_t n = 0; n < s->nodes && count < whole; n++)
        hurt(s, n);
}

static void hurt_node(struct swarm *s, uint32_t node)
{
    hurt(s, node);
    if (s->c->routed)
        hurt_parts(s);
}

/* hurt_link: a node may accuse either end of a link that was bad for long; on the routed fabric
 * also the nodes behind it. */
static void hurt_link(struct swarm *s, uint32_t a, uint32_t b)
{
    for (uint32_t n = 0; n < s->nodes; n++)
        if (n == a || n == b || s->c->routed)
            hurt(s, n);
}

static void bury(struct swarm *s, uint32_t node)
{
    for (uint32_t i = 0; i < s->processes; i++)
        if (s->process[i].node == node)
            s->process[i].dead = s->process[i].buried = true;
    s->daemon_dead[node] = s->restarted[node] = true;
    hurt_node(s, node);
}

/* ---- begin ---- */

static uint64_t members(const struct swarm *s, const struct swarm_fault *f, bool *set)
{
    uint64_t count = 0;
    for (uint32_t n = 0; n < s->nodes; n++) {
        set[n] = f->set >> n & 1;
        count += set[n];
    }
    return count;
}

static bool begin_partition(struct swarm *s, const struct swarm_fault *f)
{
    bool set[SWARM_NODES_MAX];
    uint64_t count = members(s, f, set);
    if (count == 0 || count == s->nodes)
        return false;
    td_sim_partition(s->sim, set, f->kind == SWARM_TIMED_OUT);
    bool long_enough = f->duration_ns > HURT_MS * SWARM_MS || f->kind == SWARM_TIMED_OUT;
    for (uint32_t n = 0; n < s->nodes && long_enough; n++)
        hurt(s, n);
    return true;
}

static bool begin_link(struct swarm *s, const struct swarm_fault *f, uint32_t a, uint32_t b)
{
    if (a == b || !td_sim_connected(s->sim, a, b))
        return false;
    switch ((int)f->kind) {
    case SWARM_RESET:
        td_sim_break_link(s->sim, a, b);
        return true;
    case SWARM_ONE_WAY:
        td_sim_hold_link(s->sim, a, b);
        if (f->duration_ns > HURT_MS * SWARM_MS)
            hurt_link(s, a, b);
        return true;
    case SWARM_SLOW:
        td_sim_slow_link(s->sim, a, b, 1 + f->set % 2000);
        s->any_slow = true;
        return true;
    case SWARM_CORRUPT:
        td_sim_disturb_link(s->sim, a, b, 1 + (uint32_t)(f->set % 60), 0);
        return true;
    default: /* SWARM_DUPLICATE */
        td_sim_disturb_link(s->sim, a, b, 0, 1 + (uint32_t)(f->set % 500));
        return true;
    }
}

static bool begin_at(struct swarm *s, const struct swarm_fault *f, uint32_t node)
{
    if (s->daemon_dead[node])
        return false;
    switch ((int)f->kind) {
    case SWARM_DAEMON:
        bury(s, node);
        td_sim_kill_node(s->sim, node);
        return true;
    case SWARM_STOP:
        bury(s, node);
        td_sim_stop_node(s->sim, node);
        return true;
    case SWARM_SILENCE:
        bury(s, node);
        td_sim_freeze_node(s->sim, node);
        return true;
    case SWARM_PAUSE:
        td_sim_pause_node(s->sim, node);
        s->paused[node] = true;
        if (f->duration_ns > HURT_MS * SWARM_MS)
            hurt_node(s, node);
        return true;
    case SWARM_MEMORY:
        td_sim_refuse_memory(
            s->sim, node,
            (struct td_refusals){f->set % 97, f->set >> 32 & 1 ? 1 + f->set % 5 : UINT64_MAX});
        s->starved[node] = s->any_starved = true;
        return true;
    default: /* SWARM_COMPUTE */
        s->compute_ns[node] = f->set % (2500 * SWARM_MS);
        s->any_slow = true;
        return true;
    }
}

static bool begin(struct swarm *s, const struct swarm_fault *f)
{
    uint32_t node = f->node % s->nodes, other = f->other % s->nodes;
    switch ((int)f->kind) {
    case SWARM_PROCESS:
        if (s->processes == 0 || s->process[f->other % s->processes].dead)
            return false;
        swarm_kill(s, f->other % s->processes);
        return true;
    case SWARM_PARTITION:
    case SWARM_TIMED_OUT:
        return begin_partition(s, f);
    case SWARM_RESET:
    case SWARM_ONE_WAY:
    case SWARM_SLOW:
    case SWARM_CORRUPT:
    case SWARM_DUPLICATE:
        for (uint32_t i = 0; i < s->nodes; i++) /* the next node that has a link to it */
            if (begin_link(s, f, node, (other + i) % s->nodes))
                return true;
        return false;
    default:
        return begin_at(s, f, node);
    }
}

void swarm_faults_begin(struct swarm *s, uint32_t step)
{
    for (uint32_t i = 0; i < s->c->faults; i++) {
        const struct swarm_fault *f = &s->c->fault[i];
        if (f->step != step || s->without >> i & 1)
            continue;
        swarm_run(s, f->delay_ns);
        if (!begin(s, f))
            continue;
        s->report->happened[f->kind]++;
        s->active[s->actives++] =
            (struct swarm_active){f, td_sim_now(s->sim) + f->duration_ns + SWARM_MS};
    }
}

/* ---- end ---- */

static void start(struct swarm *s, uint32_t node)
{
    if (!s->daemon_dead[node])
        return;
    td_sim_kill_node(s->sim, node); /* it may have been silent only */
    s->daemon_dead[node] = false;
    td_sim_start_node(s->sim, node);
}

static void end_partition(struct swarm *s, const struct swarm_fault *f)
{
    bool set[SWARM_NODES_MAX];
    members(s, f, set);
    for (uint32_t a = 0; a < s->nodes; a++)
        for (uint32_t b = 0; b < s->nodes; b++)
            if (set[a] != set[b])
                td_sim_release_link(s->sim, a, b);
}

static void end_link(struct swarm *s, uint32_t a, uint32_t b)
{
    if (a == b)
        return;
    td_sim_release_link(s->sim, a, b);
    td_sim_slow_link(s->sim, a, b, 0);
    td_sim_disturb_link(s->sim, a, b, 0, 0);
}

static void end(struct swarm *s, const struct swarm_fault *f)
{
    uint32_t node = f->node % s->nodes;
    switch ((int)f->kind) {
    case SWARM_PROCESS:
    case SWARM_RESET:
    case SWARM_SILENCE:
        return;
    case SWARM_DAEMON:
    case SWARM_STOP:
        start(s, node);
        return;
    case SWARM_PAUSE:
        td_sim_thaw_node(s->sim, node);
        return;
    case SWARM_PARTITION:
    case SWARM_TIMED_OUT:
        end_partition(s, f);
        return;
    case SWARM_MEMORY:
        td_sim_refuse_memory(s->sim, node, (struct td_refusals){0});
        return;
    case SWARM_COMPUTE:
        s->compute_ns[node] = 0;
        return;
    default:
        for (uint32_t b = 0; b < s->nodes; b++)
            end_link(s, node, b);
    }
}

void swarm_faults_end(struct swarm *s)
{
    for (uint32_t i = 0; i < s->actives;) {
        const struct swarm_active a = s->active[i];
        if (a.end > td_sim_now(s->sim)) {
            i++;
            continue;
        }
        s->active[i] = s->active[--s->actives];
        end(s, a.fault);
    }
}

td_time swarm_faults_next(const struct swarm *s)
{
    td_time next = TD_TIME_NEVER;
    for (uint32_t i = 0; i < s->actives; i++)
        next = s->active[i].end < next ? s->active[i].end : next;
    return next;
}

void swarm_faults_heal(struct swarm *s)
{
    s->actives = 0;
    td_sim_heal(s->sim);
    for (uint32_t n = 0; n < s->nodes; n++) {
        s->compute_ns[n] = 0;
        td_sim_refuse_memory(s->sim, n, (struct td_refusals){0});
        td_sim_thaw_node(s->sim, n);
    }
    for (uint32_t n = 0; n < s->nodes; n++)
        start(s, n);
}
