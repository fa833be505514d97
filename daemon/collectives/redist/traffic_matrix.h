/* SPDX-License-Identifier: Apache-2.0 */
/* exchange: what a move of an array brings from slot to slot, and which slots so have to do with
 * each other. Owns: its tables, in the arena. Borrows: the move. Pure: no I/O, clock, or globals.
 */
#ifndef TD_COLLECTIVES_REDIST_TRAFFIC_MATRIX_H
#define TD_COLLECTIVES_REDIST_TRAFFIC_MATRIX_H

#include "collectives/fft/transform_plan.h"

/* struct td_tenants: the owners of an array on each slot of the plan's group. */
struct td_tenants {
    uint32_t *begin; /* [slots + 1] */
    uint32_t *owner; /* [owners] slot by slot */
    uint32_t most;   /* of a slot */
};
/* td_tenants_find: false: no memory; what there is must be freed all the same. */
bool td_tenants_find(struct td_tenants *tenants, const struct td_array *array, uint32_t slots,
                     struct td_arena *arena);
void td_tenants_free(struct td_tenants *tenants, struct td_arena *arena);
uint32_t td_tenants_on(const struct td_tenants *tenants, uint32_t slot);

/* td_traffic_each calls `each` for every two slots of which the first has something for the
 * second, which may be the same. It looks at every two owners once. False: no memory. */
typedef void td_traffic_fn(void *me, uint32_t from, uint32_t to, uint64_t bytes);
bool td_traffic_each(const struct td_array_move *move, uint32_t slots, struct td_arena *arena,
                     td_traffic_fn *each, void *me);
/* td_traffic_memory returns what that takes of the arena, at most. */
size_t td_traffic_memory(const struct td_array_move *move, uint32_t slots);

/* Slots that exchange, directly or by others, have one root: [slots] numbers, each its own at first
 * (td_traffic_apart). td_traffic_join returns the new root of both. */
void td_traffic_apart(uint32_t *root, uint32_t slots);
uint32_t td_traffic_root(uint32_t *root, uint32_t slot);
uint32_t td_traffic_join(uint32_t *root, uint32_t a, uint32_t b);

#endif
