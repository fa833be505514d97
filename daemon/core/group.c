/* SPDX-License-Identifier: Apache-2.0 */
#include "group.h"

#include <assert.h>
#include <string.h>

#include "arena.h"

/* fill_runs writes the slot's ranks as maximal progressions, greedily; returns how many. With run
 * NULL it only counts. */
static uint32_t fill_runs(const uint32_t *rank_node, uint32_t size, uint32_t node, uint32_t slot,
                          struct td_run *run)
{
    uint32_t runs = 0, local = 0;
    struct td_run now = {.slot = slot};
    uint32_t last = 0;
    for (uint32_t rank = 0; rank < size; rank++) {
        if (rank_node[rank] != node)
            continue;
        bool extends = now.count == 1 || (now.count > 1 && rank - last == now.step);
        if (now.count && extends) {
            now.step = rank - last;
            now.count++;
        } else {
            if (now.count) {
                if (run)
                    run[runs] = now;
                runs++;
            }
            now =
                (struct td_run){.slot = slot, .first = rank, .step = 1, .count = 1, .local = local};
        }
        last = rank;
        local++;
    }
    if (now.count) {
        if (run)
            run[runs] = now;
        runs++;
    }
    return runs;
}

td_err td_group_build(struct td_group *g, struct td_arena *arena, const uint32_t *rank_node,
                      uint32_t size)
{
    *g = (struct td_group){.size = size};
    uint32_t highest = 0;
    for (uint32_t r = 0; r < size; r++)
        highest = rank_node[r] > highest ? rank_node[r] : highest;
    uint32_t *ranks_on = td_arena_alloc(arena, (highest + 1) * sizeof *ranks_on);
    if (!ranks_on)
        return TD_ERR_NO_MEMORY;
    for (uint32_t r = 0; r < size; r++)
        if (ranks_on[rank_node[r]]++ == 0)
            g->slots++;
    g->node = td_arena_alloc(arena, g->slots * sizeof *g->node);
    g->slot_rank = td_arena_alloc(arena, (g->slots + 1) * sizeof *g->slot_rank);
    g->slot_run = td_arena_alloc(arena, (g->slots + 1) * sizeof *g->slot_run);
    if (g->node && g->slot_rank && g->slot_run) {
        uint32_t slot = 0;
        for (uint32_t node = 0; node <= highest; node++) {
            if (ranks_on[node] == 0)
                continue;
            g->node[slot] = node;
            g->slot_rank[slot + 1] = g->slot_rank[slot] + ranks_on[node];
            g->runs += fill_runs(rank_node, size, node, slot, NULL);
            g->slot_run[++slot] = g->runs;
        }
        g->run = td_arena_alloc(arena, g->runs * sizeof *g->run);
    }
    td_arena_free(arena, ranks_on);
    if (!g->run) {
        td_group_free(g, arena);
        return TD_ERR_NO_MEMORY;
    }
    for (uint32_t slot = 0; slot < g->slots; slot++)
        fill_runs(rank_node, size, g->node[slot], slot, g->run + g->slot_run[slot]);
    return TD_OK;
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
