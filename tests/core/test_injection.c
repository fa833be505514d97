/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the router: from the output queues to the links, and the arbitration there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench.h"

/* ---- injection ---- */

static void the_least_full_fifo_is_taken(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    struct td_router_counts counts;
    bench_begin(&b, "8x8", 0, &rules, 1);
    ship(&b, 0, 2, parcel(1, 3, 0)); /* two wait for +0, and one for -1 */
    ship(&b, 0, 1, parcel(1, 0, -3));
    ship(&b, 0, 1, parcel(1, 2, -2));
    go(&b, 0);
    td_router_look(b.r, &counts);
    assert_int_equal(counts.fifo[PLUS_0], 2);
    assert_int_equal(counts.fifo[MINUS_1], 2);
    ship(&b, 0, 2, parcel(1, -2, -2)); /* -0 has none, and then fewer */
    go(&b, 0);
    td_router_look(b.r, &counts);
    assert_int_equal(counts.fifo[MINUS_0], 2);
    assert_int_equal(counts.fifo[MINUS_1], 2);
    assert_int_equal(counts.fifo[PLUS_1], 0);
    assert_int_equal(counts.fifo_max, 2);
    bench_end(&b);
}

static void equally_full_fifos_are_chosen_at_random(void **state)
{
    (void)state;
    enum { TRIALS = 4000 };
    struct bench b;
    struct td_router_rules rules = bench_rules();
    struct td_router_counts counts;
    uint32_t first = 0;
    bench_begin(&b, "8x8", 0, &rules, 1);
    for (int i = 0; i < TRIALS; i++) {
        ship(&b, 0, 1, parcel(1, 2, 2));
        assert_int_equal(go(&b, 0), 0);
        td_router_look(b.r, &counts);
        assert_int_equal(counts.fifo[PLUS_0] + counts.fifo[PLUS_1], 1);
        first += counts.fifo[PLUS_0];
        assert_int_equal(go(&b, ALL), 1);
        give(&b, b.move[0].direction, b.move[0].channel, 1);
    }
    assert_true(about(first, TRIALS, 2));
    bench_end(&b);
}

static void a_full_fifo_holds_up_its_queue_alone(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    struct td_router_counts counts;
    bench_begin(&b, "8x8", 0, &rules, 1);
    ship(&b, 0, rules.fifo_slots + 1, parcel(1, 3, 0));
    ship(&b, 0, 1, parcel(2, 0, 3)); /* behind it */
    go(&b, 0);
    ship(&b, 1, 2, parcel(3, 3, 3)); /* it could use the full one, too */
    ship(&b, 2, rules.fifo_slots, parcel(4, -3, 0));
    go(&b, 0);
    td_router_look(b.r, &counts);
    assert_int_equal(counts.fifo[PLUS_0], rules.fifo_slots);
    assert_int_equal(counts.fifo[MINUS_0], rules.fifo_slots);
    assert_in_range(counts.fifo[PLUS_1], 1, 2);
    assert_int_equal(counts.queued, 2); /* the last packet to +0, and the one behind it */
    uint32_t went = 0;
    while (td_router_busy(b.r) && went < 100)
        went += go(&b, ALL);
    assert_int_equal(went, 2 * rules.fifo_slots + 4); /* it was only for a while */
    bench_end(&b);
}

static void output_queues_are_visited_in_turn(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    rules.fifo_slots = 32;
    bench_begin(&b, "8", 0, &rules, 1);
    ship(&b, 0, 6, parcel(100, 3, 0));
    ship(&b, 1, 6, parcel(200, 3, 0));
    ship(&b, 3, 6, parcel(300, 3, 0));
    for (uint32_t i = 0; i < 18; i++) {
        assert_int_equal(go(&b, ALL), 1);
        assert_int_equal(b.move[0].parcel.tag, 100 * (i % 3 + 1) + i / 3);
        give(&b, b.move[0].direction, b.move[0].channel, 1);
    }
    assert_false(td_router_busy(b.r));
    bench_end(&b);
}

static void a_full_output_queue_takes_no_more(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    struct td_shipment s = {.packets = 1, .left = {1}};
    bench_begin(&b, "8", 0, &rules, 1);
    for (uint32_t i = 0; i < rules.queue_slots; i++) {
        assert_true(td_router_has_room(b.r, 1 + rules.queues, 0));
        assert_true(td_router_ship(b.r, 1 + rules.queues, &s));
    }
    assert_false(td_router_has_room(b.r, 1, 0)); /* they are numbered modulo L */
    assert_false(td_router_ship(b.r, 1, &s));
    assert_true(td_router_has_room(b.r, 0, 0));
    bench_end(&b);
}

/* The example of us8095585: node Q11 of 3x3 sends to all others, in this order. Its second index is
 * the X coordinate, which is our last dimension. */
static void the_worked_example_goes_the_ways_of_its_source(void **state)
{
    (void)state;
    enum {
        Y_PLUS = 1 << PLUS_0,
        Y_MINUS = 1 << MINUS_0,
        X_PLUS = 1 << PLUS_1,
        X_MINUS = 1 << MINUS_1
    };
    static const struct {
        int q;
        unsigned ways;
    } map[] = {{32, X_PLUS | Y_MINUS}, {22, X_PLUS | Y_PLUS},   {13, X_MINUS}, {21, Y_PLUS},
               {23, Y_PLUS | X_MINUS}, {33, X_MINUS | Y_MINUS}, {12, X_PLUS},  {31, Y_MINUS}};
    unsigned taken[8] = {0};
    for (uint64_t seed = 1; seed <= 64; seed++) {
        struct bench b;
        struct td_router_rules rules = bench_rules();
        struct td_router_counts before, after;
        rules.fifo_slots = 8;
        bench_begin(&b, "3x3", 0, &rules, seed);
        for (unsigned i = 0; i < 8; i++) {
            struct td_shipment s = {.tag = i, .packets = 1};
            td_router_route(b.r, (uint32_t)(map[i].q / 10 - 1) * 3 + (uint32_t)(map[i].q % 10 - 1),
                            i, 0, &s);
            td_router_look(b.r, &before);
            assert_true(td_router_ship(b.r, 0, &s));
            assert_int_equal(go(&b, 0), 0);
            td_router_look(b.r, &after);
            unsigned grown = 0;
            for (unsigned d = 0; d < 4; d++)
                grown |= (unsigned)(after.fifo[d] > before.fifo[d]) << d;
            assert_true(grown && !(grown & ~map[i].ways) && !(grown & (grown - 1)));
            for (unsigned d = 0; d < 4; d++) /* none of its FIFOs was less full */
                if (map[i].ways >> d & 1)
                    assert_true(before.fifo[d] >= before.fifo[__builtin_ctz(grown)]);
            taken[i] |= grown;
        }
        for (unsigned sent = 0; sent < 8;) {
            unsigned moves = go(&b, ALL);
            assert_true(moves > 0);
            for (unsigned k = 0; k < moves; k++, sent++)
                assert_true(map[b.move[k].parcel.tag].ways >> b.move[k].direction & 1);
        }
        bench_end(&b);
    }
    for (unsigned i = 0; i < 8; i++) /* of equal ones, each is chosen at some time */
        assert_int_equal(taken[i], map[i].ways);
}

/* ---- who goes first ---- */

/* rush returns in which turns the injected packet moved, while a packet in transit always wanted
 * the same link: bit i for turn i. */
static uint32_t rush(const struct td_router_rules *rules, uint32_t idle, uint32_t turns)
{
    struct bench b;
    uint32_t went = 0;
    bench_begin(&b, "8", 0, rules, 1);
    ship(&b, 0, turns, parcel(OWN_TAG, 3, 0));
    for (uint32_t i = 0; i < turns; i++) {
        if (td_router_has_slot(b.r, PLUS_0, ADAPTIVE_0))
            arrive(&b, PLUS_0, ADAPTIVE_0, parcel(1, 3, 0));
        assert_int_equal(go(&b, idle), 1);
        went |= (uint32_t)(b.move[0].parcel.tag >= OWN_TAG) << i;
        give(&b, b.move[0].direction, b.move[0].channel, 1);
    }
    bench_end(&b);
    return went;
}

static void transit_goes_first_until_patience_is_at_its_end(void **state)
{
    (void)state;
    struct td_router_rules rules = bench_rules();
    assert_int_equal(rush(&rules, ALL, 32), 0);
    rules.patience = 3;
    assert_int_equal(rush(&rules, ALL, 12), 0x888); /* passed over three times, then first */
    assert_int_equal(rush(&rules, 1u << PLUS_0, 12), 0x888); /* also if no other link is idle */
    rules.patience = 5;
    assert_int_equal(rush(&rules, ALL, 12), 0x820);
}

static void arbitration_can_be_turned_round(void **state)
{
    (void)state;
    struct td_router_rules rules = bench_rules();
    rules.arbitration = TD_INJECTION_FIRST;
    assert_int_equal(rush(&rules, ALL, 12), 0xfff);
    rules.arbitration = TD_NO_PREFERENCE;
    uint32_t went = (uint32_t)__builtin_popcount(rush(&rules, ALL, 32));
    assert_in_range(went, 8, 24);
}

static void patience_is_for_those_who_are_passed(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    rules.patience = 2;
    bench_begin_exhausted(&b, "8", &rules);
    ship(&b, 0, 1, parcel(OWN_TAG, 3, 0));
    arrive(&b, PLUS_0, ADAPTIVE_0, parcel(1, 3, 0));
    for (int i = 0; i < 10; i++) /* no packet could move, so none was passed over */
        assert_int_equal(go(&b, ALL), 0);
    give(&b, PLUS_0, ADAPTIVE_0, 1);
    assert_int_equal(go(&b, ALL), 1);
    assert_int_equal(b.move[0].parcel.tag, 1);
    bench_end(&b);
}

/* straight_first: three heads want +0, two of them turn there. It returns how often the one that
 * continues is first. */
static uint32_t straight_first(uint32_t straight, uint32_t turns)
{
    uint32_t first = 0;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    rules.straight = straight;
    bench_begin(&b, "8x8", 0, &rules, 1);
    for (uint32_t i = 0; i < turns; i++) {
        if (td_router_has_slot(b.r, PLUS_1, ADAPTIVE_0))
            arrive(&b, PLUS_1, ADAPTIVE_0, parcel(1, 3, 0));
        if (td_router_has_slot(b.r, MINUS_1, ADAPTIVE_1))
            arrive(&b, MINUS_1, ADAPTIVE_1, parcel(2, 3, 0));
        if (td_router_has_slot(b.r, PLUS_0, ADAPTIVE_1))
            arrive(&b, PLUS_0, ADAPTIVE_1, parcel(3, 3, 0));
        assert_int_equal(go(&b, ALL), 1);
        first += b.move[0].parcel.tag == 3;
        give(&b, b.move[0].direction, b.move[0].channel, 1);
    }
    bench_end(&b);
    return first;
}

static void who_keeps_its_direction_goes_before_who_turns(void **state)
{
    (void)state;
    assert_int_equal(straight_first(1, 120), 120);
    assert_in_range(straight_first(2, 120), 60, 90); /* every second turn, and by chance */
    assert_in_range(straight_first(0, 120), 10, 50);
}

static void every_link_takes_one_packet_a_turn(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    uint32_t links = 0;
    bench_begin(&b, "8x8", 0, &rules, 1);
    for (unsigned d = 0; d < 4; d++) {
        ship(&b, d, 2, towards(d, OWN_TAG, 3));
        arrive(&b, d, ADAPTIVE_0, towards(d, 1, 3));
    }
    assert_int_equal(go(&b, ALL), 4);
    for (int i = 0; i < 4; i++)
        links |= 1u << b.move[i].direction;
    assert_int_equal(links, ALL);
    assert_int_equal(go(&b, 1u << MINUS_0 | 1u << PLUS_1), 2);
    bench_end(&b);
}

/* ---- gaps ---- */

static void a_gap_keeps_the_distance_between_injections(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    struct td_shipment s = {.tag = OWN_TAG, .packets = 4, .gap = 2, .left = {3}};
    uint32_t went = 0;
    bench_begin(&b, "8", 0, &rules, 1);
    assert_true(td_router_ship(b.r, 0, &s));
    for (uint32_t i = 0; i < 12; i++) {
        if (i == 4) /* a gap does not delay other packets that pass */
            arrive(&b, PLUS_0, ADAPTIVE_0, parcel(1, 3, 0));
        unsigned moves = go(&b, ALL);
        if (moves)
            assert_int_equal(b.move[0].parcel.tag == 1, i == 4);
        went |= moves << i;
        if (i == 0)
            assert_int_equal(td_router_pause_ends(b.r), b.now + 3 * SLOT);
    }
    assert_int_equal(went, 1u << 0 | 1u << 3 | 1u << 4 | 1u << 6 | 1u << 9);
    assert_int_equal(td_router_pause_ends(b.r), TD_TIME_NEVER); /* for no packet */
    bench_end(&b);
}

static void who_left_late_does_not_put_off_those_behind(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    struct td_shipment s = {.tag = OWN_TAG, .packets = 4, .gap = 2, .left = {3}};
    uint32_t went = 0;
    bench_begin(&b, "8", 0, &rules, 1);
    assert_true(td_router_ship(b.r, 0, &s));
    for (uint32_t i = 0; i < 12; i++) {
        if (i == 3 || i == 4) /* others pass when the second one should leave */
            arrive(&b, PLUS_0, ADAPTIVE_0, parcel(1, 3, 0));
        if (go(&b, ALL) && b.move[0].parcel.tag >= OWN_TAG)
            went |= 1u << i;
    }
    assert_int_equal(went, 1u << 0 | 1u << 5 | 1u << 6 | 1u << 9);
    bench_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_full_fifo_is_taken),
        cmocka_unit_test(equally_full_fifos_are_chosen_at_random),
        cmocka_unit_test(a_full_fifo_holds_up_its_queue_alone),
        cmocka_unit_test(output_queues_are_visited_in_turn),
        cmocka_unit_test(a_full_output_queue_takes_no_more),
        cmocka_unit_test(the_worked_example_goes_the_ways_of_its_source),
        cmocka_unit_test(transit_goes_first_until_patience_is_at_its_end),
        cmocka_unit_test(arbitration_can_be_turned_round),
        cmocka_unit_test(patience_is_for_those_who_are_passed),
        cmocka_unit_test(who_keeps_its_direction_goes_before_who_turns),
        cmocka_unit_test(every_link_takes_one_packet_a_turn),
        cmocka_unit_test(a_gap_keeps_the_distance_between_injections),
        cmocka_unit_test(who_left_late_does_not_put_off_those_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
