/* SPDX-License-Identifier: Apache-2.0 */
/* fft_mpi: the side_ functions for FFTW-MPI. */
#include <fftw3-mpi.h>
#include <stdlib.h>

#include "fft.h"

static fftw_plan plan;
static fftw_complex *source, *destination;
static ptrdiff_t rows, first;

static const char *told(int error)
{
    return error == MPI_SUCCESS ? NULL : "MPI failed";
}

const char *side_open(uint32_t *rank, uint32_t *ranks)
{
    int r = 0, n = 0, error = MPI_Init(NULL, NULL);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_rank(MPI_COMM_WORLD, &r);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_size(MPI_COMM_WORLD, &n);
    fftw_mpi_init();
    *rank = (uint32_t)r;
    *ranks = (uint32_t)n;
    return told(error);
}

void side_close(void)
{
    MPI_Finalize();
}

const char *side_barrier(void)
{
    return told(MPI_Barrier(MPI_COMM_WORLD));
}

static void sizes_of(const struct problem *p, ptrdiff_t size[FFT_DIMENSIONS])
{
    for (uint32_t d = 0; d < p->dimensions; d++)
        size[d] = (ptrdiff_t)p->size[d];
}

const char *side_prepare(const struct problem *p)
{
    ptrdiff_t size[FFT_DIMENSIONS];
    if (plan)
        fftw_destroy_plan(plan);
    fftw_free(source);
    fftw_free(destination);
    sizes_of(p, size);
    ptrdiff_t points = fftw_mpi_local_size((int)p->dimensions, size, MPI_COMM_WORLD, &rows, &first);
    size_t bytes = ((size_t)points + 1) * sizeof *source;
    plan = NULL;
    source = fftw_malloc(bytes);
    destination = fftw_malloc(bytes);
    return source && destination ? NULL : "no memory";
}

const char *side_plan(const struct problem *p)
{
    ptrdiff_t size[FFT_DIMENSIONS];
    sizes_of(p, size);
    plan = fftw_mpi_plan_dft((int)p->dimensions, size, source, destination, MPI_COMM_WORLD,
                             FFTW_FORWARD, FFTW_MEASURE);
    return plan ? NULL : "FFTW cannot make a plan";
}

const char *side_parts(struct part *in, struct part *out)
{
    *in = (struct part){(double *)source, (uint64_t)first, (uint64_t)rows};
    *out = (struct part){(double *)destination, (uint64_t)first, (uint64_t)rows};
    return NULL;
}

const char *side_run(void)
{
    fftw_execute(plan);
    return NULL;
}

const char *side_settle(uint32_t seconds)
{
    (void)seconds; /* the planner has measured already */
    return NULL;
}
