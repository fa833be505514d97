/* SPDX-License-Identifier: Apache-2.0 */
/* tree_reduce: a reduction to one rank along a tree (rooted_tree.h). Chunks flow up the tree. A
 * node folds its local ranks in rank order, then its children in their order, so the placement
 * alone determines the bits.
 *
 * A node has room for two blocks of chunks from each child, and for as many results on their way
 * up. When it has folded a block it takes part in a SYNC with each child, and the child continues
 * with the block after the next. The two members of a SYNC must use the same family number. It
 * follows from the child's index among its siblings, and from whether the child is an odd number of
 * edges from the root. */
#include "collectives/method.h"
#include "rooted_tree.h"

enum { RECV, COMBINE, SEND, SYNC };
enum { BLOCK = 8, WINDOW = 2 * BLOCK }; /* chunks */
struct TD_STORED parameters {
    int64_t chunk, bytes;     /* bytes of a chunk, and of the vector */
    uint32_t parent;          /* slot; the root's is its own */
    uint32_t index, siblings; /* its index among the parent's children, and their number */
    bool odd;                 /* an odd number of edges from the root */
    uint32_t local;           /* the root's local rank on its node */
    uint32_t children, child[TD_ROOTED_TREE_CHILDREN_MAX]; /* slots */
};
TD_PARAMETERS(struct parameters)
_Static_assert((int)SYNC + 2 * (int)TD_ROOTED_TREE_CHILDREN_MAX <= (int)TD_FAMILIES_MAX,
               "a family for each edge");

/* sync_family returns the family of the edge to child `index`; `odd` is that of this node. */
static unsigned sync_family(const struct td_program *p, uint64_t index, bool up)
{
    unsigned odd = parameters(p)->odd ? !up : up;
    return (odd ? SYNC : SYNC + (unsigned)TD_ROOTED_TREE_CHILDREN_MAX) + (unsigned)index;
}

static struct td_slice chunk(const struct td_program *p, enum td_space space, uint32_t rank,
                             uint64_t index)
{
    int64_t each = parameters(p)->chunk, begin = (int64_t)index * each;
    int64_t left = parameters(p)->bytes - begin;
    return td_slice_at(space, rank, begin, left < each ? left : each);
}

/* room names the place of a chunk in scratch memory: from child `lane`, or the result, which comes
 * last. */
static struct td_slice room(const struct td_program *p, uint64_t lane, uint64_t index)
{
    struct td_slice s = chunk(p, TD_SPACE_SOURCE, 0, index);
    uint64_t lanes = (uint64_t)parameters(p)->children + 1;
    s.space = TD_SPACE_SCRATCH;
    s.offset = (int64_t)(index % WINDOW * lanes + lane) * parameters(p)->chunk;
    return s;
}

static bool at_root(const struct td_program *p)
{
    return parameters(p)->parent == p->slot;
}

/* passes_on returns true if a node has nothing to fold: a leaf with one rank. */
static bool passes_on(const struct td_program *p)
{
    return !at_root(p) && parameters(p)->children == 0 && td_ranks_here(p) == 1;
}

static void sync_step(const struct td_program *p, unsigned family, struct td_step *step)
{
    unsigned place = family - SYNC;
    uint32_t index = place % TD_ROOTED_TREE_CHILDREN_MAX;
    bool up = family == sync_family(p, index, true);
    uint32_t other = up ? parameters(p)->parent : parameters(p)->child[index];
    uint32_t low = other < p->slot ? other : p->slot, high = other < p->slot ? p->slot : other;
    step->among = (struct td_among){low, 2, high - low};
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    uint64_t children = (uint64_t)parameters(p)->children;
    *step = (struct td_step){.kind = p->family[family].kind,
                             .type = p->call.type,
                             .op = p->call.op,
                             .to_lanes = {1, 0, 0}};
    if (family == RECV) {
        step->peer = p->group->node[parameters(p)->child[index % children]];
        step->to = room(p, index % children, index / children);
    } else if (family == SEND) {
        step->peer = p->group->node[parameters(p)->parent];
        step->peer_family = RECV;
        step->peer_index =
            index * (uint64_t)parameters(p)->siblings + (uint64_t)parameters(p)->index;
        step->from = passes_on(p) ? chunk(p, TD_SPACE_SOURCE, 0, index) : room(p, children, index);
    } else if (family == COMBINE) {
        step->from = chunk(p, TD_SPACE_SOURCE, 0, index);
        step->from_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
        step->with = room(p, 0, index);
        step->with_lanes = (struct td_lanes){(uint32_t)children, parameters(p)->chunk, 0};
        step->to = at_root(p) ? chunk(p, TD_SPACE_DESTINATION, parameters(p)->local, index)
                              : room(p, children, index);
    } else {
        sync_step(p, family, step);
    }
}

static void add_syncs(struct td_program *p, uint64_t chunks)
{
    uint64_t blocks = (chunks + BLOCK - 1) / BLOCK, syncs = blocks > 2 ? blocks - 2 : 0;
    unsigned up = at_root(p) ? 0 : sync_family(p, (uint64_t)parameters(p)->index, true);
    for (unsigned f = SYNC; f < SYNC + 2 * TD_ROOTED_TREE_CHILDREN_MAX; f++) {
        uint32_t index = (f - SYNC) % TD_ROOTED_TREE_CHILDREN_MAX;
        bool child = index < parameters(p)->children && f == sync_family(p, index, false);
        td_program_add(p, TD_SYNC, child || f == up ? syncs : 0, "a block is folded");
        if (child)
            td_program_need(p, f, COMBINE, 1, BLOCK, 1);
    }
    if (up)
        td_program_need(p, SEND, up, BLOCK, 1, -1);
}

static void compile(struct td_program *p, enum td_rooted_tree tree)
{
    struct td_place place;
    uint32_t root = 0, local = 0;
    td_group_locate(p->group, p->call.root, &root, &local);
    td_rooted_tree_place(p, tree, root, p->slot, &place);
    uint64_t bytes = p->call.count * td_type_bytes(p->call.type);
    uint64_t each = td_rooted_tree_chunk(p, tree, bytes);
    uint64_t chunks = (bytes + each - 1) / each, window = chunks < WINDOW ? chunks : WINDOW;
    set(p)->chunk = (int64_t)each;
    set(p)->bytes = (int64_t)bytes;
    set(p)->parent = place.parent;
    set(p)->index = place.index;
    set(p)->siblings = place.siblings;
    set(p)->odd = td_rooted_tree_depth(p, tree, root, p->slot) % 2;
    set(p)->local = local;
    set(p)->children = place.children;
    for (uint32_t i = 0; i < place.children; i++)
        set(p)->child[i] = place.child[i];
    bool folds = !passes_on(p);
    if (folds)
        p->scratch_bytes = (int64_t)(window * (place.children + 1) * each);
    td_program_add(p, TD_RECV, chunks * place.children, "from the children");
    td_program_add(p, TD_COMBINE, folds ? chunks : 0, "fold values from below");
    td_program_add(p, TD_SEND, at_root(p) ? 0 : chunks, "to the parent");
    if (place.children)
        td_program_need(p, COMBINE, RECV, 1, place.children, 1);
    if (folds && !at_root(p)) {
        td_program_need(p, SEND, COMBINE, 1, 1, 1);
        td_program_need(p, COMBINE, SEND, 1, 1, 1 - WINDOW);
    }
    add_syncs(p, chunks);
}

static void compile_planes(struct td_query *q, struct td_program *p)
{
    (void)q;
    compile(p, TD_ROOTED_TREE_PLANES);
}

static void compile_binomial(struct td_query *q, struct td_program *p)
{
    (void)q;
    compile(p, TD_ROOTED_TREE_BINOMIAL);
}

/* brackets returns true if the call allows the bracketing of the tree. */
static bool brackets(struct td_query *q)
{
    return !td_program_brackets_any(q->program) ||
           td_query_refuse(q, "values must be folded in rank order");
}

static bool planes_applies(struct td_query *q)
{
    return brackets(q) && td_rooted_tree_applies(q);
}

static bool binomial_applies(struct td_query *q)
{
    return brackets(q) && td_rooted_binomial_applies(q);
}

static uint64_t planes_cost(struct td_query *q)
{
    const struct td_program *p = q->program;
    uint64_t bytes = td_program_bytes(p);
    return td_cost_bytes(p, bytes + p->tree->hops * td_program_hop(p, bytes));
}

const struct td_method td_method_tree_reduce = {
    .name = "tree_reduce",
    .why = "chunks follow each other up the group's tree of neighbours",
    .kinds = TD_KIND_BIT(TD_KIND_REDUCE),
    .class = TD_COST_TORUS,
    .setting = TD_SETTING_ROOTED_TREE,
    .values = TD_VALUE_BIT(TD_ROOTED_TREE_PLANES),
    .applies = planes_applies,
    .cost = planes_cost,
    .compile = compile_planes,
    .step_at = step_at,
};

const struct td_method td_method_reduce_binomial = {
    .name = "reduce_binomial",
    .why = "whole vectors go up a binomial tree, for comparison",
    .kinds = TD_KIND_BIT(TD_KIND_REDUCE),
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_ROOTED_TREE,
    .values = TD_VALUE_BIT(TD_ROOTED_TREE_BINOMIAL),
    .on_request = true,
    .applies = binomial_applies,
    .compile = compile_binomial,
    .step_at = step_at,
};
