/* SPDX-License-Identifier: Apache-2.0 */
#include "grid.h"

/* box_of finds the smallest box around the group's nodes. It returns true if they fill it. */
static bool box_of(const struct td_group *g, const struct td_topology *t,
                   uint32_t size[TD_DIMENSIONS_MAX])
{
    uint32_t low[TD_DIMENSIONS_MAX] = {0}, high[TD_DIMENSIONS_MAX] = {0};
    for (uint32_t slot = 0; slot < g->slots; slot++) {
        uint32_t c[TD_DIMENSIONS_MAX];
        if (g->node[slot] >= t->nodes)
            return false;
        td_topology_coordinates(t, g->node[slot], c);
        for (uint32_t d = 0; d < t->dimensions; d++) {
            if (slot == 0 || c[d] < low[d])
                low[d] = c[d];
            if (slot == 0 || c[d] > high[d])
                high[d] = c[d];
        }
    }
    uint64_t volume = 1;
    for (uint32_t d = 0; d < t->dimensions; d++)
        volume *= size[d] = high[d] - low[d] + 1;
    return volume == g->slots;
}

void td_grid_of(const struct td_group *g, const struct td_topology *t, struct td_grid *grid)
{
    uint32_t size[TD_DIMENSIONS_MAX] = {0};
    *grid = (struct td_grid){.shape = {.nodes = g->slots}, .box = box_of(g, t, size)};
    struct td_topology *shape = &grid->shape;
    for (uint32_t d = 0; grid->box && d < t->dimensions; d++) {
        if (size[d] == 1)
            continue;
        shape->size[shape->dimensions] = size[d];
        shape->wrap[shape->dimensions++] = t->wrap[d] && size[d] == t->size[d];
    }
    if (shape->dimensions)
        return;
    shape->dimensions = 1;
    shape->size[0] = g->slots;
    shape->wrap[0] = true;
}

bool td_grid_is_torus(const struct td_grid *grid)
{
    for (uint32_t d = 0; d < grid->shape.dimensions; d++)
        if (!grid->shape.wrap[d] || !grid->box || grid->shape.size[d] < 2)
            return false;
    return true;
}

static uint32_t stride_of(const struct td_grid *grid, uint32_t dimension)
{
    uint32_t stride = 1;
    for (uint32_t d = dimension + 1; d < grid->shape.dimensions; d++)
        stride *= grid->shape.size[d];
    return stride;
}

uint32_t td_grid_coordinate(const struct td_grid *grid, uint32_t slot, uint32_t dimension)
{
    return slot / stride_of(grid, dimension) % grid->shape.size[dimension];
}

uint32_t td_grid_moved(const struct td_grid *grid, uint32_t slot, uint32_t dimension, uint32_t to)
{
    uint32_t stride = stride_of(grid, dimension);
    return slot + to * stride - slot / stride % grid->shape.size[dimension] * stride;
}

uint32_t td_grid_hops(const struct td_grid *grid, uint32_t dimension)
{
    uint32_t k = grid->shape.size[dimension];
    return grid->shape.wrap[dimension] ? k / 2 : k - 1;
}

bool td_grid_step(const struct td_grid *grid, uint32_t slot, uint32_t dimension, uint32_t h,
                  int sign, uint32_t *out)
{
    uint32_t k = grid->shape.size[dimension], c = td_grid_coordinate(grid, slot, dimension);
    if (h > td_grid_hops(grid, dimension))
        return false;
    if (!grid->shape.wrap[dimension] && (sign > 0 ? c + h >= k : c < h))
        return false;
    *out = td_grid_moved(grid, slot, dimension, (sign > 0 ? c + h : c + k - h) % k);
    return true;
}

bool td_grid_tie(const struct td_grid *grid, uint32_t dimension, uint32_t h)
{
    return grid->shape.wrap[dimension] && 2 * h == grid->shape.size[dimension];
}

struct td_among td_grid_line(const struct td_grid *grid, uint32_t slot, uint32_t dimension)
{
    return (struct td_among){.first = td_grid_moved(grid, slot, dimension, 0),
                             .count = grid->shape.size[dimension],
                             .stride = stride_of(grid, dimension)};
}
