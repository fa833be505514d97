/* SPDX-License-Identifier: Apache-2.0 */
#include "planes_tree.h"

#include "base/arena.h"

enum { NONE = UINT32_MAX };

/* struct reach: how the tree reaches a node of the torus: from a member `gap` hops away. The gap is
 * 1 except where parts of the group are joined. */
struct reach {
    uint32_t gap;   /* 0: not reached yet */
    uint32_t hops;  /* from the root */
    uint32_t depth; /* of a member: hops from it to the farthest node of its plane */
    uint32_t from;  /* slot */
};

/* struct grower: the state of the construction: a heap of the nodes that the tree can reach next,
 * and the members in the tree. */
struct grower {
    struct td_planes *p;
    struct td_tree *tree;
    struct reach *reach; /* [nodes] */
    uint32_t *heap;      /* [nodes] */
    uint32_t *at;        /* [nodes] place in the heap; NONE: not in it */
    uint32_t *hops;      /* [slots] from the root; NONE: not in the tree */
    uint8_t *children;   /* [slots] */
    uint32_t *last;      /* [slots] the last child that the slot got */
    uint32_t heaped;
};

static bool sooner(const struct grower *g, uint32_t a, uint32_t b)
{
    const struct reach *x = &g->reach[a], *y = &g->reach[b];
    if (x->gap != y->gap)
        return x->gap < y->gap;
    if (x->hops != y->hops)
        return x->hops < y->hops;
    return x->depth != y->depth ? x->depth < y->depth : a < b;
}

static void put(struct grower *g, uint32_t at, uint32_t node)
{
    g->heap[at] = node;
    g->at[node] = at;
}

static void rise(struct grower *g, uint32_t node)
{
    uint32_t at = g->at[node];
    while (at > 0 && sooner(g, node, g->heap[(at - 1) / 2])) {
        put(g, at, g->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(g, at, node);
}

static uint32_t remove_first(struct grower *g)
{
    uint32_t first = g->heap[0], last = g->heap[--g->heaped], at = 0;
    g->at[first] = NONE;
    if (g->heaped == 0)
        return first;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < g->heaped && sooner(g, g->heap[child + 1], g->heap[child]))
            child++;
        if (child >= g->heaped || !sooner(g, g->heap[child], last))
            break;
        put(g, at, g->heap[child]);
        at = child;
    }
    put(g, at, last);
    return first;
}

/* steps_between returns the number of steps between two places of a side, and their direction. */
static uint32_t steps_between(const struct td_topology *t, const struct td_plane *plane, int side,
                              uint32_t from, uint32_t to, int *direction)
{
    uint32_t k = plane->side[side], forth = (to + k - from) % k;
    bool ring = t->wrap[plane->dimension[side]] && k == t->size[plane->dimension[side]];
    *direction = ring ? (2 * forth <= k ? 1 : -1) : to > from ? 1 : -1;
    if (ring)
        return forth < k - forth ? forth : k - forth;
    return to > from ? to - from : from - to;
}

/* place_in returns the place of a node along a side of its plane. */
static uint32_t place_in(const struct td_topology *t, const struct td_plane *plane, int side,
                         uint32_t node)
{
    uint32_t x[TD_DIMENSIONS_MAX], corner[TD_DIMENSIONS_MAX], d = plane->dimension[side];
    if (plane->side[side] == 1)
        return 0;
    td_topology_coordinates(t, node, x);
    td_topology_coordinates(t, plane->corner, corner);
    return (x[d] + t->size[d] - corner[d]) % t->size[d];
}

/* depth_from returns the hops from a node of a plane to the farthest node of that plane. */
static uint32_t depth_from(const struct td_topology *t, const struct td_plane *plane, uint32_t node)
{
    uint32_t depth = 0;
    for (int side = 0; side < 2; side++) {
        uint32_t k = plane->side[side], at = place_in(t, plane, side, node);
        bool ring = t->wrap[plane->dimension[side]] && k == t->size[plane->dimension[side]];
        depth += ring ? k / 2 : at > k - 1 - at ? at : k - 1 - at;
    }
    return depth;
}

/* offer_neighbours adds the neighbours of a node to the heap of nodes that the tree can enter. */
static void offer_neighbours(struct grower *g, uint32_t node, uint32_t gap, uint32_t hops,
                             uint32_t from)
{
    struct td_planes *p = g->p;
    const struct td_topology *t = p->topology;
    for (uint32_t d = 0; d < t->dimensions; d++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            uint32_t n = td_topology_neighbour(t, node, d, sign), slot = p->slot[n];
            if (n == node || (slot != NONE && g->hops[slot] != NONE))
                continue;
            struct reach old = g->reach[n];
            bool known = old.gap != 0, waits = g->at[n] != NONE;
            if (known && !waits && old.gap <= gap + 1)
                continue;
            g->reach[n] = (struct reach){gap + 1, hops + 1, 0, from};
            if (slot != NONE)
                g->reach[n].depth = depth_from(t, &p->plane[p->of[slot]], n);
            if (!waits)
                put(g, g->heaped++, n);
            else if (old.gap < gap + 1 || (old.gap == gap + 1 && old.hops <= hops + 1))
                g->reach[n] = old;
            rise(g, n);
        }
}

/* attach makes a slot a child of another slot, or of one of its descendants if that slot has
 * TD_TREE_CHILDREN_MAX children. This occurs only where separate parts are joined. */
static void attach(struct grower *g, uint32_t slot, uint32_t above)
{
    while (g->children[above] == TD_TREE_CHILDREN_MAX)
        above = g->last[above];
    g->tree->parent[slot] = above;
    g->children[above]++;
    g->last[above] = slot;
}

/* enter adds a plane to the tree by one of its nodes: a spine along its first side, and ribs. */
static void enter(struct grower *g, struct td_plane *plane, uint32_t entry, uint32_t hops)
{
    struct td_planes *p = g->p;
    const struct td_topology *t = p->topology;
    uint32_t from[2] = {place_in(t, plane, 0, entry), place_in(t, plane, 1, entry)};
    plane->root = p->slot[entry];
    plane->hops = hops;
    for (uint32_t i = 0; i < plane->side[0] * plane->side[1]; i++) {
        int sign[2];
        uint32_t node = td_planes_node(t, plane, i), slot = p->slot[node];
        uint32_t along = steps_between(t, plane, 0, from[0], i % plane->side[0], &sign[0]);
        uint32_t across = steps_between(t, plane, 1, from[1], i / plane->side[0], &sign[1]);
        g->hops[slot] = hops + along + across;
        if (g->hops[slot] > g->tree->hops)
            g->tree->hops = g->hops[slot];
        if (node == entry)
            continue;
        int side = across ? 1 : 0;
        attach(g, slot,
               p->slot[td_topology_neighbour(t, node, plane->dimension[side], -sign[side])]);
    }
    for (uint32_t i = 0; i < plane->side[0] * plane->side[1]; i++) {
        uint32_t node = td_planes_node(t, plane, i), slot = p->slot[node];
        offer_neighbours(g, node, 0, g->hops[slot], slot);
    }
}

static void grow(struct grower *g, uint32_t root)
{
    struct td_planes *p = g->p;
    struct td_plane *top = &p->plane[p->of[root]];
    g->tree->parent[root] = top->above = root;
    top->gap = 0;
    enter(g, top, p->node[root], 0);
    while (g->heaped) {
        uint32_t node = remove_first(g), slot = p->slot[node];
        struct reach r = g->reach[node];
        if (slot == NONE) {
            offer_neighbours(g, node, r.gap, r.hops, r.from);
        } else if (g->hops[slot] == NONE) {
            struct td_plane *plane = &p->plane[p->of[slot]];
            attach(g, slot, r.from);
            plane->above = g->tree->parent[slot];
            plane->gap = td_topology_distance(p->topology, p->node[plane->above], node);
            enter(g, plane, node, g->hops[plane->above] + plane->gap);
        }
    }
}

td_err td_planes_tree(struct td_planes *p, struct td_arena *arena, uint32_t root,
                      struct td_tree *tree)
{
    uint32_t nodes = p->topology->nodes;
    struct grower g = {.p = p,
                       .tree = tree,
                       .reach = td_arena_alloc(arena, nodes * sizeof *g.reach),
                       .heap = td_arena_alloc(arena, nodes * sizeof *g.heap),
                       .at = td_arena_alloc(arena, nodes * sizeof *g.at),
                       .hops = td_arena_alloc(arena, p->slots * sizeof *g.hops),
                       .children = td_arena_alloc(arena, p->slots),
                       .last = td_arena_alloc(arena, p->slots * sizeof *g.last)};
    td_err error = td_tree_init(tree, arena, p->slots);
    if (!g.reach || !g.heap || !g.at || !g.hops || !g.children || !g.last)
        error = TD_ERR_NO_MEMORY;
    if (error == TD_OK) {
        for (uint32_t n = 0; n < nodes; n++)
            g.at[n] = NONE;
        for (uint32_t s = 0; s < p->slots; s++)
            g.hops[s] = NONE;
        grow(&g, root);
        error = td_tree_finish(tree, arena);
    }
    td_arena_free(arena, g.reach);
    td_arena_free(arena, g.heap);
    td_arena_free(arena, g.at);
    td_arena_free(arena, g.hops);
    td_arena_free(arena, g.children);
    td_arena_free(arena, g.last);
    if (error != TD_OK)
        td_tree_free(tree, arena);
    return error;
}

uint32_t td_planes_breadth(const struct td_planes *p, struct td_arena *arena, uint32_t root,
                           uint32_t *farthest)
{
    const struct td_topology *t = p->topology;
    uint32_t *hops = td_arena_alloc(arena, 2 * p->slots * sizeof *hops);
    if (!hops)
        return NONE;
    uint32_t *queue = hops + p->slots, queued = 1, most = 0;
    for (uint32_t s = 0; s < p->slots; s++)
        hops[s] = NONE;
    hops[root] = 0;
    queue[0] = root;
    for (uint32_t i = 0; i < queued; i++)
        for (uint32_t d = 0; d < t->dimensions; d++)
            for (int sign = 1; sign >= -1; sign -= 2) {
                uint32_t next = p->slot[td_topology_neighbour(t, p->node[queue[i]], d, sign)];
                if (next == NONE || hops[next] != NONE)
                    continue;
                hops[next] = hops[queue[i]] + 1;
                queue[queued++] = next;
            }
    *farthest = queue[queued - 1];
    most = hops[*farthest];
    td_arena_free(arena, hops);
    return most;
}
