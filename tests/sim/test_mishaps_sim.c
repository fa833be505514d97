/* SPDX-License-Identifier: Apache-2.0 */
/* Failures in virtual time: first each failure alone, then seeds that draw several. These always
 * hold: every request of a live process with a live daemon gets a reply; after a success the result
 * is right; an error names a failure that happened (a link that is cut and comes back is none);
 * other jobs continue; and nothing is left. TORUS_TEST_CASE=SEED runs one seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "seeds.h"

enum { COUNT = 3000 }; /* elements: more than travels with an arrival */

static const struct td_call barrier = {.kind = TD_KIND_BARRIER};

static void impatient(struct td_sim_options *o)
{
    o->settings.heartbeat_ns = SECOND / 10;
    o->settings.progress_timeout_ns = SECOND;
}

/* ---- one mishap each ---- */

static void form(struct job *job, struct td_sim *sim, const char *name, uint32_t size)
{
    uint32_t nodes[JOB_RANKS_MAX];
    job_spread(sim, size, nodes);
    job_form(job, sim, name, nodes, size, 1 << 16);
}

static void death_of_a_rank_is_told_to_its_job_alone(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct job job, other;
        job_case("test_mishaps_sim # dead rank, seed %llu", (unsigned long long)seed);
        struct td_sim *sim = job_world("2x3", seed, impatient);
        form(&job, sim, "job", 12);
        form(&other, sim, "other", 6);
        uint32_t dead = (uint32_t)td_sim_random(sim, 12);
        char name[64];
        snprintf(name, sizeof name, "rank %u of job job", dead);
        for (uint32_t i = 0; i < 12; i++)
            if (i != dead)
                job_call(&job, i, &barrier, 0, false);
        td_sim_run(sim, td_sim_random(sim, SECOND / 100));
        td_sim_close(sim, job.rank[dead].client);
        job_settle(&job);
        for (uint32_t i = 0; i < 12; i++)
            if (i != dead)
                job_expect(&job, i, TD_ERR_RANK_FAILED, name);
        job_call_all(&other, &barrier, 0, false);
        job_settle(&other);
        job_expect_all(&other, TD_OK, NULL);
        job_world_end(sim);
    }
}

static void death_of_a_daemon_is_told_with_its_name(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct job job;
        bool silent = seed % 2;
        job_case("test_mishaps_sim # dead node, seed %llu", (unsigned long long)seed);
        struct td_sim *sim = job_world("3x3", seed, impatient);
        form(&job, sim, "job", 18);
        td_sim_run(sim, 2 * SECOND); /* all daemons vote */
        uint32_t dead = (uint32_t)td_sim_random(sim, 9);
        char name[64];
        snprintf(name, sizeof name, "node %u ", dead);
        for (uint32_t i = 0; i < 18; i++)
            if (job.rank[i].node != dead)
                job_call(&job, i, &barrier, 0, false);
        td_sim_run(sim, td_sim_random(sim, SECOND / 100));
        td_time before = td_sim_now(sim);
        if (silent)
            td_sim_freeze_node(sim, dead);
        else
            td_sim_kill_node(sim, dead);
        job_settle(&job);
        for (uint32_t i = 0; i < 18; i++)
            if (job.rank[i].node != dead)
                job_expect(&job, i, TD_ERR_NODE_FAILED, name);
        EXPECT(td_sim_now(sim) - before < (silent ? 3 * SECOND : SECOND / 2), "it took %llu ns",
               (unsigned long long)(td_sim_now(sim) - before));
        job_world_end(sim);
    }
}

static void broken_link_comes_back_and_nobody_notices(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct job job;
        job_case("test_mishaps_sim # broken link, seed %llu", (unsigned long long)seed);
        struct td_sim *sim = job_world("2x2", seed, impatient);
        form(&job, sim, "job", 8);
        const struct td_call all = {
            .kind = TD_KIND_ALLTOALL, .type = TD_TYPE_BYTE, .count = 1 << 12};
        job_call_all(&job, &all, 0, false);
        td_sim_run(sim, td_sim_random(sim, SECOND / 1000));
        uint32_t a = (uint32_t)td_sim_random(sim, 4);
        td_sim_break_link(sim, a, (a + 1 + (uint32_t)td_sim_random(sim, 3)) % 4);
        job_settle(&job);
        job_expect_all(&job, TD_OK, NULL);
        job_world_end(sim);
    }
}

static void ranks_that_do_not_join_are_named(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct job job;
        const uint32_t nodes[] = {0, 1, 2, 3, 3, 2};
        job_case("test_mishaps_sim # absent ranks, seed %llu", (unsigned long long)seed);
        struct td_sim *sim = job_world("2x2", seed, impatient);
        job_open(&job, sim, "job", nodes, 6, 0);
        for (uint32_t i = 0; i < 6; i++)
            if (i != 1 && i != 4 && i != 5)
                job_join(&job, i, i, SECOND);
        job_settle(&job);
        for (uint32_t i = 0; i < 6; i++)
            if (i != 1 && i != 4 && i != 5)
                job_expect(&job, i, TD_ERR_TIMEOUT, "ranks 1, 4-5");
        for (uint32_t i = 0; i < 6; i++) /* the name is free again */
            job_join(&job, i, i, SECOND);
        job_joined(&job);
        job_world_end(sim);
    }
}

static void different_calls_are_named_to_all(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct job job;
        job_case("test_mishaps_sim # different calls, seed %llu", (unsigned long long)seed);
        struct td_sim *sim = job_world("2x2", seed, impatient);
        form(&job, sim, "job", 7);
        const struct td_call sum = {
            .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_DOUBLE, .op = TD_OP_SUM, .count = COUNT};
        struct td_call other = sum;
        if (seed % 2)
            other.count++;
        else
            other.op = TD_OP_MAX;
        uint32_t odd = (uint32_t)td_sim_random(sim, 7);
        for (uint32_t i = 0; i < 7; i++)
            job_call(&job, i, i == odd ? &other : &sum, 0, false);
        job_settle(&job);
        job_expect_all(&job, TD_ERR_MISMATCH, seed % 2 ? "3001" : "allreduce(max, double, 3000)");
        job_call_all(&job, &sum, 0, false);
        job_settle(&job);
        job_expect_all(&job, TD_OK, NULL);
        job_world_end(sim);
    }
}

static void few_records(struct td_sim_options *o)
{
    impatient(o);
    o->settings.operations_max = 4;
}

/* call_within calls a barrier with a timeout for arrivals. */
static void call_within(struct job *job, uint32_t i, td_time limit)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.call = barrier;
    q.u.operation.timeout_ns = (int64_t)limit;
    job_make(job, i, &q);
}

/* fill uses up a node's records with a job whose second rank is late. */
static void fill(struct job *job)
{
    for (int k = 0; k < 4; k++)
        job_call(job, 0, &barrier, 0, false);
    td_sim_run(job->sim, SECOND / 2);
}

static void drain(struct job *job)
{
    for (int k = 0; k < 4; k++)
        job_call(job, 1, &barrier, 0, false);
    td_sim_run(job->sim, SECOND / 2);
}

/* A node has no record left while others call. The oldest operation of each group has a record in
 * any case; the next ones wait, and end as they should. */
static void a_node_without_records_loses_nothing(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        static const uint32_t root[] = {0, 0}, leaf[] = {1, 1}, both[] = {0, 1};
        struct job full, full_leaf, arrives, appeals, misses, waits;
        job_case("test_mishaps_sim # no records, seed %llu", (unsigned long long)seed);
        struct td_sim *sim = job_world("2", seed, few_records);
        job_form(&full, sim, "full", root, 2, 0);
        job_form(&full_leaf, sim, "full leaf", leaf, 2, 0);
        job_form(&arrives, sim, "arrives", both, 2, 0);
        job_form(&appeals, sim, "appeals", both, 2, 0);
        job_form(&misses, sim, "misses", both, 2, 0);
        job_form(&waits, sim, "waits", both, 2, 0);

        fill(&full);
        job_call(&arrives, 1, &barrier, 0, false);
        job_call(&arrives, 1, &barrier, 0, false);
        job_call(&appeals, 1, &barrier, 0, false);
        call_within(&appeals, 1, SECOND / 2);
        td_sim_run(sim, SECOND / 10);
        job_call(&waits, 0, &barrier, 0, false);
        job_call(&waits, 0, &barrier, 0, false);
        td_sim_run(sim, 3 * SECOND);
        job_expect(&waits, 0, TD_ERR_BUSY, "node 0");
        CHECK(job_reply(&waits, 0)->refused && job_reply(&waits, 0)->kind == TD_REPLY_NO_ROOM);
        CHECK(!td_sim_reply(sim, waits.rank[0].client, 0));
        waits.rank[0].calls--;
        drain(&full);
        CHECK(td_sim_reply(sim, waits.rank[0].client, 0)->kind == TD_REPLY_ROOM);
        for (int k = 0; k < 2; k++) {
            job_call(&arrives, 0, &barrier, 0, false);
            job_call(&waits, 1, &barrier, 0, false);
            td_sim_run(sim, SECOND / 2);
            if (k == 0)
                job_call(&waits, 0, &barrier, 0, false); /* the oldest now */
        }
        job_expect_all(&arrives, TD_OK, NULL);
        job_expect_all(&waits, TD_OK, NULL);
        td_sim_run(sim, 3 * SECOND);
        job_expect(&appeals, 1, TD_ERR_TIMEOUT, "rank 0");
        job_call(&appeals, 0, &barrier, 0, false);
        td_sim_run(sim, SECOND);
        job_expect(&appeals, 0, TD_OK, NULL);
        job_call(&appeals, 0, &barrier, 0, false);
        td_sim_run(sim, SECOND);
        job_expect(&appeals, 0, TD_ERR_TIMEOUT, NULL);

        fill(&full_leaf);
        job_call(&misses, 0, &barrier, 0, false);
        call_within(&misses, 0, SECOND / 2);
        td_sim_run(sim, 3 * SECOND);
        job_expect(&misses, 0, TD_ERR_TIMEOUT, "rank 1");
        drain(&full_leaf);
        job_call(&misses, 1, &barrier, 0, false);
        td_sim_run(sim, SECOND / 2);
        job_call(&misses, 1, &barrier, 0, false);
        job_settle(&misses);
        job_expect(&misses, 1, TD_ERR_TIMEOUT, "no memory to record");

        struct job *all[] = {&full, &full_leaf, &arrives, &appeals, &misses, &waits};
        for (int k = 0; k < 6; k++) {
            job_call_all(all[k], &barrier, 0, false);
            job_settle(all[k]);
            job_expect_all(all[k], TD_OK, NULL);
        }
        job_world_end(sim);
    }
}

static void seldom_beating(struct td_sim_options *o)
{
    impatient(o);
    o->settings.heartbeat_ns = SECOND / 2;
}

/* More links than a step has actions: all heartbeats must be sent nevertheless. */
static void hundreds_of_idle_links_stay_alive(void **unused)
{
    (void)unused;
    enum { RANKS = 208 };
    static const struct td_call alltoall = {
        .kind = TD_KIND_ALLTOALL, .type = TD_TYPE_BYTE, .count = 16};
    for (uint64_t seed = 1; seed <= (SEEDS_SANITIZED ? 1 : 2); seed++) {
        static struct job job;
        job_case("test_mishaps_sim # idle links, seed %llu", (unsigned long long)seed);
        struct td_sim *sim = job_world("13x16", seed, seldom_beating);
        uint32_t nodes[JOB_RANKS_MAX];
        job_spread(sim, RANKS, nodes);
        job_form(&job, sim, "job", nodes, RANKS, 4096);
        job_call_all(&job, &alltoall, 0, false);
        job_settle(&job);
        job_expect_all(&job, TD_OK, NULL);
        td_sim_run(sim, 3 * SECOND); /* progress_timeout is one of them */
        job_call_all(&job, &barrier, 0, false);
        job_settle(&job);
        job_expect_all(&job, TD_OK, NULL);
        job_world_end(sim);
    }
}

static void late_ranks_are_named(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct job job;
        job_case("test_mishaps_sim # late ranks, seed %llu", (unsigned long long)seed);
        struct td_sim *sim = job_world("3x3", seed, impatient);
        form(&job, sim, "job", 9);
        for (uint32_t i = 0; i < 7; i++) {
            struct td_request q = {.kind = TD_REQUEST_OPERATION};
            q.u.operation.call = barrier;
            q.u.operation.timeout_ns = SECOND;
            job_make(&job, i, &q);
        }
        td_sim_run(sim, 5 * SECOND);
        for (uint32_t i = 0; i < 7; i++)
            job_expect(&job, i, TD_ERR_TIMEOUT, "ranks 7-8");
        for (uint32_t i = 7; i < 9; i++)
            job_call(&job, i, &barrier, 0, false);
        job_settle(&job);
        job_expect_all(&job, TD_ERR_TIMEOUT, NULL); /* the same verdict for all */
        job_call_all(&job, &barrier, 0, false);
        job_settle(&job);
        job_expect_all(&job, TD_OK, NULL);
        job_world_end(sim);
    }
}

/* ---- several at a time ---- */

enum { JOBS = 2, RANKS = 12 };

/* struct chaos: the failures in a world, against which errors are checked. */
struct chaos {
    struct td_sim *sim;
    struct job job[JOBS];
    bool node_hurt, rank_hurt[JOBS], rank_dead[JOBS][RANKS], node_dead[16];
};

static const struct td_call kinds[] = {
    {.kind = TD_KIND_BARRIER},
    {.kind = TD_KIND_BROADCAST, .type = TD_TYPE_INT32, .root = 1, .count = COUNT},
    {.kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT32, .op = TD_OP_SUM, .count = 5},
    {.kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT32, .op = TD_OP_SUM, .count = COUNT},
    {.kind = TD_KIND_ALLTOALL, .type = TD_TYPE_INT32, .count = 200},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static uint64_t elements(const struct td_call *call, uint32_t size)
{
    return call->kind == TD_KIND_ALLTOALL ? call->count * size : call->count;
}

static int32_t element(uint32_t rank, uint64_t i)
{
    return (int32_t)(rank * 1000003u + i);
}

static int32_t expected(const struct td_call *call, uint32_t size, uint32_t rank, uint64_t i)
{
    uint32_t sum = 0;
    if (call->kind == TD_KIND_BROADCAST)
        return element(call->root, i);
    if (call->kind == TD_KIND_ALLTOALL)
        return element((uint32_t)(i / call->count), rank * call->count + i % call->count);
    for (uint32_t r = 0; r < size; r++)
        sum += (uint32_t)element(r, i);
    return (int32_t)sum;
}

static void check_result(struct chaos *c, int j, uint32_t rank, const struct td_call *call)
{
    const struct job *job = &c->job[j];
    const int32_t *result = job_destination(&c->job[j], rank, 0);
    for (uint64_t i = 0; call->kind != TD_KIND_BARRIER && i < elements(call, job->size); i++)
        EXPECT(result[i] == expected(call, job->size, rank, i),
               "job %d, rank %u was told of success, but element %llu is %d", j, rank,
               (unsigned long long)i, result[i]);
}

static bool alive(const struct chaos *c, int j, uint32_t rank)
{
    return !c->rank_dead[j][rank] && !c->node_dead[c->job[j].rank[rank].node];
}

/* is_deserted returns true if no rank of a job on a node is alive. */
static bool is_deserted(const struct chaos *c, int j, uint32_t node)
{
    for (uint32_t rank = 0; rank < c->job[j].size; rank++)
        if (c->job[j].rank[rank].node == node && alive(c, j, rank))
            return false;
    return true;
}

/* check_blame checks that an error names a failure that happened, and a rank or node that it hit. A
 * node that has forgotten the group with its last rank names itself, and no rank. */
static void check_blame(const struct chaos *c, int j, uint32_t rank, const struct td_reply *r)
{
    unsigned number = 0;
    const char *text = NULL;
    EXPECT(r->error == TD_ERR_RANK_FAILED || r->error == TD_ERR_NODE_FAILED ||
               r->error == TD_ERR_PARTITIONED,
           "job %d, rank %u got %d: %s", j, rank, r->error, r->text);
    if (r->error == TD_ERR_NODE_FAILED || r->error == TD_ERR_PARTITIONED) {
        EXPECT(c->node_hurt, "job %d, rank %u heard of a node: %s", j, rank, r->text);
        return;
    }
    if (sscanf(r->text, "all ranks on node %u", &number) == 1) {
        EXPECT(is_deserted(c, j, number), "job %d, rank %u heard of a node with ranks: %s", j, rank,
               r->text);
        return;
    }
    text = strstr(r->text, "rank ");
    EXPECT(text && sscanf(text, "rank %u", &number) == 1 && number < c->job[j].size &&
               (c->rank_dead[j][number] || c->node_dead[c->job[j].rank[number].node]),
           "job %d, rank %u heard of a rank that lives: %s", j, rank, r->text);
}

static void mishap(struct chaos *c)
{
    uint32_t nodes = td_sim_nodes(c->sim), node = (uint32_t)td_sim_random(c->sim, nodes);
    int j = (int)td_sim_random(c->sim, JOBS);
    uint32_t rank = (uint32_t)td_sim_random(c->sim, c->job[j].size);
    switch (td_sim_random(c->sim, 8)) {
    case 0:
        c->node_hurt = c->node_dead[node] = true;
        td_sim_kill_node(c->sim, node);
        return;
    case 1:
        c->node_hurt = c->node_dead[node] = true;
        td_sim_freeze_node(c->sim, node);
        return;
    case 2:
    case 3:
        if (nodes == 1)
            return;
        td_sim_break_link(c->sim, node,
                          (node + 1 + (uint32_t)td_sim_random(c->sim, nodes - 1)) % nodes);
        return;
    case 4:
    case 5:
        c->rank_hurt[j] = c->rank_dead[j][rank] = true;
        td_sim_close(c->sim, c->job[j].rank[rank].client);
        return;
    default:
        return; /* no failure: an error without a cause would be found */
    }
}

/* one_round makes every rank of every job call. Failures occur meanwhile, and all calls get
 * replies. */
static void one_round(struct chaos *c)
{
    const struct td_call *call[JOBS];
    struct {
        int job;
        uint32_t rank;
    } order[JOBS * RANKS];
    uint32_t calls = 0;
    for (int j = 0; j < JOBS; j++) {
        struct job *job = &c->job[j];
        call[j] = &kinds[td_sim_random(c->sim, KINDS)];
        for (uint32_t r = 0; r < job->size; r++) {
            int32_t *source = job_source(job, r, 0), *destination = job_destination(job, r, 0);
            for (uint64_t i = 0; i < elements(call[j], job->size); i++)
                source[i] = destination[i] = element(r, i);
            uint32_t place = (uint32_t)td_sim_random(c->sim, ++calls);
            order[calls - 1] = order[place];
            order[place].job = j;
            order[place].rank = r;
        }
    }
    for (uint32_t i = 0; i < calls; i++) {
        int j = order[i].job;
        if (td_sim_random(c->sim, 8) == 0)
            mishap(c);
        if (alive(c, j, order[i].rank))
            job_call(&c->job[j], order[i].rank, call[j], 0,
                     call[j]->kind == TD_KIND_BROADCAST || call[j]->kind == TD_KIND_ALLREDUCE);
        td_sim_run(c->sim, td_sim_random(c->sim, SECOND / 3000));
    }
    EXPECT(td_sim_settle(c->sim, 20 * SECOND), "somebody waits for ever");
    for (int j = 0; j < JOBS; j++)
        for (uint32_t r = 0; r < c->job[j].size; r++) {
            const struct td_reply *reply = alive(c, j, r) ? job_reply(&c->job[j], r) : NULL;
            if (reply && reply->error == TD_OK)
                check_result(c, j, r, call[j]);
            else if (reply)
                check_blame(c, j, r, reply);
            EXPECT(reply || !alive(c, j, r), "job %d, rank %u has no answer", j, r);
        }
    td_sim_forget(c->sim);
}

/* life_goes_on checks that new jobs of the live nodes form, while node 0 with the list of jobs
 * lives. */
static void life_goes_on(struct chaos *c)
{
    uint32_t nodes[16], count = 0;
    struct job job;
    td_sim_run(c->sim, 3 * SECOND); /* silent nodes have been given up by then */
    if (c->node_dead[0])
        return;
    bool reached[16];
    job_reaches(c->sim, 0, c->node_dead, reached);
    for (uint32_t n = 0; n < td_sim_nodes(c->sim); n++)
        if (reached[n])
            nodes[count++] = n;
    job_form(&job, c->sim, "after", nodes, count, 1 << 12);
    job_call_all(&job, &barrier, 0, false);
    job_settle(&job);
    job_expect_all(&job, TD_OK, NULL);
}

static void run_seed(uint64_t seed)
{
    static const char *const shapes[] = {"1x1", "1x2", "3", "2x2", "3x3", "2x2x3"};
    struct chaos c = {0};
    uint32_t nodes[RANKS];
    job_case("TORUS_TEST_CASE=%llu test_mishaps_sim", (unsigned long long)seed);
    c.sim = job_world(shapes[seed % 6], seed, impatient);
    for (int j = 0; j < JOBS; j++) {
        uint32_t size = 2 + (uint32_t)td_sim_random(c.sim, RANKS - 1);
        job_spread(c.sim, size, nodes);
        if (td_sim_random(c.sim, 2))
            for (uint32_t r = 0; r < size; r++)
                nodes[r] = (uint32_t)td_sim_random(c.sim, td_sim_nodes(c.sim));
        job_form(&c.job[j], c.sim, j ? "second" : "first", nodes, size, 1 << 16);
    }
    td_sim_forget(c.sim);
    for (int i = 0; i < 4; i++)
        one_round(&c);
    life_goes_on(&c);
    job_world_end(c.sim);
}

static void whatever_happens_all_are_answered_truly(void **unused)
{
    (void)unused;
    seeds_run(run_seed, 500, 40, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(death_of_a_rank_is_told_to_its_job_alone),
        cmocka_unit_test(death_of_a_daemon_is_told_with_its_name),
        cmocka_unit_test(broken_link_comes_back_and_nobody_notices),
        cmocka_unit_test(ranks_that_do_not_join_are_named),
        cmocka_unit_test(different_calls_are_named_to_all),
        cmocka_unit_test(late_ranks_are_named),
        cmocka_unit_test(a_node_without_records_loses_nothing),
        cmocka_unit_test(hundreds_of_idle_links_stay_alive),
        cmocka_unit_test(whatever_happens_all_are_answered_truly),
    };
    uint64_t one;
    if (!seeds_one(&one))
        return cmocka_run_group_tests(tests, NULL, NULL);
    run_seed(one);
    return 0;
}
