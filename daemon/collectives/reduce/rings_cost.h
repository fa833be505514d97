/* SPDX-License-Identifier: Apache-2.0 */
/* rings_cost: predicted times of the methods that use the rings of a torus, for allreduce,
 * reduce_scatter and allgather: the load of the links, and one slot for every hop of a message.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDUCE_RINGS_COST_H
#define TD_COLLECTIVES_REDUCE_RINGS_COST_H

#include "collectives/method.h"

/* struct td_rings_cost: costs (method.h) without their class. */
struct td_rings_cost {
    uint64_t bucket; /* from neighbour to neighbour */
    uint64_t halves; /* halving and doubling with near partners */
    uint64_t whole;  /* exchanges of whole vectors with the same partners; allreduce only */
};

/* td_rings_applies returns true if a call may use the rings of a torus of at most `dimensions_max`
 * dimensions (method.h). */
bool td_rings_applies(struct td_query *q, uint32_t dimensions_max);
/* td_rings_cost returns the predictions for a torus. If a ring's size is no power of two, `halves`
 * and `whole` are TD_COST_LAST. */
struct td_rings_cost td_rings_cost(struct td_query *q);

#endif
