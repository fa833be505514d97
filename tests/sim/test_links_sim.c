/* SPDX-License-Identifier: Apache-2.0 */
/* Links that are cut and come back, in virtual time, while all nodes send to all: nothing is lost,
 * nothing arrives twice, and no rank gets an error. And a node that never comes back: ranks that
 * need it get an error with its name, all others have the right data. TORUS_TEST_CASE=SEED runs one
 * seed of the last test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "seeds.h"
#include "sim/disturbances.h"

enum { PACKETS = 3, COUNT = (PACKETS * 1024 - 100) / 4 }; /* elements per pair */

static const char *const shapes[] = {"3x3", "4x4", "3x3x3", "2x4m"};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static const struct td_call all = {.kind = TD_KIND_ALLTOALL, .type = TD_TYPE_INT32, .count = COUNT};

static uint8_t method;
static uint8_t fabric;

static void few_credits(struct td_sim_options *o)
{
    o->settings.tuning.fabric = fabric;
    o->settings.tuning.alltoall = method;
    o->settings.packet_bytes = o->settings.tuning.packet_bytes = 1024;
    o->settings.link_credits = 2;
    o->settings.router.slots = 2;
    o->settings.heartbeat_ns = SECOND / 10;
    o->settings.progress_timeout_ns = SECOND;
    o->latency_ns_max = 20000;
    o->compute_ns_max = 20000;
    o->request_ns_max = 5000;
}

static uint32_t relay_loss; /* lost ones of 1,000 forwarded control messages */

static void few_credits_and_losses(struct td_sim_options *o)
{
    few_credits(o);
    o->relay_loss_permille = relay_loss;
}

static int32_t element(uint32_t from, uint32_t to, uint32_t i)
{
    return (int32_t)(from * 1000003u + to * 5003u + i);
}

static struct td_sim *begin(struct job *job, const char *shape, uint64_t seed)
{
    uint32_t nodes[JOB_RANKS_MAX];
    struct td_sim *sim = job_world(shape, seed, few_credits_and_losses);
    uint32_t size = td_sim_nodes(sim);
    job_spread(sim, size, nodes);
    job_form(job, sim, "job", nodes, size, (uint64_t)size * COUNT * 4);
    td_sim_forget(sim);
    return sim;
}

static void call(struct job *job)
{
    for (uint32_t r = 0; r < job->size; r++) {
        int32_t *source = job_source(job, r, 0);
        memset(job_destination(job, r, 0), 0xff, (size_t)job->size * COUNT * 4);
        for (uint32_t to = 0; to < job->size; to++)
            for (uint32_t i = 0; i < COUNT; i++)
                source[to * COUNT + i] = element(r, to, i);
    }
    job_call_all(job, &all, 0, false);
}

static void check_rank(struct job *job, uint32_t r)
{
    const int32_t *result = job_destination(job, r, 0);
    for (uint32_t from = 0; from < job->size; from++)
        for (uint32_t i = 0; i < COUNT; i++)
            EXPECT(result[from * COUNT + i] == element(from, r, i),
                   "rank %u was told of success, but element %u from %u is %d", r, i, from,
                   result[from * COUNT + i]);
}

static void finish(struct job *job)
{
    EXPECT(td_sim_settle(job->sim, 20 * SECOND), "somebody waits for ever");
    job_expect_all(job, TD_OK, NULL);
    for (uint32_t r = 0; r < job->size; r++)
        check_rank(job, r);
    EXPECT(td_sim_drops(job->sim) == 0, "a link was dropped");
    td_sim_forget(job->sim);
}

/* duration returns the time of a call without failures. */
static td_time duration(struct job *job)
{
    td_time before = td_sim_now(job->sim);
    call(job);
    finish(job);
    return td_sim_now(job->sim) - before;
}

static bool are_neighbours(const char *shape, uint32_t a, uint32_t b)
{
    struct td_topology t;
    size_t position = 0;
    const char *why = NULL;
    CHECK(td_topology_parse(&t, shape, &position, &why) == TD_OK);
    return td_topology_distance(&t, a, b) == 1;
}

/* Nodes on a route keep nothing, so any control message that they forward may be lost. The two ends
 * notice that, and no call or group is affected. A retransmission takes 0.4 s, and progress_timeout
 * is 1 s here: with 300 of 1,000 lost on each hop, calls do time out. */
static void lost_control_messages_are_retransmitted(void **unused)
{
    static const char *const tori[] = {"4x4", "3x3x3", "8", "4mx3m"};
    static const uint32_t losses[] = {10, 50, 100};
    (void)unused;
    fabric = TD_FABRIC_ROUTED;
    method = TD_ALLTOALL_RANDOM;
    for (unsigned i = 0; i < sizeof tori / sizeof tori[0]; i++)
        for (unsigned k = 0; k < sizeof losses / sizeof losses[0]; k++) {
            struct job job;
            relay_loss = losses[k];
            job_case("test_links_sim # %s, %u permille lost", tori[i], relay_loss);
            struct td_sim *sim = begin(&job, tori[i], i + 1);
            for (int round = 0; round < 3; round++) {
                call(&job);
                finish(&job);
            }
            for (uint32_t r = 0; r < job.size; r++)
                td_sim_close(sim, job.rank[r].client);
            td_sim_run(sim,
                       10 * SECOND); /* the messages that end the job may be lost several times */
            job_world_end(sim);
        }
    relay_loss = 0;
}

static void cut_each_in_turn(const char *shape, uint64_t seed)
{
    struct job job;
    job_case("test_links_sim # %s, fabric %d, method %d, seed %llu", shape, fabric, method,
             (unsigned long long)seed);
    struct td_sim *sim = begin(&job, shape, seed);
    td_time usual = duration(&job);
    for (uint32_t a = 0; a < job.size; a++)
        for (uint32_t b = a + 1; b < job.size; b++) {
            if (!are_neighbours(shape, a, b))
                continue;
            call(&job);
            td_sim_run(sim, td_sim_random(sim, usual));
            td_sim_break_link(sim, a, b);
            finish(&job);
        }
    job_world_end(sim);
}

static void every_link_is_cut_in_turn_and_nothing_is_lost(void **unused)
{
    static const uint8_t methods[] = {TD_ALLTOALL_RANDOM, TD_ALLTOALL_PHASED,
                                      TD_ALLTOALL_TWO_PHASE};
    (void)unused;
    uint64_t number = 0;
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (int s = 0; s < SHAPES; s++)
            for (int m = 0; m < 3; m++) {
                if (!seeds_pick(number++, 5) || (s == 2 && seed > 1))
                    continue;
                fabric = TD_FABRIC_ROUTED;
                method = methods[m];
                cut_each_in_turn(shapes[s], seed);
            }
}

static void direct_links_resume_too(void **unused)
{
    (void)unused;
    fabric = TD_FABRIC_DIRECT;
    method = TD_ALLTOALL_AUTO;
    for (uint64_t seed = 1; seed <= 4; seed++)
        cut_each_in_turn("3x3", seed);
}

/* One seed: many cuts at random times, also of links that are about to resume, between random
 * nodes. */
static void run_cuts(uint64_t seed)
{
    struct job job;
    job_case("TORUS_TEST_CASE=%llu test_links_sim", (unsigned long long)seed);
    fabric = seed % 5 ? TD_FABRIC_ROUTED : TD_FABRIC_DIRECT;
    method = (uint8_t)(seed % 7 % TD_ALLTOALLS);
    struct td_sim *sim = begin(&job, shapes[seed % SHAPES], seed);
    call(&job);
    uint64_t cuts = 1 + td_sim_random(sim, 20), a = 0, b = 0;
    td_time apart = td_sim_random(sim, 2) ? SECOND / 1000 : SECOND / 50;
    for (uint64_t i = 0; i < cuts; i++) {
        td_sim_run(sim, td_sim_random(sim, apart));
        if (i == 0 || td_sim_random(sim, 3)) { /* otherwise the same link again */
            a = td_sim_random(sim, job.size);
            b = (a + 1 + td_sim_random(sim, job.size - 1)) % job.size;
        }
        td_sim_break_link(sim, (uint32_t)a, (uint32_t)b);
    }
    finish(&job);
    call(&job);
    finish(&job);
    job_world_end(sim);
}

/* One seed: a node dies while others are cut off for a while. */
static void run_death(uint64_t seed)
{
    struct job job;
    bool others = seed % 2; /* a second job, without the node that dies */
    job_case("TORUS_TEST_CASE=%llu test_links_sim # death", (unsigned long long)seed);
    fabric = TD_FABRIC_ROUTED;
    method = (uint8_t)(seed % TD_ALLTOALLS);
    struct td_sim *sim = job_world(shapes[seed % SHAPES], seed, few_credits);
    uint32_t total = td_sim_nodes(sim), nodes[JOB_RANKS_MAX], size = 0;
    uint32_t dead = (uint32_t)td_sim_random(sim, total);
    char name[64];
    snprintf(name, sizeof name, "node %u ", dead);
    for (uint32_t n = 0; n < total; n++)
        if (!others || n != dead)
            nodes[size++] = n;
    job_form(&job, sim, "job", nodes, size, (uint64_t)size * COUNT * 4);
    td_sim_forget(sim);
    call(&job);
    td_sim_run(sim, td_sim_random(sim, SECOND / 1000));
    if (td_sim_random(sim, 2))
        td_sim_break_link(sim, (uint32_t)td_sim_random(sim, total - 1), total - 1);
    if (td_sim_random(sim, 3))
        td_sim_kill_node(sim, dead);
    else
        td_sim_freeze_node(sim, dead);
    EXPECT(td_sim_settle(sim, 20 * SECOND), "somebody waits for ever");
    for (uint32_t r = 0; r < size; r++) {
        const struct td_reply *reply = job.rank[r].node == dead ? NULL : job_reply(&job, r);
        if (job.rank[r].node == dead)
            continue;
        CHECK(reply);
        if (reply->error == TD_OK)
            check_rank(&job, r);
        else
            job_expect(&job, r, TD_ERR_NODE_FAILED, name);
    }
    td_sim_run(sim, 3 * SECOND);
    job_world_end(sim);
}

/* One seed: the job forms without a node that is dead, or that never ran, on the routes of some of
 * its messages. Then it calls twice. */
static void run_hole(uint64_t seed)
{
    struct job job;
    bool never = seed % 2;
    job_case("TORUS_TEST_CASE=%llu test_links_sim # hole", (unsigned long long)seed);
    fabric = TD_FABRIC_ROUTED;
    method = (uint8_t)(seed / 2 % TD_ALLTOALLS);
    struct td_sim *sim = job_world(shapes[seed % SHAPES], seed, few_credits);
    uint32_t total = td_sim_nodes(sim), nodes[JOB_RANKS_MAX], size = 0;
    uint32_t hole = 1 + (uint32_t)td_sim_random(sim, total - 1); /* node 0 forms the jobs */
    char name[64];
    snprintf(name, sizeof name, "node %u ", hole);
    for (uint32_t n = 0; n < total; n++)
        if (n != hole)
            nodes[size++] = n;
    if (!never)
        td_sim_run(sim, SECOND / 2);
    td_sim_kill_node(sim, hole);
    td_sim_run(sim, 4 * SECOND); /* progress_timeout has passed, and all nodes know */
    job_form(&job, sim, "job", nodes, size, (uint64_t)size * COUNT * 4);
    call(&job);
    EXPECT(td_sim_settle(sim, 20 * SECOND), "somebody waits for ever");
    for (uint32_t r = 0; r < size; r++)
        if (job_reply(&job, r)->error == TD_OK)
            check_rank(&job, r);
        else
            job_expect(&job, r, TD_ERR_NODE_FAILED, name);
    job_world_end(sim);
}

static void many_cuts_lose_nothing(void **unused)
{
    (void)unused;
    seeds_run(run_cuts, 250, 10, 20000);
}

static void a_dead_node_is_named_or_not_needed(void **unused)
{
    (void)unused;
    seeds_run(run_death, 250, 10, 20000);
}

static void a_hole_is_named_before_anybody_waits_long(void **unused)
{
    (void)unused;
    seeds_run(run_hole, 60, 5, 5000);
}

/* deafen plays a call between the ends of a row of three nodes. From `at` of it on, one end does
 * not hear the node between them for longer than progress_timeout. It returns true if that one has
 * lost packets of the other end: it says so, long before anybody would say that the call has
 * stalled. */
static bool deafen(td_time at)
{
    static const uint32_t nodes[] = {0, 2};
    struct job job;
    job_case("test_links_sim # deaf from %llu ns on", (unsigned long long)at);
    struct td_sim *sim = job_world("3m", 1, few_credits_and_losses);
    job_form(&job, sim, "job", nodes, 2, 2 * (uint64_t)COUNT * 4);
    td_sim_forget(sim);
    call(&job);
    td_sim_run(sim, at);
    td_sim_hold_link(sim, 1, 2);
    td_sim_run(sim, SECOND + SECOND / 2);
    td_sim_release_link(sim, 1, 2);
    td_sim_run(sim, SECOND);
    bool told = false;
    for (uint32_t r = 0; r < 2; r++) {
        const struct td_reply *reply = job_reply(&job, r);
        EXPECT(reply, "rank %u waits", r);
        bool good = reply->error == TD_OK, deaf = !good && strstr(reply->text, "lost node 1 (1)");
        told |= !good && !deaf;
        EXPECT(good || deaf ||
                   strstr(reply->text, "packets between node 1 (1) and node 2 (2) were lost"),
               "rank %u was told \"%s\"", r, reply->text);
    }
    job_world_end(sim);
    return told;
}

/* Neither end of the row knows what the node between them has lost. */
static void a_node_that_loses_packets_of_others_tells_their_origin(void **unused)
{
    unsigned told = 0;
    (void)unused;
    fabric = TD_FABRIC_ROUTED;
    method = TD_ALLTOALL_RANDOM;
    relay_loss = 0;
    for (td_time at = 0; at < 400000; at += 10000)
        told += deafen(at);
    assert_in_range(told, 3, 37);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_link_is_cut_in_turn_and_nothing_is_lost),
        cmocka_unit_test(lost_control_messages_are_retransmitted),
        cmocka_unit_test(direct_links_resume_too),
        cmocka_unit_test(many_cuts_lose_nothing),
        cmocka_unit_test(a_dead_node_is_named_or_not_needed),
        cmocka_unit_test(a_hole_is_named_before_anybody_waits_long),
        cmocka_unit_test(a_node_that_loses_packets_of_others_tells_their_origin),
    };
    uint64_t one;
    if (!seeds_one(&one))
        return cmocka_run_group_tests(tests, NULL, NULL);
    run_cuts(one);
    run_death(one);
    run_hole(one);
    return 0;
}
