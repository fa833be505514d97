/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl groups: the groups of ranks, what they have done, and why some are broken. */
#include "groups.h"

#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inspect.h"
#include "rows.h"
#include "torusctl/torusctl.h"

static json_t *row_json(const struct td_status_row *row)
{
    const struct td_row_group *r = &row->u.group;
    json_t *group = ins_row(row, TD_ROW_GROUP);
    char id[24];
    if (!group)
        return NULL;
    snprintf(id, sizeof id, "%016llx", (unsigned long long)r->instance);
    json_object_update_new(group,
                           json_pack("{s:s s:b s:[] s:i}", "id", id, "is_job", r->index == 0,
                                     "nodes", "severity", (int)r->state)); /* the later the worse */
    json_object_del(group, "instance");
    json_object_del(group, "job_instance");
    json_object_del(group, "index");
    return group;
}

static json_t *find(const json_t *groups, const json_t *row)
{
    for (size_t i = 0; i < json_array_size(groups); i++) {
        json_t *g = json_array_get(groups, i);
        if (strcmp(ins_string(g, "id"), ins_string(row, "id")) == 0 &&
            json_equal(json_object_get(g, "is_job"), json_object_get(row, "is_job")))
            return g;
    }
    return NULL;
}

/* most takes the larger number of two rows. */
static void most(json_t *to, const json_t *row, const char *key)
{
    if (ins_number(row, key) > ins_number(to, key))
        json_object_set(to, key, json_object_get(row, key));
}

/* merge adds what another node says of a group. */
static void merge(json_t *to, const json_t *row)
{
    most(to, row, "calls_done");
    most(to, row, "in_flight");
    most(to, row, "age_ns");
    if (ins_number(row, "severity") <= ins_number(to, "severity"))
        return;
    json_object_set(to, "severity", json_object_get(row, "severity"));
    json_object_set(to, "state", json_object_get(row, "state"));
    json_object_set(to, "error", json_object_get(row, "error"));
    json_object_set(to, "text", json_object_get(row, "text"));
}

json_t *ins_groups(struct ins_machine *m)
{
    json_t *rows = ins_machine_rows(m, TD_STATUS_GROUPS, row_json), *groups = json_array();
    json_t *row = NULL;
    size_t i = 0;
    json_array_foreach(rows, i, row)
    {
        json_t *known = find(groups, row);
        if (known)
            merge(known, row);
        else
            json_array_append(groups, row);
        json_array_append(json_object_get(known ? known : row, "nodes"),
                          json_object_get(row, "at"));
    }
    json_array_foreach(groups, i, row)
    {
        json_object_del(row, "at");
        json_object_del(row, "severity");
    }
    if (rows)
        ins_add_silence(m);
    else
        json_decref(groups);
    json_decref(rows);
    return rows ? groups : NULL;
}

void ins_add_member_nodes(json_t *operations, const json_t *groups)
{
    json_t *o = NULL, *g = NULL;
    size_t i = 0, k = 0;
    json_array_foreach(operations, i, o)
    {
        char id[24];
        snprintf(id, sizeof id, "%016llx", (unsigned long long)ins_number(o, "instance"));
        json_array_foreach(groups, k, g)
        {
            json_t *nodes = json_object_get(g, "member_nodes");
            if (json_array_size(nodes) && strcmp(ins_string(g, "id"), id) == 0)
                json_object_set(o, "member_nodes", nodes);
        }
    }
}

/* is_named returns true if a job, or the group of one, has the name, user and size of another. */
static bool is_named(const json_t *row, const char *key, const json_t *job)
{
    return strcmp(ins_string(row, key), ins_string(job, "name")) == 0 &&
           ins_number(row, "uid") == ins_number(job, "uid") &&
           ins_number(row, "size") == ins_number(job, "size");
}

const json_t *ins_group_of_job(const json_t *groups, const json_t *job)
{
    const json_t *best = NULL;
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *g = json_array_get(groups, i);
        if (json_is_true(json_object_get(g, "is_job")) && is_named(g, "job", job) &&
            (!best || strcmp(ins_string(g, "state"), "active") != 0))
            best = g;
    }
    return best;
}

bool ins_is_forming(const json_t *jobs, const json_t *groups, const json_t *job)
{
    size_t formed = 0, older = 0;
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *g = json_array_get(groups, i);
        formed += json_is_true(json_object_get(g, "is_job")) && is_named(g, "job", job);
    }
    for (size_t i = json_array_size(jobs); i-- > 0 && json_array_get(jobs, i) != job;)
        older += is_named(json_array_get(jobs, i), "name", job);
    return ins_number(job, "joined") < ins_number(job, "size") && older >= formed;
}

static void add_line(struct libscols_table *t, const json_t *g)
{
    enum { ID, JOB, KIND, RANKS, NODES, CALLS, IN_FLIGHT, STATE, AGE };
    struct ins_cells c = {0};
    snprintf(c.text[ID], INS_CELL_BYTES, "%s", ins_string(g, "id"));
    snprintf(c.text[JOB], INS_CELL_BYTES, "%s", ins_string(g, "job"));
    snprintf(c.text[KIND], INS_CELL_BYTES, "%s",
             json_is_true(json_object_get(g, "is_job")) ? "job" : "subgroup");
    ins_rank_runs(c.text[RANKS], INS_CELL_BYTES, json_object_get(g, "ranks"));
    ins_rank_runs(c.text[NODES], INS_CELL_BYTES, json_object_get(g, "nodes"));
    snprintf(c.text[CALLS], INS_CELL_BYTES, "%lld", (long long)ins_number(g, "calls_done"));
    snprintf(c.text[IN_FLIGHT], INS_CELL_BYTES, "%lld", (long long)ins_number(g, "in_flight"));
    snprintf(c.text[STATE], INS_CELL_BYTES, "%s", ins_string(g, "state"));
    ins_duration(c.text[AGE], INS_CELL_BYTES, ins_number(g, "age_ns"));
    ins_table_add(t, &c);
}

static void print_groups(const struct ins_machine *m, const json_t *groups)
{
    static const char *const names[] = {"ID",     "JOB",        "KIND",  "RANKS", "NODES",
                                        ">CALLS", ">IN FLIGHT", "STATE", ">AGE",  NULL};
    struct libscols_table *t = ins_table(names);
    char text[96], scope[64];
    size_t count = json_array_size(groups);
    snprintf(text, sizeof text, "%zu group%s%s", count, count == 1 ? "" : "s",
             ins_scope(scope, sizeof scope, geteuid()));
    ins_print_answers(m, text);
    for (size_t i = 0; i < count; i++) {
        const json_t *g = json_array_get(groups, i);
        add_line(t, g);
        if (strcmp(ins_string(g, "state"), "broken") == 0)
            printf("! group %s of job %s is broken: %s\n", ins_string(g, "id"),
                   ins_string(g, "job"), ins_string(g, "text"));
        else if (strcmp(ins_string(g, "state"), "parted") == 0)
            printf("! group %s of job %s is parted: its nodes do not all hear each other\n",
                   ins_string(g, "id"), ins_string(g, "job"));
    }
    if (count)
        putchar('\n');
    ins_table_print(t);
}

static int show(struct ins_machine *m, const struct ins_choices *o, const char *word)
{
    json_t *groups = ins_groups(m);
    (void)word;
    if (!groups)
        return INS_LOST;
    if (o->as_json) {
        json_t *all = ins_begin(m, 1);
        json_object_set(all, "groups", groups);
        ins_end(m, all);
    } else {
        print_groups(m, groups);
    }
    json_decref(groups);
    return EXIT_WELL;
}

static int run(int argc, char **argv)
{
    return ins_run(argc, argv, false, show);
}

const struct tool_command ctl_command_groups = {
    .name = "groups",
    .arguments = INS_ARGUMENTS,
    .what = "show the groups of ranks: members, calls done, and why one is broken or parted",
    .options = ins_options,
    .run = run,
};
