/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of calls: checks, comparison, text; scale factors of transforms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/call.h"
#include "model/plan.h"

static void calls_are_checked_compared_and_printed(void **state)
{
    (void)state;
    char text[160];
    struct td_call a = {
        .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_DOUBLE, .op = TD_OP_SUM, .count = 10};
    struct td_call b = a;
    assert_null(td_call_check(&a, 4));
    assert_int_equal(td_call_compare(&a, &b), 0);
    b.count = 11;
    assert_true(td_call_compare(&a, &b) < 0 && td_call_compare(&b, &a) > 0);
    td_call_print(&a, text, sizeof text);
    assert_string_equal(text, "allreduce(sum, double, 10)");
    b.count = UINT64_MAX / 8;
    assert_non_null(td_call_check(&b, 4));
    b = (struct td_call){.kind = TD_KIND_BROADCAST, .type = TD_TYPE_BYTE, .root = 4};
    assert_non_null(td_call_check(&b, 4));
    b.kind = TD_KIND_MAX;
    assert_non_null(td_call_check(&b, 4));
}

static void transforms_scale_as_they_say(void **state)
{
    (void)state;
    struct td_fft f = {.dimensions = 2,
                       .type = TD_TYPE_COMPLEX_DOUBLE,
                       .sign = TD_FFT_FORWARD,
                       .scale = TD_SCALE_ORTHO,
                       .size = {344, 403}};
    td_fft_all(&f);
    assert_null(td_fft_check(&f));
    double ortho = td_fft_factor(&f);
    f.scale = TD_SCALE_FULL;
    assert_true(ortho * ortho / td_fft_factor(&f) - 1 < 1e-15);
    assert_true(1 - ortho * ortho / td_fft_factor(&f) < 1e-15);
    f.size[1] = 0;
    assert_non_null(td_fft_check(&f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_checked_compared_and_printed),
        cmocka_unit_test(transforms_scale_as_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
