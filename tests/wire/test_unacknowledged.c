/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the queue of unacknowledged tree messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "wire/unacknowledged.h"

/* keep appends a message of `number` bytes, each of that value. */
static void keep(struct td_unacknowledged *queue, uint64_t number)
{
    uint8_t bytes[16];
    memset(bytes, (int)number, sizeof bytes);
    assert_true(td_unacknowledged_keep(queue, number, bytes, (size_t)number));
    memset(bytes, 0xff, sizeof bytes); /* the queue has a copy */
}

/* expect checks that the messages from `from` on are those of numbers first to last. */
static void expect(const struct td_unacknowledged *queue, uint64_t from, uint64_t first,
                   uint64_t last)
{
    const struct td_unacknowledged_message *m = td_unacknowledged_from(queue, from);
    for (uint64_t number = first; number <= last; number++, m = m->next) {
        assert_non_null(m);
        assert_int_equal(m->number, number);
        assert_int_equal(m->size, number);
        for (size_t i = 0; i < m->size; i++)
            assert_int_equal(m->bytes[i], number);
    }
    assert_null(m);
}

static void a_zeroed_queue_is_empty(void **state)
{
    (void)state;
    struct td_unacknowledged queue = {0};
    assert_null(td_unacknowledged_from(&queue, 0));
    td_unacknowledged_acknowledge(&queue, UINT64_MAX);
    assert_null(td_unacknowledged_from(&queue, 0));
}

static void messages_are_repeated_in_order_from_any_number(void **state)
{
    (void)state;
    struct td_unacknowledged queue = {0};
    for (uint64_t number = 1; number <= 5; number++)
        keep(&queue, number);
    for (uint64_t from = 0; from <= 6; from++)
        expect(&queue, from, from ? from : 1, 5);
    td_unacknowledged_acknowledge(&queue, UINT64_MAX);
}

static void an_acknowledgement_frees_messages_up_to_its_number(void **state)
{
    (void)state;
    struct td_unacknowledged queue = {0};
    for (uint64_t number = 1; number <= 5; number++)
        keep(&queue, number);
    for (uint64_t number = 0; number <= 5; number++) {
        td_unacknowledged_acknowledge(&queue, number);
        expect(&queue, 0, number + 1, 5);
        td_unacknowledged_acknowledge(&queue,
                                      number); /* a repeated acknowledgement frees nothing */
        expect(&queue, 0, number + 1, 5);
    }
}

static void a_queue_that_was_emptied_keeps_messages_again(void **state)
{
    (void)state;
    struct td_unacknowledged queue = {0};
    keep(&queue, 3);
    td_unacknowledged_acknowledge(&queue, UINT64_MAX);
    keep(&queue, 1); /* a new session numbers its messages from 1 */
    keep(&queue, 2);
    expect(&queue, 0, 1, 2);
    td_unacknowledged_acknowledge(&queue, 2);
    keep(&queue, 3);
    expect(&queue, 3, 3, 3);
    td_unacknowledged_acknowledge(&queue, UINT64_MAX);
    assert_null(queue.first);
    assert_null(queue.last);
}

static void numbers_may_have_gaps(void **state)
{
    (void)state;
    struct td_unacknowledged queue = {0};
    keep(&queue, 2);
    keep(&queue, 9);
    td_unacknowledged_acknowledge(&queue, 5);
    expect(&queue, 3, 9, 9);
    td_unacknowledged_acknowledge(&queue, 9);
    expect(&queue, 0, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zeroed_queue_is_empty),
        cmocka_unit_test(messages_are_repeated_in_order_from_any_number),
        cmocka_unit_test(an_acknowledgement_frees_messages_up_to_its_number),
        cmocka_unit_test(a_queue_that_was_emptied_keeps_messages_again),
        cmocka_unit_test(numbers_may_have_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
