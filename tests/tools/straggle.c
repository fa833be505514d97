/* SPDX-License-Identifier: Apache-2.0 */
/* straggle RANK CALLS MS: all ranks make CALLS barriers, each with an allreduce after it. One rank
 * computes for MS milliseconds before each barrier, or each rank if RANK is -1. In the end rank 0
 * prints the socket of its daemon and how long the computations of one rank took in ns, and waits
 * for the end of its standard input. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "torus/torus.h"

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void check(torus_context *c, int error)
{
    if (error == TORUS_OK)
        return;
    fprintf(stderr, "%s\n", torus_last_error(c));
    exit(1);
}

int main(int argc, char **argv)
{
    torus_context *c = NULL;
    torus_group *world = NULL;
    if (argc < 4 || torus_open(&c, NULL) != TORUS_OK)
        return 1;
    int late = atoi(argv[1]), calls = atoi(argv[2]);
    long long busy = 0;
    check(c, torus_join(c, NULL, &world));
    bool computes = late == -1 || torus_rank(world) == (uint32_t)late;
    check(c, torus_barrier(world)); /* the start of the job does not count as late */
    for (int i = 0; i < calls; i++) {
        double one = 1, sum = 0;
        long long begin = now_ns();
        while (computes && now_ns() - begin < 1000000LL * atoi(argv[3]))
            ;
        busy += computes ? now_ns() - begin : 0;
        check(c, torus_barrier(world));
        check(c, torus_allreduce(world, &one, &sum, 1, TORUS_DOUBLE, TORUS_SUM));
    }
    int64_t mine = busy, longest = 0;
    check(c, torus_allreduce(world, &mine, &longest, 1, TORUS_INT64, TORUS_MAX));
    if (torus_rank(world) == 0) {
        printf("%s %lld\n", getenv("TORUS_SOCKET"), (long long)longest);
        fflush(stdout);
        while (getchar() != EOF)
            ;
    }
    torus_close(c);
    return 0;
}
