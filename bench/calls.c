/* SPDX-License-Identifier: Apache-2.0 */
/* bench_calls OPERATION BYTES COUNT: a rank of a job that makes COUNT calls of an operation with a
 * vector of BYTES, in an all-to-all BYTES a pair. bench/counts.py counts what they take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <torus/torus.h>

static torus_context *context;
static torus_group *group;

static int call(const char *operation, const double *in, double *out, size_t count)
{
    if (strcmp(operation, "barrier") == 0)
        return torus_barrier(group);
    if (strcmp(operation, "broadcast") == 0)
        return torus_broadcast(group, out, count, TORUS_DOUBLE, 0);
    if (strcmp(operation, "allreduce") == 0)
        return torus_allreduce(group, in, out, count, TORUS_DOUBLE, TORUS_SUM);
    if (strcmp(operation, "scan") == 0)
        return torus_scan(group, in, out, count, TORUS_DOUBLE, TORUS_SUM);
    return torus_alltoall(group, in, out, count, TORUS_DOUBLE);
}

int main(int argc, char **argv)
{
    size_t bytes = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    unsigned long count = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
    if (argc != 4) {
        fprintf(stderr, "usage: bench_calls OPERATION BYTES COUNT\n");
        return 2;
    }
    if (torus_open(&context, NULL) != TORUS_OK || torus_join(context, NULL, &group) != TORUS_OK)
        return 1;
    size_t room = bytes * torus_size(group) + sizeof(double);
    double *in = torus_alloc(context, room), *out = torus_alloc(context, room);
    if (!in || !out)
        return 1;
    memset(in, 0, room);
    memset(out, 0, room);
    for (unsigned long i = 0; i < count; i++)
        if (call(argv[1], in, out, bytes / sizeof(double)) != TORUS_OK) {
            fprintf(stderr, "bench_calls: %s\n", torus_last_error(context));
            return 1;
        }
    torus_close(context);
    return 0;
}
