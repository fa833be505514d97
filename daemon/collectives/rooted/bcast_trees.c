/* SPDX-License-Identifier: Apache-2.0 */
/* bcast_trees: broadcast of long buffers over all links of a torus. The buffer is cut into 2 D
 * pieces. Each goes down a spanning tree of its own (edge_disjoint_trees.h). No two trees use a
 * link in the same direction, so every link carries one piece: n / (2 D) bytes.
 *
 * Chunks follow each other down a tree. */
#include "collectives/method.h"
#include "edge_disjoint_trees.h"

enum { CHUNK_PACKETS = 4, CHUNK_MIN = 1 << 12 };
struct TD_STORED parameters {
    struct td_grid grid;
    uint64_t bytes, chunk; /* of the buffer, of a chunk */
    uint64_t chunks;       /* of a piece */
    uint32_t root, local;  /* the root's slot, and its local rank there */
};
TD_PARAMETERS(struct parameters)

static struct td_edge_disjoint_trees_place place_of(const struct td_program *p,
                                                    const struct td_grid *grid, uint32_t piece)
{
    struct td_edge_disjoint_trees_place at;
    td_edge_disjoint_trees_place(grid, parameters(p)->root, piece, p->slot, &at);
    return at;
}

/* chunk names one of a piece's chunks. */
static struct td_slice chunk(const struct td_program *p, uint32_t pieces, enum td_space space,
                             uint32_t rank, uint32_t piece, uint64_t index)
{
    struct td_range all = td_share(parameters(p)->bytes, pieces, piece);
    uint64_t each = parameters(p)->chunk, begin = index * each;
    uint64_t left = begin < all.count ? all.count - begin : 0;
    return td_slice_at(space, rank, (int64_t)(all.begin + begin),
                       (int64_t)(left < each ? left : each));
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    struct td_grid grid = parameters(p)->grid;
    uint32_t pieces = 2 * grid.shape.dimensions, ranks = td_ranks_here(p);
    uint32_t local = parameters(p)->local;
    bool at_root = p->slot == parameters(p)->root;
    *step = (struct td_step){.kind = p->family[family].kind, .to_lanes = {ranks, 0, 1}};
    if (family ==
        2 * pieces) { /* to the other local ranks on the root's node, those below it and above */
        uint64_t chunks = parameters(p)->chunks;
        bool above = index >= chunks * pieces;
        uint32_t piece = (uint32_t)(index / chunks % pieces);
        step->from = chunk(p, pieces, TD_SPACE_SOURCE, local, piece, index % chunks);
        step->to =
            chunk(p, pieces, TD_SPACE_DESTINATION, above ? local + 1 : 0, piece, index % chunks);
        step->to_lanes.count = above ? ranks - local - 1 : local;
        return;
    }
    uint32_t piece = family % pieces;
    struct td_edge_disjoint_trees_place at = place_of(p, &grid, piece);
    step->sign = piece % 2 ? -1 : 1;
    if (step->kind == TD_RECV) {
        step->peer = p->group->node[at.parent];
        step->to = chunk(p, pieces, TD_SPACE_DESTINATION, 0, piece, index);
        return;
    }
    step->peer = p->group->node[at.child[index % at.children]];
    step->peer_family = piece;
    step->peer_index = index / at.children;
    step->from = at_root ? chunk(p, pieces, TD_SPACE_SOURCE, local, piece, step->peer_index)
                         : chunk(p, pieces, TD_SPACE_DESTINATION, 0, piece, step->peer_index);
}

static uint64_t cost(struct td_query *q)
{
    const struct td_program *p = q->program;
    const struct td_topology *shape = &td_query_grid(q)->shape;
    uint64_t trees = 2 * shape->dimensions, piece = (td_program_bytes(p) + trees - 1) / trees;
    return td_cost_bytes(p, piece + td_topology_diameter(shape) * td_program_hop(p, piece));
}

static void compile(struct td_query *q, struct td_program *p)
{
    const struct td_grid grid = *td_query_grid(q);
    uint32_t root = 0, local = 0;
    td_group_locate(p->group, p->call.root, &root, &local);
    uint32_t pieces = 2 * grid.shape.dimensions;
    uint64_t bytes = p->call.count * td_type_bytes(p->call.type);
    uint64_t each = (uint64_t)CHUNK_PACKETS * p->tuning.packet_bytes;
    uint64_t longest = (bytes + pieces - 1) / pieces;
    each = each > CHUNK_MIN ? each : CHUNK_MIN;
    uint64_t chunks = (longest + each - 1) / each;
    set(p)->grid = grid;
    set(p)->bytes = bytes;
    set(p)->chunk = each;
    set(p)->chunks = chunks;
    set(p)->root = root;
    set(p)->local = local;
    bool at_root = p->slot == root;
    for (uint32_t i = 0; i < pieces; i++)
        td_program_add(p, TD_RECV, at_root ? 0 : chunks, "chunks of a piece");
    for (uint32_t i = 0; i < pieces; i++) {
        struct td_edge_disjoint_trees_place at = place_of(p, &grid, i);
        unsigned send = td_program_add(p, TD_SEND, chunks * at.children, "chunks down a tree");
        if (!at_root && at.children)
            td_program_need(p, send, i, at.children, 1, 1);
    }
    td_program_add(p, TD_COPY, at_root ? 2 * pieces * chunks : 0, "to local ranks");
}

const struct td_method td_method_bcast_trees = {
    .name = "bcast_trees",
    .why = "the group is a torus, and every link carries a part of the data",
    .kinds = TD_KIND_BIT(TD_KIND_BROADCAST),
    .class = TD_COST_TORUS,
    .setting = TD_SETTING_ROOTED_TREE,
    .values = TD_VALUE_BIT(TD_ROOTED_TREE_LINKS),
    .applies = td_edge_disjoint_trees_applies,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
