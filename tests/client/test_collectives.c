/* SPDX-License-Identifier: Apache-2.0 */
/* Every collective of torus.h on real daemons, compared with a local computation: in place and out
 * of place, with plain memory and torus_alloc, counts of zero, gaps between parts, user-defined
 * operators, and persistent calls. All ranks are in this process. */
#include "daemons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 16, GUARD = 8 };

static const uint64_t UNTOUCHED = 0xdeadbeefcafef00d, ANY = 0xa5a5a5a5a5a5a5a5;

enum kind {
    BARRIER,
    BROADCAST,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTERV,
    SCAN,
    EXSCAN,
    PREFIX,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    NEIGHBOUR,
    NEIGHBOURV,
    KINDS
};

static const char *const names[KINDS] = {"barrier",
                                         "broadcast",
                                         "reduce",
                                         "allreduce",
                                         "reduce_scatter",
                                         "reduce_scatterv",
                                         "scan",
                                         "exscan",
                                         "prefix",
                                         "gather",
                                         "gatherv",
                                         "scatter",
                                         "scatterv",
                                         "allgather",
                                         "allgatherv",
                                         "alltoall",
                                         "alltoallv",
                                         "neighbour_alltoall",
                                         "neighbour_alltoallv"};

static torus_context *context[RANKS_MAX];
static torus_group *world[RANKS_MAX];
static uint32_t size;
static int affine[RANKS_MAX]; /* the operator on each rank */

/* struct trial: one collective of one group. */
struct trial {
    enum kind kind;
    size_t count;
    uint32_t root;
    bool in_place, plain, gaps, kept, user;
    struct torus_grid grid;
};

/* struct part: the buffers of one rank. */
struct part {
    size_t froms, tos;               /* elements */
    uint64_t *from, *start, *expect; /* source; destination before and after */
    uint64_t *source, *destination;  /* the buffers of the call */
    size_t count[2][RANKS_MAX], at[2][RANKS_MAX];
    torus_request *request;
    torus_persistent *persistent;
};

static struct part part[RANKS_MAX];

/* ---- values ---- */

static uint64_t value(uint32_t rank, size_t i)
{
    uint64_t x = rank * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u + 1;
    x = (x ^ x >> 30) * 0x94d049bb133111ebu;
    return x ^ x >> 29;
}

/* compose composes maps a * v + b of 32 bits: first x, then y. It is not commutative. */
static uint64_t compose(uint64_t x, uint64_t y)
{
    uint32_t a = (uint32_t)(x >> 32), b = (uint32_t)x, c = (uint32_t)(y >> 32), d = (uint32_t)y;
    return (uint64_t)(a * c) << 32 | (uint32_t)(b * c + d);
}

static void compose_all(const void *in, void *inout, size_t count, void *user)
{
    const uint64_t *x = in;
    uint64_t *y = inout;
    assert_ptr_equal(user, affine);
    for (size_t i = 0; i < count; i++)
        y[i] = compose(x[i], y[i]);
}

/* fold returns the reduction of element i of ranks 0 .. last. */
static uint64_t fold(const struct trial *t, size_t i, uint32_t last)
{
    uint64_t x = value(0, i);
    for (uint32_t rank = 1; rank <= last; rank++)
        x = t->user ? compose(x, value(rank, i)) : x + value(rank, i);
    return x;
}

/* vary returns a count near `count`, sometimes zero. */
static size_t vary(size_t count, uint32_t salt)
{
    return count ? (count + salt * 5) % (2 * count) : 0;
}

/* ---- inputs and expected results ---- */

/* lay_out sets the places of parts: contiguous, or in reverse order with gaps. It returns the
 * extent.
 */
static size_t lay_out(const struct trial *t, const size_t *count, uint32_t parts, size_t *at)
{
    size_t next = 0;
    for (uint32_t k = 0; k < parts; k++) {
        uint32_t i = t->gaps ? parts - 1 - k : k;
        at[i] = next + (t->gaps ? 1 : 0);
        next = at[i] + count[i];
    }
    return next;
}

static size_t pair(const struct trial *t, uint32_t sender, uint32_t receiver)
{
    return vary(t->count, t->in_place ? sender + receiver : 3 * sender + receiver);
}

/* beside returns the neighbour in direction b of a rank of a grid, or -1. */
static int beside(const struct torus_grid *g, uint32_t rank, uint32_t b)
{
    int64_t at[TORUS_DIMENSIONS_MAX], there = 0;
    for (uint32_t d = g->dimensions; d-- > 0; rank /= g->extent[d])
        at[d] = rank % g->extent[d];
    at[b / 2] += b % 2 ? 1 : -1;
    int64_t extent = g->extent[b / 2];
    if (at[b / 2] < 0 || at[b / 2] >= extent) {
        if (!g->periodic[b / 2])
            return -1;
        at[b / 2] = (at[b / 2] + extent) % extent;
    }
    for (uint32_t d = 0; d < g->dimensions; d++)
        there = there * g->extent[d] + at[d];
    return (int)there;
}

/* sides fills in the counts and places of a rank's blocks to (0) or from (1) its neighbours. */
static size_t sides(const struct trial *t, uint32_t rank, int which, size_t *count, size_t *at)
{
    uint32_t n = 2 * t->grid.dimensions;
    size_t packed = 0;
    for (uint32_t b = 0; b < n; b++) {
        int other = beside(&t->grid, rank, b);
        count[b] = t->count;
        if (t->kind == NEIGHBOURV)
            count[b] = other < 0    ? 0
                       : which == 0 ? vary(t->count, 2 * rank + b)
                                    : vary(t->count, 2 * (uint32_t)other + (b ^ 1));
        at[b] = packed;
        packed += count[b];
    }
    return t->kind == NEIGHBOURV ? lay_out(t, count, n, at) : packed;
}

static void expect_sides(const struct trial *t, uint32_t rank, struct part *p)
{
    size_t count[2 * TORUS_DIMENSIONS_MAX], at[2 * TORUS_DIMENSIONS_MAX];
    for (uint32_t b = 0; b < 2 * t->grid.dimensions; b++) {
        int other = beside(&t->grid, rank, b);
        if (other < 0)
            continue;
        sides(t, (uint32_t)other, 0, count, at);
        for (size_t i = 0; i < p->count[1][b]; i++)
            p->expect[p->at[1][b] + i] = value((uint32_t)other, at[b ^ 1] + i);
    }
}

/* counts_of fills in the lists of a rank and the lengths of its buffers. */
static void counts_of(const struct trial *t, uint32_t rank, struct part *p)
{
    bool root = rank == t->root;
    size_t n = t->count, all = n * size;
    p->froms = p->tos = n;
    switch ((int)t->kind) {
    case BARRIER:
        p->froms = p->tos = 0;
        return;
    case BROADCAST:
        p->froms = 0;
        return;
    case REDUCE:
        p->tos = root ? n : 0;
        return;
    case REDUCE_SCATTER:
        p->froms = all;
        p->tos = t->in_place ? all : n;
        return;
    case REDUCE_SCATTERV:
        p->froms = 0;
        for (uint32_t i = 0; i < size; i++)
            p->froms += p->count[1][i] = vary(n, i);
        p->tos = t->in_place ? p->froms : p->count[1][rank];
        return;
    case PREFIX:
    case ALLGATHER:
        p->tos = all;
        return;
    case GATHER:
        p->tos = root ? all : 0;
        return;
    case SCATTER:
        p->froms = root ? all : 0;
        return;
    case ALLTOALL:
        p->froms = p->tos = all;
        return;
    case GATHERV:
    case ALLGATHERV:
        for (uint32_t i = 0; i < size; i++)
            p->count[1][i] = vary(n, i);
        p->tos = lay_out(t, p->count[1], size, p->at[1]);
        if (t->kind == GATHERV && !root)
            p->tos = 0;
        p->froms = p->count[1][rank];
        return;
    case SCATTERV:
        for (uint32_t i = 0; i < size; i++)
            p->count[0][i] = vary(n, i);
        p->froms = lay_out(t, p->count[0], size, p->at[0]);
        p->tos = p->count[0][rank];
        if (!root)
            p->froms = 0;
        return;
    case ALLTOALLV:
        for (uint32_t i = 0; i < size; i++) {
            p->count[0][i] = pair(t, rank, i);
            p->count[1][i] = pair(t, i, rank);
        }
        p->froms = lay_out(t, p->count[0], size, p->at[0]);
        p->tos = lay_out(t, p->count[1], size, p->at[1]);
        return;
    case NEIGHBOUR:
    case NEIGHBOURV:
        p->froms = sides(t, rank, 0, p->count[0], p->at[0]);
        p->tos = sides(t, rank, 1, p->count[1], p->at[1]);
        return;
    default:
        return;
    }
}

/* from_rank sets the expected result at `to`: `count` elements of `rank` from `at`. */
static void from_rank(struct part *p, size_t to, uint32_t rank, size_t at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        p->expect[to + i] = value(rank, at + i);
}

static void expect_moved(const struct trial *t, uint32_t rank, struct part *p)
{
    size_t n = t->count, count[RANKS_MAX], at[RANKS_MAX];
    bool root = rank == t->root;
    for (uint32_t i = 0; i < size; i++) {
        if (t->kind == ALLGATHER || (t->kind == GATHER && root))
            from_rank(p, i * n, i, 0, n);
        if (t->kind == ALLTOALL)
            from_rank(p, i * n, i, rank * n, n);
        if (t->kind == ALLGATHERV || (t->kind == GATHERV && root))
            from_rank(p, p->at[1][i], i, 0, p->count[1][i]);
        if (t->kind == ALLTOALLV) {
            for (uint32_t k = 0; k < size; k++)
                count[k] = pair(t, i, k);
            lay_out(t, count, size, at);
            from_rank(p, p->at[1][i], i, at[rank], count[rank]);
        }
    }
    if (t->kind == SCATTER)
        from_rank(p, 0, t->root, rank * n, n);
    if (t->kind == SCATTERV)
        from_rank(p, 0, t->root, p->at[0][rank], p->tos);
    if (t->kind == BROADCAST)
        from_rank(p, 0, t->root, 0, n);
}

static void expect_folded(const struct trial *t, uint32_t rank, struct part *p)
{
    size_t n = t->count, first = 0;
    for (uint32_t i = 0; t->kind == REDUCE_SCATTERV && i < rank; i++)
        first += p->count[1][i];
    if (t->kind == REDUCE_SCATTERV)
        n = p->count[1][rank];
    for (size_t i = 0; i < n; i++) {
        if (t->kind == ALLREDUCE || (t->kind == REDUCE && rank == t->root))
            p->expect[i] = fold(t, i, size - 1);
        if (t->kind == SCAN)
            p->expect[i] = fold(t, i, rank);
        if (t->kind == EXSCAN && rank > 0)
            p->expect[i] = fold(t, i, rank - 1);
        if (t->kind == REDUCE_SCATTER)
            p->expect[i] = fold(t, rank * n + i, size - 1);
        if (t->kind == REDUCE_SCATTERV)
            p->expect[i] = fold(t, first + i, size - 1);
        for (uint32_t k = 0; t->kind == PREFIX && k < size; k++)
            p->expect[k * n + i] = fold(t, i, k);
    }
    bool shorter = t->kind == REDUCE_SCATTER || t->kind == REDUCE_SCATTERV;
    for (size_t i = n; shorter && i < p->tos; i++)
        p->expect[i] = ANY;
}

/* put_in_place copies the input to its position for a call in place. */
static void put_in_place(const struct trial *t, uint32_t rank, struct part *p)
{
    size_t at = 0;
    bool rooted = t->kind == REDUCE || t->kind == GATHER || t->kind == GATHERV ||
                  t->kind == SCATTER || t->kind == SCATTERV;
    if (rooted && rank != t->root)
        return;
    if (t->kind == SCATTER || t->kind == SCATTERV) {
        p->destination = TORUS_IN_PLACE;
        return;
    }
    if (t->kind == PREFIX || t->kind == GATHER || t->kind == ALLGATHER)
        at = rank * t->count;
    if (t->kind == GATHERV || t->kind == ALLGATHERV)
        at = p->at[1][rank];
    memcpy(p->start + at, p->from, p->froms * sizeof *p->from);
    p->source = TORUS_IN_PLACE;
}

static bool can_be_in_place(enum kind kind)
{
    return kind != BARRIER && kind != BROADCAST && kind != NEIGHBOUR && kind != NEIGHBOURV;
}

/* ---- buffers ---- */

static uint64_t *obtain(uint32_t rank, size_t count, bool plain)
{
    size_t bytes = (count + 2 * GUARD) * sizeof(uint64_t);
    uint64_t *memory = plain ? malloc(bytes) : torus_alloc(context[rank], bytes);
    assert_non_null(memory);
    for (size_t i = 0; i < count + 2 * GUARD; i++)
        memory[i] = UNTOUCHED;
    return memory + GUARD;
}

static void give(uint32_t rank, uint64_t *memory, size_t count, bool plain)
{
    for (size_t i = 0; i < GUARD; i++) {
        assert_true(memory[-1 - (ptrdiff_t)i] == UNTOUCHED);
        assert_true(memory[count + i] == UNTOUCHED);
    }
    if (plain)
        free(memory - GUARD);
    else
        assert_int_equal(torus_free(context[rank], memory - GUARD), TORUS_OK);
}

static void prepare_part(const struct trial *t, uint32_t rank, uint64_t *buffer[2])
{
    struct part *p = &part[rank];
    memset(p, 0, sizeof *p);
    counts_of(t, rank, p);
    p->from = calloc(p->froms + 1, sizeof *p->from);
    p->start = calloc(p->tos + 1, sizeof *p->start);
    p->expect = calloc(p->tos + 1, sizeof *p->expect);
    for (size_t i = 0; i < p->froms; i++)
        p->from[i] = value(rank, i);
    for (size_t i = 0; i < p->tos; i++)
        p->start[i] = t->kind == BROADCAST && rank == t->root ? value(rank, i) : UNTOUCHED;
    p->source = buffer[0] = obtain(rank, p->froms, t->plain);
    p->destination = buffer[1] = obtain(rank, p->tos, t->plain);
    if (t->in_place)
        put_in_place(t, rank, p);
    memcpy(p->expect, p->start, p->tos * sizeof *p->expect);
    expect_moved(t, rank, p);
    expect_folded(t, rank, p);
    if (t->kind == NEIGHBOUR || t->kind == NEIGHBOURV)
        expect_sides(t, rank, p);
    memcpy(buffer[0], p->from, p->froms * sizeof *p->from);
    memcpy(buffer[1], p->start, p->tos * sizeof *p->start);
}

static void check_part(const struct trial *t, uint32_t rank, uint64_t *buffer[2])
{
    const struct part *p = &part[rank];
    bool scattered = p->destination == TORUS_IN_PLACE;
    for (size_t i = 0; i < p->tos && !scattered; i++)
        if (buffer[1][i] != p->expect[i] && p->expect[i] != ANY)
            fail_msg("%s of %zu, rank %u of %u: element %zu is %llx, not %llx (root %u,%s%s%s%s%s)",
                     names[t->kind], t->count, rank, size, i, (unsigned long long)buffer[1][i],
                     (unsigned long long)p->expect[i], t->root, t->in_place ? " in place" : "",
                     t->plain ? " plain" : "", t->gaps ? " gaps" : "", t->kept ? " kept" : "",
                     t->user ? " user" : "");
    for (size_t i = 0; i < p->froms; i++)
        assert_true(buffer[0][i] == p->from[i]);
}

/* ---- calls ---- */

#define FORM(name, ...)                                                                            \
    (t->kept ? torus_##name##_init(g, __VA_ARGS__, &p->persistent)                                 \
             : torus_i##name(g, __VA_ARGS__, &p->request))

static int call_reduction(const struct trial *t, torus_group *g, struct part *p, int op)
{
    const void *from = p->source;
    void *to = p->destination;
    int type = t->user ? TORUS_OPAQUE : TORUS_UINT64;
    size_t n = t->count;
    switch ((int)t->kind) {
    case REDUCE:
        return FORM(reduce, from, to, n, type, op, t->root);
    case ALLREDUCE:
        return FORM(allreduce, from, to, n, type, op);
    case REDUCE_SCATTER:
        return FORM(reduce_scatter, from, to, n, type, op);
    case REDUCE_SCATTERV:
        return FORM(reduce_scatterv, from, to, p->count[1], type, op);
    case SCAN:
        return FORM(scan, from, to, n, type, op);
    case EXSCAN:
        return FORM(exscan, from, to, n, type, op);
    default:
        return FORM(prefix, from, to, n, type, op);
    }
}

static int call(const struct trial *t, torus_group *g, struct part *p, int op)
{
    const void *from = p->source;
    void *to = p->destination;
    const int type = TORUS_INT64;
    size_t n = t->count;
    const size_t *counts[2] = {p->count[0], p->count[1]};
    const size_t *at[2] = {t->gaps ? p->at[0] : NULL, t->gaps ? p->at[1] : NULL};
    switch ((int)t->kind) {
    case BARRIER:
        return t->kept ? torus_barrier_init(g, &p->persistent) : torus_ibarrier(g, &p->request);
    case BROADCAST:
        return FORM(broadcast, to, n, type, t->root);
    case GATHER:
        return FORM(gather, from, to, n, type, t->root);
    case GATHERV:
        return FORM(gatherv, from, p->froms, to, counts[1], at[1], type, t->root);
    case SCATTER:
        return FORM(scatter, from, to, n, type, t->root);
    case SCATTERV:
        return FORM(scatterv, from, counts[0], at[0], to, p->tos, type, t->root);
    case ALLGATHER:
        return FORM(allgather, from, to, n, type);
    case ALLGATHERV:
        return FORM(allgatherv, from, p->froms, to, counts[1], at[1], type);
    case ALLTOALL:
        return FORM(alltoall, from, to, n, type);
    case ALLTOALLV:
        return FORM(alltoallv, from, counts[0], at[0], to, counts[1], at[1], type);
    case NEIGHBOUR:
        return FORM(neighbour_alltoall, &t->grid, from, to, n, type);
    case NEIGHBOURV:
        return FORM(neighbour_alltoallv, &t->grid, from, counts[0], at[0], to, counts[1], at[1],
                    type);
    default:
        return call_reduction(t, g, p, op);
    }
}

static void must(uint32_t rank, int error)
{
    if (error != TORUS_OK)
        fail_msg("rank %u: %s", rank, torus_last_error(context[rank]));
}

static void wait_for_all(void)
{
    for (uint32_t rank = 0; rank < size; rank++)
        must(rank, torus_wait(part[rank].request, 30 * (int64_t)SECOND));
}

static void run(const struct trial *t)
{
    uint64_t *buffer[RANKS_MAX][2];
    for (uint32_t rank = 0; rank < size; rank++) {
        prepare_part(t, rank, buffer[rank]);
        must(rank, call(t, world[rank], &part[rank], t->user ? affine[rank] : TORUS_SUM));
        memset(part[rank].count, 0xff,
               sizeof part[rank].count); /* the library keeps its own copy of the lists */
    }
    for (int round = 0; round < (t->kept ? 2 : 1); round++) {
        for (uint32_t rank = 0; t->kept && rank < size; rank++) {
            struct part *p = &part[rank];
            memcpy(buffer[rank][1], p->start, p->tos * sizeof *p->start);
            must(rank, torus_persistent_start(p->persistent, &p->request));
        }
        wait_for_all();
        for (uint32_t rank = 0; rank < size; rank++)
            check_part(t, rank, buffer[rank]);
    }
    for (uint32_t rank = 0; rank < size; rank++) {
        struct part *p = &part[rank];
        give(rank, buffer[rank][0], p->froms, t->plain);
        give(rank, buffer[rank][1], p->tos, t->plain);
        must(rank, torus_persistent_free(p->persistent));
        free(p->from);
        free(p->start);
        free(p->expect);
    }
}

/* ---- sweeps ---- */

/* grid_of returns a grid of `size` ranks; `turn` varies its shape and its periodicity. */
static struct torus_grid grid_of(unsigned turn)
{
    struct torus_grid g = {.size = sizeof g, .dimensions = 1 + turn % 3};
    uint32_t left = size;
    for (uint32_t d = 0; d < g.dimensions; d++) {
        bool last = d + 1 == g.dimensions;
        g.extent[d] = last ? left : left % 2 == 0 && turn % 5 ? 2 : left % 3 == 0 ? 3 : 1;
        left /= g.extent[d];
        g.periodic[d] = (turn >> 2 >> d) % 2 == 0;
    }
    return g;
}

static void join(uint32_t count, bool blocks)
{
    static unsigned jobs;
    torus_request *r[RANKS_MAX];
    char name[16]; /* a new name each time: node 0 may not know yet that all ranks have left the
                      last job */
    snprintf(name, sizeof name, "job %u", jobs++);
    size = count;
    for (uint32_t i = 0; i < count; i++) {
        struct torus_join_options o = as(count, (int32_t)i);
        o.name = name;
        context[i] = open_at(blocks ? i * nodes / count : i % nodes);
        must(i, torus_ijoin(context[i], &o, &world[i], &r[i]));
    }
    for (uint32_t i = 0; i < count; i++) {
        must(i, torus_wait(r[i], 20 * (int64_t)SECOND));
        must(i, torus_op_create(context[i], "compose", compose_all, affine, 8, 0, &affine[i]));
    }
}

/* sweep runs every collective with every count, in place and out of place; other parameters vary.
 */
static void sweep(uint32_t ranks, bool blocks, const size_t *counts, unsigned turn)
{
    join(ranks, blocks);
    for (int kind = 0; kind < KINDS; kind++)
        for (int c = 0; counts[c] != SIZE_MAX; c++)
            for (int in_place = 0; in_place < 1 + can_be_in_place((enum kind)kind); in_place++) {
                turn = turn * 5 + 3 + (unsigned)kind;
                struct trial t = {.kind = (enum kind)kind,
                                  .count = counts[c],
                                  .root = turn % ranks,
                                  .in_place = in_place,
                                  .plain = turn >> 1 & 1,
                                  .gaps = turn >> 2 & 1,
                                  .kept = turn >> 3 & 1,
                                  .grid = grid_of(turn >> 4)};
                for (uint32_t r = 0; r < ranks; r++)
                    must(r, torus_set_reproducible(world[r], (int)(turn >> 5) % 3));
                run(&t);
                t.user = kind >= REDUCE && kind <= PREFIX;
                if (t.user)
                    run(&t);
            }
    close_all(context, ranks);
}

static const size_t COUNTS[] = {0, 1, 7, 300, SIZE_MAX}, FEW[] = {0, 3, 150, SIZE_MAX},
                    PACKETS[] = {6000, SIZE_MAX}, LONG[] = {40000, SIZE_MAX};

static void every_collective_is_right_on_one_node(void **state)
{
    (void)state;
    start(1, "");
    sweep(1, false, COUNTS, 1);
    sweep(2, false, COUNTS, 2);
    sweep(5, false, COUNTS, 3);
    sweep(3, false, LONG, 4);
    stop();
}

static void every_collective_is_right_on_several_nodes(void **state)
{
    (void)state;
    start(4, "");
    sweep(4, false, COUNTS, 5);
    sweep(8, true, FEW, 6);
    sweep(16, false, FEW, 7);
    sweep(6, true, LONG, 8);
    stop();
}

static void every_collective_is_right_in_the_routed_fabric(void **state)
{
    (void)state;
    columns = 2;
    prepare(4);
    start_all("[torus]\nfabric = routed\n[network]\npacket = 4KiB\n");
    sweep(2, false, COUNTS, 15);
    sweep(4, false, COUNTS, 9);
    sweep(16, true, FEW, 10);
    sweep(6, false, PACKETS, 12);
    stop();
    columns = 0;
    start(3, "[torus]\nfabric = routed\n");
    sweep(3, false, COUNTS, 13);
    sweep(7, false, COUNTS, 14);
    stop();
}

/* few runs a subset, for a sanitizer that slows every check down ten times. */
static void every_collective_is_right_with_few_ranks(void **state)
{
    (void)state;
    start(2, "");
    sweep(4, false, COUNTS, 18);
    stop();
    start(3, "[torus]\nfabric = routed\n[network]\npacket = 4KiB\n");
    sweep(5, false, COUNTS, 19);
    sweep(3, false, PACKETS, 20);
    stop();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest few[] = {
        cmocka_unit_test_teardown(every_collective_is_right_with_few_ranks, clean_up),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_collective_is_right_on_one_node, clean_up),
        cmocka_unit_test_teardown(every_collective_is_right_on_several_nodes, clean_up),
        cmocka_unit_test_teardown(every_collective_is_right_in_the_routed_fabric, clean_up),
    };
    if (argc > 1 && strcmp(argv[1], "few") == 0)
        return cmocka_run_group_tests(few, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
