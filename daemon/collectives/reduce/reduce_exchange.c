/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_exchange: allreduce of large vectors on a fabric where every node reaches every other.
 *
 * The vector is cut into blocks, each block into one segment a node; of short vectors only some
 * nodes have segments, since many short messages take longer than a few. For each block every node
 * sends the others their segments (the local ranks' elements already combined), combines what comes
 * for its own segment, straight into the destinations of its ranks, and sends the result to all. A
 * node sends and receives 2 (N - 1) / N of the vector, and every rank gets the same bits since each
 * segment is combined in one place. Two blocks are under way at a time, so scratch does not grow
 * with the vector: a node that has the results of block b - 2 knows that its peers have read their
 * scratch of it.
 *
 * On a single node only the combining is left: each element is read once and written once a rank.
 */
#include "collectives/collectives.h"

enum { AHEAD = 2 /* blocks under way */, SEGMENT_MIN = 32768 };
enum { P_ELEMENT, P_BLOCKS, P_BLOCK_COUNT, P_SLOT_BYTES, P_OWNERS }; /* that have segments */
enum { P_FOLD = 8, P_SEND, P_RECV, P_COMBINE, P_RESULT_SEND, P_RESULT_RECV };

/* The peers of a node are visited from its successor on, so that not all send to one. */
static uint32_t peer_at(const struct td_program *p, uint64_t j)
{
    return (uint32_t)((p->slot + 1 + j) % p->group->slots);
}

/* place_of returns which peer `slot` is to `peer`: the inverse of peer_at there. */
static uint64_t place_of(const struct td_program *p, uint32_t slot, uint32_t peer)
{
    return (slot + p->group->slots - peer - 1) % p->group->slots;
}

/* segment returns the elements of a block that a slot combines. */
static struct td_range segment(const struct td_program *p, uint64_t block, uint32_t slot)
{
    uint64_t per_block = (uint64_t)p->parameter[P_BLOCK_COUNT], begin = block * per_block;
    uint64_t left = p->call.count - begin, slots = p->group->slots;
    uint64_t owners = (uint64_t)p->parameter[P_OWNERS], i = (slot * owners + slots - 1) / slots;
    if (i * slots / owners != slot) /* owner i is this slot */
        return (struct td_range){begin, 0};
    struct td_range r = td_block(left < per_block ? left : per_block, owners, i);
    r.begin += begin;
    return r;
}

static struct td_slice elements(const struct td_program *p, enum td_space space, struct td_range r)
{
    int64_t element = p->parameter[P_ELEMENT];
    return td_slice_at(space, 0, (int64_t)r.begin * element, (int64_t)r.count * element);
}

/* scratch names the place of a segment that comes from (area 0) or goes to (area 1) peer j. */
static struct td_slice scratch(const struct td_program *p, int area, uint64_t block, uint64_t j,
                               struct td_range r)
{
    int64_t peers = (int64_t)p->group->slots - 1;
    int64_t place = (area * AHEAD + (int64_t)(block % AHEAD)) * peers + (int64_t)j;
    return td_slice_at(TD_SPACE_SCRATCH, 0, place * p->parameter[P_SLOT_BYTES],
                       (int64_t)r.count * p->parameter[P_ELEMENT]);
}

static void expand(const struct td_program *p, unsigned family, uint64_t index,
                   struct td_step *step)
{
    const struct td_group *g = p->group;
    uint32_t ranks = td_ranks_here(p);
    uint64_t peers = g->slots - 1;
    int64_t f = family;
    *step =
        (struct td_step){.kind = p->family[family].kind, .type = p->call.type, .op = p->call.op};
    if (f == p->parameter[P_COMBINE]) {
        struct td_range own = segment(p, index, p->slot);
        step->from = elements(p, TD_SPACE_SOURCE, own);
        step->from_lanes = (struct td_lanes){ranks, 0, 1};
        if (peers) {
            step->with = scratch(p, 0, index, 0, own);
            step->with_lanes = (struct td_lanes){(uint32_t)peers, p->parameter[P_SLOT_BYTES], 0};
        }
        step->to = elements(p, TD_SPACE_DESTINATION, own);
        step->to_lanes = (struct td_lanes){ranks, 0, 1};
        return;
    }
    uint64_t block = index / peers, j = index % peers;
    uint32_t peer = peer_at(p, j);
    struct td_range own = segment(p, block, p->slot), theirs = segment(p, block, peer);
    step->peer = g->node[peer];
    /* a message's index at the peer: the same block, and my place among its peers */
    step->peer_index = block * peers + place_of(p, p->slot, peer);
    if (f == p->parameter[P_FOLD]) {
        step->from = elements(p, TD_SPACE_SOURCE, theirs);
        step->from_lanes = (struct td_lanes){ranks, 0, 1};
        step->to = scratch(p, 1, block, j, theirs);
        step->to_lanes = (struct td_lanes){1, 0, 0};
    } else if (f == p->parameter[P_SEND]) {
        step->from =
            ranks > 1 ? scratch(p, 1, block, j, theirs) : elements(p, TD_SPACE_SOURCE, theirs);
        step->peer_family = 0;
    } else if (f == p->parameter[P_RECV]) {
        step->to = scratch(p, 0, block, j, own);
        step->to_lanes = (struct td_lanes){1, 0, 0};
    } else if (f == p->parameter[P_RESULT_SEND]) {
        step->from = elements(p, TD_SPACE_DESTINATION, own);
        step->peer_family = 1;
    } else {
        step->to = elements(p, TD_SPACE_DESTINATION, theirs);
        step->to_lanes = (struct td_lanes){ranks, 0, 1};
    }
}

static const struct td_method method = {"reduce_exchange", expand};

void td_reduce_exchange_compile(struct td_program *p)
{
    uint64_t slots = p->group->slots, peers = slots - 1;
    uint64_t element = td_type_bytes(p->call.type);
    uint64_t per_slot = TD_COMPUTE_BYTES / element, per_block = per_slot * slots;
    uint64_t blocks = p->call.count / per_block + (p->call.count % per_block != 0);
    p->method = &method;
    p->parameter[P_ELEMENT] = (int64_t)element;
    p->parameter[P_BLOCKS] = (int64_t)blocks;
    p->parameter[P_BLOCK_COUNT] = (int64_t)per_block;
    p->parameter[P_SLOT_BYTES] = TD_COMPUTE_BYTES;
    uint64_t owners = p->call.count * element / SEGMENT_MIN;
    p->parameter[P_OWNERS] = (int64_t)(owners < 1 ? 1 : owners < slots ? owners : slots);
    for (int i = P_FOLD; i <= P_RESULT_RECV; i++)
        p->parameter[i] = -1;
    if (peers == 0) {
        p->parameter[P_COMBINE] = td_program_add(p, TD_COMBINE, blocks, "combine");
        return;
    }
    bool folds = td_ranks_here(p) > 1;
    p->scratch_bytes = (folds ? 2 : 1) * AHEAD * (int64_t)peers * p->parameter[P_SLOT_BYTES];

    /* The receiving families come first: peers name them by number. */
    unsigned recv = td_program_add(p, TD_RECV, blocks * peers, "segments to combine");
    unsigned result_recv = td_program_add(p, TD_RECV, blocks * peers, "results");
    unsigned fold = folds ? td_program_add(p, TD_COMBINE, blocks * peers, "local ranks") : 0;
    unsigned send = td_program_add(p, TD_SEND, blocks * peers, "segments to their nodes");
    unsigned combine = td_program_add(p, TD_COMBINE, blocks, "own segment");
    unsigned result_send = td_program_add(p, TD_SEND, blocks * peers, "results to all");
    if (folds) {
        td_program_need(p, fold, send, peers, peers, 1 - AHEAD);
        td_program_need(p, send, fold, 1, 1, 1);
        p->parameter[P_FOLD] = fold;
    }
    td_program_need(p, send, result_recv, peers, peers, 1 - AHEAD);
    td_program_need(p, combine, recv, 1, peers, 1);
    td_program_need(p, result_send, combine, peers, 1, 1);
    p->parameter[P_SEND] = send;
    p->parameter[P_RECV] = recv;
    p->parameter[P_COMBINE] = combine;
    p->parameter[P_RESULT_SEND] = result_send;
    p->parameter[P_RESULT_RECV] = result_recv;
}
