/* SPDX-License-Identifier: Apache-2.0 */
/* Which connection is read next, and with what the loop was busy, by clocks of the tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "io/busy.h"
#include "io/clients/turns.h"

enum { MS = 1000000, CONNECTIONS = 1200, HOG = 1000, OTHER = 1001, USERS = 40 };

static struct td_turns turns;
static struct connection {
    struct td_turns_entry turn; /* the first member */
    uint64_t uid, cost_ns;
    uint32_t requests; /* that wait */
} connection[CONNECTIONS];
static uint64_t now, served[CONNECTIONS + USERS]; /* by user */

static void begin(void)
{
    td_turns_init(&turns);
    memset(connection, 0, sizeof connection);
    memset(served, 0, sizeof served);
    now = 0;
}

static void open_one(uint32_t i, uint64_t uid, uint32_t requests, uint64_t cost_ns)
{
    connection[i].uid = uid;
    connection[i].requests = requests;
    connection[i].cost_ns = cost_ns;
    td_turns_add(&turns, &connection[i].turn, uid);
}

/* poll_all queues all connections with requests, as the loop does when it looks at its sockets. */
static void poll_all(void)
{
    for (uint32_t i = 0; i < CONNECTIONS; i++)
        if (connection[i].requests > 0)
            td_turns_add(&turns, &connection[i].turn, connection[i].uid);
}

/* read_one reads a request of the connection whose turn it is, and returns its user. */
static uint64_t read_one(void)
{
    struct connection *x = (struct connection *)td_turns_next(&turns);
    assert_non_null(x);
    uint64_t ns = x->requests > 0 ? x->cost_ns : 0, uid = x->uid;
    x->requests -= x->requests > 0;
    now += ns;
    served[uid] += ns;
    td_turns_served(&turns, ns, false);
    return uid;
}

static void a_user_with_many_requests_delays_another_by_one_turn_and_one_request(void **state)
{
    (void)state;
    for (uint64_t cost = MS / 100; cost <= 5 * MS; cost *= 5) {
        begin();
        for (uint32_t i = 0; i < 1000; i++)
            open_one(i, HOG, 1, cost);
        for (uint32_t before = 0; before < 20; before++) { /* at any place of the other's turn */
            read_one();
            open_one(1100, OTHER, 1, 1000);
            uint64_t queued = now;
            while (read_one() != OTHER)
                continue;
            assert_true(now - queued - 1000 <= TD_TURNS_NS + cost);
        }
    }
}

static void a_user_with_one_connection_pays_its_debt_before_its_next_request(void **state)
{
    (void)state;
    begin();
    open_one(0, HOG, 1000, 5 * MS);
    for (uint32_t i = 1; i < 4; i++)
        open_one(i, OTHER, 100000, MS / 20);
    while (now < 1000 * (uint64_t)MS) {
        read_one();
        poll_all();
    }
    assert_true(served[HOG] <= served[OTHER] + 5 * MS + TD_TURNS_NS);
    assert_true(served[OTHER] <= served[HOG] + 5 * MS + TD_TURNS_NS);
}

static void a_user_alone_is_read_in_the_order_of_its_connections(void **state)
{
    (void)state;
    begin();
    for (uint32_t i = 0; i < 100; i++)
        open_one(i, HOG, 1, (i % 7) * MS);
    for (uint32_t i = 0; i < 100; i++) {
        td_turns_add(&turns, &connection[i].turn, HOG); /* once */
        assert_ptr_equal(td_turns_next(&turns), &connection[i].turn);
        assert_true(td_turns_served(&turns, connection[i].cost_ns, false));
        assert_false(connection[i].turn.waits);
    }
    assert_null(td_turns_next(&turns));
}

static void many_users_have_equal_shares_whatever_their_requests_cost(void **state)
{
    (void)state;
    begin();
    for (uint32_t i = 0; i < 4 * USERS; i++)
        open_one(i, i / 4, UINT32_MAX / 2, (1 + i / 4) * MS / 20);
    while (now < 4000 * (uint64_t)MS) {
        read_one();
        poll_all();
    }
    for (uint32_t i = 1; i < USERS; i++)
        assert_true(served[i] + 3 * MS > served[0] && served[0] + 3 * MS > served[i]);
}

static void a_connection_with_more_to_read_keeps_its_place(void **state)
{
    (void)state;
    begin();
    open_one(0, HOG, 1, 0);
    open_one(1, HOG, 1, 0);
    assert_false(td_turns_served(&turns, 10, true));
    assert_ptr_equal(td_turns_next(&turns), &connection[0].turn);
    assert_true(td_turns_served(&turns, 10, false));
    assert_ptr_equal(td_turns_next(&turns), &connection[1].turn);
}

static void the_longest_event_is_kept_and_that_of_the_last_minutes(void **state)
{
    (void)state;
    struct td_busy busy = {0};
    const td_time start = 1000 * TD_BUSY_MINUTE_NS;
    td_busy_note(&busy, start, (struct td_busy_event){9 * MS, 2 * MS, "a"});
    td_busy_note(&busy, start + 1, (struct td_busy_event){4 * MS, 4 * MS, "b"});
    struct td_busy_longest recent = td_busy_recent(&busy, start + 2);
    assert_int_equal(recent.passed.ns, 9 * MS);
    assert_string_equal(recent.passed.what, "a");
    assert_int_equal(recent.cpu.cpu_ns, 4 * MS);
    assert_string_equal(recent.cpu.what, "b");
    td_busy_note(&busy, start + TD_BUSY_MINUTE_NS + 5, (struct td_busy_event){MS, MS, "c"});
    assert_int_equal(td_busy_recent(&busy, start + TD_BUSY_MINUTE_NS + 6).passed.ns, 9 * MS);
    td_busy_note(&busy, start + 2 * TD_BUSY_MINUTE_NS + 9, (struct td_busy_event){MS, MS, "c"});
    recent = td_busy_recent(&busy, start + 2 * TD_BUSY_MINUTE_NS + 9);
    assert_int_equal(recent.passed.ns, MS);
    assert_string_equal(recent.cpu.what, "c");
    assert_null(td_busy_recent(&busy, start + 9 * TD_BUSY_MINUTE_NS).passed.what);
    assert_int_equal(busy.ever.passed.ns, 9 * MS);
    assert_int_equal(busy.ever.cpu.cpu_ns, 4 * MS);
    assert_int_equal(busy.too_long, 0);
    td_busy_note(&busy, start, (struct td_busy_event){6 * MS, 6 * MS, "d"});
    assert_int_equal(busy.too_long, 1);
}

static void an_event_inside_another_one_counts_as_a_part_of_it(void **state)
{
    (void)state;
    struct td_busy busy = {0};
    td_time began = td_busy_begin(&busy, "outer");
    assert_int_equal(td_busy_begin(&busy, "inner"), began);
    td_busy_end(&busy);
    assert_null(busy.ever.passed.what);
    assert_true(td_busy_end(&busy) > 0);
    assert_string_equal(busy.ever.passed.what, "outer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_with_many_requests_delays_another_by_one_turn_and_one_request),
        cmocka_unit_test(a_user_with_one_connection_pays_its_debt_before_its_next_request),
        cmocka_unit_test(a_user_alone_is_read_in_the_order_of_its_connections),
        cmocka_unit_test(many_users_have_equal_shares_whatever_their_requests_cost),
        cmocka_unit_test(a_connection_with_more_to_read_keeps_its_place),
        cmocka_unit_test(the_longest_event_is_kept_and_that_of_the_last_minutes),
        cmocka_unit_test(an_event_inside_another_one_counts_as_a_part_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
