/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the router: packets of several jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench.h"

enum { JOBS = 4 };

/* send queues a shipment; its packets are of the group with the job's number. */
static bool send(struct bench *b, uint32_t queue, uint64_t job, uint32_t packets, int left_0)
{
    struct td_shipment s = {.tag = job << 32,
                            .job = job,
                            .packets = packets,
                            .group = td_router_group(job),
                            .left = {(int16_t)left_0}};
    return td_router_ship(b->r, queue, &s);
}

/* step moves packets, counts those of each job, and returns the credits. */
static void step(struct bench *b, uint32_t *moved)
{
    unsigned moves = go(b, ALL);
    for (unsigned i = 0; i < moves; i++) {
        moved[b->move[i].parcel.tag >> 32]++;
        give(b, b->move[i].direction, b->move[i].channel, 1);
    }
}

static bool is_of_job_5(void *owner, uint64_t tag)
{
    (void)owner;
    return tag >> 32 == 5;
}

/* The queues of the jobs do not matter: each has the same part of the link. */
static void jobs_have_equal_parts_of_a_link(void **state)
{
    (void)state;
    static const uint32_t queues[][JOBS] = {{0, 0, 0, 0}, {0, 1, 2, 3}, {0, 0, 0, 1}, {3, 1, 1, 0}};
    for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) {
        struct bench b;
        struct td_router_rules rules = bench_rules();
        uint32_t moved[JOBS] = {0};
        bench_begin(&b, "8", 0, &rules, 1);
        for (uint64_t job = 0; job < JOBS; job++)
            for (uint32_t q = 0; q < (job ? 1 : rules.queues); q++) /* job 0 is in all queues */
                assert_true(send(&b, queues[i][job] + q, job, 1000, 3));
        for (int k = 0; k < 400; k++)
            step(&b, moved);
        for (uint64_t job = 0; job < JOBS; job++)
            assert_in_range(moved[job], 98, 102);
        bench_end(&b);
    }
}

static void the_packets_of_a_job_leave_a_queue_in_order(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    uint64_t next[2] = {0};
    bench_begin(&b, "8", 0, &rules, 1);
    for (uint64_t k = 0; k < 3; k++)
        for (uint64_t job = 0; job < 2; job++) {
            struct td_shipment s = {
                .tag = job << 32 | 5 * k, .job = job, .packets = 5, .left = {3}};
            assert_true(td_router_ship(b.r, 0, &s));
        }
    for (int k = 0; k < 30; k++) {
        assert_int_equal(go(&b, ALL), 1);
        uint64_t tag = b.move[0].parcel.tag;
        assert_int_equal((uint32_t)tag, next[tag >> 32]++);
        give(&b, b.move[0].direction, b.move[0].channel, 1);
    }
    assert_false(td_router_busy(b.r));
    bench_end(&b);
}

/* Job 0 keeps both directions busy from all queues; jobs 1 and 2 want one of them. Turns by queue
 * alone would pass over job 2 each time. */
static void no_job_is_passed_over_for_ever(void **state)
{
    (void)state;
    for (uint32_t queue = 0; queue < JOBS; queue++) {
        struct bench b;
        struct td_router_rules rules = bench_rules();
        uint32_t moved[JOBS] = {0};
        bench_begin(&b, "8", 0, &rules, 1);
        for (uint32_t q = 0; q < rules.queues; q++)
            assert_true(send(&b, q, 0, 1000, q % 2 ? 3 : -3));
        for (int k = 0; k < 20; k++)
            step(&b, moved);
        assert_true(send(&b, queue, 1, 1000, -3));
        assert_true(send(&b, queue, 2, 10, -3));
        for (int k = 0; k < 60; k++)
            step(&b, moved);
        assert_int_equal(moved[2], 10);
        assert_in_range(moved[1], 22, 25); /* half of what job 2 and the full FIFO leave */
        bench_end(&b);
    }
}

static void a_full_queue_has_room_for_other_jobs(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    struct td_router_counts counts;
    bench_begin(&b, "8", 0, &rules, 1);
    uint64_t jobs = 0;
    for (; td_router_has_room(b.r, 0, jobs); jobs++)
        while (send(&b, 0, jobs, 1, 3))
            continue;
    assert_in_range(jobs, 32, 256); /* each has one; the first ones have queue_slots */
    assert_true(send(&b, 1, 0, 1, 3));
    assert_false(send(&b, 0, 0, 1, 3));
    go(&b, 0);
    td_router_discard(b.r, is_of_job_5, NULL);
    td_router_look(b.r, &counts);
    uint32_t moved[512] = {0};
    for (uint32_t k = 0; k <= counts.queued + rules.fifo_slots; k++)
        step(&b, moved);
    assert_false(td_router_busy(b.r));
    assert_int_equal(moved[0], rules.queue_slots + 1);
    assert_int_equal(moved[5], 0);
    assert_int_equal(moved[jobs - 1], 1);
    for (uint32_t q = 0; q < rules.queues; q++) /* all records are back */
        for (uint32_t i = 0; i < rules.queue_slots; i++)
            assert_true(send(&b, q, 7, 1, 3));
    assert_false(td_router_has_room(b.r, 0, 7));
    assert_true(td_router_has_room(b.r, 0, 8));
    bench_end(&b);
}

/* A packet in transit of another group takes a link once before a packet of this node. */
static void transit_and_injection_of_two_jobs_take_turns(void **state)
{
    (void)state;
    for (uint64_t transit = 0; transit < 2; transit++) {
        struct bench b;
        struct td_router_rules rules = bench_rules();
        uint32_t moved[JOBS] = {0};
        bench_begin(&b, "8", 0, &rules, 1);
        assert_true(send(&b, 0, 1, 1000, 3));
        for (int k = 0; k < 40; k++) {
            struct td_parcel p = parcel(2ull << 32, 3, 0);
            p.group = td_router_group(transit);
            if (td_router_has_slot(b.r, PLUS_0, ADAPTIVE_0))
                arrive(&b, PLUS_0, ADAPTIVE_0, p);
            step(&b, moved);
        }
        assert_int_equal(moved[1], transit == 1 ? 0 : 20); /* patience is for the same group */
        bench_end(&b);
    }
}

/* Packets of the same group fill the FIFO, and one of another group waits behind them. */
static void a_job_waits_behind_others_without_their_patience(void **state)
{
    (void)state;
    struct bench b;
    struct td_router_rules rules = bench_rules();
    uint32_t moved[JOBS] = {0};
    bench_begin(&b, "8", 0, &rules, 1);
    assert_true(send(&b, 0, 1, 1000, 3));
    go(&b, 0);
    assert_true(send(&b, 1, 0, 1, 3));
    for (int k = 0; k < 40 && moved[0] == 0; k++) {
        struct td_parcel p = parcel(2ull << 32, 3, 0);
        p.group = td_router_group(1);
        if (td_router_has_slot(b.r, PLUS_0, ADAPTIVE_0))
            arrive(&b, PLUS_0, ADAPTIVE_0, p);
        step(&b, moved);
    }
    assert_int_equal(moved[0], 1);
    assert_in_range(moved[1], rules.fifo_slots, rules.fifo_slots + 1);
    bench_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_have_equal_parts_of_a_link),
        cmocka_unit_test(the_packets_of_a_job_leave_a_queue_in_order),
        cmocka_unit_test(no_job_is_passed_over_for_ever),
        cmocka_unit_test(a_full_queue_has_room_for_other_jobs),
        cmocka_unit_test(transit_and_injection_of_two_jobs_take_turns),
        cmocka_unit_test(a_job_waits_behind_others_without_their_patience),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
