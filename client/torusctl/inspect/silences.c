/* SPDX-License-Identifier: Apache-2.0 */
#include "silences.h"

#include <stdio.h>
#include <string.h>

#include "inspect.h"

#define LATER_NS                                                                                   \
    1000000000LL /* messages came so long after their node was heard again, or sooner */

static void add(json_t *to, const char *key, json_int_t value)
{
    json_object_set_new(to, key, json_integer(ins_number(to, key) + value));
}

/* keep_longest makes the silences those of a row, if they are longer together. */
static void keep_longest(json_t *to, const json_t *row)
{
    static const char *const keys[] = {"silences",           "silence_ns",
                                       "silence_longest_ns", "silence_longest_age_ns",
                                       "silence_unheard_ns", "silence_heard_ns"};
    if (ins_number(row, "silence_ns") <= ins_number(to, "silence_ns"))
        return;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        json_object_set(to, keys[i], json_object_get(row, keys[i]));
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
            to = json_pack("{s:I s:O s:i s:i s:i s:i s:i s:i s:i s:i s:i}", "node", node, "told_by",
                           json_object_get(row, "at"), "waited_ns", 0, "longest_ns", 0, "ranks", 0,
                           "silences", 0, "silence_ns", 0, "silence_longest_ns", 0,
                           "silence_longest_age_ns", 0, "silence_unheard_ns", 0, "silence_heard_ns",
                           0);
            json_array_append_new(nodes, to);
        }
        if (!json_equal(json_object_get(to, "told_by"), json_object_get(row, "at")))
            json_object_set_new(to, "told_by", json_null());
        add(to, "waited_ns", ins_number(row, "silent_ns"));
        add(to, "ranks", ins_number(row, "silent_ranks"));
        if (ins_number(row, "silent_longest_ns") > ins_number(to, "longest_ns"))
            json_object_set(to, "longest_ns", json_object_get(row, "silent_longest_ns"));
        keep_longest(to, row);
    }
    return nodes;
}

/* lasts returns true if a node that is silent now has not been heard since its longest silence
 * began.
 */
static bool lasts(const json_t *silence, const json_t *silent)
{
    json_int_t began = ins_number(silence, "silence_longest_age_ns") +
                       ins_number(silence, "silence_longest_ns"); /* an age */
    return silent && ins_number(silent, "silent_ns") + LATER_NS >= began;
}

void ins_silences_last(json_t *silences, const json_t *silent)
{
    json_t *s = NULL;
    size_t i = 0;
    json_array_foreach(silences, i, s)
    {
        const json_t *now = ins_find(silent, "node", ins_number(s, "node"));
        json_object_set_new(s, "lasts", json_boolean(lasts(s, now)));
    }
}

/* print_cause writes why a node was silent. The sentence of its daemon tells a fault of an
 * interface as a present one, with what to look at: "interface eth0 of node 1 has no carrier: ...".
 */
static void print_cause(char *text, size_t bytes, const json_t *cause)
{
    const char *fault = ins_string(cause, "text"), *is = strstr(fault, " is "),
               *has = strstr(fault, " has "), *verb = is ? is : has;
    text[0] = '\0';
    if (strcmp(ins_string(cause, "what"), "paused") == 0) {
        snprintf(text, bytes, ", because its daemon did not run");
    } else if (verb) {
        const char *rest = strchr(verb + 1, ' ');
        snprintf(text, bytes, ", because %.*s %s%.*s", (int)(verb - fault), fault,
                 is ? "was" : "had", (int)strcspn(rest, ":"), rest);
    }
}

/* print_length prints how often and for how long a node was silent, and since when. Its messages
 * may come long after it is heard again: then both times are told. What stood still there then is
 * told, if its own daemon has seen that. */
static void print_length(const json_t *s, json_int_t unix_ns)
{
    json_int_t count = ins_number(s, "silences"), most = ins_number(s, "silence_longest_ns"),
               unheard = ins_number(s, "silence_unheard_ns");
    json_int_t heard = ins_number(s, "silence_heard_ns");
    bool late = unheard && most > unheard + LATER_NS;
    char because[200], all[32], longest[32], since[32], came[32], later[80] = "";
    ins_duration(all, sizeof all, ins_number(s, "silence_ns"));
    ins_duration(longest, sizeof longest,
                 late   ? unheard
                 : most ? most
                        : ins_number(s, "longest_ns"));
    ins_duration(came, sizeof came, most);
    ins_moment(since, sizeof since, unix_ns - ins_number(s, "silence_longest_age_ns") - most, 0);
    if (heard > most + LATER_NS) {
        ins_duration(came, sizeof came, heard);
        snprintf(later, sizeof later, " (until calls failed; it was heard again after %s)", came);
    } else if (json_is_true(json_object_get(s, "lasts"))) {
        snprintf(later, sizeof later, " and is silent still");
    } else if (late) {
        snprintf(later, sizeof later, " (its messages came after %s)", came);
    }
    print_cause(because, sizeof because, json_object_get(s, "cause"));
    printf("node %lld was silent", (long long)ins_number(s, "node"));
    if (count == 0) /* a daemon of an older release tells the waiting only */
        printf(", up to %s at a time", longest);
    else if (count == 1)
        printf(" for %s, since %s%s%s", longest, since, later, because);
    else
        printf(" %lld times, for %s in all; the longest time was %s, since %s%s%s",
               (long long)count, all, longest, since, later, because);
}

void ins_silences_print(const json_t *silences, json_int_t unix_ns)
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
        print_length(s, unix_ns);
        printf(": the calls%s waited to hear from it, %s summed over them; that is charged to no "
               "rank\n",
               of, waited);
    }
}
