/* SPDX-License-Identifier: Apache-2.0 */
/* threads: several threads call collectives at once, each on a communicator of its own. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 100 };

static MPI_Comm comms[THREADS];

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void *work(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument;
    MPI_Op op = MPI_OP_NULL;
    const int all = ranks * (ranks - 1) / 2;
    WELL(MPI_Op_create(add, 1, &op));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request[3];
        int sum = 0, own = 0, list[RANKS_MAX] = {0}, last = rank;
        WELL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(sum == all);
        WELL(MPI_Iallgather(&rank, 1, MPI_INT, list, 1, MPI_INT, comm, &request[0]));
        WELL(MPI_Iallreduce(&rank, &own, 1, MPI_INT, op, comm, &request[1]));
        WELL(MPI_Ibcast(&last, 1, MPI_INT, ranks - 1, comm, &request[2]));
        WELL(MPI_Waitall(3, request, MPI_STATUSES_IGNORE));
        CHECK(own == all && last == ranks - 1 && list[ranks - 1] == ranks - 1);
        WELL(MPI_Barrier(comm));
    }
    WELL(MPI_Op_free(&op));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    now = "threads";
    CHECK(level == MPI_THREAD_MULTIPLE && ranks <= RANKS_MAX);
    for (int i = 0; i < THREADS; i++)
        WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, work, &comms[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        WELL(MPI_Comm_free(&comms[i]));
    return end();
}
