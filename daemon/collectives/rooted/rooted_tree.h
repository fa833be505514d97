/* SPDX-License-Identifier: Apache-2.0 */
/* spread: the trees along which rooted calls go, as one node sees its place in them.
 *   PLANES    the group's own tree of neighbours, turned round to begin at the root (core/tree.h)
 *   BINARY    a heap of slots, the root first
 *   BINOMIAL  what libraries do that know nothing of the machine: to compare with
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_ROOTED_ROOTED_TREE_H
#define TD_COLLECTIVES_ROOTED_ROOTED_TREE_H

#include "model/program.h"
#include "model/tree.h"

enum { TD_ROOTED_TREE_CHILDREN_MAX = TD_TREE_CHILDREN_MAX + 1 };

struct td_place {
    uint32_t parent;   /* slot; its own at the root */
    uint32_t siblings; /* of the parent's children, which it is one of */
    uint32_t index;    /* among them */
    uint32_t children, child[TD_ROOTED_TREE_CHILDREN_MAX]; /* slots */
};

/* td_rooted_tree_place finds where a slot is in the tree from slot `root`. */
void td_rooted_tree_place(const struct td_program *p, enum td_rooted_tree spread, uint32_t root,
                          uint32_t slot, struct td_place *place);
/* td_rooted_tree_depth returns the edges from the root to a slot. */
uint32_t td_rooted_tree_depth(const struct td_program *p, enum td_rooted_tree spread, uint32_t root,
                              uint32_t slot);
/* td_rooted_tree_chunk returns the bytes into which `bytes` are best cut to flow down the tree:
 * whole packets, the fewer the deeper it is. */
uint64_t td_rooted_tree_chunk(const struct td_program *p, enum td_rooted_tree spread,
                              uint64_t bytes);

#endif
