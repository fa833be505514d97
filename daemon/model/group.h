/* SPDX-License-Identifier: Apache-2.0 */
/* group: the ranks of a group and their nodes. It is the same on every node of the group.
 *
 * Ranks are stored as runs: arithmetic progressions of ranks on one node. Block and round-robin
 * placement therefore cost one run per node. The nodes of the group, in increasing order, are its
 * *slots*.
 *
 * Owns: its arrays, in the arena it was built from.
 * Invariant: every rank is in exactly one run; runs are sorted by (slot, local).
 * Pure: no I/O, clock, or globals. */
#ifndef TD_MODEL_GROUP_H
#define TD_MODEL_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errors.h"
#include "base/limits.h"

struct td_arena;

/* struct td_run: `count` ranks first, first + step, ... They are the local ranks local, local + 1,
 * ... on `node`, the node of `slot`. */
struct td_run {
    uint32_t slot, node, first, step, count, local;
};

struct td_group {
    uint32_t size;  /* ranks */
    uint32_t slots; /* nodes */
    uint32_t runs;
    uint32_t *node;      /* [slots] node of a slot */
    uint32_t *slot_rank; /* [slots + 1] sum of ranks on the slots before */
    uint32_t *slot_run;  /* [slots + 1] index of the slot's first run */
    struct td_run *run;  /* [runs] */
};

/* td_group_build builds the group from the node of each rank, rank_node[size]. It returns
 * TD_ERR_NO_MEMORY if the arena is full. td_group_free releases the arrays. */
td_err td_group_build(struct td_group *g, struct td_arena *arena, const uint32_t *rank_node,
                      uint32_t size);
void td_group_free(struct td_group *g, struct td_arena *arena);

/* td_group_slot returns the slot of a node, or UINT32_MAX if the node has no rank of the group. */
uint32_t td_group_slot(const struct td_group *g, uint32_t node);
/* td_group_slot_ranks returns the number of ranks on the slot's node. */
uint32_t td_group_slot_ranks(const struct td_group *g, uint32_t slot);
/* td_group_rank returns the rank with number `local` on a slot. */
uint32_t td_group_rank(const struct td_group *g, uint32_t slot, uint32_t local);
/* td_group_locate writes the slot of a rank and its local number there. */
void td_group_locate(const struct td_group *g, uint32_t rank, uint32_t *slot, uint32_t *local);

#endif
