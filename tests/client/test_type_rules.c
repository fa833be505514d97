/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of derived types: bounds, bytes, which calls match, limits, and the sentences of errors. */
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "ranks.h"
#include "typemap.h"

static void nothing(const void *in, void *inout, size_t count, void *user)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)user;
}

static void open_two(void)
{
    start(2, "");
    join_ranks(2, false);
}

static void close_two(void)
{
    close_all(context, 2);
    stop();
}

static void a_type_has_the_bounds_and_bytes_of_its_type_map(void **unused)
{
    (void)unused;
    static const int basics[] = {TORUS_BYTE, TORUS_INT16, TORUS_INT32, TORUS_DOUBLE,
                                 TORUS_COMPLEX_DOUBLE};
    uint64_t state = 1; /* of the random numbers */
    start(1, "");
    join_ranks(1, false);
    for (int i = 0; i < 2000; i++) {
        struct form *f = form_draw(&state, 1 + (unsigned)random_below(&state, 4), basics, 5);
        struct map *m = map_make(f);
        ptrdiff_t lower = 0, upper = 0, got = 0;
        size_t bytes = 0, extent = 0;
        if (m->entries <= ENTRIES_MAX) {
            int type = form_make(context[0], f);
            map_bounds(m, &lower, &upper);
            must(0, torus_type_bytes(context[0], type, &bytes));
            must(0, torus_type_extent(context[0], type, &got, &extent));
            assert_int_equal(bytes, map_bytes(m));
            assert_int_equal(got, lower);
            assert_int_equal(extent, upper - lower);
            must(0, torus_type_free(context[0], type));
        }
        free(m);
        form_free(f);
    }
    close_all(context, 1);
    stop();
}

static int vector(uint32_t rank, size_t count, size_t block, ptrdiff_t stride, int type)
{
    int made = 0;
    must(rank, torus_type_vector(context[rank], count, block, stride, type, &made));
    return made;
}

/* pair makes a struct of two types without a gap. */
static int pair(uint32_t rank, int one, int two)
{
    size_t bytes = 0;
    int made = 0;
    must(rank, torus_type_bytes(context[rank], one, &bytes));
    const size_t blocks[] = {1, 1};
    const ptrdiff_t offsets[] = {0, (ptrdiff_t)bytes};
    const int types[] = {one, two};
    must(rank, torus_type_struct(context[rank], 2, blocks, offsets, types, &made));
    return made;
}

static int many(uint32_t rank, size_t count, int type)
{
    int made = 0;
    must(rank, torus_type_contiguous(context[rank], count, type, &made));
    return made;
}

/* broadcast starts a broadcast of both ranks from memory that is large enough for the types. */
static void broadcast(torus_request *r[2], const int type[2], const size_t count[2])
{
    static uint8_t memory[2][4096];
    for (uint32_t i = 0; i < 2; i++)
        must(i, torus_ibroadcast(world[i], memory[i] + 1024, count[i], type[i], 0, &r[i]));
}

static void equal_sequences_of_basic_elements_match(void **unused)
{
    (void)unused;
    torus_request *r[2];
    open_two();
    const int d = TORUS_DOUBLE, i = TORUS_INT32;
    const struct {
        int type[2];
        size_t count[2];
    } cases[] = {
        {{d, vector(1, 50, 2, 3, d)}, {100, 1}},
        {{many(0, 10, d), pair(1, d, d)}, {10, 50}},
        {{vector(0, 5, 1, -2, d), many(1, 2, many(1, 5, d))}, {20, 10}},
        /* (int32, double) as the root, in several forms */
        {{pair(0, i, d), many(1, 6, pair(1, i, d))}, {12, 2}},
        {{pair(0, pair(0, i, d), pair(0, i, d)), pair(1, i, d)}, {3, 6}},
        {{pair(0, i, pair(0, pair(0, d, i), d)), pair(1, i, d)}, {2, 4}},
        {{pair(0, vector(0, 3, 1, 2, pair(0, i, d)), pair(0, i, d)), pair(1, i, d)}, {1, 4}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        broadcast(r, cases[k].type, cases[k].count);
        finish(0, r[0]);
        finish(1, r[1]);
    }
    close_two();
}

static void different_sequences_are_named_by_the_error(void **unused)
{
    (void)unused;
    torus_request *r[2];
    open_two();
    const int d = TORUS_DOUBLE, i = TORUS_INT32, h = TORUS_INT16;
    int mixed[2] = {pair(0, i, d), pair(1, i, d)}, wide[2] = {0};
    for (uint32_t rank = 0; rank < 2; rank++)
        wide[rank] = pair(rank, many(rank, 20, i), many(rank, 10 + rank, d));
    const struct {
        int type[2];
        size_t count[2];
        const char *one, *two;
    } cases[] = {
        {{d, vector(1, 4, 2, 3, i)}, {8, 1}, "broadcast(double, 8,", "broadcast(int32, 8,"},
        {{mixed[0], pair(1, d, i)},
         {2, 2},
         "broadcast((int32, double), 24 bytes,",
         "broadcast((double, int32), 24 bytes,"},
        {{mixed[0], TORUS_BYTE}, {2, 24}, "(int32, double), 24 bytes", "broadcast(byte, 24,"},
        {{mixed[0], mixed[1]}, {2, 3}, "24 bytes", "36 bytes"},
        {{pair(0, mixed[0], h), mixed[1]}, {1, 1}, "(int32, double, int16)", "(int32, double)"},
        {{pair(0, i, pair(0, d, i)), pair(1, i, pair(1, i, d))},
         {1, 1},
         "(int32, double, int32)",
         "(int32, int32, double)"},
        {{wide[0], wide[1]}, {1, 1}, "several types", "160 bytes"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        broadcast(r, cases[k].type, cases[k].count);
        for (uint32_t rank = 0; rank < 2; rank++) {
            assert_int_equal(torus_wait(r[rank], 20 * (int64_t)SECOND), TORUS_ERR_MISMATCH);
            assert_says(context[rank], cases[k].one);
            assert_says(context[rank], cases[k].two);
        }
    }
    close_two();
}

static void local_reductions_take_types_without_gaps(void **unused)
{
    (void)unused;
    const size_t blocks[] = {2};
    const ptrdiff_t places[] = {-1};
    int32_t in[] = {1, 2, 3, 4, 5, 6}, inout[] = {10, 20, 30, 40, 50, 60};
    int type = 0, gaps = 0, mixed = 0;
    start(1, "");
    join_ranks(1, false);
    must(0, torus_type_indexed(context[0], 1, blocks, places, TORUS_INT32, &type));
    must(0, torus_reduce_local(context[0], in + 1, inout + 1, 2, type, TORUS_SUM));
    const int32_t wanted[] = {11, 22, 33, 44, 50, 60};
    assert_memory_equal(inout, wanted, sizeof wanted);
    gaps = vector(0, 2, 1, 2, TORUS_INT32);
    mixed = pair(0, TORUS_INT32, TORUS_INT16);
    assert_int_equal(torus_reduce_local(context[0], in, inout, 1, gaps, TORUS_SUM),
                     TORUS_ERR_INVALID);
    assert_says(context[0], "without gaps");
    assert_int_equal(torus_reduce_local(context[0], in, inout, 1, mixed, TORUS_SUM),
                     TORUS_ERR_INVALID);
    close_all(context, 1);
    stop();
}

static void a_million_blocks_are_one_loop(void **unused)
{
    (void)unused;
    enum { MILLION = 1000000 };
    open_two();
    int type[2] = {vector(0, MILLION, 1, 2, TORUS_INT32),
                   vector(1, MILLION / 2, 1, 3, TORUS_INT32)};
    int32_t *from = calloc(2 * MILLION, sizeof *from), *to = calloc(3 * MILLION, sizeof *to);
    torus_request *r[2];
    assert_true(from && to);
    for (int32_t i = 0; i < 2 * MILLION; i++)
        from[i] = i;
    /* the extent of rank 1's type has no gap at its end: the second element follows directly */
    int resized = 0;
    must(1, torus_type_resized(context[1], type[1], 0, 3 * (MILLION / 2) * sizeof *to, &resized));
    must(0, torus_ibroadcast(world[0], from, 1, type[0], 0, &r[0]));
    must(1, torus_ibroadcast(world[1], to, 2, resized, 0, &r[1]));
    finish(0, r[0]);
    finish(1, r[1]);
    for (int32_t i = 0; i < 3 * MILLION; i++)
        assert_true(to[i] == (i % 3 ? 0 : i / 3 * 2));
    free(from);
    free(to);
    close_two();
}

#define REFUSED(call, words)                                                                       \
    do {                                                                                           \
        assert_int_equal(call, TORUS_ERR_INVALID);                                                 \
        assert_says(c, words);                                                                     \
    } while (0)

static void a_pair_serves_two_buffers(void **unused)
{
    (void)unused;
    int three = 0, four = 0, mixed = 0, swapped = 0, made = -5, pair = 0;
    const size_t one[] = {1, 1};
    const ptrdiff_t at[] = {0, 8}, zero[] = {0, 0};
    const int parts[] = {TORUS_INT32, TORUS_DOUBLE}, turned[] = {TORUS_DOUBLE, TORUS_INT32};
    int32_t from[24], to[2][24] = {{0}};
    size_t bytes = 0, extent = 0;
    ptrdiff_t lower = 0;
    torus_request *r[2];
    open_two();
    torus_context *c = context[0];
    must(0, torus_type_struct(c, 2, one, at, parts, &mixed));
    must(0, torus_type_struct(c, 2, one, at, turned, &swapped));
    REFUSED(torus_type_pair(c, mixed, swapped, &made), "do not agree in order");
    REFUSED(torus_type_pair(c, TORUS_INT32, TORUS_FLOAT, &made), "do not agree in order");
    REFUSED(torus_type_pair(c, TORUS_INT32, 77, &made), "unknown");
    REFUSED(torus_type_pair(c, TORUS_INT32, TORUS_INT32, NULL), "made is NULL");
    assert_int_equal(torus_type_pair(NULL, TORUS_INT32, TORUS_INT32, &made), TORUS_ERR_INVALID);
    must(0, torus_type_contiguous(c, 3, TORUS_INT32, &three));
    must(0, torus_type_vector(c, 4, 1, 2, TORUS_INT32, &four));
    must(0, torus_type_pair(c, three, four, &pair));
    REFUSED(torus_type_pair(c, pair, three, &made), "part of a pair");
    REFUSED(torus_type_contiguous(c, 2, pair, &made), "two buffers only");
    const int pairs[] = {pair, pair};
    REFUSED(torus_type_struct(c, 2, one, at, pairs, &made), "two buffers only");
    REFUSED(torus_type_bytes(c, pair, &bytes), "two buffers only");
    REFUSED(torus_type_extent(c, pair, &lower, &extent), "two buffers only");
    REFUSED(torus_broadcast(world[0], from, 4, pair, 0), "two buffers only");
    REFUSED(torus_allreduce(world[0], from, to[0], 4, pair, TORUS_SUM), "two buffers only");
    REFUSED(torus_reduce_local(c, from, to[0], 4, pair, TORUS_SUM), "two buffers only");
    REFUSED(torus_alltoallw(world[0], from, one, zero, pairs, to[0], one, zero, pairs),
            "two buffers only");
    REFUSED(torus_allgather(world[0], from, to[0], 2, pair), "not a whole number");
    REFUSED(torus_gather(world[0], from, to[0], 1, pair, 0), "not a whole number");
    assert_int_equal(made, -5);
    must(0, torus_type_free(c, three)); /* the pair keeps it */
    for (int32_t i = 0; i < 24; i++)
        from[i] = i + 1;
    must(0, torus_ialltoall(world[0], from, to[0], 0, pair, &r[0]));
    must(1, torus_ialltoall(world[1], from, to[1], 0, TORUS_INT32, &r[1]));
    finish(0, r[0]);
    finish(1, r[1]);
    /* a gather: the pair's destination has no effect on a rank that is not the root */
    must(0, torus_igatherv(world[0], from, 1, NULL, NULL, NULL, pair, 1, &r[0]));
    must(1, torus_igatherv(world[1], from, 6, to[1], (const size_t[]){3, 6}, NULL, TORUS_INT32, 1,
                           &r[1]));
    finish(0, r[0]);
    finish(1, r[1]);
    for (int32_t i = 0; i < 9; i++)
        assert_int_equal(to[1][i], i < 3 ? i + 1 : i - 2);
    memset(to, 0, sizeof to);
    must(0, torus_igather(world[0], from, to[0], 1, pair, 1, &r[0]));
    must(1, torus_igather(world[1], from, to[1], 3, TORUS_INT32, 1, &r[1]));
    finish(0, r[0]);
    finish(1, r[1]);
    assert_int_equal(to[1][5], 3);
    close_two();
}

static void a_rank_without_data_may_give_any_type(void **unused)
{
    (void)unused;
    const size_t none[] = {0, 0}, own[] = {2, 0}, gives[] = {0, 2};
    const struct torus_grid grid = {.size = sizeof grid, .dimensions = 1, .extent = {2}};
    int32_t from[2] = {5, 6}, to[2][4] = {{0}};
    torus_request *r[2];
    int mixed = 0;
    open_two();
    must(1, torus_type_struct(context[1], 2, (const size_t[]){1, 1}, (const ptrdiff_t[]){0, 8},
                              (const int[]){TORUS_INT32, TORUS_DOUBLE}, &mixed));
    must(0, torus_ialltoallv(world[0], from, own, NULL, to[0], own, NULL, TORUS_INT32, &r[0]));
    must(1, torus_ialltoallv(world[1], NULL, none, NULL, NULL, none, NULL, mixed, &r[1]));
    finish(0, r[0]);
    finish(1, r[1]);
    assert_true(to[0][0] == 5 && to[0][1] == 6);
    must(0, torus_igatherv(world[0], from, 2, to[0] + 2, own, NULL, TORUS_INT32, 0, &r[0]));
    must(1, torus_igatherv(world[1], NULL, 0, NULL, NULL, NULL, TORUS_DOUBLE, 0, &r[1]));
    finish(0, r[0]);
    finish(1, r[1]);
    assert_true(to[0][2] == 5 && to[0][3] == 6);
    /* with neither, and on a grid */
    must(0, torus_ineighbour_alltoallv(world[0], &grid, NULL, none, NULL, NULL, none, NULL,
                                       TORUS_INT32, &r[0]));
    must(1, torus_ineighbour_alltoallv(world[1], &grid, NULL, none, NULL, NULL, none, NULL, mixed,
                                       &r[1]));
    finish(0, r[0]);
    finish(1, r[1]);
    /* with data, the types are compared */
    must(0, torus_ialltoallv(world[0], from, gives, NULL, to[0], none, NULL, TORUS_INT32, &r[0]));
    must(1, torus_ialltoallv(world[1], NULL, none, NULL, to[1], own, NULL, TORUS_FLOAT, &r[1]));
    assert_int_equal(torus_wait(r[0], 30 * (int64_t)SECOND), TORUS_ERR_MISMATCH);
    assert_says(context[0], "int32");
    assert_says(context[0], "float");
    assert_int_equal(torus_wait(r[1], 30 * (int64_t)SECOND), TORUS_ERR_MISMATCH);
    close_two();
}

static void wrong_types_are_refused(void **unused)
{
    (void)unused;
    int made = -5, type = 0, nested = TORUS_INT32, other = 0;
    size_t size_of = 0;
    ptrdiff_t lower = 0;
    int32_t data[64] = {0};
    open_two();
    torus_context *c = context[0];
    assert_int_equal(torus_type_contiguous(NULL, 1, TORUS_INT32, &made), TORUS_ERR_INVALID);
    REFUSED(torus_type_contiguous(c, 1, TORUS_INT32, NULL), "made is NULL");
    REFUSED(torus_type_contiguous(c, 1, TORUS_OPAQUE, &made), "type 0 is unknown");
    REFUSED(torus_type_contiguous(c, 1, -7, &made), "type -7 is unknown");
    REFUSED(torus_type_contiguous(c, 1, 65536, &made), "type 65536 is unknown");
    REFUSED(torus_type_contiguous(c, SIZE_MAX, TORUS_INT32, &made), "too large");
    REFUSED(torus_type_contiguous(c, SIZE_MAX / 4, TORUS_INT32, &made), "too large");
    REFUSED(torus_type_vector(c, 2, 1, PTRDIFF_MAX, TORUS_INT32, &made), "too large");
    REFUSED(torus_type_vector(c, SIZE_MAX / 2, 1, PTRDIFF_MIN, TORUS_BYTE, &made), "too large");
    REFUSED(torus_type_resized(c, TORUS_INT32, 1, SIZE_MAX, &made), "too large");
    REFUSED(torus_type_indexed(c, 1, NULL, NULL, TORUS_INT32, &made), "NULL");
    REFUSED(torus_type_struct(c, 1, NULL, NULL, NULL, &made), "NULL");
    const size_t one[] = {1};
    const ptrdiff_t far[] = {PTRDIFF_MAX};
    const int unknown[] = {99}, known[] = {TORUS_DOUBLE};
    REFUSED(torus_type_indexed(c, 1, one, far, TORUS_INT32, &made), "too large");
    REFUSED(torus_type_struct(c, 1, one, far, known, &made), "too large");
    REFUSED(torus_type_struct(c, 1, one, far, unknown, &made), "one of the types is unknown");
    REFUSED(torus_type_free(c, TORUS_INT32), "not a derived type");
    REFUSED(torus_type_bytes(c, 99, &size_of), "unknown");
    REFUSED(torus_type_extent(c, TORUS_INT32, &lower, NULL), "NULL");
    assert_int_equal(made, -5);
    const size_t blocks[] = {2, 1};
    const ptrdiff_t places[] = {0, 3};
    int error = TORUS_OK, depth = 0;
    while (error == TORUS_OK && depth++ < 33) {
        error = torus_type_indexed(c, 2, blocks, places, nested, &nested);
        if (error == TORUS_OK)
            error = torus_type_resized(c, nested, 0, 4, &nested);
    }
    REFUSED(error, "more than 32 loops");
    assert_true(depth > 16);
    nested = TORUS_INT32; /* types that combine to one run nest without a limit */
    for (depth = 0; depth < 100; depth++)
        must(0, torus_type_contiguous(c, 1, nested, &nested));
    /* calls */
    must(0, torus_type_vector(c, 2, 1, 2, TORUS_INT32, &type));
    must(0, torus_op_create(c, "nothing", nothing, NULL, 0, 1, &made));
    other = pair(0, TORUS_INT32, TORUS_INT16);
    REFUSED(torus_allreduce(world[0], data, data + 8, 1, other, TORUS_SUM), "single basic type");
    REFUSED(torus_allreduce(world[0], data, data + 8, SIZE_MAX / 16, type, made), "overflow");
    REFUSED(torus_broadcast(world[0], data, SIZE_MAX / 8, type, 0), "overflow");
    must(0, torus_type_free(c, type));
    REFUSED(torus_broadcast(world[0], data, 1, type, 0), "was freed");
    REFUSED(torus_type_free(c, type), "was freed");
    REFUSED(torus_type_contiguous(c, 1, type, &made), "was freed");
    /* a refused call was not made: the next one matches */
    torus_request *r = NULL;
    must(1, torus_ibarrier(world[1], &r));
    must(0, torus_barrier(world[0]));
    finish(1, r);
    close_two();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(a_type_has_the_bounds_and_bytes_of_its_type_map),
        TEST(equal_sequences_of_basic_elements_match),
        TEST(different_sequences_are_named_by_the_error),
        TEST(local_reductions_take_types_without_gaps),
        TEST(a_million_blocks_are_one_loop),
        TEST(a_pair_serves_two_buffers),
        TEST(a_rank_without_data_may_give_any_type),
        TEST(wrong_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
