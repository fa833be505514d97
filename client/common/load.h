/* SPDX-License-Identifier: Apache-2.0 */
/* load: the bytes that the moves of an array carry between nodes, and a lower bound of their time.
 * Owns: nothing. */
#ifndef TD_TORUS_SIM_LOAD_H
#define TD_TORUS_SIM_LOAD_H

#include "collectives/redist/transform_plan.h"

/* td_load_each calls `each` for every two nodes of which the first sends data to the second; both
 * may be the same node. It returns false if memory runs out. */
typedef void td_load_fn(void *me, uint32_t from, uint32_t to, uint64_t bytes);
bool td_load_each(const struct td_array_move *move, const struct td_group *group, td_load_fn *each,
                  void *me);

/* td_load_bound returns a lower bound of the bytes on the busiest link, for any routes: the maximum
 * over the bytes that enter or leave some node, that pass the planes that cut a slab out of the
 * machine, and that all links of a dimension carry on minimal routes. It counts all moves together.
 * It returns a negative number if memory runs out. */
double td_load_bound(const struct td_array_move *moves, unsigned count,
                     const struct td_topology *topology, const struct td_group *group);

#endif
