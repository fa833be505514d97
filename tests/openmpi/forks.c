/* SPDX-License-Identifier: Apache-2.0 */
/* forks: ranks that fork while communicators live and calls are in flight. The child writes to its
 * copies of the buffers and ends; the parent goes on. */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 100000, ROUNDS = 6 };
static double mine[COUNT], sum[COUNT];

/* child_ends forks; the child ends with exit handlers, without them, or as another program. */
static void child_ends(int how)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        memset(mine, 0, sizeof mine);
        memset(sum, 0, sizeof sum);
        if (how == 0)
            exit(0);
        if (how == 1)
            execlp("true", "true", (char *)NULL);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void run(int round, int who)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    int total = 0;
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    WELL(MPI_Barrier(comm));
    for (int i = 0; i < COUNT; i++)
        mine[i] = rank + i;
    WELL(MPI_Iallreduce(mine, sum, COUNT, MPI_DOUBLE, MPI_SUM, comm, &request));
    if (who == ranks || who == rank)
        child_ends(round % 3);
    finish(&request);
    for (int i = 0; i < COUNT; i++)
        CHECK(sum[i] == ranks * ((ranks - 1) / 2.0 + i));
    WELL(MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, comm));
    CHECK(total == ranks * (ranks - 1) / 2);
    WELL(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        now = "one rank forks";
        run(round, round % ranks);
        now = "all ranks fork";
        run(round, ranks);
    }
    return end();
}
