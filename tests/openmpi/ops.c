/* SPDX-License-Identifier: Apache-2.0 */
/* ops: torusctl ops names the ranks of MPI_COMM_WORLD that a barrier waits for. The argument is the
 * path of torusctl. */
#include "check.h"

#include <time.h>

enum { TRIES = 500 };

/* says returns 1 if torusctl ops prints this text. */
static int says(const char *torusctl, const char *words)
{
    char command[512], text[8192];
    snprintf(command, sizeof command, "'%s' ops", torusctl);
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): the path comes from the build */
    CHECK(pipe);
    size_t bytes = fread(text, 1, sizeof text - 1, pipe);
    text[bytes] = 0;
    pclose(pipe);
    return strstr(text, words) != NULL;
}

int main(int argc, char **argv)
{
    char missing[32], arrived[32];
    const struct timespec pause = {.tv_nsec = 10000000};
    begin(&argc, &argv);
    CHECK(argc == 2 && ranks > 2);
    WELL(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1) {
        int found = 0;
        snprintf(arrived, sizeof arrived, "%d of %d ranks: 0,2", ranks - 1, ranks);
        snprintf(missing, sizeof missing, "missing   1\n");
        now = "torusctl ops names the missing rank";
        for (int i = 0; i < TRIES && !found; i++) {
            found = says(argv[1], arrived) && says(argv[1], missing);
            nanosleep(&pause, NULL);
        }
        CHECK(found);
    }
    WELL(MPI_Barrier(MPI_COMM_WORLD));
    return end();
}
