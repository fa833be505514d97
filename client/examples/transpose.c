/* SPDX-License-Identifier: Apache-2.0 */
/* transpose: transpose of a matrix that is distributed by rows, by a plan.
 *
 * The plan could be executed repeatedly. Run it with
 *   torusctl emulate 3x3 -- ./transpose
 */
#include <stdio.h>
#include <torus/torus.h>

enum { ROWS = 1000, COLUMNS = 700 };

/* index_of returns the index in the whole matrix of a rank's row i. */
static uint64_t index_of(const torus_plan *plan, int side, uint64_t i)
{
    return (uint64_t)torus_plan_index(plan, side, 0, i);
}

static int transpose(torus_context *context, torus_group *world)
{
    struct torus_redist_desc d = {.size = sizeof d,
                                  .dimensions = 2,
                                  .shape = {ROWS, COLUMNS},
                                  .element_bytes = sizeof(double),
                                  .from = "(block, *)",
                                  .to = "(cyclic(8), *)",
                                  .transposed = 1,
                                  .axes = {1, 0}};
    torus_plan *plan = NULL;
    struct torus_box before, after;
    int error = torus_plan_redist(world, &d, &plan);
    if (error != TORUS_OK)
        return error;
    torus_plan_local(plan, TORUS_SIDE_INPUT, &before);
    torus_plan_local(plan, TORUS_SIDE_OUTPUT, &after);
    double *a = torus_alloc(context, torus_plan_bytes(plan, TORUS_SIDE_INPUT));
    double *b = torus_alloc(context, torus_plan_bytes(plan, TORUS_SIDE_OUTPUT));
    if (!a || !b)
        return TORUS_ERR_NO_MEMORY;
    for (uint64_t i = 0; i < before.count[0]; i++)
        for (uint64_t j = 0; j < COLUMNS; j++)
            a[i * COLUMNS + j] = (double)(index_of(plan, TORUS_SIDE_INPUT, i) * COLUMNS + j);
    error = torus_execute(plan, a, b);
    uint64_t right = 0, all = 0;
    for (uint64_t j = 0; error == TORUS_OK && j < after.count[0]; j++)
        for (uint64_t i = 0; i < ROWS; i++)
            right +=
                b[j * ROWS + i] == (double)(i * COLUMNS + index_of(plan, TORUS_SIDE_OUTPUT, j));
    if (error == TORUS_OK)
        error = torus_allreduce(world, &right, &all, 1, TORUS_UINT64, TORUS_SUM);
    if (error != TORUS_OK)
        return error;
    if (torus_rank(world) == 0)
        printf("%llu of %d elements are at their place in the transpose\n", (unsigned long long)all,
               ROWS * COLUMNS);
    return all == (uint64_t)ROWS * COLUMNS ? TORUS_OK : TORUS_ERR_INTERNAL;
}

int main(void)
{
    torus_context *context = NULL;
    torus_group *world = NULL;
    int error = torus_open(&context, NULL);
    if (error == TORUS_OK)
        error = torus_join(context, NULL, &world);
    if (error == TORUS_OK)
        error = transpose(context, world);
    if (error != TORUS_OK)
        fprintf(stderr, "%s: %s\n", torus_strerror(error), torus_last_error(context));
    torus_close(context);
    return error == TORUS_OK ? 0 : 1;
}
