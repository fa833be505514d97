/* SPDX-License-Identifier: Apache-2.0 */
/* Groups made of some ranks of a job: ranks that come late get the ending that the others got, and
 * sentences name ranks of the job. TORUS_TEST_CASE=SEED runs one seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "seeds.h"

enum { RANKS = 6, MEMBERS = 3, SEEDS = SEEDS_SANITIZED ? 20 : 60 };

static const uint64_t members[MEMBERS] = {1, 3, 5};
static const struct td_call barrier = {.kind = TD_KIND_BARRIER};
static struct job job, made; /* made: the same ranks, with their groups of three */

static struct td_sim *begin(uint64_t seed)
{
    uint32_t nodes[RANKS];
    job_case("test_late_sim # seed %llu", (unsigned long long)seed);
    struct td_sim *sim = job_world("2x3", seed, NULL);
    job_spread(sim, RANKS, nodes);
    job_form(&job, sim, "job", nodes, RANKS, 1 << 12);
    made = job;
    return sim;
}

/* request_group asks for the group of the members. */
static void request_group(uint32_t rank)
{
    struct td_request q = {.kind = TD_REQUEST_GROUP};
    q.u.make.group = job.rank[rank].group;
    q.u.make.number = 1;
    q.u.make.members = MEMBERS;
    q.u.make.member = members;
    made.rank[rank].request = td_sim_request(job.sim, job.rank[rank].client, &q);
}

/* create calls the barrier with which a rank creates the group, if it may. */
static void create(uint32_t rank, int64_t timeout_ns)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    const struct td_reply *r = job_reply(&made, rank);
    if (r->error != TD_OK)
        return;
    CHECK(r->kind == TD_REPLY_JOINED);
    made.rank[rank].group = r->u.joined.group;
    made.rank[rank].calls = 0;
    q.u.operation.call = barrier;
    q.u.operation.timeout_ns = timeout_ns;
    job_make(&made, rank, &q);
}

static void leave(uint32_t rank)
{
    struct td_request q = {.kind = TD_REQUEST_LEAVE};
    q.u.leave.group = made.rank[rank].group;
    td_sim_request(job.sim, job.rank[rank].client, &q);
}

static void settle(void)
{
    CHECK(td_sim_settle(job.sim, 100 * SECOND));
}

/* begin_with_group makes a world in which the members have their group. */
static struct td_sim *begin_with_group(uint64_t seed)
{
    struct td_sim *sim = begin(seed);
    for (unsigned i = 0; i < MEMBERS; i++)
        request_group((uint32_t)members[i]);
    settle();
    for (unsigned i = 0; i < MEMBERS; i++)
        create((uint32_t)members[i], -1);
    settle();
    return sim;
}

static void check_late(uint64_t seed)
{
    uint32_t late = (uint32_t)members[seed / 2 % MEMBERS];
    char text[TD_TEXT_MAX], name[32];
    struct td_sim *sim = begin(seed);
    for (unsigned i = 0; i < MEMBERS; i++)
        if (members[i] != late)
            request_group((uint32_t)members[i]);
    settle();
    for (unsigned i = 0; i < MEMBERS; i++)
        if (members[i] != late)
            create((uint32_t)members[i], (int64_t)SECOND);
    settle();
    uint32_t first = (uint32_t)members[late == 1];
    snprintf(text, sizeof text, "%s", job_reply(&made, first)->text);
    for (unsigned i = 0; i < MEMBERS; i++)
        if (members[i] != late) {
            job_expect(&made, (uint32_t)members[i], TD_ERR_TIMEOUT, text);
            leave((uint32_t)members[i]);
        }
    snprintf(name, sizeof name, "rank %u", late);
    EXPECT(strstr(text, name) || strstr(text, "created the group in time"), "%s", text);
    td_sim_run(sim, seed % 4 < 2 ? SECOND : SECOND / 50); /* the verdict arrives */
    td_time before = td_sim_now(sim);
    request_group(late);
    settle();
    create(late, -1);
    settle();
    job_expect(&made, late, TD_ERR_TIMEOUT, text);
    CHECK(td_sim_now(sim) - before < SECOND);
    job_world_end(sim);
}

static void late_rank_gets_the_ending_that_the_others_got(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        check_late(seed);
}

/* The others call, get the ending, and their processes end. */
static void late_rank_of_a_job_gets_the_ending_though_the_others_have_left(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct td_sim *sim = begin(seed);
        struct td_request q = {.kind = TD_REQUEST_OPERATION};
        uint32_t late = (uint32_t)(seed / 2 % RANKS);
        char text[TD_TEXT_MAX], name[32];
        q.u.operation.call = barrier;
        q.u.operation.timeout_ns = (int64_t)SECOND;
        for (uint32_t i = 0; i < RANKS; i++)
            if (i != late)
                job_make(&job, i, &q);
        settle();
        snprintf(name, sizeof name, "rank %u", late);
        snprintf(text, sizeof text, "%s", job_reply(&job, late == 0)->text);
        for (uint32_t i = 0; i < RANKS; i++)
            if (i != late) {
                job_expect(&job, i, TD_ERR_TIMEOUT, name);
                job_expect(&job, i, TD_ERR_TIMEOUT, text);
                td_sim_close(sim, job.rank[i].client);
            }
        td_sim_run(sim, seed % 4 < 2 ? SECOND : SECOND / 50);
        job_make(&job, late, &q);
        settle();
        job_expect(&job, late, TD_ERR_TIMEOUT, text);
        job_world_end(sim);
    }
}

static void death_in_a_made_group_names_the_rank_of_the_job(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct td_sim *sim = begin_with_group(seed);
        for (unsigned i = 0; i < MEMBERS; i++)
            job_expect(&made, (uint32_t)members[i], TD_OK, NULL);
        job_call(&made, 1, &barrier, 0, false);
        job_call(&made, 3, &barrier, 0, false);
        td_sim_close(sim, job.rank[5].client);
        settle();
        job_expect(&made, 1, TD_ERR_RANK_FAILED, "rank 5 of job job died");
        job_expect(&made, 3, TD_ERR_RANK_FAILED, "rank 5 of job job died");
        job_world_end(sim);
    }
}

/* request_copy asks for a group of all ranks of a group. */
static void request_copy(uint32_t rank, uint32_t group, uint64_t number)
{
    static const uint64_t all[RANKS] = {0, 1, 2, 3, 4, 5};
    struct td_request q = {.kind = TD_REQUEST_GROUP};
    q.u.make.group = group;
    q.u.make.number = number;
    q.u.make.members = RANKS;
    q.u.make.member = all;
    made.rank[rank].request = td_sim_request(job.sim, job.rank[rank].client, &q);
}

/* The first death breaks the group of which another one is made; a second rank dies before it makes
 * that, and its daemon does not know it. */
static void a_shrink_leaves_out_who_died_before_the_group_was_made(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        enum { FIRST = 0, SECOND_DEAD = 5 };
        struct td_sim *sim = begin(seed);
        for (uint32_t i = 0; i < RANKS; i++)
            request_copy(i, job.rank[i].group, 1);
        settle();
        for (uint32_t i = 0; i < RANKS; i++)
            create(i, -1);
        settle();
        for (uint32_t i = 1; i < SECOND_DEAD && seed / 2 % 2; i++)
            request_copy(i, made.rank[i].group, 2);
        td_sim_close(sim, job.rank[FIRST].client);
        td_sim_run(sim, seed / 4 % 2 ? SECOND / 10 : 0);
        td_sim_close(sim, job.rank[SECOND_DEAD].client);
        td_sim_run(sim, SECOND / 10);
        for (uint32_t i = 1; i < SECOND_DEAD && seed / 2 % 2 == 0; i++)
            request_copy(i, made.rank[i].group, 2);
        settle();
        for (uint32_t i = 1; i < SECOND_DEAD; i++) {
            struct td_request q = {.kind = TD_REQUEST_SHRINK};
            job_expect(&made, i, TD_OK, NULL);
            q.u.shrink.group = job_reply(&made, i)->u.joined.group;
            q.u.shrink.timeout_ns = -1;
            made.rank[i].request = td_sim_request(sim, job.rank[i].client, &q);
        }
        td_sim_run(sim, 3 * SECOND);
        for (uint32_t i = 1; i < SECOND_DEAD; i++) {
            job_expect(&made, i, TD_OK, NULL);
            CHECK(job_reply(&made, i)->u.joined.size == SECOND_DEAD - 1);
        }
        job_world_end(sim);
    }
}

static void different_calls_in_a_made_group_name_the_ranks_of_the_job(void **unused)
{
    const struct td_call reduce = {
        .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT32, .op = TD_OP_SUM, .count = 4};
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct td_sim *sim = begin_with_group(seed);
        job_call(&made, 1, &barrier, 0, false);
        job_call(&made, 3, &barrier, 0, false);
        job_call(&made, 5, &reduce, 0, false);
        settle();
        job_expect(&made, 1, TD_ERR_MISMATCH, "rank 5 called allreduce");
        job_world_end(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_rank_gets_the_ending_that_the_others_got),
        cmocka_unit_test(late_rank_of_a_job_gets_the_ending_though_the_others_have_left),
        cmocka_unit_test(death_in_a_made_group_names_the_rank_of_the_job),
        cmocka_unit_test(a_shrink_leaves_out_who_died_before_the_group_was_made),
        cmocka_unit_test(different_calls_in_a_made_group_name_the_ranks_of_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
