/* SPDX-License-Identifier: Apache-2.0 */
/* rooted_tree: the trees of rooted calls, and the place of a node in them.
 * PLANES    the group's own tree of neighbours (model/tree.h), seen from the call's root
 * BINARY    a heap of slots, the root first
 * BINOMIAL  a binomial tree, as in libraries that ignore the topology, for comparison
 * CHAIN     one slot after the other, the root first
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_ROOTED_ROOTED_TREE_H
#define TD_COLLECTIVES_ROOTED_ROOTED_TREE_H

#include "collectives/method.h"
#include "model/tree.h"

enum { TD_ROOTED_TREE_CHILDREN_MAX = TD_TREE_CHILDREN_MAX + 1 };

struct td_place {
    uint32_t parent;   /* slot; the root's is its own */
    uint32_t siblings; /* children of the parent, this slot included */
    uint32_t index;    /* of this slot among them */
    uint32_t children, child[TD_ROOTED_TREE_CHILDREN_MAX]; /* slots */
};

/* td_rooted_tree_place finds the place of a slot in the tree with the root `root`. */
void td_rooted_tree_place(const struct td_program *p, enum td_rooted_tree tree, uint32_t root,
                          uint32_t slot, struct td_place *place);
/* td_rooted_tree_depth returns the number of edges from the root to a slot. */
uint32_t td_rooted_tree_depth(const struct td_program *p, enum td_rooted_tree tree, uint32_t root,
                              uint32_t slot);
/* td_rooted_tree_chunk returns the size of a chunk with which `bytes` pass the tree in the least
 * time: on a torus whole packets, fewer in a deeper tree. */
uint64_t td_rooted_tree_chunk(const struct td_program *p, enum td_rooted_tree tree, uint64_t bytes);
/* td_rooted_tree_cost returns the predicted time of a broadcast of `bytes` down a BINARY tree or a
 * CHAIN on the direct fabric, as a cost (method.h). */
uint64_t td_rooted_tree_cost(const struct td_program *p, enum td_rooted_tree tree, uint64_t bytes);
/* td_rooted_tree_applies returns true if a call may use the group's tree of neighbours,
 * td_rooted_binomial_applies if it may use a binomial tree, td_rooted_chain_applies if it may use a
 * chain (method.h). */
bool td_rooted_tree_applies(struct td_query *q);
bool td_rooted_binomial_applies(struct td_query *q);
bool td_rooted_chain_applies(struct td_query *q);

#endif
