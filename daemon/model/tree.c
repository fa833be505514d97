/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <assert.h>

#include "base/arena.h"

td_err td_tree_init(struct td_tree *t, struct td_arena *arena, uint32_t slots)
{
    size_t bytes = slots * sizeof(uint32_t);
    *t = (struct td_tree){.slots = slots,
                          .parent = td_arena_alloc(arena, bytes),
                          .order = td_arena_alloc(arena, bytes),
                          .place = td_arena_alloc(arena, bytes),
                          .below = td_arena_alloc(arena, bytes)};
    if (t->parent && t->order && t->place && t->below)
        return TD_OK;
    td_tree_free(t, arena);
    return TD_ERR_NO_MEMORY;
}

void td_tree_free(struct td_tree *t, struct td_arena *arena)
{
    td_arena_free(arena, t->parent);
    td_arena_free(arena, t->order);
    td_arena_free(arena, t->place);
    td_arena_free(arena, t->below);
    *t = (struct td_tree){0};
}

td_err td_tree_finish(struct td_tree *t, struct td_arena *arena)
{
    enum { NONE = UINT32_MAX };
    uint32_t *first = td_arena_alloc(arena, 2 * t->slots * sizeof *first);
    if (!first)
        return TD_ERR_NO_MEMORY;
    uint32_t *next = first + t->slots;
    for (uint32_t s = 0; s < t->slots; s++)
        first[s] = next[s] = NONE;
    for (uint32_t s = t->slots; s-- > 0;) {
        if (t->parent[s] == s) {
            t->root = s;
            continue;
        }
        next[s] = first[t->parent[s]];
        first[t->parent[s]] = s;
    }
    uint32_t visited = 0, at = t->root;
    for (;;) {
        t->place[at] = visited;
        t->order[visited++] = at;
        if (first[at] != NONE) {
            at = first[at];
            continue;
        }
        for (;;) { /* all slots below `at` have been visited */
            t->below[at] = visited - t->place[at];
            if (at == t->root || next[at] != NONE)
                break;
            at = t->parent[at];
        }
        if (at == t->root)
            break;
        at = next[at];
    }
    td_arena_free(arena, first);
    assert(visited == t->slots);
    return TD_OK;
}

td_err td_tree_heap(struct td_tree *t, struct td_arena *arena, uint32_t slots)
{
    td_err error = td_tree_init(t, arena, slots);
    if (error != TD_OK)
        return error;
    for (uint32_t s = 0; s < slots; s++)
        t->parent[s] = s ? (s - 1) / TD_TREE_ARITY : 0;
    for (uint32_t s = slots - 1; s > 0; s = t->parent[s])
        t->hops++;
    error = td_tree_finish(t, arena);
    if (error != TD_OK)
        td_tree_free(t, arena);
    return error;
}

uint32_t td_tree_children(const struct td_tree *t, uint32_t slot,
                          uint32_t child[TD_TREE_CHILDREN_MAX])
{
    uint32_t children = 0, end = t->place[slot] + t->below[slot];
    for (uint32_t at = t->place[slot] + 1; at < end; at += t->below[t->order[at]]) {
        assert(children < TD_TREE_CHILDREN_MAX);
        child[children++] = t->order[at];
    }
    return children;
}

static bool is_below(const struct td_tree *t, uint32_t slot, uint32_t above)
{
    return t->place[slot] - t->place[above] < t->below[above];
}

uint32_t td_tree_towards(const struct td_tree *t, uint32_t slot, uint32_t to)
{
    if (slot == to || !is_below(t, to, slot))
        return slot == to ? slot : t->parent[slot];
    uint32_t at = t->place[slot] + 1;
    while (!is_below(t, to, t->order[at]))
        at += t->below[t->order[at]];
    return t->order[at];
}

uint32_t td_tree_away(const struct td_tree *t, uint32_t slot, uint32_t to,
                      uint32_t child[TD_TREE_CHILDREN_MAX + 1])
{
    uint32_t found[TD_TREE_CHILDREN_MAX], children = td_tree_children(t, slot, found), kept = 0;
    uint32_t up = td_tree_towards(t, slot, to);
    for (uint32_t i = 0; i < children; i++)
        if (found[i] != up)
            child[kept++] = found[i];
    if (slot != t->root && t->parent[slot] != up)
        child[kept++] = t->parent[slot];
    return kept;
}

uint32_t td_tree_side(const struct td_tree *t, uint32_t slot, uint32_t cut, uint32_t *first)
{
    bool down = slot != cut && t->parent[cut] == slot && cut != t->root;
    *first = down ? (t->place[cut] + t->below[cut]) % t->slots : t->place[slot];
    if (slot == cut)
        return t->slots;
    return down ? t->slots - t->below[cut] : t->below[slot];
}
