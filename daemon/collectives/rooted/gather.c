/* SPDX-License-Identifier: Apache-2.0 */
/* gather: gather, scatter and allgather of blocks that are too long for the gate; and the prefix,
 * for which all nodes gather the values and fold them. The data from, or to, the ranks of one run
 * of a node is one message to the node at the other end. With block or round-robin placement a node
 * has one run. */
#include "collectives/cost/bound.h"
#include "collectives/cost/straight.h"
#include "collectives/method.h"
#include "collectives/permutation.h"

enum { FAMILY_RECV, FAMILY_SEND, FAMILY_COPY, FAMILY_FOLD };

/* runs_of returns the number of runs of a slot, and writes the first to *first. */
static uint32_t runs_of(const struct td_group *g, uint32_t slot, uint32_t *first)
{
    *first = g->slot_run[slot];
    return g->slot_run[slot + 1] - *first;
}

/* other_run returns the index of run i of those that are not on `slot`; place_of is its inverse. */
static uint64_t other_run(const struct td_group *g, uint32_t slot, uint64_t i)
{
    uint32_t first = 0, there = runs_of(g, slot, &first);
    return i < first ? i : i + there;
}

static uint64_t place_of(const struct td_group *g, uint32_t slot, uint64_t run)
{
    uint32_t first = 0, there = runs_of(g, slot, &first);
    return run < first ? run : run - there;
}

/* blocks names the blocks of a run's ranks in a buffer with the blocks of all ranks. */
static struct td_slice blocks(const struct td_program *p, enum td_space space, uint32_t rank,
                              const struct td_run *run)
{
    int64_t bytes = (int64_t)(p->call.count * td_type_bytes(p->call.type));
    struct td_slice s = td_slice_at(space, rank, run->first * bytes, bytes);
    td_slice_loop(&s, run->count, run->step * bytes, 0);
    td_slice_simplify(&s);
    return s;
}

/* own names the blocks of a run's ranks in their own buffers. */
static struct td_slice own(const struct td_program *p, enum td_space space,
                           const struct td_run *run)
{
    struct td_slice s =
        td_slice_at(space, run->local, 0, (int64_t)(p->call.count * td_type_bytes(p->call.type)));
    td_slice_loop(&s, run->count, 0, 1);
    td_slice_simplify(&s);
    return s;
}

/* fold makes `step` the COMBINE of all positions for a local rank. */
static void fold(const struct td_program *p, uint64_t local, struct td_step *step)
{
    int64_t bytes = (int64_t)(p->call.count * td_type_bytes(p->call.type));
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0, 0, bytes);
    step->from_lanes = (struct td_lanes){p->group->size, bytes, 0};
    step->to = td_slice_at(TD_SPACE_DESTINATION, (uint32_t)local, 0, bytes);
    step->to_lanes = step->from_lanes;
    step->running = (struct td_running){TD_RUNNING_UP_TO, 0, 1};
}

/* struct end: the root of the call, or this node itself if all nodes are roots. */
struct end {
    uint32_t slot, local, ranks;
    enum td_space space; /* where the gathered blocks go */
};

static struct end end_of(const struct td_program *p)
{
    struct end e = {p->slot, 0, td_ranks_here(p), TD_SPACE_DESTINATION};
    if (p->call.kind == TD_KIND_PREFIX) {
        e.ranks = 1;
        e.space = TD_SPACE_SCRATCH;
    }
    if (td_call_rooted(p->call.kind)) {
        td_group_locate(p->group, p->call.root, &e.slot, &e.local);
        e.ranks = 1;
    }
    return e;
}

/* peer_at returns place i of the order in which an allgather visits the other slots. */
static uint32_t peer_at(const struct td_program *p, uint64_t i)
{
    uint64_t others = p->group->slots - 1;
    uint64_t seed = p->seed + 0x9e3779b97f4a7c15u * (p->slot + 1);
    return (uint32_t)((p->slot + 1 + td_permutation_at(seed, others, i)) % p->group->slots);
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    const struct td_group *g = p->group;
    struct end e = end_of(p);
    bool scatters = p->call.kind == TD_KIND_SCATTER;
    uint32_t first = 0, here = runs_of(g, p->slot, &first);
    const struct td_run *run = &g->run[first + index % here]; /* of this node */
    *step = (struct td_step){.kind = p->family[family].kind,
                             .type = p->call.type,
                             .op = p->call.op,
                             .to_lanes = {1, 0, 0}};
    if (family == FAMILY_FOLD) {
        fold(p, index, step);
    } else if (family == FAMILY_COPY) {
        step->from =
            scatters ? blocks(p, TD_SPACE_SOURCE, e.local, run) : own(p, TD_SPACE_SOURCE, run);
        step->to = scatters ? own(p, TD_SPACE_DESTINATION, run) : blocks(p, e.space, e.local, run);
        step->to_lanes = (struct td_lanes){scatters ? 1 : e.ranks, 0, 1};
    } else if (family == FAMILY_RECV && scatters) {
        step->peer = g->node[e.slot];
        step->to = own(p, TD_SPACE_DESTINATION, run);
    } else if (family == FAMILY_RECV) {
        const struct td_run *from = &g->run[other_run(g, p->slot, index)];
        step->peer = g->node[from->slot];
        step->to = blocks(p, e.space, e.local, from);
        step->to_lanes = (struct td_lanes){e.ranks, 0, 1};
    } else if (scatters) {
        const struct td_run *to = &g->run[other_run(g, p->slot, index)];
        step->peer = g->node[to->slot];
        step->peer_index = (uint64_t)(to - g->run) - g->slot_run[to->slot];
        step->from = blocks(p, TD_SPACE_SOURCE, e.local, to);
    } else {
        uint32_t to = td_call_rooted(p->call.kind) ? e.slot : peer_at(p, index / here);
        step->peer = g->node[to];
        step->peer_index = place_of(g, to, (uint64_t)(run - g->run));
        step->from = own(p, TD_SPACE_SOURCE, run);
    }
}

/* applies: for a prefix, every node stores all values. */
static bool applies(struct td_query *q)
{
    const struct td_program *p = q->program;
    if (p->call.kind == TD_KIND_ALLTOALL && p->call.count > 0)
        return td_query_refuse(q, "messages differ between ranks");
    if (p->call.kind != TD_KIND_PREFIX)
        return true;
    if (p->tuning.fabric != TD_FABRIC_ROUTED)
        return td_query_refuse(q, "the data does not travel on links of a torus");
    return td_program_bytes(p) * p->group->size <= p->tuning.relay_bytes ||
           td_query_refuse(q, "relays would need more memory than [alltoall] relay allows");
}

/* cost: if all nodes gather all values, the busiest link carries the load of an all-to-all. On the
 * direct fabric it is that of the root, or of any node of an allgather. */
static uint64_t cost(struct td_query *q)
{
    const struct td_program *p = q->program;
    if (p->call.kind == TD_KIND_ALLTOALL)
        return 0;
    if (p->call.kind != TD_KIND_PREFIX)
        return td_straight_cost(p, (p->group->slots - 1) * td_ranks_most(p) * td_program_bytes(p),
                                1);
    uint64_t load = td_alltoall_bound(&td_query_grid(q)->shape, 1) / 2;
    return td_cost_bytes(q->program, load * td_program_bytes(q->program));
}

static void compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    const struct td_group *g = p->group;
    struct end e = end_of(p);
    uint32_t first = 0, here = runs_of(g, p->slot, &first);
    uint64_t others = g->runs - here;
    bool root = e.slot == p->slot, scatters = p->call.kind == TD_KIND_SCATTER;
    bool all = !td_call_rooted(p->call.kind);
    uint64_t recv = scatters ? (root ? 0 : here) : root ? others : 0;
    uint64_t send = scatters ? (root ? others : 0) : root ? 0 : here;
    if (all)
        send = (uint64_t)(g->slots - 1) * here;
    td_program_add(p, TD_RECV, recv, scatters ? "blocks from the root" : "blocks of others");
    td_program_add(p, TD_SEND, send, scatters ? "blocks to their ranks" : "own blocks");
    td_program_add(p, TD_COPY, root ? here : 0, "blocks of local ranks");
    if (p->call.kind != TD_KIND_PREFIX)
        return;
    p->scratch_bytes = (int64_t)(p->call.count * td_type_bytes(p->call.type)) * g->size;
    td_program_add(p, TD_COMBINE, td_ranks_here(p), "all positions on this node");
    td_program_need_all(p, FAMILY_FOLD, FAMILY_RECV);
    td_program_need_all(p, FAMILY_FOLD, FAMILY_COPY);
}

const struct td_method td_method_gather = {
    .name = "gather",
    .why = "blocks go directly between nodes",
    .kinds = TD_KIND_BIT(TD_KIND_GATHER) | TD_KIND_BIT(TD_KIND_SCATTER) |
             TD_KIND_BIT(TD_KIND_ALLGATHER) | TD_KIND_BIT(TD_KIND_PREFIX) |
             TD_KIND_BIT(TD_KIND_ALLTOALL),
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_PREFIX,
    .values = TD_VALUE_BIT(TD_PREFIX_GATHER),
    .fallback = true,
    .applies = applies,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
