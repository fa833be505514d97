/* SPDX-License-Identifier: Apache-2.0 */
#include "planes.h"

#include "base/arena.h"

enum { NONE = UINT32_MAX };

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

uint32_t td_planes_node(const struct td_topology *t, const struct td_plane *plane, uint32_t i)
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
                uint32_t n = td_planes_node(t, plane, i);
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
