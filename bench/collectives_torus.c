/* SPDX-License-Identifier: Apache-2.0 */
/* collectives_torus: the side_ functions for torusd. */
#include "collectives.h"
#include "torus_side.h"

void *side_alloc(size_t bytes)
{
    return torus_alloc(context, bytes);
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
