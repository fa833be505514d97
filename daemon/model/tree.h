/* SPDX-License-Identifier: Apache-2.0 */
/* tree: a rooted tree of a group's slots. It also stores the slots in preorder, children in slot
 * order. Therefore the slots of a subtree are an interval, and the slots on one side of an edge are
 * an interval of the circle, so that any slot can serve as the root.
 *
 * Owns: its arrays, in the arena it was built from.
 * Invariant: order and place are each other's inverse; order[0] is the root.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_TREE_H
#define TD_MODEL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errors.h"
#include "base/limits.h"

struct td_arena;

struct td_tree {
    uint32_t slots, root;
    uint32_t hops; /* from the root to the farthest slot; in the heap tree an edge counts as one */
    uint32_t *parent; /* [slots] slot; the root's is itself */
    uint32_t *order;  /* [slots] slots in preorder */
    uint32_t *place;  /* [slots] index of a slot in the preorder */
    uint32_t *below;  /* [slots] number of slots in its subtree, itself included */
};

/* td_tree_init allocates the arrays; it returns TD_ERR_NO_MEMORY if the arena is full. The caller
 * then sets the parents, and td_tree_finish computes the rest; no slot may have more than
 * TD_TREE_CHILDREN_MAX children. td_tree_free accepts a zeroed tree. */
td_err td_tree_init(struct td_tree *t, struct td_arena *arena, uint32_t slots);
td_err td_tree_finish(struct td_tree *t, struct td_arena *arena);
void td_tree_free(struct td_tree *t, struct td_arena *arena);
/* td_tree_heap builds the tree in which slot s has the children TD_TREE_ARITY s + 1 and so on. */
td_err td_tree_heap(struct td_tree *t, struct td_arena *arena, uint32_t slots);

/* td_tree_children writes the children of a slot, in slot order, and returns their number. */
uint32_t td_tree_children(const struct td_tree *t, uint32_t slot,
                          uint32_t child[TD_TREE_CHILDREN_MAX]);

/* The tree with another root, `to`: the path between the two roots is reversed. */

/* td_tree_towards returns the neighbour of a slot on the path to `to`, or the slot itself if it is
 * `to`. */
uint32_t td_tree_towards(const struct td_tree *t, uint32_t slot, uint32_t to);
/* td_tree_away writes the other neighbours, the children in order and then the parent, and returns
 * their number. */
uint32_t td_tree_away(const struct td_tree *t, uint32_t slot, uint32_t to,
                      uint32_t child[TD_TREE_CHILDREN_MAX + 1]);
/* td_tree_side returns the number of slots on `slot`'s side of the edge to its neighbour `cut`, and
 * writes the place of the first. The others follow it; place 0 follows the last place. If slot ==
 * cut it counts all slots. */
uint32_t td_tree_side(const struct td_tree *t, uint32_t slot, uint32_t cut, uint32_t *first);

#endif
