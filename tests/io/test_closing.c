/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of the closer: turns among users, and how many items of one user run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/clients/closing.h"

enum { THREADS = 4, MANY = 23040, ANN = 1000, BOB = ANN + TD_CLOSING_BUCKETS, EVE = 7 };

static struct td_closing q;
static struct td_closing_item item[MANY], other[64];

static int set_up(void **state)
{
    (void)state;
    q = (struct td_closing){.user_threads = THREADS};
    for (int i = 0; i < MANY; i++)
        item[i] = (struct td_closing_item){0};
    for (int i = 0; i < 64; i++)
        other[i] = (struct td_closing_item){0};
    return 0;
}

/* tear_down checks that nothing is left; the leak sanitizer checks the users' records. */
static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(q.ready, 0);
    assert_null(q.turn);
    assert_null(q.last);
    for (int i = 0; i < TD_CLOSING_BUCKETS; i++)
        assert_null(q.bucket[i]);
    return 0;
}

static void add(struct td_closing_item *first, int count, uint64_t uid)
{
    for (int i = 0; i < count; i++)
        assert_true(td_closing_add(&q, &first[i], uid));
}

/* run_rest runs and ends whatever is queued. */
static void run_rest(void)
{
    for (struct td_closing_item *next; (next = td_closing_take(&q));)
        td_closing_end(&q, next);
}

static void items_of_one_user_run_in_order(void **state)
{
    (void)state;
    add(item, 100, ANN);
    for (int i = 0; i < 100; i++) {
        assert_ptr_equal(td_closing_take(&q), &item[i]);
        assert_int_equal(td_closing_pending(&q, ANN), 100 - i);
        td_closing_end(&q, &item[i]);
    }
    assert_null(td_closing_take(&q));
    assert_int_equal(td_closing_pending(&q, ANN), 0);
}

static void users_take_turns(void **state)
{
    (void)state;
    struct td_closing_item *carol = &item[4], *dave = &item[5];
    add(item, 3, ANN);
    add(other, 2, BOB); /* of the same bucket */
    add(carol, 1, EVE);
    struct td_closing_item *due[] = {&item[0],  &other[0], carol,   &item[1],
                                     &other[1], dave,      &item[2]};
    for (int i = 0; i < 7; i++) {
        assert_ptr_equal(td_closing_take(&q), due[i]);
        if (i == 1)
            add(dave, 1, EVE); /* after that of the same user */
    }
    assert_null(td_closing_take(&q));
    for (int i = 0; i < 7; i++)
        td_closing_end(&q, due[i]);
}

/* A user whose items all sleep keeps its threads, and others go on. */
static void one_user_occupies_few_threads(void **state)
{
    (void)state;
    add(item, MANY, EVE);
    assert_int_equal(q.ready, THREADS - 1);
    for (int i = 0; i < THREADS - 1; i++)
        assert_ptr_equal(td_closing_take(&q), &item[i]);
    assert_null(td_closing_take(&q));
    assert_int_equal(td_closing_pending(&q, EVE), MANY);
    assert_int_equal(td_closing_pending(&q, ANN), 0);
    add(other, 2, ANN);
    assert_int_equal(q.ready, 2);
    for (int i = 0; i < 2; i++) {
        assert_ptr_equal(td_closing_take(&q), &other[i]);
        td_closing_end(&q, &other[i]);
    }
    assert_null(td_closing_take(&q));
    td_closing_end(&q, &item[1]);
    assert_int_equal(td_closing_pending(&q, EVE), MANY - 1);
    uint64_t uid = 0;
    assert_true(td_closing_runs(&q, &uid));
    assert_int_equal(uid, EVE);
    assert_ptr_equal(td_closing_take(&q), &item[THREADS - 1]);
    td_closing_end(&q, &item[0]);
    td_closing_end(&q, &item[2]);
    td_closing_end(&q, &item[3]);
    run_rest();
    assert_int_equal(td_closing_pending(&q, EVE), 0);
    assert_false(td_closing_runs(&q, &uid));
}

static void urgent_items_have_a_place(void **state)
{
    (void)state;
    add(item, 8, ANN);
    for (int i = 0; i < THREADS - 1; i++)
        assert_ptr_equal(td_closing_take(&q), &item[i]);
    for (int i = 0; i < 3; i++)
        other[i].urgent = true;
    add(other, 3, ANN);
    assert_int_equal(q.ready, 1);
    assert_ptr_equal(td_closing_take(&q), &other[0]);
    assert_null(td_closing_take(&q));
    td_closing_end(&q, &item[0]); /* the next urgent one takes its place */
    assert_ptr_equal(td_closing_take(&q), &other[1]);
    assert_null(td_closing_take(&q));
    td_closing_end(&q, &other[0]);
    assert_ptr_equal(td_closing_take(&q), &other[2]);
    td_closing_end(&q, &other[1]);
    assert_ptr_equal(td_closing_take(&q), &item[3]);
    for (int i = 1; i <= 3; i++)
        td_closing_end(&q, &item[i]);
    td_closing_end(&q, &other[2]);
    run_rest();
}

/* Only items that use the same memory delay its unmapping, and it delays no other item. */
static void memory_is_unmapped_when_nobody_uses_it(void **state)
{
    (void)state;
    static const char memory[2];
    for (int i = 0; i < 4; i++)
        item[i].memory = &memory[i % 2];
    item[2].unmaps = item[3].unmaps = true;
    add(item, 5, ANN); /* two populate, two unmap, one closes */
    assert_ptr_equal(td_closing_take(&q), &item[0]);
    assert_ptr_equal(td_closing_take(&q), &item[1]);
    assert_ptr_equal(td_closing_take(&q), &item[4]);
    assert_null(td_closing_take(&q));
    assert_int_equal(td_closing_pending(&q, ANN), 5);
    td_closing_end(&q, &item[4]);
    assert_null(td_closing_take(&q));
    td_closing_end(&q, &item[1]);
    assert_ptr_equal(td_closing_take(&q), &item[3]);
    assert_null(td_closing_take(&q));
    td_closing_end(&q, &item[3]);
    td_closing_end(&q, &item[0]);
    assert_ptr_equal(td_closing_take(&q), &item[2]);
    td_closing_end(&q, &item[2]);
    assert_int_equal(td_closing_pending(&q, ANN), 0);
}

/* Whatever happens, nobody runs too much, and everything runs once. */
static void items_run_once_whatever_the_order(void **state)
{
    (void)state;
    enum { USERS = 5 };
    struct td_closing_item *running[USERS * THREADS];
    uint32_t count = 0, added = 0, ended = 0, runs[USERS] = {0};
    uint64_t seed = 1;
    while (ended < MANY) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint32_t r = (uint32_t)(seed >> 33);
        if (r % 3 == 0 && added < MANY) {
            item[added].urgent = r / 3 % 4 == 0;
            assert_true(td_closing_add(&q, &item[added], added % USERS));
            added++;
        } else if (r % 3 == 1 || count == 0) {
            uint32_t ready = q.ready;
            struct td_closing_item *next = td_closing_take(&q);
            assert_true((next != NULL) == (ready > 0));
            if (!next)
                continue;
            assert_int_equal(q.ready, ready - 1);
            assert_in_range(++runs[(next - item) % USERS], 1, THREADS);
            running[count++] = next;
        } else {
            uint32_t which = r / 3 % count;
            struct td_closing_item *last = running[which];
            running[which] = running[--count];
            runs[(last - item) % USERS]--;
            td_closing_end(&q, last);
            ended++;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(items_of_one_user_run_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(users_take_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_user_occupies_few_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(urgent_items_have_a_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_is_unmapped_when_nobody_uses_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(items_run_once_whatever_the_order, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
