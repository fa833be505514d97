/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of torus-plan: an operation, then options with values, well formed or not. The
 * command prints what they ask for, or an error that says what is wrong. Machines, groups and
 * memory are small, so that the input runs fast and finds the end of the memory. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/quantity.h"
#include "decide.h"
#include "model/topology.h"
#include "torus-plan/explain.h"
#include "torus-plan/own.h"

/* the arguments are all that matters here: no daemon tells its own machine */
void explain_own(struct explain_machine *m)
{
    (void)m;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    OPTIONS_MAX = 10,
    TEXT_MAX = 48,
    RANKS_MAX = 256,
    RANKS_FEW = 24,
    BYTES_MAX = 64 << 20, /* of a call of more ranks */
    ARENA_BYTES_MAX = 4 << 20,
};

static const char *const operations[] = {
    "alltoall",  "barrier", "broadcast", "reduce", "allreduce", "reduce_scatter",
    "scan",      "exscan",  "prefix",    "gather", "scatter",   "allgather",
    "alltoallv", "fft",     "redist",    "group"};

static const char *const options[] = {
    "--shape",     "--bytes",   "--packet",  "--fabric",   "--node",   "--relay",
    "--seed",      "--burst",   "--all",     "--json",     "--method", "--ranks-per-node",
    "--type",      "--op",      "--mode",    "--root",     "--spread", "--parts",
    "--gap",       "--barrier", "--from",    "--to",       "--grid",   "--barrier-scope",
    "--elements",  "--axes",    "--kinds",   "--inverse",  "--plot",   "--precision",
    "--link-rate", "--gflops",  "--element", "--schedule", "--group",  "--nodes"};

static const char *const values[] = {"4",
                                     "2x3",
                                     "4x4",
                                     "3x3x2",
                                     "2x2m",
                                     "5m",
                                     "1",
                                     "0",
                                     "-1",
                                     "64K",
                                     "1G",
                                     "4096",
                                     "direct",
                                     "routed",
                                     "0,1",
                                     "1,0",
                                     "auto",
                                     "random",
                                     "phased",
                                     "pairwise",
                                     "two-phase",
                                     "stream",
                                     "round-trips",
                                     "links",
                                     "planes",
                                     "binary",
                                     "binomial",
                                     "bucket",
                                     "swing",
                                     "swing-whole",
                                     "int32",
                                     "double",
                                     "complex-float",
                                     "sum",
                                     "max",
                                     "same",
                                     "any",
                                     "0.5",
                                     "1e308",
                                     "nan",
                                     "on",
                                     "off",
                                     "hop",
                                     "phase",
                                     "none",
                                     "ring",
                                     "all",
                                     "block",
                                     "(block,*)",
                                     "(*,cyclic(4))",
                                     "cyclic(2)@0-2",
                                     "cyclic(4)@0-5",
                                     "single",
                                     "(block,cyclic) on 2x3 @4-9",
                                     "(block,block) on 2x2",
                                     "12x8",
                                     "128x128x128",
                                     "1000000",
                                     "0,2",
                                     "-1,0",
                                     "complex",
                                     "r2c",
                                     "c2r",
                                     "dct1",
                                     "dst4,none",
                                     "5GB/s",
                                     "circulant",
                                     "colouring",
                                     "classes",
                                     "matching",
                                     "caterpillar",
                                     "nodes:0-3",
                                     "random:0.6",
                                     "0-2,5",
                                     "18446744073709551615",
                                     "9223372036854775807",
                                     "(0:4)@1;(4:12)@0",
                                     "*",
                                     "1x1x1x1x1x1"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- what tool.c and the arena provide ---- */

int tool_usage(const char *name, const char *wrong)
{
    assert(!name && wrong && wrong[0]);
    return EXIT_USAGE;
}

const char *tool_no_option(const char *name)
{
    static char text[100];
    snprintf(text, sizeof text, "unknown option %.50s", name);
    return text;
}

double tool_seconds(void)
{
    return 0;
}

/* The linker (--wrap) passes each call of td_arena_create here. It fixes the names.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
struct td_arena *__real_td_arena_create(size_t bytes);
struct td_arena *__wrap_td_arena_create(size_t bytes);

struct td_arena *__wrap_td_arena_create(size_t bytes)
{
    return __real_td_arena_create(bytes < ARENA_BYTES_MAX ? bytes : ARENA_BYTES_MAX);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* ---- arguments ---- */

/* words is the memory of the arguments: each has a block of its own of exactly its size. */
struct words {
    int count;
    char *word[2 * OPTIONS_MAX + 3], *argument[2 * OPTIONS_MAX + 3]; /* argument: may be moved */
};

static void add(struct words *w, const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    assert(copy);
    memcpy(copy, text, length);
    copy[length] = '\0';
    w->word[w->count++] = copy;
    w->word[w->count] = NULL;
}

/* add_list adds sizes, coordinates or axes: as many as there may be, or more. */
static void add_list(struct words *w, struct decide *d)
{
    char text[TEXT_MAX];
    size_t length = 0;
    const char *sign = decide_below(d, 3) ? "x" : ",";
    for (uint32_t n = 1 + decide_below(d, TD_DIMENSIONS_MAX + 2); n > 0; n--)
        length += (size_t)snprintf(text + length, sizeof text - length, "%u%s",
                                   1 + decide_below(d, 9), n == 1 ? "" : sign);
    add(w, text, length);
}

/* has_list returns true if the value of an option is a list of numbers. */
static bool has_list(const char *option)
{
    static const char *const lists[] = {"--shape", "--elements", "--grid", "--axes", "--node"};
    bool has = false;
    for (size_t i = 0; i < COUNT(lists); i++)
        has = has || strcmp(option, lists[i]) == 0;
    return has;
}

static void add_value(struct words *w, struct decide *d)
{
    char text[TEXT_MAX];
    uint32_t kind = decide_below(d, 8);
    if (kind < 4) {
        const char *value = values[decide_below(d, COUNT(values))];
        add(w, value, strlen(value));
    } else if (kind == 4) {
        int length = snprintf(text, sizeof text, "%llu", (unsigned long long)decide_number(d));
        add(w, text, (size_t)length);
    } else if (kind == 5) {
        add_list(w, d);
    } else if (kind == 6) { /* a value with one change */
        const char *value = values[decide_below(d, COUNT(values))];
        size_t length = strlen(value);
        memcpy(text, value, length);
        text[decide_below(d, (uint32_t)length)] = (char)(1 + decide_below(d, 127));
        add(w, text, length);
    } else {
        size_t length = decide_below(d, TEXT_MAX);
        for (size_t i = 0; i < length; i++)
            text[i] = (char)(1 + decide_below(d, 255));
        add(w, text, length);
    }
}

static void read_words(struct words *w, struct decide *d)
{
    add(w, "explain", 7);
    const char *operation = operations[decide_below(d, COUNT(operations))];
    add(w, operation, strlen(operation));
    if (decide_below(d, 8)) {
        add(w, "--shape", 7);
        add_value(w, d);
    }
    for (int i = 1; i < OPTIONS_MAX && d->left > 0; i++) {
        const char *option = options[decide_below(d, COUNT(options))];
        add(w, option, strlen(option));
        if (strcmp(option, "--plot") == 0)
            add(w, "/dev/null", 9);
        else if (has_list(option) && decide_below(d, 2))
            add_list(w, d);
        else if (strcmp(option, "--all") != 0 && strcmp(option, "--json") != 0 &&
                 strcmp(option, "--inverse") != 0)
            add_value(w, d);
    }
}

/* is_small returns true if the arguments ask for few ranks, or few bytes among many ranks, and read
 * no file. The steps of a call grow with its bytes and with the square of its ranks. */
static bool is_small(const struct words *w)
{
    uint64_t ranks = 1, nodes = 1, bytes = 0;
    for (int i = 2; i + 1 < w->count; i++) {
        struct td_topology t;
        size_t position = 0;
        const char *why = NULL, *value = w->word[i + 1];
        uint64_t n = 0;
        if (strcmp(w->word[i], "--shape") == 0 &&
            td_topology_parse(&t, value, &position, &why) == TD_OK)
            nodes = t.nodes > nodes ? t.nodes : nodes;
        else if (strcmp(w->word[i], "--ranks-per-node") == 0 && td_quantity_parse(value, &n))
            ranks = n > ranks ? n : ranks;
        else if (strcmp(w->word[i], "--bytes") == 0 && td_quantity_parse(value, &n))
            bytes = n > bytes ? n : bytes;
        else if (strncmp(value, "file:", 5) == 0)
            return false;
    }
    bool few_ranks = ranks <= RANKS_FEW && nodes * ranks <= RANKS_FEW;
    return ranks <= RANKS_MAX && nodes * ranks <= RANKS_MAX && (few_ranks || bytes <= BYTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nothing;
    FILE *out = stdout, *err = stderr;
    struct decide d = {data, size};
    struct words w = {0};
    read_words(&w, &d);
    if (!nothing && !(nothing = fopen("/dev/null", "w")))
        abort();
    if (is_small(&w)) {
        stdout = stderr = nothing;
        memcpy(w.argument, w.word, sizeof w.word);
        int code = explain_command.run(w.count, w.argument);
        stdout = out;
        stderr = err;
        assert(code == EXIT_WELL || code == EXIT_FAILED || code == EXIT_USAGE);
    }
    for (int i = 0; i < w.count; i++)
        free(w.word[i]);
    return 0;
}
