/* SPDX-License-Identifier: Apache-2.0 */
#include "edge_disjoint_trees.h"

bool td_edge_disjoint_trees_applies(struct td_query *q)
{
    if (!td_program_is_routed(q->program))
        return td_query_refuse(q, "the data does not travel on links of a torus");
    return td_grid_is_torus(td_query_grid(q)) || td_query_refuse(q, "the group is not a torus");
}

/* struct walker: coordinates relative to the root, so that the piece goes "up" in each. */
struct walker {
    const struct td_grid *grid;
    uint32_t root, first; /* slot; the piece's dimension */
    bool back;            /* the piece is the mirror image */
    uint32_t x[TD_DIMENSIONS_MAX];
};

static void look(struct walker *w, uint32_t slot)
{
    for (uint32_t d = 0; d < w->grid->shape.dimensions; d++) {
        uint32_t k = w->grid->shape.size[d];
        uint32_t at = td_grid_coordinate(w->grid, slot, d),
                 from = td_grid_coordinate(w->grid, w->root, d);
        w->x[d] = w->back ? (from + k - at) % k : (at + k - from) % k;
    }
}

/* with returns the slot of these coordinates with x[d] replaced. */
static uint32_t with(const struct walker *w, uint32_t slot, uint32_t d, uint32_t x)
{
    uint32_t k = w->grid->shape.size[d], from = td_grid_coordinate(w->grid, w->root, d);
    return td_grid_moved(w->grid, slot, d, w->back ? (from + k - x) % k : (from + x) % k);
}

/* turn returns dimension i of the piece's order. */
static uint32_t turn(const struct walker *w, uint32_t i)
{
    return (w->first + i) % w->grid->shape.dimensions;
}

static struct td_edge_disjoint_trees_place place_in(struct walker *w, uint32_t slot)
{
    uint32_t dimensions = w->grid->shape.dimensions, last = UINT32_MAX, p = w->first;
    struct td_edge_disjoint_trees_place at = {.parent = slot};
    look(w, slot);
    for (uint32_t i = 0; i < dimensions; i++)
        if (w->x[turn(w, i)])
            last = i;
    if (last == UINT32_MAX) {
        at.child[at.children++] = with(w, slot, p, 1);
        return at;
    }
    if (w->x[p] == 0) {
        at.parent = with(w, slot, p, w->grid->shape.size[p] - 1);
        return at;
    }
    uint32_t d = turn(w, last);
    at.parent = with(w, slot, d, w->x[d] - 1);
    if (w->x[d] + 1 < w->grid->shape.size[d])
        at.child[at.children++] = with(w, slot, d, w->x[d] + 1);
    for (uint32_t i = last + 1; i < dimensions; i++)
        at.child[at.children++] = with(w, slot, turn(w, i), 1);
    if (last > 0 && w->x[p] + 1 == w->grid->shape.size[p])
        at.child[at.children++] = with(w, slot, p, 0);
    return at;
}

void td_edge_disjoint_trees_place(const struct td_grid *grid, uint32_t root, uint32_t piece,
                                  uint32_t slot, struct td_edge_disjoint_trees_place *place)
{
    struct walker w = {.grid = grid, .root = root, .first = piece / 2, .back = piece % 2};
    *place = place_in(&w, slot);
}
