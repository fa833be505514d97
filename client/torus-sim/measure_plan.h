/* SPDX-License-Identifier: Apache-2.0 */
/* measure_plan: measurement of one execution of a plan, after all ranks have agreed on it.
 * Owns: an arena with the parsed plan. */
#ifndef TD_TORUS_SIM_MEASURE_PLAN_H
#define TD_TORUS_SIM_MEASURE_PLAN_H

#include "model/group.h"
#include "model/plan.h"
#include "sim/world.h"

struct td_measured_plan {
    struct td_arena *arena;
    struct td_plan *plan; /* NULL: the call has no plan */
    struct td_group group;
    const char *method; /* selected method or schedule */
    uint32_t steps;     /* steps of the schedule; moves of a transform */
    uint64_t number;    /* number of the plan in the daemons */
};

/* td_measured_plan_read makes the plan that calls of `kind` execute, from a description; `node`
 * lists the node of each rank. It returns false with the sentence in why. */
bool td_measured_plan_read(struct td_measured_plan *p, unsigned kind,
                           const struct td_description *description,
                           const struct td_topology *topology, const struct td_tuning *tuning,
                           const uint32_t *node, uint32_t ranks, char *why, size_t size);
void td_measured_plan_fini(struct td_measured_plan *p);
/* td_measured_plan_agree makes all ranks agree on the plan; `client` and `group` are those of the
 * ranks. It returns false with the sentence in why. */
bool td_measured_plan_agree(struct td_measured_plan *p, struct td_sim *sim,
                            const struct td_description *description, const uint32_t *client,
                            const uint32_t *group, uint32_t ranks, char *why, size_t size);
/* td_measured_plan_bound returns the lower bound of the time in slots (load.h). Of a transform,
 * this is the bound of all moves together; *in_turn is the sum of the bounds of its moves. */
double td_measured_plan_bound(const struct td_measured_plan *p, const struct td_topology *topology,
                              uint32_t packet_bytes, double *in_turn);

#endif
