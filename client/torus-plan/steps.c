/* SPDX-License-Identifier: Apache-2.0 */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/cost/bound.h"
#include "collectives/alltoall/relay.h"
#include "collectives/method.h"

enum { PAIRWISE_NODES_MAX = 1024 };

/* family_at returns family number i of a kind. */
static unsigned family_at(const struct td_program *p, enum td_step_kind kind, uint32_t i)
{
    unsigned f = 0;
    for (; f < p->families; f++)
        if (p->family[f].kind == kind && i-- == 0)
            break;
    return f;
}

/* count_of returns the number of steps of a family in a round. */
static uint64_t count_of(const struct explain_plan *x, unsigned family)
{
    const struct td_program *p = x->program;
    return family < p->families ? p->family[family].count / x->rounds : 0;
}

struct explain_plan explain_plan_of(const struct td_program *p, enum td_alltoall method)
{
    struct explain_plan x = {.program = p, .method = method, .rounds = 1, .phases = 1, .parts = 1};
    td_grid_of(p->group, p->topology, &x.grid);
    for (uint32_t d = 0, g = 0; d < p->topology->dimensions; d++)
        if (p->topology->size[d] > 1)
            x.machine[g++] = d;
    uint64_t others = p->group->runs - 1;
    if (p->group->slots == 1)
        return x;
    if (method == TD_ALLTOALL_RANDOM)
        x.rounds = p->family[family_at(p, TD_SEND, 0)].count / others;
    if (method == TD_ALLTOALL_TWO_PHASE || method == TD_ALLTOALL_PHASED)
        x.rounds = (uint64_t)td_relay_of(p)->segments;
    if (method == TD_ALLTOALL_TWO_PHASE)
        x.phases = 2;
    if (method == TD_ALLTOALL_PHASED) {
        x.phases = x.grid.shape.dimensions;
        x.parts = (uint32_t)td_relay_of(p)->parts;
    }
    return x;
}

/* measure computes the route of a message: its dimensions and its hops. */
static void measure(const struct explain_plan *x, const struct td_step *step,
                    struct explain_step *e)
{
    const struct td_topology *t = x->program->topology;
    uint32_t here = x->program->group->node[x->program->slot], dimensions = 0;
    e->sign = step->sign;
    for (uint32_t d = 0; d < t->dimensions; d++) {
        int32_t way = td_topology_offset(t, here, step->peer, d);
        uint32_t h = (uint32_t)abs(way);
        if (h == 0)
            continue;
        e->tie[d] = t->wrap[d] && 2 * h == t->size[d];
        e->offset[d] = e->tie[d] && step->sign < 0 ? -(int32_t)h : way;
        e->hops += h;
        e->dimension = dimensions++ ? EXPLAIN_SEVERAL : d;
    }
}

static void send_at(const struct explain_plan *x, unsigned family, uint64_t index,
                    struct explain_step e, explain_fn *each, void *me)
{
    const struct td_program *p = x->program;
    uint64_t packet = p->tuning.packet_bytes;
    struct td_step step;
    p->step_at(p, family, index, &step);
    e.bytes = (uint64_t)td_step_bytes(&step);
    if (e.bytes == 0)
        return;
    e.to = step.peer;
    e.gap = step.gap;
    e.packets = e.bytes / packet + (e.bytes % packet != 0);
    measure(x, &step, &e);
    each(me, &e);
}

static void barrier_at(const struct explain_plan *x, unsigned family, uint64_t index,
                       struct explain_step e, explain_fn *each, void *me)
{
    const struct td_program *p = x->program;
    struct td_step step;
    p->step_at(p, family, index, &step);
    e.barrier = true;
    e.among = step.among;
    if (e.among.count > 1)
        each(me, &e);
}

/* random_or_pairwise: messages to all others. */
static void one_phase(const struct explain_plan *x, uint64_t round, explain_fn *each, void *me)
{
    unsigned send = family_at(x->program, TD_SEND, 0);
    uint64_t count = count_of(x, send);
    for (uint64_t i = 0; i < count; i++)
        send_at(x, send, round * count + i, (struct explain_step){0}, each, me);
}

static void two_phase(const struct explain_plan *x, uint64_t round, explain_fn *each, void *me)
{
    unsigned plane = family_at(x->program, TD_SEND, 0), ring = family_at(x->program, TD_SEND, 1);
    unsigned sync = family_at(x->program, TD_SYNC, 0);
    uint64_t rings = count_of(x, ring), planes = count_of(x, plane);
    uint64_t others = x->grid.shape.size[td_bound_longest(&x->grid.shape)] - 1;
    for (uint64_t i = 0; i < rings; i++)
        send_at(x, ring, round * rings + i,
                (struct explain_step){.ring = true, .turn = (uint32_t)(i / others)}, each, me);
    for (uint64_t i = 0; i < planes; i++)
        send_at(x, plane, round * planes + i, (struct explain_step){.phase = 1}, each, me);
    if (round + 1 < x->rounds)
        barrier_at(x, sync, round,
                   (struct explain_step){.between = true, .phase = 1, .dimension = EXPLAIN_SEVERAL},
                   each, me);
}

/* struct place: the position of one hop count of a dimension in a phased program. */
struct place {
    uint64_t round;
    uint32_t phase, dimension, hop;
};

static bool lockstep(const struct td_program *p)
{
    return p->tuning.barriers_of_all && p->tuning.barriers != TD_BARRIERS_NONE;
}

static uint32_t hop_counts(const struct explain_plan *x, uint32_t dimension)
{
    return (uint32_t)(count_of(x, family_at(x->program, TD_SEND, dimension)) / 2 / x->phases);
}

/* hop_count: both messages of one hop count, and the barrier after them. */
static void hop_count(const struct explain_plan *x, struct place a, explain_fn *each, void *me)
{
    const struct td_program *p = x->program;
    uint64_t turn = a.round * x->phases + a.phase;
    uint32_t hops = hop_counts(x, a.dimension);
    unsigned send = family_at(p, TD_SEND, a.dimension);
    unsigned sync = family_at(p, TD_SYNC, lockstep(p) ? 0 : a.dimension);
    uint64_t syncs = count_of(x, sync) / x->phases;
    struct explain_step e = {.phase = a.phase,
                             .part = (a.dimension + a.phase) % x->phases,
                             .dimension = x->machine[a.dimension]};
    for (uint64_t i = 0; i < 2; i++)
        send_at(x, send, (turn * hops + a.hop) * 2 + i, e, each, me);
    if (lockstep(p)) {
        e.dimension = EXPLAIN_SEVERAL;
        if (a.dimension + 1 < x->phases)
            return;
    }
    if (syncs == hops && hops > 0)
        barrier_at(x, sync, turn * syncs + a.hop, e, each, me);
    else if (syncs == 1 && a.hop + 1 == hops)
        barrier_at(x, sync, turn, e, each, me);
}

static void phased(const struct explain_plan *x, uint64_t round, explain_fn *each, void *me)
{
    const struct td_program *p = x->program;
    uint32_t dimensions = x->phases;
    struct place a = {.round = round};
    for (a.phase = 0; a.phase < x->phases; a.phase++)
        if (lockstep(p))
            for (a.hop = 0; a.hop < hop_counts(x, 0); a.hop++)
                for (a.dimension = 0; a.dimension < dimensions; a.dimension++)
                    hop_count(x, a, each, me);
        else
            for (a.dimension = 0; a.dimension < dimensions; a.dimension++)
                for (a.hop = 0; a.hop < hop_counts(x, a.dimension); a.hop++)
                    hop_count(x, a, each, me);
    for (uint32_t d = 0; round + 1 < x->rounds && d < dimensions; d++)
        barrier_at(x, family_at(p, TD_SYNC, dimensions + d), round,
                   (struct explain_step){
                       .between = true, .phase = x->phases - 1, .dimension = x->machine[d]},
                   each, me);
}

void explain_round(const struct explain_plan *x, uint64_t round, explain_fn *each, void *me)
{
    if (x->program->group->slots == 1)
        return;
    if (x->method == TD_ALLTOALL_PHASED)
        phased(x, round, each, me);
    else if (x->method == TD_ALLTOALL_TWO_PHASE)
        two_phase(x, round, each, me);
    else
        one_phase(x, round, each, me);
}

struct sum {
    struct explain_totals *totals;
    uint64_t times;
};

static void add(void *me, const struct explain_step *e)
{
    struct sum *s = me;
    struct explain_totals *t = s->totals;
    if (e->barrier) {
        t->barriers += s->times;
        return;
    }
    t->messages += s->times;
    t->bytes += s->times * e->bytes;
    t->packets += s->times * e->packets;
    t->hops_max = e->hops > t->hops_max ? e->hops : t->hops_max;
    for (uint32_t d = 0; d < TD_DIMENSIONS_MAX; d++)
        t->byte_hops[d] += s->times * e->bytes * (uint32_t)abs(e->offset[d]);
}

struct explain_totals explain_total(const struct explain_plan *x)
{
    struct explain_totals totals = {0};
    if (x->rounds > 1)
        explain_round(x, 0, add, &(struct sum){&totals, x->rounds - 1});
    explain_round(x, x->rounds - 1, add, &(struct sum){&totals, 1});
    return totals;
}

uint64_t explain_pass(const struct td_topology *t, uint32_t from, uint32_t to, int choice,
                      uint64_t weight, uint64_t *load2)
{
    uint64_t most = 0;
    for (uint32_t d = 0; d < t->dimensions; d++) {
        int32_t way = td_topology_offset(t, from, to, d);
        bool tie = t->wrap[d] && 2 * (uint32_t)abs(way) == t->size[d];
        uint32_t end = from;
        for (int sign = -1; sign <= 1; sign += 2) {
            uint32_t at = from;
            if (tie && choice ? choice != sign : !tie && (way < 0) != (sign < 0))
                continue;
            for (int32_t h = 0; h < abs(way); h++) {
                uint64_t *load = &load2[((size_t)at * t->dimensions + d) * 2 + (sign < 0)];
                *load += tie && !choice ? weight : 2 * weight;
                most = *load > most ? *load : most;
                at = td_topology_neighbour(t, at, d, sign);
            }
            end = at;
        }
        from = end;
    }
    return most;
}

double explain_pairwise_slots(const struct explain_plan *x, uint64_t bytes)
{
    const struct td_topology *t = x->program->topology;
    uint32_t n = x->program->group->slots;
    size_t links = (size_t)n * t->dimensions * 2;
    uint64_t *load2 = n <= PAIRWISE_NODES_MAX ? calloc(links, sizeof *load2) : NULL;
    double sum = 0, hop = (double)td_program_hop(x->program, bytes);
    for (uint32_t s = 1; load2 && s < n; s++) {
        uint64_t most = 0, far = 0;
        memset(load2, 0, links * sizeof *load2);
        for (uint32_t from = 0; from < n; from++) {
            uint32_t to = (n & (n - 1)) == 0 ? from ^ s : (from + s) % n;
            uint64_t load = explain_pass(t, from, to, 0, 1, load2),
                     way = td_topology_distance(t, from, to);
            most = load > most ? load : most;
            far = way > far ? way : far;
        }
        sum += (double)most / 2 * (double)bytes + (double)(far - 1) * hop;
    }
    free(load2);
    return sum / x->program->tuning.packet_bytes;
}
