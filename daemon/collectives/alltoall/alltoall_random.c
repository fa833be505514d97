/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall_random: each node sends to the others in its own random order, so that the traffic is
 * always spread over all links (us8095585, figure 9). A message has the data from the ranks of one
 * run of this node to the ranks of one run of another. With block or round-robin placement a node
 * has one run, and a pair of nodes exchanges one message.
 *
 * On the routed fabric a node walks the order several times and sends a burst of packets to each
 * destination in each walk: iteration t moves the t-th piece of every rank pair's message. */
#include "collectives/cost/alltoall_model.h"
#include "collectives/permutation.h"
#include "local_blocks.h"

enum { FAMILY_RECV, FAMILY_SEND, FAMILY_COPY };
struct TD_STORED parameters {
    uint64_t iterations;
    uint64_t burst_bytes,
        piece;         /* bytes of an iteration: upper limit, and bytes of one pair of ranks */
    uint64_t messages; /* of an iteration */
};
TD_PARAMETERS(struct parameters)
enum { TURNS_MAX = 1 << 16, ALIGNMENT = 16 };

/* runs_of returns the number of runs of a slot, and writes the first to *first. Nearly always every
 * slot has one run; no memory is read then. */
static uint32_t runs_of(const struct td_group *g, uint32_t slot, uint32_t *first)
{
    if (g->runs == g->slots) {
        *first = slot;
        return 1;
    }
    *first = g->slot_run[slot];
    return g->slot_run[slot + 1] - *first;
}

/* other_run returns run i of the runs of all other nodes. */
static const struct td_run *other_run(const struct td_program *p, uint64_t i)
{
    uint32_t first = 0, here = runs_of(p->group, p->slot, &first);
    return &p->group->run[i < first ? i : i + here];
}

/* divide returns a / b and writes a % b. Nearly all operands are small, and then a 32-bit division
 * is faster. */
static uint64_t divide(uint64_t a, uint64_t b, uint64_t *rest)
{
    if (b == 1) {
        *rest = 0;
        return a;
    }
    if ((a | b) >> 32) {
        *rest = a % b;
        return a / b;
    }
    *rest = (uint32_t)a % (uint32_t)b;
    return (uint32_t)a / (uint32_t)b;
}

static uint64_t turns_for(uint64_t total, uint64_t each)
{
    return total / each + (total % each != 0);
}

/* piece_max returns the bytes of each rank pair's message that one iteration moves, for a number of
 * pairs. */
static uint64_t piece_max(const struct td_program *p, uint64_t pairs)
{
    uint64_t burst = parameters(p)->burst_bytes / pairs;
    uint64_t least = turns_for(td_program_bytes(p), parameters(p)->iterations);
    if (pairs > 1 && burst > ALIGNMENT)
        burst -= burst % ALIGNMENT;
    return burst > least ? burst : least;
}

static struct td_range piece_at(const struct td_program *p, const struct td_run *a,
                                const struct td_run *b, uint64_t iteration)
{
    uint64_t bytes = td_program_bytes(p), pairs = (uint64_t)a->count * b->count;
    uint64_t each = pairs == 1 ? parameters(p)->piece : piece_max(p, pairs);
    uint64_t begin = iteration * each < bytes ? iteration * each : bytes;
    return (struct td_range){begin, bytes - begin < each ? bytes - begin : each};
}

/* destination_at returns place i of the order. With in_order set, destinations are in the order of
 * their numbers, from the next node on. */
static const struct td_run *destination_at(const struct td_program *p, uint64_t i)
{
    uint32_t first = 0;
    uint64_t others = p->group->runs - runs_of(p->group, p->slot, &first);
    uint64_t seed = p->seed + 0x9e3779b97f4a7c15u * (p->slot + 1);
    return other_run(p, p->tuning.in_order ? (first + i) % others
                                           : td_permutation_at(seed, others, i));
}

static void send_step(const struct td_program *p, uint64_t iteration, uint64_t place,
                      struct td_step *step)
{
    const struct td_group *g = p->group;
    int64_t bytes = (int64_t)td_program_bytes(p);
    uint32_t first = 0, here = runs_of(g, p->slot, &first);
    uint64_t which = 0;
    const struct td_run *to = destination_at(p, divide(place, here, &which));
    const struct td_run *own = &g->run[first + which];
    uint32_t there_first = 0, there = runs_of(g, to->slot, &there_first);
    struct td_range piece = piece_at(p, own, to, iteration);
    uint64_t me = (uint64_t)(own - g->run);
    step->peer = to->node;
    step->peer_family = FAMILY_RECV;
    step->peer_index = iteration * (g->runs - there) * there +
                       (me < there_first ? me : me - there) * there +
                       ((uint64_t)(to - g->run) - there_first);
    td_slice_set(&step->from, TD_SPACE_SOURCE, own->local, to->first * bytes + (int64_t)piece.begin,
                 (int64_t)piece.count);
    if (to->count == 1 && own->count == 1)
        return; /* one rank per node */
    td_slice_loop(&step->from, to->count, to->step * bytes, 0);
    td_slice_loop(&step->from, own->count, 0, 1);
    td_slice_simplify(&step->from);
}

static void recv_step(const struct td_program *p, uint64_t iteration, uint64_t place,
                      struct td_step *step)
{
    const struct td_group *g = p->group;
    int64_t bytes = (int64_t)td_program_bytes(p);
    uint32_t first = 0, here = runs_of(g, p->slot, &first);
    uint64_t which = 0;
    const struct td_run *from = other_run(p, divide(place, here, &which));
    const struct td_run *own = &g->run[first + which];
    struct td_range piece = piece_at(p, from, own, iteration);
    step->peer = from->node;
    td_slice_set(&step->to, TD_SPACE_DESTINATION, own->local,
                 from->first * bytes + (int64_t)piece.begin, (int64_t)piece.count);
    step->to_lanes = (struct td_lanes){1, 0, 0};
    if (from->count == 1 && own->count == 1)
        return;
    td_slice_loop(&step->to, own->count, 0, 1);
    td_slice_loop(&step->to, from->count, from->step * bytes, 0);
    td_slice_simplify(&step->to);
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    td_step_begin(step, p->family[family].kind);
    if (family == FAMILY_COPY) {
        td_alltoall_local(p, index, step);
        return;
    }
    uint64_t place = 0, iteration = divide(index, parameters(p)->messages, &place);
    if (family == FAMILY_SEND)
        send_step(p, iteration, place, step);
    else
        recv_step(p, iteration, place, step);
}

/* plan_iterations is the same on all nodes: as many iterations as the largest message needs, within
 * the limit on the number of steps. */
static void plan_iterations(struct td_program *p)
{
    const struct td_group *g = p->group;
    uint64_t bytes = td_program_bytes(p), most = 1, turns_max = TURNS_MAX / g->runs;
    uint64_t burst = (uint64_t)p->tuning.packet_bytes * (p->tuning.burst ? p->tuning.burst : 1);
    bool whole = p->tuning.fabric != TD_FABRIC_ROUTED || burst == 0;
    for (uint32_t r = 0; r < g->runs; r++)
        most = g->run[r].count > most ? g->run[r].count : most;
    set(p)->iterations = 1;
    set(p)->burst_bytes = set(p)->piece = (whole ? bytes : burst);
    if (whole)
        return;
    set(p)->iterations = (turns_max ? turns_max : 1);
    set(p)->iterations = turns_for(bytes, piece_max(p, most * most));
    set(p)->piece = piece_max(p, 1);
    p->whole = most == 1 && bytes > 0;
}

/* applies: an all-to-all without data travels with the gate. */
static bool applies(struct td_query *q)
{
    return q->program->call.count > 0 || td_query_refuse(q, "no rank sends data to another rank");
}

static uint64_t cost(struct td_query *q)
{
    if (!td_program_is_routed(q->program))
        return td_alltoall_model_straight(q);
    struct td_alltoall_model m = td_alltoall_model_of(q);
    return td_alltoall_model_cost(q, m.bound, m.random);
}

static void compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    uint32_t first = 0, here = runs_of(p->group, p->slot, &first);
    plan_iterations(p);
    uint64_t messages = (uint64_t)(p->group->runs - here) * here;
    uint64_t iterations = parameters(p)->iterations;
    set(p)->messages = messages;
    td_program_add(p, TD_RECV, iterations * messages, "blocks from the others");
    td_program_add(p, TD_SEND, iterations * messages, "blocks to the others, in random order");
    td_program_add(p, TD_COPY, td_alltoall_locals(p), "blocks of local ranks");
}

const struct td_method td_method_alltoall_random = {
    .name = "alltoall_random",
    .why =
        "each node visits the others in its own random order, which spreads the traffic over all "
        "links",
    .kinds = TD_KIND_BIT(TD_KIND_ALLTOALL),
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_ALLTOALL,
    .values = TD_VALUE_BIT(TD_ALLTOALL_RANDOM),
    .fallback = true,
    .applies = applies,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
