/* SPDX-License-Identifier: Apache-2.0 */
#include "remains.h"

#include <stdio.h>
#include <string.h>

#include "groups.h"
#include "inspect.h"
#include "job_states.h"
#include "torus/torus.h"

enum { SHOWN = 4 /* processes */ };

static bool is_of(const json_t *row, const char *name, const json_t *record)
{
    return json_equal(json_object_get(row, name), json_object_get(record, "job")) &&
           ins_number(row, "uid") == ins_number(record, "uid");
}

/* group_of returns the group of all ranks of a job, or NULL if no node has it. */
static const json_t *group_of(const json_t *record, const json_t *groups)
{
    const json_t *g = NULL;
    size_t i = 0;
    char id[24];
    snprintf(id, sizeof id, "%016llx", (unsigned long long)ins_number(record, "instance"));
    json_array_foreach(groups, i, g)
    {
        if (json_is_true(json_object_get(g, "is_job")) && strcmp(ins_string(g, "id"), id) == 0)
            return g;
    }
    return NULL;
}

/* only_job returns a copy of the list of jobs with the only one of the name and user of a record;
 * an empty list if there are several, or none. */
static json_t *only_job(const json_t *record, const json_t *jobs)
{
    json_t *list = json_array(), *job = NULL;
    size_t i = 0;
    json_array_foreach(jobs, i, job)
    {
        if (is_of(job, "name", record))
            json_array_append_new(list, json_copy(job));
    }
    if (json_array_size(list) > 1)
        json_array_clear(list);
    return list;
}

static json_t *processes_of(const json_t *record, const json_t *clients)
{
    static const char *const keys[] = {"rank", "node", "pid", "program", "process_state"};
    json_t *list = json_array();
    const json_t *c = NULL;
    size_t i = 0;
    json_array_foreach(clients, i, c)
    {
        if (!is_of(c, "job", record) || !ins_is_rank(c))
            continue;
        json_t *process = json_object();
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            json_object_set(process, keys[k], json_object_get(c, keys[k]));
        json_array_append_new(list, process);
    }
    return list;
}

void ins_remains(json_t *record, const json_t *jobs, const json_t *groups, const json_t *clients,
                 const json_t *silent)
{
    bool over = ins_number(record, "ended_ns") != 0;
    json_t *job = over ? json_array() : only_job(record, jobs);
    bool only = json_array_size(job) == 1;
    const json_t *group = over ? NULL : group_of(record, groups), *found = group;
    if (!over && (!group || strcmp(ins_string(group, "state"), "active") == 0)) {
        ins_job_states(job, groups, silent); /* ranks may be gone without a call that failed */
        found = only ? json_array_get(job, 0) : NULL;
    }
    const char *state = over ? "over" : found ? ins_string(found, "state") : "unknown";
    json_object_set_new(record, "state", json_string(state));
    json_object_set_new(record, "reason", ins_text(ins_string(found, "text")));
    json_object_set_new(record, "processes", only ? processes_of(record, clients) : json_array());
    json_decref(job);
}

static void print_processes(const json_t *record)
{
    const json_t *list = json_object_get(record, "processes"), *p = NULL;
    size_t count = 0, shown = 0, i = 0;
    json_array_foreach(list, i, p) count += !ins_is_stopped(p);
    if (count == 0) {
        printf("! job %s is broken\n", ins_string(record, "job"));
        return;
    }
    printf("! job %s is broken, and not over: %zu process%s not left:", ins_string(record, "job"),
           count, count == 1 ? " has" : "es have");
    json_array_foreach(list, i, p)
    {
        if (ins_is_stopped(p) || shown == SHOWN)
            continue;
        printf("%s rank %lld on node %lld, process %lld (%s)", shown++ ? ";" : "",
               (long long)ins_number(p, "rank"), (long long)ins_number(p, "node"),
               (long long)ins_number(p, "pid"), ins_string(p, "program"));
    }
    if (count > shown)
        printf("; and %zu more", count - shown);
    putchar('\n');
}

void ins_remains_print(const json_t *record)
{
    const char *reason = ins_string(record, "reason");
    if (strcmp(ins_string(record, "state"), "broken") != 0)
        return;
    print_processes(record);
    if (*reason && ins_number(record, "error") == TORUS_OK) /* else the failure tells it */
        printf("  %s\n", reason);
}
