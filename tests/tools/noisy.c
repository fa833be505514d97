/* SPDX-License-Identifier: Apache-2.0 */
/* noisy [later]: a rank that prints to descriptors 1 and 2 between its calls, whatever they are.
 * "later": it closes descriptors 0 to 2 when it has opened its context. It exits with 0 if all
 * results are right and it can send nothing to the daemon by printing. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "torus/torus.h"

enum { CALLS = 20, SHARED = 100000 };

/* fail tells the sentence by a file: descriptor 2 may be closed. */
static _Noreturn void fail(const torus_context *c, const char *text)
{
    close(0); /* it may be the last descriptor that this process can have */
    FILE *f = fopen(getenv("NOISY_LOG") ? getenv("NOISY_LOG") : "/dev/null", "a");
    if (f)
        fprintf(f, "%s: %s\n", text, torus_last_error(c));
    exit(1);
}

/* print prints what would be a malformed request to descriptors 0 to 2. */
static void print(const torus_context *c)
{
    struct sockaddr_storage name;
    for (int fd = 0; fd <= 2; fd++) {
        socklen_t size = sizeof name;
        if (getsockname(fd, (struct sockaddr *)&name, &size) == 0)
            fail(c, "a standard descriptor is a socket");
        if (write(fd, "noise\n", 6) < 0)
            continue;
    }
}

int main(int argc, char **argv)
{
    torus_context *c = NULL;
    torus_group *world = NULL;
    struct torus_open_options options = {.size = sizeof options, .threads = true};
    if (torus_open(&c, &options) != TORUS_OK)
        fail(c, "open");
    for (int fd = 0; fd <= 2 && argc > 1 && strcmp(argv[1], "later") == 0; fd++)
        close(fd);
    print(c);
    if (torus_join(c, NULL, &world) != TORUS_OK)
        fail(c, "join");
    double *shared = torus_alloc(c, SHARED * sizeof *shared),
           *plain = calloc(SHARED, sizeof *plain);
    if (!shared || !plain)
        fail(c, "memory");
    for (int i = 0; i < CALLS; i++) {
        print(c);
        for (size_t k = 0; k < SHARED; k++)
            plain[k] = i;
        if (torus_allreduce(world, plain, shared, SHARED, TORUS_DOUBLE, TORUS_SUM) != TORUS_OK)
            fail(c, "allreduce");
        for (size_t k = 0; k < SHARED; k++)
            if (shared[k] != (double)i * torus_size(world))
                fail(c, "sum");
    }
    free(plain);
    torus_close(c);
    return 0;
}
