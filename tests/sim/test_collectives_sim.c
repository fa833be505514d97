/* SPDX-License-Identifier: Apache-2.0 */
/* Every collective, over shapes, ranks, placements, sizes, types and seeds, compared with a local
 * computation. TORUS_TEST_CASE="SHAPE RANKS PLACEMENT SEED" runs one case. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <fftw3.h>

#include "job.h"
#include "random.h"
#include "seeds.h"

enum { SHIFT = 64, GUARD = 64, GUARD_BYTE = 0x5a };

static bool long_run;

/* element returns the value of rank r at place i of call `salt`: -50 .. 50. */
static int element(uint32_t r, uint64_t i, uint64_t salt)
{
    return random_at(r, i, salt);
}

static void put(void *buffer, unsigned type, uint64_t i, int value)
{
    int32_t i32 = value;
    int64_t i64 = value;
    float f[2] = {(float)value, (float)-value};
    double d[2] = {value, -value};
    uint8_t byte = (uint8_t)value;
    const void *from[TD_TYPE_MAX] = {NULL, &byte, &i32, &i64, f, d, f, d};
    size_t bytes = td_type_bytes(type);
    memcpy((uint8_t *)buffer + i * bytes, from[type], bytes);
}

static bool is(const void *buffer, unsigned type, uint64_t i, int value)
{
    uint8_t want[16];
    size_t bytes = td_type_bytes(type);
    put(want, type, 0, value);
    return memcmp((const uint8_t *)buffer + i * bytes, want, bytes) == 0;
}

/* prepare fills the sources with elements and surrounds the destinations with guards. */
static void prepare(struct job *job, const struct td_call *call, uint64_t salt, uint64_t elements,
                    bool in_place)
{
    uint64_t bytes = elements * td_type_bytes(call->type);
    EXPECT(SHIFT + bytes + GUARD <= job->half_bytes, "the regions are too small");
    for (uint32_t r = 0; r < job->size; r++) {
        uint8_t *destination = job_destination(job, r, 0);
        memset(destination, GUARD_BYTE, SHIFT + bytes + GUARD);
        void *source = in_place ? destination + SHIFT : (uint8_t *)job_source(job, r, SHIFT);
        for (uint64_t i = 0; i < elements; i++)
            put(source, call->type, i, element(r, i, salt));
    }
}

static void check_guards(struct job *job, uint64_t bytes)
{
    for (uint32_t r = 0; r < job->size; r++) {
        const uint8_t *destination = job_destination(job, r, 0);
        for (int i = 0; i < SHIFT; i++)
            EXPECT(destination[i] == GUARD_BYTE, "before the destination of rank %u", r);
        for (int i = 0; i < GUARD; i++)
            EXPECT(destination[SHIFT + bytes + (uint64_t)i] == GUARD_BYTE,
                   "behind the destination of rank %u", r);
    }
}

static void finish(struct job *job, uint64_t bytes)
{
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    check_guards(job, bytes);
    td_sim_forget(job->sim);
}

static uint64_t next_salt(void)
{
    static uint64_t salt;
    return ++salt;
}

/* ---- the collectives ---- */

static void check_barrier(struct job *job)
{
    const struct td_call call = {.kind = TD_KIND_BARRIER};
    uint32_t last = (uint32_t)td_sim_random(job->sim, job->size);
    for (uint32_t i = 0; i < job->size; i++)
        if (i != last)
            job_call(job, i, &call, 0, false);
    td_sim_run(job->sim, SECOND / 100);
    for (uint32_t i = 0; i < job->size; i++)
        EXPECT(i == last || !job_reply(job, i), "rank %u passed a barrier alone", i);
    job_call(job, last, &call, 0, false);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    td_sim_forget(job->sim);
}

static void check_broadcast(struct job *job, unsigned type, uint64_t count, uint32_t root)
{
    const struct td_call call = {
        .kind = TD_KIND_BROADCAST, .type = (uint8_t)type, .root = root, .count = count};
    uint64_t salt = next_salt();
    prepare(job, &call, salt, count, true);
    job_call_all(job, &call, SHIFT, true);
    finish(job, count * td_type_bytes(type));
    for (uint32_t r = 0; r < job->size; r++)
        for (uint64_t i = 0; i < count; i++)
            EXPECT(is(job_destination(job, r, SHIFT), type, i, element(root, i, salt)),
                   "broadcast(%s, %llu) from %u: rank %u, element %llu", td_type_name(type),
                   (unsigned long long)count, root, r, (unsigned long long)i);
}

static int fold(uint32_t size, uint64_t i, unsigned op, uint64_t salt)
{
    int result = element(0, i, salt);
    for (uint32_t r = 1; r < size; r++) {
        int next = element(r, i, salt);
        if (op == TD_OP_SUM)
            result += next;
        else if (op == TD_OP_MIN ? next < result : next > result)
            result = next;
    }
    return result;
}

static void check_allreduce(struct job *job, unsigned type, unsigned op, uint64_t count,
                            bool in_place)
{
    const struct td_call call = {
        .kind = TD_KIND_ALLREDUCE, .type = (uint8_t)type, .op = (uint8_t)op, .count = count};
    uint64_t salt = next_salt();
    prepare(job, &call, salt, count, in_place);
    job_call_all(job, &call, SHIFT, in_place);
    finish(job, count * td_type_bytes(type));
    for (uint64_t i = 0; i < count; i++) {
        int want = fold(job->size, i, op, salt);
        for (uint32_t r = 0; r < job->size; r++)
            EXPECT(is(job_destination(job, r, SHIFT), type, i, want),
                   "allreduce(%s, %s, %llu)%s: rank %u, element %llu", td_op_name(op),
                   td_type_name(type), (unsigned long long)count, in_place ? " in place" : "", r,
                   (unsigned long long)i);
    }
}

static void check_alltoall(struct job *job, unsigned type, uint64_t count)
{
    const struct td_call call = {.kind = TD_KIND_ALLTOALL, .type = (uint8_t)type, .count = count};
    uint64_t salt = next_salt();
    prepare(job, &call, salt, count * job->size, false);
    job_call_all(job, &call, SHIFT, false);
    finish(job, count * job->size * td_type_bytes(type));
    for (uint32_t r = 0; r < job->size; r++)
        for (uint64_t i = 0; i < count * job->size; i++)
            EXPECT(is(job_destination(job, r, SHIFT), type, i,
                      element((uint32_t)(i / count), r * count + i % count, salt)),
                   "alltoall(%s, %llu): rank %u, element %llu", td_type_name(type),
                   (unsigned long long)count, r, (unsigned long long)i);
}

/* ---- FFT ---- */

static double complex_at(const void *buffer, unsigned type, uint64_t i)
{
    return type == TD_TYPE_COMPLEX_DOUBLE ? ((const double *)buffer)[i]
                                          : (double)((const float *)buffer)[i];
}

static void run_fft(struct job *job, const struct td_fft *fft, uint64_t bytes_most, bool in_place)
{
    uint64_t plan = job_plan(job, fft);
    const struct td_call call = {.kind = TD_KIND_FFT, .plan = plan};
    job_call_all(job, &call, SHIFT, in_place);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    for (uint32_t r = 0; r < job->size; r++) {
        uint64_t bytes =
            td_block(fft->size[0], job->size, r).count * fft->size[1] * td_type_bytes(fft->type);
        const uint8_t *after = (uint8_t *)job_destination(job, r, SHIFT) + bytes;
        CHECK(bytes <= bytes_most);
        for (int i = 0; i < GUARD; i++)
            EXPECT(after[i] == GUARD_BYTE, "behind the destination of rank %u", r);
    }
    job_unplan(job, plan);
    td_sim_forget(job->sim);
}

/* distance returns |destination - want| / |want| over all ranks; want has 2 numbers per point. */
static double distance(struct job *job, const struct td_fft *fft, const double *want)
{
    double error = 0, norm = 0;
    for (uint32_t r = 0; r < job->size; r++) {
        struct td_range rows = td_block(fft->size[0], job->size, r);
        const void *result = job_destination(job, r, SHIFT);
        for (uint64_t i = 0; i < 2 * rows.count * fft->size[1]; i++) {
            double expected = want[2 * rows.begin * fft->size[1] + i];
            double difference = complex_at(result, fft->type, i) - expected;
            error += difference * difference;
            norm += expected * expected;
        }
    }
    return sqrt(error) / (norm > 0 ? sqrt(norm) : 1);
}

/* fill_grid writes every rank's rows, to the source or, in place, to the destination. */
static void fill_grid(struct job *job, const struct td_fft *fft, const double *grid, bool in_place)
{
    for (uint32_t r = 0; r < job->size; r++) {
        struct td_range rows = td_block(fft->size[0], job->size, r);
        memset(job_destination(job, r, 0), GUARD_BYTE, job->half_bytes);
        void *to = in_place ? job_destination(job, r, SHIFT) : job_source(job, r, SHIFT);
        for (uint64_t i = 0; i < 2 * rows.count * fft->size[1]; i++) {
            double x = grid[2 * rows.begin * fft->size[1] + i];
            if (fft->type == TD_TYPE_COMPLEX_DOUBLE)
                ((double *)to)[i] = x;
            else
                ((float *)to)[i] = (float)x;
        }
    }
}

static void check_fft(struct job *job, uint64_t rows, uint64_t columns, unsigned type,
                      bool in_place)
{
    uint64_t points = rows * columns;
    uint64_t bytes_most = td_block(rows, job->size, 0).count * columns * td_type_bytes(type);
    EXPECT(SHIFT + bytes_most + GUARD <= job->half_bytes, "the regions are too small");
    double eps = type == TD_TYPE_COMPLEX_DOUBLE ? DBL_EPSILON : (double)FLT_EPSILON;
    double bound = 4 * eps * sqrt(points > 2 ? log2((double)points) : 1);
    struct td_fft fft = {.dimensions = 2,
                         .type = type,
                         .sign = TD_FFT_FORWARD,
                         .scale = TD_SCALE_NONE,
                         .size = {rows, columns}};
    double *grid = malloc(2 * points * sizeof *grid), *want = malloc(2 * points * sizeof *want);
    CHECK(grid && want);
    uint64_t salt = next_salt();
    for (uint64_t i = 0; i < 2 * points; i++)
        grid[i] = (float)(element(0, i, salt) / 50.0); /* exact in both types */
    fftw_plan plan = fftw_plan_dft_2d((int)rows, (int)columns, (fftw_complex *)(void *)grid,
                                      (fftw_complex *)(void *)want, FFTW_FORWARD,
                                      FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
    fftw_execute(plan);
    fftw_destroy_plan(plan);

    fill_grid(job, &fft, grid, in_place);
    run_fft(job, &fft, bytes_most, in_place);
    double error = distance(job, &fft, want);
    EXPECT(error <= bound, "fft %llux%llu(%s): error %g > %g", (unsigned long long)rows,
           (unsigned long long)columns, td_type_name(type), error, bound);

    fft.sign = TD_FFT_BACKWARD;
    fft.scale = TD_SCALE_FULL;
    for (uint32_t r = 0; r < job->size && !in_place; r++)
        memcpy(job_source(job, r, SHIFT), job_destination(job, r, SHIFT), bytes_most);
    run_fft(job, &fft, bytes_most, in_place);
    error = distance(job, &fft, grid);
    EXPECT(error <= 2 * bound, "inverse fft %llux%llu(%s): error %g > %g", (unsigned long long)rows,
           (unsigned long long)columns, td_type_name(type), error, 2 * bound);
    free(grid);
    free(want);
}

/* ---- the product ---- */

enum placement { SPREAD, CYCLIC, RANDOM, PLACEMENTS };
static const char *const placements[PLACEMENTS] = {"spread", "cyclic", "random"};
static const uint64_t counts[] = {0, 1, 7, 4096};
enum { COUNTS = sizeof counts / sizeof counts[0] };

/* pick returns `all` in a long run, otherwise a few. */
static uint32_t pick(uint32_t all, uint32_t few)
{
    return long_run || all < few ? all : few;
}

static void check_moves(struct job *job, uint64_t seed)
{
    static const unsigned reduced[] = {TD_TYPE_INT32, TD_TYPE_INT64, TD_TYPE_FLOAT, TD_TYPE_DOUBLE};
    for (int i = 0; i < 3; i++)
        check_barrier(job);
    for (int c = 0; c < COUNTS; c++) {
        for (uint32_t i = 0; i < pick(job->size, 2); i++) {
            uint32_t root = (uint32_t)((i + (i ? seed : 0)) % job->size);
            if (!long_run && i == 1)
                root = job->size - 1;
            check_broadcast(job, TD_TYPE_BYTE + (unsigned)(seed + i) % TD_TYPE_COMPLEX_DOUBLE,
                            counts[c], root);
        }
        for (unsigned t = 0; t < 4; t++)
            for (unsigned op = TD_OP_SUM; op <= TD_OP_MAX; op++) {
                if (!long_run && (t + op + seed) % 3)
                    continue;
                bool in_place = (seed + t + op) % 2;
                check_allreduce(job, reduced[t], op, counts[c], in_place);
                if (long_run)
                    check_allreduce(job, reduced[t], op, counts[c], !in_place);
            }
        check_alltoall(job, TD_TYPE_BYTE + (unsigned)seed % TD_TYPE_COMPLEX_DOUBLE, counts[c]);
    }
}

static void check_ffts(struct job *job, uint64_t seed)
{
    static const uint64_t sizes[][2] = {{1, 1},   {2, 3},   {7, 1},    {1, 64},  {3, 50},
                                        {16, 16}, {13, 37}, {101, 97}, {64, 30}, {300, 500}};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    for (uint64_t i = 0; i < SIZES; i++) {
        if (!long_run && (i + seed) % 3)
            continue;
        unsigned type = (i + seed) % 2 ? TD_TYPE_COMPLEX_DOUBLE : TD_TYPE_COMPLEX_FLOAT;
        check_fft(job, sizes[i][0], sizes[i][1], type, seed / 2 % 2);
        if (long_run)
            check_fft(job, sizes[i][0], sizes[i][1],
                      type == TD_TYPE_COMPLEX_DOUBLE ? TD_TYPE_COMPLEX_FLOAT
                                                     : TD_TYPE_COMPLEX_DOUBLE,
                      !(seed / 2 % 2));
    }
}

static void place(struct td_sim *sim, uint32_t size, enum placement placement, uint32_t *nodes)
{
    job_spread(sim, size, nodes);
    for (uint32_t r = 0; r < size && placement == CYCLIC; r++)
        nodes[r] = r % td_sim_nodes(sim);
    for (uint32_t r = size; r > 1 && placement == RANDOM; r--) {
        uint32_t other = (uint32_t)td_sim_random(sim, r), swap = nodes[other];
        nodes[other] = nodes[r - 1];
        nodes[r - 1] = swap;
    }
}

static uint64_t landings; /* packets that arrived at their place piece by piece */

static void run_case(const char *shape, uint32_t size, enum placement placement, uint64_t seed)
{
    struct job job;
    uint32_t nodes[JOB_RANKS_MAX];
    job_case("TORUS_TEST_CASE=\"%s %u %s %llu\" %stest_collectives_sim", shape, size,
             placements[placement], (unsigned long long)seed, long_run ? "TORUS_TEST_LONG=1 " : "");
    struct td_sim *sim = job_world(shape, seed, NULL);
    place(sim, size, placement, nodes);
    uint64_t moves = 4096 * 16 * size; /* an all-to-all */
    uint64_t grid = td_block(300, size, 0).count * 500 * 16;
    job_form(&job, sim, "job", nodes, size, SHIFT + GUARD + (moves > grid ? moves : grid));
    check_moves(&job, seed);
    check_ffts(&job, seed);
    EXPECT(td_sim_drops(sim) == 0, "a link was dropped");
    landings += td_sim_landings(sim);
    job_world_end(sim);
}

static void run_named_case(const char *words)
{
    char shape[32], word[32];
    unsigned size = 0, placement = 0;
    unsigned long long seed = 0;
    if (sscanf(words, "%31s %u %31s %llu", shape, &size, word, &seed) != 4)
        fail_msg("TORUS_TEST_CASE=\"SHAPE RANKS PLACEMENT SEED\"");
    while (placement < RANDOM && strcmp(placements[placement], word) != 0)
        placement++;
    run_case(shape, size, (enum placement)placement, seed);
}

static void every_collective_agrees_with_a_plain_reference(void **unused)
{
    static const char *const shapes[] = {"1x1", "1x2", "2x2", "3x3", "3x3m", "2x2x2", "2x3mx2"};
    static const uint32_t nodes[] = {1, 2, 4, 9, 9, 8, 12};
    (void)unused;
    const char *one = getenv("TORUS_TEST_CASE");
    if (one) {
        run_named_case(one);
        return;
    }
    const uint64_t every = long_run ? 1 : SEEDS_SANITIZED ? 17 : 5; /* no multiple of PLACEMENTS */
    uint64_t seed = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (uint32_t size = 1; size <= 16 && size <= 4 * nodes[s]; size++)
            for (int placement = 0; placement < PLACEMENTS; placement++) {
                seed++;
                if (seed % every == 0 || (size == 16 && placement == SPREAD))
                    run_case(shapes[s], size, (enum placement)placement, seed);
            }
    assert_true(landings > (SEEDS_SANITIZED ? 5000 : 20000));
}

static uint64_t history(uint64_t seed)
{
    struct job job;
    const uint32_t nodes[] = {0, 1, 2, 3, 3};
    struct td_sim *sim = job_world("2x2", seed, NULL);
    job_form(&job, sim, "job", nodes, 5, 1 << 18);
    check_alltoall(&job, TD_TYPE_INT32, 1000);
    job_settle(&job);
    uint64_t hash = td_sim_hash(sim);
    job_world_end(sim);
    return hash;
}

static void a_world_repeats_itself(void **unused)
{
    (void)unused;
    job_case("test_collectives_sim");
    for (uint64_t seed = 1; seed < 10; seed++) {
        assert_true(history(seed) == history(seed));
        assert_true(history(seed) != history(seed + 100));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_world_repeats_itself),
        cmocka_unit_test(every_collective_agrees_with_a_plain_reference),
    };
    long_run = seeds_long();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
