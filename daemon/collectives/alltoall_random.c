/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall_random: every node sends to the others in a random order of its own, so that at any time
 * the traffic is spread over all links (us8095585, figure 9). A message is what the ranks of one
 * run of this node have for the ranks of one run of another; with block or round-robin placement
 * there is one run a node, and so one message a pair of nodes. */
#include "collectives.h"

enum { FAMILY_RECV, FAMILY_SEND, FAMILY_COPY };

/* runs_here returns the node's own runs: [*first, *first + count). */
static uint32_t runs_of(const struct td_group *g, uint32_t slot, uint32_t *first)
{
    *first = g->slot_run[slot];
    return g->slot_run[slot + 1] - *first;
}

/* other_run returns run i among those of all other nodes. */
static const struct td_run *other_run(const struct td_program *p, uint64_t i)
{
    uint32_t first = 0, here = runs_of(p->group, p->slot, &first);
    return &p->group->run[i < first ? i : i + here];
}

static void expand(const struct td_program *p, unsigned family, uint64_t index,
                   struct td_step *step)
{
    const struct td_group *g = p->group;
    int64_t bytes = (int64_t)(p->call.count * td_type_bytes(p->call.type));
    uint32_t first = 0, here = runs_of(g, p->slot, &first);
    const struct td_run *own = &g->run[first + index % here];
    *step = (struct td_step){.kind = p->family[family].kind};
    if (family == FAMILY_SEND) {
        uint64_t others = g->runs - here;
        uint64_t seed = p->seed + 0x9e3779b97f4a7c15u * (p->slot + 1);
        const struct td_run *to = other_run(p, td_order_at(seed, others, index / here));
        uint32_t there_first = 0, there = runs_of(g, to->slot, &there_first);
        uint64_t me = (uint64_t)(own - g->run);
        step->peer = g->node[to->slot];
        step->peer_family = FAMILY_RECV;
        step->peer_index =
            (me < there_first ? me : me - there) * there + ((uint64_t)(to - g->run) - there_first);
        step->from = td_slice_at(TD_SPACE_SOURCE, own->local, to->first * bytes, bytes);
        td_slice_loop(&step->from, to->count, to->step * bytes, 0);
        td_slice_loop(&step->from, own->count, 0, 1);
        td_slice_simplify(&step->from);
    } else if (family == FAMILY_RECV) {
        const struct td_run *from = other_run(p, index / here);
        step->peer = g->node[from->slot];
        step->to = td_slice_at(TD_SPACE_DESTINATION, own->local, from->first * bytes, bytes);
        td_slice_loop(&step->to, own->count, 0, 1);
        td_slice_loop(&step->to, from->count, from->step * bytes, 0);
        td_slice_simplify(&step->to);
        step->to_lanes = (struct td_lanes){1, 0, 0};
    } else {
        uint32_t local = (uint32_t)(index / here);
        step->from = td_slice_at(TD_SPACE_SOURCE, own->local,
                                 td_group_rank(g, p->slot, local) * bytes, bytes);
        td_slice_loop(&step->from, own->count, 0, 1);
        td_slice_simplify(&step->from);
        step->to = td_slice_at(TD_SPACE_DESTINATION, local, own->first * bytes, bytes);
        td_slice_loop(&step->to, own->count, own->step * bytes, 0);
        td_slice_simplify(&step->to);
        step->to_lanes = (struct td_lanes){1, 0, 0};
    }
}

static const struct td_method method = {"alltoall_random", expand};

void td_alltoall_random_compile(struct td_program *p)
{
    uint32_t first = 0, here = runs_of(p->group, p->slot, &first);
    uint64_t others = p->group->runs - here;
    p->method = &method;
    td_program_add(p, TD_RECV, others * here, "blocks from the others");
    td_program_add(p, TD_SEND, others * here, "blocks to the others, in random order");
    td_program_add(p, TD_COPY, (uint64_t)td_ranks_here(p) * here, "blocks of local ranks");
}
