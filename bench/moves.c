/* SPDX-License-Identifier: Apache-2.0 */
/* moves: comparison of redistributions by torusd with ScaLAPACK's pdgemr2d on one machine.
 *
 * torusd runs as emulated daemons on loopback. Open MPI uses shared memory for one node and TCP for
 * several. Both sides run all the time and are measured alternately, because the speed of the
 * machine drifts. */
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "moves.h"

static const char usage[] =
    "usage: bench_moves [--quick] [--json FILE] [--setting 1x64|16x4|1x8|4x2 ...] [--samples N]\n"
    "\n"
    "compare redistributions of arrays by torusd with ScaLAPACK's pdgemr2d. A setting is nodes x\n"
    "ranks per node. Each element is checked after each execution.\n";

enum { SAMPLES_MAX = 64, ORDER_MS = 300000, SIDES = 2 };
static const char *const side_name[SIDES] = {"torusd", "pdgemr2d"};

static const struct problem {
    const char *name;
    uint32_t ranks;
    struct move move;
} problems[] = {
    {"28 to 36, 80 KB", 64, {{1, 10080}, {{{1, 2}, {1, 28}, 0}, {{1, 28}, {1, 36}, 28}}}},
    {"28 to 36, 8 MB", 64, {{1, 1058400}, {{{1, 2}, {1, 28}, 0}, {{1, 28}, {1, 36}, 28}}}},
    {"4 to 4, 16.8 MB", 8, {{1448, 1448}, {{{32, 32}, {2, 2}, 0}, {{64, 64}, {2, 2}, 4}}}},
};
static const struct setting {
    const char *name;
    uint32_t nodes, ranks_per_node;
} settings[] = {{"1x64", 1, 64}, {"16x4", 16, 4}, {"1x8", 1, 8}, {"4x2", 4, 2}};
enum {
    PROBLEMS = sizeof problems / sizeof *problems,
    SETTINGS = sizeof settings / sizeof *settings
};

struct bench {
    uint32_t samples;
    const char *json;
    bool wanted[SETTINGS], all;
    char folder[PATH_MAX];
    struct running side[SIDES];
    json_t *results;
};

/* give gives an order to all ranks of a side. It returns the seconds from the first begin to the
 * last end, or a negative number after a message. */
static double give(const struct running *r, const struct order *order)
{
    int64_t begin_ns = INT64_MAX, end_ns = 0;
    for (uint32_t i = 0; i < r->ranks; i++)
        if (send(r->fd[i], order, sizeof *order, MSG_NOSIGNAL) != sizeof *order)
            return -1;
    for (uint32_t i = 0; i < r->ranks; i++) {
        struct outcome o = {0};
        if (!running_readable(r->fd[i], ORDER_MS) || recv(r->fd[i], &o, sizeof o, 0) != sizeof o ||
            o.failed) {
            fprintf(stderr, "bench moves: %s, rank %u: %s\n", r->side, i,
                    o.failed ? o.text : "it has ended or does not respond");
            return -1;
        }
        begin_ns = o.begin_ns < begin_ns ? o.begin_ns : begin_ns;
        end_ns = o.end_ns > end_ns ? o.end_ns : end_ns;
    }
    return (double)(end_ns - begin_ns) / 1e9;
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* report prints a row and adds it to the results. */
static void report(struct bench *b, const struct setting *s, const struct problem *p,
                   double seconds[SIDES][SAMPLES_MAX])
{
    uint32_t n = b->samples;
    json_t *row =
        json_pack("{s:s s:s s:i}", "setting", s->name, "move", p->name, "samples", (int)n);
    printf("%-8s %-16s", s->name, p->name);
    for (int side = 0; side < SIDES; side++) {
        double *t = seconds[side];
        qsort(t, n, sizeof *t, ascending);
        printf("  %9.3f (%8.3f-%9.3f)", 1e3 * t[n / 2], 1e3 * t[n / 4], 1e3 * t[n - 1 - n / 4]);
        json_object_set_new(row, side_name[side],
                            json_pack("{s:f s:f s:f}", "median_s", t[n / 2], "lower_s", t[n / 4],
                                      "upper_s", t[n - 1 - n / 4]));
    }
    printf("  %6.3f\n", seconds[0][n / 2] / seconds[1][n / 2]);
    fflush(stdout);
    json_array_append_new(b->results, row);
}

static bool measure(struct bench *b, const struct setting *s, const struct problem *p)
{
    double seconds[SIDES][SAMPLES_MAX];
    struct order order = {.kind = ORDER_PLAN, .move = p->move};
    for (int side = 0; side < SIDES; side++)
        if (give(&b->side[side], &order) < 0)
            return false;
    order.kind = ORDER_RUN;
    for (uint32_t i = 0; i <= b->samples; i++, order.turn++) /* the first one is a warm-up */
        for (int side = 0; side < SIDES; side++) {
            double took = give(&b->side[side], &order);
            if (took < 0)
                return false;
            seconds[side][i ? i - 1 : 0] = took;
        }
    report(b, s, p, seconds);
    return true;
}

static bool measure_setting(struct bench *b, const struct setting *s)
{
    bool well = true;
    for (int side = 0; side < SIDES && well; side++)
        well = running_start(
            &b->side[side],
            &(struct launch){.bench = "bench moves",
                             .side = side_name[side],
                             .folder = b->folder,
                             .program = side ? "bench_moves_mpi" : "bench_moves_torus",
                             .socket = "MOVES_SOCKET",
                             .launcher = side ? MPIRUN_OPENMPI : EMULATE,
                             .nodes = s->nodes,
                             .ranks_per_node = s->ranks_per_node});
    for (size_t i = 0; i < PROBLEMS && well; i++)
        if (problems[i].ranks == s->nodes * s->ranks_per_node)
            well = measure(b, s, &problems[i]);
    for (int side = 0; side < SIDES; side++)
        running_stop(&b->side[side]);
    return well;
}

static bool want(struct bench *b, const char *name)
{
    for (size_t i = 0; i < SETTINGS; i++)
        if (strcmp(settings[i].name, name) == 0)
            return b->wanted[i] = true;
    return false;
}

static bool parse(struct bench *b, int argc, char **argv)
{
    bool well = true;
    b->samples = 11;
    b->all = true;
    for (int i = 1; i < argc && well; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(name, "--quick") == 0) {
            b->samples = 5;
            continue;
        }
        if (strcmp(name, "--json") == 0)
            well = (b->json = value)[0] != '\0';
        else if (strcmp(name, "--setting") == 0)
            b->all = !(well = want(b, value));
        else if (strcmp(name, "--samples") == 0)
            well = (b->samples = (uint32_t)atoi(value)) >= 1 && b->samples <= SAMPLES_MAX;
        else
            well = false;
        i++;
    }
    return well;
}

int main(int argc, char **argv)
{
    static struct bench b;
    if (!parse(&b, argc, argv)) {
        fputs(usage, argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    ssize_t length = readlink("/proc/self/exe", b.folder, PATH_MAX - 1);
    if (length <= 0)
        return 1;
    *strrchr(b.folder, '/') = '\0';
    signal(SIGPIPE, SIG_IGN);
    b.results = json_array();
    printf("Medians and quartiles in milliseconds; the ratio is torusd over pdgemr2d.\n\n"
           "%-8s %-16s  %-30s  %-30s  %s\n",
           "setting", "move", "torusd", "pdgemr2d", "ratio");
    bool well = true;
    for (size_t i = 0; i < SETTINGS && well; i++)
        if (b.all || b.wanted[i])
            well = measure_setting(&b, &settings[i]);
    json_t *out = json_pack("{s:i s:o}", "version", 1, "results", b.results);
    if (b.json && json_dump_file(out, b.json, JSON_INDENT(1)) != 0) {
        fprintf(stderr, "bench moves: cannot write %s\n", b.json);
        well = false;
    }
    json_decref(out);
    return well ? 0 : 1;
}
