/* SPDX-License-Identifier: Apache-2.0 */
/* traffic_matrix: the bytes that a move of an array carries from slot to slot, and the sets of
 * slots that exchange data. Owns: its tables, in the arena. Borrows: the move. Pure: no I/O, clock,
 * or globals. */
#ifndef TD_COLLECTIVES_REDIST_TRAFFIC_MATRIX_H
#define TD_COLLECTIVES_REDIST_TRAFFIC_MATRIX_H

#include "array_move.h"

/* struct td_tenants: the owners of an array on each slot of the plan's group. */
struct td_tenants {
    uint32_t *begin; /* [slots + 1] */
    uint32_t *owner; /* [owners] slot by slot */
    uint32_t most;   /* greatest number on a slot */
};
/* td_tenants_find returns false if the arena is full. The tenants must be freed in either case. */
bool td_tenants_find(struct td_tenants *tenants, const struct td_array *array, uint32_t slots,
                     struct td_arena *arena);
void td_tenants_free(struct td_tenants *tenants, struct td_arena *arena);
uint32_t td_tenants_on(const struct td_tenants *tenants, uint32_t slot);

/* td_traffic_each calls `each` for every pair of slots of which the first has elements for the
 * second; both may be the same slot. It visits every pair of owners once. It returns false if the
 * arena is full. */
typedef void td_traffic_fn(void *me, uint32_t from, uint32_t to, uint64_t bytes);
bool td_traffic_each(const struct td_array_move *move, uint32_t slots, struct td_arena *arena,
                     td_traffic_fn *each, void *me);
/* td_traffic_memory returns an upper limit of the arena memory that it needs. */
size_t td_traffic_memory(const struct td_array_move *move, uint32_t slots);

/* Slots that exchange, directly or through others, form a set with one root (union-find): [slots]
 * numbers. td_traffic_apart makes each slot a set of its own. td_traffic_join joins two sets and
 * returns the root. */
void td_traffic_apart(uint32_t *root, uint32_t slots);
uint32_t td_traffic_root(uint32_t *root, uint32_t slot);
uint32_t td_traffic_join(uint32_t *root, uint32_t a, uint32_t b);

#endif
