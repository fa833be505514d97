/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl trace: what happened in a job, from the flight recorders of all nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect.h"
#include "inspect.h"
#include "libtorus/deadline.h"
#include "facts.h"
#include "rounds.h"
#include "rows.h"
#include "system/written.h"
#include "torusctl/torusctl.h"
#include "trace_lost.h"
#include "trace_text.h"
#include "trace_timeline.h"
#include "wanted.h"

enum { LINES = 24 };

/* struct wish: what is to be written, and where. */
struct wish {
    struct ins_wanted wanted;
    struct ins_selection selection;
    const char *file;
    bool as_json;
    size_t lines; /* that are shown */
    char job[TD_NAME_MAX];
    json_t *nodes; /* of its ranks; empty: not known */
    json_t *lost;  /* nodes without all of its events (trace_lost.h) */
};

/* ---- the job ---- */

static json_t *record_json(const struct td_status_row *row)
{
    const struct td_row_record *r = &row->u.record;
    if (row->kind != TD_ROW_RECORD || r->unformed) /* without ranks nothing happened */
        return NULL;
    return ins_row_record(row);
}

/* find_job finds the wanted job that formed last. It returns an exit code. */
static int find_job(struct ins_machine *m, struct wish *w)
{
    char owner[40];
    json_t *rows = ins_machine_rows(m, TD_STATUS_WAITS, record_json), *row = NULL, *best = NULL;
    size_t i = 0;
    if (!rows) {
        fprintf(stderr, "torusctl trace: %s\n", tool_error(m->c));
        return EXIT_FAILED;
    }
    json_array_foreach(rows, i, row)
    {
        bool wanted = ins_is_wanted(&w->wanted, ins_string(row, "job"), ins_number(row, "uid"));
        if (wanted && (!best || ins_number(row, "formed_ns") < ins_number(best, "formed_ns")))
            best = row;
    }
    if (best) {
        w->selection.world = (uint64_t)ins_number(best, "instance");
        w->selection.size = (uint32_t)ins_number(best, "size");
        snprintf(w->job, sizeof w->job, "%s", ins_string(best, "job"));
        w->selection.formed_at = tl_now_ns() - ins_number(best, "formed_ns");
        w->nodes = json_incref(json_object_get(best, "nodes"));
        w->selection.job = w->job;
    } else if (w->wanted.job) {
        fprintf(stderr,
                "torusctl trace: no node has a record of a job %s of %s; one whose ranks have not "
                "all joined has none yet: torusctl why %s\n",
                w->wanted.job, ins_wanted_owner(&w->wanted, owner, sizeof owner), w->wanted.job);
    } else {
        fprintf(stderr, "torusctl trace: no node has a record of a job of %s\n",
                ins_wanted_owner(&w->wanted, owner, sizeof owner));
    }
    json_decref(rows);
    return best ? EXIT_WELL : EXIT_FAILED;
}

/* ---- metadata ---- */

static json_t *clocks_json(const struct ins_rings *r)
{
    json_t *list = json_array();
    for (uint32_t n = 0; n < r->nodes; n++)
        if (r->clock[n].known)
            json_array_append_new(list,
                                  json_pack("{s:i s:I s:I s:I s:I}", "node", (int)n, "offset_ns",
                                            (json_int_t)r->clock[n].offset_ns, "uncertainty_ns",
                                            (json_int_t)r->clock[n].uncertainty_ns,
                                            "events_recorded", (json_int_t)r->clock[n].recorded,
                                            "events_size", (json_int_t)r->clock[n].size));
    return list;
}

/* begin_of returns the begin of the axis, in ns since 1970. zero: the same, CLOCK_MONOTONIC. */
static int64_t begin_of(int64_t zero)
{
    return ins_unix_ns() - (tl_now_ns() - zero);
}

/* describe returns what the file says of itself. */
static json_t *describe(const struct ins_machine *m, const struct wish *w,
                        const struct ins_rings *r, int64_t begin)
{
    char clock[40] = "";
    struct tm tm;
    time_t seconds = (time_t)(begin / 1000000000);
    if (gmtime_r(&seconds, &tm))
        strftime(clock, sizeof clock, "%FT%TZ", &tm);
    return json_pack("{s:s s:i s:o s:i s:s s:I s:o s:O s:O s:O}", "generator", "torusctl trace",
                     "version", 1, "job", ins_text(w->job), "node", (int)torus_node(m->c),
                     "time_zero", clock, "time_zero_unix_ns", (json_int_t)begin, "clocks",
                     clocks_json(r), "silent", m->silent, "absent", m->absent, "events_lost",
                     w->lost);
}

/* print_clocks says how exact the axis is: in general, and each node of a small machine. */
static void print_clocks(const struct ins_rings *r, uint32_t here)
{
    enum { FEW = 16 };
    int64_t worst = 0;
    uint32_t known = 0;
    for (uint32_t n = 0; n < r->nodes; n++) {
        const struct ins_clock_of *c = &r->clock[n];
        known += c->known;
        if (c->known && c->uncertainty_ns > worst)
            worst = c->uncertainty_ns;
        if (!c->known || n == here || r->nodes > FEW)
            continue;
        fprintf(stderr, "clock of node %u: %+.3f ms to that of this host, +-%.3f ms\n", n,
                1e-6 * (double)c->offset_ns, 1e-6 * (double)c->uncertainty_ns);
    }
    fprintf(stderr, "times of %u node%s are on one axis, within +-%.3f ms\n", known,
            known == 1 ? "" : "s", 1e-6 * (double)worst);
}

/* ---- the command ---- */

/* write_file writes the timeline. It returns an exit code. */
static int write_file(const struct wish *w, const json_t *all)
{
    bool to_stdout = strcmp(w->file, "-") == 0;
    FILE *out = to_stdout ? stdout : fopen(w->file, "we");
    if (out && json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0)
        fputc('\n', out);
    bool good = to_stdout || td_written_close(out, "torusctl trace", w->file);
    return good ? EXIT_WELL : EXIT_FAILED;
}

/* print_silent names the nodes whose events are missing. */
static void print_silent(const struct ins_machine *m)
{
    for (size_t i = 0; i < json_array_size(m->silent); i++) {
        const json_t *s = json_array_get(m->silent, i);
        char age[32];
        ins_duration(age, sizeof age, ins_number(s, "silent_ns"));
        fprintf(stderr, "! node %lld did not answer, its events are missing%s%s: %s\n",
                (long long)ins_number(s, "node"), ins_number(s, "silent_ns") ? "; last heard " : "",
                ins_number(s, "silent_ns") ? strcat(age, " ago") : "", ins_string(s, "error"));
    }
}

/* is_kept returns false if the user asks for an operation of which no node has an event, and then
 * says which operations the nodes have. */
static bool is_kept(const struct ins_machine *m, const struct wish *w, const struct ins_rings *r)
{
    uint64_t least = UINT64_MAX, most = 0;
    if (!w->selection.one)
        return true;
    for (size_t i = 0; i < r->count; i++) {
        const struct td_trace_event *e = &r->event[i].e;
        if (!e->world) /* of a link */
            continue;
        if (e->sequence == w->selection.number)
            return true;
        least = e->sequence < least ? e->sequence : least;
        most = e->sequence > most ? e->sequence : most;
    }
    fprintf(stderr, "torusctl trace: no node has an event of operation %llu of job %s",
            (unsigned long long)w->selection.number, w->job);
    if (least <= most)
        fprintf(stderr, ": the flight recorders have operations %llu to %llu",
                (unsigned long long)least, (unsigned long long)most);
    fputc('\n', stderr);
    print_silent(m);
    ins_trace_lost_print(w->lost, w->selection.peers);
    fputs("  the recorders keep the latest events: trace an operation sooner after it, or raise "
          "[trace] events (torusd.conf); calls in the segment of a node are not recorded\n",
          stderr);
    return false;
}

/* show prints the latest calls, as JSON or as text. */
static void show(struct ins_machine *m, const struct wish *w, const struct ins_rings *r,
                 const json_t *events, const struct ins_axis *axis)
{
    if (!w->as_json) {
        size_t left = ins_trace_text(events, axis);
        fflush(stdout);
        if (left)
            fprintf(stderr, "%zu earlier events are not shown: --lines N, or --lines all\n", left);
        return;
    }
    json_t *all = ins_begin(m, 1);
    json_object_set_new(all, "job", ins_text(w->job));
    json_object_set_new(all, "events", ins_trace_json(events, axis));
    json_object_set_new(all, "clocks", clocks_json(r));
    json_object_set(all, "events_lost", w->lost);
    ins_end(m, all);
}

/* find_lost finds the nodes that have lost events of the job. */
static void find_lost(struct ins_machine *m, struct wish *w, const struct ins_rings *r)
{
    json_t *facts = ins_facts(m, TD_STATUS_HOST);
    int64_t now = tl_now_ns();
    w->lost = ins_trace_lost(
        r, &(struct ins_trace_job){w->nodes, now, now - w->selection.formed_at}, facts);
    json_decref(facts);
}

/* print_rest says how exact the axis is, and what is missing. */
static void print_rest(const struct ins_machine *m, const struct wish *w, const struct ins_rings *r)
{
    print_silent(m);
    print_clocks(r, torus_node(m->c));
    ins_trace_lost_print(w->lost, w->selection.peers);
}

static int make(struct ins_machine *m, struct wish *w, const struct ins_rings *r,
                const json_t *state)
{
    int64_t zero = 0;
    if (!is_kept(m, w, r))
        return EXIT_FAILED;
    w->selection.late = json_object_get(state, "operations");
    w->selection.silent = m->silent;
    w->selection.late_at = tl_now_ns();
    w->selection.is_whole = json_array_size(m->silent) == 0;
    json_t *events = ins_timeline(r, &w->selection, &zero);
    if (!events) {
        fputs("torusctl trace: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    struct ins_axis axis = {
        .now_ns = w->selection.late_at - zero, .begin_ns = begin_of(zero), .lines = w->lines};
    if (!w->file) {
        show(m, w, r, events, &axis);
        json_decref(events);
        if (!w->as_json)
            print_rest(m, w, r);
        return EXIT_WELL;
    }
    size_t count = json_array_size(events);
    json_t *all = json_pack("{s:o s:s s:o}", "traceEvents", events, "displayTimeUnit", "ns",
                            "otherData", describe(m, w, r, axis.begin_ns));
    int code = write_file(w, all);
    json_decref(all);
    if (code == EXIT_WELL) {
        print_rest(m, w, r);
        char clock[40];
        ins_moment(clock, sizeof clock, axis.begin_ns, 6);
        fprintf(stderr,
                "job %s: %zu trace events in %s; its time 0 is %s; open it in Perfetto or "
                "chrome://tracing\n",
                w->job, count, w->file, clock);
    }
    return code;
}

static int trace(torus_context *c, const struct ins_choices *o, struct wish *w)
{
    struct ins_machine m;
    struct ins_rings rings = {.nodes = 0};
    ins_machine_begin(&m, c, o->timeout_s, o->here);
    m.compact = o->watch;
    int code = find_job(&m, w);
    if (code == EXIT_WELL && !ins_rings_read(&m, w->selection.world, &rings)) {
        fprintf(stderr, "torusctl trace: %s\n", tool_error(c));
        code = EXIT_FAILED;
    }
    if (code == EXIT_WELL) {
        json_t *state = ins_collect(&m);
        w->selection.peers = json_object_get(state, "peers");
        find_lost(&m, w, &rings);
        code = make(&m, w, &rings, state);
        json_decref(state);
    }
    json_decref(w->nodes);
    json_decref(w->lost);
    w->nodes = w->lost = NULL;
    ins_rings_free(&rings);
    ins_machine_end(&m);
    return code;
}

/* read_lines reads how many lines are shown: a number of at least 1, or all. */
static bool read_lines(const char *text, size_t *lines)
{
    char *end = NULL;
    if (strcmp(text, "all") == 0) {
        *lines = SIZE_MAX;
        return true;
    }
    *lines = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && *lines > 0;
}

static int run(int argc, char **argv)
{
    struct ins_choices o;
    struct wish w = {.lines = LINES};
    char *end = NULL;
    bool is_user = ins_wanted_take(&w.wanted, &argc, argv);
    const char *operation = tool_take_option(&argc, argv, "--operation");
    const char *lines = tool_take_option(&argc, argv, "--lines");
    w.file = tool_take_option(&argc, argv, "-o");
    const char *wrong = ins_read_choices(argc, argv, &o, &w.wanted.job);
    if (wrong)
        return tool_usage("trace", tool_no_option(wrong));
    if (!is_user)
        return tool_usage("trace", INS_USER_WRONG);
    if (w.file && (o.watch || o.as_json || lines))
        return tool_usage("trace", "-o writes the timeline, as JSON, once: give it without --json, "
                                   "--watch and --lines, which show the latest calls");
    if (lines && !read_lines(lines, &w.lines))
        return tool_usage("trace", "--lines takes a number of lines, or all");
    w.as_json = o.as_json;
    w.selection.one = operation != NULL;
    w.selection.number = operation ? strtoull(operation, &end, 10) : 0;
    if (operation && (operation[0] < '0' || operation[0] > '9' || *end))
        return tool_usage("trace", "--operation takes a number (torusctl ops)");
    int code = EXIT_WELL;
    torus_context *c = tool_open(o.socket, o.patience_s, &code);
    for (bool first = true; c && code == EXIT_WELL && (first || o.watch); first = false) {
        if (!first)
            ins_pause();
        code = trace(c, &o, &w);
        fflush(stdout);
    }
    torus_close(c);
    return code;
}

const struct tool_command ctl_command_trace = {
    .name = "trace",
    .arguments = "[JOB] [--user UID] [--operation N] [--lines N|all] [-o FILE.json] " INS_ARGUMENTS,
    .what = "show the latest calls of a job, also one that is over, or write a timeline of all",
    .options =
        "  JOB                  the job, also one that is over (default: the "
        "latest)\n" INS_USER_OPTION
        "  --operation N        only the operations of this number (torusctl ops)\n"
        "  --lines N            show the latest N calls and events (default: 24), or all\n"
        "  -o FILE.json         write all as a timeline, in Chrome's trace format, for Perfetto;\n"
        "                       -: the standard output; without it, print the latest "
        "calls\n" INS_OPTIONS,
    .run = run,
};
