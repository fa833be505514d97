/* SPDX-License-Identifier: Apache-2.0 */
/* bcast: the root's node cuts the buffer into chunks; every node passes a chunk on to its children
 * when it has it, so the chunks follow each other down the tree. Nodes are numbered from the
 * root's: the children of v are 2v + 1 and 2v + 2. */
#include "collectives.h"

enum { CHUNK = TD_COMPUTE_BYTES, ARITY = 2 };
enum { P_CHUNKS, P_BYTES, P_CHILDREN, P_ROOT_SLOT, P_ROOT_LOCAL };
/* families, where they are there */
enum { P_SEND = 8, P_RECV, P_COPY_BELOW, P_COPY_ABOVE };

static uint32_t turned(const struct td_program *p, uint32_t slot)
{
    uint32_t slots = p->group->slots;
    return (slot + slots - (uint32_t)p->parameter[P_ROOT_SLOT]) % slots;
}

static uint32_t unturned(const struct td_program *p, uint32_t v)
{
    return (v + (uint32_t)p->parameter[P_ROOT_SLOT]) % p->group->slots;
}

static struct td_slice chunk(const struct td_program *p, enum td_space space, uint32_t rank,
                             uint64_t index)
{
    int64_t begin = (int64_t)index * CHUNK, left = p->parameter[P_BYTES] - begin;
    return td_slice_at(space, rank, begin, left < CHUNK ? left : CHUNK);
}

static void expand(const struct td_program *p, unsigned family, uint64_t index,
                   struct td_step *step)
{
    const struct td_group *g = p->group;
    uint32_t v = turned(p, p->slot), root_local = (uint32_t)p->parameter[P_ROOT_LOCAL];
    bool at_root = v == 0;
    *step = (struct td_step){.kind = p->family[family].kind};
    if ((int64_t)family == p->parameter[P_SEND]) {
        uint64_t children = (uint64_t)p->parameter[P_CHILDREN];
        uint32_t child = unturned(p, v * ARITY + 1 + (uint32_t)(index % children));
        step->peer = g->node[child];
        step->peer_family = 0; /* every other node receives in its first family */
        step->peer_index = index / children;
        step->from = at_root ? chunk(p, TD_SPACE_SOURCE, root_local, index / children)
                             : chunk(p, TD_SPACE_DESTINATION, 0, index / children);
    } else if ((int64_t)family == p->parameter[P_RECV]) {
        step->peer = g->node[unturned(p, (v - 1) / ARITY)];
        step->to = chunk(p, TD_SPACE_DESTINATION, 0, index);
        step->to_lanes = (struct td_lanes){td_ranks_here(p), 0, 1};
    } else {
        bool below = (int64_t)family == p->parameter[P_COPY_BELOW];
        uint32_t first = below ? 0 : root_local + 1;
        uint32_t lanes = below ? root_local : td_ranks_here(p) - root_local - 1;
        step->from = chunk(p, TD_SPACE_SOURCE, root_local, index);
        step->to = chunk(p, TD_SPACE_DESTINATION, first, index);
        step->to_lanes = (struct td_lanes){lanes, 0, 1};
    }
}

static const struct td_method method = {"bcast", expand};

void td_bcast_compile(struct td_program *p)
{
    uint32_t root_slot = 0, root_local = 0;
    td_group_locate(p->group, p->call.root, &root_slot, &root_local);
    int64_t bytes = (int64_t)(p->call.count * td_type_bytes(p->call.type));
    uint64_t chunks = (uint64_t)(bytes / CHUNK + (bytes % CHUNK != 0));
    p->method = &method;
    p->parameter[P_CHUNKS] = (int64_t)chunks;
    p->parameter[P_BYTES] = bytes;
    p->parameter[P_ROOT_SLOT] = root_slot;
    p->parameter[P_ROOT_LOCAL] = root_local;
    for (int i = P_SEND; i <= P_COPY_ABOVE; i++)
        p->parameter[i] = -1;

    uint32_t v = turned(p, p->slot), children = 0;
    for (uint32_t c = v * ARITY + 1; c <= v * ARITY + ARITY && c < p->group->slots; c++)
        children++;
    p->parameter[P_CHILDREN] = children;
    if (v != 0)
        p->parameter[P_RECV] = td_program_add(p, TD_RECV, chunks, "from the parent");
    if (children) {
        unsigned send = td_program_add(p, TD_SEND, chunks * children, "to the children");
        p->parameter[P_SEND] = send;
        if (v != 0)
            td_program_need(p, send, (unsigned)p->parameter[P_RECV], children, 1, 1);
    }
    if (v == 0 && root_local > 0)
        p->parameter[P_COPY_BELOW] = td_program_add(p, TD_COPY, chunks, "to local ranks below");
    if (v == 0 && root_local + 1 < td_ranks_here(p))
        p->parameter[P_COPY_ABOVE] = td_program_add(p, TD_COPY, chunks, "to local ranks above");
}
