/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_trees: a reduction of long vectors to one rank over all links of a torus: bcast_trees in
 * the opposite direction (edge_disjoint_trees.h). The vector is cut into 2 D pieces. Each comes up
 * a tree of its own, so every link carries n / (2 D) bytes. A node folds its local ranks in rank
 * order, then its children in their order.
 *
 * Chunks follow each other. Long vectors are cut into segments, and scratch memory holds two of
 * them. After a barrier all nodes may begin the segment after the next. */
#include "collectives/method.h"
#include "collectives/rooted/edge_disjoint_trees.h"

#include <assert.h>

enum { AHEAD = 2, CHUNK_PACKETS = 4, CHUNK_MIN = 1 << 12, DIMENSIONS_MAX = 6 };
/* Families of each piece, role by role; then one step without bytes per dimension at the end of a
 * segment, and the barrier. */
enum { RECV, COMBINE, SEND, ROLES };
_Static_assert((ROLES + 1) * 2 * DIMENSIONS_MAX <= (int)TD_FAMILIES_MAX, "all have one");
_Static_assert((int)DIMENSIONS_MAX >= (int)TD_DIMENSIONS_MAX, "any torus will do");
struct TD_STORED parameters {
    struct td_grid grid;
    int64_t chunk;  /* elements */
    int64_t chunks; /* of a piece of a segment */
    int64_t segments;
    uint32_t root, local; /* the root's slot, and its local rank there */
    int64_t room;         /* bytes of a chunk in scratch memory */
};
TD_PARAMETERS(struct parameters)

static struct td_edge_disjoint_trees_place place_of(const struct td_program *p,
                                                    const struct td_grid *grid, uint32_t piece)
{
    struct td_edge_disjoint_trees_place at;
    td_edge_disjoint_trees_place(grid, parameters(p)->root, piece, p->slot, &at);
    return at;
}

/* rooms returns the number of chunks in scratch memory: the result, and one from each child. */
static uint32_t rooms(const struct td_edge_disjoint_trees_place *at)
{
    return at->children + 1;
}

static uint32_t pieces_of(const struct td_grid *grid)
{
    return 2 * grid->shape.dimensions;
}

/* chunk names chunk `index` of a piece of the vector, segment after segment. */
static struct td_slice chunk(const struct td_program *p, uint32_t pieces, enum td_space space,
                             uint32_t rank, uint32_t piece, uint64_t index)
{
    uint64_t element = td_type_bytes(p->call.type), each = (uint64_t)parameters(p)->chunk;
    struct td_range all = td_share(p->call.count, pieces, piece);
    uint64_t begin = index * each, left = begin < all.count ? all.count - begin : 0;
    return td_slice_at(space, rank, (int64_t)((all.begin + begin) * element),
                       (int64_t)((left < each ? left : each) * element));
}

/* room names the place of that chunk in scratch memory: from child `lane`, or the result, which
 * comes last. */
static struct td_slice room(const struct td_program *p, const struct td_grid *grid, uint32_t piece,
                            uint32_t lane, uint64_t index)
{
    uint64_t chunks = (uint64_t)parameters(p)->chunks, lanes = 0, before = 0;
    for (uint32_t i = 0; i < pieces_of(grid); i++) {
        struct td_edge_disjoint_trees_place at = place_of(p, grid, i);
        before += i < piece ? rooms(&at) : 0;
        lanes += rooms(&at);
    }
    struct td_slice s = chunk(p, pieces_of(grid), TD_SPACE_SCRATCH, 0, piece, index);
    struct td_edge_disjoint_trees_place at = place_of(p, grid, piece);
    uint64_t place = index / chunks % AHEAD * lanes * chunks + before * chunks +
                     index % chunks * rooms(&at) + lane;
    s.offset = (int64_t)place * parameters(p)->room;
    return s;
}

/* passes_on returns true if a node has nothing to fold: a leaf with one rank. */
static bool passes_on(const struct td_program *p, const struct td_edge_disjoint_trees_place *at)
{
    return at->parent != p->slot && at->children == 0 && td_ranks_here(p) == 1;
}

/* index_among returns the index of a node among its parent's children. */
static uint32_t index_among(const struct td_program *p, const struct td_grid *grid, uint32_t piece,
                            uint32_t parent, uint32_t *siblings)
{
    struct td_edge_disjoint_trees_place above;
    uint32_t i = 0;
    td_edge_disjoint_trees_place(grid, parameters(p)->root, piece, parent, &above);
    while (above.child[i] != p->slot)
        i++;
    *siblings = above.children;
    return i;
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    struct td_grid grid = parameters(p)->grid;
    uint32_t pieces = pieces_of(&grid), role = family / pieces, piece = family % pieces;
    struct td_edge_disjoint_trees_place at = place_of(p, &grid, piece);
    *step = (struct td_step){.kind = p->family[family].kind,
                             .type = p->call.type,
                             .op = p->call.op,
                             .to_lanes = {1, 0, 0}};
    if (role == ROLES) {
        step->among = (struct td_among){0, p->group->slots, 1};
    } else if (role == RECV) {
        uint32_t lane = (uint32_t)(index % at.children);
        step->peer = p->group->node[at.child[lane]];
        step->to = room(p, &grid, piece, lane, index / at.children);
    } else if (role == SEND) {
        uint32_t siblings = 1, place = index_among(p, &grid, piece, at.parent, &siblings);
        step->peer = p->group->node[at.parent];
        step->peer_family = RECV * pieces + piece;
        step->peer_index = index * siblings + place;
        step->sign = piece % 2 ? 1 : -1;
        step->from = passes_on(p, &at) ? chunk(p, pieces, TD_SPACE_SOURCE, 0, piece, index)
                                       : room(p, &grid, piece, at.children, index);
    } else {
        bool ends = at.parent == p->slot;
        uint32_t local = parameters(p)->local;
        step->from = chunk(p, pieces, TD_SPACE_SOURCE, 0, piece, index);
        step->from_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
        step->with = room(p, &grid, piece, 0, index);
        step->with_lanes = (struct td_lanes){at.children, parameters(p)->room, 0};
        step->to = ends ? chunk(p, pieces, TD_SPACE_DESTINATION, local, piece, index)
                        : room(p, &grid, piece, at.children, index);
    }
}

/* plan computes the parameters of all steps, and returns the number of segments. */
static uint64_t plan(struct td_program *p, const struct td_grid *grid)
{
    uint32_t pieces = pieces_of(grid);
    uint64_t element = td_type_bytes(p->call.type);
    uint64_t each = (uint64_t)CHUNK_PACKETS * p->tuning.packet_bytes;
    each = (each > CHUNK_MIN ? each : CHUNK_MIN) / element;
    uint64_t longest = (p->call.count + pieces - 1) / pieces;
    each = each < longest ? each : longest;
    uint64_t room_bytes = (each * element + 15) & ~(uint64_t)15, lanes = 0, most_lanes = 0;
    /* an upper limit, the same on all nodes */
    most_lanes = pieces * (uint64_t)(grid->shape.dimensions + 2);
    uint64_t chunks = (longest + each - 1) / each;
    uint64_t most = p->tuning.relay_bytes / (AHEAD * most_lanes * room_bytes);
    most = most ? most : 1;
    uint64_t per_segment = chunks < most ? chunks : most;
    assert(per_segment > 0);
    uint64_t segments = (chunks + per_segment - 1) / per_segment;
    set(p)->chunk = (int64_t)each;
    set(p)->chunks = (int64_t)per_segment;
    set(p)->segments = (int64_t)segments;
    set(p)->room = (int64_t)room_bytes;
    for (uint32_t i = 0; i < pieces; i++) {
        struct td_edge_disjoint_trees_place at = place_of(p, grid, i);
        lanes += rooms(&at);
    }
    uint64_t areas = segments < AHEAD ? segments : AHEAD;
    p->scratch_bytes = (int64_t)(areas * lanes * per_segment * room_bytes);
    return segments;
}

static bool applies(struct td_query *q)
{
    if (td_program_brackets_any(q->program))
        return td_query_refuse(q, "values must be folded in rank order");
    return td_edge_disjoint_trees_applies(q);
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
    set(p)->grid = grid;
    set(p)->root = root;
    set(p)->local = local;
    uint64_t segments = plan(p, &grid), chunks = (uint64_t)parameters(p)->chunks;
    uint32_t pieces = pieces_of(&grid);
    uint64_t all = segments * chunks, ahead = segments > AHEAD ? segments - AHEAD : 0;
    for (unsigned role = 0; role < ROLES; role++)
        for (uint32_t i = 0; i < pieces; i++) {
            struct td_edge_disjoint_trees_place at = place_of(p, &grid, i);
            if (role == RECV)
                td_program_add(p, TD_RECV, all * at.children, "from below in a tree");
            else if (role == COMBINE)
                td_program_add(p, TD_COMBINE, passes_on(p, &at) ? 0 : all,
                               "fold values from below");
            else
                td_program_add(p, TD_SEND, p->slot == root ? 0 : all, "chunks up a tree");
        }
    unsigned done = ROLES * pieces;
    for (uint32_t d = 0; d < grid.shape.dimensions; d++)
        td_program_add(p, TD_COPY, ahead, "end of a segment");
    unsigned again = td_program_add(p, TD_SYNC, ahead, "barrier before scratch is reused");
    for (uint32_t i = 0; i < pieces; i++) {
        struct td_edge_disjoint_trees_place at = place_of(p, &grid, i);
        unsigned combine = COMBINE * pieces + i, send = SEND * pieces + i;
        if (at.children)
            td_program_need(p, combine, RECV * pieces + i, 1, at.children, 1);
        if (p->slot != root && !passes_on(p, &at))
            td_program_need(p, send, combine, 1, 1, 1);
        td_program_need(p, passes_on(p, &at) ? send : combine, again, chunks, 1, 1 - AHEAD);
        td_program_need(p, done + i / 2, combine, 1, chunks, 1);
        td_program_need(p, done + i / 2, send, 1, chunks, 1);
    }
    for (uint32_t d = 1; d < grid.shape.dimensions; d++)
        td_program_need(p, done + d, done + d - 1, 1, 1, 1);
    td_program_need(p, again, again - 1, 1, 1, 1);
}

const struct td_method td_method_reduce_trees = {
    .name = "reduce_trees",
    .why = "the group is a torus, and every link carries a part of the data",
    .kinds = TD_KIND_BIT(TD_KIND_REDUCE),
    .class = TD_COST_TORUS,
    .setting = TD_SETTING_ROOTED_TREE,
    .values = TD_VALUE_BIT(TD_ROOTED_TREE_LINKS),
    .applies = applies,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
