/* SPDX-License-Identifier: Apache-2.0 */
/* The record of waiting: a rank that calls late is charged with the time of all others, on every
 * node together, whatever the fabric or the tree. TORUS_TEST_CASE=SEED runs one seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "job.h"
#include "seeds.h"
#include "sim/disturbances.h"

enum { RANKS = 8, CALLS = 10, LATE_RANK = 5, NODES_MAX = 8 };
#define LATE_NS ((td_time)200000000)

static struct job job;
static const struct td_call barrier = {.kind = TD_KIND_BARRIER};
static const struct td_call sum = {
    .kind = TD_KIND_ALLREDUCE, .type = TD_TYPE_INT64, .op = TD_OP_SUM, .count = 1};

/* What all nodes together know of the job. */
static struct {
    uint64_t ns[RANKS][TD_KIND_MAX], last[RANKS][TD_KIND_MAX], pid[RANKS], silent_ns;
    uint64_t silence_ns; /* the longest one */
    uint32_t silences;   /* the most that a node has seen */
    uint32_t node[RANKS], records, over;
    td_err error;
    uint32_t deaths, died_rank;
    uint64_t died_pid;
    char text[TD_TEXT_MAX];
    struct td_row_absent absent[TD_ROW_ABSENTS_MAX * RANKS];
    uint32_t absents;
    uint8_t gone[TD_NODES_MAX / 8], nodes[TD_NODES_MAX / 8];
} seen;

static void look(const struct td_status_row *row)
{
    const struct td_row_wait *w = &row->u.wait;
    if (row->kind == TD_ROW_WAIT) {
        bool named = w->rank < RANKS && w->kind < TD_KIND_MAX;
        CHECK(named);
        if (!named)
            return;
        seen.ns[w->rank][w->kind] += w->waited_ns;
        seen.last[w->rank][w->kind] += w->last;
        seen.silent_ns += w->silent_ns;
        CHECK(w->silent_node ? w->silent_ns && !w->waited_ns : !w->silent_ns);
        CHECK(w->silent_node ? w->silences && w->silent_ranks : !w->silences && !w->silent_ranks);
        CHECK(w->silence_longest_ns >= w->silent_longest_ns);
        CHECK(w->silence_ns >= w->silence_longest_ns);
        CHECK(w->longest_ns || w->silent_longest_ns || !w->longest_age_ns);
        if (w->silence_longest_ns > seen.silence_ns)
            seen.silence_ns = w->silence_longest_ns;
        if (w->silences > seen.silences)
            seen.silences = w->silences;
        seen.node[w->rank] = w->node;
        if (w->pid)
            seen.pid[w->rank] = w->pid;
    } else if (row->kind == TD_ROW_RECORD) {
        CHECK(strcmp(row->u.record.job, "job") == 0 && row->u.record.size == RANKS);
        memcpy(seen.nodes, row->u.record.nodes.bits, row->u.record.nodes.bytes);
        seen.records++;
        seen.over += row->u.record.ended_ns > 0;
        if (row->u.record.died_ns) {
            seen.deaths++;
            seen.died_rank = row->u.record.died_rank;
            seen.died_pid = row->u.record.died_pid;
        }
        if (row->u.record.error != TD_OK) {
            seen.error = row->u.record.error;
            snprintf(seen.text, sizeof seen.text, "%s", row->u.record.text);
        }
    } else if (row->kind == TD_ROW_JOB && row->u.job.gone_nodes.bytes) {
        memcpy(seen.gone, row->u.job.gone_nodes.bits, row->u.job.gone_nodes.bytes);
    } else if (row->kind == TD_ROW_GROUP) {
        memcpy(seen.nodes, row->u.group.member_nodes.bits, row->u.group.member_nodes.bytes);
    } else if (row->kind == TD_ROW_OPERATION) {
        for (uint32_t i = 0; i < row->u.operation.absents; i++)
            seen.absent[seen.absents++] = row->u.operation.absent[i];
    }
}

static void on_reply(void *me, uint32_t client, const struct td_reply *reply)
{
    (void)me;
    (void)client;
    for (uint32_t i = 0; reply->kind == TD_REPLY_STATUS && i < reply->u.status.rows; i++)
        look(&reply->u.status.row[i]);
}

static void observe(struct td_sim_options *o)
{
    o->observer.reply = on_reply;
    /* what a release takes counts, too: here it is much less than LATE_NS */
    td_time *delay[] = {&o->latency_ns_max, &o->compute_ns_max, &o->request_ns_max};
    for (int i = 0; i < 3; i++)
        if (*delay[i] > SECOND / 10000)
            *delay[i] = SECOND / 10000;
}

/* ask reads the first pages of a section of each node. */
static void ask(struct td_sim *sim, uint32_t section)
{
    enum { PAGES = 4 };
    memset(&seen, 0, sizeof seen);
    for (uint32_t n = 0; n < td_sim_nodes(sim); n++) {
        uint32_t client = td_sim_open(sim, n);
        for (uint64_t page = 0; page < PAGES; page++) {
            struct td_request q = {.kind = TD_REQUEST_STATUS};
            q.u.status.section = section;
            q.u.status.cursor = page * TD_STATUS_ROWS_MAX;
            td_sim_request(sim, client, &q);
        }
        td_sim_run(sim, SECOND / 100);
        td_sim_close(sim, client);
    }
}

/* ask_from reads pages of a section of a node through another node, until one says that none
 * follows. It returns the error of the last reply. */
static td_err ask_from(struct td_sim *sim, uint32_t from, uint32_t node, uint32_t section)
{
    enum { TRIES = 400 };
    uint32_t client = td_sim_open(sim, from);
    struct td_request q = {.kind = TD_REQUEST_STATUS};
    q.u.status.section = section;
    q.u.status.node = node + 1;
    const struct td_reply *r = NULL;
    for (int i = 0; i < TRIES; i++) {
        uint64_t id = td_sim_request(sim, client, &q);
        td_sim_run(sim, SECOND / 50);
        r = td_sim_reply(sim, client, id);
        if (!r || (r->error != TD_OK && r->error != TD_ERR_BUSY) ||
            (r->kind == TD_REPLY_STATUS && r->u.status.next == 0))
            break;
        if (r->kind == TD_REPLY_STATUS)
            q.u.status.cursor = r->u.status.next;
    }
    td_err error = r ? r->error : TD_ERR_TIMEOUT;
    if (error != TD_OK && r)
        snprintf(seen.text, sizeof seen.text, "%s", r->text);
    td_sim_close(sim, client);
    return error;
}

static struct td_sim *begin(const char *shape, uint64_t seed)
{
    uint32_t nodes[RANKS];
    job_case("test_waits_sim # seed %llu, %s", (unsigned long long)seed, shape);
    struct td_sim *sim = job_world(shape, seed, observe);
    job_spread(sim, RANKS, nodes);
    job_form(&job, sim, "job", nodes, RANKS, 1 << 12);
    return sim;
}

static const char *shape_of(uint64_t seed)
{
    static const char *const shapes[] = {"8", "2x2", "1", "2x4"};
    return shapes[seed / 2 % 4];
}

static void expect_about(uint64_t ns, uint64_t expected)
{
    EXPECT(ns > expected / 10 * 9 && ns < expected / 10 * 11, "%llu ns, not about %llu",
           (unsigned long long)ns, (unsigned long long)expected);
}

/* call_late makes all ranks call, one of them later than the others. */
static void call_late(struct td_sim *sim, const struct td_call *call, uint32_t late)
{
    for (uint32_t i = 0; i < RANKS; i++)
        if (i != late)
            job_call(&job, i, call, 0, false);
    td_sim_run(sim, LATE_NS);
    job_call(&job, late, call, 0, false);
    job_settle(&job);
    job_expect_all(&job, TD_OK, NULL);
}

static uint32_t nodes_of_job(void)
{
    uint8_t bits[TD_NODES_MAX / 8] = {0};
    for (uint32_t r = 0; r < RANKS; r++)
        td_bit_set(bits, job.rank[r].node);
    return td_bits_count(bits, TD_NODES_MAX);
}

static void late_rank(uint64_t seed)
{
    struct td_sim *sim = begin(shape_of(seed), seed);
    for (int i = 0; i < CALLS; i++) {
        call_late(sim, &barrier, LATE_RANK);
        job_call_all(&job, &barrier, 0, false);
        job_settle(&job);
    }
    call_late(sim, &sum, 2);
    ask(sim, TD_STATUS_WAITS);
    expect_about(seen.ns[LATE_RANK][TD_KIND_BARRIER], CALLS * (RANKS - 1) * LATE_NS);
    expect_about(seen.ns[2][TD_KIND_ALLREDUCE], (RANKS - 1) * LATE_NS);
    CHECK(seen.last[LATE_RANK][TD_KIND_BARRIER] >= CALLS);
    CHECK(seen.last[2][TD_KIND_ALLREDUCE] == 1);
    CHECK(seen.node[LATE_RANK] == job.rank[LATE_RANK].node);
    CHECK(seen.error == TD_OK && seen.over == 0 && seen.records == td_sim_nodes(sim));
    CHECK(td_bits_count(seen.nodes, TD_NODES_MAX) == nodes_of_job());
    uint64_t calls = 0;
    for (uint32_t r = 0; r < RANKS; r++)
        calls += seen.last[r][TD_KIND_BARRIER];
    CHECK(calls == 2 * CALLS);
    job_world_end(sim);
}

static void late_rank_is_charged_with_the_waiting_of_all_others(void **unused)
{
    (void)unused;
    seeds_run(late_rank, 48, 12, 400);
}

/* All ranks call while a node is cut off for 3 s, or its daemon does not run: no rank is late. The
 * ranks may be in the call already, and one calls in the silence. */
static void silence(uint64_t seed)
{
    static const char *const shapes[] = {"8", "2x2", "4", "2x4"};
    bool set[NODES_MAX] = {false};
    struct td_sim *sim = begin(shapes[seed / 2 % 4], seed);
    job_call_all(&job, &barrier, 0, false);
    job_settle(&job);
    td_sim_run(sim, 2 * SECOND);
    uint32_t node = job.rank[td_sim_random(sim, RANKS)].node,
             late = (uint32_t)td_sim_random(sim, RANKS);
    bool pauses = td_sim_random(sim, 2), early = td_sim_random(sim, 2);
    for (uint32_t i = 0; i < RANKS; i++)
        if (early && i != late)
            job_call(&job, i, &barrier, 0, false);
    td_sim_run(sim, SECOND / 20);
    set[node] = true;
    if (pauses)
        td_sim_pause_node(sim, node);
    else
        td_sim_partition(sim, set, seed % 3 == 0);
    for (uint32_t i = 0; i < RANKS; i++)
        if (!early || i == late)
            job_call(&job, i, &barrier, 0, false);
    td_sim_run(sim, 3 * SECOND);
    if (pauses)
        td_sim_thaw_node(sim, node);
    else
        td_sim_heal(sim);
    job_settle(&job);
    job_expect_all(&job, TD_OK, NULL);
    ask(sim, TD_STATUS_WAITS);
    uint64_t charged = 0;
    for (uint32_t r = 0; r < RANKS; r++)
        charged += seen.ns[r][TD_KIND_BARRIER];
    EXPECT(charged < SECOND, "%llu ns are charged to ranks", (unsigned long long)charged);
    EXPECT(seen.silent_ns > 2 * SECOND, "%llu ns of silence", (unsigned long long)seen.silent_ns);
    EXPECT(seen.silences == 1, "%u silences", seen.silences); /* whoever waited, and how often */
    expect_about(seen.silence_ns, 3 * SECOND);
    job_world_end(sim);
}

static void waiting_in_a_silence_is_charged_to_no_rank(void **unused)
{
    (void)unused;
    seeds_run(silence, 360, 24, 1000);
}

static void dead_rank(uint64_t seed)
{
    struct td_sim *sim = begin(shape_of(seed), seed);
    for (uint32_t i = 0; i < RANKS; i++)
        if (i != LATE_RANK)
            job_call(&job, i, &barrier, 0, false);
    td_sim_run(sim, 5 * SECOND);
    ask(sim, TD_STATUS_OPERATIONS);
    bool found = false;
    for (uint32_t i = 0; i < seen.absents; i++) {
        found = found || (seen.absent[i].rank == LATE_RANK && seen.absent[i].pid);
        CHECK(seen.absent[i].rank == LATE_RANK);
        CHECK(seen.absent[i].node == job.rank[LATE_RANK].node);
    }
    CHECK(found);
    td_sim_close(sim, job.rank[LATE_RANK].client);
    td_sim_run(sim, 2 * SECOND);
    ask(sim, TD_STATUS_JOBS);
    CHECK(td_bits_count(seen.gone, TD_NODES_MAX) == 1);
    CHECK(td_bit(seen.gone, job.rank[LATE_RANK].node));
    ask(sim, TD_STATUS_GROUPS);
    for (uint32_t r = 0; r < RANKS; r++)
        CHECK(td_bit(seen.nodes, job.rank[r].node));
    CHECK(td_bits_count(seen.nodes, TD_NODES_MAX) == nodes_of_job());
    for (uint32_t i = 0; i < RANKS; i++)
        if (i != LATE_RANK) {
            job_expect(&job, i, TD_ERR_RANK_FAILED, "rank 5");
            td_sim_close(sim, job.rank[i].client);
        }
    td_sim_run(sim, 2 * SECOND);
    ask(sim, TD_STATUS_WAITS);
    expect_about(seen.ns[LATE_RANK][TD_KIND_BARRIER], (RANKS - 1) * 5 * SECOND);
    CHECK(seen.records == td_sim_nodes(sim) && seen.over == seen.records);
    for (uint32_t r = 0; r < RANKS; r++) /* the record outlives the group */
        CHECK(td_bit(seen.nodes, job.rank[r].node));
    CHECK(td_bits_count(seen.nodes, TD_NODES_MAX) == nodes_of_job());
    CHECK(seen.error == TD_ERR_RANK_FAILED && strstr(seen.text, "rank 5"));
    CHECK(seen.deaths == 1 && seen.died_rank == LATE_RANK); /* the others ended after their error */
    job_world_end(sim);
}

static void record_outlives_the_rank_and_the_job(void **unused)
{
    (void)unused;
    seeds_run(dead_rank, 24, 8, 200);
}

/* Most nodes have no connection to that of the late rank, which is not silent. */
static void timeout(uint64_t seed)
{
    struct td_sim *sim = begin(shape_of(seed), seed);
    td_sim_run(sim, 5 * SECOND);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct td_request q = {.kind = TD_REQUEST_OPERATION};
        q.u.operation.call = barrier;
        q.u.operation.timeout_ns = 4 * SECOND;
        if (i != LATE_RANK)
            job_make(&job, i, &q);
    }
    td_sim_run(sim, 10 * SECOND);
    for (uint32_t i = 0; i < RANKS; i++)
        if (i != LATE_RANK)
            job_expect(&job, i, TD_ERR_TIMEOUT, "rank 5");
    ask(sim, TD_STATUS_WAITS);
    EXPECT(seen.silent_ns == 0, "%llu ns of silence", (unsigned long long)seen.silent_ns);
    uint64_t ns = seen.ns[LATE_RANK][TD_KIND_BARRIER]; /* the root asks all nodes once more */
    EXPECT(ns >= (RANKS - 1) * 4 * SECOND && ns < (RANKS - 1) * 5 * SECOND, "%llu ns",
           (unsigned long long)ns);
    job_world_end(sim);
}

static void a_timeout_is_charged_to_the_rank_that_was_late_on_every_node(void **unused)
{
    (void)unused;
    seeds_run(timeout, 24, 8, 200);
}

/* barrier_after makes a barrier 2 s after the ranks have joined. All but the last one to call say
 * that they have waited for so long before. It returns the sum of waiting. */
static uint64_t barrier_after(uint64_t claimed_ns)
{
    struct td_sim *sim = begin("1", 2);
    td_sim_run(sim, 2 * SECOND);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct td_request q = {.kind = TD_REQUEST_OPERATION};
        q.u.operation.call = barrier;
        q.u.operation.timeout_ns = -1;
        q.u.operation.waited_ns = i == LATE_RANK ? 0 : claimed_ns;
        job_make(&job, i, &q);
        if (i + 1 == LATE_RANK)
            td_sim_run(sim, SECOND / 1000);
    }
    job_settle(&job);
    ask(sim, TD_STATUS_WAITS);
    uint64_t ns = 0;
    for (uint32_t r = 0; r < RANKS; r++)
        ns += seen.ns[r][TD_KIND_BARRIER];
    job_world_end(sim);
    return ns;
}

/* The rank has waited in its segment before its request. */
static void time_before_the_request_counts(void **unused)
{
    (void)unused;
    CHECK(barrier_after(SECOND) >= (RANKS - 2) * SECOND);
}

/* A process may claim anything: more than the time since its call before, or its join, does not
 * count. */
static void impossible_time_before_the_request_does_not_count(void **unused)
{
    (void)unused;
    CHECK(barrier_after(UINT64_MAX) < (RANKS - 1) * (3 * SECOND));
}

static void far_nodes(uint64_t seed)
{
    struct td_sim *sim = begin(seed % 4 < 2 ? "8" : "2x4", seed);
    call_late(sim, &barrier, LATE_RANK);
    for (uint32_t from = 0; from < td_sim_nodes(sim); from += 3) {
        memset(&seen, 0, sizeof seen);
        for (uint32_t n = 0; n < td_sim_nodes(sim); n++)
            EXPECT(ask_from(sim, from, n, TD_STATUS_WAITS) == TD_OK, "node %u: %s", n, seen.text);
        CHECK(seen.records == td_sim_nodes(sim) && seen.last[LATE_RANK][TD_KIND_BARRIER] == 1);
        expect_about(seen.ns[LATE_RANK][TD_KIND_BARRIER], (RANKS - 1) * LATE_NS);
    }
    job_world_end(sim);
}

static void any_node_shows_the_records_of_all(void **unused)
{
    (void)unused;
    seeds_run(far_nodes, 24, 8, 200);
}

/* Rows that are as long as they can be still fit a page. */
static void listings_of_another_node_are_complete(void **unused)
{
    (void)unused;
    enum { JOBS = 70 };
    struct td_sim *sim = job_world("1x2", 6, observe);
    uint32_t nodes[RANKS] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (int i = 0; i < JOBS; i++) {
        job_form(&job, sim, "job", nodes, RANKS, 0);
        job_call(&job, 0, &barrier, 0, false);
        td_sim_run(sim, SECOND / 100);
        for (uint32_t r = RANKS; r-- > 0;)
            td_sim_close(sim, job.rank[r].client);
        td_sim_run(sim, SECOND / 10);
    }
    memset(&seen, 0, sizeof seen);
    CHECK(ask_from(sim, 0, 1, TD_STATUS_WAITS) == TD_OK);
    CHECK(seen.records == 64 && seen.over == 64 && seen.error == TD_ERR_RANK_FAILED);
    CHECK(ask_from(sim, 0, 1, 99) == TD_ERR_INVALID);
    CHECK(ask_from(sim, 0, 2, TD_STATUS_WAITS) == TD_ERR_INVALID);
    job_world_end(sim);
}

static void nodes_that_cannot_answer_are_named(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < 2; seed++) { /* the direct and the routed fabric */
        struct td_sim *sim = job_world("1x4", seed, observe);
        td_sim_run(sim, SECOND);
        CHECK(ask_from(sim, 0, 1, TD_STATUS_NODE) == TD_OK);
        td_sim_kill_node(sim, 1);
        td_sim_run(sim, 2 * SECOND);
        CHECK(ask_from(sim, 0, 1, TD_STATUS_NODE) == TD_ERR_NODE_FAILED);
        CHECK(strstr(seen.text, "node 1"));
        CHECK(ask_from(sim, 0, 3, TD_STATUS_NODE) == TD_OK);
        td_sim_destroy(sim);
    }
}

/* No call was under way when the rank died. */
static void first_call_after_a_death_is_the_failure(void **unused)
{
    (void)unused;
    struct td_sim *sim = begin("2x2", 4);
    td_sim_close(sim, job.rank[LATE_RANK].client);
    td_sim_run(sim, SECOND);
    ask(sim, TD_STATUS_WAITS);
    CHECK(seen.error == TD_OK);
    CHECK(seen.deaths == 1 && seen.died_rank == LATE_RANK && seen.died_pid);
    job_call(&job, 0, &barrier, 0, false);
    td_sim_run(sim, SECOND);
    job_expect(&job, 0, TD_ERR_RANK_FAILED, "rank 5");
    ask(sim, TD_STATUS_WAITS);
    CHECK(seen.error == TD_ERR_RANK_FAILED && strstr(seen.text, "rank 5"));
    job_world_end(sim);
}

static void records_of_many_jobs_are_bounded(void **unused)
{
    (void)unused;
    enum { JOBS = 100 };
    struct td_sim *sim = job_world("1", 4, observe);
    uint32_t nodes[RANKS] = {0};
    for (int i = 0; i < JOBS; i++) {
        job_form(&job, sim, "job", nodes, RANKS, 0);
        for (uint32_t r = 0; r < RANKS; r++)
            td_sim_close(sim, job.rank[r].client);
        td_sim_run(sim, SECOND / 10);
    }
    ask(sim, TD_STATUS_WAITS);
    CHECK(seen.records == 64 && seen.over == 64);
    job_world_end(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_in_a_silence_is_charged_to_no_rank),
        cmocka_unit_test(late_rank_is_charged_with_the_waiting_of_all_others),
        cmocka_unit_test(record_outlives_the_rank_and_the_job),
        cmocka_unit_test(a_timeout_is_charged_to_the_rank_that_was_late_on_every_node),
        cmocka_unit_test(time_before_the_request_counts),
        cmocka_unit_test(impossible_time_before_the_request_does_not_count),
        cmocka_unit_test(first_call_after_a_death_is_the_failure),
        cmocka_unit_test(records_of_many_jobs_are_bounded),
        cmocka_unit_test(any_node_shows_the_records_of_all),
        cmocka_unit_test(listings_of_another_node_are_complete),
        cmocka_unit_test(nodes_that_cannot_answer_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
