/* SPDX-License-Identifier: Apache-2.0 */
/* A user who is no rank cancels the calls of a job through any node: all ranks get one sentence,
 * the next calls of the group work, and a job that forms ends. TORUS_TEST_CASE=SEED runs one seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "seeds.h"

enum { RANKS = 8, LATE_RANK = 5, OWNER = 1000 /* the user of all simulated processes */ };

static struct job job;
static const struct td_call barrier = {.kind = TD_KIND_BARRIER};
static const struct td_call sum = {
    .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT64, .op = TD_OP_SUM, .count = 100};

static struct td_sim *world_of(uint64_t seed, uint32_t *nodes)
{
    static const char *const shapes[] = {"8", "2x2", "1", "2x4"};
    const char *shape = shapes[seed / 2 % 4];
    job_case("test_end_calls_sim # seed %llu, %s", (unsigned long long)seed, shape);
    struct td_sim *sim = job_world(shape, seed, NULL);
    job_spread(sim, RANKS, nodes);
    return sim;
}

/* end asks a node through another one for the end of all calls of the job, until it is connected.
 * It returns the number of calls that end there. */
static uint64_t end(struct td_sim *sim, uint32_t from, uint32_t node, uint64_t owner, td_err error)
{
    enum { TRIES = 100 };
    uint32_t client = td_sim_open(sim, from);
    struct td_request q = {.kind = TD_REQUEST_END_CALLS};
    q.u.end_calls.node = node + 1;
    q.u.end_calls.end =
        (struct td_message_end_calls){.job = "job", .owner = owner, .all = true, .why = "a test"};
    const struct td_reply *r = NULL;
    for (int i = 0; i < TRIES && (!r || r->error == TD_ERR_BUSY); i++) {
        uint64_t id = td_sim_request(sim, client, &q);
        td_sim_run(sim, SECOND / 10);
        r = td_sim_reply(sim, client, id);
        CHECK(r);
    }
    EXPECT(r->error == error, "node %u through %u: error %d, %s", node, from, r->error, r->text);
    uint64_t ended = r->kind == TD_REPLY_STATUS && r->error == TD_OK ? r->u.status.next : 0;
    td_sim_close(sim, client);
    return ended;
}

static void cancelled_call(uint64_t seed)
{
    uint32_t nodes[RANKS];
    struct td_sim *sim = world_of(seed, nodes);
    uint32_t count = td_sim_nodes(sim), from = (uint32_t)seed % count;
    const struct td_call *call = seed % 3 ? &sum : &barrier;
    job_form(&job, sim, "job", nodes, RANKS, 1 << 12);
    for (uint32_t i = 0; i < RANKS; i++)
        if (i != LATE_RANK)
            job_call(&job, i, call, 0, false);
    td_sim_run(sim, SECOND);
    end(sim, from, nodes[LATE_RANK], OWNER + 1, TD_ERR_PERMISSION);
    td_sim_run(sim, SECOND);
    CHECK(!job_reply(&job, 0));
    uint64_t ended = 0;
    for (uint32_t n = 0; n < count; n++)
        ended += end(sim, from, n, OWNER, TD_OK);
    CHECK(ended > 0);
    td_sim_run(sim, SECOND);
    job_call(&job, LATE_RANK, call, 0, false);
    job_settle(&job);
    job_expect_all(&job, TD_ERR_CANCELLED, "was cancelled by user ");
    job_expect_all(&job, TD_ERR_CANCELLED, ": a test");
    job_call_all(&job, &sum, 0, false);
    job_settle(&job);
    job_expect_all(&job, TD_OK, NULL);
    job_world_end(sim);
}

static void cancelled_calls_end_with_one_sentence_and_the_group_goes_on(void **unused)
{
    (void)unused;
    seeds_run(cancelled_call, 48, 12, 400);
}

static void cancelled_job(uint64_t seed)
{
    uint32_t nodes[RANKS];
    struct td_sim *sim = world_of(seed, nodes);
    uint32_t count = td_sim_nodes(sim);
    job_open(&job, sim, "job", nodes, RANKS, 1 << 12);
    for (uint32_t i = 0; i < RANKS; i++)
        if (i != LATE_RANK)
            job_join(&job, i, -1, 60 * (int64_t)SECOND);
    td_sim_run(sim, 2 * SECOND);
    uint64_t ended = 0;
    for (uint32_t n = 0; n < count; n++)
        ended += end(sim, (uint32_t)seed % count, n, OWNER, TD_OK);
    CHECK(ended == RANKS - 1);
    td_sim_run(sim, SECOND);
    for (uint32_t i = 0; i < RANKS; i++)
        if (i != LATE_RANK)
            job_expect(&job, i, TD_ERR_CANCELLED, "the join of job job was cancelled by user ");
    for (uint32_t i = 0; i < RANKS; i++) /* the name is free again */
        job_join(&job, i, i, 60 * (int64_t)SECOND);
    job_settle(&job);
    job_joined(&job);
    job_call_all(&job, &barrier, 0, false);
    job_settle(&job);
    job_expect_all(&job, TD_OK, NULL);
    job_world_end(sim);
}

static void a_job_that_forms_ends_and_its_name_is_free(void **unused)
{
    (void)unused;
    seeds_run(cancelled_job, 24, 8, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancelled_calls_end_with_one_sentence_and_the_group_goes_on),
        cmocka_unit_test(a_job_that_forms_ends_and_its_name_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
