/* SPDX-License-Identifier: Apache-2.0 */
#include "lower_move.h"

#include "ompi/datatype/ompi_datatype.h"

#include "lower.h"

/* own_block makes the source from this rank's block of the destination. */
static void own_block(struct tm_call *c)
{
    const struct tm_args *a = &c->args;
    ptrdiff_t extent = a->rtype->super.ub - a->rtype->super.lb;
    tm_side_set_one(&c->from, a->rbuf, (ptrdiff_t)c->rank * a->rcount * extent, (size_t)a->rcount,
                    a->rtype);
}

static int lower_bcast(struct tm_call *c)
{
    const struct tm_args *a = &c->args;
    c->route = TM_ROUTE_BROADCAST;
    tm_side_set_one(&c->to, a->rbuf, 0, (size_t)a->rcount, a->rtype);
    c->count = c->to.bytes;
    int error = tm_lower_sides(c, false);
    c->loads_to = c->rank == c->root;
    c->unpacks = c->to.packs && !c->loads_to;
    return error;
}

/* lower_to_all serves calls in which each rank receives P blocks, or the root does. */
static int lower_to_all(struct tm_call *c, bool receives)
{
    const struct tm_args *a = &c->args;
    bool in_place = a->sbuf == MPI_IN_PLACE, alltoall = a->kind == TM_ALLTOALL;
    if (receives) {
        tm_side_set_one(&c->to, a->rbuf, 0, (size_t)a->rcount * c->size, a->rtype);
        c->count = (size_t)a->rcount * a->rtype->super.size;
    } else {
        c->count = (size_t)a->scount * a->stype->super.size;
    }
    if (!in_place)
        tm_side_set_one(&c->from, a->sbuf, 0, (size_t)a->scount * (alltoall ? c->size : 1),
                        a->stype);
    else if (c->to.packs && alltoall)
        tm_side_set_one(&c->from, a->rbuf, 0, (size_t)a->rcount * c->size, a->rtype);
    else if (c->to.packs)
        own_block(c);
    return tm_lower_sides(c, in_place && !c->to.packs);
}

static int lower_scatter(struct tm_call *c)
{
    const struct tm_args *a = &c->args;
    bool in_place = a->rbuf == MPI_IN_PLACE;
    c->route = TM_ROUTE_SCATTER;
    if (c->rank == c->root) {
        tm_side_set_one(&c->from, a->sbuf, 0, (size_t)a->scount * c->size, a->stype);
        c->count = (size_t)a->scount * a->stype->super.size;
    }
    if (!in_place)
        tm_side_set_one(&c->to, a->rbuf, 0, (size_t)a->rcount, a->rtype);
    if (c->rank != c->root)
        c->count = c->to.bytes;
    int error = tm_lower_sides(c, false);
    if (in_place)
        c->destination = TORUS_IN_PLACE;
    return error;
}

int tm_lower_move(struct tm_call *c)
{
    switch ((int)c->args.kind) {
    case TM_BCAST:
        return lower_bcast(c);
    case TM_SCATTER:
        return lower_scatter(c);
    case TM_GATHER:
        c->route = TM_ROUTE_GATHER;
        return lower_to_all(c, c->rank == c->root);
    case TM_ALLGATHER:
        c->route = TM_ROUTE_ALLGATHER;
        return lower_to_all(c, true);
    default:
        c->route = TM_ROUTE_ALLTOALL;
        return lower_to_all(c, true);
    }
}
