/* SPDX-License-Identifier: Apache-2.0 */
/* load: what the moves of an array bring from node to node, and what no way of bringing it beats.
 * Owns nothing. */
#ifndef TD_TORUS_SIM_LOAD_H
#define TD_TORUS_SIM_LOAD_H

#include "collectives/redist/transform_plan.h"

/* td_load_each calls `each` for every two nodes of which the first has something for the second,
 * which may be the same. False: no memory. */
typedef void td_load_fn(void *me, uint32_t from, uint32_t to, uint64_t bytes);
bool td_load_each(const struct td_array_move *move, const struct td_group *group, td_load_fn *each,
                  void *me);

/* td_load_bound returns bytes that some link carries, whatever the ways: of what comes into or
 * leaves some node by its links, what passes the planes that cut a slab out of the machine, and
 * what all links of a dimension carry on shortest ways. Of all these moves together; less than 0:
 * no memory. */
double td_load_bound(const struct td_array_move *moves, unsigned count,
                     const struct td_topology *topology, const struct td_group *group);

#endif
