/* SPDX-License-Identifier: Apache-2.0 */
/* explain_steps: an all-to-all's program as a person reads it: the messages that a node sends and
 * the barriers it is in, in order, with the phase, part and hop count that each belongs to. Steps
 * without bytes and barriers of one node are left out.
 *
 * A program is some rounds (of random order: its iterations; of phases: segments). All rounds but
 * the last are alike, so two are enough to know them.
 * Pure: no I/O, clock, or globals. */
#ifndef TORUSCTL_EXPLAIN_STEPS_H
#define TORUSCTL_EXPLAIN_STEPS_H

#include "collectives/grid.h"

#define EXPLAIN_SEVERAL UINT32_MAX

struct explain_step {
    bool barrier; /* else a message */
    bool between; /* a barrier after which the next round may use the same memory */
    bool ring;    /* two-phase: to a relay */
    uint32_t phase;
    uint32_t turn;      /* two-phase: of the ring */
    uint32_t part;      /* phased */
    uint32_t dimension; /* of the machine, of a message or a ring; or EXPLAIN_SEVERAL */
    /* of a message: */
    uint32_t to; /* node */
    uint32_t hops, gap;
    int32_t offset[TD_DIMENSIONS_MAX]; /* the minimal way; where both ways are equally far, that of
                                          `sign`, or half of it each way when sign is 0 */
    bool tie[TD_DIMENSIONS_MAX];
    int sign;
    uint64_t bytes, packets;
    struct td_among among; /* of a barrier: slots */
};

struct explain_plan {
    const struct td_program *program;
    enum td_alltoall method;
    struct td_grid grid;
    uint32_t machine[TD_DIMENSIONS_MAX]; /* the machine's dimension that a grid's one is */
    uint64_t rounds;
    uint32_t phases, parts;
};

typedef void explain_fn(void *me, const struct explain_step *step);

/* explain_plan_of looks at a compiled all-to-all of that method (not AUTO). */
struct explain_plan explain_plan_of(const struct td_program *program, enum td_alltoall method);
/* explain_round calls `each` for everything that this node does in a round, in order. */
void explain_round(const struct explain_plan *plan, uint64_t round, explain_fn *each, void *me);

/* struct explain_totals: what a node sends in all. */
struct explain_totals {
    uint64_t messages, barriers, bytes, packets;
    uint64_t byte_hops[TD_DIMENSIONS_MAX];
    uint32_t hops_max;
};
struct explain_totals explain_total(const struct explain_plan *plan);

/* explain_pass puts a message on the links of its way, in the order of dimensions; where both ways
 * are equally far, that of sign `choice`, or half each way when it is 0. load2: twice the weight
 * that a link carries, [(node * dimensions + dimension) * 2 + (sign < 0)]. Returns the most of any
 * it passed. */
uint64_t explain_pass(const struct td_topology *t, uint32_t from, uint32_t to, int choice,
                      uint64_t weight, uint64_t *load2);
/* explain_pairwise_slots returns how long the steps of the pairwise method take one after the
 * other: each the busiest link's packets in the order of dimensions, and its way. It is a lower
 * estimate, 2 to 18 % below what torus-sim took on five shapes. Needs time in proportion to the
 * hops of all pairs; 0 for machines where that is long. */
uint64_t explain_pairwise_slots(const struct explain_plan *plan, uint64_t packets);

#endif
