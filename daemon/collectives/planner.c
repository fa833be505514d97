/* SPDX-License-Identifier: Apache-2.0 */
#include "planner.h"

#include "collectives/redist/transform_plan.h"
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

const struct td_planner td_collectives_planner = {make_plan, td_transform_plan_free};
