/* SPDX-License-Identifier: Apache-2.0 */
/* bcast_trees: broadcast of long buffers over all links of a torus. The buffer is cut into 2 D
 * pieces, and each goes down a spanning tree of its own; no two trees use a link in the same
 * direction, so every link carries one piece: n / (2 D) bytes.
 *
 * The tree of piece (p, +), with the root at the origin: along p from the root; from all nodes of
 * that line but the root along p + 1; from all of those along p + 2, and so on; and what is left,
 * the nodes with coordinate 0 in p, is reached by the links that close the rings of p. Of piece
 * (p, -) it is the mirror image. Two trees that both go along d before it is the turn of p = d
 * differ in whether the coordinate of the one that started farther away is 0.
 *
 * Chunks follow each other down a tree. */
#include "collectives.h"
#include "grid.h"

enum { CHUNK_PACKETS = 4, CHUNK_MIN = 1 << 12 };
enum { P_GRID, P_BYTES = TD_GRID_PARAMETERS, P_CHUNK, P_CHUNKS, P_ROOT, P_LOCAL };

/* struct place: where this node is in the tree of a piece. */
struct place {
    uint32_t parent;                                 /* slot; this node's own at the root */
    uint32_t children, child[TD_DIMENSIONS_MAX + 1]; /* slots */
};

/* struct walker: coordinates relative to the root, so that the piece goes "up" in each. */
struct walker {
    const struct td_grid *grid;
    uint32_t root, first; /* slot; the piece's dimension */
    bool back;            /* the piece of the mirror image */
    uint32_t x[TD_DIMENSIONS_MAX];
};

static void look(struct walker *w, uint32_t slot)
{
    for (uint32_t d = 0; d < w->grid->shape.dimensions; d++) {
        uint32_t k = w->grid->shape.size[d];
        uint32_t at = td_grid_coordinate(w->grid, slot, d),
                 from = td_grid_coordinate(w->grid, w->root, d);
        w->x[d] = w->back ? (from + k - at) % k : (at + k - from) % k;
    }
}

/* with returns the slot of these coordinates with x[d] replaced. */
static uint32_t with(const struct walker *w, uint32_t slot, uint32_t d, uint32_t x)
{
    uint32_t k = w->grid->shape.size[d], from = td_grid_coordinate(w->grid, w->root, d);
    return td_grid_moved(w->grid, slot, d, w->back ? (from + k - x) % k : (from + x) % k);
}

/* turn returns dimension i of the piece's order. */
static uint32_t turn(const struct walker *w, uint32_t i)
{
    return (w->first + i) % w->grid->shape.dimensions;
}

static struct place place_in(struct walker *w, uint32_t slot)
{
    uint32_t dimensions = w->grid->shape.dimensions, last = UINT32_MAX, p = w->first;
    struct place at = {.parent = slot};
    look(w, slot);
    for (uint32_t i = 0; i < dimensions; i++)
        if (w->x[turn(w, i)])
            last = i;
    if (last == UINT32_MAX) {
        at.child[at.children++] = with(w, slot, p, 1);
        return at;
    }
    if (w->x[p] == 0) {
        at.parent = with(w, slot, p, w->grid->shape.size[p] - 1);
        return at;
    }
    uint32_t d = turn(w, last);
    at.parent = with(w, slot, d, w->x[d] - 1);
    if (w->x[d] + 1 < w->grid->shape.size[d])
        at.child[at.children++] = with(w, slot, d, w->x[d] + 1);
    for (uint32_t i = last + 1; i < dimensions; i++)
        at.child[at.children++] = with(w, slot, turn(w, i), 1);
    if (last > 0 && w->x[p] + 1 == w->grid->shape.size[p])
        at.child[at.children++] = with(w, slot, p, 0);
    return at;
}

static struct place place_of(const struct td_program *p, const struct td_grid *grid, uint32_t piece)
{
    struct walker w = {.grid = grid,
                       .root = (uint32_t)p->parameter[P_ROOT],
                       .first = piece / 2,
                       .back = piece % 2};
    return place_in(&w, p->slot);
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
    struct place at = place_of(p, &grid, piece);
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
    td_grid_of(p->group, p->topology, &grid);
    td_group_locate(p->group, p->call.root, &root, &local);
    for (uint32_t d = 0; d < grid.shape.dimensions; d++)
        if (!grid.shape.wrap[d] || !grid.box || grid.shape.size[d] < 2)
            return false;
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
        struct place at = place_of(p, &grid, i);
        unsigned send = td_program_add(p, TD_SEND, chunks * at.children, "chunks down a tree");
        if (!at_root && at.children)
            td_program_need(p, send, i, at.children, 1, 1);
    }
    td_program_add(p, TD_COPY, at_root ? 2 * pieces * chunks : 0, "to local ranks");
    return true;
}
