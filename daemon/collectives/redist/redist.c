/* SPDX-License-Identifier: Apache-2.0 */
/* redist: an array goes from one layout to another: who has something for whom meets in the steps
 * of a schedule (redist_schedule.h), so that nobody sends to, or takes from, two at a time. An
 * owner begins a step when it is through with the one before the last: the next message is packed
 * while one is on its way. */
#include "collectives/collectives.h"
#include "base/arena.h"

bool td_redist_stages(const struct td_plan_input *in, struct td_arena *arena,
                      struct td_transform_plan **stages)
{
    const struct td_plan *plan = in->plan;
    struct td_transform_plan *s = *stages = td_arena_alloc(arena, sizeof *s);
    if (!s)
        return false;
    s->arrays = 2;
    return td_array_make(&s->array[0], in, arena, &plan->from, false, TD_SPACE_SOURCE,
                         plan->element[0], NULL) &&
           td_array_make(&s->array[1], in, arena, &plan->to, false, TD_SPACE_DESTINATION,
                         plan->element[1], NULL) &&
           td_transform_plan_move(s, in, arena, &s->array[0], &s->array[1], NULL);
}

static void expand(const struct td_program *p, unsigned family, uint64_t index,
                   struct td_step *step)
{
    td_array_move_expand(p, &p->plan->stages->move[0], 0, family, index, step);
}

static const struct td_method method = {"redist", expand};

void td_redist_compile(struct td_program *p)
{
    const struct td_array_move *m = &p->plan->stages->move[0];
    uint64_t here = m->from->there[p->slot];
    p->method = &method;
    td_array_move_add(p, m);
    if (here)
        td_program_need(p, TD_MOVE_SEND, TD_MOVE_SEND, here, here, -1);
}
