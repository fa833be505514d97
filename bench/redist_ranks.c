/* SPDX-License-Identifier: Apache-2.0 */
/* redist_ranks: redistribution of arrays from 28 ranks to the other 36 of a job of 64.
 *
 * The schedules alternate, so that other load on the machine affects all of them. A sample is the
 * time from the first rank's call to the last rank's return. After each sample the ranks check
 * every element. Rank 0 prints the medians. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "torus/torus.h"

enum { RANKS = 64, SCHEDULES = 3, SAMPLES_MAX = 21 };

static const struct {
    const char *name;
    int32_t schedule;
} schedules[SCHEDULES] = {{"circulant", TORUS_SCHEDULE_CIRCULANT},
                          {"matching", TORUS_SCHEDULE_MATCHING},
                          {"caterpillar", TORUS_SCHEDULE_CATERPILLAR}};

/* Whole superblocks of about 2, 8, 32 and 64 MB. Either half of the pairs exchange no data, or all
 * exchange messages of two sizes. */
static const struct row {
    const char *from, *to;
    uint64_t elements;
    int samples;
} rows[] = {
    {"cyclic(2)@0-27", "cyclic(28)@28-63", 564480, 21},
    {"cyclic(2)@0-27", "cyclic(28)@28-63", 2116800, 15},
    {"cyclic(2)@0-27", "cyclic(28)@28-63", 8467200, 7},
    {"cyclic(2)@0-27", "cyclic(28)@28-63", 16016112, 5},
    {"cyclic(4)@0-27", "cyclic(24)@28-63", 677376, 21},
    {"cyclic(4)@0-27", "cyclic(24)@28-63", 2044224, 15},
    {"cyclic(4)@0-27", "cyclic(24)@28-63", 8164800, 7},
    {"cyclic(4)@0-27", "cyclic(24)@28-63", 16027200, 5},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

struct rank {
    torus_context *context;
    torus_group *world;
    torus_plan *plan[SCHEDULES];
    uint32_t *source, *destination;
    size_t count[2]; /* elements */
    uint64_t turn;   /* makes the values of this execution unique */
};

static _Noreturn void stop(const struct rank *r, const char *what)
{
    fprintf(stderr, "rank %u: %s: %s\n", r->world ? torus_rank(r->world) : 0, what,
            torus_last_error(r->context));
    exit(1);
}

static void must(const struct rank *r, int error, const char *what)
{
    if (error != TORUS_OK)
        stop(r, what);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* comparable, as the ranks are on one machine */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t value(const struct rank *r, uint64_t index)
{
    return (uint32_t)((index + r->turn * 40503) * 2654435761u);
}

/* fill writes the input of this rank; check verifies its output. */
static void fill(struct rank *r)
{
    r->turn++;
    for (uint64_t i = 0; i < r->count[0]; i++)
        r->source[i] = value(r, (uint64_t)torus_plan_index(r->plan[0], TORUS_SIDE_INPUT, 0, i));
}

static void check(const struct rank *r)
{
    for (uint64_t i = 0; i < r->count[1]; i++) {
        uint64_t index = (uint64_t)torus_plan_index(r->plan[0], TORUS_SIDE_OUTPUT, 0, i);
        if (r->destination[i] != value(r, index)) {
            fprintf(stderr, "rank %u: wrong element %llu\n", torus_rank(r->world),
                    (unsigned long long)index);
            exit(1);
        }
    }
}

static void plan(struct rank *r, const struct row *row)
{
    struct torus_redist_desc d = {.size = sizeof d,
                                  .dimensions = 1,
                                  .element_bytes = sizeof(uint32_t),
                                  .from = row->from,
                                  .to = row->to};
    d.shape[0] = row->elements;
    for (int s = 0; s < SCHEDULES; s++) {
        d.schedule = schedules[s].schedule;
        must(r, torus_plan_redist(r->world, &d, &r->plan[s]), "planning");
    }
    const size_t bytes[2] = {torus_plan_bytes(r->plan[0], TORUS_SIDE_INPUT),
                             torus_plan_bytes(r->plan[0], TORUS_SIDE_OUTPUT)};
    r->source = torus_alloc(r->context, bytes[0] + 1);
    r->destination = torus_alloc(r->context, bytes[1] + 1);
    if (!r->source || !r->destination)
        stop(r, "memory");
    r->count[0] = bytes[0] / sizeof(uint32_t);
    r->count[1] = bytes[1] / sizeof(uint32_t);
}

static void drop(struct rank *r)
{
    for (int s = 0; s < SCHEDULES; s++)
        must(r, torus_plan_free(r->plan[s]), "freeing a plan");
    must(r, torus_free(r->context, r->source), "freeing memory");
    must(r, torus_free(r->context, r->destination), "freeing memory");
}

/* sample returns the seconds of one execution. */
static double sample(struct rank *r, int schedule)
{
    fill(r);
    must(r, torus_barrier(r->world), "a barrier");
    double times[2] = {-now()};
    must(r, torus_execute(r->plan[schedule], r->source, r->destination), "executing");
    times[1] = now();
    check(r);
    must(r, torus_allreduce(r->world, TORUS_IN_PLACE, times, 2, TORUS_DOUBLE, TORUS_MAX), "times");
    return times[0] + times[1];
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* measure returns the results of a row as JSON; the first round is a warm-up. */
static json_t *measure(struct rank *r, const struct row *row, int samples)
{
    double took[SCHEDULES][SAMPLES_MAX], median[SCHEDULES];
    json_t *times = json_object();
    plan(r, row);
    for (int i = -1; i < samples; i++)
        for (int s = 0; s < SCHEDULES; s++) {
            double seconds = sample(r, (s + i + 1) % SCHEDULES);
            if (i >= 0)
                took[(s + i + 1) % SCHEDULES][i] = seconds;
        }
    drop(r);
    for (int s = 0; s < SCHEDULES; s++) {
        qsort(took[s], (size_t)samples, sizeof took[s][0], compare);
        median[s] = took[s][samples / 2];
        json_object_set_new(times, schedules[s].name,
                            json_pack("{s:f s:f s:f}", "median_s", median[s], "lower_s",
                                      took[s][samples / 4], "upper_s", took[s][3 * samples / 4]));
    }
    if (torus_rank(r->world) == 0) {
        printf("%-15s %-17s %6.2f %4d ", row->from, row->to, (double)row->elements * 4e-6, samples);
        for (int s = 0; s < SCHEDULES; s++)
            printf("  %7.1f (%5.1f-%6.1f)", 1e3 * median[s], 1e3 * took[s][samples / 4],
                   1e3 * took[s][3 * samples / 4]);
        printf("  %5.2f\n", median[0] / median[2]);
        fflush(stdout);
    }
    return json_pack("{s:s s:s s:I s:i s:o}", "from", row->from, "to", row->to, "bytes",
                     (json_int_t)row->elements * 4, "samples", samples, "schedules", times);
}

static bool measure_all(struct rank *r, bool quick, const char *file)
{
    bool first = torus_rank(r->world) == 0;
    json_t *all = json_array();
    if (first)
        printf("Medians and quartiles in milliseconds; the ratio is circulant over caterpillar.\n\n"
               "%-15s %-17s %6s %4s   %-22s%-22s%-22s%s\n",
               "from", "to", "MB", "n", "circulant", "matching", "caterpillar", " ratio");
    for (int i = 0; i < ROWS; i += quick ? 4 : 1)
        json_array_append_new(all, measure(r, &rows[i], quick ? 5 : rows[i].samples));
    all = json_pack("{s:i s:o}", "version", 1, "rows", all);
    bool good = !first || !file || json_dump_file(all, file, JSON_INDENT(1)) == 0;
    if (!good)
        fprintf(stderr, "bench_redist_ranks: cannot write %s\n", file);
    json_decref(all);
    return good;
}

int main(int argc, char **argv)
{
    struct rank r = {0};
    const char *file = NULL;
    bool quick = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            quick = true;
        } else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            file = argv[++i];
        } else {
            fputs(
                "usage: bench_redist_ranks [--quick] [--json FILE], by every rank of a job of 64\n",
                stderr);
            return 2;
        }
    }
    must(&r, torus_open(&r.context, NULL), "the daemon");
    must(&r, torus_join(r.context, NULL, &r.world), "joining");
    if (torus_size(r.world) != RANKS) {
        fprintf(stderr, "bench_redist_ranks: the job has %u ranks, but needs %d\n",
                torus_size(r.world), RANKS);
        return 2;
    }
    bool good = measure_all(&r, quick, file);
    torus_close(r.context);
    return good ? 0 : 1;
}
