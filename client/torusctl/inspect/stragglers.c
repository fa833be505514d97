/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl stragglers: the ranks of a job for which others waited, the worst first. */
#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>

#include "collect.h"
#include "inspect.h"
#include "outages.h"
#include "present.h"
#include "records.h"
#include "silences.h"
#include "torusctl/torusctl.h"

enum { SHOWN = 10 };

/* kinds_text writes "barrier 12.5s (40), reduce 3ms (2)". */
static void kinds_text(char *text, size_t bytes, const json_t *kinds)
{
    text[0] = '\0';
    for (size_t i = 0, length = 0; i < json_array_size(kinds) && length < bytes; i++) {
        const json_t *k = json_array_get(kinds, i);
        char time[32];
        ins_duration(time, sizeof time, ins_number(k, "waited_ns"));
        snprintf(text + length, bytes - length, "%s%s %s (%lld)", i ? ", " : "",
                 ins_string(k, "kind"), time, (long long)ins_number(k, "last"));
        length = strlen(text);
    }
}

static void print_stragglers(const json_t *record)
{
    enum { RANK, NODE, PROCESS, SHARE, WAITED, LAST, LONGEST, IN, KINDS, COLUMNS };
    static const char *const names[COLUMNS] = {
        "RANK", "NODE", "PROCESS", "SHARE", "WAITED FOR", "LAST TO CALL", "LONGEST", "IN", "KINDS"};
    const json_t *list = json_object_get(record, "stragglers");
    double all = (double)ins_number(record, "waited_ns");
    if (json_array_size(list) == 0)
        return;
    struct libscols_table *t = scols_new_table();
    for (int i = 0; i < COLUMNS; i++)
        scols_table_new_column(t, names[i], 0, i < IN ? SCOLS_FL_RIGHT : 0);
    for (size_t i = 0; i < json_array_size(list) && i < SHOWN; i++) {
        const json_t *r = json_array_get(list, i);
        struct libscols_line *line = scols_table_new_line(t, NULL);
        char text[COLUMNS][256];
        snprintf(text[RANK], sizeof text[0], "%lld", (long long)ins_number(r, "rank"));
        snprintf(text[NODE], sizeof text[0], "%lld", (long long)ins_number(r, "node"));
        snprintf(text[PROCESS], sizeof text[0], ins_number(r, "pid") ? "%lld" : "-",
                 (long long)ins_number(r, "pid"));
        snprintf(text[SHARE], sizeof text[0], "%.0f %%",
                 all > 0 ? 100 * (double)ins_number(r, "waited_ns") / all : 0);
        ins_duration(text[WAITED], sizeof text[0], ins_number(r, "waited_ns"));
        snprintf(text[LAST], sizeof text[0], "%lld", (long long)ins_number(r, "last"));
        ins_duration(text[LONGEST], sizeof text[0], ins_number(r, "longest_ns"));
        if (!ins_number(r, "longest_ns"))
            snprintf(text[LONGEST], sizeof text[0], "-");
        ins_record_longest(text[IN], sizeof text[0], record, r);
        kinds_text(text[KINDS], sizeof text[0], json_object_get(r, "kinds"));
        for (int k = 0; k < COLUMNS; k++)
            scols_line_set_data(line, (size_t)k, text[k]);
    }
    putchar('\n');
    scols_print_table(t);
    scols_unref_table(t);
    if (json_array_size(list) > SHOWN)
        printf("and %zu more ranks\n", json_array_size(list) - SHOWN);
}

static void show(const json_t *record)
{
    char waited[32];
    long long calls = (long long)ins_number(record, "calls");
    ins_duration(waited, sizeof waited, ins_number(record, "waited_ns"));
    ins_record_print_job(record);
    printf("%lld call%s over; the ranks waited %s, summed over the ranks, for a rank that called "
           "last\n",
           calls, calls == 1 ? " is" : "s are", waited);
    ins_silences_print(json_object_get(record, "silences"), ins_number(record, "unix_ns"));
    ins_outages_print_ranks(record, -1);
    ins_record_print_without(record);
    ins_record_print_failure(record);
    ins_present_print(json_object_get(record, "in_flight"));
    print_stragglers(record);
}

static int run(int argc, char **argv)
{
    return ins_record_run(argc, argv, show);
}

const struct tool_command ctl_command_stragglers = {
    .name = "stragglers",
    .arguments =
        "[JOB] [--user UID] [--here] [--timeout SECONDS] [--watch] [--json] [--socket PATH]",
    .what = "show the ranks of a job for which others waited, the worst first",
    .options = "  JOB                  the job, also one that is over (default: the "
               "latest)\n" INS_USER_OPTION INS_OPTIONS,
    .run = run,
};
