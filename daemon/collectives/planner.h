/* SPDX-License-Identifier: Apache-2.0 */
/* planner: chooses a plan's method and makes its transform plan, once, when all ranks have agreed
 * on the plan. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_PLANNER_H
#define TD_COLLECTIVES_PLANNER_H

#include "model/plan.h"

/* td_collectives_planner is the planner of both drivers. */
extern const struct td_planner td_collectives_planner;

#endif
