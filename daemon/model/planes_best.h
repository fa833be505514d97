/* SPDX-License-Identifier: Apache-2.0 */
/* planes_best: the tree of a group on a torus: by planes (planes_tree.h), or that of a whole box.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_PLANES_BEST_H
#define TD_MODEL_PLANES_BEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errors.h"
#include "topology.h"
#include "tree.h"

/* td_planes_best builds a group's tree. If the nodes are a whole box of the torus, it builds the
 * tree of least depth: its root is at 0 in dimensions that wrap around and in the middle of the
 * others. Otherwise it builds trees by planes from a few roots and keeps the best. */
td_err td_planes_best(struct td_tree *tree, struct td_arena *arena, const struct td_topology *t,
                      const uint32_t *node, uint32_t slots);
/* td_planes_closed returns true if the group is a torus by itself: a box of the torus whose rings
 * are all whole. */
bool td_planes_closed(const struct td_topology *t, const uint32_t *node, uint32_t slots);

#endif
