/* SPDX-License-Identifier: Apache-2.0 */
#include "planes_best.h"

#include "base/arena.h"
#include "planes_tree.h"

enum { NONE = UINT32_MAX };

/* struct box: the coordinates of a group's nodes in each dimension. */
struct box {
    uint32_t first[TD_DIMENSIONS_MAX],
        count[TD_DIMENSIONS_MAX]; /* first coordinate and number of coordinates; on a ring 0 follows
                                     the last one */
    bool ring[TD_DIMENSIONS_MAX]; /* the group has the whole ring */
};

/* measure_side finds the interval of coordinates of the nodes. It returns false if the coordinates
 * have gaps. */
static bool measure_side(struct box *b, const struct td_topology *t, uint32_t d,
                         const uint32_t *node, uint32_t slots)
{
    uint8_t used[TD_NODES_MAX / 8] = {0};
    uint32_t k = t->size[d], begins = 0;
    for (uint32_t s = 0; s < slots; s++) {
        uint32_t x[TD_DIMENSIONS_MAX];
        td_topology_coordinates(t, node[s], x);
        used[x[d] / 8] = (uint8_t)(used[x[d] / 8] | 1u << x[d] % 8);
    }
    b->first[d] = b->count[d] = 0;
    for (uint32_t x = 0; x < k; x++) {
        uint32_t last = x ? x - 1 : t->wrap[d] ? k - 1 : NONE;
        if (!(used[x / 8] >> x % 8 & 1))
            continue;
        b->count[d]++;
        if (last != NONE && (used[last / 8] >> last % 8 & 1))
            continue;
        b->first[d] = x;
        begins++;
    }
    b->ring[d] = t->wrap[d] && b->count[d] == k;
    return begins <= 1;
}

/* from_root returns the distance of a coordinate from the root, and its direction. */
static uint32_t from_root(const struct box *b, const struct td_topology *t, uint32_t d, uint32_t x,
                          int *direction)
{
    uint32_t k = t->size[d], half = b->count[d] / 2;
    uint32_t at = (x + k - b->first[d]) % k; /* relative to the box */
    if (b->ring[d]) {
        *direction = 2 * x <= k ? 1 : -1;
        return 2 * x <= k ? x : k - x;
    }
    *direction = at > half ? 1 : -1;
    return at > half ? at - half : half - at;
}

/* span_box builds the tree of a box: from the root along the first dimension, from there along the
 * second, and so on. */
static td_err span_box(struct td_tree *tree, struct td_arena *arena, const struct td_topology *t,
                       const uint32_t *node, uint32_t slots, const struct box *b)
{
    td_err error = td_tree_init(tree, arena, slots);
    uint32_t *slot = td_arena_alloc(arena, t->nodes * sizeof *slot);
    if (error == TD_OK && !slot)
        error = TD_ERR_NO_MEMORY;
    for (uint32_t s = 0; error == TD_OK && s < slots; s++)
        slot[node[s]] = s;
    for (uint32_t s = 0; error == TD_OK && s < slots; s++) {
        uint32_t x[TD_DIMENSIONS_MAX], hops = 0;
        tree->parent[s] = s;
        td_topology_coordinates(t, node[s], x);
        for (uint32_t d = 0; d < t->dimensions; d++) {
            int direction = 0;
            uint32_t far = from_root(b, t, d, x[d], &direction);
            hops += far;
            if (far)
                tree->parent[s] = slot[td_topology_neighbour(t, node[s], d, -direction)];
        }
        tree->hops = hops > tree->hops ? hops : tree->hops;
    }
    if (error == TD_OK)
        error = td_tree_finish(tree, arena);
    td_arena_free(arena, slot);
    if (error != TD_OK)
        td_tree_free(tree, arena);
    return error;
}

/* centre returns the slot in the middle of a plane. */
static uint32_t centre(const struct td_planes *p, const struct td_plane *plane)
{
    uint32_t middle = plane->side[1] / 2 * plane->side[0] + plane->side[0] / 2;
    return p->slot[td_planes_node(p->topology, plane, middle)];
}

/* half_way returns the ancestor of a slot at half of its depth. */
static uint32_t half_way(const struct td_tree *tree, uint32_t slot)
{
    uint32_t depth = 0, up = 0;
    for (uint32_t at = slot; at != tree->root; at = tree->parent[at])
        depth++;
    for (; up < depth / 2; up++)
        slot = tree->parent[slot];
    return slot;
}

/* try_root builds the tree with this root and keeps it if it has fewer hops than the best. */
static td_err try_root(struct td_planes *p, struct td_arena *arena, uint32_t root,
                       struct td_tree *best)
{
    struct td_tree tree = {0};
    td_err error = td_planes_tree(p, arena, root, &tree);
    if (error == TD_OK && (!best->slots || tree.hops < best->hops)) {
        struct td_tree worse = *best;
        *best = tree;
        tree = worse;
    }
    td_tree_free(&tree, arena);
    return error;
}

td_err td_planes_best(struct td_tree *tree, struct td_arena *arena, const struct td_topology *t,
                      const uint32_t *node, uint32_t slots)
{
    enum { EFFORT = 8192, TRIES_MIN = 3 };
    struct box box = {0};
    struct td_planes p = {0};
    uint64_t volume = 1;
    bool whole = true;
    for (uint32_t d = 0; d < t->dimensions; d++) {
        whole = measure_side(&box, t, d, node, slots) && whole;
        volume *= box.count[d];
    }
    *tree = (struct td_tree){0};
    if (whole && volume == slots)
        return span_box(tree, arena, t, node, slots, &box);
    td_err error = td_planes_build(&p, arena, t, node, slots);
    uint32_t far = 0;
    if (error == TD_OK && td_planes_breadth(&p, arena, 0, &far) == NONE)
        error = TD_ERR_NO_MEMORY;
    uint32_t tries = EFFORT / slots > TRIES_MIN ? EFFORT / slots : TRIES_MIN;
    for (uint32_t i = 0; error == TD_OK && i < tries && i < (tries < slots ? p.planes : slots); i++)
        error = try_root(&p, arena, tries < slots ? centre(&p, &p.plane[i]) : i, tree);
    struct td_tree from = {0};
    if (error == TD_OK)
        error = td_planes_tree(&p, arena, far, &from);
    if (error == TD_OK && td_planes_breadth(&p, arena, far, &far) == NONE)
        error = TD_ERR_NO_MEMORY; /* another root than on the other nodes would be no tree */
    if (error == TD_OK) {
        error = try_root(&p, arena, half_way(&from, far), tree);
    }
    td_tree_free(&from, arena);
    td_planes_free(&p, arena);
    if (error != TD_OK)
        td_tree_free(tree, arena);
    return error;
}

bool td_planes_closed(const struct td_topology *t, const uint32_t *node, uint32_t slots)
{
    struct box box = {0};
    uint64_t volume = 1;
    bool closed = true;
    for (uint32_t d = 0; d < t->dimensions; d++) {
        closed = measure_side(&box, t, d, node, slots) && closed;
        closed = closed && (box.ring[d] || box.count[d] == 1);
        volume *= box.count[d];
    }
    return closed && volume == slots;
}
