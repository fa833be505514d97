/* SPDX-License-Identifier: Apache-2.0 */
/* requests: many calls in flight, completed in any order; persistent calls started in any order;
 * communicators, types and operators that the program frees while calls are in flight. */
#include "check.h"

enum { MANY = 300, FEW = 8 };

static int value_of(int r, int i)
{
    return r * 31 + i;
}

static int sum_of(int i)
{
    int sum = 0;
    for (int r = 0; r < ranks; r++)
        sum += value_of(r, i);
    return sum;
}

/* many keeps calls in flight on two communicators, which ranks use in different orders. */
static void many(void)
{
    static int own[2][MANY], got[2][MANY];
    MPI_Request request[2 * MANY];
    MPI_Comm comm[2] = {MPI_COMM_WORLD};
    now = "many requests";
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comm[1]));
    for (int turn = 0; turn < 2; turn++) {
        int c = (turn + rank) % 2;
        for (int i = 0; i < MANY; i++) {
            own[c][i] = value_of(rank, i);
            WELL(MPI_Iallreduce(&own[c][i], &got[c][i], 1, MPI_INT, MPI_SUM, comm[c],
                                &request[c * MANY + i]));
        }
    }
    int index = -1, flag = 0;
    WELL(MPI_Waitany(2 * MANY, request, &index, MPI_STATUS_IGNORE));
    CHECK(index >= 0 && request[index] == MPI_REQUEST_NULL);
    while (!flag)
        WELL(MPI_Testall(MANY, request, &flag, MPI_STATUSES_IGNORE));
    WELL(MPI_Waitall(2 * MANY, request, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++)
        CHECK(got[0][i] == sum_of(i) && got[1][i] == sum_of(i));
    WELL(MPI_Comm_free(&comm[1]));
}

/* mixed has blocking calls among non-blocking ones on one communicator. */
static void mixed(void)
{
    MPI_Request request[3];
    int a = rank, b = 0, c = -1, d = rank, sum = 0;
    now = "blocking and non-blocking calls";
    for (int round = 0; round < 20; round++) {
        a = rank + round;
        c = rank == 0 ? round : -1;
        WELL(MPI_Iallreduce(&a, &b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[0]));
        WELL(MPI_Ibcast(&c, 1, MPI_INT, 0, MPI_COMM_WORLD, &request[1]));
        WELL(MPI_Allreduce(&d, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        WELL(MPI_Ibarrier(MPI_COMM_WORLD, &request[2]));
        WELL(MPI_Waitall(3, request, MPI_STATUSES_IGNORE));
        CHECK(sum == ranks * (ranks - 1) / 2 && b == sum + ranks * round && c == round);
    }
}

/* persistent starts calls in an order that differs by rank, several times. */
static void persistent(void)
{
    int own[FEW], got[FEW];
    MPI_Request request[FEW];
    now = "persistent calls";
    for (int i = 0; i < FEW; i++)
        WELL(MPIX_Allreduce_init(&own[i], &got[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &request[i]));
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < FEW; i++) {
            own[i] = value_of(rank, i + round);
            got[i] = -1;
        }
        if (round == 4) {
            WELL(MPI_Startall(FEW, request));
        } else {
            for (int i = 0; i < FEW; i++)
                WELL(MPI_Start(&request[(i * (rank % 2 ? 3 : 5) + rank) % FEW]));
        }
        WELL(MPI_Barrier(MPI_COMM_WORLD));
        WELL(MPI_Waitall(FEW, request, MPI_STATUSES_IGNORE));
        for (int i = 0; i < FEW; i++)
            CHECK(got[i] == sum_of(i + round));
    }
    for (int i = 0; i < FEW; i++)
        WELL(MPI_Request_free(&request[i]));
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        ((int *)inout)[3 * i] += ((int *)in)[3 * i];
        ((int *)inout)[3 * i + 1] += ((int *)in)[3 * i + 1];
    }
}

/* freed frees what a call uses as soon as it has begun; the communicator too if `all`. */
static void freed(int form, int all)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Datatype pair = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int own[3] = {rank, 2 * rank, 7}, got[3] = {-1, -1, -1}, moved[3] = {rank, 5 + rank, 9};
    now = "what is freed in flight";
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    WELL(MPI_Type_contiguous(2, MPI_INT, &pair));
    WELL(MPI_Type_create_resized(pair, 0, 3 * (MPI_Aint)sizeof(int), &type));
    WELL(MPI_Type_commit(&type));
    WELL(MPI_Op_create(add, 1, &op));
    if (form == PERSISTENT) {
        WELL(MPIX_Allreduce_init(own, got, 1, type, op, comm, MPI_INFO_NULL, &request[0]));
        WELL(MPIX_Bcast_init(moved, 1, type, 0, comm, MPI_INFO_NULL, &request[1]));
    } else {
        WELL(MPI_Iallreduce(own, got, 1, type, op, comm, &request[0]));
        WELL(MPI_Ibcast(moved, 1, type, 0, comm, &request[1]));
    }
    WELL(MPI_Op_free(&op));
    WELL(MPI_Type_free(&type));
    WELL(MPI_Type_free(&pair));
    if (form == PERSISTENT)
        WELL(MPI_Startall(2, request));
    if (all)
        WELL(MPI_Comm_free(&comm));
    WELL(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    CHECK(got[0] == ranks * (ranks - 1) / 2 && got[1] == 2 * got[0] && got[2] == -1);
    CHECK(moved[0] == 0 && moved[1] == 5 && moved[2] == 9);
    if (form == PERSISTENT) {
        WELL(MPI_Request_free(&request[0]));
        WELL(MPI_Request_free(&request[1]));
    }
    if (!all)
        WELL(MPI_Comm_free(&comm));
}

/* With an argument it also frees communicators of calls in flight, and what persistent calls use:
 * that crashes Open MPI's own modules. */
int main(int argc, char **argv)
{
    begin(&argc, &argv);
    mixed();
    many();
    persistent();
    for (int round = 0; round < 10; round++) {
        freed(NONBLOCKING, argc > 1);
        if (argc > 1)
            freed(PERSISTENT, 1);
    }
    return end();
}
