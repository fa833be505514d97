/* SPDX-License-Identifier: Apache-2.0 */
/* Redistributions on real daemons: random layouts, all element sizes, in place and out of place,
 * plain memory and torus_alloc, several plans in flight, repeated executions, sentences of errors,
 * and a rank that dies. All ranks except those that die are in this process. TORUS_TEST_CASE=SEED
 * runs one random case on both fabrics. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "ranks.h"
#include "redist_desc.h"
#include "sim/moves.h"

enum { PLANS = 3, GUARD = 64, GUARD_BYTE = 0x5a, SHIFT_MAX = 16 };

/* struct trial: a plan and the parameters of its execution. */
struct trial {
    struct move move;
    bool in_place, plain;
    uint64_t shift; /* offset of the buffers in their memory */
};

/* struct part: the buffers of one rank. */
struct part {
    torus_plan *plan;
    torus_request *request;
    uint64_t bytes[2], room[2];
    uint8_t *memory[2], *want[2];
};

static struct trial trial[PLANS];
static struct part part[PLANS][RANKS_MAX];
static uint64_t seed; /* seed of the random case */

/* ---- plans ---- */

/* expect_part checks that the plan and the layout give the same part of a rank. */
static void expect_part(const struct trial *t, uint32_t rank, unsigned side)
{
    const struct td_layout *l = &t->move.layout[side];
    const torus_plan *plan = part[t - trial][rank].plan;
    uint32_t owner = td_layout_owner(l, rank);
    struct torus_box box;
    uint64_t bytes = owner == UINT32_MAX ? 0 : t->move.redist.element;
    assert_int_equal(torus_plan_local(plan, (int)side, &box), TORUS_OK);
    assert_int_equal(box.dimensions, l->dimensions);
    for (uint32_t d = 0; d < l->dimensions; d++) {
        uint64_t mine = 0;
        for (uint64_t i = 0; owner != UINT32_MAX && i < l->size[d]; i++) {
            struct td_owned o = td_layout_owned(l, d, td_layout_coordinate(l, owner, d));
            if (td_owned_before(&o, i + 1) == td_owned_before(&o, i))
                continue;
            if (torus_plan_index(plan, (int)side, d, mine) != (int64_t)i)
                fail_msg("%s: axis %u: %llu is not its index %llu", t->move.text[side], d,
                         (unsigned long long)i, (unsigned long long)mine);
            if (mine++ == 0)
                assert_int_equal(box.begin[d], i);
        }
        assert_int_equal(box.count[d], mine);
        assert_int_equal(torus_plan_index(plan, (int)side, d, mine), TORUS_UNDEFINED);
        bytes *= mine;
    }
    assert_int_equal(torus_plan_bytes(plan, (int)side), bytes);
}

static uint8_t *obtain(uint32_t rank, const struct trial *t, uint64_t bytes)
{
    bytes += 2 * GUARD + SHIFT_MAX;
    uint8_t *memory = t->plain ? malloc(bytes) : torus_alloc(context[rank], bytes);
    assert_non_null(memory);
    memset(memory, GUARD_BYTE, bytes);
    return memory;
}

static uint8_t *buffer(const struct trial *t, const struct part *p, unsigned side)
{
    return p->memory[side] + GUARD + t->shift;
}

/* plan creates the plan of trial i and the buffers of all ranks. */
static void plan(unsigned i)
{
    struct trial *t = &trial[i];
    const struct torus_redist_desc d = redist_desc(&t->move);
    for (uint32_t r = 0; r < size; r++)
        must(r, torus_iplan_redist(world[r], &d, &part[i][r].plan, &part[i][r].request));
    for (uint32_t r = 0; r < size; r++) {
        struct part *p = &part[i][r];
        finish(r, p->request);
        for (unsigned side = 0; side < 2; side++) {
            expect_part(t, r, side);
            p->bytes[side] = torus_plan_bytes(p->plan, (int)side);
            p->want[side] = malloc(p->bytes[side] + 1);
            assert_int_equal(moves_fill(&t->move, side, r, p->want[side]), p->bytes[side]);
        }
        bool grows = t->in_place && p->bytes[0] > p->bytes[1];
        p->room[0] = p->bytes[0];
        p->room[1] = p->bytes[grows ? 0 : 1];
        for (unsigned side = 0; side < 2; side++)
            p->memory[side] = obtain(r, t, p->room[side]);
    }
}

static void execute(unsigned i)
{
    const struct trial *t = &trial[i];
    for (uint32_t r = 0; r < size; r++) {
        struct part *p = &part[i][r];
        memset(buffer(t, p, 1), GUARD_BYTE, p->room[1]);
        if (p->bytes[0])
            memcpy(buffer(t, p, t->in_place), p->want[0], p->bytes[0]);
        void *source = t->in_place ? TORUS_IN_PLACE : p->bytes[0] ? buffer(t, p, 0) : NULL;
        must(r, torus_start(p->plan, source, p->room[1] ? buffer(t, p, 1) : NULL, &p->request));
    }
}

static void check(unsigned i)
{
    const struct trial *t = &trial[i];
    for (uint32_t r = 0; r < size; r++) {
        struct part *p = &part[i][r];
        finish(r, p->request);
        for (unsigned side = t->in_place; side < 2; side++) {
            const uint8_t *b = buffer(t, p, side);
            if (p->bytes[side] && memcmp(b, p->want[side], p->bytes[side]) != 0)
                fail_msg(
                    "TORUS_TEST_CASE=%llu: %s -> %s of %llu bytes: rank %u of %u has not what it "
                    "should have %s",
                    (unsigned long long)seed, t->move.text[0], t->move.text[1],
                    (unsigned long long)t->move.redist.element, r, size, side ? "after" : "before");
            for (unsigned g = 1; g <= GUARD; g++) {
                assert_int_equal(*(b - g), GUARD_BYTE);
                assert_int_equal(b[p->room[side] + g - 1], GUARD_BYTE);
            }
        }
    }
}

static void drop(unsigned i)
{
    for (uint32_t r = 0; r < size; r++) {
        struct part *p = &part[i][r];
        must(r, torus_plan_free(p->plan));
        for (unsigned side = 0; side < 2; side++) {
            free(p->want[side]);
            if (trial[i].plain)
                free(p->memory[side]);
            else
                must(r, torus_free(context[r], p->memory[side]));
        }
    }
}

/* ---- random layouts ---- */

static void random_case(uint64_t number)
{
    char why[MOVE_TEXT];
    seed = number;
    struct td_arena *arena = td_arena_create(4 << 20);
    layouts_seed(seed * 77);
    for (unsigned i = 0; i < PLANS; i++) {
        struct trial *t = &trial[i];
        moves_random(&t->move, size);
        t->in_place = layouts_draw(3) == 0;
        t->plain = layouts_draw(2);
        t->shift = layouts_draw(SHIFT_MAX);
        if (!moves_read(&t->move, arena, size, why))
            fail_msg("TORUS_TEST_CASE=%llu: %s", (unsigned long long)seed, why);
        plan(i);
    }
    play(&(struct plays){PLANS, execute, check, drop});
    td_arena_destroy(arena);
}

static void any_layout_becomes_any_other_on_one_node(void **state)
{
    (void)state;
    cases_on_one_node(random_case);
}

static void any_layout_becomes_any_other_on_several_nodes(void **state)
{
    (void)state;
    cases_on_several_nodes(random_case);
}

static void any_layout_becomes_any_other_on_the_routed_fabric(void **state)
{
    (void)state;
    cases_on_the_routed_fabric(random_case);
}

/* Half a megabyte per rank: more than a chunk or a packet. */
static void long_arrays_change_hands(void **state)
{
    static const char *const layouts[][2] = {{"(block, *)", "(*, block)"},
                                             {"(cyclic, *)", "(cyclic(3), cyclic(5)) on 3x2"},
                                             {"(*, cyclic(7)) @0-2", "(block, *) order 1,0 @3-5"}};
    char why[MOVE_TEXT];
    (void)state;
    for (int routed = 0; routed < 2; routed++) {
        struct td_arena *arena = td_arena_create(4 << 20);
        start(3, routed ? "[torus]\nfabric = routed\n" : "");
        join_ranks(6, false);
        for (unsigned i = 0; i < PLANS; i++) {
            struct trial *t = &trial[i];
            *t = (struct trial){.plain = i == 1, .in_place = i == 2};
            t->move.redist = (struct td_redist){
                .dimensions = 2, .element = 8, .size = {700, 601}, .axes = {i == 0, i != 0}};
            for (unsigned side = 0; side < 2; side++)
                snprintf(t->move.text[side], MOVE_TEXT, "%s", layouts[i][side]);
            if (!moves_read(&t->move, arena, size, why))
                fail_msg("%s", why);
            plan(i);
            execute(i);
        }
        for (unsigned i = 0; i < PLANS; i++)
            check(i);
        for (unsigned i = 0; i < PLANS; i++)
            drop(i);
        close_all(context, size);
        stop();
        td_arena_destroy(arena);
    }
}

/* ---- errors ---- */

/* refused checks that every rank gets the sentence at once, and no plan. */
static void refused(const struct torus_redist_desc *d, const char *words)
{
    for (uint32_t r = 0; r < size; r++) {
        torus_plan *none = (torus_plan *)&none;
        torus_request *request = NULL;
        if (torus_iplan_redist(world[r], d, &none, &request) != TORUS_ERR_INVALID)
            fail_msg("taken, but should say: %s", words);
        assert_says(context[r], words);
        assert_null(none);
    }
}

static void what_cannot_be_planned_is_a_sentence_and_no_call(void **state)
{
    (void)state;
    start(2, "");
    join_ranks(4, false);
    struct torus_redist_desc d = {
        .size = sizeof d, .dimensions = 2, .element_bytes = 8, .shape = {10, 9}};
#define WRONG(field, value, words)                                                                 \
    do {                                                                                           \
        struct torus_redist_desc wrong = d;                                                        \
        wrong.field = value;                                                                       \
        refused(&wrong, words);                                                                    \
    } while (0)
    WRONG(to, "(cyclik, *)", "at character 2");
    WRONG(from, "(block, *", "the layout before");
    WRONG(to, "(block)", "the layout after");
    WRONG(to, "(block, *) @0-4", "rank 4 is not in the group of 4 ranks");
    WRONG(to, "(block, *) @0,0,1,2", "rank 0");
    WRONG(from, "boxes 0:10,0:5 0:10,4:9 @0,1", "the boxes of ranks 0 and 1 overlap");
    WRONG(to, "boxes 0:10,0:5 @3", "no box covers 40 of the array's 90 elements");
    WRONG(to, "boxes 0:11,0:9 @3", "10");
    WRONG(shape[0], UINT64_MAX / 4, "overflows");
    WRONG(element_bytes, 0, "1 byte to 1 MiB");
    WRONG(element_bytes, (1 << 20) + 1, "1 byte to 1 MiB");
    WRONG(dimensions, 0, "1 to 6 axes");
    WRONG(dimensions, 7, "1 to 6 axes");
    WRONG(transposed, 1, "must name every axis once"); /* 0,0 */
    WRONG(schedule, 6, "schedule");
    WRONG(schedule, -1, "schedule");
    WRONG(size, 8, "torus_redist_desc.size");
    assert_int_equal(torus_plan_redist(world[0], &d, NULL), TORUS_ERR_INVALID);
    assert_int_equal(torus_start(NULL, NULL, NULL, NULL), TORUS_ERR_INVALID);
    barrier_all(world, size); /* refused calls have no sequence number */
    close_all(context, size);
    stop();
}

static void descriptions_that_differ_are_a_mismatch(void **state)
{
    (void)state;
    torus_request *r[4];
    torus_plan *none[4];
    start(2, "");
    join_ranks(4, false);
    struct torus_redist_desc d = {.size = sizeof d, .dimensions = 1, .element_bytes = 4};
    d.shape[0] = 100;
    for (uint32_t i = 0; i < 4; i++) {
        d.to = i == 2 ? "cyclic(3)" : "cyclic(2)";
        must(i, torus_iplan_redist(world[i], &d, &none[i], &r[i]));
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_ERR_MISMATCH);
        assert_says(context[i], "plan_redist");
        assert_null(none[i]);
    }
    barrier_all(world, size);
    close_all(context, size);
    stop();
}

/* A call that fails on a rank moves nothing, and the plan stays usable. */
static void memory_that_is_missing_is_refused(void **state)
{
    (void)state;
    uint8_t some[8], *none = NULL;
    torus_request *request = NULL;
    torus_plan *p = NULL;
    start(1, "");
    join_ranks(1, false);
    struct torus_redist_desc d = {.size = sizeof d, .dimensions = 1, .element_bytes = 8};
    d.shape[0] = 1;
    must(0, torus_plan_redist(world[0], &d, &p)); /* default layouts */
    memset(some, 7, sizeof some);
    assert_int_equal(torus_start(p, some, none, &request), TORUS_ERR_INVALID);
    assert_int_equal(torus_start(p, none, some, &request), TORUS_ERR_INVALID);
    uint8_t copy[8] = {0};
    must(0, torus_execute(p, some, copy));
    assert_memory_equal(copy, some, sizeof copy);
    must(0, torus_plan_free(p));
    close_all(context, 1);
    stop();
}

/* ---- a rank that dies ---- */

enum { LENGTH = 1 << 20, DEALT = 1000 };

static struct torus_redist_desc doomed(void)
{
    struct torus_redist_desc d = {.size = sizeof d,
                                  .dimensions = 1,
                                  .element_bytes = 4,
                                  .from = "cyclic(1000) @0-3",
                                  .to = "block @0-3"};
    d.shape[0] = LENGTH;
    return d;
}

/* value returns the element at `index`. */
static uint32_t value(uint64_t index)
{
    return (uint32_t)(index * 2654435761u | 1);
}

static void put_values(const torus_plan *p, uint32_t *to)
{
    for (uint64_t i = 0; i < torus_plan_bytes(p, TORUS_SIDE_INPUT) / sizeof *to; i++)
        to[i] = value((uint64_t)torus_plan_index(p, TORUS_SIDE_INPUT, 0, i));
}

/* last_rank is rank 3: it plans and reports, executes if it should and reports, and waits until it
 * is killed. */
static pid_t last_rank(int tell, bool calls)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    torus_group *g = NULL;
    torus_plan *p = NULL;
    torus_request *request = NULL;
    struct torus_join_options o = as(4, 3);
    struct torus_redist_desc d = doomed();
    torus_context *c = open_at(3);
    bool good = torus_join(c, &o, &g) == TORUS_OK && torus_plan_redist(g, &d, &p) == TORUS_OK;
    uint32_t *a = good ? torus_alloc(c, torus_plan_bytes(p, 0)) : NULL;
    uint32_t *b = a ? torus_alloc(c, torus_plan_bytes(p, 1)) : NULL;
    if (b) {
        put_values(p, a);
        good = !calls || torus_start(p, a, b, &request) == TORUS_OK;
    }
    if (good && b && write(tell, "y", 1) == 1)
        pause();
    _exit(0);
}

/* comes waits until the first element of rank 3 is at rank 0. */
static void comes(const uint32_t *destination)
{
    const volatile uint32_t *first = destination + 3 * DEALT;
    for (double until = seconds() + 30; *first != value(3 * DEALT);)
        if (seconds() > until)
            fail_msg("nothing of rank 3's comes");
}

static void with_a_death(bool calls)
{
    torus_request *r[3];
    torus_plan *p[3];
    uint32_t *a[3], *b[3];
    int told[2];
    char news = 'n';
    assert_int_equal(pipe(told), 0);
    pid_t child = last_rank(told[1], calls);
    struct torus_redist_desc d = doomed();
    for (uint32_t i = 0; i < 3; i++) {
        struct torus_join_options o = as(4, (int32_t)i);
        context[i] = open_at(i);
        must(i, torus_ijoin(context[i], &o, &world[i], &r[i]));
    }
    for (uint32_t i = 0; i < 3; i++)
        finish(i, r[i]);
    for (uint32_t i = 0; i < 3; i++)
        must(i, torus_iplan_redist(world[i], &d, &p[i], &r[i]));
    for (uint32_t i = 0; i < 3; i++) {
        finish(i, r[i]);
        a[i] = torus_alloc(context[i], torus_plan_bytes(p[i], TORUS_SIDE_INPUT));
        b[i] = torus_alloc(context[i], torus_plan_bytes(p[i], TORUS_SIDE_OUTPUT));
        put_values(p[i], a[i]);
    }
    for (uint32_t i = 0; i < 3; i++)
        must(i, torus_start(p[i], a[i], b[i], &r[i]));
    assert_int_equal(read(told[0], &news, 1), 1);
    assert_int_equal(news, 'y');
    if (calls)
        comes(b[0]);
    kill(child, SIGKILL);
    for (uint32_t i = 0; i < 3; i++) {
        if (calls) { /* an operation that has begun has all data and completes */
            finish(i, r[i]);
            for (uint64_t k = 0; k < LENGTH / 4; k++)
                if (b[i][k] != value(i * LENGTH / 4 + k))
                    fail_msg("rank %u: element %llu", i, (unsigned long long)k);
            must(i, torus_start(p[i], a[i], b[i], &r[i]));
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_ERR_RANK_FAILED);
        assert_says(context[i], "rank 3 of job job died");
        for (uint64_t k = 0; !calls && k < LENGTH / 4; k++)
            assert_int_equal(b[i][k], 0);
        must(i, torus_plan_free(p[i]));
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(told[0]);
    close(told[1]);
    close_all(context, 3);
}

static void a_rank_that_dies_before_it_calls_fails_all_and_nothing_moves(void **state)
{
    (void)state;
    start(4, "");
    with_a_death(false);
    stop();
}

static void a_rank_that_dies_meanwhile_fails_what_comes_after(void **state)
{
    (void)state;
    columns = 2;
    prepare(4);
    start_all("[torus]\nfabric = routed\nlink_rate = 8MB/s\n[network]\npacket = 4KiB\n");
    with_a_death(true);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(any_layout_becomes_any_other_on_one_node, clean_up),
        cmocka_unit_test_teardown(any_layout_becomes_any_other_on_several_nodes, clean_up),
        cmocka_unit_test_teardown(any_layout_becomes_any_other_on_the_routed_fabric, clean_up),
        cmocka_unit_test_teardown(long_arrays_change_hands, clean_up),
        cmocka_unit_test_teardown(what_cannot_be_planned_is_a_sentence_and_no_call, clean_up),
        cmocka_unit_test_teardown(descriptions_that_differ_are_a_mismatch, clean_up),
        cmocka_unit_test_teardown(memory_that_is_missing_is_refused, clean_up),
        cmocka_unit_test_teardown(a_rank_that_dies_before_it_calls_fails_all_and_nothing_moves,
                                  clean_up),
        cmocka_unit_test_teardown(a_rank_that_dies_meanwhile_fails_what_comes_after, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
