/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose counts differ by rank: valid counts, the units of two nodes, and surveys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "model/counts.h"
#include "random.h"

enum { RANKS_MAX = 12, ROUNDS = 300 };

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    return random_below(&seed, below);
}

/* struct job: a group, and the data between every two ranks, in elements. */
struct job {
    struct td_arena *arena;
    struct td_group group;
    struct td_counts counts[RANKS_MAX];   /* by slot */
    uint64_t has[RANKS_MAX][RANKS_MAX];   /* [sender][receiver] */
    uint64_t takes[RANKS_MAX][RANKS_MAX]; /* [receiver][sender] */
    uint64_t element;
};

static void build(struct job *j, uint32_t size, uint32_t nodes)
{
    uint32_t rank_node[RANKS_MAX];
    *j = (struct job){.arena = td_arena_create(1 << 20), .element = 1 + draw(16)};
    for (uint32_t r = 0; r < size; r++)
        rank_node[r] = (uint32_t)draw(nodes);
    assert_non_null(j->arena);
    assert_int_equal(td_group_build(&j->group, j->arena, rank_node, size), TD_OK);
    for (uint32_t s = 0; s < j->group.slots; s++)
        assert_true(td_counts_build(&j->counts[s], j->arena, &j->group, s));
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t k = 0; k < size; k++)
            j->has[i][k] = j->takes[k][i] = draw(3) ? draw(1000) : 0;
}

static void destroy(struct job *j)
{
    for (uint32_t s = 0; s < j->group.slots; s++)
        td_counts_free(&j->counts[s], j->arena);
    td_group_free(&j->group, j->arena);
    assert_int_equal(td_arena_used(j->arena), 0);
    td_arena_destroy(j->arena);
}

/* say records the counts of every rank, one part after the other. */
static void say(struct job *j)
{
    for (uint32_t rank = 0; rank < j->group.size; rank++) {
        uint32_t slot = 0, local = 0;
        uint64_t need = 0;
        struct td_rank_counts has = {.count = j->has[rank], .counts = j->group.size};
        struct td_rank_counts takes = {.count = j->takes[rank], .counts = j->group.size};
        td_group_locate(&j->group, rank, &slot, &local);
        assert_null(td_counts_set(&j->counts[slot], local, false, &has, j->element, &need));
        assert_null(td_counts_set(&j->counts[slot], local, true, &takes, j->element, &need));
    }
}

/* survey sums up the nodes' surveys, in random order and grouping. */
static struct td_survey survey(const struct job *j)
{
    struct td_survey sum[2] = {{0}, {0}};
    uint32_t first = (uint32_t)draw(j->group.slots);
    for (uint32_t i = 0; i < j->group.slots; i++)
        td_survey_collect(&sum[draw(2)], &j->counts[(first + i) % j->group.slots]);
    td_survey_merge(&sum[0], &sum[1]);
    return sum[0];
}

static void parts_follow_each_other_where_no_places_are_given(void **state)
{
    (void)state;
    struct job j;
    uint64_t need = 0;
    build(&j, 4, 1);
    const uint64_t count[4] = {3, 0, 5, 2}, at[4] = {10, 1000, 0, 7};
    struct td_rank_counts counts = {.count = count, .counts = 4};
    assert_null(td_counts_set(&j.counts[0], 1, false, &counts, 8, &need));
    assert_int_equal(need, 80);
    counts.at = at;
    counts.ats = 4;
    assert_null(td_counts_set(&j.counts[0], 1, true, &counts, 8, &need));
    assert_int_equal(need, 13 * 8); /* an empty part may be at any place */
    const uint64_t follow[4] = {0, 3, 3, 8};
    for (uint32_t other = 0; other < 4; other++) {
        uint32_t local = 0;
        const struct td_part *p = td_counts_pair(&j.counts[0], false, 0, 4 * 1 + other, &local);
        assert_int_equal(local, 1);
        assert_int_equal(p->at, follow[other] * 8);
        assert_int_equal(p->bytes, count[other] * 8);
        p = td_counts_pair(&j.counts[0], true, 0, 4 * other + 1, &local); /* senders outermost */
        assert_int_equal(local, 1);
        assert_int_equal(p->at, at[other] * 8);
        assert_int_equal(p->bytes, count[other] * 8);
    }
    destroy(&j);
}

static void counts_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    struct job j;
    uint64_t need = 0;
    build(&j, 3, 2);
    const uint64_t count[4] = {1, 2, 3, 4}, large[3] = {1, INT64_MAX / 8, 1};
    const uint64_t most[3] = {0, INT64_MAX / 8, 0}, at[3] = {0, UINT64_MAX, 0};
    const struct td_rank_counts bad[] = {
        {.count = count, .counts = 2},
        {.count = count, .counts = 4},
        {.count = count, .counts = 0},
        {.count = count, .at = count, .counts = 3, .ats = 2},
        {.count = count, .at = count, .counts = 0, .ats = 3},
        {.count = large, .counts = 3},
        {.count = count, .at = at, .counts = 3, .ats = 3},
        {.count = count, .at = most, .counts = 3, .ats = 3},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_non_null(td_counts_set(&j.counts[0], 0, false, &bad[i], 8, &need));
    struct td_rank_counts good = {.count = most, .counts = 3};
    assert_null(td_counts_set(&j.counts[0], 0, false, &good, 8, &need));
    assert_true(need == (uint64_t)INT64_MAX / 8 * 8);
    destroy(&j);
}

static void both_nodes_know_the_size_of_a_unit(void **state)
{
    (void)state;
    for (seed = 1; seed < ROUNDS; seed++) {
        uint64_t start = seed, total = 0, most = 0;
        struct job j;
        build(&j, 1 + (uint32_t)draw(RANKS_MAX), 1 + (uint32_t)draw(6));
        say(&j);
        const struct td_group *g = &j.group;
        for (uint32_t a = 0; a < g->slots; a++)
            for (uint32_t b = 0; b < g->slots; b++) {
                uint64_t bytes = 0;
                for (uint32_t i = 0; i < td_group_slot_ranks(g, a); i++)
                    for (uint32_t k = 0; k < td_group_slot_ranks(g, b); k++)
                        bytes += j.element * j.has[td_group_rank(g, a, i)][td_group_rank(g, b, k)];
                assert_int_equal(td_counts_unit(&j.counts[a], false, b), bytes);
                assert_int_equal(td_counts_unit(&j.counts[b], true, a), bytes);
                total += a == b ? 0 : bytes;
                most = a != b && bytes > most ? bytes : most;
            }
        struct td_survey s = survey(&j);
        assert_int_equal(s.total, total);
        assert_int_equal(s.most, most);
        destroy(&j);
        seed = start;
    }
}

/* ---- who differs ---- */

static bool agrees(const struct job *j, bool *single, uint32_t *sender, uint32_t *receiver,
                   int64_t *more)
{
    struct td_survey s = survey(j);
    return td_survey_agrees(&s, single, sender, receiver, more);
}

static void a_single_pair_that_differs_is_named(void **state)
{
    (void)state;
    for (seed = 1; seed < ROUNDS; seed++) {
        uint64_t start = seed;
        struct job j;
        build(&j, 1 + (uint32_t)draw(RANKS_MAX), 1 + (uint32_t)draw(6));
        bool single = false;
        uint32_t sender = 0, receiver = 0;
        int64_t more = 0;
        say(&j);
        assert_true(agrees(&j, &single, &sender, &receiver, &more));

        uint32_t from = (uint32_t)draw(j.group.size), to = (uint32_t)draw(j.group.size);
        j.has[from][to] = draw(3) ? draw(1000) : (uint64_t)1 << 40;
        j.takes[to][from] = j.has[from][to] ? draw(j.has[from][to]) : 7;
        if (draw(2)) {
            uint64_t swap = j.has[from][to];
            j.has[from][to] = j.takes[to][from];
            j.takes[to][from] = swap;
        }
        say(&j);
        assert_false(agrees(&j, &single, &sender, &receiver, &more));
        assert_true(single);
        assert_int_equal(sender, from);
        assert_int_equal(receiver, to);
        assert_true(more ==
                    ((int64_t)j.has[from][to] - (int64_t)j.takes[to][from]) * (int64_t)j.element);
        destroy(&j);
        seed = start;
    }
}

/* Differences of one sender's parts for two receivers look like one difference for the rank between
 * them; differences that cancel look like none. No pair is named for them. */
static void several_pairs_that_differ_name_none(void **state)
{
    (void)state;
    for (seed = 1; seed < ROUNDS; seed++) {
        uint64_t start = seed;
        struct job j;
        build(&j, 3 + (uint32_t)draw(RANKS_MAX - 2), 1 + (uint32_t)draw(6));
        bool single = false, same_sender = draw(2), same_receiver = !same_sender && draw(2);
        uint32_t sender = 0, receiver = 0, i = 0, k = 0;
        int64_t more = 0;
        uint64_t by = 1 + draw(4), other = draw(2) ? by : 1 + draw(4);
        uint32_t from[2], to[2];
        do {
            for (i = 0; i < 2; i++) {
                from[i] = (uint32_t)draw(j.group.size);
                to[i] = (uint32_t)draw(j.group.size);
            }
            from[1] = same_sender ? from[0] : from[1];
            to[1] = same_receiver ? to[0] : to[1];
        } while (from[0] == from[1] && to[0] == to[1]);
        for (k = 0; k < 2; k++) {
            uint64_t extra = k ? other : by;
            if (k && draw(3) == 0)
                j.takes[to[k]][from[k]] += extra;
            else
                j.has[from[k]][to[k]] += extra;
        }
        say(&j);
        assert_false(agrees(&j, &single, &sender, &receiver, &more));
        if (single)
            fail_msg("%u to %u and %u to %u differ, %u to %u is named", from[0], to[0], from[1],
                     to[1], sender, receiver);
        destroy(&j);
        seed = start;
    }
}

/* A survey from another node may be malicious. */
static void senseless_surveys_name_nobody_or_a_rank(void **state)
{
    (void)state;
    static const uint64_t some[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63, INT64_MAX, 2, 12};
    enum { SOME = sizeof some / sizeof some[0] };
    for (int i = 0; i < SOME * SOME * SOME * SOME; i++) {
        struct td_survey s = {.hash = 1, .difference = some[i % SOME]};
        bool single = false;
        uint32_t sender = 0, receiver = 0;
        int64_t more = 0;
        s.by_sender = some[i / SOME % SOME];
        s.by_receiver = some[i / SOME / SOME % SOME];
        s.by_pair = some[i / SOME / SOME / SOME];
        assert_false(td_survey_agrees(&s, &single, &sender, &receiver, &more));
        assert_true(sender < TD_JOB_RANKS_MAX && receiver < TD_JOB_RANKS_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_follow_each_other_where_no_places_are_given),
        cmocka_unit_test(counts_that_make_no_sense_are_refused),
        cmocka_unit_test(both_nodes_know_the_size_of_a_unit),
        cmocka_unit_test(a_single_pair_that_differs_is_named),
        cmocka_unit_test(several_pairs_that_differ_name_none),
        cmocka_unit_test(senseless_surveys_name_nobody_or_a_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
