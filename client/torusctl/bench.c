/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl bench: latency and bandwidth of a job, measured on rank 0. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/cost/bound.h"
#include "model/program.h"
#include "base/quantity.h"
#include "libtorus/status.h"
#include "torusctl.h"

enum { LARGE = 16 << 20, LATENCY_RUNS = 500, LARGE_RUNS = 11, WARM_UP = 3, ALLTOALL_RUNS = 5 };

struct bench {
    torus_context *context;
    torus_group *world;
    double *a, *b;
    const char *failed;
};

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static int barrier(struct bench *b)
{
    return torus_barrier(b->world);
}

static int allreduce_small(struct bench *b)
{
    return torus_allreduce(b->world, TORUS_IN_PLACE, b->a, 1, TORUS_DOUBLE, TORUS_MAX);
}

static int allreduce_large(struct bench *b)
{
    return torus_allreduce(b->world, b->a, b->b, LARGE / 8, TORUS_DOUBLE, TORUS_SUM);
}

static int broadcast_large(struct bench *b)
{
    return torus_broadcast(b->world, b->a, LARGE, TORUS_BYTE, 0);
}

static int alltoall_large(struct bench *b)
{
    return torus_alltoall(b->world, b->a, b->b, LARGE / torus_size(b->world), TORUS_BYTE);
}

/* measure returns the median time of a call in seconds. */
static double measure(struct bench *b, int (*call)(struct bench *), int runs)
{
    double *times = calloc((size_t)runs, sizeof *times);
    if (!times)
        return 0;
    for (int i = -WARM_UP; i < runs && !b->failed; i++) {
        if (torus_barrier(b->world) != TORUS_OK)
            b->failed = torus_last_error(b->context);
        double at = tool_seconds();
        if (!b->failed && call(b) != TORUS_OK)
            b->failed = torus_last_error(b->context);
        if (i >= 0)
            times[i] = tool_seconds() - at;
    }
    qsort(times, (size_t)runs, sizeof *times, ascending);
    double median = times[runs / 2];
    free(times);
    return median;
}

static double memcpy_rate(struct bench *b)
{
    double best = 1e9;
    for (int i = 0; i < 20; i++) {
        double at = tool_seconds();
        memcpy(b->b, b->a, LARGE);
        double took = tool_seconds() - at;
        best = took < best ? took : best;
    }
    return LARGE / best;
}

/* ---- one all-to-all ---- */

/* t_min_s returns T_min of an all-to-all among all nodes, with one rank each, over links with a
 * rate. It returns 0 if the links have no rate or the ranks are placed otherwise. */
static double t_min_s(struct bench *b, uint64_t bytes)
{
    struct td_reply reply;
    struct td_topology t = {0};
    int wrap[TORUS_DIMENSIONS_MAX];
    if (tl_status_page(b->context, TD_STATUS_QUEUES, 0, &reply) != TORUS_OK)
        return 0;
    if (reply.u.status.rows == 0 || reply.u.status.row[0].kind != TD_ROW_ROUTER)
        return 0;
    const struct td_row_router *row = &reply.u.status.row[0].u.router;
    if (row->number[TD_QUEUES_FABRIC] != TD_FABRIC_ROUTED || row->number[TD_QUEUES_LINK_RATE] == 0)
        return 0;
    double rate = (double)row->number[TD_QUEUES_LINK_RATE];
    t.dimensions = (uint32_t)torus_shape(b->context, t.size, wrap);
    t.nodes = 1;
    for (uint32_t d = 0; d < t.dimensions; d++) {
        t.wrap[d] = wrap[d];
        t.nodes *= t.size[d];
    }
    return torus_size(b->world) == t.nodes ? (double)td_alltoall_bound(&t, bytes) / 2 / rate : 0;
}

/* last_s returns the time of an all-to-all until the last rank has its data; below 0: it failed. */
static double last_s(struct bench *b, uint64_t bytes, const void *from, void *to)
{
    double took = 0;
    if (torus_barrier(b->world) != TORUS_OK)
        return -1;
    double at = tool_seconds();
    if (torus_alltoall(b->world, from, to, bytes, TORUS_BYTE) != TORUS_OK)
        return -1;
    took = tool_seconds() - at;
    if (torus_allreduce(b->world, TORUS_IN_PLACE, &took, 1, TORUS_DOUBLE, TORUS_MAX) != TORUS_OK)
        return -1;
    return took;
}

static void print_alltoall(uint64_t bytes, double first, double median, double least, bool as_json)
{
    char text[32];
    if (as_json) {
        json_t *all = json_pack("{s:i s:I s:f s:f}", "version", 1, "bytes", (json_int_t)bytes,
                                "first_s", first, "median_s", median);
        if (least > 0) {
            json_object_set_new(all, "t_min_s", json_real(least));
            json_object_set_new(all, "first_efficiency", json_real(least / first));
            json_object_set_new(all, "efficiency", json_real(least / median));
        }
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(all);
        return;
    }
    printf("all-to-all of %s per pair: first run %.4f s, median %.4f s",
           td_quantity_print(bytes, text, sizeof text), first, median);
    if (least > 0)
        printf("; T_min %.4f s: efficiency %.3f and %.3f", least, least / first, least / median);
    putchar('\n');
}

/* bench_alltoall measures all-to-alls of `bytes` per pair; it reports the first run separately. */
static void bench_alltoall(struct bench *b, uint64_t bytes, int runs, bool as_json)
{
    uint64_t all = bytes * torus_size(b->world);
    void *from = torus_alloc(b->context, all), *to = torus_alloc(b->context, all);
    double *times = calloc((size_t)runs, sizeof *times);
    bool good = from && to && times;
    double first = good ? last_s(b, bytes, from, to) : -1;
    good = times && first >= 0;
    for (int i = 0; i < runs && good; i++)
        good = (times[i] = last_s(b, bytes, from, to)) >= 0;
    if (!good) {
        b->failed = torus_last_error(b->context);
    } else if (torus_rank(b->world) == 0) {
        qsort(times, (size_t)runs, sizeof *times, ascending);
        print_alltoall(bytes, first, times[runs / 2], t_min_s(b, bytes), as_json);
    }
    free(times);
}

/* ---- all measurements ---- */

static int finish(struct bench *b, int code)
{
    if (b->failed) {
        fprintf(stderr, "torusctl bench: %s\n", b->failed);
        code = EXIT_FAILED;
    }
    torus_close(b->context);
    return code;
}

static int run_bench(int argc, char **argv)
{
    bool as_json = false;
    uint64_t bytes = 0;
    int runs = 0, code = EXIT_WELL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            as_json = true;
        else if (strcmp(argv[i], "--iterations") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
            runs = atoi(argv[++i]);
        else if (strcmp(argv[i], "--alltoall") == 0 && i + 1 < argc &&
                 td_quantity_parse(argv[i + 1], &bytes) && bytes > 0)
            i++;
        else
            return tool_usage("bench", tool_no_option(argv[i]));
    }
    static const struct {
        const char *name;
        int (*call)(struct bench *);
        bool large;
    } parts[] = {{"barrier", barrier, false},
                 {"allreduce_8", allreduce_small, false},
                 {"allreduce_16MiB", allreduce_large, true},
                 {"broadcast_16MiB", broadcast_large, true},
                 {"alltoall_16MiB", alltoall_large, true}};
    struct bench b = {.context = tool_open(NULL, 0, &code)};
    if (!b.context)
        return code;
    if (torus_join(b.context, NULL, &b.world) != TORUS_OK) {
        b.failed = torus_last_error(b.context);
        return finish(&b, code);
    }
    if (bytes) {
        bench_alltoall(&b, bytes, runs ? runs : ALLTOALL_RUNS, as_json);
        return finish(&b, code);
    }
    if (!runs)
        runs = LATENCY_RUNS;
    if (!(b.a = torus_alloc(b.context, LARGE)) || !(b.b = torus_alloc(b.context, LARGE)))
        b.failed = torus_last_error(b.context);
    json_t *all = json_pack("{s:i}", "version", 1);
    bool first = !b.failed && torus_rank(b.world) == 0;
    double rate = first ? memcpy_rate(&b) : 0;
    if (!b.failed)
        json_object_set_new(all, "ranks", json_integer(torus_size(b.world)));
    json_object_set_new(all, "memcpy_bytes_per_s", json_real(rate));
    if (first && !as_json)
        printf("%-18s %8.2f GB/s\n", "memcpy", rate / 1e9);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !b.failed; i++) {
        double s = measure(&b, parts[i].call, parts[i].large ? LARGE_RUNS : runs);
        json_object_set_new(all, parts[i].name, json_real(s));
        if (first && !as_json && !b.failed)
            printf("%-18s %8.1f us\n", parts[i].name, 1e6 * s);
    }
    if (first && as_json && !b.failed) {
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
    }
    json_decref(all);
    return finish(&b, code);
}

const struct tool_command ctl_command_bench = {
    .name = "bench",
    .arguments = "[--json] [--iterations N] [--alltoall BYTES]",
    .what = "measure latency and bandwidth; run by every rank of a job",
    .options = "  --json               print the result as JSON\n"
               "  --iterations N       runs of each small operation, of which the median counts\n"
               "  --alltoall BYTES     measure only an all-to-all with BYTES per pair of ranks\n",
    .run = run_bench,
};
