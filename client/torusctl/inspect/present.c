/* SPDX-License-Identifier: Apache-2.0 */
#include "present.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "inspect.h"
#include "merge.h"
#include "verdict.h"

enum { SHOWN = 4 /* operations, and ranks of each */ };
#define LONG_NS 1000000000LL /* a call in flight for this time comes before those that are over */

static int older(const void *a, const void *b)
{
    json_int_t x = ins_number(*(json_t *const *)a, "age_ns"),
               y = ins_number(*(json_t *const *)b, "age_ns");
    return (x < y) - (x > y);
}

/* rank_of_job returns the rank in the job of a process that is listed as a rank of a group, or NULL
 * if it has left the job's first group. */
static json_t *rank_of_job(const json_t *clients, const json_t *client)
{
    json_t *c = NULL;
    size_t i = 0;
    if (ins_number(client, "seat") == 0)
        return json_object_get(client, "rank");
    json_array_foreach(clients, i, c)
    {
        if (ins_number(c, "seat") == 0 && ins_number(c, "pid") == ins_number(client, "pid") &&
            ins_number(c, "node") == ins_number(client, "node") &&
            json_equal(json_object_get(c, "job"), json_object_get(client, "job")))
            return json_object_get(c, "rank");
    }
    return NULL;
}

void ins_add_processes(json_t *operations, const json_t *clients)
{
    json_t *o = NULL, *c = NULL;
    size_t i = 0, k = 0;
    json_array_foreach(operations, i, o)
    {
        json_t *processes = json_array();
        json_array_foreach(clients, k, c)
        {
            json_t *rank = json_object_get(c, "rank"), *of_job = NULL;
            if (!json_equal(json_object_get(c, "job"), json_object_get(o, "job")) ||
                !json_equal(json_object_get(c, "seat"), json_object_get(o, "group")) ||
                json_integer_value(rank) < 0 || json_is_true(json_object_get(c, "joining")))
                continue;
            of_job = rank_of_job(clients, c);
            json_array_append_new(
                processes, json_pack("{s:O s:O s:O s:O s:b s:O s:s}", "rank", rank, "job_rank",
                                     of_job ? of_job : rank, "pid", json_object_get(c, "pid"),
                                     "program", json_object_get(c, "program"), "arrived",
                                     ins_has(json_object_get(o, "arrived"), rank), "node",
                                     json_object_get(c, "node"), "process_state",
                                     ins_string(c, "process_state")));
        }
        json_object_set_new(o, "processes", processes);
    }
}

/* of_job returns the operations of a job, those in flight for the longest time first. */
static json_t *of_job(const json_t *operations, const char *job, json_int_t instance)
{
    size_t count = json_array_size(operations), found = 0;
    json_t **item = calloc(count + 1, sizeof *item), *list = json_array();
    for (size_t i = 0; item && i < count; i++)
        if (ins_is_operation_of(json_array_get(operations, i), job, instance))
            item[found++] = json_array_get(operations, i);
    if (item)
        qsort(item, found, sizeof *item, older);
    for (size_t i = 0; i < found; i++)
        json_array_append(list, item[i]);
    free(item);
    return list;
}

json_t *ins_present(struct ins_machine *m, json_t *all, const char *job, json_int_t instance)
{
    static const char *const keys[] = {"kind",   "group",   "sequence", "phase",
                                       "age_ns", "missing", "absent",   "causes"};
    json_t *present = json_array(), *o = NULL;
    json_t *judged = json_pack("{s:o s:O}", "operations",
                               of_job(json_object_get(all, "operations"), job, instance), "peers",
                               json_object_get(all, "peers"));
    json_t *operations = json_object_get(judged, "operations");
    json_object_set(judged, "shape", json_object_get(all, "shape"));
    json_object_set(judged, "wrap", json_object_get(all, "wrap"));
    size_t i = 0;
    ins_add_processes(operations, json_object_get(all, "clients"));
    ins_verdicts(m, judged);
    json_array_foreach(operations, i, o)
    {
        json_t *row = json_object();
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            json_object_set(row, keys[k], json_object_get(o, keys[k]));
        json_array_append_new(present, row);
    }
    json_decref(judged);
    return present;
}

bool ins_present_comes_first(const json_t *present, const json_t *stragglers)
{
    json_int_t age = ins_number(json_array_get(present, 0), "age_ns");
    return age >= LONG_NS || age > ins_number(json_array_get(stragglers, 0), "waited_ns");
}

/* print_absent prints where the missing ranks of an operation run. */
static void print_absent(const json_t *operation)
{
    const json_t *absent = json_object_get(operation, "absent");
    size_t missing = json_array_size(json_object_get(operation, "missing")), shown = 0;
    for (; shown < SHOWN && shown < json_array_size(absent); shown++) {
        const json_t *a = json_array_get(absent, shown);
        printf("%s rank %lld on node %lld", shown ? "," : ", for",
               (long long)ins_number(a, "job_rank"), (long long)ins_number(a, "node"));
        if (ins_number(a, "pid"))
            printf(", process %lld", (long long)ins_number(a, "pid"));
    }
    size_t rest = missing > shown ? missing - shown : 0;
    if (rest && shown)
        printf(" and %zu more", rest);
    else if (rest)
        printf(", for %zu rank%s", rest, rest == 1 ? "" : "s");
}

static void print_operation(const json_t *o)
{
    char age[32], since[32];
    ins_duration(age, sizeof age, ins_number(o, "age_ns"));
    ins_clock(since, sizeof since, ins_number(o, "age_ns"));
    printf("  %s, operation %lld, has %s for %s, since %s",
           *ins_string(o, "kind") ? ins_string(o, "kind") : "unknown call",
           (long long)ins_number(o, "sequence"),
           strcmp(ins_string(o, "phase"), "running") == 0 ? "run" : "waited", age, since);
    print_absent(o);
    putchar('\n');
}

void ins_present_print(const json_t *present)
{
    size_t count = json_array_size(present);
    if (count == 0)
        return;
    bool reasons = ins_number(json_array_get(present, 0), "age_ns") >= LONG_NS;
    printf("now %zu call%s in flight%s:\n", count, count == 1 ? " is" : "s are",
           reasons && count == 1 ? "" : " (torusctl ops has the reasons)");
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        print_operation(json_array_get(present, i));
        if (i == 0 && reasons)
            ins_verdicts_print(json_array_get(present, i), true);
    }
    if (count > SHOWN)
        printf("  and %zu more\n", count - SHOWN);
}
