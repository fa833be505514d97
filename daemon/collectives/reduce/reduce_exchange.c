/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_exchange: allreduce of long vectors on a fabric on which every node reaches every other.
 *
 * The vector is cut into blocks, and each block into one segment per node. For short vectors only
 * some nodes have segments, because many short messages take longer than a few. For each block
 * every node sends the others their segments, with the local ranks' elements combined. It combines
 * the data for its own segment directly into the destinations of its ranks, and sends the result to
 * all nodes. A node sends and receives 2 (N - 1) / N of the vector. Every rank gets the same bits,
 * because each segment is combined on one node. Two blocks are in progress at a time, so scratch
 * memory does not grow with the vector: a node that has the results of block b - 2 knows that its
 * peers have read its data of that block.
 *
 * On a single node only the combining is left: each element is read once and written once per rank.
 */
#include "collectives/cost/straight.h"
#include "collectives/method.h"

enum {
    AHEAD = 2,             /* blocks in progress */
    BLOCKS = 8,            /* of a vector that is long enough: the first results leave early */
    SEGMENT_MIN = 1 << 14, /* bytes of a node's segment: shorter ones cost more than they save */
    SEGMENT_MAX = TD_COMPUTE_BYTES,
    OWN_MAX = 1 << 15, /* so many bytes for each node are enough to give all nodes a segment */
};
/* struct parameters: the numbers of the families; -1: the program has no such family. */
struct TD_STORED parameters {
    int64_t element;     /* bytes */
    int64_t block_count; /* elements of a block */
    int64_t slot_bytes;  /* of a segment in scratch */
    int64_t owners;      /* number of nodes that have segments */
    int64_t fold, send, recv, combine, result_send, result_recv;
};
TD_PARAMETERS(struct parameters)

/* peer_at: peers are visited from the successor on, so that not all nodes send to one. */
static uint32_t peer_at(const struct td_program *p, uint64_t j)
{
    return (uint32_t)((p->slot + 1 + j) % p->group->slots);
}

/* place_of returns the index of `slot` among the peers of `peer`: the inverse of peer_at there. */
static uint64_t place_of(const struct td_program *p, uint32_t slot, uint32_t peer)
{
    return (slot + p->group->slots - peer - 1) % p->group->slots;
}

/* segment returns the elements of a block that a slot combines. */
static struct td_range segment(const struct td_program *p, uint64_t block, uint32_t slot)
{
    uint64_t per_block = (uint64_t)parameters(p)->block_count, begin = block * per_block;
    uint64_t left = p->call.count - begin, slots = p->group->slots;
    uint64_t owners = (uint64_t)parameters(p)->owners, i = (slot * owners + slots - 1) / slots;
    if (i * slots / owners != slot) /* owner i is this slot */
        return (struct td_range){begin, 0};
    struct td_range r = td_block(left < per_block ? left : per_block, owners, i);
    r.begin += begin;
    return r;
}

static struct td_slice elements(const struct td_program *p, enum td_space space, struct td_range r)
{
    int64_t element = parameters(p)->element;
    return td_slice_at(space, 0, (int64_t)r.begin * element, (int64_t)r.count * element);
}

/* scratch names the place of a segment that comes from peer j (area 0) or goes to it (area 1). */
static struct td_slice scratch(const struct td_program *p, int area, uint64_t block, uint64_t j,
                               struct td_range r)
{
    int64_t peers = (int64_t)p->group->slots - 1;
    int64_t place = (area * AHEAD + (int64_t)(block % AHEAD)) * peers + (int64_t)j;
    return td_slice_at(TD_SPACE_SCRATCH, 0, place * parameters(p)->slot_bytes,
                       (int64_t)r.count * parameters(p)->element);
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    const struct td_group *g = p->group;
    uint32_t ranks = td_ranks_here(p);
    uint64_t peers = g->slots - 1;
    int64_t f = family;
    *step =
        (struct td_step){.kind = p->family[family].kind, .type = p->call.type, .op = p->call.op};
    if (f == parameters(p)->combine) {
        struct td_range own = segment(p, index, p->slot);
        step->from = elements(p, TD_SPACE_SOURCE, own);
        step->from_lanes = (struct td_lanes){ranks, 0, 1};
        if (peers) {
            step->with = scratch(p, 0, index, 0, own);
            step->with_lanes = (struct td_lanes){(uint32_t)peers, parameters(p)->slot_bytes, 0};
        }
        step->to = elements(p, TD_SPACE_DESTINATION, own);
        step->to_lanes = (struct td_lanes){ranks, 0, 1};
        return;
    }
    uint64_t block = index / peers, j = index % peers;
    uint32_t peer = peer_at(p, j);
    struct td_range own = segment(p, block, p->slot), theirs = segment(p, block, peer);
    step->peer = g->node[peer];
    /* the message's index at the peer: the same block, and this node's index among its peers */
    step->peer_index = block * peers + place_of(p, p->slot, peer);
    if (f == parameters(p)->fold) {
        step->from = elements(p, TD_SPACE_SOURCE, theirs);
        step->from_lanes = (struct td_lanes){ranks, 0, 1};
        step->to = scratch(p, 1, block, j, theirs);
        step->to_lanes = (struct td_lanes){1, 0, 0};
    } else if (f == parameters(p)->send) {
        step->from =
            ranks > 1 ? scratch(p, 1, block, j, theirs) : elements(p, TD_SPACE_SOURCE, theirs);
        step->peer_family = 0;
    } else if (f == parameters(p)->recv) {
        step->to = scratch(p, 0, block, j, own);
        step->to_lanes = (struct td_lanes){1, 0, 0};
    } else if (f == parameters(p)->result_send) {
        step->from = elements(p, TD_SPACE_DESTINATION, own);
        step->peer_family = 1;
    } else {
        step->to = elements(p, TD_SPACE_DESTINATION, theirs);
        step->to_lanes = (struct td_lanes){ranks, 0, 1};
    }
}

static bool applies(struct td_query *q)
{
    return !td_program_brackets_any(q->program) ||
           td_query_refuse(q, "values must be folded in rank order");
}

static uint64_t at_least(uint64_t least, uint64_t value)
{
    return value > least ? value : least;
}

/* segment_bytes returns the size of a segment in a vector of `bytes`. Short segments make more
 * messages, but the results of a block leave while the next block is still coming. */
static uint64_t segment_bytes(const struct td_program *p, uint64_t bytes)
{
    if (p->group->slots == 1 || td_program_is_routed(p))
        return SEGMENT_MAX;
    uint64_t least = at_least(SEGMENT_MIN, 4 * p->tuning.message_bytes);
    uint64_t each = at_least(least, bytes / p->group->slots / BLOCKS);
    return each < SEGMENT_MAX ? (each + 63) & ~(uint64_t)63 : SEGMENT_MAX;
}

/* own_bytes returns how long a vector must be, for each node that combines a segment of it. */
static uint64_t own_bytes(const struct td_program *p)
{
    uint64_t least = at_least(SEGMENT_MIN, 2 * p->tuning.message_bytes);
    return td_program_is_routed(p) || least > OWN_MAX ? OWN_MAX : least;
}

/* owners_of returns the number of nodes that combine a segment. */
static uint64_t owners_of(const struct td_program *p)
{
    uint64_t owners = td_program_bytes(p) / own_bytes(p), slots = p->group->slots;
    return owners < 1 ? 1 : owners < slots ? owners : slots;
}

/* cost: an owner sends a segment to each other owner, and its results to each other node. */
static uint64_t cost(struct td_query *q)
{
    const struct td_program *p = q->program;
    uint64_t owners = owners_of(p), each = (td_program_bytes(p) + owners - 1) / owners;
    return td_straight_cost(p, (owners - 1 + p->group->slots - 1) * each, 2);
}

static void compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    uint64_t slots = p->group->slots, peers = slots - 1;
    uint64_t element = td_type_bytes(p->call.type);
    uint64_t bytes = td_program_bytes(p), each = segment_bytes(p, bytes);
    uint64_t per_slot = each / element, per_block = per_slot * slots;
    uint64_t blocks = p->call.count / per_block + (p->call.count % per_block != 0);
    set(p)->element = (int64_t)element;
    set(p)->block_count = (int64_t)per_block;
    uint64_t owners = owners_of(p);
    set(p)->owners = (int64_t)owners;
    /* The first block has the longest segments. Few owners have longer ones than `each`. */
    uint64_t first = p->call.count < per_block ? p->call.count : per_block;
    uint64_t longest = td_block(first, owners, 0).count * element;
    set(p)->slot_bytes = (int64_t)((longest + 63) & ~(uint64_t)63);
    set(p)->fold = set(p)->send = set(p)->recv = -1;
    set(p)->combine = set(p)->result_send = set(p)->result_recv = -1;
    if (peers == 0) {
        set(p)->combine = td_program_add(p, TD_COMBINE, blocks, "combine");
        return;
    }
    bool folds = td_ranks_here(p) > 1;
    p->scratch_bytes = (folds ? 2 : 1) * AHEAD * (int64_t)peers * parameters(p)->slot_bytes;

    /* Receiving families come first: peers refer to them by number. */
    unsigned recv = td_program_add(p, TD_RECV, blocks * peers, "segments to combine");
    unsigned result_recv = td_program_add(p, TD_RECV, blocks * peers, "results");
    unsigned fold = folds ? td_program_add(p, TD_COMBINE, blocks * peers, "local ranks") : 0;
    unsigned send = td_program_add(p, TD_SEND, blocks * peers, "segments to their nodes");
    unsigned combine = td_program_add(p, TD_COMBINE, blocks, "own segment");
    unsigned result_send = td_program_add(p, TD_SEND, blocks * peers, "results to all");
    if (folds) {
        td_program_need(p, fold, send, peers, peers, 1 - AHEAD);
        td_program_need(p, send, fold, 1, 1, 1);
        set(p)->fold = fold;
    }
    td_program_need(p, send, result_recv, peers, peers, 1 - AHEAD);
    td_program_need(p, combine, recv, 1, peers, 1);
    td_program_need(p, result_send, combine, peers, 1, 1);
    set(p)->send = send;
    set(p)->recv = recv;
    set(p)->combine = combine;
    set(p)->result_send = result_send;
    set(p)->result_recv = result_recv;
}

const struct td_method td_method_reduce_exchange = {
    .name = "reduce_exchange",
    .why = "each node combines one segment and sends the result to all",
    .kinds = TD_KIND_BIT(TD_KIND_ALLREDUCE),
    .class = TD_COST_STRAIGHT,
    .applies = applies,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
