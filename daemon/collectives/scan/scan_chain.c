/* SPDX-License-Identifier: Apache-2.0 */
/* scan_chain: scans of groups whose ranks are numbered node by node. Chunk by chunk, a node
 * receives the total of the ranks before its own from the node before it. It folds on through its
 * own ranks, directly from their sources into their destinations, and sends the new total to the
 * next node. For a scan the total is the last local rank's result; for an exscan it takes one more
 * fold.
 *
 * The chunks follow each other, so N nodes take the time of N - 2 chunks more than two nodes, and
 * each byte crosses each link of the chain once. The bracketing is always (((r0 + r1) + r2) + ...).
 * On a single node only the folds are left: each element is read once and written once per rank.
 *
 * Received chunks are in scratch memory, which has room for two windows of chunks. FREE is a
 * barrier after which all nodes may send the window after the next. On the routed fabric, where
 * chains are long and hops are short, a chunk is a few packets, and a window is twice as long as
 * the chain. */
#include "collectives/cost/bound.h"
#include "collectives/cost/pipeline.h"
#include "collectives/cost/scan_cost.h"
#include "collectives/method.h"

enum { AHEAD = 2, WINDOW_MIN = 8, CHUNK_MAX = TD_COMPUTE_BYTES / 2 };
enum { RECV, TOTAL, FOLD, SEND, FREE };
struct TD_STORED parameters {
    int64_t bytes, chunk;  /* of the vector, of a chunk */
    int64_t place, places; /* bytes of a chunk in scratch memory, and number of chunks there */
};
TD_PARAMETERS(struct parameters)

static bool is_last(const struct td_program *p)
{
    return p->slot + 1 == p->group->slots;
}

/* in_order returns true if the ranks of each slot follow those of the slot before it. */
static bool in_order(const struct td_group *g)
{
    for (uint32_t slot = 0; slot < g->slots; slot++) {
        const struct td_run *run = &g->run[g->slot_run[slot]];
        if (g->slot_run[slot + 1] - g->slot_run[slot] != 1 || run->first != g->slot_rank[slot] ||
            (run->count > 1 && run->step != 1))
            return false;
    }
    return true;
}

static struct td_slice chunk(const struct td_program *p, enum td_space space, uint32_t rank,
                             uint64_t index)
{
    int64_t each = parameters(p)->chunk, begin = (int64_t)index * each;
    int64_t left = parameters(p)->bytes - begin;
    return td_slice_at(space, rank, begin, left < each ? left : each);
}

/* in_scratch names the place of a received chunk (area 0), or of one for the next node (area 1). */
static struct td_slice in_scratch(const struct td_program *p, int64_t area, uint64_t index)
{
    struct td_slice s = chunk(p, TD_SPACE_SCRATCH, 0, index);
    int64_t places = parameters(p)->places, first = p->slot == 0 ? 0 : area * places;
    s.offset = (first + (int64_t)index % places) * parameters(p)->place;
    return s;
}

/* operands makes `step` a COMBINE of the received total and the values of local ranks. */
static void operands(const struct td_program *p, uint64_t index, struct td_step *step)
{
    step->from = chunk(p, TD_SPACE_SOURCE, 0, index);
    step->from_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
    if (p->slot == 0)
        return;
    step->with = step->from;
    step->with_lanes = step->from_lanes;
    step->from = in_scratch(p, 0, index);
    step->from_lanes = (struct td_lanes){1, 0, 0};
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    const struct td_group *g = p->group;
    uint32_t ranks = td_ranks_here(p);
    bool scans = p->call.kind == TD_KIND_SCAN;
    *step =
        (struct td_step){.kind = p->family[family].kind, .type = p->call.type, .op = p->call.op};
    switch (family) {
    case RECV:
        step->peer = g->node[p->slot - 1];
        step->to = in_scratch(p, 0, index);
        step->to_lanes = (struct td_lanes){1, 0, 0};
        return;
    case TOTAL:
        operands(p, index, step);
        step->to = in_scratch(p, 1, index);
        step->to_lanes = (struct td_lanes){1, 0, 0};
        return;
    case FOLD:
        operands(p, index, step);
        step->to = chunk(p, TD_SPACE_DESTINATION, 0, index);
        step->to_lanes = (struct td_lanes){ranks, 0, 1};
        step->running =
            (struct td_running){scans ? TD_RUNNING_UP_TO : TD_RUNNING_BEFORE, p->slot > 0, 1};
        return;
    case SEND:
        step->peer = g->node[p->slot + 1];
        step->peer_family = RECV;
        step->peer_index = index;
        step->from =
            scans ? chunk(p, TD_SPACE_DESTINATION, ranks - 1, index) : in_scratch(p, 1, index);
        return;
    default: /* FREE */
        step->among = (struct td_among){0, g->slots, 1};
        return;
    }
}

/* straight_of describes the chain on the direct fabric. */
static struct td_pipeline straight_of(const struct td_program *p)
{
    return (struct td_pipeline){.bytes = td_program_bytes(p),
                                .sends = 1,
                                .path = p->group->slots - 1,
                                .message_bytes = p->tuning.message_bytes};
}

/* chunk_of returns the bytes of a chunk. With n packets, N nodes, and one slot per chunk besides
 * its data, n + N c + n / c is least at the square root of n / N. */
static uint64_t chunk_of(const struct td_program *p)
{
    uint64_t packet = p->tuning.packet_bytes, many = 1;
    const struct td_pipeline straight = straight_of(p);
    if (p->tuning.fabric != TD_FABRIC_ROUTED && p->group->slots > 1)
        return td_pipeline_piece(&straight, CHUNK_MAX);
    if (p->tuning.fabric != TD_FABRIC_ROUTED || packet == 0 || packet >= CHUNK_MAX)
        return CHUNK_MAX;
    uint64_t packets = p->call.count * td_type_bytes(p->call.type) / packet / p->group->slots;
    while ((many + 1) * (many + 1) <= packets && (many + 1) * packet <= CHUNK_MAX)
        many++;
    return (many * packet + 63) & ~(uint64_t)63; /* no number is split */
}

/* window_of returns the number of chunks of a window. */
static uint64_t window_of(const struct td_program *p, uint64_t chunk)
{
    uint64_t most = p->tuning.relay_bytes / (2 * AHEAD * chunk), window = 2 * p->group->slots;
    if (p->tuning.fabric != TD_FABRIC_ROUTED)
        return WINDOW_MIN * (CHUNK_MAX / chunk);
    window = window < most ? window : most;
    return window > WINDOW_MIN ? window : WINDOW_MIN;
}

static bool applies(struct td_query *q)
{
    return in_order(q->program->group) || td_query_refuse(q, "ranks are not numbered node by node");
}

/* cost: the chunks of the vector, and one for all nodes but two. */
static uint64_t cost(struct td_query *q)
{
    const struct td_program *p = q->program;
    uint64_t nodes = p->group->slots, n = td_program_bytes(p);
    if (!td_program_is_routed(p) && nodes > 1) {
        const struct td_pipeline straight = straight_of(p);
        return td_cost_bytes(p, td_pipeline_time(&straight, chunk_of(p)));
    }
    if (!td_scan_is_predicted(q))
        return 0;
    uint64_t chunk = chunk_of(p) + td_program_hop(p, chunk_of(p));
    uint64_t bytes = n + (nodes - 2) * (n < chunk ? n : chunk);
    if (q->grid.shape.dimensions > 2) /* the routes at the ends of rows and planes share links */
        bytes += n * q->grid.shape.size[td_bound_longest(&q->grid.shape)];
    return td_cost_bytes(p, bytes);
}

static void compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    bool scans = p->call.kind == TD_KIND_SCAN;
    int64_t bytes = (int64_t)(p->call.count * td_type_bytes(p->call.type));
    int64_t each = (int64_t)chunk_of(p);
    uint64_t chunks = (uint64_t)(bytes / each + (bytes % each != 0));
    uint64_t window = window_of(p, (uint64_t)each), windows = (chunks + window - 1) / window;
    uint64_t comes = p->slot > 0 ? chunks : 0, goes = is_last(p) ? 0 : chunks;
    set(p)->bytes = bytes;
    set(p)->chunk = each;
    set(p)->place = bytes < each ? (bytes + 15) & ~(int64_t)15 : each;
    set(p)->places = (int64_t)(chunks < AHEAD * window ? chunks : AHEAD * window);
    int64_t areas = (comes > 0) + (goes > 0 && !scans);
    p->scratch_bytes = areas * parameters(p)->places * parameters(p)->place;
    td_program_add(p, TD_RECV, comes, "total of the ranks before");
    td_program_add(p, TD_COMBINE, scans ? 0 : goes, "total of the ranks up to the last local one");
    td_program_add(p, TD_COMBINE, chunks, "results of local ranks");
    td_program_add(p, TD_SEND, goes, "to the next node");
    uint64_t ahead = p->group->slots > 1 && windows > AHEAD ? windows - AHEAD : 0;
    td_program_add(p, TD_SYNC, ahead, "barrier before scratch is reused");
    if (comes) {
        td_program_need(p, TOTAL, RECV, 1, 1, 1);
        td_program_need(p, FOLD, RECV, 1, 1, 1);
    }
    if (!scans && goes) /* in place, a scan overwrites the values that the total is made of */
        td_program_need(p, FOLD, TOTAL, 1, 1, 1);
    td_program_need(p, SEND, scans ? FOLD : TOTAL, 1, 1, 1);
    td_program_need(p, FREE, FOLD, 1, window, 1);
    td_program_need(p, FREE, SEND, 1, window, 1);
    td_program_need(p, SEND, FREE, window, 1, 1 - AHEAD);
    td_program_need(p, TOTAL, FREE, window, 1, 1 - AHEAD);
}

const struct td_method td_method_scan_chain = {
    .name = "scan_chain",
    .why = "ranks are numbered node by node, and each byte crosses a node once",
    .kinds = TD_KIND_BIT(TD_KIND_SCAN) | TD_KIND_BIT(TD_KIND_EXSCAN),
    .class = TD_COST_STRAIGHT,
    .applies = applies,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
