/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_counts: reduce_scatter in which ranks receive shares of different length. Each node sends
 * the others the data that their ranks fold. It stores the rows of all ranks in rank order; a row
 * has the shares of the local ranks, one after the other. */
#include "collectives/method.h"
#include "model/counts.h"

enum { RECV, SEND, COPY, COMBINE };
struct TD_STORED parameters {
    int64_t row, runs; /* bytes of a rank's row; greatest number of runs of a node */
};
TD_PARAMETERS(struct parameters)

static const struct td_run *run_at(const struct td_group *g, uint32_t slot, uint64_t i)
{
    uint64_t at = g->slot_run[slot] + i;
    return at < g->slot_run[slot + 1] ? &g->run[at] : NULL;
}

/* sent names the data from the ranks of a local run to a slot: the rows of these senders in the
 * unit. */
static struct td_slice sent(const struct td_program *p, const struct td_run *from, uint32_t slot)
{
    uint64_t row = td_counts_unit(p->counts, false, slot) / td_ranks_here(p);
    return td_counts_slice(p->counts, false, slot, from->local * row, from->count * row);
}

static struct td_slice rows(const struct td_program *p, const struct td_run *from)
{
    int64_t row = parameters(p)->row;
    struct td_slice s = td_slice_at(TD_SPACE_SCRATCH, 0, from->first * row, row);
    td_slice_loop(&s, from->count, from->step * row, 0);
    td_slice_simplify(&s);
    return s;
}

/* share returns the share of a local rank; it is the same from every rank, so the first is
 * examined. */
static struct td_part share(const struct td_program *p, uint32_t local)
{
    return p->counts->part[((size_t)p->counts->ranks + local) * p->group->size];
}

static void combine_step(const struct td_program *p, uint64_t local, struct td_step *step)
{
    struct td_part own = share(p, (uint32_t)local);
    int64_t at = 0;
    for (uint32_t i = 0; i < local; i++)
        at += (int64_t)share(p, i).bytes;
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0, at, (int64_t)own.bytes);
    step->from_lanes = (struct td_lanes){p->group->size, parameters(p)->row, 0};
    step->to =
        td_slice_at(TD_SPACE_DESTINATION, (uint32_t)local, (int64_t)own.at, (int64_t)own.bytes);
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    const struct td_group *g = p->group;
    uint64_t runs = (uint64_t)parameters(p)->runs;
    uint32_t peer = (uint32_t)((p->slot + 1 + index / runs) % g->slots);
    const struct td_run *run = NULL;
    *step = (struct td_step){.kind = p->family[family].kind,
                             .type = p->call.type,
                             .op = p->call.op,
                             .to_lanes = {1, 0, 0}};
    switch (family) {
    case SEND:
        step->peer = g->node[peer];
        step->peer_index = (p->slot + g->slots - peer - 1) % g->slots * runs + index % runs;
        if ((run = run_at(g, p->slot, index % runs)))
            step->from = sent(p, run, peer);
        return;
    case RECV:
        step->peer = g->node[peer];
        if ((run = run_at(g, peer, index % runs)))
            step->to = rows(p, run);
        return;
    case COPY:
        run = run_at(g, p->slot, index);
        step->from = sent(p, run, p->slot);
        step->to = rows(p, run);
        return;
    default:
        combine_step(p, index, step);
    }
}

static void compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    const struct td_group *g = p->group;
    uint64_t peers = g->slots - 1, runs = 1;
    for (uint32_t slot = 0; slot < g->slots; slot++)
        if (g->slot_run[slot + 1] - g->slot_run[slot] > runs)
            runs = g->slot_run[slot + 1] - g->slot_run[slot];
    int64_t row = 0;
    for (uint32_t i = 0; i < td_ranks_here(p); i++)
        row += (int64_t)share(p, i).bytes;
    set(p)->row = row;
    set(p)->runs = (int64_t)runs;
    p->scratch_bytes = row * g->size;
    td_program_add(p, TD_RECV, peers * runs, "shares to fold");
    td_program_add(p, TD_SEND, peers * runs, "shares to their nodes");
    td_program_add(p, TD_COPY, g->slot_run[p->slot + 1] - g->slot_run[p->slot],
                   "shares of local ranks");
    td_program_add(p, TD_COMBINE, td_ranks_here(p), "fold in rank order");
    td_program_need_all(p, COMBINE, RECV);
    td_program_need_all(p, COMBINE, COPY);
}

const struct td_method td_method_reduce_counts = {
    .name = "reduce_counts",
    .why = "each node folds the shares of its ranks",
    .kinds = TD_KIND_BIT(TD_KIND_REDUCE_SCATTERV),
    .class = TD_COST_STRAIGHT,
    .compile = compile,
    .step_at = step_at,
};
