/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl plans: the plans of 1-D transforms in the daemons. */
#include <jansson.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/fft/fft.h"
#include "rounds.h"
#include "torusctl/torusctl.h"

/* struct number_field: JSON key of a number of a row. */
static const struct number_field {
    const char *name;
    uint32_t which;
} fields[] = {{"length", TD_PLAN_LENGTH},
              {"batch", TD_PLAN_BATCH},
              {"batch2", TD_PLAN_BATCH2},
              {"stride", TD_PLAN_STRIDE},
              {"distance", TD_PLAN_DISTANCE},
              {"distance2", TD_PLAN_DISTANCE2},
              {"to_stride", TD_PLAN_TO_STRIDE},
              {"to_distance", TD_PLAN_TO_DISTANCE},
              {"to_distance2", TD_PLAN_TO_DISTANCE2},
              {"alignment", TD_PLAN_ALIGNMENT},
              {"to_alignment", TD_PLAN_TO_ALIGNMENT},
              {"uses", TD_PLAN_USES},
              {"estimate_ns", TD_PLAN_ESTIMATE_NS},
              {"measured_ns", TD_PLAN_MEASURED_NS},
              {"planning_ns", TD_PLAN_PLANNING_NS}};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static const char *effort_name(const struct td_row_plan *row)
{
    switch (row->number[TD_PLAN_STATE]) {
    case TD_FFT_MEASURED:
        return row->number[TD_PLAN_EFFORT] == TD_FFT_PATIENT ? "patient" : "measure";
    case TD_FFT_ASKED:
        return "measuring";
    case TD_FFT_FAILED:
        return "failed";
    default:
        return "estimate";
    }
}

static json_t *row_json(const struct td_status_row *of)
{
    const struct td_row_plan *row = &of->u.plan;
    if (of->kind != TD_ROW_PLAN)
        return NULL;
    json_t *plan =
        json_pack("{s:s s:s s:i s:b s:s s:I}", "kind", row->kind, "precision", row->precision,
                  "sign", (int)row->sign, "in_place", (int)row->number[TD_PLAN_IN_PLACE], "effort",
                  effort_name(row), "age_s", (json_int_t)(row->age_ns / 1000000000u));
    for (size_t i = 0; i < FIELDS; i++)
        json_object_set_new(plan, fields[i].name,
                            json_integer((json_int_t)row->number[fields[i].which]));
    return plan;
}

/* ---- table ---- */

static json_int_t get(const json_t *plan, const char *name)
{
    return json_integer_value(json_object_get(plan, name));
}

static void time_text(json_int_t ns, char *text, size_t size)
{
    if (ns <= 0)
        snprintf(text, size, "-");
    else if (ns < 1000000)
        snprintf(text, size, "%.1f us", (double)ns / 1e3);
    else if (ns < 1000000000)
        snprintf(text, size, "%.1f ms", (double)ns / 1e6);
    else
        snprintf(text, size, "%.1f s", (double)ns / 1e9);
}

static void age_text(json_int_t s, char *text, size_t size)
{
    static const struct {
        json_int_t seconds;
        char unit;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    size_t i = 0;
    while (i < 3 && s < 2 * units[i].seconds)
        i++;
    snprintf(text, size, "%lld%c", (long long)(s / units[i].seconds), units[i].unit);
}

/* Columns. A two-loop batch is 4 x 16; a stride that differs before and after is 1 > 64. */
enum {
    NODE,
    KIND,
    LENGTH,
    BATCH,
    STRIDE,
    DISTANCE,
    EFFORT,
    USES,
    ESTIMATED,
    MEASURED,
    TOOK,
    AGE,
    COLUMNS
};

static void pair_text(json_int_t from, json_int_t to, const char *between, char *text, size_t size)
{
    if (from == to)
        snprintf(text, size, "%lld", (long long)from);
    else
        snprintf(text, size, "%lld%s%lld", (long long)from, between, (long long)to);
}

static void add_line(struct libscols_table *t, const json_t *plan)
{
    char text[COLUMNS][64];
    const size_t size = sizeof text[0];
    const char *kind = json_string_value(json_object_get(plan, "kind"));
    const char *sign = get(plan, "sign") > 0 ? " inverse" : "";
    snprintf(text[NODE], size, "%lld", (long long)get(plan, "node"));
    snprintf(text[KIND], size, "%s %s%s", kind,
             json_string_value(json_object_get(plan, "precision")), sign);
    snprintf(text[LENGTH], size, "%lld", (long long)get(plan, "length"));
    snprintf(text[BATCH], size, "%lld", (long long)get(plan, "batch"));
    if (get(plan, "batch2") > 1)
        snprintf(text[BATCH], size, "%lld x %lld", (long long)get(plan, "batch2"),
                 (long long)get(plan, "batch"));
    pair_text(get(plan, "stride"), get(plan, "to_stride"), " > ", text[STRIDE], size);
    pair_text(get(plan, "distance"), get(plan, "to_distance"), " > ", text[DISTANCE], size);
    snprintf(text[EFFORT], size, "%s", json_string_value(json_object_get(plan, "effort")));
    snprintf(text[USES], size, "%lld", (long long)get(plan, "uses"));
    time_text(get(plan, "estimate_ns"), text[ESTIMATED], size);
    time_text(get(plan, "measured_ns"), text[MEASURED], size);
    time_text(get(plan, "planning_ns"), text[TOOK], size);
    age_text(get(plan, "age_s"), text[AGE], size);
    struct libscols_line *line = scols_table_new_line(t, NULL);
    for (size_t i = 0; i < COLUMNS; i++)
        scols_line_set_data(line, i, text[i]);
}

static void print_table(const json_t *plans)
{
    static const char *const name[COLUMNS] = {"NODE",      "KIND",     "POINTS", "ROWS",
                                              "STRIDE",    "DISTANCE", "EFFORT", "USES",
                                              "ESTIMATED", "MEASURED", "TOOK",   "AGE"};
    if (json_array_size(plans) == 0) {
        puts("no plans yet");
        return;
    }
    struct libscols_table *t = scols_new_table();
    for (size_t i = 0; i < COLUMNS; i++)
        scols_table_new_column(t, name[i], 0, i == KIND || i == EFFORT ? 0 : SCOLS_FL_RIGHT);
    for (size_t i = 0; i < json_array_size(plans); i++)
        add_line(t, json_array_get(plans, i));
    scols_print_table(t);
    scols_unref_table(t);
}

/* ---- reply of the daemon ---- */

static int by_uses(const void *a, const void *b)
{
    json_int_t left = get(*(json_t *const *)a, "uses"), right = get(*(json_t *const *)b, "uses");
    return (left < right) - (left > right);
}

/* sorted returns a new list of the plans, most used first, and frees this list. */
static json_t *sorted(json_t *plans)
{
    size_t count = json_array_size(plans);
    json_t *list = json_array(), **plan = calloc(count + 1, sizeof(void *));
    for (size_t i = 0; plan && i < count; i++)
        plan[i] = json_array_get(plans, i);
    if (plan)
        qsort(plan, count, sizeof(void *), by_uses);
    for (size_t i = 0; plan && i < count; i++)
        json_array_append(list, plan[i]);
    free(plan);
    json_decref(plans);
    return list;
}

static int show(struct ins_machine *m, const struct ins_choices *o, const char *word)
{
    json_t *plans = ins_machine_rows(m, TD_STATUS_PLANS, row_json), *plan = NULL;
    size_t i = 0;
    (void)word;
    if (!plans)
        return INS_LOST;
    ins_add_silence(m);
    plans = sorted(plans);
    json_array_foreach(plans, i, plan)
    {
        json_object_set(plan, "node", json_object_get(plan, "at"));
        json_object_del(plan, "at");
    }
    if (o->as_json) {
        json_t *all = ins_begin(m, 2);
        json_object_set(all, "plans", plans);
        ins_end(m, all);
    } else {
        ins_machine_print_silent(m);
        print_table(plans);
    }
    json_decref(plans);
    return EXIT_WELL;
}

static int run_plans(int argc, char **argv)
{
    return ins_run(argc, argv, false, show);
}

const struct tool_command ctl_command_plans = {
    .name = "plans",
    .arguments = INS_ARGUMENTS,
    .what = "list the plans of 1-D transforms: effort and execution time",
    .options = ins_options,
    .run = run_plans,
};
