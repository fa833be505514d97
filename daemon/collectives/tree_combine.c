/* SPDX-License-Identifier: Apache-2.0 */
/* tree_combine: nothing moves but the arrival and the release, and the payload rides on them: one
 * sweep up the combining tree and one down (us7752421). */
#include "collectives.h"

static void expand(const struct td_program *p, unsigned family, uint64_t index,
                   struct td_step *step)
{
    (void)p;
    (void)family;
    (void)index;
    *step = (struct td_step){0}; /* there are no families */
}

static const struct td_method method = {"tree_combine", expand};

void td_tree_combine_compile(struct td_program *p)
{
    p->method = &method;
    p->ride = TD_RIDE_EMPTY;
    p->ride_bytes = (int64_t)(p->call.count * td_type_bytes(p->call.type));
    if (p->ride_bytes == 0)
        return;
    if (p->call.kind == TD_KIND_ALLREDUCE)
        p->ride = TD_RIDE_COMBINE;
    else if (p->call.kind == TD_KIND_BROADCAST)
        p->ride = TD_RIDE_ROOT;
    else
        p->ride_bytes = 0;
}
