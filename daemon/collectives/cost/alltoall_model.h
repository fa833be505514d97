/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall_model: the quantities from which all-to-all methods predict their cost on the routed
 * fabric, in slots (a slot is the time of a full packet on a link). All are exact integers, the
 * same on every node. The efficiencies were measured in a model of links without latency
 * (alltoall_model.c). Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_COST_ALLTOALL_MODEL_H
#define TD_COLLECTIVES_COST_ALLTOALL_MODEL_H

#include "collectives/method.h"

struct td_alltoall_model {
    uint32_t longest; /* the dimension with the busiest links, which determines the bound */
    uint64_t packets; /* mean number of packets from one node to another */
    uint64_t bound;   /* in slots; no routing takes less */
    uint64_t
        longest_bound; /* in slots, if all units were as long as the longest, as relays pad them */
    unsigned random, two_phase; /* efficiencies, in thousandths of the bound's rate */
};

/* td_alltoall_model_of analyses an all-to-all, with equal counts or not, or the move of a plan. */
struct td_alltoall_model td_alltoall_model_of(struct td_query *q);

#endif
