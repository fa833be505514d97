/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sizes and rates as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/quantity.h"

static void quantities_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},
                {"4096", 4096},
                {"64 KiB", 65536},
                {"64K", 65536},
                {"5MB", 5000000},
                {"16777215T", (((uint64_t)1 << 24) - 1) << 40},
                {"18446744073709551615", UINT64_MAX}};
    static const char *const bad[] = {
        "", "K", "-1", " 1", "1 KiBs", "18446744073709551616", "16777216T", "1/s", "0x10", "1.5K"};
    uint64_t value = 0;
    char text[32];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(td_quantity_parse(good[i].text, &value));
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(td_quantity_parse(bad[i], &value));
    assert_true(td_quantity_parse_rate("5MB/s", &value) && value == 5000000);
    assert_true(td_quantity_parse_rate("5M", &value) && value == 5 << 20);
    assert_string_equal(td_quantity_print(512, text, sizeof text), "512 bytes");
    assert_string_equal(td_quantity_print(1536, text, sizeof text), "1.5 KiB");
    assert_string_equal(td_quantity_print_rate(5e6, text, sizeof text), "5 MB/s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_are_read_and_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
