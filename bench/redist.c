/* SPDX-License-Identifier: Apache-2.0 */
/* redist: computing times of schedules for block-cyclic redistributions, compared with bipartite
 * matching, and their savings by the model of the source. */
#include "redist.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectives/redist/redist_schedule.h"

enum { SAMPLES = 201, BATCH = 32, SLOW_SAMPLES = 31 };

/* Rate of an owner's link. Start-ups are neglected: this makes the share of the computation large.
 */
static const double BYTES_PER_US = 1000;

struct row {
    uint32_t dimensions;
    struct td_schedule_axis axis[3];
    uint64_t bytes; /* of the array, in the source's sizes; 0: no share */
};

static const struct row rows[] = {
    {1, {{28, 36, 2, 28}}, 2257920},
    {1, {{28, 36, 2, 28}}, 56448000},
    {1, {{28, 36, 4, 24}}, 2709504},
    {1, {{28, 36, 4, 24}}, 67737600},
    {1, {{40, 48, 1, 3}}, 0},
    {1, {{64, 64, 1, 3}}, 0},
    {1, {{64, 64, 1, 32}}, 0},
    {1, {{64, 64, 1, 63}}, 0},
    {1, {{64, 64, 63, 1}}, 0},
    {1, {{64, 64, 1, 64}}, 0},
    {2, {{8, 8, 1, 7}, {8, 8, 5, 1}}, 0},
    {3, {{4, 4, 1, 3}, {4, 4, 3, 1}, {4, 4, 1, 3}}, 0},
};

static struct td_arena *arena;
static uint32_t keep; /* keeps the compiler from removing the calls */

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return difference < 0 ? -1 : difference > 0;
}

/* median returns the microseconds of one call. */
typedef void work_fn(const struct td_schedule_problem *problem);
static double median(work_fn *work, const struct td_schedule_problem *problem, int samples,
                     int batch)
{
    double took[SAMPLES] = {0};
    for (int i = 0; i < samples; i++) {
        double begin = now_us();
        for (int j = 0; j < batch; j++)
            work(problem);
        took[i] = (now_us() - begin) / batch;
    }
    qsort(took, (size_t)samples, sizeof took[0], compare);
    return took[samples / 2];
}

static uint32_t row_buffer[1 << 12];

/* one_row computes the row of one sender: its receiver in every step. */
static void one_row(const struct td_schedule_problem *problem)
{
    struct td_circulant c;
    if (!td_circulant_init(&c, problem->dimensions, problem->axis))
        abort();
    td_circulant_sends(&c, problem->p - 1, row_buffer);
    keep += row_buffer[c.steps - 1];
}

static void whole_table(const struct td_schedule_problem *problem)
{
    struct td_circulant c;
    if (!td_circulant_init(&c, problem->dimensions, problem->axis))
        abort();
    for (uint32_t p = 0; p < problem->p; p++) {
        td_circulant_sends(&c, p, row_buffer);
        keep += row_buffer[c.steps - 1];
    }
}

static void build(const struct td_schedule_problem *problem, enum td_schedule_kind kind)
{
    struct td_schedule s;
    if (!td_schedule_build(&s, arena, kind, problem))
        abort();
    keep += s.steps;
    td_schedule_free(&s, arena);
}

static void by_matching(const struct td_schedule_problem *problem)
{
    build(problem, TD_SCHEDULE_MATCHING);
}

static void by_colouring(const struct td_schedule_problem *problem)
{
    build(problem, TD_SCHEDULE_COLOURING);
}

static struct td_schedule_problem problem_of(const struct row *r)
{
    struct td_schedule_problem problem = {
        .p = 1, .q = 1, .dimensions = r->dimensions, .axis = r->axis};
    for (uint32_t d = 0; d < r->dimensions; d++) {
        problem.p *= r->axis[d].p;
        problem.q *= r->axis[d].q;
    }
    return problem;
}

static void name_row(const struct row *r, char *text, size_t size)
{
    size_t length = 0;
    for (uint32_t d = 0; d < r->dimensions && length < size; d++)
        length += (size_t)snprintf(text + length, size - length, "%s%u:%llu>%u:%llu", d ? " " : "",
                                   r->axis[d].p, (unsigned long long)r->axis[d].from_block,
                                   r->axis[d].q, (unsigned long long)r->axis[d].to_block);
}

static json_t *time_row(const struct row *r)
{
    char name[80], share[80] = "";
    struct td_schedule_problem problem = problem_of(r);
    struct td_circulant c;
    struct td_schedule_bound bound;
    td_circulant_init(&c, problem.dimensions, problem.axis);
    td_schedule_bound(&problem, &bound);
    double row = median(one_row, &problem, SAMPLES, BATCH);
    double table = median(whole_table, &problem, SAMPLES, BATCH);
    double colouring = median(by_colouring, &problem, SLOW_SAMPLES, 1);
    double matching = median(by_matching, &problem, SLOW_SAMPLES, 1);
    double part = 0;
    if (r->bytes) { /* bytes that the busier side sends or receives */
        uint32_t fewer = problem.p < problem.q ? problem.p : problem.q;
        part = row / ((double)r->bytes / fewer / BYTES_PER_US);
        snprintf(share, sizeof share, "%.2f %% of %.2f MB's", part * 100, (double)r->bytes / 1e6);
    }
    name_row(r, name, sizeof name);
    printf("%-34s %6u %9.2f %9.2f %11.1f %11.1f   %s\n", name, c.steps, row, table, colouring,
           matching, share);
    return json_pack("{s:s s:i s:i s:i s:f s:f s:f s:f s:I s:f}", "axes", name, "p", (int)problem.p,
                     "q", (int)problem.q, "steps", (int)c.steps, "row_us", row, "table_us", table,
                     "colouring_us", colouring, "matching_us", matching, "bytes",
                     (json_int_t)r->bytes, "share", part);
}

/* worst_of returns the K up to 128 with the longest time for the table of 64 x 64. */
static json_t *worst_of(void)
{
    struct row worst = {1, {{64, 64, 1, 1}}, 0};
    double most = 0;
    for (uint64_t k = 1; k <= 128; k++)
        for (int reverse = 0; reverse < 2; reverse++) {
            struct row r = {1, {{64, 64, reverse ? k : 1, reverse ? 1 : k}}, 0};
            struct td_schedule_problem problem = problem_of(&r);
            double took = median(whole_table, &problem, 9, 4);
            if (took > most) {
                most = took;
                worst = r;
            }
        }
    puts("slowest of P = Q = 64 and K up to 128, both ways:");
    return time_row(&worst);
}

int main(int argc, char **argv)
{
    const char *file = NULL;
    if (argc == 3 && strcmp(argv[1], "--json") == 0)
        file = argv[2];
    else if (argc != 1) {
        fputs("usage: bench_redist [--json FILE]\n", stderr);
        return 2;
    }
    arena = td_arena_create((size_t)64 << 20);
    if (!arena)
        return 1;
    json_t *times = json_array();
    printf("Microseconds to compute a schedule, medians; P:x>Q:y is cyclic(x) on P to cyclic(y) on "
           "Q.\nThe share is a row's, of what the busiest owner takes to move its part at %g MB/s "
           "without start-ups.\n\n",
           BYTES_PER_US);
    printf("%-34s %6s %9s %9s %11s %11s   %s\n", "axes", "steps", "a row", "table", "colouring",
           "matching", "a row's share");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        json_array_append_new(times, time_row(&rows[i]));
    json_array_append_new(times, worst_of());
    json_t *all =
        json_pack("{s:i s:o s:o}", "version", 1, "schedules", times, "model", redist_model(arena));
    redist_random(arena);
    redist_links(arena);
    bool good = !file || json_dump_file(all, file, JSON_INDENT(1)) == 0;
    if (!good)
        fprintf(stderr, "bench_redist: cannot write %s\n", file);
    json_decref(all);
    td_arena_destroy(arena);
    return good && keep ? 0 : 1;
}
