/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl status: the state of the node's daemon. */
#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "absence.h"
#include "collect.h"
#include "facts.h"
#include "groups.h"
#include "inspect.h"
#include "job_states.h"
#include "present.h"
#include "torusctl/torusctl.h"

/* Keys for the tables only; the JSON form does not have them. */
static const char *const people_only[] = {"error",    "program", "phase",     "step",
                                          "steps",    "seat",    "absent",    "at",
                                          "instance", "waits",   "processes", "member_nodes"};

/* ---- tables ---- */

static void cell(struct libscols_line *line, size_t column, const json_t *row, const char *key)
{
    char text[256] = "";
    const json_t *value = json_object_get(row, key);
    if (strcmp(key, "!") == 0)
        snprintf(text, sizeof text, "%s", ins_is_late(row) ? "!" : "");
    else if (strcmp(key, "age") == 0)
        ins_duration(text, sizeof text, json_integer_value(json_object_get(row, "age_ns")));
    else if (strcmp(key, "rank") == 0 && json_is_true(json_object_get(row, "joining")))
        snprintf(text, sizeof text, json_integer_value(value) < 0 ? "joining" : "%lld, joining",
                 (long long)json_integer_value(value));
    else if (strcmp(key, "rank") == 0 && json_integer_value(value) < 0)
        snprintf(text, sizeof text, "-"); /* it is in no job, like this command */
    else if (strcmp(key, "missing") == 0 && json_object_get(row, "joined"))
        ins_missing_ranks(text, sizeof text, row);
    else if (json_is_string(value))
        snprintf(text, sizeof text, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else
        ins_rank_runs(text, sizeof text, value);
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

/* mark_silent gives the peers that have not answered another state: the connection of a daemon that
 * is stopped or hangs stays up for a while. It returns their number. */
static size_t mark_silent(const struct ins_machine *m, json_t *peers)
{
    size_t marked = 0;
    for (size_t i = 0; i < json_array_size(peers); i++)
        for (size_t k = 0; k < json_array_size(m->silent); k++) {
            json_t *p = json_array_get(peers, i);
            const json_t *s = json_array_get(m->silent, k);
            char age[32], state[64] = "no answer";
            if (ins_number(s, "node") != ins_number(p, "node"))
                continue;
            if (json_is_true(json_object_get(s, "stopped")))
                json_object_set_new(p, "state", json_string("stopped"));
            if (strcmp(ins_string(p, "state"), "up") != 0)
                continue;
            ins_duration(age, sizeof age, ins_number(p, "silent_ns"));
            if (ins_number(p, "silent_ns"))
                snprintf(state, sizeof state, "silent for %s", age);
            json_object_set_new(p, "state", json_string(state));
            marked++;
        }
    return marked;
}

static void print_head(torus_context *c, const json_t *peers, size_t silent)
{
    uint32_t size[TORUS_DIMENSIONS_MAX], place[TORUS_DIMENSIONS_MAX];
    int wrap[TORUS_DIMENSIONS_MAX], dimensions = torus_shape(c, size, wrap);
    size_t up = 0, absent = 0;
    torus_coords(c, place);
    for (size_t i = 0; i < json_array_size(peers); i++) {
        const char *state = ins_string(json_array_get(peers, i), "state");
        up += strcmp(state, "up") == 0;
        absent += strcmp(state, "absent") == 0;
    }
    printf("node %u (", torus_node(c));
    for (int d = 0; d < dimensions; d++)
        printf("%s%u", d ? "," : "", place[d]);
    printf(") of ");
    for (int d = 0; d < dimensions; d++)
        printf("%s%u%s", d ? "x" : "", size[d], wrap[d] ? "" : "m");
    printf(": %zu of %zu peers up", up, json_array_size(peers));
    if (silent)
        printf(", %zu silent", silent);
    if (absent)
        printf(", %zu absent", absent);
    putchar('\n');
}

/* warn tells of the operations that have waited for long, and for which ranks. */
static void warn(const struct ins_machine *m, const json_t *operations, const json_t *peers)
{
    for (size_t i = 0; i < json_array_size(operations); i++) {
        const json_t *o = json_array_get(operations, i);
        char age[32], absence[400];
        if (!ins_is_late(o))
            continue;
        ins_duration(age, sizeof age, json_integer_value(json_object_get(o, "age_ns")));
        ins_absence_text(absence, sizeof absence, o, m->silent, peers);
        printf("\n! %s of job %s has waited for %s: %s\n",
               json_string_value(json_object_get(o, "kind")),
               json_string_value(json_object_get(o, "job")), age, absence);
    }
}

/* add_states adds the states of the jobs: a broken one misses ranks as one that forms does. */
static void add_states(struct ins_machine *m, json_t *all)
{
    json_t *jobs = json_object_get(all, "jobs");
    json_t *groups = json_array_size(jobs) ? ins_groups(m) : NULL;
    if (groups) {
        ins_job_states(jobs, groups, m->silent);
        ins_add_member_nodes(json_object_get(all, "operations"), groups);
    }
    json_decref(groups);
}

/* add_unknown adds to each operation the missing ranks of which nobody knows whether they have
 * called. */
static void add_unknown(const struct ins_machine *m, json_t *all)
{
    json_t *operations = json_object_get(all, "operations"), *o = NULL;
    size_t i = 0;
    ins_add_processes(operations, json_object_get(all, "clients"));
    json_array_foreach(operations, i, o)
        json_object_set_new(o, "unknown", ins_unknown_ranks(o, m->silent));
}

static void print_json(json_t *all)
{
    const char *name = NULL;
    json_t *list = NULL, *row = NULL;
    size_t i = 0;
    json_t *silent = json_incref(json_object_get(all, "silent")), /* with the reasons */
        *absent = json_incref(json_object_get(all, "absent"));
    json_object_del(all, "silent");
    json_object_del(all, "absent");
    json_object_foreach(all, name, list) json_array_foreach(
        list, i, row) for (size_t k = 0; k < sizeof people_only / sizeof people_only[0]; k++)
        json_object_del(row, people_only[k]);
    json_object_set_new(all, "silent", silent);
    json_object_set_new(all, "absent", absent);
    ins_print(all);
}

/* ---- commands ---- */

static void print_status(struct ins_machine *m, json_t *all, bool as_json)
{
    add_states(m, all);
    add_unknown(m, all);
    if (as_json) {
        json_object_set_new(all, "loop", ins_loop(m));
        print_json(all);
        return;
    }
    json_t *peers = json_object_get(all, "peers");
    size_t silent = mark_silent(m, peers);
    char scope[64];
    print_head(m->c, peers, silent);
    if (*ins_scope(scope, sizeof scope, geteuid()))
        printf("clients, jobs and operations are those%s\n", scope);
    ins_machine_print_silent(m);
    json_t *job = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(all, "jobs"), i, job) ins_job_print_text(job);
    table("PEERS", peers, (const char *const[]){"node", "state", "endpoint", "error", NULL});
    table("CLIENTS", json_object_get(all, "clients"),
          (const char *const[]){"node", "pid", "uid", "job", "rank", "program", NULL});
    table("JOBS", json_object_get(all, "jobs"),
          (const char *const[]){"name", "uid", "state", "size", "joined", "missing", NULL});
    table("OPERATIONS", json_object_get(all, "operations"),
          (const char *const[]){"!", "job", "group", "sequence", "kind", "phase", "age", "step",
                                "steps", "arrived", "missing", NULL});
    warn(m, json_object_get(all, "operations"), peers);
}

static int run_status(int argc, char **argv)
{
    return ins_ask("status", argc, argv, print_status);
}

const struct tool_command ctl_command_status = {
    .name = "status",
    .arguments = "[--here] [--timeout SECONDS] [--watch] [--json] [--socket PATH]",
    .what = "show the peers of the node, and the clients, jobs and operations of all",
    .options = ins_options,
    .run = run_status,
};
