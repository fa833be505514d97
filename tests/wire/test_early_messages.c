/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the store of tree messages that arrived before their turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/early_messages.h"

static struct td_early_messages early;

/* keep keeps a message of one byte. */
static void keep(uint64_t number, uint8_t value)
{
    assert_true(td_early_messages_keep(&early, number, &value, 1));
}

static void expect(uint64_t number, uint8_t value)
{
    struct td_early_message *m = td_early_messages_take(&early, number);
    assert_non_null(m);
    assert_int_equal(m->number, number);
    assert_int_equal(m->size, 1);
    assert_int_equal(m->bytes[0], value);
    free(m);
    assert_null(td_early_messages_take(&early, number));
}

static void a_zeroed_store_is_empty(void **state)
{
    (void)state;
    assert_null(td_early_messages_take(&early, 1));
    td_early_messages_forget(&early);
}

static void messages_are_taken_by_number_in_any_order(void **state)
{
    (void)state;
    for (uint64_t number = 7; number < 7 + TD_EARLY_MESSAGES_MAX; number++)
        keep(number, (uint8_t)number);
    assert_null(td_early_messages_take(&early, 6));
    assert_null(td_early_messages_take(&early, 7 + TD_EARLY_MESSAGES_MAX));
    for (uint64_t i = 0; i < TD_EARLY_MESSAGES_MAX; i++) {
        uint64_t number = 7 + i * 5 % TD_EARLY_MESSAGES_MAX;
        expect(number, (uint8_t)number);
    }
    td_early_messages_forget(&early);
}

static void a_later_message_takes_the_place_of_one_that_nobody_wants(void **state)
{
    (void)state;
    keep(3, 1);
    keep(3 + TD_EARLY_MESSAGES_MAX, 2);
    assert_null(td_early_messages_take(&early, 3));
    keep(3 + TD_EARLY_MESSAGES_MAX, 3); /* a copy of the same one */
    expect(3 + TD_EARLY_MESSAGES_MAX, 3);
    td_early_messages_forget(&early);
}

static void a_session_that_ends_drops_all(void **state)
{
    (void)state;
    keep(2, 1);
    keep(9, 2);
    td_early_messages_forget(&early);
    assert_null(td_early_messages_take(&early, 2));
    assert_null(td_early_messages_take(&early, 9));
    keep(2, 3);
    expect(2, 3);
    td_early_messages_forget(&early);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zeroed_store_is_empty),
        cmocka_unit_test(messages_are_taken_by_number_in_any_order),
        cmocka_unit_test(a_later_message_takes_the_place_of_one_that_nobody_wants),
        cmocka_unit_test(a_session_that_ends_drops_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
