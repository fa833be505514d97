/* SPDX-License-Identifier: Apache-2.0 */
#include "lower_neighbours.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/topo/base/base.h"
#include "ompi/mca/topo/topo.h"

#include "lower.h"

/* struct edges: the other ends, and the index of the block in the program's buffer. */
struct edges {
    uint32_t count;
    uint32_t *rank, *block;
};

static int reserve(struct tm_call *c, struct edges *e, size_t most)
{
    e->count = 0;
    e->rank = tm_call_memory(c, most * sizeof *e->rank);
    e->block = tm_call_memory(c, most * sizeof *e->block);
    return e->rank && e->block ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

/* add adds an edge, unless no rank is there. */
static void add(struct edges *e, int rank, int block)
{
    if (rank == MPI_PROC_NULL)
        return;
    e->rank[e->count] = (uint32_t)rank;
    e->block[e->count++] = (uint32_t)block;
}

static int find_grid(struct tm_call *c, struct edges *in, struct edges *out)
{
    int dimensions = c->comm->c_topo->mtc.cart->ndims, error = OMPI_SUCCESS;
    if (reserve(c, in, 2 * (size_t)dimensions) != OMPI_SUCCESS ||
        reserve(c, out, 2 * (size_t)dimensions) != OMPI_SUCCESS)
        return OMPI_ERR_OUT_OF_RESOURCE;
    for (int d = 0; d < dimensions && error == OMPI_SUCCESS; d++) {
        int down = MPI_PROC_NULL, up = MPI_PROC_NULL;
        error = mca_topo_base_cart_shift(c->comm, d, 1, &down, &up);
        add(in, down, 2 * d);
        add(in, up, 2 * d + 1);
        add(out, up, 2 * d + 1);
        add(out, down, 2 * d);
    }
    return error;
}

static int find_lists(struct tm_call *c, struct edges *e, const int *rank, int count)
{
    int error = reserve(c, e, (size_t)count);
    for (int i = 0; i < count && error == OMPI_SUCCESS; i++)
        add(e, rank[i], i);
    return error;
}

static int find_edges(struct tm_call *c, struct edges *in, struct edges *out)
{
    const mca_topo_base_comm_cgd_union_t *t = &c->comm->c_topo->mtc;
    if (OMPI_COMM_IS_CART(c->comm))
        return find_grid(c, in, out);
    if (OMPI_COMM_IS_GRAPH(c->comm)) {
        int first = c->rank > 0 ? t->graph->index[c->rank - 1] : 0;
        int count = t->graph->index[c->rank] - first;
        int error = find_lists(c, in, t->graph->edges + first, count);
        return error == OMPI_SUCCESS ? find_lists(c, out, t->graph->edges + first, count) : error;
    }
    int error = find_lists(c, in, t->dist_graph->in, t->dist_graph->indegree);
    return error == OMPI_SUCCESS ? find_lists(c, out, t->dist_graph->out, t->dist_graph->outdegree)
                                 : error;
}

/* struct form: which arguments describe the blocks of a side. */
struct form {
    const void *base;
    int count; /* of each block, without `counts` */
    const int *counts, *places;
    const MPI_Aint *offsets;
    struct ompi_datatype_t *type, *const *types;
    bool all; /* one block goes along all edges */
};

static int spread(struct tm_call *c, struct tm_side *side, const struct edges *e,
                  const struct form *f)
{
    int error = tm_lower_blocks(c, side, f->base, e->count);
    for (uint32_t i = 0; i < e->count && error == OMPI_SUCCESS; i++) {
        uint32_t b = e->block[i];
        struct ompi_datatype_t *type = f->types ? f->types[b] : f->type;
        int count = f->counts ? f->counts[b] : f->count;
        ptrdiff_t extent = type->super.ub - type->super.lb;
        ptrdiff_t at = f->offsets  ? f->offsets[b]
                       : f->places ? f->places[b] * extent
                                   : (ptrdiff_t)b * f->count * extent;
        side->block[i] =
            (struct tm_block){.at = f->all ? 0 : at, .count = (size_t)count, .type = type};
    }
    if (error == OMPI_SUCCESS)
        tm_side_close(side);
    return error;
}

int tm_lower_neighbours(struct tm_call *c)
{
    const struct tm_args *a = &c->args;
    bool all = a->kind == TM_NEIGHBOR_ALLGATHER || a->kind == TM_NEIGHBOR_ALLGATHERV;
    const struct form from = {.base = a->sbuf,
                              .count = a->scount,
                              .counts = a->scounts,
                              .places = a->sdispls,
                              .offsets = a->soffsets,
                              .type = a->stype,
                              .types = a->stypes,
                              .all = all};
    const struct form to = {.base = a->rbuf,
                            .count = a->rcount,
                            .counts = a->rcounts,
                            .places = a->rdispls,
                            .offsets = a->roffsets,
                            .type = a->rtype,
                            .types = a->rtypes};
    struct edges in = {0}, out = {0};
    c->route = TM_ROUTE_NEIGHBOURS;
    int error = find_edges(c, &in, &out);
    if (error == OMPI_SUCCESS)
        error = spread(c, &c->from, &out, &from);
    if (error == OMPI_SUCCESS)
        error = spread(c, &c->to, &in, &to);
    if (error == OMPI_SUCCESS)
        error = tm_lower_sides(c, false);
    if (error == OMPI_SUCCESS)
        error = tm_lower_counts(c, 0);
    if (error == OMPI_SUCCESS)
        error = tm_lower_counts(c, 1);
    c->graph = (struct torus_graph){.size = sizeof c->graph,
                                    .sources = in.count,
                                    .destinations = out.count,
                                    .source = in.rank,
                                    .destination = out.rank};
    return error;
}
