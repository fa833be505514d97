/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall_pairwise: one partner after the other. If the number of slots is a power of two, a node
 * exchanges in step s with slot (own XOR s). Otherwise it sends to own + s and receives from own -
 * s. The next step begins when both messages are complete; on the direct fabric, if they are long,
 * when those of the step before are. A message has the data from the ranks of
 * one run of this node to the ranks of one run of the partner. Every step has the greatest number
 * of messages that two nodes can have; some may be empty.
 *
 * Few nodes send to one receiver at the same time, so that no queue of a switch grows. Long
 * messages of the direct fabric go in this way. On a torus the links between the partners of one
 * step would be shared by many, and the others idle. */
#include "collectives/cost/alltoall_model.h"
#include "local_blocks.h"

enum { FAMILY_RECV, FAMILY_SEND, FAMILY_COPY };
struct TD_STORED parameters {
    uint64_t runs; /* greatest number of runs of a node */
};
TD_PARAMETERS(struct parameters)

/* partner_at returns the slot to which step s (from 1) sends, or from which it receives. */
static uint32_t partner_at(const struct td_program *p, uint64_t s, bool sends)
{
    uint64_t slots = p->group->slots;
    if ((slots & (slots - 1)) == 0)
        return (uint32_t)(p->slot ^ s);
    return (uint32_t)((p->slot + (sends ? s : slots - s)) % slots);
}

/* run_at returns run i of a slot, or NULL. */
static const struct td_run *run_at(const struct td_group *g, uint32_t slot, uint64_t i)
{
    uint64_t at = g->slot_run[slot] + i;
    return at < g->slot_run[slot + 1] ? &g->run[at] : NULL;
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    const struct td_group *g = p->group;
    uint64_t runs = parameters(p)->runs, place = index % (runs * runs);
    int64_t bytes = (int64_t)(p->call.count * td_type_bytes(p->call.type));
    *step = (struct td_step){.kind = p->family[family].kind};
    if (family == FAMILY_COPY) {
        td_alltoall_local(p, index, step);
        return;
    }
    bool sends = family == FAMILY_SEND;
    uint32_t other = partner_at(p, index / (runs * runs) + 1, sends);
    const struct td_run *from = run_at(g, sends ? p->slot : other, place / runs);
    const struct td_run *to = run_at(g, sends ? other : p->slot, place % runs);
    step->peer = g->node[other];
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (!from || !to)
        return;
    if (sends) {
        step->peer_family = FAMILY_RECV;
        step->peer_index = index;
        step->from = td_slice_at(TD_SPACE_SOURCE, from->local, to->first * bytes, bytes);
        td_slice_loop(&step->from, to->count, to->step * bytes, 0);
        td_slice_loop(&step->from, from->count, 0, 1);
        td_slice_simplify(&step->from);
    } else {
        step->to = td_slice_at(TD_SPACE_DESTINATION, to->local, from->first * bytes, bytes);
        td_slice_loop(&step->to, to->count, 0, 1);
        td_slice_loop(&step->to, from->count, from->step * bytes, 0);
        td_slice_simplify(&step->to);
    }
}

static bool applies(struct td_query *q)
{
    if (q->program->call.count == 0)
        return td_query_refuse(q, "no rank sends data to another rank");
    return q->program->group->slots > 1 || td_query_refuse(q, "all ranks are on one node");
}

static uint64_t cost(struct td_query *q)
{
    if (td_program_is_routed(q->program))
        return td_query_last(q,
                             "the links of a torus would be shared by many messages of one step");
    return td_alltoall_model_pairwise(q);
}

static void compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    const struct td_group *g = p->group;
    uint32_t runs = 1;
    for (uint32_t slot = 0; slot < g->slots; slot++)
        if (g->slot_run[slot + 1] - g->slot_run[slot] > runs)
            runs = g->slot_run[slot + 1] - g->slot_run[slot];
    uint64_t messages = (uint64_t)runs * runs;
    set(p)->runs = runs;
    td_program_add(p, TD_RECV, (g->slots - 1) * messages, "blocks from a partner");
    td_program_add(p, TD_SEND, (g->slots - 1) * messages, "blocks to one partner at a time");
    td_program_add(p, TD_COPY, td_alltoall_locals(p), "blocks of local ranks");
    /* messages of a packet and more overlap with those of the step before, so that the link is not
     * idle between them; two shorter ones would rather disturb each other */
    uint64_t ranks = td_ranks_most(p), longest = td_program_bytes(p) * ranks * ranks;
    bool overlap = !td_program_is_routed(p) && longest >= p->tuning.packet_bytes;
    int lead = overlap ? -1 : 0;
    td_program_need(p, FAMILY_SEND, FAMILY_RECV, messages, messages, lead);
    td_program_need(p, FAMILY_SEND, FAMILY_SEND, messages, messages, lead);
}

const struct td_method td_method_alltoall_pairwise = {
    .name = "alltoall_pairwise",
    .why = "a node exchanges with one partner after the other, so that few meet at one receiver",
    .kinds = TD_KIND_BIT(TD_KIND_ALLTOALL),
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_ALLTOALL,
    .values = TD_VALUE_BIT(TD_ALLTOALL_PAIRWISE),
    .applies = applies,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
