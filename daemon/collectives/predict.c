/* SPDX-License-Identifier: Apache-2.0 */
#include "predict.h"

#include "bound.h"
#include "relay.h"

static uint64_t packets_of(const struct td_program *p)
{
    uint64_t bytes = p->call.count * td_type_bytes(p->call.type), most = 0;
    for (uint32_t slot = 0; slot < p->group->slots; slot++)
        if (td_group_slot_ranks(p->group, slot) > most)
            most = td_group_slot_ranks(p->group, slot);
    uint64_t packet = p->tuning.packet_bytes ? p->tuning.packet_bytes : 1;
    uint64_t packets = bytes * most * most / packet;
    return packets * packet < bytes * most * most ? packets + 1 : packets;
}

static bool long_in(const struct td_topology *t, uint32_t longest)
{
    for (uint32_t d = 0; d < t->dimensions; d++)
        if (d != longest && 2 * td_bound_load2(t, d) > td_bound_load2(t, longest))
            return false;
    return t->dimensions > 1;
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
    uint64_t room = p->tuning.relay_bytes ? p->tuning.relay_bytes : TD_RELAY_BYTES_DEFAULT;
    return 1 + out->packets * packet / (room / (p->group->slots * 7u) + 1);
}

void td_predict_alltoall(const struct td_program *p, struct td_prediction *out)
{
    *out = (struct td_prediction){.packets = packets_of(p)};
    td_grid_of(p->group, p->topology, &out->grid);
    const struct td_topology *t = &out->grid.shape;
    uint64_t most = 0;
    out->longest = td_bound_longest(t);
    out->is_long = long_in(t, out->longest);
    out->bound = (td_alltoall_bound(t, out->packets) + 1) / 2;
    out->random = out->bound * 1000 / (out->is_long ? TD_PREDICT_RANDOM_LONG : TD_PREDICT_RANDOM);
    out->two_phase = out->bound * 1000 / TD_PREDICT_TWO_PHASE;
    for (uint32_t d = 0; d < t->dimensions; d++)
        most = pauses(&out->grid, d) > most ? pauses(&out->grid, d) : most;
    out->phased = out->bound + most * segments_of(p, out);
}
