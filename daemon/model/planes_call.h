/* SPDX-License-Identifier: Apache-2.0 */
/* planes_call: the combining trees of calls that do not use their group's tree.
 *
 * A broadcast or reduction of more than a ride uses a tree from its own root: a tree by planes, or
 * a breadth-first tree if that is less deep. A gather or scatter uses a tree of equal branches, so
 * that its data uses all links of the root.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_PLANES_CALL_H
#define TD_MODEL_PLANES_CALL_H

#include "call.h"
#include "group.h"
#include "topology.h"
#include "tree.h"

/* td_planes_own returns true if the call uses a tree from its own root. A payload short enough to
 * ride with the gate does not need one. */
bool td_planes_own(const struct td_call *call, uint32_t ranks);
/* td_planes_of_call builds the tree of a call: its own, or else its group's (td_planes_best). It
 * returns TD_ERR_NO_MEMORY if the arena is full. */
td_err td_planes_of_call(struct td_tree *tree, struct td_arena *arena, const struct td_topology *t,
                         const struct td_group *g, const struct td_call *call);
/* td_planes_shares builds a tree with this root in which the branches below the root's children
 * have about equally many slots. If neighbours do not connect the group, it builds a tree by
 * planes. */
td_err td_planes_shares(struct td_tree *tree, struct td_arena *arena, const struct td_topology *t,
                        const uint32_t *node, uint32_t slots, uint32_t root);

#endif
