/* SPDX-License-Identifier: Apache-2.0 */
#include "planes.h"

#include <assert.h>

#include "base/arena.h"

enum { NONE = UINT32_MAX };

/* ---- partition ---- */

/* struct cutter: the state of the partition. `run` has the length of the run of unassigned nodes
 * that begins at each node, by dimension. `heap` orders the nodes by the size of the best plane
 * with its corner at that node. */
struct cutter {
    const struct td_topology *t;
    uint16_t *run;  /* [dimensions][nodes] */
    uint32_t *heap; /* [slots] */
    uint32_t heaped;
    struct best {
        uint32_t area, sides; /* area 0: none; sides: the sum of both sides */
        uint32_t side[2];
        uint8_t dimension[2];
    } * best; /* [nodes] at its last evaluation: an upper bound, because planes only shrink */
};

_Static_assert(TD_NODES_MAX <= UINT16_MAX, "runs are short numbers");

static uint16_t *run_at(const struct cutter *c, uint32_t d, uint32_t node)
{
    return &c->run[(size_t)d * c->t->nodes + node];
}

/* measure sets the runs of a dimension: each is one longer than the next node's run. The second
 * round adds the runs that continue past the end of a ring. */
static void measure(struct cutter *c, const struct td_planes *p, uint32_t d)
{
    uint32_t k = c->t->size[d];
    for (int round = 0; round < 2; round++)
        for (uint32_t s = p->slots; s-- > 0;) {
            uint32_t node = p->node[s], next = td_topology_neighbour(c->t, node, d, 1);
            uint32_t length = next == node ? 1 : 1u + *run_at(c, d, next);
            *run_at(c, d, node) = (uint16_t)(length < k ? length : k);
        }
}

/* remove_node shortens the runs through a node. */
static void remove_node(struct cutter *c, uint32_t node)
{
    for (uint32_t d = 0; d < c->t->dimensions; d++) {
        uint16_t length = 0;
        uint32_t at = node;
        do {
            *run_at(c, d, at) = length++;
            uint32_t before = td_topology_neighbour(c->t, at, d, -1);
            if (before == at)
                break;
            at = before;
        } while (at != node && *run_at(c, d, at));
    }
}

static void offer(struct best *best, uint32_t a, uint32_t b, uint32_t wide, uint32_t high)
{
    if (wide == 1) { /* a line */
        wide = high;
        high = 1;
        a = b;
    }
    if (high == 1)
        b = a;
    uint32_t area = wide * high, sides = wide + high;
    if (area < best->area || (area == best->area && sides >= best->sides))
        return;
    *best = (struct best){area, sides, {wide, high}, {(uint8_t)a, (uint8_t)b}};
}

/* best_plane returns the best plane with its corner at a node (the plane builder of the patent). It
 * adds rows along the second dimension, and the shortest row limits the width. */
static struct best best_plane(const struct cutter *c, uint32_t node)
{
    struct best best = {0};
    const struct td_topology *t = c->t;
    for (uint32_t a = 0; a < t->dimensions; a++) {
        offer(&best, a, a, *run_at(c, a, node), 1);
        for (uint32_t b = a + 1; b < t->dimensions; b++) {
            uint32_t wide = *run_at(c, a, node), rows = *run_at(c, b, node), at = node;
            for (uint32_t high = 1; high <= rows && wide * rows >= best.area; high++) {
                uint32_t run = *run_at(c, a, at);
                wide = run < wide ? run : wide;
                offer(&best, a, b, wide, high);
                at = td_topology_neighbour(t, at, b, 1);
            }
        }
    }
    return best;
}

/* before returns true if `a` precedes `b` in the heap. */
static bool before(const struct cutter *c, uint32_t a, uint32_t b)
{
    const struct best *x = &c->best[a], *y = &c->best[b];
    if (x->area != y->area)
        return x->area > y->area;
    return x->sides != y->sides ? x->sides < y->sides : a < b;
}

static void sink(struct cutter *c, uint32_t at)
{
    uint32_t node = c->heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < c->heaped && before(c, c->heap[child + 1], c->heap[child]))
            child++;
        if (child >= c->heaped || !before(c, c->heap[child], node))
            break;
        c->heap[at] = c->heap[child];
        at = child;
    }
    c->heap[at] = node;
}

static bool same(const struct best *a, const struct best *b)
{
    return a->area == b->area && a->sides == b->sides;
}

/* next_plane writes the largest plane. It returns false if no node is left. */
static bool next_plane(struct cutter *c, struct td_plane *plane)
{
    while (c->heaped) {
        uint32_t node = c->heap[0];
        struct best now = {0};
        if (*run_at(c, 0, node))
            now = best_plane(c, node);
        if (now.area == 0) {
            c->heap[0] = c->heap[--c->heaped];
        } else if (same(&now, &c->best[node])) {
            *plane = (struct td_plane){.corner = node,
                                       .dimension = {now.dimension[0], now.dimension[1]},
                                       .side = {now.side[0], now.side[1]}};
            return true;
        } else {
            c->best[node] = now;
        }
        if (c->heaped)
            sink(c, 0);
    }
    return false;
}

/* plane_node returns node i of a plane, row by row. */
static uint32_t plane_node(const struct td_topology *t, const struct td_plane *plane, uint32_t i)
{
    uint32_t x[TD_DIMENSIONS_MAX];
    td_topology_coordinates(t, plane->corner, x);
    uint32_t along = i % plane->side[0], across = i / plane->side[0];
    x[plane->dimension[0]] = (x[plane->dimension[0]] + along) % t->size[plane->dimension[0]];
    x[plane->dimension[1]] = (x[plane->dimension[1]] + across) % t->size[plane->dimension[1]];
    return td_topology_node(t, x);
}

static bool cutter_init(struct cutter *c, struct td_arena *arena, const struct td_planes *p)
{
    const struct td_topology *t = p->topology;
    *c = (struct cutter){
        .t = t,
        .run = td_arena_alloc(arena, (size_t)t->dimensions * t->nodes * sizeof *c->run),
        .heap = td_arena_alloc(arena, p->slots * sizeof *c->heap),
        .best = td_arena_alloc(arena, t->nodes * sizeof *c->best)};
    if (!c->run || !c->heap || !c->best)
        return false;
    for (uint32_t d = 0; d < t->dimensions; d++)
        measure(c, p, d);
    for (uint32_t s = 0; s < p->slots; s++) {
        c->heap[s] = p->node[s];
        c->best[p->node[s]] = best_plane(c, p->node[s]);
    }
    c->heaped = p->slots;
    for (uint32_t at = p->slots / 2; at-- > 0;)
        sink(c, at);
    return true;
}

static void cutter_fini(struct cutter *c, struct td_arena *arena)
{
    td_arena_free(arena, c->run);
    td_arena_free(arena, c->heap);
    td_arena_free(arena, c->best);
}

td_err td_planes_build(struct td_planes *p, struct td_arena *arena, const struct td_topology *t,
                       const uint32_t *node, uint32_t slots)
{
    struct cutter c = {0};
    *p = (struct td_planes){.topology = t,
                            .node = node,
                            .slots = slots,
                            .plane = td_arena_alloc(arena, slots * sizeof *p->plane),
                            .slot = td_arena_alloc(arena, t->nodes * sizeof *p->slot),
                            .of = td_arena_alloc(arena, slots * sizeof *p->of)};
    bool good = p->plane && p->slot && p->of && cutter_init(&c, arena, p);
    if (good) {
        for (uint32_t n = 0; n < t->nodes; n++)
            p->slot[n] = NONE;
        for (uint32_t s = 0; s < slots; s++)
            p->slot[node[s]] = s;
        for (struct td_plane *plane = p->plane; next_plane(&c, plane); plane++) {
            for (uint32_t i = 0; i < plane->side[0] * plane->side[1]; i++) {
                uint32_t n = plane_node(t, plane, i);
                p->of[p->slot[n]] = p->planes;
                remove_node(&c, n);
            }
            p->planes++;
        }
    }
    cutter_fini(&c, arena);
    if (good)
        return TD_OK;
    td_planes_free(p, arena);
    return TD_ERR_NO_MEMORY;
}

void td_planes_free(struct td_planes *p, struct td_arena *arena)
{
    td_arena_free(arena, p->plane);
    td_arena_free(arena, p->slot);
    td_arena_free(arena, p->of);
    *p = (struct td_planes){0};
}

/* ---- the tree ---- */

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
        uint32_t node = plane_node(t, plane, i), slot = p->slot[node];
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
        uint32_t node = plane_node(t, plane, i), slot = p->slot[node];
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
    uint32_t *queue = hops + p->slots, queued = 1, most = 0;
    if (!hops)
        return NONE;
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

/* ---- the tree of a group ---- */

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
    return p->slot[plane_node(p->topology, plane, middle)];
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
    if (error == TD_OK) {
        (void)td_planes_breadth(&p, arena, far, &far);
        error = try_root(&p, arena, half_way(&from, far), tree);
    }
    td_tree_free(&from, arena);
    td_planes_free(&p, arena);
    if (error != TD_OK)
        td_tree_free(tree, arena);
    return error;
}

/* ---- boxes of whole rings ---- */

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
