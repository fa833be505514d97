/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl bench: latency and bandwidth of a job, as its rank 0 sees them. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torusctl.h"

enum { LARGE = 16 << 20, LATENCY_RUNS = 500, LARGE_RUNS = 11, WARM_UP = 3 };

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
        double at = ctl_seconds();
        if (!b->failed && call(b) != TORUS_OK)
            b->failed = torus_last_error(b->context);
        if (i >= 0)
            times[i] = ctl_seconds() - at;
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
        double at = ctl_seconds();
        memcpy(b->b, b->a, LARGE);
        double took = ctl_seconds() - at;
        best = took < best ? took : best;
    }
    return LARGE / best;
}

int ctl_bench(int argc, char **argv)
{
    bool as_json = false;
    int runs = LATENCY_RUNS, code = EXIT_WELL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            as_json = true;
        else if (strcmp(argv[i], "--iterations") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
            runs = atoi(argv[++i]);
        else
            return ctl_usage("bench", "there is no such option");
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
    struct bench b = {.context = ctl_open(NULL, &code)};
    if (!b.context)
        return code;
    if (torus_join(b.context, NULL, &b.world) != TORUS_OK ||
        !(b.a = torus_alloc(b.context, LARGE)) || !(b.b = torus_alloc(b.context, LARGE)))
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
    if (b.failed) {
        fprintf(stderr, "torusctl bench: %s\n", b.failed);
        code = EXIT_FAILED;
    }
    torus_close(b.context);
    return code;
}
