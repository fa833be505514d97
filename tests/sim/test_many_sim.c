/* SPDX-License-Identifier: Apache-2.0 */
/* As many things on one node as its limits allow, in virtual time: ranks of a job, groups of a
 * rank, operations of a group. One event then concerns all of them, and the core answers in steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "seeds.h"

enum {
    LIMIT = 1024,
    GROUPS = 400,
    SCATTERED = 1000,
    OPERATIONS = 200,
    SEEDS = SEEDS_SANITIZED ? 2 : 4
};

static const struct td_call barrier = {.kind = TD_KIND_BARRIER};
static struct job job;
static uint32_t nodes[JOB_RANKS_MAX];

static void roomy(struct td_sim_options *o)
{
    o->settings.arena_bytes = (uint64_t)64 << 20;
    o->settings.scratch_bytes = (uint64_t)64 << 20;
    o->settings.clients_max = 2 * LIMIT;
    o->settings.client_groups_max = 4 * LIMIT;
    o->settings.heartbeat_ns = SECOND / 10;
    o->settings.progress_timeout_ns = SECOND;
}

/* scatter gives `here` of the ranks to node 1 and the others to node 0, in random order, so that
 * the ranks of a node are in many runs. */
static void scatter(struct td_sim *sim, uint32_t size, uint32_t here)
{
    for (uint32_t i = 0; i < size; i++)
        nodes[i] = i < here;
    for (uint32_t i = size; i-- > 1;) {
        uint32_t k = (uint32_t)td_sim_random(sim, i + 1), kept = nodes[i];
        nodes[i] = nodes[k];
        nodes[k] = kept;
    }
}

static void call_all(const struct td_call *call)
{
    job_call_all(&job, call, 0, false);
    job_settle(&job);
    job_expect_all(&job, TD_OK, NULL);
}

static void fill(uint32_t first)
{
    for (uint32_t i = 0; i < job.size; i++)
        *(int32_t *)job_source(&job, i, 0) = (int32_t)(first + i);
}

/* try_kinds runs small and large operations, and checks some results. */
static void try_kinds(void)
{
    const struct td_call sum = {
        .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT32, .op = TD_OP_SUM, .count = 1};
    const struct td_call gather = {.kind = TD_KIND_ALLGATHER, .type = TD_TYPE_INT32, .count = 1};
    const struct td_call empty = {
        .kind = TD_KIND_PREFIX, .type = TD_TYPE_INT64, .op = TD_OP_SUM, .count = 0};
    struct td_call large = sum, bytes = sum;
    large.count = 3000;
    call_all(&barrier);
    call_all(&empty);
    fill(5);
    call_all(&sum);
    int32_t total = 0;
    for (uint32_t i = 0; i < job.size; i++)
        total += (int32_t)(5 + i);
    for (uint32_t i = 0; i < job.size; i++)
        CHECK(*(int32_t *)job_destination(&job, i, 0) == total);
    fill(7);
    call_all(&gather);
    for (uint32_t i = 0; i < job.size; i++)
        for (uint32_t k = 0; k < job.size; k++)
            CHECK(((int32_t *)job_destination(&job, i, 0))[k] == (int32_t)(7 + k));
    call_all(&large);
    bytes.kind = TD_KIND_ALLGATHER; /* it rides, and each run of ranks is copied by itself */
    bytes.type = TD_TYPE_UINT8;
    call_all(&bytes);
    for (uint32_t i = 0; i < job.size; i++)
        for (uint32_t k = 0; k < job.size; k++)
            CHECK(((uint8_t *)job_destination(&job, i, 0))[k] == (uint8_t)(7 + k));
}

static void shrink(uint32_t i)
{
    struct td_request q = {.kind = TD_REQUEST_SHRINK};
    q.u.shrink.group = job.rank[i].group;
    q.u.shrink.timeout_ns = -1;
    job.rank[i].request = td_sim_request(job.sim, job.rank[i].client, &q);
}

/* shrink_to_even kills the ranks with odd numbers at once. The others shrink the group. */
static void shrink_to_even(void)
{
    uint32_t left = 0;
    for (uint32_t i = 1; i < job.size; i += 2)
        td_sim_close(job.sim, job.rank[i].client);
    for (uint32_t i = 0; i < job.size; i += 2)
        shrink(i);
    job_settle(&job);
    for (uint32_t i = 0; i < job.size; i += 2, left++) {
        job_expect(&job, i, TD_OK, NULL);
        const struct td_reply *r = job_reply(&job, i);
        CHECK(r->u.joined.rank == left && r->u.joined.size == (job.size + 1) / 2);
        job.rank[i].group = r->u.joined.group;
        job.rank[i].calls = 0;
    }
    for (uint32_t i = 0; i < job.size; i += 2)
        job_call(&job, i, &barrier, 0, false);
    job_settle(&job);
    for (uint32_t i = 0; i < job.size; i += 2)
        job_expect(&job, i, TD_OK, NULL);
}

static void run_ranks(uint64_t seed, uint32_t size, uint32_t here)
{
    const struct td_fft fft = {
        .dimensions = 2, .size = {size, 4}, .type = TD_TYPE_COMPLEX_DOUBLE, .sign = -1};
    job_case("test_many_sim: %u ranks, seed %llu", size, (unsigned long long)seed);
    struct td_sim *sim = job_world("2", seed, roomy);
    scatter(sim, size, here);
    job_form(&job, sim, "job", nodes, size, 12288);
    try_kinds();
    job_unplan(&job, job_plan(&job, &fft));
    job_plan(&job, &fft); /* the dead ranks do not free this one */
    shrink_to_even();
    job_world_end(sim);
}

static void scattered_ranks_of_two_nodes_gather(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run_ranks(seed, SCATTERED, SCATTERED / 2);
}

static void a_node_has_as_many_ranks_as_the_limit(void **unused)
{
    (void)unused;
    run_ranks(4, LIMIT + 10, LIMIT);
    run_ranks(5, LIMIT, 0);
}

static void one_rank_more_is_refused_and_the_others_wait(void **unused)
{
    (void)unused;
    enum { ONE_MORE = LIMIT + 1 };
    job_case("test_many_sim: one rank too many");
    struct td_sim *sim = job_world("2", 1, roomy);
    memset(nodes, 0, sizeof nodes);
    job_open(&job, sim, "job", nodes, ONE_MORE, 0);
    for (uint32_t i = 0; i < ONE_MORE; i++)
        job_join(&job, i, i, SECOND);
    job_settle(&job);
    uint32_t refused = 0;
    for (uint32_t i = 0; i < ONE_MORE; i++)
        refused += strstr(job_reply(&job, i)->text, "1024 ranks of job job on node 0") != NULL;
    CHECK(refused == 1);
    job_world_end(sim);
}

/* make_groups has all ranks make `count` groups of all ranks. */
static void make_groups(uint32_t count)
{
    uint64_t member[JOB_RANKS_MAX];
    for (uint32_t i = 0; i < job.size; i++)
        member[i] = i;
    for (uint32_t g = 0; g < count; g++) {
        struct td_request q = {.kind = TD_REQUEST_GROUP};
        q.u.make.number = g;
        q.u.make.members = job.size;
        q.u.make.member = member;
        for (uint32_t i = 0; i < job.size; i++) {
            q.u.make.group = job.rank[i].group;
            job.rank[i].request = td_sim_request(job.sim, job.rank[i].client, &q);
        }
        job_settle(&job);
        job_expect_all(&job, TD_OK, NULL);
        td_sim_forget(job.sim);
    }
}

/* lose_groups kills rank 3, and checks that the others learn it and that the world goes on. */
static void lose_groups(const char *shape, uint64_t seed, uint32_t count)
{
    job_case("test_many_sim: %u groups, %s, seed %llu", count, shape, (unsigned long long)seed);
    struct td_sim *sim = job_world(shape, seed, roomy);
    job_spread(sim, 4, nodes);
    job_form(&job, sim, "job", nodes, 4, 0);
    make_groups(count);
    td_sim_close(sim, job.rank[3].client);
    for (uint32_t i = 0; i < 3; i++)
        job_call(&job, i, &barrier, 0, false);
    job_settle(&job);
    for (uint32_t i = 0; i < 3; i++)
        job_expect(&job, i, TD_ERR_RANK_FAILED, "rank 3");
    CHECK(td_sim_drops(sim) == 0);
    job_world_end(sim);
}

static void a_rank_with_many_groups_dies(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        lose_groups("2x2", seed, GROUPS);
        lose_groups("1", seed, GROUPS);
    }
}

/* A link keeps 2,048 messages that are not acknowledged. */
static void a_death_does_not_overrun_a_link(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        lose_groups("2x2", seed, 2500);
}

static void a_rank_dies_amid_many_operations(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        job_case("test_many_sim: operations, seed %llu", (unsigned long long)seed);
        struct td_sim *sim = job_world("3x3", 2 * seed + 1, roomy);
        job_spread(sim, 9, nodes);
        job_form(&job, sim, "job", nodes, 9, 0);

        for (uint32_t k = 0; k < OPERATIONS; k++)
            for (uint32_t i = 0; i < 8; i++)
                job_call(&job, i, &barrier, 0, false);
        td_sim_run(sim, SECOND / 2);
        td_sim_close(sim, job.rank[8].client);
        job_settle(&job);
        for (uint32_t i = 0; i < 8; i++)
            job_expect(&job, i, TD_ERR_RANK_FAILED, "rank 8");

        job_world_end(sim);
    }
}

static void tight(struct td_sim_options *o)
{
    roomy(o);
    o->settings.tuning.relay_bytes = 1 << 16;
    o->settings.scratch_bytes = 1 << 20;
}

/* An operation whose last rank does not call takes most of a node's scratch. Another job calls the
 * same meanwhile. */
static void an_operation_that_waits_gives_its_scratch_to_others(void **unused)
{
    (void)unused;
    static struct job other;
    const struct td_call sum = {
        .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT32, .op = TD_OP_SUM, .count = 150000};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        job_case("test_many_sim: scratch that waits, seed %llu", (unsigned long long)seed);
        struct td_sim *sim = job_world("3", seed, tight);
        for (uint32_t i = 0; i < 3; i++)
            nodes[i] = i;
        job_form(&job, sim, "job", nodes, 3, 600000);
        job_form(&other, sim, "other", nodes, 3, 600000);
        for (uint32_t i = 0; i < 3; i++)
            *(int32_t *)job_source(&job, i, 0) = *(int32_t *)job_source(&other, i, 0) = 1;
        job_call(&job, 1, &sum, 0, false);
        job_call(&job, 2, &sum, 0, false);
        td_sim_run(sim, 2 * SECOND); /* progress_timeout is 1 s */
        job_call_all(&other, &sum, 0, false);
        td_sim_run(sim, 4 * SECOND);
        job_expect_all(&other, TD_OK, NULL);
        job_call(&job, 0, &sum, 0, false);
        job_settle(&job);
        job_expect_all(&job, TD_OK, NULL);
        for (uint32_t i = 0; i < 3; i++)
            CHECK(*(int32_t *)job_destination(&job, i, 0) == 3);
        job_world_end(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scattered_ranks_of_two_nodes_gather),
        cmocka_unit_test(a_node_has_as_many_ranks_as_the_limit),
        cmocka_unit_test(one_rank_more_is_refused_and_the_others_wait),
        cmocka_unit_test(a_rank_with_many_groups_dies),
        cmocka_unit_test(a_death_does_not_overrun_a_link),
        cmocka_unit_test(a_rank_dies_amid_many_operations),
        cmocka_unit_test(an_operation_that_waits_gives_its_scratch_to_others),
    };
    cmocka_set_test_filter(getenv("TORUS_TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
