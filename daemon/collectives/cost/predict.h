/* SPDX-License-Identifier: Apache-2.0 */
/* predict: how long the methods of an all-to-all would take in the routed fabric, in slots: the
 * time a full packet takes on a link. Exact integers, the same on every node; efficiencies, in
 * thousandths, are those the router reached in a model of links without latency (predict.c).
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_COST_PREDICT_H
#define TD_COLLECTIVES_COST_PREDICT_H

#include "collectives/grid.h"

struct td_prediction {
    struct td_grid grid; /* of the group's nodes */
    uint32_t longest;    /* the dimension with the bound */
    uint64_t packets;    /* of what a node has for another */
    uint64_t bound;      /* slots, and those of the methods: */
    uint64_t random, two_phase, phased;
    unsigned random_efficiency, two_phase_efficiency; /* of the bound, in thousandths */
};

/* td_predict_best returns the method of the least predicted time. Phased only when asked for: where
 * it was measured, random or two-phase came as near to the bound (docs/network.md), with fewer
 * buffers and no barriers. */
enum td_alltoall td_predict_best(const struct td_prediction *predicted);
void td_predict_alltoall(const struct td_program *p, struct td_prediction *out);

/* td_predict_rings returns the way round the rings of a torus that would take the least time (of
 * allreduce, reduce-scatter, all-gather; WHOLE of the first alone):
 * what links carry, and a slot besides for every hop of a message. */
enum td_rings td_predict_rings(const struct td_program *p);

#endif
