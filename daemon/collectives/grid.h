/* SPDX-License-Identifier: Apache-2.0 */
/* grid: the logical grid of a group's nodes. Slots are in row-major order of the grid, so it is
 * represented as a topology whose nodes are the slots.
 *
 * A group whose nodes are a whole box of the machine (all of it, a ring, a plane, any sub-box) has
 * that box as its grid, without the dimensions of one node. A dimension wraps around if it does in
 * the machine and the box has the whole ring. Any other group has a ring of all its slots, whose
 * neighbours are no neighbours in the machine. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_GRID_H
#define TD_COLLECTIVES_GRID_H

#include "model/group.h"
#include "model/program.h"
#include "model/topology.h"

struct td_grid {
    struct td_topology shape; /* at least one dimension */
    bool box;                 /* hops of the grid are hops of the machine */
};

void td_grid_of(const struct td_group *g, const struct td_topology *t, struct td_grid *grid);
/* td_grid_is_torus returns true if the grid is a box of the machine, and each of its rings is a
 * ring of at least two nodes of the machine. */
bool td_grid_is_torus(const struct td_grid *grid);

/* td_grid_hops returns the greatest hop count of a dimension. */
uint32_t td_grid_hops(const struct td_grid *grid, uint32_t dimension);
/* td_grid_step writes the slot h hops away in direction `sign` (+1 or -1). It returns false beyond
 * the end of a mesh. */
bool td_grid_step(const struct td_grid *grid, uint32_t slot, uint32_t dimension, uint32_t h,
                  int sign, uint32_t *out);
/* td_grid_tie returns true if h hops in either direction lead to the same slot. */
bool td_grid_tie(const struct td_grid *grid, uint32_t dimension, uint32_t h);
/* td_grid_line returns the slots on the slot's line along a dimension. */
struct td_among td_grid_line(const struct td_grid *grid, uint32_t slot, uint32_t dimension);
/* td_grid_coordinate returns one coordinate of a slot. td_grid_moved returns the slot with that
 * coordinate replaced. */
uint32_t td_grid_coordinate(const struct td_grid *grid, uint32_t slot, uint32_t dimension);
uint32_t td_grid_moved(const struct td_grid *grid, uint32_t slot, uint32_t dimension, uint32_t to);

#endif
