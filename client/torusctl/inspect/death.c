/* SPDX-License-Identifier: Apache-2.0 */
#include "death.h"

#include <stdio.h>
#include <string.h>

#include "inspect.h"
#include "torus/torus.h"

#define AT_ONCE_NS 20000000 /* the death of a rank and the failure of a call are one event */

/* is_told_by_failure returns true if the first failure names the rank that died, and came at once:
 * it tells the time of the death, too. */
static bool is_told_by_failure(const json_t *record, const json_t *death)
{
    char named[32];
    snprintf(named, sizeof named, "rank %lld ", (long long)ins_number(death, "rank"));
    return ins_number(record, "error") != TORUS_OK && strstr(ins_string(record, "text"), named) &&
           ins_number(death, "age_ns") < ins_number(record, "failed_ns") + AT_ONCE_NS;
}

/* print_pause tells when the daemon of a rank that gave it up did not run: the rank had its error
 * then, before the daemon noticed. */
static void print_pause(const json_t *record, const json_t *death)
{
    int64_t end = ins_number(record, "unix_ns") - ins_number(death, "age_ns");
    char from[32], until[32];
    ins_moment(from, sizeof from, end - ins_number(death, "paused_ns"), 0);
    ins_moment(until, sizeof until, end, 0);
    printf("torusd on node %lld did not run from %s to %s: ranks there that gave it up had their "
           "errors in that time\n",
           (long long)ins_number(death, "node"), from, until);
}

void ins_death_print(const json_t *record)
{
    const json_t *death = json_object_get(record, "death");
    char ago[80], paused[32], before[60] = "", time[32];
    json_int_t earlier = ins_number(death, "age_ns") - ins_number(record, "failed_ns");
    long long rank = ins_number(death, "rank"), node = ins_number(death, "node"),
              pid = ins_number(death, "pid");
    if (!json_is_object(death))
        return;
    if (is_told_by_failure(record, death)) {
        if (ins_number(death, "paused_ns"))
            print_pause(record, death);
        return;
    }
    ins_ago(ago, sizeof ago, ins_number(record, "unix_ns"), ins_number(death, "age_ns"));
    ins_duration(paused, sizeof paused, ins_number(death, "paused_ns"));
    ins_duration(time, sizeof time, earlier);
    if (ins_number(record, "error") != TORUS_OK && earlier >= AT_ONCE_NS)
        snprintf(before, sizeof before, ", %s before that call failed", time);
    if (ins_number(death, "paused_ns"))
        printf("torusd on node %lld did not run for %s, and rank %lld, process %lld, gave it up or "
               "died meanwhile; torusd noticed that %s%s\n",
               node, paused, rank, pid, ago, before);
    else
        printf("rank %lld died %s%s: process %lld on node %lld\n", rank, ago, before, pid, node);
}
