/* SPDX-License-Identifier: Apache-2.0 */
#include "planes_call.h"

#include "base/arena.h"
#include "planes_best.h"
#include "planes_tree.h"

enum { NONE = UINT32_MAX };

/* ---- shares ---- */

/* struct branch: the slots below one child of the root. Its queue, linked by next[], holds the
 * slots that may still have neighbours outside all branches. */
struct branch {
    uint32_t slots, first, last;
};

struct shares {
    const struct td_topology *t;
    const uint32_t *node;
    uint32_t *slot; /* [nodes] */
    uint32_t *next; /* [slots] */
    uint32_t *hops; /* [slots] from the root */
    struct td_tree *tree;
    uint32_t branches, assigned;
    struct branch branch[2 * TD_DIMENSIONS_MAX];
};

/* unassigned_neighbour returns a neighbour of the slot that is in no branch, or NONE. */
static uint32_t unassigned_neighbour(const struct shares *s, uint32_t slot)
{
    for (uint32_t d = 0; d < s->t->dimensions; d++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            uint32_t n = s->slot[td_topology_neighbour(s->t, s->node[slot], d, sign)];
            if (n != NONE && s->tree->parent[n] == NONE)
                return n;
        }
    return NONE;
}

static void join_branch(struct shares *s, struct branch *b, uint32_t slot, uint32_t parent)
{
    s->tree->parent[slot] = parent;
    s->hops[slot] = s->hops[parent] + 1;
    if (s->hops[slot] > s->tree->hops)
        s->tree->hops = s->hops[slot];
    s->next[slot] = NONE;
    if (b->first == NONE)
        b->first = slot;
    else
        s->next[b->last] = slot;
    b->last = slot;
    b->slots++;
    s->assigned++;
}

/* share_out adds one slot after another, each to the smallest branch that can grow. */
static void share_out(struct shares *s, uint32_t root)
{
    s->tree->parent[root] = root;
    s->assigned = 1;
    for (uint32_t n = unassigned_neighbour(s, root); n != NONE; n = unassigned_neighbour(s, root)) {
        struct branch *b = &s->branch[s->branches++];
        *b = (struct branch){.first = NONE};
        join_branch(s, b, n, root);
    }
    for (;;) {
        struct branch *least = NULL;
        for (uint32_t i = 0; i < s->branches; i++)
            if (s->branch[i].first != NONE && (!least || s->branch[i].slots < least->slots))
                least = &s->branch[i];
        if (!least)
            return;
        uint32_t n = unassigned_neighbour(s, least->first);
        if (n != NONE)
            join_branch(s, least, n, least->first);
        else
            least->first = s->next[least->first];
    }
}

td_err td_planes_shares(struct td_tree *tree, struct td_arena *arena, const struct td_topology *t,
                        const uint32_t *node, uint32_t slots, uint32_t root)
{
    struct shares s = {.t = t,
                       .node = node,
                       .slot = td_arena_alloc(arena, t->nodes * sizeof *s.slot),
                       .next = td_arena_alloc(arena, slots * sizeof *s.next),
                       .hops = td_arena_alloc(arena, slots * sizeof *s.hops),
                       .tree = tree};
    struct td_planes p = {0};
    td_err error = td_tree_init(tree, arena, slots);
    if (error == TD_OK && (!s.slot || !s.next || !s.hops))
        error = TD_ERR_NO_MEMORY;
    if (error == TD_OK) {
        for (uint32_t n = 0; n < t->nodes; n++)
            s.slot[n] = NONE;
        for (uint32_t i = 0; i < slots; i++) {
            s.slot[node[i]] = i;
            tree->parent[i] = NONE;
        }
        share_out(&s, root);
    }
    td_arena_free(arena, s.slot);
    td_arena_free(arena, s.next);
    td_arena_free(arena, s.hops);
    if (error == TD_OK && s.assigned == slots) {
        error = td_tree_finish(tree, arena);
    } else if (error == TD_OK) {
        td_tree_free(tree, arena);
        error = td_planes_build(&p, arena, t, node, slots);
        if (error == TD_OK)
            error = td_planes_tree(&p, arena, root, tree);
        td_planes_free(&p, arena);
    }
    if (error != TD_OK)
        td_tree_free(tree, arena);
    return error;
}

/* ---- breadth first ---- */

/* reach walks breadth first from the root: each slot becomes a child of the first neighbour that
 * reaches it. It returns the number of slots reached. */
static uint32_t reach(const struct td_planes *p, uint32_t root, uint32_t *queue,
                      struct td_tree *tree)
{
    const struct td_topology *t = p->topology;
    uint32_t queued = 1;
    for (uint32_t s = 0; s < p->slots; s++)
        tree->parent[s] = NONE;
    tree->parent[root] = queue[0] = root;
    for (uint32_t i = 0; i < queued; i++)
        for (uint32_t d = 0; d < t->dimensions; d++)
            for (int sign = 1; sign >= -1; sign -= 2) {
                uint32_t next = p->slot[td_topology_neighbour(t, p->node[queue[i]], d, sign)];
                if (next == NONE || tree->parent[next] != NONE)
                    continue;
                tree->parent[next] = queue[i];
                queue[queued++] = next;
            }
    for (uint32_t at = queue[queued - 1]; at != root; at = tree->parent[at])
        tree->hops++;
    return queued;
}

/* breadth_first builds the tree of least depth from a root. The tree stays empty if it does not
 * reach all slots. */
static td_err breadth_first(const struct td_planes *p, struct td_arena *arena, uint32_t root,
                            struct td_tree *tree)
{
    td_err error = td_tree_init(tree, arena, p->slots);
    uint32_t *queue = td_arena_alloc(arena, p->slots * sizeof *queue);
    if (error == TD_OK && !queue)
        error = TD_ERR_NO_MEMORY;
    bool all = error == TD_OK && reach(p, root, queue, tree) == p->slots;
    td_arena_free(arena, queue);
    if (all)
        error = td_tree_finish(tree, arena);
    if (!all || error != TD_OK)
        td_tree_free(tree, arena);
    return error;
}

/* one_way builds the tree of a broadcast or reduction: by planes, unless the breadth-first tree is
 * less deep. Nodes forward its messages, and each link carries at most one of them. */
static td_err one_way(struct td_planes *p, struct td_arena *arena, uint32_t root,
                      struct td_tree *tree)
{
    uint32_t far = 0;
    td_err error = td_planes_tree(p, arena, root, tree);
    uint32_t depth = error == TD_OK ? td_planes_breadth(p, arena, root, &far) : NONE;
    if (error == TD_OK && depth == NONE)
        error = TD_ERR_NO_MEMORY; /* the choice is the same on every node, or none */
    if (error == TD_OK && depth < tree->hops) {
        struct td_tree breadth = {0};
        error = breadth_first(p, arena, root, &breadth);
        if (breadth.slots) {
            td_tree_free(tree, arena);
            *tree = breadth;
        }
    }
    if (error != TD_OK)
        td_tree_free(tree, arena);
    return error;
}

/* ---- trees of calls ---- */

static bool has_shares(const struct td_call *call)
{
    return call->kind == TD_KIND_GATHER || call->kind == TD_KIND_SCATTER;
}

bool td_planes_own(const struct td_call *call, uint32_t ranks)
{
    uint64_t bytes = call->count * td_type_bytes(call->type);
    bool one_way = call->kind == TD_KIND_BROADCAST || call->kind == TD_KIND_REDUCE;
    return has_shares(call) ? bytes > TD_RIDE_BYTES_MAX / ranks
                            : one_way && bytes > TD_RIDE_BYTES_MAX;
}

td_err td_planes_of_call(struct td_tree *tree, struct td_arena *arena, const struct td_topology *t,
                         const struct td_group *g, const struct td_call *call)
{
    uint32_t root = 0, local = 0;
    struct td_planes p = {0};
    if (!td_planes_own(call, g->size))
        return td_planes_best(tree, arena, t, g->node, g->slots);
    td_group_locate(g, call->root, &root, &local);
    if (has_shares(call))
        return td_planes_shares(tree, arena, t, g->node, g->slots, root);
    td_err error = td_planes_build(&p, arena, t, g->node, g->slots);
    if (error == TD_OK)
        error = one_way(&p, arena, root, tree);
    td_planes_free(&p, arena);
    return error;
}
