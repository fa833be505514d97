/* SPDX-License-Identifier: Apache-2.0 */
#include "group.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"

/* fill_runs writes the ranks of a slot as maximal progressions (greedy) and returns their number.
 * If run is NULL it only counts. order: all ranks, by slot. */
static uint32_t fill_runs(const struct td_group *g, const uint32_t *order, uint32_t slot,
                          struct td_run *run)
{
    const uint32_t *rank = order + g->slot_rank[slot];
    uint32_t count = td_group_slot_ranks(g, slot), runs = 0;
    for (uint32_t i = 0; i < count;) {
        struct td_run now = {.slot = slot,
                             .node = g->node[slot],
                             .first = rank[i],
                             .step = 1,
                             .count = 1,
                             .local = i};
        if (i + 1 < count)
            now.step = rank[i + 1] - rank[i];
        while (i + now.count < count && rank[i + now.count] - rank[i + now.count - 1] == now.step)
            now.count++;
        now.step = now.count > 1 ? now.step : 1;
        if (run)
            run[runs] = now;
        runs++;
        i += now.count;
    }
    return runs;
}

/* sort_ranks lists the ranks by node, in order within a node, and fills in the slots of the group.
 * ranks_on[0..highest] holds the number of ranks on each node; it is overwritten. */
static void sort_ranks(struct td_group *g, const uint32_t *rank_node, uint32_t highest,
                       uint32_t *ranks_on, uint32_t *order)
{
    uint32_t slot = 0;
    for (uint32_t node = 0; node <= highest; node++) {
        if (ranks_on[node] == 0)
            continue;
        g->node[slot] = node;
        g->slot_rank[slot + 1] = g->slot_rank[slot] + ranks_on[node];
        ranks_on[node] = g->slot_rank[slot++];
    }
    for (uint32_t r = 0; r < g->size; r++)
        order[ranks_on[rank_node[r]]++] = r;
    for (slot = 0; slot < g->slots; slot++) {
        g->runs += fill_runs(g, order, slot, NULL);
        g->slot_run[slot + 1] = g->runs;
    }
}

td_err td_group_build(struct td_group *g, struct td_arena *arena, const uint32_t *rank_node,
                      uint32_t size)
{
    *g = (struct td_group){.size = size};
    uint32_t highest = 0;
    for (uint32_t r = 0; r < size; r++)
        highest = rank_node[r] > highest ? rank_node[r] : highest;
    uint32_t *ranks_on = td_arena_alloc(arena, (highest + 1) * sizeof *ranks_on);
    uint32_t *order = td_arena_alloc(arena, size * sizeof *order);
    for (uint32_t r = 0; ranks_on && r < size; r++)
        if (ranks_on[rank_node[r]]++ == 0)
            g->slots++;
    g->node = td_arena_alloc(arena, g->slots * sizeof *g->node);
    g->slot_rank = td_arena_alloc(arena, (g->slots + 1) * sizeof *g->slot_rank);
    g->slot_run = td_arena_alloc(arena, (g->slots + 1) * sizeof *g->slot_run);
    if (ranks_on && order && g->node && g->slot_rank && g->slot_run) {
        sort_ranks(g, rank_node, highest, ranks_on, order);
        g->run = td_arena_alloc(arena, g->runs * sizeof *g->run);
    }
    for (uint32_t slot = 0; g->run && g->slot_rank && g->slot_run && slot < g->slots; slot++)
        fill_runs(g, order, slot, g->run + g->slot_run[slot]);
    td_arena_free(arena, ranks_on);
    td_arena_free(arena, order);
    if (g->run)
        return TD_OK;
    td_group_free(g, arena);
    return TD_ERR_NO_MEMORY;
}

void td_group_free(struct td_group *g, struct td_arena *arena)
{
    td_arena_free(arena, g->node);
    td_arena_free(arena, g->slot_rank);
    td_arena_free(arena, g->slot_run);
    td_arena_free(arena, g->run);
    *g = (struct td_group){0};
}

uint32_t td_group_slot(const struct td_group *g, uint32_t node)
{
    uint32_t low = 0, high = g->slots;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (g->node[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->slots && g->node[low] == node ? low : UINT32_MAX;
}

uint32_t td_group_slot_ranks(const struct td_group *g, uint32_t slot)
{
    return g->slot_rank[slot + 1] - g->slot_rank[slot];
}

uint32_t td_group_rank(const struct td_group *g, uint32_t slot, uint32_t local)
{
    for (uint32_t i = g->slot_run[slot]; i < g->slot_run[slot + 1]; i++) {
        const struct td_run *run = &g->run[i];
        if (local < run->local + run->count)
            return run->first + (local - run->local) * run->step;
    }
    assert(!"a local rank of the slot");
    return UINT32_MAX;
}

void td_group_locate(const struct td_group *g, uint32_t rank, uint32_t *slot, uint32_t *local)
{
    for (uint32_t i = 0; i < g->runs; i++) {
        const struct td_run *run = &g->run[i];
        if (rank < run->first || (rank - run->first) % run->step != 0 ||
            (rank - run->first) / run->step >= run->count)
            continue;
        *slot = run->slot;
        *local = run->local + (rank - run->first) / run->step;
        return;
    }
    assert(!"a rank of the group");
}
