/* SPDX-License-Identifier: Apache-2.0 */
/* spread: the trees along which rooted calls go, as one node sees its place in them.
 *   PLANES    the group's own tree of neighbours, turned round to begin at the root (core/tree.h)
 *   BINARY    a heap of slots, the root first
 *   BINOMIAL  what libraries do that know nothing of the machine: to compare with
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_SPREAD_H
#define TD_COLLECTIVES_SPREAD_H

#include "core/program.h"
#include "core/tree.h"

enum { TD_SPREAD_CHILDREN_MAX = TD_TREE_CHILDREN_MAX + 1 };

struct td_place {
    uint32_t parent;   /* slot; its own at the root */
    uint32_t siblings; /* of the parent's children, which it is one of */
    uint32_t index;    /* among them */
    uint32_t children, child[TD_SPREAD_CHILDREN_MAX]; /* slots */
};

/* td_spread_place finds where a slot is in the tree from slot `root`. */
void td_spread_place(const struct td_program *p, enum td_spread spread, uint32_t root,
                     uint32_t slot, struct td_place *place);
/* td_spread_depth returns the edges from the root to a slot. */
uint32_t td_spread_depth(const struct td_program *p, enum td_spread spread, uint32_t root,
                         uint32_t slot);
/* td_spread_chunk returns the bytes into which `bytes` are best cut to flow down the tree: whole
 * packets, the fewer the deeper it is. */
uint64_t td_spread_chunk(const struct td_program *p, enum td_spread spread, uint64_t bytes);

#endif
