/* SPDX-License-Identifier: Apache-2.0 */
/* fft: comparison of torusd with FFTW-MPI on one machine.
 *
 * torusd runs as emulated daemons on loopback. Open MPI uses TCP for several nodes and shared
 * memory for one node. Both sides run all the time and are measured alternately, because the speed
 * of the machine drifts. */
#include <fftw3.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fft_driver.h"
#include "hosts.h"
#include "load.h"

static const char usage[] =
    "usage: bench_fft [options]\n"
    "\n"
    "compare complex transforms of torusd and FFTW-MPI (FFTW_MEASURE), and check both against\n"
    "FFTW in one process\n"
    "\n"
    "  --quick          1024x1024 and 64x64x64 in three settings, few samples\n"
    "  --json FILE      also write the results to FILE\n"
    "  --setting NAME   1x1, 1x4, 1x8, 1x9, 4x1, 8x1, 9x1 or 16x1 (nodes x ranks per node),\n"
    "                   or hosts-4x1 or hosts-4x2; may be repeated\n"
    "  --hosts          the settings whose nodes are network namespaces with links of limited\n"
    "                   rate; needs root\n"
    "  --link RATE      of these hosts, for tc(8) (default 1gbit)\n"
    "  --array NAME     1024x1024, 2048x2048, 4096x4096, 128x128x128, 256x256x256 or 64x64x64;\n"
    "                   may be repeated\n"
    "  --samples N      samples of each, 9\n"
    "\n"
    "PLAN: time of planning. FIRST: time of the first execution. STEADY: median of the executions\n"
    "after torusd has measured its plans in the background. GFLOPS: 5 N log2 N / STEADY. RATIO:\n"
    "time of torusd over FFTW-MPI's. MEMORY: peak of ranks and daemons. ERROR: largest error over\n"
    "largest value. OTHERS: processors busy with other programs just before STEADY. LIMIT: time\n"
    "in which the hosts' links can carry the data, which moves twice.\n";

static const struct setting settings[] = {{"1x1", 1, 1, false},      {"1x4", 1, 4, false},
                                          {"1x8", 1, 8, false},      {"1x9", 1, 9, false},
                                          {"4x1", 4, 1, false},      {"8x1", 8, 1, false},
                                          {"9x1", 9, 1, false},      {"16x1", 16, 1, false},
                                          {"hosts-4x1", 4, 1, true}, {"hosts-4x2", 4, 2, true}};
static const struct problem problems[] = {
    {2, {1024, 1024, 0}}, {2, {2048, 2048, 0}}, {2, {4096, 4096, 0}},
    {3, {128, 128, 128}}, {3, {256, 256, 256}}, {3, {64, 64, 64}},
};
enum {
    SETTINGS = sizeof settings / sizeof settings[0],
    PROBLEMS = sizeof problems / sizeof problems[0],
    QUICK_ONLY = PROBLEMS - 1, /* the smallest problem */
    RESULTS_MAX = SETTINGS * PROBLEMS,
    SAMPLES = 9,
    QUICK_SAMPLES = 3,
    SETTLE_SECONDS = 240,
};

struct bench {
    bool quick, hosts, wanted_setting[SETTINGS], wanted_problem[PROBLEMS];
    uint32_t samples;
    const char *json, *link;
    char folder[PATH_MAX], file[64];
    struct running side[SIDES];
    double *reference[PROBLEMS];
    struct result result[RESULTS_MAX];
    size_t results;
};

/* ---- measuring ---- */

/* limit_on_links returns the least seconds in which the links of the hosts can carry the data: each
 * host sends what it has of the columns of the others, and they send it back. */
static double limit_on_links(const struct setting *setting, const struct problem *p, double rate)
{
    double hosts = setting->nodes, bytes = (double)points_of(p) * 2 * sizeof(double);
    return setting->hosts && rate > 0 ? 2 * bytes / hosts * (hosts - 1) / hosts / rate : 0;
}

/* open_side plans and executes once, as a new process does. */
static bool open_side(struct bench *b, enum side side, const struct problem *p, struct figures *f)
{
    struct order order = {.kind = ORDER_PLAN, .times = 1, .problem = *p};
    f->plan_s = side_order(&b->side[side], &order, NULL);
    order.kind = ORDER_RUN;
    f->first_s = f->plan_s < 0 ? -1 : side_order(&b->side[side], &order, NULL);
    return f->first_s >= 0;
}

/* check compares the last result with that of FFTW in one process. */
static bool check(struct bench *b, enum side side, size_t which, struct figures *f)
{
    struct order order = {.kind = ORDER_WRITE, .problem = problems[which]};
    strcpy(order.file, b->file);
    bool well = result_file(b->file, &problems[which]) &&
                side_order(&b->side[side], &order, NULL) >= 0 &&
                result_errors(b->file, &problems[which], b->reference[which], &f->errors);
    unlink(b->file);
    return well;
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void set_spread(struct figures *f, double *seconds, uint32_t n)
{
    qsort(seconds, n, sizeof *seconds, ascending);
    f->steady_s = seconds[n / 2];
    f->lower_s = seconds[n / 4];
    f->upper_s = seconds[n - 1 - n / 4];
}

/* steady measures the sides alternately, after one warm-up execution each. */
static bool steady(struct bench *b, struct result *r)
{
    static double seconds[SIDES][SAMPLES_MAX];
    struct order order = {.kind = ORDER_RUN, .times = 1, .problem = r->problem};
    for (int side = 0; side < SIDES; side++)
        if (side_order(&b->side[side], &order, &r->side[side].memory_bytes) < 0)
            return false;
    for (uint32_t i = 0; i < r->samples; i++)
        for (int side = 0; side < SIDES; side++)
            if ((seconds[side][i] = side_order(&b->side[side], &order, NULL)) < 0)
                return false;
    for (int side = 0; side < SIDES; side++)
        set_spread(&r->side[side], seconds[side], r->samples);
    return true;
}

static bool measure(struct bench *b, const struct setting *setting, size_t which)
{
    struct result *r = &b->result[b->results];
    struct order order = {.kind = ORDER_SETTLE, .times = SETTLE_SECONDS};
    char text[64];
    *r = (struct result){.setting = setting, .problem = problems[which], .samples = b->samples};
    r->limit_s = limit_on_links(setting, &r->problem, hosts_rate(b->link));
    problem_text(&r->problem, text, sizeof text);
    if (!b->reference[which] && !(b->reference[which] = reference_make(&problems[which]))) {
        fprintf(stderr, "bench fft: no memory for %s\n", text);
        return false;
    }
    for (int side = 0; side < SIDES; side++)
        if (!open_side(b, (enum side)side, &r->problem, &r->side[side]))
            return false;
    r->side[TORUSD].settle_s = side_order(&b->side[TORUSD], &order, NULL);
    r->others = cpus_taken();
    if (!steady(b, r))
        return false;
    for (int side = 0; side < SIDES; side++)
        if (!check(b, (enum side)side, which, &r->side[side]))
            return false;
    fprintf(stderr, "%s %s: torusd %.4g s, FFTW-MPI %.4g s\n", setting->name, text,
            r->side[TORUSD].steady_s, r->side[FFTW_MPI].steady_s);
    b->results++;
    return true;
}

static bool measure_setting(struct bench *b, const struct setting *setting)
{
    bool well = !setting->hosts || hosts_up("bench fft", setting->nodes, b->link);
    for (int side = 0; side < SIDES; side++)
        well = well && side_start(&b->side[side], (enum side)side, setting, b->folder);
    for (size_t i = 0; i < PROBLEMS && well; i++)
        if (b->wanted_problem[i])
            well = measure(b, setting, i);
    for (int side = 0; side < SIDES; side++)
        running_stop(&b->side[side]);
    if (setting->hosts)
        hosts_down();
    return well;
}

/* ---- options ---- */

static bool want_setting(struct bench *b, const char *name)
{
    for (size_t i = 0; i < SETTINGS; i++)
        if (strcmp(settings[i].name, name) == 0)
            return b->wanted_setting[i] = true;
    return false;
}

static bool want_problem(struct bench *b, const char *name)
{
    char text[64];
    for (size_t i = 0; i < PROBLEMS; i++) {
        problem_text(&problems[i], text, sizeof text);
        if (strcmp(text, name) == 0)
            return b->wanted_problem[i] = true;
    }
    return false;
}

static bool any(const bool *wanted, size_t count)
{
    return memchr(wanted, 1, count) != NULL;
}

static bool parse(struct bench *b, int argc, char **argv)
{
    bool well = true;
    for (int i = 1; i < argc && well; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        bool quick = strcmp(name, "--quick") == 0, hosts = strcmp(name, "--hosts") == 0;
        b->quick |= quick;
        b->hosts |= hosts;
        i += !quick && !hosts;
        if (quick || hosts)
            continue;
        if (strcmp(name, "--json") == 0)
            well = (b->json = value)[0] != '\0';
        else if (strcmp(name, "--setting") == 0)
            well = want_setting(b, value);
        else if (strcmp(name, "--array") == 0)
            well = want_problem(b, value);
        else if (strcmp(name, "--samples") == 0)
            well = (b->samples = (uint32_t)atoi(value)) >= 1 && b->samples <= SAMPLES_MAX;
        else if (strcmp(name, "--link") == 0)
            well = (b->link = value)[0] != '\0';
        else
            well = false;
    }
    bool any_setting = any(b->wanted_setting, SETTINGS);
    if (b->samples == 0)
        b->samples = b->quick ? QUICK_SAMPLES : SAMPLES;
    for (size_t i = 0; i < SETTINGS && !any_setting && (b->hosts || !b->quick); i++)
        b->wanted_setting[i] = settings[i].hosts == b->hosts;
    if (!any_setting && !b->hosts && b->quick)
        well = well && want_setting(b, "1x1") && want_setting(b, "1x4") && want_setting(b, "4x1");
    if (!any(b->wanted_problem, PROBLEMS) && b->quick)
        well = well && want_problem(b, "1024x1024") && want_problem(b, "64x64x64");
    else if (!any(b->wanted_problem, PROBLEMS))
        memset(b->wanted_problem, true, QUICK_ONLY);
    return well;
}

static bool find_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0)
        return false;
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    return true;
}

int main(int argc, char **argv)
{
    static struct bench b = {.link = "1gbit"};
    bool well = true;
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    if (!parse(&b, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if (!find_folder(b.folder))
        return 1;
    snprintf(b.file, sizeof b.file, "/dev/shm/bench-fft.%d", (int)getpid());
    for (size_t i = 0; i < SETTINGS && well; i++)
        if (b.wanted_setting[i])
            well = measure_setting(&b, &settings[i]);
    print_table(b.result, b.results);
    if (b.json && !print_json(b.json, b.result, b.results, b.quick)) {
        fprintf(stderr, "bench fft: cannot write %s\n", b.json);
        well = false;
    }
    for (size_t i = 0; i < PROBLEMS; i++)
        fftw_free(b.reference[i]);
    return well ? 0 : 1;
}
