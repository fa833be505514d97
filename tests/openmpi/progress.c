/* SPDX-License-Identifier: Apache-2.0 */
/* progress: while ranks wait in collectives, messages of both directions, messages that need a
 * handshake, and one-sided operations on their memory proceed. A rank that made no progress would
 * hang the others. */
#include "check.h"

enum { LONG = 1 << 20, ROUNDS = 10 };

/* messages: rank 0 comes to the barrier only after its messages with the others, whose requests are
 * pending while they wait there. */
static void messages(int form)
{
    static char out[LONG], in[LONG];
    MPI_Request request[2], barrier = MPI_REQUEST_NULL;
    now = "messages while others wait";
    if (rank == 0) {
        for (int r = 1; r < ranks; r++) {
            memset(out, r, sizeof out);
            WELL(MPI_Send(out, LONG, MPI_CHAR, r, 1, MPI_COMM_WORLD));
            WELL(MPI_Recv(in, LONG, MPI_CHAR, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(in[0] == r && in[LONG - 1] == r);
        }
    } else {
        memset(out, rank, sizeof out);
        WELL(MPI_Irecv(in, LONG, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request[0]));
        WELL(MPI_Isend(out, LONG, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &request[1]));
    }
    if (form == BLOCKING) {
        WELL(MPI_Barrier(MPI_COMM_WORLD));
    } else {
        WELL(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
        finish(&barrier);
    }
    if (rank > 0) {
        WELL(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
        CHECK(in[0] == rank && in[LONG - 1] == rank);
    }
}

/* one_sided: rank 0 reads and writes the memory of the others, which wait in an allreduce. */
static void one_sided(void)
{
    static int memory[1024];
    MPI_Win window;
    int sum = 0, seen = 0;
    now = "one-sided operations while others wait";
    for (int i = 0; i < 1024; i++)
        memory[i] = rank + i;
    WELL(
        MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    for (int r = 1; r < ranks && rank == 0; r++) {
        WELL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, r, 0, window));
        WELL(MPI_Accumulate(&(int){100}, 1, MPI_INT, r, 7, 1, MPI_INT, MPI_SUM, window));
        WELL(MPI_Win_flush(r, window));
        WELL(MPI_Get(&seen, 1, MPI_INT, r, 7, 1, MPI_INT, window));
        WELL(MPI_Win_unlock(r, window));
        CHECK(seen == r + 107);
    }
    WELL(MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == ranks);
    WELL(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window));
    CHECK(memory[7] == rank + 7 + (rank > 0 ? 100 : 0));
    WELL(MPI_Win_unlock(rank, window));
    WELL(MPI_Win_free(&window));
}

/* other_group: rank 0 completes a non-blocking call of another communicator before it comes to the
 * barrier; the others have begun that call, and complete it afterwards. */
static void other_group(void)
{
    MPI_Comm comm;
    MPI_Request request = MPI_REQUEST_NULL;
    int sum = 0;
    now = "a call of another communicator while others wait";
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    WELL(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
    if (rank == 0)
        finish(&request);
    WELL(MPI_Barrier(MPI_COMM_WORLD));
    if (rank > 0)
        finish(&request);
    CHECK(sum == ranks * (ranks - 1) / 2);
    WELL(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        messages(BLOCKING);
        messages(NONBLOCKING);
        one_sided();
        other_group();
    }
    return end();
}
