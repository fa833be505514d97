/* SPDX-License-Identifier: Apache-2.0 */
/* torus-array fft: transform of an array in a file by all ranks of a job. Each rank reads and
 * writes its own part. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fft_options.h"
#include "fft_reference.h"
#include "team.h"
#include "torus_array.h"

enum { PHASE_JOIN, PHASE_PLAN, PHASE_READ, PHASE_EXECUTE, PHASE_WRITE, PHASE_CHECK, PHASES };
static const char *const phase_names[PHASES] = {"join",    "plan",  "read",
                                                "execute", "write", "check"};

struct run {
    struct fft_options options;
    struct team team;
    struct npy npy;
    int fd;
    struct fft_job job;
    char layout[2][80]; /* text of a default layout */
    const char *text[2];
    struct shard shard[2];
    torus_plan *plan;
    size_t room;
    void *data, *again; /* the part, transformed in place; the input, read again */
    double begun, seconds[PHASES];
    bool shows; /* show progress: rank 0 on a terminal */
};

/* ---- progress ---- */

/* show replaces the line of progress on a terminal; NULL: it clears the line. */
static void show(const struct run *r, const char *what)
{
    double since = tool_seconds() - r->begun;
    if (!r->shows)
        return;
    fputs("\r\033[K", stderr);
    if (what)
        fprintf(stderr, "%s: %s", r->options.in, what);
    if (what && since >= 1)
        fprintf(stderr, ", %.0f s", since);
}

/* run_plan executes a plan in place and shows the progress every second. */
static bool run_plan(struct run *r, torus_plan *plan, const char *what)
{
    torus_request *request = NULL;
    int error = torus_start(plan, TORUS_IN_PLACE, r->data, &request);
    while (error == TORUS_OK && (error = torus_wait(request, 1000000000)) == TORUS_PENDING) {
        show(r, what);
        error = TORUS_OK;
    }
    if (error != TORUS_OK)
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
    return error == TORUS_OK;
}

/* ---- phases ---- */

static void open_input(struct run *r)
{
    r->fd = npy_open(r->options.in, &r->npy);
    if (r->fd < 0)
        team_complain(&r->team, "%s", r->npy.text);
    else if (!fft_options_describe(&r->options, &r->npy, &r->job))
        team_complain(&r->team, "%.300s: %s", r->options.in, r->job.text);
}

/* choose_layouts sets default layouts: blocks of the axis that is outermost in the file, with the
 * memory order of the file. */
static void choose_layouts(struct run *r)
{
    const char *const names[2] = {"from", "to"};
    for (unsigned side = 0; side < 2; side++) {
        char *text = r->layout[side];
        r->text[side] = r->options.layout[side];
        size_t at = 0, size = sizeof r->layout[side];
        int axes = r->npy.axes, outermost = r->npy.fortran ? axes - 1 : 0;
        for (int d = 0; d < axes; d++)
            at += (size_t)snprintf(text + at, size - at, "%s%s", d ? ", " : "(",
                                   d == outermost ? "block" : "*");
        at += (size_t)snprintf(text + at, size - at, ")%s", r->npy.fortran ? " order " : "");
        for (int d = axes - 1; d >= 0 && r->npy.fortran; d--)
            at += (size_t)snprintf(text + at, size - at, "%d%s", d, d ? "," : "");
        const char *layout = r->text[side] ? r->text[side] : text;
        if (r->npy.fortran)
            r->text[side] = layout;
        if (!team_shard(&r->team, names[side], layout, side ? &r->job.after : &r->npy,
                        npy_form_bytes(r->job.form[side]), &r->shard[side]))
            return;
    }
    r->job.desc.from = r->text[0]; /* NULL: the default of the service */
    r->job.desc.to = r->text[1];
}

static void plan(struct run *r)
{
    if (torus_plan_fft(r->team.world, &r->job.desc, &r->plan) != TORUS_OK)
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
}

static bool read_into(struct run *r, void **data)
{
    *data = torus_alloc(r->team.context, r->room ? r->room : 1);
    if (!*data)
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
    else if (!shard_read(&r->shard[0], r->fd, &r->npy, &r->job.form[0], *data))
        team_complain(&r->team, "%.300s: %.200s", r->options.in, r->npy.text);
    return !r->team.text[0];
}

static void read_part(struct run *r)
{
    for (unsigned side = 0; side < 2; side++) {
        size_t bytes = r->shard[side].elements * npy_form_bytes(r->job.form[side]);
        r->room = bytes > r->room ? bytes : r->room;
    }
    read_into(r, &r->data);
}

static void execute(struct run *r)
{
    run_plan(r, r->plan, "transforming");
}

static bool write_shard(void *me, int fd, struct npy *file)
{
    const struct run *r = me;
    return shard_write(&r->shard[1], fd, file, &r->job.form[1], r->data);
}

static void write_part(struct run *r)
{
    team_write(&r->team, r->options.out, &r->job.after, write_shard, r);
}

/* ---- inverse transform and check ---- */

static double number_at(const struct run *r, const void *data, uint64_t i)
{
    return r->job.form[0].single ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

/* bound returns the largest permitted relative L2 error: `times` that of one transform. */
static double bound_of(const struct run *r, double times)
{
    double points = 1;
    for (uint32_t d = 0; d < r->job.desc.dimensions; d++)
        points *= r->job.desc.transform[d] ? (double)r->job.desc.shape[d] : 1;
    double epsilon = r->job.form[0].single ? (double)FLT_EPSILON : DBL_EPSILON;
    return times * 4 * epsilon * sqrt(log2(points > 2 ? points : 2));
}

/* report_check reports the error between the input and its transform and inverse transform. */
static void report_check(struct run *r)
{
    uint64_t numbers = r->shard[0].elements * (r->job.form[0].real ? 1 : 2);
    double sums[2] = {0, 0}, all[2], bound = bound_of(r, 2);
    for (uint64_t i = 0; i < numbers; i++) {
        double want = number_at(r, r->again, i), off = number_at(r, r->data, i) - want;
        sums[0] += off * off;
        sums[1] += want * want;
    }
    if (torus_allreduce(r->team.world, sums, all, 2, TORUS_DOUBLE, TORUS_SUM) != TORUS_OK) {
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
        return;
    }
    double error = sqrt(all[1] > 0 ? all[0] / all[1] : all[0]);
    show(r, NULL);
    if (torus_rank(r->team.world) == 0)
        printf("transform and inverse: relative L2 error %.3g (bound %.3g)\n", error, bound);
    if (!(error <= bound) && torus_rank(r->team.world) == 0)
        team_complain(&r->team, "the inverse transform differs from the input%s",
                      r->options.real && r->options.inverse
                          ? ": the input may not be the spectrum of a real array"
                          : "");
}

/* compare_whole reports the error against FFTW, if one process can transform the whole array. */
static void compare_whole(struct run *r)
{
    char text[600];
    double error = 0, bound = bound_of(r, 1);
    if (torus_rank(r->team.world) != 0)
        return;
    show(r, NULL);
    if (r->npy.count > FFT_REFERENCE_MAX || r->job.after.count > FFT_REFERENCE_MAX) {
        printf("no comparison with FFTW: the array has more than %d elements\n", FFT_REFERENCE_MAX);
        return;
    }
    show(r, "transforming in one process");
    bool read = fft_reference_error(&r->options, &r->job, &error, text, sizeof text);
    show(r, NULL);
    if (!read) {
        team_complain(&r->team, "%s", text);
        return;
    }
    printf("compared with FFTW on the whole array: relative L2 error %.3g (bound %.3g)\n", error,
           bound);
    if (!(error <= bound))
        team_complain(&r->team, "the result differs from FFTW: please report this as a bug");
}

static void check(struct run *r)
{
    torus_plan *back = NULL;
    const struct torus_fft_desc d = fft_options_back(&r->job.desc);
    if (!read_into(r, &r->again))
        return;
    if (torus_plan_fft(r->team.world, &d, &back) != TORUS_OK)
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
    else if (run_plan(r, back, "transforming back"))
        report_check(r);
    if (!r->team.text[0])
        compare_whole(r);
}

/* ---- command ---- */

static void report(const struct run *r)
{
    const struct team_report report = {
        .elements = {r->shard[0].elements, r->shard[1].elements},
        .bytes = {npy_form_bytes(r->job.form[0]), npy_form_bytes(r->job.form[1])},
        .phases = phase_names,
        .seconds = r->seconds,
        .count = r->options.check ? PHASES : PHASE_CHECK,
    };
    if (r->options.as_json)
        team_print_report_json(&r->team, &report);
    if (r->options.timing)
        team_print_report(&r->team, &report);
}

static bool phase(struct run *r, int which, void (*act)(struct run *))
{
    static const char *const doing[PHASES] = {"joining",      "planning", "reading",
                                              "transforming", "writing",  "checking"};
    double at = tool_seconds();
    show(r, doing[which]);
    act(r);
    show(r, NULL);
    r->seconds[which] += tool_seconds() - at;
    return team_agree(&r->team);
}

static void work(struct run *r)
{
    r->begun = tool_seconds();
    if (torus_join(r->team.context, NULL, &r->team.world) != TORUS_OK) {
        team_complain(&r->team, "%s", torus_last_error(r->team.context));
        return;
    }
    r->shows = torus_rank(r->team.world) == 0 && isatty(STDERR_FILENO) == 1;
    r->seconds[PHASE_JOIN] = tool_seconds() - r->begun;
    open_input(r);
    team_check_output(&r->team, r->options.out);
    if (team_agree(&r->team) && phase(r, PHASE_PLAN, choose_layouts) &&
        phase(r, PHASE_PLAN, plan) && phase(r, PHASE_READ, read_part) &&
        phase(r, PHASE_EXECUTE, execute) && phase(r, PHASE_WRITE, write_part) &&
        (!r->options.check || phase(r, PHASE_CHECK, check)))
        report(r);
}

static int run_fft(int argc, char **argv)
{
    static struct run r;
    int code = EXIT_WELL;
    const char *wrong = fft_options_parse(argc, argv, &r.options);
    r.fd = -1;
    if (wrong)
        return tool_usage("fft", wrong);
    if (!team_open(&r.team, "fft", &code))
        return code;
    work(&r);
    if (r.fd >= 0)
        close(r.fd);
    return team_end(&r.team);
}

const struct tool_command array_command_fft = {
    .name = "fft",
    .arguments = "IN.npy OUT.npy [options]",
    .what = "transform an array in a .npy file; run by every rank of a job",
    .options =
        "  --axes 0,2           transform only these axes; -1 is the last\n"
        "  --inverse            compute the inverse transform\n"
        "  --real               real to complex along the last named axis; with --inverse, "
        "complex\n"
        "                       to real\n"
        "  --kinds dct2,dst1    real to real, one kind for all axes or one each: dct1 to dct4 and\n"
        "                       dst1 to dst4, as in FFTW\n"
        "  --last N             with --inverse --real: number of real numbers along that axis\n"
        "  --real-part          write only the real part of the complex result\n"
        "  --norm backward|ortho|forward   normalization, as in NumPy\n"
        "  --precision single|double       default: the precision of the file\n"
        "  --from, --to LAYOUT  layouts before and after, such as '(cyclic, *)'\n"
        "  --grid 4x2           grid of nodes between the stages\n"
        "  --method NAME        method of the transposes: auto, random, phased, pairwise, "
        "two-phase\n"
        "  --check              transform back and compare; up to 4 Mi elements also with FFTW\n"
        "  --timing             print the time of each phase and the part of each rank\n"
        "  --json               print sizes and times as one JSON object per rank\n",
    .run = run_fft,
};
