/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of deficit round robin over jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/shares.h"
#include "random.h"

enum { QUANTUM = 1000, JOBS = 12, ITEMS = 4096 };

struct item {
    struct td_turn turn; /* the first member */
    uint64_t left, number;
};

static struct td_shares_table table;
static struct td_shares shares, others;
static struct item item[ITEMS];
static uint32_t items;
static uint64_t served[JOBS];

static void begin_with(struct td_shares_table *t)
{
    memset(&table, 0, sizeof table);
    memset(served, 0, sizeof served);
    items = 0;
    td_shares_init(&shares, t, QUANTUM);
    td_shares_init(&others, t, QUANTUM);
}

static void begin(void)
{
    begin_with(&table);
}

static struct item *add(uint64_t job, uint64_t size)
{
    struct item *i = &item[items];
    assert_true(items < ITEMS);
    *i = (struct item){.left = size, .number = items++};
    td_shares_add(&shares, &i->turn, job);
    return i;
}

/* serve serves at most `most` of the next item, and returns it. */
static struct item *serve(uint64_t most)
{
    struct item *i = (struct item *)shares.first;
    uint64_t service = i->left < most ? i->left : most, job = i->turn.job;
    i->left -= service;
    if (job < JOBS)
        served[job] += service;
    td_shares_served(&shares, service, i->left == 0);
    return i;
}

static void a_job_alone_is_served_in_order(void **state)
{
    (void)state;
    begin();
    uint64_t random = 3;
    for (int k = 0; k < 100; k++)
        add(7, 1 + random_below(&random, 5000));
    for (uint64_t last = 0; shares.first;) {
        struct item *i = serve(1 + random_below(&random, 1500));
        assert_true(i->number >= last);
        last = i->number;
        assert_true(!shares.first || (shares.jobs == 1 && shares.first->balance > 0));
    }
    assert_int_equal(items, 100);
    for (unsigned b = 0; b < TD_SHARES_BUCKETS; b++)
        assert_null(table.bucket[b]);
}

/* Ten jobs with items of very different sizes, in pieces of different sizes. */
static void backlogged_jobs_are_served_equally(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 50; seed++) {
        uint64_t random = seed, piece[JOBS];
        begin();
        for (uint64_t job = 0; job < JOBS; job++) {
            piece[job] = 1 + random_below(&random, QUANTUM);
            for (uint64_t k = 0; k < 20 + job; k++)
                add(job, 2000 + random_below(&random, job % 2 ? 100 : 20000));
        }
        while (shares.jobs == JOBS) {
            serve(piece[shares.first->job]);
            for (uint64_t a = 0; a < JOBS; a++)
                for (uint64_t b = 0; b < a; b++) {
                    uint64_t apart =
                        served[a] > served[b] ? served[a] - served[b] : served[b] - served[a];
                    assert_true(apart <= 2 * QUANTUM); /* a quantum, and the largest service */
                }
        }
        while (shares.first)
            serve(QUANTUM);
    }
}

static void a_small_item_waits_for_one_turn_of_each_other_job(void **state)
{
    (void)state;
    for (uint64_t hogs = 1; hogs < JOBS; hogs++) {
        begin();
        for (uint64_t job = 1; job <= hogs; job++)
            for (int k = 0; k < 10; k++)
                add(job, 1 << 20);
        for (int k = 0; k < 100; k++)
            serve(QUANTUM);
        for (int k = 0; k < 20; k++) { /* it queues again whenever it has been served */
            uint64_t before = 0;
            struct item *small = add(0, 10);
            while (serve(QUANTUM) != small)
                before++;
            assert_true(before <= hogs);
        }
    }
}

static void an_idle_job_saves_nothing_up(void **state)
{
    (void)state;
    begin();
    add(1, 10 * QUANTUM);
    add(2, 10 * QUANTUM);
    for (int k = 0; k < 10; k++) {
        add(0, 1);
        while (served[0] <= (uint64_t)k)
            serve(QUANTUM);
    }
    served[0] = served[1] = served[2] = 0;
    add(0, 10 * QUANTUM);
    add(1, 10 * QUANTUM);
    add(2, 10 * QUANTUM);
    for (int k = 0; k < 9; k++)
        serve(QUANTUM);
    assert_int_equal(served[0], 3 * QUANTUM);
}

static void a_service_above_the_quantum_is_paid_back(void **state)
{
    (void)state;
    begin();
    add(1, 5 * QUANTUM);
    add(1, 5 * QUANTUM);
    for (int k = 0; k < 20; k++)
        add(2, QUANTUM);
    serve(5 * QUANTUM);
    while (served[1] == 5 * QUANTUM)
        serve(5 * QUANTUM);
    assert_in_range(served[2], 4 * QUANTUM, 5 * QUANTUM);
}

static void an_item_served_in_part_comes_first_when_it_is_put_back(void **state)
{
    (void)state;
    begin();
    struct item *first = add(1, 300), *second = add(1, 300), *other = add(2, 300);
    td_shares_served(&shares, 100, true);
    assert_ptr_equal(shares.first, &second->turn);
    td_shares_put_back(&shares, &first->turn, 1);
    assert_ptr_equal(shares.first, &first->turn);
    td_shares_served(&shares, QUANTUM, true);
    assert_ptr_equal(shares.first, &other->turn);
    td_shares_put_back(&shares, &first->turn, 1);
    td_shares_served(&shares, 1, true);
    assert_ptr_equal(shares.first, &first->turn);
    td_shares_served(&shares, 1, true);
    assert_ptr_equal(shares.first, &second->turn);
    td_shares_served(&shares, 1, true);
    td_shares_put_back(&shares, &second->turn, 1); /* into an empty queue */
    assert_ptr_equal(shares.first, &second->turn);
}

static bool is_odd(void *me, struct td_turn *turn)
{
    unsigned *dropped = me;
    bool odd = ((struct item *)turn)->number % 2;
    *dropped += odd;
    if (odd)
        memset(turn, 0xa5, sizeof *turn);
    return odd;
}

static void items_of_a_job_are_removed(void **state)
{
    (void)state;
    begin();
    unsigned dropped = 0;
    for (int k = 0; k < 12; k++)
        add(1 + (uint64_t)k % 3, QUANTUM);
    td_shares_remove(&shares, 2, is_odd, &dropped);
    assert_int_equal(dropped, 2);
    td_shares_remove(&shares, 9, is_odd, &dropped);
    assert_int_equal(dropped, 2);
    uint64_t last = 0;
    for (int k = 0; k < 10; k++) {
        struct item *i = serve(QUANTUM);
        if (i->number % 3 == 1) {
            assert_true(i->number % 2 == 0 && i->number > last);
            last = i->number;
        }
    }
    assert_null(shares.first);
}

static void two_schedulers_share_a_table(void **state)
{
    (void)state;
    begin();
    struct item *here = add(1, 10), there = {.left = 10};
    td_shares_add(&others, &there.turn, 1);
    assert_ptr_equal(td_shares_of(&shares, 1), &here->turn);
    assert_ptr_equal(td_shares_of(&others, 1), &there.turn);
    td_shares_served(&others, 10, true);
    assert_null(td_shares_of(&others, 1));
    assert_ptr_equal(td_shares_of(&shares, 1), &here->turn);
}

/* Jobs come and go in any order, against a plain model. */
static void any_history_keeps_the_queues_whole(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 200; seed++) {
        uint64_t random = seed, queued[JOBS] = {0}, next[JOBS] = {0};
        begin_with(seed % 2 ? &table : NULL);
        for (int k = 0; k < 3000; k++) {
            uint64_t job = random_below(&random, JOBS);
            if (items < ITEMS && random_below(&random, 2)) {
                add(job, 1 + random_below(&random, 3000));
                queued[job]++;
            } else if (shares.first) {
                struct item *i = (struct item *)shares.first;
                job = i->turn.job;
                assert_true(i->number >= next[job]);
                next[job] = i->number;
                queued[job] -= serve(QUANTUM)->left == 0;
            }
            uint32_t jobs = 0;
            for (uint64_t j = 0; j < JOBS; j++) {
                jobs += queued[j] > 0;
                assert_int_equal(td_shares_of(&shares, j) != NULL, queued[j] > 0);
            }
            assert_int_equal(shares.jobs, jobs);
            assert_true(!shares.first || shares.first->balance > 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_alone_is_served_in_order),
        cmocka_unit_test(backlogged_jobs_are_served_equally),
        cmocka_unit_test(a_small_item_waits_for_one_turn_of_each_other_job),
        cmocka_unit_test(an_idle_job_saves_nothing_up),
        cmocka_unit_test(a_service_above_the_quantum_is_paid_back),
        cmocka_unit_test(an_item_served_in_part_comes_first_when_it_is_put_back),
        cmocka_unit_test(items_of_a_job_are_removed),
        cmocka_unit_test(two_schedulers_share_a_table),
        cmocka_unit_test(any_history_keeps_the_queues_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
