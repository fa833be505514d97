/* SPDX-License-Identifier: Apache-2.0 */
/* measure_plan: what is measured of a plan that is executed: all ranks agree on it first.
 * Owns: an arena with the plan, as it is read here. */
#ifndef TD_TORUS_SIM_MEASURE_PLAN_H
#define TD_TORUS_SIM_MEASURE_PLAN_H

#include "model/group.h"
#include "model/plan.h"
#include "sim/world.h"

struct td_measured_plan {
    struct td_arena *arena;
    struct td_plan *plan; /* NULL: nothing is planned */
    struct td_group group;
    const char *method; /* or schedule, the one taken */
    uint32_t steps;     /* of the schedule; of a transform, its moves */
    uint64_t number;    /* at the daemons */
};

/* td_measured_plan_read makes the plan that calls of `kind` execute, from a description; `node` are
 * the ranks'. False: why. */
bool td_measured_plan_read(struct td_measured_plan *p, unsigned kind,
                           const struct td_description *description,
                           const struct td_topology *topology, const struct td_tuning *tuning,
                           const uint32_t *node, uint32_t ranks, char *why, size_t size);
void td_measured_plan_fini(struct td_measured_plan *p);
/* td_measured_plan_agree asks for it; `client` and `group` are the ranks'. False: why. */
bool td_measured_plan_agree(struct td_measured_plan *p, struct td_sim *sim,
                            const struct td_description *description, const uint32_t *client,
                            const uint32_t *group, uint32_t ranks, char *why, size_t size);
/* td_measured_plan_bound returns slots that no way of doing it beats (load.h): of a transform, all
 * its moves together, and in *in_turn one after the other. */
double td_measured_plan_bound(const struct td_measured_plan *p, const struct td_topology *topology,
                              uint32_t packet_bytes, double *in_turn);

#endif
