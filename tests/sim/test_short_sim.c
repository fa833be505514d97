/* SPDX-License-Identifier: Apache-2.0 */
/* Short operations, while ranks cancel, reach their timeouts, die or leave: all ranks get the same
 * ending. TORUS_TEST_LONG=1 runs many more games. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "seeds.h"

enum { OPERATIONS = 3, EVENTS_MAX = JOB_RANKS_MAX * OPERATIONS + 4 };

struct event {
    td_time at;
    uint32_t rank;
    enum { CALL, CANCEL, DIE, LEAVE } kind;
};

struct game {
    struct job job;
    uint64_t request[OPERATIONS][JOB_RANKS_MAX];
    struct td_call call[OPERATIONS];
    bool gone[JOB_RANKS_MAX];
    int64_t limit_ns[JOB_RANKS_MAX];
    struct event event[EVENTS_MAX];
    uint32_t events;
};

static struct game game;

static uint64_t draw(uint64_t below)
{
    return td_sim_random(game.job.sim, below);
}

static void short_of_records(struct td_sim_options *o)
{
    o->settings.tuning.fabric = o->seed % 3 ? TD_FABRIC_ROUTED : TD_FABRIC_DIRECT;
    if (o->seed % 8 == 1)
        o->settings.operations_max = 2;
}

static void add_event(td_time at, uint32_t rank, int kind)
{
    game.event[game.events++] = (struct event){.at = at, .rank = rank, .kind = kind};
}

static int earlier(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return x->at != y->at ? (x->at < y->at ? -1 : 1) : (x->rank > y->rank) - (x->rank < y->rank);
}

static void make_call(uint32_t i, uint64_t k)
{
    struct job_rank *r = &game.job.rank[i];
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    if (game.gone[i])
        return;
    q.u.operation.call = game.call[k];
    q.u.operation.timeout_ns = game.limit_ns[i];
    q.u.operation.sequence = k;
    q.u.operation.group = r->group;
    if (game.call[k].kind == TD_KIND_ALLREDUCE) {
        ((int64_t *)job_source(&game.job, i, 0))[k] = (int64_t)(i + 1) << k;
        q.u.operation.source = (struct td_place){r->region, 8 * k, 8, NULL};
        q.u.operation.destination =
            (struct td_place){r->region, game.job.half_bytes + 8 * k, 8, NULL};
    }
    game.request[k][i] = td_sim_request(game.job.sim, r->client, &q);
    r->calls += k == r->calls;
}

/* call_again repeats the calls for which a node had no record. */
static void call_again(void)
{
    for (uint32_t i = 0; i < game.job.size; i++)
        for (uint64_t k = 0; k < game.job.rank[i].calls && !game.gone[i]; k++) {
            const struct td_reply *r =
                td_sim_reply(game.job.sim, game.job.rank[i].client, game.request[k][i]);
            if (r && r->refused)
                make_call(i, k);
        }
}

static bool is_answered(uint32_t i)
{
    for (uint32_t k = 0; k < game.job.rank[i].calls && !game.gone[i]; k++) {
        const struct td_reply *r =
            td_sim_reply(game.job.sim, game.job.rank[i].client, game.request[k][i]);
        if (!r || r->refused)
            return false;
    }
    return true;
}

static void play_event(const struct event *e)
{
    struct job_rank *r = &game.job.rank[e->rank];
    struct td_request q = {.kind = TD_REQUEST_CANCEL};
    switch (e->kind) {
    case CALL:
        make_call(e->rank, r->calls);
        return;
    case CANCEL:
        if (r->calls == 0 || game.gone[e->rank])
            return;
        q.u.cancel.request = game.request[draw(r->calls)][e->rank];
        td_sim_request(game.job.sim, r->client, &q);
        return;
    case LEAVE:
        q.kind = TD_REQUEST_LEAVE;
        q.u.leave.group = r->group;
        if (is_answered(e->rank) && r->calls == OPERATIONS) /* it has all its replies */
            td_sim_request(game.job.sim, r->client, &q);
        return;
    case DIE:
        game.gone[e->rank] = true;
        td_sim_close(game.job.sim, r->client);
        return;
    }
}

/* plan draws the times of the calls, and of the failures between. */
static void plan(int mishap)
{
    static const td_time windows[] = {1, 30000, 1000000, 20000000};
    td_time window = windows[draw(4)];
    uint32_t size = game.job.size;
    game.events = 0;
    memset(game.gone, 0, sizeof game.gone);
    static const struct td_call calls[] = {
        {.kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT64, .op = TD_OP_SUM, .count = 1},
        {.kind = TD_KIND_BARRIER},
    };
    for (uint32_t k = 0; k < OPERATIONS; k++)
        game.call[k] = calls[draw(2)];
    for (uint32_t i = 0; i < size; i++) {
        game.limit_ns[i] = mishap == 1 && draw(2) ? (int64_t)(1 + draw(2 * window)) : -1;
        for (uint32_t k = 0; k < OPERATIONS; k++)
            add_event(draw(window), i, CALL);
    }
    if (mishap == 2)
        add_event(draw(2 * window), (uint32_t)draw(size), CANCEL);
    if (mishap == 3)
        add_event(draw(2 * window), (uint32_t)draw(size), DIE);
    for (uint32_t i = 0; mishap == 4 && i < 4; i++)
        add_event(draw(2 * window), (uint32_t)draw(size), LEAVE);
    qsort(game.event, game.events, sizeof *game.event, earlier);
}

static bool all_answered(void)
{
    for (uint32_t i = 0; i < game.job.size; i++)
        if (!is_answered(i))
            return false;
    return true;
}

/* check_ending checks that all ranks have the same, right outcome of an operation. */
static void check_ending(uint32_t k)
{
    const struct td_reply *first = NULL;
    uint32_t heard = 0;
    for (uint32_t i = 0; i < game.job.size; i++) {
        if (game.gone[i])
            continue;
        const struct td_reply *r =
            td_sim_reply(game.job.sim, game.job.rank[i].client, game.request[k][i]);
        first = first ? first : r;
        heard++;
        EXPECT(r->error == first->error, "operation %u: rank %u heard \"%s\", another \"%s\"", k, i,
               r->text, first->text);
        int64_t size = game.job.size, *sum = job_destination(&game.job, i, 0);
        if (r->error == TD_OK && game.call[k].kind == TD_KIND_ALLREDUCE)
            EXPECT(sum[k] == (size * (size + 1) / 2) << k, "operation %u: rank %u has %lld", k, i,
                   (long long)sum[k]);
    }
    CHECK(heard > 0);
}

static void play(const char *shape, uint64_t seed, int mishap)
{
    job_case("test_short_sim # %s, mishap %d, seed %llu", shape, mishap, (unsigned long long)seed);
    struct td_sim *sim = job_world(shape, seed, short_of_records);
    uint32_t nodes[JOB_RANKS_MAX], size = td_sim_nodes(sim) * (1 + (uint32_t)seed / 8 % 2);
    memset(&game, 0, sizeof game);
    game.job.sim = sim;
    job_spread(sim, size, nodes);
    job_form(&game.job, sim, "job", nodes, size, 4096);
    plan(mishap);
    td_time begin = td_sim_now(sim);
    for (uint32_t i = 0; i < game.events; i++) {
        td_time at = begin + game.event[i].at;
        if (at > td_sim_now(sim))
            td_sim_run(sim, at - td_sim_now(sim));
        play_event(&game.event[i]);
    }
    for (int s = 0; s < 600; s++) {
        call_again();
        if (all_answered())
            break;
        td_sim_run(sim, SECOND / 10);
    }
    CHECK(all_answered());
    for (uint32_t k = 0; k < OPERATIONS; k++)
        check_ending(k);
    job_world_end(sim);
}

static void play_seed(uint64_t seed)
{
    static const char *const shapes[] = {"2", "3", "5", "2x2", "3x3", "4x2", "2x2x2", "3x4"};
    play(shapes[seed % 8], seed, (int)(seed / 8 % 5));
}

static void all_hear_the_same_whatever_comes_between(void **unused)
{
    (void)unused;
    seeds_run(play_seed, 1200, 40, 40000);
}

/* take_joined makes the ranks call that have joined since. It returns true when all have called. */
static bool take_joined(struct job *job, bool *called)
{
    static const struct td_call barrier = {.kind = TD_KIND_BARRIER};
    bool all = true;
    for (uint32_t i = 0; i < job->size; i++) {
        const struct td_reply *r = called[i] ? NULL : job_reply(job, i);
        if (r) {
            CHECK(r->kind == TD_REPLY_JOINED);
            job->rank[i].group = r->u.joined.group;
            job_call(job, i, &barrier, 0, false);
            called[i] = true;
        }
        all = all && called[i];
    }
    return all;
}

static void ranks_that_call_as_soon_as_they_have_joined_succeed(void **unused)
{
    static const char *const shapes[] = {"2x2", "3x3", "4x2", "2x2x2"};
    (void)unused;
    for (uint64_t seed = 1; seed <= (SEEDS_SANITIZED ? 40 : 200); seed++) {
        struct job *job = &game.job;
        uint32_t nodes[JOB_RANKS_MAX];
        bool called[JOB_RANKS_MAX] = {false};
        job_case("test_short_sim # calls after joins, seed %llu", (unsigned long long)seed);
        struct td_sim *sim = job_world(shapes[seed % 4], seed, short_of_records);
        uint32_t size = td_sim_nodes(sim);
        job_spread(sim, size, nodes);
        job_open(job, sim, "job", nodes, size, 4096);
        for (uint32_t i = 0; i < size; i++)
            job_join(job, i, i, -1);
        while (!take_joined(job, called))
            td_sim_run(sim, 1000);
        job_settle(job);
        job_expect_all(job, TD_OK, NULL);
        job_world_end(sim);
    }
}

/* ---- how short data travels on the direct fabric ---- */

enum { NODES = 4, CARRIED = 16000 };
static uint32_t long_payloads, carried, packets;

static bool count_messages(void *me, uint32_t from, uint32_t to, struct td_message *m)
{
    (void)me;
    (void)from;
    (void)to;
    long_payloads +=
        (m->kind == TD_MESSAGE_ARRIVE && m->u.arrive.payload.bytes > TD_RIDE_BYTES_MAX) ||
        (m->kind == TD_MESSAGE_RELEASE && m->u.release.payload.bytes > TD_RIDE_BYTES_MAX);
    carried += m->kind == TD_MESSAGE_CARRY;
    return true;
}

static void count_packets(void *me, uint32_t from, uint32_t to, struct td_packet *p)
{
    (void)me;
    (void)from;
    (void)to;
    packets += p->kind == TD_PACKET_DATA;
}

static void counting(struct td_sim_options *o)
{
    o->settings.tuning.fabric = TD_FABRIC_DIRECT;
    o->settings.carry_bytes = CARRIED;
    o->tamper.message = count_messages;
    o->tamper.packet = count_packets;
}

/* exchange makes an all-to-all, and checks its result. */
static void exchange(struct job *job, uint32_t block)
{
    const struct td_call all = {.kind = TD_KIND_ALLTOALL, .type = TD_TYPE_BYTE, .count = block};
    long_payloads = carried = packets = 0;
    for (uint32_t i = 0; i < job->size; i++)
        for (uint32_t k = 0; k < job->size * block; k++)
            ((uint8_t *)job_source(job, i, 0))[k] = (uint8_t)(7 * i + 3 * (k / block) + k);
    job_call_all(job, &all, 0, false);
    job_settle(job);
    job_expect_all(job, TD_OK, NULL);
    for (uint32_t i = 0; i < job->size; i++)
        for (uint32_t k = 0; k < job->size * block; k++) {
            uint32_t from = k / block, at = i * block + k % block;
            CHECK(((uint8_t *)job_destination(job, i, 0))[k] == (uint8_t)(7 * from + 3 * i + at));
        }
}

static void short_data_travels_with_the_gate_or_without_packets(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct job job;
        uint32_t nodes[NODES] = {0, 1, 2, 3};
        job_case("test_short_sim # how short data travels, seed %llu", (unsigned long long)seed);
        struct td_sim *sim = job_world("2x2", seed, counting);
        job_form(&job, sim, "job", nodes, NODES, 1 << 17);
        exchange(&job, 1000); /* a node announces 4000 bytes */
        CHECK(long_payloads == 2 * (NODES - 1) && carried == 0 && packets == 0);
        exchange(&job, CARRIED);
        CHECK(carried == NODES * (NODES - 1) && packets == 0);
        exchange(&job, CARRIED + 1); /* one byte too long */
        CHECK(carried == 0 && packets >= NODES * (NODES - 1));
        job_world_end(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_call_as_soon_as_they_have_joined_succeed),
        cmocka_unit_test(all_hear_the_same_whatever_comes_between),
        cmocka_unit_test(short_data_travels_with_the_gate_or_without_packets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
