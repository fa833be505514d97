/* SPDX-License-Identifier: Apache-2.0 */
/* check_barriers COUNT: a rank of a job that makes COUNT barriers. system_calls.py runs it. */
#include <stdio.h>
#include <stdlib.h>

#include "torus/torus.h"

int main(int argc, char **argv)
{
    torus_context *context;
    torus_group *group;
    long count = argc == 2 ? atol(argv[1]) : 0;
    if (torus_open(&context, NULL) != TORUS_OK || torus_join(context, NULL, &group) != TORUS_OK)
        return 1;
    for (long i = 0; i < count; i++)
        if (torus_barrier(group) != TORUS_OK) {
            fprintf(stderr, "%s\n", torus_last_error(context));
            return 1;
        }
    torus_close(context);
    return 0;
}
