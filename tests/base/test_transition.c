/* SPDX-License-Identifier: Apache-2.0 */
/* State machines as tables: base/transition.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/transition.h"

enum { CLOSED, OPEN, LOCKED, STATES };
enum { PUSH, PULL, TURN_KEY };

static const struct td_label states[] = {
    {"closed", "The door is shut."}, {"open", "It is open."}, {"locked", "It is locked."}};
static const struct td_label events[] = {
    {"push", "Somebody pushes."}, {"pull", "Somebody pulls."}, {"turn key", "The key turns."}};

static const struct td_transition door_rows[] = {
    {TD_IN(CLOSED), PUSH, OPEN},
    {TD_IN(OPEN), PULL, CLOSED},
    {TD_IN(CLOSED) | TD_IN(LOCKED), PULL, TD_STAY},
    {TD_IN(CLOSED), TURN_KEY, LOCKED},
    {TD_IN(LOCKED), TURN_KEY, CLOSED},
};

static const struct td_machine door = {
    .name = "door", .meaning = "A door.", TD_MACHINE(states, events, door_rows)};

static void an_event_leads_to_the_state_of_its_row(void **state)
{
    (void)state;
    assert_int_equal(td_machine_next(&door, CLOSED, PUSH), OPEN);
    assert_int_equal(td_machine_next(&door, LOCKED, TURN_KEY), CLOSED);
}

static void an_event_that_stays_keeps_the_state(void **state)
{
    (void)state;
    assert_int_equal(td_machine_next(&door, CLOSED, PULL), CLOSED);
    assert_int_equal(td_machine_next(&door, LOCKED, PULL), LOCKED);
}

static void an_event_that_no_row_lists_is_not_found(void **state)
{
    (void)state;
    assert_null(td_machine_find(&door, OPEN, TURN_KEY));
    assert_null(td_machine_find(&door, LOCKED, PUSH));
}

static void a_sound_table_passes_the_check(void **state)
{
    (void)state;
    assert_null(td_machine_check(&door));
}

static const char *check_rows(const struct td_transition *row, uint32_t rows)
{
    struct td_machine m = door;
    m.row = row;
    m.rows = rows;
    return td_machine_check(&m);
}

static void two_rows_for_one_state_and_event_are_found(void **state)
{
    (void)state;
    struct td_transition row[6];
    for (uint32_t i = 0; i < 5; i++)
        row[i] = door_rows[i];
    row[5] = (struct td_transition){TD_IN(CLOSED), PUSH, LOCKED};
    assert_string_equal(check_rows(row, 6), "two rows are for the same state and event");
}

static void a_state_that_no_event_leads_to_is_found(void **state)
{
    (void)state;
    struct td_transition row[5];
    for (uint32_t i = 0; i < 5; i++)
        row[i] = door_rows[i];
    row[3].to = TD_STAY;
    assert_string_equal(check_rows(row, 5), "a state cannot be reached");
}

static void an_event_that_no_row_uses_is_found(void **state)
{
    (void)state;
    assert_string_equal(check_rows(door_rows, 3), "an event is allowed in no state");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_leads_to_the_state_of_its_row),
        cmocka_unit_test(an_event_that_stays_keeps_the_state),
        cmocka_unit_test(an_event_that_no_row_lists_is_not_found),
        cmocka_unit_test(a_sound_table_passes_the_check),
        cmocka_unit_test(two_rows_for_one_state_and_event_are_found),
        cmocka_unit_test(a_state_that_no_event_leads_to_is_found),
        cmocka_unit_test(an_event_that_no_row_uses_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
