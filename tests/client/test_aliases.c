/* SPDX-License-Identifier: Apache-2.0 */
/* Source and destination that share memory. In a reduction or a scan, a source equal to the
 * destination is TORUS_IN_PLACE. Other shared bytes are refused without side effects. */
#include "random.h"
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum reduction { REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTERV, SCAN, EXSCAN, REDUCTIONS };
static const char *const names[REDUCTIONS] = {"reduce",          "allreduce", "reduce_scatter",
                                              "reduce_scatterv", "scan",      "exscan"};

static torus_request *request[RANKS_MAX];
static int sum[RANKS_MAX]; /* a user-defined operator of each rank */
static size_t each[RANKS_MAX];

static void add(const void *in, void *inout, size_t count, void *user)
{
    const int64_t *x = in;
    int64_t *y = inout;
    (void)user;
    for (size_t i = 0; i < count; i++)
        y[i] += x[i];
}

static int reduction(enum reduction kind, uint32_t r, int64_t *from, int64_t *to, size_t n, int op)
{
    const int type = TORUS_INT64;
    switch (kind) {
    case REDUCE:
        return torus_ireduce(world[r], from, to, n, type, op, 1 % size, &request[r]);
    case ALLREDUCE:
        return torus_iallreduce(world[r], from, to, n, type, op, &request[r]);
    case REDUCE_SCATTER:
        return torus_ireduce_scatter(world[r], from, to, n, type, op, &request[r]);
    case REDUCE_SCATTERV:
        return torus_ireduce_scatterv(world[r], from, to, each, type, op, &request[r]);
    case SCAN:
        return torus_iscan(world[r], from, to, n, type, op, &request[r]);
    case EXSCAN:
    case REDUCTIONS:
        break;
    }
    return torus_iexscan(world[r], from, to, n, type, op, &request[r]);
}

static int64_t value(uint32_t rank, size_t i)
{
    return (int64_t)(rank * 1000 + i * i + 1);
}

/* expected returns element i of the result on a rank. */
static int64_t expected(enum reduction kind, uint32_t rank, size_t i, size_t n)
{
    uint32_t last = kind == SCAN ? rank + 1 : kind == EXSCAN ? rank : size;
    bool scatters = kind == REDUCE_SCATTER || kind == REDUCE_SCATTERV;
    int64_t total = 0;
    for (uint32_t r = 0; r < last; r++)
        total += value(r, scatters ? rank * n + i : i);
    return total;
}

static void equal_buffers(enum reduction kind, size_t n, bool plain, bool user)
{
    int64_t *b[RANKS_MAX] = {NULL};
    const uint32_t ranks = size;
    for (uint32_t r = 0; r < ranks; r++) {
        size_t bytes = (n * ranks + 1) * sizeof **b;
        b[r] = plain ? malloc(bytes) : torus_alloc(context[r], bytes);
        assert_non_null(b[r]);
        for (size_t i = 0; i < n * ranks; i++)
            b[r][i] = value(r, i);
        each[r] = n;
    }
    for (uint32_t r = 0; r < ranks; r++)
        must(r, reduction(kind, r, b[r], b[r], n, user ? sum[r] : TORUS_SUM));
    for (uint32_t r = 0; r < ranks; r++)
        finish(r, request[r]);
    for (uint32_t r = 0; r < ranks; r++) {
        bool unchanged = (kind == EXSCAN && r == 0) || (kind == REDUCE && r != 1 % ranks);
        for (size_t i = 0; i < n; i++) {
            int64_t right = unchanged ? value(r, i) : expected(kind, r, i, n);
            if (b[r][i] != right)
                fail_msg("%s of %zu%s%s: rank %u of %u has %lld at %zu, not %lld", names[kind], n,
                         plain ? ", plain" : "", user ? ", user" : "", r, ranks, (long long)b[r][i],
                         i, (long long)right);
        }
        if (plain)
            free(b[r]);
        else
            must(r, torus_free(context[r], b[r]));
    }
}

static void refused(uint32_t r, const char *name, int error)
{
    if (error != TORUS_ERR_INVALID)
        fail_msg("%s: overlapping buffers are accepted (%d)", name, error);
    assert_says(context[r], name);
    assert_says(context[r], "overlap");
}

/* All calls are refused on rank r alone: none has a sequence number. */
static void overlaps_are_refused(uint32_t r)
{
    enum { N = 6 };
    assert(size > 0);
    int64_t a[N * RANKS_MAX + 2] = {0}, *b = a + N - 1, *own = a + r * N;
    const int t = TORUS_INT64;
    torus_group *g = world[r];
    torus_request **q = &request[r];
    for (uint32_t i = 0; i < size; i++)
        each[i] = N;
    for (int kind = 0; kind < REDUCTIONS; kind++)
        for (int user = 0; user < 2; user++)
            if (kind != REDUCE || r == 1 % size) {
                int op = user ? sum[r] : TORUS_SUM;
                refused(r, names[kind], reduction((enum reduction)kind, r, a, b, N, op));
                refused(r, names[kind], reduction((enum reduction)kind, r, b, a, N, op));
            }
    refused(r, "prefix", torus_iprefix(g, own, a, N, t, TORUS_SUM, q));
    refused(r, "prefix", torus_iprefix(g, own, a, N, t, sum[r], q));
    refused(r, "gather", torus_igather(g, own, a, N, t, r, q));
    refused(r, "gatherv", torus_igatherv(g, own, N, a, each, NULL, t, r, q));
    refused(r, "scatter", torus_iscatter(g, a, own, N, t, r, q));
    refused(r, "scatterv", torus_iscatterv(g, a, each, NULL, own, N, t, r, q));
    refused(r, "allgather", torus_iallgather(g, own, a, N, t, q));
    refused(r, "allgatherv", torus_iallgatherv(g, own, N, a, each, NULL, t, q));
    refused(r, "alltoall", torus_ialltoall(g, a, a, N, t, q));
    refused(r, "alltoallv", torus_ialltoallv(g, a, each, NULL, a, each, NULL, t, q));
    const struct torus_grid grid = {
        .size = sizeof grid, .dimensions = 1, .extent = {size}, .periodic = {1}};
    refused(r, "neighbour", torus_ineighbour_alltoall(g, &grid, a, b, N, t, q));
}

/* scattered exchanges parts of one element at random places of one array. The call is refused only
 * if a place of the source is one of the destination. */
static void scattered(uint64_t *random)
{
    enum { PLACES = 40, BEFORE = 7 };
    int64_t a[RANKS_MAX][PLACES];
    ptrdiff_t from[RANKS_MAX] = {0}, to[RANKS_MAX] = {0}, place[PLACES];
    size_t spread = size + random_below(random, 10);
    bool shared = false;
    for (size_t i = 0; i < PLACES; i++)
        place[i] = (ptrdiff_t)i - BEFORE;
    random_shuffle(random, place, PLACES, sizeof *place);
    for (uint32_t i = 0; i < size; i++) {
        each[i] = 1;
        to[i] = place[i];
        from[i] = place[random_below(random, 3) ? size + random_below(random, PLACES - size)
                                                : random_below(random, spread)];
    }
    for (uint32_t i = 0; i < size * size; i++)
        shared = shared || from[i / size] == to[i % size];
    for (uint32_t r = 0; r < size; r++) {
        for (size_t i = 0; i < PLACES; i++)
            a[r][i] = value(r, i);
        int64_t *middle = a[r] + BEFORE;
        int error = torus_ialltoallv(world[r], middle, each, from, middle, each, to, TORUS_INT64,
                                     &request[r]);
        if (shared)
            refused(r, "alltoallv", error);
        else
            must(r, error);
    }
    for (uint32_t r = 0; r < size && !shared; r++)
        finish(r, request[r]);
    for (uint32_t r = 0; r < size && !shared; r++)
        for (uint32_t i = 0; i < size; i++)
            assert_int_equal(a[r][to[i] + BEFORE], value(i, (size_t)(from[r] + BEFORE)));
}

static void sweep(uint32_t ranks, bool blocks)
{
    static const size_t counts[] = {0, 1, 3, 1000, 20000};
    uint64_t random = ranks;
    join_ranks(ranks, blocks);
    for (uint32_t r = 0; r < size; r++)
        must(r, torus_op_create(context[r], "add", add, NULL, 8, 1, &sum[r]));
    for (int kind = 0; kind < REDUCTIONS; kind++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int form = 0; form < 4; form++)
                equal_buffers((enum reduction)kind, counts[c], form & 1, form & 2);
    for (uint32_t r = 0; r < size; r++)
        overlaps_are_refused(r);
    for (int i = 0; i < 60; i++)
        scattered(&random);
    close_all(context, ranks);
}

static void sharing_follows_the_rules_on_one_node(void **state)
{
    (void)state;
    start(1, "");
    sweep(1, false);
    sweep(4, false);
    stop();
}

static void sharing_follows_the_rules_on_several_nodes(void **state)
{
    (void)state;
    start(4, "");
    sweep(4, false);
    sweep(7, true);
    stop();
}

static void sharing_follows_the_rules_on_the_routed_fabric(void **state)
{
    (void)state;
    start(4, "[torus]\nfabric = routed\n");
    sweep(4, false);
    sweep(6, true);
    stop();
}

static void plans_accept_equal_buffers_only(void **state)
{
    (void)state;
    struct torus_redist_desc d = {.size = sizeof d,
                                  .dimensions = 1,
                                  .element_bytes = 1,
                                  .shape = {8},
                                  .from = "block",
                                  .to = "(block+4)"};
    char a[12] = "abcdefgh";
    torus_plan *p = NULL;
    start(1, "");
    join_ranks(1, false);
    must(0, torus_plan_redist(world[0], &d, &p));
    assert_int_equal(torus_execute(p, a, a + 1), TORUS_ERR_INVALID);
    assert_says(context[0], "redist: source and destination overlap");
    assert_int_equal(torus_execute(p, a + 4, a), TORUS_ERR_INVALID);
    must(0, torus_execute(p, a, a));
    close_all(context, 1);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(sharing_follows_the_rules_on_one_node, clean_up),
        cmocka_unit_test_teardown(sharing_follows_the_rules_on_several_nodes, clean_up),
        cmocka_unit_test_teardown(sharing_follows_the_rules_on_the_routed_fabric, clean_up),
        cmocka_unit_test_teardown(plans_accept_equal_buffers_only, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
