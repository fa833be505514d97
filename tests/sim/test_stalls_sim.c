/* SPDX-License-Identifier: Apache-2.0 */
/* One operation stands still while its nodes and links are well: its packets vanish, or a worker
 * computes for too long, or fails. It ends alone, with one sentence for all its ranks. Its group
 * and other jobs continue, on the same nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "seeds.h"

enum { NODES = 9, RANKS = 12, COUNT = 3000, STALLED = 2 /* the number of the operation */ };
#define LATE (20 * SECOND)

static const struct td_call barrier = {.kind = TD_KIND_BARRIER};
static const char stalled[] = "operation 2 of job job has stalled";
static struct job job, other;

/* struct culprit: the node at fault. */
static struct culprit {
    uint32_t node;
    uint64_t instance;      /* of the job whose operation is hit; 0: none is */
    bool loses;             /* its packets vanish */
    bool hit;               /* a worker was slow or has failed */
    int before;             /* computations of the kind that are not hit */
    td_time later;          /* slow: by that much */
    td_err error;           /* failing: with that error */
    enum td_step_kind kind; /* the computation that it hits */
} culprit;

/* lose_packets makes the packets of the operation that leave the node look like those of an
 * operation that has ended. The receiver returns their credits, and nobody unpacks them. */
static void lose_packets(void *me, uint32_t from, uint32_t to, struct td_packet *header)
{
    (void)me;
    (void)to;
    if (culprit.loses && from == culprit.node && header->kind == TD_PACKET_DATA &&
        header->instance == culprit.instance && header->sequence == STALLED)
        header->sequence = 0;
}

/* hit_worker hits one computation of the kind, anywhere: that node is the culprit. */
static td_err hit_worker(void *me, uint32_t node, const struct td_compute *c, td_time *later)
{
    (void)me;
    if (!culprit.instance || culprit.hit || c->kind != TD_COMPUTE_STEP ||
        c->step.kind != culprit.kind || culprit.before-- > 0)
        return TD_OK;
    culprit.node = node;
    culprit.hit = true;
    *later = culprit.later;
    return culprit.error;
}

static void faulty(struct td_sim_options *o)
{
    o->settings.heartbeat_ns = SECOND / 10;
    o->settings.progress_timeout_ns = SECOND;
    o->settings.carry_bytes = 0; /* lose_packets finds the culprit by its packets */
    o->tamper.packet = lose_packets;
    o->workers.compute = hit_worker;
}

/* limit returns the time within which a stalled operation ends. */
static td_time limit(uint64_t seed)
{
    return (seed % 2 ? 3 : 1) * SECOND + SECOND; /* odd seeds: the routed fabric */
}

static uint64_t form(struct job *j, struct td_sim *sim, const char *name, uint32_t size)
{
    uint32_t nodes[JOB_RANKS_MAX];
    job_spread(sim, size, nodes);
    job_form(j, sim, name, nodes, size, 1 << 17);
    return job_reply(j, 0)->u.joined.instance;
}

static void fill(struct job *j)
{
    for (uint32_t i = 0; i < j->size; i++)
        for (uint32_t k = 0; k < COUNT; k++)
            ((int32_t *)job_source(j, i, 0))[k] = (int32_t)(i + k);
}

static void expect_sum(struct job *j)
{
    job_expect_all(j, TD_OK, NULL);
    for (uint32_t i = 0; i < j->size; i++)
        for (uint32_t k = 0; k < COUNT; k++)
            CHECK(((int32_t *)job_destination(j, i, 0))[k] ==
                  (int32_t)(j->size * (j->size - 1) / 2 + j->size * k));
}

static const struct td_call sum = {
    .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT32, .op = TD_OP_SUM, .count = COUNT};

/* call_and_hit calls the operation, and waits until a worker is slow or has failed. It writes the
 * name of that node. */
static void call_and_hit(struct td_sim *sim, char *name, size_t size)
{
    culprit.kind = TD_COMBINE;
    culprit.before = (int)td_sim_random(sim, 3);
    job_call_all(&job, &sum, 0, false);
    for (int i = 0; i < 1000 && !culprit.hit; i++)
        td_sim_run(sim, SECOND / 1000);
    CHECK(culprit.hit);
    snprintf(name, size, "node %u ", culprit.node);
}

/* go_on runs the world for a time, in which the other job works without an error. */
static void go_on(struct td_sim *sim, td_time duration)
{
    for (td_time end = td_sim_now(sim) + duration; td_sim_now(sim) < end;) {
        fill(&other);
        job_call_all(&other, &sum, 0, false);
        td_sim_run(sim, SECOND / 8);
        expect_sum(&other);
        job_call_all(&other, &barrier, 0, false);
        td_sim_run(sim, SECOND / 8);
        job_expect_all(&other, TD_OK, NULL);
    }
}

/* expect_one_ending checks that the ranks have the same sentence, with `part`. A rank of
 * `may_succeed` may have had all its data. It returns the sentence. */
static const char *expect_one_ending(td_err error, const char *part, uint32_t may_succeed)
{
    const char *text = NULL;
    for (uint32_t i = 0; i < job.size; i++) {
        const struct td_reply *r = job_reply(&job, i);
        EXPECT(r, "rank %u has no reply", i);
        if (job.rank[i].node == may_succeed && r->error == TD_OK)
            continue;
        job_expect(&job, i, error, part);
        text = text ? text : r->text;
        EXPECT(strcmp(text, r->text) == 0, "\"%s\" and \"%s\"", text, r->text);
    }
    CHECK(text);
    return text;
}

/* begin makes a world with two jobs on all nodes, and makes the operations before the stalled one.
 */
static struct td_sim *begin(const char *what, uint64_t seed)
{
    job_case("test_stalls_sim # %s, seed %llu", what, (unsigned long long)seed);
    culprit = (struct culprit){0};
    struct td_sim *sim = job_world("3x3", seed, faulty);
    uint64_t instance = form(&job, sim, "job", RANKS);
    form(&other, sim, "other", NODES);
    fill(&job);
    for (int i = 0; i < STALLED; i++) {
        job_call_all(&job, &barrier, 0, false);
        job_settle(&job);
    }
    culprit.instance = instance;
    culprit.node = (uint32_t)td_sim_random(sim, NODES);
    return sim;
}

/* finish checks that the group works as before. */
static void finish(struct td_sim *sim)
{
    culprit.instance = 0;
    fill(&job);
    job_call_all(&job, &sum, 0, false);
    job_settle(&job);
    expect_sum(&job);
    CHECK(td_sim_drops(sim) == 0);
    job_world_end(sim);
}

static void operation_whose_packets_vanish_ends_alone(void **unused)
{
    (void)unused;
    static const struct td_call calls[] = {
        {.kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT32, .op = TD_OP_SUM, .count = COUNT},
        {.kind = TD_KIND_ALLTOALL, .type = TD_TYPE_BYTE, .count = 1 << 12},
        {.kind = TD_KIND_ALLGATHER, .type = TD_TYPE_BYTE, .count = 1 << 12},
    };
    for (uint64_t seed = 0, seeds = seeds_count(24, 8, 200); seed < seeds; seed++) {
        const struct td_call *call = &calls[seed / 2 % 3];
        struct td_sim *sim = begin("vanishing packets", seed);
        culprit.loses = true;
        job_call_all(&job, call, 0, false);
        go_on(sim, limit(seed));
        const char *text = expect_one_ending(
            TD_ERR_TIMEOUT, stalled, call->kind == TD_KIND_ALLREDUCE ? UINT32_MAX : culprit.node);
        EXPECT(strstr(text, ": node ") && strstr(text, " for node "), "%s", text);
        finish(sim);
    }
}

static void later_operations_of_the_group_do_not_wait(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0, seeds = seeds_count(8, 4, 50); seed < seeds; seed++) {
        struct td_sim *sim = begin("the group goes on", seed);
        culprit.loses = true;
        struct td_request first[RANKS];
        job_call_all(&job, &sum, 0, false);
        for (uint32_t i = 0; i < RANKS; i++)
            first[i].id = job.rank[i].request;
        job_call_all(&job, &barrier, 0, false);
        td_sim_run(sim, SECOND / 2);
        job_expect_all(&job, TD_OK, NULL);
        go_on(sim, limit(seed));
        for (uint32_t i = 0; i < RANKS; i++)
            job.rank[i].request = first[i].id;
        expect_one_ending(TD_ERR_TIMEOUT, stalled, UINT32_MAX);
        finish(sim);
    }
}

static void operation_with_a_slow_worker_ends_alone_and_names_its_node(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0, seeds = seeds_count(12, 4, 100); seed < seeds; seed++) {
        struct td_sim *sim = begin("a slow worker", seed);
        char name[32];
        culprit.later = LATE;
        call_and_hit(sim, name, sizeof name);
        go_on(sim, limit(seed));
        for (uint32_t i = 0; i < RANKS; i++)
            if (job.rank[i].node != culprit.node)
                job_expect(&job, i, TD_ERR_TIMEOUT, name);
        go_on(sim, LATE); /* the node's own ranks hear of it when nobody writes to their memory */
        expect_one_ending(TD_ERR_TIMEOUT, stalled, UINT32_MAX);
        finish(sim);
    }
}

static void operation_with_a_failing_worker_ends_everywhere_at_once(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0, seeds = seeds_count(12, 4, 100); seed < seeds; seed++) {
        struct td_sim *sim = begin("a failing worker", seed);
        char name[32];
        culprit.error = TD_ERR_SYSTEM;
        call_and_hit(sim, name, sizeof name);
        go_on(sim, SECOND / 4);
        expect_one_ending(TD_ERR_SYSTEM, name, UINT32_MAX);
        finish(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operation_whose_packets_vanish_ends_alone),
        cmocka_unit_test(later_operations_of_the_group_do_not_wait),
        cmocka_unit_test(operation_with_a_slow_worker_ends_alone_and_names_its_node),
        cmocka_unit_test(operation_with_a_failing_worker_ends_everywhere_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
