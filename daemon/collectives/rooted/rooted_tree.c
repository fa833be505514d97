/* SPDX-License-Identifier: Apache-2.0 */
#include "rooted_tree.h"

#include "collectives/cost/pipeline.h"
#include "model/group.h"

enum { ARITY = 2, CHUNK_PACKETS_MAX = 64, CHUNK_MAX = 1 << 20 };

/* The binary and binomial trees and the chain number the slots from the root's slot on. */
static uint32_t turned(const struct td_program *p, uint32_t root, uint32_t slot)
{
    return (slot + p->group->slots - root) % p->group->slots;
}

/* lowest_bit returns the lowest set bit of v; for 0, a bit above all others. */
static uint32_t lowest_bit(uint32_t v)
{
    return v ? v & (0u - v) : 1u << 31;
}

static uint32_t parent_of(const struct td_program *p, enum td_rooted_tree tree, uint32_t root,
                          uint32_t slot)
{
    uint32_t v = turned(p, root, slot);
    if (tree == TD_ROOTED_TREE_PLANES)
        return td_tree_towards(p->tree, slot, root);
    uint32_t above = v == 0                          ? 0
                     : tree == TD_ROOTED_TREE_CHAIN  ? v - 1
                     : tree == TD_ROOTED_TREE_BINARY ? (v - 1) / ARITY
                                                     : v - lowest_bit(v);
    return (above + root) % p->group->slots;
}

/* children_of writes the children, largest subtree first. */
static uint32_t children_of(const struct td_program *p, enum td_rooted_tree tree, uint32_t root,
                            uint32_t slot, uint32_t child[TD_ROOTED_TREE_CHILDREN_MAX])
{
    uint32_t slots = p->group->slots, v = turned(p, root, slot), children = 0;
    if (tree == TD_ROOTED_TREE_PLANES)
        return td_tree_away(p->tree, slot, root, child);
    if (tree == TD_ROOTED_TREE_CHAIN && v + 1 < slots)
        child[children++] = (slot + 1) % slots;
    if (tree == TD_ROOTED_TREE_BINARY)
        for (uint32_t c = v * ARITY + 1; c <= v * ARITY + ARITY && c < slots; c++)
            child[children++] = (c + root) % slots;
    for (uint32_t bit = 1u << 30; tree == TD_ROOTED_TREE_BINOMIAL && bit > 0; bit /= 2)
        if (bit < lowest_bit(v) && bit < slots && v + bit < slots)
            child[children++] = (v + bit + root) % slots;
    return children;
}

_Static_assert(TD_NODES_MAX <= 1 << TD_ROOTED_TREE_CHILDREN_MAX, "a child for each bit");

void td_rooted_tree_place(const struct td_program *p, enum td_rooted_tree tree, uint32_t root,
                          uint32_t slot, struct td_place *place)
{
    uint32_t sibling[TD_ROOTED_TREE_CHILDREN_MAX];
    *place = (struct td_place){.parent = parent_of(p, tree, root, slot)};
    place->children = children_of(p, tree, root, slot, place->child);
    if (slot == root)
        return;
    place->siblings = children_of(p, tree, root, place->parent, sibling);
    while (sibling[place->index] != slot)
        place->index++;
}

uint32_t td_rooted_tree_depth(const struct td_program *p, enum td_rooted_tree tree, uint32_t root,
                              uint32_t slot)
{
    uint32_t depth = 0;
    for (; slot != root; slot = parent_of(p, tree, root, slot))
        depth++;
    return depth;
}

/* straight describes a broadcast on the direct fabric. In the binary tree a node sends each chunk
 * to two children. */
static struct td_pipeline straight(const struct td_program *p, enum td_rooted_tree tree,
                                   uint64_t bytes)
{
    uint64_t slots = p->group->slots, levels = 0;
    while (slots >> (levels + 1))
        levels++;
    bool chain = tree == TD_ROOTED_TREE_CHAIN || slots <= 2;
    return (struct td_pipeline){.bytes = bytes,
                                .sends = chain ? 1 : ARITY,
                                .path = chain ? slots - 1 : ARITY * levels - 1,
                                .message_bytes = p->tuning.message_bytes};
}

uint64_t td_rooted_tree_cost(const struct td_program *p, enum td_rooted_tree tree, uint64_t bytes)
{
    const struct td_pipeline l = straight(p, tree, bytes);
    return td_cost_bytes(p, td_pipeline_time(&l, td_pipeline_piece(&l, TD_COMPUTE_BYTES)));
}

/* A node forwards a chunk only when it has all of it, and a chunk costs about one packet more than
 * its data. With n packets and h hops, n + h c + n / c is least at c = sqrt(n / h). */
uint64_t td_rooted_tree_chunk(const struct td_program *p, enum td_rooted_tree tree, uint64_t bytes)
{
    if (tree == TD_ROOTED_TREE_BINOMIAL)
        return bytes > 64 ? (bytes + 63) & ~(uint64_t)63 : 64; /* one chunk */
    const struct td_pipeline l = straight(p, tree, bytes);
    if (p->group->slots == 1 || (td_program_is_routed(p) && tree == TD_ROOTED_TREE_BINARY))
        return TD_COMPUTE_BYTES;
    if (!td_program_is_routed(p))
        return td_pipeline_piece(&l, TD_COMPUTE_BYTES);
    uint64_t packet = p->tuning.packet_bytes ? p->tuning.packet_bytes : 1;
    uint64_t packets = bytes / packet / (p->tree->hops + 1), many = 1;
    while (many < CHUNK_PACKETS_MAX && (many + 1) * (many + 1) <= packets &&
           (many + 1) * packet <= CHUNK_MAX)
        many++;
    return (many * packet + 63) & ~(uint64_t)63; /* no number is split */
}

bool td_rooted_tree_applies(struct td_query *q)
{
    const struct td_program *p = q->program;
    if (!td_program_is_routed(p))
        return td_query_refuse(q, "the data does not travel on links of a torus");
    return p->tree || td_query_refuse(q, "the group has no tree of neighbours");
}

bool td_rooted_binomial_applies(struct td_query *q)
{
    return td_program_is_routed(q->program) ||
           td_query_refuse(q, "the data does not travel on links of a torus");
}

bool td_rooted_chain_applies(struct td_query *q)
{
    return !td_program_is_routed(q->program) ||
           td_query_refuse(q, "a node that is next in the chain may be far away on the torus");
}
