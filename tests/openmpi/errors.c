/* SPDX-License-Identifier: Apache-2.0 */
/* errors: torusd's errors reach the program, through the error handler or in the status, with its
 * sentence. The ranks break a rule of MPI that only torusd checks, so this is no program for Open
 * MPI alone. */
#include "check.h"

static int handled, handled_code;

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled++;
    handled_code = *code;
}

/* check_sentence checks that the code's sentence is the one of a mismatch. */
static void check_sentence(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0, class = 0;
    CHECK(code != MPI_SUCCESS);
    WELL(MPI_Error_string(code, text, &length));
    CHECK(strncmp(text, "torusd: ", 8) == 0);
    CHECK(strstr(text, "rank"));
    WELL(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_OTHER);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int own[3] = {1, 2, 3}, got[3] = {0};
    begin(&argc, &argv);
    const int count = rank == 0 ? 2 : 3;
    now = "a handler gets the error of a blocking call";
    WELL(MPI_Comm_create_errhandler(handle, &handler));
    WELL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    check_sentence(MPI_Allreduce(own, got, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(handled == 1);
    check_sentence(handled_code);
    now = "the status has the error of a non-blocking call";
    WELL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    WELL(MPI_Ibcast(got, count, MPI_INT, 0, MPI_COMM_WORLD, &request));
    CHECK(MPI_Waitall(1, &request, &status) == MPI_ERR_IN_STATUS);
    check_sentence(status.MPI_ERROR);
    now = "the same by MPI_Wait";
    WELL(MPI_Ibcast(got, count, MPI_INT, 0, MPI_COMM_WORLD, &request));
    check_sentence(MPI_Wait(&request, &status));
    now = "later calls succeed";
    WELL(MPI_Allreduce(own, got, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(got[0] == ranks && got[2] == 3 * ranks);
    WELL(MPI_Errhandler_free(&handler));
    return end();
}
