/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of matrices in torus_alloc memory, from runs of 8 bytes to runs longer than a packet: the
 * daemons move them without a packed copy, unless the library must make one. */
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

/* struct matrix: `rows` rows of one column for each rank, and a column that no call uses. */
static struct matrix {
    size_t run, rows, width, bytes; /* of a column in one row, of a row, of all */
    uint8_t *from[RANKS_MAX], *to[RANKS_MAX];
    int column[RANKS_MAX]; /* types */
} m;

static torus_request *request[RANKS_MAX];
static uint64_t staged[RANKS_MAX];

static uint8_t value(uint32_t rank, size_t i)
{
    return (uint8_t)(i * 7 + i / 256 * 3 + rank * 31 + 1);
}

static uint64_t staged_bytes(uint32_t rank)
{
    struct torus_statistics s = {.size = sizeof s};
    must(rank, torus_statistics(context[rank], &s));
    return s.staged_bytes;
}

static void prepare_matrices(size_t run, size_t rows)
{
    m = (struct matrix){.run = run, .rows = rows, .width = run * (size + 1)};
    m.bytes = m.rows * m.width;
    for (uint32_t r = 0; r < size; r++) {
        int vector = 0;
        must(r, torus_type_vector(context[r], rows, run, (ptrdiff_t)m.width, TORUS_BYTE, &vector));
        must(r, torus_type_resized(context[r], vector, 0, run, &m.column[r]));
        must(r, torus_type_free(context[r], vector));
        m.from[r] = torus_alloc(context[r], m.bytes);
        m.to[r] = torus_alloc(context[r], m.bytes);
        assert_true(m.from[r] && m.to[r]);
        for (size_t i = 0; i < m.bytes; i++)
            m.from[r][i] = value(r, i);
        memset(m.to[r], 0x5a, m.bytes);
        staged[r] = staged_bytes(r);
    }
}

static void drop_matrices(void)
{
    for (uint32_t r = 0; r < size; r++) {
        must(r, torus_free(context[r], m.from[r]));
        must(r, torus_free(context[r], m.to[r]));
        must(r, torus_type_free(context[r], m.column[r]));
    }
}

static void finish_all(void)
{
    for (uint32_t r = 0; r < size; r++)
        finish(r, request[r]);
}

/* check compares all columns: column c of rank r holds column `of` of rank `source`, where both
 * are computed by `which`; the last column is untouched. */
static void check(void (*which)(uint32_t r, uint32_t c, uint32_t *source, uint32_t *of))
{
    for (uint32_t r = 0; r < size; r++) {
        for (size_t i = 0; i < m.bytes; i++) {
            uint32_t c = (uint32_t)(i % m.width / m.run), source = size, of = c;
            if (c < size)
                which(r, c, &source, &of);
            uint8_t want = source == size ? 0x5a : value(source, i + (of - (size_t)c) * m.run);
            if (m.to[r][i] != want)
                fail_msg("rank %u has %02x, not %02x, at byte %zu, column %u, run %zu", r,
                         m.to[r][i], want, i, c, m.run);
        }
        assert_int_equal(staged_bytes(r), staged[r]);
        memset(m.to[r], 0x5a, m.bytes);
    }
}

static void by_alltoall(uint32_t r, uint32_t c, uint32_t *source, uint32_t *of)
{
    *source = c;
    *of = r;
}

static void by_allgather(uint32_t r, uint32_t c, uint32_t *source, uint32_t *of)
{
    (void)r;
    *source = c;
    *of = 0;
}

static void by_broadcast(uint32_t r, uint32_t c, uint32_t *source, uint32_t *of)
{
    (void)r;
    *source = c < 2 ? 0 : size;
    *of = c;
}

static void move_columns(size_t run, size_t rows)
{
    prepare_matrices(run, rows);
    for (uint32_t r = 0; r < size; r++)
        must(r, torus_ialltoall(world[r], m.from[r], m.to[r], 1, m.column[r], &request[r]));
    finish_all();
    check(by_alltoall);
    for (uint32_t r = 0; r < size; r++)
        must(r, torus_iallgather(world[r], m.from[r], m.to[r], 1, m.column[r], &request[r]));
    finish_all();
    check(by_allgather);
    for (size_t i = 0; i < m.bytes; i++) /* two columns of the root */
        m.to[0][i] = i % m.width < 2 * m.run ? value(0, i) : 0x5a;
    for (uint32_t r = 0; r < size; r++)
        must(r, torus_ibroadcast(world[r], m.to[r], 2, m.column[r], 0, &request[r]));
    finish_all();
    check(by_broadcast);
    drop_matrices();
}

static void move_all(uint32_t ranks)
{
    join_ranks(ranks, true);
    move_columns(8, 3000);
    move_columns(24, 1);
    move_columns(5000, 7);
    move_columns(20000, 9); /* packets lend the application's memory, and land there */
    move_columns(300000, 2);
    close_all(context, ranks);
}

static void columns_move_on_one_node(void **unused)
{
    (void)unused;
    start(1, "");
    move_all(3);
    stop();
}

static void columns_move_between_nodes(void **unused)
{
    (void)unused;
    start(4, "");
    move_all(4);
    move_all(6);
    stop();
}

static void columns_move_in_the_routed_fabric(void **unused)
{
    (void)unused;
    columns = 2;
    prepare(4);
    start_all("[torus]\nfabric = routed\n[network]\npacket = 16KiB\n");
    move_all(4);
    move_all(5);
    stop();
    columns = 0;
}

/* The source of each rank is the even columns of a matrix, its destination the odd ones. */
static void interleaved_buffers_are_packed(void **unused)
{
    (void)unused;
    enum { ROWS = 50, WIDTH = 2 * RANKS_MAX };
    start(4, "");
    join_ranks(4, true);
    static int64_t *matrix[RANKS_MAX];
    for (uint32_t r = 0; r < size; r++) {
        int column = 0, pair = 0;
        matrix[r] = torus_alloc(context[r], sizeof(int64_t) * ROWS * WIDTH);
        assert_non_null(matrix[r]);
        for (int i = 0; i < ROWS * WIDTH; i++)
            matrix[r][i] = (int64_t)r * 100000 + i;
        must(r, torus_type_vector(context[r], ROWS, 1, WIDTH, TORUS_INT64, &column));
        must(r, torus_type_resized(context[r], column, 0, 2 * sizeof(int64_t), &pair));
        staged[r] = staged_bytes(r);
        must(r, torus_ialltoall(world[r], matrix[r], matrix[r] + 1, 1, pair, &request[r]));
    }
    finish_all();
    for (uint32_t r = 0; r < size; r++) {
        for (int i = 0; i < ROWS * WIDTH; i++) {
            uint32_t c = (uint32_t)(i % WIDTH);
            int64_t own = (int64_t)r * 100000 + i, there = i - (int)c + 2 * (int)r;
            bool written = c % 2 && c / 2 < size;
            assert_int_equal(matrix[r][i], written ? (int64_t)(c / 2) * 100000 + there : own);
        }
        assert_int_equal(staged_bytes(r) - staged[r], sizeof(int64_t) * ROWS * size);
        must(r, torus_free(context[r], matrix[r]));
    }
    close_all(context, 4);
    stop();
}

/* A list of irregular blocks is longer than a form may be. */
static void types_beyond_the_limits_are_packed(void **unused)
{
    (void)unused;
    enum { BLOCKS = 100, BYTES = BLOCKS * BLOCKS };
    start(1, "");
    join_ranks(2, true);
    uint8_t *from[2], *to[2];
    size_t block[BLOCKS];
    ptrdiff_t place[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = 1 + (size_t)i % 3;
        place[i] = i * (i + 1) / 2 + 4 * i;
    }
    for (uint32_t r = 0; r < 2; r++) {
        int type = 0;
        from[r] = torus_alloc(context[r], 2 * BYTES);
        to[r] = torus_alloc(context[r], 2 * BYTES);
        assert_true(from[r] && to[r]);
        for (size_t i = 0; i < BYTES; i++)
            from[r][i] = value(r, i);
        must(r, torus_type_indexed(context[r], BLOCKS, block, place, TORUS_BYTE, &type));
        must(r, torus_iallreduce(world[r], from[r], to[r], 1, type, TORUS_BXOR, &request[r]));
    }
    finish_all();
    for (uint32_t r = 0; r < 2; r++) {
        uint8_t want[BYTES] = {0};
        for (int i = 0; i < BLOCKS; i++)
            for (size_t k = (size_t)place[i]; k < (size_t)place[i] + block[i]; k++)
                want[k] = value(0, k) ^ value(1, k);
        assert_memory_equal(to[r], want, BYTES);
        assert_int_equal(staged_bytes(r), 2 * (33 * 6 + 1)); /* both buffers */
        must(r, torus_free(context[r], from[r]));
        must(r, torus_free(context[r], to[r]));
    }
    close_all(context, 2);
    stop();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(columns_move_on_one_node),           TEST(columns_move_between_nodes),
        TEST(columns_move_in_the_routed_fabric),  TEST(interleaved_buffers_are_packed),
        TEST(types_beyond_the_limits_are_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
