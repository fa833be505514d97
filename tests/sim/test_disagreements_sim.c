/* SPDX-License-Identifier: Apache-2.0 */
/* Mismatched calls: every rank gets an error that names the ranks and the difference, and the group
 * continues. TORUS_TEST_CASE=SEED runs one seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "seeds.h"

enum { SIZE = 7, BYTES = 1 << 16 };

static uint64_t seed_now;

/* with_worlds runs a test on both fabrics, with ranks on one, two or more nodes. */
static void with_worlds(const char *name, void (*test)(struct job *))
{
    static const char *const shapes[] = {"1", "2", "2x2", "3x3m", "7"};
    uint64_t one = 0, count = seeds_one(&one) ? one : seeds_count(30, 10, 30);
    for (uint64_t seed = one ? one : 1; seed <= count; seed++) {
        struct job job;
        uint32_t nodes[SIZE];
        seed_now = seed;
        job_case("TORUS_TEST_CASE=%llu test_disagreements_sim (%s)", (unsigned long long)seed,
                 name);
        struct td_sim *sim = job_world(shapes[seed / 2 % 5], seed, NULL);
        job_spread(sim, SIZE, nodes);
        for (uint32_t i = 0; i < SIZE && seed % 3 == 0; i++)
            nodes[i] = (uint32_t)td_sim_random(sim, td_sim_nodes(sim));
        job_form(&job, sim, "job", nodes, SIZE, BYTES);
        test(&job);
        EXPECT(td_sim_drops(sim) == 0, "a link was dropped");
        job_world_end(sim);
    }
}

/* goes_on checks that the next calls of the group work. */
static void goes_on(struct job *job)
{
    const struct td_call call = {.kind = TD_KIND_BARRIER};
    job_call_all(job, &call, 0, false);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    td_sim_forget(job->sim);
}

/* ---- calls ---- */

/* odd makes rank `rank` call something else than all others. */
static void odd(struct job *job, uint32_t rank, const struct td_call *call,
                const struct td_call *other)
{
    char a[160], b[160];
    td_call_print(call, a, sizeof a);
    td_call_print(other, b, sizeof b);
    for (uint32_t i = 0; i < SIZE; i++)
        job_call(job, i, i == rank ? other : call, 0, false);
    job_settle(job);
    job_expect_all(job, TD_ERR_MISMATCH, a);
    job_expect_all(job, TD_ERR_MISMATCH, b);
    char who[32];
    snprintf(who, sizeof who, "rank %u called %s", rank, "");
    job_expect_all(job, TD_ERR_MISMATCH, who);
    td_sim_forget(job->sim);
    goes_on(job);
}

static void calls(struct job *job)
{
    const struct td_call call = {.kind = TD_KIND_REDUCE,
                                 .type = TD_TYPE_INT32,
                                 .op = TD_OP_SUM,
                                 .mode = TD_REPRODUCIBLE_SAME,
                                 .root = 2,
                                 .count = 10};
    struct td_call other[6] = {call, call, call, call, call, call};
    other[0].kind = TD_KIND_ALLREDUCE;
    other[1].type = TD_TYPE_UINT32;
    other[2].op = TD_OP_MAX;
    other[3].mode = TD_REPRODUCIBLE_ANY;
    other[4].root = 3;
    other[5].count = 11;
    for (int i = 0; i < 6; i++)
        odd(job, (uint32_t)td_sim_random(job->sim, SIZE), &call, &other[i]);
}

static void who_calls_otherwise_is_named_with_what_differs(void **unused)
{
    (void)unused;
    with_worlds("calls", calls);
}

/* ---- counts ---- */

static uint64_t from[SIZE][SIZE], to[SIZE][SIZE];

static void call_with_parts(struct job *job, uint32_t i, enum td_kind kind, bool shared)
{
    static const uint64_t none[SIZE];
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.call = (struct td_call){.kind = (uint8_t)kind, .type = TD_TYPE_INT32};
    if (td_call_reduces(kind))
        q.u.operation.call.op = TD_OP_SUM;
    q.u.operation.timeout_ns = -1;
    q.u.operation.source = (struct td_place){job->rank[i].region, 0, job->half_bytes, NULL};
    q.u.operation.destination =
        (struct td_place){job->rank[i].region, job->half_bytes, job->half_bytes, NULL};
    q.u.operation.from = (struct td_rank_counts){from[i], NULL, SIZE, 0};
    q.u.operation.to =
        (struct td_rank_counts){to[i], shared ? none : NULL, SIZE, shared ? SIZE : 0};
    job_make(job, i, &q);
}

/* agree draws counts that agree; for one kind, every column has one count. */
static void agree(struct job *job, bool column)
{
    for (uint32_t i = 0; i < SIZE; i++)
        for (uint32_t j = 0; j < SIZE; j++)
            from[i][j] = column && i ? from[0][j] : td_sim_random(job->sim, 700);
    for (uint32_t i = 0; i < SIZE; i++)
        for (uint32_t j = 0; j < SIZE; j++)
            to[j][i] = from[i][j];
}

static void one_pair(struct job *job)
{
    uint32_t sender = (uint32_t)td_sim_random(job->sim, SIZE);
    uint32_t receiver = (uint32_t)td_sim_random(job->sim, SIZE);
    char text[160];
    agree(job, false);
    bool more = seed_now % 2;
    from[sender][receiver] += more ? 3 : 0;
    to[receiver][sender] += more ? 0 : 3;
    for (uint32_t i = 0; i < SIZE; i++)
        call_with_parts(job, i, TD_KIND_ALLTOALLV, false);
    job_settle(job);
    snprintf(text, sizeof text, "rank %u sends 12 bytes %s to rank %u", sender,
             more ? "more" : "fewer", receiver);
    job_expect_all(job, TD_ERR_MISMATCH, text);
    td_sim_forget(job->sim);
    goes_on(job);
}

static void a_pair_whose_counts_differ_is_named(void **unused)
{
    (void)unused;
    with_worlds("one pair", one_pair);
}

static void several_pairs(struct job *job)
{
    agree(job, false);
    from[1][2] += 5;
    from[3][1] += 1;
    to[6][6] += 9;
    for (uint32_t i = 0; i < SIZE; i++)
        call_with_parts(job, i, TD_KIND_ALLTOALLV, false);
    job_settle(job);
    job_expect_all(job, TD_ERR_MISMATCH, "alltoallv");
    td_sim_forget(job->sim);
    /* differences that cancel each other out */
    agree(job, false);
    from[1][2] += 5;
    to[3][4] += 5;
    for (uint32_t i = 0; i < SIZE; i++)
        call_with_parts(job, i, TD_KIND_ALLTOALLV, false);
    job_settle(job);
    job_expect_all(job, TD_ERR_MISMATCH, "alltoallv");
    td_sim_forget(job->sim);
    goes_on(job);
}

static void several_pairs_whose_counts_differ_end_it_too(void **unused)
{
    (void)unused;
    with_worlds("several pairs", several_pairs);
}

/* shares: a rank gets one share, of one length. It cannot receive more from one rank than from
 * another, although both sides of each pair agree. */
static void shares(struct job *job)
{
    uint32_t victim = (uint32_t)td_sim_random(job->sim, SIZE);
    agree(job, true);
    from[5][victim] += 2;
    to[victim][5] += 2;
    for (uint32_t i = 0; i < SIZE; i++)
        if (i != victim)
            call_with_parts(job, i, TD_KIND_REDUCE_SCATTERV, true);
    call_with_parts(job, victim, TD_KIND_REDUCE_SCATTERV, true);
    td_sim_run(job->sim, SECOND / 10);
    job_expect(job, victim, TD_ERR_INVALID, "the same number of elements");
    /* the call did not count, and is made again */
    to[victim][5] -= 2;
    from[5][victim] -= 2;
    job->rank[victim].calls--;
    call_with_parts(job, victim, TD_KIND_REDUCE_SCATTERV, true);
    job_settle(job);
    char text[160];
    snprintf(text, sizeof text, "rank 5 sends 8 bytes more to rank %u", victim);
    job_expect_all(job, victim == 5 ? TD_OK : TD_ERR_MISMATCH, victim == 5 ? NULL : text);
    td_sim_forget(job->sim);
    goes_on(job);
}

static void a_share_has_one_length(void **unused)
{
    (void)unused;
    with_worlds("shares", shares);
}

/* instead: the counts of a refused call are no part of the call that takes its place. */
static void instead(struct job *job)
{
    uint32_t victim = (uint32_t)td_sim_random(job->sim, SIZE);
    agree(job, true);
    to[victim][5] += 2;
    call_with_parts(job, victim, TD_KIND_REDUCE_SCATTERV, true);
    td_sim_run(job->sim, SECOND / 10);
    job_expect(job, victim, TD_ERR_INVALID, "the same number of elements");
    job->rank[victim].calls--;
    goes_on(job);
}

static void a_refused_call_leaves_no_counts(void **unused)
{
    (void)unused;
    with_worlds("instead", instead);
}

/* ---- groups ---- */

static uint64_t ask(struct job *job, uint32_t i, const uint64_t *member, uint32_t members)
{
    struct td_request q = {.kind = TD_REQUEST_GROUP};
    q.u.make.group = job->rank[i].group;
    q.u.make.number = 1;
    q.u.make.members = members;
    q.u.make.member = member;
    return job->rank[i].request = td_sim_request(job->sim, job->rank[i].client, &q);
}

static void lists(struct job *job)
{
    ask(job, 1, (const uint64_t[]){0, 2}, 2);
    ask(job, 2, (const uint64_t[]){2, 5, 2}, 3);
    ask(job, 3, (const uint64_t[]){3, SIZE}, 2);
    td_sim_run(job->sim, SECOND);
    job_expect(job, 1, TD_ERR_INVALID, "rank 1 requests a group without itself");
    job_expect(job, 2, TD_ERR_INVALID, "rank 2 is in the list twice");
    job_expect(job, 3, TD_ERR_INVALID, "rank 7 is not in the group");
    td_sim_forget(job->sim);
    goes_on(job);
}

static void a_list_of_ranks_that_is_wrong_is_refused(void **unused)
{
    (void)unused;
    with_worlds("lists", lists);
}

/* left_alone: of a group of three, two call. The third, which has not even made the group, dies. */
static void left_alone(struct job *job)
{
    static const uint64_t member[] = {6, 0, 3};
    uint64_t request[2];
    for (uint32_t k = 0; k < 2; k++)
        ask(job, (uint32_t)member[k], member, 3);
    td_sim_run(job->sim, SECOND / 100);
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t i = (uint32_t)member[k];
        job_expect(job, i, TD_OK, NULL);
        struct td_request q = {.kind = TD_REQUEST_OPERATION};
        q.u.operation.group = job_reply(job, i)->u.joined.group;
        q.u.operation.call.kind = TD_KIND_BARRIER;
        q.u.operation.timeout_ns = -1;
        request[k] = td_sim_request(job->sim, job->rank[i].client, &q);
    }
    td_sim_run(job->sim, SECOND / 10);
    for (uint32_t k = 0; k < 2; k++)
        EXPECT(!td_sim_reply(job->sim, job->rank[member[k]].client, request[k]), "a barrier alone");
    td_sim_close(job->sim, job->rank[3].client);
    td_sim_run(job->sim, 5 * SECOND);
    for (uint32_t k = 0; k < 2; k++) {
        const struct td_reply *r = td_sim_reply(job->sim, job->rank[member[k]].client, request[k]);
        EXPECT(r && r->error == TD_ERR_RANK_FAILED, "rank %llu of the group: %s",
               (unsigned long long)k, r ? r->text : "no reply");
    }
}

static void a_rank_that_dies_before_it_makes_a_group_is_missed(void **unused)
{
    (void)unused;
    with_worlds("left alone", left_alone);
}

/* last_call: ranks of a group leave the job as soon as their last call has ended. */
static void last_call(struct job *job)
{
    enum { MEMBERS = 4 };
    static const uint64_t member[MEMBERS] = {6, 0, 3, 5};
    uint64_t request[MEMBERS];
    bool ended[MEMBERS] = {false};
    uint32_t left = MEMBERS;
    for (uint32_t k = 0; k < MEMBERS; k++)
        ask(job, (uint32_t)member[k], member, MEMBERS);
    td_sim_run(job->sim, SECOND / 100);
    for (uint32_t k = 0; k < MEMBERS; k++) {
        struct td_request q = {.kind = TD_REQUEST_OPERATION};
        q.u.operation.group = job_reply(job, (uint32_t)member[k])->u.joined.group;
        q.u.operation.call.kind = TD_KIND_BARRIER;
        q.u.operation.timeout_ns = -1;
        request[k] = td_sim_request(job->sim, job->rank[member[k]].client, &q);
    }
    for (int step = 0; left && step < 1000000; step++) {
        td_sim_run(job->sim, 1000);
        for (uint32_t k = 0; k < MEMBERS; k++) {
            uint32_t client = job->rank[member[k]].client;
            const struct td_reply *r = ended[k] ? NULL : td_sim_reply(job->sim, client, request[k]);
            if (!r)
                continue;
            EXPECT(r->error == TD_OK, "rank %u of the group: %s", k, r->text);
            ended[k] = true;
            left--;
            td_sim_close(job->sim, client);
        }
    }
    EXPECT(left == 0, "%u ranks got no reply", left);
}

static void ranks_leave_after_their_last_call(void **unused)
{
    (void)unused;
    with_worlds("last call", last_call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_calls_otherwise_is_named_with_what_differs),
        cmocka_unit_test(a_pair_whose_counts_differ_is_named),
        cmocka_unit_test(several_pairs_whose_counts_differ_end_it_too),
        cmocka_unit_test(a_share_has_one_length),
        cmocka_unit_test(a_refused_call_leaves_no_counts),
        cmocka_unit_test(a_list_of_ranks_that_is_wrong_is_refused),
        cmocka_unit_test(a_rank_that_dies_before_it_makes_a_group_is_missed),
        cmocka_unit_test(ranks_leave_after_their_last_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
