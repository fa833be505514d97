/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the router: credits, choices, routes and losses, one rule of docs/network.md each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench.h"

#include "base/span.h"

/* ---- credits ---- */

static void an_adaptive_channel_needs_one_credit(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    bench_begin_exhausted(&b, "8", &rules);
    arrive(&b, PLUS_0, ADAPTIVE_0, parcel(1, 3, 0));
    arrive(&b, PLUS_0, ADAPTIVE_0, parcel(2, 3, 0));
    assert_int_equal(go(&b, ALL), 0);
    give(&b, PLUS_0, ADAPTIVE_1, 1);
    assert_int_equal(go(&b, ALL), 1);
    expect_move(&b, 1, PLUS_0, ADAPTIVE_1);
    assert_int_equal(b.move[0].parcel.left[0], 2); /* counted from there */
    assert_int_equal(go(&b, ALL), 0);              /* no more */
    bench_end(&b);
}

/* The places of a packet, and the channels that it may use next. */
static const struct {
    bool injected;
    unsigned direction, channel; /* its place */
    int left[2];
    unsigned escape; /* direction of its escape channel */
    uint32_t needs;
} entries[] = {
    {true, 0, 0, {3, 0}, PLUS_0, 2},                /* injection */
    {true, 0, 0, {0, -3}, MINUS_1, 2},              /* injection */
    {false, PLUS_0, ADAPTIVE_0, {3, 0}, PLUS_0, 2}, /* straight on, from an adaptive channel */
    {false, PLUS_0, ADAPTIVE_1, {3, 1}, PLUS_0, 2},
    {false, PLUS_1, ADAPTIVE_0, {-3, 1}, MINUS_0, 2}, /* a turn, from an adaptive channel */
    {false, PLUS_0, ESCAPE, {0, 3}, PLUS_1, 2},       /* a turn, from an escape channel */
    {false, MINUS_1, ESCAPE, {2, -2}, PLUS_0, 2},     /* a turn, from an escape channel against the
                                                         order of dimensions */
    {false, PLUS_0, ESCAPE, {3, 0}, PLUS_0, 1},       /* continuing */
    {false, MINUS_0, ESCAPE, {-1, 3}, MINUS_0, 1},
    {false, MINUS_1, ESCAPE, {0, -2}, MINUS_1, 1},
};

static void entering_an_escape_needs_two_credits_and_continuing_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        struct bench b;
        struct td_router_rules rules = bench_rules();
        struct td_parcel p = parcel(OWN_TAG, entries[i].left[0], entries[i].left[1]);
        bench_begin_exhausted(&b, "8x8", &rules);
        if (entries[i].injected)
            ship(&b, 0, 1, p);
        else
            arrive(&b, entries[i].direction, entries[i].channel, p);
        for (uint32_t credits = 0; credits < entries[i].needs; credits++) {
            assert_int_equal(go(&b, ALL), 0);
            give(&b, entries[i].escape, ESCAPE, 1);
        }
        assert_int_equal(go(&b, ALL), 1);
        expect_move(&b, OWN_TAG, entries[i].escape, ESCAPE);
        bench_end(&b);
    }
}

static void the_escape_is_that_of_the_first_unresolved_dimension(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    bench_begin_exhausted(&b, "8x8", &rules);
    arrive(&b, PLUS_1, ESCAPE, parcel(1, 2, 2));
    give(&b, PLUS_1, ESCAPE, rules.slots); /* it could continue if that were allowed */
    give(&b, MINUS_0, ESCAPE, rules.slots);
    assert_int_equal(go(&b, ALL), 0);
    give(&b, PLUS_0, ESCAPE, 2);
    assert_int_equal(go(&b, ALL & ~(1u << PLUS_0)),
                     0); /* a busy link is no reason for another one */
    assert_int_equal(go(&b, ALL), 1);
    expect_move(&b, 1, PLUS_0, ESCAPE);
    bench_end(&b);
}

static void from_the_escape_back_needs_one_credit(void **state)
{
    (void)state;
    for (unsigned direction = PLUS_0; direction <= PLUS_1; direction += PLUS_1) {
        struct bench b;
        struct td_router_rules rules = bench_rules();
        bench_begin_exhausted(&b, "8x8", &rules);
        arrive(&b, PLUS_0, ESCAPE, parcel(1, 2, 2));
        assert_int_equal(go(&b, ALL), 0);
        give(&b, direction, ADAPTIVE_0, 1);
        assert_int_equal(go(&b, ALL), 1);
        expect_move(&b, 1, direction, ADAPTIVE_0);
        bench_end(&b);
    }
}

static void a_credit_returns_when_the_slot_is_freed(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    bench_begin_exhausted(&b, "8", &rules);
    uint64_t before = td_router_freed_count(b.r, PLUS_0, ADAPTIVE_0);
    arrive(&b, PLUS_0, ADAPTIVE_0, parcel(1, 2, 0));
    assert_int_equal(go(&b, ALL), 0);
    assert_int_equal(td_router_freed_count(b.r, PLUS_0, ADAPTIVE_0), before); /* it waits here */
    give(&b, PLUS_0, ADAPTIVE_1, 1);
    assert_int_equal(go(&b, ALL), 1);
    assert_int_equal(td_router_freed_count(b.r, PLUS_0, ADAPTIVE_0), before + 1);
    /* the other channels have no slots to return */
    assert_int_equal(td_router_freed_count(b.r, PLUS_0, ADAPTIVE_1), 0);
    assert_int_equal(td_router_freed_count(b.r, MINUS_0, ADAPTIVE_0), 0);
    bench_end(&b);
}

static void who_has_arrived_holds_the_slot_until_it_is_freed(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    bench_begin(&b, "8x8", 0, &rules, 1);
    struct td_parcel here = parcel(1, 0, 0);
    for (uint32_t i = 0; i < rules.slots; i++) {
        assert_true(td_router_has_slot(b.r, MINUS_1, ADAPTIVE_1));
        assert_true(td_router_arrive(b.r, MINUS_1, ADAPTIVE_1, &here));
    }
    assert_false(td_router_has_slot(b.r, MINUS_1, ADAPTIVE_1));
    assert_false(td_router_busy(b.r)); /* it has no more hops */
    assert_int_equal(go(&b, ALL), 0);
    assert_int_equal(td_router_freed_count(b.r, MINUS_1, ADAPTIVE_1), 0);
    td_router_freed(b.r, MINUS_1, ADAPTIVE_1);
    assert_int_equal(td_router_freed_count(b.r, MINUS_1, ADAPTIVE_1), 1);
    assert_true(td_router_has_slot(b.r, MINUS_1, ADAPTIVE_1));
    assert_true(td_router_has_slot(b.r, MINUS_1, ADAPTIVE_0)); /* not concerned */
    bench_end(&b);
}

static void slots_are_of_whole_packets(void **state)
{
    (void)state;
    for (uint32_t slots = 2; slots <= 5; slots++) {
        struct bench b;
        struct td_router_rules rules = bench_rules();
        rules.slots = slots;
        bench_begin(&b, "8", 0, &rules, 1);
        ship(&b, 0, 20, parcel(OWN_TAG, 3, 0));
        uint32_t sent = 0;
        while (go(&b, ALL)) { /* one per link and turn */
            assert_int_equal(b.move[0].parcel.tag, OWN_TAG + sent);
            sent++;
        }
        assert_int_equal(sent, 3 * slots - 1); /* all slots but the bubble */
        for (uint32_t i = 0; i < slots; i++)
            arrive(&b, PLUS_0, ADAPTIVE_0, parcel(i, 3, 0));
        assert_false(td_router_has_slot(b.r, PLUS_0, ADAPTIVE_0));
        assert_int_equal(go(&b, ALL), 0);
        bench_end(&b);
    }
}

static void counts_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    bench_begin_exhausted(&b, "8", &rules);
    const uint32_t many[TD_CHANNELS] = {rules.slots + 1}, three[TD_CHANNELS] = {3};
    const uint32_t fewer[TD_CHANNELS] = {2, 1}, more[TD_CHANNELS] = {3, rules.slots + 1};
    assert_false(td_router_credit(b.r, PLUS_0, many));
    assert_int_equal(td_router_credits(b.r, PLUS_0, ADAPTIVE_0), 0);
    assert_true(td_router_credit(b.r, PLUS_0, three));
    assert_true(td_router_credit(b.r, PLUS_0, three)); /* the same counts again give nothing */
    assert_int_equal(td_router_credits(b.r, PLUS_0, ADAPTIVE_0), 3);
    assert_false(td_router_credit(b.r, PLUS_0, fewer)); /* nor do they take anything back, */
    assert_false(td_router_credit(b.r, PLUS_0, more));  /* nor is a part of a wrong count used */
    assert_int_equal(td_router_credits(b.r, PLUS_0, ADAPTIVE_0), 3);
    assert_int_equal(td_router_credits(b.r, PLUS_0, ADAPTIVE_0 + 1), 0);
    bench_end(&b);
}

/* ---- choosing ---- */

static void a_blocked_head_looks_at_all_its_ways_at_every_attempt(void **state)
{
    (void)state;
    static const struct {
        unsigned direction, channel;
    } ways[] = {{PLUS_0, ADAPTIVE_0},
                {PLUS_0, ADAPTIVE_1},
                {MINUS_1, ADAPTIVE_0},
                {MINUS_1, ADAPTIVE_1},
                {PLUS_0, ESCAPE}};
    for (int injected = 0; injected < 2; injected++)
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            struct bench b;
            struct td_router_rules rules = bench_rules();
            bench_begin_exhausted(&b, "8x8", &rules);
            if (injected)
                ship(&b, 0, 1, parcel(7, 2, -2));
            else
                arrive(&b, PLUS_0, ADAPTIVE_0, parcel(7, 2, -2));
            for (int attempt = 0; attempt < 100; attempt++)
                assert_int_equal(go(&b, ALL), 0);
            give(&b, PLUS_1, ADAPTIVE_0, 2); /* not on its route */
            give(&b, MINUS_0, ADAPTIVE_0, 2);
            assert_int_equal(go(&b, ALL), 0);
            give(&b, ways[i].direction, ways[i].channel, 2);
            assert_int_equal(go(&b, ALL), 1);
            expect_move(&b, 7, ways[i].direction, ways[i].channel);
            bench_end(&b);
        }
}

static void most_free_slots_win_and_the_escape_is_the_last(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    bench_begin_exhausted(&b, "8x8", &rules);
    give(&b, PLUS_0, ADAPTIVE_0, 1);
    give(&b, PLUS_0, ADAPTIVE_1, 2);
    give(&b, PLUS_1, ADAPTIVE_0, 3);
    give(&b, PLUS_0, ESCAPE, 4);
    static const unsigned wanted[][2] = {
        {PLUS_1, ADAPTIVE_0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {PLUS_0, ESCAPE}};
    for (int i = 0; i < 7; i++) {
        arrive(&b, PLUS_0, ADAPTIVE_0, parcel(1, 2, 2));
        assert_int_equal(go(&b, ALL), 1);
        if (i == 0 || i == 6)
            expect_move(&b, 1, wanted[i][0], wanted[i][1]);
        assert_int_equal(b.move[0].channel == ESCAPE, i == 6);
    }
    bench_end(&b);
}

static void a_busy_link_is_no_choice(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    bench_begin(&b, "8x8", 0, &rules, 1);
    for (int i = 0; i < 12;
         i++) { /* until even the escape channel of the idle link has only its bubble left */
        ship(&b, 0, 1, parcel((uint64_t)i, 2, 2));
        if (go(&b, 1u << PLUS_1) == 0)
            break;
        assert_int_equal(b.move[0].direction, PLUS_1);
        assert_true(i < 8); /* its escape channel is that of dimension 0 */
    }
    assert_int_equal(go(&b, 0), 0);
    assert_int_equal(go(&b, 1u << MINUS_0 | 1u << MINUS_1), 0);
    assert_int_equal(go(&b, 1u << PLUS_0), 1);
    bench_end(&b);
}

static void equal_channels_are_chosen_at_random(void **state)
{
    (void)state;
    enum { TRIALS = 8000 };
    struct bench b;
    struct td_router_rules rules = bench_rules();
    uint32_t chosen[2][2] = {{0}};
    rules.straight = 0;
    bench_begin(&b, "8x8", 0, &rules, 1);
    for (int i = 0; i < TRIALS; i++) {
        arrive(&b, PLUS_0, ADAPTIVE_0, parcel(1, 2, 2));
        assert_int_equal(go(&b, ALL), 1);
        const struct td_move *m = &b.move[0];
        assert_true(m->channel < ESCAPE && m->direction % 2 == 0);
        chosen[m->direction / 2][m->channel]++;
        give(&b, m->direction, m->channel, 1);
    }
    for (int d = 0; d < 2; d++)
        for (int c = 0; c < 2; c++)
            assert_true(about(chosen[d][c], TRIALS, 4));
    bench_end(&b);
}

/* ---- ways ---- */

/* signs sends a shipment's packets and counts the combinations of their signs. */
static void signs(struct bench *b, const struct td_shipment *s, uint32_t count[4])
{
    uint32_t sent = 0;
    assert_true(td_router_ship(b->r, 0, s));
    memset(count, 0, 4 * sizeof count[0]);
    while (sent < s->packets) {
        unsigned moves = go(b, ALL);
        assert_true(moves > 0);
        for (unsigned i = 0; i < moves; i++) {
            const struct td_move *m = &b->move[i];
            int left[2] = {m->parcel.left[0], m->parcel.left[1]};
            left[m->direction / 2] += m->direction % 2 ? -1 : 1;
            count[(left[0] < 0) | (left[1] < 0) << 1]++;
            give(b, m->direction, m->channel, 1);
            sent++;
        }
    }
}

static void both_ways_round_are_taken_equally_often(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        uint32_t node, to, combinations;
    } cases[] = {{"4", 0, 2, 2},    {"4", 3, 1, 2},   {"2", 0, 1, 2},    {"4x4", 0, 10, 4},
                 {"4x4", 7, 13, 4}, {"4x2", 1, 4, 4}, {"4x5", 0, 11, 2}, {"4x4m", 0, 10, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t turn = 0; turn < 4; turn++) {
            struct bench b;
            struct td_router_rules rules = bench_rules();
            struct td_shipment s = {.tag = OWN_TAG, .packets = 3 * cases[i].combinations};
            uint32_t count[4], used = 0;
            bench_begin(&b, cases[i].shape, cases[i].node, &rules, 1);
            td_router_route(b.r, cases[i].to, turn, 0, &s);
            signs(&b, &s, count);
            for (int k = 0; k < 4; k++) {
                assert_true(count[k] == 0 || count[k] == 3);
                used += count[k] > 0;
            }
            assert_int_equal(used, cases[i].combinations);
            bench_end(&b);
        }
}

static void single_packets_take_turns_by_message_and_by_node(void **state)
{
    (void)state;
    struct td_router_rules rules = bench_rules();
    int sum = 0;
    for (uint32_t node = 0; node < 4; node++) {
        int of_node = 0;
        for (uint32_t turn = 0; turn < 4; turn++) {
            struct bench b;
            struct td_shipment s = {.packets = 1};
            bench_begin(&b, "4", node, &rules, 1);
            td_router_route(b.r, (node + 2) % 4, turn, 0, &s);
            assert_int_equal(abs(s.left[0]), 2);
            of_node += s.left[0];
            sum += turn == 0 ? s.left[0] : 0;
            bench_end(&b);
        }
        assert_int_equal(of_node, 0);
    }
    assert_int_equal(sum, 0); /* the packets of a ring do not all begin with the same sign */
}

static void a_sign_that_is_asked_for_is_kept(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2)
        for (uint32_t turn = 0; turn < 2; turn++) {
            struct bench b;
            struct td_router_rules rules = bench_rules();
            struct td_shipment s = {.packets = 6};
            uint32_t count[4];
            bench_begin(&b, "4", 0, &rules, 1);
            td_router_route(b.r, 2, turn, sign, &s);
            signs(&b, &s, count);
            assert_int_equal(count[sign < 0], 6);
            td_router_route(b.r, 3, turn, sign, &s); /* one direction is shorter there */
            assert_int_equal(s.left[0], -1);
            bench_end(&b);
        }
}

/* ---- losses ---- */

static void note_drop(void *owner, uint64_t tag)
{
    struct bench *b = owner;
    assert_true(b->drops < 8);
    b->dropped[b->drops++] = tag;
}

static void a_link_that_is_lost_begins_anew(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    bench_begin_exhausted(&b, "8x8", &rules);
    arrive(&b, PLUS_0, ADAPTIVE_0, parcel(11, 2, 0)); /* from the neighbour at -0 */
    arrive(&b, PLUS_0, ESCAPE, parcel(12, 2, 0));
    arrive(&b, MINUS_0, ADAPTIVE_0, parcel(13, 0, 2)); /* from the one at +0 */
    td_router_reset(b.r, MINUS_0, note_drop, &b);
    assert_int_equal(b.drops, 2);
    assert_int_equal(b.dropped[0] + b.dropped[1], 23);
    for (unsigned c = 0; c < TD_CHANNELS; c++) {
        assert_int_equal(td_router_credits(b.r, MINUS_0, c), rules.slots);
        assert_int_equal(td_router_freed_count(b.r, PLUS_0, c), 0);
        assert_int_equal(td_router_credits(b.r, PLUS_0, c), 0); /* the other link does not change */
    }
    assert_int_equal(go(&b, ALL), 0);
    give(&b, PLUS_1, ADAPTIVE_0, 1);
    assert_int_equal(go(&b, ALL), 1);
    expect_move(&b, 13, PLUS_1, ADAPTIVE_0);
    assert_false(td_router_busy(b.r));
    bench_end(&b);
}

static bool odd_parcel(void *owner, const struct td_parcel *p)
{
    if (p->tag % 2)
        note_drop(owner, p->tag);
    return p->tag % 2;
}

static bool odd_tag(void *owner, uint64_t tag)
{
    (void)owner;
    return tag % 2;
}

static void who_is_purged_in_transit_frees_the_slot(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    bench_begin_exhausted(&b, "8", &rules);
    uint32_t freed[TD_CHANNELS];
    for (uint64_t tag = 1; tag <= 4; tag++)
        arrive(&b, MINUS_0, ADAPTIVE_1, parcel(tag, -2, 0));
    td_router_tell(b.r, PLUS_0, freed);
    td_router_tell(b.r, MINUS_0, freed);
    td_router_purge(b.r, odd_parcel, &b);
    assert_int_equal(b.drops, 2);
    assert_int_equal(td_router_freed_count(b.r, MINUS_0, ADAPTIVE_1), 2);
    assert_int_equal(td_router_news(b.r), 1u << MINUS_0); /* the neighbour there is told */
    give(&b, MINUS_0, ADAPTIVE_0, 4);
    for (uint64_t tag = 2; tag <= 4; tag += 2) { /* the others continue, in order */
        assert_int_equal(go(&b, ALL), 1);
        assert_int_equal(b.move[0].parcel.tag, tag);
    }
    assert_int_equal(td_router_freed_count(b.r, MINUS_0, ADAPTIVE_1), 4);
    assert_false(td_router_busy(b.r));
    bench_end(&b);
}

/* What a driver of many routers prefetches must be all that a packet touches. */
static void a_packet_that_passes_changes_each_span(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    struct td_span spans[TD_ROUTER_SPANS] = {{0}};
    bench_begin(&b, "8x8", 0, &rules, 1);
    assert_int_equal(td_router_spans(b.r, spans), TD_ROUTER_SPANS);
    for (unsigned i = 0; i < TD_ROUTER_SPANS; i++) {
        uint8_t *before = malloc(spans[i].bytes);
        assert_non_null(before);
        memcpy(before, spans[i].at, spans[i].bytes);
        arrive(&b, MINUS_1, ADAPTIVE_0, towards(MINUS_1, OWN_TAG + i, 2));
        assert_int_equal(go(&b, ALL), 1);
        assert_memory_not_equal(before, spans[i].at, spans[i].bytes);
        free(before);
    }
    bench_end(&b);
}

static void who_is_discarded_before_leaving_makes_room(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    struct td_router_counts counts;
    bench_begin_exhausted(&b, "8", &rules);
    for (uint64_t i = 0; i < 4; i++) { /* into the FIFOs, which are then full */
        ship(&b, 0, 1, parcel(11 + i, 2, 0));
        ship(&b, 1, 1, parcel(30, -2, 0));
    }
    go(&b, 0);
    for (uint64_t i = 0; i < 4; i++) /* into an output queue */
        ship(&b, 0, 1, parcel(21 + i, 2, 0));
    td_router_discard(b.r, odd_tag, &b);
    td_router_look(b.r, &counts);
    assert_int_equal(counts.fifo[PLUS_0], 2);
    assert_int_equal(counts.queued, 2);
    go(&b, 0);
    td_router_look(b.r, &counts);
    assert_int_equal(counts.fifo[PLUS_0], 4);
    give(&b, PLUS_0, ADAPTIVE_0, 4);
    static const uint64_t tags[] = {12, 14, 22, 24};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(go(&b, ALL), 1);
        assert_int_equal(b.move[0].parcel.tag, tags[i]);
    }
    give(&b, MINUS_0, ADAPTIVE_0, 4);
    for (int i = 0; i < 4; i++) {
        assert_true(td_router_busy(b.r));
        assert_int_equal(go(&b, ALL), 1);
    }
    assert_false(td_router_busy(b.r));
    bench_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_adaptive_channel_needs_one_credit),
        cmocka_unit_test(entering_an_escape_needs_two_credits_and_continuing_one),
        cmocka_unit_test(the_escape_is_that_of_the_first_unresolved_dimension),
        cmocka_unit_test(from_the_escape_back_needs_one_credit),
        cmocka_unit_test(a_credit_returns_when_the_slot_is_freed),
        cmocka_unit_test(who_has_arrived_holds_the_slot_until_it_is_freed),
        cmocka_unit_test(slots_are_of_whole_packets),
        cmocka_unit_test(counts_that_cannot_be_are_refused),
        cmocka_unit_test(a_blocked_head_looks_at_all_its_ways_at_every_attempt),
        cmocka_unit_test(most_free_slots_win_and_the_escape_is_the_last),
        cmocka_unit_test(a_busy_link_is_no_choice),
        cmocka_unit_test(equal_channels_are_chosen_at_random),
        cmocka_unit_test(both_ways_round_are_taken_equally_often),
        cmocka_unit_test(single_packets_take_turns_by_message_and_by_node),
        cmocka_unit_test(a_sign_that_is_asked_for_is_kept),
        cmocka_unit_test(a_link_that_is_lost_begins_anew),
        cmocka_unit_test(who_is_purged_in_transit_frees_the_slot),
        cmocka_unit_test(who_is_discarded_before_leaving_makes_room),
        cmocka_unit_test(a_packet_that_passes_changes_each_span),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
