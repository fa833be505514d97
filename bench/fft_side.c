/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fft_driver.h"
#include "hosts.h"

enum { ORDER_MS = 600000, LOOK_MS = 5, PROCESSES_MAX = 256 };

const char *side_name(enum side side)
{
    return side == TORUSD ? "torusd" : "FFTW-MPI";
}

bool side_start(struct running *r, enum side side, const struct setting *setting,
                const char *folder)
{
    const struct launch launch = {.bench = "bench fft",
                                  .side = side_name(side),
                                  .folder = folder,
                                  .program = side == TORUSD ? "bench_fft_torus" : "bench_fft_mpi",
                                  .socket = "FFT_SOCKET",
                                  .launcher = side == TORUSD ? EMULATE : MPIRUN_OPENMPI,
                                  .setting = "fft.effort=measure",
                                  .hosts = setting->hosts ? HOSTS_PREFIX : NULL,
                                  .security = "insecure",
                                  .nodes = setting->nodes,
                                  .ranks_per_node = setting->ranks_per_node};
    return running_start(r, &launch);
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
    const char *end = strrchr(text, ')'); /* a name may contain blanks */
    return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static bool descends(pid_t pid, pid_t from)
{
    while (pid > 1 && pid != from)
        pid = parent_of(pid);
    return pid == from;
}

/* pages_of returns the memory of a process; a page shared with n others counts as 1 / (n + 1). */
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
        there = running_readable(r->fd[rank], LOOK_MS);
        look(family, count, memory);
    }
    if ((there || running_readable(r->fd[rank], ORDER_MS)) &&
        recv(r->fd[rank], o, sizeof *o, 0) == sizeof *o)
        return true;
    fprintf(stderr, "bench fft: rank %u of %s has ended or does not respond\n", rank, r->side);
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
            fprintf(stderr, "bench fft: %s, rank %u: %s\n", r->side, i, o.text);
        well &= !o.failed;
        begin_ns = o.begin_ns < begin_ns ? o.begin_ns : begin_ns;
        end_ns = o.end_ns > end_ns ? o.end_ns : end_ns;
    }
    return well ? (double)(end_ns - begin_ns) / 1e9 : -1;
}
