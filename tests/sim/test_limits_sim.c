/* SPDX-License-Identifier: Apache-2.0 */
/* One node reaches its limit of groups: the ranks on all nodes get its refusal at once, with one
 * sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "seeds.h"

enum { SEEDS = SEEDS_SANITIZED ? 24 : 48, RANKS = 6, LIMIT = 16, FULL = 2, MANY = 300 };

static const struct td_call barrier = {.kind = TD_KIND_BARRIER};
static struct job job, filler; /* filler: a job of one rank, on node FULL */

static void few_groups(struct td_sim_options *o)
{
    o->settings.groups_max = LIMIT;
}

static void request_group(struct job *of, uint32_t rank, uint32_t group, uint64_t number)
{
    uint64_t member[RANKS];
    struct td_request q = {.kind = TD_REQUEST_GROUP};
    for (uint32_t i = 0; i < of->size; i++)
        member[i] = i;
    q.u.make.group = group;
    q.u.make.number = number;
    q.u.make.members = of->size;
    q.u.make.member = member;
    of->rank[rank].request = td_sim_request(of->sim, of->rank[rank].client, &q);
}

/* fill makes groups of one rank on node FULL until its daemon refuses one, and returns its
 * sentence. */
static const char *fill(struct td_sim *sim)
{
    uint32_t at = FULL;
    job_form(&filler, sim, "filler", &at, 1, 0);
    uint32_t world = filler.rank[0].group;
    for (uint64_t number = 1;; number++) {
        CHECK(number <= LIMIT);
        request_group(&filler, 0, world, number);
        job_settle(&filler);
        const struct td_reply *r = job_reply(&filler, 0);
        if (r->error != TD_OK)
            return r->text;
    }
}

static struct td_sim *begin(uint64_t seed, const char *name)
{
    uint32_t nodes[RANKS];
    job_case("test_limits_sim: %s, seed %llu", name, (unsigned long long)seed);
    struct td_sim *sim = job_world("2x3", seed, few_groups);
    job_spread(sim, RANKS, nodes);
    job_open(&job, sim, "job", nodes, RANKS, 0);
    return sim;
}

static void join(uint32_t i)
{
    job_join(&job, i, i, -1);
}

/* form forms the job before node FULL is full. */
static void form(struct td_sim *sim, uint32_t *world)
{
    for (uint32_t i = 0; i < RANKS; i++)
        join(i);
    job_joined(&job);
    for (uint32_t i = 0; i < RANKS; i++)
        world[i] = job.rank[i].group;
    (void)fill(sim);
}

static struct td_sim *begin_formed(uint64_t seed, const char *name, uint32_t *world)
{
    struct td_sim *sim = begin(seed, name);
    form(sim, world);
    return sim;
}

/* call makes a rank call a barrier in the group that it has made, if it may. */
static void call(uint32_t i)
{
    const struct td_reply *r = job_reply(&job, i);
    if (!r || r->error != TD_OK || r->kind != TD_REPLY_JOINED)
        return;
    job.rank[i].group = r->u.joined.group;
    job.rank[i].calls = 0;
    job_call(&job, i, &barrier, 0, false);
}

/* request_but makes all ranks but one ask for a group; call_but makes them call in it. */
static void request_but(uint32_t one, const uint32_t *world, uint64_t number)
{
    for (uint32_t i = 0; i < RANKS; i++)
        if (i != one)
            request_group(&job, i, world[i], number);
}

static void call_but(uint32_t one)
{
    for (uint32_t i = 0; i < RANKS; i++)
        if (i != one)
            call(i);
}

static void expect_refusal(void)
{
    char text[TD_TEXT_MAX];
    snprintf(text, sizeof text, "%s", job_reply(&job, FULL)->text);
    EXPECT(strstr(text, "node 2"), "%s", text);
    EXPECT(strstr(text, "[limits] groups"), "%s", text);
    for (uint32_t i = 0; i < RANKS; i++) {
        job_expect(&job, i, TD_ERR_BUSY, NULL);
        EXPECT(strcmp(job_reply(&job, i)->text, text) == 0, "rank %u: %s", i,
               job_reply(&job, i)->text);
    }
}

/* The seed chooses when the rank on the full node asks for the group: before the others have made
 * it, between their creation and their calls, or when they wait. */
static void all_members_get_the_refusal_of_one_node(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t world[RANKS];
        struct td_sim *sim = begin_formed(seed, __func__, world);
        td_time before = td_sim_now(sim);
        for (unsigned phase = 0; phase < 3; phase++) {
            if (phase == seed / 2 % 3)
                request_group(&job, FULL, world[FULL], 7);
            for (uint32_t i = 0; i < RANKS; i++) {
                if (i != FULL && phase == 0)
                    request_group(&job, i, world[i], 7);
                else if (i != FULL && phase == 1)
                    call(i);
            }
            td_sim_run(sim, SECOND / 2);
        }
        job_settle(&job);
        expect_refusal();
        EXPECT(td_sim_now(sim) - before < 3 * SECOND, "the others waited");
        for (uint32_t i = 0; i < RANKS; i++) { /* the job goes on */
            job.rank[i].group = world[i];
            job.rank[i].calls = 0;
            job_call(&job, i, &barrier, 0, false);
        }
        job_settle(&job);
        job_expect_all(&job, TD_OK, NULL);
        job_world_end(sim);
    }
}

/* Some ranks make their groups when all others have been refused long ago. */
static void a_member_that_comes_late_gets_the_refusal(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t world[RANKS], late = (uint32_t)(seed / 2 % RANKS);
        struct td_sim *sim = begin_formed(seed, __func__, world);
        request_but(late, world, 7);
        td_sim_run(sim, SECOND);
        call_but(late);
        td_sim_run(sim, SECOND);
        request_group(&job, late, world[late], 7);
        td_sim_run(sim, SECOND);
        call(late);
        job_settle(&job);
        expect_refusal();
        job_world_end(sim);
    }
}

static void shrink(uint32_t i)
{
    struct td_request q = {.kind = TD_REQUEST_SHRINK};
    q.u.shrink.group = job_reply(&job, i)->u.joined.group;
    q.u.shrink.timeout_ns = -1;
    job.rank[i].request = td_sim_request(job.sim, job.rank[i].client, &q);
}

/* The nodes ask each other before the full one has refused the group. */
static void a_shrink_goes_on_without_a_node_that_refuses_the_group(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t world[RANKS];
        struct td_sim *sim = begin_formed(seed, __func__, world);
        request_but(FULL, world, 7);
        td_sim_run(sim, SECOND);
        for (uint32_t i = 0; i < RANKS; i++)
            if (i != FULL)
                shrink(i);
        td_sim_run(sim, SECOND);
        request_group(&job, FULL, world[FULL], 7);
        td_sim_run(sim, 2 * SECOND);
        job_expect(&job, FULL, TD_ERR_BUSY, NULL);
        for (uint32_t i = 0; i < RANKS; i++) {
            if (i == FULL)
                continue;
            job_expect(&job, i, TD_OK, NULL);
            CHECK(job_reply(&job, i)->u.joined.size == RANKS - 1);
        }
        job_world_end(sim);
    }
}

/* A rank may be hundreds of refusals ahead: the others get the first one, too. */
static void many_refusals_reach_all_members(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS / 6; seed++) {
        uint32_t world[RANKS];
        struct td_sim *sim = begin_formed(seed, __func__, world);
        for (uint64_t number = 0; number < MANY; number++)
            request_group(&job, FULL, world[FULL], number);
        td_sim_run(sim, SECOND);
        for (uint64_t number = 0; number < MANY; number += MANY - 1) {
            request_but(FULL, world, number);
            td_sim_run(sim, SECOND);
            call_but(FULL);
            td_sim_run(sim, 2 * SECOND);
            expect_refusal();
        }
        job_world_end(sim);
    }
}

/* Two ranks share the full node. One is refused, and hundreds of groups ahead when the other asks,
 * which the others have left long ago. */
static void the_other_rank_of_a_full_node_gets_the_refusal(void **unused)
{
    (void)unused;
    enum { OTHER = FULL + 1 };
    const uint32_t nodes[RANKS] = {0, 1, FULL, FULL, 3, 4};
    job_case("test_limits_sim: %s", __func__);
    struct td_sim *sim = job_world("2x3", 1, few_groups);
    job_open(&job, sim, "job", nodes, RANKS, 0);
    uint32_t world[RANKS];
    form(sim, world);
    request_but(OTHER, world, 7);
    td_sim_run(sim, SECOND);
    call_but(OTHER);
    td_sim_run(sim, SECOND);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct td_request q = {.kind = TD_REQUEST_LEAVE, .u.leave.group = job.rank[i].group};
        if (i == OTHER)
            continue;
        job_expect(&job, i, TD_ERR_BUSY, "node 2");
        if (i != FULL)
            (void)td_sim_request(sim, job.rank[i].client, &q);
    }
    uint64_t refused = job.rank[FULL].request;
    for (uint64_t number = 0; number < MANY; number++)
        request_group(&job, FULL, world[FULL], 100 + number);
    job.rank[FULL].request = refused;
    td_sim_run(sim, SECOND);
    td_sim_close(sim, filler.rank[0].client); /* there would be room now */
    td_sim_run(sim, SECOND);
    request_group(&job, OTHER, world[OTHER], 7);
    td_sim_run(sim, SECOND);
    expect_refusal();
    job_world_end(sim);
}

/* When a group is freed, the ranks may make the next one. */
static void a_group_can_be_made_when_there_is_room(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS / 4; seed++) {
        uint32_t world[RANKS];
        struct td_sim *sim = begin_formed(seed, __func__, world);
        request_group(&job, FULL, world[FULL], 7);
        td_sim_run(sim, SECOND);
        job_expect(&job, FULL, TD_ERR_BUSY, NULL);
        td_sim_close(sim, filler.rank[0].client);
        td_sim_run(sim, SECOND);
        for (uint32_t i = 0; i < RANKS; i++)
            request_group(&job, i, world[i], 8);
        job_settle(&job);
        for (uint32_t i = 0; i < RANKS; i++)
            call(i);
        job_settle(&job);
        job_expect_all(&job, TD_OK, NULL);
        job_world_end(sim);
    }
}

static void all_ranks_get_the_refusal_of_a_join(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t first = (uint32_t)(seed / 2 % RANKS);
        struct td_sim *sim = begin(seed, __func__);
        (void)fill(sim);
        td_time before = td_sim_now(sim);
        for (uint32_t i = 0; i < RANKS; i++) {
            join((first + i) % RANKS);
            td_sim_run(sim, SECOND / 10);
        }
        job_settle(&job);
        expect_refusal();
        EXPECT(td_sim_now(sim) - before < 2 * SECOND, "the others waited");
        job_world_end(sim);
    }
}

/* A process whose join would be refused ends before all ranks have joined, and there is room when
 * another one takes its rank: nothing is left of the refusal. */
static void a_refused_join_that_is_withdrawn_does_not_end_the_others(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS / 4; seed++) {
        struct td_sim *sim = begin(seed, __func__);
        (void)fill(sim);
        for (uint32_t i = 0; i < RANKS - 1; i++)
            join(i);
        td_sim_run(sim, SECOND / 10);
        td_sim_close(sim, job.rank[FULL].client);
        td_sim_close(sim, filler.rank[0].client);
        td_sim_run(sim, SECOND);
        job.rank[FULL].client = td_sim_open(sim, FULL);
        join(FULL);
        join(RANKS - 1);
        job_settle(&job);
        job_expect_all(&job, TD_OK, NULL);
        job_world_end(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_members_get_the_refusal_of_one_node),
        cmocka_unit_test(a_member_that_comes_late_gets_the_refusal),
        cmocka_unit_test(a_shrink_goes_on_without_a_node_that_refuses_the_group),
        cmocka_unit_test(many_refusals_reach_all_members),
        cmocka_unit_test(the_other_rank_of_a_full_node_gets_the_refusal),
        cmocka_unit_test(a_group_can_be_made_when_there_is_room),
        cmocka_unit_test(all_ranks_get_the_refusal_of_a_join),
        cmocka_unit_test(a_refused_join_that_is_withdrawn_does_not_end_the_others),
    };
    cmocka_set_test_filter(getenv("TORUS_TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
