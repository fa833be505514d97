/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the pseudo-random order of sends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collectives/permutation.h"

static void permutation_visits_each_place_once_and_depends_on_the_seed(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 300; n++) {
        unsigned char seen[300] = {0};
        uint64_t same = 0;
        for (uint64_t i = 0; i < n; i++) {
            uint64_t at = td_permutation_at(n, n, i);
            assert_true(at < n);
            assert_int_equal(seen[at]++, 0);
            same += at == td_permutation_at(n + 1, n, i);
        }
        if (n > 50)
            assert_true(same < n / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutation_visits_each_place_once_and_depends_on_the_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
