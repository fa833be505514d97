/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
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

enum side best_peer(const struct result *r)
{
    enum side best = OPENMPI;
    for (int s = OPENMPI; s < SIDES; s++)
        if (r->spread[s].samples > 0 &&
            (r->spread[best].samples == 0 || r->spread[s].median_s < r->spread[best].median_s))
            best = (enum side)s;
    return best;
}

double ratio_of(const struct result *r)
{
    const struct spread *peer = &r->spread[best_peer(r)];
    return peer->samples > 0 ? r->spread[TORUSD].median_s / peer->median_s : 0;
}

/* is_measured returns true if any of the results has samples of a side. */
static bool is_measured(const struct result *results, size_t count, enum side side)
{
    for (size_t i = 0; i < count; i++)
        if (results[i].spread[side].samples > 0)
            return true;
    return false;
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

/* put writes a number to the next cell of a line; 0: an empty cell. */
static void put(struct libscols_line *line, size_t *column, const char *format, double number)
{
    char text[64];
    snprintf(text, sizeof text, format, number);
    scols_line_set_data(line, (*column)++, number > 0 ? text : "");
}

/* put_sides writes the medians and quartiles of the sides that were measured. */
static void put_sides(struct libscols_line *line, size_t *column, const struct result *r,
                      const bool *measured)
{
    char text[64] = "";
    for (int s = 0; s < SIDES; s++) {
        const struct spread *x = &r->spread[s];
        if (!measured[s])
            continue;
        put(line, column, "%.1f", 1e6 * x->median_s);
        snprintf(text, sizeof text, "%.1f - %.1f", 1e6 * x->lower_s, 1e6 * x->upper_s);
        scols_line_set_data(line, (*column)++, x->samples > 0 ? text : "");
    }
}

/* new_table makes a table with the columns of print_table. */
static struct libscols_table *new_table(const bool *measured)
{
    static const char *const last[] = {"RATIO", "AIM", "", "LIMIT us", "TIMES IT"};
    struct libscols_table *t = scols_new_table();
    char name[32];
    scols_table_new_column(t, "OPERATION", 0, 0);
    scols_table_new_column(t, "SIZE", 0, SCOLS_FL_RIGHT);
    for (int s = 0; s < SIDES; s++) {
        if (!measured[s])
            continue;
        snprintf(name, sizeof name, "%s us", side_name((enum side)s));
        for (char *at = name; at < name + strlen(name) - 2; at++)
            *at = (char)toupper((unsigned char)*at);
        scols_table_new_column(t, name, 0, SCOLS_FL_RIGHT);
        scols_table_new_column(t, "QUARTILES", 0, SCOLS_FL_RIGHT);
    }
    for (size_t c = 0; c < sizeof last / sizeof last[0]; c++)
        scols_table_new_column(t, last[c], 0, last[c][0] ? SCOLS_FL_RIGHT : 0);
    return t;
}

void print_table(const struct result *results, size_t count)
{
    bool measured[SIDES];
    char text[64];
    for (int s = 0; s < SIDES; s++)
        measured[s] = is_measured(results, count, (enum side)s);
    struct libscols_table *t = new_table(measured);
    for (const struct result *r = results; r < results + count; r++) {
        struct libscols_line *line = scols_table_new_line(t, NULL);
        size_t column = 0;
        scols_line_set_data(line, column++, names[r->operation]);
        scols_line_set_data(line, column++, size_of(r, text, sizeof text));
        put_sides(line, &column, r, measured);
        put(line, &column, "%.2f", ratio_of(r));
        put(line, &column, "%.2f", r->aim);
        scols_line_set_data(line, column++, verdict(r));
        put(line, &column, "%.1f", 1e6 * r->limit_s);
        put(line, &column, "%.2f", r->limit_s > 0 ? r->spread[TORUSD].median_s / r->limit_s : 0);
    }
    printf("\n== %u %s%s x %u rank%s, %s%s (other programs used %.1f processors)\n",
           results->setting->nodes, results->setting->hosts ? "host" : "node",
           results->setting->nodes == 1 ? "" : "s", results->setting->ranks_per_node,
           results->setting->ranks_per_node == 1 ? "" : "s",
           results->busy ? "two busy processes beside" : "idle",
           results->plain ? ", plain memory" : "", results->others);
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
            printf("  %s, %s: %s %s: %.2f of the time of %s, target %.2f\n", r->setting->name,
                   r->busy ? "busy" : "idle", names[r->operation], size_of(r, text, sizeof text),
                   ratio_of(r), side_name(best_peer(r)), r->aim);
}

static json_t *json_of_spread(const struct spread *x)
{
    return json_pack("{s:i s:f s:f s:f s:f s:f}", "samples", (int)x->samples, "median_s",
                     x->median_s, "lower_quartile_s", x->lower_s, "upper_quartile_s", x->upper_s,
                     "least_s", x->least_s, "most_s", x->most_s);
}

bool print_json(const char *path, const struct result *results, size_t count, bool quick)
{
    static const char *const keys[SIDES] = {"torusd", "openmpi", "mpich", "gloo"};
    json_t *rows = json_array();
    for (const struct result *r = results; r < results + count; r++) {
        json_t *row = json_pack(
            "{s:s s:i s:i s:b s:b s:f s:s s:I s:b s:i s:f s:s}", "setting", r->setting->name,
            "nodes", (int)r->setting->nodes, "ranks_per_node", (int)r->setting->ranks_per_node,
            "busy", r->busy, "plain", r->plain, "others_cpus", r->others, "operation",
            names[r->operation], "bytes", (json_int_t)r->bytes, "bytes_of_rank", r->bytes_of_rank,
            "calls_a_sample", (int)r->calls, "ratio", ratio_of(r), "best_peer", keys[best_peer(r)]);
        for (int s = 0; s < SIDES; s++)
            if (r->spread[s].samples > 0)
                json_object_set_new(row, keys[s], json_of_spread(&r->spread[s]));
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
