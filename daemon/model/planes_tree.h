/* SPDX-License-Identifier: Apache-2.0 */
/* planes_tree: a tree of neighbours over the planes of a group (us10382527).
 *
 * The tree grows plane by plane from the plane of its root. It enters the next plane where it
 * reaches that plane first, and among equal places at the most central one: this node is the
 * plane's *local root*. From there the *local tree* has a spine along the plane's first dimension
 * and ribs along its second. If no neighbours connect two parts of a group, the tree joins the
 * parts at their nearest pair of nodes.
 *
 * The result depends on topology and nodes alone, so it is the same on every node.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_PLANES_TREE_H
#define TD_MODEL_PLANES_TREE_H

#include "planes.h"
#include "tree.h"

/* td_planes_tree builds the tree with this root and writes each plane's place in it. */
td_err td_planes_tree(struct td_planes *p, struct td_arena *arena, uint32_t root,
                      struct td_tree *tree);
/* td_planes_breadth returns the hops from a slot to the farthest slot that members connect with it,
 * and writes that slot to *farthest. No tree of neighbours has fewer hops. It returns UINT32_MAX if
 * the arena is full. */
uint32_t td_planes_breadth(const struct td_planes *p, struct td_arena *arena, uint32_t root,
                           uint32_t *farthest);

#endif
