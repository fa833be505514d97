/* SPDX-License-Identifier: Apache-2.0 */
/* Shrinking groups in virtual time: first each promise alone, then seeds that draw deaths of ranks
 * and of nodes before, during and after the call. All live ranks always get the same group, also
 * those that died after they got it; no live rank is left out. TORUS_TEST_CASE=SEED runs one seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "seeds.h"

enum { RANKS = 12, RANKS_MAX = 224, NODES = 224 };

static const struct td_call barrier = {.kind = TD_KIND_BARRIER};
static const struct td_call gather = {.kind = TD_KIND_ALLGATHER, .type = TD_TYPE_INT32, .count = 1};

/* struct play: a job whose ranks move from group to group. */
struct play {
    struct td_sim *sim;
    struct job job;
    bool rank_dead[RANKS_MAX], node_dead[NODES];
    bool member[RANKS_MAX]; /* of the present group */
    uint32_t old[RANKS_MAX];
    uint32_t members;
};

static uint32_t listed; /* operations, by the nodes, that somebody waits for */

static void on_reply(void *me, uint32_t client, const struct td_reply *reply)
{
    (void)me;
    (void)client;
    for (uint32_t i = 0; reply->kind == TD_REPLY_STATUS && i < reply->u.status.rows; i++)
        listed += !reply->u.status.row[i].u.operation.nobody_waits;
}

static void impatient(struct td_sim_options *o)
{
    o->observer.reply = on_reply;
    o->settings.heartbeat_ns = SECOND / 10;
    o->settings.progress_timeout_ns = SECOND;
}

/* seldom: hundreds of nodes send each other many heartbeats while daemons do not vote yet. */
static void seldom(struct td_sim_options *o)
{
    o->settings.heartbeat_ns = SECOND / 2;
    o->settings.progress_timeout_ns = SECOND;
}

static void begin(struct play *p, const char *shape, uint64_t seed, uint32_t size, bool scattered)
{
    uint32_t nodes[RANKS_MAX];
    *p = (struct play){.sim = job_world(shape, seed, size > RANKS ? seldom : impatient),
                       .members = size};
    job_spread(p->sim, size, nodes);
    for (uint32_t i = 0; scattered && i < size; i++)
        nodes[i] = (uint32_t)td_sim_random(p->sim, td_sim_nodes(p->sim));
    job_form(&p->job, p->sim, "job", nodes, size, 4096);
    for (uint32_t i = 0; i < size; i++)
        p->member[i] = true;
    td_sim_forget(p->sim);
}

static bool alive(const struct play *p, uint32_t i)
{
    return p->member[i] && !p->rank_dead[i] && !p->node_dead[p->job.rank[i].node];
}

static void kill_rank(struct play *p, uint32_t i)
{
    p->rank_dead[i] = true;
    td_sim_close(p->sim, p->job.rank[i].client);
}

/* parts returns true if the death of a node would cut the living nodes apart, or leave no quorum of
 * nodes: those that live would then be told PARTITIONED (test_partition_sim). */
static bool parts(struct play *p, uint32_t node)
{
    bool dead[NODES], reached[NODES];
    uint32_t nodes = td_sim_nodes(p->sim), living = 0, first = 0;
    memcpy(dead, p->node_dead, sizeof dead);
    dead[node] = true;
    for (uint32_t n = nodes; n-- > 0;) {
        living += !dead[n];
        first = dead[n] ? first : n;
    }
    bool quorum = 2 * living > nodes || (2 * living == nodes && !dead[0]);
    return !quorum || (living > 0 && job_reaches(p->sim, first, dead, reached) < living);
}

static void kill_node(struct play *p, uint32_t node, bool silently)
{
    if (p->node_dead[node] || parts(p, node))
        return;
    p->node_dead[node] = true;
    if (silently)
        td_sim_freeze_node(p->sim, node);
    else
        td_sim_kill_node(p->sim, node);
}

static void shrink(struct play *p, uint32_t i, int64_t timeout_ns)
{
    struct td_request q = {.kind = TD_REQUEST_SHRINK};
    q.u.shrink.group = p->job.rank[i].group;
    q.u.shrink.timeout_ns = timeout_ns;
    p->job.rank[i].request = td_sim_request(p->sim, p->job.rank[i].client, &q);
}

static void shrink_all(struct play *p)
{
    for (uint32_t i = 0; i < p->job.size; i++)
        if (alive(p, i))
            shrink(p, i, -1);
}

/* move_on checks the replies of the ranks, and moves them to the new group. */
static void move_on(struct play *p)
{
    const struct td_reply *first = NULL;
    uint32_t next = 0;
    for (uint32_t i = 0; i < p->job.size; i++) {
        const struct td_reply *r = p->member[i] ? job_reply(&p->job, i) : NULL;
        bool told = r && r->error == TD_OK && r->kind == TD_REPLY_JOINED;
        EXPECT(told || !alive(p, i), "rank %u lives and was told %d: %s", i, r ? r->error : 0,
               r ? r->text : "nothing");
        if (told && !first)
            first = r;
        if (told) {
            EXPECT(r->u.joined.instance == first->u.joined.instance &&
                       r->u.joined.size == first->u.joined.size,
                   "rank %u was told of another group than others", i);
            EXPECT(r->u.joined.rank >= next, "rank %u is before its elders", i);
            next = r->u.joined.rank + 1;
            p->job.rank[i].calls = 0;
            p->old[i] = p->job.rank[i].group;
            p->job.rank[i].group = r->u.joined.group;
        }
        p->member[i] = told;
    }
    uint32_t most = p->members;
    p->members = first ? first->u.joined.size : 0;
    EXPECT(next <= p->members && p->members <= most, "a group of %u after one of %u", p->members,
           most);
}

static uint32_t count_alive(const struct play *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->job.size; i++)
        count += alive(p, i);
    return count;
}

/* meet makes all live ranks gather their numbers. */
static void meet(struct play *p, bool whole)
{
    uint32_t at = 0, rank[RANKS_MAX];
    for (uint32_t i = 0; i < p->job.size; i++) {
        if (!alive(p, i))
            continue;
        rank[at++] = i;
        *(int32_t *)job_source(&p->job, i, 0) = (int32_t)i;
        job_call(&p->job, i, &gather, 0, false);
    }
    job_settle(&p->job);
    for (uint32_t k = 0; k < at; k++) {
        const struct td_reply *r = job_reply(&p->job, rank[k]);
        const int32_t *result = job_destination(&p->job, rank[k], 0);
        CHECK(r);
        if (whole)
            EXPECT(r->error == TD_OK, "rank %u was told %d: %s", rank[k], r->error, r->text);
        if (whole && r->error == TD_OK)
            for (uint32_t j = 0; j < at; j++)
                EXPECT(result[j] == (int32_t)rank[j], "%u is rank %d, not %u", j, result[j],
                       rank[j]);
        EXPECT(r->error == TD_OK || r->error == TD_ERR_RANK_FAILED ||
                   r->error == TD_ERR_NODE_FAILED,
               "rank %u was told %d: %s", rank[k], r->error, r->text);
    }
}

/* shrink_to makes all live ranks shrink; the new group has a number of ranks and works. */
static void shrink_to(struct play *p, uint32_t members)
{
    shrink_all(p);
    job_settle(&p->job);
    move_on(p);
    EXPECT(p->members == members, "a group of %u, not %u", p->members, members);
    meet(p, true);
}

/* ---- each promise alone ---- */

static void those_that_live_make_a_group_in_the_old_order(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct play p;
        job_case("test_shrink_sim # dead rank, seed %llu", (unsigned long long)seed);
        begin(&p, "2x3", seed, RANKS, false);
        uint32_t dead = (uint32_t)td_sim_random(p.sim, RANKS);
        kill_rank(&p, dead);
        if (seed % 3) /* otherwise some do not know of it yet */
            td_sim_run(p.sim, td_sim_random(p.sim, SECOND / 100));
        shrink_to(&p, RANKS - 1);
        for (uint32_t i = 0; i < RANKS; i++) { /* the old group is as broken as before */
            if (i == dead)
                continue;
            uint32_t group = p.job.rank[i].group;
            p.job.rank[i].group = p.old[i];
            p.job.rank[i].calls = 0;
            job_call(&p.job, i, &barrier, 0, false);
            p.job.rank[i].group = group;
        }
        job_settle(&p.job);
        for (uint32_t i = 0; i < RANKS; i++)
            if (i != dead)
                job_expect(&p.job, i, TD_ERR_RANK_FAILED, "rank ");
        job_world_end(p.sim);
    }
}

static void a_group_without_losses_is_duplicated(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct play p;
        job_case("test_shrink_sim # duplicate, seed %llu", (unsigned long long)seed);
        begin(&p, "3x3", seed, RANKS, true);
        for (int round = 0; round < 3; round++) {
            shrink_to(&p, RANKS);
        }
        job_world_end(p.sim);
    }
}

static void a_lost_node_is_left_out(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct play p;
        job_case("test_shrink_sim # dead node, seed %llu", (unsigned long long)seed);
        begin(&p, "2x3", seed, RANKS, false);
        kill_node(&p, (uint32_t)td_sim_random(p.sim, 6), seed / 2 % 2);
        td_sim_run(p.sim, td_sim_random(p.sim, 2 * SECOND));
        shrink_to(&p, RANKS - 2);
        job_world_end(p.sim);
    }
}

static void who_does_not_call_is_named_to_all(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct play p;
        job_case("test_shrink_sim # absent ranks, seed %llu", (unsigned long long)seed);
        begin(&p, "3x3", seed, 9, false);
        kill_rank(&p, 3);
        for (uint32_t i = 0; i < 7; i++)
            if (alive(&p, i))
                shrink(&p, i, (int64_t)SECOND);
        td_sim_run(p.sim, 5 * SECOND);
        for (uint32_t i = 0; i < 7; i++)
            if (alive(&p, i))
                job_expect(&p.job, i, TD_ERR_TIMEOUT, "2 of 8 live ranks did not call");
        for (uint32_t i = 0; i < 7; i++)
            if (alive(&p, i))
                job_expect(&p.job, i, TD_ERR_TIMEOUT, "ranks 7-8");
        shrink(&p, 7, -1);
        shrink(&p, 8, -1);
        job_settle(&p.job); /* the same verdict for all */
        job_expect(&p.job, 7, TD_ERR_TIMEOUT, "ranks 7-8");
        job_expect(&p.job, 8, TD_ERR_TIMEOUT, "ranks 7-8");
        shrink_to(&p, 8);
        job_world_end(p.sim);
    }
}

static void a_cancel_ends_it_for_all(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct play p;
        job_case("test_shrink_sim # cancel, seed %llu", (unsigned long long)seed);
        begin(&p, "2x2", seed, 8, false);
        for (uint32_t i = 0; i < 7; i++)
            shrink(&p, i, -1);
        td_sim_run(p.sim, td_sim_random(p.sim, SECOND / 100));
        struct td_request q = {.kind = TD_REQUEST_CANCEL};
        q.u.cancel.request = p.job.rank[2].request;
        td_sim_request(p.sim, p.job.rank[2].client, &q);
        td_sim_run(p.sim, SECOND);
        for (uint32_t i = 0; i < 7; i++)
            job_expect(&p.job, i, TD_ERR_CANCELLED, "rank 2 cancelled");
        shrink(&p, 7, -1);
        job_settle(&p.job);
        job_expect(&p.job, 7, TD_ERR_CANCELLED, "rank 2 cancelled");
        shrink_to(&p, 8);
        job_world_end(p.sim);
    }
}

/* in_flight returns how many operations the nodes list, each those that it knows. */
static uint32_t in_flight(struct play *p)
{
    listed = 0;
    for (uint32_t n = 0; n < td_sim_nodes(p->sim); n++) {
        struct td_request q = {.kind = TD_REQUEST_STATUS};
        q.u.status.section = TD_STATUS_OPERATIONS;
        uint32_t client = td_sim_open(p->sim, n);
        td_sim_request(p->sim, client, &q);
        td_sim_run(p->sim, SECOND / 100);
        td_sim_close(p->sim, client);
    }
    return listed;
}

static void the_others_shrink_after_all_that_had_called_have_died(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct play p;
        job_case("test_shrink_sim # dead callers, seed %llu", (unsigned long long)seed);
        begin(&p, "2x3", seed, RANKS, seed % 2);
        uint32_t step = 1 + (uint32_t)seed % 4; /* 1: one rank lives, and has not called */
        for (uint32_t i = 1; i < RANKS; i += step)
            shrink(&p, i, -1);
        td_sim_run(p.sim, td_sim_random(p.sim, SECOND / 100));
        for (uint32_t i = 1; i < RANKS; i += step)
            kill_rank(&p, i);
        td_sim_run(p.sim, SECOND);
        EXPECT(in_flight(&p) == 0, "%u operations are in flight", listed);
        shrink_to(&p, count_alive(&p));
        job_world_end(p.sim);
    }
}

/* More nodes than a step has actions, and some of them are lost when others begin. */
static void hundreds_of_nodes_shrink(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= (SEEDS_SANITIZED ? 1 : 4); seed++) {
        static struct play p;
        job_case("test_shrink_sim # many nodes, seed %llu", (unsigned long long)seed);
        begin(&p, "14x16", seed, RANKS_MAX, false);
        kill_rank(&p, (uint32_t)td_sim_random(p.sim, RANKS_MAX));
        for (uint32_t i = 0; i < RANKS_MAX; i++) {
            if (i % 50 == 7)
                kill_node(&p, (uint32_t)td_sim_random(p.sim, RANKS_MAX), false);
            if (alive(&p, i))
                shrink(&p, i, -1);
            td_sim_run(p.sim, td_sim_random(p.sim, SECOND / 10000));
        }
        job_settle(&p.job);
        move_on(&p);
        td_sim_forget(p.sim);
        shrink_to(&p, count_alive(&p));
        job_world_end(p.sim);
    }
}

/* ---- whatever happens ---- */

static void mishap(struct play *p)
{
    uint32_t nodes = td_sim_nodes(p->sim), node = (uint32_t)td_sim_random(p->sim, nodes);
    uint32_t rank = (uint32_t)td_sim_random(p->sim, p->job.size);
    switch (td_sim_random(p->sim, 8)) {
    case 0:
        kill_node(p, node, false);
        return;
    case 1:
        kill_node(p, node, true);
        return;
    case 2:
        if (nodes > 1)
            td_sim_break_link(p->sim, node,
                              (node + 1 + (uint32_t)td_sim_random(p->sim, nodes - 1)) % nodes);
        return;
    case 3:
    case 4:
    case 5:
        kill_rank(p, rank);
        return;
    default:
        return;
    }
}

/* leave_the_old: a rank with the new group no longer needs the old one; others may still wait for
 * messages. */
static void leave_the_old(struct play *p, bool *left)
{
    for (uint32_t i = 0; i < p->job.size; i++) {
        const struct td_reply *r = alive(p, i) && !left[i] ? job_reply(&p->job, i) : NULL;
        if (!r || r->error != TD_OK)
            continue;
        struct td_request q = {.kind = TD_REQUEST_LEAVE};
        q.u.leave.group = p->job.rank[i].group;
        td_sim_request(p->sim, p->job.rank[i].client, &q);
        left[i] = true;
    }
}

static void one_round(struct play *p, bool leaves)
{
    uint32_t order[RANKS] = {0};
    bool left[RANKS] = {false};
    td_sim_forget(p->sim);
    for (uint32_t i = 0; i < p->job.size; i++) {
        uint32_t place = (uint32_t)td_sim_random(p->sim, i + 1);
        order[i] = order[place];
        order[place] = i;
    }
    static const td_time pauses[] = {SECOND / 100000, SECOND / 1000, SECOND / 10, SECOND};
    td_time pause = pauses[td_sim_random(p->sim, 4)];
    for (uint32_t k = 0; k < p->job.size + 6; k++) {
        if (td_sim_random(p->sim, 8) == 0)
            mishap(p);
        if (k < p->job.size && alive(p, order[k]))
            shrink(p, order[k], -1);
        td_sim_run(p->sim, td_sim_random(p->sim, pause));
        if (leaves)
            leave_the_old(p, left);
    }
    job_settle(&p->job);
    move_on(p);
}

static void run_seed(uint64_t seed)
{
    static const char *const shapes[] = {"1x1", "1x2", "3", "2x2", "3x3", "2x2x3"};
    struct play p;
    job_case("TORUS_TEST_CASE=%llu test_shrink_sim", (unsigned long long)seed);
    begin(&p, shapes[seed % 6], seed, 2 + (uint32_t)(seed / 6 % (RANKS - 1)), seed / 12 % 2);
    for (int round = 0; round < 3; round++) {
        one_round(&p, round && seed % 3 == 0);
        meet(&p, false);
    }
    td_sim_run(p.sim, 3 * SECOND); /* silent nodes have been given up by then */
    td_sim_forget(p.sim);
    shrink_to(&p, count_alive(&p));
    job_world_end(p.sim);
}

static void whatever_happens_all_that_live_agree(void **unused)
{
    (void)unused;
    seeds_run(run_seed, 1000, 30, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_live_make_a_group_in_the_old_order),
        cmocka_unit_test(a_group_without_losses_is_duplicated),
        cmocka_unit_test(a_lost_node_is_left_out),
        cmocka_unit_test(who_does_not_call_is_named_to_all),
        cmocka_unit_test(a_cancel_ends_it_for_all),
        cmocka_unit_test(the_others_shrink_after_all_that_had_called_have_died),
        cmocka_unit_test(hundreds_of_nodes_shrink),
        cmocka_unit_test(whatever_happens_all_that_live_agree),
    };
    uint64_t one;
    if (!seeds_one(&one))
        return cmocka_run_group_tests(tests, NULL, NULL);
    run_seed(one);
    return 0;
}
