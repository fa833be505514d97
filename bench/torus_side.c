/* SPDX-License-Identifier: Apache-2.0 */
#include "torus_side.h"

torus_context *context;
torus_group *world;

const char *told(int error)
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

void side_close(void)
{
    torus_close(context);
}

const char *side_barrier(void)
{
    return told(torus_barrier(world));
}
