/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that share links in virtual time: a job with all-to-alls of 1 GiB, and one or nine others
 * with small operations. What an operation takes is bounded by the share of its job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"

enum {
    NODES = 4,
    OTHERS_MAX = 9,
    CALLS = 3, /* of the hog at the same time */
    ROUNDS = 20,
    SMALL_BYTES = 65536,
    PACKET_BYTES = 65536,
    LATENCY_NS = 500000, /* direct */
    RATE = 1000000000,   /* routed */
};

static const uint64_t HOG_BYTES = (uint64_t)1 << 30; /* of a rank */
static struct job hog, other[OTHERS_MAX];
static unsigned fabric;

static void roomy(struct td_sim_options *o)
{
    o->timing_only = true;
    o->modelled = fabric == TD_FABRIC_ROUTED;
    o->control_ns = 1000;
    o->latency_ns_max = LATENCY_NS;
    o->compute_ns_max = 20000;
    o->request_ns_max = 1;
    o->settings.tuning.fabric = (uint8_t)fabric;
    o->settings.tuning.relay_bytes = (uint64_t)1 << 43;
    o->settings.arena_bytes = (uint64_t)64 << 20;
    o->settings.scratch_bytes = (uint64_t)1 << 44;
    o->settings.region_bytes_max = (uint64_t)1 << 44;
    o->settings.packet_bytes = PACKET_BYTES;
    o->settings.link_credits = 16;
    o->settings.link_rate = fabric == TD_FABRIC_ROUTED ? RATE : 0;
    o->settings.progress_timeout_ns = 3600 * (int64_t)SECOND;
    o->settings.heartbeat_ns = 1800 * (int64_t)SECOND;
}

/* wait_for runs until all ranks of some jobs have replies, and returns how long the last one took.
 */
static td_time wait_for(struct job *jobs, uint32_t count)
{
    struct td_sim *sim = jobs->sim;
    td_time begin = td_sim_now(sim);
    for (uint32_t j = 0; j < count; j++) {
        for (uint32_t i = 0; i < jobs[j].size; i++)
            while (!job_reply(&jobs[j], i)) {
                EXPECT(td_sim_now(sim) < begin + 600 * SECOND, "no end after ten minutes");
                td_sim_run(sim, td_sim_next(sim) - td_sim_now(sim));
            }
        job_expect_all(&jobs[j], TD_OK, NULL);
    }
    return td_sim_now(sim) - begin;
}

/* slowest returns the longest time of an operation, while all the others call it over and over. */
static td_time slowest(const struct td_call *call, uint32_t jobs)
{
    td_time most = 0;
    for (int k = 0; k < ROUNDS; k++) {
        for (uint32_t j = 0; j < jobs; j++)
            job_call_all(&other[j], call, 0, false);
        td_time taken = wait_for(other, jobs);
        most = taken > most ? taken : most;
    }
    return most;
}

/* ahead returns the time of the packets that have their place before a small operation begins: on
 * the direct fabric the window of a link, on the routed one the queues of two nodes. */
static td_time ahead(void)
{
    struct td_settings settings;
    td_settings_default(&settings);
    const struct td_router_rules *rules = &settings.router;
    uint64_t packets = rules->fifo_slots + rules->queues + TD_CHANNELS * rules->slots;
    return fabric == TD_FABRIC_DIRECT ? (td_time)4 * LATENCY_NS
                                      : 2 * packets * PACKET_BYTES * SECOND / RATE;
}

static void share(unsigned kind, const char *shape, uint32_t jobs)
{
    const struct td_call sum = {.kind = TD_KIND_ALLREDUCE,
                                .type = TD_TYPE_INT32,
                                .op = TD_OP_SUM,
                                .count = SMALL_BYTES / 4};
    const struct td_call all = {
        .kind = TD_KIND_ALLTOALL, .type = TD_TYPE_BYTE, .count = HOG_BYTES / NODES};
    uint32_t nodes[NODES] = {0, 1, 2, 3};
    fabric = kind;
    job_case("test_shares_sim: %s, fabric %u, %u other jobs", shape, kind, jobs);
    struct td_sim *sim = job_world(shape, 1, roomy);
    job_form(&hog, sim, "hog", nodes, NODES, HOG_BYTES);
    for (uint32_t j = 0; j < jobs; j++) {
        char name[16];
        snprintf(name, sizeof name, "other%u", j);
        job_form(&other[j], sim, name, nodes, NODES, SMALL_BYTES);
    }

    td_time alone = slowest(&sum, 1);
    for (int k = 0; k < CALLS; k++)
        job_call_all(&hog, &all, 0, false);
    td_sim_run(sim, SECOND / 100);
    td_time beside = slowest(&sum, jobs), most = (jobs + 1) * alone + 2 * ahead();
    EXPECT(beside <= most, "an operation took %llu us beside the hog, and %llu us alone",
           (unsigned long long)beside / 1000, (unsigned long long)alone / 1000);
    EXPECT(!job_reply(&hog, 0), "the hog did not last");

    job_settle(&hog);
    job_world_end(sim);
}

static void two_jobs_share_direct_links(void **unused)
{
    (void)unused;
    share(TD_FABRIC_DIRECT, "4", 1);
}

static void ten_jobs_share_direct_links(void **unused)
{
    (void)unused;
    share(TD_FABRIC_DIRECT, "4", OTHERS_MAX);
}

static void two_jobs_share_a_torus(void **unused)
{
    (void)unused;
    share(TD_FABRIC_ROUTED, "4", 1);
    share(TD_FABRIC_ROUTED, "2x2", 1);
}

static void ten_jobs_share_a_torus(void **unused)
{
    (void)unused;
    share(TD_FABRIC_ROUTED, "4", OTHERS_MAX);
    share(TD_FABRIC_ROUTED, "2x2", OTHERS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_jobs_share_direct_links),
        cmocka_unit_test(ten_jobs_share_direct_links),
        cmocka_unit_test(two_jobs_share_a_torus),
        cmocka_unit_test(ten_jobs_share_a_torus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
