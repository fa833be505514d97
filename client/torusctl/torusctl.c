/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "torusctl.h"

static const struct command {
    const char *name, *arguments, *what;
    int (*run)(int argc, char **argv);
    const char *more;
} commands[] = {
    {"status", "[--json] [--socket PATH]", "the node, its peers, clients, jobs, operations",
     ctl_status, ""},
    {"ops", "[--json] [--socket PATH]",
     "operations in flight: who has arrived, who is missing, how far they are", ctl_ops, ""},
    {"emulate", "SHAPE [options] -- COMMAND ...",
     "run COMMAND once a rank on an emulated torus of daemons", ctl_emulate,
     "  --ranks N            ranks in all (default: one a node)\n"
     "  --ranks-per-node R   the most a node takes\n"
     "  --transport ipc|tcp  how the daemons talk (default ipc)\n"
     "  --fabric direct|routed   how packets travel (default direct)\n"
     "  --link-rate RATE     what each direction of a link carries, such as 5MB/s; for routed\n"
     "  --link-latency TIME  what a packet takes to pass a link, such as 50us; for routed\n"
     "  --set SECTION.KEY=VALUE  a line of the daemons' configuration\n"
     "  --keep-going         only the ranks' exit codes count, not a daemon that ends by itself\n"
     "  --daemon PATH        the torusd to run (default: the one beside torusctl, or in PATH)\n"
     "  --verbose            show the daemons' logs\n"
     "\n"
     "The ranks find TORUS_SOCKET, TORUS_JOB, TORUS_RANK, TORUS_SIZE and TORUS_NODE set. The "
     "first\n"
     "exit code of a rank that is not 0 is passed on; nothing is left behind.\n"},
    {"queues", "[--json] [--watch] [--socket PATH]",
     "queues, channels and links of the node's router, on the routed fabric", ctl_queues,
     "  --watch              again every second; with --json, an object a line\n"},
    {"plans", "[--json] [--socket PATH]",
     "plans of 1-D transforms that the node has, how they were made and how fast they are",
     ctl_plans, ""},
    {"explain", "OPERATION --shape SHAPE [options], or redist --from LAYOUT --to LAYOUT",
     "what a node does in an operation: by which method and why, whom it sends what, the bound",
     ctl_explain,
     "OPERATION is alltoall, barrier, broadcast, reduce, allreduce, reduce_scatter, scan, exscan,\n"
     "prefix, gather, scatter, allgather, alltoallv, fft, redist or group.\n"
     "\n"
     "  --bytes M            of the vector, of each rank's part, or from each to each other, 64K\n"
     "  --packet B           payload of a packet, 256K\n"
     "  --fabric direct|routed   default routed\n"
     "  --node X,Y,Z         whose program, by coordinates (default: node 0)\n"
     "  --relay B            memory for passing data on, 64M\n"
     "  --seed S             of random orders and sizes, 1\n"
     "  --burst N            random: packets for one destination before the next one's turn\n"
     "  --all                every line\n"
     "  --json               the same for machines, complete\n"
     "  --method NAME        auto (the default); of all-to-alls random, phased, pairwise or\n"
     "                       two-phase; of a prefix stream, gather or round-trips; of calls with\n"
     "                       a root links, planes, binary or binomial; of allreduce,\n"
     "                       reduce_scatter and allgather bucket or swing, of the first\n"
     "                       swing-whole; of short calls flood, with --bytes 16 if not given\n"
     "all but alltoall:\n"
     "  --ranks-per-node N   1\n"
     "  --type NAME          double in reductions, else byte\n"
     "  --op NAME            of reductions, sum\n"
     "  --mode off|same|any  of reductions: the same bits, see torus_set_reproducible\n"
     "  --root R             0\n"
     "  --spread F           alltoallv: sizes are M times 1 - F to 1 + F, 0.5\n"
     "alltoall:\n"
     "  --parts N            phased: 1, or 0 for one a dimension\n"
     "  --gap on|off         phased: packets keep the distance at which they never meet\n"
     "  --barrier hop|phase|none, --barrier-scope ring|all   phased\n"
     "fft, how the data of a transform travel, stage by stage, over which grid of nodes and why:\n"
     "  --elements 128x128x128   the array, along each axis\n"
     "  --axes 0,2, --kinds LIST complex, r2c, c2r, none, dct1 to dct4, dst1 to dst4, of all axes\n"
     "                       or one each; complex if not given\n"
     "  --inverse, --precision single|double\n"
     "  --from LAYOUT, --to LAYOUT   what each rank has before and after, such as '(block, *, *)'\n"
     "  --grid 16x4          nodes that deal out the array between\n"
     "  --method NAME        of the moves between: auto, random, phased, pairwise or two-phase\n"
     "  --link-rate RATE, --gflops N   5GB/s of a link, 1e9 operations a second of a node: times\n"
     "  --plot FILE          draw the stages (SVG)\n"
     "redist, who sends to whom in which step when an array changes its layout:\n"
     "  --from LAYOUT, --to LAYOUT   such as 'cyclic(2)@0-2' and '(block,cyclic) on 2x3 @4-9'\n"
     "  --elements N         how long the array is: 1000000, or 4000x3000\n"
     "  --element B          bytes of one, 8\n"
     "  --schedule NAME      auto, circulant, colouring, classes, matching or caterpillar\n"
     "  --shape SHAPE, --ranks-per-node N   what steps load the links of that torus with\n"
     "  --plot FILE          draw the steps (SVG)\n"},
    {"fft", "IN.npy OUT.npy [options]", "transform of a .npy, by every rank of a job", ctl_fft,
     "  --axes 0,2           transform these axes alone; -1 is the last\n"
     "  --inverse            the inverse transform\n"
     "  --real               real numbers to half a spectrum, along the last of the axes, and "
     "with\n"
     "                       --inverse back\n"
     "  --kinds dct2,dst1    real numbers to real ones, one kind for all axes or one each: dct1 "
     "to\n"
     "                       dct4, dst1 to dst4, which are FFTW's\n"
     "  --last N             with --inverse --real: how many real numbers that axis gets\n"
     "  --real-part          of the complex result write the real part alone\n"
     "  --norm backward|ortho|forward   where the factor goes, as in NumPy\n"
     "  --precision single|double       default: as the file's numbers are\n"
     "  --from, --to LAYOUT  what each rank has before and after, such as '(cyclic, *)'\n"
     "  --grid 4x2           nodes that deal out the array between\n"
     "  --method NAME        of the transposes: auto, random, phased, pairwise or two-phase\n"
     "  --check              transform back and compare; up to 4 Mi elements also with FFTW's\n"
     "  --timing             say how long each phase took and what each rank had\n"
     "  --json               the same as one JSON object a rank\n"},
    {"redist", "IN.npy OUT.npy --from LAYOUT --to LAYOUT [options]",
     "move a .npy from one layout to another, by every rank of a job", ctl_redist,
     "  --from, --to LAYOUT  such as '(block, *)' and '(cyclic(4), cyclic) on 2x3 @0-5'\n"
     "  --transpose 1,0      axis 0 of the result is axis 1 of the input, and so on\n"
     "  --local-out PATTERN  each rank writes its own part too: 'part-%r.npy', %r is the rank\n"
     "  --schedule NAME      auto, circulant, colouring, classes, matching or caterpillar\n"
     "  --timing             say how long each phase took and what each rank had\n"
     "  --json               the same as one JSON object a rank\n"},
    {"bench", "[--json] [--iterations N] [--alltoall BYTES]",
     "latency and bandwidth, by every rank of a job", ctl_bench, ""},
    {"compare", "A.npy B.npy [--fft]", "relative errors of A against B, or against B's transform",
     ctl_compare, ""},
    {"filter", "IN.npy OUT.npy --lowpass SAMPLES",
     "multiply a spectrum by a Gaussian: half amplitude at a wavelength of SAMPLES", ctl_filter,
     ""},
    {"picture", "IN.npy OUT.png [--log] [--shift] [--relief]", "draw an array", ctl_picture, ""},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void overview(FILE *out)
{
    fputs("usage: torusctl COMMAND ...\n\n", out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].what);
    fputs("\ntorusctl COMMAND --help says more.\n", out);
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* distance counts the letters to change, add or leave out between two short words. */
static size_t distance(const char *a, const char *b)
{
    enum { WORD = 16 };
    size_t row[WORD + 1], m = strnlen(a, WORD), n = strnlen(b, WORD);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

/* nearest returns the command that begins so, or that takes the fewest changes. */
static const char *nearest(const char *name)
{
    const char *best = commands[0].name;
    for (size_t i = 0; i < COMMANDS; i++)
        if (strncmp(name, commands[i].name, strlen(name)) == 0)
            return commands[i].name;
    for (size_t i = 1; i < COMMANDS; i++)
        if (distance(name, commands[i].name) < distance(name, best))
            best = commands[i].name;
    return best;
}

int ctl_usage(const char *name, const char *wrong)
{
    const struct command *c = find(name);
    FILE *out = wrong ? stderr : stdout;
    if (wrong)
        fprintf(out, "torusctl %s: %s\n", name, wrong);
    fprintf(out, "usage: torusctl %s %s\n", c->name, c->arguments);
    if (!wrong)
        fprintf(out, "\n%s\n%s%s", c->what, c->more[0] ? "\n" : "", c->more);
    return wrong ? EXIT_USAGE : EXIT_WELL;
}

const char *ctl_no_option(const char *name)
{
    static char text[100];
    snprintf(text, sizeof text, "there is no option %.50s, or its value is missing", name);
    return text;
}

torus_context *ctl_open(const char *socket, int *code)
{
    torus_context *c = NULL;
    struct torus_open_options options = {.size = sizeof options, .socket = socket};
    int error = torus_open(&c, &options);
    if (error == TORUS_OK)
        return c;
    fprintf(stderr, "torusctl: %s\n", torus_last_error(c));
    torus_close(c);
    *code = error == TORUS_ERR_NO_DAEMON ? EXIT_NO_DAEMON : EXIT_FAILED;
    return NULL;
}

double ctl_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        overview(stdout);
        return EXIT_WELL;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("torusctl " TORUS_VERSION);
        return EXIT_WELL;
    }
    const struct command *c = find(argv[1]);
    if (!c) {
        fprintf(stderr, "torusctl: there is no command %s; the nearest is %s\n", argv[1],
                nearest(argv[1]));
        overview(stderr);
        return EXIT_USAGE;
    }
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return ctl_usage(c->name, NULL);
        if (strcmp(argv[i], "--version") == 0) {
            puts("torusctl " TORUS_VERSION);
            return EXIT_WELL;
        }
    }
    return c->run(argc - 1, argv + 1);
}
