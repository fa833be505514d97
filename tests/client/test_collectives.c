/* SPDX-License-Identifier: Apache-2.0 */
/* Every collective of torus.h on real daemons, compared with a local computation: in place and out
 * of place, with plain memory and torus_alloc, counts of zero, gaps between parts, user-defined
 * operators, and persistent calls. All ranks are in this process. */
#include "daemons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"

enum { GUARD = 8 };

static torus_context *context[RANKS_MAX];
static torus_group *world[RANKS_MAX];
static uint32_t size;
static int affine[RANKS_MAX]; /* the operator on each rank */
static struct part part[RANKS_MAX];

static void compose_all(const void *in, void *inout, size_t count, void *user)
{
    const uint64_t *x = in;
    uint64_t *y = inout;
    assert_ptr_equal(user, affine);
    for (size_t i = 0; i < count; i++)
        y[i] = trial_compose(x[i], y[i]);
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
    trial_fill(t, rank, p);
    buffer[0] = obtain(rank, p->froms, t->plain);
    buffer[1] = obtain(rank, p->tos, t->plain);
    p->source = p->source ? p->source : buffer[0];
    p->destination = p->destination ? p->destination : buffer[1];
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
                     trial_name(t->kind), t->count, rank, size, i, (unsigned long long)buffer[1][i],
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

/* shift_places moves the addresses of the buffers with places into them, so that some places are
 * negative. */
static void shift_places(const struct trial *t, const struct part *p, ptrdiff_t at[2][RANKS_MAX],
                         ptrdiff_t *places[2], const void **from, void **to)
{
    bool both = t->kind == ALLTOALLV || t->kind == NEIGHBOURV;
    bool has_places[2] = {both || t->kind == SCATTERV,
                          both || t->kind == GATHERV || t->kind == ALLGATHERV};
    for (int b = 0; b < 2; b++) {
        ptrdiff_t shift = has_places[b] ? (ptrdiff_t)((b ? p->tos : p->froms) / 2) : 0;
        for (uint32_t i = 0; i < RANKS_MAX; i++)
            at[b][i] = (ptrdiff_t)p->at[b][i] - shift;
        places[b] = at[b];
        if (b && *to != TORUS_IN_PLACE)
            *to = (uint64_t *)*to + shift;
        else if (!b && *from != TORUS_IN_PLACE)
            *from = (const uint64_t *)*from + shift;
    }
}

static int call(const struct trial *t, torus_group *g, struct part *p, int op)
{
    const void *from = p->source;
    void *to = p->destination;
    const int type = TORUS_INT64;
    size_t n = t->count;
    const size_t *counts[2] = {p->count[0], p->count[1]};
    ptrdiff_t at[2][RANKS_MAX], *places[2] = {NULL, NULL};
    if (t->gaps)
        shift_places(t, p, at, places, &from, &to);
    switch ((int)t->kind) {
    case BARRIER:
        return t->kept ? torus_barrier_init(g, &p->persistent) : torus_ibarrier(g, &p->request);
    case BROADCAST:
        return FORM(broadcast, to, n, type, t->root);
    case GATHER:
        return FORM(gather, from, to, n, type, t->root);
    case GATHERV:
        return FORM(gatherv, from, p->froms, to, counts[1], places[1], type, t->root);
    case SCATTER:
        return FORM(scatter, from, to, n, type, t->root);
    case SCATTERV:
        return FORM(scatterv, from, counts[0], places[0], to, p->tos, type, t->root);
    case ALLGATHER:
        return FORM(allgather, from, to, n, type);
    case ALLGATHERV:
        return FORM(allgatherv, from, p->froms, to, counts[1], places[1], type);
    case ALLTOALL:
        return FORM(alltoall, from, to, n, type);
    case ALLTOALLV:
        return FORM(alltoallv, from, counts[0], places[0], to, counts[1], places[1], type);
    case NEIGHBOUR:
        return FORM(neighbour_alltoall, &t->grid, from, to, n, type);
    case NEIGHBOURV:
        return FORM(neighbour_alltoallv, &t->grid, from, counts[0], places[0], to, counts[1],
                    places[1], type);
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
            for (int in_place = 0; in_place < 1 + trial_can_be_in_place((enum kind)kind);
                 in_place++) {
                turn = turn * 5 + 3 + (unsigned)kind;
                struct trial t = {.kind = (enum kind)kind,
                                  .size = ranks,
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
