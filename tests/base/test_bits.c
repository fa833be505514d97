/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of small numbers: base/bits.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"

static void only_members_below_the_size_are_counted(void **state)
{
    (void)state;
    uint8_t bits[4];
    for (uint32_t size = 0; size <= 24; size++) {
        memset(bits, 0xff, sizeof bits);
        assert_int_equal(td_bits_count(bits, size), size);
        memset(bits, 0, td_bit_bytes(size));
        assert_int_equal(td_bits_count(bits, size), 0);
        if (size == 0)
            continue;
        td_bit_set(bits, size - 1);
        assert_int_equal(td_bits_count(bits, size), 1);
        assert_int_equal(td_bits_count(bits, size - 1), 0);
    }
}

static void members_are_listed_in_runs(void **state)
{
    (void)state;
    const uint8_t bits[2] = {0x2f, 0xff}; /* 0 to 3, 5, 8 to 15 */
    char text[60], little[44];
    assert_int_equal(td_bits_print(bits, 10, true, text, sizeof text), 7);
    assert_string_equal(text, "0-3, 5, 8-9");
    assert_int_equal(td_bits_print(bits, 10, false, text, sizeof text), 3);
    assert_string_equal(text, "4, 6-7");
    assert_int_equal(td_bits_print(bits, 16, true, little, sizeof little), 13);
    assert_string_equal(little, "0-3, 5, ...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_members_below_the_size_are_counted),
        cmocka_unit_test(members_are_listed_in_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
