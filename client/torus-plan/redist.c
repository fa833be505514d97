/* SPDX-License-Identifier: Apache-2.0 */
/* torus-plan redist: the messages of each step of a redistribution, and the distance of the
 * schedule from its lower bounds. */
#include "redist.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "model/layout_text.h"
#include "model/overlap.h"
#include "base/quantity.h"
#include "redist_plot.h"
#include "tool/tool.h"
#include "system/limits.h"

enum {
    LINES = 40,              /* steps, without --all */
    COLUMNS = 24,            /* owners, without --all */
    TIMES = 9,               /* repetitions, for the median of the time to compute a schedule */
    COMPARED_MAX = 1 << 20,  /* pairs of owners: with more, other schedules are not computed */
    STARTUP_BYTES = 1 << 15, /* cost of a step besides its data, as in the daemons */
};

/* ---- layouts ---- */

static char wrong_text[700];

/* parse reads a layout. It returns NULL or the error with its position. */
static const char *parse(struct explain_redist *x, unsigned side, uint32_t dimensions,
                         const uint64_t *size, uint32_t ranks, struct td_layout *layout)
{
    struct td_layout_wrong wrong;
    if (td_layout_parse(layout, x->arena, x->text[side], dimensions, size, ranks, &wrong))
        return NULL;
    snprintf(wrong_text, sizeof wrong_text, "--%s, character %zu: %s\n  %.300s\n  %*s",
             side ? "to" : "from", wrong.at + 1, wrong.text, x->text[side], (int)wrong.at + 1, "^");
    return wrong_text;
}

/* look parses a layout for an array of any size, to see which sizes it needs. */
static const char *look(struct explain_redist *x, unsigned side, uint32_t dimensions)
{
    uint64_t size[2][TD_DIMENSIONS_MAX];
    struct td_layout seen[2] = {0};
    const char *wrong = NULL;
    for (uint32_t i = 0; i < 2 && !wrong; i++) {
        for (uint32_t d = 0; d < TD_DIMENSIONS_MAX; d++)
            size[i][d] = (uint64_t)1 << (40 + i);
        wrong = parse(x, side, dimensions, size[i], i + 1, &seen[i]);
    }
    bool by_size = !wrong && seen[0].box != NULL;
    for (uint32_t d = 0; !wrong && d < seen[0].dimensions; d++)
        by_size |= seen[0].axis[d].parts > 1 && seen[0].axis[d].block != seen[1].axis[d].block;
    if (!wrong && seen[0].owners != seen[1].owners) {
        snprintf(wrong_text, sizeof wrong_text,
                 "--%s names no ranks: expected %s@0-2 or %s on 3, for example",
                 side ? "to" : "from", x->text[side], x->text[side]);
        wrong = wrong_text;
    }
    if (!wrong && by_size && !x->sized)
        wrong = "missing --elements, which determines the block size";
    x->layout[side].dimensions = seen[0].dimensions;
    memcpy(x->layout[side].axis, seen[0].axis, sizeof seen[0].axis);
    for (uint32_t i = 0; i < 2; i++)
        td_layout_free(&seen[i], x->arena);
    return wrong;
}

/* superblock returns the common period of both layouts along an axis. */
static uint64_t superblock(const struct td_axis *from, const struct td_axis *to)
{
    uint64_t a = from->parts > 1 ? from->parts * from->block : 1;
    uint64_t b = to->parts > 1 ? to->parts * to->block : 1;
    return a / td_gcd(a, b) * b;
}

/* read_sizes reads the sizes of the array. */
static const char *read_sizes(const struct explain_redist *x, uint64_t *size, uint32_t *dimensions)
{
    *dimensions = explain_sizes(x->elements_text, size);
    if (*dimensions)
        return NULL;
    snprintf(wrong_text, sizeof wrong_text,
             "--elements %.60s: expected sizes of 1 to 6 axes, each 1 to 9223372036854775807, such "
             "as 1000000 or 4000x3000",
             x->elements_text);
    return wrong_text;
}

static const char *read_layouts(struct explain_redist *x)
{
    uint64_t size[TD_DIMENSIONS_MAX];
    uint32_t dimensions = 0;
    static char why[300];
    const char *wrong = x->sized ? read_sizes(x, size, &dimensions) : NULL;
    for (unsigned side = 0; side < 2 && !wrong; side++)
        wrong = look(x, side, dimensions);
    if (!wrong && x->layout[0].dimensions != x->layout[1].dimensions)
        wrong = "--from and --to have different numbers of axes";
    for (uint32_t d = 0; !wrong && !x->sized && d < x->layout[0].dimensions; d++)
        size[d] = superblock(&x->layout[0].axis[d], &x->layout[1].axis[d]);
    for (unsigned side = 0; side < 2 && !wrong; side++) {
        wrong = parse(x, side, dimensions, size, 1, &x->layout[side]);
        const char *bad = wrong ? NULL
                                : td_layout_check(&x->layout[side], TD_JOB_RANKS_MAX,
                                                  x->element_bytes, why, sizeof why);
        if (bad) {
            snprintf(wrong_text, sizeof wrong_text, "--%s: %s", side ? "to" : "from", bad);
            wrong = wrong_text;
        }
    }
    return wrong;
}

/* read_shape reads the machine, which must have a node for every rank. */
static const char *read_shape(struct explain_redist *x)
{
    size_t at = 0;
    const char *why = NULL;
    if (!x->shape_text)
        return NULL;
    if (td_topology_parse(&x->topology, x->shape_text, &at, &why) != TD_OK) {
        snprintf(wrong_text, sizeof wrong_text, "--shape, character %zu: %s", at + 1, why);
        return wrong_text;
    }
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t o = 0; o < x->layout[side].owners; o++)
            if (x->layout[side].rank[o] / x->per_node >= x->topology.nodes) {
                snprintf(wrong_text, sizeof wrong_text, "rank %u has no node on %s",
                         x->layout[side].rank[o], x->shape_text);
                return wrong_text;
            }
    return NULL;
}

/* ---- the schedule ---- */

static uint64_t elements_of(const void *me, uint32_t p, uint32_t q)
{
    const struct explain_redist *x = me;
    return td_overlap_count(&x->layout[0], &x->layout[1], p, q);
}

/* is_whole returns true if the array is a multiple of the superblock along every axis. */
static bool is_whole(const struct explain_redist *x)
{
    bool whole = true;
    for (uint32_t d = 0; d < x->layout[0].dimensions; d++)
        whole =
            whole &&
            x->layout[0].size[d] % superblock(&x->layout[0].axis[d], &x->layout[1].axis[d]) == 0;
    return whole;
}

static void pose(struct explain_redist *x)
{
    x->blocks = (struct td_schedule_problem){.me = x};
    td_schedule_pose(&x->blocks, x->axis, &x->layout[0], &x->layout[1]);
    x->distributed = x->blocks.axis != NULL;
    x->real = x->blocks;
    x->real.volume = elements_of;
    x->real.startup = STARTUP_BYTES / x->element_bytes + 1;
    x->in_blocks = x->distributed && (x->as_json || is_whole(x));
    if (!x->in_blocks)
        x->blocks.volume = elements_of;
    if (!x->sized) {
        x->real = x->blocks;
        x->real.startup = UINT32_MAX; /* the size is unknown: prefer the fewest steps */
    }
    td_schedule_bound(&x->blocks, &x->bound);
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return difference < 0 ? -1 : difference > 0;
}

/* compute makes a schedule and the row of every sender, several times. It returns the median time
 * in microseconds, or a negative number if memory runs out. */
static double compute(const struct explain_redist *x, enum td_schedule_kind kind,
                      struct td_schedule *s)
{
    static uint32_t row[1 << 16];
    double took[TIMES] = {0};
    int times = (uint64_t)x->real.p * x->real.q > 1 << 14 ? 1 : TIMES;
    for (int i = 0; i < times; i++) {
        double begin = tool_seconds();
        if (i > 0)
            td_schedule_free(s, x->arena);
        if (!td_schedule_build(s, x->arena, kind, &x->real))
            return -1;
        bool rows = s->kind == TD_SCHEDULE_CIRCULANT && s->steps <= sizeof row / sizeof row[0];
        for (uint32_t p = 0; rows && p < s->p; p++)
            td_circulant_sends(&s->circulant, p, row);
        took[i] = (tool_seconds() - begin) * 1e6;
    }
    qsort(took, (size_t)times, sizeof took[0], compare);
    return took[times / 2];
}

bool explain_meets(const struct explain_redist *x, uint32_t p, uint32_t step, uint32_t *q)
{
    return td_schedule_send(&x->schedule, p, step, q) && td_schedule_volume(&x->real, p, *q) > 0;
}

struct explain_step_size explain_step_size(const struct explain_redist *x, uint32_t step)
{
    struct explain_step_size size = {.least = UINT64_MAX};
    for (uint32_t p = 0, q; p < x->real.p; p++) {
        if (!explain_meets(x, p, step, &q))
            continue;
        uint64_t blocks = td_schedule_volume(&x->blocks, p, q);
        uint64_t elements = x->sized ? elements_of(x, p, q) : 0;
        size.messages++;
        size.least = blocks < size.least ? blocks : size.least;
        size.most = blocks > size.most ? blocks : size.most;
        size.elements += elements;
        size.elements_most = elements > size.elements_most ? elements : size.elements_most;
    }
    size.least = size.messages ? size.least : 0;
    return size;
}

/* on_links chooses the schedule's variant on the machine, as the daemons do. It returns false
 * if memory runs out. */
static bool on_links(struct explain_redist *x, struct td_schedule_load *load)
{
    uint32_t *node[2] = {0};
    bool good = true;
    for (unsigned side = 0; side < 2; side++) {
        uint32_t owners = x->layout[side].owners;
        node[side] = td_arena_alloc(x->arena, owners * sizeof *node[side]);
        for (uint32_t o = 0; node[side] && o < owners; o++)
            node[side][o] = x->layout[side].rank[o] / (uint32_t)x->per_node;
        good = good && node[side];
    }
    struct td_schedule_places places = {&x->topology, node[0], node[1]};
    good = good && td_schedule_settle(&x->schedule, &places, x->arena) &&
           td_schedule_load(&x->schedule, &x->blocks, &places, x->arena, load);
    td_arena_free(x->arena, node[0]);
    td_arena_free(x->arena, node[1]);
    return good;
}

/* ---- for machines ---- */

static json_t *message_json(const struct explain_redist *x, uint32_t p, uint32_t q)
{
    json_t *o = json_pack("{s:i s:i s:I}", "src", (int)x->layout[0].rank[p], "dst",
                          (int)x->layout[1].rank[q], "blocks",
                          (json_int_t)td_schedule_volume(&x->blocks, p, q));
    if (x->sized) {
        uint64_t elements = elements_of(x, p, q);
        json_object_set_new(o, "elements", json_integer((json_int_t)elements));
        json_object_set_new(o, "bytes", json_integer((json_int_t)(elements * x->element_bytes)));
    }
    return o;
}

static void print_json(const struct explain_redist *x, const struct td_schedule_load *load)
{
    json_t *steps = json_array();
    struct td_schedule_cost cost;
    for (uint32_t step = 0; step < x->schedule.steps; step++) {
        json_t *messages = json_array();
        for (uint32_t p = 0, q; p < x->real.p; p++)
            if (explain_meets(x, p, step, &q))
                json_array_append_new(messages, message_json(x, p, q));
        json_array_append_new(steps, messages);
    }
    td_schedule_cost(&x->schedule, &x->blocks, &cost);
    json_t *all = json_pack(
        "{s:i s:s s:s s:s s:s s:i s:i s:I s:I s:f s:o}", "version", 1, "from", x->text[0], "to",
        x->text[1], "schedule", td_schedule_name(x->schedule.kind), "blocks_are",
        x->in_blocks ? "blocks of a superblock" : "elements", "steps_count", (int)x->schedule.steps,
        "bound_steps", (int)x->bound.steps, "volume", (json_int_t)cost.volume, "bound_volume",
        (json_int_t)x->bound.volume, "schedule_us", x->schedule_us, "steps", steps);
    if (x->shape_text)
        json_object_set_new(all, "links",
                            json_pack("{s:s s:f s:f}", "shape", x->shape_text, "steps",
                                      (double)load->steps2 / 2, "together",
                                      (double)load->together2 / 2));
    json_dumpf(all, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    putchar('\n');
    json_decref(all);
}

/* ---- for people ---- */

static const char *times_text(char *text, size_t size, double us)
{
    if (us < 1000)
        snprintf(text, size, "%.3g us", us);
    else
        snprintf(text, size, "%.3g ms", us / 1000);
    return text;
}

/* print_kinds prints one line per schedule: its steps and the sum of its longest messages, and
 * their ratios to the bounds. */
static void print_kinds(const struct explain_redist *x)
{
    char time[40];
    printf("\n  %-12s %6s %8s %10s %8s   %s\n", "schedule", "steps", "of bound",
           x->in_blocks ? "blocks" : "elements", "of bound", "computed in");
    for (enum td_schedule_kind k = TD_SCHEDULE_CIRCULANT; k < TD_SCHEDULES; k++) {
        struct td_schedule s = {0};
        struct td_schedule_cost cost;
        bool shown = k == x->schedule.kind;
        if (!shown && (uint64_t)x->real.p * x->real.q > COMPARED_MAX)
            continue;
        double us = compute(x, k, &s);
        if (us >= 0 && s.kind == k) {
            td_schedule_cost(&s, &x->blocks, &cost);
            printf("%c %-12s %6u %8.2f %10llu %8.2f   %s\n", shown ? '*' : ' ', td_schedule_name(k),
                   s.steps, (double)s.steps / x->bound.steps, (unsigned long long)cost.volume,
                   (double)cost.volume / (double)x->bound.volume,
                   times_text(time, sizeof time, us));
        }
        td_schedule_free(&s, x->arena);
    }
    printf("  %-12s %6u %8s %10llu\n", "bound", x->bound.steps, "",
           (unsigned long long)x->bound.volume);
}

static void print_step(const struct explain_redist *x, uint32_t step, uint32_t columns)
{
    char bytes[40], blocks[48];
    struct explain_step_size size = explain_step_size(x, step);
    if (size.least == size.most)
        snprintf(blocks, sizeof blocks, "%llu", (unsigned long long)size.most);
    else
        snprintf(blocks, sizeof blocks, "%llu-%llu", (unsigned long long)size.least,
                 (unsigned long long)size.most);
    printf("%6u %10s", step + 1, blocks);
    if (x->sized)
        printf(" %10s",
               td_quantity_print(size.elements_most * x->element_bytes, bytes, sizeof bytes));
    fputs("   ", stdout);
    for (uint32_t p = 0, q; p < columns; p++) {
        if (explain_meets(x, p, step, &q))
            printf("%5u", x->layout[1].rank[q]);
        else
            printf("%5s", ".");
    }
    puts(columns < x->real.p ? " ..." : "");
}

static void print_steps(const struct explain_redist *x)
{
    uint32_t columns = x->all || x->real.p <= COLUMNS ? x->real.p : COLUMNS;
    uint32_t lines = x->all || x->schedule.steps <= LINES ? x->schedule.steps : LINES;
    printf("\n%6s %10s%s   %s\n", "", x->in_blocks ? "blocks" : "elements",
           x->sized ? "      bytes" : "", " destination rank of each sender:");
    printf("%6s %10s%s   ", "step", "  largest", x->sized ? "    at most" : "");
    for (uint32_t p = 0; p < columns; p++)
        printf("%5u", x->layout[0].rank[p]);
    puts(columns < x->real.p ? " ..." : "");
    for (uint32_t step = 0; step < lines; step++)
        print_step(x, step, columns);
    if (lines < x->schedule.steps || columns < x->real.p)
        printf("  of %u steps and %u senders; --all shows them\n", x->schedule.steps, x->real.p);
}

static void print_head(const struct explain_redist *x, const struct td_schedule_load *load)
{
    char sum[40], time[40];
    uint64_t messages = 0, stay = 0, elements = 0;
    printf("%s -> %s\n", x->text[0], x->text[1]);
    printf("  owners      %u before, %u after\n", x->real.p, x->real.q);
    for (uint32_t step = 0; step < x->schedule.steps; step++) {
        struct explain_step_size size = explain_step_size(x, step);
        messages += size.messages;
        elements += size.elements;
        for (uint32_t p = 0, q; p < x->real.p; p++)
            stay += explain_meets(x, p, step, &q) && x->layout[0].rank[p] == x->layout[1].rank[q];
    }
    if (x->distributed) {
        fputs("  superblock  ", stdout);
        for (uint32_t d = 0; d < x->real.dimensions; d++)
            printf("%s%llu", d ? " x " : "",
                   (unsigned long long)superblock(&x->layout[0].axis[d], &x->layout[1].axis[d]));
        puts(" elements");
    }
    if (x->sized)
        printf("  array       %llu elements, %s\n", (unsigned long long)elements,
               td_quantity_print(elements * x->element_bytes, sum, sizeof sum));
    printf("  messages    %llu in %u steps", (unsigned long long)messages, x->schedule.steps);
    printf(stay ? ", %llu of them from a rank to itself\n" : "\n", (unsigned long long)stay);
    printf("  schedule    %s, computed in %s\n", td_schedule_name(x->schedule.kind),
           times_text(time, sizeof time, x->schedule_us));
    if (x->shape_text)
        printf("  links       %g %s on the busiest link, summed over the steps; %g if all steps "
               "run together\n",
               (double)load->steps2 / 2, x->in_blocks ? "blocks" : "elements",
               (double)load->together2 / 2);
    if (x->wanted == TD_SCHEDULE_CIRCULANT && x->schedule.kind != x->wanted)
        puts("              (circulant does not apply: block sizes are no multiples, or a layout "
             "has offsets or boxes)");
}

/* ---- the command ---- */

static const char *take(struct explain_redist *x, const char *name, const char *value)
{
    if (strcmp(name, "--from") == 0)
        x->text[0] = value;
    else if (strcmp(name, "--to") == 0)
        x->text[1] = value;
    else if (strcmp(name, "--elements") == 0)
        x->elements_text = value;
    else if (strcmp(name, "--plot") == 0)
        x->plot = value;
    else if (strcmp(name, "--shape") == 0)
        x->shape_text = value;
    else if (strcmp(name, "--ranks-per-node") == 0)
        return explain_size(value, 1, TD_NODE_RANKS_MAX, &x->per_node)
                   ? NULL
                   : "--ranks-per-node must be 1 to 1024";
    else if (strcmp(name, "--element") == 0)
        return explain_size(value, 1, 1 << 20, &x->element_bytes)
                   ? NULL
                   : "--element must be the size of an element in bytes, such as 8 for a double";
    else if (strcmp(name, "--schedule") == 0)
        return td_schedule_named(value, &x->wanted) ? NULL
                                                    : "--schedule must be auto, circulant, "
                                                      "colouring, classes, matching or caterpillar";
    else
        return tool_no_option(name);
    return NULL;
}

static const char *options(struct explain_redist *x, int argc, char **argv)
{
    const char *wrong = NULL;
    for (int i = 2; i < argc && !wrong; i++) {
        if (strcmp(argv[i], "--json") == 0)
            x->as_json = true;
        else if (strcmp(argv[i], "--all") == 0)
            x->all = true;
        else if (i + 1 == argc)
            wrong = tool_no_option(argv[i]);
        else if (!(wrong = take(x, argv[i], argv[i + 1])))
            i++;
    }
    if (!wrong && (!x->text[0] || !x->text[1]))
        wrong = "missing --from or --to, such as --from 'cyclic(2)@0-2' --to 'cyclic(4)@0-5'";
    x->sized = x->elements_text != NULL;
    return wrong;
}

int explain_redist(int argc, char **argv)
{
    static struct explain_redist x;
    x = (struct explain_redist){.element_bytes = 8, .per_node = 1};
    struct td_schedule_load load = {0};
    const char *wrong = options(&x, argc, argv);
    bool good = true;
    x.arena = wrong ? NULL : td_arena_create((size_t)256 << 20);
    if (!wrong && x.arena && !(wrong = read_layouts(&x)))
        wrong = read_shape(&x);
    if (wrong) {
        td_arena_destroy(x.arena);
        return tool_usage(NULL, wrong);
    }
    if (x.arena)
        pose(&x);
    x.schedule_us = x.arena ? compute(&x, x.wanted, &x.schedule) : -1;
    if (x.schedule_us < 0 || (x.shape_text && !on_links(&x, &load))) {
        fprintf(stderr, "torus-plan: %s\n", td_limit_no_memory("this schedule"));
        good = false;
    } else if (x.as_json) {
        print_json(&x, &load);
    } else {
        print_head(&x, &load);
        print_kinds(&x);
        print_steps(&x);
    }
    good = good && (!x.plot || explain_plot(x.plot, explain_redist_plot, &x));
    td_arena_destroy(x.arena);
    return good ? EXIT_WELL : EXIT_FAILED;
}
