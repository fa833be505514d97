/* SPDX-License-Identifier: Apache-2.0 */
/* redist: moves an array from one layout to another (Park, Prasanna, Raghavendra 1999). Owners that
 * share elements meet in the steps of a schedule (redist_schedule.h), so no owner sends or receives
 * twice in a step. An owner begins a step when the one before the last is complete: it packs the
 * next message while one is in flight. */
#include "base/arena.h"
#include "transform_plan.h"

static bool plan(const struct td_plan_input *in, struct td_arena *arena,
                 struct td_transform_plan **out)
{
    const struct td_plan *p = in->plan;
    struct td_transform_plan *t = *out = td_arena_alloc(arena, sizeof *t);
    if (!t)
        return false;
    t->arrays = 2;
    return td_array_make(&t->array[0], in, arena, &p->from, false, TD_SPACE_SOURCE, p->element[0],
                         NULL) &&
           td_array_make(&t->array[1], in, arena, &p->to, false, TD_SPACE_DESTINATION,
                         p->element[1], NULL) &&
           td_transform_plan_move(t, in, arena, &t->array[0], &t->array[1], NULL);
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    td_array_move_step(p, &p->plan->transform_plan->move[0], 0, family, index, step);
}

static void compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    const struct td_array_move *m = &p->plan->transform_plan->move[0];
    uint64_t here = m->from->there[p->slot];
    td_array_move_add(p, m);
    if (here)
        td_program_need(p, TD_MOVE_SEND, TD_MOVE_SEND, here, here, -1);
}

const struct td_method td_method_redist = {
    .name = "redist",
    .why = "owners that share elements meet in the steps of a schedule",
    .kinds = TD_KIND_BIT(TD_KIND_REDIST),
    .class = TD_COST_STRAIGHT,
    .compile = compile,
    .plan = plan,
    .step_at = step_at,
};
