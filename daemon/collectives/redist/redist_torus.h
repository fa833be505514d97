/* SPDX-License-Identifier: Apache-2.0 */
/* redist_torus: what a schedule's steps load the links of a torus with, by shortest ways a
 * dimension at a time, and the choice that a closed form leaves open. Owns nothing. Pure: no I/O,
 * clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_REDIST_TORUS_H
#define TD_COLLECTIVES_REDIST_REDIST_TORUS_H

#include "model/topology.h"
#include "redist_schedule.h"

/* struct td_schedule_places: on which node each owner is, before and after. */
struct td_schedule_places {
    const struct td_topology *topology;
    const uint32_t *from, *to;
};

/* struct td_schedule_load: in units of volume, doubled: where both ways round a ring are equally
 * long, half goes each way. */
struct td_schedule_load {
    uint64_t steps2;    /* the heaviest link of every step, added up */
    uint64_t together2; /* the heaviest link of all steps together: no order takes less */
};

/* td_schedule_load adds up what all steps load; false: no memory. */
bool td_schedule_load(const struct td_schedule *s, const struct td_schedule_problem *problem,
                      const struct td_schedule_places *places, struct td_arena *arena,
                      struct td_schedule_load *load);
/* td_schedule_settle chooses between a circulant schedule and its mirror by the loads of some of
 * their steps; others it leaves as they are. False: no memory. */
bool td_schedule_settle(struct td_schedule *s, const struct td_schedule_places *places,
                        struct td_arena *arena);

#endif
