/* SPDX-License-Identifier: Apache-2.0 */
/* tree: a rooted tree of a group's slots. Slots are also kept in preorder, children in slot order,
 * so that what is below a slot is an interval, and what is on one side of any edge is an interval
 * of the circle: so the tree can be used from any root.
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
    uint32_t hops;    /* from the root to what is farthest; an edge counts one in the heap */
    uint32_t *parent; /* [slots] slot; the root's is itself */
    uint32_t *order;  /* [slots] slots in preorder */
    uint32_t *place;  /* [slots] where a slot is in it */
    uint32_t *below;  /* [slots] how many slots are in its subtree, itself included */
};

/* td_tree_init takes the arrays and leaves parents to be set; TD_ERR_NO_MEMORY when the arena is
 * full. td_tree_finish computes the rest from them; no slot has more than TD_TREE_CHILDREN_MAX
 * children. td_tree_free accepts a zeroed tree. */
td_err td_tree_init(struct td_tree *t, struct td_arena *arena, uint32_t slots);
td_err td_tree_finish(struct td_tree *t, struct td_arena *arena);
void td_tree_free(struct td_tree *t, struct td_arena *arena);
/* td_tree_heap makes the tree in which slot s has the children TD_TREE_ARITY s + 1 and so on. */
td_err td_tree_heap(struct td_tree *t, struct td_arena *arena, uint32_t slots);

/* td_tree_children writes the children of a slot, in slot order, and returns how many there are. */
uint32_t td_tree_children(const struct td_tree *t, uint32_t slot,
                          uint32_t child[TD_TREE_CHILDREN_MAX]);

/* The tree seen from another root, `to`: the path between the two roots is turned round. */

/* td_tree_towards returns the neighbour of a slot on the way to `to`; the slot itself if it is. */
uint32_t td_tree_towards(const struct td_tree *t, uint32_t slot, uint32_t to);
/* td_tree_away writes the other neighbours: the children in order, then the parent. */
uint32_t td_tree_away(const struct td_tree *t, uint32_t slot, uint32_t to,
                      uint32_t child[TD_TREE_CHILDREN_MAX + 1]);
/* td_tree_side returns how many slots are on `slot`'s side of the edge to its neighbour `cut`, and
 * the place of the first; the others follow it, and place 0 follows the last. With slot == cut, all
 * of them. */
uint32_t td_tree_side(const struct td_tree *t, uint32_t slot, uint32_t cut, uint32_t *first);

#endif
