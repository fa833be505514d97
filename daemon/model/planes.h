/* SPDX-License-Identifier: Apache-2.0 */
/* planes: partition of a group into planes without gaps (us10382527). planes_tree.h builds a tree
 * of neighbours over them. It serves groups whose nodes leave gaps in the torus.
 *
 * A plane is a rectangle of members along two dimensions; a line and a single node are planes too.
 * Each turn cuts off the largest plane that is left, and among equal planes the one with the lowest
 * corner. The corner of a full ring is at 0.
 *
 * The result depends on topology and nodes alone, so it is the same on every node.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_PLANES_H
#define TD_MODEL_PLANES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errors.h"
#include "topology.h"

struct td_arena;

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
/* td_planes_node returns node i of a plane, row by row. */
uint32_t td_planes_node(const struct td_topology *t, const struct td_plane *plane, uint32_t i);

#endif
