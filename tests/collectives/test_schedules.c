/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of redistributions: each step is a partial permutation, the two sides agree, and every
 * pair that shares data meets once. The argument n checks every n-th case only. */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "collectives/redist/redist_schedule.h"
#include "random.h"

enum { PARTS_MAX = 64, TIMES_MAX = 32, OWNERS_MAX = 520, STEPS_MAX = 1032 };

static struct td_arena *arena;
static uint32_t every = 1;
static uint64_t state = 1;

static uint64_t draw(uint64_t below)
{
    return random_below(&state, below);
}

/* ---- what a schedule is ---- */

static uint32_t sends[OWNERS_MAX][STEPS_MAX], receives[OWNERS_MAX][STEPS_MAX];
static uint64_t volumes[OWNERS_MAX][OWNERS_MAX];
static uint8_t met[OWNERS_MAX][OWNERS_MAX];

static void fill_by_rows(const struct td_schedule *s)
{
    for (uint32_t p = 0; p < s->p; p++)
        td_circulant_sends(&s->circulant, p, sends[p]);
    for (uint32_t q = 0; q < s->q; q++)
        td_circulant_receives(&s->circulant, q, receives[q]);
}

static void fill_by_steps(const struct td_schedule *s)
{
    for (uint32_t step = 0; step < s->steps; step++) {
        for (uint32_t p = 0; p < s->p; p++)
            if (!td_schedule_send(s, p, step, &sends[p][step]))
                sends[p][step] = UINT32_MAX;
        for (uint32_t q = 0; q < s->q; q++)
            if (!td_schedule_receive(s, q, step, &receives[q][step]))
                receives[q][step] = UINT32_MAX;
    }
}

/* fill_volumes returns the greatest number of partners of an owner. */
static uint32_t fill_volumes(const struct td_schedule_problem *problem)
{
    uint32_t in[OWNERS_MAX] = {0}, most = 0;
    for (uint32_t p = 0; p < problem->p; p++) {
        uint32_t out = 0;
        for (uint32_t q = 0; q < problem->q; q++) {
            volumes[p][q] = td_schedule_volume(problem, p, q);
            out += volumes[p][q] > 0;
            in[q] += volumes[p][q] > 0;
            most = in[q] > most ? in[q] : most;
        }
        most = out > most ? out : most;
    }
    return most;
}

enum { WITHOUT_VOLUME = 1, EQUAL_SIZES = 2, NONE_IDLE = 4 };

/* judge returns the error of the filled schedule, or NULL. */
static const char *judge(const struct td_schedule *s, unsigned flags)
{
    for (uint32_t p = 0; p < s->p; p++)
        memset(met[p], 0, s->q);
    for (uint32_t step = 0; step < s->steps; step++) {
        uint64_t size = 0;
        uint32_t sent = 0, received = 0;
        for (uint32_t p = 0; p < s->p; p++) {
            uint32_t q = sends[p][step];
            if (q == UINT32_MAX)
                continue;
            if (q >= s->q || receives[q][step] != p)
                return "one sends to another who does not expect it";
            if (met[p][q]++)
                return "a pair meets twice";
            if (!volumes[p][q] && !(flags & WITHOUT_VOLUME))
                return "a pair meets that shares nothing";
            if (size && volumes[p][q] != size && (flags & EQUAL_SIZES))
                return "messages of a step differ in length";
            size = volumes[p][q];
            sent++;
        }
        for (uint32_t q = 0; q < s->q; q++)
            received += receives[q][step] != UINT32_MAX;
        if (sent != received)
            return "one expects what nobody sends";
        if (sent < (s->p < s->q ? s->p : s->q) && (flags & NONE_IDLE))
            return "one of the fewer owners is idle";
    }
    for (uint32_t p = 0; p < s->p; p++)
        for (uint32_t q = 0; q < s->q; q++)
            if (volumes[p][q] && !met[p][q])
                return "a pair does not meet";
    return NULL;
}

static struct td_schedule build(enum td_schedule_kind kind,
                                const struct td_schedule_problem *problem)
{
    struct td_schedule s;
    if (!td_schedule_build(&s, arena, kind, problem))
        fail_msg("no memory for a %s of %u -> %u", td_schedule_name(kind), problem->p, problem->q);
    assert_true(s.steps <= STEPS_MAX);
    return s;
}

/* judged builds, judges and frees a schedule, and returns its number of steps. */
static uint32_t judged(enum td_schedule_kind kind, const struct td_schedule_problem *problem,
                       unsigned flags)
{
    struct td_schedule s = build(kind, problem);
    fill_by_steps(&s);
    const char *wrong = judge(&s, flags);
    if (wrong)
        fail_msg("%s of %u -> %u: %s", td_schedule_name(s.kind), s.p, s.q, wrong);
    td_schedule_free(&s, arena);
    return s.steps;
}

static struct td_schedule_problem along(const struct td_schedule_axis *axis)
{
    return (struct td_schedule_problem){.p = axis->p, .q = axis->q, .dimensions = 1, .axis = axis};
}

/* ---- one axis ---- */

static void volumes_are_those_of_a_superblock(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < 4000; i += every) {
        struct td_schedule_axis axis = {1 + (uint32_t)draw(9), 1 + (uint32_t)draw(9), 1 + draw(12),
                                        1 + draw(12)};
        struct td_schedule_problem problem = along(&axis);
        uint64_t counted[9][9] = {0}, x, y;
        td_circulant_ratio(&axis, &x, &y);
        uint64_t elements = axis.p * x * axis.q * y; /* one or more superblocks */
        uint64_t all = 0;
        for (uint64_t e = 0; e < elements; e++)
            counted[e / x % axis.p][e / y % axis.q]++;
        for (uint32_t p = 0; p < axis.p; p++)
            for (uint32_t q = 0; q < axis.q; q++)
                all += td_schedule_volume(&problem, p, q);
        assert(all > 0);
        assert_int_equal(elements % all, 0);
        for (uint32_t p = 0; p < axis.p; p++)
            for (uint32_t q = 0; q < axis.q; q++)
                assert_int_equal(counted[p][q],
                                 td_schedule_volume(&problem, p, q) * (elements / all));
    }
}

/* count_volumes is fill_volumes by the definition: places i < x and k < y of a block before and
 * after hold the same unit somewhere if i - k = qy - px modulo gcd(Px, Qy). */
static uint32_t count_volumes(const struct td_schedule_axis *axis)
{
    static uint64_t count[PARTS_MAX * TIMES_MAX];
    uint32_t in[PARTS_MAX] = {0}, most = 0, period;
    uint64_t x, y;
    td_circulant_ratio(axis, &x, &y);
    period = axis->p * (uint32_t)x;
    for (uint32_t rest, other = axis->q * (uint32_t)y; other; period = other, other = rest)
        rest = period % other;
    memset(count, 0, period * sizeof *count);
    for (uint32_t i = 0; i < x; i++)
        for (uint32_t k = 0; k < y; k++)
            count[(i + period * y - k) % period]++;
    for (uint32_t p = 0; p < axis->p; p++) {
        uint32_t out = 0, shift = (uint32_t)((period - p * x % period) % period);
        for (uint32_t q = 0; q < axis->q; q++) {
            volumes[p][q] = count[shift];
            out += count[shift] > 0;
            in[q] += count[shift] > 0;
            most = in[q] > most ? in[q] : most;
            shift = (uint32_t)((shift + y) % period);
        }
        most = out > most ? out : most;
    }
    return most;
}

static void circulant(const struct td_schedule_axis *axis)
{
    struct td_schedule_problem problem = along(axis);
    struct td_schedule s = build(TD_SCHEDULE_AUTO, &problem);
    assert_int_equal(s.kind, TD_SCHEDULE_CIRCULANT);
    assert_null(s.table);
    uint32_t most = count_volumes(axis);
    fill_by_rows(&s);
    const char *wrong = judge(&s, EQUAL_SIZES | NONE_IDLE);
    if (wrong || s.steps != most)
        fail_msg("cyclic(%u) over %u -> cyclic(%u) over %u: %u steps, at least %u; %s",
                 (unsigned)axis->from_block, axis->p, (unsigned)axis->to_block, axis->q, s.steps,
                 most, wrong ? wrong : "otherwise well");
    for (uint32_t step = 0; step < s.steps; step++) {
        uint64_t blocks = td_circulant_blocks(&s.circulant, step);
        for (uint32_t p = 0; p < s.p; p++)
            if (sends[p][step] != UINT32_MAX && volumes[p][sends[p][step]] != blocks)
                fail_msg("step %u has messages of another length", step);
    }
}

static void every_circulant_schedule_is_the_shortest_and_uniform(void **unused)
{
    (void)unused;
    uint32_t number = 0;
    for (uint32_t p = 1; p <= PARTS_MAX; p++)
        for (uint32_t q = 1; q <= PARTS_MAX; q++)
            for (uint32_t k = 1; k <= TIMES_MAX; k++) {
                if (number++ % every)
                    continue;
                circulant(&(struct td_schedule_axis){p, q, 5, 5 * k});
                if (number % 4 == 0) /* the same closed form with its roles exchanged */
                    circulant(&(struct td_schedule_axis){p, q, 3 * k, 3});
            }
}

static void rows_are_what_single_steps_are(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < 2000; i += every) {
        uint64_t k = 1 + draw(TIMES_MAX);
        struct td_schedule_axis axis = {1 + (uint32_t)draw(PARTS_MAX),
                                        1 + (uint32_t)draw(PARTS_MAX), 1, 1};
        *(i % 2 ? &axis.from_block : &axis.to_block) = k;
        struct td_schedule_problem problem = along(&axis);
        struct td_schedule s = build(TD_SCHEDULE_CIRCULANT, &problem);
        fill_by_rows(&s);
        for (uint32_t step = 0; step < s.steps; step++) {
            uint32_t other = 0;
            for (uint32_t p = 0; p < s.p; p++)
                assert_int_equal(td_schedule_send(&s, p, step, &other) ? other : UINT32_MAX,
                                 sends[p][step]);
            for (uint32_t q = 0; q < s.q; q++)
                assert_int_equal(td_schedule_receive(&s, q, step, &other) ? other : UINT32_MAX,
                                 receives[q][step]);
        }
    }
}

static void the_first_step_of_the_source_is_ours(void **unused)
{
    (void)unused;
    struct td_schedule_axis axis = {3, 6, 2, 4};
    struct td_schedule_problem problem = along(&axis);
    struct td_schedule s = build(TD_SCHEDULE_AUTO, &problem);
    static const uint32_t to[3] = {0, 2, 1};
    for (uint32_t p = 0, q; p < 3; p++) {
        assert_true(td_schedule_send(&s, p, 0, &q));
        assert_int_equal(q, to[p]);
    }
}

static void the_sources_cases_take_half_the_caterpillars_steps(void **unused)
{
    (void)unused;
    static const uint32_t cases[][4] = {{28, 36, 14, 36}, {40, 48, 3, 48}};
    for (size_t i = 0; i < 2; i++) {
        struct td_schedule_axis axis = {cases[i][0], cases[i][1], 1, cases[i][2]};
        struct td_schedule_problem problem = along(&axis);
        fill_volumes(&problem);
        assert_int_equal(judged(TD_SCHEDULE_AUTO, &problem, EQUAL_SIZES), 18);
        assert_int_equal(judged(TD_SCHEDULE_CATERPILLAR, &problem, WITHOUT_VOLUME), cases[i][3]);
    }
}

static void blocks_of_any_lengths_meet_the_bound(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < 1500; i += every) {
        struct td_schedule_axis axis = {1 + (uint32_t)draw(40), 1 + (uint32_t)draw(40),
                                        2 + draw(30), 2 + draw(30)};
        struct td_schedule_problem problem = along(&axis);
        uint32_t most = fill_volumes(&problem);
        assert_int_equal(judged(TD_SCHEDULE_COLOURING, &problem, 0), most);
        assert_int_equal(judged(TD_SCHEDULE_MATCHING, &problem, 0), most);
        assert_true(judged(TD_SCHEDULE_CLASSES, &problem, EQUAL_SIZES) >= most);
        judged(TD_SCHEDULE_CATERPILLAR, &problem, WITHOUT_VOLUME);
    }
}

static void auto_costs_no_more_than_either(void **unused)
{
    (void)unused;
    static const uint64_t startups[] = {0, 1, 10, 1000};
    for (uint32_t i = 0; i < 400; i += every) {
        struct td_schedule_axis axis = {1 + (uint32_t)draw(30), 1 + (uint32_t)draw(30),
                                        2 + draw(12), 2 + draw(12)};
        struct td_schedule_problem problem = along(&axis);
        uint64_t cost[TD_SCHEDULES];
        problem.startup = startups[i / every % 4];
        for (enum td_schedule_kind k = TD_SCHEDULE_AUTO; k <= TD_SCHEDULE_CLASSES; k++) {
            struct td_schedule s = build(k, &problem);
            struct td_schedule_cost c;
            td_schedule_cost(&s, &problem, &c);
            cost[k] = c.steps * problem.startup + c.volume;
            if (s.kind == TD_SCHEDULE_CIRCULANT && k <= TD_SCHEDULE_CIRCULANT)
                cost[k] = 0; /* closed form: chosen without a comparison */
            td_schedule_free(&s, arena);
        }
        assert_true(cost[TD_SCHEDULE_AUTO] <= cost[TD_SCHEDULE_COLOURING]);
        assert_true(cost[TD_SCHEDULE_AUTO] <= cost[TD_SCHEDULE_CLASSES]);
    }
}

/* ---- several axes ---- */

static void axes_are_flattened(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < 3000; i += every) {
        uint32_t dimensions = 2 + (uint32_t)draw(2), most_parts = dimensions == 2 ? 9 : 5;
        struct td_schedule_axis axis[3];
        uint8_t order[2][3] = {{0, 1, 2}, {0, 1, 2}};
        struct td_schedule_problem problem = {.p = 1, .q = 1, .axis = axis};
        uint64_t blocks = 0;
        problem.dimensions = dimensions;
        for (uint32_t side = 0; side < 2 && i % 2; side++) {
            uint32_t one = (uint32_t)draw(dimensions), other = (uint32_t)draw(dimensions);
            uint8_t swap = order[side][one];
            order[side][one] = order[side][other];
            order[side][other] = swap;
            problem.order[side] = order[side];
        }
        for (uint32_t d = 0; d < dimensions; d++) {
            uint64_t unit = 1 + draw(3), k = unit * (1 + draw(8));
            bool reverse = draw(2);
            axis[d] = (struct td_schedule_axis){1 + (uint32_t)draw(most_parts),
                                                1 + (uint32_t)draw(most_parts), reverse ? k : unit,
                                                reverse ? unit : k};
            problem.p *= axis[d].p;
            problem.q *= axis[d].q;
        }
        uint32_t most = fill_volumes(&problem);
        struct td_schedule s = build(TD_SCHEDULE_AUTO, &problem);
        assert_int_equal(s.kind, TD_SCHEDULE_CIRCULANT);
        assert_int_equal(s.steps, most);
        fill_by_rows(&s);
        const char *wrong = judge(&s, EQUAL_SIZES | NONE_IDLE);
        if (wrong)
            fail_msg("case %u: %s", i, wrong);
        uint32_t step = (uint32_t)draw(s.steps), p = (uint32_t)draw(s.p), q;
        bool any = td_schedule_send(&s, p, step, &q);
        assert_int_equal(any ? q : UINT32_MAX, sends[p][step]);
        blocks = any ? td_circulant_blocks(&s.circulant, step) : 0;
        assert_int_equal(blocks, any ? volumes[p][q] : 0);
    }
}

static void mirrored_is_a_schedule_too(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < 2000; i += every) {
        struct td_schedule_axis axis = {1 + (uint32_t)draw(PARTS_MAX),
                                        1 + (uint32_t)draw(PARTS_MAX), 1, 1};
        *(i % 2 ? &axis.from_block : &axis.to_block) = 1 + draw(TIMES_MAX);
        struct td_schedule_problem problem = along(&axis);
        struct td_schedule s = build(TD_SCHEDULE_CIRCULANT, &problem);
        s.circulant.mirrored = true;
        fill_volumes(&problem);
        fill_by_steps(&s);
        const char *wrong = judge(&s, EQUAL_SIZES | NONE_IDLE);
        if (!wrong) {
            fill_by_rows(&s);
            wrong = judge(&s, EQUAL_SIZES | NONE_IDLE);
        }
        if (wrong)
            fail_msg("%u -> %u: %s", s.p, s.q, wrong);
    }
}

static void too_many_pairs_for_a_table_are_a_caterpillar(void **unused)
{
    (void)unused;
    struct td_schedule_axis axis = {300, 301, 2, 3};
    struct td_schedule_problem problem = along(&axis);
    assert_int_equal(build(TD_SCHEDULE_AUTO, &problem).kind, TD_SCHEDULE_CATERPILLAR);
    axis.to_block = 4;
    assert_int_equal(build(TD_SCHEDULE_AUTO, &problem).kind, TD_SCHEDULE_CIRCULANT);
}

static void an_axis_of_any_blocks_makes_the_whole_a_colouring(void **unused)
{
    (void)unused;
    struct td_schedule_axis axis[2] = {{3, 4, 2, 4}, {4, 3, 2, 3}};
    struct td_schedule_problem problem = {.p = 12, .q = 12, .dimensions = 2, .axis = axis};
    struct td_schedule s = build(TD_SCHEDULE_CIRCULANT, &problem);
    assert_true(s.kind == TD_SCHEDULE_COLOURING || s.kind == TD_SCHEDULE_CLASSES);
    td_schedule_free(&s, arena);
    fill_volumes(&problem);
    judged(TD_SCHEDULE_AUTO, &problem, 0);
}

static void blocks_of_one_part_do_not_matter(void **unused)
{
    (void)unused;
    static const struct td_schedule_axis axes[] = {
        {1, 12, 1000003, 7}, {12, 1, 7, 1000003}, {1, 1, 2, 3}, {6, 10, 1, (uint64_t)1 << 40}};
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
        struct td_schedule_problem problem = along(&axes[i]);
        uint32_t most = fill_volumes(&problem);
        assert_int_equal(judged(TD_SCHEDULE_AUTO, &problem, EQUAL_SIZES | NONE_IDLE), most);
    }
}

/* ---- volumes alone ---- */

struct table {
    uint32_t q;
    uint64_t volume[OWNERS_MAX];
};

static uint64_t look_up(const void *me, uint32_t p, uint32_t q)
{
    const struct table *t = me;
    return t->volume[p * t->q + q];
}

static void volumes_alone_are_enough(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < 3000; i += every) {
        struct table t = {.q = 1 + (uint32_t)draw(22)};
        uint32_t owners = 1 + (uint32_t)draw(22);
        uint64_t density = 1 + draw(10), sizes = 1 + draw(i % 2 ? 3 : 1000);
        for (uint32_t n = 0; n < owners * t.q; n++)
            t.volume[n] = draw(10) < density ? draw(sizes + 1) : 0;
        struct td_schedule_problem problem = {
            .p = owners, .q = t.q, .volume = look_up, .me = &t, .startup = draw(200)};
        uint32_t most = fill_volumes(&problem);
        struct td_schedule_bound bound;
        td_schedule_bound(&problem, &bound);
        assert_int_equal(bound.steps, most);
        assert_int_equal(judged(TD_SCHEDULE_COLOURING, &problem, 0), most);
        assert_int_equal(judged(TD_SCHEDULE_MATCHING, &problem, 0), most);
        judged(TD_SCHEDULE_CLASSES, &problem, EQUAL_SIZES);
        judged(TD_SCHEDULE_AUTO, &problem, 0);
        judged(TD_SCHEDULE_CATERPILLAR, &problem, WITHOUT_VOLUME);
    }
}

static void no_schedule_costs_less_than_the_bound(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < 500; i += every) {
        struct td_schedule_axis axis = {1 + (uint32_t)draw(24), 1 + (uint32_t)draw(24),
                                        1 + draw(12), 1 + draw(12)};
        struct td_schedule_problem problem = along(&axis);
        struct td_schedule_bound bound;
        td_schedule_bound(&problem, &bound);
        for (enum td_schedule_kind k = TD_SCHEDULE_AUTO; k < TD_SCHEDULES; k++) {
            struct td_schedule s = build(k, &problem);
            struct td_schedule_cost cost;
            td_schedule_cost(&s, &problem, &cost);
            assert_true(cost.steps >= bound.steps && cost.volume >= bound.volume);
            td_schedule_free(&s, arena);
        }
    }
}

static void without_memory_nothing_is_kept(void **unused)
{
    (void)unused;
    struct td_arena *whole = arena;
    struct td_schedule_axis axis = {30, 31, 7, 9};
    struct td_schedule_problem problem = along(&axis);
    bool refused = false, made = false;
    for (size_t bytes = 1 << 10; !made && bytes < 1 << 20; bytes += 1 << 10) {
        struct td_schedule s;
        arena = td_arena_create(bytes);
        made = true;
        for (enum td_schedule_kind k = TD_SCHEDULE_AUTO; k < TD_SCHEDULES; k++) {
            bool one = td_schedule_build(&s, arena, k, &problem);
            td_schedule_free(&s, arena);
            assert_int_equal(td_arena_used(arena), 0);
            made = made && one;
            refused = refused || !one;
        }
        td_arena_destroy(arena);
    }
    arena = whole;
    assert_true(made && refused);
}

static void kinds_have_names(void **unused)
{
    (void)unused;
    enum td_schedule_kind found;
    for (enum td_schedule_kind k = TD_SCHEDULE_AUTO; k < TD_SCHEDULES; k++) {
        assert_true(td_schedule_named(td_schedule_name(k), &found));
        assert_int_equal(found, k);
    }
    assert_false(td_schedule_named("circular", &found));
}

static int all_is_given_back(void **unused)
{
    (void)unused;
    return td_arena_used(arena) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes_are_those_of_a_superblock),
        cmocka_unit_test(every_circulant_schedule_is_the_shortest_and_uniform),
        cmocka_unit_test(rows_are_what_single_steps_are),
        cmocka_unit_test(the_first_step_of_the_source_is_ours),
        cmocka_unit_test(the_sources_cases_take_half_the_caterpillars_steps),
        cmocka_unit_test(blocks_of_any_lengths_meet_the_bound),
        cmocka_unit_test(auto_costs_no_more_than_either),
        cmocka_unit_test(axes_are_flattened),
        cmocka_unit_test(mirrored_is_a_schedule_too),
        cmocka_unit_test(too_many_pairs_for_a_table_are_a_caterpillar),
        cmocka_unit_test(an_axis_of_any_blocks_makes_the_whole_a_colouring),
        cmocka_unit_test(blocks_of_one_part_do_not_matter),
        cmocka_unit_test(volumes_alone_are_enough),
        cmocka_unit_test(no_schedule_costs_less_than_the_bound),
        cmocka_unit_test(without_memory_nothing_is_kept),
        cmocka_unit_test(kinds_have_names),
    };
    if (argc > 1)
        every = (uint32_t)strtoul(argv[1], NULL, 10);
    arena = td_arena_create((size_t)64 << 20);
    if (!arena || !every)
        return 2;
    int failed = cmocka_run_group_tests(tests, NULL, all_is_given_back);
    td_arena_destroy(arena);
    return failed;
}
