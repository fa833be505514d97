/* SPDX-License-Identifier: Apache-2.0 */
#include "planner.h"

#include "model/overlap.h"
#include "select.h"

/* begin_plan begins the choice of the method of a plan's executions. */
static void begin_plan(const struct td_plan_input *in, struct td_program *p, struct td_query *q)
{
    const struct td_call call = {.kind = in->plan->kind};
    td_program_begin(&(struct td_compile_input){.call = &call,
                                                .plan = in->plan,
                                                .group = in->group,
                                                .slot = in->slot,
                                                .topology = in->topology,
                                                .tuning = in->tuning},
                     p);
    td_query_begin(q, p, false);
}

static bool make_plan(const struct td_plan_input *in, struct td_arena *arena)
{
    struct td_program p;
    struct td_query q;
    struct td_plan *plan = in->plan;
    begin_plan(in, &p, &q);
    plan->method = td_select_method(&q);
    plan->transform_plan = NULL;
    return !plan->method->plan || plan->method->plan(in, arena, &plan->transform_plan);
}

/* cost_bytes counts 64 bytes for each block that a table visits, and for each pair of ranks in each
 * move of a transform and in a schedule. */
static uint64_t cost_bytes(const struct td_plan_input *in)
{
    enum { VISIT_BYTES = 64, MOVES = TD_DIMENSIONS_MAX + 2 };
    uint64_t pairs = (uint64_t)in->group->size * in->group->size * MOVES;
    return (td_overlap_work(&in->plan->from, &in->plan->to) + pairs) * VISIT_BYTES;
}

const struct td_planner td_collectives_planner = {make_plan, cost_bytes};
