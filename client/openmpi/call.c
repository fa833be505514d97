/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/communicator/communicator.h"

#include "error.h"
#include "fold.h"
#include "lower.h"

struct tm_memory {
    struct tm_memory *next;
    _Alignas(16) char bytes[];
};

void *tm_call_memory(struct tm_call *c, size_t bytes)
{
    struct tm_memory *m = malloc(sizeof *m + (bytes ? bytes : 1));
    if (!m)
        return NULL;
    m->next = c->memory;
    c->memory = m;
    return m->bytes;
}

void tm_call_free(struct tm_call *c)
{
    while (c->memory) {
        struct tm_memory *m = c->memory;
        c->memory = m->next;
        free(m);
    }
}

int tm_call_prepare(struct tm_call *c, struct ompi_communicator_t *comm, const struct tm_args *args)
{
    *c = (struct tm_call){.comm = comm,
                          .rank = (uint32_t)ompi_comm_rank(comm),
                          .size = (uint32_t)ompi_comm_size(comm),
                          .args = *args,
                          .type = TORUS_BYTE,
                          .root = args->root < 0 ? 0 : (uint32_t)args->root};
    return tm_lower(c);
}

/* ---- before and after ---- */

/* load packs what has gaps. */
static int load(const struct tm_call *c)
{
    int error = tm_side_pack(&c->from);
    if (error == OMPI_SUCCESS && c->loads_to)
        error = tm_side_pack(&c->to);
    if (c->raw_copy)
        memcpy(c->raw, c->args.sbuf, c->raw_copy);
    return error;
}

/* store puts the result in its place. */
static int store(const struct tm_call *c)
{
    if (c->folding.op)
        return tm_fold(&c->folding);
    return c->unpacks ? tm_side_unpack(&c->to) : OMPI_SUCCESS;
}

/* ---- the two forms ---- */

static int make(const struct tm_call *c, torus_group *g)
{
    switch (c->route) {
    case TM_ROUTE_BARRIER:
        return torus_barrier(g);
    case TM_ROUTE_BROADCAST:
        return torus_broadcast(g, c->destination, c->count, c->type, c->root);
    case TM_ROUTE_REDUCE:
        return torus_reduce(g, c->source, c->destination, c->count, c->type, c->op, c->root);
    case TM_ROUTE_ALLREDUCE:
        return torus_allreduce(g, c->source, c->destination, c->count, c->type, c->op);
    case TM_ROUTE_REDUCE_SCATTER:
        return torus_reduce_scatter(g, c->source, c->destination, c->count, c->type, c->op);
    case TM_ROUTE_REDUCE_SCATTERV:
        return torus_reduce_scatterv(g, c->source, c->destination, c->counts[0], c->type, c->op);
    case TM_ROUTE_SCAN:
        return torus_scan(g, c->source, c->destination, c->count, c->type, c->op);
    case TM_ROUTE_EXSCAN:
        return torus_exscan(g, c->source, c->destination, c->count, c->type, c->op);
    case TM_ROUTE_GATHER:
        return torus_gather(g, c->source, c->destination, c->count, c->type, c->root);
    case TM_ROUTE_GATHERV:
        return torus_gatherv(g, c->source, c->count, c->destination, c->counts[1], c->places[1],
                             c->type, c->root);
    case TM_ROUTE_SCATTER:
        return torus_scatter(g, c->source, c->destination, c->count, c->type, c->root);
    case TM_ROUTE_SCATTERV:
        return torus_scatterv(g, c->source, c->counts[0], c->places[0], c->destination, c->count,
                              c->type, c->root);
    case TM_ROUTE_ALLGATHER:
        return torus_allgather(g, c->source, c->destination, c->count, c->type);
    case TM_ROUTE_ALLGATHERV:
        return torus_allgatherv(g, c->source, c->count, c->destination, c->counts[1], c->places[1],
                                c->type);
    case TM_ROUTE_ALLTOALL:
        return torus_alltoall(g, c->source, c->destination, c->count, c->type);
    case TM_ROUTE_ALLTOALLV:
        return torus_alltoallv(g, c->source, c->counts[0], c->places[0], c->destination,
                               c->counts[1], c->places[1], c->type);
    case TM_ROUTE_NEIGHBOURS:
        return torus_graph_alltoallv(g, &c->graph, c->source, c->counts[0], c->places[0],
                                     c->destination, c->counts[1], c->places[1], c->type);
    }
    return TORUS_ERR_INTERNAL;
}

static int begin(const struct tm_call *c, torus_group *g, torus_request **r)
{
    switch (c->route) {
    case TM_ROUTE_BARRIER:
        return torus_ibarrier(g, r);
    case TM_ROUTE_BROADCAST:
        return torus_ibroadcast(g, c->destination, c->count, c->type, c->root, r);
    case TM_ROUTE_REDUCE:
        return torus_ireduce(g, c->source, c->destination, c->count, c->type, c->op, c->root, r);
    case TM_ROUTE_ALLREDUCE:
        return torus_iallreduce(g, c->source, c->destination, c->count, c->type, c->op, r);
    case TM_ROUTE_REDUCE_SCATTER:
        return torus_ireduce_scatter(g, c->source, c->destination, c->count, c->type, c->op, r);
    case TM_ROUTE_REDUCE_SCATTERV:
        return torus_ireduce_scatterv(g, c->source, c->destination, c->counts[0], c->type, c->op,
                                      r);
    case TM_ROUTE_SCAN:
        return torus_iscan(g, c->source, c->destination, c->count, c->type, c->op, r);
    case TM_ROUTE_EXSCAN:
        return torus_iexscan(g, c->source, c->destination, c->count, c->type, c->op, r);
    case TM_ROUTE_GATHER:
        return torus_igather(g, c->source, c->destination, c->count, c->type, c->root, r);
    case TM_ROUTE_GATHERV:
        return torus_igatherv(g, c->source, c->count, c->destination, c->counts[1], c->places[1],
                              c->type, c->root, r);
    case TM_ROUTE_SCATTER:
        return torus_iscatter(g, c->source, c->destination, c->count, c->type, c->root, r);
    case TM_ROUTE_SCATTERV:
        return torus_iscatterv(g, c->source, c->counts[0], c->places[0], c->destination, c->count,
                               c->type, c->root, r);
    case TM_ROUTE_ALLGATHER:
        return torus_iallgather(g, c->source, c->destination, c->count, c->type, r);
    case TM_ROUTE_ALLGATHERV:
        return torus_iallgatherv(g, c->source, c->count, c->destination, c->counts[1], c->places[1],
                                 c->type, r);
    case TM_ROUTE_ALLTOALL:
        return torus_ialltoall(g, c->source, c->destination, c->count, c->type, r);
    case TM_ROUTE_ALLTOALLV:
        return torus_ialltoallv(g, c->source, c->counts[0], c->places[0], c->destination,
                                c->counts[1], c->places[1], c->type, r);
    case TM_ROUTE_NEIGHBOURS:
        return torus_igraph_alltoallv(g, &c->graph, c->source, c->counts[0], c->places[0],
                                      c->destination, c->counts[1], c->places[1], c->type, r);
    }
    return TORUS_ERR_INTERNAL;
}

int tm_call_run(struct tm_call *c, struct tm_group *group)
{
    int error = TORUS_OK, code = load(c);
    const char *text = NULL;
    if (code != OMPI_SUCCESS)
        return code;
    torus_group *g = tm_group_await(group, &error, &text);
    if (g) {
        error = make(c, g);
        text = error == TORUS_OK ? NULL : torus_last_error(tm_context);
    }
    return error == TORUS_OK ? store(c) : tm_error(error, text);
}

/* ---- without blocking ---- */

static void end(void *user)
{
    struct tm_call *c = user;
    if (c->error == TORUS_OK && store(c) != OMPI_SUCCESS) {
        c->error = TORUS_ERR_INTERNAL;
        snprintf(c->text, sizeof c->text, "Open MPI cannot unpack the result");
    }
    c->ended(c);
}

static void on_reply(torus_request *request, int error, void *user)
{
    struct tm_call *c = user;
    c->error = error;
    if (error != TORUS_OK)
        snprintf(c->text, sizeof c->text, "%s", torus_request_error(request));
    tm_post(&c->event);
}

/* start is the turn of the call in its group. */
static void start(void *user, torus_group *g, int error, const char *text)
{
    struct tm_call *c = user;
    torus_request *request = NULL;
    if (g) {
        error = begin(c, g, &request);
        if (error == TORUS_OK)
            error = torus_set_callback(request, on_reply, c);
        text = error == TORUS_OK ? NULL : torus_last_error(tm_context);
    }
    if (error == TORUS_OK)
        return;
    c->error = error;
    snprintf(c->text, sizeof c->text, "%s", text);
    tm_post(&c->event);
}

void tm_call_start(struct tm_call *c, struct tm_group *group)
{
    c->error = TORUS_OK;
    c->text[0] = 0;
    c->event.run = end;
    c->event.user = c;
    c->start.run = start;
    c->start.user = c;
    tm_expect();
    if (load(c) == OMPI_SUCCESS) {
        tm_group_start(group, &c->start);
        return;
    }
    c->error = TORUS_ERR_INTERNAL;
    snprintf(c->text, sizeof c->text, "Open MPI cannot pack the source");
    tm_post(&c->event);
}
