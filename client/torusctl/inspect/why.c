/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl why: what stopped a job, or slows it down. */
#include <stdio.h>

#include "collect.h"
#include "death.h"
#include "inspect.h"
#include "lost.h"
#include "outages.h"
#include "present.h"
#include "records.h"
#include "remains.h"
#include "silences.h"
#include "sides.h"
#include "stayed.h"
#include "torusctl/torusctl.h"

/* print_named prints where the ranks run that the sentence of the failure names. */
static void print_named(const json_t *record)
{
    const json_t *named = json_object_get(record, "named"), *r = NULL;
    size_t i = 0;
    json_array_foreach(named, i, r)
    {
        char host[INS_HOST_BYTES + 16] = "", process[40] = "";
        if (*ins_string(r, "host"))
            snprintf(host, sizeof host, " (host %s)", ins_string(r, "host"));
        if (ins_number(r, "pid"))
            snprintf(process, sizeof process, ", process %lld", (long long)ins_number(r, "pid"));
        printf("  rank %lld is on node %lld%s%s\n", (long long)ins_number(r, "rank"),
               (long long)ins_number(r, "node"), host, process);
    }
}

#define LONG_NS 1000000000
#define LITTLE 0.01 /* of the time of the ranks: waiting that is no one's fault */

/* share_waited returns which part of their time the ranks of a job waited for one another. */
static double share_waited(const json_t *record)
{
    json_int_t age = ins_number(record, "formed_ns") - ins_number(record, "ended_ns");
    double all = (double)age * (double)ins_number(record, "size");
    return all > 0 ? (double)ins_number(record, "waited_ns") / all : 1;
}

/* print_worst prints the rank that made others wait most in the calls that are over. */
static void print_worst(const json_t *record, const char *before)
{
    const json_t *worst = json_array_get(json_object_get(record, "stragglers"), 0);
    double all = (double)ins_number(record, "waited_ns");
    char waited[32], longest[200] = "", time[32], in[120], process[40] = "", stopped[240];
    if (!worst || all <= 0)
        return;
    ins_duration(waited, sizeof waited, ins_number(worst, "waited_ns"));
    ins_duration(time, sizeof time, ins_number(worst, "longest_ns"));
    ins_record_longest(in, sizeof in, record, worst);
    if (ins_number(worst, "longest_ns"))
        snprintf(longest, sizeof longest, "; the longest wait was %s%s%s", time, *in ? ", in " : "",
                 in);
    if (ins_number(worst, "pid"))
        snprintf(process, sizeof process, ", process %lld", (long long)ins_number(worst, "pid"));
    ins_outages_rank(stopped, sizeof stopped, record, ins_number(worst, "rank"));
    if (share_waited(record) < LITTLE && ins_number(worst, "longest_ns") < LONG_NS && !*stopped) {
        ins_duration(waited, sizeof waited, ins_number(record, "waited_ns"));
        printf("%sthe ranks hardly waited for one another: %s, summed over them, %.1f %% of their "
               "time\n",
               before, waited, 100 * share_waited(record));
        return;
    }
    printf(
        "%sthe others waited most for rank %lld on node %lld%s%s%s: %s, summed over them, %.0f %% "
        "of all waiting%s%s\n",
        before, (long long)ins_number(worst, "rank"), (long long)ins_number(worst, "node"), process,
        *stopped ? ", which " : "", stopped, waited,
        100 * (double)ins_number(worst, "waited_ns") / all,
        json_array_size(json_object_get(record, "silences")) ? " for ranks" : "", longest);
}

/* print_past prints what made the ranks wait in the calls that are over, the longest waiting first.
 */
static void print_past(const json_t *record, const char *before)
{
    const json_t *silence = json_array_get(json_object_get(record, "silences"), 0),
                 *worst = json_array_get(json_object_get(record, "stragglers"), 0);
    bool silent = ins_number(silence, "waited_ns") > ins_number(worst, "waited_ns");
    if (silent)
        ins_silences_print(json_object_get(record, "silences"), ins_number(record, "unix_ns"));
    print_worst(record, before);
    if (!silent)
        ins_silences_print(json_object_get(record, "silences"), ins_number(record, "unix_ns"));
    ins_outages_print_ranks(record, worst ? ins_number(worst, "rank") : -1);
    ins_record_print_without(record);
}

static void show(const json_t *record)
{
    const json_t *present = json_object_get(record, "in_flight");
    bool now_first = ins_present_comes_first(present, json_object_get(record, "stragglers"));
    ins_record_print_job(record);
    ins_remains_print(record);
    if (now_first)
        ins_present_print(present);
    ins_record_print_failure(record);
    ins_sides_print(json_object_get(record, "sides"), ins_number(record, "size"));
    if (ins_number(record, "error") == TORUS_OK)
        puts("no call has failed");
    ins_lost_print(record);
    ins_death_print(record);
    ins_stayed_print(json_object_get(record, "stayed"));
    print_named(record);
    print_past(record, now_first ? "before, " : "");
    if (!now_first)
        ins_present_print(present);
}

static int run(int argc, char **argv)
{
    return ins_record_run(argc, argv, show);
}

const struct tool_command ctl_command_why = {
    .name = "why",
    .arguments =
        "[JOB] [--user UID] [--here] [--timeout SECONDS] [--watch] [--json] [--socket PATH]",
    .what = "show what stopped a job, also one that is over, or slows it down",
    .options = "  JOB                  the job, also one that is over (default: the "
               "latest)\n" INS_USER_OPTION INS_OPTIONS,
    .run = run,
};
