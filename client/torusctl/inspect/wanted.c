/* SPDX-License-Identifier: Apache-2.0 */
#include "wanted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "torusctl/torusctl.h"

enum { SHOWN = 4 /* jobs */ };
#define LONG_NS 1000000000LL /* a call in flight for this time is told */

bool ins_wanted_take(struct ins_wanted *w, int *argc, char **argv)
{
    char *end = NULL;
    const char *user = tool_take_option(argc, argv, "--user");
    *w = (struct ins_wanted){.uid = -1};
    if (!user)
        return true;
    w->uid = strtoll(user, &end, 10);
    return *user >= '0' && *user <= '9' && !*end;
}

const char *ins_wanted_owner(const struct ins_wanted *w, char *text, size_t bytes)
{
    if (w->uid < 0)
        return "yours";
    snprintf(text, bytes, "user %lld", (long long)w->uid);
    return text;
}

bool ins_is_wanted(const struct ins_wanted *w, const char *name, json_int_t uid)
{
    return (!w->job || strcmp(w->job, name) == 0) && (w->uid < 0 || w->uid == uid);
}

/* add adds a job, unless it is that of the record or is in the list. */
static void add(json_t *others, const json_t *record, const char *name, json_int_t uid, bool runs)
{
    if (strcmp(ins_string(record, "job"), name) == 0 && ins_number(record, "uid") == uid)
        return;
    for (size_t i = 0; i < json_array_size(others); i++)
        if (strcmp(ins_string(json_array_get(others, i), "job"), name) == 0 &&
            ins_number(json_array_get(others, i), "uid") == uid)
            return;
    json_array_append_new(
        others, json_pack("{s:o s:I s:b}", "job", ins_text(name), "uid", uid, "runs", (int)runs));
}

/* is_call_of returns true if an operation is of a job with this name and user. The record of the
 * job has its user; the daemons of older releases do not say which job that is: then the name
 * decides. */
static bool is_call_of(const json_t *operation, const json_t *job, const json_t *records)
{
    const json_t *of = json_object_get(operation, "job_instance"), *r = NULL;
    size_t i = 0;
    if (strcmp(ins_string(operation, "job"), ins_string(job, "job")) != 0)
        return false;
    json_array_foreach(records, i, r)
    {
        if (json_integer_value(of) && json_object_get(r, "job") &&
            json_equal(json_object_get(r, "instance"), of))
            return ins_number(r, "uid") == ins_number(job, "uid");
    }
    return true;
}

/* by_waiting returns the jobs in which a call is in flight for long, the longest first, and then
 * the others. */
static json_t *by_waiting(const json_t *jobs)
{
    json_t *sorted = json_array(), *job = NULL;
    size_t i = 0;
    json_array_foreach(jobs, i, job)
    {
        json_int_t ns = ins_number(job, "waits_ns");
        size_t at = json_array_size(sorted);
        while (at > 0 && ns >= LONG_NS &&
               ins_number(json_array_get(sorted, at - 1), "waits_ns") < ns)
            at--;
        json_array_insert(sorted, at, job);
    }
    return sorted;
}

/* add_waiting adds how long the oldest call of each job has been in flight. */
static void add_waiting(json_t *jobs, const json_t *operations, const json_t *records)
{
    json_t *job = NULL;
    const json_t *o = NULL;
    size_t i = 0, k = 0;
    json_array_foreach(jobs, i, job)
    {
        json_int_t most = 0;
        json_array_foreach(operations, k, o)
        {
            if (json_is_true(json_object_get(job, "runs")) && is_call_of(o, job, records) &&
                ins_number(o, "age_ns") > most)
                most = ins_number(o, "age_ns");
        }
        json_object_set_new(job, "waits_ns", json_integer(most));
    }
}

json_t *ins_other_jobs(const struct ins_wanted *w, const json_t *record, const json_t *all,
                       const json_t *records)
{
    json_t *others = json_array(), *row = NULL, *sorted = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(all, "jobs"), i, row)
    {
        if (ins_is_wanted(w, ins_string(row, "name"), ins_number(row, "uid")))
            add(others, record, ins_string(row, "name"), ins_number(row, "uid"), true);
    }
    json_array_foreach(records, i, row)
    {
        if (w->job && json_object_get(row, "job") &&
            ins_is_wanted(w, ins_string(row, "job"), ins_number(row, "uid")))
            add(others, record, ins_string(row, "job"), ins_number(row, "uid"), false);
    }
    add_waiting(others, json_object_get(all, "operations"), records);
    sorted = by_waiting(others);
    json_decref(others);
    return sorted;
}

void ins_other_jobs_print(const json_t *others, const char *command)
{
    size_t count = json_array_size(others), i = 0;
    if (!count)
        return;
    printf("%zu other job%s", count, count == 1 ? ":" : "s:");
    for (; i < count && i < SHOWN; i++) {
        const json_t *o = json_array_get(others, i);
        bool runs = json_is_true(json_object_get(o, "runs"));
        char age[32], waits[64] = "";
        ins_duration(age, sizeof age, ins_number(o, "waits_ns"));
        if (ins_number(o, "waits_ns") >= LONG_NS)
            snprintf(waits, sizeof waits, " (a call has been in flight for %s)", age);
        printf("%s %s of user %lld%s", i ? "," : "", ins_string(o, "job"),
               (long long)ins_number(o, "uid"), runs ? waits : " (over)");
    }
    if (count > i)
        printf(" and %zu more", count - i);
    printf("; torusctl %s JOB [--user UID] shows another\n", command);
}
