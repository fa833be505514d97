/* SPDX-License-Identifier: Apache-2.0 */
/* errors: torusd's errors reach the program, through the error handler or in the status, with its
 * sentence. The ranks break a rule of MPI that only torusd checks, so this is no program for Open
 * MPI alone. */
#include "check.h"

#include <stdbool.h>

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

/* ---- ranks that differ in one argument ---- */

/* struct arguments: those of a reduction or a broadcast of one number. */
struct arguments {
    MPI_Datatype type;
    MPI_Op op;
    int count, root;
};

/* make makes a call in a form and returns its error. */
static int make(int form, int which, const struct arguments *a, int *from, int *to)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    int error = MPI_SUCCESS;
    if (form == BLOCKING) {
        if (which == 0)
            return MPI_Allreduce(from, to, a->count, a->type, a->op, world);
        if (which == 1)
            return MPI_Reduce(from, to, a->count, a->type, a->op, a->root, world);
        return MPI_Bcast(to, a->count, a->type, a->root, world);
    }
    if (form == NONBLOCKING && which == 0)
        WELL(MPI_Iallreduce(from, to, a->count, a->type, a->op, world, &request));
    else if (form == NONBLOCKING && which == 1)
        WELL(MPI_Ireduce(from, to, a->count, a->type, a->op, a->root, world, &request));
    else if (form == NONBLOCKING)
        WELL(MPI_Ibcast(to, a->count, a->type, a->root, world, &request));
    else if (which == 0)
        WELL(MPIX_Allreduce_init(from, to, a->count, a->type, a->op, world, MPI_INFO_NULL,
                                 &request));
    else if (which == 1)
        WELL(MPIX_Reduce_init(from, to, a->count, a->type, a->op, a->root, world, MPI_INFO_NULL,
                              &request));
    else
        WELL(MPIX_Bcast_init(to, a->count, a->type, a->root, world, MPI_INFO_NULL, &request));
    if (form == PERSISTENT)
        WELL(MPI_Start(&request));
    error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(request == MPI_REQUEST_NULL); /* Open MPI frees a request that has failed */
    return error;
}

/* differ makes every call with arguments that differ by rank in one thing, in every form. Where
 * Open MPI agrees on new communicators it makes some of these calls itself. */
static void differ(int form)
{
    static const char *const calls[] = {"allreduce", "reduce", "broadcast"};
    enum { OPERATOR, TYPE, COUNT, ROOT, THINGS };
    char text[64];
    bool odd = rank % 2;
    for (int which = 0; which < 3; which++)
        for (int thing = 0; thing < THINGS; thing++) {
            struct arguments a = {MPI_INT, MPI_MAX, 1, 0};
            int from[2] = {rank, rank}, to[2] = {0};
            if ((thing == OPERATOR && which == 2) || (thing == ROOT && which == 0))
                continue;
            snprintf(text, sizeof text, "%s, form %d, thing %d", calls[which], form, thing);
            now = text;
            if (thing == OPERATOR && odd)
                a.op = MPI_SUM;
            else if (thing == TYPE && odd)
                a.type = which == 2 ? MPI_SHORT : MPI_FLOAT; /* a broadcast moves bytes */
            else if (thing == COUNT && odd)
                a.count = 2;
            else if (thing == ROOT && odd)
                a.root = 1;
            check_sentence(make(form, which, &a, from, to));
            WELL(MPI_Barrier(MPI_COMM_WORLD));
        }
}

/* in_turn makes a communicator without waiting, while calls of the same form as those by which
 * Open MPI agrees on it are in flight. */
static void in_turn(void)
{
    now = "calls beside the creation of a communicator";
    for (int i = 0; i < 8; i++) {
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Request request[3];
        int most = 0, sum = 0, own = i * ranks + rank, first = rank == 0 ? i : -1;
        WELL(MPI_Iallreduce(&own, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request[0]));
        WELL(MPI_Comm_idup(MPI_COMM_WORLD, &made, &request[1]));
        if (rank == i % ranks)
            WELL(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
        WELL(MPI_Ibcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD, &request[2]));
        WELL(MPI_Waitall(3, request, MPI_STATUSES_IGNORE));
        CHECK(most == i * ranks + ranks - 1 && first == i);
        WELL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made));
        CHECK(sum == ranks * (ranks - 1) / 2);
        WELL(MPI_Comm_free(&made));
    }
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
    for (int form = 0; form < FORMS; form++)
        differ(form);
    in_turn();
    WELL(MPI_Errhandler_free(&handler));
    return end();
}
