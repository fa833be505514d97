/* SPDX-License-Identifier: Apache-2.0 */
/* lost: rank 0 kills the daemon of the last rank while all ranks make calls. Each rank gets an
 * error with torusd's sentence, in a blocking call and in the status of a non-blocking one; none
 * hangs. */
#include "check.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BEFORE = 50 };

/* kill_daemon kills the daemon of the last socket in TORUS_SOCKETS. */
static void kill_daemon(void)
{
    const char *list = getenv("TORUS_SOCKETS"), *path = list ? strrchr(list, ':') : NULL;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred daemon = {0};
    socklen_t size = sizeof daemon;
    CHECK(path && strlen(path + 1) < sizeof address.sun_path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path + 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &daemon, &size) == 0 && daemon.pid > 1);
    CHECK(kill(daemon.pid, SIGKILL) == 0);
    close(fd);
}

static void check_sentence(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    CHECK(code != MPI_SUCCESS);
    WELL(MPI_Error_string(code, text, &length));
    CHECK(strncmp(text, "torusd: ", 8) == 0);
}

int main(int argc, char **argv)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int sum = 0, error = MPI_SUCCESS;
    begin(&argc, &argv);
    now = "a daemon is killed";
    WELL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 0; error == MPI_SUCCESS; i++) {
        if (i == BEFORE && rank == 0)
            kill_daemon();
        error = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(error != MPI_SUCCESS || sum == ranks * (ranks - 1) / 2);
        CHECK(i >= BEFORE - 1 || error == MPI_SUCCESS); /* the last call may end later here */
    }
    check_sentence(error);
    WELL(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    check_sentence(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return end();
}
