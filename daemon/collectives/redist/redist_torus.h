/* SPDX-License-Identifier: Apache-2.0 */
/* redist_torus: the load of a schedule's steps on the links of a torus, with dimension-ordered
 * minimal routes, and the choice of a circulant schedule's variant. Owns: nothing. Pure: no I/O,
 * clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_REDIST_TORUS_H
#define TD_COLLECTIVES_REDIST_REDIST_TORUS_H

#include "model/topology.h"
#include "redist_schedule.h"

/* struct td_schedule_places: the node of each owner, before and after. */
struct td_schedule_places {
    const struct td_topology *topology;
    const uint32_t *from, *to;
};

/* struct td_schedule_load: in units of volume, doubled, because half of the data goes each way if
 * both directions round a ring are equally long. */
struct td_schedule_load {
    uint64_t steps2;    /* sum over all steps of the load of the busiest link */
    uint64_t together2; /* load of the busiest link if all steps run together: a lower bound for
                           every order */
};

/* td_schedule_load sums up the loads of all steps. It returns false if memory runs out. */
bool td_schedule_load(const struct td_schedule *s, const struct td_schedule_problem *problem,
                      const struct td_schedule_places *places, struct td_arena *arena,
                      struct td_schedule_load *load);
/* td_schedule_settle chooses between a circulant schedule and its mirror by the loads of a sample
 * of their steps. Other schedules do not change. It returns false if memory runs out. */
bool td_schedule_settle(struct td_schedule *s, const struct td_schedule_places *places,
                        struct td_arena *arena);

#endif
