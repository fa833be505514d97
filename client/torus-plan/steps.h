/* SPDX-License-Identifier: Apache-2.0 */
/* steps: the program of an all-to-all as a list for people: the messages of a node and its
 * barriers, in order, with their phase, part and hop count. It leaves out steps without bytes and
 * barriers of one node.
 *
 * A program consists of rounds (iterations of random order, segments of phases). All rounds but the
 * last are alike, so two rounds describe it. Pure: no I/O, clock, or globals. */
#ifndef TORUSCTL_EXPLAIN_STEPS_H
#define TORUSCTL_EXPLAIN_STEPS_H

#include "collectives/grid.h"

#define EXPLAIN_SEVERAL UINT32_MAX

struct explain_step {
    bool barrier; /* otherwise a message */
    bool between; /* a barrier after which the next round may reuse the same memory */
    bool ring;    /* two-phase: to a relay */
    uint32_t phase;
    uint32_t turn;      /* two-phase: of the ring */
    uint32_t part;      /* phased */
    uint32_t dimension; /* of the machine, of a message or a ring; or EXPLAIN_SEVERAL */
    /* of a message: */
    uint32_t to; /* node */
    uint32_t hops, gap;
    int32_t offset[TD_DIMENSIONS_MAX]; /* the minimal route; if both directions are equally long,
                                          that of `sign`, or half each way if sign is 0 */
    bool tie[TD_DIMENSIONS_MAX];
    int sign;
    uint64_t bytes, packets;
    struct td_among among; /* of a barrier: slots */
};

struct explain_plan {
    const struct td_program *program;
    enum td_alltoall method;
    struct td_grid grid;
    uint32_t machine[TD_DIMENSIONS_MAX]; /* the machine's dimension of each dimension of the grid */
    uint64_t rounds;
    uint32_t phases, parts;
};

typedef void explain_fn(void *me, const struct explain_step *step);

/* explain_plan_of analyses a compiled all-to-all of that method (not AUTO). */
struct explain_plan explain_plan_of(const struct td_program *program, enum td_alltoall method);
/* explain_round calls `each` for every message and barrier of this node in a round, in order. */
void explain_round(const struct explain_plan *plan, uint64_t round, explain_fn *each, void *me);

/* struct explain_totals: the sums of a node's messages. */
struct explain_totals {
    uint64_t messages, barriers, bytes, packets;
    uint64_t byte_hops[TD_DIMENSIONS_MAX];
    uint32_t hops_max;
};
struct explain_totals explain_total(const struct explain_plan *plan);

/* explain_pass loads the links of a message's dimension-ordered route. If both directions are
 * equally long, it uses that of sign `choice`, or half each way if choice is 0. load2: twice the
 * load of a link, [(node * dimensions + dimension) * 2 + (sign < 0)]. It returns the highest load
 * on the route. */
uint64_t explain_pass(const struct td_topology *t, uint32_t from, uint32_t to, int choice,
                      uint64_t weight, uint64_t *load2);
/* explain_pairwise_slots returns the sum of the times of the pairwise steps: for each the bytes on
 * the busiest link with dimension-ordered routes, and its hops. It is a lower estimate, 2 to 18
 * % below torus-sim on five shapes. It takes time in proportion to the hops of all pairs, and
 * returns 0 for machines on which that is long. */
double explain_pairwise_slots(const struct explain_plan *plan, uint64_t bytes);

#endif
