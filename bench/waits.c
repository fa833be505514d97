/* SPDX-License-Identifier: Apache-2.0 */
/* What waiting costs the processes of a job: until it runs, for a late rank, and for an operation
 * that goes on while they compute. Each rank runs this program:
 *
 *     torusctl emulate 1 --ranks 8 -- bench_waits
 *
 * Rank 0 prints a table, or writes JSON. */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <torus/torus.h>

enum { ROUNDS = 11, SAMPLES = 9, LATE_S = 10, BYTES = 16 << 20, TRANSFORM_SIDE = 1024 };

static torus_context *context;
static torus_group *world;
static uint32_t rank, ranks;
static FILE *json;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_until(double at)
{
    struct timespec t = {(time_t)at, (long)(1e9 * (at - (double)(time_t)at))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
        continue;
}

static void check(int error)
{
    if (!error)
        return;
    fprintf(stderr, "bench waits: rank %u: %s\n", rank, torus_last_error(context));
    exit(1);
}

static double combined(double value, int op)
{
    double result = 0;
    check(torus_allreduce(world, &value, &result, 1, TORUS_DOUBLE, op));
    return result;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* report prints a figure with its quartiles; `aim` says what is wanted. */
static void report(const char *name, const char *unit, double *value, size_t n, const char *aim)
{
    static size_t reported;
    qsort(value, n, sizeof *value, by_size);
    if (rank > 0)
        return;
    printf("%-60s %9.3f %-12s %9.3f - %-9.3f %s\n", name, value[n / 2], unit, value[n / 4],
           value[n - 1 - n / 4], aim);
    fflush(stdout);
    if (json)
        fprintf(json,
                "%s{\"name\": \"%s\", \"unit\": \"%s\", \"median\": %g, \"lower\": %g, "
                "\"upper\": %g, \"ranks\": %u}",
                reported++ ? ",\n " : "", name, unit, value[n / 2], value[n / 4],
                value[n - 1 - n / 4], ranks);
}

/* ---- start ---- */

static void open_and_join(const char *name)
{
    struct torus_join_options options = {.size = sizeof options, .name = name};
    if (torus_open(&context, NULL) != TORUS_OK) {
        fprintf(stderr, "bench waits: %s\n", torus_last_error(NULL));
        exit(1);
    }
    check(torus_join(context, &options, &world));
    rank = torus_rank(world);
    ranks = torus_size(world);
}

/* measure_start opens, joins and meets in a barrier, over and over from a time that all ranks
 * agreed upon. The last context stays. */
static void measure_start(void)
{
    double took_ms[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        char name[32];
        double begin = combined(now() + 0.05, TORUS_MAX);
        snprintf(name, sizeof name, "waits-%d", i);
        torus_close(context);
        sleep_until(begin);
        double began = now();
        open_and_join(name);
        check(torus_barrier(world));
        double ended = now();
        took_ms[i] = 1e3 * (combined(ended, TORUS_MAX) - combined(began, TORUS_MIN));
    }
    report("open, join and a barrier", "ms", took_ms, ROUNDS, "< 20 (8 ranks)");
}

/* ---- a late rank ---- */

static double own_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* daemons_seconds returns the processor time of the daemons that this process's parent started. */
static double daemons_seconds(void)
{
    unsigned long sum = 0;
    DIR *processes = opendir("/proc");
    for (struct dirent *e = NULL; processes && (e = readdir(processes));) {
        char path[300], line[600] = "";
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? fopen(path, "re") : NULL;
        if (!f)
            continue;
        size_t n = fread(line, 1, sizeof line - 1, f);
        fclose(f);
        line[n] = '\0';
        int parent = 0;
        unsigned long user = 0, system = 0;
        const char *rest = strstr(line, "(torusd) ");
        if (rest &&
            sscanf(rest + 9, "%*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &parent, &user,
                   &system) == 3 &&
            parent == (int)getppid())
            sum += user + system;
    }
    if (processes)
        closedir(processes);
    return (double)sum / (double)sysconf(_SC_CLK_TCK);
}

static void measure_late(void)
{
    check(torus_barrier(world));
    double daemons = daemons_seconds(), own = own_seconds();
    if (rank + 1 == ranks)
        sleep(LATE_S);
    check(torus_barrier(world));
    own = combined(own_seconds() - own, TORUS_SUM);
    daemons = daemons_seconds() - daemons;
    report("all ranks, while they wait 10 s for the last", "core-seconds", &own, 1,
           "< 0.1 (8 ranks)");
    report("the daemons meanwhile", "core-seconds", &daemons, 1, "");
}

/* ---- overlap ---- */

static volatile double sink;

/* compute takes a time that is proportional to `turns`, and touches no memory. */
static void compute(uint64_t turns)
{
    double x = 1;
    for (uint64_t i = 0; i < turns; i++)
        x = x * 1.0000001 + 1e-9;
    sink = x;
}

static uint64_t turns_of(double seconds)
{
    static double each;
    if (each == 0) {
        double begin = now();
        compute(20000000);
        each = (now() - begin) / 2e7;
    }
    return (uint64_t)(seconds / each);
}

struct overlapped {
    const char *name;
    void *source, *destination;
    torus_plan *plan; /* of a transform; NULL: an operation */
    bool alltoall;
};

static void start_call(const struct overlapped *o, torus_request **request)
{
    size_t count = BYTES / sizeof(double);
    if (o->plan)
        check(torus_start(o->plan, o->source, o->destination, request));
    else if (o->alltoall)
        check(torus_ialltoall(world, o->source, o->destination, count / ranks, TORUS_DOUBLE,
                              request));
    else
        check(torus_iallreduce(world, o->source, o->destination, count, TORUS_DOUBLE, TORUS_SUM,
                               request));
}

/* time_of returns the longest time on any rank of the call, if `calls`, and a computation
 * meanwhile on the ranks below `computing`. */
static double time_of(const struct overlapped *o, bool calls, uint32_t computing, uint64_t turns)
{
    torus_request *request = NULL;
    check(torus_barrier(world));
    double from = now();
    if (calls)
        start_call(o, &request);
    if (rank < computing)
        compute(turns);
    if (calls)
        check(torus_wait(request, -1));
    return combined(now() - from, TORUS_MAX);
}

/* measure_hidden reports how much of a call that takes `call` seconds alone a computation hides
 * that takes one and a half times as long, on the ranks below `computing`. */
static void measure_hidden(const struct overlapped *o, double call, uint32_t computing)
{
    double hidden[SAMPLES];
    uint64_t turns = turns_of(1.5 * call);
    for (int i = 0; i < SAMPLES; i++) {
        double without = time_of(o, false, computing, turns);
        hidden[i] = 100 * (1 - (time_of(o, true, computing, turns) - without) / call);
    }
    char name[80];
    snprintf(name, sizeof name, "%s, hidden %s", o->name,
             computing == 1 ? "while rank 0 computes" : "while all ranks compute");
    report(name, "%", hidden, SAMPLES, ">= 80");
}

/* measure_overlap lets first rank 0 compute, so that a processor is free for the operation where
 * each of two ranks has one, then all ranks. */
static void measure_overlap(const struct overlapped *o)
{
    double alone[SAMPLES];
    time_of(o, true, 0, 0);
    for (int i = 0; i < SAMPLES; i++)
        alone[i] = time_of(o, true, 0, 0);
    qsort(alone, SAMPLES, sizeof *alone, by_size);
    double call = alone[SAMPLES / 2];
    char name[80];
    for (int i = 0; i < SAMPLES; i++)
        alone[i] *= 1e3;
    snprintf(name, sizeof name, "%s, alone", o->name);
    report(name, "ms", alone, SAMPLES, "");
    measure_hidden(o, call, 1);
    measure_hidden(o, call, ranks);
}

static void *memory(size_t bytes)
{
    void *m = torus_alloc(context, bytes);
    if (m)
        return memset(m, 0, bytes);
    check(TORUS_ERR_NO_MEMORY);
    return NULL;
}

static void measure_overlaps(void)
{
    void *source = memory(BYTES), *destination = memory(BYTES);
    struct torus_fft_desc d = {.size = sizeof d,
                               .dimensions = 2,
                               .shape = {TRANSFORM_SIDE, TRANSFORM_SIDE},
                               .type = TORUS_COMPLEX_DOUBLE,
                               .sign = TORUS_FORWARD};
    torus_plan *plan = NULL;
    check(torus_plan_fft(world, &d, &plan));
    measure_overlap(&(struct overlapped){"allreduce of 16 MiB", source, destination, NULL, false});
    measure_overlap(
        &(struct overlapped){"all-to-all of 16 MiB a rank", source, destination, NULL, true});
    measure_overlap(
        &(struct overlapped){"transform of 1024x1024", source, destination, plan, false});
    torus_plan_free(plan);
}

static const struct {
    const char *name;
    void (*measure)(void);
} parts[] = {{"start", measure_start}, {"late", measure_late}, {"overlap", measure_overlaps}};
enum { PARTS = sizeof parts / sizeof *parts };

/* measure measures the parts that were asked for, or all. */
static bool measure(int asked, char **part)
{
    int found = 0;
    for (size_t p = 0; p < PARTS; p++) {
        bool wanted = asked == 0;
        for (int i = 0; i < asked; i++)
            wanted |= strcmp(part[i], parts[p].name) == 0;
        if (wanted)
            parts[p].measure();
        found += wanted;
    }
    return found >= asked;
}

int main(int argc, char **argv)
{
    static const char usage[] =
        "usage: torusctl emulate SHAPE --ranks N -- bench_waits [--json FILE] [PART ...]\n\n"
        "measure what waiting costs the processes of a job. The parts are start: until all have\n"
        "joined; late: processor time while a rank is late; overlap: how much of an operation a\n"
        "computation hides (with a processor for each rank). Default: all\n";
    const char *path = NULL;
    int first = 1;
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc > 2 && strcmp(argv[1], "--json") == 0) {
        path = argv[2];
        first = 3;
    }
    open_and_join("waits");
    if (path && rank == 0 && (json = fopen(path, "we")) != NULL)
        fputs("{\"version\": 1, \"results\": [\n ", json);
    bool well = measure(argc - first, argv + first);
    if (!well && rank == 0)
        fputs(usage, stderr);
    if (json)
        fputs("]}\n", json);
    if (path && rank == 0 && (!json || fclose(json) != 0)) {
        fprintf(stderr, "bench waits: cannot write %s\n", path);
        well = false;
    }
    torus_close(context);
    return well ? 0 : 1;
}
