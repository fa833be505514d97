/* SPDX-License-Identifier: Apache-2.0 */
/* bcast: the root's node cuts the buffer into chunks; every node passes a chunk on to its children
 * in a tree (spread.h) when it has it, so the chunks follow each other down. */
#include "collectives/collectives.h"

enum { RECV, SEND, COPY_BELOW, COPY_ABOVE };
enum { P_CHUNK, P_BYTES, P_PARENT, P_ROOT_SLOT, P_ROOT_LOCAL, P_CHILDREN, P_CHILD };
_Static_assert((int)P_CHILD + (int)TD_ROOTED_TREE_CHILDREN_MAX <= (int)TD_PARAMETERS_MAX,
               "a node's children are among its parameters");

static struct td_slice chunk(const struct td_program *p, enum td_space space, uint32_t rank,
                             uint64_t index)
{
    int64_t each = p->parameter[P_CHUNK], begin = (int64_t)index * each;
    int64_t left = p->parameter[P_BYTES] - begin;
    return td_slice_at(space, rank, begin, left < each ? left : each);
}

static void expand(const struct td_program *p, unsigned family, uint64_t index,
                   struct td_step *step)
{
    const struct td_group *g = p->group;
    uint32_t root_local = (uint32_t)p->parameter[P_ROOT_LOCAL], ranks = td_ranks_here(p);
    bool at_root = p->slot == (uint32_t)p->parameter[P_ROOT_SLOT];
    *step = (struct td_step){.kind = p->family[family].kind};
    if (family == SEND) {
        uint64_t children = (uint64_t)p->parameter[P_CHILDREN];
        step->peer = g->node[p->parameter[P_CHILD + index % children]];
        step->peer_family = RECV;
        step->peer_index = index / children;
        step->from = at_root ? chunk(p, TD_SPACE_SOURCE, root_local, index / children)
                             : chunk(p, TD_SPACE_DESTINATION, 0, index / children);
    } else if (family == RECV) {
        step->peer = g->node[p->parameter[P_PARENT]];
        step->to = chunk(p, TD_SPACE_DESTINATION, 0, index);
        step->to_lanes = (struct td_lanes){ranks, 0, 1};
    } else {
        bool below = family == COPY_BELOW;
        step->from = chunk(p, TD_SPACE_SOURCE, root_local, index);
        step->to = chunk(p, TD_SPACE_DESTINATION, below ? 0 : root_local + 1, index);
        step->to_lanes = (struct td_lanes){below ? root_local : ranks - root_local - 1, 0, 1};
    }
}

static const struct td_method binary = {"bcast", expand};
static const struct td_method planes = {"bcast_planes", expand};
static const struct td_method binomial = {"bcast_binomial", expand};

void td_bcast_compile(struct td_program *p, enum td_rooted_tree spread)
{
    struct td_place place;
    uint32_t root = 0, local = 0;
    td_group_locate(p->group, p->call.root, &root, &local);
    td_rooted_tree_place(p, spread, root, p->slot, &place);
    uint64_t bytes = p->call.count * td_type_bytes(p->call.type);
    uint64_t each = td_rooted_tree_chunk(p, spread, bytes);
    uint64_t chunks = bytes / each + (bytes % each != 0);
    bool at_root = p->slot == root;
    p->method = spread == TD_ROOTED_TREE_PLANES     ? &planes
                : spread == TD_ROOTED_TREE_BINOMIAL ? &binomial
                                                    : &binary;
    p->parameter[P_CHUNK] = (int64_t)each;
    p->parameter[P_BYTES] = (int64_t)bytes;
    p->parameter[P_PARENT] = place.parent;
    p->parameter[P_ROOT_SLOT] = root;
    p->parameter[P_ROOT_LOCAL] = local;
    p->parameter[P_CHILDREN] = place.children;
    for (uint32_t i = 0; i < place.children; i++)
        p->parameter[P_CHILD + i] = place.child[i];
    td_program_add(p, TD_RECV, at_root ? 0 : chunks, "from the parent");
    td_program_add(p, TD_SEND, chunks * place.children, "to the children");
    td_program_add(p, TD_COPY, at_root && local > 0 ? chunks : 0, "to local ranks below");
    td_program_add(p, TD_COPY, at_root && local + 1 < td_ranks_here(p) ? chunks : 0,
                   "to local ranks above");
    if (!at_root && place.children)
        td_program_need(p, SEND, RECV, place.children, 1, 1);
}
