/* SPDX-License-Identifier: Apache-2.0 */
/* planes: a group whose nodes leave gaps in the torus, cut into planes without gaps, and a tree of
 * neighbours over them (us10382527).
 *
 * A plane is a rectangle of members along two dimensions; a line or a single node is one too. Cut
 * off is always the largest that is left, of equal ones that with the lowest corner. A full ring's
 * corner is at 0.
 *
 * The tree grows plane by plane, from that of its root. The next one is entered where the tree
 * reaches it first, of equal places at the most central: that node is its *local root*. From there
 * the *local tree* has a spine along the plane's first dimension, and ribs along its second. Parts
 * of a group that no neighbours connect are joined by their nearest pair of nodes.
 *
 * All of it depends on topology and nodes alone, so it is the same on every node.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_PLANES_H
#define TD_MODEL_PLANES_H

#include "call.h"
#include "group.h"
#include "topology.h"
#include "tree.h"

struct td_plane {
    uint32_t corner;           /* node */
    uint8_t dimension[2];      /* of its two sides; alike where there is one */
    uint32_t side[2];          /* nodes along them */
    uint32_t root, above, gap; /* of the tree: local root (slot), the slot it hangs on (itself at
                                  the top), hops between them */
    uint32_t hops;             /* from the tree's root to the local root */
};

/* struct td_planes: slots are the group's nodes in increasing order. */
struct td_planes {
    const struct td_topology *topology;
    const uint32_t *node; /* [slots] borrowed */
    uint32_t slots, planes;
    struct td_plane *plane; /* [planes] largest first */
    uint32_t *slot;         /* [nodes of the machine] UINT32_MAX where no member is */
    uint32_t *of;           /* [slots] plane */
};

/* td_planes_build cuts; td_planes_free accepts zeroed planes. */
td_err td_planes_build(struct td_planes *p, struct td_arena *arena, const struct td_topology *t,
                       const uint32_t *node, uint32_t slots);
void td_planes_free(struct td_planes *p, struct td_arena *arena);
/* td_planes_tree makes the tree with this root, and writes the planes' places in it. */
td_err td_planes_tree(struct td_planes *p, struct td_arena *arena, uint32_t root,
                      struct td_tree *tree);
/* td_planes_breadth returns the hops from a slot to the farthest one that members connect it with,
 * which *farthest is: no tree of neighbours has fewer. UINT32_MAX when the arena is full. */
uint32_t td_planes_breadth(const struct td_planes *p, struct td_arena *arena, uint32_t root,
                           uint32_t *farthest);

/* td_planes_best makes a group's tree: where the nodes are a whole box of the machine, that of
 * least depth, from 0 in dimensions that wrap around and from the middle in others; else one by
 * planes, the best of those from a few roots. */
td_err td_planes_best(struct td_tree *tree, struct td_arena *arena, const struct td_topology *t,
                      const uint32_t *node, uint32_t slots);
/* td_planes_shares makes a tree of a group with this root in which about equally many slots are
 * below each of the root's children, so that what all have for the root comes by all its links. A
 * group that neighbours do not connect gets that by planes. */
td_err td_planes_shares(struct td_tree *tree, struct td_arena *arena, const struct td_topology *t,
                        const uint32_t *node, uint32_t slots, uint32_t root);
/* td_planes_closed: whether a group is a torus by itself: a box of the machine whose rings are all
 * whole. */
bool td_planes_closed(const struct td_topology *t, const uint32_t *node, uint32_t slots);
/* td_planes_own: whether a call goes along a tree of its own, from its root: broadcast and reduce
 * by planes or, if that is less deep, breadth first, gather and scatter that of shares. What is
 * short travels with the gate. td_planes_of_call makes it, or for others the group's. */
bool td_planes_own(const struct td_call *call, uint32_t ranks);
td_err td_planes_of_call(struct td_tree *tree, struct td_arena *arena, const struct td_topology *t,
                         const struct td_group *g, const struct td_call *call);

#endif
