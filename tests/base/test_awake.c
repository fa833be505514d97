/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how long a thread that waits stays awake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/awake.h"

enum { US = 1000, MS = 1000000 };

static void a_thread_looks_until_the_time_after_the_last_event_is_over(void **state)
{
    (void)state;
    struct td_awake a = {0};
    td_time now = 5000 * (td_time)MS;
    assert_false(td_awake_lasts(&a, now));
    assert_true(td_awake_extend(&a, now));
    assert_true(td_awake_lasts(&a, now + TD_AWAKE_NS - 1));
    assert_true(td_awake_extend(&a, now + TD_AWAKE_NS - 1));
    assert_true(td_awake_lasts(&a, now + 2 * TD_AWAKE_NS - 2));
    assert_false(td_awake_lasts(&a, now + 2 * TD_AWAKE_NS - 1));
    assert_true(td_awake_extend(&a, now));
    td_awake_end(&a);
    assert_false(td_awake_lasts(&a, now));
}

static void a_thread_that_others_interrupt_for_microseconds_goes_on(void **state)
{
    (void)state;
    struct td_awake a = {0};
    td_time now = 5000 * (td_time)MS;
    td_awake_extend(&a, now);
    for (int i = 0; i < 10; i++)
        td_awake_yielded(&a, now + 10 * US, now + 20 * US);
    assert_true(td_awake_lasts(&a, now + 20 * US));
}

/* stolen lets another process compute for a time slice, and returns for how long the thread then
 * sleeps at once. */
static td_time stolen(struct td_awake *a, td_time now)
{
    td_awake_extend(a, now);
    td_awake_yielded(a, now, now + 4 * MS);
    assert_false(td_awake_lasts(a, now + 4 * MS));
    td_time ns = 0;
    while (!td_awake_extend(a, now + 4 * MS + ns))
        ns += MS;
    return ns;
}

static void a_thread_that_loses_a_time_slice_sleeps_at_once_longer_each_time(void **state)
{
    (void)state;
    struct td_awake a = {0};
    td_time now = 5000 * (td_time)MS, ns = 100 * MS, all = 0;
    for (int i = 0; i < 10; i++) {
        td_time slept = stolen(&a, now);
        assert_int_equal(slept, ns);
        now += 4 * MS + slept;
        all += slept;
        if (ns < 3200 * (td_time)MS)
            ns *= 2;
    }
    assert_true(10 * 4 * MS < all / 100); /* lost to the other process */
    /* an absence does not show that nobody computes */
    now += 10000 * (td_time)MS;
    assert_int_equal(stolen(&a, now), 3200 * (td_time)MS);
    /* many looks without a loss do */
    now += 10000 * (td_time)MS;
    for (int i = 0; i < 1000; i++)
        td_awake_yielded(&a, now, now + 10 * US);
    assert_int_equal(stolen(&a, now), 100 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_looks_until_the_time_after_the_last_event_is_over),
        cmocka_unit_test(a_thread_that_others_interrupt_for_microseconds_goes_on),
        cmocka_unit_test(a_thread_that_loses_a_time_slice_sleeps_at_once_longer_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
