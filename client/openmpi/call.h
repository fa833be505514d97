/* SPDX-License-Identifier: Apache-2.0 */
/* call: one collective on its way through libtorus.
 *
 * tm_call_prepare translates the arguments (lower.h) and reserves memory. Each start loads the
 * source into packed memory if it has gaps, makes the call of libtorus, and stores the result.
 * A persistent call is prepared once and started several times.
 * Owns: its memory. Borrows: the program's buffers and lists; types and operators. */
#ifndef TORUS_OPENMPI_CALL_H
#define TORUS_OPENMPI_CALL_H

#include "component.h"
#include "group.h"
#include "side.h"

/* struct tm_args: the arguments of MPI's function, without the communicator. A reduction has its
 * count and type in rcount and rtype, a broadcast its buffer too; a scatter has its block there. */
struct tm_args {
    enum tm_kind kind;
    const void *sbuf;
    void *rbuf;
    int scount, rcount;
    struct ompi_datatype_t *stype, *rtype;
    const int *scounts, *rcounts, *sdispls, *rdispls;
    const MPI_Aint *soffsets, *roffsets; /* of neighbor_alltoallw */
    struct ompi_datatype_t *const *stypes, *const *rtypes;
    struct ompi_op_t *op;
    int root;
    const void *caller; /* the address to which the call returns */
};

/* enum tm_route: the function of libtorus. */
enum tm_route {
    TM_ROUTE_BARRIER,
    TM_ROUTE_BROADCAST,
    TM_ROUTE_REDUCE,
    TM_ROUTE_ALLREDUCE,
    TM_ROUTE_REDUCE_SCATTER,
    TM_ROUTE_REDUCE_SCATTERV,
    TM_ROUTE_SCAN,
    TM_ROUTE_EXSCAN,
    TM_ROUTE_GATHER,
    TM_ROUTE_GATHERV,
    TM_ROUTE_SCATTER,
    TM_ROUTE_SCATTERV,
    TM_ROUTE_ALLGATHER,
    TM_ROUTE_ALLGATHERV,
    TM_ROUTE_ALLTOALL,
    TM_ROUTE_ALLTOALLV,
    TM_ROUTE_NEIGHBOURS,
};

/* struct tm_folding: a reduction whose operator runs in this process, after the contributions of
 * ranks 0 .. parts - 1 have arrived one after the other. */
struct tm_folding {
    struct ompi_op_t *op; /* NULL: no folding */
    struct ompi_datatype_t *type;
    size_t count; /* elements of a contribution */
    uint32_t parts;
    char *part;
    char *work[2]; /* elements with gaps, NULL if they have none */
    void *result;
};

struct tm_memory;

struct tm_call {
    struct ompi_communicator_t *comm;
    uint32_t rank, size;
    struct tm_args args;
    enum tm_route route;
    const void *source;
    void *destination;
    size_t count;
    int type, op;
    uint32_t root;
    size_t *counts[2]; /* of the source, of the destination */
    ptrdiff_t *places[2];
    struct torus_graph graph;
    struct tm_side from, to;
    bool loads_to;   /* a broadcast's root packs the buffer */
    bool unpacks;    /* `to` is unpacked at the end */
    size_t raw_copy; /* bytes of args.sbuf to be copied to raw[] before the call */
    void *raw;
    struct tm_folding folding;
    struct tm_memory *memory;

    /* of a call without blocking */
    struct tm_start start;
    struct tm_event event;
    void (*ended)(struct tm_call *call); /* runs in tm_progress; the result is stored */
    int error;                           /* of libtorus */
    char text[512];
};

/* tm_call_prepare returns OMPI_SUCCESS, or OMPI_ERR_OUT_OF_RESOURCE. In both cases tm_call_free
 * frees the memory of the call, but not the struct. */
int tm_call_prepare(struct tm_call *call, struct ompi_communicator_t *comm,
                    const struct tm_args *args);
void tm_call_free(struct tm_call *call);

/* tm_call_memory returns memory that lives as long as the call; NULL: none left. */
void *tm_call_memory(struct tm_call *call, size_t bytes);

/* tm_call_run makes the call and returns a code of MPI. */
int tm_call_run(struct tm_call *call, struct tm_group *group);

/* tm_call_start begins the call; call->ended runs when it has ended. */
void tm_call_start(struct tm_call *call, struct tm_group *group);

#endif
