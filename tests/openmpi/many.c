/* SPDX-License-Identifier: Apache-2.0 */
/* many: more communicators and persistent calls than torusd gives groups to one process. Ranks free
 * them in different orders. */
#include "check.h"

enum { COMMUNICATORS = 3000, CALLS = 600 };

/* make returns a copy, or the part of the ranks that have this one's parity in `i`. */
static MPI_Comm make(int i)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (i % 2)
        WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    else
        WELL(MPI_Comm_split(MPI_COMM_WORLD, (rank + i / 2) % 2, -rank, &comm));
    return comm;
}

static void use(MPI_Comm comm)
{
    int me = 0, size = 0, sum = 0;
    WELL(MPI_Comm_rank(comm, &me));
    WELL(MPI_Comm_size(comm, &size));
    WELL(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2);
}

static void kept(void)
{
    static MPI_Comm comm[COMMUNICATORS];
    now = "communicators that live at once";
    for (int i = 0; i < COMMUNICATORS; i++) {
        comm[i] = make(i);
        use(comm[i]);
    }
    for (int i = COMMUNICATORS - 1; i >= 0; i--)
        use(comm[i]);
    for (int i = 0; i < COMMUNICATORS; i++)
        WELL(MPI_Comm_free(&comm[i]));
}

static void freed(void)
{
    now = "communicators that are freed at once";
    for (int i = 0; i < COMMUNICATORS; i++) {
        MPI_Comm comm = make(i);
        use(comm);
        WELL(MPI_Comm_free(&comm));
    }
}

static void persistent(void)
{
    static MPI_Request request[CALLS];
    static int sum[CALLS];
    now = "persistent calls";
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < CALLS; i++)
            WELL(MPIX_Allreduce_init(&rank, &sum[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &request[i]));
        WELL(MPI_Startall(CALLS, request));
        WELL(MPI_Waitall(CALLS, request, MPI_STATUSES_IGNORE));
        for (int i = 0; i < CALLS; i++) {
            int at = rank % 2 ? i : CALLS - 1 - i;
            CHECK(sum[at] == ranks * (ranks - 1) / 2);
            WELL(MPI_Request_free(&request[at]));
        }
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    kept();
    freed();
    persistent();
    return end();
}
