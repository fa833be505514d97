/* SPDX-License-Identifier: Apache-2.0 */
#include "wanted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "torusctl/torusctl.h"

enum { SHOWN = 4 /* jobs */ };

bool ins_wanted_take(struct ins_wanted *w, int *argc, char **argv)
{
    char *end = NULL;
    const char *user = ctl_take_option(argc, argv, "--user");
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

json_t *ins_other_jobs(const struct ins_wanted *w, const json_t *record, const json_t *jobs,
                       const json_t *records)
{
    json_t *others = json_array(), *row = NULL;
    size_t i = 0;
    json_array_foreach(jobs, i, row)
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
    return others;
}

void ins_other_jobs_print(const json_t *others, const char *command)
{
    size_t count = json_array_size(others), i = 0;
    if (!count)
        return;
    printf("%zu other job%s", count, count == 1 ? ":" : "s:");
    for (; i < count && i < SHOWN; i++) {
        const json_t *o = json_array_get(others, i);
        printf("%s %s of user %lld%s", i ? "," : "", ins_string(o, "job"),
               (long long)ins_number(o, "uid"),
               json_is_true(json_object_get(o, "runs")) ? "" : " (over)");
    }
    if (count > i)
        printf(" and %zu more", count - i);
    printf("; torusctl %s JOB [--user UID] shows another\n", command);
}
