/* SPDX-License-Identifier: Apache-2.0 */
/* planes: partition of a group into planes without gaps, and a tree of neighbours over the planes
 * (us10382527). It serves groups whose nodes leave gaps in the torus.
 *
 * A plane is a rectangle of members along two dimensions; a line and a single node are planes too.
 * Each turn cuts off the largest plane that is left, and among equal planes the one with the lowest
 * corner. The corner of a full ring is at 0.
 *
 * The tree grows plane by plane from the plane of its root. It enters the next plane where it
 * reaches that plane first, and among equal places at the most central one: this node is the
 * plane's *local root*. From there the *local tree* has a spine along the plane's first dimension
 * and ribs along its second. If no neighbours connect two parts of a group, the tree joins the
 * parts at their nearest pair of nodes.
 *
 * The result depends on topology and nodes alone, so it is the same on every node.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_PLANES_H
#define TD_MODEL_PLANES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errors.h"
#include "topology.h"
#include "tree.h"

struct td_plane {
    uint32_t corner;      /* node */
    uint8_t dimension[2]; /* of the two sides; equal if the plane is a line */
    uint32_t side[2];     /* nodes along each side */
    /* in the tree: the slot of the local root, its parent (itself at the top), and the hops between
     * the two */
    uint32_t root, above, gap;
    uint32_t hops; /* from the tree's root to the local root */
};

/* struct td_planes: slots are the group's nodes in increasing order. */
struct td_planes {
    const struct td_topology *topology;
    const uint32_t *node; /* [slots] borrowed */
    uint32_t slots, planes;
    struct td_plane *plane; /* [planes] largest first */
    uint32_t *slot;         /* [nodes of the torus] UINT32_MAX: not a member */
    uint32_t *of;           /* [slots] plane */
};

/* td_planes_build partitions the group. It returns TD_ERR_NO_MEMORY if the arena is full.
 * td_planes_free accepts zeroed planes. */
td_err td_planes_build(struct td_planes *p, struct td_arena *arena, const struct td_topology *t,
                       const uint32_t *node, uint32_t slots);
void td_planes_free(struct td_planes *p, struct td_arena *arena);
/* td_planes_tree builds the tree with this root and writes each plane's place in it. */
td_err td_planes_tree(struct td_planes *p, struct td_arena *arena, uint32_t root,
                      struct td_tree *tree);
/* td_planes_breadth returns the hops from a slot to the farthest slot that members connect with it,
 * and writes that slot to *farthest. No tree of neighbours has fewer hops. It returns UINT32_MAX if
 * the arena is full. */
uint32_t td_planes_breadth(const struct td_planes *p, struct td_arena *arena, uint32_t root,
                           uint32_t *farthest);
/* td_planes_best builds a group's tree. If the nodes are a whole box of the torus, it builds the
 * tree of least depth: its root is at 0 in dimensions that wrap around and in the middle of the
 * others. Otherwise it builds trees by planes from a few roots and keeps the best. */
td_err td_planes_best(struct td_tree *tree, struct td_arena *arena, const struct td_topology *t,
                      const uint32_t *node, uint32_t slots);
/* td_planes_closed returns true if the group is a torus by itself: a box of the torus whose rings
 * are all whole. */
bool td_planes_closed(const struct td_topology *t, const uint32_t *node, uint32_t slots);

#endif
