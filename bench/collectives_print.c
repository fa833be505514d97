/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives_driver.h"
#include "base/quantity.h"

static const char *const names[OPERATIONS] = {"barrier", "broadcast", "allreduce", "scan",
                                              "alltoall"};

const char *operation_name(enum operation operation)
{
    return names[operation];
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

struct spread spread_of(double *seconds, uint32_t samples)
{
    qsort(seconds, samples, sizeof *seconds, ascending);
    return (struct spread){
        samples,    seconds[samples / 2], seconds[samples / 4], seconds[samples - 1 - samples / 4],
        seconds[0], seconds[samples - 1]};
}

double ratio_of(const struct result *r)
{
    return r->spread[TORUSD].median_s / r->spread[OPENMPI].median_s;
}

static const char *size_of(const struct result *r, char *text, size_t size)
{
    char quantity[32];
    if (r->operation == BARRIER)
        return "";
    td_quantity_print(r->bytes, quantity, sizeof quantity);
    snprintf(text, size, "%s%s", quantity,
             r->operation != ALLTOALL ? ""
             : r->bytes_of_rank       ? " per rank"
                                      : " per pair");
    return text;
}

static const char *verdict(const struct result *r)
{
    return r->aim == 0 ? "" : ratio_of(r) <= r->aim ? "met" : "missed";
}

void print_table(const struct result *results, size_t count)
{
    static const struct {
        const char *name;
        int flags;
    } columns[] = {{"OPERATION", 0},
                   {"SIZE", SCOLS_FL_RIGHT},
                   {"TORUSD us", SCOLS_FL_RIGHT},
                   {"QUARTILES", SCOLS_FL_RIGHT},
                   {"OPEN MPI us", SCOLS_FL_RIGHT},
                   {"QUARTILES", SCOLS_FL_RIGHT},
                   {"RATIO", SCOLS_FL_RIGHT},
                   {"AIM", SCOLS_FL_RIGHT},
                   {"", 0},
                   {"LIMIT us", SCOLS_FL_RIGHT},
                   {"TIMES IT", SCOLS_FL_RIGHT}};
    struct libscols_table *t = scols_new_table();
    char text[64];
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
        scols_table_new_column(t, columns[c].name, 0, columns[c].flags);
    for (const struct result *r = results; r < results + count; r++) {
        struct libscols_line *line = scols_table_new_line(t, NULL);
        scols_line_set_data(line, 0, names[r->operation]);
        scols_line_set_data(line, 1, size_of(r, text, sizeof text));
        for (size_t s = 0; s < SIDES; s++) {
            const struct spread *x = &r->spread[s];
            snprintf(text, sizeof text, "%.1f", 1e6 * x->median_s);
            scols_line_set_data(line, 2 + 2 * s, text);
            snprintf(text, sizeof text, "%.1f - %.1f", 1e6 * x->lower_s, 1e6 * x->upper_s);
            scols_line_set_data(line, 3 + 2 * s, text);
        }
        snprintf(text, sizeof text, "%.2f", ratio_of(r));
        scols_line_set_data(line, 6, text);
        snprintf(text, sizeof text, "%.1f", r->aim);
        scols_line_set_data(line, 7, r->aim > 0 ? text : "");
        scols_line_set_data(line, 8, verdict(r));
        if (r->limit_s == 0)
            continue;
        snprintf(text, sizeof text, "%.0f", 1e6 * r->limit_s);
        scols_line_set_data(line, 9, text);
        snprintf(text, sizeof text, "%.2f", r->spread[TORUSD].median_s / r->limit_s);
        scols_line_set_data(line, 10, text);
    }
    printf("\n== %u %s%s x %u rank%s, %s (other programs used %.1f processors)\n",
           results->setting->nodes, results->setting->hosts ? "host" : "node",
           results->setting->nodes == 1 ? "" : "s", results->setting->ranks_per_node,
           results->setting->ranks_per_node == 1 ? "" : "s",
           results->busy ? "two busy processes beside" : "idle", results->others);
    scols_print_table(t);
    scols_unref_table(t);
    fflush(stdout);
}

void print_aims(const struct result *results, size_t count)
{
    uint32_t met = 0, all = 0;
    char text[64];
    for (const struct result *r = results; r < results + count; r++) {
        all += r->aim > 0;
        met += r->aim > 0 && ratio_of(r) <= r->aim;
    }
    printf("\n%u of %u targets met%s\n", met, all, met < all ? "; missed:" : "");
    for (const struct result *r = results; r < results + count; r++)
        if (r->aim > 0 && ratio_of(r) > r->aim)
            printf("  %s, %s: %s %s: %.2f of Open MPI's time, target %.1f\n", r->setting->name,
                   r->busy ? "busy" : "idle", names[r->operation], size_of(r, text, sizeof text),
                   ratio_of(r), r->aim);
}

static json_t *json_of_spread(const struct spread *x)
{
    return json_pack("{s:i s:f s:f s:f s:f s:f}", "samples", (int)x->samples, "median_s",
                     x->median_s, "lower_quartile_s", x->lower_s, "upper_quartile_s", x->upper_s,
                     "least_s", x->least_s, "most_s", x->most_s);
}

bool print_json(const char *path, const struct result *results, size_t count, bool quick)
{
    json_t *rows = json_array();
    for (const struct result *r = results; r < results + count; r++) {
        json_t *row = json_pack(
            "{s:s s:i s:i s:b s:f s:s s:I s:b s:i s:o s:o s:f}", "setting", r->setting->name,
            "nodes", (int)r->setting->nodes, "ranks_per_node", (int)r->setting->ranks_per_node,
            "busy", r->busy, "others_cpus", r->others, "operation", names[r->operation], "bytes",
            (json_int_t)r->bytes, "bytes_of_rank", r->bytes_of_rank, "calls_a_sample",
            (int)r->calls, "torusd", json_of_spread(&r->spread[TORUSD]), "openmpi",
            json_of_spread(&r->spread[OPENMPI]), "ratio", ratio_of(r));
        if (r->limit_s > 0)
            json_object_set_new(row, "limit_s", json_real(r->limit_s));
        if (r->aim > 0) {
            json_object_set_new(row, "aim", json_real(r->aim));
            json_object_set_new(row, "met", json_boolean(ratio_of(r) <= r->aim));
        }
        json_array_append_new(rows, row);
    }
    json_t *all = json_pack("{s:i s:b s:I s:o}", "version", 1, "quick", quick, "cpus",
                            (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "results", rows);
    bool well = all && json_dump_file(all, path, JSON_INDENT(2)) == 0;
    json_decref(all);
    return well;
}
