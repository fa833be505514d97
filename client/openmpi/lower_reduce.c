/* SPDX-License-Identifier: Apache-2.0 */
#include "lower_reduce.h"

#include "ompi/datatype/ompi_datatype.h"

#include "fold.h"
#include "lower.h"
#include "types.h"

/* total returns the number of elements that each rank contributes. */
static size_t total(const struct tm_call *c)
{
    const struct tm_args *a = &c->args;
    size_t sum = (size_t)a->rcount;
    if (a->kind == TM_REDUCE_SCATTER_BLOCK)
        return sum * c->size;
    if (a->kind != TM_REDUCE_SCATTER)
        return sum;
    sum = 0;
    for (uint32_t r = 0; r < c->size; r++)
        sum += (size_t)a->rcounts[r];
    return sum;
}

/* receives returns true if this rank gets a result. */
static bool receives(const struct tm_call *c)
{
    return c->args.kind != TM_REDUCE || c->rank == c->root;
}

/* count_list writes the counts of reduce_scatter in units of `bytes`. */
static int count_list(struct tm_call *c, int index, size_t bytes)
{
    c->counts[index] = tm_call_memory(c, c->size * sizeof(size_t));
    c->places[index] = tm_call_memory(c, c->size * sizeof(ptrdiff_t));
    if (!c->counts[index] || !c->places[index])
        return OMPI_ERR_OUT_OF_RESOURCE;
    ptrdiff_t place = 0;
    for (uint32_t r = 0; r < c->size; r++) {
        c->counts[index][r] = (size_t)c->args.rcounts[r] * bytes;
        c->places[index][r] = place;
        place += (ptrdiff_t)c->counts[index][r];
    }
    return OMPI_SUCCESS;
}

/* ---- libtorus combines ---- */

static int lower_direct(struct tm_call *c)
{
    static const enum tm_route route[TM_KINDS] = {
        [TM_REDUCE] = TM_ROUTE_REDUCE,
        [TM_ALLREDUCE] = TM_ROUTE_ALLREDUCE,
        [TM_REDUCE_SCATTER_BLOCK] = TM_ROUTE_REDUCE_SCATTER,
        [TM_REDUCE_SCATTER] = TM_ROUTE_REDUCE_SCATTERV,
        [TM_SCAN] = TM_ROUTE_SCAN,
        [TM_EXSCAN] = TM_ROUTE_EXSCAN,
    };
    const struct tm_args *a = &c->args;
    struct tm_side from, to;
    c->route = route[a->kind];
    c->count = (size_t)a->rcount;
    c->source = a->sbuf == MPI_IN_PLACE ? TORUS_IN_PLACE : a->sbuf;
    c->destination = receives(c) ? a->rbuf : NULL;
    if (c->destination && a->sbuf != MPI_IN_PLACE && a->sbuf != a->rbuf) {
        bool whole = a->kind != TM_REDUCE_SCATTER && a->kind != TM_REDUCE_SCATTER_BLOCK;
        size_t own = a->kind == TM_REDUCE_SCATTER ? (size_t)a->rcounts[c->rank] : (size_t)a->rcount;
        tm_side_set_one(&from, a->sbuf, 0, total(c), a->rtype);
        tm_side_set_one(&to, a->rbuf, 0, whole ? total(c) : own, a->rtype);
        if (tm_side_overlaps(&from, &to)) {
            c->raw_copy = total(c) * (size_t)(a->rtype->super.ub - a->rtype->super.lb);
            c->source = c->raw = tm_call_memory(c, c->raw_copy);
            if (!c->raw)
                return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    return a->kind == TM_REDUCE_SCATTER ? count_list(c, 0, 1) : OMPI_SUCCESS;
}

/* ---- this process combines ---- */

/* lower_folded gathers the contributions, or the parts of them that this rank needs. */
static int lower_folded(struct tm_call *c)
{
    const struct tm_args *a = &c->args;
    size_t element = a->rtype->super.size, own = (size_t)a->rcount;
    uint32_t used = c->size;
    int error = OMPI_SUCCESS;
    const void *from = a->sbuf == MPI_IN_PLACE ? a->rbuf : a->sbuf;
    c->route = TM_ROUTE_ALLGATHER;
    if (a->kind == TM_REDUCE)
        c->route = TM_ROUTE_GATHER;
    else if (a->kind == TM_REDUCE_SCATTER_BLOCK)
        c->route = TM_ROUTE_ALLTOALL;
    else if (a->kind == TM_SCAN)
        used = c->rank + 1;
    else if (a->kind == TM_EXSCAN)
        used = c->rank;
    if (a->kind == TM_REDUCE_SCATTER) {
        c->route = TM_ROUTE_ALLTOALLV;
        own = (size_t)a->rcounts[c->rank];
        error = count_list(c, 0, element);
        if (error == OMPI_SUCCESS)
            error = count_list(c, 1, element);
        for (uint32_t r = 0; r < c->size && error == OMPI_SUCCESS; r++) {
            c->counts[1][r] = own * element;
            c->places[1][r] = (ptrdiff_t)(r * own * element);
        }
    }
    c->count = own * element;
    tm_side_set_one(&c->from, from, 0, total(c), a->rtype);
    if (error == OMPI_SUCCESS)
        error = tm_lower_sides(c, false);
    if (error == OMPI_SUCCESS)
        error = tm_fold_prepare(c, own, receives(c) ? c->size : 0, used, a->rbuf);
    c->destination = receives(c) ? c->folding.part : NULL;
    return error;
}

int tm_lower_reduce(struct tm_call *c)
{
    if (tm_op(c->args.op, c->args.rtype, &c->type, &c->op))
        return lower_direct(c);
    c->type = TORUS_BYTE;
    return lower_folded(c);
}
