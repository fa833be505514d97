/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall_model: the quantities from which all-to-all methods predict their cost on the routed
 * fabric, in bytes that pass the busiest link one after the other: partial packets count as what
 * they are. All are exact integers, the same on every node. The efficiencies were measured in a
 * model of links without latency (alltoall_model.c). Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_COST_ALLTOALL_MODEL_H
#define TD_COLLECTIVES_COST_ALLTOALL_MODEL_H

#include "collectives/method.h"

struct td_alltoall_model {
    uint32_t longest; /* the dimension with the busiest links, which determines the bound */
    uint64_t unit;    /* mean bytes from one node to another, */
    uint64_t packets; /* and their packets */
    uint64_t bound;   /* in bytes; no routing takes less */
    uint64_t
        longest_bound; /* in bytes, if all units were as long as the longest, as relays pad them */
    unsigned random, two_phase; /* efficiencies, in thousandths of the bound's rate */
};

/* td_alltoall_model_of analyses an all-to-all, with equal counts or not, or the move of a plan. */
struct td_alltoall_model td_alltoall_model_of(struct td_query *q);
/* td_alltoall_model_cost returns the cost of `bytes` on the busiest link at an efficiency. */
uint64_t td_alltoall_model_cost(const struct td_query *q, uint64_t bytes, unsigned efficiency);
/* td_alltoall_model_straight returns the cost on the direct fabric in random order, or 0 if it is
 * not known. */
uint64_t td_alltoall_model_straight(const struct td_query *q);
/* td_alltoall_model_pairwise is the same for one partner at a time: no two nodes meet at one
 * receiver, but each step waits for the one before. */
uint64_t td_alltoall_model_pairwise(const struct td_query *q);

#endif
