/* SPDX-License-Identifier: Apache-2.0 */
/* edge_disjoint_trees: 2 D spanning trees of a torus from one root. No two of them use a link in
 * the same direction. Those of pieces 2 p and 2 p + 1 begin in dimension p.
 *
 * The tree of piece 2 p, with the root at the origin: along p from the root; from all nodes of that
 * line except the root along p + 1; from all of those along p + 2, and so on. The other nodes, with
 * coordinate 0 in p, are reached by the links that close the rings of p. The tree of piece 2 p + 1
 * is its mirror image. Two trees that both go along d before dimension d = p differ in whether the
 * coordinate of the one that started farther away is 0. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_ROOTED_EDGE_DISJOINT_TREES_H
#define TD_COLLECTIVES_ROOTED_EDGE_DISJOINT_TREES_H

#include "collectives/method.h"

struct td_edge_disjoint_trees_place {
    uint32_t parent;                                 /* slot; the root's is its own */
    uint32_t children, child[TD_DIMENSIONS_MAX + 1]; /* slots */
};

/* td_edge_disjoint_trees_applies returns true if the call's group is a torus with such trees
 * (method.h). */
bool td_edge_disjoint_trees_applies(struct td_query *q);
/* td_edge_disjoint_trees_place finds the place of a slot in the tree of a piece. A child's link
 * from its parent goes up in its dimension for even pieces, down for odd ones. */
void td_edge_disjoint_trees_place(const struct td_grid *grid, uint32_t root, uint32_t piece,
                                  uint32_t slot, struct td_edge_disjoint_trees_place *place);

#endif
