/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_stream: parallel prefix with broadcast over a combining tree (us7752421), as one stream of
 * positions. For position r every rank up to r contributes its value. Values are combined on their
 * way up a spanning tree of torus neighbours, and the result goes down to all. No position waits
 * for the one before: P positions take about P slots and one sweep up and one down, not P round
 * trips.
 *
 * A node sends nothing for positions to which no rank below it contributes. Children are in the
 * order of their lowest rank, so for any position those that have sent are the first ones. */
#include "collectives/cost/bound.h"
#include "collectives/method.h"

enum { RECV_UP, RECV_DOWN, COMBINE, SEND_UP, SEND_DOWN };
enum { CHILDREN_MAX = 2 * TD_DIMENSIONS_MAX };

/* struct child: a child in the tree, and the lowest rank in its subtree. */
struct child {
    uint32_t slot, lowest;
};

struct TD_STORED parameters {
    int64_t bytes;            /* of a position */
    uint32_t parent;          /* slot; the root's is its own */
    uint32_t lowest;          /* rank in the subtree of this node */
    uint32_t place, siblings; /* index among the parent's children, and their number */
    uint32_t children;
    struct child child[CHILDREN_MAX];
};
TD_PARAMETERS(struct parameters)

/* ---- the tree: depth is the diameter; a node's way to the root undoes its last coordinate first
 */

/* away returns the distance of a slot from the root in a dimension: along the shorter way round, or
 * from the middle of a mesh. */
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
 * rank of the slot and all of them. */
static uint32_t children_of(const struct td_group *g, const struct td_grid *grid, uint32_t slot,
                            struct child child[CHILDREN_MAX], uint32_t *all)
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
        child[place] = (struct child){slot_of[i], lowest[i]};
    }
    return children;
}

static void keep(struct td_program *p, const struct td_grid *grid)
{
    struct child sibling[CHILDREN_MAX];
    uint32_t lowest = 0, parent = parent_of(grid, p->slot), unused = 0;
    set(p)->children = children_of(p->group, grid, p->slot, set(p)->child, &lowest);
    set(p)->lowest = lowest;
    set(p)->parent = parent;
    set(p)->siblings = children_of(p->group, grid, parent, sibling, &unused);
    for (uint32_t i = 0; i < parameters(p)->siblings; i++)
        if (sibling[i].slot == p->slot)
            set(p)->place = i;
}

/* ---- steps ---- */

/* brought names the data of child i for a position; scratch memory has a row for each position. */
static struct td_slice brought(const struct td_program *p, uint64_t position, uint32_t i)
{
    int64_t bytes = parameters(p)->bytes, row = (parameters(p)->children + 1) * bytes;
    return td_slice_at(TD_SPACE_SCRATCH, 0, (int64_t)position * row + i * bytes, bytes);
}

static struct td_slice result(const struct td_program *p, uint64_t position)
{
    int64_t bytes = parameters(p)->bytes;
    return td_slice_at(TD_SPACE_DESTINATION, 0, (int64_t)position * bytes, bytes);
}

/* local_ranks_up_to returns the number of local ranks that are at most `rank`. */
static uint32_t local_ranks_up_to(const struct td_program *p, uint64_t rank)
{
    uint32_t count = 0, ranks = td_ranks_here(p);
    while (count < ranks && td_group_rank(p->group, p->slot, count) <= rank)
        count++;
    return count;
}

static void combine_step(const struct td_program *p, uint64_t position, struct td_step *step)
{
    uint32_t children = parameters(p)->children, come = 0;
    uint32_t own = local_ranks_up_to(p, position);
    bool root = parameters(p)->parent == p->slot;
    int64_t bytes = parameters(p)->bytes;
    while (come < children && parameters(p)->child[come].lowest <= position)
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

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    uint32_t children = parameters(p)->children;
    uint32_t parent = parameters(p)->parent;
    uint64_t position = family == RECV_UP || family == SEND_DOWN ? index / children : index;
    const struct child *child = &parameters(p)->child[children ? index % children : 0];
    *step = (struct td_step){.kind = p->family[family].kind,
                             .type = p->call.type,
                             .op = p->call.op,
                             .to_lanes = {1, 0, 0}};
    switch (family) {
    case RECV_UP:
        step->peer = p->group->node[child->slot];
        if (child->lowest <= position)
            step->to = brought(p, position, (uint32_t)(index % children));
        return;
    case RECV_DOWN:
        step->peer = p->group->node[parent];
        step->to = result(p, position);
        step->to_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
        return;
    case COMBINE:
        combine_step(p, position, step);
        return;
    case SEND_UP:
        step->peer = p->group->node[parent];
        step->peer_family = RECV_UP;
        step->peer_index =
            position * (uint64_t)parameters(p)->siblings + (uint64_t)parameters(p)->place;
        if ((uint64_t)parameters(p)->lowest <= position)
            step->from = brought(p, position, children);
        return;
    default:
        step->peer = p->group->node[child->slot];
        step->peer_family = RECV_DOWN;
        step->peer_index = position;
        step->from = result(p, position);
    }
}

/* scratch_of returns an upper limit of the scratch bytes of a node. */
static int64_t scratch_of(const struct td_program *p, const struct td_grid *grid)
{
    return (2 * (int64_t)grid->shape.dimensions + 1) * (int64_t)td_program_bytes(p) *
           p->group->size;
}

static void compile(struct td_program *p, const struct td_grid *grid, bool streams)
{
    uint64_t positions = p->group->size;
    set(p)->bytes = (int64_t)td_program_bytes(p);
    keep(p, grid);
    uint64_t children = parameters(p)->children;
    bool root = parameters(p)->parent == p->slot;
    p->scratch_bytes = scratch_of(p, grid);
    td_program_add(p, TD_RECV, positions * children, "values from below");
    td_program_add(p, TD_RECV, root ? 0 : positions, "results from above");
    td_program_add(p, TD_COMBINE, positions, "own value and those from below");
    td_program_add(p, TD_SEND, root ? 0 : positions, "values to the parent");
    td_program_add(p, TD_SEND, positions * children, "results to the children");
    td_program_need(p, COMBINE, RECV_UP, 1, children, 1);
    td_program_need(p, SEND_UP, COMBINE, 1, 1, 1);
    td_program_need(p, SEND_DOWN, root ? COMBINE : RECV_DOWN, children, 1, 1);
    if (!streams && !root)
        td_program_need(p, COMBINE, RECV_DOWN, 1, 1, 0);
}

static void compile_stream(struct td_query *q, struct td_program *p)
{
    compile(p, td_query_grid(q), true);
}

static void compile_round_trips(struct td_query *q, struct td_program *p)
{
    compile(p, td_query_grid(q), false);
}

static bool applies(struct td_query *q)
{
    const struct td_program *p = q->program;
    if (!td_program_is_routed(p))
        return td_query_refuse(q, "the data does not travel on links of a torus");
    if (td_program_brackets_any(p))
        return td_query_refuse(q, "values must be folded in rank order");
    if (!td_query_grid(q)->box)
        return td_query_refuse(q, "the group's nodes do not fill a box of the torus");
    return (uint64_t)scratch_of(p, &q->grid) <= p->tuning.relay_bytes ||
           td_query_refuse(q, "relays would need more memory than [alltoall] relay allows");
}

/* cost: down a tree every link carries the values of all positions. If all nodes gather all values,
 * the busiest link carries the load of an all-to-all. */
static uint64_t cost(struct td_query *q)
{
    const struct td_topology *shape = &td_query_grid(q)->shape;
    uint64_t slots = 2 * (uint64_t)td_topology_diameter(shape) + q->program->group->size - 1;
    if (slots >= td_alltoall_bound(shape, 1) / 2)
        return td_query_last(q, "all nodes gather the values faster");
    return td_cost_bytes(q->program, slots * td_program_bytes(q->program));
}

const struct td_method td_method_prefix_stream = {
    .name = "prefix_stream",
    .why = "a tree carries the stream of positions faster than all nodes gather the values",
    .kinds = TD_KIND_BIT(TD_KIND_PREFIX),
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_PREFIX,
    .values = TD_VALUE_BIT(TD_PREFIX_STREAM),
    .applies = applies,
    .cost = cost,
    .compile = compile_stream,
    .step_at = step_at,
};

/* One position after the other: shows the gain of streaming. */
const struct td_method td_method_prefix_round_trips = {
    .name = "prefix_round_trips",
    .why = "one position after the other, for comparison",
    .kinds = TD_KIND_BIT(TD_KIND_PREFIX),
    .class = TD_COST_STRAIGHT,
    .setting = TD_SETTING_PREFIX,
    .values = TD_VALUE_BIT(TD_PREFIX_ROUND_TRIPS),
    .on_request = true,
    .applies = applies,
    .compile = compile_round_trips,
    .step_at = step_at,
};
