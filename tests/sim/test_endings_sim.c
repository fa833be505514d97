/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of docs/failures.md: one fault at one moment, the sentence that each rank is told, and how
 * soon, at the default limits. TORUS_TEST_CASE=NAME runs one. */
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

#define MS (SECOND / 1000)
#define BEAT (SECOND / 2)
#define PATIENCE (30 * SECOND)

enum { NODES_MAX = 9 };

static struct td_sim *sim;
static struct job job;
static unsigned fabric;
static const struct td_call barrier = {.kind = TD_KIND_BARRIER};
static const struct td_call alltoall = {
    .kind = TD_KIND_ALLTOALL, .type = TD_TYPE_INT32, .count = 4};

static void plain(struct td_sim_options *o)
{
    o->settings.tuning.fabric = (uint8_t)fabric;
    o->express_permille = 0;
}

/* begin makes a machine whose daemons vote, and a job with a rank on each node of `nodes` that has
 * made a call; all links are up. */
static void begin(const char *name, const char *shape, unsigned which, const uint32_t *nodes,
                  uint32_t ranks)
{
    fabric = which;
    job_case("TORUS_TEST_CASE=%s test_endings_sim", name);
    sim = job_world(shape, 1, plain);
    job_form(&job, sim, "job", nodes, ranks, 4096);
    job_call_all(&job, &alltoall, 0, false);
    job_settle(&job);
    job_expect_all(&job, TD_OK, NULL);
    td_sim_run(sim, PATIENCE + SECOND);
}

static const uint32_t each[NODES_MAX] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

/* within runs until the ranks of a set have replies, at most for so long. */
static void within(uint32_t ranks, td_time longest)
{
    td_time from = td_sim_now(sim);
    for (uint32_t i = 0; i < job.size; i++)
        while (ranks >> i & 1 && !job_reply(&job, i)) {
            EXPECT(td_sim_now(sim) - from <= longest, "rank %u waits after %llu ms", i,
                   (unsigned long long)(longest / MS));
            td_sim_run(sim, MS);
        }
}

/* told checks the replies of the ranks of a set: the error, and one sentence that contains `part`.
 */
static void told(uint32_t ranks, td_err error, const char *part)
{
    const char *text = NULL;
    for (uint32_t i = 0; i < job.size; i++) {
        if (!(ranks >> i & 1))
            continue;
        job_expect(&job, i, error, part);
        const struct td_reply *r = job_reply(&job, i);
        EXPECT(!text || strcmp(text, r->text) == 0, "rank %u: %s; others: %s", i, r->text, text);
        text = r->text;
    }
}

static void call(uint32_t ranks, const struct td_call *which)
{
    for (uint32_t i = 0; i < job.size; i++)
        if (ranks >> i & 1)
            job_call(&job, i, which, 0, false);
}

static void shrink(uint32_t ranks, int64_t timeout_ns)
{
    for (uint32_t i = 0; i < job.size; i++) {
        struct td_request q = {.kind = TD_REQUEST_SHRINK};
        q.u.shrink.group = job.rank[i].group;
        q.u.shrink.timeout_ns = timeout_ns;
        if (ranks >> i & 1)
            job.rank[i].request = td_sim_request(sim, job.rank[i].client, &q);
    }
}

/* adopt lets the ranks of a set go on in the group that a shrink has made. */
static void adopt(uint32_t ranks)
{
    for (uint32_t i = 0; i < job.size; i++)
        if (ranks >> i & 1) {
            job.rank[i].group = job_reply(&job, i)->u.joined.group;
            job.rank[i].calls = 0;
        }
}

static void part_off(uint32_t nodes)
{
    bool set[NODES_MAX] = {false};
    for (uint32_t n = 0; n < td_sim_nodes(sim); n++)
        set[n] = nodes >> n & 1;
    td_sim_partition(sim, set, false);
}

static void a_death_is_told_at_once_and_a_new_group_needs_the_others(void **unused)
{
    uint64_t members[] = {0, 1};
    struct td_request q = {.kind = TD_REQUEST_GROUP};
    (void)unused;
    begin(__func__, "3", TD_FABRIC_DIRECT, each, 3);
    call(5, &barrier);
    td_sim_close(sim, job.rank[1].client);
    within(5, 20 * MS);
    told(5, TD_ERR_RANK_FAILED, "rank 1 of job job died: process ");
    q.u.make.group = job.rank[0].group;
    q.u.make.member = members;
    q.u.make.members = 2;
    job.rank[0].request = td_sim_request(sim, job.rank[0].client, &q);
    within(1, 20 * MS);
    assert_int_equal(job_reply(&job, 0)->kind, TD_REPLY_JOINED); /* as on nodes that do not know */
    adopt(1);
    call(1, &barrier);
    within(1, 20 * MS);
    told(1, TD_ERR_RANK_FAILED, "rank 1 of job job died: process ");
    job_world_end(sim);
}

static void a_restart_is_told_when_the_new_daemon_has_connected(void **unused)
{
    (void)unused;
    begin(__func__, "2", TD_FABRIC_DIRECT, each, 2); /* without a quorum: node 0 is lost */
    call(2, &barrier);
    td_sim_kill_node(sim, 0);
    td_sim_run(sim, 50 * MS);
    td_sim_start_node(sim, 0);
    within(2, 100 * MS);
    told(2, TD_ERR_NODE_FAILED, "its daemon was restarted");
    job_world_end(sim);
}

static const char WITHOUT[] = "it did not answer in time, and the machine goes on without it";

static void a_daemon_that_refuses_connections_is_left_out_within_a_heartbeat(void **unused)
{
    (void)unused;
    begin(__func__, "2x2", TD_FABRIC_DIRECT, each, 4);
    call(7, &barrier);
    td_sim_kill_node(sim, 3);
    within(7, 3 * BEAT / 4 + 60 * MS);
    told(7, TD_ERR_NODE_FAILED, WITHOUT);
    job_world_end(sim);
}

static void each_side_of_a_cut_is_told_one_sentence(void **unused)
{
    enum { MOST = 7, FEW = 24 };
    (void)unused;
    begin(__func__, "5", TD_FABRIC_DIRECT, each, 5);
    call(MOST | FEW, &alltoall); /* ends */
    job_settle(&job);
    part_off(FEW);
    call(MOST | FEW, &alltoall);
    within(MOST, PATIENCE + 2 * BEAT);
    told(MOST, TD_ERR_NODE_FAILED, WITHOUT);
    within(FEW, 1500 * MS + BEAT);
    told(FEW, TD_ERR_PARTITIONED, "and the nodes that answer cannot leave it out");
    shrink(MOST | FEW, -1);
    within(MOST, BEAT);
    told(MOST, TD_OK, NULL);
    within(FEW, 1500 * MS + BEAT);
    told(FEW, TD_ERR_PARTITIONED, "call again when the network works");
    td_sim_heal(sim);
    td_sim_run(sim, 5 * SECOND);
    call(FEW, &barrier);
    within(FEW, BEAT);
    for (uint32_t i = 3; i < 5; i++) /* each sentence names what the rank has lost */
        job_expect(&job, i, TD_ERR_PARTITIONED, "go on without");
    shrink(FEW, -1);
    within(FEW, BEAT);
    for (uint32_t i = 3; i < 5; i++) /* each sentence names what the rank has lost */
        job_expect(&job, i, TD_ERR_PARTITIONED, "go on without");
    adopt(MOST);
    call(MOST, &barrier);
    within(MOST, BEAT);
    told(MOST, TD_OK, NULL);
    job_world_end(sim);
}

/* The head of the shrink hears two nodes that do not hear each other, and three of six nodes are
 * silent, among them node 0. */
static void a_shrink_among_deaf_nodes_without_a_quorum_ends_in_time(void **unused)
{
    static const uint32_t nodes[] = {1, 2, 3};
    (void)unused;
    begin(__func__, "6", TD_FABRIC_DIRECT, nodes, 3);
    part_off(1 | 16 | 32);
    td_sim_hold_link(sim, 2, 3);
    td_sim_hold_link(sim, 3, 2);
    td_sim_run(sim, PATIENCE + 5 * BEAT);
    shrink(7, 20 * (int64_t)SECOND);
    within(7, 25 * SECOND);
    told(7, TD_ERR_TIMEOUT, "some of its nodes do not hear each other");
    td_sim_heal(sim);
    td_sim_run(sim, 5 * SECOND);
    job_world_end(sim);
}

/* is_left_out kills a node in a call of the others, who shrink; it returns those that are left. */
static uint32_t is_left_out(uint32_t alive, uint32_t node, const char *sentence)
{
    alive &= ~(1u << node);
    call(alive, &barrier);
    td_sim_kill_node(sim, node);
    within(alive, 2 * BEAT);
    told(alive, TD_ERR_NODE_FAILED, sentence);
    shrink(alive, -1);
    within(alive, 2 * BEAT);
    told(alive, TD_OK, NULL);
    adopt(alive);
    return alive;
}

/* The library gives a daemon up that has not replied for 10 s. The rank is not to blame. */
static void a_rank_that_gave_its_paused_daemon_up_is_not_the_cause(void **unused)
{
    (void)unused;
    begin(__func__, "3", TD_FABRIC_DIRECT, each, 3);
    call(5, &barrier);
    td_sim_pause_node(sim, 1);
    td_sim_run(sim, 10 * SECOND);
    td_sim_close(sim, job.rank[1].client);
    td_sim_run(sim, SECOND);
    CHECK(!job_reply(&job, 0));
    td_sim_thaw_node(sim, 1);
    within(5, 20 * MS);
    told(5, TD_ERR_RANK_FAILED, "torusd on node 1 (1) did not run for 1");
    told(5, TD_ERR_RANK_FAILED, " s, and rank 1 of job job gave it up or died: process ");
    job_world_end(sim);
}

/* A death in a short pause, or after a long one, is a death. */
static void a_death_after_a_pause_is_told_as_one(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        begin(__func__, "3", TD_FABRIC_DIRECT, each, 3);
        call(5, &barrier);
        td_sim_pause_node(sim, 1);
        td_sim_run(sim, i ? 20 * SECOND : 3 * SECOND);
        if (i == 0)
            td_sim_close(sim, job.rank[1].client);
        td_sim_thaw_node(sim, 1);
        td_sim_run(sim, 2 * SECOND);
        if (i == 1)
            td_sim_close(sim, job.rank[1].client);
        within(5, 20 * MS);
        told(5, TD_ERR_RANK_FAILED, "rank 1 of job job died: process ");
        job_world_end(sim);
    }
}

static const char STOPPED[] = "its daemon was stopped by its operator";

/* ask returns the reply to a question about a node that another one is asked. */
static const struct td_reply *ask(uint32_t at, uint32_t about)
{
    struct td_request q = {.kind = TD_REQUEST_STATUS};
    q.u.status.section = TD_STATUS_PEERS;
    q.u.status.node = about + 1;
    uint32_t client = td_sim_open(sim, at);
    uint64_t id = td_sim_request(sim, client, &q);
    td_sim_run(sim, 5 * MS);
    const struct td_reply *r = td_sim_reply(sim, client, id);
    EXPECT(r, "node %u does not answer", at);
    return r;
}

/* Without a quorum: node 0 stops. The others know at once that its ranks are dead, also a node that
 * has no link to it, and go on. */
static void a_stop_is_told_at_once_and_proves_the_loss(void **unused)
{
    enum { FABRICS = 2, IN_CALL = 2 };
    (void)unused;
    for (unsigned i = 0; i < FABRICS * IN_CALL; i++) {
        begin(__func__, "2", i % FABRICS ? TD_FABRIC_ROUTED : TD_FABRIC_DIRECT, each, 2);
        if (i / FABRICS)
            call(2, &barrier);
        td_sim_stop_node(sim, 0);
        td_sim_run(sim, 20 * MS);
        if (i / FABRICS == 0)
            call(2, &barrier);
        within(2, 20 * MS);
        told(2, TD_ERR_NODE_FAILED, "job job lost node 0 (0): its daemon was stopped by its oper");
        shrink(2, -1);
        within(2, 20 * MS);
        told(2, TD_OK, NULL);
        adopt(2);
        call(2, &barrier);
        within(2, 20 * MS);
        told(2, TD_OK, NULL);
        job_world_end(sim);
    }
}

/* Ranks of the daemon that stops are not told that others have lost contact. */
static void a_shrink_on_a_node_that_stops_ends_with_its_daemon(void **unused)
{
    (void)unused;
    begin(__func__, "2", TD_FABRIC_DIRECT, each, 2);
    shrink(2, -1);
    td_sim_run(sim, 20 * MS);
    td_sim_stop_node(sim, 1);
    within(2, 20 * MS);
    told(2, TD_ERR_SHUTDOWN, "the daemon is stopping");
    job_world_end(sim);
}

/* Nodes 1 and 2 are no neighbours in the tree of heartbeats and have no job in common; node 0 tells
 * one what it has heard of the other. A daemon that was killed said nothing. */
static void a_stop_is_known_on_all_nodes_until_the_daemon_is_back(void **unused)
{
    enum { KINDS = 4 };
    (void)unused;
    for (unsigned i = 0; i < KINDS; i++) {
        bool stops = i / 2 == 0;
        begin(__func__, "4", i % 2 ? TD_FABRIC_ROUTED : TD_FABRIC_DIRECT, each, 1);
        if (stops)
            td_sim_stop_node(sim, 1);
        else
            td_sim_kill_node(sim, 1);
        td_sim_run(sim, BEAT);
        for (uint32_t n = 0; n < 4; n++) {
            const struct td_reply *r = n == 1 ? NULL : ask(n, 1);
            EXPECT(!r || (r->error == TD_ERR_SHUTDOWN) == stops, "node %u says %d: %s", n,
                   (int)r->error, r->text);
            EXPECT(!r || !!strstr(r->text, STOPPED) == stops, "node %u says: %s", n, r->text);
        }
        td_sim_kill_node(sim, 1);
        td_sim_start_node(sim, 1);
        td_sim_run(sim, 3 * BEAT);
        for (uint32_t n = 0; n < 4; n++) {
            const struct td_reply *r = ask(n, 1);
            EXPECT(r->error == TD_OK || r->error == TD_ERR_BUSY, "node %u says %d: %s", n,
                   (int)r->error, r->text);
        }
        job_world_end(sim);
    }
}

/* Each neighbour of the second node that runs has given it up; the first one says nothing. */
static void two_neighbours_on_the_routed_fabric_are_lost_as_soon_as_one(void **unused)
{
    (void)unused;
    begin(__func__, "3x3", TD_FABRIC_ROUTED, each, 9);
    uint32_t alive = is_left_out(511, 7, "job job lost node 7");
    alive = is_left_out(alive, 8, "job job lost node 8");
    call(alive, &barrier);
    within(alive, BEAT);
    told(alive, TD_OK, NULL);
    job_world_end(sim);
}

enum { COUNT = 100 };

/* listed writes the ranks of a set in order, and returns their number. */
static uint32_t listed(uint32_t ranks, uint32_t *rank)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < job.size; i++)
        if (ranks >> i & 1)
            rank[size++] = i;
    return size;
}

/* start_exchange makes the ranks of a set exchange blocks that travel in packets. */
static void start_exchange(uint32_t ranks)
{
    struct td_call packets = alltoall;
    uint32_t rank[NODES_MAX], size = listed(ranks, rank);
    for (uint32_t k = 0; k < size; k++)
        for (uint32_t i = 0; i < size * COUNT; i++)
            ((int32_t *)job_source(&job, rank[k], 0))[i] = (int32_t)(k * 100000 + i);
    packets.count = COUNT;
    call(ranks, &packets);
}

/* exchange makes them do so: all of them succeed in time, with the right data. */
static void exchange(uint32_t ranks, td_time longest)
{
    uint32_t rank[NODES_MAX], size = listed(ranks, rank);
    start_exchange(ranks);
    within(ranks, longest);
    told(ranks, TD_OK, NULL);
    for (uint32_t k = 0; k < size; k++)
        for (uint32_t i = 0; i < size * COUNT; i++)
            CHECK(((int32_t *)job_destination(&job, rank[k], 0))[i] ==
                  (int32_t)(i / COUNT * 100000 + k * COUNT + i % COUNT));
}

/* packets_sent returns how many packets a node has sent to its torus neighbours. */
static uint64_t packets_sent(uint32_t node)
{
    struct td_router_counts counts;
    uint64_t sum = 0;
    td_router_look(td_sim_router(sim, node), &counts);
    for (unsigned d = 0; d < TD_DIRECTIONS_MAX; d++)
        sum += counts.sent[d];
    return sum;
}

/* The call under way fails once. Later ones go round the node, until it is back. */
static void data_goes_round_a_node_that_is_down(void **unused)
{
    (void)unused;
    begin(__func__, "3x3", TD_FABRIC_ROUTED, each, 9);
    uint32_t alive = is_left_out(511, 4, "job job lost node 4");
    for (int i = 0; i < 3; i++)
        exchange(alive, BEAT);
    td_sim_start_node(sim, 4);
    td_sim_run(sim, 5 * SECOND);
    uint64_t before = packets_sent(4);
    exchange(alive, BEAT);
    CHECK(packets_sent(4) > before);
    job_world_end(sim);
}

/* All shortest ways between the nodes beside a dead one of a line lead through it. */
static void data_of_a_line_goes_round_the_dead_node_in_it(void **unused)
{
    (void)unused;
    begin(__func__, "5", TD_FABRIC_ROUTED, each, 5);
    exchange(is_left_out(31, 2, "job job lost node 2"), BEAT);
    job_world_end(sim);
}

static void slow(struct td_sim_options *o)
{
    plain(o);
    o->settings.heartbeat_ns = SECOND / 10;
    o->settings.progress_timeout_ns = SECOND;
    o->latency_ns_max = 30 * MS;
}

/* send_to_first makes rank 1 of two send a block to rank 0, and nothing else. */
static void send_to_first(uint64_t block)
{
    const uint64_t sent[2][2] = {{0, 0}, {block, 0}}, received[2][2] = {{0, block}, {0, 0}};
    for (uint32_t r = 0; r < 2; r++) {
        struct td_request q = {.kind = TD_REQUEST_OPERATION};
        uint32_t region = job.rank[r].region;
        q.u.operation.call = (struct td_call){.kind = TD_KIND_ALLTOALLV, .type = TD_TYPE_BYTE};
        q.u.operation.timeout_ns = -1;
        q.u.operation.source = (struct td_place){region, 0, job.half_bytes, NULL};
        q.u.operation.destination = (struct td_place){region, job.half_bytes, job.half_bytes, NULL};
        q.u.operation.from = (struct td_rank_counts){sent[r], NULL, 2, 0};
        q.u.operation.to = (struct td_rank_counts){received[r], NULL, 2, 0};
        job_make(&job, r, &q);
    }
}

/* The window of acknowledgements is full nearly all the time, for longer than progress_timeout. */
static void a_block_of_many_parts_is_carried(void **unused)
{
    enum { BLOCK = 12000000 };
    static const uint32_t beside[] = {1, 3};
    (void)unused;
    fabric = TD_FABRIC_ROUTED;
    job_case("TORUS_TEST_CASE=%s test_endings_sim", __func__);
    sim = job_world("5", 1, slow);
    td_sim_kill_node(sim, 2);
    td_sim_run(sim, 3 * SECOND);
    job_form(&job, sim, "job", beside, 2, BLOCK);
    for (uint32_t i = 0; i < BLOCK; i++)
        ((uint8_t *)job_source(&job, 1, 0))[i] = (uint8_t)(i * 167);
    td_time from = td_sim_now(sim);
    send_to_first(BLOCK);
    within(3, 60 * SECOND);
    told(3, TD_OK, NULL);
    CHECK(td_sim_now(sim) - from > 4 * SECOND);
    const uint8_t *all = job_destination(&job, 0, 0);
    for (uint32_t i = 0; i < BLOCK; i++)
        CHECK(all[i] == (uint8_t)(i * 167));
    job_world_end(sim);
}

/* A job without ranks on a node whose daemon was never up does not notice. */
static void data_goes_round_a_node_that_was_never_up(void **unused)
{
    static const uint32_t others[] = {0, 1, 2, 4, 5, 6};
    (void)unused;
    fabric = TD_FABRIC_ROUTED;
    job_case("TORUS_TEST_CASE=%s test_endings_sim", __func__);
    sim = job_world("7", 1, plain);
    td_sim_kill_node(sim, 3);
    for (uint32_t n = 2; n < 5; n += 2) { /* its neighbours have never seen it either */
        td_sim_kill_node(sim, n);
        td_sim_start_node(sim, n);
    }
    td_sim_run(sim, 5 * BEAT);
    job_form(&job, sim, "job", others, 6, 4096);
    exchange(63, BEAT);
    job_world_end(sim);
}

/* fails_once has a node die, or fall silent, while a group without a rank there exchanges data, and
 * daemons whose heartbeats are not in step. The call under way fails, and no later one. */
static void fails_once(const char *name, td_time phase, bool dies)
{
    static const uint32_t others[] = {0, 1, 2, 3, 5, 6, 7, 8};
    unsigned failures = 0;
    fabric = TD_FABRIC_ROUTED;
    job_case("TORUS_TEST_CASE=%s test_endings_sim", name);
    sim = job_world("3x3", 1, plain);
    for (uint32_t n = 0; n < 9; n++) {
        td_sim_kill_node(sim, n);
        td_sim_run(sim, 130 * MS);
        td_sim_start_node(sim, n);
    }
    td_sim_run(sim, PATIENCE + SECOND + phase);
    job_form(&job, sim, "job", others, 8, 4096);
    exchange(255, BEAT);
    if (dies)
        td_sim_kill_node(sim, 4);
    else
        td_sim_freeze_node(sim, 4);
    for (td_time end = td_sim_now(sim) + PATIENCE + 5 * BEAT; td_sim_now(sim) < end;) {
        start_exchange(255);
        within(255, PATIENCE + 3 * BEAT);
        if (job_reply(&job, 0)->error) {
            failures++;
            shrink(255, -1);
            within(255, 2 * BEAT);
            told(255, TD_OK, NULL);
            adopt(255);
        }
        td_sim_run(sim, 20 * MS);
    }
    EXPECT(failures == 1, "phase %llu ms, %s: %u calls failed", (unsigned long long)(phase / MS),
           dies ? "dead" : "silent", failures);
    job_world_end(sim);
}

static void a_call_under_way_fails_once(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < 20; i++)
        fails_once(__func__, i / 2 * 97 * MS, i % 2);
}

/* part_or_stop cuts nodes 3 and 4 of five off, or stops them, at a phase of the heartbeat. It
 * returns how long after that the last of the others' ranks is told, or all ranks
 * after a cut. */
static td_time part_or_stop(const char *name, bool stops, td_time phase)
{
    uint32_t all = stops ? 7 : 31;
    begin(name, "5", TD_FABRIC_DIRECT, each, 5);
    td_sim_run(sim, phase);
    job_call_all(&job, &alltoall, 0, false);
    job_settle(&job);
    td_time from = td_sim_now(sim);
    if (!stops)
        part_off(24);
    for (uint32_t n = 3; stops && n < 5; n++)
        td_sim_pause_node(sim, n);
    call(all, &alltoall);
    within(all, PATIENCE + 2 * BEAT);
    td_time waited = td_sim_now(sim) - from;
    td_sim_heal(sim);
    for (uint32_t n = 3; stops && n < 5; n++)
        td_sim_thaw_node(sim, n);
    td_sim_run(sim, 5 * SECOND);
    job_world_end(sim);
    return waited;
}

/* A link is judged once per heartbeat, and a poll of a quarter of it follows. */
static void silence_is_told_within_five_quarters_of_a_heartbeat(void **unused)
{
    enum { PHASES = SEEDS_SANITIZED ? 5 : 40 };
    td_time worst = 0, sum = 0;
    (void)unused;
    for (unsigned i = 0; i < 2 * PHASES; i++) {
        td_time waited = part_or_stop(__func__, i % 2, i / 2 * 97 * MS);
        EXPECT(waited <= PATIENCE + 5 * BEAT / 4 + 5 * MS, "phase %u: %llu ms", i / 2,
               (unsigned long long)(waited / MS));
        worst = waited > worst ? waited : worst;
        sum += waited;
    }
    print_message("%llu ms in the mean, %llu ms at most\n",
                  (unsigned long long)(sum / (2 * PHASES) / MS), (unsigned long long)(worst / MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_is_told_at_once_and_a_new_group_needs_the_others),
        cmocka_unit_test(a_restart_is_told_when_the_new_daemon_has_connected),
        cmocka_unit_test(a_daemon_that_refuses_connections_is_left_out_within_a_heartbeat),
        cmocka_unit_test(a_rank_that_gave_its_paused_daemon_up_is_not_the_cause),
        cmocka_unit_test(a_death_after_a_pause_is_told_as_one),
        cmocka_unit_test(a_stop_is_told_at_once_and_proves_the_loss),
        cmocka_unit_test(a_shrink_on_a_node_that_stops_ends_with_its_daemon),
        cmocka_unit_test(a_stop_is_known_on_all_nodes_until_the_daemon_is_back),
        cmocka_unit_test(each_side_of_a_cut_is_told_one_sentence),
        cmocka_unit_test(a_shrink_among_deaf_nodes_without_a_quorum_ends_in_time),
        cmocka_unit_test(silence_is_told_within_five_quarters_of_a_heartbeat),
        cmocka_unit_test(two_neighbours_on_the_routed_fabric_are_lost_as_soon_as_one),
        cmocka_unit_test(a_call_under_way_fails_once),
        cmocka_unit_test(data_goes_round_a_node_that_is_down),
        cmocka_unit_test(data_of_a_line_goes_round_the_dead_node_in_it),
        cmocka_unit_test(a_block_of_many_parts_is_carried),
        cmocka_unit_test(data_goes_round_a_node_that_was_never_up),
    };
    cmocka_set_test_filter(getenv("TORUS_TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
