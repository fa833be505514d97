/* SPDX-License-Identifier: Apache-2.0 */
/* bcast: the root's node cuts the buffer into chunks. Every node forwards each chunk to its
 * children in a tree (rooted_tree.h) as soon as it has it, so the chunks follow each other. */
#include "collectives/method.h"
#include "rooted_tree.h"

enum { RECV, SEND, COPY_BELOW, COPY_ABOVE };
struct TD_STORED parameters {
    int64_t chunk, bytes;                                  /* bytes of a chunk, and of the buffer */
    uint32_t parent, root_slot;                            /* slots */
    uint32_t root_local;                                   /* the root's local rank on its node */
    uint32_t children, child[TD_ROOTED_TREE_CHILDREN_MAX]; /* slots */
};
TD_PARAMETERS(struct parameters)

static struct td_slice chunk(const struct td_program *p, enum td_space space, uint32_t rank,
                             uint64_t index)
{
    int64_t each = parameters(p)->chunk, begin = (int64_t)index * each;
    int64_t left = parameters(p)->bytes - begin;
    return td_slice_at(space, rank, begin, left < each ? left : each);
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    const struct td_group *g = p->group;
    uint32_t root_local = parameters(p)->root_local, ranks = td_ranks_here(p);
    bool at_root = p->slot == parameters(p)->root_slot;
    *step = (struct td_step){.kind = p->family[family].kind};
    if (family == SEND) {
        uint64_t children = (uint64_t)parameters(p)->children;
        step->peer = g->node[parameters(p)->child[index % children]];
        step->peer_family = RECV;
        step->peer_index = index / children;
        step->from = at_root ? chunk(p, TD_SPACE_SOURCE, root_local, index / children)
                             : chunk(p, TD_SPACE_DESTINATION, 0, index / children);
    } else if (family == RECV) {
        step->peer = g->node[parameters(p)->parent];
        step->to = chunk(p, TD_SPACE_DESTINATION, 0, index);
        step->to_lanes = (struct td_lanes){ranks, 0, 1};
    } else {
        bool below = family == COPY_BELOW;
        step->from = chunk(p, TD_SPACE_SOURCE, root_local, index);
        step->to = chunk(p, TD_SPACE_DESTINATION, below ? 0 : root_local + 1, index);
        step->to_lanes = (struct td_lanes){below ? root_local : ranks - root_local - 1, 0, 1};
    }
}

static void compile(struct td_program *p, enum td_rooted_tree tree)
{
    struct td_place place;
    uint32_t root = 0, local = 0;
    td_group_locate(p->group, p->call.root, &root, &local);
    td_rooted_tree_place(p, tree, root, p->slot, &place);
    uint64_t bytes = p->call.count * td_type_bytes(p->call.type);
    uint64_t each = td_rooted_tree_chunk(p, tree, bytes);
    uint64_t chunks = bytes / each + (bytes % each != 0);
    bool at_root = p->slot == root;
    set(p)->chunk = (int64_t)each;
    set(p)->bytes = (int64_t)bytes;
    set(p)->parent = place.parent;
    set(p)->root_slot = root;
    set(p)->root_local = local;
    set(p)->children = place.children;
    for (uint32_t i = 0; i < place.children; i++)
        set(p)->child[i] = place.child[i];
    td_program_add(p, TD_RECV, at_root ? 0 : chunks, "from the parent");
    td_program_add(p, TD_SEND, chunks * place.children, "to the children");
    td_program_add(p, TD_COPY, at_root && local > 0 ? chunks : 0, "to local ranks below");
    td_program_add(p, TD_COPY, at_root && local + 1 < td_ranks_here(p) ? chunks : 0,
                   "to local ranks above");
    if (!at_root && place.children)
        td_program_need(p, SEND, RECV, place.children, 1, 1);
}

static void compile_binary(struct td_query *q, struct td_program *p)
{
    (void)q;
    compile(p, TD_ROOTED_TREE_BINARY);
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

static void compile_chain(struct td_query *q, struct td_program *p)
{
    (void)q;
    compile(p, TD_ROOTED_TREE_CHAIN);
}

static uint64_t planes_cost(struct td_query *q)
{
    const struct td_program *p = q->program;
    uint64_t bytes = td_program_bytes(p);
    return td_cost_bytes(p, bytes + p->tree->hops * td_program_hop(p, bytes));
}

static uint64_t binary_cost(struct td_query *q)
{
    const struct td_program *p = q->program;
    return td_program_is_routed(p)
               ? TD_COST_UNKNOWN
               : td_rooted_tree_cost(p, TD_ROOTED_TREE_BINARY, td_program_bytes(p));
}

static uint64_t chain_cost(struct td_query *q)
{
    const struct td_program *p = q->program;
    return td_rooted_tree_cost(p, TD_ROOTED_TREE_CHAIN, td_program_bytes(p));
}

const struct td_method td_method_bcast_planes = {
    .name = "bcast_planes",
    .why = "chunks follow each other along the group's tree of neighbours",
    .kinds = TD_KIND_BIT(TD_KIND_BROADCAST),
    .class = TD_COST_TORUS,
    .setting = TD_SETTING_ROOTED_TREE,
    .values = TD_VALUE_BIT(TD_ROOTED_TREE_PLANES),
    .applies = td_rooted_tree_applies,
    .cost = planes_cost,
    .compile = compile_planes,
    .step_at = step_at,
};

const struct td_method td_method_bcast_binomial = {
    .name = "bcast_binomial",
    .why = "whole buffers go down a binomial tree, for comparison",
    .kinds = TD_KIND_BIT(TD_KIND_BROADCAST),
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_ROOTED_TREE,
    .values = TD_VALUE_BIT(TD_ROOTED_TREE_BINOMIAL),
    .on_request = true,
    .applies = td_rooted_binomial_applies,
    .compile = compile_binomial,
    .step_at = step_at,
};

const struct td_method td_method_bcast = {
    .name = "bcast",
    .why = "chunks follow each other down a binary tree of the group's nodes",
    .kinds = TD_KIND_BIT(TD_KIND_BROADCAST),
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_ROOTED_TREE,
    .values = TD_VALUE_BIT(TD_ROOTED_TREE_BINARY),
    .fallback = true,
    .cost = binary_cost,
    .compile = compile_binary,
    .step_at = step_at,
};

const struct td_method td_method_bcast_chain = {
    .name = "bcast_chain",
    .why = "chunks follow each other from node to node, and the root sends each only once",
    .kinds = TD_KIND_BIT(TD_KIND_BROADCAST),
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_ROOTED_TREE,
    .values = TD_VALUE_BIT(TD_ROOTED_TREE_CHAIN),
    .applies = td_rooted_chain_applies,
    .cost = chain_cost,
    .compile = compile_chain,
    .step_at = step_at,
};
