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
    {"status", "[--json] [--socket PATH]", "the node, its peers, clients, jobs and operations",
     ctl_status, ""},
    {"ops", "[--json] [--socket PATH]", "operations in flight: arrived and missing ranks, progress",
     ctl_ops, ""},
    {"emulate", "SHAPE [options] -- COMMAND ...",
     "run COMMAND once per rank on an emulated torus of daemons", ctl_emulate,
     "  --ranks N            number of ranks (default: one per node)\n"
     "  --ranks-per-node R   maximum number of ranks per node\n"
     "  --transport ipc|tcp  connections between daemons (default ipc)\n"
     "  --fabric direct|routed   route of packets (default direct)\n"
     "  --link-rate RATE     rate of each direction of a link, such as 5MB/s; for routed\n"
     "  --link-latency TIME  delay of a packet on a link, such as 50us; for routed\n"
     "  --set SECTION.KEY=VALUE  a setting of the daemons' configuration\n"
     "  --keep-going         ignore a daemon that ends by itself in the exit code\n"
     "  --daemon PATH        the torusd to run (default: the one beside torusctl, or in PATH)\n"
     "  --verbose            show the daemons' logs\n"
     "\n"
     "Each rank has TORUS_SOCKET, TORUS_JOB, TORUS_RANK, TORUS_SIZE and TORUS_NODE in its\n"
     "environment. The exit code is the first nonzero exit code of a rank. No process and no\n"
     "file remains.\n"},
    {"queues", "[--json] [--watch] [--socket PATH]",
     "queues, channels and links of the node's router (routed fabric)", ctl_queues,
     "  --watch              repeat every second; with --json, one object per line\n"},
    {"plans", "[--json] [--socket PATH]",
     "plans of 1-D transforms of the node: effort and execution time", ctl_plans, ""},
    {"explain", "OPERATION --shape SHAPE [options], or redist --from LAYOUT --to LAYOUT",
     "the program of an operation: method and reason, messages, lower bound of the time",
     ctl_explain,
     "OPERATION is alltoall, barrier, broadcast, reduce, allreduce, reduce_scatter, scan, exscan,\n"
     "prefix, gather, scatter, allgather, alltoallv, fft, redist or group.\n"
     "\n"
     "  --bytes M            size of the vector, a rank's part, or a message per pair, 64K\n"
     "  --packet B           payload of a packet, 256K\n"
     "  --fabric direct|routed   default routed\n"
     "  --node X,Y,Z         coordinates of the node to show (default: node 0)\n"
     "  --relay B            memory for relayed data, 64M\n"
     "  --seed S             seed of random orders and sizes, 1\n"
     "  --burst N            random: packets for one destination before the next destination\n"
     "  --all                all lines\n"
     "  --json               complete output as JSON\n"
     "  --method NAME        auto (the default); all-to-alls: random, phased, pairwise,\n"
     "                       two-phase; prefix: stream, gather, round-trips; rooted calls:\n"
     "                       links, planes, binary, binomial; allreduce, reduce_scatter and\n"
     "                       allgather: bucket, swing; allreduce: swing-whole; short calls:\n"
     "                       flood, with --bytes 16 by default\n"
     "all operations except alltoall:\n"
     "  --ranks-per-node N   ranks on each node, 1\n"
     "  --type NAME          element type: double in reductions, else byte\n"
     "  --op NAME            operator of reductions, sum\n"
     "  --mode off|same|any  reproducible mode of reductions, see torus_set_reproducible\n"
     "  --root R             root rank, 0\n"
     "  --spread F           alltoallv: sizes are M times 1 - F to 1 + F, 0.5\n"
     "alltoall:\n"
     "  --parts N            phased: 1, or 0 for one per dimension\n"
     "  --gap on|off         phased: pauses that keep packets from meeting\n"
     "  --barrier hop|phase|none, --barrier-scope ring|all   phased\n"
     "fft, the stages of a transform, the grid of nodes and the reason for it:\n"
     "  --elements 128x128x128   size of the array along each axis\n"
     "  --axes 0,2, --kinds LIST complex (the default), r2c, c2r, none, dct1 to dct4, dst1 to\n"
     "                       dst4: one for all axes, or one each\n"
     "  --inverse, --precision single|double\n"
     "  --from LAYOUT, --to LAYOUT   layouts before and after, such as '(block, *, *)'\n"
     "  --grid 16x4          grid of nodes between the stages\n"
     "  --method NAME        method of the moves: auto, random, phased, pairwise or two-phase\n"
     "  --link-rate RATE, --gflops N   link rate, 5GB/s; 1e9 operations per second of a node, 1\n"
     "  --plot FILE          draw the stages (SVG)\n"
     "redist, the messages of each step when an array changes its layout:\n"
     "  --from LAYOUT, --to LAYOUT   such as 'cyclic(2)@0-2' and '(block,cyclic) on 2x3 @4-9'\n"
     "  --elements N         size of the array: 1000000, or 4000x3000\n"
     "  --element B          bytes per element, 8\n"
     "  --schedule NAME      auto, circulant, colouring, classes, matching or caterpillar\n"
     "  --shape SHAPE, --ranks-per-node N   loads of the links of that torus\n"
     "  --plot FILE          draw the steps (SVG)\n"},
    {"fft", "IN.npy OUT.npy [options]",
     "transform an array in a .npy file; run by every rank of a job", ctl_fft,
     "  --axes 0,2           transform only these axes; -1 is the last\n"
     "  --inverse            the inverse transform\n"
     "  --real               real to complex along the last named axis; with --inverse, complex\n"
     "                       to real\n"
     "  --kinds dct2,dst1    real to real, one kind for all axes or one each: dct1 to dct4 and\n"
     "                       dst1 to dst4, as in FFTW\n"
     "  --last N             with --inverse --real: number of real numbers along that axis\n"
     "  --real-part          write only the real part of the complex result\n"
     "  --norm backward|ortho|forward   normalization, as in NumPy\n"
     "  --precision single|double       default: the precision of the file\n"
     "  --from, --to LAYOUT  layouts before and after, such as '(cyclic, *)'\n"
     "  --grid 4x2           grid of nodes between the stages\n"
     "  --method NAME        method of the transposes: auto, random, phased, pairwise, two-phase\n"
     "  --check              transform back and compare; up to 4 Mi elements also with FFTW\n"
     "  --timing             print the time of each phase and the part of each rank\n"
     "  --json               the same as one JSON object per rank\n"},
    {"redist", "IN.npy OUT.npy --from LAYOUT --to LAYOUT [options]",
     "move an array in a .npy file to another layout; run by every rank of a job", ctl_redist,
     "  --from, --to LAYOUT  such as '(block, *)' and '(cyclic(4), cyclic) on 2x3 @0-5'\n"
     "  --transpose 1,0      axis 0 of the result is axis 1 of the input, and so on\n"
     "  --local-out PATTERN  also write each rank's part: 'part-%r.npy', %r is the rank\n"
     "  --schedule NAME      auto, circulant, colouring, classes, matching or caterpillar\n"
     "  --timing             print the time of each phase and the part of each rank\n"
     "  --json               the same as one JSON object per rank\n"},
    {"bench", "[--json] [--iterations N] [--alltoall BYTES]",
     "latency and bandwidth; run by every rank of a job", ctl_bench, ""},
    {"compare", "A.npy B.npy [--fft]",
     "relative errors of A against B, or against the transform of B", ctl_compare, ""},
    {"filter", "IN.npy OUT.npy --lowpass SAMPLES",
     "multiply a spectrum by a Gaussian that is 1/2 at a wavelength of SAMPLES", ctl_filter, ""},
    {"picture", "IN.npy OUT.png [--log] [--shift] [--relief]", "draw an array as PNG", ctl_picture,
     ""},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void overview(FILE *out)
{
    fputs("usage: torusctl COMMAND ...\n\n", out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].what);
    fputs("\ntorusctl COMMAND --help prints the options of a command.\n", out);
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* distance returns the edit distance of two words of up to 16 letters. */
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

/* nearest returns the command with this prefix, else the one with the smallest edit distance. */
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
    snprintf(text, sizeof text, "no option %.50s, or its value is missing", name);
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
        fprintf(stderr, "torusctl: no command %s; the nearest is %s\n", argv[1], nearest(argv[1]));
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
