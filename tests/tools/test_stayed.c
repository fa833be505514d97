/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that stay because processes of them are stopped: inspect/stayed.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inspect/inspect.h"
#include "inspect/stayed.h"

#define SECOND 1000000000LL

/* No test asks a daemon. */
json_t *ins_machine_rows(struct ins_machine *m, uint32_t section,
                         json_t *(*row_json)(const struct td_status_row *row))
{
    (void)m;
    (void)section;
    (void)row_json;
    return NULL;
}

static json_t *client(const char *job, int rank, const char *state)
{
    return json_pack("{s:s s:i s:i s:i s:i s:s s:s s:i s:b}", "job", job, "uid", 7, "rank", rank,
                     "node", 1, "pid", 10 + rank, "program", "p", "process_state", state, "seat", 0,
                     "joining", 0);
}

/* record returns what a node says of a job that formed `formed` s ago, and in which a call failed
 * `failed` s ago. */
static json_t *record(const char *job, int instance, int formed, int error, int failed)
{
    return json_pack("{s:s s:i s:i s:I s:i s:I}", "job", job, "uid", 7, "instance", instance,
                     "formed_ns", formed * SECOND, "error", error, "failed_ns", failed * SECOND);
}

static json_t *stayed_of(json_t *clients, json_t *records)
{
    json_t *peers = json_array(), *stayed = ins_stayed_of(clients, records, peers);
    json_decref(clients);
    json_decref(records);
    json_decref(peers);
    return stayed;
}

static void a_cancelled_job_with_stopped_ranks_is_told(void **state)
{
    (void)state;
    json_t *stayed =
        stayed_of(json_pack("[o,o,o,o]", client("heat", 0, "S"), client("heat", 1, "T"),
                            client("heat", 3, "t"), client("", -1, "T")),
                  json_pack("[o,o,o]", record("heat", 1, 9, TORUS_ERR_CANCELLED, 3),
                            record("heat", 1, 9, TORUS_ERR_CANCELLED, 4),
                            record("heat", 2, 90, TORUS_ERR_TIMEOUT, 80)));
    assert_int_equal(json_array_size(stayed), 1);
    const json_t *e = json_array_get(stayed, 0), *stopped = json_object_get(e, "stopped");
    assert_string_equal(ins_string(e, "job"), "heat");
    assert_true(json_is_true(json_object_get(e, "cancelled")));
    assert_int_equal(ins_number(e, "failed_ns"), 4 * SECOND);
    assert_int_equal(json_array_size(stopped), 2);
    assert_int_equal(ins_number(json_array_get(stopped, 0), "pid"), 11);
    assert_int_equal(ins_number(json_array_get(stopped, 1), "pid"), 13);
    json_decref(stayed);
}

static void a_job_without_a_failure_or_a_stopped_rank_is_not_told(void **state)
{
    (void)state;
    json_t *stayed =
        stayed_of(json_pack("[o,o,o]", client("heat", 1, "T"), client("wave", 1, "S"),
                            client("salt", 1, "T")),
                  json_pack("[o,o,o,o]", record("heat", 1, 9, TORUS_OK, 0),
                            record("wave", 2, 9, TORUS_ERR_CANCELLED, 4),
                            record("salt", 3, 90, TORUS_ERR_CANCELLED, 80), /* an earlier one */
                            record("salt", 4, 9, TORUS_OK, 0)));
    assert_int_equal(json_array_size(stayed), 0);
    json_decref(stayed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancelled_job_with_stopped_ranks_is_told),
        cmocka_unit_test(a_job_without_a_failure_or_a_stopped_rank_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
