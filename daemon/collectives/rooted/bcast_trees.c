/* SPDX-License-Identifier: Apache-2.0 */
/* bcast_trees: broadcast of long buffers over all links of a torus. The buffer is cut into 2 D
 * pieces, and each goes down a spanning tree of its own (trees.h); no two trees use a link in the
 * same direction, so every link carries one piece: n / (2 D) bytes.
 *
 * Chunks follow each other down a tree. */
#include "collectives/collectives.h"
#include "edge_disjoint_trees.h"

enum { CHUNK_PACKETS = 4, CHUNK_MIN = 1 << 12 };
enum { P_GRID, P_BYTES = TD_GRID_PARAMETERS, P_CHUNK, P_CHUNKS, P_ROOT, P_LOCAL };

static struct td_edge_disjoint_trees_place place_of(const struct td_program *p,
                                                    const struct td_grid *grid, uint32_t piece)
{
    struct td_edge_disjoint_trees_place at;
    td_edge_disjoint_trees_place(grid, (uint32_t)p->parameter[P_ROOT], piece, p->slot, &at);
    return at;
}

/* chunk names one of a piece's chunks. */
static struct td_slice chunk(const struct td_program *p, uint32_t pieces, enum td_space space,
                             uint32_t rank, uint32_t piece, uint64_t index)
{
    struct td_range all = td_share((uint64_t)p->parameter[P_BYTES], pieces, piece);
    uint64_t each = (uint64_t)p->parameter[P_CHUNK], begin = index * each;
    uint64_t left = begin < all.count ? all.count - begin : 0;
    return td_slice_at(space, rank, (int64_t)(all.begin + begin),
                       (int64_t)(left < each ? left : each));
}

static void expand(const struct td_program *p, unsigned family, uint64_t index,
                   struct td_step *step)
{
    struct td_grid grid = td_grid_kept(p, P_GRID);
    uint32_t pieces = 2 * grid.shape.dimensions, ranks = td_ranks_here(p);
    uint32_t local = (uint32_t)p->parameter[P_LOCAL];
    bool at_root = p->slot == (uint32_t)p->parameter[P_ROOT];
    *step = (struct td_step){.kind = p->family[family].kind, .to_lanes = {ranks, 0, 1}};
    if (family == 2 * pieces) { /* to the root's neighbours on its node, those below it and above */
        uint64_t chunks = (uint64_t)p->parameter[P_CHUNKS];
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

static const struct td_method method = {"bcast_trees", expand};

bool td_bcast_trees_compile(struct td_program *p)
{
    struct td_grid grid;
    uint32_t root = 0, local = 0;
    if (!td_edge_disjoint_trees_grid(p, &grid))
        return false;
    td_group_locate(p->group, p->call.root, &root, &local);
    uint32_t pieces = 2 * grid.shape.dimensions;
    uint64_t bytes = p->call.count * td_type_bytes(p->call.type);
    uint64_t each = (uint64_t)CHUNK_PACKETS * p->tuning.packet_bytes;
    uint64_t longest = (bytes + pieces - 1) / pieces;
    each = each > CHUNK_MIN ? each : CHUNK_MIN;
    uint64_t chunks = (longest + each - 1) / each;
    p->method = &method;
    td_grid_keep(p, P_GRID, &grid);
    p->parameter[P_BYTES] = (int64_t)bytes;
    p->parameter[P_CHUNK] = (int64_t)each;
    p->parameter[P_CHUNKS] = (int64_t)chunks;
    p->parameter[P_ROOT] = root;
    p->parameter[P_LOCAL] = local;
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
    return true;
}
