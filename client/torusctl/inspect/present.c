/* SPDX-License-Identifier: Apache-2.0 */
#include "present.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "inspect.h"
#include "merge.h"

enum { SHOWN = 4 /* operations, and ranks of each */ };

static int older(const void *a, const void *b)
{
    json_int_t x = ins_number(*(json_t *const *)a, "age_ns"),
               y = ins_number(*(json_t *const *)b, "age_ns");
    return (x < y) - (x > y);
}

json_t *ins_present(struct ins_machine *m, const char *job, json_int_t instance)
{
    json_t *rows = ins_machine_rows(m, TD_STATUS_OPERATIONS, ins_state_json);
    if (!rows)
        return NULL;
    json_t *all = ins_merge_operations(rows), *present = json_array();
    size_t count = json_array_size(all), found = 0;
    json_t **item = calloc(count + 1, sizeof *item);
    for (size_t i = 0; item && i < count; i++)
        if (ins_is_operation_of(json_array_get(all, i), job, instance))
            item[found++] = json_array_get(all, i);
    if (item)
        qsort(item, found, sizeof *item, older);
    for (size_t i = 0; i < found; i++)
        json_array_append_new(present, json_pack("{s:O s:O s:O s:O s:O s:O s:O}", "kind",
                                                 json_object_get(item[i], "kind"), "group",
                                                 json_object_get(item[i], "group"), "sequence",
                                                 json_object_get(item[i], "sequence"), "phase",
                                                 json_object_get(item[i], "phase"), "age_ns",
                                                 json_object_get(item[i], "age_ns"), "missing",
                                                 json_object_get(item[i], "missing"), "absent",
                                                 json_object_get(item[i], "absent")));
    free(item);
    json_decref(all);
    json_decref(rows);
    return present;
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
    printf("now %zu call%s in flight (torusctl ops has the reasons):\n", count,
           count == 1 ? " is" : "s are");
    for (size_t i = 0; i < count && i < SHOWN; i++)
        print_operation(json_array_get(present, i));
    if (count > SHOWN)
        printf("  and %zu more\n", count - SHOWN);
}
