/* SPDX-License-Identifier: Apache-2.0 */
/* Inter-groups: operations between two disjoint groups, against a model of MPI's rules. Each rank
 * is a thread with a context of its own, because the creation of an inter-group waits for all
 * ranks. */
#include "daemons.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { RANKS = 5, COUNT = 700 };

struct rank {
    uint32_t world_rank, rank, size, remote_size;
    bool odd; /* of the group of odd ranks of the world, in turned order */
    pthread_t thread;
    torus_context *context;
    torus_group *world, *local;
    torus_intergroup *inter;
    const char *wrong; /* failed condition, or NULL */
    char sentence[400];
};

/* HOLDS returns from the thread's function if a condition fails, because cmocka's assertions work
 * in the main thread only. */
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            r->wrong = #condition;                                                                 \
            snprintf(r->sentence, sizeof r->sentence, "%s", torus_last_error(r->context));         \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define WELL(call) HOLDS((call) == TORUS_OK)

/* value returns element i of what a rank contributes. */
static int32_t value(bool odd, uint32_t rank, size_t i)
{
    return (int32_t)(1000 * rank + 7 * i) + (odd ? 500000 : 0);
}

static void connect_groups(struct rank *r)
{
    char path[128];
    snprintf(path, sizeof path, "%s/s%u", folder, r->world_rank % nodes);
    const struct torus_open_options o = {.size = sizeof o, .socket = path};
    const struct torus_join_options j = as(RANKS, (int32_t)r->world_rank);
    WELL(torus_open(&r->context, &o));
    WELL(torus_join(r->context, &j, &r->world));
    WELL(torus_split(r->world, r->odd, r->odd ? -(int32_t)r->world_rank : 0, &r->local));
    r->rank = torus_rank(r->local);
    r->size = torus_size(r->local);
    r->remote_size = RANKS - r->size;
    /* leaders: the last rank of each group; even: world 4, odd: world 1 */
    WELL(torus_intergroup_create(r->local, r->size - 1, r->world, r->odd ? 4 : 1, 9, &r->inter));
    HOLDS(torus_intergroup_rank(r->inter) == r->rank);
    HOLDS(torus_intergroup_size(r->inter) == r->size);
    HOLDS(torus_intergroup_remote_size(r->inter) == r->remote_size);
}

static void gather(struct rank *r)
{
    static const size_t counts[2] = {COUNT, COUNT / 2}; /* by the sending group */
    int32_t own[COUNT], all[RANKS * COUNT];
    size_t sent = counts[r->odd], received = counts[!r->odd];
    for (size_t i = 0; i < sent; i++)
        own[i] = value(r->odd, r->rank, i);
    WELL(torus_intergroup_allgather(r->inter, own, sent, all, received, TORUS_INT32));
    for (uint32_t s = 0; s < r->remote_size; s++)
        for (size_t i = 0; i < received; i++)
            HOLDS(all[s * received + i] == value(!r->odd, s, i));
}

static void all_to_all(struct rank *r)
{
    int32_t from[RANKS * COUNT], to[RANKS * COUNT];
    for (uint32_t s = 0; s < r->remote_size; s++)
        for (size_t i = 0; i < COUNT; i++)
            from[s * COUNT + i] = value(r->odd, r->rank, i) + (int32_t)s;
    WELL(torus_intergroup_alltoall(r->inter, from, COUNT, to, COUNT, TORUS_INT32));
    for (uint32_t s = 0; s < r->remote_size; s++)
        for (size_t i = 0; i < COUNT; i++)
            HOLDS(to[s * COUNT + i] == value(!r->odd, s, i) + (int32_t)r->rank);
}

/* broadcast sends from rank 1 of each group, one after the other. */
static void broadcast(struct rank *r)
{
    int32_t data[COUNT];
    for (int odd = 0; odd < 2; odd++) {
        bool sends = r->odd == odd && r->rank == 1, receives = r->odd != odd;
        for (size_t i = 0; i < COUNT; i++)
            data[i] = sends ? value(odd, 1, i) : -1;
        WELL(torus_intergroup_broadcast(r->inter, data, COUNT, TORUS_INT32,
                                        receives ? 1
                                        : sends  ? TORUS_ROOT
                                                 : TORUS_NO_ROOT));
        for (size_t i = 0; i < COUNT; i++)
            HOLDS(data[i] == (sends || receives ? value(odd, 1, i) : -1));
    }
}

/* after keeps the operand of the later rank, and counts: neither commutative nor predefined. */
static void after(const void *in, void *inout, size_t count, void *user)
{
    const int32_t *a = in;
    int32_t *b = inout;
    (void)user;
    for (size_t i = 0; i < count; i++)
        b[i] = 2 * a[i] + b[i];
}

static void reduce(struct rank *r)
{
    int32_t own[COUNT], sum[COUNT], folded[COUNT];
    int op = 0;
    for (size_t i = 0; i < COUNT; i++)
        own[i] = value(r->odd, r->rank, i);
    WELL(torus_op_create(r->context, "after", after, NULL, 0, 0, &op));
    WELL(torus_intergroup_allreduce(r->inter, own, sum, COUNT, TORUS_INT32, TORUS_SUM));
    WELL(torus_intergroup_allreduce(r->inter, own, folded, COUNT, TORUS_INT32, op));
    WELL(torus_op_free(r->context, op));
    for (size_t i = 0; i < COUNT; i++) {
        int32_t total = 0, last = value(!r->odd, 0, i);
        for (uint32_t s = 0; s < r->remote_size; s++)
            total += value(!r->odd, s, i);
        for (uint32_t s = 1; s < r->remote_size; s++)
            last = 2 * last + value(!r->odd, s, i);
        HOLDS(sum[i] == total && folded[i] == last);
    }
}

/* count_calls adds, and counts the calls of the operator. */
static void count_calls(const void *in, void *inout, size_t count, void *user)
{
    const int32_t *a = in;
    int32_t *b = inout;
    for (size_t i = 0; i < count; i++)
        b[i] += a[i];
    ++*(uint32_t *)user;
}

/* keep: a call in flight keeps its destination and its operator, which runs when it completes. */
static void keep(struct rank *r)
{
    torus_request *request[2];
    int32_t own = 3, *sum = torus_alloc(r->context, 2 * sizeof *sum);
    uint32_t calls = 0;
    int op = 0;
    HOLDS(sum);
    WELL(torus_op_create(r->context, "count", count_calls, &calls, 0, 1, &op));
    WELL(torus_intergroup_iallreduce(r->inter, &own, sum, 1, TORUS_INT32, op, &request[0]));
    WELL(torus_intergroup_iallreduce(r->inter, &own, sum + 1, 1, TORUS_INT32, TORUS_MAX,
                                     &request[1]));
    WELL(torus_op_free(r->context, op));
    HOLDS(torus_free(r->context, sum) == TORUS_ERR_BUSY);
    WELL(torus_intergroup_barrier(r->inter));
    HOLDS(calls == 0);
    HOLDS(torus_free(r->context, sum) == TORUS_ERR_BUSY);
    WELL(torus_waitall(request, 2, 20 * (int64_t)SECOND, NULL));
    HOLDS(calls == r->remote_size - 1);
    HOLDS(sum[0] == 3 * (int32_t)r->remote_size && sum[1] == 3);
    WELL(torus_free(r->context, sum));
}

/* derived: the even group uses a type with gaps, the odd one plain elements. */
static void derived(struct rank *r)
{
    const size_t blocks[] = {2};
    const ptrdiff_t places[] = {-2};
    int32_t own[2 * COUNT], all[2 * RANKS * COUNT], sum[6] = {0};
    int type = 0, pairs = 0;
    WELL(torus_type_vector(r->context, COUNT, 1, 2, TORUS_INT32, &type));
    WELL(torus_type_resized(r->context, type, 0, 2 * COUNT * sizeof(int32_t), &type));
    WELL(torus_type_indexed(r->context, 1, blocks, places, TORUS_INT32, &pairs));
    size_t step = r->odd ? 1 : 2;
    for (size_t i = 0; i < 2 * COUNT; i++)
        own[i] = i % step ? -1 : value(r->odd, r->rank, i / step);
    for (size_t i = 0; i < 2 * RANKS * COUNT; i++)
        all[i] = -5;
    WELL(torus_intergroup_allgather(r->inter, own, r->odd ? COUNT : 1, all, r->odd ? COUNT : 1,
                                    r->odd ? TORUS_INT32 : type));
    for (size_t i = 0; i < r->remote_size * COUNT * step; i++)
        HOLDS(all[i] ==
              (i % step ? -5 : value(!r->odd, (uint32_t)(i / step / COUNT), i / step % COUNT)));
    /* the data begins 2 elements before the address */
    WELL(torus_intergroup_allreduce(r->inter, own + 2, sum + 2, 2, pairs, TORUS_SUM));
    for (size_t i = 0; i < 6; i++) {
        int32_t total = 0;
        for (uint32_t s = 0; s < r->remote_size && i < 4; s++)
            total += r->odd ? (i % 2 ? -1 : value(false, s, i / 2)) : value(true, s, i);
        HOLDS(sum[i] == total);
    }
    HOLDS(torus_intergroup_allreduce(r->inter, own, sum, 1, type, TORUS_SUM) == TORUS_ERR_INVALID);
    WELL(torus_type_free(r->context, type));
}

/* overlap has calls of the inter-group and of the group itself in flight at once. */
static void overlap(struct rank *r)
{
    torus_request *request[4];
    int32_t one = 1, sum = 0, mine = 0, all[RANKS];
    WELL(torus_intergroup_iallreduce(r->inter, &one, &sum, 1, TORUS_INT32, TORUS_SUM, &request[0]));
    WELL(torus_iallreduce(r->local, &one, &mine, 1, TORUS_INT32, TORUS_SUM, &request[1]));
    WELL(torus_intergroup_ibarrier(r->inter, &request[2]));
    WELL(torus_intergroup_iallgather(r->inter, &one, 1, all, 1, TORUS_INT32, &request[3]));
    WELL(torus_waitall(request, 4, 20 * (int64_t)SECOND, NULL));
    HOLDS(sum == (int32_t)r->remote_size && mine == (int32_t)r->size);
    for (uint32_t s = 0; s < r->remote_size; s++)
        HOLDS(all[s] == 1);
}

static void merge(struct rank *r)
{
    for (int high = 0; high < 2; high++) { /* the odd group is the high one, then the low one */
        torus_group *both = NULL;
        WELL(torus_intergroup_merge(r->inter, r->odd ? high : !high, &both));
        HOLDS(torus_size(both) == RANKS);
        bool last = r->odd == (high == 1);
        HOLDS(torus_rank(both) == r->rank + (last ? r->remote_size : 0));
        int32_t one = 1, sum = 0;
        WELL(torus_allreduce(both, &one, &sum, 1, TORUS_INT32, TORUS_SUM));
        HOLDS(sum == RANKS);
        WELL(torus_barrier(both));
        WELL(torus_group_free(both));
    }
    torus_group *same = NULL;
    WELL(torus_intergroup_merge(r->inter, 1, &same));
    HOLDS(torus_size(same) == RANKS);
    HOLDS(torus_intergroup_merge(r->inter, r->rank == 0, &same) == TORUS_ERR_MISMATCH);
}

/* of_a_group makes an inter-group without waiting for others: all ranks know both sides. */
static void of_a_group(struct rank *r)
{
    static const uint32_t ranks[RANKS] = {0, 2, 4, 3, 1}; /* as those of r->inter */
    torus_intergroup *first = r->inter, *none = NULL;
    torus_request *request = NULL;
    torus_group *all = NULL;
    WELL(torus_igroup_create(r->world, ranks, RANKS, 4, &all, &request));
    WELL(torus_wait(request, 20 * (int64_t)SECOND));
    HOLDS(torus_intergroup_of(all, 0, &none) == TORUS_ERR_INVALID);
    HOLDS(torus_intergroup_of(all, RANKS, &none) == TORUS_ERR_INVALID);
    HOLDS(torus_intergroup_of(r->world, 3, &none) == TORUS_ERR_INVALID);
    HOLDS(torus_intergroup_of(NULL, 3, &none) == TORUS_ERR_INVALID);
    HOLDS(none == NULL);
    WELL(torus_intergroup_of(all, 3, &r->inter));
    HOLDS(torus_intergroup_rank(r->inter) == r->rank);
    HOLDS(torus_intergroup_size(r->inter) == r->size);
    HOLDS(torus_intergroup_remote_size(r->inter) == r->remote_size);
    static void (*const parts[])(struct rank *) = {gather, all_to_all, broadcast, reduce, merge};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !r->wrong; i++)
        parts[i](r);
    WELL(torus_intergroup_barrier(r->inter));
    WELL(torus_intergroup_free(r->inter));
    r->inter = first;
}

/* misuse makes wrong calls, which have no effect on later ones. */
static void misuse(struct rank *r)
{
    torus_intergroup *none = NULL;
    int32_t data = 0;
    HOLDS(torus_intergroup_create(r->local, r->size, r->world, 0, 0, &none) == TORUS_ERR_INVALID);
    HOLDS(torus_intergroup_create(NULL, 0, r->world, 0, 0, &none) == TORUS_ERR_INVALID);
    HOLDS(torus_intergroup_broadcast(r->inter, &data, 1, TORUS_INT32, (int32_t)r->remote_size) ==
          TORUS_ERR_INVALID);
    HOLDS(torus_intergroup_allreduce(r->inter, &data, NULL, 1, TORUS_INT32, TORUS_SUM) ==
          TORUS_ERR_INVALID);
    HOLDS(torus_intergroup_allreduce(r->inter, &data, &data, 1, TORUS_FLOAT, TORUS_BAND) ==
          TORUS_ERR_INVALID);
    HOLDS(torus_intergroup_allreduce(r->inter, TORUS_IN_PLACE, &data, 1, TORUS_INT32, TORUS_SUM) ==
          TORUS_ERR_INVALID);
    HOLDS(torus_intergroup_alltoall(r->inter, TORUS_IN_PLACE, 0, &data, 0, TORUS_INT32) ==
          TORUS_ERR_INVALID);
    WELL(torus_intergroup_barrier(r->inter));
    /* a leader that gives no bridge fails with its whole group; nobody hangs */
    HOLDS(torus_intergroup_create(r->local, 0, NULL, 0, 1, &none) == TORUS_ERR_INVALID);
    HOLDS(none == NULL);
}

static void *play(void *argument)
{
    static void (*const parts[])(struct rank *) = {
        connect_groups, gather,  all_to_all, broadcast,  reduce, keep,
        derived,        overlap, merge,      of_a_group, misuse};
    struct rank *r = argument;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !r->wrong; i++)
        parts[i](r);
    if (!r->wrong && torus_intergroup_free(r->inter) != TORUS_OK)
        r->wrong = "torus_intergroup_free";
    torus_close(r->context);
    return NULL;
}

static void play_all(uint32_t daemons, const char *more)
{
    static struct rank rank[RANKS];
    start(daemons, more);
    for (uint32_t i = 0; i < RANKS; i++) {
        rank[i] = (struct rank){.world_rank = i, .odd = i % 2};
        assert_int_equal(pthread_create(&rank[i].thread, NULL, play, &rank[i]), 0);
    }
    for (uint32_t i = 0; i < RANKS; i++)
        pthread_join(rank[i].thread, NULL);
    for (uint32_t i = 0; i < RANKS; i++)
        if (rank[i].wrong)
            print_error("rank %u: %s: %s\n", i, rank[i].wrong, rank[i].sentence);
    for (uint32_t i = 0; i < RANKS; i++)
        assert_null(rank[i].wrong);
    stop();
}

static void two_groups_on_one_node(void **state)
{
    (void)state;
    play_all(1, "");
}

static void two_groups_on_four_nodes(void **state)
{
    (void)state;
    play_all(4, "");
}

static void two_groups_on_the_routed_fabric(void **state)
{
    (void)state;
    play_all(4, "[torus]\nfabric = routed\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(two_groups_on_one_node, clean_up),
        cmocka_unit_test_teardown(two_groups_on_four_nodes, clean_up),
        cmocka_unit_test_teardown(two_groups_on_the_routed_fabric, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
