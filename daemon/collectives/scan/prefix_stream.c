/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_stream: parallel prefix with broadcast over a combining tree (us7752421), as one stream of
 * positions. For position r every rank up to r contributes its value; values are combined on their
 * way up a spanning tree of torus neighbours, and the result goes down to all. No position waits
 * for the one before: P positions take about P slots and one way up and one down, not P round
 * trips.
 *
 * A node sends nothing for positions to which nothing below it contributes. Children come in the
 * order of their lowest rank, so for any position those that have sent are the first ones. */
#include "prefix_stream.h"

#include "collectives/collectives.h"

enum { RECV_UP, RECV_DOWN, COMBINE, SEND_UP, SEND_DOWN };
enum { P_BYTES, P_PARENT, P_LOWEST, P_PLACE, P_SIBLINGS, P_CHILDREN, P_CHILD };
enum { CHILDREN_MAX = 2 * TD_DIMENSIONS_MAX };
/* P_LOWEST: rank here or below; P_PLACE: among the parent's children, P_SIBLINGS of them;
 * P_CHILD + i: slot * 2^32 + the lowest rank below, of child i */
_Static_assert((int)P_CHILD + (int)CHILDREN_MAX <= (int)TD_PARAMETERS_MAX, "all are kept");

/* ---- the tree: depth is the diameter; a node's way to the root undoes its last coordinate first
 */

/* away returns how far a slot is from the root in a dimension: along the shorter way round, or from
 * the middle of a mesh. */
static int32_t away(const struct td_grid *grid, uint32_t slot, uint32_t d)
{
    int32_t k = (int32_t)grid->shape.size[d], at = (int32_t)td_grid_coordinate(grid, slot, d);
    if (!grid->shape.wrap[d])
        return at - k / 2;
    return at <= k / 2 ? at : at - k;
}

static uint32_t parent_of(const struct td_grid *grid, uint32_t slot)
{
    for (uint32_t d = grid->shape.dimensions; d-- > 0;) {
        int32_t x = away(grid, slot, d);
        uint32_t k = grid->shape.size[d], at = td_grid_coordinate(grid, slot, d);
        if (x)
            return td_grid_moved(grid, slot, d, (x > 0 ? at + k - 1 : at + 1) % k);
    }
    return slot;
}

static uint32_t lowest_rank(const struct td_group *g, uint32_t slot)
{
    uint32_t lowest = UINT32_MAX;
    for (uint32_t i = g->slot_run[slot]; i < g->slot_run[slot + 1]; i++)
        lowest = g->run[i].first < lowest ? g->run[i].first : lowest;
    return lowest;
}

static bool below(const struct td_grid *grid, uint32_t slot, uint32_t top)
{
    while (slot != top && parent_of(grid, slot) != slot)
        slot = parent_of(grid, slot);
    return slot == top;
}

/* children_of finds the children of a slot, ordered by the lowest rank below each, and the lowest
 * of the slot and all of them. */
static uint32_t children_of(const struct td_group *g, const struct td_grid *grid, uint32_t slot,
                            int64_t child[CHILDREN_MAX], uint32_t *all)
{
    uint32_t lowest[CHILDREN_MAX], slot_of[CHILDREN_MAX], children = 0;
    *all = lowest_rank(g, slot);
    for (uint32_t s = 0; s < g->slots; s++)
        if (s != slot && parent_of(grid, s) == slot) {
            slot_of[children] = s;
            lowest[children++] = UINT32_MAX;
        }
    for (uint32_t s = 0; s < g->slots; s++)
        for (uint32_t i = 0; i < children; i++) {
            uint32_t rank = below(grid, s, slot_of[i]) ? lowest_rank(g, s) : UINT32_MAX;
            lowest[i] = rank < lowest[i] ? rank : lowest[i];
            *all = rank < *all ? rank : *all;
        }
    for (uint32_t i = 0; i < children; i++) {
        uint32_t place = 0;
        for (uint32_t j = 0; j < children; j++)
            place += lowest[j] < lowest[i];
        child[place] = (int64_t)((uint64_t)slot_of[i] << 32 | lowest[i]);
    }
    return children;
}

static uint32_t slot_in(int64_t kept)
{
    return (uint32_t)((uint64_t)kept >> 32);
}

static uint32_t rank_in(int64_t kept)
{
    return (uint32_t)kept;
}

static void keep(struct td_program *p, const struct td_grid *grid)
{
    int64_t sibling[CHILDREN_MAX];
    uint32_t lowest = 0, parent = parent_of(grid, p->slot), unused = 0;
    p->parameter[P_CHILDREN] =
        children_of(p->group, grid, p->slot, &p->parameter[P_CHILD], &lowest);
    p->parameter[P_LOWEST] = lowest;
    p->parameter[P_PARENT] = parent;
    p->parameter[P_SIBLINGS] = children_of(p->group, grid, parent, sibling, &unused);
    for (int64_t i = 0; i < p->parameter[P_SIBLINGS]; i++)
        if (slot_in(sibling[i]) == p->slot)
            p->parameter[P_PLACE] = i;
}

/* ---- steps ---- */

/* brought names what child i sends for a position; scratch has a row for each position. */
static struct td_slice brought(const struct td_program *p, uint64_t position, uint32_t i)
{
    int64_t bytes = p->parameter[P_BYTES], row = (p->parameter[P_CHILDREN] + 1) * bytes;
    return td_slice_at(TD_SPACE_SCRATCH, 0, (int64_t)position * row + i * bytes, bytes);
}

static struct td_slice result(const struct td_program *p, uint64_t position)
{
    int64_t bytes = p->parameter[P_BYTES];
    return td_slice_at(TD_SPACE_DESTINATION, 0, (int64_t)position * bytes, bytes);
}

/* local_ranks_up_to returns how many of the ranks here are at most `rank`. */
static uint32_t local_ranks_up_to(const struct td_program *p, uint64_t rank)
{
    uint32_t count = 0, ranks = td_ranks_here(p);
    while (count < ranks && td_group_rank(p->group, p->slot, count) <= rank)
        count++;
    return count;
}

static void expand_combine(const struct td_program *p, uint64_t position, struct td_step *step)
{
    uint32_t children = (uint32_t)p->parameter[P_CHILDREN], come = 0;
    uint32_t own = local_ranks_up_to(p, position);
    bool root = (uint32_t)p->parameter[P_PARENT] == p->slot;
    int64_t bytes = p->parameter[P_BYTES];
    while (come < children && rank_in(p->parameter[P_CHILD + come]) <= position)
        come++;
    if (own + come == 0)
        return;
    const struct td_lanes values = {own, 0, 1}, rows = {come, bytes, 0};
    step->from = own ? td_slice_at(TD_SPACE_SOURCE, 0, 0, bytes) : brought(p, position, 0);
    step->from_lanes = own ? values : rows;
    if (own && come) {
        step->with = brought(p, position, 0);
        step->with_lanes = rows;
    }
    step->to = root ? result(p, position) : brought(p, position, children);
    step->to_lanes = (struct td_lanes){root ? td_ranks_here(p) : 1, 0, root};
}

static void expand(const struct td_program *p, unsigned family, uint64_t index,
                   struct td_step *step)
{
    uint32_t children = (uint32_t)p->parameter[P_CHILDREN];
    uint32_t parent = (uint32_t)p->parameter[P_PARENT];
    uint64_t position = family == RECV_UP || family == SEND_DOWN ? index / children : index;
    int64_t child = children ? p->parameter[P_CHILD + index % children] : 0;
    *step = (struct td_step){.kind = p->family[family].kind,
                             .type = p->call.type,
                             .op = p->call.op,
                             .to_lanes = {1, 0, 0}};
    switch (family) {
    case RECV_UP:
        step->peer = p->group->node[slot_in(child)];
        if (rank_in(child) <= position)
            step->to = brought(p, position, (uint32_t)(index % children));
        return;
    case RECV_DOWN:
        step->peer = p->group->node[parent];
        step->to = result(p, position);
        step->to_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
        return;
    case COMBINE:
        expand_combine(p, position, step);
        return;
    case SEND_UP:
        step->peer = p->group->node[parent];
        step->peer_family = RECV_UP;
        step->peer_index =
            position * (uint64_t)p->parameter[P_SIBLINGS] + (uint64_t)p->parameter[P_PLACE];
        if ((uint64_t)p->parameter[P_LOWEST] <= position)
            step->from = brought(p, position, children);
        return;
    default:
        step->peer = p->group->node[slot_in(child)];
        step->peer_family = RECV_DOWN;
        step->peer_index = position;
        step->from = result(p, position);
    }
}

static const struct td_method method = {"prefix_stream", expand};
static const struct td_method round_trips = {"prefix_round_trips", expand};

void td_prefix_stream_compile(struct td_program *p, const struct td_grid *grid)
{
    uint64_t positions = p->group->size;
    bool naive = p->tuning.prefix == TD_PREFIX_ROUND_TRIPS;
    p->method = naive ? &round_trips : &method;
    p->parameter[P_BYTES] = (int64_t)(p->call.count * td_type_bytes(p->call.type));
    keep(p, grid);
    uint64_t children = (uint64_t)p->parameter[P_CHILDREN];
    bool root = (uint32_t)p->parameter[P_PARENT] == p->slot;
    p->scratch_bytes = td_prefix_stream_scratch(p, grid);
    td_program_add(p, TD_RECV, positions * children, "values from below");
    td_program_add(p, TD_RECV, root ? 0 : positions, "results from above");
    td_program_add(p, TD_COMBINE, positions, "own value and those from below");
    td_program_add(p, TD_SEND, root ? 0 : positions, "values to the parent");
    td_program_add(p, TD_SEND, positions * children, "results to the children");
    td_program_need(p, COMBINE, RECV_UP, 1, children, 1);
    td_program_need(p, SEND_UP, COMBINE, 1, 1, 1);
    td_program_need(p, SEND_DOWN, root ? COMBINE : RECV_DOWN, children, 1, 1);
    if (naive && !root) /* what a position is worth, and beside it what streaming is */
        td_program_need(p, COMBINE, RECV_DOWN, 1, 1, 0);
}

int64_t td_prefix_stream_scratch(const struct td_program *p, const struct td_grid *grid)
{
    int64_t bytes = (int64_t)(p->call.count * td_type_bytes(p->call.type));
    return (2 * (int64_t)grid->shape.dimensions + 1) * bytes * p->group->size;
}
