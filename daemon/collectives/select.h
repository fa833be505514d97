/* SPDX-License-Identifier: Apache-2.0 */
/* select: which method serves a call. Reads only what is the same on every node. */
#ifndef TD_COLLECTIVES_SELECT_H
#define TD_COLLECTIVES_SELECT_H

#include "model/plan.h"
#include "model/program.h"
#include "collectives/redist/redist_schedule.h"

/* td_select_compile is the td_compile_fn of both drivers. Of an all-to-all, the program's tuning
 * names the method it is by, never AUTO. */
td_compile_fn td_select_compile;
/* td_select_planner makes what the programs of plans need, for both drivers. */
extern const struct td_planner td_select_planner;
/* td_select_rows: whether a plan is executed by the program for rows and columns, which keeps
 * nothing: among a few nodes of the direct fabric. Among 8 the moves of any array took 0.65 to 0.85
 * of its time, and on a torus they use the links better. */
bool td_select_rows(const struct td_plan_input *in);
/* td_select_schedule returns the schedule of a redistribution whose stages have been made. */
const struct td_schedule *td_select_schedule(const struct td_plan *plan);
/* td_select_explain writes the method that td_select_compile takes and the reason, in a sentence;
 * returns its length. */
int td_select_explain(const struct td_compile_input *input, char *text, size_t size);
/* td_alltoall_name returns e.g. "two-phase", as it is asked for. */
const char *td_alltoall_name(enum td_alltoall method);

#endif
