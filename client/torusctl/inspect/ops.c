/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl ops: the operations in flight, and what each waits for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect.h"
#include "forming.h"
#include "groups.h"
#include "inspect.h"
#include "present.h"
#include "stayed.h"
#include "torusctl/torusctl.h"
#include "verdict.h"

/* ---- operations ---- */

/* finish adds to each operation the processes of its ranks on this node, "here", and whether it is
 * late. */
static void finish(json_t *operations, uint32_t node)
{
    json_t *o = NULL, *c = NULL;
    size_t i = 0, k = 0;
    json_array_foreach(operations, i, o)
    {
        json_t *here = json_array();
        json_array_foreach(json_object_get(o, "processes"), k, c)
        {
            if (ins_number(c, "node") == node)
                json_array_append(here, c);
        }
        json_object_set_new(o, "here", here);
        json_object_set_new(o, "late", json_boolean(ins_is_late(o)));
        json_object_del(o, "instance");
        json_object_del(o, "at");
    }
}

static void print_process(const json_t *c)
{
    printf("  process   rank %lld on node %lld, process %lld, %s: %s%s\n",
           (long long)ins_number(c, "rank"), (long long)ins_number(c, "node"),
           (long long)ins_number(c, "pid"), ins_string(c, "program"),
           json_is_true(json_object_get(c, "arrived")) ? "has arrived" : "has not called",
           ins_is_stopped(c) ? ", is stopped" : "");
}

/* by_arrival orders processes that have not called before the others, and by rank. */
static int by_arrival(const void *a, const void *b)
{
    const json_t *x = *(const json_t *const *)a, *y = *(const json_t *const *)b;
    int arrived[2] = {json_is_true(json_object_get(x, "arrived")),
                      json_is_true(json_object_get(y, "arrived"))};
    json_int_t rank[2] = {ins_number(x, "rank"), ins_number(y, "rank")};
    return arrived[0] != arrived[1] ? arrived[0] - arrived[1]
                                    : (rank[0] > rank[1]) - (rank[0] < rank[1]);
}

/* print_processes prints the processes of an operation, those first that have not called. */
static void print_processes(const json_t *list)
{
    enum { SHOWN = 8 };
    size_t shown = 0;
    size_t count = json_array_size(list);
    const json_t **process = calloc(count + 1, sizeof(*process));
    for (size_t i = 0; process && i < count; i++)
        process[i] = json_array_get(list, i);
    if (process)
        qsort((void *)process, count, sizeof(*process), by_arrival);
    for (; process && shown < count && shown < SHOWN; shown++)
        print_process(process[shown]);
    if (count > shown)
        printf("            and %zu more\n", count - shown);
    free((void *)process);
}

static void print_operation(const json_t *o)
{
    char age[32], arrived[256] = "none", missing[256] = "none";
    const json_t *kind = json_object_get(o, "kind");
    size_t came = json_array_size(json_object_get(o, "arrived"));
    size_t size = came + json_array_size(json_object_get(o, "missing"));
    json_int_t steps = json_integer_value(json_object_get(o, "steps"));
    ins_duration(age, sizeof age, json_integer_value(json_object_get(o, "age_ns")));
    ins_rank_runs(arrived, sizeof arrived, json_object_get(o, "arrived"));
    ins_rank_runs(missing, sizeof missing, json_object_get(o, "missing"));
    printf("\n%s%s: job %s, group %lld, number %lld\n", ins_is_late(o) ? "! " : "",
           *json_string_value(kind) ? json_string_value(kind) : "unknown call",
           json_string_value(json_object_get(o, "job")),
           (long long)json_integer_value(json_object_get(o, "group")),
           (long long)json_integer_value(json_object_get(o, "sequence")));
    printf("  %-9s for %s", json_string_value(json_object_get(o, "phase")), age);
    if (steps)
        printf(", %lld of %lld steps done",
               (long long)json_integer_value(json_object_get(o, "step")), (long long)steps);
    printf("\n  arrived   %zu of %zu ranks: %s\n  missing   %s\n", came, size, arrived, missing);
    ins_verdicts_print(o, false);
    print_processes(json_object_get(o, "processes"));
}

static void print_ops(struct ins_machine *m, json_t *all, bool as_json)
{
    json_t *operations = json_object_get(all, "operations"), *o = NULL;
    size_t count = json_array_size(operations), i = 0;
    json_t *groups = ins_groups(m), *forming = ins_forming(json_object_get(all, "jobs"), groups,
                                                           json_object_get(all, "clients"));
    ins_add_member_nodes(operations, groups);
    json_decref(groups);
    ins_add_processes(operations, json_object_get(all, "clients"));
    finish(operations, torus_node(m->c));
    ins_verdicts(m, all);
    json_array_foreach(operations, i, o) json_object_del(o, "member_nodes");
    json_t *stayed = ins_stayed(m, all);
    if (as_json) {
        json_t *out = ins_begin(m, 1);
        json_object_set(out, "operations", operations);
        json_object_set_new(out, "forming", forming);
        json_object_set_new(out, "stayed", stayed);
        ins_end(m, out);
        return;
    }
    char scope[64], nodes[80];
    ins_scope(scope, sizeof scope, geteuid());
    printf("%s: ", ins_machine_answers(m, nodes, sizeof nodes));
    if (count == 0)
        printf("no operation is in flight%s\n", scope);
    else
        printf("%zu operation%s in flight%s\n", count, count == 1 ? " is" : "s are", scope);
    ins_machine_print_silent(m);
    ins_stayed_print(stayed);
    json_array_foreach(operations, i, o) print_operation(o);
    for (i = 0; i < json_array_size(forming); i++) {
        putchar('\n');
        ins_forming_print(json_array_get(forming, i));
    }
    json_decref(forming);
    json_decref(stayed);
}

static int run(int argc, char **argv)
{
    return ins_ask("ops", argc, argv, print_ops);
}

const struct tool_command ctl_command_ops = {
    .name = "ops",
    .arguments = "[--here] [--timeout SECONDS] [--watch] [--json] [--socket PATH]",
    .what = "show the operations in flight, and why each waits",
    .options = ins_options,
    .run = run,
};
