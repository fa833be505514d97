/* SPDX-License-Identifier: Apache-2.0 */
/* What a library for MPI asks of the daemons: calls match by their sequences of basic elements,
 * groups by their creation numbers, in any order; ranks leave groups that others still use;
 * hundreds of operations are in flight. TORUS_TEST_CASE=SEED runs one seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/limits.h"
#include "job.h"
#include "libtorus/signature.h"
#include "random.h"
#include "seeds.h"

enum { SIZE = 6, BYTES = 1 << 14 };

static struct job job;
static uint64_t state; /* of random numbers */

static void with_room(struct td_sim_options *o)
{
    o->settings.arena_bytes = 16 << 20;
}

/* with_worlds runs a test on both fabrics, with ranks on one, two or more nodes. */
static void with_worlds(const char *name, void (*test)(void))
{
    static const char *const shapes[] = {"1", "2", "2x2", "3x3m"};
    uint64_t one = 0, count = seeds_one(&one) ? one : seeds_count(40, 12, 400);
    for (uint64_t seed = one ? one : 1; seed <= count; seed++) {
        uint32_t nodes[SIZE];
        state = seed;
        job_case("TORUS_TEST_CASE=%llu test_semantics_sim (%s)", (unsigned long long)seed, name);
        struct td_sim *sim = job_world(shapes[seed / 2 % 4], seed, with_room);
        job_spread(sim, SIZE, nodes);
        job_form(&job, sim, "job", nodes, SIZE, BYTES);
        test();
        EXPECT(td_sim_drops(sim) == 0, "a link was dropped");
        job_world_end(sim);
    }
}

static uint32_t draw(uint32_t below)
{
    return (uint32_t)random_below(&state, below);
}

/* ---- signatures ---- */

/* struct data: a sequence of basic elements, often a short one repeated. */
struct data {
    uint8_t element[24];
    size_t length, bytes;
};

static void draw_data(struct data *d)
{
    static const uint8_t types[] = {TD_TYPE_INT32, TD_TYPE_FLOAT};
    size_t period = 1 + draw(3);
    *d = (struct data){.length = period * (1 + draw(4))};
    for (size_t i = 0; i < d->length; i++)
        d->element[i] = i < period ? types[draw(2)] : d->element[i - period];
    d->bytes = 4 * d->length;
}

/* describe makes the call of a rank that sends the data as elements of a type of two inner types.
 * An element is a random period of the sequence. */
static struct td_call describe(const struct data *d)
{
    size_t period = d->length;
    for (size_t p = 1; p < d->length; p++) {
        bool repeats = d->length % p == 0 && draw(2);
        for (size_t i = p; i < d->length && repeats; i++)
            repeats = d->element[i] == d->element[i - p];
        period = repeats && p < period ? p : period;
    }
    struct tl_signature part[24], half[2] = {{0}, {0}}, whole = {0};
    for (size_t i = 0; i < period; i++)
        tl_signature_basic(&part[i], d->element[i]);
    size_t cut = draw((uint32_t)period + 1);
    for (size_t i = 0; i < period; i++)
        CHECK(tl_signature_add(&half[i >= cut], &part[i], 1));
    for (int i = 0; i < 2; i++) {
        tl_signature_finish(&half[i]);
        CHECK(tl_signature_add(&whole, &half[i], 1));
    }
    tl_signature_finish(&whole);
    struct td_call call = {.kind = TD_KIND_ALLGATHER,
                           .type = whole.basic ? whole.basic : TD_TYPE_BYTE,
                           .count = whole.basic ? d->length : d->bytes};
    if (whole.words)
        call.digest = tl_signature_digest(&whole);
    tl_signature_free(&whole);
    tl_signature_free(&half[0]);
    tl_signature_free(&half[1]);
    return call;
}

static void describe_all(void)
{
    for (uint32_t round = 0; round < 6; round++) {
        struct data common, other;
        uint32_t odd = draw(SIZE);
        draw_data(&common);
        draw_data(&other);
        bool agree = draw(2) || (other.length == common.length &&
                                 memcmp(other.element, common.element, common.length) == 0);
        for (uint32_t i = 0; i < SIZE; i++) {
            memset(job_source(&job, i, 0), (int)(16 * round + i), common.bytes);
            const struct td_call call = describe(i == odd && !agree ? &other : &common);
            job_call(&job, i, &call, 0, false);
        }
        job_settle(&job);
        job_expect_all(&job, agree ? TD_OK : TD_ERR_MISMATCH, NULL);
        char who[32];
        snprintf(who, sizeof who, "rank %u called", odd);
        if (!agree)
            job_expect_all(&job, TD_ERR_MISMATCH, who);
        for (uint32_t i = 0; i < SIZE && agree; i++)
            for (size_t k = 0; k < SIZE * common.bytes; k++)
                CHECK(((uint8_t *)job_destination(&job, i, 0))[k] ==
                      (uint8_t)(16 * round + k / common.bytes));
        td_sim_forget(job.sim);
    }
}

static void calls_match_by_their_basic_elements(void **unused)
{
    (void)unused;
    with_worlds("signatures", describe_all);
}

/* ---- exchanges that are one call for the daemon ---- */

static void exchange(uint32_t i, uint64_t digest, const uint64_t *counts)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    uint32_t region = job.rank[i].region;
    q.u.operation.call =
        (struct td_call){.kind = TD_KIND_ALLTOALLV, .type = TD_TYPE_BYTE, .digest = digest};
    q.u.operation.timeout_ns = -1;
    q.u.operation.source = (struct td_place){region, 0, job.half_bytes, NULL};
    q.u.operation.destination = (struct td_place){region, job.half_bytes, job.half_bytes, NULL};
    q.u.operation.from = q.u.operation.to = (struct td_rank_counts){counts, NULL, SIZE, 0};
    job_make(&job, i, &q);
}

static void exchange_all(void)
{
    static const uint64_t counts[SIZE] = {3, 3, 3, 3, 3, 3};
    const uint64_t digest = td_call_digest(TD_DIGEST_ALLTOALLW, 0);
    uint32_t odd = draw(SIZE);
    for (int differ = 0; differ < 2; differ++) {
        for (uint32_t i = 0; i < SIZE; i++)
            for (uint32_t k = 0; k < SIZE; k++)
                memset(job_source(&job, i, 3 * (uint64_t)k), (int)(10 * i + k), 3);
        for (uint32_t i = 0; i < SIZE; i++)
            exchange(i, differ && i == odd ? 0 : digest, counts);
        job_settle(&job);
        job_expect_all(&job, differ ? TD_ERR_MISMATCH : TD_OK, differ ? "alltoallw" : NULL);
        for (uint32_t i = 0; i < SIZE && !differ; i++)
            for (uint32_t k = 0; k < 3 * SIZE; k++)
                CHECK(((uint8_t *)job_destination(&job, i, 0))[k] == 10 * (k / 3) + i);
        td_sim_forget(job.sim);
    }
}

static void an_alltoallw_matches_no_alltoallv(void **unused)
{
    (void)unused;
    with_worlds("alltoallw", exchange_all);
}

/* ---- groups ---- */

enum { GROUPS = 5, STARTS = 3, SLOT = 8 };

/* struct made: a group: its number does not depend on the order in which ranks make it. */
static struct made {
    uint64_t member[SIZE], number;
    uint32_t members;
    uint64_t request[SIZE][STARTS];
    uint32_t group[SIZE], left[SIZE]; /* at each daemon; calls without a reply */
} made[GROUPS];

/* draw_groups draws groups; the first two differ in their numbers alone, as a duplicate and a list
 * of all ranks do. */
static void draw_groups(void)
{
    for (uint32_t g = 0; g < GROUPS; g++) {
        made[g] = (struct made){.number = td_hash_mix(g + 1)};
        for (uint64_t i = 0; i < SIZE; i++)
            if (g < 2 || draw(3))
                made[g].member[made[g].members++] = i;
        if (!made[g].members)
            made[g].member[made[g].members++] = draw(SIZE);
    }
}

static void make_groups(uint32_t rank, uint64_t request[GROUPS])
{
    uint32_t order[GROUPS] = {0, 1, 2, 3, 4};
    random_shuffle(&state, order, GROUPS, sizeof *order);
    for (uint32_t k = 0; k < GROUPS; k++) {
        struct made *m = &made[order[k]];
        struct td_request q = {.kind = TD_REQUEST_GROUP};
        q.u.make.group = job.rank[rank].group;
        q.u.make.number = m->number;
        q.u.make.member = m->member;
        q.u.make.members = m->members;
        request[order[k]] = 0;
        for (uint32_t i = 0; i < m->members; i++)
            if (m->member[i] == rank)
                request[order[k]] = td_sim_request(job.sim, job.rank[rank].client, &q);
    }
}

/* place returns where start s of group g keeps its number, in the source. */
static uint64_t place(uint32_t g, uint32_t s)
{
    return SLOT * (uint64_t)(g * STARTS + s);
}

/* start_groups makes a rank call in its groups, in random order. */
static void start_groups(uint32_t rank)
{
    uint32_t order[GROUPS * STARTS], next[GROUPS] = {0};
    for (uint32_t k = 0; k < GROUPS * STARTS; k++)
        order[k] = k % GROUPS;
    random_shuffle(&state, order, GROUPS * STARTS, sizeof *order);
    for (uint32_t k = 0; k < GROUPS * STARTS; k++) {
        struct made *m = &made[order[k]];
        uint32_t s = next[order[k]]++;
        if (!m->group[rank])
            continue;
        struct td_request q = {.kind = TD_REQUEST_OPERATION};
        q.u.operation.group = m->group[rank];
        q.u.operation.sequence = s;
        q.u.operation.call = (struct td_call){
            .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT32, .op = TD_OP_SUM, .count = 1};
        q.u.operation.timeout_ns = -1;
        q.u.operation.source =
            (struct td_place){job.rank[rank].region, place(order[k], s), 4, NULL};
        q.u.operation.destination = q.u.operation.source;
        q.u.operation.destination.offset += job.half_bytes;
        *(int32_t *)job_source(&job, rank, place(order[k], s)) =
            (int32_t)(1000 * order[k] + 100 * s + rank);
        m->request[rank][s] = td_sim_request(job.sim, job.rank[rank].client, &q);
        m->left[rank]++;
    }
}

/* leave_when_done makes a rank leave a group after its last reply, while others may wait. It
 * returns the number of ranks that have calls in flight. */
static uint32_t leave_when_done(void)
{
    uint32_t busy = 0;
    for (uint32_t g = 0; g < GROUPS; g++)
        for (uint32_t rank = 0; rank < SIZE; rank++) {
            struct made *m = &made[g];
            uint32_t client = job.rank[rank].client, ended = 0;
            for (uint32_t s = 0; s < STARTS && m->left[rank]; s++) {
                const struct td_reply *r = td_sim_reply(job.sim, client, m->request[rank][s]);
                EXPECT(!r || r->error == TD_OK, "rank %u, group %u: %s", rank, g, r->text);
                ended += r != NULL;
            }
            busy += m->left[rank] && ended < STARTS;
            if (!m->left[rank] || ended < STARTS)
                continue;
            m->left[rank] = 0;
            struct td_request q = {.kind = TD_REQUEST_LEAVE};
            q.u.leave.group = m->group[rank];
            td_sim_request(job.sim, client, &q);
        }
    return busy;
}

static void check_groups(void)
{
    for (uint32_t g = 0; g < GROUPS; g++)
        for (uint32_t s = 0; s < STARTS; s++) {
            int32_t sum = 0;
            for (uint32_t i = 0; i < made[g].members; i++)
                sum += (int32_t)(1000 * g + 100 * s + made[g].member[i]);
            for (uint32_t i = 0; i < made[g].members; i++)
                CHECK(*(int32_t *)job_destination(&job, (uint32_t)made[g].member[i], place(g, s)) ==
                      sum);
        }
}

static void groups_in_any_order(void)
{
    uint64_t request[SIZE][GROUPS];
    draw_groups();
    for (uint32_t i = 0; i < SIZE; i++)
        make_groups(i, request[i]);
    job_settle(&job);
    for (uint32_t i = 0; i < SIZE; i++)
        for (uint32_t g = 0; g < GROUPS; g++) {
            if (!request[i][g])
                continue;
            const struct td_reply *r = td_sim_reply(job.sim, job.rank[i].client, request[i][g]);
            EXPECT(r && r->error == TD_OK, "making a group: %s", r ? r->text : "no reply");
            made[g].group[i] = r->u.joined.group;
        }
    for (uint32_t i = 0; i < SIZE; i++)
        start_groups(i);
    for (uint32_t step = 0; leave_when_done(); step++) {
        EXPECT(step < 1000000, "calls without an end");
        td_sim_run(job.sim, 10000);
    }
    check_groups();
    job_settle(&job);
    td_sim_forget(job.sim);
}

static void groups_are_made_used_and_left_in_any_order(void **unused)
{
    (void)unused;
    with_worlds("groups", groups_in_any_order);
}

/* ---- many operations ---- */

static uint64_t add(uint32_t i, uint64_t sequence)
{
    const struct td_call call = {
        .kind = TD_KIND_SCAN, .type = TD_TYPE_INT32, .op = TD_OP_SUM, .count = 1};
    uint64_t shift = 4 * sequence;
    job.rank[i].calls = sequence;
    *(int32_t *)job_source(&job, i, shift) = (int32_t)(1000 * sequence + i);
    job_call(&job, i, &call, shift, false);
    return job.rank[i].request;
}

/* run_ahead: one rank calls as often as the limit allows, and once more. That call is refused, and
 * it is made again when the others have called. */
static void run_ahead(void)
{
    enum { LIMIT = TD_GROUP_OPERATIONS_MAX };
    uint32_t first = draw(SIZE);
    static uint64_t request[SIZE][LIMIT + 1];
    for (uint64_t k = 0; k <= LIMIT; k++)
        request[first][k] = add(first, k);
    td_sim_run(job.sim, SECOND / 10);
    job_expect(&job, first, TD_ERR_BUSY, "256 operations ahead");
    for (uint64_t k = 0; k < LIMIT; k++)
        CHECK(!td_sim_reply(job.sim, job.rank[first].client, request[first][k]));
    for (uint32_t i = 0; i < SIZE; i++)
        for (uint64_t k = 0; k < LIMIT && i != first; k++)
            request[i][k] = add(i, k);
    job_settle(&job);
    for (uint32_t i = 0; i < SIZE; i++)
        request[i][LIMIT] = add(i, LIMIT);
    job_settle(&job);
    for (uint32_t i = 0; i < SIZE; i++)
        for (uint64_t k = 0; k <= LIMIT; k++) {
            const struct td_reply *r = td_sim_reply(job.sim, job.rank[i].client, request[i][k]);
            EXPECT(r && r->error == TD_OK, "call %llu: %s", (unsigned long long)k,
                   r ? r->text : "no reply");
            CHECK(*(int32_t *)job_destination(&job, i, 4 * k) ==
                  (int32_t)(1000 * k * (i + 1) + i * (i + 1) / 2));
        }
    td_sim_forget(job.sim);
}

static void a_rank_runs_ahead_and_one_call_alone_is_refused(void **unused)
{
    (void)unused;
    with_worlds("ahead", run_ahead);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_match_by_their_basic_elements),
        cmocka_unit_test(an_alltoallw_matches_no_alltoallv),
        cmocka_unit_test(groups_are_made_used_and_left_in_any_order),
        cmocka_unit_test(a_rank_runs_ahead_and_one_call_alone_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
