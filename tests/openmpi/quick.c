/* SPDX-License-Identifier: Apache-2.0 */
/* quick: only short broadcasts and reductions, in a row and with one rank that computes meanwhile,
 * on two communicators. */
#include "check.h"

enum { CALLS = 3000, MANY = 64 };

/* compute keeps this rank busy for so long that no row of calls before it counts as quick. */
static void compute(void)
{
    for (double until = MPI_Wtime() + 0.3; MPI_Wtime() < until;)
        ;
}

static void calls(MPI_Comm comm, int count)
{
    int me = 0, size = 0, data[MANY], sum[MANY];
    WELL(MPI_Comm_rank(comm, &me));
    WELL(MPI_Comm_size(comm, &size));
    for (int i = 0; i < count; i++) {
        int root = i % size, n = 1 + i % MANY;
        for (int k = 0; k < n; k++)
            data[k] = me == root ? i + k : -1;
        WELL(MPI_Bcast(data, n, MPI_INT, root, comm));
        for (int k = 0; k < n; k++) {
            CHECK(data[k] == i + k);
            data[k] = me * k + i;
        }
        WELL(MPI_Reduce(data, sum, n, MPI_INT, MPI_SUM, (root + 1) % size, comm));
        for (int k = 0; k < n && me == (root + 1) % size; k++)
            CHECK(sum[k] == size * (size - 1) / 2 * k + size * i);
    }
}

/* after_computing makes calls before and after one rank computes. */
static void after_computing(MPI_Comm comm, int who)
{
    calls(comm, 4);
    if (rank == who)
        compute();
    calls(comm, CALLS);
}

int main(int argc, char **argv)
{
    MPI_Comm copy = MPI_COMM_NULL;
    begin(&argc, &argv);
    now = "of all ranks";
    after_computing(MPI_COMM_WORLD, ranks - 1);
    now = "of a copy";
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    calls(copy, 4 * MANY); /* it becomes a group */
    after_computing(copy, 0);
    WELL(MPI_Comm_free(&copy));
    return end();
}
