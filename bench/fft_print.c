/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <libsmartcols.h>
#include <math.h>
#include <string.h>

#include "base/quantity.h"
#include "fft_driver.h"

double gflops_of(const struct problem *problem, double seconds)
{
    double points = (double)points_of(problem);
    return 5 * points * log2(points) / seconds / 1e9;
}

void problem_text(const struct problem *p, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t d = 0; d < p->dimensions && length < size; d++)
        length += (size_t)snprintf(text + length, size - length, "%s%llu", d ? "x" : "",
                                   (unsigned long long)p->size[d]);
}

static void time_text(double seconds, char *text, size_t size)
{
    if (seconds < 0)
        snprintf(text, size, "-");
    else if (seconds < 1)
        snprintf(text, size, "%.3g ms", seconds * 1e3);
    else
        snprintf(text, size, "%.3g s", seconds);
}

enum {
    SETTING,
    ARRAY,
    WHO,
    PLAN,
    FIRST,
    STEADY,
    GFLOPS,
    RATIO,
    MEMORY,
    ERROR,
    OTHERS,
    LIMIT,
    COLUMNS
};

static void add_line(struct libscols_table *t, const struct result *r, enum side side)
{
    char text[COLUMNS][64] = {""};
    const size_t size = sizeof text[0];
    const struct figures *f = &r->side[side];
    if (side == TORUSD) {
        snprintf(text[SETTING], size, "%s", r->setting->name);
        problem_text(&r->problem, text[ARRAY], size);
        snprintf(text[OTHERS], size, "%.1f", r->others);
        time_text(r->limit_s > 0 ? r->limit_s : -1, text[LIMIT], size);
        if (f->steady_s > 0 && r->side[FFTW_MPI].steady_s > 0)
            snprintf(text[RATIO], size, "%.2f", f->steady_s / r->side[FFTW_MPI].steady_s);
    }
    snprintf(text[WHO], size, "%s", side_name(side));
    time_text(f->plan_s, text[PLAN], size);
    time_text(f->first_s, text[FIRST], size);
    time_text(f->steady_s, text[STEADY], size);
    if (f->steady_s > 0)
        snprintf(text[GFLOPS], size, "%.2f", gflops_of(&r->problem, f->steady_s));
    td_quantity_print(f->memory_bytes, text[MEMORY], size);
    snprintf(text[ERROR], size, "%.1e", f->errors.most);
    struct libscols_line *line = scols_table_new_line(t, NULL);
    for (size_t i = 0; i < COLUMNS; i++)
        scols_line_set_data(line, i, text[i]);
}

void print_table(const struct result *results, size_t count)
{
    static const char *const name[COLUMNS] = {"SETTING", "ARRAY",  "SIDE",   "PLAN",
                                              "FIRST",   "STEADY", "GFLOPS", "RATIO",
                                              "MEMORY",  "ERROR",  "OTHERS", "LIMIT"};
    struct libscols_table *t = scols_new_table();
    for (size_t i = 0; i < COLUMNS; i++)
        scols_table_new_column(t, name[i], 0, i <= WHO ? 0 : SCOLS_FL_RIGHT);
    for (size_t i = 0; i < count; i++)
        for (int side = 0; side < SIDES; side++)
            add_line(t, &results[i], (enum side)side);
    scols_print_table(t);
    scols_unref_table(t);
}

static json_t *side_json(const struct result *r, enum side side)
{
    const struct figures *f = &r->side[side];
    return json_pack("{s:f s:f s:f s:f s:f s:f s:f s:I s:f s:f}", "plan_s", f->plan_s, "first_s",
                     f->first_s, "settle_s", f->settle_s, "steady_s", f->steady_s, "steady_lower_s",
                     f->lower_s, "steady_upper_s", f->upper_s, "gflops",
                     f->steady_s > 0 ? gflops_of(&r->problem, f->steady_s) : 0, "memory_bytes",
                     (json_int_t)f->memory_bytes, "max_error", f->errors.most, "l2_error",
                     f->errors.norm);
}

bool print_json(const char *path, const struct result *results, size_t count, bool quick)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct result *r = &results[i];
        json_t *shape = json_array();
        for (uint32_t d = 0; d < r->problem.dimensions; d++)
            json_array_append_new(shape, json_integer((json_int_t)r->problem.size[d]));
        json_array_append_new(
            list, json_pack("{s:s s:i s:i s:o s:i s:f s:f s:o s:o}", "setting", r->setting->name,
                            "nodes", (int)r->setting->nodes, "ranks",
                            (int)(r->setting->nodes * r->setting->ranks_per_node), "shape", shape,
                            "samples", (int)r->samples, "others", r->others, "limit_s", r->limit_s,
                            "torusd", side_json(r, TORUSD), "fftw_mpi", side_json(r, FFTW_MPI)));
    }
    json_t *all = json_pack("{s:i s:b s:o}", "version", 1, "quick", quick, "results", list);
    bool well = json_dump_file(all, path, JSON_INDENT(2)) == 0;
    json_decref(all);
    return well;
}
