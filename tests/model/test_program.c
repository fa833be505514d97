/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of slices of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/program.h"

static void slices_merge_what_is_adjacent(void **state)
{
    (void)state;
    struct td_slice s = td_slice_at(TD_SPACE_SOURCE, 0, 8, 16);
    td_slice_loop(&s, 3, 100, 0);
    td_slice_loop(&s, 1, 7, 1);
    td_slice_loop(&s, 4, 16, 0);
    assert_int_equal(td_slice_bytes(&s), 3 * 4 * 16);
    td_slice_simplify(&s);
    assert_int_equal(s.levels, 1);
    assert_int_equal(s.run, 64);
    assert_int_equal(td_slice_bytes(&s), 3 * 4 * 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_merge_what_is_adjacent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
