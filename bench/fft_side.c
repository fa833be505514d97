/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fft_driver.h"

enum { START_MS = 60000, ORDER_MS = 600000, LOOK_MS = 5, ARGUMENTS = 48, PROCESSES_MAX = 256 };

const char *side_name(enum side side)
{
    return side == TORUSD ? "torusd" : "FFTW-MPI";
}

/* ---- starting ---- */

static int listen_at(char *path, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(path, size, "/tmp/bench-fft.%d.sock", (int)getpid());
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
    snprintf(program, sizeof program, "%s/bench_fft_%s", folder, side == TORUSD ? "torus" : "mpi");
    snprintf(ctl, sizeof ctl, "%s/torusctl", folder);
    snprintf(nodes, sizeof nodes, "%u", s->nodes);
    snprintf(each, sizeof each, "%u", s->ranks_per_node);
    snprintf(all, sizeof all, "%u", s->nodes * s->ranks_per_node);
    const char *torusd[ARGUMENTS] = {
        ctl,           "emulate", nodes,   "--ranks-per-node",   each, "--ranks", all,
        "--transport", "tcp",     "--set", "fft.effort=measure", "--", program};
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
    fprintf(stderr, "bench fft: cannot run %s: %s\n", command[0], strerror(errno));
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
    *r = (struct running){.side = side, .ranks = setting->nodes * setting->ranks_per_node};
    for (uint32_t i = 0; i < RANKS_MAX; i++)
        r->fd[i] = -1;
    int listener = listen_at(path, sizeof path);
    if (listener < 0) {
        fprintf(stderr, "bench fft: no socket at %s: %s\n", path, strerror(errno));
        return false;
    }
    setenv("FFT_SOCKET", path, 1);
    r->pid = fork();
    if (r->pid == 0)
        run(side, setting, folder);
    bool well = r->pid > 0 && accept_ranks(r, listener);
    close(listener);
    unlink(path);
    if (!well)
        fprintf(stderr, "bench fft: the ranks of %s did not come\n", side_name(side));
    return well;
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

/* ---- memory ---- */

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    size_t length = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[length] = '\0';
    const char *end = strrchr(text, ')'); /* a name may have blanks */
    return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static bool descends(pid_t pid, pid_t from)
{
    while (pid > 1 && pid != from)
        pid = parent_of(pid);
    return pid == from;
}

/* pages_of returns the memory of a process; what it shares with n others counts as 1 / (n + 1). */
static uint64_t pages_of(pid_t pid)
{
    char path[64], line[256];
    unsigned long long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *f = fopen(path, "re");
    while (f && kib == 0 && fgets(line, sizeof line, f))
        sscanf(line, "Pss: %llu", &kib);
    if (f)
        fclose(f);
    return kib << 10;
}

static uint32_t family_of(pid_t from, pid_t out[PROCESSES_MAX])
{
    uint32_t count = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e = NULL; d && (e = readdir(d)) && count < PROCESSES_MAX;) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)atoi(e->d_name) : 0;
        if (pid > 1 && descends(pid, from))
            out[count++] = pid;
    }
    if (d)
        closedir(d);
    return count;
}

static void look(const pid_t *pid, uint32_t count, uint64_t *most)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += pages_of(pid[i]);
    *most = sum > *most ? sum : *most;
}

/* ---- orders ---- */

static bool receive(const struct running *r, uint32_t rank, struct outcome *o, uint64_t *memory)
{
    static pid_t family[PROCESSES_MAX];
    uint32_t count = memory ? family_of(r->pid, family) : 0;
    bool there = false;
    for (int waited_ms = 0; memory && !there && waited_ms < ORDER_MS; waited_ms += LOOK_MS) {
        there = readable(r->fd[rank], LOOK_MS);
        look(family, count, memory);
    }
    if ((there || readable(r->fd[rank], ORDER_MS)) &&
        recv(r->fd[rank], o, sizeof *o, 0) == sizeof *o)
        return true;
    fprintf(stderr, "bench fft: rank %u of %s is gone, or does not come to an end\n", rank,
            side_name(r->side));
    return false;
}

double side_order(const struct running *r, const struct order *order, uint64_t *memory)
{
    int64_t begin_ns = INT64_MAX, end_ns = 0;
    bool well = true;
    for (uint32_t i = 0; i < r->ranks; i++)
        if (send(r->fd[i], order, sizeof *order, MSG_NOSIGNAL) != sizeof *order)
            return -1;
    for (uint32_t i = 0; i < r->ranks; i++) {
        struct outcome o;
        if (!receive(r, i, &o, i == 0 ? memory : NULL))
            return -1;
        if (o.failed)
            fprintf(stderr, "bench fft: %s, rank %u: %s\n", side_name(r->side), i, o.text);
        well &= !o.failed;
        begin_ns = o.begin_ns < begin_ns ? o.begin_ns : begin_ns;
        end_ns = o.end_ns > end_ns ? o.end_ns : end_ns;
    }
    return well ? (double)(end_ns - begin_ns) / 1e9 : -1;
}
