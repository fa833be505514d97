/* SPDX-License-Identifier: Apache-2.0 */
/* check_collectives: one rank of a job that runs every collective of libtorus and compares the
 * results with local computations. Run it under `torusctl emulate`. It exits with 1 and a sentence
 * at the first difference. Elements are small whole numbers, so floating-point results are exact.
 *
 * check_collectives [COUNT]: all collectives, with large ones of COUNT elements.
 * check_collectives alltoall [COUNT]: all-to-all only, with counts around a packet and above. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kinds.h"
#include "random.h"
#include "torus/torus.h"

static torus_context *context;
static torus_group *world;
static uint32_t rank, size;
static const char *doing = "";

static void fail(const char *what)
{
    fprintf(stderr, "rank %u of %u, %s: %s (%s)\n", rank, size, doing, what,
            torus_last_error(context));
    exit(1);
}

static void check(int error)
{
    if (error != TORUS_OK)
        fail(torus_strerror(error));
}

/* element returns the value of rank r at place i of operation `seed`: -50 .. 50. */
static int element(uint32_t r, size_t i, unsigned seed)
{
    return random_at(r, i, seed);
}

static const struct {
    int type;
    size_t bytes;
} types[] = {{TORUS_INT32, 4}, {TORUS_INT64, 8}, {TORUS_FLOAT, 4}, {TORUS_DOUBLE, 8}};

static void put(void *buffer, int type, size_t i, int value)
{
    switch (type) {
    case TORUS_INT32:
        ((int32_t *)buffer)[i] = value;
        return;
    case TORUS_INT64:
        ((int64_t *)buffer)[i] = value;
        return;
    case TORUS_FLOAT:
        ((float *)buffer)[i] = (float)value;
        return;
    default:
        ((double *)buffer)[i] = value;
    }
}

static double get(const void *buffer, int type, size_t i)
{
    switch (type) {
    case TORUS_INT32:
        return ((const int32_t *)buffer)[i];
    case TORUS_INT64:
        return (double)((const int64_t *)buffer)[i];
    case TORUS_FLOAT:
        return (double)((const float *)buffer)[i];
    default:
        return ((const double *)buffer)[i];
    }
}

/* Buffers come from torus_alloc, or from malloc with guard bytes around them. */
enum { GUARD = 64 };

static void *obtain(size_t bytes, int plain)
{
    if (!plain) {
        void *memory = torus_alloc(context, bytes);
        if (!memory)
            fail("torus_alloc");
        return memory;
    }
    unsigned char *memory = malloc(bytes + 2 * GUARD);
    if (!memory)
        fail("malloc");
    memset(memory, 0x5a, bytes + 2 * GUARD);
    return memory + GUARD;
}

static void give(void *memory, size_t bytes, int plain)
{
    if (!plain) {
        check(torus_free(context, memory));
        return;
    }
    unsigned char *start = (unsigned char *)memory - GUARD;
    for (size_t i = 0; i < GUARD; i++)
        if (start[i] != 0x5a || start[GUARD + bytes + i] != 0x5a)
            fail("bytes around the buffer were written");
    free(start);
}

static int expected(size_t i, int op, unsigned seed)
{
    int result = element(0, i, seed);
    for (uint32_t r = 1; r < size; r++) {
        int next = element(r, i, seed);
        if (op == TORUS_SUM)
            result += next;
        else if ((op == TORUS_MIN) == (next < result))
            result = next;
    }
    return result;
}

static void allreduce(size_t count, size_t t, int op, int plain, int in_place)
{
    unsigned seed = (unsigned)(count * 31 + t * 7 + (size_t)op);
    int type = types[t].type;
    size_t bytes = count * types[t].bytes;
    void *from = obtain(bytes, plain), *to = in_place ? from : obtain(bytes, plain);
    doing = "allreduce";
    for (size_t i = 0; i < count; i++)
        put(from, type, i, element(rank, i, seed));
    check(torus_allreduce(world, in_place ? TORUS_IN_PLACE : from, to, count, type, op));
    for (size_t i = 0; i < count; i++)
        if (get(to, type, i) != expected(i, op, seed))
            fail("a wrong result");
    for (size_t i = 0; !in_place && i < count; i++)
        if (get(from, type, i) != element(rank, i, seed))
            fail("the source was changed");
    give(from, bytes, plain);
    if (!in_place)
        give(to, bytes, plain);
}

static void broadcast(size_t count, uint32_t root, int plain)
{
    int32_t *buffer = obtain(count * 4, plain);
    doing = "broadcast";
    for (size_t i = 0; i < count; i++)
        buffer[i] = rank == root ? element(root, i, 5) : -1000;
    check(torus_broadcast(world, buffer, count, TORUS_INT32, root));
    for (size_t i = 0; i < count; i++)
        if (buffer[i] != element(root, i, 5))
            fail("a wrong result");
    give(buffer, count * 4, plain);
}

static void alltoall(size_t count, int plain)
{
    size_t bytes = count * size * 4;
    int32_t *from = obtain(bytes, plain), *to = obtain(bytes, plain);
    doing = "alltoall";
    for (uint32_t d = 0; d < size; d++)
        for (size_t i = 0; i < count; i++)
            from[d * count + i] = element(rank, d * count + i, 9);
    check(torus_alltoall(world, from, to, count, TORUS_INT32));
    for (uint32_t s = 0; s < size; s++)
        for (size_t i = 0; i < count; i++)
            if (to[s * count + i] != element(s, rank * count + i, 9))
                fail("a wrong result");
    give(from, bytes, plain);
    give(to, bytes, plain);
}

/* transform goes there and back, and checks the one frequency of a plain wave. */
static void transform(uint64_t rows, uint64_t columns, int plain)
{
    struct torus_fft_desc d = {.size = sizeof d,
                               .dimensions = 2,
                               .shape = {rows, columns},
                               .type = TORUS_COMPLEX_DOUBLE,
                               .sign = TORUS_FORWARD};
    torus_plan *there = NULL, *back = NULL;
    struct torus_box box;
    doing = "fft";
    check(torus_plan_fft(world, &d, &there));
    d.sign = TORUS_BACKWARD;
    d.scale = TORUS_SCALE_FULL;
    check(torus_plan_fft(world, &d, &back));
    check(torus_plan_local(there, TORUS_SIDE_INPUT, &box));
    size_t count = box.count[0] * box.count[1], bytes = count * 16;
    double *a = obtain(bytes, plain), *b = obtain(bytes, plain);
    for (size_t i = 0; i < 2 * count; i++)
        a[i] = element(rank, i, 13);
    check(torus_execute(there, a, b));
    check(torus_execute(back, TORUS_IN_PLACE, b));
    for (size_t i = 0; i < 2 * count; i++)
        if (b[i] - a[i] > 1e-10 || a[i] - b[i] > 1e-10)
            fail("there and back differs");
    for (size_t i = 0; i < 2 * count; i++)
        a[i] = i % 2 ? 0 : 1;
    check(torus_execute(there, a, b));
    for (size_t i = 0; i < 2 * count; i++) {
        double right = box.begin[0] == 0 && i == 0 ? (double)(rows * columns) : 0;
        if (b[i] - right > 1e-8 || right - b[i] > 1e-8)
            fail("the transform of a constant is not one peak");
    }
    check(torus_plan_free(there));
    check(torus_plan_free(back));
    give(a, bytes, plain);
    give(b, bytes, plain);
}

/* overlapped starts many operations before it waits for any. */
static void overlapped(void)
{
    enum { MANY = 50 };
    torus_request *request[MANY];
    int64_t value[MANY];
    doing = "many at once";
    for (int i = 0; i < MANY; i++) {
        value[i] = (int64_t)rank * (i + 1);
        check(torus_iallreduce(world, TORUS_IN_PLACE, &value[i], 1, TORUS_INT64, TORUS_SUM,
                               &request[i]));
    }
    for (int i = MANY; i-- > 0;)
        check(torus_wait(request[i], -1));
    for (int i = 0; i < MANY; i++)
        if (value[i] != (int64_t)size * (size - 1) / 2 * (i + 1))
            fail("a wrong result");
}

static void alltoalls(size_t large)
{
    static const size_t counts[] = {0, 1, 7, 255, 1024, 1025, 5000};
    for (int plain = 0; plain < 2; plain++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            alltoall(counts[c], plain);
    if (large)
        alltoall(large, 0);
    check_counts(context, world);
}

static void end(void)
{
    doing = "leaving";
    check(torus_barrier(world));
    check(torus_leave(world));
    torus_close(context);
}

int main(int argc, char **argv)
{
    static const size_t counts[] = {0, 1, 7, 4096, 100000};
    static const uint64_t grids[][2] = {{1, 1},   {2, 3},   {13, 1},   {1, 17},
                                        {5, 300}, {97, 89}, {300, 500}};
    bool alone = argc > 1 && strcmp(argv[1], "alltoall") == 0;
    size_t large = argc > 1 + alone ? (size_t)atol(argv[1 + alone]) : 0;
    if (torus_open(&context, NULL) != TORUS_OK || torus_join(context, NULL, &world) != TORUS_OK)
        fail("joining");
    rank = torus_rank(world);
    size = torus_size(world);
    doing = "barrier";
    check(torus_barrier(world));
    if (alone) {
        alltoalls(large);
        end();
        return 0;
    }
    for (int plain = 0; plain < 2; plain++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
                for (int op = TORUS_SUM; op <= TORUS_MAX; op++)
                    allreduce(counts[c], t, op, plain, (int)(c + t) % 2);
            for (uint32_t root = 0; root < size; root++)
                broadcast(counts[c], root, plain);
            if (counts[c] <= 4096)
                alltoall(counts[c], plain);
        }
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++)
        transform(grids[g][0], grids[g][1], (int)g % 2);
    overlapped();
    check_kinds(context, world);
    if (large) {
        allreduce(large, 3, TORUS_SUM, 0, 0);
        broadcast(large, size - 1, 0);
        alltoall(large / size, 0);
    }
    end();
    return 0;
}
