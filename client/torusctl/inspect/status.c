/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl status: the state of the node's daemon. torusctl ops: its operations in flight. */
#include <jansson.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>

#include "libtorus/status.h"
#include "torusctl/torusctl.h"

static const char *const states[] = {"down", "up", "unknown"};

enum { LATE_SECONDS = 10 };

/* Keys for the tables only; the JSON form does not have them. */
static const char *const people_only[] = {"error", "program", "phase", "step", "steps", "seat"};

/* text_json returns a JSON string; names of jobs and programs need not be valid UTF-8. */
static json_t *text_json(const char *text)
{
    char plain[TD_TEXT_MAX] = "";
    json_t *j = json_string(text ? text : "");
    for (size_t i = 0; !j && text && text[i] && i + 1 < sizeof plain; i++)
        plain[i] = text[i] >= ' ' && text[i] < 127 ? text[i] : '?';
    return j ? j : json_string(plain);
}

/* ranks returns the list of the ranks of a group of `size` whose bit in a set is `value`. */
static json_t *ranks(const struct td_bitmap *set, uint32_t size, bool value)
{
    json_t *list = json_array();
    for (uint32_t r = 0; r < size && r / 8 < set->bytes; r++)
        if ((set->bits[r / 8] >> r % 8 & 1) == value)
            json_array_append_new(list, json_integer(r));
    return list;
}

static json_t *peer_json(const struct td_row_peer *r)
{
    return json_pack("{s:i s:o s:s s:o}", "node", (int)r->node, "endpoint", text_json(r->endpoint),
                     "state", states[r->health], "error",
                     text_json(r->health == TD_PEER_UP ? "" : r->error));
}

static json_t *client_json(const struct td_row_client *r)
{
    return json_pack("{s:I s:I s:o s:I s:b s:o s:i}", "pid", (json_int_t)r->pid, "uid",
                     (json_int_t)r->uid, "job", text_json(r->job), "rank", (json_int_t)r->rank,
                     "joining", r->joining, "program", text_json(r->program), "seat",
                     (int)r->group);
}

static json_t *job_json(const struct td_row_job *r)
{
    return json_pack("{s:o s:I s:i s:i s:o}", "name", text_json(r->name), "uid", (json_int_t)r->uid,
                     "size", (int)r->size, "joined", (int)r->joined, "missing",
                     ranks(&r->ranks, r->size, false));
}

static json_t *operation_json(const struct td_row_operation *r)
{
    return json_pack("{s:o s:i s:I s:o s:s s:I s:I s:I s:o s:o}", "job", text_json(r->job), "group",
                     (int)r->group, "sequence", (json_int_t)r->sequence, "kind", text_json(r->call),
                     "phase", r->running ? "running" : "waiting", "age_ns", (json_int_t)r->age_ns,
                     "step", (json_int_t)r->steps_done, "steps", (json_int_t)r->steps, "arrived",
                     ranks(&r->arrived, r->size, true), "missing",
                     ranks(&r->arrived, r->size, false));
}

/* row_json returns a row, or NULL if its kind is not one of those that are listed here. */
static json_t *row_json(const struct td_status_row *row)
{
    switch (row->kind) {
    case TD_ROW_PEER:
        return peer_json(&row->u.peer);
    case TD_ROW_CLIENT:
        return client_json(&row->u.client);
    case TD_ROW_JOB:
        return job_json(&row->u.job);
    case TD_ROW_OPERATION:
        return operation_json(&row->u.operation);
    case TD_ROW_NODE:
    case TD_ROW_ROUTER:
    case TD_ROW_DIRECTION:
    case TD_ROW_PLAN:
        break;
    }
    return NULL;
}

/* section returns all rows of a section; NULL on an error. */
static json_t *section(torus_context *c, uint32_t which)
{
    json_t *list = json_array();
    struct tl_listing listing = {0};
    do {
        static struct td_reply reply;
        if (tl_status_next(c, which, &listing, &reply) != TORUS_OK) {
            json_decref(list);
            return NULL;
        }
        for (uint32_t i = 0; i < reply.u.status.rows; i++)
            json_array_append_new(list, row_json(&reply.u.status.row[i]));
    } while (listing.cursor);
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

/* duration writes a time in ns as 340ms, 12.5s, 2.5m or 3.0h. */
static void duration(char *text, size_t bytes, json_int_t ns)
{
    double s = 1e-9 * (double)ns;
    if (s < 1)
        snprintf(text, bytes, "%.0fms", 1e3 * s);
    else if (s < 60)
        snprintf(text, bytes, "%.1fs", s);
    else if (s < 3600)
        snprintf(text, bytes, "%.1fm", s / 60);
    else
        snprintf(text, bytes, "%.1fh", s / 3600);
}

/* rank_runs writes ranks as 0-3,7, or 0-3,7 and 5 more. */
static void rank_runs(char *text, size_t bytes, const json_t *list)
{
    enum { MOST = 40 };
    size_t count = json_array_size(list), length = 0;
    for (size_t i = 0, end = 0; i < count; i = end) {
        json_int_t first = json_integer_value(json_array_get(list, i)), last = first;
        for (end = i + 1; end < count && json_integer_value(json_array_get(list, end)) == last + 1;
             end++)
            last++;
        if (length > MOST) {
            snprintf(text + length, bytes - length, " and %zu more", count - i);
            return;
        }
        snprintf(text + length, bytes - length, first == last ? "%s%lld" : "%s%lld-%lld",
                 i ? "," : "", (long long)first, (long long)last);
        length = strlen(text);
    }
}

/* missing_ranks writes the missing ranks of a job. A process that joined without a rank receives
 * one when the job is complete; until then fewer processes are missing than ranks: "2 of 0-2". */
static void missing_ranks(char *text, size_t bytes, const json_t *job)
{
    const json_t *list = json_object_get(job, "missing");
    json_int_t left = json_integer_value(json_object_get(job, "size")) -
                      json_integer_value(json_object_get(job, "joined"));
    text[0] = '\0';
    if (left > 0 && (size_t)left < json_array_size(list))
        snprintf(text, bytes, "%lld of ", (long long)left);
    size_t length = strlen(text);
    rank_runs(text + length, bytes - length, list);
}

/* is_late returns true if an operation has waited for ranks for LATE_SECONDS. */
static bool is_late(const json_t *operation)
{
    return json_array_size(json_object_get(operation, "missing")) &&
           json_integer_value(json_object_get(operation, "age_ns")) >= LATE_SECONDS * 1000000000LL;
}

static void cell(struct libscols_line *line, size_t column, const json_t *row, const char *key)
{
    char text[256] = "";
    const json_t *value = json_object_get(row, key);
    if (strcmp(key, "!") == 0)
        snprintf(text, sizeof text, "%s", is_late(row) ? "!" : "");
    else if (strcmp(key, "age") == 0)
        duration(text, sizeof text, json_integer_value(json_object_get(row, "age_ns")));
    else if (strcmp(key, "rank") == 0 && json_is_true(json_object_get(row, "joining")))
        snprintf(text, sizeof text, json_integer_value(value) < 0 ? "joining" : "%lld, joining",
                 (long long)json_integer_value(value));
    else if (strcmp(key, "missing") == 0 && json_object_get(row, "joined"))
        missing_ranks(text, sizeof text, row);
    else if (json_is_string(value))
        snprintf(text, sizeof text, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else
        rank_runs(text, sizeof text, value);
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
            cell(line, k, json_array_get(rows, i), keys[k]);
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

static void warn(const json_t *operations)
{
    for (size_t i = 0; i < json_array_size(operations); i++) {
        const json_t *o = json_array_get(operations, i);
        char age[32], missing[256] = "";
        if (!is_late(o))
            continue;
        duration(age, sizeof age, json_integer_value(json_object_get(o, "age_ns")));
        rank_runs(missing, sizeof missing, json_object_get(o, "missing"));
        printf("\n! %s of job %s has waited %s for rank %s\n",
               json_string_value(json_object_get(o, "kind")),
               json_string_value(json_object_get(o, "job")), age, missing);
    }
}

static void print_json(json_t *all)
{
    const char *name = NULL;
    json_t *list = NULL, *row = NULL;
    size_t i = 0;
    json_object_foreach(all, name, list) json_array_foreach(
        list, i, row) for (size_t k = 0; k < sizeof people_only / sizeof people_only[0]; k++)
        json_object_del(row, people_only[k]);
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
}

/* ---- ops ---- */

/* is_in returns true if a rank is in a list. */
static bool is_in(const json_t *list, json_int_t rank)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_integer_value(json_array_get(list, i)) == rank)
            return true;
    return false;
}

/* add_here adds to each operation its ranks on this node: [{rank, pid, program, arrived}]. */
static void add_here(json_t *operations, const json_t *clients)
{
    for (size_t i = 0; i < json_array_size(operations); i++) {
        json_t *o = json_array_get(operations, i), *here = json_array();
        for (size_t k = 0; k < json_array_size(clients); k++) {
            const json_t *c = json_array_get(clients, k);
            json_t *rank = json_object_get(c, "rank");
            if (json_equal(json_object_get(c, "job"), json_object_get(o, "job")) &&
                json_equal(json_object_get(c, "seat"), json_object_get(o, "group")) &&
                json_integer_value(rank) >= 0 && !json_is_true(json_object_get(c, "joining")))
                json_array_append_new(
                    here,
                    json_pack("{s:O s:O s:O s:b}", "rank", rank, "pid", json_object_get(c, "pid"),
                              "program", json_object_get(c, "program"), "arrived",
                              is_in(json_object_get(o, "arrived"), json_integer_value(rank))));
        }
        json_object_set_new(o, "here", here);
        json_object_set_new(o, "late", json_boolean(is_late(o)));
    }
}

static void print_operation(const json_t *o)
{
    enum { HERE_SHOWN = 8 };
    char age[32], arrived[256] = "none", missing[256] = "none";
    const json_t *here = json_object_get(o, "here"), *kind = json_object_get(o, "kind");
    size_t came = json_array_size(json_object_get(o, "arrived"));
    size_t size = came + json_array_size(json_object_get(o, "missing"));
    json_int_t steps = json_integer_value(json_object_get(o, "steps"));
    duration(age, sizeof age, json_integer_value(json_object_get(o, "age_ns")));
    rank_runs(arrived, sizeof arrived, json_object_get(o, "arrived"));
    rank_runs(missing, sizeof missing, json_object_get(o, "missing"));
    printf("\n%s%s: job %s, group %lld, number %lld\n", is_late(o) ? "! " : "",
           *json_string_value(kind) ? json_string_value(kind) : "not called on this node yet",
           json_string_value(json_object_get(o, "job")),
           (long long)json_integer_value(json_object_get(o, "group")),
           (long long)json_integer_value(json_object_get(o, "sequence")));
    printf("  %-9s for %s", json_string_value(json_object_get(o, "phase")), age);
    if (steps)
        printf(", %lld of %lld steps of this node done",
               (long long)json_integer_value(json_object_get(o, "step")), (long long)steps);
    printf("\n  arrived   %zu of %zu ranks: %s\n  missing   %s\n", came, size, arrived, missing);
    for (size_t i = 0; i < json_array_size(here) && i < HERE_SHOWN; i++) {
        const json_t *c = json_array_get(here, i);
        printf("  here      rank %lld, process %lld, %s: %s\n",
               (long long)json_integer_value(json_object_get(c, "rank")),
               (long long)json_integer_value(json_object_get(c, "pid")),
               json_string_value(json_object_get(c, "program")),
               json_is_true(json_object_get(c, "arrived")) ? "has arrived" : "has not called");
    }
    if (json_array_size(here) > HERE_SHOWN)
        printf("            and %zu more\n", json_array_size(here) - HERE_SHOWN);
}

static void print_ops(torus_context *c, json_t *all, bool as_json)
{
    json_t *operations = json_object_get(all, "operations");
    size_t count = json_array_size(operations);
    add_here(operations, json_object_get(all, "clients"));
    if (as_json) {
        json_t *out = json_pack("{s:i s:i s:O}", "version", 1, "node", (int)torus_node(c),
                                "operations", operations);
        json_dumpf(out, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(out);
        return;
    }
    if (count == 0)
        printf("node %u: no operation is in flight\n", torus_node(c));
    else
        printf("node %u: %zu operation%s in flight\n", torus_node(c), count,
               count == 1 ? " is" : "s are");
    for (size_t i = 0; i < count; i++)
        print_operation(json_array_get(operations, i));
}

/* ---- commands ---- */

static void print_status(torus_context *c, json_t *all, bool as_json)
{
    if (as_json) {
        print_json(all);
        return;
    }
    print_head(c, all);
    table("PEERS", json_object_get(all, "peers"),
          (const char *const[]){"node", "state", "endpoint", "error", NULL});
    table("CLIENTS", json_object_get(all, "clients"),
          (const char *const[]){"pid", "uid", "job", "rank", "program", NULL});
    table("JOBS", json_object_get(all, "jobs"),
          (const char *const[]){"name", "uid", "size", "joined", "missing", NULL});
    table("OPERATIONS", json_object_get(all, "operations"),
          (const char *const[]){"!", "job", "group", "sequence", "kind", "phase", "age", "step",
                                "steps", "arrived", "missing", NULL});
    warn(json_object_get(all, "operations"));
}

typedef void print_fn(torus_context *c, json_t *all, bool as_json);

/* ask requests all sections and prints them. */
static int ask(const char *name, int argc, char **argv, print_fn *print)
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
            return ctl_usage(name, ctl_no_option(argv[i]));
    }
    torus_context *c = ctl_open(socket, &code);
    if (!c)
        return code;
    json_t *all = collect(c);
    if (all) {
        print(c, all, as_json);
    } else {
        fprintf(stderr, "torusctl %s: %s\n", name, torus_last_error(c));
        code = EXIT_FAILED;
    }
    json_decref(all);
    torus_close(c);
    return code;
}

static int run_status(int argc, char **argv)
{
    return ask("status", argc, argv, print_status);
}

static int run_ops(int argc, char **argv)
{
    return ask("ops", argc, argv, print_ops);
}

static const char inspect_options[] =
    "  --json               print the result as JSON\n"
    "  --socket PATH        socket of the daemon (default: the search order of libtorus(3))\n";

const struct ctl_command ctl_command_status = {
    .name = "status",
    .arguments = "[--json] [--socket PATH]",
    .what = "show the node, its peers, clients, jobs and operations",
    .options = inspect_options,
    .run = run_status,
};

const struct ctl_command ctl_command_ops = {
    .name = "ops",
    .arguments = "[--json] [--socket PATH]",
    .what = "show the operations in flight: arrived and missing ranks, progress",
    .options = inspect_options,
    .run = run_ops,
};
