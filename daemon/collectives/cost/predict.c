/* SPDX-License-Identifier: Apache-2.0 */
#include "predict.h"

#include "bound.h"
#include "collectives/alltoall/relay.h"
#include "collectives/reduce/swing.h"

enum { WHOLE = 1 << 16 };

static uint64_t most_ranks(const struct td_group *g)
{
    uint64_t most = 0;
    for (uint32_t slot = 0; slot < g->slots; slot++)
        if (td_group_slot_ranks(g, slot) > most)
            most = td_group_slot_ranks(g, slot);
    return most;
}

/* unit returns what a node has for another: all the same, or of parts the mean and the most. */
static void unit(const struct td_program *p, uint64_t *mean, uint64_t *most)
{
    uint64_t ranks = most_ranks(p->group),
             pairs = (uint64_t)p->group->slots * (p->group->slots - 1);
    *mean = *most = p->call.count * td_type_bytes(p->call.type) * ranks * ranks;
    if (!p->parts && !p->relay)
        return;
    *most = p->survey.most;
    *mean = pairs ? p->survey.total / pairs + (p->survey.total % pairs != 0) : 0;
}

static uint64_t packets_of(const struct td_program *p, uint64_t bytes)
{
    uint64_t packet = p->tuning.packet_bytes ? p->tuning.packet_bytes : 1;
    return bytes / packet + (bytes % packet != 0);
}

/* times returns how often the second highest load of a dimension goes into the highest, times two.
 */
static uint64_t times2(const struct td_topology *t, uint32_t longest)
{
    uint64_t next = 0;
    for (uint32_t d = 0; d < t->dimensions; d++)
        if (d != longest && td_bound_load2(t, d) > next)
            next = td_bound_load2(t, d);
    return next ? 2 * td_bound_load2(t, longest) / next : 2;
}

/* estimate sets the efficiencies. Measured, random and two-phase, with 4 to 16 packets a pair, in a
 * model of slots in which control messages and credits took no time (torus-sim is within 0.02 where
 * docs/network.md has the case):
 *   balanced  8x8x8 0.987 0.631   4x4x4 0.973 0.693   8mx8m 0.822 0.626
 *   x 1.5     6x6x9 0.913 0.909   8x8x12 0.801 0.913
 *   x 2       4x4x8 0.985 0.987   5x5x10 0.846 0.962  6x6x12 0.773 0.970  8x8x16 0.695 0.981
 *   more      4x4x12 0.742 0.987  4x4x16 0.685 0.990  8x32 0.632 0.981
 *   lines     8x8mx8 0.911 0.792  4x8mx4 0.894 0.946
 *   two       4x16 0.974 0.982  8x16 0.979 0.935  4x32 0.976 0.982  8x24 0.700  2x2x16 0.962
 * So random order falls with the length of a ring that is longer than the others, but not where few
 * nodes are beside it. */
static void estimate(const struct td_topology *t, uint32_t longest, struct td_prediction *out)
{
    uint64_t ratio2 = times2(t, longest);
    uint32_t k = t->size[longest];
    out->random_efficiency = 960;
    out->two_phase_efficiency = ratio2 >= 4 ? 950 : ratio2 >= 3 ? 900 : 630;
    if (!t->wrap[longest]) {
        out->random_efficiency = 890;
        out->two_phase_efficiency = ratio2 >= 8 ? 940 : ratio2 >= 4 ? 790 : 620;
    } else if (ratio2 >= 3 && k > (t->dimensions == 2 ? 16 : 8) && t->nodes / k > 4) {
        out->random_efficiency = k >= 18 ? 640 : 960 - 32 * (k - 8);
    }
}

/* barrier returns the slots of a barrier along a ring: in round r a message goes 2^r places. */
static uint64_t barrier(uint32_t k)
{
    uint64_t slots = 0;
    for (uint64_t places = 1; places < k; places *= 2)
        slots += 1 + (places < k - places ? places : k - places);
    return slots;
}

/* pauses returns what a ring's chain of barriers adds, and the last packets' way to each. */
static uint64_t pauses(const struct td_grid *grid, uint32_t d)
{
    uint64_t hops = td_grid_hops(grid, d);
    return grid->shape.dimensions * (hops * barrier(grid->shape.size[d]) + hops * (hops + 1) / 2);
}

/* segments_of estimates, from above, how often phased begins anew. */
static uint64_t segments_of(const struct td_program *p, const struct td_prediction *out)
{
    uint64_t packet = p->tuning.packet_bytes ? p->tuning.packet_bytes : 1;
    return 1 + out->packets * packet / (p->tuning.relay_bytes / (p->group->slots * 7u) + 1);
}

void td_predict_alltoall(const struct td_program *p, struct td_prediction *out)
{
    uint64_t mean = 0, longest = 0;
    unit(p, &mean, &longest);
    *out = (struct td_prediction){.packets = packets_of(p, mean)};
    td_grid_of(p->group, p->topology, &out->grid);
    const struct td_topology *t = &out->grid.shape;
    uint64_t most = 0;
    out->longest = td_bound_longest(t);
    estimate(t, out->longest, out);
    out->bound = (td_alltoall_bound(t, out->packets) + 1) / 2;
    out->random = out->bound * 1000 / out->random_efficiency;
    /* what goes by relays is as long as the longest */
    uint64_t padded = (td_alltoall_bound(t, packets_of(p, longest)) + 1) / 2;
    out->two_phase = padded * 1000 / out->two_phase_efficiency;
    for (uint32_t d = 0; d < t->dimensions; d++)
        most = pauses(&out->grid, d) > most ? pauses(&out->grid, d) : most;
    out->phased = padded + most * segments_of(p, out);
}

enum td_alltoall td_predict_best(const struct td_prediction *x)
{
    bool relays = x->grid.box && x->grid.shape.dimensions > 1 && x->packets > 1;
    return relays && x->two_phase < x->random ? TD_ALLTOALL_TWO_PHASE : TD_ALLTOALL_RANDOM;
}

/* struct cost: of all steps of the pieces, one after the other: hops, and what a link carries, in
 * 2^-16 of a piece. */
struct cost {
    uint64_t hops, carried;
};

/* bucket: a ring's k - 1 steps carry what is left of a piece but for one in k. Pieces begin in
 * different dimensions; the one taken begins in the longest. */
static struct cost bucket(const struct td_grid *grid)
{
    struct cost cost = {0, 0};
    uint64_t left = WHOLE, first = td_bound_longest(&grid->shape);
    for (uint32_t f = 0; f < grid->shape.dimensions; f++) {
        uint64_t k = grid->shape.size[(first + f) % grid->shape.dimensions];
        cost.hops += k - 1;
        cost.carried += left * (k - 1) / k;
        left /= k;
    }
    return (struct cost){2 * cost.hops, 2 * cost.carried};
}

/* swing: when all nodes of a ring exchange over h hops, as both the pieces that go along it do,
 * every link carries h messages. */
static struct cost swing(const struct td_grid *grid, bool whole)
{
    struct cost cost = {0, 0};
    uint32_t steps = td_swing_steps(grid);
    for (uint32_t s = 0; s < steps; s++) {
        uint64_t hops = td_swing_exchange(grid, 0, 0, s).hops;
        cost.hops += hops;
        cost.carried += hops * (uint64_t)(whole ? WHOLE : WHOLE >> (s + 1));
    }
    return whole ? cost : (struct cost){2 * cost.hops, 2 * cost.carried};
}

/* time_of returns it in 2^-16 slots. */
static uint64_t time_of(const struct cost *cost, uint64_t packets)
{
    return cost->hops * WHOLE + cost->carried * packets;
}

/* Measured: starts are not aligned, so links that several exchanges share stand idle at times, in
 * halves for nearly half of the time. Where a hop has a slot's latency, swing is ahead of buckets
 * up to 16 KiB on 8x8, and up to 32 KiB on 8x8x8. */
enum { SWING_SHARE4 = 7 };

enum td_rings td_predict_rings(const struct td_program *p)
{
    struct td_grid grid;
    td_grid_of(p->group, p->topology, &grid);
    if (!td_swing_fits(&grid))
        return TD_RINGS_BUCKET;
    /* the other calls are half of an allreduce, of all blocks */
    bool reduces = p->call.kind == TD_KIND_ALLREDUCE;
    uint64_t bytes = p->call.count * td_type_bytes(p->call.type) * (reduces ? 1 : p->group->size);
    uint64_t packets = packets_of(p, bytes) / (2 * grid.shape.dimensions);
    struct cost round = bucket(&grid), halves = swing(&grid, false), all = swing(&grid, true);
    halves.carried = halves.carried * SWING_SHARE4 / 4;
    uint64_t least = time_of(&halves, packets);
    if (time_of(&round, packets) < least)
        return TD_RINGS_BUCKET;
    return reduces && time_of(&all, packets) < least ? TD_RINGS_WHOLE : TD_RINGS_SWING;
}
