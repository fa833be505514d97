/* SPDX-License-Identifier: Apache-2.0 */
/* The silences of nodes in the record of a job, of several nodes: inspect/silences.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "inspect/inspect.h"
#include "inspect/silences.h"
#include "printed.h"

enum { JOB = 7, OTHER = 8 };
#define S ((json_int_t)1000000000)

/* row_of returns what a node says of the silences of node 1. */
static json_t *row_of(int job, int ranks, int waited, int silences, int longest, int age)
{
    return json_pack("{s:i s:i s:i s:i s:i s:i s:i s:i s:i s:i s:i}", "at", ranks, "instance", job,
                     "silent_node", 1 + 1, "silent_ranks", ranks, "silent_ns", waited,
                     "silent_longest_ns", waited / ranks, "silences", silences, "silence_ns",
                     2 * longest, "silence_longest_ns", longest, "silence_longest_age_ns", age,
                     "silence_unheard_ns", longest - 5);
}

static void waiting_is_added_up_and_silences_are_not(void **state)
{
    (void)state;
    json_t *rows =
        json_pack("[o o o {s:i s:i}]", row_of(JOB, 2, 30, 9, 15, 7), row_of(JOB, 1, 10, 2, 16, 5),
                  row_of(OTHER, 4, 900, 9, 99, 1), "instance", JOB, "silent_node", 0);
    json_t *found = ins_silences(rows, JOB), *s = json_array_get(found, 0);
    assert_int_equal(json_array_size(found), 1);
    assert_int_equal(ins_number(s, "node"), 1);
    assert_int_equal(ins_number(s, "waited_ns"), 40);
    assert_true(json_is_null(json_object_get(s, "told_by")));
    assert_int_equal(ins_number(s, "ranks"), 3);
    assert_int_equal(ins_number(s, "longest_ns"), 15);
    assert_int_equal(ins_number(s, "silences"), 2);
    assert_int_equal(ins_number(s, "silence_ns"), 32);
    assert_int_equal(ins_number(s, "silence_longest_ns"), 16);
    assert_int_equal(ins_number(s, "silence_longest_age_ns"), 5);
    assert_int_equal(ins_number(s, "silence_unheard_ns"), 11);
    json_decref(found);
    json_decref(rows);
}

/* said returns what is printed of silences, at 12:00:40 of a day in 2020. */
static const char *said(json_t *silences)
{
    printed_begin();
    ins_silences_print(silences, 1589976040 * S);
    const char *printed = printed_end();
    json_decref(silences);
    return printed;
}

/* The clock is that of the moment when the nodes answered, and not of printing. */
static void a_silence_has_its_length_and_its_begin(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    assert_string_equal(
        said(json_pack("[{s:i s:I s:i s:i s:I s:I s:I}]", "node", 1, "waited_ns", 21 * S, "ranks",
                       7, "silences", 1, "silence_ns", 3 * S, "silence_longest_ns", 3 * S,
                       "silence_longest_age_ns", 20 * S)),
        "node 1 was silent for 3.0s, since 2020-05-20 12:00:17: the calls of 7 ranks waited to "
        "hear "
        "from it, 21.0s summed over them; that is charged to no rank\n");
    assert_string_equal(
        said(json_pack("[{s:i s:I s:i s:i s:I s:I s:I s:I}]", "node", 1, "waited_ns", 40 * S,
                       "ranks", 1, "silences", 2, "silence_ns", 24 * S, "silence_longest_ns",
                       18 * S, "silence_longest_age_ns", 2 * S, "silence_unheard_ns", 16 * S)),
        "node 1 was silent 2 times, for 24.0s in all; the longest time was 16.0s, since 2020-05-20 "
        "12:00:20 (its messages came after 18.0s): the calls of 1 rank waited to hear from it, "
        "40.0s summed over them; that is charged to no rank\n");
    assert_string_equal(
        said(json_pack("[{s:i s:I s:i s:i s:I s:I s:I s:{s:s s:s}}]", "node", 1, "waited_ns",
                       21 * S, "ranks", 7, "silences", 1, "silence_ns", 3 * S, "silence_longest_ns",
                       3 * S, "silence_longest_age_ns", 20 * S, "cause", "what", "paused", "text",
                       "")),
        "node 1 was silent for 3.0s, since 2020-05-20 12:00:17, because its daemon did not run: "
        "the calls of 7 ranks waited to hear from it, 21.0s summed over them; that is charged to "
        "no rank\n");
    assert_string_equal(
        said(json_pack("[{s:i s:I s:i s:i s:I s:I s:I s:I}]", "node", 1, "waited_ns", 40 * S,
                       "ranks", 1, "silences", 1, "silence_ns", 30 * S, "silence_longest_ns",
                       30 * S, "silence_longest_age_ns", 20 * S, "silence_heard_ns", 45 * S)),
        "node 1 was silent for 30.0s, since 2020-05-20 11:59:50 (until calls failed; it was heard "
        "again after 45.0s): the calls of 1 rank waited to hear from it, 40.0s summed over them; "
        "that is charged to no rank\n");
    static const char *const faults[][2] = {
        {"interface eth0 of node 1 is down", "interface eth0 of node 1 was down"},
        {"interface eth0 of node 1 has no carrier: look at its cable and the switch",
         "interface eth0 of node 1 had no carrier"}};
    for (unsigned i = 0; i < 2; i++) {
        const char *printed = said(json_pack(
            "[{s:i s:i s:i s:I s:{s:s s:s}}]", "node", 1, "waited_ns", 1, "silences", 1,
            "silence_longest_ns", 3 * S, "cause", "what", "interface", "text", faults[i][0]));
        assert_non_null(strstr(printed, ", because "));
        assert_memory_equal(strstr(printed, ", because ") + strlen(", because "), faults[i][1],
                            strlen(faults[i][1]));
        assert_non_null(strstr(printed, ": the calls waited"));
    }
}

/* Its node may have been heard since, and be silent again. */
static void a_silence_goes_on_if_its_node_was_not_heard_since(void **state)
{
    (void)state;
    for (int silent_s = 0; silent_s < 60; silent_s += 10) {
        json_t *silences = json_pack("[{s:i s:I s:i s:i s:I s:I}]", "node", 1, "waited_ns", 9 * S,
                                     "ranks", 1, "silences", 1, "silence_longest_ns", 30 * S,
                                     "silence_longest_age_ns", 10 * S),
               *silent = json_pack("[{s:i s:I}]", "node", silent_s ? 1 : 2, "silent_ns",
                                   silent_s ? silent_s * S : 50 * S);
        ins_silences_last(silences, silent);
        bool lasts = strstr(said(silences), "since 2020-05-20 12:00:00 and is silent still: ");
        assert_int_equal(lasts, silent_s >= 40);
        json_decref(silent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_is_added_up_and_silences_are_not),
        cmocka_unit_test(a_silence_has_its_length_and_its_begin),
        cmocka_unit_test(a_silence_goes_on_if_its_node_was_not_heard_since),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
