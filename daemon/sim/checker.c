/* SPDX-License-Identifier: Apache-2.0 */
#include "checker.h"

#include <stdio.h>
#include <string.h>

#include "state.h"

uint64_t td_sim_drops(const struct td_sim *sim)
{
    return sim->drops;
}

uint64_t td_sim_landings(const struct td_sim *sim)
{
    return sim->landings;
}

const char *td_sim_leftovers(struct td_sim *sim)
{
    for (uint32_t i = 0; i < sim->topology.nodes; i++) {
        const struct node *n = &sim->node[i];
        struct td_usage c;
        if (!node_lives(n))
            continue;
        td_core_usage(n->core, &c);
        uint32_t mapped = 0;
        for (uint32_t k = 1; k < n->mappings; k++)
            mapped += n->mapping[k].mapped;
        uint64_t held = c.clients + c.regions + c.jobs + c.groups + c.operations + c.plans +
                        c.computing + c.packets_unacknowledged + c.scratch_used;
        if (held == 0 && c.arena_used == n->arena_used && mapped == 0 && n->buffers_held == 0 &&
            n->under_way == 0)
            continue;
        snprintf(sim->text, sizeof sim->text,
                 "node %u holds %llu clients, %llu regions (%u mapped), %llu jobs, %llu groups, "
                 "%llu operations, %llu plans, %llu computations, %llu packets, %u buffers, %llu "
                 "bytes of scratch and %lld of the arena",
                 i, (unsigned long long)c.clients, (unsigned long long)c.regions, mapped,
                 (unsigned long long)c.jobs, (unsigned long long)c.groups,
                 (unsigned long long)c.operations, (unsigned long long)c.plans,
                 (unsigned long long)c.computing, (unsigned long long)c.packets_unacknowledged,
                 n->buffers_held, (unsigned long long)c.scratch_used,
                 (long long)(c.arena_used - n->arena_used));
        return sim->text;
    }
    return NULL;
}

void checker_touch(struct node *n, const struct td_slice *s, const struct td_lanes *lanes,
                   uint64_t scratch_offset)
{
    if (s->space != TD_SPACE_SCRATCH || td_slice_bytes(s) == 0)
        return;
    int64_t begin = (int64_t)scratch_offset + s->offset, end = begin + s->run;
    for (int l = 0; l < s->levels; l++)
        end += (s->level[l].count - 1) * s->level[l].stride;
    for (uint32_t lane = 0; lane < lanes->count; lane++) {
        int64_t shift = lanes->stride * lane;
        for (int64_t page = (begin + shift) / SIM_SCRATCH_PAGE;
             page <= (end + shift - 1) / SIM_SCRATCH_PAGE; page++) {
            n->pages_touched += !n->touched[page];
            n->touched[page] = 1;
        }
    }
}

void checker_poison(struct td_sim *sim, struct node *n)
{
    static const uint8_t poisons[] = {0xff, 0xfb, 0x7b}; /* NaN, low, high */
    struct td_usage counts;
    if (n->pages_touched == 0)
        return;
    td_core_usage(n->core, &counts);
    if (counts.scratch_used)
        return;
    int poison = poisons[td_sim_random(sim, sizeof poisons)];
    for (uint64_t page = 0; n->pages_touched; page++) {
        if (!n->touched[page])
            continue;
        memset(n->mapping[TD_SCRATCH_HANDLE].base + page * SIM_SCRATCH_PAGE, poison,
               SIM_SCRATCH_PAGE);
        n->touched[page] = 0;
        n->pages_touched--;
    }
}
