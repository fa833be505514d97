/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collectives_driver.h"
#include "hosts.h"

enum { SAMPLE_MS = 120000 };

static const struct {
    const char *name, *program;
    enum launcher launcher;
} sides[SIDES] = {{"torusd", "collectives_torus", EMULATE},
                  {"Open MPI", "collectives_mpi", MPIRUN_OPENMPI},
                  {"MPICH", "collectives_mpich", MPIRUN_MPICH},
                  {"gloo", "collectives_gloo", PLAIN}};

const char *side_name(enum side side)
{
    return sides[side].name;
}

const char *side_absence(enum side side, const struct setting *setting, const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, sides[side].program);
    if (access(path, X_OK) != 0)
        return "it was not installed at the build";
    if (side != MPICH)
        return NULL;
    if (setting->hosts)
        return "the bench does not start it on hosts";
    if (setting->nodes * setting->ranks_per_node > (uint32_t)sysconf(_SC_NPROCESSORS_ONLN))
        return "it never gives up a processor: with more ranks than processors a barrier takes a "
               "time slice a rank";
    return NULL;
}

bool side_has(enum side side, enum operation operation, bool busy)
{
    return !(side == GLOO && operation == SCAN) && !(side == MPICH && busy);
}

bool side_start(struct running *r, enum side side, const struct setting *setting,
                const char *folder, const char *security)
{
    const struct launch launch = {.bench = "collectives",
                                  .side = sides[side].name,
                                  .folder = folder,
                                  .program = sides[side].program,
                                  .socket = "COLLECTIVES_SOCKET",
                                  .launcher = sides[side].launcher,
                                  .hosts = setting->hosts ? HOSTS_PREFIX : NULL,
                                  .security = security,
                                  .nodes = setting->nodes,
                                  .ranks_per_node = setting->ranks_per_node};
    return running_start(r, &launch);
}

double side_sample(const struct running *r, const struct order *order)
{
    int64_t begin_ns = INT64_MAX, end_ns = 0, slowest_ns[CALLS_MAX] = {0}, sum_ns = 0;
    for (uint32_t i = 0; i < r->ranks; i++)
        if (send(r->fd[i], order, sizeof *order, MSG_NOSIGNAL) != sizeof *order)
            return -1;
    bool well = true;
    for (uint32_t i = 0; i < r->ranks; i++) {
        struct outcome o;
        if (!running_readable(r->fd[i], SAMPLE_MS) || recv(r->fd[i], &o, sizeof o, 0) != sizeof o) {
            fprintf(stderr, "collectives: rank %u has ended or does not respond\n", i);
            return -1;
        }
        if (o.failed)
            fprintf(stderr, "collectives: %s of %llu bytes, rank %u: %s\n",
                    operation_name((enum operation)order->operation),
                    (unsigned long long)order->bytes, i, o.text);
        well &= !o.failed;
        begin_ns = o.begin_ns < begin_ns ? o.begin_ns : begin_ns;
        end_ns = o.end_ns > end_ns ? o.end_ns : end_ns;
        for (uint32_t c = 0; c < order->calls; c++)
            slowest_ns[c] = o.own_ns[c] > slowest_ns[c] ? o.own_ns[c] : slowest_ns[c];
    }
    for (uint32_t c = 0; c < order->calls; c++)
        sum_ns += slowest_ns[c];
    if (!lets_go(order->operation))
        sum_ns = end_ns - begin_ns;
    return well ? (double)sum_ns / 1e9 / order->calls : -1;
}

void busy_start(pid_t pid[BUSY_MAX])
{
    for (int i = 0; i < BUSY_MAX; i++) {
        pid[i] = fork();
        if (pid[i] != 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile uint64_t turns = 0;; turns++)
            continue;
    }
}

void busy_stop(pid_t pid[BUSY_MAX])
{
    for (int i = 0; i < BUSY_MAX; i++) {
        if (pid[i] > 0) {
            kill(pid[i], SIGKILL);
            waitpid(pid[i], NULL, 0);
        }
        pid[i] = 0;
    }
}
