/* SPDX-License-Identifier: Apache-2.0 */
/* communicators: those that MPI's functions make, in orders that differ by rank, used at once,
 * later or never; intercommunicators and one rank alone, which Open MPI serves itself. */
#include "check.h"

enum { FEW = 6 };

/* use makes calls of all three forms on a communicator. */
static void use(MPI_Comm comm)
{
    int me = 0, size = 0, sum = 0, last = 0, got = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    WELL(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2);
    last = me;
    WELL(MPI_Ibcast(&last, 1, MPI_INT, size - 1, comm, &request));
    finish(&request);
    CHECK(last == size - 1);
    WELL(MPI_Exscan(&(int){1}, &got, 1, MPI_INT, MPI_SUM, comm));
    CHECK(me == 0 || got == me);
}

static void split_and_free(void)
{
    now = "split";
    for (int round = 0; round < 20; round++) {
        MPI_Comm comm = MPI_COMM_NULL;
        WELL(MPI_Comm_split(MPI_COMM_WORLD, (rank + round) % 3 ? 0 : MPI_UNDEFINED, -rank, &comm));
        if (comm == MPI_COMM_NULL)
            continue;
        if (round % 2)
            use(comm);
        WELL(MPI_Comm_free(&comm));
    }
}

/* grids has rows and columns: each rank uses both, in an order that differs by rank. */
static void grids(void)
{
    MPI_Comm row, column;
    int side = ranks % 2 ? 1 : 2;
    now = "rows and columns";
    WELL(MPI_Comm_split(MPI_COMM_WORLD, rank / (ranks / side), rank, &row));
    WELL(MPI_Comm_split(MPI_COMM_WORLD, rank % (ranks / side), rank, &column));
    for (int round = 0; round < 5; round++) {
        use(row);
        use(column);
    }
    MPI_Request request[2];
    int a = rank, b = rank;
    WELL(MPI_Ibcast(&a, 1, MPI_INT, 0, rank % 2 ? row : column, &request[0]));
    WELL(MPI_Ibcast(&b, 1, MPI_INT, 0, rank % 2 ? column : row, &request[1]));
    WELL(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    WELL(MPI_Comm_free(&row));
    WELL(MPI_Comm_free(&column));
}

/* pairs makes groups by MPI_Comm_create_group, in an order that differs by rank. */
static void pairs(void)
{
    MPI_Group world, group;
    MPI_Comm comm = MPI_COMM_NULL;
    now = "create_group";
    WELL(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int other = 0; other < ranks; other++) {
        if (other == rank)
            continue;
        int list[2] = {rank < other ? rank : other, rank < other ? other : rank};
        WELL(MPI_Group_incl(world, 2, list, &group));
        WELL(MPI_Comm_create_group(MPI_COMM_WORLD, group, list[0] * ranks + list[1], &comm));
        use(comm);
        WELL(MPI_Comm_free(&comm));
        WELL(MPI_Group_free(&group));
    }
    WELL(MPI_Group_free(&world));
}

/* idups overlaps the creation of a communicator with other calls of the same communicator. Open MPI
 * 4.1 hangs if several creations overlap. */
static void idups(void)
{
    MPI_Comm comm[FEW];
    MPI_Request request = MPI_REQUEST_NULL;
    int sum = 0;
    now = "idup";
    for (int i = 0; i < FEW; i++) {
        WELL(MPI_Comm_idup(MPI_COMM_WORLD, &comm[i], &request));
        if ((rank + i) % 2)
            MPI_Test(&request, &(int){0}, MPI_STATUS_IGNORE);
        WELL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        WELL(MPI_Barrier(MPI_COMM_WORLD));
        finish(&request);
        CHECK(sum == ranks * (ranks - 1) / 2);
    }
    for (int i = FEW - 1; i >= 0; i--)
        use(comm[i]);
    for (int i = 0; i < FEW; i++)
        WELL(MPI_Comm_free(&comm[i]));
}

/* between has collectives of an intercommunicator, and of the communicator merged from it. */
static void between(void)
{
    MPI_Comm half, inter, merged;
    int sum = 0, other = rank % 2 ? 0 : 1, remote = 0;
    now = "intercommunicator";
    WELL(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    WELL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, other, 5, &inter));
    WELL(MPI_Comm_remote_size(inter, &remote));
    WELL(MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK(sum == remote);
    WELL(MPI_Barrier(inter));
    now = "idup of an intercommunicator";
    for (int i = 0; i < FEW; i++) { /* its agreement overlaps with collectives */
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Request request = MPI_REQUEST_NULL;
        WELL(MPI_Comm_idup(inter, &copy, &request));
        for (int j = 0; j < 100 * rank; j++)
            WELL(MPI_Test(&request, &(int){0}, MPI_STATUS_IGNORE));
        WELL(MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, inter));
        CHECK(sum == remote);
        WELL(MPI_Barrier(inter));
        finish(&request);
        WELL(MPI_Comm_free(&copy));
    }
    now = "intercommunicator";
    WELL(MPI_Intercomm_merge(inter, rank % 2, &merged));
    use(merged);
    WELL(MPI_Comm_free(&merged));
    WELL(MPI_Comm_free(&inter));
    WELL(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    MPI_Comm alone, never;
    begin(&argc, &argv);
    use(MPI_COMM_WORLD);
    split_and_free();
    grids();
    pairs();
    idups();
    between();
    now = "one rank";
    use(MPI_COMM_SELF);
    WELL(MPI_Comm_dup(MPI_COMM_SELF, &alone));
    use(alone);
    WELL(MPI_Comm_free(&alone));
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &never)); /* MPI_Finalize frees it */
    return end();
}
