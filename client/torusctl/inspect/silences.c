/* SPDX-License-Identifier: Apache-2.0 */
#include "silences.h"

#include <stdio.h>

#include "inspect.h"

#define LATER_NS                                                                                   \
    1000000000LL /* messages came so long after their node was heard again, or sooner */

static void add(json_t *to, const char *key, json_int_t value)
{
    json_object_set_new(to, key, json_integer(ins_number(to, key) + value));
}

/* keep keeps the greater one of a number and that of a row. */
static bool keep(json_t *to, const char *key, const json_t *row, const char *name)
{
    if (ins_number(row, name) <= ins_number(to, key))
        return false;
    json_object_set_new(to, key, json_integer(ins_number(row, name)));
    return true;
}

json_t *ins_silences(const json_t *rows, json_int_t instance)
{
    json_t *nodes = json_array(), *row = NULL;
    size_t i = 0;
    json_array_foreach(rows, i, row)
    {
        json_int_t node = ins_number(row, "silent_node") - 1;
        json_t *to = ins_find(nodes, "node", node);
        if (node < 0 || ins_number(row, "instance") != instance)
            continue;
        if (!to) {
            to = json_pack("{s:I s:i s:i s:i s:i s:i s:i s:i s:i}", "node", node, "waited_ns", 0,
                           "longest_ns", 0, "ranks", 0, "silences", 0, "silence_ns", 0,
                           "silence_longest_ns", 0, "silence_longest_age_ns", 0,
                           "silence_unheard_ns", 0);
            json_array_append_new(nodes, to);
        }
        add(to, "waited_ns", ins_number(row, "silent_ns"));
        add(to, "ranks", ins_number(row, "silent_ranks"));
        keep(to, "longest_ns", row, "silent_longest_ns");
        keep(to, "silences", row, "silences");
        keep(to, "silence_ns", row, "silence_ns");
        keep(to, "silence_unheard_ns", row, "silence_unheard_ns");
        if (keep(to, "silence_longest_ns", row, "silence_longest_ns"))
            json_object_set(to, "silence_longest_age_ns",
                            json_object_get(row, "silence_longest_age_ns"));
    }
    return nodes;
}

/* print_length prints how often and for how long a node was silent, and since when. Its messages
 * may come long after it is heard again: then both times are told. */
static void print_length(const json_t *s)
{
    json_int_t count = ins_number(s, "silences"), most = ins_number(s, "silence_longest_ns"),
               unheard = ins_number(s, "silence_unheard_ns");
    bool late = unheard && most > unheard + LATER_NS;
    char all[32], longest[32], since[32], came[32], later[80] = "";
    ins_duration(all, sizeof all, ins_number(s, "silence_ns"));
    ins_duration(longest, sizeof longest,
                 late   ? unheard
                 : most ? most
                        : ins_number(s, "longest_ns"));
    ins_duration(came, sizeof came, most);
    ins_clock(since, sizeof since, ins_number(s, "silence_longest_age_ns") + most);
    if (late)
        snprintf(later, sizeof later, " (its messages came after %s)", came);
    printf("node %lld was silent", (long long)ins_number(s, "node"));
    if (count == 0) /* a daemon of an older release tells the waiting only */
        printf(", up to %s at a time", longest);
    else if (count == 1)
        printf(" for %s, since %s%s", longest, since, later);
    else
        printf(" %lld times, %s together until its messages came; the longest silence was %s, "
               "since %s%s",
               (long long)count, all, longest, since, later);
}

void ins_silences_print(const json_t *silences)
{
    const json_t *s = NULL;
    size_t i = 0;
    json_array_foreach(silences, i, s)
    {
        json_int_t ranks = ins_number(s, "ranks");
        char waited[32], of[64] = "";
        ins_duration(waited, sizeof waited, ins_number(s, "waited_ns"));
        if (ranks)
            snprintf(of, sizeof of, " of %lld rank%s", (long long)ranks, ranks == 1 ? "" : "s");
        print_length(s);
        printf(": the calls%s waited to hear from it, %s summed over them; that is charged to no "
               "rank\n",
               of, waited);
    }
}
