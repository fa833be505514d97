/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl status: what the node's daemon sees. */
#include <jansson.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>

#include "libtorus/status.h"
#include "torusctl.h"

static const char *const states[] = {"down", "up", "unknown"};

/* ranks lists the bits of a row that are `value`. */
static json_t *ranks(const struct td_status_row *row, bool value)
{
    json_t *list = json_array();
    for (uint32_t r = 0; r < row->size && r / 8 < row->arrived_bytes; r++)
        if ((row->arrived[r / 8] >> r % 8 & 1) == value)
            json_array_append_new(list, json_integer(r));
    return list;
}

static json_t *row_json(uint32_t section, const struct td_status_row *r)
{
    switch (section) {
    case TD_STATUS_PEERS:
        return json_pack("{s:i s:s s:s s:s}", "node", (int)r->node, "endpoint", r->name, "state",
                         states[r->state <= TD_PEER_UNKNOWN ? r->state : TD_PEER_UNKNOWN], "error",
                         r->text);
    case TD_STATUS_CLIENTS:
        return json_pack("{s:I s:I s:s s:I s:s}", "pid", (json_int_t)r->pid, "uid",
                         (json_int_t)r->uid, "job", r->name, "rank", (json_int_t)r->rank, "program",
                         r->text);
    case TD_STATUS_JOBS:
        return json_pack("{s:s s:I s:i s:i s:o}", "name", r->name, "uid", (json_int_t)r->uid,
                         "size", (int)r->size, "joined", (int)r->joined, "missing",
                         ranks(r, false));
    default:
        return json_pack("{s:s s:i s:I s:I s:s s:s s:I s:I s:I s:o s:o}", "job", r->name, "group",
                         (int)r->group, "generation", (json_int_t)r->generation, "sequence",
                         (json_int_t)r->sequence, "kind", r->text, "phase",
                         r->phase ? "running" : "waiting", "age_ns", (json_int_t)r->age_ns, "step",
                         (json_int_t)r->steps_done, "steps", (json_int_t)r->steps, "arrived",
                         ranks(r, true), "missing", ranks(r, false));
    }
}

/* section fetches all pages; NULL on an error. */
static json_t *section(torus_context *c, uint32_t which)
{
    json_t *list = json_array();
    uint64_t cursor = 0;
    do {
        static struct td_reply reply;
        if (tl_status_page(c, which, cursor, &reply) != TORUS_OK) {
            json_decref(list);
            return NULL;
        }
        for (uint32_t i = 0; i < reply.u.status.rows; i++)
            json_array_append_new(list, row_json(which, &reply.u.status.row[i]));
        cursor = reply.u.status.next;
    } while (cursor);
    return list;
}

static json_t *collect(torus_context *c)
{
    static const struct {
        uint32_t section;
        const char *name;
    } parts[] = {{TD_STATUS_PEERS, "peers"},
                 {TD_STATUS_CLIENTS, "clients"},
                 {TD_STATUS_JOBS, "jobs"},
                 {TD_STATUS_OPERATIONS, "operations"}};
    uint32_t size[TORUS_DIMENSIONS_MAX], place[TORUS_DIMENSIONS_MAX];
    int wrap[TORUS_DIMENSIONS_MAX], dimensions = torus_shape(c, size, wrap);
    torus_coords(c, place);
    json_t *all = json_object(), *coordinates = json_array(), *shape = json_array(),
           *wraps = json_array();
    for (int d = 0; d < dimensions; d++) {
        json_array_append_new(coordinates, json_integer(place[d]));
        json_array_append_new(shape, json_integer(size[d]));
        json_array_append_new(wraps, json_boolean(wrap[d]));
    }
    json_object_set_new(all, "version", json_integer(1));
    json_object_set_new(all, "node", json_integer(torus_node(c)));
    json_object_set_new(all, "coordinates", coordinates);
    json_object_set_new(all, "shape", shape);
    json_object_set_new(all, "wrap", wraps);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        json_t *list = section(c, parts[i].section);
        if (!list) {
            json_decref(all);
            return NULL;
        }
        json_object_set_new(all, parts[i].name, list);
    }
    return all;
}

/* ---- tables ---- */

static void cell(struct libscols_line *line, size_t column, const json_t *value)
{
    char text[256] = "";
    if (json_is_string(value))
        snprintf(text, sizeof text, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else
        for (size_t i = 0; i < json_array_size(value) && strlen(text) < 200; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", i ? "," : "",
                     (long long)json_integer_value(json_array_get(value, i)));
    scols_line_set_data(line, column, text);
}

static void table(const char *title, const json_t *rows, const char *const *keys)
{
    if (json_array_size(rows) == 0)
        return;
    struct libscols_table *t = scols_new_table();
    for (const char *const *k = keys; *k; k++)
        scols_table_new_column(t, *k, 0, 0);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        struct libscols_line *line = scols_table_new_line(t, NULL);
        for (size_t k = 0; keys[k]; k++)
            cell(line, k, json_object_get(json_array_get(rows, i), keys[k]));
    }
    printf("\n%s\n", title);
    scols_print_table(t);
    scols_unref_table(t);
}

static void print_head(torus_context *c, const json_t *all)
{
    uint32_t size[TORUS_DIMENSIONS_MAX], place[TORUS_DIMENSIONS_MAX];
    int wrap[TORUS_DIMENSIONS_MAX], dimensions = torus_shape(c, size, wrap);
    const json_t *peers = json_object_get(all, "peers");
    size_t up = 0;
    torus_coords(c, place);
    for (size_t i = 0; i < json_array_size(peers); i++)
        up += strcmp(json_string_value(json_object_get(json_array_get(peers, i), "state")), "up") ==
              0;
    printf("node %u (", torus_node(c));
    for (int d = 0; d < dimensions; d++)
        printf("%s%u", d ? "," : "", place[d]);
    printf(") of ");
    for (int d = 0; d < dimensions; d++)
        printf("%s%u%s", d ? "x" : "", size[d], wrap[d] ? "" : "m");
    printf(": %zu of %zu peers up\n", up, json_array_size(peers));
}

/* warn says which operations wait for ranks for longer than anybody should be left guessing. */
static void warn(const json_t *operations)
{
    for (size_t i = 0; i < json_array_size(operations); i++) {
        const json_t *o = json_array_get(operations, i);
        double seconds = 1e-9 * (double)json_integer_value(json_object_get(o, "age_ns"));
        if (seconds >= 10 && json_array_size(json_object_get(o, "missing")))
            printf("\n! %s of job %s has waited %.1fs for %zu ranks\n",
                   json_string_value(json_object_get(o, "kind")),
                   json_string_value(json_object_get(o, "job")), seconds,
                   json_array_size(json_object_get(o, "missing")));
    }
}

int ctl_status(int argc, char **argv)
{
    const char *socket = NULL;
    bool as_json = false;
    int code = EXIT_WELL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            as_json = true;
        else if (strcmp(argv[i], "--socket") == 0 && i + 1 < argc)
            socket = argv[++i];
        else
            return ctl_usage("status", "there is no such option");
    }
    torus_context *c = ctl_open(socket, &code);
    if (!c)
        return code;
    json_t *all = collect(c);
    if (!all) {
        fprintf(stderr, "torusctl status: %s\n", torus_last_error(c));
        code = EXIT_FAILED;
    } else if (as_json) {
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        print_head(c, all);
        table("PEERS", json_object_get(all, "peers"),
              (const char *const[]){"node", "state", "endpoint", "error", NULL});
        table("CLIENTS", json_object_get(all, "clients"),
              (const char *const[]){"pid", "uid", "job", "rank", "program", NULL});
        table("JOBS", json_object_get(all, "jobs"),
              (const char *const[]){"name", "uid", "size", "joined", "missing", NULL});
        table("OPERATIONS", json_object_get(all, "operations"),
              (const char *const[]){"job", "sequence", "kind", "phase", "step", "steps", "arrived",
                                    "missing", NULL});
        warn(json_object_get(all, "operations"));
    }
    json_decref(all);
    torus_close(c);
    return code;
}
