/* SPDX-License-Identifier: Apache-2.0 */
/* collectives: comparison of torusd with Open MPI, MPICH and gloo on one machine.
 *
 * torusd runs as emulated daemons on loopback. Open MPI and MPICH use TCP for several nodes and
 * shared memory for one node; gloo uses TCP. With --hosts, each node is a network namespace
 * (hosts.sh). All sides run all the time and are measured alternately, because the speed of the
 * machine drifts. */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectives_driver.h"
#include "base/quantity.h"
#include "floors.h"
#include "hosts.h"
#include "load.h"

static const char usage[] =
    "usage: collectives [options]\n"
    "\n"
    "compare barrier, broadcast, allreduce, scan and all-to-all of torusd and its peers: Open "
    "MPI,\n"
    "MPICH and gloo, as far as they were installed at the build\n"
    "\n"
    "  --quick           fewer samples and sizes: about 3 minutes\n"
    "  --json FILE       also write the results to FILE\n"
    "  --plot DIR        also draw the ratio against the size, a picture per setting and load "
    "(SVG)\n"
    "  --setting NAME    1x2, 1x4, 1x8, 1x16, 4x2 or 8x1 (nodes x ranks per node), or hosts-4x1 "
    "or\n"
    "                    hosts-4x2; may be repeated\n"
    "  --hosts           the settings whose nodes are network namespaces with links of limited "
    "rate;\n"
    "                    needs root\n"
    "  --link RATE       of these hosts, for tc(8) (default 1gbit)\n"
    "  --memory NAME     of the vectors: shared, from torus_alloc and MPI_Alloc_mem (default), or "
    "plain,\n"
    "                    from malloc\n"
    "  --security NAME   of torusd on these hosts: insecure (like Open MPI; default), authenticate "
    "or\n"
    "                    encrypt\n"
    "  --operation NAME  barrier, broadcast, allreduce, scan or alltoall; may be repeated\n"
    "  --size BYTES      8, 1KiB, 64KiB, 1MiB or 16MiB; may be repeated\n"
    "  --peer NAME       openmpi, mpich or gloo; may be repeated\n"
    "  --load NAME       idle, or busy: with two processes that compute all the time\n"
    "  --samples N       largest number of samples of each\n"
    "\n"
    "A size is that of a rank's vector; in an all-to-all, that of the message per pair, but 16 "
    "MiB\n"
    "are per rank. A sample is several consecutive calls; its time is from the first rank's begin\n"
    "to the last rank's end, divided by the calls. Ranks may leave a broadcast or a scan early;\n"
    "therefore a barrier precedes each call, and the time is that of the slowest rank.\n";

static const struct setting settings[] = {{"1x2", 1, 2, false},      {"1x4", 1, 4, false},
                                          {"1x8", 1, 8, false},      {"1x16", 1, 16, false},
                                          {"4x2", 4, 2, false},      {"8x1", 8, 1, false},
                                          {"hosts-4x1", 4, 1, true}, {"hosts-4x2", 4, 2, true}};
static const uint64_t sizes[] = {8, 1 << 10, 64 << 10, 1 << 20, 16 << 20};
enum {
    SETTINGS = sizeof settings / sizeof settings[0],
    SIZES = sizeof sizes / sizeof sizes[0],
    RESULTS_MAX = SETTINGS * SIZES * OPERATIONS * 2,
    SAMPLES = 15,
    QUICK_SAMPLES = 7,
    SAMPLES_MIN = 3,
};

struct bench {
    bool quick, wanted_setting[SETTINGS], wanted_operation[OPERATIONS], wanted_size[SIZES];
    bool wanted_load[2], wanted_side[SIDES], hosts;
    bool told_absent[SIDES];
    struct floors floors;
    uint32_t samples;
    const char *json, *plot, *link, *security;
    bool plain;  /* the vectors' memory is malloc's */
    double rate; /* of TCP's payload on a host's link, bytes per second; 0: not limited */
    char folder[PATH_MAX];
    struct running side[SIDES];
    uint64_t seed;
    struct result result[RESULTS_MAX];
    size_t results;
    size_t cells, done; /* for the progress */
    struct timespec begin;
};

/* ---- targets ---- */

/* aim_of returns the largest ratio that is wanted, or 0. */
static double aim_of(const struct result *r)
{
    bool small = r->operation == BARRIER || r->bytes < 64 << 10;
    bool pairs = r->setting->ranks_per_node > 1;
    if (r->setting->hosts)
        return !small || pairs ? 0.8 : 1.2;
    if (r->busy)
        return small ? 0.05 : 0.3;
    if (r->setting->nodes == 1 && r->plain && !small)
        return 1.0;
    if (r->setting->nodes == 1)
        return !small ? r->operation == ALLTOALL ? 0.8 : 0.5 : r->setting->ranks_per_node > 2;
    return pairs ? small ? 0.7 : 0.8 : small ? 1.0 : 0.9;
}

/* limit_on_links returns the least seconds in which the hosts' links can carry the data of an
 * operation: of the host whose link carries most. 0: latency counts, not the rate. */
static double limit_on_links(const struct result *r, double rate, double bytes)
{
    double hosts = r->setting->nodes, each = r->setting->ranks_per_node;
    if (rate == 0 || r->bytes < 64 << 10)
        return 0;
    if (r->operation == ALLREDUCE)
        bytes *= 2 * (hosts - 1) / hosts;
    else if (r->operation == ALLTOALL)
        bytes *= each * each * (hosts - 1);
    return bytes / rate;
}

/* limit_on_loopback is the same for nodes on this machine. All their bytes pass loopback, one
 * stream of which uses two processors. A short call needs one message there and one back. */
static double limit_on_loopback(const struct result *r, const struct floors *f, double bytes)
{
    double nodes = r->setting->nodes, each = r->setting->ranks_per_node;
    if (r->bytes < 64 << 10)
        return f->round_trip_s;
    if (r->operation == ALLREDUCE)
        bytes *= 2;
    else if (r->operation == ALLTOALL)
        bytes *= each * each * nodes;
    return bytes * (nodes - 1) / f->loopback_rate;
}

/* limit_in_memory is the same for one node: each result is written once by all processors together.
 * A short call takes a line of cache to another processor and back. */
static double limit_in_memory(const struct result *r, const struct floors *f, double bytes)
{
    double ranks = r->setting->ranks_per_node, rate = floors_copy_rate(f, bytes);
    if (r->bytes < 64 << 10)
        return f->line_s;
    if (r->operation == ALLTOALL)
        bytes *= ranks;
    return rate > 0 ? bytes * (r->operation == BROADCAST ? ranks - 1 : ranks) / rate : 0;
}

static double limit_of(const struct bench *b, const struct result *r)
{
    double bytes = (double)r->bytes / (r->bytes_of_rank ? b->side[TORUSD].ranks : 1);
    if (r->setting->hosts)
        return limit_on_links(r, b->rate, bytes);
    return r->setting->nodes > 1 ? limit_on_loopback(r, &b->floors, bytes)
                                 : limit_in_memory(r, &b->floors, bytes);
}

/* ---- measuring ---- */

static double since(const struct timespec *begin)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begin->tv_sec) + 1e-9 * (double)(now.tv_nsec - begin->tv_nsec);
}

static void tell(const struct bench *b, const struct result *r)
{
    char size[32];
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[K%3.0f%% %s %s %s %s", 100.0 * (double)b->done / (double)b->cells,
            r->setting->name, r->busy ? "busy" : "idle", operation_name(r->operation),
            td_quantity_print(r->bytes, size, sizeof size));
}

static void tell_over(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

/* calls_of returns the number of calls in a sample: many for short operations, because ranks leave
 * a barrier one after the other. Short calls of two ranks take about a microsecond; but if both
 * have woken on one processor, they take 5, until the kernel moves one some ms later. */
static uint32_t calls_of(const struct bench *b, const struct result *r)
{
    bool two = r->setting->nodes == 1 && r->setting->ranks_per_node == 2;
    uint32_t calls = r->bytes <= 1 << 10    ? (two ? CALLS_MAX : 32)
                     : r->bytes <= 64 << 10 ? 12
                     : r->bytes <= 1 << 20  ? 4
                                            : 1;
    return b->quick || r->busy ? (calls + 3) / 4 : calls;
}

/* joins returns true if a side takes part in the measurement of a result. */
static bool joins(const struct bench *b, enum side side, const struct result *r)
{
    return b->side[side].ranks > 0 && side_has(side, r->operation, r->busy);
}

/* measure samples all sides alternately. It returns false if a sample failed. */
static bool measure(struct bench *b, struct result *r)
{
    double seconds[SIDES][SAMPLES_MAX];
    uint32_t samples = 0, ranks = b->side[TORUSD].ranks;
    struct order order = {.operation = r->operation, .calls = r->calls, .bytes = r->bytes};
    struct timespec begin;
    if (r->bytes_of_rank)
        order.bytes = r->bytes / ranks;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    double budget_s = b->quick ? 0.5 : 4;
    for (int s = 0; s < SIDES; s++) { /* warm-up */
        struct order first = order;
        first.calls = 1;
        first.seed = b->seed++;
        if (joins(b, (enum side)s, r) && side_sample(&b->side[s], &first) < 0)
            return false;
    }
    while (samples < b->samples && (samples < SAMPLES_MIN || since(&begin) < budget_s)) {
        for (int s = 0; s < SIDES; s++) {
            if (!joins(b, (enum side)s, r))
                continue;
            order.seed = b->seed++;
            seconds[s][samples] = side_sample(&b->side[s], &order);
            if (seconds[s][samples] < 0)
                return false;
        }
        samples++;
    }
    for (int s = 0; s < SIDES; s++)
        if (joins(b, (enum side)s, r))
            r->spread[s] = spread_of(seconds[s], samples);
    return true;
}

/* in_order compares two results by operation and size. */
static int in_order(const void *x, const void *y)
{
    const struct result *a = x, *b = y;
    int size = (a->bytes > b->bytes) - (a->bytes < b->bytes);
    return a->operation != b->operation ? (int)a->operation - (int)b->operation : size;
}

/* measure_load measures short calls first: after long ones, in which processes compute, ranks and
 * daemons of torusd that wait sleep at once for up to 3.2 s. */
static bool measure_load(struct bench *b, const struct setting *setting, bool busy, double others)
{
    size_t first = b->results;
    for (size_t i = 0; i < SIZES; i++) {
        for (int o = 0; o < OPERATIONS; o++) {
            if (!b->wanted_operation[o] || !(o == BARRIER ? i == 0 : b->wanted_size[i]))
                continue;
            struct result *r = &b->result[b->results];
            *r = (struct result){.setting = setting,
                                 .busy = busy,
                                 .plain = b->plain,
                                 .others = others,
                                 .operation = (enum operation)o,
                                 .bytes = o == BARRIER ? 0 : sizes[i],
                                 .bytes_of_rank = o == ALLTOALL && sizes[i] == 16 << 20};
            r->calls = calls_of(b, r);
            r->aim = aim_of(r);
            r->limit_s = limit_of(b, r);
            tell(b, r);
            if (!measure(b, r))
                return false;
            b->results++;
            b->done++;
        }
    }
    tell_over();
    qsort(b->result + first, b->results - first, sizeof *b->result, in_order);
    if (b->results > first)
        print_table(b->result + first, b->results - first);
    if (b->results > first && b->plot &&
        !plot_results(b->plot, b->result + first, b->results - first)) {
        fprintf(stderr, "collectives: cannot write a picture in %s\n", b->plot);
        return false;
    }
    return true;
}

/* start starts a side, unless it is absent from the setting. */
static bool start(struct bench *b, enum side side, const struct setting *setting)
{
    const char *absence = side_absence(side, setting, b->folder);
    if (!b->wanted_side[side])
        return true;
    if (absence && side != TORUSD && side != OPENMPI) {
        if (!b->told_absent[side])
            fprintf(stderr, "collectives: without %s on %s: %s\n", side_name(side), setting->name,
                    absence);
        b->told_absent[side] = true;
        return true;
    }
    return side_start(&b->side[side], side, setting, b->folder, b->security);
}

static bool measure_setting(struct bench *b, const struct setting *setting)
{
    pid_t pid[BUSY_MAX] = {0};
    bool well = !setting->hosts || hosts_up("collectives", setting->nodes, b->link);
    for (int s = 0; s < SIDES && well; s++)
        well = start(b, (enum side)s, setting);
    for (int busy = 0; busy < 2 && well; busy++) {
        if (!b->wanted_load[busy])
            continue;
        double others = cpus_taken();
        if (busy)
            busy_start(pid);
        well = measure_load(b, setting, busy, others);
        busy_stop(pid);
    }
    for (int s = 0; s < SIDES; s++)
        running_stop(&b->side[s]);
    if (setting->hosts)
        hosts_down();
    return well;
}

/* ---- options ---- */

static bool want(bool *wanted, size_t count, size_t which)
{
    bool any = which < count;
    if (any)
        wanted[which] = true;
    return any;
}

static size_t setting_named(const char *name)
{
    size_t i = 0;
    while (i < SETTINGS && strcmp(settings[i].name, name) != 0)
        i++;
    return i;
}

static size_t operation_named(const char *name)
{
    size_t i = 0;
    while (i < OPERATIONS && strcmp(operation_name((enum operation)i), name) != 0)
        i++;
    return i;
}

/* peer_named returns the side of a peer's name. */
static size_t peer_named(const char *name)
{
    static const char *const names[SIDES] = {
        [TORUSD] = "", [OPENMPI] = "openmpi", [MPICH] = "mpich", [GLOO] = "gloo"};
    size_t i = OPENMPI;
    while (i < SIDES && strcmp(names[i], name) != 0)
        i++;
    return i;
}

static size_t size_named(const char *text)
{
    uint64_t bytes = 0;
    size_t i = 0;
    bool is_one = td_quantity_parse(text, &bytes);
    while (i < SIZES && !(is_one && sizes[i] == bytes))
        i++;
    return i;
}

static bool security_is_known(const char *name)
{
    return strcmp(name, "insecure") == 0 || strcmp(name, "authenticate") == 0 ||
           strcmp(name, "encrypt") == 0;
}

static bool parse(struct bench *b, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        bool well = false;
        if (strcmp(name, "--quick") == 0) {
            b->quick = true;
            continue;
        }
        if (strcmp(name, "--hosts") == 0) {
            b->hosts = true;
            continue;
        }
        if (strcmp(name, "--json") == 0)
            well = (b->json = value)[0] != '\0';
        else if (strcmp(name, "--plot") == 0)
            well = (b->plot = value)[0] != '\0' && access(b->plot, W_OK) == 0;
        else if (strcmp(name, "--setting") == 0)
            well = want(b->wanted_setting, SETTINGS, setting_named(value));
        else if (strcmp(name, "--operation") == 0)
            well = want(b->wanted_operation, OPERATIONS, operation_named(value));
        else if (strcmp(name, "--size") == 0)
            well = want(b->wanted_size, SIZES, size_named(value));
        else if (strcmp(name, "--peer") == 0)
            well = want(b->wanted_side, SIDES, peer_named(value));
        else if (strcmp(name, "--load") == 0)
            well = want(b->wanted_load, 2,
                        strcmp(value, "idle") == 0   ? 0
                        : strcmp(value, "busy") == 0 ? 1
                                                     : 2);
        else if (strcmp(name, "--link") == 0)
            well = (b->link = value)[0] != '\0';
        else if (strcmp(name, "--memory") == 0)
            well = (b->plain = strcmp(value, "plain") == 0) || strcmp(value, "shared") == 0;
        else if (strcmp(name, "--security") == 0)
            well = security_is_known(b->security = value);
        else if (strcmp(name, "--samples") == 0)
            well = (b->samples = (uint32_t)atoi(value)) >= SAMPLES_MIN && b->samples <= SAMPLES_MAX;
        if (!well)
            return false;
        i++;
    }
    return true;
}

/* complete sets unset options to all values; --quick leaves out sizes. */
static void complete(struct bench *b)
{
    static const bool quick_sizes[SIZES] = {true, false, true, true, false};
    bool any_setting = false, any_operation = false, any_size = false;
    bool any_load = b->wanted_load[0] || b->wanted_load[1], any_peer = false;
    for (size_t i = OPENMPI; i < SIDES; i++)
        any_peer |= b->wanted_side[i];
    for (size_t i = OPENMPI; i < SIDES; i++)
        b->wanted_side[i] |= !any_peer;
    b->wanted_side[TORUSD] = true;
    for (size_t i = 0; i < SETTINGS; i++)
        any_setting |= b->wanted_setting[i];
    for (size_t i = 0; i < OPERATIONS; i++)
        any_operation |= b->wanted_operation[i];
    for (size_t i = 0; i < SIZES; i++)
        any_size |= b->wanted_size[i];
    for (size_t i = 0; i < SETTINGS; i++)
        b->wanted_setting[i] |= !any_setting && settings[i].hosts == b->hosts;
    for (size_t i = 0; i < OPERATIONS; i++)
        b->wanted_operation[i] |= !any_operation;
    for (size_t i = 0; i < SIZES; i++)
        b->wanted_size[i] |= !any_size && (!b->quick || quick_sizes[i]);
    for (size_t i = 0; i < 2; i++)
        b->wanted_load[i] |= !any_load;
    b->link = b->link ? b->link : "1gbit";
    b->security = b->security ? b->security : "insecure";
    b->rate = hosts_rate(b->link);
    if (b->samples == 0)
        b->samples = b->quick ? QUICK_SAMPLES : SAMPLES;
}

static void count_cells(struct bench *b)
{
    size_t settings_wanted = 0, sizes_wanted = 0, cells = 0;
    for (size_t i = 0; i < SETTINGS; i++)
        settings_wanted += b->wanted_setting[i];
    for (size_t i = 0; i < SIZES; i++)
        sizes_wanted += b->wanted_size[i];
    for (size_t i = 0; i < OPERATIONS; i++)
        cells += b->wanted_operation[i] ? i == BARRIER ? 1 : sizes_wanted : 0;
    b->cells = settings_wanted * cells * (size_t)(b->wanted_load[0] + b->wanted_load[1]);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct bench *b = &bench;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (!parse(b, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    complete(b);
    count_cells(b);
    setenv("COLLECTIVES_MEMORY", b->plain ? "plain" : "shared", 1); /* the sides' ranks read it */
    signal(SIGPIPE, SIG_IGN);
    if (readlink("/proc/self/exe", b->folder, sizeof b->folder - 1) < 0)
        return 1;
    char *slash = strrchr(b->folder, '/');
    if (slash)
        *slash = '\0';
    clock_gettime(CLOCK_MONOTONIC, &b->begin);
    bool well = b->hosts || floors_measure(&b->floors);
    if (!well)
        fprintf(stderr, "collectives: cannot measure memory and loopback\n");
    for (size_t i = 0; i < SETTINGS && well; i++)
        if (b->wanted_setting[i])
            well = measure_setting(b, &settings[i]);
    if (well) {
        print_aims(b->result, b->results);
        printf("%.0f s in all\n", since(&b->begin));
    }
    if (b->json && !print_json(b->json, b->result, b->results, b->quick)) {
        fprintf(stderr, "collectives: cannot write %s\n", b->json);
        well = false;
    }
    return well ? 0 : 1;
}
