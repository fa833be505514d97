/* SPDX-License-Identifier: Apache-2.0 */
#include "merge.h"

#include <stdlib.h>
#include <string.h>

#include "inspect.h"

/* ---- jobs ---- */

static bool same_job(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "name"), json_object_get(b, "name")) &&
           ins_number(a, "uid") == ins_number(b, "uid") &&
           ins_number(a, "size") == ins_number(b, "size");
}

/* turn returns how many rows of the same job its node has listed before a row: a job that has ended
 * may have a successor of the same name. */
static size_t turn(const json_t *rows, size_t at)
{
    size_t count = 0;
    const json_t *row = json_array_get(rows, at);
    for (size_t i = 0; i < at; i++)
        count += same_job(json_array_get(rows, i), row) &&
                 ins_number(json_array_get(rows, i), "at") == ins_number(row, "at");
    return count;
}

/* join adds the ranks that another node knows of to the row of a job. A node that does not keep the
 * list of jobs knows its own ranks only. */
static void join(json_t *known, const json_t *row)
{
    json_t *missing = json_object_get(known, "missing");
    const json_t *there = json_object_get(row, "missing");
    for (size_t i = json_array_size(missing); i-- > 0;)
        if (!ins_has(there, json_array_get(missing, i)))
            json_array_remove(missing, i);
    json_int_t found = ins_number(known, "size") - (json_int_t)json_array_size(missing);
    if (ins_number(row, "joined") > found)
        found = ins_number(row, "joined");
    if (ins_number(known, "joined") < found)
        json_object_set_new(known, "joined", json_integer(found));
    if (json_array_size(json_object_get(row, "gone_nodes"))) /* the row of the list of jobs */
        json_object_set(known, "gone_nodes", json_object_get(row, "gone_nodes"));
    if (ins_number(row, "forming_ns") > ins_number(known, "forming_ns"))
        json_object_set(known, "forming_ns", json_object_get(row, "forming_ns"));
}

json_t *ins_merge_jobs(const json_t *rows)
{
    json_t *merged = json_array();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        size_t left = turn(rows, i), k = 0;
        for (; k < json_array_size(merged); k++)
            if (same_job(json_array_get(merged, k), row) && left-- == 0)
                break;
        if (k == json_array_size(merged))
            json_array_append(merged, row);
        else
            join(json_array_get(merged, k), row);
    }
    return merged;
}

/* ---- operations ---- */

bool ins_is_operation_of(const json_t *operation, const char *job, json_int_t instance)
{
    if (ins_number(operation, "job_instance"))
        return ins_number(operation, "job_instance") == instance;
    return strcmp(ins_string(operation, "job"), job) == 0 &&
           (ins_number(operation, "group") != 0 || ins_number(operation, "instance") == instance);
}

static bool is_shrink(const json_t *row)
{
    return strcmp(ins_string(row, "kind"), "shrink") == 0;
}

bool ins_is_same_operation(const json_t *a, const json_t *b)
{
    return ins_number(a, "instance") == ins_number(b, "instance") &&
           ins_number(a, "sequence") == ins_number(b, "sequence") && is_shrink(a) == is_shrink(b);
}

/* find returns the row of the same operation, or NULL. */
static json_t *find(const json_t *merged, const json_t *row)
{
    for (size_t i = 0; i < json_array_size(merged); i++)
        if (ins_is_same_operation(json_array_get(merged, i), row))
            return json_array_get(merged, i);
    return NULL;
}

/* split_ranks makes the lists of arrived and missing ranks of two rows: arrived for one is arrived.
 */
static void split_ranks(json_t *to, const json_t *row)
{
    const json_t *lists[2] = {json_object_get(to, "arrived"), json_object_get(row, "arrived")};
    size_t size = json_array_size(lists[0]) + json_array_size(json_object_get(to, "missing"));
    bool *here = calloc(size + 1, sizeof *here);
    json_t *arrived = json_array(), *missing = json_array();
    for (int l = 0; here && l < 2; l++)
        for (size_t i = 0; i < json_array_size(lists[l]); i++) {
            json_int_t rank = json_integer_value(json_array_get(lists[l], i));
            if (rank >= 0 && (size_t)rank < size)
                here[rank] = true;
        }
    for (size_t r = 0; here && r < size; r++)
        json_array_append_new(here[r] ? arrived : missing, json_integer((json_int_t)r));
    if (here) {
        json_object_set(to, "arrived", arrived);
        json_object_set(to, "missing", missing);
    }
    json_decref(arrived);
    json_decref(missing);
    free(here);
}

/* add_absent adds the description of a missing rank: that of its own node replaces others. */
static void add_absent(json_t *list, json_t *absent)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *a = json_array_get(list, i);
        if (ins_number(a, "rank") != ins_number(absent, "rank"))
            continue;
        if (ins_number(absent, "pid") && !ins_number(a, "pid"))
            json_array_set(list, i, absent);
        return;
    }
    json_array_append(list, absent);
}

/* note_wait keeps which node the operation waits for at the node that has sent the row. */
static void note_wait(json_t *to, json_t *row)
{
    json_t *waits = json_object_get(to, "waits");
    if (!waits)
        json_object_set_new(to, "waits", waits = json_array());
    if (ins_number(row, "waits_for"))
        json_array_append_new(waits, json_pack("{s:O s:I s:O}", "node", json_object_get(row, "at"),
                                               "waits_for", ins_number(row, "waits_for") - 1,
                                               "idle_ns", json_object_get(row, "idle_ns")));
}

static void merge(json_t *to, const json_t *row)
{
    json_t *absent = json_object_get(row, "absent"), *a = NULL;
    size_t i = 0;
    split_ranks(to, row);
    json_array_foreach(absent, i, a) add_absent(json_object_get(to, "absent"), a);
    if (!*ins_string(to, "kind"))
        json_object_set(to, "kind", json_object_get(row, "kind"));
    if (strcmp(ins_string(row, "phase"), "running") == 0)
        json_object_set(to, "phase", json_object_get(row, "phase"));
    if (ins_number(row, "age_ns") > ins_number(to, "age_ns"))
        json_object_set(to, "age_ns", json_object_get(row, "age_ns"));
    if (!json_is_true(json_object_get(row, "nobody_waits")))
        json_object_del(to, "nobody_waits");
    if (!ins_number(to, "job_instance"))
        json_object_set(to, "job_instance", json_object_get(row, "job_instance"));
    json_object_set_new(to, "step", json_integer(ins_number(to, "step") + ins_number(row, "step")));
    json_object_set_new(to, "steps",
                        json_integer(ins_number(to, "steps") + ins_number(row, "steps")));
}

/* drop_arrived removes the descriptions of ranks that have arrived, as another node knows. */
static void drop_arrived(json_t *operation)
{
    json_t *list = json_object_get(operation, "absent");
    const json_t *missing = json_object_get(operation, "missing");
    for (size_t i = json_array_size(list); i-- > 0;)
        if (!ins_has_number(missing, ins_number(json_array_get(list, i), "rank")))
            json_array_remove(list, i);
}

/* finish removes what only the merge needs. */
static void finish(json_t *operation)
{
    drop_arrived(operation);
    json_object_del(operation, "waits_for");
    json_object_del(operation, "idle_ns");
}

json_t *ins_merge_operations(const json_t *rows)
{
    json_t *merged = json_array();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i), *to = find(merged, row);
        if (to)
            merge(to, row);
        else
            json_array_append(merged, row);
        note_wait(to ? to : row, row);
    }
    for (size_t i = 0; i < json_array_size(merged); i++)
        finish(json_array_get(merged, i));
    return merged;
}

void ins_drop_abandoned(json_t *operations, bool all_answer)
{
    for (size_t i = json_array_size(operations); i-- > 0;) {
        json_t *o = json_array_get(operations, i);
        if (all_answer && json_is_true(json_object_get(o, "nobody_waits")))
            json_array_remove(operations, i);
        else
            json_object_del(o, "nobody_waits");
    }
}

/* ---- records ---- */

/* note_death makes the first death of a job that of a row, if that one is earlier: "death". */
static void note_death(json_t *record, const json_t *row)
{
    json_int_t age = ins_number(row, "died_ns");
    if (age > ins_number(json_object_get(record, "death"), "age_ns"))
        json_object_set_new(record, "death",
                            json_pack("{s:I s:O s:O s:O s:I}", "age_ns", age, "rank",
                                      json_object_get(row, "died_rank"), "node",
                                      json_object_get(row, "at"), "pid",
                                      json_object_get(row, "died_pid"), "paused_ns",
                                      ins_number(row, "died_paused_ns")));
}

void ins_merge_record(json_t *record, const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!json_object_get(row, "job") ||
            ins_number(row, "instance") != ins_number(record, "instance"))
            continue;
        if (ins_number(row, "formed_ns") > ins_number(record, "formed_ns"))
            json_object_set(record, "formed_ns", json_object_get(row, "formed_ns"));
        if (ins_number(row, "ended_ns") < ins_number(record, "ended_ns"))
            json_object_set(record, "ended_ns", json_object_get(row, "ended_ns"));
        if (ins_number(row, "failed_ns") > ins_number(record, "failed_ns")) {
            json_object_set(record, "failed_ns", json_object_get(row, "failed_ns"));
            json_object_set(record, "error", json_object_get(row, "error"));
            json_object_set(record, "text", json_object_get(row, "text"));
        }
        note_death(record, row);
        if (ins_number(row, "operations") > ins_number(record, "operations"))
            json_object_set(record, "operations", json_object_get(row, "operations"));
        if (json_array_size(json_object_get(record, "nodes")) == 0)
            json_object_set(record, "nodes", json_object_get(row, "nodes"));
    }
}

/* has_record returns true if a node has a record of a job. */
static bool has_record(const json_t *rows, json_int_t node, json_int_t instance)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (json_object_get(row, "job") && ins_number(row, "at") == node &&
            ins_number(row, "instance") == instance)
            return true;
    }
    return false;
}

json_t *ins_merge_without(const json_t *record, const json_t *rows, const json_t *silent,
                          const json_t *daemons)
{
    json_t *without = json_array(), *n = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(record, "nodes"), i, n)
    {
        json_int_t node = json_integer_value(n);
        const json_t *daemon = ins_find(daemons, "at", node);
        json_int_t age = ins_number(daemon, "age_ns");
        bool restarted = daemon && age < ins_number(record, "formed_ns");
        if (has_record(rows, node, ins_number(record, "instance")))
            continue;
        const char *reason = ins_find(silent, "node", node) ? "silent"
                             : restarted                    ? "restarted"
                                                            : "replaced";
        json_array_append_new(without, json_pack("{s:O s:s s:I}", "node", n, "reason", reason,
                                                 "age_ns", restarted ? age : (json_int_t)0));
    }
    return without;
}

/* ---- silence ---- */

void ins_merge_silence(json_t *silent, const json_t *heard)
{
    for (size_t i = 0; i < json_array_size(silent); i++) {
        json_t *s = json_array_get(silent, i);
        for (size_t k = 0; k < json_array_size(heard); k++) {
            const json_t *h = json_array_get(heard, k);
            json_int_t ns = ins_number(h, "silent_ns"), known = ins_number(s, "silent_ns");
            if (ins_number(h, "node") != ins_number(s, "node") || ns == 0 || (known && known <= ns))
                continue;
            json_object_set(s, "silent_ns", json_object_get(h, "silent_ns"));
            json_object_set(s, "heard_by", json_object_get(h, "at"));
        }
    }
}
