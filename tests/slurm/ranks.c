/* SPDX-License-Identifier: Apache-2.0 */
/* ranks: the C program of the tests with Slurm. A failed check ends it with exit code 1.
 *   ranks sum              all ranks sum their numbers; each is on the node that Slurm says
 *   ranks lose RANK        RANK kills itself; the others get the error, and go on without it
 *   ranks escape [ignore]  each rank becomes a process that Slurm does not know, and its parent
 *                          ends; `ignore`: it ignores SIGTERM
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <torus/torus.h>

static torus_context *context;
static torus_group *world;

static int failed(const char *what)
{
    fprintf(stderr, "ranks: %s: %s\n", what, torus_last_error(context));
    return 1;
}

static int join(void)
{
    if (torus_open(&context, NULL) != TORUS_OK)
        return failed("torus_open");
    return torus_join(context, NULL, &world) == TORUS_OK ? 0 : failed("torus_join");
}

/* sum prints the sum of the ranks of a group. */
static int sum(torus_group *group)
{
    double total = torus_rank(group);
    if (torus_allreduce(group, TORUS_IN_PLACE, &total, 1, TORUS_DOUBLE, TORUS_SUM) != TORUS_OK)
        return failed("torus_allreduce");
    printf("rank %u of %u on node %u: the sum is %g\n", torus_rank(group), torus_size(group),
           torus_node(context), total);
    return 0;
}

/* at_home checks that the daemon is that of the node on which Slurm has started this rank: node
 * N is the host whose name ends in N. */
static int at_home(void)
{
    const char *name = getenv("SLURMD_NODENAME");
    size_t digits = name ? strcspn(name, "0123456789") : 0;
    if (!name || strtoul(name + digits, NULL, 10) == torus_node(context))
        return 0;
    fprintf(stderr, "ranks: this is %s, but the daemon is that of node %u\n", name,
            torus_node(context));
    return 1;
}

static int lose(uint32_t victim)
{
    double value = 1;
    torus_group *rest = NULL;
    if (torus_barrier(world) != TORUS_OK)
        return failed("torus_barrier");
    if (torus_rank(world) == victim)
        raise(SIGKILL);
    int error = torus_allreduce(world, TORUS_IN_PLACE, &value, 1, TORUS_DOUBLE, TORUS_SUM);
    if (error != TORUS_ERR_RANK_FAILED)
        return failed("the rank is lost, but torus_allreduce returns something else");
    printf("rank %u: %s\n", torus_rank(world), torus_last_error(context));
    if (torus_shrink(world, &rest) != TORUS_OK)
        return failed("torus_shrink");
    return sum(rest);
}

static int escape(int ignore)
{
    int ready[2];
    char byte = 0;
    if (pipe(ready) != 0)
        return failed("pipe");
    pid_t child = fork();
    if (child < 0)
        return failed("fork");
    if (child > 0) {
        close(ready[1]);
        return read(ready[0], &byte, 1) == 1 ? 0 : failed("the child has not joined");
    }
    setsid();
    if (ignore)
        signal(SIGTERM, SIG_IGN);
    if (join() != 0 || torus_barrier(world) != TORUS_OK || !freopen("/dev/null", "w", stdout) ||
        !freopen("/dev/null", "w", stderr) || write(ready[1], "r", 1) != 1)
        _exit(1);
    close(ready[0]);
    close(ready[1]);
    for (;;)
        pause();
}

int main(int count, char **words)
{
    const char *mode = count > 1 ? words[1] : "";
    if (strcmp(mode, "escape") == 0)
        return escape(count > 2);
    if (join() != 0)
        return 1;
    int code = strcmp(mode, "sum") == 0                 ? at_home() || sum(world)
               : strcmp(mode, "lose") == 0 && count > 2 ? lose((uint32_t)atoi(words[2]))
                                                        : 2;
    torus_close(context);
    return code;
}
