/* SPDX-License-Identifier: Apache-2.0 */
/* toy_bcast: the example of CONTRIBUTING.md. The root's node sends the whole buffer to each other
 * node, which is slow on more than a few nodes. */
#include "collectives/method.h"

enum { RECV, SEND, COPY_BELOW, COPY_ABOVE };

struct TD_STORED parameters {
    uint32_t root, local; /* the root's slot, and its local rank there */
};
TD_PARAMETERS(struct parameters)

static struct td_slice buffer(const struct td_program *p, enum td_space space, uint32_t rank)
{
    return td_slice_at(space, rank, 0, (int64_t)td_program_bytes(p));
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    uint32_t local = parameters(p)->local, root = parameters(p)->root, ranks = td_ranks_here(p);
    *step = (struct td_step){.kind = p->family[family].kind};
    switch (family) {
    case RECV:
        step->peer = p->group->node[root];
        step->to = buffer(p, TD_SPACE_DESTINATION, 0);
        step->to_lanes = (struct td_lanes){ranks, 0, 1};
        return;
    case SEND:
        step->peer = p->group->node[index < root ? index : index + 1];
        step->peer_family = RECV;
        step->from = buffer(p, TD_SPACE_SOURCE, local);
        return;
    default:
        step->from = buffer(p, TD_SPACE_SOURCE, local);
        step->to = buffer(p, TD_SPACE_DESTINATION, family == COPY_BELOW ? 0 : local + 1);
        step->to_lanes = (struct td_lanes){family == COPY_BELOW ? local : ranks - local - 1, 0, 1};
    }
}

static bool applies(struct td_query *q)
{
    return !td_program_is_routed(q->program) ||
           td_query_refuse(q, "on a torus the root's links would carry everything");
}

static uint64_t cost(struct td_query *q)
{
    return td_cost_bytes(q->program, q->program->group->slots);
}

static void compile(struct td_query *q, struct td_program *p)
{
    uint32_t root = 0, local = 0;
    (void)q;
    td_group_locate(p->group, p->call.root, &root, &local);
    set(p)->root = root;
    set(p)->local = local;
    bool at_root = p->slot == root;
    td_program_add(p, TD_RECV, at_root ? 0 : 1, "from the root");
    td_program_add(p, TD_SEND, at_root ? p->group->slots - 1 : 0, "to each other node");
    td_program_add(p, TD_COPY, at_root && local > 0, "to local ranks below");
    td_program_add(p, TD_COPY, at_root && local + 1 < td_ranks_here(p), "to local ranks above");
}

const struct td_method td_method_toy_bcast = {
    .name = "toy_bcast",
    .why = "the root sends the buffer to each node",
    .kinds = TD_KIND_BIT(TD_KIND_BROADCAST),
    .class = TD_COST_STRAIGHT,
    .applies = applies,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
