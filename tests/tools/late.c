/* SPDX-License-Identifier: Apache-2.0 */
/* late [all]: rank 0 joins its job, prints the socket of its daemon, and makes its calls when its
 * standard input ends. The other ranks make their calls at once; with "all", they do as rank 0. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torus/torus.h"

enum { COUNT = 1000, RANKS_MAX = 16 };

static void check(torus_context *c, int error)
{
    if (error == TORUS_OK)
        return;
    fprintf(stderr, "%s\n", torus_last_error(c));
    exit(1);
}

int main(int argc, char **argv)
{
    static double value[COUNT], sum[COUNT], running[COUNT], all[RANKS_MAX][COUNT];
    torus_context *c = NULL;
    torus_group *world = NULL, *same = NULL;
    torus_request *request[4] = {0};
    if (torus_open(&c, NULL) != TORUS_OK)
        return 1;
    check(c, torus_join(c, NULL, &world));
    if (torus_size(world) > RANKS_MAX)
        return 1;
    bool all_wait = argc > 1 && strcmp(argv[1], "all") == 0;
    if (all_wait || torus_rank(world) == 0) {
        puts(getenv("TORUS_SOCKET"));
        fflush(stdout);
        while (getchar() != EOF)
            ;
    }
    check(c, torus_iallreduce(world, value, sum, 1, TORUS_DOUBLE, TORUS_SUM, &request[0]));
    check(c, torus_iscan(world, value, running, COUNT, TORUS_DOUBLE, TORUS_SUM, &request[1]));
    check(c, torus_igather(world, value, all, COUNT, TORUS_DOUBLE, 1, &request[2]));
    check(c, torus_ishrink(world, &same, &request[3]));
    for (int i = 0; i < 4; i++)
        check(c, torus_wait(request[i], -1));
    torus_close(c);
    return 0;
}
