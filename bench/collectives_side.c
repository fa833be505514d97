/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collectives_driver.h"

enum { START_MS = 60000, SAMPLE_MS = 120000, ARGUMENTS = 48 };

static const char *const names[SIDES] = {"torusd", "Open MPI"};

static int listen_at(char *path, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(path, size, "/tmp/collectives.%d.sock", (int)getpid());
    strcpy(address.sun_path, path);
    unlink(path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(fd, RANKS_MAX) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* run becomes the launcher of the side. */
static void run(enum side side, const struct setting *s, const char *folder)
{
    char program[512], ctl[512], nodes[16], each[16], all[16];
    snprintf(program, sizeof program, "%s/collectives_%s", folder,
             side == TORUSD ? "torus" : "mpi");
    snprintf(ctl, sizeof ctl, "%s/torusctl", folder);
    snprintf(nodes, sizeof nodes, "%u", s->nodes);
    snprintf(each, sizeof each, "%u", s->ranks_per_node);
    snprintf(all, sizeof all, "%u", s->nodes * s->ranks_per_node);
    const char *torusd[ARGUMENTS] = {ctl,   "emulate", nodes,  "--ranks-per-node",
                                     each,  "--ranks", all,    "--transport",
                                     "tcp", "--",      program};
    const char *mpi[ARGUMENTS] = {"mpirun",
                                  "--allow-run-as-root",
                                  "--oversubscribe",
                                  "--bind-to",
                                  "none",
                                  "--mca",
                                  "mpi_yield_when_idle",
                                  "1",
                                  "-n",
                                  all,
                                  "--mca",
                                  "pml",
                                  "ob1",
                                  "--mca",
                                  "btl",
                                  s->nodes > 1 ? "tcp,self" : "vader,self",
                                  "--mca",
                                  "btl_tcp_if_include",
                                  "lo",
                                  program};
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    const char *const *command = side == TORUSD ? torusd : mpi;
    execvp(command[0], (char *const *)command);
    fprintf(stderr, "collectives: cannot run %s: %s\n", command[0], strerror(errno));
    _exit(127);
}

static bool readable(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int ready = 0;
    do
        ready = poll(&p, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* comes: somebody connects before the side ends or START_MS have passed. */
static bool comes(struct running *r, int listener)
{
    for (int waited_ms = 0; waited_ms < START_MS; waited_ms += 100) {
        if (readable(listener, 100))
            return true;
        if (waitpid(r->pid, NULL, WNOHANG) != 0) {
            r->pid = 0;
            return false;
        }
    }
    return false;
}

/* accept_ranks waits until all ranks have greeted. */
static bool accept_ranks(struct running *r, int listener)
{
    for (uint32_t i = 0; i < r->ranks; i++) {
        struct greeting greeting;
        int fd = comes(r, listener) ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd < 0 || !readable(fd, START_MS) ||
            recv(fd, &greeting, sizeof greeting, 0) != sizeof greeting ||
            greeting.ranks != r->ranks || greeting.rank >= r->ranks || r->fd[greeting.rank] >= 0) {
            if (fd >= 0)
                close(fd);
            return false;
        }
        r->fd[greeting.rank] = fd;
    }
    return true;
}

bool side_start(struct running *r, enum side side, const struct setting *setting,
                const char *folder)
{
    char path[100];
    *r = (struct running){.ranks = setting->nodes * setting->ranks_per_node};
    for (uint32_t i = 0; i < RANKS_MAX; i++)
        r->fd[i] = -1;
    int listener = listen_at(path, sizeof path);
    if (listener < 0) {
        fprintf(stderr, "collectives: no socket at %s: %s\n", path, strerror(errno));
        return false;
    }
    setenv("COLLECTIVES_SOCKET", path, 1);
    r->pid = fork();
    if (r->pid == 0)
        run(side, setting, folder);
    bool well = r->pid > 0 && accept_ranks(r, listener);
    close(listener);
    unlink(path);
    if (!well)
        fprintf(stderr, "collectives: the ranks of %s did not come\n", names[side]);
    return well;
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
        if (!readable(r->fd[i], SAMPLE_MS) || recv(r->fd[i], &o, sizeof o, 0) != sizeof o) {
            fprintf(stderr, "collectives: rank %u is gone, or does not come to an end\n", i);
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

void side_stop(struct running *r)
{
    for (uint32_t i = 0; i < RANKS_MAX; i++)
        if (r->pid > 0 && r->fd[i] >= 0)
            close(r->fd[i]);
    if (r->pid > 0)
        waitpid(r->pid, NULL, 0);
    *r = (struct running){0};
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
