/* SPDX-License-Identifier: Apache-2.0 */
/* The choice among methods, over drawn calls: against the decisions that it replaced, and against
 * the programs that were compiled then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
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
static const uint64_t PROGRAMS = 0x45b23c246237f61d;

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

/* predicted_with returns the predicted time of a call with packets of another size, in bytes of a
 * link, and its method. */
static double predicted_with(const struct drawn_call *c, uint32_t packet_bytes,
                             const struct td_method **method)
{
    static struct td_program p;
    struct td_tuning tuning = c->tuning;
    struct td_compile_input in = c->in;
    tuning.packet_bytes = packet_bytes;
    in.tuning = &tuning;
    td_select_compile(&in, &p);
    *method = p.method;
    return (double)p.predicted_bytes;
}

/* Packets that are longer than all messages change neither the method nor its time. A cost is a
 * multiple of GRAIN bytes, also that of each hop; methods whose costs are that near may be equal.
 */
static void partial_packets_take_the_time_of_their_bytes(void **unused)
{
    (void)unused;
    enum { LONG = 1 << 18, LONGER = 1 << 20, GRAIN = LONGER >> 16, HOPS = 64 };
    static struct drawn_call c;
    unsigned compared = 0;
    for (uint64_t i = 0; i < CALLS; i++) {
        const struct td_method *method[2];
        calls_draw(&c, i, &td_collectives_planner);
        uint64_t all = c.call.count * td_type_bytes(c.call.type) * c.group.size * c.group.size;
        bool fits = !c.in.counts && !td_call_executes(c.call.kind) && all < LONG;
        double one = fits ? predicted_with(&c, LONG, &method[0]) : 0;
        double other = fits ? predicted_with(&c, LONGER, &method[1]) : 0;
        if (fits && fabs(one - other) > HOPS * GRAIN)
            fail_msg("call %llu: %g by %s, %g by %s", (unsigned long long)i, one, method[0]->name,
                     other, method[1]->name);
        compared += one > 4 * HOPS * GRAIN;
        calls_free(&c);
    }
    assert_true(compared > 100);
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
        cmocka_unit_test(partial_packets_take_the_time_of_their_bytes),
        cmocka_unit_test(exactly_one_candidate_is_chosen_and_each_has_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
