/* SPDX-License-Identifier: Apache-2.0 */
#include "fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/fft/real_split.h"
#include "collectives/select.h"
#include "base/arena.h"
#include "model/layout_text.h"
#include "base/quantity.h"
#include "tool/fft_names.h"
#include "common/load.h"
#include "fft_moves.h"
#include "fft_plot.h"
#include "fft_print.h"
#include "tool/tool.h"
#include "system/limits.h"

/* ---- options ---- */

static const char *take_axes(struct explain_fft *x, const char *value)
{
    const char *at = value;
    for (x->axes = 0; x->axes < TD_DIMENSIONS_MAX; at++) {
        char *end = NULL;
        long axis = strtol(at, &end, 10);
        if (end == at || axis < -TD_DIMENSIONS_MAX || axis >= TD_DIMENSIONS_MAX)
            break;
        x->axis[x->axes++] = (int)axis;
        at = end;
        if (!*at)
            return NULL;
        if (*at != ',')
            break;
    }
    return "--axes must be a list such as 0,2; -1 is the last axis";
}

static const char *take_grid(struct explain_fft *x, const char *value)
{
    uint64_t size[TD_DIMENSIONS_MAX];
    uint32_t count = explain_sizes(value, size);
    for (uint32_t d = 0; d < count; d++)
        x->asked.fft.grid[d] = size[d] < UINT32_MAX ? (uint32_t)size[d] : UINT32_MAX;
    return count ? NULL : "--grid must be numbers of nodes, such as 8 or 4x2";
}

static const char *take_kinds(struct explain_fft *x, const char *value)
{
    x->kinds = fft_kinds_read(value, x->kind);
    return x->kinds ? NULL
                    : "--kinds must be complex, r2c, c2r, none, dct1 to dct4 or dst1 to dst4: one "
                      "for all axes, or one each, such as complex,complex,r2c";
}

static const char *take_gflops(struct explain_fft *x, const char *value)
{
    char *end = NULL;
    x->gflops = strtod(value, &end);
    return end != value && !*end && x->gflops > 0 && isfinite(x->gflops)
               ? NULL
               : "--gflops must be a number above 0: 1e9 operations per second of a node";
}

static const char *take(void *me, const char *name, const char *value)
{
    struct explain_fft *x = me;
    uint64_t n = 0;
    if (strcmp(name, "--elements") == 0)
        x->elements_text = value;
    else if (strcmp(name, "--from") == 0)
        x->asked.from = value;
    else if (strcmp(name, "--to") == 0)
        x->asked.to = value;
    else if (strcmp(name, "--plot") == 0)
        x->plot = value;
    else if (strcmp(name, "--axes") == 0)
        return take_axes(x, value);
    else if (strcmp(name, "--kinds") == 0)
        return take_kinds(x, value);
    else if (strcmp(name, "--grid") == 0)
        return take_grid(x, value);
    else if (strcmp(name, "--gflops") == 0)
        return take_gflops(x, value);
    else if (strcmp(name, "--method") == 0) {
        int method = 0;
        const char *wrong = fft_method_read(value, &method);
        x->asked.fft.method = (uint8_t)method;
        return wrong;
    } else if (strcmp(name, "--precision") == 0) {
        x->single = strcmp(value, "single") == 0;
        return x->single || strcmp(value, "double") == 0 ? NULL
                                                         : "--precision must be single or double";
    } else if (strcmp(name, "--ranks-per-node") == 0) {
        bool good = explain_size(value, 1, TD_NODE_RANKS_MAX, &n);
        x->ranks_per_node = (uint32_t)n;
        return good ? NULL : "--ranks-per-node must be 1 to 1024";
    } else
        return tool_no_option(name);
    return NULL;
}

/* describe sets the kind of transform of each axis. */
static const char *describe(struct explain_fft *x)
{
    static char wrong[200];
    struct td_fft *f = &x->asked.fft;
    bool real = false;
    f->dimensions = x->elements_text ? explain_sizes(x->elements_text, f->size) : 0;
    if (!f->dimensions)
        return "missing --elements, the size of the array along each axis, such as 128x128x128";
    int axes = x->axes ? x->axes : (int)f->dimensions;
    if (x->kinds > 1 && x->kinds != axes) {
        snprintf(wrong, sizeof wrong,
                 "--kinds names %d kinds for %d axes: give one for all, or "
                 "one each",
                 x->kinds, axes);
        return wrong;
    }
    f->sign = x->inverse ? TD_FFT_BACKWARD : TD_FFT_FORWARD;
    for (int i = 0; i < axes; i++) {
        int axis = x->axes ? x->axis[i] : i;
        int kind = !x->kinds ? TORUS_TRANSFORM_COMPLEX : x->kind[x->kinds == 1 ? 0 : i];
        axis += axis < 0 ? (int)f->dimensions : 0;
        if (axis < 0 || axis >= (int)f->dimensions) {
            snprintf(wrong, sizeof wrong, "--axes: no axis %d in an array of %u axes", x->axis[i],
                     f->dimensions);
            return wrong;
        }
        if (f->transform[axis]) {
            snprintf(wrong, sizeof wrong, "--axes names axis %d twice", axis);
            return wrong;
        }
        f->transform[axis] = (uint8_t)kind;
        real |= fft_kind_is_real(kind);
        if (kind == TORUS_TRANSFORM_C2R)
            f->sign = TD_FFT_BACKWARD;
    }
    f->type = real ? (x->single ? TD_TYPE_FLOAT : TD_TYPE_DOUBLE)
                   : (x->single ? TD_TYPE_COMPLEX_FLOAT : TD_TYPE_COMPLEX_DOUBLE);
    return NULL;
}

static const char *parse(struct explain_fft *x, int argc, char **argv)
{
    int count = 0;
    for (int i = 0; i < argc; i++) /* the only flag of this operation */
        if (strcmp(argv[i], "--inverse") == 0)
            x->inverse = true;
        else
            argv[count++] = argv[i];
    const char *wrong = explain_options(&x->machine, count, argv, take, x);
    if (!wrong && (uint64_t)x->machine.topology.nodes * x->ranks_per_node > TD_JOB_RANKS_MAX)
        wrong = "a job can have at most 16384 ranks";
    return wrong ? wrong : describe(x);
}

/* ---- the plan ---- */

static bool fill_group(struct explain_fft *x)
{
    uint32_t size = x->machine.topology.nodes * x->ranks_per_node;
    uint32_t *rank_node = calloc(size, sizeof *rank_node);
    for (uint32_t r = 0; rank_node && r < size; r++)
        rank_node[r] = r / x->ranks_per_node;
    bool good = rank_node && td_group_build(&x->group, x->arena, rank_node, size) == TD_OK;
    free(rank_node);
    return good;
}

/* REAL_SPLIT_OPERATIONS: per point; two points take 18. */
enum { REAL_SPLIT_OPERATIONS = 9 };

/* measure_pass counts the lines of each owner. It returns false if memory runs out. */
static bool measure_pass(const struct explain_fft *x, const struct td_pass *p,
                         struct explain_pass *out)
{
    const struct td_array *a = p->from;
    bool points = td_real_split_is(p); /* each point counts as a line */
    uint64_t *lines = calloc(x->group.slots, sizeof *lines), all = 0;
    double n = (double)p->length, each = 5 * n * log2(n);
    if (points)
        each = REAL_SPLIT_OPERATIONS;
    else if (p->kind != TD_TRANSFORM_C2C)
        each /= 2;
    *out = (struct explain_pass){.pass = p};
    for (uint32_t o = 0; lines && o < a->layout.owners; o++) {
        uint64_t count[TD_DIMENSIONS_MAX], elements = td_layout_local(&a->layout, o, count);
        uint64_t more = points ? elements : elements ? elements / count[p->axis] : 0;
        all += more;
        lines[a->slot[o]] += more;
        out->bytes += a->slot[o] == a->own ? elements * a->element : 0;
    }
    for (uint32_t slot = 0; lines && slot < x->group.slots; slot++)
        out->lines_most = lines[slot] > out->lines_most ? lines[slot] : out->lines_most;
    out->lines = lines ? lines[a->own] : 0;
    out->operations = each * (double)out->lines;
    out->operations_most = each * (double)out->lines_most;
    out->operations_all = each * (double)all;
    free(lines);
    return lines != NULL;
}

static bool measure(struct explain_fft *x)
{
    const struct td_transform_plan *s = x->plan->transform_plan;
    const struct td_compile_input in = {.call = &(struct td_call){.kind = TD_KIND_FFT},
                                        .plan = x->plan,
                                        .seed = x->machine.seed,
                                        .group = &x->group,
                                        .slot = td_group_slot(&x->group, x->machine.node),
                                        .topology = &x->machine.topology,
                                        .tuning = &x->machine.settings.tuning};
    explain_candidates_of(&in, &x->candidates);
    x->rows = x->plan->method == &td_method_fft_rows;
    td_select_compile(&in, &x->program);
    x->scratch_bytes = x->program.scratch_bytes;
    x->plan->method = &td_method_fft; /* so that its families are those of the moves */
    td_select_compile(&in, &x->program);
    bool good = true;
    for (x->passes = 0; good && x->passes < s->passes; x->passes++)
        good = measure_pass(x, &s->pass[x->passes], &x->pass[x->passes]);
    for (x->moves = 0; good && x->moves < s->moves; x->moves++)
        good = explain_fft_move(x, x->plan, x->moves, true, &x->move[x->moves]) &&
               explain_fft_traffic(x, &x->move[x->moves]);
    bool routed = x->machine.settings.tuning.fabric == TD_FABRIC_ROUTED;
    if (good && routed) {
        double bytes = td_load_bound(s->move, s->moves, &x->machine.topology, &x->group);
        good = bytes >= 0;
        x->together = bytes / x->machine.settings.packet_bytes;
    }
    return good && explain_fft_grids(x);
}

int explain_fft(int argc, char **argv)
{
    static struct explain_fft x;
    char why[400];
    snprintf(why, sizeof why, "%s", td_limit_no_memory("this machine"));
    x = (struct explain_fft){.ranks_per_node = 1};
    explain_machine_default(&x.machine);
    const char *wrong = parse(&x, argc, argv);
    if (wrong)
        return tool_usage(NULL, wrong);
    x.arena = td_arena_create((size_t)512 << 20);
    bool good = x.arena && fill_group(&x);
    td_err error = good ? explain_fft_plan(&x, x.arena, NULL, &x.plan, why, sizeof why) : TD_OK;
    if (error == TD_ERR_INVALID) {
        td_arena_destroy(x.arena);
        return tool_usage(NULL, why);
    }
    good = good && error == TD_OK && measure(&x);
    if (!good)
        fprintf(stderr, "torus-plan: %s\n", why);
    else if (x.machine.as_json)
        explain_fft_json(&x);
    else
        explain_fft_print(&x);
    good = good && (!x.plot || explain_plot(x.plot, explain_fft_plot, &x));
    for (unsigned i = 0; i < x.moves; i++)
        explain_traffic_free(&x.move[i].traffic);
    td_arena_destroy(x.arena);
    return good ? EXIT_WELL : EXIT_FAILED;
}
