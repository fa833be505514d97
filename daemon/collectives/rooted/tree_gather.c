/* SPDX-License-Identifier: Apache-2.0 */
/* tree_gather: gather and scatter along the group's tree of neighbours, so that no packet leaves
 * the group's nodes. An edge carries the blocks of all slots on its far side, in the tree's
 * preorder: a node has a stream to or from each child, and forwards messages one by one.
 *
 * A message is a chunk of the blocks of a run of ranks (group.h). All slots count as having as many
 * runs as the one with the most; missing runs have no bytes. */
#include "collectives/method.h"
#include "rooted_tree.h"

/* families: one RECV and one SEND per child, for the data from or for its side, and those of the
 * local ranks */
enum { MANY = TD_ROOTED_TREE_CHILDREN_MAX, RECV = 0, SEND = MANY, OWN = 2 * MANY, COPY };
struct TD_STORED parameters {
    uint32_t root, local; /* the root's slot, and its local rank there */
    int64_t bytes, chunk; /* of a rank's block, of a chunk of it */
    int64_t chunks, runs; /* of a block; of the slot with the most */
    int64_t room;         /* bytes of a message in scratch memory */
};
TD_PARAMETERS(struct parameters)
enum { CHUNKS_MAX = 16 };

/* struct message: a message of a stream. */
struct message {
    uint32_t slot;
    const struct td_run *run; /* NULL: the slot has fewer runs */
    uint64_t chunk;
};

static struct td_place place_of(const struct td_program *p, uint32_t slot)
{
    struct td_place place;
    td_rooted_tree_place(p, TD_ROOTED_TREE_PLANES, parameters(p)->root, slot, &place);
    return place;
}

/* side returns the number of slots on a slot's side of the edge to its parent, and writes the
 * first. */
static uint32_t side(const struct td_program *p, uint32_t slot, uint32_t *first)
{
    uint32_t up = td_tree_towards(p->tree, slot, parameters(p)->root);
    return td_tree_side(p->tree, slot, up, first);
}

/* offset_in returns the place of a slot in the stream of another slot's side; at least the stream's
 * length if it is not in it. */
static uint32_t offset_in(const struct td_program *p, uint32_t of, uint32_t slot)
{
    uint32_t first = 0, slots = p->group->slots;
    (void)side(p, of, &first);
    return (p->tree->place[slot] + slots - first) % slots;
}

static bool has(const struct td_program *p, uint32_t of, uint32_t slot)
{
    uint32_t first = 0;
    return offset_in(p, of, slot) < side(p, of, &first);
}

static uint64_t per_slot(const struct td_program *p)
{
    return (uint64_t)(parameters(p)->runs * parameters(p)->chunks);
}

/* message_at returns message `index` of a slot's own stream, or of that of its side. */
static struct message message_at(const struct td_program *p, uint32_t of, bool own, uint64_t index)
{
    const struct td_group *g = p->group;
    uint32_t first = 0, run = (uint32_t)(index % per_slot(p) / (uint64_t)parameters(p)->chunks);
    struct message m = {.slot = of, .chunk = index % (uint64_t)parameters(p)->chunks};
    (void)side(p, of, &first);
    if (!own)
        m.slot = p->tree->order[(first + index / per_slot(p)) % g->slots];
    if (run < g->slot_run[m.slot + 1] - g->slot_run[m.slot])
        m.run = &g->run[g->slot_run[m.slot] + run];
    return m;
}

/* piece returns the range of each rank's block that a chunk has. */
static struct td_range piece(const struct td_program *p, uint64_t chunk)
{
    uint64_t each = (uint64_t)parameters(p)->chunk, all = (uint64_t)parameters(p)->bytes;
    struct td_range r = {.begin = chunk * each};
    r.count = all - r.begin < each ? all - r.begin : each;
    return r;
}

/* at_root names the place of a message in the root's buffer, with_ranks in those of the local
 * ranks, kept in scratch memory. */
static struct td_slice at_root(const struct td_program *p, enum td_space space,
                               const struct message *m)
{
    struct td_range r = piece(p, m->chunk);
    int64_t all = parameters(p)->bytes;
    if (!m->run)
        return (struct td_slice){0};
    struct td_slice s = td_slice_at(space, parameters(p)->local,
                                    m->run->first * all + (int64_t)r.begin, (int64_t)r.count);
    td_slice_loop(&s, m->run->count, m->run->step * all, 0);
    td_slice_simplify(&s);
    return s;
}

static struct td_slice with_ranks(const struct td_program *p, enum td_space space,
                                  const struct message *m)
{
    struct td_range r = piece(p, m->chunk);
    if (!m->run)
        return (struct td_slice){0};
    struct td_slice s = td_slice_at(space, m->run->local, (int64_t)r.begin, (int64_t)r.count);
    td_slice_loop(&s, m->run->count, 0, 1);
    td_slice_simplify(&s);
    return s;
}

static struct td_slice kept(const struct td_program *p, const struct message *m)
{
    const struct td_group *g = p->group;
    if (!m->run)
        return (struct td_slice){.space = TD_SPACE_SCRATCH};
    uint64_t run = (uint64_t)(m->run - g->run) - g->slot_run[m->slot];
    uint64_t number = offset_in(p, p->slot, m->slot) * per_slot(p) +
                      run * (uint64_t)parameters(p)->chunks + m->chunk;
    return td_slice_at(TD_SPACE_SCRATCH, 0, (int64_t)number * parameters(p)->room,
                       (int64_t)piece(p, m->chunk).count * m->run->count);
}

/* number returns the index of a message in the stream of `of`'s side. */
static uint64_t number(const struct td_program *p, uint32_t of, uint32_t slot, uint64_t index)
{
    return offset_in(p, of, slot) * per_slot(p) + index % per_slot(p);
}

/* down makes a step of a scatter, up one of a gather. The family determines the child. The root's
 * messages are one family that visits the children alternately, so that all its links are busy. */
static void down(const struct td_program *p, unsigned family, uint64_t index, struct td_step *step)
{
    bool root = p->slot == parameters(p)->root, own = family >= OWN;
    struct td_place place = place_of(p, p->slot);
    uint32_t of = own ? p->slot : place.child[family % MANY], first = 0;
    if (root && !own) {
        of = place.child[index % place.children];
        index /= place.children;
        step->peer = p->group->node[of];
        if (index >= side(p, of, &first) * per_slot(p))
            return;
    }
    struct message m = message_at(p, of, own, index);
    if (family == COPY) {
        step->from = at_root(p, TD_SPACE_SOURCE, &m);
        step->to = with_ranks(p, TD_SPACE_DESTINATION, &m);
    } else if (step->kind == TD_RECV) {
        step->peer = p->group->node[place.parent];
        step->to = own ? with_ranks(p, TD_SPACE_DESTINATION, &m) : kept(p, &m);
    } else {
        struct td_place there = place_of(p, of);
        step->peer = p->group->node[of];
        step->from = root ? at_root(p, TD_SPACE_SOURCE, &m) : kept(p, &m);
        step->peer_family = OWN;
        step->peer_index = index % per_slot(p);
        for (uint32_t j = 0; m.slot != of && j < there.children; j++)
            if (has(p, there.child[j], m.slot)) {
                step->peer_family = RECV + j;
                step->peer_index = number(p, there.child[j], m.slot, index);
            }
    }
}

static void up(const struct td_program *p, unsigned family, uint64_t index, struct td_step *step)
{
    bool root = p->slot == parameters(p)->root, own = family >= OWN;
    struct td_place place = place_of(p, p->slot);
    uint32_t of = own ? p->slot : place.child[family % MANY];
    struct message m = message_at(p, of, own, index);
    if (family == COPY) {
        step->from = with_ranks(p, TD_SPACE_SOURCE, &m);
        step->to = at_root(p, TD_SPACE_DESTINATION, &m);
    } else if (step->kind == TD_RECV) {
        step->peer = p->group->node[of];
        step->to = root ? at_root(p, TD_SPACE_DESTINATION, &m) : kept(p, &m);
    } else {
        step->peer = p->group->node[place.parent];
        step->peer_family = RECV + place.index;
        step->peer_index = number(p, p->slot, m.slot, index);
        step->from = own ? with_ranks(p, TD_SPACE_SOURCE, &m) : kept(p, &m);
    }
}

static void step_at(const struct td_program *p, unsigned family, uint64_t index,
                    struct td_step *step)
{
    *step = (struct td_step){.kind = p->family[family].kind, .to_lanes = {1, 0, 0}};
    (p->call.kind == TD_KIND_SCATTER ? down : up)(p, family, index, step);
}

/* plan cuts blocks so that a message of the longest run has about the best chunk size for the
 * root's busiest edge. */
static struct parameters plan(const struct td_program *p)
{
    const struct td_group *g = p->group;
    uint32_t longest = 1, runs = 1;
    for (uint32_t s = 0; s < g->slots; s++)
        runs =
            g->slot_run[s + 1] - g->slot_run[s] > runs ? g->slot_run[s + 1] - g->slot_run[s] : runs;
    for (uint32_t r = 0; r < g->runs; r++)
        longest = g->run[r].count > longest ? g->run[r].count : longest;
    uint64_t bytes = p->call.count * td_type_bytes(p->call.type);
    uint64_t best = td_rooted_tree_chunk(p, TD_ROOTED_TREE_PLANES, bytes * g->size),
             each = best / longest;
    each = each > bytes / CHUNKS_MAX + 1 ? each : bytes / CHUNKS_MAX + 1;
    each = each < bytes ? (each + 63) & ~(uint64_t)63 : bytes;
    struct parameters k = {0};
    k.bytes = (int64_t)bytes;
    k.chunk = (int64_t)each;
    k.chunks = (int64_t)(each ? (bytes + each - 1) / each : 0);
    k.runs = runs;
    k.room = (int64_t)((each * longest + 63) & ~(uint64_t)63);
    return k;
}

/* applies: the node next to the root may have to store all messages. */
static bool applies(struct td_query *q)
{
    const struct td_program *p = q->program;
    if (!td_rooted_tree_applies(q))
        return false;
    const struct parameters k = plan(p);
    uint64_t messages = p->group->slots * (uint64_t)(k.runs * k.chunks);
    return k.room == 0 || messages <= p->tuning.relay_bytes / (uint64_t)k.room ||
           td_query_refuse(q, "relays would need more memory than [alltoall] relay allows");
}

static uint64_t cost(struct td_query *q)
{
    if (td_grid_is_torus(td_query_grid(q)))
        return td_query_last(q, "the group is a torus, on which blocks go directly");
    return 0;
}

static void compile(struct td_query *q, struct td_program *p)
{
    (void)q;
    bool scatters = p->call.kind == TD_KIND_SCATTER;
    uint32_t root = 0, local = 0;
    td_group_locate(p->group, p->call.root, &root, &local);
    *set(p) = plan(p);
    uint64_t room = (uint64_t)parameters(p)->room;
    set(p)->root = root;
    set(p)->local = local;
    struct td_place place = place_of(p, p->slot);
    uint64_t count[MANY] = {0}, own = per_slot(p), most = 0;
    uint32_t first = 0;
    bool at_top = p->slot == root;
    for (uint32_t j = 0; j < place.children; j++) {
        count[j] = side(p, place.child[j], &first) * per_slot(p);
        most = count[j] > most ? count[j] : most;
    }
    for (uint32_t j = 0; scatters && at_top && j < MANY; j++)
        count[j] = j ? 0 : most * place.children;
    if (!at_top && place.children)
        p->scratch_bytes = (int64_t)(side(p, p->slot, &first) * per_slot(p) * room);
    for (uint32_t j = 0; j < MANY; j++)
        td_program_add(p, TD_RECV, scatters && at_top ? 0 : count[j],
                       scatters ? "for a child's side" : "from a child's side");
    for (uint32_t j = 0; j < MANY; j++)
        td_program_add(p, TD_SEND, !scatters && at_top ? 0 : count[j], "forwarded");
    td_program_add(p, scatters ? TD_RECV : TD_SEND, at_top ? 0 : own,
                   scatters ? "for this node's ranks" : "of this node's ranks");
    td_program_add(p, TD_COPY, at_top ? own : 0, "blocks of local ranks");
    for (uint32_t j = 0; j < place.children && !at_top; j++)
        td_program_need(p, SEND + j, RECV + j, 1, 1, 1);
}

const struct td_method td_method_tree_gather = {
    .name = "tree_gather",
    .why = "blocks stay on links of the group's own nodes",
    .kinds = TD_KIND_BIT(TD_KIND_GATHER) | TD_KIND_BIT(TD_KIND_SCATTER),
    .class = TD_COST_TORUS,
    .setting = TD_SETTING_ROOTED_TREE,
    .values = TD_VALUE_BIT(TD_ROOTED_TREE_PLANES),
    .applies = applies,
    .cost = cost,
    .compile = compile,
    .step_at = step_at,
};
