/* SPDX-License-Identifier: Apache-2.0 */
/* collectives_torus: the side_ functions for torusd. */
#include "collectives.h"
#include "torus/torus.h"

static torus_context *context;
static torus_group *world;

static const char *told(int error)
{
    return error == TORUS_OK ? NULL : torus_last_error(context);
}

const char *side_open(uint32_t *rank, uint32_t *ranks)
{
    int error = torus_open(&context, NULL);
    if (error == TORUS_OK)
        error = torus_join(context, NULL, &world);
    if (error != TORUS_OK)
        return torus_last_error(context);
    *rank = torus_rank(world);
    *ranks = torus_size(world);
    return NULL;
}

void *side_alloc(size_t bytes)
{
    return torus_alloc(context, bytes);
}

void side_close(void)
{
    torus_close(context);
}

const char *side_barrier(void)
{
    return told(torus_barrier(world));
}

const char *side_broadcast(double *buffer, size_t count, uint32_t root)
{
    return told(torus_broadcast(world, buffer, count, TORUS_DOUBLE, root));
}

const char *side_allreduce(const double *source, double *destination, size_t count)
{
    return told(torus_allreduce(world, source, destination, count, TORUS_DOUBLE, TORUS_SUM));
}

const char *side_scan(const double *source, double *destination, size_t count)
{
    return told(torus_scan(world, source, destination, count, TORUS_DOUBLE, TORUS_SUM));
}

const char *side_alltoall(const double *source, double *destination, size_t count)
{
    return told(torus_alltoall(world, source, destination, count, TORUS_DOUBLE));
}
