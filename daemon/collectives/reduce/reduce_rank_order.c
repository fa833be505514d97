/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_rank_order: reductions that need the values of all ranks in rank order: scans and
 * prefixes, reduce_scatter, and any reduction whose bits must not depend on the placement of ranks.
 *
 * The vector is cut into blocks, and each block into one segment per node (for reduce_scatter: a
 * piece of each share of the node's ranks). Every node sends its ranks' segments to the nodes of
 * these segments, which store them in rank order. A node folds its segments from the first rank to
 * the last and sends the results to the nodes that need them. So the work is distributed like an
 * all-to-all of the vectors, and the bracketing is always (((r0 + r1) + r2) + ...).
 *
 * Two blocks are in progress at a time. Scratch memory has rows for two; a row is the data of one
 * rank for this node's segment of one block. Results replace the values that they are made of. FREE
 * is a barrier after which all nodes may send the block after the next. */
#include "collectives/method.h"
#include "collectives/cost/scan_cost.h"
#include "collectives/cost/straight.h"

#include <assert.h>

enum { AHEAD = 2, ROWS_BYTES = 1 << 22, ROW_MIN = 1024 };
enum { RECV, RESULT_RECV, COPY, SEND, COMBINE, RESULT_COPY, RESULT_SEND, FREE };
struct TD_STORED parameters {
    int64_t element; /* bytes */
    int64_t blocks;
    int64_t piece; /* greatest number of elements of a segment, or of a share's piece */
    int64_t row;   /* bytes */
    int64_t runs;  /* greatest number of runs of a node */
};
TD_PARAMETERS(struct parameters)

static bool scatters(const struct td_program *p)
{
    return p->call.kind == TD_KIND_REDUCE_SCATTER;
}

/* shares returns the number of results of a fold on a slot: one per segment, or one per rank there.
 */
static uint32_t shares(const struct td_program *p, uint32_t slot)
{
    return scatters(p) ? td_group_slot_ranks(p->group, slot) : 1;
}

/* segment returns the elements of a block that a slot folds (for reduce_scatter: of every share).
 */
static struct td_range segment(const struct td_program *p, uint64_t block, uint32_t slot)
{
    uint64_t piece = (uint64_t)parameters(p)->piece, slots = scatters(p) ? 1 : p->group->slots;
    uint64_t per_block = piece * slots, begin = block * per_block, left = p->call.count - begin;
    struct td_range r = td_block(left < per_block ? left : per_block, slots, slots == 1 ? 0 : slot);
    r.begin += begin;
    return r;
}

static const struct td_run *runs_of(const struct td_group *g, uint32_t slot, uint32_t *count)
{
    *count = g->slot_run[slot + 1] - g->slot_run[slot];
    return &g->run[g->slot_run[slot]];
}

/* bytes_at names elements of a vector. */
static struct td_slice bytes_at(const struct td_program *p, enum td_space space, uint32_t rank,
                                struct td_range r)
{
    int64_t element = parameters(p)->element;
    return td_slice_at(space, rank, (int64_t)r.begin * element, (int64_t)r.count * element);
}

/* sent names the data from the ranks of a local run to the fold of a slot: [rank][share][bytes]. A
 * share belongs to a rank of a run there. Several runs cannot be one slice, so each is a message.
 */
static struct td_slice sent(const struct td_program *p, uint64_t block, const struct td_run *from,
                            uint32_t slot, const struct td_run *to)
{
    struct td_slice s = bytes_at(p, TD_SPACE_SOURCE, from->local, segment(p, block, slot));
    int64_t share = (int64_t)p->call.count * parameters(p)->element;
    td_slice_loop(&s, from->count, 0, 1);
    if (scatters(p)) {
        s.offset += to->first * share;
        td_slice_loop(&s, to->count, to->step * share, 0);
    }
    td_slice_simplify(&s);
    return s;
}

/* rows names the place of that data here: [rank of the group][share][piece]. */
static struct td_slice rows(const struct td_program *p, uint64_t block, const struct td_run *from,
                            const struct td_run *own)
{
    int64_t row = parameters(p)->row, element = parameters(p)->element;
    int64_t bytes = (int64_t)segment(p, block, p->slot).count * element;
    int64_t area = (int64_t)(block % AHEAD) * p->group->size * row;
    struct td_slice s = td_slice_at(TD_SPACE_SCRATCH, 0, area + from->first * row, bytes);
    td_slice_loop(&s, from->count, from->step * row, 0);
    if (scatters(p)) {
        s.offset += own->local * parameters(p)->piece * element;
        td_slice_loop(&s, own->count, parameters(p)->piece * element, 0);
    }
    td_slice_simplify(&s);
    return s;
}

/* ---- results ---- */

static bool running(const struct td_program *p)
{
    return p->call.kind == TD_KIND_SCAN || p->call.kind == TD_KIND_EXSCAN;
}

/* result names the results of a local fold for the ranks of a run: their rows, the row of rank 0,
 * or all rows. */
static struct td_slice result(const struct td_program *p, uint64_t block, const struct td_run *to)
{
    int64_t row = parameters(p)->row;
    int64_t bytes = (int64_t)segment(p, block, p->slot).count * parameters(p)->element;
    int64_t area = (int64_t)(block % AHEAD) * p->group->size * row;
    struct td_slice s = td_slice_at(TD_SPACE_SCRATCH, 0, area, bytes);
    if (running(p)) {
        s.offset += to->first * row;
        td_slice_loop(&s, to->count, to->step * row, 0);
    } else if (p->call.kind == TD_KIND_PREFIX) {
        td_slice_loop(&s, p->group->size, row, 0);
    }
    td_slice_simplify(&s);
    return s;
}

/* put names the place of a slot's results in the destinations of a local run. */
static void put(const struct td_program *p, uint64_t block, uint32_t slot, const struct td_run *run,
                struct td_step *step)
{
    uint32_t root_slot = 0, local = 0;
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (p->call.kind == TD_KIND_REDUCE)
        td_group_locate(p->group, p->call.root, &root_slot, &local);
    step->to = bytes_at(p, TD_SPACE_DESTINATION, local, segment(p, block, slot));
    if (running(p)) {
        step->to.rank = run->local;
        td_slice_loop(&step->to, run->count, 0, 1);
        td_slice_simplify(&step->to);
        return;
    }
    if (p->call.kind == TD_KIND_PREFIX)
        td_slice_loop(&step->to, p->group->size, (int64_t)p->call.count * parameters(p)->element,
                      0);
    if (p->call.kind != TD_KIND_REDUCE)
        step->to_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
}

/* is_sent returns true if results go to a run of another node. Results for all ranks of a node go
 * once. */
static bool is_sent(const struct td_program *p, uint32_t slot, uint64_t run)
{
    uint32_t root = 0, local = 0;
    if (p->call.kind == TD_KIND_REDUCE)
        td_group_locate(p->group, p->call.root, &root, &local);
    return (running(p) || run == 0) && (p->call.kind != TD_KIND_REDUCE || slot == root);
}

/* ---- steps ---- */

/* struct exchange: a message of a block, as both ends number it: [block][peer][run here and there].
 */
struct exchange {
    uint64_t block;
    uint32_t peer;                  /* slot */
    const struct td_run *from, *to; /* NULL: the node has no such run */
    uint64_t peer_index, to_run;
};

/* exchange_at decodes step `index` of a family that sends or receives. Peers are visited from the
 * successor on, so that not all nodes send to one. */
static struct exchange exchange_at(const struct td_program *p, uint64_t index, bool sends)
{
    const struct td_group *g = p->group;
    uint64_t most = (uint64_t)parameters(p)->runs, peers = g->slots - 1,
             pair = index % (most * most);
    uint64_t j = index / (most * most) % peers;
    struct exchange e = {.block = index / (most * most) / peers};
    e.peer = (uint32_t)((p->slot + 1 + j) % g->slots);
    uint64_t back = (p->slot + g->slots - e.peer - 1) % g->slots;
    e.peer_index = (e.block * peers + back) * most * most + pair;
    uint32_t there = 0, here = 0;
    const struct td_run *theirs = runs_of(g, e.peer, &there), *own = runs_of(g, p->slot, &here);
    uint64_t from = pair / most, to = pair % most;
    e.to_run = to;
    e.from = from < (sends ? here : there) ? (sends ? own : theirs) + from : NULL;
    e.to = to < (sends ? there : here) ? (sends ? theirs : own) + to : NULL;
    return e;
}

static void result_step(const struct td_program *p, unsigned family, uint64_t index,
                        struct td_step *step)
{
    const struct td_group *g = p->group;
    bool sends = family == RESULT_SEND;
    struct exchange e = exchange_at(p, index, sends);
    step->peer = g->node[e.peer];
    step->peer_family = RESULT_RECV;
    step->peer_index = e.peer_index;
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (index % (uint64_t)(parameters(p)->runs * parameters(p)->runs) >=
            (uint64_t)parameters(p)->runs || /* one for each run of the receiver */
        !e.to ||
        !is_sent(p, sends ? e.peer : p->slot, e.to_run))
        return;
    if (sends)
        step->from = result(p, e.block, e.to);
    else
        put(p, e.block, e.peer, e.to, step);
}

static void data_step(const struct td_program *p, unsigned family, uint64_t index,
                      struct td_step *step)
{
    struct exchange e = exchange_at(p, index, family == SEND);
    step->peer = p->group->node[e.peer];
    step->peer_family = RECV;
    step->peer_index = e.peer_index;
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (!e.from || !e.to || (!scatters(p) && e.to_run > 0))
        return;
    if (family == SEND)
        step->from = sent(p, e.block, e.from, e.peer, e.to);
    else
        step->to = rows(p, e.block, e.from, e.to);
}

/* combine_step folds share `index % shares` of a block. */
static void combine_step(const struct td_program *p, uint64_t index, struct td_step *step)
{
    uint32_t parts = shares(p, p->slot);
    uint64_t block = index / parts, share = index % parts;
    int64_t row = parameters(p)->row, element = parameters(p)->element;
    struct td_range own = segment(p, block, p->slot);
    int64_t at = (int64_t)(block % AHEAD) * p->group->size * row +
                 (int64_t)share * parameters(p)->piece * element;
    step->from = td_slice_at(TD_SPACE_SCRATCH, 0, at, (int64_t)own.count * element);
    step->from_lanes = (struct td_lanes){p->group->size, row, 0};
    step->to = step->from;
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (scatters(p)) {
        step->to = bytes_at(p, TD_SPACE_DESTINATION, (uint32_t)share, own);
    } else if (running(p) || p->call.kind == TD_KIND_PREFIX) {
        step->to_lanes = step->from_lanes;
        step->running = (struct td_running){
            p->call.kind == TD_KIND_EXSCAN ? TD_RUNNING_BEFORE : TD_RUNNING_UP_TO, 0, 1};
    }
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    uint64_t runs = (uint64_t)parameters(p)->runs;
    uint32_t here = 0;
    const struct td_run *own = runs_of(p->group, p->slot, &here);
    *step =
        (struct td_step){.kind = p->family[family].kind, .type = p->call.type, .op = p->call.op};
    uint64_t from = index / runs % runs, to = index % runs;
    switch (family) {
    case RECV:
    case SEND:
        data_step(p, family, index, step);
        return;
    case RESULT_RECV:
    case RESULT_SEND:
        result_step(p, family, index, step);
        return;
    case COPY:
        step->to_lanes = (struct td_lanes){1, 0, 0};
        if (from >= here || to >= here || (!scatters(p) && to > 0))
            return;
        step->from = sent(p, index / runs / runs, own + from, p->slot, own + to);
        step->to = rows(p, index / runs / runs, own + from, own + to);
        return;
    case COMBINE:
        combine_step(p, index, step);
        return;
    case FREE:
        step->among = (struct td_among){0, p->group->slots, 1};
        return;
    default: /* RESULT_COPY */
        step->to_lanes = (struct td_lanes){1, 0, 0};
        if (to >= here || !is_sent(p, p->slot, to))
            return;
        step->from = result(p, index / runs, own + to);
        put(p, index / runs, p->slot, own + to, step);
        return;
    }
}

static void plan(struct td_program *p)
{
    const struct td_group *g = p->group;
    uint64_t element = td_type_bytes(p->call.type), ranks = 1, runs = 1;
    for (uint32_t slot = 0; slot < g->slots; slot++) {
        uint64_t there = td_group_slot_ranks(g, slot);
        uint64_t runs_there = g->slot_run[slot + 1] - g->slot_run[slot];
        ranks = there > ranks ? there : ranks;
        runs = runs_there > runs ? runs_there : runs;
    }
    assert(ranks > 0 && g->slots > 0);
    uint64_t per_row = scatters(p) ? ranks : 1, bytes = ROWS_BYTES / (per_row * g->size);
    uint64_t piece = (bytes > ROW_MIN ? bytes : ROW_MIN) / element;
    uint64_t owners = scatters(p) ? 1 : g->slots, whole = (p->call.count + owners - 1) / owners;
    piece = piece < whole ? piece : whole > 0 ? whole : 1; /* an empty call has no blocks */
    set(p)->element = (int64_t)element;
    set(p)->piece = (int64_t)piece;
    set(p)->runs = (int64_t)runs;
    set(p)->row = ((int64_t)(per_row * piece * element) + 15) & ~(int64_t)15;
    set(p)->blocks = (int64_t)((p->call.count + piece * owners - 1) / (piece * owners));
    p->scratch_bytes = AHEAD * (int64_t)g->size * parameters(p)->row;
}

/* straight_cost: on the direct fabric a node receives the values of its segment, or of its ranks,
 * from all others; the root of a reduction also receives the results. */
static uint64_t straight_cost(const struct td_program *p)
{
    uint64_t slots = p->group->slots, most = td_ranks_most(p);
    uint64_t values = (slots - 1) * most * td_program_bytes(p);
    if (p->call.kind == TD_KIND_REDUCE_SCATTER)
        return td_straight_cost(p, values * most, 1);
    return td_straight_cost(p, (values + (slots - 1) * td_program_bytes(p)) / slots, 2);
}

/* cost: for a scan, two exchanges in which every node folds a segment of all vectors. */
static uint64_t cost(struct td_query *q)
{
    unsigned kind = q->program->call.kind;
    if (kind == TD_KIND_ALLREDUCE && !td_program_brackets_any(q->program))
        return td_query_last(q, "the call allows any bracketing, and partial sums are shorter");
    if (kind == TD_KIND_REDUCE || kind == TD_KIND_REDUCE_SCATTER) {
        uint64_t straight = straight_cost(q->program);
        return straight ? straight : TD_COST_UNKNOWN;
    }
    return running(q->program) && td_scan_is_predicted(q) ? td_scan_exchanges_cost(q)
                                                          : TD_COST_UNKNOWN;
}

static void compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    plan(p);
    uint64_t blocks = (uint64_t)parameters(p)->blocks, peers = p->group->slots - 1;
    uint64_t pairs = (uint64_t)(parameters(p)->runs * parameters(p)->runs),
             parts = shares(p, p->slot);
    uint64_t messages = peers * pairs, runs = (uint64_t)parameters(p)->runs;
    uint64_t results = scatters(p) ? 0 : blocks * messages;
    td_program_add(p, TD_RECV, blocks * messages, "segments to fold");
    td_program_add(p, TD_RECV, results, "results");
    td_program_add(p, TD_COPY, blocks * pairs, "segments of local ranks");
    td_program_add(p, TD_SEND, blocks * messages, "segments to their nodes");
    td_program_add(p, TD_COMBINE, blocks * parts, "fold in rank order");
    td_program_add(p, TD_COPY, scatters(p) ? 0 : blocks * runs, "results to local ranks");
    td_program_add(p, TD_SEND, results, "results to their nodes");
    uint64_t ahead = blocks > AHEAD ? blocks - AHEAD : 0;
    td_program_add(p, TD_SYNC, ahead, "barrier before rows are reused");
    td_program_need(p, COMBINE, RECV, parts, messages, 1);
    td_program_need(p, COMBINE, COPY, parts, pairs, 1);
    td_program_need(p, RESULT_COPY, COMBINE, runs, parts, 1);
    td_program_need(p, RESULT_SEND, COMBINE, messages, parts, 1);
    if (scatters(p)) {
        td_program_need(p, FREE, COMBINE, 1, parts, 1);
    } else {
        td_program_need(p, FREE, RESULT_COPY, 1, runs, 1);
        td_program_need(p, FREE, RESULT_SEND, 1, messages, 1);
    }
    td_program_need(p, SEND, FREE, messages, 1, 1 - AHEAD);
    td_program_need(p, COPY, FREE, pairs, 1, 1 - AHEAD);
}

const struct td_method td_method_reduce_rank_order = {
    .name = "reduce_rank_order",
    .why = "values are folded in rank order, one segment per node",
    .kinds = TD_KIND_BIT(TD_KIND_ALLREDUCE) | TD_KIND_BIT(TD_KIND_REDUCE) |
             TD_KIND_BIT(TD_KIND_REDUCE_SCATTER) | TD_KIND_BIT(TD_KIND_SCAN) |
             TD_KIND_BIT(TD_KIND_EXSCAN) | TD_KIND_BIT(TD_KIND_PREFIX),
    .class = TD_COST_STRAIGHT,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
