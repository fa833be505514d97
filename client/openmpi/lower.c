/* SPDX-License-Identifier: Apache-2.0 */
#include "lower.h"

#include "lower_lists.h"
#include "lower_move.h"
#include "lower_neighbours.h"
#include "lower_reduce.h"

int tm_lower(struct tm_call *c)
{
    switch (c->args.kind) {
    case TM_BARRIER:
        c->route = TM_ROUTE_BARRIER;
        return OMPI_SUCCESS;
    case TM_REDUCE:
    case TM_ALLREDUCE:
    case TM_REDUCE_SCATTER_BLOCK:
    case TM_REDUCE_SCATTER:
    case TM_SCAN:
    case TM_EXSCAN:
        return tm_lower_reduce(c);
    case TM_BCAST:
    case TM_GATHER:
    case TM_SCATTER:
    case TM_ALLGATHER:
    case TM_ALLTOALL:
        return tm_lower_move(c);
    case TM_GATHERV:
    case TM_SCATTERV:
    case TM_ALLGATHERV:
    case TM_ALLTOALLV:
    case TM_ALLTOALLW:
        return tm_lower_lists(c);
    case TM_NEIGHBOR_ALLGATHER:
    case TM_NEIGHBOR_ALLGATHERV:
    case TM_NEIGHBOR_ALLTOALL:
    case TM_NEIGHBOR_ALLTOALLV:
    case TM_NEIGHBOR_ALLTOALLW:
        return tm_lower_neighbours(c);
    case TM_KINDS:
        break;
    }
    return OMPI_ERR_NOT_SUPPORTED;
}

/* ---- sides ---- */

static int reserve(struct tm_call *c, struct tm_side *side)
{
    if (side->packs && !(side->packed = tm_call_memory(c, side->bytes)))
        return OMPI_ERR_OUT_OF_RESOURCE;
    return OMPI_SUCCESS;
}

int tm_lower_sides(struct tm_call *c, bool in_place)
{
    if (!in_place && !c->from.packs && !c->to.packs && tm_side_overlaps(&c->from, &c->to))
        c->from.packs = true;
    if (reserve(c, &c->from) != OMPI_SUCCESS || reserve(c, &c->to) != OMPI_SUCCESS)
        return OMPI_ERR_OUT_OF_RESOURCE;
    c->source = in_place ? TORUS_IN_PLACE : tm_side_data(&c->from);
    c->destination = tm_side_data(&c->to);
    c->unpacks = c->to.packs;
    return OMPI_SUCCESS;
}

int tm_lower_counts(struct tm_call *c, int index)
{
    const struct tm_side *side = index ? &c->to : &c->from;
    c->counts[index] = tm_call_memory(c, side->blocks * sizeof(size_t));
    c->places[index] = tm_call_memory(c, side->blocks * sizeof(ptrdiff_t));
    if (!c->counts[index] || !c->places[index])
        return OMPI_ERR_OUT_OF_RESOURCE;
    tm_side_lists(side, c->counts[index], c->places[index]);
    return OMPI_SUCCESS;
}

int tm_lower_blocks(struct tm_call *c, struct tm_side *side, const void *base, size_t count)
{
    side->base = (char *)(uintptr_t)base;
    side->blocks = count;
    side->block = tm_call_memory(c, count * sizeof *side->block);
    return side->block ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}
