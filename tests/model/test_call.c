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

static void a_call_without_data_agrees_with_any_type(void **state)
{
    (void)state;
    char text[160];
    struct td_call none = {.kind = TD_KIND_GATHERV, .root = 1}, other = none, kept = none;
    assert_null(td_call_check(&none, 4));
    assert_non_null(td_call_check(&none, 1)); /* the root */
    td_call_print(&none, text, sizeof text);
    assert_string_equal(text, "gatherv(no data, root 1)");
    other.type = TD_TYPE_BYTE;
    other.digest = td_call_digest_names((const uint8_t[]){TD_TYPE_INT32, TD_TYPE_DOUBLE}, 2);
    td_call_adopt(&none, &other);
    assert_int_equal(td_call_compare(&none, &other), 0);
    kept.root = 2;
    td_call_adopt(&kept, &other); /* the roots still differ */
    assert_true(td_call_compare(&kept, &other) != 0);
    struct td_call typed = {.kind = TD_KIND_GATHERV, .type = TD_TYPE_INT32, .root = 1};
    td_call_adopt(&typed, &other);
    assert_int_equal(typed.type, TD_TYPE_INT32);
    none = (struct td_call){.kind = TD_KIND_REDUCE_SCATTERV, .op = TD_OP_SUM};
    assert_non_null(td_call_check(&none, 4)); /* a reduction needs the type */
    /* of exchanges, the grid counts */
    unsigned kind = TD_KIND_NEIGHBOUR_ALLTOALLV;
    other = (struct td_call){.kind = (uint8_t)kind, .type = TD_TYPE_BYTE};
    none = other;
    none.type = TD_TYPE_NONE;
    other.digest = td_call_digest_exchange(kind, 0x1234567890, 0xabcdef987);
    none.digest = td_call_digest_without_types(other.digest);
    assert_true(none.digest == td_call_digest_exchange(kind, 0x1234567890, 0));
    kept = none;
    td_call_adopt(&none, &other);
    assert_int_equal(td_call_compare(&none, &other), 0);
    other.digest = td_call_digest_exchange(kind, 0x1234567891, 0xabcdef987);
    td_call_adopt(&kept, &other);
    assert_int_equal(kept.type, TD_TYPE_NONE);
    /* an all-to-all with one type for each part is another call */
    none = (struct td_call){.kind = TD_KIND_ALLTOALLV};
    other = none;
    other.type = TD_TYPE_BYTE;
    other.digest = td_call_digest(TD_DIGEST_ALLTOALLW, 0);
    td_call_adopt(&none, &other);
    assert_int_equal(none.type, TD_TYPE_NONE);
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
        cmocka_unit_test(a_call_without_data_agrees_with_any_type),
        cmocka_unit_test(transforms_scale_as_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
