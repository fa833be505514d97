/* SPDX-License-Identifier: Apache-2.0 */
/* What stood still at the nodes of a job: inspect/outages.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "inspect/inspect.h"
#include "inspect/outages.h"
#include "printed.h"

enum { JOB = 7, OTHER = 8 };
#define S ((json_int_t)1000000000)
#define NOW (1589976040 * S) /* 12:00:40 of a day in 2020 */

json_t *ins_machine_rows(struct ins_machine *m, uint32_t section,
                         json_t *(*row_json)(const struct td_status_row *row))
{
    (void)m;
    (void)section;
    (void)row_json;
    fail();
    return NULL;
}

/* row_of returns the row of an outage that node `at` tells of. */
static json_t *row_of(int job, int at, const char *what, int rank, int count, json_int_t ns,
                      json_int_t longest, json_int_t age)
{
    return json_pack("{s:i s:i s:s s:i s:i s:i s:I s:I s:I s:s}", "instance", job, "at", at, "what",
                     what, "rank", rank, "pid", 100 + rank, "count", count, "ns", ns, "longest_ns",
                     longest, "longest_age_ns", age, "text", "");
}

/* record_of returns a record with these outages and calls in flight. */
static json_t *record_of(json_t *rows, json_t *in_flight)
{
    json_t *outages = ins_outages_of(rows, JOB, NOW, NOW);
    json_decref(rows);
    setenv("TZ", "UTC", 1);
    tzset();
    return json_pack("{s:o s:o s:I}", "outages", outages, "in_flight", in_flight, "unix_ns", NOW);
}

static void ages_are_those_of_the_record(void **state)
{
    (void)state;
    json_t *rows = json_pack("[o o o]", row_of(JOB, 1, "stopped", 3, 1, 7 * S, 7 * S, 5 * S),
                             row_of(OTHER, 1, "stopped", 3, 1, 9 * S, 9 * S, 5 * S),
                             row_of(JOB, 2, "paused", 0, 1, 7 * S, 7 * S, S)),
           *found = ins_outages_of(rows, JOB, NOW, NOW + 2 * S), *o = json_array_get(found, 0);
    assert_int_equal(json_array_size(found), 2);
    assert_int_equal(ins_number(o, "node"), 1);
    assert_int_equal(ins_number(o, "longest_age_ns"), 3 * S);
    assert_null(json_object_get(o, "instance"));
    assert_int_equal(ins_number(json_array_get(found, 1), "longest_age_ns"), 0);
    json_decref(found);
    json_decref(rows);
}

static void a_rank_that_was_stopped_is_told(void **state)
{
    char text[240];
    (void)state;
    json_t *record = record_of(json_pack("[o o]", row_of(JOB, 1, "paused", 2, 1, 9 * S, 9 * S, S),
                                         row_of(JOB, 1, "stopped", 2, 1, 7 * S, 7 * S, 20 * S)),
                               json_array());
    assert_string_equal(ins_outages_rank(text, sizeof text, record, 2),
                        "was stopped meanwhile (SIGSTOP) for about 7.0s, since 2020-05-20 "
                        "12:00:13");
    assert_string_equal(ins_outages_rank(text, sizeof text, record, 1), "");
    json_decref(record);
    record = record_of(json_pack("[o]", row_of(JOB, 1, "traced", 2, 3, 9 * S, 7 * S, 20 * S)),
                       json_array());
    assert_string_equal(ins_outages_rank(text, sizeof text, record, 2),
                        "was stopped meanwhile (by a debugger) 3 times, for about 9.0s in all; the "
                        "longest time was 7.0s, since 2020-05-20 12:00:13");
    json_decref(record);
}

/* A call in flight tells of a rank that is stopped now. */
static void a_rank_that_is_stopped_is_not_told(void **state)
{
    char text[240];
    (void)state;
    json_t *record = record_of(json_pack("[o o]", row_of(JOB, 1, "stopped", 2, 1, 7 * S, 7 * S, 0),
                                         row_of(JOB, 1, "stopped", 3, 1, 7 * S, 7 * S, 20 * S)),
                               json_pack("[{s:[{s:i s:i s:s} {s:i s:i s:s}]}]", "causes", "rank", 0,
                                         "job_rank", 2, "process_state", "T", "rank", 1, "job_rank",
                                         3, "process_state", "S"));
    assert_string_equal(ins_outages_rank(text, sizeof text, record, 2), "");
    printed_begin();
    ins_outages_print_ranks(record, -1);
    assert_string_equal(printed_end(), "rank 3 on node 1, process 103, was stopped meanwhile "
                                       "(SIGSTOP) for about 7.0s, since 2020-05-20 12:00:13\n");
    printed_begin();
    ins_outages_print_ranks(record, 3);
    assert_string_equal(printed_end(), "");
    json_decref(record);
}

/* silence_of returns a silence of node 1 that ended `age` ago. */
static json_t *silence_of(json_int_t length, json_int_t age)
{
    return json_pack("{s:i s:i s:i s:I s:I}", "node", 1, "told_by", 3, "silences", 1,
                     "silence_longest_ns", length, "silence_longest_age_ns", age);
}

/* The other nodes know only that node 1 was silent. A short pause does not explain a long silence,
 * nor does one at another time or of another node. */
static void a_silence_is_explained_by_the_node_itself(void **state)
{
    static const struct {
        int node;
        const char *what;
        json_int_t length, age;
        bool explains;
    } cases[] = {{1, "paused", 15 * S, 20 * S, true},    {1, "paused", 8 * S, 24 * S, true},
                 {1, "paused", 2 * S, 24 * S, false},    {1, "paused", 15 * S, 40 * S, false},
                 {1, "paused", 15 * S, 2 * S, false},    {2, "paused", 15 * S, 20 * S, false},
                 {1, "interface", 15 * S, 20 * S, true}, {2, "interface", 15 * S, 20 * S, false},
                 {3, "interface", 15 * S, 20 * S, true}, {3, "paused", 15 * S, 20 * S, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *silences = json_pack("[o]", silence_of(16 * S, 20 * S)),
               *rows = json_pack("[o o]",
                                 row_of(JOB, cases[i].node, cases[i].what, 0, 1, cases[i].length,
                                        cases[i].length, cases[i].age),
                                 row_of(JOB, 1, "stopped", 0, 1, 16 * S, 16 * S, 20 * S)),
               *outages = ins_outages_of(rows, JOB, NOW, NOW);
        ins_outages_explain(silences, outages);
        const json_t *cause = json_object_get(json_array_get(silences, 0), "cause");
        assert_non_null(cause);
        assert_int_equal(!json_is_null(cause), cases[i].explains);
        if (cases[i].explains)
            assert_string_equal(ins_string(cause, "what"), cases[i].what);
        json_decref(silences);
        json_decref(rows);
        json_decref(outages);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ages_are_those_of_the_record),
        cmocka_unit_test(a_rank_that_was_stopped_is_told),
        cmocka_unit_test(a_rank_that_is_stopped_is_not_told),
        cmocka_unit_test(a_silence_is_explained_by_the_node_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
