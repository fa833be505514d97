/* SPDX-License-Identifier: Apache-2.0 */
/* hello: sum of the rank numbers of a job, received by all ranks. Run it with
 *   torusctl emulate 3x3 -- ./hello
 */
#include <stdio.h>
#include <torus/torus.h>

int main(void)
{
    torus_context *context = NULL;
    torus_group *world = NULL;
    double sum = 0, mine = 0;
    int code = 1;
    if (torus_open(&context, NULL) == TORUS_OK && torus_join(context, NULL, &world) == TORUS_OK)
        mine = torus_rank(world);
    if (world && torus_allreduce(world, &mine, &sum, 1, TORUS_DOUBLE, TORUS_SUM) == TORUS_OK) {
        printf("rank %u of %u: the sum is %g\n", torus_rank(world), torus_size(world), sum);
        code = 0;
    } else {
        fprintf(stderr, "%s\n", torus_last_error(context));
    }
    torus_close(context);
    return code;
}
