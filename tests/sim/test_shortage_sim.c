/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon gets no memory at some moment: every call ends, and errors have their sentences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job.h"
#include "sim/disturbances.h"

enum { SEEDS = 4, PASSES = 60, RANKS = 6 };

static struct job job;
static const struct td_call barrier = {.kind = TD_KIND_BARRIER};
static const struct td_refusals NOTHING = {0, UINT64_MAX};

static void quick(struct td_sim_options *o)
{
    o->settings.heartbeat_ns = SECOND / 10;
    o->settings.progress_timeout_ns = SECOND;
}

static void start(uint64_t seed, const char *name)
{
    uint32_t nodes[RANKS];
    job_case("test_shortage_sim: %s, seed %llu", name, (unsigned long long)seed);
    struct td_sim *sim = job_world("3", seed, quick);
    job_spread(sim, RANKS, nodes);
    job_open(&job, sim, "job", nodes, RANKS, 0);
}

static void form(uint64_t seed, const char *name)
{
    start(seed, name);
    for (uint32_t i = 0; i < RANKS; i++)
        job_join(&job, i, i, -1);
    job_joined(&job);
}

/* call_all makes those of the first ranks call that are in the group that their last request was
 * for. */
static void call_all(uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++) {
        const struct td_reply *r = job_reply(&job, i);
        if (!r || r->error != TD_OK || td_sim_closed(job.sim, job.rank[i].client))
            continue;
        job.rank[i].group = r->u.joined.group;
        job.rank[i].calls = 0;
        job_call(&job, i, &barrier, 0, false);
    }
    job_settle(&job);
}

static void a_job_that_forms_without_memory_leaves_nobody_waiting(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (uint64_t pass = 0; pass < PASSES; pass++) {
            start(seed, __func__);
            td_sim_refuse_memory(job.sim, (uint32_t)(seed % 3),
                                 (struct td_refusals){pass, UINT64_MAX});
            for (uint32_t i = 0; i < RANKS; i++)
                job_join(&job, i, i, 2 * (int64_t)SECOND);
            job_settle(&job);
            td_sim_refuse_memory(job.sim, (uint32_t)(seed % 3), (struct td_refusals){0});
            call_all(RANKS);
            job_world_end(job.sim);
        }
}

static void a_shrink_without_memory_leaves_nobody_waiting(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (uint64_t pass = 0; pass < PASSES / 2; pass++) {
            form(seed, __func__);
            td_sim_close(job.sim, job.rank[5].client);
            td_sim_run(job.sim, SECOND / 10);
            td_sim_refuse_memory(job.sim, 1, (struct td_refusals){pass, UINT64_MAX});
            for (uint32_t i = 0; i < 5; i++) {
                struct td_request q = {.kind = TD_REQUEST_SHRINK};
                q.u.shrink.group = job.rank[i].group;
                q.u.shrink.timeout_ns = -1;
                job.rank[i].request = td_sim_request(job.sim, job.rank[i].client, &q);
            }
            job_settle(&job);
            for (uint32_t i = 0; i < 5; i++) /* the group is agreed on in any case */
                if (job.rank[i].node != 1)
                    job_expect(&job, i, TD_OK, NULL);
            td_sim_refuse_memory(job.sim, 1, (struct td_refusals){0});
            call_all(5);
            job_world_end(job.sim);
        }
}

static void the_sentence_of_an_error_needs_no_memory(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        form(seed, __func__);
        for (uint32_t i = 0; i < 5; i++)
            job_call(&job, i, &barrier, 0, false);
        td_sim_run(job.sim, SECOND / 10);
        for (uint32_t n = 0; n < 3; n++)
            td_sim_refuse_memory(job.sim, n, NOTHING);
        td_sim_close(job.sim, job.rank[5].client);
        job_settle(&job);
        for (uint32_t i = 0; i < 5; i++)
            job_expect(&job, i, TD_ERR_RANK_FAILED, "rank 5");
        for (uint32_t n = 0; n < 3; n++)
            td_sim_refuse_memory(job.sim, n, (struct td_refusals){0});
        job_world_end(job.sim);
    }
}

/* The process has sent its second call before it reads that the first one is refused. */
static void a_refused_call_can_be_made_again_after_the_group_broke(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        form(seed, __func__);
        td_sim_refuse_memory(job.sim, 0, NOTHING);
        job_call(&job, 0, &barrier, 0, false);
        td_sim_run(job.sim, SECOND / 10);
        job_expect(&job, 0, TD_ERR_NO_MEMORY, NULL);
        td_sim_refuse_memory(job.sim, 0, (struct td_refusals){0});
        td_sim_close(job.sim, job.rank[5].client);
        td_sim_run(job.sim, SECOND / 10);
        for (uint32_t again = 0; again < 2; again++) {
            job.rank[0].calls = 1 - again;
            job_call(&job, 0, &barrier, 0, false);
            td_sim_run(job.sim, SECOND / 10);
            job_expect(&job, 0, TD_ERR_RANK_FAILED, "rank 5");
        }
        CHECK(!td_sim_closed(job.sim, job.rank[0].client));
        job_world_end(job.sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_forms_without_memory_leaves_nobody_waiting),
        cmocka_unit_test(a_shrink_without_memory_leaves_nobody_waiting),
        cmocka_unit_test(the_sentence_of_an_error_needs_no_memory),
        cmocka_unit_test(a_refused_call_can_be_made_again_after_the_group_broke),
    };
    cmocka_set_test_filter(getenv("TORUS_TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
