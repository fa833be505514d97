/* SPDX-License-Identifier: Apache-2.0 */
/* predict: how long the methods of an all-to-all would take in the routed fabric, in slots: the
 * time a full packet takes on a link. Exact integers, the same on every node; efficiencies are the
 * measured ones of algorithms.md, sections 3 and 4, in thousandths.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_PREDICT_H
#define TD_COLLECTIVES_PREDICT_H

#include "grid.h"

enum {
    TD_PREDICT_RANDOM = 960,      /* of the bound, on shapes that are about as long every way */
    TD_PREDICT_RANDOM_LONG = 740, /* where one dimension carries twice what the next does */
    TD_PREDICT_TWO_PHASE = 920,
};

struct td_prediction {
    struct td_grid grid; /* of the group's nodes */
    uint32_t longest;    /* the dimension with the bound */
    bool is_long;        /* it carries at least twice what any other does */
    uint64_t packets;    /* of what a node has for another */
    uint64_t bound;      /* slots, and those of the methods: */
    uint64_t random, two_phase, phased;
};

void td_predict_alltoall(const struct td_program *p, struct td_prediction *out);

#endif
