/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define MS ((td_time)1000000)

static const char *const fault_names[] = {
#define FAULT_NAME(NAME, name) name,
    SWARM_FAULTS(FAULT_NAME)
#undef FAULT_NAME
};

static uint64_t below(uint64_t *state, uint64_t bound)
{
    return td_hash_next(state) % bound;
}

const char *swarm_fault_name(enum swarm_fault_kind kind)
{
    return fault_names[kind];
}

/* draw_duration returns a time below half of progress_timeout, or one around it, or a long one. */
static td_time draw_duration(uint64_t *s)
{
    switch (below(s, 4)) {
    case 0:
        return below(s, 20 * MS);
    case 1:
        return below(s, 400 * MS);
    case 2:
        return below(s, 1500 * MS);
    default:
        return below(s, 6000 * MS);
    }
}

/* pair makes a fault after some pauses one of the next node, which ends a little later: two hosts
 * behind one switch, or a link with both of its ends. */
static void pair(const struct swarm_fault *before, struct swarm_fault *f)
{
    if (before->kind != SWARM_PAUSE || before->set % 3 != 0)
        return;
    f->kind = SWARM_PAUSE;
    f->step = before->step;
    f->node = before->node + 1;
    f->duration_ns = before->duration_ns + f->duration_ns % (400 * MS);
}

static void draw_faults(struct swarm_case *c, uint64_t *s)
{
    static const uint8_t most[] = {0, 1, 2, 4, 8, SWARM_FAULTS_MAX};
    c->faults = (uint32_t)below(s, 1u + most[below(s, sizeof most)]);
    for (uint32_t i = 0; i < c->faults; i++) {
        struct swarm_fault *f = &c->fault[i];
        f->kind = (enum swarm_fault_kind)below(s, SWARM_KINDS_DRAWN);
        f->step = (uint32_t)below(s, c->steps);
        f->delay_ns = below(s, below(s, 2) ? MS : 1000);
        f->duration_ns = draw_duration(s);
        f->node = (uint32_t)below(s, 1 << 16);
        f->other = (uint32_t)below(s, 1 << 16);
        f->set = td_hash_next(s);
        if (f->kind == SWARM_DAEMON && f->set % 3 == 0)
            f->kind = SWARM_STOP;
        if (i > 0)
            pair(f - 1, f);
    }
}

/* draw_size draws the amount of work. Most cases are small; a few have hundreds of ranks on a node,
 * or hundreds of groups. */
static void draw_size(struct swarm_case *c, uint64_t *s)
{
    uint64_t rare = below(s, 400);
    c->ranks = 1 + (uint32_t)below(s, below(s, 3) ? 10 : 20);
    c->steps = 6 + (uint32_t)below(s, SWARM_STEPS_MAX - 5);
    c->groups = (uint32_t)below(s, 9);
    c->half_bytes = 96 << 10;
    if (rare == 0) {
        c->ranks = 300 + (uint32_t)below(s, 60);
        c->steps = 8;
        c->groups = 3;
        c->half_bytes = 8 << 10;
        memcpy(c->shape, below(s, 2) ? "1" : "2", 2);
    } else if (rare == 1) {
        c->ranks = 2 + (uint32_t)below(s, 4);
        c->groups = 300;
        c->steps = SWARM_STEPS_MAX;
    }
}

void swarm_draw(struct swarm_case *c, uint64_t seed)
{
    static const char *const shapes[] = {"1",  "2",    "3",     "4",   "2x2", "2x3", "3x3",  "5",
                                         "4m", "3x3m", "2x2x2", "2x4", "4x4", "2",   "3mx2", "2x2"};
    static const uint32_t packets[] = {1024, 4096, 65536}, credits[] = {2, 4, 16};
    static const uint32_t carried[] = {0, 3000, TD_LONG_RIDE_BYTES_MAX};
    static const td_time delays[] = {1, 1000, 30000, MS};
    static const td_time pauses[] = {2000, 50000, MS, 20 * MS, 200 * MS};
    uint64_t s = seed * 0x9e3779b97f4a7c15u + 1;
    *c = (struct swarm_case){.seed = seed};
    snprintf(c->shape, sizeof c->shape, "%s", shapes[below(&s, sizeof shapes / sizeof *shapes)]);
    draw_size(c, &s);
    c->routed = below(&s, 2);
    c->express_permille = below(&s, 3) == 0 ? 500 : 0;
    c->packet_bytes = packets[below(&s, 3)];
    c->credits = credits[below(&s, 3)];
    c->latency_ns = delays[below(&s, 4)];
    c->compute_ns = delays[below(&s, 4)];
    c->request_ns = delays[below(&s, 4)];
    c->pause_ns = pauses[below(&s, 5)];
    c->scratch_bytes = below(&s, 8) ? 64 << 20 : 9 << 20;
    c->workload = td_hash_next(&s);
    draw_faults(c, &s);
    c->groups_max = below(&s, 6) ? 0 : 4 + (uint32_t)below(&s, 20);
    c->carry_bytes = carried[below(&s, 3)];
    if (below(&s, 3) == 0 && c->ranks < 300 && c->groups < 100)
        c->programs = 5 + (uint32_t)below(&s, 50);
}

void swarm_options(const struct swarm_case *c, struct td_sim_options *o)
{
    td_sim_options_default(o, c->shape, c->seed);
    o->settings.scratch_bytes = c->scratch_bytes;
    if (c->ranks >= 300)
        o->settings.arena_bytes *= 4; /* for the counts of their calls */
    if (c->scratch_bytes < 16 << 20)
        o->settings.tuning.relay_bytes = 1 << 16; /* else long calls do not fit */
    o->settings.packet_bytes = c->packet_bytes;
    o->settings.link_credits = c->credits;
    o->settings.carry_bytes = c->carry_bytes;
    o->settings.tuning.fabric = c->routed ? TD_FABRIC_ROUTED : TD_FABRIC_DIRECT;
    o->settings.heartbeat_ns = 100 * (int64_t)MS;
    o->settings.progress_timeout_ns = 1000 * (int64_t)MS;
    o->settings.client_groups_max = 4096;
    if (c->groups_max)
        o->settings.groups_max = c->groups_max;
    o->express_permille = c->express_permille;
    o->latency_ns_max = c->latency_ns;
    o->compute_ns_max = c->compute_ns;
    o->request_ns_max = c->request_ns;
}

void swarm_print_fault(const struct swarm_fault *f, char *text, size_t size)
{
    snprintf(text, size, "%s at step %u + %llu ns, for %llu ms, node %u, other %u, set %016llx",
             fault_names[f->kind], f->step, (unsigned long long)f->delay_ns,
             (unsigned long long)(f->duration_ns / MS), f->node, f->other,
             (unsigned long long)f->set);
}
