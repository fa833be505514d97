/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that pass, one at a time: paused daemons, links that hold, slow, corrupt or duplicate,
 * partitions, refused memory. Each is seen to happen, and what it leaves behind is checked.
 * TORUS_TEST_CASE=NAME runs one test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "sim/disturbances.h"

enum { SEEDS = 12, RANKS = 8, COUNT = 3000 };

static const struct td_call sum = {
    .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT32, .op = TD_OP_SUM, .count = COUNT};
static struct job job;

static void patient(struct td_sim_options *o)
{
    o->settings.heartbeat_ns = SECOND / 10;
    o->settings.progress_timeout_ns = SECOND;
}

static struct td_sim *begin(const char *shape, uint64_t seed, const char *name)
{
    uint32_t nodes[RANKS];
    job_case("TORUS_TEST_CASE=%s test_disturbances_sim # seed %llu", name,
             (unsigned long long)seed);
    struct td_sim *sim = job_world(shape, seed, patient);
    job_spread(sim, RANKS, nodes);
    job_form(&job, sim, "job", nodes, RANKS, COUNT * 4);
    for (uint32_t i = 0; i < RANKS; i++)
        for (uint32_t k = 0; k < COUNT; k++)
            ((int32_t *)job_source(&job, i, 0))[k] = (int32_t)(i + k);
    return sim;
}

static void check_sums(void)
{
    job_settle(&job);
    job_expect_all(&job, TD_OK, NULL);
    for (uint32_t i = 0; i < RANKS; i++)
        for (int32_t k = 0; k < COUNT; k++)
            CHECK(((int32_t *)job_destination(&job, i, 0))[k] == RANKS * (RANKS - 1) / 2 + 8 * k);
}

static void end(struct td_sim *sim)
{
    job_call_all(&job, &sum, 0, false);
    check_sums();
    job_world_end(sim);
}

/* A node that runs again must not be told of heartbeats that it has not read yet, so the pause is
 * shorter than half of progress_timeout. */
static void nothing_happens_at_a_paused_node_and_then_everything_in_order(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct td_sim *sim = begin("2x2", seed, __func__);
        job_call_all(&job, &sum, 0, false);
        td_sim_pause_node(sim, 2);
        td_sim_run(sim, SECOND * 4 / 10);
        for (uint32_t i = 0; i < RANKS; i++)
            CHECK(!job_reply(&job, i));
        td_sim_thaw_node(sim, 2);
        check_sums();
        CHECK(td_sim_drops(sim) == 0);
        end(sim);
    }
}

/* A daemon may be paused after it has told its driver to send and before the bytes are read. Nobody
 * may receive such a packet, and nobody may lose it. */
static void packets_of_a_node_that_is_paused_at_any_time_arrive(void **unused)
{
    (void)unused;
    bool waited = false;
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        struct td_sim *sim = begin("2x2", seed, __func__);
        job_call_all(&job, &sum, 0, false);
        td_sim_run(sim, seed * 20000);
        td_sim_pause_node(sim, 2);
        td_sim_run(sim, SECOND * 2 / 10);
        for (uint32_t i = 0; i < RANKS; i++)
            waited |= !job_reply(&job, i);
        td_sim_thaw_node(sim, 2);
        check_sums();
        end(sim);
    }
    CHECK(waited);
}

static void a_link_that_holds_one_way_delivers_later(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct td_sim *sim = begin("2", seed, __func__);
        td_sim_hold_link(sim, seed % 2, 1 - seed % 2);
        job_call_all(&job, &sum, 0, false);
        td_sim_run(sim, SECOND * 4 / 10);
        bool all = true;
        for (uint32_t i = 0; i < RANKS; i++)
            all &= job_reply(&job, i) != NULL;
        CHECK(!all);
        td_sim_release_link(sim, seed % 2, 1 - seed % 2);
        check_sums();
        CHECK(td_sim_drops(sim) == 0);
        end(sim);
    }
}

static void a_dead_node_behind_a_link_that_holds_is_not_heard_of(void **unused)
{
    (void)unused;
    struct td_sim *sim = begin("2", 2, __func__);
    td_sim_hold_link(sim, 1, 0);
    td_sim_kill_node(sim, 1);
    td_sim_run(sim, SECOND / 2);
    job_call(&job, 0, &sum, 0, false);
    td_sim_run(sim, SECOND / 10);
    CHECK(!job_reply(&job, 0));
    td_sim_release_link(sim, 1, 0);
    job_settle(&job);
    job_expect(&job, 0, TD_ERR_NODE_FAILED, "node 1");
    job_world_end(sim);
}

static void each_byte_takes_its_time_on_a_slow_link(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct td_sim *sim = begin("2", seed, __func__);
        for (uint32_t i = 0; i < 2; i++)
            td_sim_slow_link(sim, i, 1 - i, 5000);
        td_time before = td_sim_now(sim);
        job_call_all(&job, &sum, 0, false);
        check_sums();
        CHECK(td_sim_now(sim) - before > (td_time)COUNT / 2 * 4 * 5000);
        td_sim_heal(sim);
        before = td_sim_now(sim);
        job_call_all(&job, &sum, 0, false);
        check_sums();
        CHECK(td_sim_now(sim) - before < (td_time)COUNT / 2 * 4 * 5000);
        job_world_end(sim);
    }
}

static void each_side_of_a_partition_goes_on_and_both_together_when_it_heals(void **unused)
{
    (void)unused;
    static struct job left, right, whole;
    static const uint32_t lefts[] = {0, 1, 1}, rights[] = {2, 3, 3}, all[] = {0, 1, 2, 3};
    static const bool set[] = {false, false, true, true};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct td_sim *sim = begin("4", seed, __func__);
        job_form(&left, sim, "left", lefts, 3, COUNT * 4);
        job_form(&right, sim, "right", rights, 3, COUNT * 4);
        td_sim_partition(sim, set, seed / 2 % 2);
        job_call_all(&job, &sum, 0, false);
        job_call_all(&left, &sum, 0, false);
        job_call_all(&right, &sum, 0, false);
        td_sim_run(sim, SECOND / 2);
        job_expect_all(&left, TD_OK, NULL);
        job_expect_all(&right, TD_OK, NULL);
        for (uint32_t i = 0; i < RANKS; i++)
            CHECK(!job_reply(&job, i));
        td_sim_heal(sim);
        job_settle(&job);
        job_form(&whole, sim, "whole", all, 4, 0);
        job_world_end(sim);
    }
}

static void a_damaged_frame_is_sent_again(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct td_sim *sim = begin("2x2", seed, __func__);
        for (uint32_t i = 0; i < 4; i++)
            for (uint32_t k = 0; k < 4; k++)
                if (i != k)
                    td_sim_disturb_link(sim, i, k, 100, 0);
        for (int calls = 0; calls < 20 && td_sim_damaged(sim) == 0; calls++) {
            job_call_all(&job, &sum, 0, false);
            check_sums();
        }
        CHECK(td_sim_damaged(sim) > 0);
        td_sim_heal(sim);
        end(sim);
    }
}

static void a_frame_that_arrives_twice_counts_once(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct td_sim *sim = begin("2x2", seed, __func__);
        for (uint32_t i = 0; i < 4; i++)
            for (uint32_t k = 0; k < 4; k++)
                if (i != k)
                    td_sim_disturb_link(sim, i, k, 0, 500);
        for (int i = 0; i < 5; i++) {
            job_call_all(&job, &sum, 0, false);
            check_sums();
        }
        CHECK(td_sim_drops(sim) == 0 && td_sim_duplicated(sim) > 0);
        td_sim_heal(sim);
        end(sim);
    }
}

static void a_call_without_memory_fails_and_the_next_succeeds(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct td_sim *sim = begin("2x2", seed, __func__);
        td_sim_refuse_memory(sim, 1, (struct td_refusals){0, UINT64_MAX});
        job_call_all(&job, &sum, 0, false);
        td_sim_run(sim, SECOND / 2);
        bool all = true;
        for (uint32_t i = 0; i < RANKS; i++)
            all &= job_reply(&job, i) && job_reply(&job, i)->error == TD_OK;
        CHECK(!all);
        td_sim_refuse_memory(sim, 1, (struct td_refusals){0});
        for (uint32_t i = 0; i < RANKS; i++) /* a call that was refused is made again */
            if (job_reply(&job, i) && job_reply(&job, i)->refused) {
                job.rank[i].calls--;
                job_call(&job, i, &sum, 0, false);
            }
        job_settle(&job);
        end(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_happens_at_a_paused_node_and_then_everything_in_order),
        cmocka_unit_test(packets_of_a_node_that_is_paused_at_any_time_arrive),
        cmocka_unit_test(a_link_that_holds_one_way_delivers_later),
        cmocka_unit_test(a_dead_node_behind_a_link_that_holds_is_not_heard_of),
        cmocka_unit_test(each_byte_takes_its_time_on_a_slow_link),
        cmocka_unit_test(each_side_of_a_partition_goes_on_and_both_together_when_it_heals),
        cmocka_unit_test(a_damaged_frame_is_sent_again),
        cmocka_unit_test(a_frame_that_arrives_twice_counts_once),
        cmocka_unit_test(a_call_without_memory_fails_and_the_next_succeeds),
    };
    cmocka_set_test_filter(getenv("TORUS_TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
