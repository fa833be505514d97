/* SPDX-License-Identifier: Apache-2.0 */
/* collectives_mpi: the side_ functions for MPI. */
#include <mpi.h>

#include "collectives.h"

static const char *told(int error)
{
    static char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (error == MPI_SUCCESS)
        return NULL;
    MPI_Error_string(error, text, &length);
    return text;
}

const char *side_open(uint32_t *rank, uint32_t *ranks)
{
    int r = 0, n = 0, error = MPI_Init(NULL, NULL);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_rank(MPI_COMM_WORLD, &r);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_size(MPI_COMM_WORLD, &n);
    *rank = (uint32_t)r;
    *ranks = (uint32_t)n;
    return told(error);
}

void *side_alloc(size_t bytes)
{
    void *memory = NULL;
    return MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory) == MPI_SUCCESS ? memory : NULL;
}

void side_close(void)
{
    MPI_Finalize();
}

const char *side_barrier(void)
{
    return told(MPI_Barrier(MPI_COMM_WORLD));
}

const char *side_broadcast(double *buffer, size_t count, uint32_t root)
{
    return told(MPI_Bcast(buffer, (int)count, MPI_DOUBLE, (int)root, MPI_COMM_WORLD));
}

const char *side_allreduce(const double *source, double *destination, size_t count)
{
    return told(
        MPI_Allreduce(source, destination, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
}

const char *side_scan(const double *source, double *destination, size_t count)
{
    return told(MPI_Scan(source, destination, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
}

const char *side_alltoall(const double *source, double *destination, size_t count)
{
    return told(MPI_Alltoall(source, (int)count, MPI_DOUBLE, destination, (int)count, MPI_DOUBLE,
                             MPI_COMM_WORLD));
}
