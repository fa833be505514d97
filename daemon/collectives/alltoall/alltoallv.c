/* SPDX-License-Identifier: Apache-2.0 */
/* alltoallv: all-to-all of parts whose sizes differ by rank, directly between nodes: in each node's
 * own random order (us8095585), or with one partner at a time. Gathers, scatters and halo exchanges
 * with counts are such all-to-alls in which most parts are empty.
 *
 * A message is a unit: the data from the ranks of one node to the ranks of another. On the routed
 * fabric a node walks the order several times, with a burst of packets per destination, as often as
 * the largest unit requires. Therefore a survey of the sizes comes first. */
#include "collectives/cost/alltoall_model.h"
#include "collectives/permutation.h"
#include "model/counts.h"

#include <assert.h>

enum { RECV, SEND, COPY };
struct TD_STORED parameters {
    uint64_t iterations, piece; /* bytes of a unit that an iteration moves */
    bool pairwise;              /* one partner at a time */
};
TD_PARAMETERS(struct parameters)
enum { TURNS_MAX = 1 << 16 };

/* other_at returns slot i of the slots of all other nodes. */
static uint32_t other_at(const struct td_program *p, uint64_t i)
{
    return (uint32_t)(i < p->slot ? i : i + 1);
}

/* place_of is the inverse of other_at at the node of `slot`. */
static uint64_t place_of(uint32_t of, uint32_t slot)
{
    return of < slot ? of : of - 1;
}

/* partner_at returns the slot to which step i of the pairwise order sends, or from which it
 * receives. */
static uint32_t partner_at(const struct td_program *p, uint64_t i, bool sends)
{
    uint64_t slots = p->group->slots, s = i + 1;
    if ((slots & (slots - 1)) == 0)
        return (uint32_t)(p->slot ^ s);
    return (uint32_t)((p->slot + (sends ? s : slots - s)) % slots);
}

static uint32_t destination_at(const struct td_program *p, uint64_t i)
{
    uint64_t others = p->group->slots - 1;
    uint64_t seed = p->seed + 0x9e3779b97f4a7c15u * (p->slot + 1);
    if (parameters(p)->pairwise)
        return partner_at(p, i, true);
    return other_at(p, p->tuning.in_order ? (p->slot + i) % others
                                          : td_permutation_at(seed, others, i));
}

/* piece names the bytes that iteration `turn` moves of the unit to, or from, a slot. */
static struct td_slice piece(const struct td_program *p, bool destination, uint32_t slot,
                             uint64_t turn)
{
    uint64_t unit = td_counts_unit(p->counts, destination, slot);
    uint64_t each = parameters(p)->piece;
    bool last = turn + 1 == parameters(p)->iterations;
    uint64_t begin = turn * each < unit ? turn * each : unit, left = unit - begin;
    return td_counts_slice(p->counts, destination, slot, begin, last || left < each ? left : each);
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    uint64_t others = p->group->slots - 1;
    *step = (struct td_step){.kind = p->family[family].kind, .to_lanes = {1, 0, 0}};
    if (family == COPY) {
        uint64_t bytes = td_counts_unit(p->counts, false, p->slot);
        step->from = td_counts_slice(p->counts, false, p->slot, 0, bytes);
        step->to = td_counts_slice(p->counts, true, p->slot, 0, bytes);
        return;
    }
    uint64_t turn = index / others, i = index % others;
    if (family == SEND) {
        uint32_t to = destination_at(p, i);
        step->peer = p->group->node[to];
        step->peer_index = turn * others + (parameters(p)->pairwise ? i : place_of(p->slot, to));
        step->from = piece(p, false, to, turn);
    } else {
        uint32_t from = parameters(p)->pairwise ? partner_at(p, i, false) : other_at(p, i);
        step->peer = p->group->node[from];
        step->to = piece(p, true, from, turn);
    }
}

static void compile(struct td_program *p, bool pairwise)
{
    const struct td_group *g = p->group;
    uint64_t others = g->slots - 1, most = p->survey.most, iterations = 1;
    uint64_t burst = (uint64_t)p->tuning.packet_bytes * (p->tuning.burst ? p->tuning.burst : 1);
    bool bursts = p->tuning.fabric == TD_FABRIC_ROUTED && burst > 0 && !pairwise && others > 0;
    if (bursts && most > burst) {
        uint64_t turns_max = TURNS_MAX / g->slots ? TURNS_MAX / g->slots : 1;
        iterations = (most + burst - 1) / burst;
        iterations = iterations < turns_max ? iterations : turns_max;
        assert(iterations > 0);
        burst = (most + iterations - 1) / iterations;
    }
    set(p)->iterations = iterations;
    set(p)->piece = burst;
    set(p)->pairwise = pairwise;
    td_program_add(p, TD_RECV, iterations * others, "units from the others");
    td_program_add(p, TD_SEND, iterations * others,
                   pairwise ? "units to one partner at a time"
                            : "units to the others, in random order");
    td_program_add(p, TD_COPY, 1, "parts of local ranks");
    if (pairwise) {
        td_program_need(p, SEND, RECV, 1, 1, 0);
        td_program_need(p, SEND, SEND, 1, 1, 0);
    }
}

static void compile_random(struct td_query *q, struct td_program *p)
{
    (void)q;
    compile(p, false);
}

static void compile_pairwise(struct td_query *q, struct td_program *p)
{
    (void)q;
    compile(p, true);
}

/* is_known returns true if both ends can cut messages alike. On the routed fabric that requires the
 * survey. */
static bool is_known(struct td_query *q)
{
    return q->surveyed || !td_program_is_routed(q->program) ||
           td_query_refuse(q, "the sizes of all messages are not known yet");
}

static bool pairwise_applies(struct td_query *q)
{
    const struct td_program *p = q->program;
    if (!is_known(q))
        return false;
    return !q->surveyed || p->survey.most > 0 || !td_program_is_routed(p) ||
           td_query_refuse(q, "no rank sends data to another node");
}

/* random_cost: the move of a plan goes directly, too, if that takes less time than relays. */
static uint64_t random_cost(struct td_query *q)
{
    if (!td_program_is_routed(q->program))
        return td_alltoall_model_straight(q);
    struct td_alltoall_model m = td_alltoall_model_of(q);
    return td_alltoall_model_cost(q, m.bound, m.random);
}

const struct td_method td_method_alltoallv = {
    .name = "alltoallv",
    .why = "messages go directly between nodes, in each node's own random order",
    .kinds = TD_KINDS_WITH_COUNTS,
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_ALLTOALL,
    .values = TD_VALUE_BIT(TD_ALLTOALL_RANDOM),
    .fallback = true,
    .applies = is_known,
    .cost = random_cost,
    .compile = compile_random,
    .step_at = step_at,
};

const struct td_method td_method_alltoallv_pairwise = {
    .name = "alltoallv_pairwise",
    .why = "a node exchanges with one partner at a time, for comparison",
    .kinds = TD_KINDS_WITH_COUNTS,
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_ALLTOALL,
    .values = TD_VALUE_BIT(TD_ALLTOALL_PAIRWISE),
    .on_request = true,
    .applies = pairwise_applies,
    .compile = compile_pairwise,
    .step_at = step_at,
};
