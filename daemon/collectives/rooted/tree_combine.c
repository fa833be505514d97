/* SPDX-License-Identifier: Apache-2.0 */
/* tree_combine: only the announcements and the release travel, and the payload travels with them:
 * one sweep up the combining tree and one down (us7752421). Calls that need each rank's values
 * separately (scans, gathers, and reductions whose bracketing must not depend on the placement of
 * ranks) gather them on the way up. Every node then has all values and computes its own results; of
 * an all-to-all in a star it has what its own ranks receive. */
#include "collectives/cost/constants.h"
#include "collectives/method.h"
#include "model/tree.h"

/* KINDS_OF_PROGRAMS: the kinds that never travel with the gate. */
#define KINDS_OF_PROGRAMS                                                                          \
    (TD_KIND_BIT(TD_KIND_FFT) | TD_KIND_BIT(TD_KIND_REDIST) | TD_KIND_BIT(TD_KIND_REDUCE_SCATTERV))

enum { STAR_ROOT = 0 }; /* slot of the root of a star, which is a heap tree (model/tree.h) */

/* copy_to makes `step` the COPY of the data at `place` of the ride to local ranks. */
static void copy_to(const struct td_program *p, struct td_step *step, uint32_t rank, uint32_t ranks)
{
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0, td_program_ride(p), p->ride_bytes);
    step->to = td_slice_at(TD_SPACE_DESTINATION, rank, 0, p->ride_bytes);
    step->to_lanes = (struct td_lanes){ranks, 0, 1};
}

/* distribute makes `step` the COPY of each local rank's share, for the ranks of a run. */
static void distribute(const struct td_program *p, struct td_step *step, const struct td_run *run)
{
    int64_t share = p->ride_bytes / p->group->size;
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0, td_program_ride(p) + run->first * share, share);
    td_slice_loop(&step->from, run->count, run->step * share, 0);
    step->to = td_slice_at(TD_SPACE_DESTINATION, run->local, 0, share);
    td_slice_loop(&step->to, run->count, 0, 1);
    step->to_lanes = (struct td_lanes){1, 0, 0};
}

/* pick makes `step` the COPY of the data from all ranks to a local one. */
static void pick(const struct td_program *p, struct td_step *step, uint32_t local)
{
    int64_t share = p->ride_bytes / p->group->size, block = share / p->group->size;
    int64_t at = td_group_rank(p->group, p->slot, local) * block;
    if (p->ride == TD_RIDE_BLOCKS && p->slot != STAR_ROOT) {
        step->from = td_slice_at(TD_SPACE_SCRATCH, 0, td_program_ride(p) + local * share, share);
    } else {
        step->from = td_slice_at(TD_SPACE_SCRATCH, 0, td_program_ride(p) + at, block);
        td_slice_loop(&step->from, p->group->size, share, 0);
    }
    step->to = td_slice_at(TD_SPACE_DESTINATION, local, 0, share);
    step->to_lanes = (struct td_lanes){1, 0, 0};
}

/* fold makes `step` the COMBINE of all ranks' values, `bytes` of each rank's share from `at` on. */
static void fold(const struct td_program *p, struct td_step *step, int64_t at, int64_t bytes)
{
    int64_t share = p->ride_bytes / p->group->size;
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0, td_program_ride(p) + at, bytes);
    step->from_lanes = (struct td_lanes){p->group->size, share, 0};
    step->to = td_slice_at(TD_SPACE_DESTINATION, 0, 0, bytes);
}

/* scan makes `step` the COMBINE of the results of a run's ranks. */
static void scan(const struct td_program *p, struct td_step *step, const struct td_run *run)
{
    fold(p, step, 0, p->ride_bytes / p->group->size);
    step->from_lanes.count = run->first + (run->count - 1) * run->step + 1;
    step->running = (struct td_running){.kind = p->call.kind == TD_KIND_SCAN ? TD_RUNNING_UP_TO
                                                                             : TD_RUNNING_BEFORE,
                                        .first = run->first,
                                        .step = run->step};
    step->to.rank = run->local;
    step->to_lanes = (struct td_lanes){run->count, 0, 1};
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    const struct td_group *g = p->group;
    uint32_t ranks = td_ranks_here(p), slot = 0, local = 0;
    int64_t share = p->ride_bytes / g->size;
    *step =
        (struct td_step){.kind = p->family[family].kind, .type = p->call.type, .op = p->call.op};
    bool rooted = td_call_rooted(p->call.kind);
    if (rooted)
        td_group_locate(g, p->call.root, &slot, &local);
    switch (p->call.kind) {
    case TD_KIND_GATHER:
    case TD_KIND_ALLGATHER:
        copy_to(p, step, local, rooted ? 1 : ranks);
        return;
    case TD_KIND_SCATTER:
        distribute(p, step, &g->run[g->slot_run[p->slot] + index]);
        return;
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
        scan(p, step, &g->run[g->slot_run[p->slot] + index]);
        return;
    case TD_KIND_ALLTOALL:
        pick(p, step, (uint32_t)index);
        return;
    case TD_KIND_PREFIX:
        fold(p, step, 0, share);
        step->running = (struct td_running){TD_RUNNING_UP_TO, 0, 1};
        step->to.rank = (uint32_t)index;
        step->to_lanes = (struct td_lanes){g->size, share, 0};
        return;
    case TD_KIND_REDUCE_SCATTER:
        if (p->ride == TD_RIDE_COMBINE) {
            distribute(p, step, &g->run[g->slot_run[p->slot] + index]);
            return;
        }
        fold(p, step, td_group_rank(g, p->slot, (uint32_t)index) * (share / g->size),
             share / g->size);
        step->to.rank = (uint32_t)index;
        step->to_lanes = (struct td_lanes){1, 0, 0};
        return;
    default: /* reduce, allreduce */
        if (p->ride == TD_RIDE_COMBINE) {
            copy_to(p, step, local, 1);
            return;
        }
        fold(p, step, 0, share);
        step->to.rank = local;
        step->to_lanes = (struct td_lanes){rooted ? 1 : ranks, 0, 1};
        return;
    }
}

/* struct ride: the form of a call's payload, and the steps after the release. */
struct ride {
    enum td_ride ride;
    uint64_t bytes;
    bool stays;
    enum td_step_kind step;
    uint64_t steps; /* on this node */
};

static struct ride ride_of(const struct td_program *p)
{
    const struct td_group *g = p->group;
    uint64_t bytes = p->call.count * td_type_bytes(p->call.type), all = bytes * g->size;
    uint32_t runs = g->slot_run[p->slot + 1] - g->slot_run[p->slot], slot = 0, local = 0;
    bool any = p->call.mode == TD_REPRODUCIBLE_ANY;
    if (td_call_rooted(p->call.kind))
        td_group_locate(g, p->call.root, &slot, &local);
    uint64_t at_root = slot == p->slot;
    switch (p->call.kind) {
    case TD_KIND_BROADCAST:
        return (struct ride){TD_RIDE_ROOT, bytes, false, TD_COPY, 0};
    case TD_KIND_ALLREDUCE:
        return any ? (struct ride){TD_RIDE_GATHER, all, true, TD_COMBINE, 1}
                   : (struct ride){TD_RIDE_COMBINE, bytes, false, TD_COPY, 0};
    case TD_KIND_REDUCE:
        return any ? (struct ride){TD_RIDE_GATHER, all, true, TD_COMBINE, at_root}
                   : (struct ride){TD_RIDE_COMBINE, bytes, true, TD_COPY, at_root};
    case TD_KIND_REDUCE_SCATTER:
        return any ? (struct ride){TD_RIDE_GATHER, all * g->size, true, TD_COMBINE,
                                   td_ranks_here(p)}
                   : (struct ride){TD_RIDE_COMBINE, all, true, TD_COPY, runs};
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
        return (struct ride){TD_RIDE_GATHER, all, true, TD_COMBINE, runs};
    case TD_KIND_ALLTOALL:
        return (struct ride){TD_RIDE_GATHER, all * g->size, true, TD_COPY, td_ranks_here(p)};
    case TD_KIND_PREFIX:
        return (struct ride){TD_RIDE_GATHER, all, true, TD_COMBINE, td_ranks_here(p)};
    case TD_KIND_GATHER:
        return (struct ride){TD_RIDE_GATHER, all, true, TD_COPY, at_root};
    case TD_KIND_ALLGATHER:
        return (struct ride){TD_RIDE_GATHER, all, true, TD_COPY, 1};
    case TD_KIND_SCATTER:
        return (struct ride){TD_RIDE_ROOT, all, true, TD_COPY, runs};
    default:
        return (struct ride){TD_RIDE_EMPTY, 0, false, TD_COPY, 0};
    }
}

/* scattered returns true if some node has its ranks in so many runs that gathering them takes too
 * many computations at a time. */
static bool scattered(const struct td_group *g)
{
    enum { RUNS_MAX = 32 };
    for (uint32_t slot = 0; slot < g->slots; slot++)
        if (g->slot_run[slot + 1] - g->slot_run[slot] > RUNS_MAX)
            return true;
    return false;
}

/* is_star returns true if a node announces the shares of its own ranks only: the nodes below the
 * root have no children. */
static bool is_star(const struct td_program *p)
{
    return p->tuning.fabric == TD_FABRIC_DIRECT && p->tuning.ride_bytes > 0 &&
           p->group->slots > 1 && p->group->slots <= TD_TREE_ARITY + 1;
}

/* in_runs returns true if the ranks of each node are one run. */
static bool in_runs(const struct td_group *g)
{
    return g->runs == g->slots;
}

/* tree_ride returns the form of the payload on the tree. */
static struct ride tree_ride(const struct td_program *p)
{
    struct ride r = ride_of(p);
    if (r.ride == TD_RIDE_GATHER && is_star(p))
        r.ride =
            p->call.kind == TD_KIND_ALLTOALL && in_runs(p->group) ? TD_RIDE_BLOCKS : TD_RIDE_SHARES;
    return r;
}

/* longest returns the bytes of the longest message of the ride. */
static uint64_t longest(const struct td_program *p, const struct ride *r)
{
    return r->ride == TD_RIDE_BLOCKS ? r->bytes / p->group->size * td_ranks_most(p) : r->bytes;
}

/* at_root returns the bytes of the ride that the link of the tree's root carries each way. */
static uint64_t at_root(const struct td_program *p, const struct ride *r)
{
    uint32_t others = p->group->slots - 1;
    return (others < TD_TREE_ARITY ? others : TD_TREE_ARITY) * longest(p, r);
}

/* may_be_long returns true if more than RIDE_BYTES_MAX may travel. Without it, the call would pass
 * an empty gate and then take two messages of a node at least, one in and one out. So the payload
 * keeps the root's link for no longer than these. */
static bool may_be_long(struct td_query *q, const struct ride *r)
{
    const struct td_program *p = q->program;
    const struct td_tuning *t = &p->tuning;
    if (t->fabric != TD_FABRIC_DIRECT || t->ride_bytes == 0 || p->group->slots == 1)
        return td_query_refuse(q, "more than 2 KiB would travel with the gate");
    if (longest(p, r) > t->ride_bytes)
        return td_query_refuse(q, "a message of the gate would carry more than 16 KiB");
    return at_root(p, r) <= 2 * t->message_bytes ||
           td_query_refuse(q, "it would keep the link of the gate's root for longer than two "
                              "messages");
}

/* may_ride returns true if the settings allow the call to travel with the gate. On the direct
 * fabric a short all-to-all does, because a message to every node takes longer. On the routed
 * fabric it never does, and on one node no data needs to travel. */
static bool may_ride(struct td_query *q)
{
    const struct td_program *p = q->program;
    if (q->asked)
        return td_query_refuse(q, "another method was requested");
    if (p->call.kind != TD_KIND_ALLTOALL || p->call.count == 0)
        return true;
    if (p->group->slots == 1)
        return td_query_refuse(q, "all ranks are on one node");
    return p->tuning.fabric == TD_FABRIC_DIRECT ||
           td_query_refuse(q, "an all-to-all does not travel with the gate on the routed fabric");
}

/* surveys returns true if an all-to-all whose counts differ must know all sizes first. Direct
 * messages of the direct fabric need no survey: both ends of a unit know its size. */
static bool surveys(const struct td_query *q)
{
    const struct td_tuning *t = &q->program->tuning;
    bool straight = t->alltoall == TD_ALLTOALL_AUTO || t->alltoall == TD_ALLTOALL_RANDOM ||
                    t->alltoall == TD_ALLTOALL_PAIRWISE;
    return !q->surveyed && q->program->group->slots > 1 &&
           !(straight && t->fabric != TD_FABRIC_ROUTED);
}

static bool tree_applies(struct td_query *q)
{
    const struct td_program *p = q->program;
    if (p->counts || p->units)
        return surveys(q) || td_query_refuse(q, "only sizes travel with the gate");
    if (!may_ride(q))
        return false;
    struct ride r = tree_ride(p);
    if (r.bytes > TD_RIDE_BYTES_MAX && !may_be_long(q, &r))
        return false;
    return !td_ride_gathers(r.ride) || !scattered(p->group) ||
           td_query_refuse(q, "ranks of a node are in too many runs to be gathered");
}

/* tree_cost: one sweep up the tree and one down. */
static uint64_t tree_cost(struct td_query *q)
{
    const struct td_program *p = q->program;
    uint64_t hops = 2 * (uint64_t)(p->tree ? p->tree->hops : p->group->slots);
    struct ride r = tree_ride(p);
    uint64_t data = r.bytes > TD_RIDE_BYTES_MAX ? 2 * at_root(p, &r) : 0;
    return td_cost_bytes(p, hops * TD_COST_CONTROL_BYTES + data);
}

static void tree_compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    struct ride r = tree_ride(p);
    p->survey_pending = p->counts != NULL;
    p->ride = r.bytes ? r.ride : TD_RIDE_EMPTY;
    p->ride_bytes = (int64_t)r.bytes;
    p->ride_stays = r.stays && r.bytes;
    if (p->ride_stays)
        td_program_add(p, r.step, r.steps, "compute results on this node");
}

const struct td_method td_method_tree_combine = {
    .name = "tree_combine",
    .why = "it is short enough to travel with the gate",
    .kinds = ~KINDS_OF_PROGRAMS,
    .class = TD_COST_GATE,
    .applies = tree_applies,
    .cost = tree_cost,
    .compile = tree_compile,
    .step_at = step_at,
};
