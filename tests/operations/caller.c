/* SPDX-License-Identifier: Apache-2.0 */
/* caller [MS]: a rank that starts a large broadcast from rank 0 for each line that it reads, and
 * says what it does: joined, started, done, or the sentence of an error. Its operations wait MS
 * milliseconds for all ranks. */
#include <stdio.h>
#include <stdlib.h>

#include <torus/torus.h>

enum { BYTES = 64 << 20 };

static void say(const char *text)
{
    puts(text);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    torus_context *context = NULL;
    torus_group *world = NULL;
    torus_request *request = NULL;
    char line[16];
    if (torus_open(&context, NULL) != TORUS_OK || torus_join(context, NULL, &world) != TORUS_OK) {
        say(torus_last_error(context));
        return 1;
    }
    if (argc > 1)
        torus_set_timeout(world, 1000000LL * atoi(argv[1]));
    char *data = torus_alloc(context, BYTES);
    if (!data)
        return 1;
    say("joined");
    while (fgets(line, sizeof line, stdin)) {
        if (torus_ibroadcast(world, data, BYTES, TORUS_BYTE, 0, &request) != TORUS_OK) {
            say(torus_last_error(context));
            continue;
        }
        say("started");
        say(torus_wait(request, -1) == TORUS_OK ? "done" : torus_last_error(context));
    }
    torus_close(context);
    return 0;
}
