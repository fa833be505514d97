/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl jobs: the jobs of the machine, and what each does now. */
#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "absence.h"
#include "groups.h"
#include "inspect.h"
#include "job_states.h"
#include "present.h"
#include "stayed.h"
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

/* add_operation adds the operation that has been in flight for the longest time, or null. */
static void add_operation(json_t *job, const json_t *operations, const struct ins_machine *m,
                          const json_t *peers)
{
    const json_t *oldest = NULL;
    char absence[INS_CELL_BYTES];
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
    ins_absence_text(absence, sizeof absence, oldest, m->silent, peers);
    json_object_set_new(
        job, "operation",
        json_pack("{s:O s:O s:O s:O s:O s:O s:o s:s}", "kind", json_object_get(oldest, "kind"),
                  "group", json_object_get(oldest, "group"), "sequence",
                  json_object_get(oldest, "sequence"), "phase", json_object_get(oldest, "phase"),
                  "age_ns", json_object_get(oldest, "age_ns"), "missing",
                  json_object_get(oldest, "missing"), "unknown",
                  ins_unknown_ranks(oldest, m->silent), "absence", absence));
}

/* forming_text says which ranks a job waits for. */
static void forming_text(char *text, size_t bytes, const json_t *job)
{
    char missing[256];
    ins_missing_words(missing, sizeof missing, job);
    snprintf(text, bytes, "%.80s %s not joined", missing, ins_is_one_missing(job) ? "has" : "have");
}

static void operation_text(char *text, const json_t *o)
{
    char age[32];
    const char *absence = ins_string(o, "absence");
    if (!json_is_object(o))
        return;
    ins_duration(age, sizeof age, ins_number(o, "age_ns"));
    snprintf(text, INS_CELL_BYTES, "%.60s %s for %s%s%s", ins_string(o, "kind"),
             ins_string(o, "phase"), age, absence[0] ? ": " : "", absence);
}

static void add_line(struct libscols_table *t, const json_t *job)
{
    enum { NAME, USER, RANKS, NODES, STATE, AGE, OPERATION };
    struct ins_cells c = {0};
    bool forming = strcmp(ins_string(job, "state"), "forming") == 0;
    const char *age = forming ? "forming_ns" : "age_ns";
    snprintf(c.text[NAME], INS_CELL_BYTES, "%s", ins_string(job, "name"));
    snprintf(c.text[USER], INS_CELL_BYTES, "%lld", (long long)ins_number(job, "uid"));
    if (ins_number(job, "joined") < ins_number(job, "size"))
        snprintf(c.text[RANKS], INS_CELL_BYTES, "%lld of %lld",
                 (long long)ins_number(job, "joined"), (long long)ins_number(job, "size"));
    else
        snprintf(c.text[RANKS], INS_CELL_BYTES, "%lld", (long long)ins_number(job, "size"));
    ins_rank_runs(c.text[NODES], INS_CELL_BYTES, json_object_get(job, "nodes"));
    snprintf(c.text[STATE], INS_CELL_BYTES, "%s", ins_string(job, "state"));
    if (ins_number(job, age))
        ins_duration(c.text[AGE], INS_CELL_BYTES, ins_number(job, age));
    operation_text(c.text[OPERATION], json_object_get(job, "operation"));
    if (forming && json_array_size(json_object_get(job, "missing")))
        forming_text(c.text[OPERATION], INS_CELL_BYTES, job);
    ins_table_add(t, &c);
}

static void print_jobs(const struct ins_machine *m, const json_t *jobs, const json_t *stayed)
{
    static const char *const names[] = {"NAME",  ">UID", ">RANKS",    "NODES",
                                        "STATE", ">AGE", "OPERATION", NULL};
    struct libscols_table *t = ins_table(names);
    char text[96], scope[64];
    size_t count = json_array_size(jobs);
    snprintf(text, sizeof text, "%zu job%s%s", count, count == 1 ? "" : "s",
             ins_scope(scope, sizeof scope, geteuid()));
    ins_print_answers(m, text);
    for (size_t i = 0; i < count; i++) {
        const json_t *job = json_array_get(jobs, i);
        add_line(t, job);
        ins_job_print_text(job);
    }
    ins_stayed_print(stayed);
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
    json_t *stayed = groups ? ins_stayed(m, state) : NULL;
    if (groups) {
        ins_job_states(jobs, groups, m->silent);
        ins_add_member_nodes(json_object_get(state, "operations"), groups);
        ins_add_processes(json_object_get(state, "operations"), json_object_get(state, "clients"));
        json_array_foreach(jobs, i, job)
        {
            json_object_del(job, "at");
            add_nodes(job, json_object_get(state, "clients"), m->nodes);
            add_operation(job, json_object_get(state, "operations"), m,
                          json_object_get(state, "peers"));
        }
        if (o->as_json) {
            json_array_foreach(jobs, i, job)
                json_object_del(json_object_get(job, "operation"), "absence");
            json_t *all = ins_begin(m, 1);
            json_object_set(all, "jobs", jobs);
            json_object_set(all, "stayed", stayed);
            ins_end(m, all);
        } else {
            print_jobs(m, jobs, stayed);
        }
    }
    bool good = groups != NULL;
    json_decref(stayed);
    json_decref(groups);
    json_decref(state);
    return good ? EXIT_WELL : INS_LOST;
}

static int run(int argc, char **argv)
{
    return ins_run(argc, argv, false, show);
}

const struct tool_command ctl_command_jobs = {
    .name = "jobs",
    .arguments = INS_ARGUMENTS,
    .what = "show the jobs: ranks, nodes, state, age, and the operation in flight",
    .options = ins_options,
    .run = run,
};
