/* SPDX-License-Identifier: Apache-2.0 */
#include "lower_lists.h"

#include "ompi/datatype/ompi_datatype.h"

#include "lower.h"

/* spread makes a side of one block for each rank. types NULL: all have `type`, and places count
 * its extent; else places are in bytes. */
static int spread(struct tm_call *c, struct tm_side *side, const void *base, const int *counts,
                  const int *places, struct ompi_datatype_t *type,
                  struct ompi_datatype_t *const *types)
{
    int error = tm_lower_blocks(c, side, base, c->size);
    for (uint32_t r = 0; r < c->size && error == OMPI_SUCCESS; r++) {
        ptrdiff_t unit = types ? 1 : type->super.ub - type->super.lb;
        side->block[r] = (struct tm_block){
            .at = places[r] * unit, .count = (size_t)counts[r], .type = types ? types[r] : type};
    }
    if (error == OMPI_SUCCESS)
        tm_side_close(side);
    return error;
}

/* lower_gathers serves gatherv and allgatherv. */
static int lower_gathers(struct tm_call *c, bool receives)
{
    const struct tm_args *a = &c->args;
    bool in_place = a->sbuf == MPI_IN_PLACE;
    int error = OMPI_SUCCESS;
    if (receives)
        error = spread(c, &c->to, a->rbuf, a->rcounts, a->rdispls, a->rtype, NULL);
    if (error != OMPI_SUCCESS)
        return error;
    if (!in_place)
        tm_side_set_one(&c->from, a->sbuf, 0, (size_t)a->scount, a->stype);
    else if (c->to.packs)
        tm_side_set_one(&c->from, a->rbuf, c->to.block[c->rank].at, c->to.block[c->rank].count,
                        a->rtype);
    c->count = in_place ? c->to.block[c->rank].bytes : c->from.bytes;
    error = tm_lower_sides(c, in_place && !c->to.packs);
    return error == OMPI_SUCCESS && receives ? tm_lower_counts(c, 1) : error;
}

static int lower_scatterv(struct tm_call *c)
{
    const struct tm_args *a = &c->args;
    bool in_place = a->rbuf == MPI_IN_PLACE;
    int error = OMPI_SUCCESS;
    if (c->rank == c->root)
        error = spread(c, &c->from, a->sbuf, a->scounts, a->sdispls, a->stype, NULL);
    if (error != OMPI_SUCCESS)
        return error;
    if (!in_place)
        tm_side_set_one(&c->to, a->rbuf, 0, (size_t)a->rcount, a->rtype);
    c->count = in_place ? c->from.block[c->rank].bytes : c->to.bytes;
    error = tm_lower_sides(c, false);
    if (in_place)
        c->destination = TORUS_IN_PLACE;
    return error == OMPI_SUCCESS && c->rank == c->root ? tm_lower_counts(c, 0) : error;
}

/* lower_alltoalls serves alltoallv and alltoallw. */
static int lower_alltoalls(struct tm_call *c)
{
    const struct tm_args *a = &c->args;
    bool in_place = a->sbuf == MPI_IN_PLACE;
    int error = spread(c, &c->to, a->rbuf, a->rcounts, a->rdispls, a->rtype, a->rtypes);
    if (error == OMPI_SUCCESS && !in_place)
        error = spread(c, &c->from, a->sbuf, a->scounts, a->sdispls, a->stype, a->stypes);
    else if (error == OMPI_SUCCESS)
        error = spread(c, &c->from, a->rbuf, a->rcounts, a->rdispls, a->rtype, a->rtypes);
    if (error == OMPI_SUCCESS)
        error = tm_lower_sides(c, in_place && !c->to.packs);
    if (error == OMPI_SUCCESS)
        error = tm_lower_counts(c, 0);
    return error == OMPI_SUCCESS ? tm_lower_counts(c, 1) : error;
}

int tm_lower_lists(struct tm_call *c)
{
    switch ((int)c->args.kind) {
    case TM_GATHERV:
        c->route = TM_ROUTE_GATHERV;
        return lower_gathers(c, c->rank == c->root);
    case TM_ALLGATHERV:
        c->route = TM_ROUTE_ALLGATHERV;
        return lower_gathers(c, true);
    case TM_SCATTERV:
        c->route = TM_ROUTE_SCATTERV;
        return lower_scatterv(c);
    default:
        c->route = TM_ROUTE_ALLTOALLV;
        return lower_alltoalls(c);
    }
}
