/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of ranks of a group: members and their order, overlapping operations, and release. */
#include "daemons.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 8, EIGHT_WAYS = 20 };

static torus_context *context[MANY];
static torus_group *world[MANY];

/* A daemon votes for the exclusion of a silent node when it has run for one progress_timeout. */
static const char votes_soon[] = "[limits]\nprogress_timeout = 2s\n";

static void must(uint32_t rank, int error)
{
    if (error != TORUS_OK)
        fail_msg("rank %u: %s", rank, torus_last_error(context[rank]));
}

static void must_wait(uint32_t rank, torus_request *request)
{
    must(rank, torus_wait(request, 20 * (int64_t)SECOND));
}

/* members gathers the world ranks of all members at rank 0 of the group and compares them. All
 * members call it at the same time. */
static void assert_members(torus_group *const *made, const uint32_t *expected, uint32_t count)
{
    torus_request *request[MANY];
    int64_t value[MANY] = {0}, all[MANY] = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t w = expected[i];
        assert_non_null(made[w]);
        assert_int_equal(torus_size(made[w]), count);
        assert_int_equal(torus_rank(made[w]), i);
        assert_int_equal(torus_translate(made[w], i, world[w]), w);
        assert_int_equal(torus_translate(world[w], w, made[w]), i);
        value[w] = w;
        must(w, torus_igather(made[w], &value[w], i == 0 ? all : NULL, 1, TORUS_INT64, 0,
                              &request[i]));
    }
    for (uint32_t i = 0; i < count; i++)
        must_wait(expected[i], request[i]);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(all[i], expected[i]);
}

static void split_all(torus_group **from, uint32_t count, int32_t (*colour)(uint32_t),
                      int32_t (*key)(uint32_t), torus_group **made)
{
    torus_request *request[MANY];
    for (uint32_t i = 0; i < count; i++)
        must(i, torus_isplit(from[i], colour(i), key(i), &made[i], &request[i]));
    for (uint32_t i = 0; i < count; i++)
        must_wait(i, request[i]);
}

static int32_t by_three(uint32_t rank)
{
    return rank == 7 ? TORUS_UNDEFINED : (int32_t)(rank % 3);
}

static int32_t downwards(uint32_t rank)
{
    return -(int32_t)rank;
}

static int32_t same(uint32_t rank)
{
    (void)rank;
    return 5;
}

static int32_t row(uint32_t rank)
{
    return (int32_t)(rank / 4);
}

static int32_t column(uint32_t rank)
{
    return (int32_t)(rank % 4);
}

static void split_makes_groups_by_colour_in_the_order_of_keys(void **state)
{
    (void)state;
    static const uint32_t zero[] = {6, 3, 0}, one[] = {4, 1}, two[] = {5, 2},
                          all[] = {0, 1, 2, 3, 4, 5, 6, 7};
    torus_group *made[MANY], *again[MANY];
    torus_request *request = NULL;
    start(3, "");
    join_all(context, world, MANY);
    split_all(world, MANY, by_three, downwards, made);
    assert_members(made, zero, 3);
    assert_members(made, one, 2);
    assert_members(made, two, 2);
    assert_null(made[7]);
    assert_int_equal(torus_translate(world[0], 1, made[0]), TORUS_UNDEFINED);
    split_all(world, MANY, same, same, again); /* equal keys: ordered by rank */
    assert_members(again, all, MANY);
    assert_members(made, one, 2); /* the earlier groups still exist */
    assert_int_equal(torus_isplit(world[0], -2, 0, &made[0], &request), TORUS_ERR_INVALID);
    assert_says(context[0], "colour");
    close_all(context, MANY);
    stop();
}

static void duplicates_and_groups_of_one_stand_for_themselves(void **state)
{
    (void)state;
    static const uint32_t all[] = {0, 1, 2, 3};
    torus_group *made[MANY], *own = NULL, *inner = NULL;
    torus_request *request[MANY];
    int64_t value = 42, sum = 0;
    start(2, "");
    join_all(context, world, 4);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 4; i++)
            must(i, torus_idup(world[i], &made[i], &request[i]));
        for (uint32_t i = 0; i < 4; i++)
            must_wait(i, request[i]);
        assert_members(made, all, 4);
    }
    for (uint32_t i = 0; i < 4; i++) { /* no other rank takes part: a blocking call suffices */
        must(i, torus_group_create(world[i], &i, 1, 0, &own));
        must(i, torus_allreduce(own, &value, &sum, 1, TORUS_INT64, TORUS_SUM));
        assert_int_equal(sum, 42);
        must(i, torus_dup(own, &inner));
        must(i, torus_barrier(inner));
        assert_int_equal(torus_translate(inner, 0, world[i]), i);
        must(i, torus_split(inner, 3, 3, &own));
        must(i, torus_barrier(own));
    }
    close_all(context, 4);
    stop();
}

/* create_all creates a group from one list on all its members. */
static void create_all(const uint32_t *list, uint32_t count, torus_group **made)
{
    torus_request *request[MANY];
    for (uint32_t i = 0; i < count; i++)
        must(list[i],
             torus_igroup_create(world[list[i]], list, count, 0, &made[list[i]], &request[i]));
    for (uint32_t i = 0; i < count; i++)
        must_wait(list[i], request[i]);
}

static void groups_of_the_same_list_are_different_groups(void **state)
{
    (void)state;
    static const uint32_t list[] = {5, 0, 3}, other[] = {3, 5};
    torus_group *first[MANY], *second[MANY], *third[MANY];
    torus_request *request[2][3];
    int64_t value[2][3], sum[2][3];
    start(4, "");
    join_all(context, world, MANY);
    create_all(list, 3, first);
    create_all(other, 2, third); /* without rank 0 */
    create_all(list, 3, second);
    assert_members(first, list, 3);
    assert_members(third, other, 2);
    /* each rank starts its operations in another order */
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t which = (i + k) % 2, rank = list[i];
            value[which][i] = which + 1;
            must(rank,
                 torus_iallreduce(which ? second[rank] : first[rank], &value[which][i],
                                  &sum[which][i], 1, TORUS_INT64, TORUS_SUM, &request[which][i]));
        }
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t which = 0; which < 2; which++) {
            must_wait(list[i], request[which][i]);
            assert_int_equal(sum[which][i], 3 * (which + 1));
        }
    close_all(context, MANY);
    stop();
}

/* Rows, columns and the world. Every rank starts its operations in its own order; only the
 * operations of one group keep their order. */
static void operations_of_several_groups_overlap_in_any_order(void **state)
{
    (void)state;
    static torus_request *request[MANY][3][EIGHT_WAYS];
    static int64_t value[MANY][3][EIGHT_WAYS];
    torus_group *rows[MANY], *columns_of[MANY];
    start(3, "");
    join_all(context, world, MANY);
    split_all(world, MANY, row, same, rows);
    split_all(world, MANY, column, same, columns_of);
    for (uint32_t rank = 0; rank < MANY; rank++) {
        torus_group *g[3] = {world[rank], rows[rank], columns_of[rank]};
        int next[3] = {0, 0, 0};
        for (uint32_t i = 0; i < 3 * EIGHT_WAYS; i++) {
            uint32_t which = (i * (rank % 2 + 1) + rank) % 3;
            int k = next[which]++;
            value[rank][which][k] = (int64_t)rank << k;
            must(rank, torus_iallreduce(g[which], TORUS_IN_PLACE, &value[rank][which][k], 1,
                                        TORUS_INT64, TORUS_SUM, &request[rank][which][k]));
        }
    }
    for (uint32_t rank = MANY; rank-- > 0;)
        for (int which = 3; which-- > 0;)
            for (int k = 0; k < EIGHT_WAYS; k++) {
                int64_t sum = which == 0   ? 28
                              : which == 1 ? (rank < 4 ? 6 : 22)
                                           : 2 * (rank % 4) + 4;
                must_wait(rank, request[rank][which][k]);
                assert_true(value[rank][which][k] == sum << k);
            }
    close_all(context, MANY);
    stop();
}

static void groups_are_made_of_groups(void **state)
{
    (void)state;
    static const uint32_t last[] = {7, 4};
    torus_group *rows[MANY], *made[MANY] = {NULL};
    torus_request *request[2];
    static const uint32_t ends[] = {3, 0}; /* of the second row */
    start(2, "");
    join_all(context, world, MANY);
    split_all(world, MANY, row, same, rows);
    must(7, torus_igroup_create(rows[7], ends, 2, 0, &made[7], &request[0]));
    must(4, torus_igroup_create(rows[4], ends, 2, 0, &made[4], &request[1]));
    must_wait(7, request[0]);
    must_wait(4, request[1]);
    assert_members(made, last, 2);
    assert_int_equal(torus_translate(made[7], 1, rows[7]), 0);
    assert_int_equal(torus_translate(rows[7], 1, made[7]), TORUS_UNDEFINED);
    close_all(context, MANY);
    stop();
}

static void wrong_lists_make_no_group(void **state)
{
    (void)state;
    static const uint32_t twice[] = {0, 1, 0}, far[] = {0, 2}, others[] = {1};
    torus_group *made = (torus_group *)context;
    start(1, "");
    join_all(context, world, 2);
    assert_int_equal(torus_group_create(world[0], twice, 2 + 1, 0, &made), TORUS_ERR_INVALID);
    assert_int_equal(torus_group_create(world[0], far, 2, 0, &made), TORUS_ERR_INVALID);
    assert_says(context[0], "rank 2");
    assert_int_equal(torus_group_create(world[0], others, 1, 0, &made), TORUS_ERR_INVALID);
    assert_says(context[0], "rank 0 must be in the list");
    assert_int_equal(torus_group_create(world[0], NULL, 1, 0, &made), TORUS_ERR_INVALID);
    assert_int_equal(torus_group_create(world[0], twice, 0, 0, &made), TORUS_ERR_INVALID);
    static const uint32_t both[] = {1, 1};
    assert_int_equal(torus_group_create(world[1], both, 2, 0, &made), TORUS_ERR_INVALID);
    assert_says(context[1], "twice");
    assert_null(made);
    assert_int_equal(torus_group_free(world[0]), TORUS_ERR_INVALID);
    assert_int_equal(torus_group_free(NULL), TORUS_ERR_INVALID);
    barrier_all(world, 2);
    close_all(context, 2);
    stop();
}

/* Even ranks make the groups in one order, odd ranks in the other. */
static void make_in_different_orders(uint32_t daemons, const char *more)
{
    static const uint32_t all[] = {0, 1, 2, 3};
    enum { WAYS = 4 };
    torus_group *made[4][WAYS];
    torus_request *request[4];
    start(daemons, more);
    join_all(context, world, 4);
    for (int step = 0; step < WAYS; step++) {
        for (uint32_t i = 0; i < 4; i++) {
            int way = i % 2 ? WAYS - 1 - step : step;
            must(i, way == 3 ? torus_idup(world[i], &made[i][way], &request[i])
                             : torus_igroup_create(world[i], all, 4, (uint32_t)way, &made[i][way],
                                                   &request[i]));
        }
        for (uint32_t i = 0; i < 4; i++)
            must_wait(i, request[i]);
    }
    for (int way = 0; way < WAYS; way++) { /* rank 0 tells each group which one it is */
        int32_t named[4];
        for (uint32_t i = 0; i < 4; i++) {
            named[i] = i == 0 ? way : -1;
            must(i, torus_ibroadcast(made[i][way], &named[i], 1, TORUS_INT32, 0, &request[i]));
        }
        for (uint32_t i = 0; i < 4; i++) {
            must_wait(i, request[i]);
            assert_int_equal(named[i], way);
        }
    }
    close_all(context, 4);
    stop();
}

static void groups_made_in_different_orders_are_told_apart(void **state)
{
    (void)state;
    make_in_different_orders(4, "");
}

static void groups_made_in_different_orders_are_told_apart_elsewhere(void **state)
{
    (void)state;
    make_in_different_orders(1, "");
    make_in_different_orders(4, "[torus]\nfabric = routed\n");
}

static void a_member_that_never_makes_the_group_is_waited_for_until_the_limit(void **state)
{
    (void)state;
    static const uint32_t lists[2][2] = {{0, 1}, {1, 0}};
    torus_group *made = NULL;
    start(2, "");
    join_all(context, world, 2);
    for (int i = 0; i < 2; i++) {
        must(0, torus_group_create(world[0], lists[i], 2, 0, &made));
        torus_set_timeout(made, SECOND / 10);
        assert_int_equal(torus_barrier(made), TORUS_ERR_TIMEOUT);
    }
    barrier_all(world, 2);
    close_all(context, 2);
    stop();
}

static void a_freed_group_ends_for_those_that_are_left_and_no_other_does(void **state)
{
    (void)state;
    static const uint32_t list[] = {0, 1, 2}, pair[] = {2, 1};
    torus_group *made[MANY], *kept[MANY];
    torus_request *request[3];
    start(3, "");
    join_all(context, world, 3);
    create_all(list, 3, made);
    create_all(pair, 2, kept);
    must(0, torus_ibarrier(made[0], &request[0]));
    must(0, torus_group_free(made[0])); /* it leaves after the barrier */
    assert_int_equal(torus_leave(world[0]), TORUS_ERR_BUSY);
    must(1, torus_ibarrier(made[1], &request[1]));
    must(2, torus_ibarrier(made[2], &request[2]));
    for (uint32_t i = 0; i < 3; i++)
        must_wait(i, request[i]);
    assert_int_equal(torus_barrier(made[1]), TORUS_ERR_RANK_FAILED);
    assert_says(context[1], "left");
    assert_members(kept, pair, 2);
    must(1, torus_group_free(made[1]));
    barrier_all(world, 3);
    must(2, torus_leave(world[2])); /* this leaves the groups created from it too */
    assert_int_equal(torus_barrier(kept[1]), TORUS_ERR_RANK_FAILED);
    close_all(context, 3);
    stop();
}

/* Rank 0 has finished with the old group before rank 1 requests the new one. */
static void who_has_gone_on_to_a_new_group_is_not_lost_to_it(void **state)
{
    (void)state;
    static const uint32_t list[] = {0, 1};
    torus_group *made[MANY], *next[MANY];
    torus_request *request[2];
    start(1, "");
    join_all(context, world, 2);
    create_all(list, 2, made);
    for (uint32_t i = 0; i < 2; i++)
        must(i, torus_isplit(made[i], 0, 0, &next[i], &request[i]));
    must_wait(0, request[0]);
    must(0, torus_group_free(made[0]));
    must_wait(1, request[1]);
    assert_members(next, list, 2);
    close_all(context, 2);
    stop();
}

static void the_limits_of_a_group_are_those_it_was_made_with(void **state)
{
    (void)state;
    torus_group *made[MANY];
    start(2, "");
    join_all(context, world, 2);
    torus_set_timeout(world[0], SECOND / 10);
    split_all(world, 2, same, same, made);
    assert_int_equal(torus_barrier(made[0]), TORUS_ERR_TIMEOUT);
    assert_says(context[0], "rank 1");
    close_all(context, 2);
    stop();
}

/* ---- survivors ---- */

/* shrink_all makes the listed world ranks shrink their groups. */
static void shrink_all(torus_group *const *from, const uint32_t *list, uint32_t count,
                       torus_group **made)
{
    torus_request *request[MANY];
    for (uint32_t i = 0; i < count; i++)
        must(list[i], torus_ishrink(from[list[i]], &made[list[i]], &request[i]));
    for (uint32_t i = 0; i < count; i++)
        must_wait(list[i], request[i]);
}

static void assert_sum(torus_group *const *g, const uint32_t *list, uint32_t count, int64_t sum)
{
    torus_request *request[MANY];
    int64_t value[MANY];
    for (uint32_t i = 0; i < count; i++) {
        value[i] = list[i];
        must(list[i], torus_iallreduce(g[list[i]], TORUS_IN_PLACE, &value[i], 1, TORUS_INT64,
                                       TORUS_SUM, &request[i]));
    }
    for (uint32_t i = 0; i < count; i++) {
        must_wait(list[i], request[i]);
        assert_int_equal(value[i], sum);
    }
}

/* join_beside makes a job of `count` ranks, rank i on node i % nodes. Rank `other` is a process of
 * its own; its pid is returned. */
static pid_t join_beside(uint32_t count, uint32_t other)
{
    torus_request *request[MANY];
    pid_t child = fork();
    if (child == 0) {
        struct torus_join_options o = as(count, (int32_t)other);
        torus_group *own = NULL;
        if (torus_join(open_at(other % nodes), &o, &own) == TORUS_OK)
            pause();
        _exit(1);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i == other)
            continue;
        struct torus_join_options o = as(count, (int32_t)i);
        context[i] = open_at(i % nodes);
        must(i, torus_ijoin(context[i], &o, &world[i], &request[i]));
    }
    for (uint32_t i = 0; i < count; i++)
        if (i != other)
            must_wait(i, request[i]);
    context[other] = NULL;
    return child;
}

static void those_that_a_killed_process_leaves_go_on(void **state)
{
    (void)state;
    static const uint32_t left[] = {0, 1, 3, 4, 5, 6, 7};
    torus_group *made[MANY] = {NULL}, *again[MANY] = {NULL};
    torus_request *request = NULL;
    start(3, "");
    pid_t child = join_beside(MANY, 2);
    must(0, torus_ibarrier(world[0], &request));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(torus_wait(request, 20 * (int64_t)SECOND), TORUS_ERR_RANK_FAILED);
    shrink_all(world, left, 7, made);
    assert_members(made, left, 7);
    assert_sum(made, left, 7, 26);
    assert_int_equal(torus_translate(world[0], 2, made[0]), TORUS_UNDEFINED);
    assert_int_equal(torus_barrier(world[0]), TORUS_ERR_RANK_FAILED);
    assert_says(context[0], "rank 2");
    must(7, torus_group_free(made[7])); /* leaves the group, as its death would */
    shrink_all(made, left, 6, again);
    assert_members(again, left, 6);
    for (uint32_t i = 0; i < 7; i++)
        torus_close(context[left[i]]);
    stop();
}

static void kill_daemon(uint32_t node)
{
    kill(daemon_pid[node], SIGKILL);
    waitpid(daemon_pid[node], NULL, 0);
    daemon_pid[node] = 0;
}

static void a_lost_node_is_left_out_with_its_ranks(void **state)
{
    (void)state;
    static const uint32_t left[] = {0, 2, 3, 5, 6};
    torus_group *made[MANY] = {NULL};
    torus_request *request = NULL;
    start(3, votes_soon);
    join_all(context, world, MANY);
    must(0, torus_ibarrier(world[0], &request));
    kill_daemon(1);
    assert_int_equal(torus_wait(request, 20 * (int64_t)SECOND), TORUS_ERR_NODE_FAILED);
    shrink_all(world, left, 5, made);
    assert_members(made, left, 5);
    assert_sum(made, left, 5, 16);
    close_all(context, MANY);
    stop();
}

static void all_ranks_of_all_lost_nodes_are_known_to_be_lost(void **state)
{
    (void)state;
    static const uint32_t left[] = {0, 3, 4, 5}, lists[4][2] = {{0, 1}, {0, 2}, {0, 6}, {0, 7}};
    torus_group *made[MANY] = {NULL}, *other = NULL;
    start(5, votes_soon); /* three of five go on without the others */
    join_all(context, world, MANY);
    kill_daemon(2);
    kill_daemon(1);
    shrink_all(world, left, 4, made);
    assert_members(made, left, 4);
    for (int i = 0; i < 4; i++) {
        must(0, torus_group_create(world[0], lists[i], 2, 0, &other));
        assert_int_equal(torus_barrier(other), TORUS_ERR_NODE_FAILED);
        assert_says(context[0], i % 2 ? "lost node 2" : "lost node 1");
        must(0, torus_group_free(other));
    }
    close_all(context, MANY);
    stop();
}

static void ranks_that_do_not_shrink_are_named_to_all(void **state)
{
    (void)state;
    static const uint32_t all[] = {0, 1, 2, 3};
    torus_group *made[MANY] = {NULL}, *never = NULL;
    torus_request *request[2];
    start(2, "");
    join_all(context, world, 4);
    for (uint32_t i = 0; i < 2; i++) {
        torus_set_timeout(world[i], SECOND / 10);
        must(i, torus_ishrink(world[i], &made[i], &request[i]));
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(torus_wait(request[i], 20 * (int64_t)SECOND), TORUS_ERR_TIMEOUT);
        assert_says(context[i], "ranks 2-3");
        torus_set_timeout(world[i], -1);
    }
    assert_int_equal(torus_shrink(world[2], &made[2]),
                     TORUS_ERR_TIMEOUT); /* these ranks get the error too */
    assert_int_equal(torus_shrink(world[3], &made[3]), TORUS_ERR_TIMEOUT);
    assert_null(made[3]);
    shrink_all(world, all, 4, made); /* no rank is lost */
    assert_members(made, all, 4);
    barrier_all(world, 4);
    must(0, torus_ishrink(made[0], &never, &request[0]));
    must(0, torus_cancel(request[0]));
    assert_int_equal(torus_wait(request[0], 20 * (int64_t)SECOND), TORUS_ERR_CANCELLED);
    close_all(context, 4);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(split_makes_groups_by_colour_in_the_order_of_keys, clean_up),
        cmocka_unit_test_teardown(duplicates_and_groups_of_one_stand_for_themselves, clean_up),
        cmocka_unit_test_teardown(groups_of_the_same_list_are_different_groups, clean_up),
        cmocka_unit_test_teardown(operations_of_several_groups_overlap_in_any_order, clean_up),
        cmocka_unit_test_teardown(groups_are_made_of_groups, clean_up),
        cmocka_unit_test_teardown(wrong_lists_make_no_group, clean_up),
        cmocka_unit_test_teardown(groups_made_in_different_orders_are_told_apart, clean_up),
        cmocka_unit_test_teardown(groups_made_in_different_orders_are_told_apart_elsewhere,
                                  clean_up),
        cmocka_unit_test_teardown(a_member_that_never_makes_the_group_is_waited_for_until_the_limit,
                                  clean_up),
        cmocka_unit_test_teardown(a_freed_group_ends_for_those_that_are_left_and_no_other_does,
                                  clean_up),
        cmocka_unit_test_teardown(who_has_gone_on_to_a_new_group_is_not_lost_to_it, clean_up),
        cmocka_unit_test_teardown(the_limits_of_a_group_are_those_it_was_made_with, clean_up),
        cmocka_unit_test_teardown(those_that_a_killed_process_leaves_go_on, clean_up),
        cmocka_unit_test_teardown(a_lost_node_is_left_out_with_its_ranks, clean_up),
        cmocka_unit_test_teardown(all_ranks_of_all_lost_nodes_are_known_to_be_lost, clean_up),
        cmocka_unit_test_teardown(ranks_that_do_not_shrink_are_named_to_all, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
