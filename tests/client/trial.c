/* SPDX-License-Identifier: Apache-2.0 */
#include "trial.h"

#include <stdlib.h>
#include <string.h>

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

const char *trial_name(enum kind kind)
{
    return names[kind];
}

bool trial_can_be_in_place(enum kind kind)
{
    return kind != BARRIER && kind != BROADCAST && kind != NEIGHBOUR && kind != NEIGHBOURV;
}

/* ---- values ---- */

static uint64_t value(uint32_t rank, size_t i)
{
    uint64_t x = rank * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u + 1;
    x = (x ^ x >> 30) * 0x94d049bb133111ebu;
    return x ^ x >> 29;
}

uint64_t trial_compose(uint64_t x, uint64_t y)
{
    uint32_t a = (uint32_t)(x >> 32), b = (uint32_t)x, c = (uint32_t)(y >> 32), d = (uint32_t)y;
    return (uint64_t)(a * c) << 32 | (uint32_t)(b * c + d);
}

/* fold returns the reduction of element i of ranks 0 .. last. */
static uint64_t fold(const struct trial *t, size_t i, uint32_t last)
{
    uint64_t x = value(0, i);
    for (uint32_t rank = 1; rank <= last; rank++)
        x = t->user ? trial_compose(x, value(rank, i)) : x + value(rank, i);
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
    size_t n = t->count, all = n * t->size;
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
        for (uint32_t i = 0; i < t->size; i++)
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
        for (uint32_t i = 0; i < t->size; i++)
            p->count[1][i] = vary(n, i);
        p->tos = lay_out(t, p->count[1], t->size, p->at[1]);
        if (t->kind == GATHERV && !root)
            p->tos = 0;
        p->froms = p->count[1][rank];
        return;
    case SCATTERV:
        for (uint32_t i = 0; i < t->size; i++)
            p->count[0][i] = vary(n, i);
        p->froms = lay_out(t, p->count[0], t->size, p->at[0]);
        p->tos = p->count[0][rank];
        if (!root)
            p->froms = 0;
        return;
    case ALLTOALLV:
        for (uint32_t i = 0; i < t->size; i++) {
            p->count[0][i] = pair(t, rank, i);
            p->count[1][i] = pair(t, i, rank);
        }
        p->froms = lay_out(t, p->count[0], t->size, p->at[0]);
        p->tos = lay_out(t, p->count[1], t->size, p->at[1]);
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
    for (uint32_t i = 0; i < t->size; i++) {
        if (t->kind == ALLGATHER || (t->kind == GATHER && root))
            from_rank(p, i * n, i, 0, n);
        if (t->kind == ALLTOALL)
            from_rank(p, i * n, i, rank * n, n);
        if (t->kind == ALLGATHERV || (t->kind == GATHERV && root))
            from_rank(p, p->at[1][i], i, 0, p->count[1][i]);
        if (t->kind == ALLTOALLV) {
            for (uint32_t k = 0; k < t->size; k++)
                count[k] = pair(t, i, k);
            lay_out(t, count, t->size, at);
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
            p->expect[i] = fold(t, i, t->size - 1);
        if (t->kind == SCAN)
            p->expect[i] = fold(t, i, rank);
        if (t->kind == EXSCAN && rank > 0)
            p->expect[i] = fold(t, i, rank - 1);
        if (t->kind == REDUCE_SCATTER)
            p->expect[i] = fold(t, rank * n + i, t->size - 1);
        if (t->kind == REDUCE_SCATTERV)
            p->expect[i] = fold(t, first + i, t->size - 1);
        for (uint32_t k = 0; t->kind == PREFIX && k < t->size; k++)
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

void trial_fill(const struct trial *t, uint32_t rank, struct part *p)
{
    *p = (struct part){0};
    counts_of(t, rank, p);
    p->from = calloc(p->froms + 1, sizeof *p->from);
    p->start = calloc(p->tos + 1, sizeof *p->start);
    p->expect = calloc(p->tos + 1, sizeof *p->expect);
    for (size_t i = 0; i < p->froms; i++)
        p->from[i] = value(rank, i);
    for (size_t i = 0; i < p->tos; i++)
        p->start[i] = t->kind == BROADCAST && rank == t->root ? value(rank, i) : UNTOUCHED;
    if (t->in_place)
        put_in_place(t, rank, p);
    memcpy(p->expect, p->start, p->tos * sizeof *p->expect);
    expect_moved(t, rank, p);
    expect_folded(t, rank, p);
    if (t->kind == NEIGHBOUR || t->kind == NEIGHBOURV)
        expect_sides(t, rank, p);
}
