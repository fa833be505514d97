/* SPDX-License-Identifier: Apache-2.0 */
#include "local_blocks.h"

/* runs_of returns the number of runs of ranks on this node, and writes the first to *first. */
static uint32_t runs_of(const struct td_program *p, uint32_t *first)
{
    const uint32_t *run = &p->group->slot_run[p->slot];
    *first = run[0];
    return run[1] - run[0];
}

void td_alltoall_local(const struct td_program *p, uint64_t index, struct td_step *step)
{
    const struct td_group *g = p->group;
    int64_t bytes = (int64_t)td_program_bytes(p);
    uint32_t first = 0, here = runs_of(p, &first);
    const struct td_run *own = &g->run[first + index % here];
    uint32_t local = (uint32_t)(index / here);
    step->from =
        td_slice_at(TD_SPACE_SOURCE, own->local, td_group_rank(g, p->slot, local) * bytes, bytes);
    td_slice_loop(&step->from, own->count, 0, 1);
    td_slice_simplify(&step->from);
    step->to = td_slice_at(TD_SPACE_DESTINATION, local, own->first * bytes, bytes);
    td_slice_loop(&step->to, own->count, own->step * bytes, 0);
    td_slice_simplify(&step->to);
    step->to_lanes = (struct td_lanes){1, 0, 0};
}

uint64_t td_alltoall_locals(const struct td_program *p)
{
    uint32_t first = 0;
    return (uint64_t)td_ranks_here(p) * runs_of(p, &first);
}
