/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of operations: many groups with many calls in flight, in another order on each rank, on
 * daemons that record few operations. No call fails, and no rank waits for ever. */
#include "random.h"
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 20, CALLS = 200, RANKS = 4, LONG = 3000, LONG_EVERY = 50 };

static torus_group *group[RANKS][GROUPS];
static torus_request *request[RANKS][GROUPS][CALLS];
static int64_t *value[RANKS][GROUPS][CALLS];

static size_t elements(int call)
{
    return call % LONG_EVERY == LONG_EVERY - 1 ? LONG : 1;
}

static int64_t operand(uint32_t rank, int g, int call, size_t i)
{
    return (int64_t)(rank + 1) * (1000 * g + call) + (int64_t)i;
}

/* dispatch_all makes the libraries of all ranks handle their replies. */
static void dispatch_all(void)
{
    for (uint32_t r = 0; r < RANKS; r++)
        must(r, torus_dispatch(context[r]));
}

static void make_groups(void)
{
    torus_request *made[RANKS][GROUPS];
    for (int g = 0; g < GROUPS; g++)
        for (uint32_t r = 0; r < RANKS; r++)
            must(r, torus_idup(world[r], &group[r][g], &made[r][g]));
    for (int g = 0; g < GROUPS; g++)
        for (uint32_t r = 0; r < RANKS; r++)
            finish(r, made[r][g]);
}

static void issue(uint32_t r, int g, int call)
{
    size_t count = elements(call);
    int64_t *data = value[r][g][call] = malloc(count * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++)
        data[i] = operand(r, g, call, i);
    must(r, torus_iallreduce(group[r][g], TORUS_IN_PLACE, data, count, TORUS_INT64, TORUS_SUM,
                             &request[r][g][call]));
}

/* issue_all starts all calls of a rank: group by group, the same backwards, in turn, or in a random
 * order of the groups. */
static void issue_all(uint32_t r)
{
    int next[GROUPS] = {0};
    uint64_t random = 11 + r;
    for (int k = 0; k < GROUPS * CALLS; k++) {
        int g = r == 0 ? k / CALLS : r == 1 ? GROUPS - 1 - k / CALLS : k % GROUPS;
        while (r == 3 && next[g = (int)random_below(&random, GROUPS)] == CALLS)
            continue;
        issue(r, g, next[g]++);
    }
}

static void check(uint32_t r, int g, int call)
{
    const int64_t *data = value[r][g][call];
    for (size_t i = 0; i < elements(call); i++) {
        int64_t sum = 0;
        for (uint32_t s = 0; s < RANKS; s++)
            sum += operand(s, g, call, i);
        assert_int_equal(data[i], sum);
    }
    free(value[r][g][call]);
}

static void await_all(void)
{
    double end = seconds() + 100;
    for (int g = 0; g < GROUPS; g++)
        for (int call = 0; call < CALLS; call++)
            for (uint32_t r = 0; r < RANKS; r++) {
                while (torus_peek(request[r][g][call]) == TORUS_PENDING) {
                    dispatch_all();
                    if (seconds() > end)
                        fail_msg("rank %u waits for call %d of group %d", r, call, g);
                }
                must(r, torus_test(request[r][g][call]));
                check(r, g, call);
            }
}

/* play_limit does it all on `count` daemons with a limit of operations. */
static void play_limit(uint32_t count, int operations, const char *more)
{
    char settings[200];
    snprintf(settings, sizeof settings, "[limits]\noperations = %d\n%s", operations, more);
    start(count, settings);
    join_ranks(RANKS, false);
    make_groups();
    for (uint32_t r = 0; r < RANKS; r++)
        issue_all(r);
    await_all();
    barrier_all(world, RANKS);
    close_all(context, RANKS);
    stop();
}

static void calls_wait_for_room_on_one_node(void **state)
{
    (void)state;
    play_limit(1, 64, "");
    play_limit(1, 1, "");
}

static void calls_wait_for_room_on_four_nodes(void **state)
{
    (void)state;
    play_limit(4, 64, "");
    play_limit(4, 5, "");
}

static void calls_wait_for_room_on_the_routed_fabric(void **state)
{
    (void)state;
    columns = 2;
    play_limit(4, 64, "[torus]\nfabric = routed\n");
    columns = 0;
}

/* A refusal that is not for lack of room is still the caller's, and later calls go on after it. */
static void a_wrong_call_in_a_full_group_is_refused_alone(void **state)
{
    (void)state;
    enum { MANY = 100 };
    torus_request *r[2][MANY], *bad = NULL;
    start(2, "[limits]\noperations = 8\n");
    join_ranks(2, false);
    for (uint32_t rank = 0; rank < 2; rank++)
        for (int k = 0; k < MANY; k++)
            must(rank, torus_ibarrier(world[rank], &r[rank][k]));
    assert_int_equal(torus_ibroadcast(world[0], NULL, 8, TORUS_BYTE, 0, &bad), TORUS_ERR_INVALID);
    for (int k = 0; k < MANY; k++)
        for (uint32_t rank = 0; rank < 2; rank++) {
            while (torus_peek(r[rank][k]) == TORUS_PENDING)
                for (uint32_t i = 0; i < 2; i++)
                    must(i, torus_dispatch(context[i]));
            must(rank, torus_test(r[rank][k]));
        }
    barrier_all(world, 2);
    close_all(context, 2);
    stop();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(calls_wait_for_room_on_one_node),
        TEST(calls_wait_for_room_on_four_nodes),
        TEST(calls_wait_for_room_on_the_routed_fabric),
        TEST(a_wrong_call_in_a_full_group_is_refused_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
