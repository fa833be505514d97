/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl jobs: the jobs of the machine, and what each does now. */
#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>

#include "groups.h"
#include "inspect.h"
#include "torusctl/torusctl.h"

static bool is_of(const json_t *row, const json_t *job)
{
    return strcmp(ins_string(row, "job"), ins_string(job, "name")) == 0;
}

/* add_nodes adds the nodes that have processes of a job. */
static void add_nodes(json_t *job, const json_t *clients, uint32_t nodes)
{
    json_t *list = json_array();
    for (uint32_t n = 0; n < nodes; n++)
        for (size_t i = 0; i < json_array_size(clients); i++) {
            const json_t *c = json_array_get(clients, i);
            if (!is_of(c, job) || ins_number(c, "uid") != ins_number(job, "uid") ||
                ins_number(c, "node") != n)
                continue;
            json_array_append_new(list, json_integer(n));
            break;
        }
    json_object_set_new(job, "nodes", list);
}

/* may_have returns true if a list of nodes has a node. An empty list tells nothing. */
static bool may_have(const json_t *list, const json_t *node)
{
    const json_t *other = NULL;
    size_t i = 0;
    json_array_foreach(list, i, other) if (json_equal(other, node)) return true;
    return json_array_size(list) == 0;
}

/* suspects returns the silent nodes that may have ranks that a job misses: the nodes of its group,
 * and if the list of jobs knows that ranks are gone, those where they were. */
static json_t *suspects(const json_t *job, const json_t *group, const json_t *silent)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(silent); i++) {
        json_t *node = json_object_get(json_array_get(silent, i), "node");
        if (may_have(json_object_get(job, "gone_nodes"), node) &&
            may_have(json_object_get(group, "member_nodes"), node))
            json_array_append(list, node);
    }
    return list;
}

/* tell_short says which ranks a job has no more, or which silent nodes may have them. */
static void tell_short(char *text, size_t bytes, const json_t *job, const json_t *silent)
{
    char ranks[256], nodes[256];
    ins_missing_ranks(ranks, sizeof ranks, job);
    ins_rank_runs(nodes, sizeof nodes, silent);
    if (json_array_size(silent))
        snprintf(text, bytes, "%s %s may be on node %s, which gives no answer",
                 ins_rank_word(ranks), ranks, nodes);
    else
        snprintf(text, bytes, "%s %s left or died", ins_rank_word(ranks), ranks);
}

/* add_state adds whether the job forms, runs, or is broken, and since when it exists. A job
 * whose ranks are gone is broken before its next call finds out; while nodes are silent that may
 * have them, nobody knows. */
static void add_state(json_t *job, const json_t *jobs, const json_t *groups, const json_t *silent)
{
    bool forming = ins_is_forming(jobs, groups, job);
    const json_t *g = forming ? NULL : ins_group_of_job(groups, job);
    bool active = !g || strcmp(ins_string(g, "state"), "active") == 0;
    bool whole = ins_number(job, "joined") >= ins_number(job, "size");
    json_t *may = suspects(job, g, silent);
    const char *state = forming                ? "forming"
                        : !active              ? ins_string(g, "state")
                        : whole                ? "running"
                        : json_array_size(may) ? "silent"
                                               : "broken";
    char text[600];
    snprintf(text, sizeof text, "%s", ins_string(g, "text"));
    if (!forming && !whole && !text[0])
        tell_short(text, sizeof text, job, may);
    json_decref(may);
    json_object_set_new(job, "state", json_string(state));
    json_object_set_new(job, "age_ns", json_integer(ins_number(g, "age_ns")));
    json_object_set_new(job, "error", json_integer(ins_number(g, "error")));
    json_object_set_new(job, "text", json_string(text));
}

/* add_operation adds the operation that has been in flight for the longest time, or null. */
static void add_operation(json_t *job, const json_t *operations)
{
    const json_t *oldest = NULL;
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(operations); i++) {
        const json_t *o = json_array_get(operations, i);
        if (!is_of(o, job))
            continue;
        count++;
        if (!oldest || ins_number(o, "age_ns") > ins_number(oldest, "age_ns"))
            oldest = o;
    }
    json_object_set_new(job, "in_flight", json_integer((json_int_t)count));
    if (!oldest) {
        json_object_set_new(job, "operation", json_null());
        return;
    }
    json_object_set_new(
        job, "operation",
        json_pack("{s:O s:O s:O s:O s:O s:O}", "kind", json_object_get(oldest, "kind"), "group",
                  json_object_get(oldest, "group"), "sequence", json_object_get(oldest, "sequence"),
                  "phase", json_object_get(oldest, "phase"), "age_ns",
                  json_object_get(oldest, "age_ns"), "missing",
                  json_object_get(oldest, "missing")));
}

static void operation_text(char *text, const json_t *o)
{
    char age[32], missing[100] = "";
    if (!json_is_object(o))
        return;
    ins_duration(age, sizeof age, ins_number(o, "age_ns"));
    ins_rank_runs(missing, sizeof missing, json_object_get(o, "missing"));
    snprintf(text, INS_CELL_BYTES, "%.60s %s for %s%s%.40s", ins_string(o, "kind"),
             ins_string(o, "phase"), age, missing[0] ? ", without rank " : "", missing);
}

static void add_line(struct libscols_table *t, const json_t *job)
{
    enum { NAME, USER, RANKS, NODES, STATE, AGE, OPERATION };
    struct ins_cells c = {0};
    snprintf(c.text[NAME], INS_CELL_BYTES, "%s", ins_string(job, "name"));
    snprintf(c.text[USER], INS_CELL_BYTES, "%lld", (long long)ins_number(job, "uid"));
    if (ins_number(job, "joined") < ins_number(job, "size"))
        snprintf(c.text[RANKS], INS_CELL_BYTES, "%lld of %lld",
                 (long long)ins_number(job, "joined"), (long long)ins_number(job, "size"));
    else
        snprintf(c.text[RANKS], INS_CELL_BYTES, "%lld", (long long)ins_number(job, "size"));
    ins_rank_runs(c.text[NODES], INS_CELL_BYTES, json_object_get(job, "nodes"));
    snprintf(c.text[STATE], INS_CELL_BYTES, "%s", ins_string(job, "state"));
    if (ins_number(job, "age_ns"))
        ins_duration(c.text[AGE], INS_CELL_BYTES, ins_number(job, "age_ns"));
    operation_text(c.text[OPERATION], json_object_get(job, "operation"));
    ins_table_add(t, &c);
}

static void print_jobs(const struct ins_machine *m, const json_t *jobs)
{
    static const char *const names[] = {"NAME",  ">UID", ">RANKS",    "NODES",
                                        "STATE", ">AGE", "OPERATION", NULL};
    struct libscols_table *t = ins_table(names);
    char text[64];
    size_t count = json_array_size(jobs);
    snprintf(text, sizeof text, "%zu job%s", count, count == 1 ? "" : "s");
    ins_print_answers(m, text);
    for (size_t i = 0; i < count; i++) {
        const json_t *job = json_array_get(jobs, i);
        char missing[256];
        add_line(t, job);
        ins_missing_ranks(missing, sizeof missing, job);
        if (missing[0] && strcmp(ins_string(job, "state"), "forming") == 0)
            printf("! job %s waits for %s %s to join\n", ins_string(job, "name"),
                   ins_rank_word(missing), missing);
        if (*ins_string(job, "text"))
            printf("! job %s is %s: %s\n", ins_string(job, "name"), ins_string(job, "state"),
                   ins_string(job, "text"));
    }
    if (count)
        putchar('\n');
    ins_table_print(t);
}

static int show(struct ins_machine *m, const struct ins_choices *o, const char *word)
{
    json_t *state = ins_collect(m), *groups = state ? ins_groups(m) : NULL;
    json_t *jobs = json_object_get(state, "jobs"), *job = NULL;
    size_t i = 0;
    (void)word;
    if (groups) {
        json_array_foreach(jobs, i, job)
        {
            json_object_del(job, "at");
            add_nodes(job, json_object_get(state, "clients"), m->nodes);
            add_state(job, jobs, groups, m->silent);
            add_operation(job, json_object_get(state, "operations"));
        }
        if (o->as_json) {
            json_t *all = ins_begin(m, 1);
            json_object_set(all, "jobs", jobs);
            ins_end(m, all);
        } else {
            print_jobs(m, jobs);
        }
    }
    bool good = groups != NULL;
    json_decref(groups);
    json_decref(state);
    return good ? EXIT_WELL : INS_LOST;
}

static int run(int argc, char **argv)
{
    return ins_run(argc, argv, false, show);
}

const struct ctl_command ctl_command_jobs = {
    .name = "jobs",
    .arguments = INS_ARGUMENTS,
    .what = "show the jobs: ranks, nodes, state, age, and the operation in flight",
    .options = ins_options,
    .run = run,
};
