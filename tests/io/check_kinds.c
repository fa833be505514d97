/* SPDX-License-Identifier: Apache-2.0 */
#include "check_kinds.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 64 };

static torus_context *context;
static torus_group *group;
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

static void in_group(torus_group *g)
{
    group = g;
    rank = torus_rank(g);
    size = torus_size(g);
    if (size > RANKS_MAX)
        fail("too many ranks for this check");
}

static int64_t *obtain(size_t count)
{
    int64_t *memory = torus_alloc(context, (count + 1) * sizeof *memory);
    if (!memory)
        fail("torus_alloc");
    memory[count] = 77;
    return memory;
}

static void give(int64_t *memory, size_t count)
{
    if (memory[count] != 77)
        fail("what lies behind the buffer was written");
    check(torus_free(context, memory));
}

/* value returns the value of rank r at place i. */
static int64_t value(uint32_t r, size_t i)
{
    return (int64_t)((r * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u) >> 40) - 8000000;
}

static void fill(int64_t *buffer, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buffer[i] = value(rank, i);
}

/* folded returns the sum of the values of ranks first .. last at place i. */
static int64_t folded(uint32_t last, size_t i)
{
    int64_t sum = 0;
    for (uint32_t r = 0; r <= last; r++)
        sum += value(r, i);
    return sum;
}

static void expect(int64_t is, int64_t want)
{
    if (is != want)
        fail("a wrong result");
}

/* ---- reductions ---- */

static void reductions(size_t count, uint32_t root)
{
    int64_t *from = obtain(count * size), *to = obtain(count * size);
    fill(from, count * size);
    doing = "reduce";
    check(torus_reduce(group, from, to, count, TORUS_INT64, TORUS_SUM, root));
    for (size_t i = 0; rank == root && i < count; i++)
        expect(to[i], folded(size - 1, i));
    doing = "scan";
    check(torus_scan(group, from, to, count, TORUS_INT64, TORUS_SUM));
    for (size_t i = 0; i < count; i++)
        expect(to[i], folded(rank, i));
    doing = "exscan in place";
    memcpy(to, from, count * sizeof *to);
    check(torus_exscan(group, TORUS_IN_PLACE, to, count, TORUS_INT64, TORUS_SUM));
    for (size_t i = 0; i < count; i++)
        expect(to[i], rank ? folded(rank - 1, i) : value(0, i));
    doing = "prefix";
    check(torus_prefix(group, from, to, count, TORUS_INT64, TORUS_SUM));
    for (size_t i = 0; i < count * size; i++)
        /* cppcheck-suppress zerodiv ; without elements nothing is divided */
        expect(to[i], folded((uint32_t)(i / count), i % count));
    doing = "reduce_scatter";
    check(torus_reduce_scatter(group, from, to, count, TORUS_INT64, TORUS_SUM));
    for (size_t i = 0; i < count; i++)
        expect(to[i], folded(size - 1, rank * count + i));
    give(from, count * size);
    give(to, count * size);
}

/* ---- gathers ---- */

static void gathers(size_t count, uint32_t root)
{
    int64_t *own = obtain(count), *all = obtain(count * size);
    fill(own, count);
    doing = "gather";
    check(torus_gather(group, own, all, count, TORUS_INT64, root));
    for (size_t i = 0; rank == root && i < count * size; i++)
        /* cppcheck-suppress zerodiv ; without elements nothing is divided */
        expect(all[i], value((uint32_t)(i / count), i % count));
    doing = "allgather";
    check(torus_allgather(group, own, all, count, TORUS_INT64));
    for (size_t i = 0; i < count * size; i++)
        /* cppcheck-suppress zerodiv ; without elements nothing is divided */
        expect(all[i], value((uint32_t)(i / count), i % count));
    doing = "scatter";
    fill(all, count * size);
    check(torus_scatter(group, all, own, count, TORUS_INT64, root));
    for (size_t i = 0; i < count; i++)
        expect(own[i], value(root, rank * count + i));
    give(own, count);
    give(all, count * size);
}

/* ---- counts ---- */

/* amount returns the elements from rank i to rank j: often none, sometimes many. */
static size_t amount(uint32_t i, uint32_t j, unsigned turn)
{
    uint64_t x = (i * 31 + j * 7 + turn * 101 + 5) * 0x94d049bb133111ebu >> 48;
    return x % 3 == 0 ? 0 : x % 7 == 0 ? 3000 + x % 50 : x % 90;
}

static void counted(unsigned turn)
{
    size_t count[RANKS_MAX], take[RANKS_MAX], out = 0, in = 0;
    ptrdiff_t at[RANKS_MAX];
    for (uint32_t r = 0; r < size; r++) {
        at[size - 1 - r] = (ptrdiff_t)out; /* the last rank's part is first */
        out += count[size - 1 - r] = amount(rank, size - 1 - r, turn);
        in += take[r] = amount(r, rank, turn);
    }
    int64_t *from = obtain(out), *to = obtain(in);
    fill(from, out);
    doing = "alltoallv";
    check(torus_alltoallv(group, from, count, at, to, take, NULL, TORUS_INT64));
    size_t next = 0;
    for (uint32_t r = 0; r < size; r++) {
        size_t place = 0;
        for (uint32_t j = size - 1; j > rank; j--)
            place += amount(r, j, turn);
        for (size_t i = 0; i < take[r]; i++)
            expect(to[next++], value(r, place + i));
    }
    give(from, out);
    give(to, in);
}

/* shares: the v forms with one count per rank. */
static void shares(unsigned turn, uint32_t root)
{
    size_t count[RANKS_MAX], whole = 0, before = 0;
    for (uint32_t r = 0; r < size; r++) {
        count[r] = amount(r, 0, turn);
        whole += count[r];
        before += r < rank ? count[r] : 0;
    }
    int64_t *own = obtain(count[rank]), *all = obtain(whole);
    fill(own, count[rank]);
    doing = "allgatherv";
    check(torus_allgatherv(group, own, count[rank], all, count, NULL, TORUS_INT64));
    size_t next = 0;
    for (uint32_t r = 0; r < size; r++)
        for (size_t i = 0; i < count[r]; i++)
            expect(all[next++], value(r, i));
    doing = "gatherv";
    memset(all, 0, whole * sizeof *all);
    check(torus_gatherv(group, own, count[rank], all, count, NULL, TORUS_INT64, root));
    next = 0;
    for (uint32_t r = 0; r < size && rank == root; r++)
        for (size_t i = 0; i < count[r]; i++)
            expect(all[next++], value(r, i));
    doing = "scatterv";
    fill(all, whole);
    check(torus_scatterv(group, all, count, NULL, own, count[rank], TORUS_INT64, root));
    for (size_t i = 0; i < count[rank]; i++)
        expect(own[i], value(root, before + i));
    doing = "reduce_scatterv";
    check(torus_reduce_scatterv(group, all, own, count, TORUS_INT64, TORUS_SUM));
    for (size_t i = 0; i < count[rank]; i++)
        expect(own[i], folded(size - 1, before + i));
    give(own, count[rank]);
    give(all, whole);
}

void check_counts(torus_context *with, torus_group *g)
{
    context = with;
    in_group(g);
    for (unsigned turn = 0; turn < 6; turn++)
        counted(turn);
}

/* ---- */

static void everything(torus_group *g)
{
    static const size_t counts[] = {0, 1, 5, 256, 9000};
    in_group(g);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        reductions(counts[c], (uint32_t)c % size);
        gathers(counts[c], (uint32_t)(c + 1) % size);
    }
    for (unsigned turn = 0; turn < 3; turn++)
        shares(turn, turn % size);
    check_counts(context, g);
}

/* in_both runs operations of two groups at the same time, started in different orders. */
static void in_both(torus_group *a, torus_group *b)
{
    int64_t sum[2] = {1, 1};
    torus_request *request[2] = {NULL, NULL};
    doing = "two groups at once";
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t which = (k + torus_rank(a)) % 2;
        check(torus_iallreduce(which ? b : a, TORUS_IN_PLACE, &sum[which], 1, TORUS_INT64,
                               TORUS_SUM, &request[which]));
    }
    check(torus_wait(request[0], -1));
    check(torus_wait(request[1], -1));
    expect(sum[0], torus_size(a));
    expect(sum[1], torus_size(b));
}

void check_kinds(torus_context *with, torus_group *world)
{
    torus_group *turned = NULL, *half = NULL;
    context = with;
    everything(world);
    doing = "making groups";
    check(torus_split(world, 0, -(int32_t)torus_rank(world), &turned));
    check(torus_split(world, (int32_t)torus_rank(world) % 2, 0, &half));
    if (torus_rank(turned) != torus_size(world) - 1 - torus_rank(world))
        fail("the ranks are not turned round");
    in_both(turned, half);
    everything(turned);
    everything(half);
    in_both(world, half);
    doing = "freeing groups";
    check(torus_group_free(turned));
    check(torus_group_free(half));
}
