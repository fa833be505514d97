/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms on real daemons, compared with FFTW: random arrays, kinds and layouts, in place and
 * out of place, plain memory and torus_alloc, several plans in flight, repeated executions, and
 * sentences of errors. TORUS_TEST_CASE=SEED runs one random case on both fabrics. */
#include <math.h>
#include <time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ranks.h"
#include "sim/transforms.h"

enum { PLANS = 3, GUARD = 64, GUARD_BYTE = 0x5a, SHIFT_MAX = 16 };

/* struct trial: a plan and the parameters of its execution. */
struct trial {
    struct transform transform;
    bool in_place, plain;
    uint64_t shift; /* offset of the buffers in their memory */
};

/* struct part: the buffers of one rank. */
struct part {
    torus_plan *plan;
    torus_request *request;
    uint64_t bytes[2], room[2];
    uint8_t *memory[2], *given;
};

static struct trial trial[PLANS];
static struct part part[PLANS][RANKS_MAX];
static uint64_t seed_now;

static struct torus_fft_desc describe(const struct transform *t)
{
    struct torus_fft_desc d = {.size = sizeof d,
                               .dimensions = t->fft.dimensions,
                               .type = (int32_t)t->fft.type,
                               .sign = t->fft.sign,
                               .scale = (int32_t)t->fft.scale,
                               .from = t->text[0],
                               .to = t->text[1],
                               .method = t->fft.method};
    for (uint32_t i = 0; i < d.dimensions; i++) {
        d.shape[i] = t->fft.size[i];
        d.transform[i] = t->fft.transform[i];
        d.grid[i] = t->fft.grid[i];
    }
    return d;
}

static uint8_t *buffer(const struct trial *t, const struct part *p, unsigned side)
{
    return p->memory[side] + GUARD + t->shift;
}

/* prepare_part allocates a rank's buffers; in place, the destination has room for both sides. */
static void prepare_part(const struct trial *t, uint32_t rank, struct part *p)
{
    for (unsigned side = 0; side < 2; side++)
        p->bytes[side] = p->room[side] = torus_plan_bytes(p->plan, (int)side);
    if (t->in_place && p->room[1] < p->bytes[0])
        p->room[1] = p->bytes[0];
    p->given = malloc(p->bytes[0] + 1);
    assert_int_equal(transforms_fill(&t->transform, rank, p->given), p->bytes[0]);
    for (unsigned side = 0; side < 2; side++) {
        uint64_t bytes = p->room[side] + 2 * GUARD + SHIFT_MAX;
        p->memory[side] = t->plain ? malloc(bytes) : torus_alloc(context[rank], bytes);
        assert_non_null(p->memory[side]);
        memset(p->memory[side], GUARD_BYTE, bytes);
    }
}

static void plan(unsigned i)
{
    const struct torus_fft_desc d = describe(&trial[i].transform);
    for (uint32_t r = 0; r < size; r++)
        must(r, torus_iplan_fft(world[r], &d, &part[i][r].plan, &part[i][r].request));
    for (uint32_t r = 0; r < size; r++) {
        finish(r, part[i][r].request);
        prepare_part(&trial[i], r, &part[i][r]);
    }
}

static void execute(unsigned i)
{
    const struct trial *t = &trial[i];
    for (uint32_t r = 0; r < size; r++) {
        struct part *p = &part[i][r];
        memset(buffer(t, p, 1), GUARD_BYTE, p->room[1]);
        if (p->bytes[0])
            memcpy(buffer(t, p, t->in_place), p->given, p->bytes[0]);
        void *source = t->in_place ? TORUS_IN_PLACE : p->bytes[0] ? buffer(t, p, 0) : NULL;
        must(r, torus_start(p->plan, source, p->room[1] ? buffer(t, p, 1) : NULL, &p->request));
    }
}

static void check(unsigned i)
{
    const struct trial *t = &trial[i];
    struct transform_error error = {0};
    char why[TRANSFORM_TEXT];
    for (uint32_t r = 0; r < size; r++) {
        struct part *p = &part[i][r];
        finish(r, p->request);
        assert_int_equal(transforms_compare(&t->transform, r, buffer(t, p, 1), &error),
                         p->bytes[1]);
        if (!t->in_place && p->bytes[0])
            assert_memory_equal(buffer(t, p, 0), p->given, p->bytes[0]);
        for (unsigned side = t->in_place; side < 2; side++)
            for (unsigned g = 1; g <= GUARD; g++) {
                assert_int_equal(*(buffer(t, p, side) - g), GUARD_BYTE);
                assert_int_equal(buffer(t, p, side)[p->room[side] + g - 1], GUARD_BYTE);
            }
    }
    if (!transforms_within(&t->transform, &error, why))
        fail_msg("TORUS_TEST_CASE=%llu: %u ranks, %s%s: %s", (unsigned long long)seed_now, size,
                 t->in_place ? "in place, " : "", t->plain ? "plain" : "shared", why);
}

static void drop(unsigned i)
{
    for (uint32_t r = 0; r < size; r++) {
        struct part *p = &part[i][r];
        must(r, torus_plan_free(p->plan));
        free(p->given);
        for (unsigned side = 0; side < 2; side++) {
            if (trial[i].plain)
                free(p->memory[side]);
            else
                must(r, torus_free(context[r], p->memory[side]));
        }
    }
    transforms_free(&trial[i].transform);
}

/* ---- random arrays ---- */

static void random_case(uint64_t seed)
{
    char why[TRANSFORM_TEXT];
    struct td_arena *arena = td_arena_create(4 << 20);
    seed_now = seed;
    layouts_seed(seed * 131);
    for (unsigned i = 0; i < PLANS; i++) {
        struct trial *t = &trial[i];
        transforms_random(&t->transform);
        t->in_place = layouts_draw(3) == 0;
        t->plain = layouts_draw(2);
        t->shift = layouts_draw(2) ? 0 : layouts_draw(SHIFT_MAX);
        if (!transforms_read(&t->transform, arena, size, true, why))
            fail_msg("%s", why);
        plan(i);
    }
    play(&(struct plays){PLANS, execute, check, drop});
    td_arena_destroy(arena);
}

static void any_array_is_transformed_on_one_node(void **state)
{
    (void)state;
    cases_on_one_node(random_case);
}

static void any_array_is_transformed_on_several_nodes(void **state)
{
    (void)state;
    cases_on_several_nodes(random_case);
}

static void any_array_is_transformed_on_the_routed_fabric(void **state)
{
    (void)state;
    cases_on_the_routed_fabric(random_case);
}

/* ---- errors ---- */

/* refused checks that every rank gets the sentence at once, and no plan. */
static void refused(const struct torus_fft_desc *d, const char *words)
{
    for (uint32_t r = 0; r < size; r++) {
        torus_plan *none = (torus_plan *)&none;
        torus_request *request = NULL;
        if (torus_iplan_fft(world[r], d, &none, &request) != TORUS_ERR_INVALID)
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
    struct torus_fft_desc d = {.size = sizeof d,
                               .dimensions = 2,
                               .shape = {10, 9},
                               .type = TORUS_COMPLEX_DOUBLE,
                               .sign = TORUS_FORWARD};
    struct torus_fft_desc real = d;
    real.transform[0] = TORUS_TRANSFORM_R2C;
    real.transform[1] = TORUS_TRANSFORM_COMPLEX;
#define WRONG_OF(from_what, field, value, words)                                                   \
    do {                                                                                           \
        struct torus_fft_desc wrong = from_what;                                                   \
        wrong.field = value;                                                                       \
        refused(&wrong, words);                                                                    \
    } while (0)
#define WRONG(field, value, words) WRONG_OF(d, field, value, words)
    WRONG(from, "(block, *", "the layout before");
    WRONG(to, "(cyclik, *)", "at character 2");
    WRONG(to, "(block, *) @0-4", "rank 4 is not in the group of 4 ranks");
    WRONG(from, "boxes 0:10,0:5 0:10,4:9 @0,1", "the boxes of ranks 0 and 1 overlap");
    WRONG(to, "boxes 0:10,0:5 @3", "no box covers 40 of the array's 90 elements");
    WRONG_OF(real, to, "boxes 0:10,0:9 @3", "6"); /* ten real numbers give six complex numbers */
    WRONG(shape[0], 0, "at least one point");
    WRONG(shape[1], (uint64_t)INT32_MAX + 1, "at most 2147483647 points");
    WRONG(shape[1], UINT64_MAX, "at most 2147483647 points");
    WRONG(dimensions, 0, "1 to 6 axes");
    WRONG(dimensions, 7, "1 to 6 axes");
    WRONG(type, TORUS_DOUBLE, "complex float or complex double");
    WRONG(type, -1, "complex float or complex double");
    WRONG(type, TORUS_INT32, "complex float or complex double");
    WRONG(sign, 0, "-1 (forward) or +1 (backward)");
    WRONG(scale, 3, "none, ortho or full");
    WRONG(scale, -1, "none, ortho or full");
    WRONG(grid[1], 2, "fewer axes than the array");
    WRONG(grid[0], 1u << 30, "numbers of nodes");
    WRONG(method, 5, "two-phase");
    WRONG(method, -1, "two-phase");
    WRONG(transform[0], 12, "unknown kind");
    WRONG_OF(real, transform[1], 12, "unknown kind");
    WRONG(transform[0], -1, "unknown kind");
    WRONG(transform[0], TORUS_TRANSFORM_REDFT10, "the type of a real transform");
    WRONG(transform[0], TORUS_TRANSFORM_C2R, "C2R backward");
    WRONG_OF(real, sign, TORUS_BACKWARD, "R2C must be forward");
    WRONG_OF(real, transform[1], TORUS_TRANSFORM_R2C, "only one axis may be");
    WRONG_OF(real, transform[1], TORUS_TRANSFORM_RODFT00, "cannot be combined with complex");
    WRONG(size, 8, "torus_fft_desc.size");
    struct torus_fft_desc huge = d;
    huge.dimensions = 3;
    huge.shape[0] = huge.shape[1] = huge.shape[2] = INT32_MAX;
    refused(&huge, "overflows");
    assert_int_equal(torus_plan_fft(world[0], &d, NULL), TORUS_ERR_INVALID);
    assert_int_equal(torus_plan_fft(world[0], NULL, (torus_plan *[]){NULL}), TORUS_ERR_INVALID);
    barrier_all(world, size); /* refused calls have no sequence number */
    close_all(context, size);
    stop();
}

/* differs checks that all ranks get an error with both descriptions if rank 2 describes another
 * transform. */
static void differs(const struct torus_fft_desc *d, const struct torus_fft_desc *other,
                    const char *words, const char *other_words)
{
    torus_request *r[4];
    torus_plan *none[4];
    for (uint32_t i = 0; i < 4; i++)
        must(i, torus_iplan_fft(world[i], i == 2 ? other : d, &none[i], &r[i]));
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_ERR_MISMATCH);
        assert_says(context[i], "plan_fft");
        assert_says(context[i], words);
        assert_says(context[i], other_words);
        assert_null(none[i]);
    }
}

static void ranks_that_disagree_are_a_mismatch(void **state)
{
    (void)state;
    start(2, "");
    join_ranks(4, false);
    const struct torus_fft_desc d = {.size = sizeof d,
                                     .dimensions = 2,
                                     .shape = {10, 9},
                                     .type = TORUS_COMPLEX_DOUBLE,
                                     .sign = TORUS_FORWARD};
#define DIFFERS(field, value, words, other_words)                                                  \
    do {                                                                                           \
        struct torus_fft_desc other = d;                                                           \
        other.field = value;                                                                       \
        differs(&d, &other, words, other_words);                                                   \
    } while (0)
    DIFFERS(shape[1], 8, "(10x9, ", "(10x8, ");
    DIFFERS(shape[1], 8, "(10x9, ", ": the lengths of the axes differ");
    DIFFERS(shape[1], 1u << 30, "(10x9, ", "(lengths #");
    DIFFERS(sign, TORUS_BACKWARD, ", forward, ", ", backward, ");
    DIFFERS(sign, TORUS_BACKWARD, ", backward, ", ": the sign differs");
    DIFFERS(scale, TORUS_SCALE_ORTHO, "scale none", "scale ortho");
    DIFFERS(type, TORUS_COMPLEX_FLOAT, "complex float", ": the type differs");
    DIFFERS(type, TORUS_COMPLEX_FLOAT, "complex double", "complex float");
    DIFFERS(transform[0], TORUS_TRANSFORM_COMPLEX, "c2c/c2c", "c2c/-"); /* only that axis */
    DIFFERS(to, "(*, block)", "to layout #", ": the layout after differs");
    DIFFERS(from, "(*, block)", "from layout #", ": the layout before differs");
    DIFFERS(grid[0], 2, "method auto, from", "method auto, grid #");
    DIFFERS(grid[0], 2, "plan_fft", ": the grid differs");
    DIFFERS(transform[0], TORUS_TRANSFORM_COMPLEX, "c2c/-", ": the kinds of transform differ");
    DIFFERS(method, TORUS_TRANSPOSE_PAIRWISE, "method auto", "method pairwise");
    DIFFERS(method, TORUS_TRANSPOSE_PAIRWISE, "plan_fft", ": the method differs");
    barrier_all(world, size);
    close_all(context, size);
    stop();
}

/* A call that fails on a rank moves nothing, and the plan stays usable. */
static void memory_that_is_missing_is_refused(void **state)
{
    (void)state;
    float some[16], *none = NULL;
    torus_request *request = NULL;
    torus_plan *p = NULL;
    start(1, "");
    join_ranks(1, false);
    struct torus_fft_desc d = {
        .size = sizeof d, .dimensions = 1, .type = TORUS_COMPLEX_FLOAT, .sign = TORUS_FORWARD};
    d.shape[0] = 8;
    must(0, torus_plan_fft(world[0], &d, &p)); /* default layouts */
    for (int i = 0; i < 16; i++)
        some[i] = i == 0;
    assert_int_equal(torus_start(p, some, none, &request), TORUS_ERR_INVALID);
    assert_int_equal(torus_start(p, none, some, &request), TORUS_ERR_INVALID);
    must(0, torus_execute(p, TORUS_IN_PLACE, some));
    for (int i = 0; i < 16; i++)
        assert_true(some[i] == (i % 2 ? 0.f : 1.f));
    must(0, torus_plan_free(p));
    close_all(context, 1);
    stop();
}

/* A plan without enough scratch memory fails on every rank with the node's name; the group stays
 * usable. */
static void scratch_that_is_missing_is_named(void **state)
{
    static float array[4][2 * 512 * 256];
    torus_request *r[4];
    torus_plan *p[4];
    (void)state;
    start(2, "[limits]\nscratch = 1MiB\n[alltoall]\nrelay = 64KiB\n");
    join_ranks(4, false);
    struct torus_fft_desc d = {.size = sizeof d,
                               .dimensions = 2,
                               .shape = {512, 1024},
                               .type = TORUS_COMPLEX_FLOAT,
                               .sign = TORUS_FORWARD,
                               .to = "(*, block)"};
    for (int round = 0; round < 2; round++, d.shape[0] = d.shape[1] = 64) {
        for (uint32_t i = 0; i < 4; i++)
            must(i, torus_iplan_fft(world[i], &d, &p[i], &r[i]));
        for (uint32_t i = 0; i < 4; i++)
            finish(i, r[i]);
        for (uint32_t i = 0; i < 4; i++)
            must(i, torus_start(p[i], TORUS_IN_PLACE, array[i], &r[i]));
        for (uint32_t i = 0; i < 4; i++) {
            int error = torus_wait(r[i], 20 * (int64_t)SECOND);
            assert_int_equal(error, round == 0 ? TORUS_ERR_NO_MEMORY : TORUS_OK);
            if (round == 0)
                assert_says(context[i], "bytes of scratch on node");
        }
        for (uint32_t i = 0; i < 4; i++)
            must(i, torus_plan_free(p[i]));
    }
    close_all(context, 4);
    stop();
}

/* ---- plan and execution in one call ---- */

/* The spectrum of a wave of one wavenumber is one line; its value is the number of points. */
static void one_call_plans_executes_and_frees(void **state)
{
    static const uint64_t shape[3] = {6, 5, 4};
    float wave[2 * 6 * 5 * 4], line[sizeof wave / sizeof wave[0]] = {0};
    const double turn = 2 * acos(-1);
    (void)state;
    start(1, "");
    join_ranks(1, false);
    for (int axes = 2; axes <= 3; axes++)
        for (int round = 0; round < 300; round++) { /* more than the limit of plans */
            int depth = axes == 3 ? 4 : 1, points = 30 * depth,
                at = (2 * 5 + 3) * depth + depth / 2;
            for (int i = 0; i < points; i++) {
                int row = i / (5 * depth), column = i / depth % 5;
                double x = 2.0 * row / 6 + 3.0 * column / 5 + (double)(i % depth) / 2;
                wave[2 * i] = (float)cos(turn * x);
                wave[2 * i + 1] = (float)sin(turn * x);
            }
            must(0, (axes == 3 ? torus_fft3 : torus_fft2)(world[0], wave, line, shape,
                                                          TORUS_COMPLEX_FLOAT, TORUS_FORWARD,
                                                          TORUS_SCALE_NONE));
            for (int i = 0; i < 2 * points; i++)
                assert_true(fabsf(line[i] - (i == 2 * at ? (float)points : 0)) < 1e-3f);
        }
    assert_int_equal(torus_fft2(NULL, wave, line, shape, TORUS_COMPLEX_FLOAT, TORUS_FORWARD, 0),
                     TORUS_ERR_INVALID);
    assert_int_equal(torus_fft3(world[0], wave, line, NULL, TORUS_COMPLEX_FLOAT, TORUS_FORWARD, 0),
                     TORUS_ERR_INVALID);
    assert_int_equal(torus_fft2(world[0], wave, line, shape, TORUS_FLOAT, TORUS_FORWARD, 0),
                     TORUS_ERR_INVALID);
    assert_says(context[0], "complex float");
    assert_int_equal(torus_fft2(world[0], wave, NULL, shape, TORUS_COMPLEX_FLOAT, TORUS_FORWARD, 0),
                     TORUS_ERR_INVALID);
    assert_says(context[0], "is NULL");
    close_all(context, 1);
    stop();
}

enum { LINES = 6, ROWS = 5, DEEP = 4, EACH = 2, LOCAL = 2 * EACH * ROWS * DEEP };

/* fill writes a rank's lines of a wave of one wavenumber. */
static void fill(uint32_t rank, int deep, float *wave)
{
    const double turn = 2 * acos(-1);
    for (int i = 0; i < EACH * ROWS * deep; i++) {
        int line = (int)rank * EACH + i / (ROWS * deep);
        double x = 2.0 * line / LINES + 3.0 * (i / deep % ROWS) / ROWS + 1.0 * (i % deep) / deep;
        wave[2 * i] = (float)cos(turn * x);
        wave[2 * i + 1] = (float)sin(turn * x);
    }
}

static void check_line(uint32_t rank, int deep, const float *line)
{
    int at = (2 % EACH * ROWS + 3) * deep + 1 % deep;
    for (int i = 0; i < 2 * EACH * ROWS * deep; i++) {
        bool peak = rank == 2 / EACH && i == 2 * at;
        assert_true(fabsf(line[i] - (peak ? (float)(LINES * ROWS * deep) : 0)) < 1e-3f);
    }
}

/* complete waits for the requests of all ranks, which proceed in each of them. It returns the
 * outcome of the last one. */
static int complete(torus_request **r, uint32_t count)
{
    uint32_t left = count;
    int error = TORUS_OK;
    time_t end = time(NULL) + 20;
    while (left > 0) {
        assert_true(time(NULL) < end);
        for (uint32_t i = 0; i < count; i++) {
            int outcome = r[i] ? torus_wait(r[i], SECOND / 1000) : TORUS_PENDING;
            if (outcome == TORUS_PENDING)
                continue;
            error = outcome;
            r[i] = NULL;
            left--;
        }
    }
    return error;
}

static void one_call_need_not_wait(void **state)
{
    static const uint64_t shape[3] = {LINES, ROWS, DEEP};
    static float wave[2][4][LOCAL], line[2][4][LOCAL];
    torus_request *r[3][4] = {{NULL}};
    (void)state;
    start(4, "");
    join_ranks(4, false);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 4; i++) { /* later calls of the group do not wait for them */
            fill(i, DEEP, wave[0][i]);
            fill(i, 1, wave[1][i]);
            must(i, torus_ifft3(world[i], wave[0][i], line[0][i], shape, TORUS_COMPLEX_FLOAT,
                                TORUS_FORWARD, TORUS_SCALE_NONE, &r[0][i]));
            assert_int_equal(torus_leave(world[i]), TORUS_ERR_BUSY);
            must(i, torus_ibarrier(world[i], &r[2][i]));
            must(i, torus_ifft2(world[i], wave[1][i], line[1][i], shape, TORUS_COMPLEX_FLOAT,
                                TORUS_FORWARD, TORUS_SCALE_NONE, &r[1][i]));
        }
        assert_int_equal(complete(&r[0][0], 12), TORUS_OK);
        for (uint32_t i = 0; i < 3; i++) { /* rank 3 has no lines */
            check_line(i, DEEP, line[0][i]);
            check_line(i, 1, line[1][i]);
        }
    }
    for (uint32_t i = 0; i < 4; i++)
        must(i, torus_ifft3(world[i], line[0][i], line[0][i], shape, TORUS_COMPLEX_FLOAT,
                            TORUS_BACKWARD, TORUS_SCALE_FULL, &r[0][i]));
    assert_int_equal(complete(r[0], 4), TORUS_OK);
    for (uint32_t i = 0; i < 3; i++)
        for (int k = 0; k < LOCAL; k++)
            assert_true(fabsf(line[0][i][k] - wave[0][i][k]) < 1e-4f);
    close_all(context, 4);
    stop();
}

static void what_is_wrong_with_one_call_is_a_sentence(void **state)
{
    static const uint64_t shape[3] = {LINES, ROWS, DEEP}, other[3] = {LINES, DEEP, ROWS};
    static float wave[4][LOCAL], line[4][LOCAL];
    torus_request *r[4] = {NULL};
    (void)state;
    start(4, "");
    join_ranks(4, false);
    assert_int_equal(
        torus_ifft2(NULL, wave, line, shape, TORUS_COMPLEX_FLOAT, TORUS_FORWARD, 0, &r[0]),
        TORUS_ERR_INVALID);
    assert_int_equal(
        torus_ifft2(world[0], wave, line, NULL, TORUS_COMPLEX_FLOAT, TORUS_FORWARD, 0, &r[0]),
        TORUS_ERR_INVALID);
    assert_int_equal(
        torus_ifft2(world[0], wave, line, shape, TORUS_COMPLEX_FLOAT, TORUS_FORWARD, 0, NULL),
        TORUS_ERR_INVALID);
    assert_int_equal(torus_ifft2(world[0], wave, line, shape, TORUS_FLOAT, TORUS_FORWARD, 0, &r[0]),
                     TORUS_ERR_INVALID);
    assert_says(context[0], "complex float");
    assert_int_equal(
        torus_ifft2(world[0], wave, NULL, shape, TORUS_COMPLEX_FLOAT, TORUS_FORWARD, 0, &r[0]),
        TORUS_ERR_INVALID);
    assert_says(context[0], "is NULL");
    assert_null(r[0]);
    for (uint32_t i = 0; i < 4; i++)
        must(i, torus_ifft3(world[i], wave[i], line[i], i == 2 ? other : shape, TORUS_COMPLEX_FLOAT,
                            TORUS_FORWARD, 0, &r[i]));
    assert_int_equal(complete(r, 4), TORUS_ERR_MISMATCH);
    for (uint32_t i = 0; i < 4; i++) /* the group stays usable */
        must(i, torus_ifft3(world[i], wave[i], line[i], shape, TORUS_COMPLEX_FLOAT, TORUS_FORWARD,
                            0, &r[i]));
    assert_int_equal(complete(r, 4), TORUS_OK);
    for (uint32_t i = 0; i < 4; i++) /* close during the transform */
        must(i, torus_ifft3(world[i], wave[i], line[i], shape, TORUS_COMPLEX_FLOAT, TORUS_FORWARD,
                            0, &r[i]));
    close_all(context, 4);
    stop();
}

/* half_of_a_spectrum plans R2C or C2R on four ranks, of which two give the real type and two the
 * complex one. */
static void half_of_a_spectrum(bool back, int real, int complex, size_t bytes)
{
    torus_plan *plan[4] = {NULL};
    torus_request *r[4] = {NULL};
    for (uint32_t i = 0; i < 4; i++) {
        struct torus_fft_desc d = {.size = sizeof d,
                                   .dimensions = 2,
                                   .shape = {8, 6},
                                   .type = (int)i % 2 == back ? real : complex,
                                   .sign = back ? TORUS_BACKWARD : TORUS_FORWARD,
                                   .transform = {TORUS_TRANSFORM_COMPLEX,
                                                 back ? TORUS_TRANSFORM_C2R : TORUS_TRANSFORM_R2C}};
        must(i, torus_iplan_fft(world[i], &d, &plan[i], &r[i]));
    }
    assert_int_equal(complete(r, 4), TORUS_OK);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(torus_plan_bytes(plan[i], back), 2 * 6 * bytes);
        assert_int_equal(torus_plan_bytes(plan[i], !back), (size_t)2 * 4 * 2 * bytes);
        must(i, torus_plan_free(plan[i]));
    }
}

static void half_of_a_spectrum_is_described_by_the_type_of_either_side(void **state)
{
    (void)state;
    start(2, "");
    join_ranks(4, false);
    for (int back = 0; back < 2; back++) {
        half_of_a_spectrum(back, TORUS_FLOAT, TORUS_COMPLEX_FLOAT, sizeof(float));
        half_of_a_spectrum(back, TORUS_DOUBLE, TORUS_COMPLEX_DOUBLE, sizeof(double));
    }
    close_all(context, 4);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(any_array_is_transformed_on_one_node, clean_up),
        cmocka_unit_test_teardown(any_array_is_transformed_on_several_nodes, clean_up),
        cmocka_unit_test_teardown(any_array_is_transformed_on_the_routed_fabric, clean_up),
        cmocka_unit_test_teardown(what_cannot_be_planned_is_a_sentence_and_no_call, clean_up),
        cmocka_unit_test_teardown(half_of_a_spectrum_is_described_by_the_type_of_either_side,
                                  clean_up),
        cmocka_unit_test_teardown(ranks_that_disagree_are_a_mismatch, clean_up),
        cmocka_unit_test_teardown(memory_that_is_missing_is_refused, clean_up),
        cmocka_unit_test_teardown(scratch_that_is_missing_is_named, clean_up),
        cmocka_unit_test_teardown(one_call_plans_executes_and_frees, clean_up),
        cmocka_unit_test_teardown(one_call_need_not_wait, clean_up),
        cmocka_unit_test_teardown(what_is_wrong_with_one_call_is_a_sentence, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
