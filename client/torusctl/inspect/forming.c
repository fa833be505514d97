/* SPDX-License-Identifier: Apache-2.0 */
#include "forming.h"

#include <stdio.h>

#include "groups.h"
#include "inspect.h"

enum { SHOWN = 4 /* processes */ };

/* joined_of returns the processes that wait for a job to form. */
static json_t *joined_of(const json_t *job, const json_t *clients)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(clients); i++) {
        const json_t *c = json_array_get(clients, i);
        if (json_is_true(json_object_get(c, "joining")) &&
            json_equal(json_object_get(c, "job"), json_object_get(job, "name")) &&
            json_equal(json_object_get(c, "uid"), json_object_get(job, "uid")))
            json_array_append_new(
                list, json_pack("{s:O s:O s:O s:O}", "rank", json_object_get(c, "rank"), "node",
                                json_object_get(c, "node"), "pid", json_object_get(c, "pid"),
                                "program", json_object_get(c, "program")));
    }
    return list;
}

json_t *ins_forming(const json_t *jobs, const json_t *groups, const json_t *clients)
{
    json_t *forming = json_array();
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        json_t *job = json_array_get(jobs, i);
        if (!ins_is_forming(jobs, groups, job))
            continue;
        json_object_del(job, "at");
        json_object_set_new(job, "processes", joined_of(job, clients));
        json_array_append(forming, job);
    }
    return forming;
}

void ins_forming_earlier(json_t *forming, json_int_t ns)
{
    for (size_t i = 0; i < json_array_size(forming); i++) {
        json_t *job = json_array_get(forming, i);
        json_int_t age = ins_number(job, "forming_ns"); /* 0: from an older daemon */
        if (age)
            json_object_set_new(job, "forming_ns", json_integer(age > ns ? age - ns : 1));
    }
}

json_t *ins_forming_latest(const json_t *forming, const struct ins_wanted *wanted)
{
    json_t *best = NULL;
    for (size_t i = 0; i < json_array_size(forming); i++) {
        json_t *job = json_array_get(forming, i);
        if (ins_is_wanted(wanted, ins_string(job, "name"), ins_number(job, "uid")) &&
            (!best || ins_number(job, "forming_ns") < ins_number(best, "forming_ns")))
            best = job;
    }
    return best;
}

static void print_processes(const json_t *list)
{
    size_t count = json_array_size(list);
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        const json_t *c = json_array_get(list, i);
        char rank[40] = "any rank";
        if (ins_number(c, "rank") >= 0)
            snprintf(rank, sizeof rank, "rank %lld", (long long)ins_number(c, "rank"));
        printf("  joined    %s on node %lld, process %lld, %s\n", rank,
               (long long)ins_number(c, "node"), (long long)ins_number(c, "pid"),
               ins_string(c, "program"));
    }
    if (count > SHOWN)
        printf("            and %zu more\n", count - SHOWN);
}

void ins_forming_print(const json_t *job)
{
    char missing[256], age[32], since[40];
    json_int_t ns = ins_number(job, "forming_ns"); /* 0: from an older daemon */
    ins_missing_ranks(missing, sizeof missing, job);
    ins_duration(age, sizeof age, ns);
    ins_clock(since, sizeof since, ns);
    printf("job %s of user %lld is forming: %lld of %lld ranks have joined\n",
           ins_string(job, "name"), (long long)ins_number(job, "uid"),
           (long long)ins_number(job, "joined"), (long long)ins_number(job, "size"));
    if (ns)
        printf("  waiting   for %s, since %s\n", age, since);
    printf("  missing   %s\n", missing);
    print_processes(json_object_get(job, "processes"));
    printf("  check     that the missing processes run, as user %lld and with this name and size "
           "(TORUS_JOB=%s, TORUS_SIZE=%lld),\n            and that torusctl doctor finds no fault "
           "on their hosts\n",
           (long long)ins_number(job, "uid"), ins_string(job, "name"),
           (long long)ins_number(job, "size"));
}

void ins_unformed_print(const json_t *job, json_int_t unix_ns)
{
    char begun[80], over[80];
    json_int_t size = ins_number(job, "size");
    ins_ago(begun, sizeof begun, unix_ns, ins_number(job, "begun_ns"));
    ins_ago(over, sizeof over, unix_ns, ins_number(job, "ended_ns"));
    printf("job %s of user %lld: %lld rank%s, did not form\n", ins_string(job, "job"),
           (long long)ins_number(job, "uid"), (long long)size, size == 1 ? "" : "s");
    printf("  began     %s, when its first process joined\n", begun);
    printf("  ended     %s\n", over);
    printf("  why       %s\n", ins_string(job, "text"));
}
