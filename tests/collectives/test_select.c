/* SPDX-License-Identifier: Apache-2.0 */
/* The choice among methods, over drawn calls: against the decisions that it replaced, and against
 * the programs that were compiled then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "calls.h"
#include "collectives/planner.h"
#include "collectives/select.h"
#include "decisions.h"

enum { CALLS = 10000 };
/* PROGRAMS: the hash of all programs, recorded. A method that changes its steps or its scratch
 * memory changes it. */
static const uint64_t PROGRAMS = 0x13302a0151894e49;

static void costs_reproduce_the_decisions_and_the_programs(void **unused)
{
    (void)unused;
    static struct drawn_call c;
    static struct td_program p;
    uint64_t hash = 0;
    for (uint64_t i = 0; i < CALLS; i++) {
        char text[600];
        calls_draw(&c, i, &td_collectives_planner);
        td_select_compile(&c.in, &p);
        const char *expected = decisions_take(&c.in);
        if (strcmp(p.method->name, expected) != 0)
            fail_msg("call %llu goes by %s, not %s: %s", (unsigned long long)i, p.method->name,
                     expected, calls_print(&c, text, sizeof text));
        hash = hash * 1099511628211u ^ calls_hash(&p);
        calls_free(&c);
    }
    assert_int_equal(hash, PROGRAMS);
}

static void exactly_one_candidate_is_chosen_and_each_has_a_reason(void **unused)
{
    (void)unused;
    static struct drawn_call c;
    static struct td_program p;
    struct td_candidate candidate[TD_METHODS_MAX];
    for (uint64_t i = 0; i < CALLS / 10; i++) {
        calls_draw(&c, i, &td_collectives_planner);
        td_select_compile(&c.in, &p);
        unsigned count = td_select_candidates(&c.in, candidate), chosen = 0;
        for (unsigned k = 0; k < count; k++) {
            chosen += candidate[k].chosen;
            assert_non_null(candidate[k].reason);
            assert_true(candidate[k].reason[0] != '\0');
            assert_true(candidate[k].applies || !candidate[k].chosen);
        }
        assert_int_equal(chosen, 1);
        assert_ptr_equal(candidate[0].method, p.method);
        calls_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_reproduce_the_decisions_and_the_programs),
        cmocka_unit_test(exactly_one_candidate_is_chosen_and_each_has_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
