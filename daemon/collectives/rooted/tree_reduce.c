/* SPDX-License-Identifier: Apache-2.0 */
/* tree_reduce: a reduction to one rank along a tree (spread.h). Chunks flow up it; a node folds
 * what its own ranks have, in rank order, and what its children sent, in their order, so with the
 * same placement the bits are always the same.
 *
 * A node has room for two blocks of chunks from each child, and for as many results that are on
 * their way up. When it has folded a block it says so by a SYNC with each child, and the child goes
 * on with the block after next. A SYNC's two members know it by one family: that of the place among
 * the parent's children, and of whether the child is an odd number of edges from the root. */
#include "collectives/collectives.h"

enum { RECV, COMBINE, SEND, SYNC };
enum { BLOCK = 8, WINDOW = 2 * BLOCK }; /* chunks */
enum { P_CHUNK, P_BYTES, P_PARENT, P_INDEX, P_SIBLINGS, P_ODD, P_LOCAL, P_CHILDREN, P_CHILD };
_Static_assert((int)P_CHILD + (int)TD_ROOTED_TREE_CHILDREN_MAX <= (int)TD_PARAMETERS_MAX,
               "a node's children are among its parameters");
_Static_assert((int)SYNC + 2 * (int)TD_ROOTED_TREE_CHILDREN_MAX <= (int)TD_FAMILIES_MAX,
               "a family for each edge");

/* sync_family returns that of the edge to child `index`; P_ODD is that of this node. */
static unsigned sync_family(const struct td_program *p, uint64_t index, bool up)
{
    unsigned odd = p->parameter[P_ODD] ? !up : up;
    return (odd ? SYNC : SYNC + (unsigned)TD_ROOTED_TREE_CHILDREN_MAX) + (unsigned)index;
}

static struct td_slice chunk(const struct td_program *p, enum td_space space, uint32_t rank,
                             uint64_t index)
{
    int64_t each = p->parameter[P_CHUNK], begin = (int64_t)index * each;
    int64_t left = p->parameter[P_BYTES] - begin;
    return td_slice_at(space, rank, begin, left < each ? left : each);
}

/* room names where a chunk is kept here: that of child `lane`, or the result, which comes last. */
static struct td_slice room(const struct td_program *p, uint64_t lane, uint64_t index)
{
    struct td_slice s = chunk(p, TD_SPACE_SOURCE, 0, index);
    uint64_t lanes = (uint64_t)p->parameter[P_CHILDREN] + 1;
    s.space = TD_SPACE_SCRATCH;
    s.offset = (int64_t)(index % WINDOW * lanes + lane) * p->parameter[P_CHUNK];
    return s;
}

static bool at_root(const struct td_program *p)
{
    return (uint32_t)p->parameter[P_PARENT] == p->slot;
}

/* passes_on: a leaf with one rank has nothing to fold. */
static bool passes_on(const struct td_program *p)
{
    return !at_root(p) && p->parameter[P_CHILDREN] == 0 && td_ranks_here(p) == 1;
}

static void expand_sync(const struct td_program *p, unsigned family, struct td_step *step)
{
    unsigned place = family - SYNC;
    uint32_t index = place % TD_ROOTED_TREE_CHILDREN_MAX;
    bool up = family == sync_family(p, index, true);
    uint32_t other = (uint32_t)p->parameter[up ? P_PARENT : P_CHILD + (int)index];
    uint32_t low = other < p->slot ? other : p->slot, high = other < p->slot ? p->slot : other;
    step->among = (struct td_among){low, 2, high - low};
}

static void expand(const struct td_program *p, unsigned family, uint64_t index,
                   struct td_step *step)
{
    uint64_t children = (uint64_t)p->parameter[P_CHILDREN];
    *step = (struct td_step){.kind = p->family[family].kind,
                             .type = p->call.type,
                             .op = p->call.op,
                             .to_lanes = {1, 0, 0}};
    if (family == RECV) {
        step->peer = p->group->node[p->parameter[P_CHILD + index % children]];
        step->to = room(p, index % children, index / children);
    } else if (family == SEND) {
        step->peer = p->group->node[p->parameter[P_PARENT]];
        step->peer_family = RECV;
        step->peer_index =
            index * (uint64_t)p->parameter[P_SIBLINGS] + (uint64_t)p->parameter[P_INDEX];
        step->from = passes_on(p) ? chunk(p, TD_SPACE_SOURCE, 0, index) : room(p, children, index);
    } else if (family == COMBINE) {
        step->from = chunk(p, TD_SPACE_SOURCE, 0, index);
        step->from_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
        step->with = room(p, 0, index);
        step->with_lanes = (struct td_lanes){(uint32_t)children, p->parameter[P_CHUNK], 0};
        step->to = at_root(p)
                       ? chunk(p, TD_SPACE_DESTINATION, (uint32_t)p->parameter[P_LOCAL], index)
                       : room(p, children, index);
    } else {
        expand_sync(p, family, step);
    }
}

static const struct td_method planes = {"tree_reduce", expand};
static const struct td_method binomial = {"reduce_binomial", expand};

static void add_syncs(struct td_program *p, uint64_t chunks)
{
    uint64_t blocks = (chunks + BLOCK - 1) / BLOCK, syncs = blocks > 2 ? blocks - 2 : 0;
    unsigned up = at_root(p) ? 0 : sync_family(p, (uint64_t)p->parameter[P_INDEX], true);
    for (unsigned f = SYNC; f < SYNC + 2 * TD_ROOTED_TREE_CHILDREN_MAX; f++) {
        uint32_t index = (f - SYNC) % TD_ROOTED_TREE_CHILDREN_MAX;
        bool child =
            index < (uint32_t)p->parameter[P_CHILDREN] && f == sync_family(p, index, false);
        td_program_add(p, TD_SYNC, child || f == up ? syncs : 0, "a block is folded");
        if (child)
            td_program_need(p, f, COMBINE, 1, BLOCK, 1);
    }
    if (up)
        td_program_need(p, SEND, up, BLOCK, 1, -1);
}

void td_tree_reduce_compile(struct td_program *p, enum td_rooted_tree spread)
{
    struct td_place place;
    uint32_t root = 0, local = 0;
    td_group_locate(p->group, p->call.root, &root, &local);
    td_rooted_tree_place(p, spread, root, p->slot, &place);
    uint64_t bytes = p->call.count * td_type_bytes(p->call.type);
    uint64_t each = td_rooted_tree_chunk(p, spread, bytes);
    uint64_t chunks = (bytes + each - 1) / each, window = chunks < WINDOW ? chunks : WINDOW;
    p->method = spread == TD_ROOTED_TREE_BINOMIAL ? &binomial : &planes;
    p->parameter[P_CHUNK] = (int64_t)each;
    p->parameter[P_BYTES] = (int64_t)bytes;
    p->parameter[P_PARENT] = place.parent;
    p->parameter[P_INDEX] = place.index;
    p->parameter[P_SIBLINGS] = place.siblings;
    p->parameter[P_ODD] = td_rooted_tree_depth(p, spread, root, p->slot) % 2;
    p->parameter[P_LOCAL] = local;
    p->parameter[P_CHILDREN] = place.children;
    for (uint32_t i = 0; i < place.children; i++)
        p->parameter[P_CHILD + i] = place.child[i];
    bool folds = !passes_on(p);
    if (folds)
        p->scratch_bytes = (int64_t)(window * (place.children + 1) * each);
    td_program_add(p, TD_RECV, chunks * place.children, "from the children");
    td_program_add(p, TD_COMBINE, folds ? chunks : 0, "fold what is below");
    td_program_add(p, TD_SEND, at_root(p) ? 0 : chunks, "to the parent");
    if (place.children)
        td_program_need(p, COMBINE, RECV, 1, place.children, 1);
    if (folds && !at_root(p)) {
        td_program_need(p, SEND, COMBINE, 1, 1, 1);
        td_program_need(p, COMBINE, SEND, 1, 1, 1 - WINDOW);
    }
    add_syncs(p, chunks);
}
